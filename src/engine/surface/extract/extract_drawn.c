/* The mesh in the training views. Each thread draws whole views by itself, or lets the device draw them. */
#include "surface/extract/extract_drawn.h"

#include "mesh/mesh_raster.h"
#include "model/mesh_drawer.h"
#include "model/model.h"
#include "scene/scene.h"
#include "surface/extract/free_space.h"
#include "surface/extract/surface_views.h"

#include <math.h>
#include <stdlib.h>

#define NEAR_PART 0.002f /* of the extent: nearer surface is not drawn */

typedef struct drawer {
    const splat_extraction *e;
    const splat_mesh *mesh;
    bool of_mesh;
    double most_pixels;
    splat_mesh_drawer *device; /* closed: the threads draw */
    splat_drawn_function use;
    void *user;
} drawer;

typedef struct pictures {
    uint32_t *faces;
    float *depth;
    uint8_t *front, *kept;
    splat_status status;
    splat_error error;
} pictures;

static size_t count_pixels(const drawer *d)
{
    size_t n = 1;
    for (size_t i = 0; i < d->e->scene->dataset.n_train; i++) {
        const splat_camera camera = splat_surface_camera_within(d->e->scene, i, d->most_pixels);
        if (splat_camera_pixels(&camera) > n) n = splat_camera_pixels(&camera);
    }
    return n;
}

static bool make_room(size_t n, pictures *own)
{
    *own = (pictures){.faces = malloc(n * sizeof *own->faces),
                      .depth = malloc(n * sizeof *own->depth),
                      .front = malloc(n),
                      .kept = malloc(n)};
    return own->faces && own->depth && own->front && own->kept;
}

static void free_room(pictures *own)
{
    free(own->faces);
    free(own->depth);
    free(own->front);
    free(own->kept);
}

static splat_status draw_maps(const drawer *d, const splat_camera *camera, float near, pictures *own,
                              splat_error *error)
{
    const splat_mesh_raster_options raster = {near, 1};
    const splat_mesh_raster_maps maps = {.faces = own->faces, .depth = own->depth, .front = own->front};
    if (!d->device->backend) return splat_mesh_rasterize(d->mesh, camera, &raster, &maps, error);
    return splat_mesh_drawer_draw(d->device, camera, near, own->faces, own->depth, NULL, own->front, error);
}

static splat_status draw(const drawer *d, size_t number, int worker, pictures *own, splat_error *error)
{
    splat_scene *scene = d->e->scene;
    const uint32_t index = scene->dataset.train[number];
    const bool has_mask = scene->dataset.views[index].has_mask;
    const float near = fmaxf(fminf(0.01f, NEAR_PART * scene->dataset.extent), 1e-6f);
    const splat_drawn_view view = {.number = number,
                                   .worker = worker,
                                   .camera = splat_surface_camera_within(scene, number, d->most_pixels),
                                   .faces = own->faces,
                                   .depth = own->depth,
                                   .front = own->front,
                                   .kept = has_mask ? own->kept : NULL};
    SPLAT_TRY(draw_maps(d, &view.camera, near, own, error));
    if (has_mask)
        SPLAT_TRY(splat_scene_read_mask(scene, index, view.camera.width, view.camera.height, own->kept, error));
    d->use(d->user, &view);
    return SPLAT_OK;
}

static void draw_all(const drawer *d, int n_workers, pictures *own)
{
    size_t next = 0;
#pragma omp parallel for schedule(static, 1) num_threads(n_workers)
    for (int k = 0; k < n_workers; k++)
        for (;;) {
            const size_t number = __atomic_fetch_add(&next, 1, __ATOMIC_RELAXED);
            if (number >= d->e->scene->dataset.n_train || own[k].status != SPLAT_OK) break;
            if (d->of_mesh && !splat_extract_is_of_mesh(d->e, number)) continue;
            own[k].status = draw(d, number, k, &own[k], &own[k].error);
        }
}

bool splat_extract_is_of_mesh(const splat_extraction *e, size_t number)
{
    return !e->space->knows_surface || splat_free_space_view(e->space, number);
}

splat_status splat_extract_draw(const splat_extraction *e, const splat_mesh *mesh, bool of_mesh, double most_pixels,
                                splat_drawn_function use, void *user, splat_error *error)
{
    splat_mesh_drawer device = {0};
    const drawer d = {e, mesh, of_mesh, most_pixels, &device, use, user};
    const size_t n_pixels = count_pixels(&d);
    const int n_workers = e->threads < SPLAT_DRAWN_WORKERS ? e->threads : SPLAT_DRAWN_WORKERS;
    pictures own[SPLAT_DRAWN_WORKERS];
    bool has_room = true;
    splat_status status = SPLAT_OK;
    for (int k = 0; k < n_workers; k++) has_room = make_room(n_pixels, &own[k]) && has_room;
    if (has_room) {
        if (e->model)
            splat_mesh_drawer_open(&device, e->model->backend, mesh->vertices, mesh->n_vertices, mesh->faces,
                                   mesh->n_faces, n_pixels);
        draw_all(&d, n_workers, own);
        splat_mesh_drawer_close(&device);
    } else {
        status = splat_fail(error, SPLAT_ERROR_MEMORY, "no memory to draw a mesh in the training views");
    }
    for (int k = 0; k < n_workers; k++) {
        if (status == SPLAT_OK && own[k].status != SPLAT_OK) {
            status = own[k].status;
            if (error) *error = own[k].error;
        }
        free_room(&own[k]);
    }
    return status;
}
