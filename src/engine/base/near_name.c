/* Names by their Levenshtein distance. */
#include "base/near_name.h"

#include <string.h>

#define LENGTH_MAX 64

/* The edit distance of two short names, one row at a time. */
static size_t edit_distance(const char *a, const char *b)
{
    size_t n = strlen(b), row[LENGTH_MAX + 1];
    if (n > LENGTH_MAX) return LENGTH_MAX;
    for (size_t j = 0; j <= n; j++) row[j] = j;
    for (size_t i = 1; a[i - 1]; i++) {
        size_t diagonal = row[0];
        row[0] = i;
        for (size_t j = 1; j <= n; j++) {
            size_t best = diagonal + (a[i - 1] != b[j - 1]);
            if (row[j] + 1 < best) best = row[j] + 1;
            if (row[j - 1] + 1 < best) best = row[j - 1] + 1;
            diagonal = row[j];
            row[j] = best;
        }
    }
    return row[n];
}

void splat_near_name_consider(splat_near_name *nearest, const char *typed, const char *candidate)
{
    size_t length = strlen(typed), limit = length / 3 < 2 ? 2 : length / 3;
    if (length > LENGTH_MAX) return;
    size_t distance = edit_distance(typed, candidate);
    if (distance > limit || distance >= length || (nearest->name && distance >= nearest->distance)) return;
    *nearest = (splat_near_name){candidate, distance};
}
