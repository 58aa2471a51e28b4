/* Floaters: found by the views that look through them, and removed from a splat. */
#include "surface/extract/floaters.h"

#include "base/options.h"
#include "math/camera.h"
#include "model/clean.h"
#include "surface/extract/view_agreement.h"

#include <stdlib.h>

#define BEFORE 0.9f     /* of the depth: what is nearer stands before the surface */
#define BEHIND 1.1f
#define LEAST_VIEWS 3

/* A byte for each pixel of each view: whether it is surface that views agree on. */
static uint8_t *find_agreed(const splat_view_maps *maps, int threads)
{
    size_t n = 0, first = 0;
    for (size_t v = 0; v < maps->n; v++) n += splat_camera_pixels(&maps->views[v].camera);
    uint8_t *agreed = malloc(n ? n : 1);
    for (size_t v = 0; v < maps->n && agreed; v++) {
        const splat_view_map *view = &maps->views[v];
        size_t n_pixels = splat_camera_pixels(&view->camera);
#pragma omp parallel for schedule(dynamic, 1024) num_threads(threads)
        for (size_t i = 0; i < n_pixels; i++) {
            splat_agreement a;
            agreed[first + i] =
                splat_view_agreement(maps, v, i, &a) && splat_agreement_holds(&a, view->n_neighbors);
        }
        first += n_pixels;
    }
    return agreed;
}

/* The least depth of the four pixels around a place of a picture, 0 where one has none. */
static float least_depth(const splat_view_map *view, const float image[3])
{
    int x = (int)floorf(image[0] - 0.5f), y = (int)floorf(image[1] - 0.5f);
    float least = INFINITY;
    for (int k = 0; k < 4; k++)
        least = fminf(least, view->depth[splat_view_map_pixel(view, x + (k & 1), y + (k >> 1))]);
    return least;
}

static bool is_floater(const splat_view_maps *maps, const uint8_t *agreed, const float place[3])
{
    uint32_t n_through = 0, n_at = 0;
    for (size_t v = 0; v < maps->n; v++) {
        const splat_view_map *view = &maps->views[v];
        float image[3];
        size_t width = (size_t)view->camera.width;
        if (splat_camera_project(&view->camera, place, image)) {
            size_t i = (size_t)image[1] * width + (size_t)image[0];
            if (agreed[i] && image[2] < BEFORE * least_depth(view, image))
                n_through++;
            else if (agreed[i] && image[2] <= BEHIND * view->depth[i])
                n_at++;
        }
        agreed += splat_camera_pixels(&view->camera);
    }
    return n_through >= LEAST_VIEWS && n_through > n_at;
}

splat_status splat_find_floaters(const splat_view_maps *maps, const float *positions, size_t n, int threads,
                                 uint8_t *keep, size_t *n_floaters, splat_error *error)
{
    size_t n_found = 0;
    uint8_t *agreed = find_agreed(maps, threads);
    if (!agreed) return splat_fail(error, SPLAT_ERROR_MEMORY, "no memory to find floaters in %zu views", maps->n);
#pragma omp parallel for schedule(dynamic, 256) num_threads(threads) reduction(+ : n_found)
    for (size_t i = 0; i < n; i++) {
        keep[i] = !is_floater(maps, agreed, positions + 3 * i);
        n_found += !keep[i];
    }
    free(agreed);
    *n_floaters = n_found;
    return SPLAT_OK;
}

/* keep: [n], positions: [n][3]; scratch of the caller. */
static splat_status remove_found(splat_model *model, const splat_view_maps *maps, float *positions, uint8_t *keep,
                                 size_t *n_removed, splat_error *error)
{
    size_t n = model->gaussians.n;
    SPLAT_TRY(splat_backend_download(model->backend, positions, model->gaussians.p.means, 3 * n * sizeof *positions,
                                     error));
    SPLAT_TRY(splat_find_floaters(maps, positions, n, model->context->threads, keep, n_removed, error));
    if (*n_removed == n) {
        *n_removed = 0;
        return splat_fail(error, SPLAT_ERROR_NUMERIC, "all Gaussians would be floaters; is it a splat of this scene?");
    }
    return splat_model_keep(model, keep, error);
}

splat_status splat_model_remove_floaters(splat_scene *scene, splat_model *model,
                                         const splat_mesh_extract_options *options, size_t *n_removed,
                                         splat_error *error)
{
    splat_mesh_extract_options own;
    splat_view_maps maps;
    size_t n = model->gaussians.n;
    *n_removed = 0;
    splat_mesh_extract_options_init(&own);
    if (options) SPLAT_TRY(splat_options_take(&own, options, "splat_mesh_extract_options", error));
    SPLAT_TRY(splat_mesh_extract_options_check(&own, error));
    if (n == 0) return SPLAT_OK;
    SPLAT_TRY(splat_view_maps_make(scene, model, &own, &maps, error));
    float *positions = malloc(3 * n * sizeof *positions);
    uint8_t *keep = malloc(n);
    splat_status status = positions && keep
                              ? remove_found(model, &maps, positions, keep, n_removed, error)
                              : splat_fail(error, SPLAT_ERROR_MEMORY, "no memory to look at %zu Gaussians", n);
    free(positions);
    free(keep);
    splat_view_maps_free(&maps);
    return status;
}
