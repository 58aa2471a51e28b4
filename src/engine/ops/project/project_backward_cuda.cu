/* project_backward on CUDA: the gradients of a block of Gaussians, a thread each, which a sink takes. Formulas:
 * math/projection.h, math/sh.h, shared with the CPU. */
#include "ops/project/project_sinks_cuda.cuh"
#include "ops/rest/rest_cuda.cuh"

/* dL/dcolour before the clamp, the basis (BASIS: is kept), and what the colour gives to the mean through the view
 * direction. */
template <int DEGREE, bool HALF, bool BASIS>
__device__ __forceinline__ float3 colour_backward(const backward_parameters &P, uint32_t i, float x, float y, float z,
                                                  const uint32_t *rest, const splat_grad2d &grad, block_gradients &s)
{
    const float *dc = P.g.p.sh_dc + 3 * (size_t)i;
    int n_basis = (P.g.active_sh_degree + 1) * (P.g.active_sh_degree + 1);
    float inverse_distance, b[16];
    float3 d = direction_of(P.projector, x, y, z, &inverse_distance);
    sh_basis<DEGREE>(d, b);
    float3 rgb = colour_of<DEGREE, HALF>(dc, rest, b, n_basis);
    float3 g = make_float3(rgb.x < 0.0f ? 0.0f : grad.rgb[0], rgb.y < 0.0f ? 0.0f : grad.rgb[1],
                           rgb.z < 0.0f ? 0.0f : grad.rgb[2]);
    float w[16], dd[3] = {0.0f, 0.0f, 0.0f};
    w[0] = 0.0f;
#pragma unroll
    for (int k = 1; k < (DEGREE + 1) * (DEGREE + 1); k++)
        w[k] = k < n_basis ? rest_value<HALF>(rest, 3 * (k - 1)) * g.x + rest_value<HALF>(rest, 3 * (k - 1) + 1) * g.y +
                                 rest_value<HALF>(rest, 3 * (k - 1) + 2) * g.z
                           : 0.0f;
    if (DEGREE > 0) splat_sh_band1_gradient(w, 1, dd);
    if (DEGREE > 1) splat_sh_band2_gradient(d.x, d.y, d.z, w, 1, dd);
    if (DEGREE > 2) splat_sh_band3_gradient(d.x, d.y, d.z, w, 1, dd);
#pragma unroll
    for (int k = 0; BASIS && k < (DEGREE + 1) * (DEGREE + 1); k++)
        s.basis[BASIS_STRIDE * threadIdx.x + k] = k < n_basis ? b[k] : 0.0f;
    s.colour[3 * threadIdx.x] = g.x;
    s.colour[3 * threadIdx.x + 1] = g.y;
    s.colour[3 * threadIdx.x + 2] = g.z;
    s.sh_dc[3 * threadIdx.x] = b[0] * g.x;
    s.sh_dc[3 * threadIdx.x + 1] = b[0] * g.y;
    s.sh_dc[3 * threadIdx.x + 2] = b[0] * g.z;
    float along = d.x * dd[0] + d.y * dd[1] + d.z * dd[2];
    return make_float3((dd[0] - d.x * along) * inverse_distance, (dd[1] - d.y * along) * inverse_distance,
                       (dd[2] - d.z * along) * inverse_distance);
}

__device__ __forceinline__ void no_gradient(block_gradients &s, int n_basis)
{
    const uint32_t t = threadIdx.x;
#define SPLAT_SMALL_TENSOR(name, channels)                                                                             \
    for (int k = 0; k < channels; k++) s.name[channels * t + k] = 0.0f;
#include "math/small_tensors.def"
#undef SPLAT_SMALL_TENSOR
    for (int k = 0; k < 3; k++) s.colour[3 * t + k] = 0.0f;
    for (int k = 0; k < n_basis; k++) s.basis[BASIS_STRIDE * t + k] = 0.0f;
}

/* docs/method.md 7.1: gradients of the mean in NDC units. */
__device__ __forceinline__ void add_statistics(const backward_parameters &P, uint32_t i, const splat_grad2d &grad)
{
    float gx = P.half_width * grad.mean_x, gy = P.half_height * grad.mean_y, length = sqrtf(gx * gx + gy * gy);
    if (!isfinite(length + grad.mean_abs)) return;
    P.statistics.grad[i] += length;
    P.statistics.grad_abs[i] += grad.mean_abs;
    P.statistics.count[i] += 1.0f;
}

/* The gradients of the thread's Gaussian, whose row of sh_rest is `rest`, into shared memory; zeros when it was not
 * seen or they are not finite. */
template <int DEGREE, bool HALF, bool BASIS>
__device__ __forceinline__ void gaussian_backward(const backward_parameters &P, uint32_t i, const uint32_t *rest,
                                                  block_gradients &s)
{
    const uint32_t t = threadIdx.x;
    if (i >= P.g.n || !(P.depth[i] > 0.0f)) {
        no_gradient(s, BASIS ? (DEGREE + 1) * (DEGREE + 1) : 0);
        return;
    }
    splat_grad2d grad = P.grad2d[i];
    const float *mean = P.g.p.means + 3 * (size_t)i;
    float x = mean[0], y = mean[1], z = mean[2];
    /* colour first: its sixteen basis values must not live at the same time as the footprint's */
    float3 through_colour = colour_backward<DEGREE, HALF, BASIS>(P, i, x, y, z, rest, grad, s);
    activated a = activate(P.g.p, P.g.filter_3d, P.projector.gain, i);
    const splat_ellipsoid e = {x, y, z, a.st[0], a.st[1], a.st[2], a.q[0], a.q[1], a.q[2], a.q[3]};
    const splat_screen_gradient screen = {grad.mean_x,  grad.mean_y,  grad.conic_a,
                                          grad.conic_b, grad.conic_c, grad.opacity};
    splat_footprint f = splat_footprint_make(&P.projector, &e);
    splat_footprint_gradient g = splat_footprint_backward(&P.projector, &f, &e, a.ot, &screen);
    float sum = grad.rgb[0] + grad.rgb[1] + grad.rgb[2];
    const float gm[3] = {g.mean_x + through_colour.x, g.mean_y + through_colour.y, g.mean_z + through_colour.z};
    const float gs[3] = {g.stx, g.sty, g.stz}, gq[4] = {g.qw, g.qx, g.qy, g.qz};
    for (int k = 0; k < 3; k++) {
        s.means[3 * t + k] = gm[k];
        /* through s~ and through c3 (docs/method.md 7.6) */
        float gsk = gs[k] * a.s[k] * a.s[k] / a.st[k] + g.ot * a.ot * a.f2 / (a.st[k] * a.st[k]);
        s.scales[3 * t + k] = gsk;
        sum += gm[k] + gsk;
    }
    float go = g.ot * (a.ot / a.o) * a.o * (1.0f - a.o), dot = 0.0f;
    s.opacities[t] = go;
    for (int k = 0; k < 4; k++) dot += a.q[k] * gq[k];
    for (int k = 0; k < 4; k++) {
        float gqk = (gq[k] - a.q[k] * dot) * a.inverse_norm;
        s.rotations[4 * t + k] = gqk;
        sum += gqk;
    }
    if (!isfinite(sum + go)) {
        no_gradient(s, BASIS ? (DEGREE + 1) * (DEGREE + 1) : 0);
        atomicAdd(&P.state->n_degenerate, 1u);
    }
    if (P.has_statistics) add_statistics(P, i, grad);
}

/* Gradients from elsewhere, to those of the thread's Gaussian in shared memory. */
__device__ __forceinline__ void add_extra_gradients(const backward_parameters &P, uint32_t i, block_gradients &s)
{
    const uint32_t t = threadIdx.x;
    const splat_tensors &extra = P.extra_gradients;
    if (!extra.means || i >= P.g.n) return;
    const float *means = extra.means + 3 * (size_t)i, *scales = extra.scales + 3 * (size_t)i;
    const float *rotations = extra.rotations + 4 * (size_t)i;
    float sum = extra.opacities[i];
    for (int k = 0; k < 3; k++) sum += means[k] + scales[k];
    for (int k = 0; k < 4; k++) sum += rotations[k];
    if (!isfinite(sum)) {
        atomicAdd(&P.state->n_degenerate, 1u);
        return;
    }
    for (int k = 0; k < 3; k++) s.means[3 * t + k] += means[k];
    for (int k = 0; k < 3; k++) s.scales[3 * t + k] += scales[k];
    for (int k = 0; k < 4; k++) s.rotations[4 * t + k] += rotations[k];
    s.opacities[t] += extra.opacities[i];
}

/* The gradient of its depth. */
__device__ __forceinline__ void add_depth_gradient(const backward_parameters &P, uint32_t i, block_gradients &s)
{
    if (!P.grad_depth || i >= P.g.n || !(P.depth[i] > 0.0f)) return;
    const float g = P.grad_depth[i];
    if (!isfinite(g)) {
        atomicAdd(&P.state->n_degenerate, 1u);
        return;
    }
    for (int k = 0; k < 3; k++) s.means[3 * threadIdx.x + k] += P.ahead[k] * g;
}

/* Those of opacity_pull and scale_pull. */
__device__ __forceinline__ void add_pulls(const backward_parameters &P, uint32_t i, block_gradients &s)
{
    const uint32_t t = threadIdx.x;
    if (i >= P.g.n) return;
    if (P.opacity_pull > 0.0f) s.opacities[t] += pull_of(P.opacity_pull, 0.0f, P.g.p.opacities[i]);
    for (uint32_t k = 0; P.scale_pull > 0.0f && k < 3; k++)
        s.scales[3 * t + k] += pull_of(0.0f, P.scale_pull, P.g.p.scales[3 * (size_t)i + k]);
}

/* All that a block's Gaussians are asked for, in shared memory for all of its threads. */
template <int DEGREE, bool HALF, bool BASIS>
__device__ __forceinline__ void all_gradients(const backward_parameters &P, uint32_t i, const uint32_t *rest,
                                              block_gradients &s)
{
    gaussian_backward<DEGREE, HALF, BASIS>(P, i, rest, s);
    add_depth_gradient(P, i, s);
    add_extra_gradients(P, i, s);
    add_pulls(P, i, s);
    __syncthreads();
}

/* Steps of the Gaussians outside the view: their gradients are zero, or their own pulls. With deferred sh_rest they
 * need nothing of the view, so their steps, which move bytes and compute almost nothing, overlap with
 * raster_backward, which leaves the bandwidth idle. */
__global__ void __launch_bounds__(BACKWARD_THREADS, 8) unseen_kernel(const __grid_constant__ backward_parameters P)
{
    __shared__ uint32_t bits[BACKWARD_WARPS];
    if (P.state->overflow || P.state->not_finite) return;
    const uint32_t first = blockIdx.x * BACKWARD_THREADS, n = min(P.g.n - first, (uint32_t)BACKWARD_THREADS);
    if (list_of_block(threadIdx.x < n && !(P.depth[first + threadIdx.x] > 0.0f), bits))
        update_small_floats(P, unseen_gradients{P}, some_rows{bits}, first, n);
}

constexpr bool steps_by_rows(sink_kind sink)
{
    return sink == ROWS || sink == CACHED;
}

template <int DEGREE, bool HALF, bool QUANTIZED, sink_kind SINK>
__global__ void __launch_bounds__(BACKWARD_THREADS, steps_by_rows(SINK) ? 4 : 5) /* with more blocks registers spill */
    project_backward_kernel(const __grid_constant__ backward_parameters P)
{
    constexpr bool BY_ROWS = steps_by_rows(SINK);
    __shared__ block_gradients s;
    __shared__ block_rows<DEGREE, HALF, SINK == CACHED> rows; /* of steps by rows */
    __shared__ uint32_t bits[BACKWARD_WARPS];                 /* of DEFER */
    const bool left_out = P.state->overflow || P.state->not_finite;
    if (SINK == DEFER) note_step(P, left_out);
    if (left_out) return;
    const uint32_t first = blockIdx.x * BACKWARD_THREADS, n = min(P.g.n - first, (uint32_t)BACKWARD_THREADS);
    const uint32_t i = first + threadIdx.x;
    if (SINK == DEFER && !list_of_block(!P.seen_only || (threadIdx.x < n && P.depth[i] > 0.0f), bits)) return;
    if (SINK == VIEW && !__syncthreads_or(threadIdx.x < n && P.depth[i] > 0.0f)) return;
    const uint32_t *rest = rest_rows<HALF>(P.g) + (size_t)i * rest_words(DEGREE, HALF);
    if constexpr (BY_ROWS) rest = fetch_rows(P, rows, first, n);
    all_gradients<DEGREE, HALF, SINK == STEP || BY_ROWS>(P, i, rest, s);
    if constexpr (SINK == STEP) step_block<DEGREE, QUANTIZED>(P, s, first, n);
    if constexpr (BY_ROWS) step_rows<DEGREE, HALF, QUANTIZED>(P, s, rows, first, n);
    if constexpr (SINK == DEFER) defer_block(P, s, bits, first, n);
    if constexpr (SINK == VIEW) keep_block(P, s, first, n);
}

/* The statistics of a mask: a kernel of its own, so that the one above is the same with and without masks. */
__global__ void __launch_bounds__(256)
    masked_statistics_kernel(const __grid_constant__ backward_parameters P, const float2 *mean2d, const uint8_t *mask)
{
    const uint32_t i = blockIdx.x * 256 + threadIdx.x;
    if (P.state->overflow || P.state->not_finite || i >= P.g.n || !(P.depth[i] > 0.0f)) return;
    const float2 mean = mean2d[i];
    const int width = (int)(2.0f * P.half_width), height = (int)(2.0f * P.half_height);
    if (mask[splat_pixel_under(mean.x, mean.y, width, height)] >= SPLAT_LOSS_KEPT) add_statistics(P, i, P.grad2d[i]);
}

/* ---------------------------------------------------------------- launches */

template <bool HALF, bool QUANTIZED, sink_kind SINK>
static void launch(const backward_parameters &P, cudaStream_t stream)
{
    unsigned blocks = splat_cuda_blocks(P.g.n, BACKWARD_THREADS);
    switch (P.g.sh_degree) {
    case 0: project_backward_kernel<0, false, QUANTIZED, STEP><<<blocks, BACKWARD_THREADS, 0, stream>>>(P); break;
    case 1: project_backward_kernel<1, HALF, QUANTIZED, SINK><<<blocks, BACKWARD_THREADS, 0, stream>>>(P); break;
    case 2: project_backward_kernel<2, HALF, QUANTIZED, SINK><<<blocks, BACKWARD_THREADS, 0, stream>>>(P); break;
    default: project_backward_kernel<3, HALF, QUANTIZED, SINK><<<blocks, BACKWARD_THREADS, 0, stream>>>(P); break;
    }
}

/* By the storage of sh_rest (16-bit), that of the moments (quantized), and the sink. What is missing does not occur. */
using launcher = void (*)(const backward_parameters &P, cudaStream_t stream);
static constexpr launcher launchers[2][2][5] = {
    {{launch<0, 0, STEP>, launch<0, 0, ROWS>, launch<0, 0, CACHED>, launch<0, 0, DEFER>, launch<0, 0, VIEW>},
     {NULL, launch<0, 1, ROWS>, launch<0, 1, CACHED>, NULL, launch<0, 0, VIEW>}},
    {{NULL, launch<1, 0, ROWS>, launch<1, 0, CACHED>, NULL, launch<1, 0, VIEW>},
     {NULL, launch<1, 1, ROWS>, launch<1, 1, CACHED>, NULL, launch<1, 0, VIEW>}}};

static backward_parameters parameters_of(const struct splat_project_backward_args *args)
{
    const splat_frame *frame = args->frame;
    const splat_gradient_source &source = args->source;
    const splat_gradient_sink &sink = args->sink;
    backward_parameters P = {};
    P.projector = splat_frame_projector(frame);
    P.g = *args->gaussians;
    P.depth = frame->depth;
    P.grad2d = frame->grad2d;
    P.state = splat_cuda_state_of(args->frame);
    if (source.extra) P.extra_gradients = *source.extra;
    P.grad_depth = source.depth;
    for (int k = 0; k < 3; k++) P.ahead[k] = frame->camera.rotation[6 + k];
    P.opacity_pull = source.opacity_pull;
    P.scale_pull = source.scale_pull;
    if (sink.step) adam_tensors_of(args->gaussians, sink.step, P.tensors);
    P.rest_of_visible_only = sink.step && sink.step->rest_of_visible_only;
    if (sink.write) P.gradients = *sink.write;
    if (sink.add) P.gradients = *sink.add;
    if (sink.add) P.squares = *sink.add_squares;
    P.adds = sink.add != NULL;
    P.has_statistics = sink.statistics && !sink.statistics_mask;
    if (sink.statistics) P.statistics = *sink.statistics;
    P.half_width = 0.5f * (float)frame->camera.width;
    P.half_height = 0.5f * (float)frame->camera.height;
    P.slot = sink.slot;
    return P;
}

/* Puts a step off. *now: the state before it. */
static splat_status begin_deferred(splat_deferred_rest *deferred, const struct splat_project_backward_args *args,
                                   splat_deferred_rest *now, splat_error *error)
{
    const int active = args->gaussians->active_sh_degree;
    if (deferred->n_steps == SPLAT_MAX_DEFERRED || (deferred->n_steps && deferred->active_sh_degree != active))
        return splat_fail(error, SPLAT_ERROR_ARGUMENT, "a step is put off that no projection for a step came before");
    deferred->active_sh_degree = active;
    deferred->m = args->sink.step->moments->m.sh_rest;
    deferred->v = args->sink.step->moments->v.sh_rest;
    *now = *deferred;
    deferred->n_steps++;
    return SPLAT_OK;
}

/* Steps the unseen while the gradients of the others are still blended. */
static splat_status step_unseen(splat_cuda_backend *cuda, const backward_parameters &P, splat_error *error)
{
    SPLAT_TRY(splat_cuda_fork_blended(cuda, error));
    unseen_kernel<<<splat_cuda_blocks(P.g.n, BACKWARD_THREADS), BACKWARD_THREADS, 0, cuda->side_stream>>>(P);
    CUDA_LAUNCHED("steps of the unseen");
    return SPLAT_OK;
}

/* Chooses the sink, and prepares the rows of sh_rest for it. */
static splat_status begin_sink(splat_cuda_backend *cuda, const struct splat_project_backward_args *args,
                               backward_parameters *P, launcher *launch, splat_error *error)
{
    const splat_gradient_sink &sink = args->sink;
    const bool half = P->g.sh_rest_half != NULL;
    const bool quantized = sink.step && sink.step->moments->storage == SPLAT_OPTIMIZER_QUANTIZED;
    const bool by_rows = half || quantized || P->rest_of_visible_only;
    const splat_rest_state rest = splat_rest_state_of(sink.rest);
    const struct splat_settle_rest_args settle = {args->gaussians, &rest};
    const bool of_view = rest.deferred && rest.deferred->n_slots > 1 && P->adds && P->g.active_sh_degree > 0;
    const bool writes = sink.write && (!sink.write_seen || sink.write->sh_rest);
    const bool defers = rest.deferred && !rest.deferred->at_once && P->tensors[SPLAT_TENSOR_sh_rest].update &&
                        !writes && !sink.add;
    const sink_kind kind = rest.cache ? CACHED : of_view ? VIEW : by_rows ? ROWS : defers ? DEFER : STEP;
    *launch = launchers[half][quantized][kind];
    if (of_view && args->source.extra)
        return splat_fail(error, SPLAT_ERROR_UNSUPPORTED, "gradients from elsewhere, and steps that are put off");
    if (of_view)
        P->deferred = *rest.deferred;
    else if (defers)
        SPLAT_TRY(begin_deferred(rest.deferred, args, &P->deferred, error));
    else if (rest.deferred)
        SPLAT_TRY(splat_settle_rest_cuda(&cuda->base, &settle, error));
    P->seen_only = defers && !args->source.extra;
    if (P->seen_only) SPLAT_TRY(step_unseen(cuda, *P, error));
    if (!rest.cache) return SPLAT_OK;
    P->cache = *rest.cache;
    return splat_cuda_join(cuda, error); /* the rows are there */
}

extern "C" splat_status splat_project_backward_cuda(splat_backend *backend,
                                                    const struct splat_project_backward_args *args, splat_error *error)
{
    splat_cuda_backend *cuda = splat_cuda_of(backend);
    const splat_gradient_sink &sink = args->sink;
    launcher launch;
    if (args->gaussians->n == 0) return SPLAT_OK;
    backward_parameters P = parameters_of(args);
    if (sink.statistics && sink.statistics_mask) {
        masked_statistics_kernel<<<splat_cuda_blocks(P.g.n, 256), 256, 0, cuda->stream>>>(
            P, (const float2 *)args->frame->mean2d, sink.statistics_mask);
        CUDA_LAUNCHED("masked statistics");
    }
    SPLAT_TRY(begin_sink(cuda, args, &P, &launch, error));
    launch(P, cuda->stream);
    CUDA_LAUNCHED("project_backward");
    return splat_cuda_join(cuda, error);
}
