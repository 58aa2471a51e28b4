/* filter3d on the CPU: parallel over Gaussians, the loop over cameras in filter3d_simd.c. */
#include "backend/backend.h"
#include "base/checked.h"
#include "ops/filter3d/filter3d.h"
#include "ops/filter3d/filter3d_simd.h"

#include <math.h>

#define CHUNK 1024 /* Gaussians a task */

splat_status splat_filter3d_cpu(splat_backend *backend, const struct splat_filter3d_args *args, splat_error *error)
{
    uint32_t n = args->n, n_cameras = args->n_cameras;
    if (args->largest) *args->largest = 0;
    if (n == 0) return SPLAT_OK;
    size_t bytes;
    if (!splat_size_mul(n_cameras ? n_cameras : 1, sizeof(splat_filter3d_camera), &bytes))
        return splat_fail(error, SPLAT_ERROR_MEMORY, "%u cameras are more than memory can hold", n_cameras);
    void *scratch;
    SPLAT_TRY(splat_scratch_reset(backend, error));
    SPLAT_TRY(splat_scratch_take(backend, bytes, &scratch, error));
    splat_filter3d_camera *cameras = scratch;
    for (uint32_t c = 0; c < n_cameras; c++) cameras[c] = splat_filter3d_camera_of(&args->cameras[c]);

    SPLAT_FILTER3D_KERNEL((*kernel)) = SPLAT_OF_LEVEL(backend->simd, splat_filter3d);
    int64_t n_chunks = ((int64_t)n + CHUNK - 1) / CHUNK;
    float largest = 0, *filter_3d = args->filter_3d;
#pragma omp parallel for num_threads(backend->threads) schedule(dynamic) reduction(max : largest)
    for (int64_t chunk = 0; chunk < n_chunks; chunk++) {
        size_t first = (size_t)chunk * CHUNK;
        uint32_t n_here = n - first < CHUNK ? (uint32_t)(n - first) : CHUNK;
        kernel(cameras, n_cameras, args->means + 3 * first, n_here, filter_3d + first);
        for (uint32_t i = 0; i < n_here; i++) {
            float f = sqrtf(0.2f) * filter_3d[first + i];
            filter_3d[first + i] = f;
            if (f < INFINITY && f > largest) largest = f;
        }
    }
    if (args->largest) *args->largest = largest;
    largest = fmaxf(largest, args->least);
#pragma omp parallel for num_threads(backend->threads) schedule(static)
    for (int64_t i = 0; i < (int64_t)n; i++)
        if (!(filter_3d[i] < INFINITY)) filter_3d[i] = largest;
    return SPLAT_OK;
}
