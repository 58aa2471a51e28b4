/* Questions of a view to its photos, and what its neighbours confirm. */
#include "surface/extract/view_sites.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define STRIDE ((int)SPLAT_VIEW_SITE_STRIDE)

static splat_status make_view(splat_view_sites *s, size_t view, splat_error *error)
{
    const splat_camera *camera = &s->maps->views[view].camera;
    splat_site_view *v = &s->views[view];
    v->columns = (int)splat_match_sites(camera->width, STRIDE);
    v->rows = (int)splat_match_sites(camera->height, STRIDE);
    v->planes = calloc(splat_site_count(v) + 1, sizeof *v->planes);
    v->is_confirmed = calloc(splat_site_count(v) + 1, sizeof *v->is_confirmed);
    if (v->planes && v->is_confirmed) return SPLAT_OK;
    return splat_fail(error, SPLAT_ERROR_MEMORY, "no memory to ask photos about depth");
}

splat_status splat_view_sites_make(splat_view_sites *s, splat_error *error)
{
    size_t most = 1;
    s->views = calloc(s->maps->n + 1, sizeof *s->views);
    if (!s->views) return splat_fail(error, SPLAT_ERROR_MEMORY, "no memory for %zu views", s->maps->n);
    for (size_t i = 0; i < s->maps->n; i++) {
        SPLAT_TRY(make_view(s, i, error));
        most = splat_site_count(&s->views[i]) > most ? splat_site_count(&s->views[i]) : most;
    }
    s->costs = malloc(most * sizeof *s->costs);
    return s->costs ? SPLAT_OK : splat_fail(error, SPLAT_ERROR_MEMORY, "no memory for the costs of a view");
}

void splat_view_sites_free(splat_view_sites *s)
{
    for (size_t i = 0; s->views && i < s->maps->n; i++) {
        free(s->views[i].planes);
        free(s->views[i].is_confirmed);
    }
    free(s->views);
    free(s->costs);
    s->views = NULL;
    s->costs = NULL;
}

/* ---------------------------------------------------------------- what photos say */

/* False: a view has no plane to ask about. */
static bool has_planes(const splat_site_view *v)
{
    for (size_t i = 0; i < splat_site_count(v); i++)
        if (v->planes[i][0] > 0) return true;
    return false;
}

/* Planes become the best ones that count. */
static splat_status ask(splat_view_sites *s, const splat_site_pass *pass, size_t view, splat_error *error)
{
    const splat_view_map *map = &s->maps->views[view];
    const splat_site_view *v = &s->views[view];
    const size_t n = splat_site_count(v);
    const bool has_costs = pass->most_cost < INFINITY;
    if (!has_planes(v)) return SPLAT_OK;
#pragma omp parallel for num_threads(s->threads) schedule(static)
    for (size_t i = 0; i < n; i++) memcpy(s->photos->first[i], v->planes[i], sizeof *v->planes);
    SPLAT_TRY(splat_photo_matcher_compare(s->photos, view, map->neighbors, map->n_neighbors, STRIDE, pass->n_sweeps,
                                          error));
    if (has_costs) SPLAT_TRY(splat_photo_matcher_costs(s->photos, n, s->costs, error));
#pragma omp parallel for num_threads(s->threads) schedule(static)
    for (size_t i = 0; i < n; i++) {
        const bool is_good = v->planes[i][0] > 0 && (!has_costs || s->costs[i] < pass->most_cost) &&
                             pass->is_good(s->photos, i);
        for (int k = 0; k < 3; k++) v->planes[i][k] = is_good ? s->photos->best[i][k] : 0;
    }
    return SPLAT_OK;
}

/* ---------------------------------------------------------------- the pixels of a site */

/* Those to which it is the nearest. */
typedef struct block {
    int left, right, top, bottom; /* right and bottom are not of it */
    int x, y;                     /* the site's own */
} block;

static block block_of(const splat_view_sites *s, size_t view, size_t site)
{
    const splat_camera *camera = &s->maps->views[view].camera;
    const splat_site_view *v = &s->views[view];
    const int column = (int)(site % (size_t)v->columns), row = (int)(site / (size_t)v->columns);
    return (block){.left = column * STRIDE,
                   .right = column + 1 < v->columns ? (column + 1) * STRIDE : camera->width,
                   .top = row * STRIDE,
                   .bottom = row + 1 < v->rows ? (row + 1) * STRIDE : camera->height,
                   .x = column * STRIDE + STRIDE / 2,
                   .y = row * STRIDE + STRIDE / 2};
}

/* Inverse depth of a site's plane at a pixel. */
static float inverse_depth(const float plane[3], const block *b, int x, int y)
{
    return plane[0] + plane[1] * (float)(x - b->x) + plane[2] * (float)(y - b->y);
}

/* ---------------------------------------------------------------- what neighbours confirm */


/* True if the view has the place, by its map or by what photos say. */
static bool confirms(const splat_view_sites *s, const splat_site_pass *pass, size_t view, const float place[3])
{
    const splat_view_map *map = &s->maps->views[view];
    const splat_site_view *v = &s->views[view];
    float image[3];
    if (splat_site_count(v) == 0 || !splat_camera_project(&map->camera, place, image)) return false;
    const int x = (int)image[0], y = (int)image[1];
    const size_t pixel = splat_view_map_pixel(map, x, y);
    if (splat_view_map_is_place(map, pixel)) {
        if (fabsf(map->depth[pixel] / image[2] - 1) < pass->same) return true;
        if (!pass->corrects) return false;
    }
    const size_t site = splat_match_site_at(STRIDE, v->columns, v->rows, x, y);
    const block b = block_of(s, view, site);
    return v->planes[site][0] > 0 &&
           fabsf(inverse_depth(v->planes[site], &b, x, y) * image[2] - 1) < pass->same;
}

static void confirm(splat_view_sites *s, const splat_site_pass *pass, size_t view)
{
    const splat_view_map *map = &s->maps->views[view];
    splat_site_view *v = &s->views[view];
    const size_t width = (size_t)map->camera.width;
#pragma omp parallel for num_threads(s->threads) schedule(dynamic, 1024)
    for (size_t i = 0; i < splat_site_count(v); i++) {
        const size_t pixel = splat_view_sites_pixel(s, view, i);
        float place[3];
        v->is_confirmed[i] = false;
        if (!(v->planes[i][0] > 0)) continue;
        splat_camera_unproject(&map->camera, (float)(pixel % width) + 0.5f, (float)(pixel / width) + 0.5f,
                               1 / v->planes[i][0], place);
        for (uint32_t k = 0; k < map->n_neighbors && !v->is_confirmed[i]; k++)
            v->is_confirmed[i] = confirms(s, pass, map->neighbors[k], place);
    }
}

/* Gives the plane of a site to its pixels that take it. Returns how many. */
static uint64_t apply_site(const splat_view_sites *s, const splat_site_pass *pass, size_t view, size_t site)
{
    splat_view_map *map = &s->maps->views[view];
    const float *plane = s->views[view].planes[site];
    const block b = block_of(s, view, site);
    const size_t of_site = splat_view_sites_pixel(s, view, site);
    float first[3] = {0};
    uint64_t n = 0;
    if (map->depth[of_site] > 0) splat_view_map_plane(map, of_site, first); /* of this block: nothing changed it yet */
    for (int y = b.top; y < b.bottom; y++)
        for (int x = b.left; x < b.right; x++) {
            const size_t pixel = (size_t)y * (size_t)map->camera.width + (size_t)x;
            const float q = inverse_depth(plane, &b, x, y);
            if (!(q > 0) || !pass->takes(map, pixel, inverse_depth(first, &b, x, y))) continue;
            map->state[pixel] = (uint8_t)pass->state;
            map->depth[pixel] = 1 / q;
            splat_view_map_set_normal(map, pixel, (const float[3]){q, plane[1], plane[2]});
            n++;
        }
    return n;
}

static uint64_t apply(const splat_view_sites *s, const splat_site_pass *pass, size_t view)
{
    uint64_t n = 0;
#pragma omp parallel for num_threads(s->threads) schedule(static) reduction(+ : n)
    for (size_t i = 0; i < splat_site_count(&s->views[view]); i++)
        if (s->views[view].is_confirmed[i]) n += apply_site(s, pass, view, i);
    return n;
}

/* ---------------------------------------------------------------- all views */

splat_status splat_view_sites_pass(splat_view_sites *s, const splat_site_pass *pass, double from, double to,
                                   uint64_t *n_changed, splat_error *error)
{
    const size_t n = s->maps->n;
    for (size_t i = 0; i < n; i++) {
        if (s->go_on) SPLAT_TRY(s->go_on(s->user, from + (to - from) * (double)i / (double)n, error));
        SPLAT_TRY(ask(s, pass, i, error));
    }
    for (size_t i = 0; i < n; i++) confirm(s, pass, i);
    for (size_t i = 0; i < n; i++) {
        *n_changed += apply(s, pass, i);
        splat_photo_matcher_forget(s->photos, i);
    }
    return SPLAT_OK;
}
