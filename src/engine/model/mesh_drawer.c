/* Blocks of the device for a mesh and its maps; pictures come back one by one. */
#include "model/mesh_drawer.h"

#include "math/camera.h"
#include "ops/mesh_raster/mesh_raster.h"

enum { VERTICES, FACES, IDS, DEPTH, WEIGHTS, FRONT };

static const char *const names[] = {"drawn vertices", "drawn faces", "drawn ids", "drawn depth", "drawn weights",
                                    "drawn sides"};

static splat_status ensure(splat_mesh_drawer *d, int block, size_t bytes, splat_error *error)
{
    return splat_block_ensure(d->backend, &d->blocks[block], names[block], SPLAT_OWNER_OTHER, bytes ? bytes : 1, error);
}

/* One drawing of a picture as large as any, so that no later one lacks memory. */
static splat_status take_room(splat_mesh_drawer *d, const float *vertices, const uint32_t *faces, size_t most_pixels,
                              splat_error *error)
{
    const size_t each[4] = {sizeof(uint32_t), sizeof(float), 2 * sizeof(float), 1};
    const size_t scratch = 12 * (d->n_vertices + 1) + 4 * (d->n_faces + 1) + 8 * most_pixels + 4096;
    void *data;
    SPLAT_TRY(ensure(d, VERTICES, 12 * d->n_vertices, error));
    SPLAT_TRY(ensure(d, FACES, 12 * d->n_faces, error));
    for (int k = 0; k < 4; k++) SPLAT_TRY(ensure(d, IDS + k, most_pixels * each[k], error));
    SPLAT_TRY(splat_scratch_reset(d->backend, error));
    SPLAT_TRY(splat_scratch_take(d->backend, scratch, &data, error));
    if (!d->n_vertices || !d->n_faces) return SPLAT_OK;
    SPLAT_TRY(splat_backend_upload(d->backend, d->blocks[VERTICES].data, vertices, 12 * d->n_vertices, error));
    return splat_backend_upload_and_wait(d->backend, d->blocks[FACES].data, faces, 12 * d->n_faces, error);
}

void splat_mesh_drawer_open(splat_mesh_drawer *drawer, splat_backend *backend, const float *vertices,
                            size_t n_vertices, const uint32_t *faces, size_t n_faces, size_t most_pixels)
{
    splat_error error = {0};
    if (!backend || !backend->device_bytes) return;
    const size_t limit = backend->memory.limit, used = backend->memory.device.reserved;
    const size_t needed = 24 * n_vertices + 16 * n_faces + 25 * most_pixels;
    if (limit && (used > limit || needed > (limit - used) / 4)) return;
    *drawer = (splat_mesh_drawer){.backend = backend, .n_vertices = n_vertices, .n_faces = n_faces};
    if (take_room(drawer, vertices, faces, most_pixels, &error) != SPLAT_OK) splat_mesh_drawer_close(drawer);
}

void splat_mesh_drawer_close(splat_mesh_drawer *drawer)
{
    for (int k = 0; drawer->backend && k < 6; k++) splat_block_free(drawer->backend, &drawer->blocks[k]);
    drawer->backend = NULL;
}

static splat_status draw(splat_mesh_drawer *drawer, const splat_camera *camera, float near, uint32_t *ids,
                         float *depth, float (*weights)[2], uint8_t *front, splat_error *error)
{
    splat_backend *b = drawer->backend;
    splat_block *blocks = drawer->blocks;
    const size_t n = splat_camera_pixels(camera);
    const struct splat_mesh_raster_args args = {.vertices = blocks[VERTICES].data,
                                                .faces = blocks[FACES].data,
                                                .n_vertices = drawer->n_vertices,
                                                .n_faces = drawer->n_faces,
                                                .camera = camera,
                                                .near = near,
                                                .ids = blocks[IDS].data,
                                                .depth = blocks[DEPTH].data,
                                                .weights = weights ? blocks[WEIGHTS].data : NULL,
                                                .front = front ? blocks[FRONT].data : NULL};
    SPLAT_TRY(splat_op_mesh_raster(b, &args, error));
    SPLAT_TRY(splat_backend_download(b, ids, args.ids, n * sizeof *ids, error));
    SPLAT_TRY(splat_backend_download(b, depth, args.depth, n * sizeof *depth, error));
    if (weights) SPLAT_TRY(splat_backend_download(b, weights, args.weights, n * sizeof *weights, error));
    return front ? splat_backend_download(b, front, args.front, n, error) : SPLAT_OK;
}

splat_status splat_mesh_drawer_draw(splat_mesh_drawer *drawer, const splat_camera *camera, float near, uint32_t *ids,
                                    float *depth, float (*weights)[2], uint8_t *front, splat_error *error)
{
    splat_status status;
#pragma omp critical(splat_mesh_drawer)
    status = draw(drawer, camera, near, ids, depth, weights, front, error);
    return status;
}
