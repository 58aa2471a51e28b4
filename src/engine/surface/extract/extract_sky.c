/* The mesh as training views see it, compared with their sky. Each thread draws whole views by itself. */
#include "surface/extract/extract_sky.h"

#include "math/camera.h"
#include "mesh/mesh_clean_vertices.h"
#include "mesh/mesh_raster.h"
#include "scene/scene.h"
#include "scene/sky.h"
#include "surface/extract/surface_views.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define DRAWN_PIXELS 1e6    /* of a picture in which faces are counted */
#define MEASURED_PIXELS 2.5e5
#define MOST_THREADS 16     /* each draws a mesh, and that takes memory */
#define ROUNDS 2
#define LEAST_PIXELS 4u
#define NEAR_PART 0.002f    /* of the extent: nearer surface is not drawn */

/* The pixels of a face in all views. */
typedef struct face_sight {
    uint32_t n_sky, n_other; /* pixels */
    uint32_t first_view;     /* that sees it before the sky, + 1 */
    uint32_t is_shared;      /* 1: another one does as well */
} face_sight;

/* A view at work. */
typedef struct drawn_view {
    uint32_t *faces;
    float *depth;
    uint8_t *work, *trusted, *kept;
    uint64_t n_sky, n_covered;
    splat_status status;
    splat_error error;
} drawn_view;

typedef struct sky_look {
    const splat_extraction *e;
    const splat_sky *sky;
    const splat_mesh *mesh;
    double most_pixels;
    face_sight *sights; /* [faces]; NULL: pixels alone are counted */
} sky_look;

/* Several threads count, and what they count does not depend on their order. */
static void count(face_sight *sight, bool is_sky, uint32_t view)
{
    uint32_t none = 0;
    __atomic_fetch_add(is_sky ? &sight->n_sky : &sight->n_other, 1, __ATOMIC_RELAXED);
    if (!is_sky) return;
    bool is_first = __atomic_compare_exchange_n(&sight->first_view, &none, view + 1, false, __ATOMIC_RELAXED,
                                                __ATOMIC_RELAXED);
    if (!is_first && none != view + 1) __atomic_store_n(&sight->is_shared, 1, __ATOMIC_RELAXED);
}

static splat_status draw(const sky_look *look, size_t number, drawn_view *d, splat_error *error)
{
    splat_scene *scene = look->e->scene;
    const uint32_t view = scene->dataset.train[number];
    const splat_camera camera = splat_surface_camera_within(look->e->scene, number, look->most_pixels);
    const size_t n = splat_camera_pixels(&camera);
    const bool has_mask = scene->dataset.views[view].has_mask;
    const splat_mesh_raster_options raster = {fmaxf(fminf(0.01f, NEAR_PART * scene->dataset.extent), 1e-6f), 1};
    const splat_mesh_raster_maps maps = {.faces = d->faces, .depth = d->depth};
    bool has_sky = splat_sky_read_trusted(look->sky, number, camera.width, camera.height, d->work, d->trusted);
    if (!has_sky && !look->sights) return SPLAT_OK;
    if (!has_sky) memset(d->trusted, 0, n);
    SPLAT_TRY(splat_mesh_rasterize(look->mesh, &camera, &raster, &maps, error));
    if (has_mask) SPLAT_TRY(splat_scene_read_mask(scene, view, camera.width, camera.height, d->kept, error));
    for (size_t i = 0; i < n; i++) {
        if (has_mask && !d->kept[i]) continue;
        d->n_sky += d->trusted[i];
        d->n_covered += d->trusted[i] && d->faces[i];
        if (look->sights && d->faces[i]) count(&look->sights[d->faces[i] - 1], d->trusted[i], (uint32_t)number);
    }
    return SPLAT_OK;
}

static bool make_room(const sky_look *look, drawn_view *d)
{
    size_t n = 1;
    for (size_t i = 0; i < look->sky->n; i++) {
        splat_camera camera = splat_surface_camera_within(look->e->scene, i, look->most_pixels);
        if (splat_camera_pixels(&camera) > n) n = splat_camera_pixels(&camera);
    }
    *d = (drawn_view){.faces = malloc(n * sizeof *d->faces), .depth = malloc(n * sizeof *d->depth), .work = malloc(n),
                      .trusted = malloc(n), .kept = malloc(n)};
    return d->faces && d->depth && d->work && d->trusted && d->kept;
}

/* Draws the mesh in all training views. */
static splat_status look_at(const sky_look *look, uint64_t *n_sky, uint64_t *n_covered, splat_error *error)
{
    int n_drawn = look->e->threads < MOST_THREADS ? look->e->threads : MOST_THREADS;
    drawn_view drawn[MOST_THREADS];
    bool has_room = true;
    splat_status status = SPLAT_OK;
    size_t next = 0;
    *n_sky = *n_covered = 0;
    for (int k = 0; k < n_drawn; k++) has_room = make_room(look, &drawn[k]) && has_room;
    if (!has_room)
        status = splat_fail(error, SPLAT_ERROR_MEMORY, "no memory to compare a mesh with the sky");
#pragma omp parallel for schedule(static, 1) num_threads(n_drawn)
    for (int k = 0; k < (has_room ? n_drawn : 0); k++)
        for (;;) {
            size_t number = __atomic_fetch_add(&next, 1, __ATOMIC_RELAXED);
            if (number >= look->sky->n || drawn[k].status != SPLAT_OK) break;
            drawn[k].status = draw(look, number, &drawn[k], &drawn[k].error);
        }
    for (int k = 0; k < n_drawn; k++) {
        if (status == SPLAT_OK && drawn[k].status != SPLAT_OK) {
            status = drawn[k].status;
            if (error) *error = drawn[k].error;
        }
        *n_sky += drawn[k].n_sky;
        *n_covered += drawn[k].n_covered;
        free(drawn[k].faces);
        free(drawn[k].depth);
        free(drawn[k].work);
        free(drawn[k].trusted);
        free(drawn[k].kept);
    }
    return status;
}

/* Writes keep of every face; returns how many go. near: [vertices], 0. */
static size_t judge(const splat_mesh *mesh, const face_sight *sights, uint8_t *near, uint8_t *keep)
{
    size_t n_gone = 0;
    for (size_t i = 0; i < mesh->n_faces; i++) {
        const face_sight *s = &sights[i];
        keep[i] = !(s->is_shared && s->n_sky >= LEAST_PIXELS && s->n_sky > s->n_other);
        for (size_t k = 0; k < 3 && !keep[i]; k++) near[mesh->faces[3 * i + k]] = 1;
    }
    for (size_t i = 0; i < mesh->n_faces; i++) {
        const uint32_t *f = mesh->faces + 3 * i;
        if (keep[i] && sights[i].n_other == 0 && (near[f[0]] | near[f[1]] | near[f[2]])) keep[i] = 0;
        n_gone += !keep[i];
    }
    return n_gone;
}

static splat_status drop(sky_look *look, splat_mesh *mesh, size_t *n_gone, splat_error *error)
{
    uint64_t n_sky, n_covered;
    size_t n_unused = 0;
    uint8_t *near = calloc(mesh->n_vertices + 1, 1), *keep = malloc(mesh->n_faces + 1);
    look->sights = calloc(mesh->n_faces + 1, sizeof *look->sights);
    splat_status status = near && keep && look->sights
                              ? look_at(look, &n_sky, &n_covered, error)
                              : splat_fail(error, SPLAT_ERROR_MEMORY, "no memory to compare %zu faces with the sky",
                                           mesh->n_faces);
    if (status == SPLAT_OK && (*n_gone = judge(mesh, look->sights, near, keep)) > 0) {
        splat_mesh_keep_faces(mesh, keep, look->e->threads);
        status = splat_mesh_remove_unreferenced(mesh, look->e->threads, &n_unused, error);
    }
    free(near);
    free(keep);
    free(look->sights);
    return status;
}

splat_status splat_extract_drop_before_sky(const splat_extraction *e, splat_mesh *mesh, size_t *n_faces,
                                           splat_error *error)
{
    sky_look look = {.e = e, .mesh = mesh, .most_pixels = DRAWN_PIXELS};
    *n_faces = 0;
    SPLAT_TRY(splat_scene_find_sky(e->scene, &look.sky, error));
    if (!look.sky->is_found) return SPLAT_OK;
    for (int round = 0; round < ROUNDS; round++) {
        size_t n_gone = 0;
        SPLAT_TRY(splat_surface_go_on(e->options, "comparing with the sky", (double)round / ROUNDS, error));
        SPLAT_TRY(drop(&look, mesh, &n_gone, error));
        *n_faces += n_gone;
        if (n_gone == 0) break;
    }
    if (mesh->n_faces > 0) return SPLAT_OK;
    return splat_fail(error, SPLAT_ERROR_NUMERIC, "all of the mesh stands before the sky of the photos; say `sky none` "
                      "if it is none");
}

splat_status splat_extract_measure_sky(const splat_extraction *e, const splat_mesh *mesh, uint64_t *n_sky,
                                       uint64_t *n_covered, splat_error *error)
{
    sky_look look = {.e = e, .mesh = mesh, .most_pixels = MEASURED_PIXELS};
    *n_sky = *n_covered = 0;
    SPLAT_TRY(splat_scene_find_sky(e->scene, &look.sky, error));
    return look.sky->is_found ? look_at(&look, n_sky, n_covered, error) : SPLAT_OK;
}
