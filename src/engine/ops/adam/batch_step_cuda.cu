/* batch_step on CUDA: bytes, and next to no arithmetic. Every value of a tensor is read with its moments and its
 * summed gradient, four at a time; sh_rest in small storages by rows (batch_rows_cuda.cu). Stepping the rows that no
 * view sees separately, during raster_backward, took longer (docs/lab/several-gpus.md). */
#include "ops/rest/rest_steps_cuda.cuh"

#define THREADS 256

struct tensor_step {
    adam_tensor tensor;
    float *sums, *squares;
    size_t n; /* values */
    float share, opacity_pull, scale_pull;
    several_views decay;
    bool clears;
};

/* Means over the views of g + pull and of its square. */
__device__ __forceinline__ views_gradient gradient_of(const tensor_step &S, float p, float sum, float square)
{
    const float pull = pull_of(S.opacity_pull, S.scale_pull, p), mean = S.share * sum;
    return views_gradient{mean + pull, fmaxf(S.share * square + pull * (2.0f * mean + pull), 0.0f)};
}

__device__ __forceinline__ bool is_zero(const float4 &q)
{
    return q.x == 0.0f && q.y == 0.0f && q.z == 0.0f && q.w == 0.0f;
}

__device__ __forceinline__ void clear_quad(const tensor_step &S, size_t at, const float4 &sum, const float4 &square)
{
    const float4 zero = make_float4(0.0f, 0.0f, 0.0f, 0.0f);
    if (!S.clears || (is_zero(sum) && is_zero(square))) return; /* most rows are not seen: they are only read */
    *(float4 *)(S.sums + at) = zero;
    *(float4 *)(S.squares + at) = zero;
}

__global__ void __launch_bounds__(THREADS) batch_step_kernel(const __grid_constant__ tensor_step S)
{
    const adam_tensor &T = S.tensor;
    const size_t at = 4 * ((size_t)blockIdx.x * THREADS + threadIdx.x);
    if (at + 4 <= S.n) {
        const adam_quad q = load_quad(T, at);
        const float4 sum = *(const float4 *)(S.sums + at);
        const float4 square = *(const float4 *)(S.squares + at);
        const views_gradient g[4] = {gradient_of(S, q.p.x, sum.x, square.x), gradient_of(S, q.p.y, sum.y, square.y),
                                     gradient_of(S, q.p.z, sum.z, square.z), gradient_of(S, q.p.w, sum.w, square.w)};
        step_quad(T, at, q, g, 15u, S.decay);
        clear_quad(S, at, sum, square);
        return;
    }
    for (size_t k = at; k < S.n; k++) {
        const views_gradient g = gradient_of(S, T.p[k], S.sums[k], S.squares[k]);
        adam_value(T.p + k, T.m + k, T.v + k, g, T.rate, S.decay);
        if (S.clears) S.sums[k] = S.squares[k] = 0.0f;
    }
}

/* The same with a word of moments a value. */
__device__ __forceinline__ uint32_t pair_step(const tensor_step &S, float *p, uint32_t code, float sum, float square,
                                              uint32_t random)
{
    const views_gradient g = gradient_of(S, *p, sum, square);
    return adam_pair(p, code, g, S.tensor.rate, random, S.decay);
}

__global__ void __launch_bounds__(THREADS) batch_pairs_kernel(const __grid_constant__ tensor_step S)
{
    const adam_tensor &T = S.tensor;
    const size_t at = 4 * ((size_t)blockIdx.x * THREADS + threadIdx.x);
    const rounding r = rounding_from(T.rate.rounding_key, at);
    if (at + 4 <= S.n) {
        float4 p = *(const float4 *)(T.p + at);
        uint4 code = *(const uint4 *)(T.quantized + at);
        const float4 sum = *(const float4 *)(S.sums + at), square = *(const float4 *)(S.squares + at);
        code.x = pair_step(S, &p.x, code.x, sum.x, square.x, rounding_bits(r, 0));
        code.y = pair_step(S, &p.y, code.y, sum.y, square.y, rounding_bits(r, 1));
        code.z = pair_step(S, &p.z, code.z, sum.z, square.z, rounding_bits(r, 2));
        code.w = pair_step(S, &p.w, code.w, sum.w, square.w, rounding_bits(r, 3));
        *(float4 *)(T.p + at) = p;
        *(uint4 *)(T.quantized + at) = code;
        clear_quad(S, at, sum, square);
        return;
    }
    for (size_t k = at; k < S.n; k++) {
        T.quantized[k] =
            pair_step(S, T.p + k, T.quantized[k], S.sums[k], S.squares[k], rounding_bits(r, (uint32_t)(k - at)));
        if (S.clears) S.sums[k] = S.squares[k] = 0.0f;
    }
}

__global__ void __launch_bounds__(1) put_off_kernel(float2 *step, adam_rate rate)
{
    *step = make_float2(rate.step_size, rate.inverse_root);
}

/* The step of sh_rest, with the gradients that project_backward left in the slots. */
static splat_status put_off(splat_cuda_backend *cuda, const struct splat_batch_step_args *args, splat_error *error)
{
    splat_deferred_rest *deferred = args->rest->deferred;
    const splat_adam *adam = args->adam;
    if (deferred->n_steps == SPLAT_MAX_DEFERRED || deferred->n_views != args->n_views)
        return splat_fail(error, SPLAT_ERROR_ARGUMENT, "a step is put off that no projection of its views came before");
    deferred->m = adam->moments->m.sh_rest;
    deferred->v = adam->moments->v.sh_rest;
    put_off_kernel<<<1, 1, 0, cuda->stream>>>((float2 *)deferred->steps + deferred->n_steps,
                                              adam_rate_of(adam, SPLAT_TENSOR_sh_rest));
    CUDA_LAUNCHED("put a step off");
    deferred->n_steps++;
    return SPLAT_OK;
}

static splat_status step_tensor(splat_cuda_backend *cuda, const tensor_step &S, splat_error *error)
{
    const unsigned blocks = splat_cuda_blocks((S.n + 3) / 4, THREADS);
    if (S.n == 0) return SPLAT_OK;
    if (S.tensor.quantized)
        batch_pairs_kernel<<<blocks, THREADS, 0, cuda->stream>>>(S);
    else
        batch_step_kernel<<<blocks, THREADS, 0, cuda->stream>>>(S);
    CUDA_LAUNCHED("batch_step");
    return SPLAT_OK;
}

extern "C" splat_status splat_batch_step_cuda(splat_backend *backend, const struct splat_batch_step_args *args,
                                              splat_error *error)
{
    splat_cuda_backend *cuda = splat_cuda_of(backend);
    const splat_gaussians *g = args->gaussians;
    const splat_adam *adam = args->adam;
    const splat_rest_state rest = splat_rest_state_of(args->rest);
    const struct splat_settle_rest_args settle = {g, &rest};
    const bool quantized = adam->moments->storage == SPLAT_OPTIMIZER_QUANTIZED;
    const bool by_rows = g->sh_rest_half || quantized;
    adam_tensor tensors[SPLAT_N_TENSORS];
    const bool defers = rest.deferred && rest.deferred->n_slots > 1 && g->active_sh_degree > 0 && !by_rows;
    if (g->rest_on_host)
        return splat_fail(error, SPLAT_ERROR_UNSUPPORTED,
                          "several views at a time are trained on in device memory alone: leave `sh_offload` out");
    if (g->n == 0) return SPLAT_OK;
    SPLAT_TRY(splat_cuda_join(cuda, error));
    if (!defers) SPLAT_TRY(splat_op_settle_rest(backend, &settle, error));
    if (defers) /* a step that leaves sh_rest out empties the slots */
        SPLAT_TRY(adam->update[SPLAT_TENSOR_sh_rest] ? put_off(cuda, args, error)
                                                     : splat_cuda_settle_views(cuda, g, rest.deferred, error));
    adam_tensors_of(g, adam, tensors);
#define SPLAT_TENSOR(name, ...)                                                                                        \
    if (adam->update[SPLAT_TENSOR_##name] && !((defers || by_rows) && SPLAT_TENSOR_##name == SPLAT_TENSOR_sh_rest)) {  \
        const int t = SPLAT_TENSOR_##name;                                                                             \
        const tensor_step S = {tensors[t],                                                                             \
                               args->gradients->name,                                                                  \
                               args->squares->name,                                                                    \
                               (size_t)g->n * splat_tensor_channels(t, g->sh_degree),                                  \
                               1.0f / (float)args->n_views,                                                            \
                               t == SPLAT_TENSOR_opacities ? args->opacity_pull : 0.0f,                                \
                               t == SPLAT_TENSOR_scales ? args->scale_pull : 0.0f,                                     \
                               decay_of(args->n_views),                                                                \
                               args->clears};                                                                          \
        SPLAT_TRY(step_tensor(cuda, S, error));                                                                        \
    }
#include "math/gaussians.def"
#undef SPLAT_TENSOR
    return by_rows ? splat_cuda_batch_rows(cuda, args, error) : SPLAT_OK;
}
