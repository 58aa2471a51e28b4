/* The mesh in the training views. Each thread draws whole views by itself; sums of counts have no order. */
#include "surface/extract/extract_checks.h"

#include "math/camera.h"
#include "mesh/mesh_raster.h"
#include "scene/scene.h"
#include "surface/extract/free_space.h"
#include "surface/extract/surface_views.h"

#include <math.h>
#include <stdlib.h>

#define MOST_PIXELS 2.5e5
#define MOST_THREADS 16  /* each draws a mesh, and that takes memory */
#define NEAR_PART 0.002f /* of the extent: nearer surface is not drawn */
#define TOLERANCE 0.02f  /* of a trusted depth */

typedef struct drawn_view {
    uint32_t *faces;
    float *depth;
    uint8_t *front, *kept;
    uint64_t n_covered, n_back, n_trusted, n_violated, n_missing, n_sky_pixels, n_sky_covered;
    splat_status status;
    splat_error error;
} drawn_view;

typedef struct checker {
    const splat_extraction *e;
    const splat_mesh *mesh;
    const splat_sighting *sightings;
    const size_t *starts; /* [views + 1] of each view's sightings */
} checker;

/* Violated or missing only if all of the 3 x 3 pixels are: at an outline the pixels of two sizes differ. */
static void check_sighting(const splat_sighting *s, const splat_camera *camera, drawn_view *d)
{
    int x = (int)(s->x * (float)camera->width), y = (int)(s->y * (float)camera->height), n_before = 0, n_behind = 0;
    if (x < 1 || y < 1 || x + 1 >= camera->width || y + 1 >= camera->height) return;
    for (int dy = -1; dy < 2; dy++)
        for (int dx = -1; dx < 2; dx++) {
            size_t pixel = (size_t)(y + dy) * (size_t)camera->width + (size_t)(x + dx);
            bool is_there = d->faces[pixel] != 0;
            n_before += is_there && d->depth[pixel] < (1 - TOLERANCE) * s->depth;
            n_behind += !is_there || d->depth[pixel] > (1 + TOLERANCE) * s->depth;
        }
    d->n_trusted++;
    d->n_violated += n_before == 9;
    d->n_missing += n_behind == 9;
}

static splat_status check_view(const checker *c, size_t number, drawn_view *d, splat_error *error)
{
    splat_scene *scene = c->e->scene;
    const uint32_t view = scene->dataset.train[number];
    const splat_camera camera = splat_surface_camera_within(c->e->scene, number, MOST_PIXELS);
    const bool has_mask = scene->dataset.views[view].has_mask;
    const splat_mesh_raster_options raster = {fmaxf(fminf(0.01f, NEAR_PART * scene->dataset.extent), 1e-6f), 1};
    const splat_mesh_raster_maps maps = {.faces = d->faces, .depth = d->depth, .front = d->front};
    SPLAT_TRY(splat_mesh_rasterize(c->mesh, &camera, &raster, &maps, error));
    if (has_mask) SPLAT_TRY(splat_scene_read_mask(scene, view, camera.width, camera.height, d->kept, error));
    for (size_t i = 0; i < splat_camera_pixels(&camera); i++) {
        if (has_mask && !d->kept[i]) continue;
        if (c->e->space->n) {
            const splat_free_view *seen = &c->e->space->views[number];
            bool is_sky = seen->codes[splat_free_pixel(seen, &camera, i)] == SPLAT_FREE_SKY;
            d->n_sky_pixels += is_sky;
            d->n_sky_covered += is_sky && d->faces[i];
        }
        if (!d->faces[i]) continue;
        d->n_covered++;
        d->n_back += !d->front[i];
    }
    for (size_t i = c->starts[number]; i < c->starts[number + 1]; i++) check_sighting(&c->sightings[i], &camera, d);
    return SPLAT_OK;
}

static bool make_room(const checker *c, size_t n_views, drawn_view *d)
{
    size_t n = 1;
    for (size_t i = 0; i < n_views; i++) {
        splat_camera camera = splat_surface_camera_within(c->e->scene, i, MOST_PIXELS);
        if (splat_camera_pixels(&camera) > n) n = splat_camera_pixels(&camera);
    }
    *d = (drawn_view){.faces = malloc(n * sizeof *d->faces), .depth = malloc(n * sizeof *d->depth), .front = malloc(n),
                      .kept = malloc(n)};
    return d->faces && d->depth && d->front && d->kept;
}

static splat_status check_all(const checker *c, size_t n_views, splat_mesh_extract_info *info, splat_error *error)
{
    int n_drawn = c->e->threads < MOST_THREADS ? c->e->threads : MOST_THREADS;
    drawn_view drawn[MOST_THREADS];
    bool has_room = true;
    splat_status status = SPLAT_OK;
    size_t next = 0;
    for (int k = 0; k < n_drawn; k++) has_room = make_room(c, n_views, &drawn[k]) && has_room;
    if (!has_room) status = splat_fail(error, SPLAT_ERROR_MEMORY, "no memory to check a mesh");
#pragma omp parallel for schedule(static, 1) num_threads(n_drawn)
    for (int k = 0; k < (has_room ? n_drawn : 0); k++)
        for (;;) {
            size_t number = __atomic_fetch_add(&next, 1, __ATOMIC_RELAXED);
            if (number >= n_views || drawn[k].status != SPLAT_OK) break;
            drawn[k].status = check_view(c, number, &drawn[k], &drawn[k].error);
        }
    for (int k = 0; k < n_drawn; k++) {
        if (status == SPLAT_OK && drawn[k].status != SPLAT_OK) {
            status = drawn[k].status;
            if (error) *error = drawn[k].error;
        }
        info->n_covered += drawn[k].n_covered;
        info->n_back += drawn[k].n_back;
        info->n_trusted += drawn[k].n_trusted;
        info->n_violated += drawn[k].n_violated;
        info->n_missing += drawn[k].n_missing;
        info->n_sky_pixels += drawn[k].n_sky_pixels;
        info->n_sky_covered += drawn[k].n_sky_covered;
        free(drawn[k].faces);
        free(drawn[k].depth);
        free(drawn[k].front);
        free(drawn[k].kept);
    }
    return status;
}

splat_status splat_extract_check(const splat_extraction *e, const splat_surface_points *points, const splat_mesh *mesh,
                                 splat_mesh_extract_info *info, splat_error *error)
{
    const size_t n_views = e->scene->dataset.n_train, n = points ? points->n_sightings : 0;
    size_t *starts = malloc((n_views + 1) * sizeof *starts), at = 0;
    info->n_covered = info->n_back = info->n_trusted = info->n_violated = info->n_missing = 0;
    info->n_sky_pixels = info->n_sky_covered = 0;
    if (!starts) return splat_fail(error, SPLAT_ERROR_MEMORY, "no memory to check a mesh");
    for (size_t v = 0; v <= n_views; v++) {
        while (at < n && points->sightings[at].view < v) at++;
        starts[v] = at;
    }
    checker c = {.e = e, .mesh = mesh, .sightings = points ? points->sightings : NULL, .starts = starts};
    splat_status status = splat_surface_go_on(e->options, "checking", 0, error);
    if (status == SPLAT_OK) status = check_all(&c, n_views, info, error);
    free(starts);
    return status;
}
