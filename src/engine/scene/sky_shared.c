/* How many photos that look in a direction see sky there. */
#include "scene/sky_shared.h"

#include "math/camera.h"
#include "scene/sky_bins.h"

#include <stdlib.h>
#include <string.h>

#define LEAST_PHOTOS 3u /* that look in a direction */

/* Photos, or pixels of one photo, in a direction. */
typedef struct looks {
    uint32_t n, n_sky;
} looks;

/* Adds a photo to the directions that it sees. own: [SKY_BINS], work. */
static void add_photo(const sky_finder *f, const sky_photo *photo, looks *own, looks *all)
{
    memset(own, 0, SKY_BINS * sizeof *own);
    for (size_t i = 0; i < splat_camera_pixels(&photo->camera); i++) {
        if (photo->kept && !photo->kept[i]) continue;
        looks *of = &own[sky_bin_of(f, &photo->camera, i, f->radius)];
        of->n++;
        of->n_sky += photo->mask[i];
    }
    for (size_t b = 0; b < SKY_BINS; b++) {
        if (!own[b].n) continue;
        all[b].n++;
        all[b].n_sky += 2 * own[b].n_sky > own[b].n;
    }
}

splat_status sky_shared_find(const sky_finder *f, double *shared, splat_error *error)
{
    looks *all = calloc(2 * (size_t)SKY_BINS, sizeof *all);
    double sum = 0, n = 0;
    if (!all) return splat_fail(error, SPLAT_ERROR_MEMORY, "no memory for the directions of the sky");
    for (size_t v = 0; v < f->n; v++) add_photo(f, &f->photos[v], all + SKY_BINS, all);
    for (size_t b = 0; b < SKY_BINS; b++) {
        if (all[b].n < LEAST_PHOTOS) continue;
        sum += (double)all[b].n_sky * (double)all[b].n_sky / (double)all[b].n;
        n += (double)all[b].n_sky;
    }
    *shared = n > 0 ? sum / n : 1;
    free(all);
    return SPLAT_OK;
}
