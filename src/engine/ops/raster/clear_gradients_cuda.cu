/* clear_gradients on CUDA, a thread two floats of a row: of most models a view sees a part, and the rest is not
 * written. */
#include "backend/cuda_backend.cuh"

extern "C" {
#include "ops/raster/raster.h"
}

#define CLEAR_THREADS 256
#define ROW_PARTS 5 /* of a row */

static_assert(sizeof(splat_grad2d) == ROW_PARTS * sizeof(float2), "a row is cut into pairs of floats");

__global__ void __launch_bounds__(CLEAR_THREADS)
    clear_gradients_kernel(const float *depth, uint32_t n, float2 *gradients)
{
    const uint64_t part = (uint64_t)blockIdx.x * CLEAR_THREADS + threadIdx.x;
    const uint32_t v = (uint32_t)(part / ROW_PARTS);
    if (v < n && depth[v] > 0.0f) gradients[part] = make_float2(0.0f, 0.0f);
}

extern "C" splat_status splat_clear_gradients_cuda(splat_backend *backend,
                                                   const struct splat_clear_gradients_args *args, splat_error *error)
{
    splat_cuda_backend *cuda = splat_cuda_of(backend);
    const splat_frame *frame = args->frame;
    if (frame->n_visible == 0) return SPLAT_OK;
    clear_gradients_kernel<<<splat_cuda_blocks((uint64_t)frame->n_visible * ROW_PARTS, CLEAR_THREADS), CLEAR_THREADS, 0,
                             cuda->stream>>>(frame->depth, frame->n_visible, (float2 *)frame->grad2d);
    CUDA_LAUNCHED("clear gradients");
    return SPLAT_OK;
}
