/* project and project_backward on CUDA. Entries are dense here: visible entry v is Gaussian v; what is not visible has
 * depth 0 and an empty tile_rect. Formulas: math/projection.h, math/sh.h, shared with the CPU. */
#include "backend/cuda_backend.cuh"

extern "C" {
#include "math/projection.h"
#include "math/sh.h"
#include "ops/project/project.h"
#include "ops/raster/raster.h"
}

#define PROJECT_THREADS 128
#define BACKWARD_THREADS 128

/* Scales, opacity and rotation as the screen sees them: through the 3D filter and normalised. */
struct activated {
    float s[3], st[3], o, ot, q[4], inverse_norm, f2;
    bool usable;
};

__device__ __forceinline__ activated activate(const splat_tensors &p, const float *filter_3d, uint32_t i)
{
    activated a;
    float f = filter_3d[i];
    a.f2 = f * f;
    float c3 = 1.0f, sum = f + p.opacities[i];
#pragma unroll
    for (int k = 0; k < 3; k++) {
        float raw = p.scales[3 * (size_t)i + k];
        sum += raw;
        a.s[k] = expf(raw);
        a.st[k] = fmaxf(sqrtf(a.s[k] * a.s[k] + a.f2), a.s[k]);
        c3 *= a.st[k] > 0.0f ? a.s[k] / a.st[k] : 1.0f;
    }
    a.o = 1.0f / (1.0f + expf(-p.opacities[i]));
    a.ot = a.o * c3;
    float4 q = reinterpret_cast<const float4 *>(p.rotations)[i];
    float norm = sqrtf(q.x * q.x + q.y * q.y + q.z * q.z + q.w * q.w);
    a.usable = norm >= 1e-12f && isfinite(norm) && isfinite(sum);
    a.inverse_norm = 1.0f / norm;
    a.q[0] = q.x * a.inverse_norm;
    a.q[1] = q.y * a.inverse_norm;
    a.q[2] = q.z * a.inverse_norm;
    a.q[3] = q.w * a.inverse_norm;
    return a;
}

/* Unit direction from the camera to the mean, and the distance. */
__device__ __forceinline__ float3 direction_of(const splat_projector &p, float x, float y, float z,
                                               float *inverse_distance)
{
    float dx = x - p.center[0], dy = y - p.center[1], dz = z - p.center[2];
    *inverse_distance = 1.0f / sqrtf(dx * dx + dy * dy + dz * dz);
    return make_float3(dx * *inverse_distance, dy * *inverse_distance, dz * *inverse_distance);
}

template <int DEGREE>
__device__ __forceinline__ void sh_basis(float3 d, float *b)
{
    b[0] = SPLAT_SH_C0;
    if (DEGREE > 0) splat_sh_band1(d.x, d.y, d.z, b, 1);
    if (DEGREE > 1) splat_sh_band2(d.x, d.y, d.z, b, 1);
    if (DEGREE > 2) splat_sh_band3(d.x, d.y, d.z, b, 1);
}

/* Colour before the clamp at 0. */
template <int DEGREE>
__device__ __forceinline__ float3 colour(const float *dc, const float *rest, float3 d)
{
    float b[16];
    sh_basis<DEGREE>(d, b);
    float3 rgb = make_float3(0.5f + b[0] * dc[0], 0.5f + b[0] * dc[1], 0.5f + b[0] * dc[2]);
#pragma unroll
    for (int k = 1; k < (DEGREE + 1) * (DEGREE + 1); k++) {
        rgb.x += b[k] * rest[3 * (k - 1)];
        rgb.y += b[k] * rest[3 * (k - 1) + 1];
        rgb.z += b[k] * rest[3 * (k - 1) + 2];
    }
    return rgb;
}

struct project_parameters {
    splat_projector projector;
    splat_gaussians g;
    float widen; /* half a pixel with ray jitter */
    float2 *mean2d;
    float4 *conic;
    float *rgb, *depth;
    ushort4 *tile_rect;
    uint32_t *ids;
    splat_cuda_step_state *state;
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

template <int DEGREE>
__global__ void __launch_bounds__(PROJECT_THREADS) project_kernel(const __grid_constant__ project_parameters P)
{
    uint32_t i = blockIdx.x * PROJECT_THREADS + threadIdx.x;
    if (i >= P.g.n) return;
    const float *mean = P.g.p.means + 3 * (size_t)i;
    float x = mean[0], y = mean[1], z = mean[2];
    const splat_projector &p = P.projector;
    float depth = p.r[6] * x + p.r[7] * y + p.r[8] * z + p.t[2];
    bool finite = isfinite(x) && isfinite(y) && isfinite(z), degenerate = !finite, visible = false;
    ushort4 rect = make_ushort4(0, 0, 0, 0);
    if (finite && depth > SPLAT_NEAR) {
        activated a = activate(P.g.p, P.g.filter_3d, i);
        degenerate = !a.usable;
        if (a.usable) {
            splat_footprint f = splat_footprint_make(&p, x, y, z, a.st[0], a.st[1], a.st[2], a.q[0], a.q[1], a.q[2],
                                                     a.q[3]);
            float alpha0 = a.ot * f.kappa;
            degenerate = !isfinite(f.u + f.v + f.conic_a + f.conic_b + f.conic_c + alpha0 + f.a * f.c);
            if (!degenerate && tiles_of(P, f, alpha0, &rect)) {
                float inverse_distance;
                float3 d = direction_of(p, x, y, z, &inverse_distance);
                const float *rest = P.g.p.sh_rest + (size_t)i * (3 * ((P.g.sh_degree + 1) * (P.g.sh_degree + 1) - 1));
                float3 rgb = colour<DEGREE>(P.g.p.sh_dc + 3 * (size_t)i, rest, d);
                degenerate = !isfinite(rgb.x + rgb.y + rgb.z);
                visible = !degenerate;
                if (visible) {
                    P.mean2d[i] = make_float2(f.u, f.v);
                    P.conic[i] = make_float4(f.conic_a, f.conic_b, f.conic_c, alpha0);
                    P.rgb[3 * (size_t)i] = fmaxf(rgb.x, 0.0f);
                    P.rgb[3 * (size_t)i + 1] = fmaxf(rgb.y, 0.0f);
                    P.rgb[3 * (size_t)i + 2] = fmaxf(rgb.z, 0.0f);
                }
            }
        }
    }
    P.ids[i] = i;
    P.depth[i] = visible ? depth : 0.0f;
    P.tile_rect[i] = visible ? rect : make_ushort4(0, 0, 0, 0);
    unsigned active = __activemask();
    unsigned n_visible = __popc(__ballot_sync(active, visible)),
             n_degenerate = __popc(__ballot_sync(active, degenerate));
    if ((threadIdx.x & 31) == 0) {
        if (n_visible) atomicAdd(&P.state->n_visible, n_visible);
        if (n_degenerate) atomicAdd(&P.state->n_degenerate, n_degenerate);
    }
}

extern "C" splat_status splat_project_cuda(splat_backend *backend, const struct splat_project_args *args,
                                           splat_error *error)
{
    splat_cuda_backend *cuda = splat_cuda_of(backend);
    splat_frame *frame = args->frame;
    CUDA_TRY("clear its counters", cudaMemsetAsync(cuda->state, 0, sizeof *cuda->state, cuda->stream));
    frame->n_visible = args->gaussians->n;
    if (args->gaussians->n == 0) return SPLAT_OK;
    project_parameters P;
    P.projector = splat_projector_make(&frame->camera, frame->filter.kernel_size, frame->filter.compensate, SPLAT_TILE);
    P.g = *args->gaussians;
    P.widen = frame->jitter ? 0.5f : 0.0f;
    P.mean2d = (float2 *)frame->mean2d;
    P.conic = (float4 *)frame->conic;
    P.rgb = frame->rgb;
    P.depth = frame->depth;
    P.tile_rect = (ushort4 *)frame->tile_rect;
    P.ids = frame->ids;
    P.state = cuda->state;
    unsigned blocks = splat_cuda_blocks(P.g.n, PROJECT_THREADS);
    switch (P.g.active_sh_degree) {
    case 0: project_kernel<0><<<blocks, PROJECT_THREADS, 0, cuda->stream>>>(P); break;
    case 1: project_kernel<1><<<blocks, PROJECT_THREADS, 0, cuda->stream>>>(P); break;
    case 2: project_kernel<2><<<blocks, PROJECT_THREADS, 0, cuda->stream>>>(P); break;
    default: project_kernel<3><<<blocks, PROJECT_THREADS, 0, cuda->stream>>>(P); break;
    }
    CUDA_LAUNCHED("project");
    return SPLAT_OK;
}

/* ---------------------------------------------------------------- backward and Adam */

#define BASIS_STRIDE 17 /* odd: a thread writes its sixteen values without bank conflicts */

struct backward_parameters {
    splat_projector projector;
    splat_gaussians g;
    const float *depth;
    const splat_grad2d *grad2d;
    float half_width, half_height;
    splat_tensors m, v, gradients;
    bool update[SPLAT_N_TENSORS];
    float step_size[SPLAT_N_TENSORS], inverse_root[SPLAT_N_TENSORS]; /* lr / correction1, 1 / sqrt(correction2) */
    bool has_gradients, has_statistics;
    splat_statistics statistics;
    splat_cuda_step_state *state;
};

/* Gradients of a block's Gaussians. Those of sh_rest are basis x colour: only the factors are kept. */
struct block_gradients {
    float means[3 * BACKWARD_THREADS], sh_dc[3 * BACKWARD_THREADS], opacities[BACKWARD_THREADS],
        scales[3 * BACKWARD_THREADS], rotations[4 * BACKWARD_THREADS];
    float basis[BASIS_STRIDE * BACKWARD_THREADS], colour[3 * BACKWARD_THREADS];
};

__device__ __forceinline__ void adam_value(float *p, float *m, float *v, float g, float step_size, float inverse_root)
{
    *m = SPLAT_ADAM_BETA1 * *m + (1.0f - SPLAT_ADAM_BETA1) * g;
    *v = SPLAT_ADAM_BETA2 * *v + (1.0f - SPLAT_ADAM_BETA2) * g * g;
    *p -= step_size * *m / (sqrtf(*v) * inverse_root + SPLAT_ADAM_EPSILON);
}

/* Four consecutive values of a tensor and of its moments, in registers: several of these are in flight at once, which
 * is what the bandwidth of the device needs. */
struct adam_quad {
    float4 p, m, v;
};

__device__ __forceinline__ adam_quad load_quad(const float *p, const float *m, const float *v, size_t at)
{
    adam_quad q;
    q.p = *(const float4 *)(p + at);
    q.m = *(const float4 *)(m + at);
    q.v = *(const float4 *)(v + at);
    return q;
}

__device__ __forceinline__ void step_quad(float *p, float *m, float *v, size_t at, adam_quad q, const float g[4],
                                          float step_size, float inverse_root)
{
    adam_value(&q.p.x, &q.m.x, &q.v.x, g[0], step_size, inverse_root);
    adam_value(&q.p.y, &q.m.y, &q.v.y, g[1], step_size, inverse_root);
    adam_value(&q.p.z, &q.m.z, &q.v.z, g[2], step_size, inverse_root);
    adam_value(&q.p.w, &q.m.w, &q.v.w, g[3], step_size, inverse_root);
    *(float4 *)(p + at) = q.p;
    *(float4 *)(m + at) = q.m;
    *(float4 *)(v + at) = q.v;
}

/* A block's rows of one small tensor, in the order of memory; `shared` holds their gradients. Row counts of whole
 * blocks are multiples of four; the last block of all goes value by value. */
template <int CHANNELS>
__device__ __forceinline__ void update_tensor(const backward_parameters &P, int t, float *p, float *m, float *v,
                                              float *gradients, const float *shared, uint32_t first, uint32_t n)
{
    const uint32_t count = n * CHANNELS, quads = n == BACKWARD_THREADS ? count / 4 : 0;
    size_t base = (size_t)first * CHANNELS;
    float step_size = P.step_size[t], inverse_root = P.inverse_root[t];
    if (P.update[t] && threadIdx.x < quads) { /* at most one quad a thread: a block has as many threads as rows */
        adam_quad q = load_quad(p, m, v, base + 4 * threadIdx.x);
        step_quad(p, m, v, base + 4 * threadIdx.x, q, shared + 4 * threadIdx.x, step_size, inverse_root);
    }
    for (uint32_t k = 4 * quads + threadIdx.x; P.update[t] && k < count; k += BACKWARD_THREADS)
        adam_value(p + base + k, m + base + k, v + base + k, shared[k], step_size, inverse_root);
    for (uint32_t k = threadIdx.x; P.has_gradients && k < count; k += BACKWARD_THREADS) gradients[base + k] = shared[k];
}

/* The gradient of value k of the block's sh_rest rows; *active: the band is evaluated. */
template <int DEGREE>
__device__ __forceinline__ float rest_gradient(const block_gradients &s, uint32_t k, uint32_t n_active, bool *active)
{
    constexpr uint32_t channels = DEGREE == 0 ? 1
                                              : 3 * ((DEGREE + 1) * (DEGREE + 1) - 1); /* 1: never divided by zero */
    uint32_t row = k / channels, column = k % channels;
    *active = column < n_active;
    return *active ? s.basis[BASIS_STRIDE * row + column / 3 + 1] * s.colour[3 * row + column % 3] : 0.0f;
}

/* sh_rest. Bands above the active degree have neither gradient nor moments: quads that lie in them are not touched. */
template <int DEGREE>
__device__ __forceinline__ void update_rest(const backward_parameters &P, const block_gradients &s, uint32_t first,
                                            uint32_t n)
{
    if (DEGREE == 0) return;
    constexpr uint32_t channels = 3 * ((DEGREE + 1) * (DEGREE + 1) - 1);
    constexpr int IN_FLIGHT = 2;
    const int t = SPLAT_TENSOR_sh_rest;
    const uint32_t n_active = 3 * ((P.g.active_sh_degree + 1) * (P.g.active_sh_degree + 1) - 1), count = n * channels;
    float *p = P.g.p.sh_rest, *m = P.m.sh_rest, *v = P.v.sh_rest;
    float step_size = P.step_size[t], inverse_root = P.inverse_root[t];
    size_t base = (size_t)first * channels; /* a multiple of four: first is a multiple of BACKWARD_THREADS */
    const uint32_t quads = P.update[t] ? count / 4 : 0;
    for (uint32_t k = threadIdx.x; k < quads; k += IN_FLIGHT * BACKWARD_THREADS) {
        adam_quad q[IN_FLIGHT];
        float g[IN_FLIGHT][4];
        bool any[IN_FLIGHT];
#pragma unroll
        for (int j = 0; j < IN_FLIGHT; j++) {
            uint32_t at = k + j * BACKWARD_THREADS;
            any[j] = false;
#pragma unroll
            for (int i = 0; i < 4; i++) {
                bool active = false;
                g[j][i] = at < quads ? rest_gradient<DEGREE>(s, 4 * at + i, n_active, &active) : 0.0f;
                any[j] = any[j] || active;
            }
            if (any[j]) q[j] = load_quad(p, m, v, base + 4 * at);
        }
#pragma unroll
        for (int j = 0; j < IN_FLIGHT; j++)
            if (any[j]) step_quad(p, m, v, base + 4 * (k + j * BACKWARD_THREADS), q[j], g[j], step_size, inverse_root);
    }
    bool active;
    for (uint32_t k = 4 * (count / 4) + threadIdx.x; P.update[t] && k < count; k += BACKWARD_THREADS)
        adam_value(p + base + k, m + base + k, v + base + k, rest_gradient<DEGREE>(s, k, n_active, &active), step_size,
                   inverse_root);
    for (uint32_t k = threadIdx.x; P.has_gradients && k < count; k += BACKWARD_THREADS)
        P.gradients.sh_rest[base + k] = rest_gradient<DEGREE>(s, k, n_active, &active);
}

/* dL/dcolour before the clamp, the basis, and what the colour gives to the mean through the view direction. */
template <int DEGREE>
__device__ __forceinline__ float3 colour_backward(const backward_parameters &P, uint32_t i, float x, float y, float z,
                                                  const splat_grad2d &grad, block_gradients &s)
{
    const uint32_t channels = 3 * ((DEGREE + 1) * (DEGREE + 1) - 1);
    const float *dc = P.g.p.sh_dc + 3 * (size_t)i, *rest = P.g.p.sh_rest + (size_t)i * channels;
    int n_basis = (P.g.active_sh_degree + 1) * (P.g.active_sh_degree + 1);
    float inverse_distance, b[16];
    float3 d = direction_of(P.projector, x, y, z, &inverse_distance);
    sh_basis<DEGREE>(d, b);
    float3 rgb = make_float3(0.5f + b[0] * dc[0], 0.5f + b[0] * dc[1], 0.5f + b[0] * dc[2]);
#pragma unroll
    for (int k = 1; k < (DEGREE + 1) * (DEGREE + 1); k++)
        if (k < n_basis) {
            rgb.x += b[k] * rest[3 * (k - 1)];
            rgb.y += b[k] * rest[3 * (k - 1) + 1];
            rgb.z += b[k] * rest[3 * (k - 1) + 2];
        }
    float3 g = make_float3(rgb.x < 0.0f ? 0.0f : grad.r, rgb.y < 0.0f ? 0.0f : grad.g, rgb.z < 0.0f ? 0.0f : grad.b);
    float w[16], dd[3] = {0.0f, 0.0f, 0.0f};
    w[0] = 0.0f;
#pragma unroll
    for (int k = 1; k < (DEGREE + 1) * (DEGREE + 1); k++)
        w[k] = k < n_basis ? rest[3 * (k - 1)] * g.x + rest[3 * (k - 1) + 1] * g.y + rest[3 * (k - 1) + 2] * g.z : 0.0f;
    if (DEGREE > 0) splat_sh_band1_gradient(w, 1, dd);
    if (DEGREE > 1) splat_sh_band2_gradient(d.x, d.y, d.z, w, 1, dd);
    if (DEGREE > 2) splat_sh_band3_gradient(d.x, d.y, d.z, w, 1, dd);
#pragma unroll
    for (int k = 0; k < (DEGREE + 1) * (DEGREE + 1); k++)
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

/* The gradients of the thread's Gaussian, into shared memory; zeros when it was not seen or they are not finite. */
template <int DEGREE>
__device__ __forceinline__ void gaussian_backward(const backward_parameters &P, uint32_t i, block_gradients &s)
{
    const uint32_t t = threadIdx.x;
    if (i >= P.g.n || !(P.depth[i] > 0.0f)) {
        no_gradient(s, (DEGREE + 1) * (DEGREE + 1));
        return;
    }
    splat_grad2d grad = P.grad2d[i];
    const float *mean = P.g.p.means + 3 * (size_t)i;
    float x = mean[0], y = mean[1], z = mean[2];
    /* colour first: its sixteen basis values must not live beside the footprint's */
    float3 through_colour = colour_backward<DEGREE>(P, i, x, y, z, grad, s);
    activated a = activate(P.g.p, P.g.filter_3d, i);
    splat_footprint f = splat_footprint_make(&P.projector, x, y, z, a.st[0], a.st[1], a.st[2], a.q[0], a.q[1], a.q[2],
                                             a.q[3]);
    splat_footprint_gradient g = splat_footprint_backward(&P.projector, &f, a.st[0], a.st[1], a.st[2], a.q[0], a.q[1],
                                                          a.q[2], a.q[3], a.ot, grad.mean_x, grad.mean_y, grad.conic_a,
                                                          grad.conic_b, grad.conic_c, grad.opacity);
    float sum = grad.r + grad.g + grad.b;
    const float gm[3] = {g.mean_x + through_colour.x, g.mean_y + through_colour.y, g.mean_z + through_colour.z};
    const float gs[3] = {g.sx, g.sy, g.sz}, gq[4] = {g.qw, g.qx, g.qy, g.qz};
    for (int k = 0; k < 3; k++) {
        s.means[3 * t + k] = gm[k];
        /* through s~ and through c3 (docs/method.md 7.6) */
        float gsk = gs[k] * a.s[k] * a.s[k] / a.st[k] + g.opacity * a.ot * a.f2 / (a.st[k] * a.st[k]);
        s.scales[3 * t + k] = gsk;
        sum += gm[k] + gsk;
    }
    float go = g.opacity * (a.ot / a.o) * a.o * (1.0f - a.o), dot = 0.0f;
    s.opacities[t] = go;
    for (int k = 0; k < 4; k++) dot += a.q[k] * gq[k];
    for (int k = 0; k < 4; k++) {
        float gqk = (gq[k] - a.q[k] * dot) * a.inverse_norm;
        s.rotations[4 * t + k] = gqk;
        sum += gqk;
    }
    if (!isfinite(sum + go)) {
        no_gradient(s, (DEGREE + 1) * (DEGREE + 1));
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

template <int DEGREE>
__global__ void __launch_bounds__(BACKWARD_THREADS, 5)
    project_backward_kernel(const __grid_constant__ backward_parameters P)
{
    __shared__ block_gradients s;
    if (P.state->overflow || P.state->not_finite) return;
    uint32_t first = blockIdx.x * BACKWARD_THREADS, n = min(P.g.n - first, (uint32_t)BACKWARD_THREADS);
    gaussian_backward<DEGREE>(P, first + threadIdx.x, s);
    __syncthreads();
    const splat_tensors &p = P.g.p;
    update_tensor<3>(P, SPLAT_TENSOR_means, p.means, P.m.means, P.v.means, P.gradients.means, s.means, first, n);
    update_tensor<3>(P, SPLAT_TENSOR_sh_dc, p.sh_dc, P.m.sh_dc, P.v.sh_dc, P.gradients.sh_dc, s.sh_dc, first, n);
    update_tensor<1>(P, SPLAT_TENSOR_opacities, p.opacities, P.m.opacities, P.v.opacities, P.gradients.opacities,
                     s.opacities, first, n);
    update_tensor<3>(P, SPLAT_TENSOR_scales, p.scales, P.m.scales, P.v.scales, P.gradients.scales, s.scales, first, n);
    update_tensor<4>(P, SPLAT_TENSOR_rotations, p.rotations, P.m.rotations, P.v.rotations, P.gradients.rotations,
                     s.rotations, first, n);
    update_rest<DEGREE>(P, s, first, n);
}

extern "C" splat_status splat_project_backward_cuda(splat_backend *backend,
                                                    const struct splat_project_backward_args *args, splat_error *error)
{
    splat_cuda_backend *cuda = splat_cuda_of(backend);
    const splat_frame *frame = args->frame;
    if (args->gaussians->n == 0) return SPLAT_OK;
    backward_parameters P = {};
    P.projector = splat_projector_make(&frame->camera, frame->filter.kernel_size, frame->filter.compensate, SPLAT_TILE);
    P.g = *args->gaussians;
    P.depth = frame->depth;
    P.grad2d = frame->grad2d;
    P.half_width = 0.5f * (float)frame->camera.width;
    P.half_height = 0.5f * (float)frame->camera.height;
    P.has_gradients = args->gradients != NULL;
    P.has_statistics = args->statistics != NULL;
    if (args->gradients) P.gradients = *args->gradients;
    if (args->statistics) P.statistics = *args->statistics;
    if (args->adam) {
        P.m = args->adam->m;
        P.v = args->adam->v;
        for (int i = 0; i < SPLAT_N_TENSORS; i++) {
            P.update[i] = args->adam->update[i];
            P.step_size[i] = args->adam->lr[i] / args->adam->correction1[i];
            P.inverse_root[i] = 1.0f / sqrtf(args->adam->correction2[i]);
        }
    }
    P.state = cuda->state;
    unsigned blocks = splat_cuda_blocks(P.g.n, BACKWARD_THREADS);
    switch (P.g.sh_degree) {
    case 0: project_backward_kernel<0><<<blocks, BACKWARD_THREADS, 0, cuda->stream>>>(P); break;
    case 1: project_backward_kernel<1><<<blocks, BACKWARD_THREADS, 0, cuda->stream>>>(P); break;
    case 2: project_backward_kernel<2><<<blocks, BACKWARD_THREADS, 0, cuda->stream>>>(P); break;
    default: project_backward_kernel<3><<<blocks, BACKWARD_THREADS, 0, cuda->stream>>>(P); break;
    }
    CUDA_LAUNCHED("project_backward");
    return SPLAT_OK;
}
