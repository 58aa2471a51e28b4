/* Clouds, as connected pixels that are no darker than the sky around. */
#include "scene/sky_clouds.h"

#include "math/camera.h"
#include "scene/sky_bins.h"
#include "scene/sky_bright.h"

#include <stdlib.h>

#define DARKER 3.0f    /* levels: what is darker than the sky of its row by more is no cloud */
#define RIM 0.6        /* of a cloud's rim is sky, */
#define ELSEWHERE 0.5  /* and so much of it at most lies in bins that are sky */

/* The mean level of the sky in each row; of rows without sky that of the row above. */
static void find_row_levels(const sky_photo *photo, float *levels)
{
    const size_t width = (size_t)photo->camera.width;
    for (size_t y = 0; y < (size_t)photo->camera.height; y++) {
        float sum = 0, n = 0;
        for (size_t i = y * width; i < (y + 1) * width; i++) {
            if (!photo->mask[i]) continue;
            sum += sky_level_of(photo->smooth + 3 * i);
            n++;
        }
        levels[y] = n > 0 ? sum / n : y > 0 ? levels[y - 1] : 256;
    }
}

static bool is_darker(const sky_photo *photo, size_t pixel, const float *levels)
{
    return (float)sky_level_of(photo->rgb + 3 * pixel) < levels[pixel / (size_t)photo->camera.width] - DARKER;
}

/* is_seen and queue: [pixels], levels: [height]. */
static void find_clouds(const sky_finder *f, sky_photo *photo, uint8_t *is_seen, uint32_t *queue, float *levels)
{
    const size_t n = splat_camera_pixels(&photo->camera), width = (size_t)photo->camera.width;
    find_row_levels(photo, levels);
    for (size_t i = 0; i < n; i++)
        is_seen[i] = photo->mask[i] || (photo->kept && !photo->kept[i]) || is_darker(photo, i, levels);
    for (size_t first = 0; first < n; first++) {
        size_t n_queued = 0, n_rim = 0, n_sky = 0, n_elsewhere = 0;
        bool is_high = true;
        if (is_seen[first]) continue;
        queue[n_queued++] = (uint32_t)first;
        is_seen[first] = 1;
        for (size_t at = 0; at < n_queued; at++) {
            size_t next[4];
            sky_neighbors(photo, queue[at], next);
            is_high = is_high && queue[at] + width < n && (!f->has_up || sky_elevation(f, photo, queue[at]) > 0);
            n_elsewhere += f->is_sky[photo->bins[queue[at]]];
            for (int k = 0; k < 4; k++) {
                if (next[k] == SIZE_MAX) continue;
                if (!is_seen[next[k]]) {
                    is_seen[next[k]] = 1;
                    queue[n_queued++] = (uint32_t)next[k];
                } else if (photo->mask[next[k]] == 1) {
                    n_sky++;
                    n_rim++;
                } else
                    n_rim += is_darker(photo, next[k], levels);
            }
        }
        if (!is_high || (double)n_sky < RIM * (double)n_rim || n_sky == 0) continue;
        if ((double)n_elsewhere > ELSEWHERE * (double)n_queued) continue;
        for (size_t i = 0; i < n_queued; i++) photo->mask[queue[i]] = 2;
    }
    for (size_t i = 0; i < n; i++) photo->mask[i] = photo->mask[i] > 0;
}

splat_status sky_clouds_find(const sky_finder *f, sky_photo *photo, splat_error *error)
{
    const size_t n = splat_camera_pixels(&photo->camera);
    uint8_t *is_seen = malloc(n);
    uint32_t *queue = malloc(n * sizeof *queue);
    float *levels = malloc((size_t)photo->camera.height * sizeof *levels);
    splat_status status = is_seen && queue && levels
                              ? SPLAT_OK
                              : splat_fail(error, SPLAT_ERROR_MEMORY, "no memory for the clouds of %zu pixels", n);
    if (status == SPLAT_OK) find_clouds(f, photo, is_seen, queue, levels);
    free(is_seen);
    free(queue);
    free(levels);
    return status;
}
