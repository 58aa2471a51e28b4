/* visibility_buffer on the CPU: Gaussians in parallel on one picture of keys, of which the least wins in any order. */
#include "backend/backend.h"
#include "math/camera.h"
#include "ops/visibility_buffer/visibility_buffer.h"
#include "ops/visibility_buffer/visibility_buffer_math.h"

#include <stdatomic.h>

static void draw(const splat_diamond *d, uint32_t index, int width, _Atomic uint64_t *keys)
{
    for (int j = d->y0; j < d->y1; j++) {
        _Atomic uint64_t *row = keys + (size_t)j * (size_t)width;
        for (int i = d->x0; i < d->x1; i++) {
            float depth;
            if (!splat_diamond_covers(d, i, j, &depth)) continue;
            uint64_t key = splat_visibility_key(depth, index);
            uint64_t seen = atomic_load_explicit(&row[i], memory_order_relaxed);
            while (key < seen && !atomic_compare_exchange_weak_explicit(&row[i], &seen, key, memory_order_relaxed,
                                                                        memory_order_relaxed)) {}
        }
    }
}

splat_status splat_visibility_buffer_cpu(splat_backend *backend, const struct splat_visibility_buffer_args *args,
                                         splat_error *error)
{
    const splat_camera *camera = args->camera;
    const splat_tensors *p = &args->gaussians->p;
    size_t n_pixels = splat_camera_pixels(camera);
    uint32_t n = args->gaussians->n;
    void *scratch;
    SPLAT_TRY(splat_scratch_reset(backend, error));
    SPLAT_TRY(splat_scratch_take(backend, n_pixels * sizeof(uint64_t), &scratch, error));
    _Atomic uint64_t *keys = scratch;
#pragma omp parallel num_threads(backend->threads)
    {
#pragma omp for schedule(static)
        for (size_t i = 0; i < n_pixels; i++) atomic_init(&keys[i], SPLAT_VISIBILITY_NOTHING);
#pragma omp for schedule(dynamic, 256)
        for (uint32_t i = 0; i < n; i++) {
            splat_diamond d = splat_diamond_make(camera, p->means + 3 * (size_t)i, p->scales + 3 * (size_t)i,
                                                 p->rotations + 4 * (size_t)i);
            draw(&d, i, camera->width, keys);
        }
#pragma omp for schedule(static)
        for (size_t i = 0; i < n_pixels; i++)
            splat_visibility_unpack(atomic_load_explicit(&keys[i], memory_order_relaxed), &args->ids[i],
                                    &args->depth[i]);
    }
    return SPLAT_OK;
}
