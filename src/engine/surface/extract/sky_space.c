/* Points and Gaussians before the sky; maps with the sky as free space (docs/method.md 16). */
#include "surface/extract/sky_space.h"

#include "base/context.h"
#include "math/camera.h"
#include "model/clean.h"
#include "model/model.h"
#include "surface/extract/surface_views.h"

#include <stdlib.h>
#include <string.h>

#define LEAST_VIEWS 2u
#define LEAST_PART 4u     /* one in so many of the views whose pictures contain the place */
#define MOST_PIXELS 5e5   /* of a picture in which places are looked up */

typedef struct look_ups {
    uint32_t n_sky, n_in; /* views that see the place before the sky, and whose pictures contain it */
} look_ups;

/* Adds the answers of one training view. */
static splat_status ask_view(const splat_scene *scene, const splat_sky *sky, size_t number, const float *positions,
                             size_t n, look_ups *counts, splat_error *error)
{
    splat_camera camera = splat_surface_camera_within(scene, number, MOST_PIXELS);
    size_t n_pixels = splat_camera_pixels(&camera);
    uint8_t *work = malloc(n_pixels), *trusted = malloc(n_pixels);
    bool ok = work && trusted;
    bool has_sky = ok && splat_sky_read_trusted(sky, number, camera.width, camera.height, work, trusted);
#pragma omp parallel for num_threads(scene->context->threads) schedule(static)
    for (size_t i = 0; i < (ok ? n : 0); i++) {
        float image[3];
        if (!splat_camera_project(&camera, positions + 3 * i, image)) continue;
        counts[i].n_in++;
        counts[i].n_sky += has_sky && trusted[(size_t)image[1] * (size_t)camera.width + (size_t)image[0]];
    }
    free(work);
    free(trusted);
    return ok ? SPLAT_OK : splat_fail(error, SPLAT_ERROR_MEMORY, "no memory for the sky of a view");
}

splat_status splat_sky_find_before(const splat_scene *scene, const splat_sky *sky, const float *positions, size_t n,
                                   uint8_t *keep, size_t *n_found, splat_error *error)
{
    look_ups *counts = calloc(n + 1, sizeof *counts);
    splat_status status = SPLAT_OK;
    if (!counts) status = splat_fail(error, SPLAT_ERROR_MEMORY, "no memory to compare %zu places with the sky", n);
    *n_found = 0;
    for (size_t v = 0; v < sky->n && status == SPLAT_OK; v++)
        status = ask_view(scene, sky, v, positions, n, counts, error);
    for (size_t i = 0; i < n && status == SPLAT_OK; i++) {
        keep[i] = counts[i].n_sky < LEAST_VIEWS || LEAST_PART * counts[i].n_sky < counts[i].n_in;
        *n_found += !keep[i];
    }
    free(counts);
    return status;
}

splat_status splat_sky_remove_points(splat_scene *scene, splat_surface_points *points, splat_error *error)
{
    const splat_sky *sky;
    size_t n = points->n, n_found;
    int threads = scene->context->threads;
    SPLAT_TRY(splat_scene_find_sky(scene, &sky, error));
    if (!sky->is_found) return SPLAT_OK;
    uint8_t *keep = malloc(n + 1);
    if (!keep) return splat_fail(error, SPLAT_ERROR_MEMORY, "no memory to compare %zu points with the sky", n);
    splat_status status = splat_sky_find_before(scene, sky, points->positions, n, keep, &n_found, error);
    if (status == SPLAT_OK && n_found) {
        splat_surface_points_keep(points, keep, threads);
        splat_log(scene->context, SPLAT_LOG_NOTICE, "%zu of %zu points stand before the sky and go", n_found, n);
    }
    free(keep);
    return status;
}

/* keep: [n], positions: [n][3]; scratch of the caller. */
static splat_status remove_found(const splat_scene *scene, const splat_sky *sky, splat_model *model, float *positions,
                                 uint8_t *keep, size_t *n_removed, splat_error *error)
{
    size_t n = model->gaussians.n, n_found;
    SPLAT_TRY(splat_backend_download(model->backend, positions, model->gaussians.p.means, 3 * n * sizeof *positions,
                                     error));
    SPLAT_TRY(splat_sky_find_before(scene, sky, positions, n, keep, &n_found, error));
    if (n_found == 0) return SPLAT_OK;
    if (n_found == n)
        return splat_fail(error, SPLAT_ERROR_NUMERIC,
                          "all Gaussians stand before the sky of the photos; say `sky none` if it is none");
    *n_removed = n_found;
    return splat_model_keep(model, keep, error);
}

splat_status splat_model_remove_before_sky(splat_scene *scene, splat_model *model, size_t *n_removed,
                                           splat_error *error)
{
    const splat_sky *sky;
    size_t n = model->gaussians.n;
    *n_removed = 0;
    SPLAT_TRY(splat_scene_find_sky(scene, &sky, error));
    if (!sky->is_found || n == 0) return SPLAT_OK;
    float *positions = malloc(3 * n * sizeof *positions);
    uint8_t *keep = malloc(n);
    splat_status status = positions && keep
                              ? remove_found(scene, sky, model, positions, keep, n_removed, error)
                              : splat_fail(error, SPLAT_ERROR_MEMORY, "no memory to look at %zu Gaussians", n);
    free(positions);
    free(keep);
    return status;
}

splat_status splat_sky_clear_map(const splat_sky *sky, size_t number, splat_view_map *map, splat_error *error)
{
    size_t n = splat_camera_pixels(&map->camera);
    uint8_t *work = malloc(n), *trusted = malloc(n);
    bool ok = work && trusted;
    if (ok && splat_sky_read_trusted(sky, number, map->camera.width, map->camera.height, work, trusted))
        for (size_t i = 0; i < n; i++) {
            if (!trusted[i]) continue;
            map->depth[i] = 0;
            map->alpha[i] = 0;
            map->state[i] = SPLAT_PIXEL_SKY;
        }
    free(work);
    free(trusted);
    return ok ? SPLAT_OK : splat_fail(error, SPLAT_ERROR_MEMORY, "no memory for the sky of a view");
}
