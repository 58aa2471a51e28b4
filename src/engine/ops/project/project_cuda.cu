/* project on CUDA, a thread a Gaussian. Formulas: math/projection.h, math/sh.h, shared with the CPU. */
#include "ops/project/project_cuda.cuh"
#include "ops/rest/rest_cuda.cuh"

#define PROJECT_THREADS 128
#define PROJECT_WARPS (PROJECT_THREADS / 32)

struct project_parameters {
    splat_projector projector;
    splat_gaussians g;
    uint32_t row_words; /* of a row of sh_rest */
    splat_dropout dropout;
    float widen;        /* half a pixel with ray jitter */
    float2 *mean2d;
    float4 *conic;
    float *rgb, *depth;
    ushort4 *tile_rect;
    uint32_t *ids;
    splat_cuda_view_state *state;
};

/* The tile square of rho, and its part that alpha >= 1/255 can reach. */
__device__ __forceinline__ bool tiles_of(const project_parameters &P, const splat_footprint &f, float alpha0,
                                         ushort4 *rect)
{
    float rho = splat_footprint_rho(&f), tile = 1.0f / SPLAT_TILE;
    float x0 = truncf(splat_clamp((f.u - rho) * tile, 0.0f, P.projector.tiles_x));
    float y0 = truncf(splat_clamp((f.v - rho) * tile, 0.0f, P.projector.tiles_y));
    float x1 = truncf(splat_clamp((f.u + rho + (SPLAT_TILE - 1)) * tile, 0.0f, P.projector.tiles_x));
    float y1 = truncf(splat_clamp((f.v + rho + (SPLAT_TILE - 1)) * tile, 0.0f, P.projector.tiles_y));
    *rect = make_ushort4(0, 0, 0, 0);
    if (!(x0 < x1 && y0 < y1)) return false;
    float reach = 2.0f * (logf(255.0f * alpha0) + 5e-5f);
    if (!(reach > 0.0f)) return true; /* seen, but no pixel blends it */
    reach = splat_footprint_safe_reach(&f, reach);
    float hx = sqrtf(reach * f.a) + P.widen, hy = sqrtf(reach * f.c) + P.widen;
    x0 = fmaxf(x0, floorf(splat_clamp((f.u - hx) * tile, 0.0f, P.projector.tiles_x)));
    y0 = fmaxf(y0, floorf(splat_clamp((f.v - hy) * tile, 0.0f, P.projector.tiles_y)));
    x1 = fminf(x1, floorf(splat_clamp((f.u + hx) * tile + 1.0f, 0.0f, P.projector.tiles_x)));
    y1 = fminf(y1, floorf(splat_clamp((f.v + hy) * tile + 1.0f, 0.0f, P.projector.tiles_y)));
    if (x0 < x1 && y0 < y1)
        *rect = make_ushort4((unsigned short)x0, (unsigned short)y0, (unsigned short)x1, (unsigned short)y1);
    return true;
}

/* A Gaussian as far as its shape decides. */
struct shape {
    float3 mean;
    float depth;
    ushort4 rect;
    bool seen, degenerate;
};

/* Writes mean2d and conic when it is seen. */
__device__ __forceinline__ shape project_shape(const project_parameters &P, uint32_t i)
{
    shape s;
    const float *mean = P.g.p.means + 3 * (size_t)i;
    float x = mean[0], y = mean[1], z = mean[2];
    const splat_projector &p = P.projector;
    s.mean = make_float3(x, y, z);
    s.depth = p.r[6] * x + p.r[7] * y + p.r[8] * z + p.t[2];
    s.rect = make_ushort4(0, 0, 0, 0);
    bool finite = isfinite(x) && isfinite(y) && isfinite(z);
    s.degenerate = !finite;
    s.seen = false;
    if (!finite || !(s.depth > SPLAT_NEAR)) return s;
    activated a = activate(P.g.p, P.g.filter_3d, p.gain, i);
    s.degenerate = !a.usable;
    if (!a.usable) return s;
    const splat_ellipsoid e = {x, y, z, a.st[0], a.st[1], a.st[2], a.q[0], a.q[1], a.q[2], a.q[3]};
    splat_footprint f = splat_footprint_make(&p, &e);
    float alpha0 = a.ot * f.kappa;
    s.degenerate = !isfinite(f.u + f.v + f.conic_a + f.conic_b + f.conic_c + alpha0 + f.a * f.c);
    if (s.degenerate || !tiles_of(P, f, alpha0, &s.rect) || splat_dropout_hides(&P.dropout, i)) return s;
    s.seen = true;
    P.mean2d[i] = make_float2(f.u, f.v);
    P.conic[i] = make_float4(f.conic_a, f.conic_b, f.conic_c, alpha0);
    return s;
}

/* The source of the colour: rows of sh_rest that each thread reads, rows that the warp fetches through shared memory
 * (those in host memory), or another kernel. */
enum colour_from { COLOUR_FROM_ROWS, COLOUR_FROM_STAGED, COLOUR_LATER };

template <int DEGREE, bool HALF, colour_from FROM>
__global__ void __launch_bounds__(PROJECT_THREADS) project_kernel(const __grid_constant__ project_parameters P)
{
    constexpr uint32_t WORDS = rest_words(DEGREE, HALF), STRIDE = odd_words(WORDS);
    constexpr bool STAGED = FROM == COLOUR_FROM_STAGED;
    __shared__ uint32_t staged[STAGED ? PROJECT_WARPS : 1][STAGED ? 32 * STRIDE : 1];
    __shared__ uint8_t lists[STAGED ? PROJECT_WARPS : 1][32];
    uint32_t i = blockIdx.x * PROJECT_THREADS + threadIdx.x;
    bool inside = i < P.g.n;
    shape s = {};
    if (inside) s = project_shape(P, i);
    const uint32_t *rest = rest_rows<HALF>(P.g) + (size_t)i * P.row_words;
    if constexpr (STAGED) {
        uint32_t warp = threadIdx.x / 32, n_seen = list_rows(__ballot_sync(0xffffffffu, s.seen), lists[warp]);
        const warp_rows<false> rows = {(uint32_t *)rest_rows<HALF>(P.g), NULL, NULL, i - lane_index(), P.row_words};
        read_rows<WORDS, STRIDE, false>(staged[warp], rows, lists[warp], n_seen);
        rest = staged[warp] + lane_index() * STRIDE;
    }
    bool visible = s.seen;
    if (FROM != COLOUR_LATER && s.seen) {
        float inverse_distance, b[16];
        sh_basis<DEGREE>(direction_of(P.projector, s.mean.x, s.mean.y, s.mean.z, &inverse_distance), b);
        float3 rgb = colour_of<DEGREE, HALF>(P.g.p.sh_dc + 3 * (size_t)i, rest, b, (DEGREE + 1) * (DEGREE + 1));
        s.degenerate = !isfinite(rgb.x + rgb.y + rgb.z);
        visible = !s.degenerate;
        P.rgb[3 * (size_t)i] = fmaxf(rgb.x, 0.0f);
        P.rgb[3 * (size_t)i + 1] = fmaxf(rgb.y, 0.0f);
        P.rgb[3 * (size_t)i + 2] = fmaxf(rgb.z, 0.0f);
    }
    if (inside) {
        P.ids[i] = i;
        P.depth[i] = visible ? s.depth : 0.0f;
        P.tile_rect[i] = visible ? s.rect : make_ushort4(0, 0, 0, 0);
    }
    unsigned n_visible = __popc(__ballot_sync(0xffffffffu, visible)),
             n_degenerate = __popc(__ballot_sync(0xffffffffu, s.degenerate));
    if ((threadIdx.x & 31) == 0) {
        if (n_visible) atomicAdd(&P.state->n_visible, n_visible);
        if (n_degenerate) atomicAdd(&P.state->n_degenerate, n_degenerate);
    }
}

template <bool HALF, colour_from FROM>
static void launch(const project_parameters &P, cudaStream_t stream)
{
    unsigned blocks = splat_cuda_blocks(P.g.n, PROJECT_THREADS);
    switch (P.g.active_sh_degree) {
    case 0: project_kernel<0, false, COLOUR_FROM_ROWS><<<blocks, PROJECT_THREADS, 0, stream>>>(P); break;
    case 1: project_kernel<1, HALF, FROM><<<blocks, PROJECT_THREADS, 0, stream>>>(P); break;
    case 2: project_kernel<2, HALF, FROM><<<blocks, PROJECT_THREADS, 0, stream>>>(P); break;
    default: project_kernel<3, HALF, FROM><<<blocks, PROJECT_THREADS, 0, stream>>>(P); break;
    }
}

/* later: colours are another kernel's. */
static splat_status project(splat_cuda_backend *cuda, const splat_gaussians *gaussians, splat_frame *frame, bool later,
                            splat_error *error)
{
    frame->n_visible = gaussians->n;
    cuda->has_blended = false; /* from here on others are seen */
    if (gaussians->n == 0) return SPLAT_OK;
    project_parameters P;
    P.projector = splat_frame_projector(frame);
    P.g = *gaussians;
    P.row_words = rest_words(P.g.sh_degree, P.g.sh_rest_half != NULL);
    P.dropout = frame->dropout;
    P.widen = frame->jitter ? 0.5f : 0.0f;
    P.mean2d = (float2 *)frame->mean2d;
    P.conic = (float4 *)frame->conic;
    P.rgb = frame->rgb;
    P.depth = frame->depth;
    P.tile_rect = (ushort4 *)frame->tile_rect;
    P.ids = frame->ids;
    P.state = splat_cuda_state_of(frame);
    if (later)
        project_kernel<0, false, COLOUR_LATER>
            <<<splat_cuda_blocks(P.g.n, PROJECT_THREADS), PROJECT_THREADS, 0, cuda->stream>>>(P);
    else if (P.g.sh_rest_half)
        P.g.rest_on_host ? launch<true, COLOUR_FROM_STAGED>(P, cuda->stream)
                         : launch<true, COLOUR_FROM_ROWS>(P, cuda->stream);
    else
        P.g.rest_on_host ? launch<false, COLOUR_FROM_STAGED>(P, cuda->stream)
                         : launch<false, COLOUR_FROM_ROWS>(P, cuda->stream);
    CUDA_LAUNCHED("project");
    return SPLAT_OK;
}

/* True if a step finds colours that lack steps. */
static bool defers(const splat_gaussians *g, const splat_deferred_rest *deferred)
{
    return deferred && !deferred->at_once && g->active_sh_degree > 0 && g->n > 0;
}

extern "C" splat_status splat_project_cuda(splat_backend *backend, const struct splat_project_args *args,
                                           splat_error *error)
{
    splat_cuda_backend *cuda = splat_cuda_of(backend);
    const splat_gaussians *g = args->gaussians;
    const splat_rest_state rest = splat_rest_state_of(args->rest);
    const bool fetches = rest.cache && g->active_sh_degree > 0 && g->n > 0;
    const bool later = defers(g, rest.deferred) || (fetches && rest.cache->rest);
    const struct splat_settle_rest_args settle = {g, &rest};
    if (!later && !fetches && g->n > 0) SPLAT_TRY(splat_settle_rest_cuda(backend, &settle, error));
    SPLAT_TRY(project(cuda, g, args->frame, later, error));
    if (fetches) return splat_cuda_fetch_rest(cuda, g, rest.cache, args->frame, error);
    return later ? splat_cuda_advance_rest(cuda, g, rest.deferred, args->frame, error) : SPLAT_OK;
}

extern "C" splat_status splat_project_views_cuda(splat_backend *backend, const struct splat_project_views_args *args,
                                                 splat_error *error)
{
    splat_cuda_backend *cuda = splat_cuda_of(backend);
    const splat_rest_state rest = splat_rest_state_of(args->rest);
    const bool later = defers(args->gaussians, rest.deferred);
    const struct splat_settle_rest_args settle = {args->gaussians, &rest};
    if (!later && args->gaussians->n > 0) SPLAT_TRY(splat_settle_rest_cuda(backend, &settle, error));
    for (uint32_t k = 0; k < args->n_views; k++)
        SPLAT_TRY(project(cuda, args->gaussians, args->frames[k], later, error));
    return later ? splat_cuda_advance_views(cuda, args, error) : SPLAT_OK;
}
