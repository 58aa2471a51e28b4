/* Points on things that sky surrounds. */
#include "scene/sky_hanging.h"

#include "math/camera.h"
#include "scene/sky_bins.h"

#include <stdlib.h>
#include <string.h>

#define MOST_POINTS 20000
#define GAP 4          /* pixels of sky on each side: what is nearer is one thing, as are the leaves of a tree */
#define LEAST_PHOTOS 3u /* that see a point */

enum { FREE = 1, HELD, LOOSE }; /* marks of pixels near to what is no sky: not asked yet; held from the border; not */

/* A point of the scene in the photos that see it. */
typedef struct sighting {
    uint32_t n, n_loose; /* photos, and those that see it on a thing with sky all around */
} sighting;

static bool is_at_sky(const sky_photo *photo, size_t pixel)
{
    size_t next[4];
    sky_neighbors(photo, pixel, next);
    for (int k = 0; k < 4; k++)
        if (next[k] != SIZE_MAX && photo->mask[next[k]]) return true;
    return false;
}

static void mark_around(const sky_photo *photo, size_t pixel, uint8_t *marks)
{
    const int width = photo->camera.width, height = photo->camera.height;
    const int x = (int)(pixel % (size_t)width), y = (int)(pixel / (size_t)width);
    for (int j = y > GAP ? y - GAP : 0; j <= y + GAP && j < height; j++)
        for (int i = x > GAP ? x - GAP : 0; i <= x + GAP && i < width; i++) marks[j * width + i] = FREE;
}

/* Marks pixels that are no sky, and those as near to them as GAP. */
static void spread(const sky_photo *photo, uint8_t *marks)
{
    const size_t n = splat_camera_pixels(&photo->camera);
    for (size_t i = 0; i < n; i++) marks[i] = photo->mask[i] ? 0 : FREE;
    for (size_t i = 0; i < n; i++)
        if (!photo->mask[i] && is_at_sky(photo, i)) mark_around(photo, i, marks);
}

static void hold(const sky_photo *photo, size_t pixel, uint8_t *marks, uint32_t *queue)
{
    if (marks[pixel] == FREE) sky_fill(photo, pixel, FREE, HELD, marks, queue);
}

/* Marks what is connected to the border of the photo; the rest is loose. */
static void hold_border(const sky_photo *photo, uint8_t *marks, uint32_t *queue)
{
    const size_t width = (size_t)photo->camera.width, height = (size_t)photo->camera.height;
    for (size_t x = 0; x < width; x++) {
        hold(photo, x, marks, queue);
        hold(photo, (height - 1) * width + x, marks, queue);
    }
    for (size_t y = 0; y < height; y++) {
        hold(photo, y * width, marks, queue);
        hold(photo, y * width + width - 1, marks, queue);
    }
    for (size_t i = 0; i < width * height; i++)
        if (marks[i] == FREE) marks[i] = LOOSE;
}

static void look(const sky_finder *f, const sky_photo *photo, const uint8_t *marks, size_t stride, sighting *all)
{
    const splat_dataset *dataset = &f->scene->dataset;
    for (size_t p = 0; p < dataset->n_points; p += stride) {
        const size_t pixel = sky_pixel_of_point(photo, dataset->points[p].position);
        if (pixel == SIZE_MAX || photo->mask[pixel]) continue;
        sighting *of = &all[p / stride];
#pragma omp atomic
        of->n++;
        if (marks[pixel] != LOOSE) continue;
#pragma omp atomic
        of->n_loose++;
    }
}

/* False without memory. */
static bool look_all(const sky_finder *f, size_t stride, sighting *all)
{
    bool is_short = false;
#pragma omp parallel for num_threads(f->threads) schedule(dynamic, 1) reduction(|| : is_short)
    for (size_t v = 0; v < f->n; v++) {
        const sky_photo *photo = &f->photos[v];
        const size_t n = splat_camera_pixels(&photo->camera);
        uint8_t *marks = malloc(n);
        uint32_t *queue = malloc(n * sizeof *queue);
        if (marks && queue) {
            spread(photo, marks);
            hold_border(photo, marks, queue);
            look(f, photo, marks, stride, all);
        } else {
            is_short = true;
        }
        free(marks);
        free(queue);
    }
    return !is_short;
}

splat_status sky_hanging_find(const sky_finder *f, double *share, splat_error *error)
{
    const splat_dataset *dataset = &f->scene->dataset;
    const size_t stride = dataset->n_points / MOST_POINTS + 1, n = (dataset->n_points + stride - 1) / stride;
    size_t n_seen = 0, n_hanging = 0;
    *share = 0;
    if (dataset->random_points) return SPLAT_OK;
    sighting *all = calloc(n + 1, sizeof *all);
    const bool is_made = all && look_all(f, stride, all);
    for (size_t i = 0; is_made && i < n; i++) {
        n_seen += all[i].n >= LEAST_PHOTOS;
        n_hanging += all[i].n_loose >= LEAST_PHOTOS && 3 * (uint64_t)all[i].n_loose >= all[i].n;
    }
    if (n_seen) *share = (double)n_hanging / (double)n_seen;
    free(all);
    return is_made ? SPLAT_OK : splat_fail(error, SPLAT_ERROR_MEMORY, "no memory for what hangs in the sky");
}
