/* catch_up on CUDA, a warp for 32 Gaussians. */
#include "ops/project/project_cuda.cuh"

#define CATCH_UP_THREADS 128
#define CATCH_UP_WARPS (CATCH_UP_THREADS / 32)

template <int DEGREE>
__global__ void __launch_bounds__(CATCH_UP_THREADS) catch_up_kernel(float *p, splat_put_off put_off, uint32_t n)
{
    __shared__ uint8_t lists[CATCH_UP_WARPS][32], lacking[CATCH_UP_WARPS][32];
    const uint32_t i = blockIdx.x * CATCH_UP_THREADS + threadIdx.x, warp = threadIdx.x / 32;
    catch_up_warp<rest_channels(DEGREE)>(p, put_off, rest_channels(DEGREE), i, i < n, true, lists[warp], lacking[warp]);
}

extern "C" splat_status splat_catch_up_cuda(splat_backend *backend, const struct splat_catch_up_args *args,
                                            splat_error *error)
{
    splat_cuda_backend *cuda = splat_cuda_of(backend);
    const splat_gaussians *g = args->gaussians;
    if (!g->put_off || g->n == 0 || g->sh_degree == 0) return SPLAT_OK;
    const unsigned blocks = splat_cuda_blocks(g->n, CATCH_UP_THREADS);
    float *p = g->p.sh_rest;
    switch (g->sh_degree) {
    case 1: catch_up_kernel<1><<<blocks, CATCH_UP_THREADS, 0, cuda->stream>>>(p, *g->put_off, g->n); break;
    case 2: catch_up_kernel<2><<<blocks, CATCH_UP_THREADS, 0, cuda->stream>>>(p, *g->put_off, g->n); break;
    default: catch_up_kernel<3><<<blocks, CATCH_UP_THREADS, 0, cuda->stream>>>(p, *g->put_off, g->n); break;
    }
    CUDA_LAUNCHED("catch up");
    return SPLAT_OK;
}
