/* Steps of Adam that sh_rest lacks (splat_deferred_rest), made up one after the other: before a step for the Gaussians
 * that it sees, whose colours are written at once, or for all of them (settle_rest). The first beside bin, which leaves
 * the memory's bandwidth idle. docs/performance.md has what it was measured against. */
#include "ops/project/project_adam_cuda.cuh"

#define REST_THREADS 128
#define REST_WARPS (REST_THREADS / 32)

struct rest_parameters {
    splat_projector projector;
    const float *means, *sh_dc, *depth, *direction;
    float *p, *m, *v, *rgb;
    float4 *gradient;
    const float2 *steps;
    uint32_t n, n_steps;
    int active_sh_degree; /* of the steps, and of the colours */
    splat_cuda_view_state *state;
};

/* What the block knows of its Gaussians. */
template <int DEGREE, bool COLOUR>
struct rest_block {
    float rest[COLOUR ? REST_WARPS : 1][COLOUR ? 32 * odd_words(rest_channels(DEGREE)) : 1]; /* up to date */
    float basis[BASIS_STRIDE * REST_THREADS], colour[3 * REST_THREADS];
    uint32_t tags[REST_THREADS];
    float2 steps[SPLAT_MAX_DEFERRED];
    uint8_t list[REST_WARPS][32];
};

/* The factors of the gradient that waits. Never inlined: with the same bits in every kernel. */
template <int DEGREE>
__device__ __noinline__ void waiting_gradient(const float *direction, float4 gradient, float *basis, float *colour)
{
    float b[16];
    sh_basis<DEGREE>(make_float3(direction[0], direction[1], direction[2]), b);
#pragma unroll
    for (int k = 0; k < (DEGREE + 1) * (DEGREE + 1); k++) basis[k] = b[k];
    colour[0] = gradient.x;
    colour[1] = gradient.y;
    colour[2] = gradient.z;
}

/* Values on their way through the steps that they lack. Several at a time, as each step waits for a root and a
 * quotient: where many steps are lacking they are what the kernel takes. */
#define IN_FLIGHT 4

struct flight {
    float p[IN_FLIGHT], m[IN_FLIGHT], v[IN_FLIGHT];
    uint32_t made[IN_FLIGHT]; /* steps; n_steps: none is lacking */
};

__device__ __forceinline__ unsigned warp_min(unsigned value)
{
#if __CUDA_ARCH__ >= 800
    return __reduce_min_sync(0xffffffffu, value);
#else
    for (int offset = 16; offset > 0; offset /= 2) value = min(value, __shfl_xor_sync(0xffffffffu, value, offset));
    return value;
#endif
}

/* Without gradient: adam_value of zero. */
__device__ __forceinline__ void make_up(const float2 *steps, uint32_t n_steps, flight &f)
{
    uint32_t first = n_steps;
#pragma unroll
    for (int j = 0; j < IN_FLIGHT; j++) first = min(first, f.made[j]);
    for (uint32_t k = warp_min(first); k < n_steps; k++) {
        const float2 step = steps[k];
        if (isnan(step.x)) continue;
#pragma unroll
        for (int j = 0; j < IN_FLIGHT; j++) {
            if (k < f.made[j]) continue;
            f.m[j] = __fmul_rn(SPLAT_ADAM_BETA1, f.m[j]);
            f.v[j] = __fmul_rn(SPLAT_ADAM_BETA2, f.v[j]);
            f.p[j] = stepped(f.p[j], f.m[j], f.v[j], step.x, step.y);
        }
    }
}

/* The rows of the warp's `list`. */
template <int DEGREE, bool COLOUR>
__device__ __forceinline__ void advance_rows(const rest_parameters &P, rest_block<DEGREE, COLOUR> &s, uint32_t first,
                                             const uint8_t *list, uint32_t n_rows)
{
    constexpr uint32_t channels = rest_channels(DEGREE);
    const uint32_t n_active = 3u * ((uint32_t)(P.active_sh_degree + 1) * (uint32_t)(P.active_sh_degree + 1) - 1u);
    const uint32_t warp = threadIdx.x / 32, count = n_rows * channels;
    for (uint32_t base = 0; base < count; base += IN_FLIGHT * 32) {
        flight f;
        bool lacks[IN_FLIGHT];
#pragma unroll
        for (int j = 0; j < IN_FLIGHT; j++) {
            const uint32_t at = base + 32 * j + lane_index(), row = at < count ? list[at / channels] : 0;
            const uint32_t column = at % channels, made = s.tags[32 * warp + row] / 2;
            const size_t place = (size_t)(first + row) * channels + column;
            const bool active = at < count && column < n_active;
            lacks[j] = active && made < P.n_steps;
            f.made[j] = lacks[j] ? made : P.n_steps;
            if (active) f.p[j] = P.p[place];
            if (lacks[j]) {
                f.m[j] = P.m[place];
                f.v[j] = P.v[place];
            }
        }
#pragma unroll
        for (int j = 0; j < IN_FLIGHT; j++) {
            const uint32_t at = base + 32 * j + lane_index(), column = at % channels;
            const uint32_t thread = 32 * warp + (lacks[j] ? list[at / channels] : 0);
            if (!lacks[j] || s.tags[thread] % 2 == 0) continue;
            const float2 step = s.steps[f.made[j]++];
            const float *basis = s.basis + BASIS_STRIDE * thread, *colour = s.colour + 3 * thread;
            const float g = __fmul_rn(basis[column / 3 + 1], colour[column % 3]);
            if (!isnan(step.x)) adam_value(&f.p[j], &f.m[j], &f.v[j], g, step.x, step.y);
        }
        make_up(s.steps, P.n_steps, f);
#pragma unroll
        for (int j = 0; j < IN_FLIGHT; j++) {
            const uint32_t at = base + 32 * j + lane_index(), column = at % channels;
            if (at >= count || column >= n_active) continue;
            const uint32_t row = list[at / channels];
            const size_t place = (size_t)(first + row) * channels + column;
            if (lacks[j]) {
                P.p[place] = f.p[j];
                P.m[place] = f.m[j];
                P.v[place] = f.v[j];
            }
            if constexpr (COLOUR) s.rest[warp][row * odd_words(channels) + column] = f.p[j];
        }
    }
    __syncwarp();
}

/* As op project: docs/method.md 4. One that is not finite is black. */
template <int DEGREE>
__device__ __forceinline__ void write_colour(const rest_parameters &P, uint32_t i, const float *rest)
{
    const float *mean = P.means + 3 * (size_t)i, *dc = P.sh_dc + 3 * (size_t)i;
    const int n_basis = (P.active_sh_degree + 1) * (P.active_sh_degree + 1);
    float inverse_distance, b[16];
    sh_basis<DEGREE>(direction_of(P.projector, mean[0], mean[1], mean[2], &inverse_distance), b);
    float3 rgb = colour_of<DEGREE, false>(dc, (const uint32_t *)rest, b, n_basis);
    if (!isfinite(rgb.x + rgb.y + rgb.z)) {
        atomicAdd(&P.state->n_degenerate, 1u);
        rgb = make_float3(0.0f, 0.0f, 0.0f);
    }
    P.rgb[3 * (size_t)i] = fmaxf(rgb.x, 0.0f);
    P.rgb[3 * (size_t)i + 1] = fmaxf(rgb.y, 0.0f);
    P.rgb[3 * (size_t)i + 2] = fmaxf(rgb.z, 0.0f);
}

/* COLOUR: of the visible, with their colours; otherwise of all. */
template <int DEGREE, bool COLOUR>
__global__ void __launch_bounds__(REST_THREADS) rest_kernel(const __grid_constant__ rest_parameters P)
{
    __shared__ rest_block<DEGREE, COLOUR> s;
    const uint32_t t = threadIdx.x, warp = t / 32, i = blockIdx.x * REST_THREADS + t;
    const bool inside = i < P.n, mine = inside && (!COLOUR || P.depth[i] > 0.0f);
    for (uint32_t k = t; k < P.n_steps; k += REST_THREADS) s.steps[k] = P.steps[k];
    uint32_t tag = 2 * P.n_steps;
    if (mine) {
        const float4 gradient = P.gradient[i];
        tag = __float_as_uint(gradient.w);
        if (tag % 2)
            waiting_gradient<DEGREE>(P.direction + 3 * (size_t)i, gradient, s.basis + BASIS_STRIDE * t,
                                     s.colour + 3 * t);
    }
    s.tags[t] = tag;
    __syncthreads();
    const bool lacks = tag / 2 < P.n_steps;
    const uint32_t n_rows = list_rows(__ballot_sync(0xffffffffu, COLOUR ? mine : lacks), s.list[warp]);
    advance_rows<DEGREE, COLOUR>(P, s, i - lane_index(), s.list[warp], n_rows);
    if constexpr (COLOUR) {
        if (mine) write_colour<DEGREE>(P, i, s.rest[warp] + lane_index() * odd_words(rest_channels(DEGREE)));
        if (mine && lacks) P.gradient[i].w = __uint_as_float(2 * P.n_steps);
    } else if (inside) {
        P.gradient[i].w = 0.0f;
    }
}

template <bool COLOUR>
static void launch(const rest_parameters &P, int sh_degree, cudaStream_t stream)
{
    const unsigned blocks = splat_cuda_blocks(P.n, REST_THREADS);
    switch (sh_degree) {
    case 1: rest_kernel<1, COLOUR><<<blocks, REST_THREADS, 0, stream>>>(P); break;
    case 2: rest_kernel<2, COLOUR><<<blocks, REST_THREADS, 0, stream>>>(P); break;
    default: rest_kernel<3, COLOUR><<<blocks, REST_THREADS, 0, stream>>>(P); break;
    }
}

static rest_parameters parameters_of(const splat_gaussians *g)
{
    const splat_deferred_rest *deferred = g->deferred;
    rest_parameters P = {};
    P.means = g->p.means;
    P.sh_dc = g->p.sh_dc;
    P.direction = deferred->direction;
    P.p = g->p.sh_rest;
    P.m = deferred->m;
    P.v = deferred->v;
    P.gradient = (float4 *)deferred->gradient;
    P.steps = (const float2 *)deferred->steps;
    P.n = g->n;
    P.n_steps = deferred->n_steps;
    P.active_sh_degree = deferred->active_sh_degree;
    return P;
}

extern "C" splat_status splat_settle_rest_cuda(splat_backend *backend, const struct splat_settle_rest_args *args,
                                               splat_error *error)
{
    splat_cuda_backend *cuda = splat_cuda_of(backend);
    const splat_gaussians *g = args->gaussians;
    if (!g->deferred || g->deferred->n_steps == 0) return SPLAT_OK;
    SPLAT_TRY(splat_cuda_join(cuda, error));
    launch<false>(parameters_of(g), g->sh_degree, cuda->stream);
    CUDA_LAUNCHED("settle_rest");
    g->deferred->n_steps = 0;
    return SPLAT_OK;
}

splat_status splat_cuda_advance_rest(splat_cuda_backend *cuda, const splat_gaussians *g, splat_frame *frame,
                                     splat_error *error)
{
    splat_deferred_rest *deferred = g->deferred;
    const struct splat_settle_rest_args settle = {g};
    if (deferred->n_steps == SPLAT_MAX_DEFERRED || deferred->active_sh_degree != g->active_sh_degree)
        SPLAT_TRY(splat_settle_rest_cuda(&cuda->base, &settle, error));
    deferred->active_sh_degree = g->active_sh_degree;
    rest_parameters P = parameters_of(g);
    P.projector = splat_projector_make(&frame->camera, frame->filter.kernel_size, frame->filter.compensate, SPLAT_TILE);
    P.depth = frame->depth;
    P.rgb = frame->rgb;
    P.state = splat_cuda_state_of(frame);
    SPLAT_TRY(splat_cuda_fork(cuda, error));
    launch<true>(P, g->sh_degree, cuda->side_stream);
    CUDA_LAUNCHED("steps of the visible");
    return SPLAT_OK;
}
