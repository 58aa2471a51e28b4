/* opacity_entropy on CUDA: sums by block, then in the order of the blocks; then a second pass, as the mean's gradient
 * needs the number of the visible. */
#include "backend/cuda_backend.cuh"

extern "C" {
#include "ops/opacity_entropy/opacity_entropy_math.h"
}

#define ENTROPY_THREADS 256

struct entropy_parameters {
    uint32_t n; /* entries */
    const uint32_t *ids;
    const float *depth, *logits;
    float pivot, weight, *gradient;
    double2 *sums;    /* [blocks] loss, number */
    double2 *total;
    double *result;
    const splat_cuda_view_state *state;
};

/* Entries that are not visible have depth 0 and are left out. */
__device__ __forceinline__ bool is_seen(const entropy_parameters &P, uint32_t v)
{
    return v < P.n && !P.state->overflow && !P.state->not_finite && P.depth[v] != 0.0f;
}

__global__ void __launch_bounds__(ENTROPY_THREADS) entropy_kernel(const __grid_constant__ entropy_parameters P)
{
    __shared__ double2 parts[ENTROPY_THREADS / 32];
    uint32_t v = blockIdx.x * ENTROPY_THREADS + threadIdx.x;
    double2 own = make_double2(0, 0);
    if (is_seen(P, v)) {
        float slope;
        own = make_double2(splat_opacity_entropy_of(P.logits[P.ids[v]] - P.pivot, &slope), 1);
    }
    double2 sum = splat_block_sum<ENTROPY_THREADS / 32>(own, parts);
    if (threadIdx.x == 0) P.sums[blockIdx.x] = sum;
}

/* One block. */
__global__ void __launch_bounds__(ENTROPY_THREADS)
    entropy_total_kernel(const __grid_constant__ entropy_parameters P, unsigned n_blocks)
{
    __shared__ double2 parts[ENTROPY_THREADS / 32];
    double2 own = make_double2(0, 0);
    for (unsigned b = threadIdx.x; b < n_blocks; b += ENTROPY_THREADS) own = splat_add(own, P.sums[b]);
    double2 sum = splat_block_sum<ENTROPY_THREADS / 32>(own, parts);
    if (threadIdx.x != 0) return;
    *P.total = sum;
    *P.result = sum.y > 0 ? sum.x / sum.y : 0;
}

__global__ void __launch_bounds__(ENTROPY_THREADS)
    entropy_gradient_kernel(const __grid_constant__ entropy_parameters P)
{
    uint32_t v = blockIdx.x * ENTROPY_THREADS + threadIdx.x;
    if (!is_seen(P, v)) return;
    uint32_t i = P.ids[v];
    float slope, scale = (float)((double)P.weight / P.total->y);
    splat_opacity_entropy_of(P.logits[i] - P.pivot, &slope);
    P.gradient[i] += scale * slope;
}

extern "C" splat_status splat_opacity_entropy_cuda(splat_backend *backend,
                                                   const struct splat_opacity_entropy_args *args, splat_error *error)
{
    splat_cuda_backend *cuda = splat_cuda_of(backend);
    const splat_frame *frame = args->frame;
    const unsigned n_blocks = splat_cuda_blocks(frame->n_visible, ENTROPY_THREADS);
    void *sums, *total;
    SPLAT_TRY(splat_scratch_reset(backend, error));
    if (n_blocks == 0) {
        CUDA_TRY("clear a loss", cudaMemsetAsync(args->result, 0, sizeof *args->result, cuda->stream));
        return SPLAT_OK;
    }
    SPLAT_TRY(splat_scratch_take(backend, n_blocks * sizeof(double2), &sums, error));
    SPLAT_TRY(splat_scratch_take(backend, sizeof(double2), &total, error));
    entropy_parameters P = {frame->n_visible, frame->ids, frame->depth, args->gaussians->p.opacities, args->pivot,
                            args->weight, args->grad_opacities, (double2 *)sums, (double2 *)total, args->result,
                            splat_cuda_state_of(args->frame)};
    entropy_kernel<<<n_blocks, ENTROPY_THREADS, 0, cuda->stream>>>(P);
    CUDA_LAUNCHED("opacity_entropy");
    entropy_total_kernel<<<1, ENTROPY_THREADS, 0, cuda->stream>>>(P, n_blocks);
    CUDA_LAUNCHED("opacity_entropy sum");
    entropy_gradient_kernel<<<n_blocks, ENTROPY_THREADS, 0, cuda->stream>>>(P);
    CUDA_LAUNCHED("opacity_entropy gradient");
    return SPLAT_OK;
}
