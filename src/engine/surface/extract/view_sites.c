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
    s->views = calloc(s->maps->n + 1, sizeof *s->views);
    if (!s->views) return splat_fail(error, SPLAT_ERROR_MEMORY, "no memory for %zu views", s->maps->n);
    for (size_t i = 0; i < s->maps->n; i++) SPLAT_TRY(make_view(s, i, error));
    return SPLAT_OK;
}

void splat_view_sites_free(splat_view_sites *s)
{
    for (size_t i = 0; s->views && i < s->maps->n; i++) {
        free(s->views[i].planes);
        free(s->views[i].is_confirmed);
    }
    free(s->views);
    s->views = NULL;
}

splat_status splat_view_sites_ask(splat_view_sites *s, size_t view, uint32_t n_sweeps, bool *is_any, splat_error *error)
{
    const splat_view_map *map = &s->maps->views[view];
    const splat_site_view *v = &s->views[view];
    const size_t n = splat_site_count(v);
    *is_any = false;
    for (size_t i = 0; i < n && !*is_any; i++) *is_any = v->planes[i][0] > 0;
    if (!*is_any) return SPLAT_OK;
    memcpy(s->photos->first, v->planes, n * sizeof *v->planes);
    return splat_photo_matcher_compare(s->photos, view, map->neighbors, map->n_neighbors, STRIDE, n_sweeps, error);
}

splat_site_block splat_view_sites_block(const splat_view_sites *s, size_t view, size_t site)
{
    const splat_camera *camera = &s->maps->views[view].camera;
    const splat_site_view *v = &s->views[view];
    const int column = (int)(site % (size_t)v->columns), row = (int)(site / (size_t)v->columns);
    return (splat_site_block){.left = column * STRIDE,
                              .right = column + 1 < v->columns ? (column + 1) * STRIDE : camera->width,
                              .top = row * STRIDE,
                              .bottom = row + 1 < v->rows ? (row + 1) * STRIDE : camera->height,
                              .x = column * STRIDE + STRIDE / 2,
                              .y = row * STRIDE + STRIDE / 2};
}

/* True if the view has the place, by its map or by what photos say. */
static bool confirms(const splat_view_sites *s, size_t view, const float place[3], float same)
{
    const splat_view_map *map = &s->maps->views[view];
    const splat_site_view *v = &s->views[view];
    float image[3];
    if (splat_site_count(v) == 0 || !splat_camera_project(&map->camera, place, image)) return false;
    const int x = (int)image[0], y = (int)image[1];
    const size_t pixel = splat_view_map_pixel(map, x, y);
    if (splat_view_map_is_place(map, pixel)) {
        if (fabsf(map->depth[pixel] / image[2] - 1) < same) return true;
        if (!s->corrects) return false;
    }
    const size_t site = splat_match_site_at(STRIDE, v->columns, v->rows, x, y);
    const splat_site_block block = splat_view_sites_block(s, view, site);
    return v->planes[site][0] > 0 &&
           fabsf(splat_site_inverse_depth(v->planes[site], &block, x, y) * image[2] - 1) < same;
}

static void confirm_view(splat_view_sites *s, size_t view, float same)
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
            v->is_confirmed[i] = confirms(s, map->neighbors[k], place, same);
    }
}

void splat_view_sites_confirm(splat_view_sites *s, float same)
{
    for (size_t i = 0; i < s->maps->n; i++) confirm_view(s, i, same);
}

static uint64_t apply_site(const splat_view_sites *s, size_t view, size_t site, splat_site_takes takes,
                           splat_pixel_state state)
{
    splat_view_map *map = &s->maps->views[view];
    const float *plane = s->views[view].planes[site];
    const splat_site_block block = splat_view_sites_block(s, view, site);
    const size_t of_site = splat_view_sites_pixel(s, view, site);
    float first[3] = {0};
    uint64_t n = 0;
    if (map->depth[of_site] > 0) splat_view_map_plane(map, of_site, first); /* of this block: nothing changed it yet */
    for (int y = block.top; y < block.bottom; y++)
        for (int x = block.left; x < block.right; x++) {
            const size_t pixel = (size_t)y * (size_t)map->camera.width + (size_t)x;
            const float q = splat_site_inverse_depth(plane, &block, x, y);
            if (!(q > 0) || !takes(map, pixel, splat_site_inverse_depth(first, &block, x, y))) continue;
            map->state[pixel] = (uint8_t)state;
            map->depth[pixel] = 1 / q;
            splat_view_map_set_normal(map, pixel, (const float[3]){q, plane[1], plane[2]});
            n++;
        }
    return n;
}

uint64_t splat_view_sites_apply(const splat_view_sites *s, splat_site_takes takes, splat_pixel_state state)
{
    uint64_t n = 0;
    for (size_t v = 0; v < s->maps->n; v++) {
#pragma omp parallel for num_threads(s->threads) schedule(static) reduction(+ : n)
        for (size_t i = 0; i < splat_site_count(&s->views[v]); i++)
            if (s->views[v].is_confirmed[i]) n += apply_site(s, v, i, takes, state);
    }
    return n;
}
