/* The dome on CUDA: a thread a pixel; for the sums a thread some pixels of a column, which mostly share their nodes. */
#include "backend/cuda_backend.cuh"

extern "C" {
#include "ops/dome/dome.h"
}
#include "ops/dome/dome_math.h"

#define DOME_THREADS 256
#define DOME_WIDTH 64 /* pixels of a row of a block */
#define DOME_ROWS 4   /* threads of a column of a block */
#define DOME_STRIP 8  /* pixels of a column that a thread sums */

struct dome_parameters {
    splat_camera camera;
    splat_dome dome;
    float background[3];
    const float *jitter, *transmittance, *grad_image;
    float *image, *grad_alpha;
    unsigned long long *sums;
    const uint32_t *sky;
    int sky_width, sky_height;
    float weight; /* of a pixel */
    const splat_cuda_view_state *state;
};

static dome_parameters parameters_of(const splat_frame *f)
{
    dome_parameters P = {};
    P.camera = f->camera;
    P.dome = f->dome;
    for (int c = 0; c < 3; c++) P.background[c] = f->background[c];
    P.jitter = f->jitter;
    P.transmittance = f->transmittance;
    P.image = f->image;
    P.state = splat_cuda_state_of(f);
    return P;
}

__global__ void __launch_bounds__(DOME_THREADS) dome_kernel(const __grid_constant__ dome_parameters P)
{
    const int i = (int)(blockIdx.x * DOME_WIDTH + threadIdx.x), j = (int)(blockIdx.y * DOME_ROWS + threadIdx.y);
    if (i >= P.camera.width || j >= P.camera.height) return;
    const size_t n = (size_t)P.camera.width * P.camera.height, pixel = (size_t)j * P.camera.width + i;
    const splat_dome_place place = splat_dome_place_of_pixel(&P.camera, &P.dome, P.jitter, i, j);
    float color[3];
    splat_dome_color(P.dome.colors, &place, color);
    const float light = P.transmittance[pixel];
#pragma unroll
    for (int c = 0; c < 3; c++) P.image[c * n + pixel] += light * (color[c] - P.background[c]);
}

__device__ __forceinline__ void flush(const dome_parameters &P, uint32_t first, long long sums[4][3])
{
#pragma unroll
    for (int k = 0; k < 4; k++)
#pragma unroll
        for (int c = 0; c < 3; c++) {
            if (sums[k][c]) atomicAdd(&P.sums[3 * splat_dome_node(first, k) + c], (unsigned long long)sums[k][c]);
            sums[k][c] = 0;
        }
}

__global__ void __launch_bounds__(DOME_THREADS) dome_backward_kernel(const __grid_constant__ dome_parameters P)
{
    const int width = P.camera.width, height = P.camera.height, i = (int)(blockIdx.x * DOME_WIDTH + threadIdx.x);
    const int top = (int)(blockIdx.y * DOME_ROWS + threadIdx.y) * DOME_STRIP;
    const size_t n = (size_t)width * height;
    const bool is_left_out = P.state && (P.state->overflow || P.state->not_finite);
    long long sums[4][3] = {};
    uint32_t first = 0;
    if (i >= width) return;
    for (int j = top; j < min(top + DOME_STRIP, height); j++) {
        const size_t pixel = (size_t)j * width + i;
        const splat_dome_place place = splat_dome_place_of_pixel(&P.camera, &P.dome, P.jitter, i, j);
        const float light = P.transmittance[pixel], scale = 3.0f * (float)n * light;
        float color[3], weight[4], g[3], by_alpha = 0.0f;
        splat_dome_color(P.dome.colors, &place, color);
        splat_dome_weights(&place, weight);
#pragma unroll
        for (int c = 0; c < 3; c++) {
            g[c] = P.grad_image[c * n + pixel];
            by_alpha -= (color[c] - P.background[c]) * g[c];
        }
        if (P.sky && splat_dome_is_sky(P.sky, P.sky_width, P.sky_height, width, height, i, j)) by_alpha += P.weight;
        P.grad_alpha[pixel] += by_alpha;
        if (is_left_out || !(light >= SPLAT_DOME_LEAST_LIGHT)) continue;
        if (first != place.first) flush(P, first, sums);
        first = place.first;
#pragma unroll
        for (int c = 0; c < 3; c++)
#pragma unroll
            for (int k = 0; k < 4; k++) sums[k][c] += splat_dome_share(g[c], scale, weight[k]);
    }
    flush(P, first, sums);
}

__global__ void __launch_bounds__(DOME_THREADS)
    dome_step_kernel(const __grid_constant__ struct splat_dome_step_args P, float scale,
                     const splat_cuda_view_state *state)
{
    const size_t i = (size_t)blockIdx.x * DOME_THREADS + threadIdx.x;
    if (i >= 3 * (size_t)SPLAT_DOME_NODES || (state && (state->overflow || state->not_finite))) return;
    splat_dome_step_number(&P, i, scale);
}

static dim3 grid_of(const splat_frame *f, int rows)
{
    return dim3(splat_cuda_blocks((uint64_t)f->camera.width, DOME_WIDTH),
                splat_cuda_blocks((uint64_t)f->camera.height, rows));
}

extern "C" splat_status splat_dome_cuda(splat_backend *backend, const struct splat_dome_args *args, splat_error *error)
{
    SPLAT_TRY(splat_dome_check(args->frame, error));
    const dome_parameters P = parameters_of(args->frame);
    dome_kernel<<<grid_of(args->frame, DOME_ROWS), dim3(DOME_WIDTH, DOME_ROWS), 0, splat_cuda_of(backend)->stream>>>(P);
    CUDA_LAUNCHED("dome");
    return SPLAT_OK;
}

extern "C" splat_status splat_dome_backward_cuda(splat_backend *backend, const struct splat_dome_backward_args *args,
                                                 splat_error *error)
{
    const splat_frame *f = args->frame;
    SPLAT_TRY(splat_dome_check(f, error));
    dome_parameters P = parameters_of(f);
    P.grad_image = args->grad_image;
    P.grad_alpha = args->grad_alpha;
    P.sums = (unsigned long long *)args->sums;
    P.sky = args->sky;
    P.sky_width = args->sky_width;
    P.sky_height = args->sky_height;
    P.weight = args->weight / ((float)f->camera.width * (float)f->camera.height);
    dome_backward_kernel<<<grid_of(f, DOME_ROWS * DOME_STRIP), dim3(DOME_WIDTH, DOME_ROWS), 0,
                           splat_cuda_of(backend)->stream>>>(P);
    CUDA_LAUNCHED("dome_backward");
    return SPLAT_OK;
}

extern "C" splat_status splat_dome_step_cuda(splat_backend *backend, const struct splat_dome_step_args *args,
                                             splat_error *error)
{
    const splat_cuda_view_state *state = args->frame ? splat_cuda_state_of(args->frame) : NULL;
    const unsigned n_blocks = splat_cuda_blocks(3 * (uint64_t)SPLAT_DOME_NODES, DOME_THREADS);
    dome_step_kernel<<<n_blocks, DOME_THREADS, 0, splat_cuda_of(backend)->stream>>>(*args, splat_dome_step_scale(args),
                                                                                    state);
    CUDA_LAUNCHED("dome_step");
    return SPLAT_OK;
}
