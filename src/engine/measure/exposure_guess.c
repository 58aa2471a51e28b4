/* Names as a sequence, and gains between its members. */
#include "measure/exposure_guess.h"

#include "base/file.h"

#include <ctype.h>
#include <string.h>

/* The last number of a name, before its extension; where it begins and ends. */
typedef struct place {
    size_t begin, end;
} place;

static bool find_place(const char *name, place *p)
{
    const char *dot = strrchr(splat_basename(name), '.');
    size_t end = dot ? (size_t)(dot - name) : strlen(name);
    while (end > 0 && !isdigit((unsigned char)name[end - 1])) end--;
    size_t begin = end;
    while (begin > 0 && isdigit((unsigned char)name[begin - 1])) begin--;
    *p = (place){begin, end};
    return end > begin;
}

static double number_of(const char *name, const place *p)
{
    double number = 0;
    for (size_t i = p->begin; i < p->end; i++) number = 10 * number + (name[i] - '0');
    return number;
}

static bool is_of_sequence(const char *name, const place *p, const char *other, const place *q)
{
    return p->begin == q->begin && memcmp(name, other, p->begin) == 0 && strcmp(name + p->end, other + q->end) == 0;
}

bool splat_exposure_guess(const splat_exposures *known, const char *name, splat_photo_exposure *guess)
{
    const splat_photo_exposure *sides[2] = {NULL, NULL}; /* before and after */
    double distances[2] = {0, 0}, row[3] = {0}, found[3];
    place p, q;
    if (!find_place(name, &p)) return false;
    for (size_t i = 0; i < known->n_photos; i++) {
        const splat_photo_exposure *other = &known->photos[i];
        if (!find_place(other->name, &q) || !is_of_sequence(name, &p, other->name, &q)) continue;
        double way = number_of(other->name, &q) - number_of(name, &p);
        int side = way > 0;
        if (way == 0 || (sides[side] && fabs(way) >= distances[side])) continue;
        sides[side] = other;
        distances[side] = fabs(way);
    }
    if (!sides[0] && !sides[1]) return false;
    int nearest = !sides[0] || (sides[1] && distances[1] < distances[0]);
    if (!sides[!nearest] || sides[!nearest]->camera != sides[nearest]->camera) sides[!nearest] = sides[nearest];
    for (int s = 0; s < 2; s++) {
        double weight = sides[0] == sides[1] ? 0.5 : distances[!s] / (distances[0] + distances[1]);
        splat_photo_exposure_get(sides[s], found);
        for (int k = 0; k < 3; k++) row[k] += weight * found[k];
    }
    *guess = (splat_photo_exposure){.camera = sides[nearest]->camera};
    splat_photo_exposure_set(guess, row[0], row[1], row[2]);
    return true;
}

bool splat_exposures_follow(const splat_exposures *known)
{
    double means[3] = {0}, squares = 0, errors = 0, row[3], guessed[3];
    for (size_t i = 0; i < known->n_photos; i++) {
        splat_photo_exposure_get(&known->photos[i], row);
        for (int k = 0; k < 3; k++) means[k] += row[k] / (double)known->n_photos;
    }
    for (size_t i = 0; i < known->n_photos; i++) {
        splat_photo_exposure guess;
        if (!splat_exposure_guess(known, known->photos[i].name, &guess)) return false;
        splat_photo_exposure_get(&known->photos[i], row);
        splat_photo_exposure_get(&guess, guessed);
        for (int k = 0; k < 3; k++) {
            squares += (row[k] - means[k]) * (row[k] - means[k]);
            errors += (row[k] - guessed[k]) * (row[k] - guessed[k]);
        }
    }
    return errors < squares;
}
