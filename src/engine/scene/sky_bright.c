/* A bright sky: regions at the upper border of the photos, and their brightness. */
#include "scene/sky_bright.h"

#include "base/select.h"
#include "math/camera.h"
#include "scene/sky_bins.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define LEAST_REGION 100u      /* pixels */
#define LEAST_PHOTOS 3u
#define LEAST_RATIO 1.5f       /* of the levels of a region and of what is no region */
#define LEAST_MEAN_RATIO 1.85f /* median of the photos */
#define LEAST_HIGH_RATIO 1.0f  /* the same, to the brightest tenth of what is no region */
#define LEAST_USUAL 0.75f      /* of the level that the ratio of all photos gives */
#define HIGH 0.9               /* the quantile of that */

/* The upper border of a photo. */
typedef struct bright_photo {
    float level, rest, high_rest; /* medians, and quantile HIGH of the rest; level 0: no region */
} bright_photo;

uint8_t sky_level_of(const uint8_t *rgb)
{
    return (uint8_t)((54u * rgb[0] + 183u * rgb[1] + 19u * rgb[2] + 128u) >> 8);
}

bool sky_bright_fits(const sky_photo *photo, const uint8_t *rgb, float part)
{
    return (float)sky_level_of(rgb) >= part * photo->sky_level;
}

/* ---------------------------------------------------------------- regions */

static float quantile_of(const uint32_t counts[256], double part)
{
    uint64_t n = 0, sum = 0;
    for (int i = 0; i < 256; i++) n += counts[i];
    for (int i = 0; i < 256; i++) {
        sum += counts[i];
        if (n && (double)sum > part * (double)n) return (float)i;
    }
    return 0;
}

/* Measures the bright regions at a photo's upper border, and the rest. marks, queue: [pixels]. */
static void find_regions(const sky_finder *f, const sky_photo *photo, bright_photo *of, uint8_t *marks, uint32_t *queue)
{
    const size_t n = splat_camera_pixels(&photo->camera), width = (size_t)photo->camera.width;
    uint32_t all[256] = {0}, sky[256] = {0};
    for (size_t i = 0; i < n; i++) all[sky_level_of(photo->rgb + 3 * i)]++;
    for (size_t i = 0; i < n; i++) marks[i] = photo->kind[i] == SKY_BUSY;
    for (size_t x = 0; x < width; x++) {
        uint32_t counts[256] = {0};
        double elevation = 0;
        if (marks[x]) continue;
        const size_t n_region = sky_fill(photo, x, 0, 1, marks, queue);
        for (size_t i = 0; i < n_region; i++) {
            elevation += sky_elevation(f, photo, queue[i]);
            counts[sky_level_of(photo->rgb + 3 * (size_t)queue[i])]++;
        }
        uint32_t rest[256];
        for (int i = 0; i < 256; i++) rest[i] = all[i] - counts[i];
        const bool is_sky = n_region >= LEAST_REGION && elevation > SKY_LEAST_ELEVATION * (double)n_region &&
                            quantile_of(counts, 0.5) > LEAST_RATIO * quantile_of(rest, 0.5);
        for (int i = 0; i < 256 && is_sky; i++) sky[i] += counts[i];
    }
    for (int i = 0; i < 256; i++) all[i] -= sky[i];
    of->level = quantile_of(sky, 0.5);
    of->rest = quantile_of(all, 0.5);
    of->high_rest = quantile_of(all, HIGH);
}

/* ---------------------------------------------------------------- the scene */

/* The median over the photos with regions of their brightness by that of the rest; 0: too few photos. */
static float ratio_of(const bright_photo *photos, size_t n, bool is_high, float *values)
{
    size_t n_with = 0;
    for (size_t v = 0; v < n; v++)
        if (photos[v].level > 0)
            values[n_with++] = photos[v].level / fmaxf(is_high ? photos[v].high_rest : photos[v].rest, 1);
    return n_with >= LEAST_PHOTOS ? splat_select_float(values, n_with, n_with / 2) : 0;
}

static void decide(sky_finder *f, const bright_photo *photos, float *values)
{
    const float ratio = ratio_of(photos, f->n, false, values), high = ratio_of(photos, f->n, true, values);
    f->brightness = 0;
    if (ratio < LEAST_MEAN_RATIO || high < LEAST_HIGH_RATIO) return;
    f->brightness = ratio;
    f->radius = 0;
    for (size_t v = 0; v < f->n; v++) { /* what is much darker than the sky of other photos is a wall */
        const float usual = fminf(photos[v].rest * ratio, 255);
        f->photos[v].sky_level = photos[v].level > LEAST_USUAL * usual ? photos[v].level : usual;
    }
}

splat_status sky_bright_find(sky_finder *f, splat_error *error)
{
    if (!f->has_up) return SPLAT_OK;
    bright_photo *photos = calloc(f->n + 1, sizeof *photos);
    float *values = malloc((f->n + 1) * sizeof *values);
    bool is_short = !photos || !values;
#pragma omp parallel for num_threads(f->threads) schedule(dynamic, 1) reduction(|| : is_short)
    for (size_t v = 0; v < f->n; v++) {
        const size_t n = splat_camera_pixels(&f->photos[v].camera);
        uint8_t *marks = malloc(n);
        uint32_t *queue = malloc(n * sizeof *queue);
        if (marks && queue && photos && values)
            find_regions(f, &f->photos[v], &photos[v], marks, queue);
        else
            is_short = true;
        free(marks);
        free(queue);
    }
    if (!is_short) decide(f, photos, values);
    free(photos);
    free(values);
    if (is_short) return splat_fail(error, SPLAT_ERROR_MEMORY, "no memory to look for the sky in %zu photos", f->n);
    return SPLAT_OK;
}
