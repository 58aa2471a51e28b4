/* Points of the scene in the sky and at its rim. */
#include "scene/sky_rim.h"

#include "base/select.h"
#include "math/camera.h"
#include "scene/sky_bins.h"

#include <math.h>
#include <stdlib.h>

#define MOST_POINTS 20000
#define INSET 3           /* pixels: points so near to the rim are not in the sky */
#define REACH 4           /* pixels: points so far below the sky are at its rim */
#define CELL 4            /* columns: the nearest point of these counts */
#define CELLS 70          /* in a photo of 280 pixels */
#define LEAST_RIM 30u     /* points */
#define TOP 0.97          /* the quantile of heights that is the ceiling's */
#define CEILING 0.02f     /* of the distance: difference of heights on a ceiling */
#define MOST_CEILING 0.4  /* of the points at the rim */

/* Points of the scene in one photo. */
typedef struct rim_photo {
    uint32_t n_inside, n_points; /* points in the sky, in the photo */
    uint32_t inside, pixels;     /* pixels of the sky without its rim, of the photo */
    size_t n;
    float heights[CELLS], distances[CELLS]; /* of points at the rim; distance 0: below the camera */
} rim_photo;

static bool is_inside(const sky_photo *photo, size_t x, size_t y)
{
    const size_t width = (size_t)photo->camera.width, height = (size_t)photo->camera.height;
    if (x < INSET || y < INSET || x + INSET >= width || y + INSET >= height) return false;
    for (size_t j = y - INSET; j <= y + INSET; j++)
        for (size_t i = x - INSET; i <= x + INSET; i++)
            if (!photo->mask[j * width + i]) return false;
    return true;
}

static bool is_at_rim(const sky_photo *photo, size_t x, size_t y)
{
    const size_t width = (size_t)photo->camera.width;
    for (size_t k = 1; k <= REACH && k <= y && !photo->mask[y * width + x]; k++)
        if (photo->mask[(y - k) * width + x]) return true;
    return false;
}

/* Takes a point at the rim if it is the nearest of its columns. nearest: [CELLS] */
static void take(const sky_finder *f, const sky_photo *photo, size_t x, const float position[3], rim_photo *of,
                 float *nearest)
{
    const size_t cell = x / CELL;
    double height = 0, above = 0, square = 0;
    for (size_t k = 0; k < 3; k++) {
        const double d = (double)position[k] - (double)photo->camera.center[k];
        height += f->up[k] * ((double)position[k] - f->center[k]);
        above += f->up[k] * d;
        square += d * d;
    }
    const float distance = (float)sqrt(square);
    if (cell >= CELLS || !(distance < nearest[cell])) return;
    nearest[cell] = distance;
    of->heights[cell] = (float)height;
    of->distances[cell] = above > 0 ? distance : 0;
}

static void look(const sky_finder *f, const sky_photo *photo, rim_photo *of)
{
    const splat_dataset *dataset = &f->scene->dataset;
    const splat_camera *c = &photo->camera;
    const size_t stride = dataset->n_points / MOST_POINTS + 1;
    float nearest[CELLS];
    for (size_t i = 0; i < CELLS; i++) nearest[i] = INFINITY;
    for (size_t p = 0; p < dataset->n_points; p += stride) {
        const float *position = dataset->points[p].position;
        const size_t pixel = sky_pixel_of_point(photo, position);
        if (pixel == SIZE_MAX) continue;
        const size_t x = pixel % (size_t)c->width, y = pixel / (size_t)c->width;
        of->n_points++;
        of->n_inside += is_inside(photo, x, y);
        if (is_at_rim(photo, x, y)) take(f, photo, x, position, of, nearest);
    }
    for (size_t i = 0; i < CELLS; i++) {
        if (isinf(nearest[i])) continue;
        of->heights[of->n] = of->heights[i];
        of->distances[of->n++] = of->distances[i];
    }
    for (size_t y = 0; y < (size_t)c->height; y++)
        for (size_t x = 0; x < (size_t)c->width; x++) of->inside += is_inside(photo, x, y);
    of->pixels = (uint32_t)splat_camera_pixels(c);
}

/* False: no point is seen, or the sky has no pixels away from its rim. */
static bool find_density(const rim_photo *photos, size_t n, double *density)
{
    double n_inside = 0, n_points = 0, inside = 0, pixels = 0;
    for (size_t v = 0; v < n; v++) {
        n_inside += photos[v].n_inside;
        n_points += photos[v].n_points;
        inside += photos[v].inside;
        pixels += photos[v].pixels;
    }
    if (!(inside > 0 && n_points > 0)) return false;
    *density = n_inside * pixels / (n_points * inside);
    return true;
}

/* values: [as many as there are points at the rim] */
static bool is_uneven(const rim_photo *photos, size_t n, float *values)
{
    size_t n_rim = 0, n_top = 0;
    for (size_t v = 0; v < n; v++)
        for (size_t i = 0; i < photos[v].n; i++) values[n_rim++] = photos[v].heights[i];
    if (n_rim < LEAST_RIM) return false;
    const float top = splat_select_float(values, n_rim, (size_t)(TOP * (double)(n_rim - 1)));
    for (size_t v = 0; v < n; v++)
        for (size_t i = 0; i < photos[v].n; i++)
            n_top += fabsf(photos[v].heights[i] - top) < CEILING * photos[v].distances[i];
    return (double)n_top < MOST_CEILING * (double)n_rim;
}

splat_status sky_rim_look(const sky_finder *f, sky_rim *rim, splat_error *error)
{
    rim_photo *photos = calloc(f->n + 1, sizeof *photos);
    float *values = malloc((f->n + 1) * CELLS * sizeof *values);
    *rim = (sky_rim){.is_known = false};
    if (photos && values && !f->scene->dataset.random_points) {
#pragma omp parallel for num_threads(f->threads) schedule(dynamic, 1)
        for (size_t v = 0; v < f->n; v++) look(f, &f->photos[v], &photos[v]);
        rim->is_known = find_density(photos, f->n, &rim->density);
        rim->is_uneven = is_uneven(photos, f->n, values);
    }
    splat_status status = photos && values ? SPLAT_OK
                                           : splat_fail(error, SPLAT_ERROR_MEMORY,
                                                        "no memory for points at the sky of %zu photos", f->n);
    free(photos);
    free(values);
    return status;
}
