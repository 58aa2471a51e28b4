/* Steps of Adam that sh_rest lacks (splat_deferred_rest), made up one after the other: before a step for the
 * Gaussians that it sees, whose colours are written at once, or for all of them (settle_rest). The former overlaps
 * with bin, which leaves the memory's bandwidth idle. docs/lab/gpu-step.md has the measurements. */
#include "ops/rest/rest_steps_cuda.cuh"

#define REST_THREADS 128
#define REST_WARPS (REST_THREADS / 32)

struct rest_parameters {
    splat_projector projector;
    const float *means, *sh_dc, *depth, *direction;
    rest_arrays rest; /* its active bands are those of the colours, too */
    float *rgb;
    float4 *gradient;
    const float2 *steps;
    uint32_t n;
    splat_cuda_view_state *state;
};

/* Shared memory of a block for its Gaussians. */
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

/* COLOUR: of the visible, with their colours; otherwise of all. */
template <int DEGREE, bool COLOUR>
__global__ void __launch_bounds__(REST_THREADS) rest_kernel(const __grid_constant__ rest_parameters P)
{
    __shared__ rest_block<DEGREE, COLOUR> s;
    const uint32_t t = threadIdx.x, warp = t / 32, i = blockIdx.x * REST_THREADS + t;
    const bool inside = i < P.n, mine = inside && (!COLOUR || P.depth[i] > 0.0f);
    for (uint32_t k = t; k < P.rest.n_steps; k += REST_THREADS) s.steps[k] = P.steps[k];
    uint32_t tag = 2 * P.rest.n_steps;
    if (mine) {
        const float4 gradient = P.gradient[i];
        tag = __float_as_uint(gradient.w);
        if (tag % 2)
            waiting_gradient<DEGREE>(P.direction + 3 * (size_t)i, gradient, s.basis + BASIS_STRIDE * t,
                                     s.colour + 3 * t);
    }
    s.tags[t] = tag;
    __syncthreads();
    const bool lacks = tag / 2 < P.rest.n_steps;
    const uint32_t n_rows = list_rows(__ballot_sync(0xffffffffu, COLOUR ? mine : lacks), s.list[warp]);
    constexpr uint32_t STRIDE = odd_words(rest_channels(DEGREE));
    advance_rows<DEGREE>(
        P.rest, s.tags, s.steps, i - lane_index(), s.list[warp], n_rows, one_view(),
        [&](uint32_t thread, uint32_t column) {
            return __fmul_rn(s.basis[BASIS_STRIDE * thread + column / 3 + 1], s.colour[3 * thread + column % 3]);
        },
        [&](uint32_t row, uint32_t column, float value) {
            if constexpr (COLOUR) s.rest[warp][row * STRIDE + column] = value;
        });
    if constexpr (COLOUR) {
        const float *mean = P.means + 3 * (size_t)i;
        float inverse_distance;
        if (mine)
            write_colour<DEGREE>(direction_of(P.projector, mean[0], mean[1], mean[2], &inverse_distance),
                                 P.sh_dc + 3 * (size_t)i, s.rest[warp] + lane_index() * STRIDE,
                                 P.rest.active_sh_degree, P.rgb + 3 * (size_t)i, P.state);
        if (mine && lacks) P.gradient[i].w = __uint_as_float(2 * P.rest.n_steps);
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

static rest_parameters parameters_of(const splat_gaussians *g, const splat_deferred_rest *deferred)
{
    rest_parameters P = {};
    P.means = g->p.means;
    P.sh_dc = g->p.sh_dc;
    P.direction = deferred->direction;
    P.gradient = (float4 *)deferred->gradient;
    P.steps = (const float2 *)deferred->steps;
    P.n = g->n;
    P.rest = {g->p.sh_rest, deferred->m, deferred->v, deferred->n_steps, deferred->active_sh_degree};
    return P;
}

extern "C" splat_status splat_settle_rest_cuda(splat_backend *backend, const struct splat_settle_rest_args *args,
                                               splat_error *error)
{
    splat_cuda_backend *cuda = splat_cuda_of(backend);
    const splat_gaussians *g = args->gaussians;
    splat_deferred_rest *deferred = args->rest->deferred;
    splat_rest_cache *cache = args->rest->cache;
    if (cache && !cache->is_empty) SPLAT_TRY(splat_cuda_return_rest(cuda, g, cache, error));
    if (!deferred || deferred->n_steps == 0) return SPLAT_OK;
    SPLAT_TRY(splat_cuda_join(cuda, error));
    if (deferred->n_slots > 1) return splat_cuda_settle_views(cuda, g, deferred, error);
    launch<false>(parameters_of(g, deferred), g->sh_degree, cuda->stream);
    CUDA_LAUNCHED("settle_rest");
    deferred->n_steps = 0;
    return SPLAT_OK;
}

splat_status splat_cuda_advance_rest(splat_cuda_backend *cuda, const splat_gaussians *g,
                                     splat_deferred_rest *deferred, splat_frame *frame, splat_error *error)
{
    const splat_rest_state rest = {deferred, NULL};
    const struct splat_settle_rest_args settle = {g, &rest};
    if (deferred->n_steps == SPLAT_MAX_DEFERRED || deferred->active_sh_degree != g->active_sh_degree)
        SPLAT_TRY(splat_settle_rest_cuda(&cuda->base, &settle, error));
    deferred->active_sh_degree = g->active_sh_degree;
    rest_parameters P = parameters_of(g, deferred);
    P.projector = splat_frame_projector(frame);
    P.depth = frame->depth;
    P.rgb = frame->rgb;
    P.state = splat_cuda_state_of(frame);
    SPLAT_TRY(splat_cuda_fork(cuda, error));
    launch<true>(P, g->sh_degree, cuda->side_stream);
    CUDA_LAUNCHED("steps of the visible");
    return SPLAT_OK;
}
