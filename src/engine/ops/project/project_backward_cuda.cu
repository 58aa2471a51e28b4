/* project_backward on CUDA: the gradients of a block of Gaussians, a thread each, then Adam for the block's slices of
 * every tensor. Formulas: math/projection.h, math/sh.h, shared with the CPU. */
#include "ops/adam/adam_rows_cuda.cuh"

#include <cstddef>

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
    for (int k = 0; k < 3; k++)
        s.means[3 * t + k] = s.sh_dc[3 * t + k] = s.scales[3 * t + k] = s.colour[3 * t + k] = 0.0f;
    for (int k = 0; k < 4; k++) s.rotations[4 * t + k] = 0.0f;
    for (int k = 0; k < n_basis; k++) s.basis[BASIS_STRIDE * t + k] = 0.0f;
    s.opacities[t] = 0.0f;
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
    /* colour first: its sixteen basis values must not live beside the footprint's */
    float3 through_colour = colour_backward<DEGREE, HALF, BASIS>(P, i, x, y, z, rest, grad, s);
    activated a = activate(P.g.p, P.g.filter_3d, i);
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
    if (P.has_statistics) {
        float gx = P.half_width * grad.mean_x, gy = P.half_height * grad.mean_y, length = sqrtf(gx * gx + gy * gy);
        if (isfinite(length + grad.mean_abs)) {
            P.statistics.grad[i] += length;
            P.statistics.grad_abs[i] += grad.mean_abs;
            P.statistics.count[i] += 1.0f;
        }
    }
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

/* What is asked of the Gaussian's depth, likewise. */
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

/* Those of opacity_pull and scale_pull, to those of the thread's Gaussian in shared memory. */
__device__ __forceinline__ void add_pulls(const backward_parameters &P, uint32_t i, block_gradients &s)
{
    const uint32_t t = threadIdx.x;
    if (i >= P.g.n) return;
    if (P.opacity_pull > 0.0f) s.opacities[t] += opacity_pull_of(P, P.g.p.opacities[i]);
    for (uint32_t k = 0; P.scale_pull > 0.0f && k < 3; k++)
        s.scales[3 * t + k] += scale_pull_of(P, P.g.p.scales[3 * (size_t)i + k]);
}

__device__ __forceinline__ void give_small_gradients(const backward_parameters &P, const block_gradients &s,
                                                     uint32_t first, uint32_t n)
{
    const splat_tensors &g = P.gradients, &q = P.squares;
    give_gradients<3>(P, g.means, q.means, s.means, first, n);
    give_gradients<3>(P, g.sh_dc, q.sh_dc, s.sh_dc, first, n);
    give_gradients<1>(P, g.opacities, q.opacities, s.opacities, first, n);
    give_gradients<3>(P, g.scales, q.scales, s.scales, first, n);
    give_gradients<4>(P, g.rotations, q.rotations, s.rotations, first, n);
}

template <bool QUANTIZED>
__device__ __forceinline__ void update_small_tensors(const backward_parameters &P, const block_gradients &s,
                                                     uint32_t first, uint32_t n)
{
    const splat_tensors &p = P.g.p;
    if constexpr (QUANTIZED) {
        update_pairs<3>(P, SPLAT_TENSOR_means, p.means, s.means, first, n);
        update_pairs<3>(P, SPLAT_TENSOR_sh_dc, p.sh_dc, s.sh_dc, first, n);
        update_pairs<1>(P, SPLAT_TENSOR_opacities, p.opacities, s.opacities, first, n);
        update_pairs<3>(P, SPLAT_TENSOR_scales, p.scales, s.scales, first, n);
        update_pairs<4>(P, SPLAT_TENSOR_rotations, p.rotations, s.rotations, first, n);
    } else {
        update_small_floats(P, view_gradients{s}, all_rows(), first, n);
    }
    give_small_gradients(P, s, first, n);
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

/* Those of the warp's 32 Gaussians whose rows of sh_rest are stepped, or only read. */
__device__ __forceinline__ uint32_t rows_in_use(const backward_parameters &P, uint32_t i)
{
    const bool all = P.update[SPLAT_TENSOR_sh_rest] && !P.rest_of_visible_only;
    return __ballot_sync(0xffffffffu, i < P.g.n && (all || P.depth[i] > 0.0f));
}

/* sh_rest's step is put off: for those that were seen, what it needs, as row `at` of the gradients and directions. */
__device__ __forceinline__ void defer_rest(const backward_parameters &P, uint32_t i, const block_gradients &s,
                                           size_t at, uint32_t tag)
{
    if (i >= P.g.n || !(P.depth[i] > 0.0f)) return;
    const float *mean = P.g.p.means + 3 * (size_t)i, *colour = s.colour + 3 * threadIdx.x;
    float inverse_distance;
    const float3 d = direction_of(P.projector, mean[0], mean[1], mean[2], &inverse_distance);
    float *direction = P.deferred.direction + 3 * at;
    direction[0] = d.x;
    direction[1] = d.y;
    direction[2] = d.z;
    ((float4 *)P.deferred.gradient)[at] = make_float4(colour[0], colour[1], colour[2], __uint_as_float(tag));
}

/* One bit for each of a block's rows whose thread says so, for all threads to read; false: there is none. */
__device__ __forceinline__ bool list_of_block(bool mine, uint32_t bits[BACKWARD_WARPS])
{
    const uint32_t own = __ballot_sync(0xffffffffu, mine);
    if (lane_index() == 0) bits[threadIdx.x / 32] = own;
    return __syncthreads_or(mine);
}

/* Those that the view does not see: their gradients are zero, or what they pull at themselves. With sh_rest put off
 * they need nothing of the view, so that their steps, bytes and next to no arithmetic, are made beside
 * raster_backward, which leaves the bandwidth idle. */
__global__ void __launch_bounds__(BACKWARD_THREADS, 8) unseen_kernel(const __grid_constant__ backward_parameters P)
{
    __shared__ uint32_t bits[BACKWARD_WARPS];
    if (P.state->overflow || P.state->not_finite) return;
    const uint32_t first = blockIdx.x * BACKWARD_THREADS, n = min(P.g.n - first, (uint32_t)BACKWARD_THREADS);
    if (list_of_block(threadIdx.x < n && !(P.depth[first + threadIdx.x] > 0.0f), bits))
        update_small_floats(P, unseen_gradients{P}, some_rows{bits}, first, n);
}

/* What becomes of sh_rest: stepped at once, all of it float32; by rows, in other storages or only the visible ones
 * (ops/adam/adam_rows_cuda.cuh), where they lie in a cache, too; put off; or kept for the step of several views, which
 * is. */
enum rest_steps { REST_AT_ONCE, REST_BY_ROWS, REST_CACHED, REST_DEFERRED, REST_OF_VIEW };

constexpr bool steps_by_rows(rest_steps rest)
{
    return rest == REST_BY_ROWS || rest == REST_CACHED;
}

template <int DEGREE, bool HALF, bool QUANTIZED, rest_steps REST>
__global__ void __launch_bounds__(BACKWARD_THREADS, steps_by_rows(REST) ? 4 : 5) /* with more blocks registers spill */
    project_backward_kernel(const __grid_constant__ backward_parameters P)
{
    __shared__ block_gradients s;
    const bool left_out = P.state->overflow || P.state->not_finite;
    if (REST == REST_DEFERRED && blockIdx.x == 0 && threadIdx.x == 0) {
        const int t = SPLAT_TENSOR_sh_rest;
        ((float2 *)P.deferred.steps)[P.deferred.n_steps] =
            left_out ? make_float2(NAN, NAN) : make_float2(P.step_size[t], P.inverse_root[t]);
    }
    if (left_out) return;
    const uint32_t first = blockIdx.x * BACKWARD_THREADS, n = min(P.g.n - first, (uint32_t)BACKWARD_THREADS);
    if constexpr (REST == REST_DEFERRED) {
        __shared__ uint32_t bits[BACKWARD_WARPS];
        const some_rows rows = {bits};
        const bool mine = !P.seen_only || (threadIdx.x < n && P.depth[first + threadIdx.x] > 0.0f);
        if (!list_of_block(mine, bits)) return;
        const uint32_t *rest = rest_rows<false>(P.g) + (size_t)(first + threadIdx.x) * rest_channels(DEGREE);
        all_gradients<DEGREE, false, false>(P, first + threadIdx.x, rest, s);
        defer_rest(P, first + threadIdx.x, s, first + threadIdx.x, 2 * P.deferred.n_steps + 1);
        __syncthreads(); /* the means are as they were seen */
        update_small_floats(P, view_gradients{s}, rows, first, n);
    } else if constexpr (REST == REST_OF_VIEW) {
        if (!__syncthreads_or(threadIdx.x < n && P.depth[first + threadIdx.x] > 0.0f)) return;
        const uint32_t *rest = rest_rows<HALF>(P.g) + (size_t)(first + threadIdx.x) * rest_words(DEGREE, HALF);
        all_gradients<DEGREE, HALF, false>(P, first + threadIdx.x, rest, s);
        const size_t slot = (size_t)(first + threadIdx.x) * P.deferred.n_slots + P.slot;
        defer_rest(P, first + threadIdx.x, s, slot, P.deferred.n_steps + 1);
        give_small_gradients(P, s, first, n);
    } else if constexpr (steps_by_rows(REST)) {
        constexpr bool CACHED = REST == REST_CACHED;
        __shared__ block_rows<DEGREE, HALF, CACHED> rows;
        constexpr uint32_t WORDS = rest_words(DEGREE, HALF), STRIDE = odd_words(WORDS);
        constexpr uint32_t ROOM = MOMENT_ROWS * odd_words(moment_words(DEGREE));
        const uint32_t warp = threadIdx.x / 32, *slots = rows.slots[CACHED ? warp : 0];
        if constexpr (CACHED)
            rows.slots[warp][lane_index()] = threadIdx.x < n ? P.cache.slot[first + threadIdx.x] : 0;
        if (P.update[SPLAT_TENSOR_sh_rest] || P.g.active_sh_degree > 0) {
            const uint32_t n_rows = list_rows(rows_in_use(P, first + threadIdx.x), rows.list[warp]);
            read_rows<WORDS, STRIDE, false>(rows.rest[warp],
                                            parameter_rows<HALF, CACHED>(P, slots, first + 32 * warp, WORDS),
                                            rows.list[warp], n_rows);
        }
        all_gradients<DEGREE, HALF, true>(P, first + threadIdx.x, rows.rest[warp] + lane_index() * STRIDE, s);
        update_small_tensors<QUANTIZED>(P, s, first, n);
        if (P.gradients.sh_rest) give_rest_gradients<DEGREE>(P, s, first, n);
        if (!P.update[SPLAT_TENSOR_sh_rest]) return;
        __syncthreads(); /* the small tensors' gradients make room for moments */
        static_assert(BACKWARD_WARPS * ROOM * sizeof(uint32_t) <= offsetof(block_gradients, basis), "no room");
        const uint32_t in_use = rows_in_use(P, first + threadIdx.x);
        if constexpr (QUANTIZED)
            update_quantized_rows<DEGREE, HALF, CACHED>(P, s, rows.rest[warp], slots, rows.list[warp],
                                                        (uint32_t *)&s + warp * ROOM, first + 32 * warp, in_use);
        else
            update_float_rows<DEGREE, HALF, CACHED>(P, s, rows.rest[warp], slots, rows.list[warp], first + 32 * warp,
                                                    in_use);
    } else {
        const uint32_t *rest = rest_rows<false>(P.g) + (size_t)(first + threadIdx.x) * rest_channels(DEGREE);
        all_gradients<DEGREE, false, true>(P, first + threadIdx.x, rest, s);
        update_small_tensors<QUANTIZED>(P, s, first, n);
        update_rest<DEGREE>(P, s, first, n);
        if (DEGREE > 0 && P.gradients.sh_rest) give_rest_gradients<DEGREE>(P, s, first, n);
    }
}

template <bool HALF, bool QUANTIZED, rest_steps REST>
static void launch(const backward_parameters &P, cudaStream_t stream)
{
    unsigned blocks = splat_cuda_blocks(P.g.n, BACKWARD_THREADS);
    switch (P.g.sh_degree) {
    case 0:
        project_backward_kernel<0, false, QUANTIZED, REST_AT_ONCE><<<blocks, BACKWARD_THREADS, 0, stream>>>(P);
        break;
    case 1: project_backward_kernel<1, HALF, QUANTIZED, REST><<<blocks, BACKWARD_THREADS, 0, stream>>>(P); break;
    case 2: project_backward_kernel<2, HALF, QUANTIZED, REST><<<blocks, BACKWARD_THREADS, 0, stream>>>(P); break;
    default: project_backward_kernel<3, HALF, QUANTIZED, REST><<<blocks, BACKWARD_THREADS, 0, stream>>>(P); break;
    }
}

static void set_adam(backward_parameters *P, const splat_adam *adam)
{
    P->m = adam->moments->m;
    P->v = adam->moments->v;
    P->rest_of_visible_only = adam->rest_of_visible_only;
    for (int t = 0; t < SPLAT_N_TENSORS; t++) {
        P->update[t] = adam->update[t];
        P->step_size[t] = adam->lr[t] / adam->correction1[t];
        P->inverse_root[t] = 1.0f / sqrtf(adam->correction2[t]);
        P->quantized[t] = adam->moments->quantized[t];
        P->rounding_key[t] = splat_rounding_key((uint32_t)t, adam->iteration);
    }
}

/* The statistics of gaussian_backward, where a mask keeps the pixel under the mean: a kernel of its own, so that the
 * one above is the same with and without masks. */
__global__ void __launch_bounds__(256)
    masked_statistics_kernel(const __grid_constant__ backward_parameters P, const float2 *mean2d, const uint8_t *mask,
                             splat_statistics statistics)
{
    const uint32_t i = blockIdx.x * 256 + threadIdx.x;
    if (P.state->overflow || P.state->not_finite || i >= P.g.n || !(P.depth[i] > 0.0f)) return;
    const float2 mean = mean2d[i];
    const int width = (int)(2.0f * P.half_width), height = (int)(2.0f * P.half_height);
    if (mask[splat_pixel_under(mean.x, mean.y, width, height)] < SPLAT_LOSS_KEPT) return;
    const splat_grad2d grad = P.grad2d[i];
    float gx = P.half_width * grad.mean_x, gy = P.half_height * grad.mean_y, length = sqrtf(gx * gx + gy * gy);
    if (!isfinite(length + grad.mean_abs)) return;
    statistics.grad[i] += length;
    statistics.grad_abs[i] += grad.mean_abs;
    statistics.count[i] += 1.0f;
}

/* Steps those that the view does not see beside what is still blended backwards for the others. */
static splat_status step_unseen(splat_cuda_backend *cuda, const backward_parameters &P, splat_error *error)
{
    SPLAT_TRY(splat_cuda_fork_blended(cuda, error));
    unseen_kernel<<<splat_cuda_blocks(P.g.n, BACKWARD_THREADS), BACKWARD_THREADS, 0, cuda->side_stream>>>(P);
    CUDA_LAUNCHED("steps of the unseen");
    return SPLAT_OK;
}

/* By what becomes of sh_rest, its storage (16-bit), and that of the moments (quantized). Steps at once and steps that
 * are put off are of float32 alone; a view's gradients have no moments. */
using launcher = void (*)(const backward_parameters &P, cudaStream_t stream);
static constexpr launcher launchers[][2][2] = {
    /* REST_AT_ONCE */ {{launch<false, false, REST_AT_ONCE>}},
    /* REST_BY_ROWS */ {{launch<false, false, REST_BY_ROWS>, launch<false, true, REST_BY_ROWS>},
                        {launch<true, false, REST_BY_ROWS>, launch<true, true, REST_BY_ROWS>}},
    /* REST_CACHED */ {{launch<false, false, REST_CACHED>, launch<false, true, REST_CACHED>},
                       {launch<true, false, REST_CACHED>, launch<true, true, REST_CACHED>}},
    /* REST_DEFERRED */ {{launch<false, false, REST_DEFERRED>}},
    /* REST_OF_VIEW */ {{launch<false, false, REST_OF_VIEW>, launch<false, false, REST_OF_VIEW>},
                        {launch<true, false, REST_OF_VIEW>, launch<true, false, REST_OF_VIEW>}}};

/* *now: as the step finds it. */
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
    return SPLAT_OK;
}

extern "C" splat_status splat_project_backward_cuda(splat_backend *backend,
                                                    const struct splat_project_backward_args *args, splat_error *error)
{
    splat_cuda_backend *cuda = splat_cuda_of(backend);
    const splat_frame *frame = args->frame;
    const splat_gradient_source &source = args->source;
    const splat_gradient_sink &sink = args->sink;
    if (args->gaussians->n == 0) return SPLAT_OK;
    backward_parameters P = {};
    P.projector = splat_projector_make(&frame->camera, frame->filter.kernel_size, frame->filter.compensate, SPLAT_TILE);
    P.g = *args->gaussians;
    P.depth = frame->depth;
    P.grad2d = frame->grad2d;
    P.half_width = 0.5f * (float)frame->camera.width;
    P.half_height = 0.5f * (float)frame->camera.height;
    P.has_statistics = sink.statistics && !sink.statistics_mask;
    P.adds = sink.add != NULL;
    if (sink.write) P.gradients = *sink.write;
    if (sink.add) P.gradients = *sink.add;
    if (sink.add) P.squares = *sink.add_squares;
    if (source.extra) P.extra_gradients = *source.extra;
    P.grad_depth = source.depth;
    for (int k = 0; k < 3; k++) P.ahead[k] = frame->camera.rotation[6 + k];
    P.opacity_pull = source.opacity_pull;
    P.scale_pull = source.scale_pull;
    if (sink.statistics) P.statistics = *sink.statistics;
    if (sink.step) set_adam(&P, sink.step);
    P.state = splat_cuda_state_of(args->frame);
    if (sink.statistics && sink.statistics_mask) {
        masked_statistics_kernel<<<splat_cuda_blocks(P.g.n, 256), 256, 0, cuda->stream>>>(
            P, (const float2 *)frame->mean2d, sink.statistics_mask, *sink.statistics);
        CUDA_LAUNCHED("masked statistics");
    }
    const bool half = P.g.sh_rest_half != NULL;
    const bool quantized = sink.step && sink.step->moments->storage == SPLAT_OPTIMIZER_QUANTIZED;
    const splat_rest_state rest = splat_rest_state_of(sink.rest);
    const struct splat_settle_rest_args settle = {args->gaussians, &rest};
    const bool defers = rest.deferred && !rest.deferred->at_once && sink.step && P.update[SPLAT_TENSOR_sh_rest] &&
                        !sink.write && !sink.add;
    const bool of_view = rest.deferred && rest.deferred->n_slots > 1 && P.adds && P.g.active_sh_degree > 0;
    P.slot = sink.slot;
    if (of_view && source.extra)
        return splat_fail(error, SPLAT_ERROR_UNSUPPORTED, "gradients from elsewhere, and steps that are put off");
    if (of_view)
        P.deferred = *rest.deferred;
    else if (defers)
        SPLAT_TRY(begin_deferred(rest.deferred, args, &P.deferred, error));
    else if (rest.deferred)
        SPLAT_TRY(splat_settle_rest_cuda(backend, &settle, error));
    P.seen_only = defers && !source.extra;
    if (P.seen_only) SPLAT_TRY(step_unseen(cuda, P, error));
    if (rest.cache) {
        P.cache = *rest.cache;
        SPLAT_TRY(splat_cuda_join(cuda, error)); /* the rows are there */
    }
    const rest_steps steps = rest.cache                                    ? REST_CACHED
                             : of_view                                     ? REST_OF_VIEW
                             : half || quantized || P.rest_of_visible_only ? REST_BY_ROWS
                             : defers                                      ? REST_DEFERRED
                                                                           : REST_AT_ONCE;
    launchers[steps][half][quantized](P, cuda->stream);
    CUDA_LAUNCHED("project_backward");
    if (defers) rest.deferred->n_steps++;
    return splat_cuda_join(cuda, error);
}
