/* batch_step on CUDA: bytes, and next to no arithmetic. */
#include "ops/project/rest_steps_cuda.cuh"

#define THREADS 256
#define VIEWS 32 /* whose rows are told apart; a batch of more steps all rows at once */

/* ---------------------------------------------------------------- small tensors, a block's rows at a time */

struct step_parameters {
    backward_parameters P; /* tensors, moments, gradients, rates and pulls */
    several_views decay;
    float share;
    bool clears;
    uint32_t n_views; /* 0: all rows are stepped */
    const float *depth[VIEWS];
};

static_assert(sizeof(step_parameters) <= 4096, "the parameters of a launch on any device");

/* The mean over the views, and what the row pulls at itself. Each value is asked for once. */
struct summed_gradients {
    const step_parameters &S;
    uint32_t first;
    __device__ __forceinline__ several_views decay() const { return S.decay; }
    __device__ __forceinline__ float operator()(int t, uint32_t k, float p) const
    {
        const splat_tensors &g = S.P.gradients;
        float *sum = t == SPLAT_TENSOR_means       ? g.means + 3 * (size_t)first + k
                     : t == SPLAT_TENSOR_sh_dc     ? g.sh_dc + 3 * (size_t)first + k
                     : t == SPLAT_TENSOR_scales    ? g.scales + 3 * (size_t)first + k
                     : t == SPLAT_TENSOR_opacities ? g.opacities + (size_t)first + k
                                                   : g.rotations + 4 * (size_t)first + k;
        const float gradient = S.share * *sum + unseen_gradients<several_views>{S.P, S.decay}(t, k, p);
        if (S.clears) *sum = 0.0f;
        return gradient;
    }
};

/* UNSEEN: the rows that no view sees, whose sums are zero; otherwise those that one does, or all. */
template <bool UNSEEN>
__global__ void __launch_bounds__(BACKWARD_THREADS, 8) rows_kernel(const __grid_constant__ step_parameters S)
{
    __shared__ uint32_t bits[BACKWARD_WARPS];
    const uint32_t first = blockIdx.x * BACKWARD_THREADS, n = min(S.P.g.n - first, (uint32_t)BACKWARD_THREADS);
    const bool inside = threadIdx.x < n;
    bool seen = S.n_views == 0;
    for (uint32_t k = 0; inside && k < S.n_views; k++) seen |= S.depth[k][first + threadIdx.x] > 0.0f;
    if (!list_of_block(inside && seen != UNSEEN, bits)) return;
    if constexpr (UNSEEN)
        update_small_floats(S.P, unseen_gradients<several_views>{S.P, S.decay}, some_rows{bits}, first, n);
    else
        update_small_floats(S.P, summed_gradients{S, first}, some_rows{bits}, first, n);
}

static step_parameters parameters_of(const struct splat_batch_step_args *args)
{
    step_parameters S = {};
    S.P.g = *args->gaussians;
    S.P.gradients = *args->gradients;
    S.P.opacity_pull = args->opacity_pull;
    S.P.scale_pull = args->scale_pull;
    set_adam(&S.P, args->adam);
    S.decay = decay_of(args->n_views);
    S.share = 1.0f / (float)args->n_views;
    S.clears = args->clears;
    if (args->n_views > VIEWS) return S;
    for (uint32_t k = 0; args->frames && k < args->n_views; k++) S.depth[S.n_views++] = args->frames[k]->depth;
    return S;
}

/* ---------------------------------------------------------------- sh_rest */

struct rest_step {
    float *p, *m, *v, *sums;
    size_t n; /* values */
    float step_size, inverse_root, share;
    several_views decay;
    bool clears;
};

__global__ void __launch_bounds__(THREADS) rest_kernel(const __grid_constant__ rest_step S)
{
    const size_t at = 4 * ((size_t)blockIdx.x * THREADS + threadIdx.x);
    if (at + 4 <= S.n) {
        const float4 sum = *(const float4 *)(S.sums + at);
        const float g[4] = {S.share * sum.x, S.share * sum.y, S.share * sum.z, S.share * sum.w};
        step_quad(S.p, S.m, S.v, at, load_quad(S.p, S.m, S.v, at), g, S.step_size, S.inverse_root, 15u, S.decay);
        if (S.clears) *(float4 *)(S.sums + at) = make_float4(0.0f, 0.0f, 0.0f, 0.0f);
        return;
    }
    for (size_t k = at; k < S.n; k++) {
        adam_value(S.p + k, S.m + k, S.v + k, S.share * S.sums[k], S.step_size, S.inverse_root, S.decay);
        if (S.clears) S.sums[k] = 0.0f;
    }
}

static splat_status step_rest(splat_cuda_backend *cuda, const struct splat_batch_step_args *args, splat_error *error)
{
    const splat_gaussians *g = args->gaussians;
    const splat_adam *adam = args->adam;
    const int t = SPLAT_TENSOR_sh_rest;
    const rest_step S = {g->p.sh_rest,
                         adam->moments->m.sh_rest,
                         adam->moments->v.sh_rest,
                         args->gradients->sh_rest,
                         (size_t)g->n * splat_tensor_channels(t, g->sh_degree),
                         adam->lr[t] / adam->correction1[t],
                         1.0f / sqrtf(adam->correction2[t]),
                         1.0f / (float)args->n_views,
                         decay_of(args->n_views),
                         args->clears};
    if (!adam->update[t] || S.n == 0) return SPLAT_OK;
    rest_kernel<<<splat_cuda_blocks((S.n + 3) / 4, THREADS), THREADS, 0, cuda->stream>>>(S);
    CUDA_LAUNCHED("batch_step of sh_rest");
    return SPLAT_OK;
}

__global__ void __launch_bounds__(1) put_off_kernel(float2 *step, float step_size, float inverse_root)
{
    *step = make_float2(step_size, inverse_root);
}

/* sh_rest's step, with the gradients that project_backward left in the slots. */
static splat_status put_off(splat_cuda_backend *cuda, const struct splat_batch_step_args *args, splat_error *error)
{
    splat_deferred_rest *deferred = args->gaussians->deferred;
    const splat_adam *adam = args->adam;
    const int t = SPLAT_TENSOR_sh_rest;
    if (deferred->n_steps == SPLAT_MAX_DEFERRED || deferred->n_views != args->n_views)
        return splat_fail(error, SPLAT_ERROR_ARGUMENT, "a step is put off that no projection of its views came before");
    deferred->m = adam->moments->m.sh_rest;
    deferred->v = adam->moments->v.sh_rest;
    put_off_kernel<<<1, 1, 0, cuda->stream>>>((float2 *)deferred->steps + deferred->n_steps,
                                              adam->lr[t] / adam->correction1[t], 1.0f / sqrtf(adam->correction2[t]));
    CUDA_LAUNCHED("put a step off");
    deferred->n_steps++;
    return SPLAT_OK;
}

/* ---------------------------------------------------------------- the step */

static splat_status check_storage(const struct splat_batch_step_args *args, splat_error *error)
{
    const splat_gaussians *g = args->gaussians;
    if (!g->sh_rest_half && args->adam->moments->storage == SPLAT_OPTIMIZER_FLOAT32 && !g->rest_on_host)
        return SPLAT_OK;
    return splat_fail(error, SPLAT_ERROR_UNSUPPORTED,
                      "several views at a time are trained on in float32 alone: leave `sh_storage`, "
                      "`optimizer_storage` and `sh_offload` as they are");
}

/* The rows that no view sees need nothing of the views: their steps are made beside what these are. */
static splat_status step_unseen(splat_cuda_backend *cuda, const step_parameters &S, splat_error *error)
{
    if (S.n_views == 0) return SPLAT_OK;
    SPLAT_TRY(splat_cuda_fork(cuda, error));
    rows_kernel<true><<<splat_cuda_blocks(S.P.g.n, BACKWARD_THREADS), BACKWARD_THREADS, 0, cuda->side_stream>>>(S);
    CUDA_LAUNCHED("batch_step of the unseen");
    return SPLAT_OK;
}

extern "C" splat_status splat_batch_step_cuda(splat_backend *backend, const struct splat_batch_step_args *args,
                                              splat_error *error)
{
    splat_cuda_backend *cuda = splat_cuda_of(backend);
    const splat_gaussians *g = args->gaussians;
    const struct splat_settle_rest_args settle = {g};
    const bool defers = g->deferred && g->deferred->n_slots > 1 && g->active_sh_degree > 0;
    SPLAT_TRY(check_storage(args, error));
    if (g->n == 0) return SPLAT_OK;
    const step_parameters S = parameters_of(args);
    if (args->unseen) return step_unseen(cuda, S, error);
    SPLAT_TRY(splat_cuda_join(cuda, error));
    if (!defers) {
        SPLAT_TRY(splat_op_settle_rest(backend, &settle, error));
        SPLAT_TRY(step_rest(cuda, args, error));
    } else if (args->adam->update[SPLAT_TENSOR_sh_rest]) {
        SPLAT_TRY(put_off(cuda, args, error));
    } else {
        SPLAT_TRY(splat_cuda_settle_views(cuda, g, error)); /* empties the slots */
    }
    rows_kernel<false><<<splat_cuda_blocks(g->n, BACKWARD_THREADS), BACKWARD_THREADS, 0, cuda->stream>>>(S);
    CUDA_LAUNCHED("batch_step");
    return SPLAT_OK;
}
