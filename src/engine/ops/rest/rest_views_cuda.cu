/* Steps of Adam that sh_rest lacks where each is of several views (splat_deferred_rest with several slots): made up
 * before the next such step for the Gaussians that any of its views sees, whose colours are written at once, or for all
 * of them. A row's waiting gradient is the sum over its slots. */
#include "ops/rest/rest_steps_cuda.cuh"

#define VIEWS 16 /* of a launch: a batch of more takes several */

struct view_colours {
    const float *depth;
    float *rgb;
    float center[3];
    splat_cuda_view_state *state;
};

struct views_parameters {
    const float *means, *sh_dc;
    rest_arrays rest;
    rest_slots slots;
    const float2 *steps;
    uint32_t *made;
    uint32_t n, n_views;
    several_views decay;
    view_colours views[VIEWS];
};

static_assert(sizeof(views_parameters) <= 4096, "the parameters of a launch on any device");

#define REST_THREADS 128
#define REST_WARPS (REST_THREADS / 32)
/* Rows of a warp's 32 in shared memory at a time: usually at most a third of them are seen, and room for all would
 * halve the warps. */
#define HELD_ROWS 16

/* Shared memory of a block for its Gaussians. rest: of a held row first the pending mean, then the current values;
 * squares: of the gradients of that mean. */
template <int DEGREE>
struct views_block {
    float rest[REST_WARPS][HELD_ROWS * odd_words(rest_channels(DEGREE))];
    float squares[REST_WARPS][HELD_ROWS * odd_words(rest_channels(DEGREE))];
    uint32_t tags[REST_THREADS];
    float2 steps[SPLAT_MAX_DEFERRED];
    uint8_t list[REST_WARPS][32];
};

template <int DEGREE>
__device__ __forceinline__ void write_colours(const views_parameters &P, uint32_t i, const float *rest)
{
    const float *mean = P.means + 3 * (size_t)i;
    for (uint32_t k = 0; k < P.n_views; k++) {
        const view_colours &view = P.views[k];
        if (!(view.depth[i] > 0.0f)) continue;
        float inverse_distance;
        write_colour<DEGREE>(direction_from(view.center, mean[0], mean[1], mean[2], &inverse_distance),
                             P.sh_dc + 3 * (size_t)i, rest, P.rest.active_sh_degree, view.rgb + 3 * (size_t)i,
                             view.state);
    }
}

/* COLOUR: of what the views see, with its colours; otherwise of all. */
template <int DEGREE, bool COLOUR>
__global__ void __launch_bounds__(REST_THREADS, 8) views_kernel(const __grid_constant__ views_parameters P)
{
    __shared__ views_block<DEGREE> s;
    constexpr uint32_t STRIDE = odd_words(rest_channels(DEGREE)), ALL = 0xffffffffu;
    const uint32_t t = threadIdx.x, warp = t / 32, lane = lane_index(), i = blockIdx.x * REST_THREADS + t;
    const bool inside = i < P.n;
    bool mine = inside && !COLOUR;
    for (uint32_t k = 0; COLOUR && inside && k < P.n_views; k++) mine |= P.views[k].depth[i] > 0.0f;
    for (uint32_t k = t; k < P.rest.n_steps; k += REST_THREADS) s.steps[k] = P.steps[k];
    const uint32_t made = mine ? P.made[i] : P.rest.n_steps;
    const bool lacks = made < P.rest.n_steps;
    __syncthreads();
    const uint32_t in_use = __ballot_sync(ALL, COLOUR ? mine : lacks), n_rows = list_rows(in_use, s.list[warp]);
    for (uint32_t first = 0; first < n_rows; first += HELD_ROWS) {
        const uint8_t *const list = s.list[warp] + first;
        const uint32_t n = min(n_rows - first, (uint32_t)HELD_ROWS), row = list[lane < n ? lane : 0];
        const uint32_t row_made = __shfl_sync(ALL, made, row), held = i - lane + row;
        float *const rest = s.rest[warp] + lane * STRIDE; /* of lanes below n */
        if (lane < n) {
            const bool waits = row_made < P.rest.n_steps &&
                               sum_slots<DEGREE>(P.slots, held, row_made, rest, s.squares[warp] + lane * STRIDE);
            s.tags[32 * warp + row] = 2 * row_made + waits;
        }
        __syncwarp();
        const auto place = [&](uint32_t of_row, uint32_t column) {
            return (__popc(in_use & ((1u << of_row) - 1u)) - first) * STRIDE + column;
        };
        advance_rows<DEGREE>(
            P.rest, s.tags, s.steps, i - lane, list, n, P.decay,
            [&](uint32_t thread, uint32_t column) {
                const uint32_t at = place(thread % 32, column);
                return views_gradient{s.rest[warp][at], s.squares[warp][at]};
            },
            [&](uint32_t of_row, uint32_t column, float value) {
                if constexpr (COLOUR) s.rest[warp][place(of_row, column)] = value;
            });
        if (COLOUR && lane < n) write_colours<DEGREE>(P, held, rest);
        __syncwarp();
    }
    if constexpr (COLOUR) {
        if (mine && lacks) P.made[i] = P.rest.n_steps;
    } else if (inside) {
        P.made[i] = 0;
        empty_slots(P.slots, i);
    }
}

template <bool COLOUR>
static void launch(const views_parameters &P, int sh_degree, cudaStream_t stream)
{
    const unsigned blocks = splat_cuda_blocks(P.n, REST_THREADS);
    switch (sh_degree) {
    case 1: views_kernel<1, COLOUR><<<blocks, REST_THREADS, 0, stream>>>(P); break;
    case 2: views_kernel<2, COLOUR><<<blocks, REST_THREADS, 0, stream>>>(P); break;
    default: views_kernel<3, COLOUR><<<blocks, REST_THREADS, 0, stream>>>(P); break;
    }
}

static views_parameters parameters_of(const splat_gaussians *g, const splat_deferred_rest *deferred)
{
    views_parameters P = {};
    P.means = g->p.means;
    P.sh_dc = g->p.sh_dc;
    P.rest = {g->p.sh_rest, deferred->m, deferred->v, deferred->n_steps, deferred->active_sh_degree};
    P.slots = slots_of(deferred, deferred->n_steps ? deferred->n_views : 0);
    P.steps = (const float2 *)deferred->steps;
    P.made = deferred->made;
    P.n = g->n;
    if (deferred->n_steps) P.decay = decay_of(deferred->n_views);
    return P;
}

splat_status splat_cuda_settle_views(splat_cuda_backend *cuda, const splat_gaussians *g,
                                     splat_deferred_rest *deferred, splat_error *error)
{
    launch<false>(parameters_of(g, deferred), g->sh_degree, cuda->stream);
    CUDA_LAUNCHED("settle_rest of several views");
    deferred->n_steps = 0;
    return SPLAT_OK;
}

static view_colours colours_of(const splat_frame *frame)
{
    const splat_projector projector = splat_frame_projector(frame);
    view_colours view = {frame->depth, frame->rgb, {}, splat_cuda_state_of(frame)};
    for (int k = 0; k < 3; k++) view.center[k] = projector.center[k];
    return view;
}

/* Steps of another number of views, or of other bands, are made first. */
static splat_status begin_step(splat_cuda_backend *cuda, const splat_gaussians *g, splat_deferred_rest *deferred,
                               uint32_t n_views, splat_error *error)
{
    if (n_views > deferred->n_slots)
        return splat_fail(error, SPLAT_ERROR_ARGUMENT, "%u views at a time are more than the %u that steps wait for",
                          n_views, deferred->n_slots);
    const bool differs = deferred->n_views != n_views || deferred->active_sh_degree != g->active_sh_degree;
    if (deferred->n_steps == SPLAT_MAX_DEFERRED || (deferred->n_steps && differs))
        SPLAT_TRY(splat_cuda_settle_views(cuda, g, deferred, error));
    deferred->n_views = n_views;
    deferred->active_sh_degree = g->active_sh_degree;
    return SPLAT_OK;
}

/* Each colour is written, but only once: views of later launches find rows that are up to date. */
splat_status splat_cuda_advance_views(splat_cuda_backend *cuda, const struct splat_project_views_args *args,
                                      splat_error *error)
{
    const splat_gaussians *g = args->gaussians;
    splat_deferred_rest *deferred = args->rest->deferred;
    SPLAT_TRY(begin_step(cuda, g, deferred, args->n_views, error));
    views_parameters P = parameters_of(g, deferred);
    SPLAT_TRY(splat_cuda_fork(cuda, error));
    for (uint32_t first = 0; first < args->n_views; first += VIEWS) {
        P.n_views = args->n_views - first < VIEWS ? args->n_views - first : VIEWS;
        for (uint32_t k = 0; k < P.n_views; k++) P.views[k] = colours_of(args->frames[first + k]);
        launch<true>(P, g->sh_degree, cuda->side_stream);
        CUDA_LAUNCHED("steps of what several views see");
    }
    return SPLAT_OK;
}
