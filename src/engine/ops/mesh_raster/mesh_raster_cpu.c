/* mesh_raster on the CPU: faces in parallel on one picture of keys. */
#include "backend/backend.h"
#include "math/camera.h"
#include "ops/mesh_raster/mesh_raster.h"
#include "ops/mesh_raster/mesh_raster_math.h"

#include <stdatomic.h>

static void offer(_Atomic uint64_t *at, uint64_t key)
{
    uint64_t seen = atomic_load_explicit(at, memory_order_relaxed);
    while (key < seen && !atomic_compare_exchange_weak_explicit(at, &seen, key, memory_order_relaxed,
                                                                memory_order_relaxed)) {}
}

static void draw_triangle(const splat_raster_eye *eye, const splat_raster_polygon *p, int k, uint32_t face,
                          _Atomic uint64_t *keys)
{
    int first[2], last[2];
    splat_raster_triangle t;
    if (!splat_mesh_raster_bounds(eye, p, k, first, last) || !splat_mesh_raster_fan(p, k, first[0], first[1], &t))
        return;
    for (int y = first[1]; y <= last[1]; y++)
        for (int x = first[0]; x <= last[0]; x++) {
            int64_t e[3];
            double share[3], sum;
            for (int i = 0; i < 3; i++) e[i] = t.value[i] + (x - first[0]) * t.right[i] + (y - first[1]) * t.down[i];
            if ((e[0] | e[1] | e[2]) < 0) continue;
            offer(&keys[(size_t)y * (size_t)eye->width + (size_t)x],
                  splat_mesh_raster_key(splat_raster_depth(&t, e, share, &sum), face));
        }
}

splat_status splat_mesh_raster_cpu(splat_backend *backend, const struct splat_mesh_raster_args *args,
                                   splat_error *error)
{
    const size_t n_pixels = splat_camera_pixels(args->camera);
    void *corner_memory, *key_memory;
    SPLAT_TRY(splat_mesh_raster_check(args, error));
    SPLAT_TRY(splat_scratch_reset(backend, error));
    SPLAT_TRY(splat_scratch_take(backend, (args->n_vertices + 1) * sizeof(splat_raster_corner), &corner_memory, error));
    SPLAT_TRY(splat_scratch_take(backend, n_pixels * sizeof(uint64_t), &key_memory, error));
    splat_raster_corner *corners = corner_memory;
    _Atomic uint64_t *keys = key_memory;
    const splat_raster_eye eye = splat_raster_eye_make(args->vertices, args->faces, corners, args->camera, args->near);
#pragma omp parallel num_threads(backend->threads)
    {
#pragma omp for schedule(static)
        for (size_t i = 0; i < n_pixels; i++) atomic_init(&keys[i], SPLAT_MESH_RASTER_NOTHING);
#pragma omp for schedule(static)
        for (size_t i = 0; i < args->n_vertices; i++) corners[i] = splat_raster_corner_of(&eye, i);
#pragma omp for schedule(dynamic, 256)
        for (size_t face = 0; face < args->n_faces; face++) {
            splat_raster_polygon p;
            splat_raster_face_polygon(&eye, face, &p);
            for (int k = 1; k + 1 < p.n; k++) draw_triangle(&eye, &p, k, (uint32_t)face, keys);
        }
#pragma omp for schedule(static)
        for (size_t i = 0; i < n_pixels; i++)
            splat_mesh_raster_unpack(&eye, atomic_load_explicit(&keys[i], memory_order_relaxed),
                                     (int)(i % (size_t)eye.width), (int)(i / (size_t)eye.width), &args->ids[i],
                                     &args->depth[i], args->weights ? args->weights[i] : NULL,
                                     args->front ? &args->front[i] : NULL);
    }
    return SPLAT_OK;
}
