/* thickness on CUDA: sums by block, then in the order of the blocks; then a second pass, as the mean's gradient needs
 * the number of the visible. */
#include "backend/cuda_backend.cuh"

extern "C" {
#include "ops/thickness/thickness_math.h"
}

struct thickness_parameters {
    uint32_t n; /* entries */
    const uint32_t *ids;
    const float *depth, *log_scales;
    float ratio, least, weight, *gradient;
    double3 *sums;  /* [blocks] loss, active, visible */
    double3 *total;
    double *result;
    const splat_cuda_view_state *state;
};

/* Entries that are not visible have depth 0 and are left out. */
__device__ __forceinline__ bool is_seen(const thickness_parameters &P, uint32_t v)
{
    return v < P.n && !P.state->overflow && !P.state->not_finite && P.depth[v] != 0.0f;
}

__device__ __forceinline__ splat_thickness thickness_at(const thickness_parameters &P, size_t row)
{
    const float log_scale[3] = {P.log_scales[row], P.log_scales[row + 1], P.log_scales[row + 2]};
    return splat_thickness_of(log_scale, P.ratio, P.least);
}

__global__ void __launch_bounds__(SPLAT_THICKNESS_THREADS)
    thickness_kernel(const __grid_constant__ thickness_parameters P)
{
    __shared__ double3 parts[SPLAT_THICKNESS_THREADS / 32];
    uint32_t v = blockIdx.x * SPLAT_THICKNESS_THREADS + threadIdx.x;
    double3 own = make_double3(0, 0, 0);
    if (is_seen(P, v)) {
        splat_thickness t = thickness_at(P, 3 * (size_t)P.ids[v]);
        own = make_double3((double)t.length_shortest - (double)P.ratio * (double)t.length_middle,
                           t.length_shortest > 0.0f, 1);
    }
    double3 sum = splat_block_sum<SPLAT_THICKNESS_THREADS / 32>(own, parts);
    if (threadIdx.x == 0) P.sums[blockIdx.x] = sum;
}

/* One block. */
__global__ void __launch_bounds__(SPLAT_THICKNESS_THREADS)
    thickness_total_kernel(const __grid_constant__ thickness_parameters P, unsigned n_blocks)
{
    __shared__ double3 parts[SPLAT_THICKNESS_THREADS / 32];
    double3 own = make_double3(0, 0, 0);
    for (unsigned b = threadIdx.x; b < n_blocks; b += SPLAT_THICKNESS_THREADS) own = splat_add(own, P.sums[b]);
    double3 sum = splat_block_sum<SPLAT_THICKNESS_THREADS / 32>(own, parts);
    if (threadIdx.x != 0) return;
    *P.total = sum;
    P.result[0] = sum.z > 0 ? sum.x / sum.z : 0;
    P.result[1] = sum.z > 0 ? sum.y / sum.z : 0;
}

__global__ void __launch_bounds__(SPLAT_THICKNESS_THREADS)
    thickness_gradient_kernel(const __grid_constant__ thickness_parameters P)
{
    uint32_t v = blockIdx.x * SPLAT_THICKNESS_THREADS + threadIdx.x;
    if (!is_seen(P, v)) return;
    size_t row = 3 * (size_t)P.ids[v];
    splat_thickness t = thickness_at(P, row);
    float scale = (float)((double)P.weight / P.total->z);
    P.gradient[row + t.shortest] += scale * t.length_shortest;
}

extern "C" splat_status splat_thickness_cuda(splat_backend *backend, const struct splat_thickness_args *args,
                                             splat_error *error)
{
    splat_cuda_backend *cuda = splat_cuda_of(backend);
    const splat_frame *frame = args->frame;
    const unsigned n_blocks = splat_cuda_blocks(frame->n_visible, SPLAT_THICKNESS_THREADS);
    void *sums;
    SPLAT_TRY(splat_scratch_reset(backend, error));
    if (n_blocks == 0) {
        CUDA_TRY("clear a loss", cudaMemsetAsync(args->result, 0, 2 * sizeof *args->result, cuda->stream));
        return SPLAT_OK;
    }
    static_assert(sizeof(double3) == 3 * sizeof(double), "as the contract counts");
    SPLAT_TRY(splat_scratch_take(backend, splat_thickness_sums_bytes(n_blocks + 1), &sums, error));
    thickness_parameters P = {frame->n_visible, frame->ids, frame->depth, args->gaussians->p.scales, args->ratio,
                              args->least, args->weight, args->grad_scales, (double3 *)sums,
                              (double3 *)sums + n_blocks, args->result, splat_cuda_state_of(frame)};
    thickness_kernel<<<n_blocks, SPLAT_THICKNESS_THREADS, 0, cuda->stream>>>(P);
    CUDA_LAUNCHED("thickness");
    thickness_total_kernel<<<1, SPLAT_THICKNESS_THREADS, 0, cuda->stream>>>(P, n_blocks);
    CUDA_LAUNCHED("thickness sum");
    thickness_gradient_kernel<<<n_blocks, SPLAT_THICKNESS_THREADS, 0, cuda->stream>>>(P);
    CUDA_LAUNCHED("thickness gradient");
    return SPLAT_OK;
}
