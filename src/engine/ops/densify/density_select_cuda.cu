/* density_select on CUDA: the quantile is read from the sorted mean gradients. */
#include "backend/cuda_backend.cuh"
#include "backend/cuda_sort.cuh"
#include "ops/densify/order_cuda.cuh"

extern "C" {
#include "ops/densify/densify_mean.h"
}

#define SELECT_THREADS 256

struct select_state {
    uint32_t n_above, n_clone, n_split;
    float abs_threshold;
};

struct select_parameters {
    uint32_t n;
    splat_statistics statistics;
    const float *scales;
    float grad_threshold, clone_scale;
    uint32_t *keys;
    uint8_t *actions;
    select_state *state;
};

__global__ void __launch_bounds__(SELECT_THREADS) keys_kernel(const __grid_constant__ select_parameters P)
{
    uint32_t i = blockIdx.x * SELECT_THREADS + threadIdx.x;
    bool above = false;
    if (i < P.n) {
        float count = P.statistics.count[i];
        P.keys[i] = splat_order_key(splat_density_mean(P.statistics.grad_abs[i], count));
        above = splat_density_mean(P.statistics.grad[i], count) >= P.grad_threshold;
    }
    int n_above = __syncthreads_count(above);
    if (threadIdx.x == 0 && n_above) atomicAdd(&P.state->n_above, (uint32_t)n_above);
}

/* The 1 - n_above/n quantile of the sorted keys: linear between the order statistics around (n - 1)(n - n_above)/n, in
 * integers, so that no rounding moves it across an order statistic. */
__global__ void __launch_bounds__(1) quantile_kernel(const uint32_t *sorted, uint32_t n, select_state *state)
{
    uint64_t position = (uint64_t)(n - 1) * (n - state->n_above);
    uint32_t rank = (uint32_t)(position / n); /* n - 1 only with weight 0 */
    double weight = (double)(position % n) / (double)n;
    double a = splat_order_value(sorted[rank]), b = weight > 0.0 ? splat_order_value(sorted[rank + 1]) : a;
    state->abs_threshold = b > a ? (float)__dadd_rn(a, __dmul_rn(weight, b - a)) : (float)a;
}

__global__ void __launch_bounds__(SELECT_THREADS) actions_kernel(const __grid_constant__ select_parameters P)
{
    uint32_t i = blockIdx.x * SELECT_THREADS + threadIdx.x;
    bool selected = false, small = false;
    if (i < P.n) {
        float count = P.statistics.count[i];
        selected = count > 0.0f && (splat_density_mean(P.statistics.grad[i], count) >= P.grad_threshold ||
                                    splat_density_mean(P.statistics.grad_abs[i], count) >= P.state->abs_threshold);
        if (selected) {
            const float *s = P.scales + 3 * (size_t)i;
            small = splat_order_exp(fmaxf(s[0], fmaxf(s[1], s[2]))) <= P.clone_scale;
        }
        P.actions[i] = !selected ? SPLAT_DENSITY_KEEP : small ? SPLAT_DENSITY_CLONE : SPLAT_DENSITY_SPLIT;
    }
    int n_clone = __syncthreads_count(selected && small), n_split = __syncthreads_count(selected && !small);
    if (threadIdx.x == 0 && n_clone) atomicAdd(&P.state->n_clone, (uint32_t)n_clone);
    if (threadIdx.x == 0 && n_split) atomicAdd(&P.state->n_split, (uint32_t)n_split);
}

static splat_status select_in(splat_cuda_backend *cuda, const struct splat_density_select_args *args,
                              select_state *state, splat_error *error)
{
    splat_backend *backend = &cuda->base;
    uint32_t n = args->gaussians->n;
    size_t keys_bytes = (size_t)n * sizeof(uint32_t), sort_bytes = 0;
    void *device_state, *sort_memory;
    splat_cuda_buffers32 keys = {};
    CUDA_TRY("plan a sort", splat_cuda_sort_keys32(NULL, &sort_bytes, &keys, n, 32, cuda->stream));
    SPLAT_TRY(splat_scratch_reset(backend, error));
    SPLAT_TRY(splat_scratch_take(backend, sizeof *state, &device_state, error));
    SPLAT_TRY(splat_scratch_take(backend, keys_bytes, (void **)&keys.current, error));
    SPLAT_TRY(splat_scratch_take(backend, keys_bytes, (void **)&keys.other, error));
    SPLAT_TRY(splat_scratch_take(backend, sort_bytes, &sort_memory, error));
    CUDA_TRY("clear its counters", cudaMemsetAsync(device_state, 0, sizeof *state, cuda->stream));
    float clone_scale = args->percent_dense * args->extent;
    select_parameters P = {n, *args->statistics, args->gaussians->p.scales, args->grad_threshold,
                           clone_scale, keys.current, args->actions, (select_state *)device_state};
    unsigned blocks = splat_cuda_blocks(n, SELECT_THREADS);
    keys_kernel<<<blocks, SELECT_THREADS, 0, cuda->stream>>>(P);
    CUDA_LAUNCHED("density keys");
    CUDA_TRY("sort gradients", splat_cuda_sort_keys32(sort_memory, &sort_bytes, &keys, n, 32, cuda->stream));
    quantile_kernel<<<1, 1, 0, cuda->stream>>>(keys.current, n, P.state);
    CUDA_LAUNCHED("density quantile");
    actions_kernel<<<blocks, SELECT_THREADS, 0, cuda->stream>>>(P);
    CUDA_LAUNCHED("density actions");
    CUDA_TRY("read the selection",
             cudaMemcpyAsync(state, P.state, sizeof *state, cudaMemcpyDeviceToHost, cuda->stream));
    CUDA_TRY("read the selection", cudaStreamSynchronize(cuda->stream));
    return SPLAT_OK;
}

extern "C" splat_status splat_density_select_cuda(splat_backend *backend, const struct splat_density_select_args *args,
                                                  splat_error *error)
{
    uint32_t n = args->gaussians->n;
    splat_density_selection result = {};
    *args->result = result;
    if (n == 0) return SPLAT_OK;
    select_state state = {};
    SPLAT_TRY(select_in(splat_cuda_of(backend), args, &state, error));
    result.n_clone = state.n_clone;
    result.n_split = state.n_split;
    result.abs_threshold = state.abs_threshold;
    result.fraction = (float)((double)state.n_above / (double)n);
    *args->result = result;
    return SPLAT_OK;
}
