/* exposure on CUDA: a block of threads a row of pixels where it sums, in a fixed order, and one block for the step of
 * all gains. */
#include "backend/cuda_backend.cuh"

extern "C" {
#include "ops/exposure/exposure_math.h"
}

#define EXPOSURE_THREADS 256
#define EXPOSURE_WARPS (EXPOSURE_THREADS / 32)

struct exposure_parameters {
    int width, n; /* pixels of a row, of all */
    float cx, cy, inverse_side2, moments[3];
    const float *photo_row, *camera_row, *image;
    const uint8_t *photo_u8;
    const float *photo_f32, *sky;
    float *exposed, *grad;
    double *sums;
    const splat_cuda_view_state *state;
};

template <bool BYTES>
__device__ __forceinline__ float photo_at(const exposure_parameters &P, int pixel, int c)
{
    if (BYTES) return (float)P.photo_u8[3 * (size_t)pixel + c] / 255.0f;
    return P.photo_f32 ? P.photo_f32[(size_t)c * P.n + pixel] : 0.0f;
}

template <bool BYTES>
__global__ void __launch_bounds__(EXPOSURE_THREADS) exposure_kernel(const __grid_constant__ exposure_parameters P)
{
    const splat_exposure_gains g = splat_exposure_gains_of(P.photo_row, P.camera_row, P.moments);
    int pixel = (int)(blockIdx.x * EXPOSURE_THREADS + threadIdx.x);
    if (pixel >= P.n) return;
    float r2 = splat_exposure_radius2(pixel % P.width, pixel / P.width, P.cx, P.cy, P.inverse_side2);
    float v = splat_exposure_clamped(splat_exposure_falloff(&g, r2));
#pragma unroll
    for (int c = 0; c < 3; c++) {
        float z = g.gain[c] * v * P.image[(size_t)c * P.n + pixel], y = photo_at<BYTES>(P, pixel, c);
        P.exposed[(size_t)c * P.n + pixel] = splat_exposure_is_beyond(y, z) ? y : z;
    }
}

/* Six numbers over the threads of a block; the sum is in thread k's sums[k], k < 6. */
__device__ __forceinline__ double sum_of_block(double own[SPLAT_EXPOSURE_SUMS],
                                               double parts[EXPOSURE_WARPS][SPLAT_EXPOSURE_SUMS])
{
#pragma unroll
    for (int k = 0; k < SPLAT_EXPOSURE_SUMS; k++) {
        own[k] = splat_lanes_sum<32>(own[k]);
        if (threadIdx.x % 32 == 0) parts[threadIdx.x / 32][k] = own[k];
    }
    __syncthreads();
    double sum = 0;
    if (threadIdx.x < SPLAT_EXPOSURE_SUMS)
        for (int w = 0; w < EXPOSURE_WARPS; w++) sum += parts[w][threadIdx.x];
    return sum;
}

template <bool BYTES>
__global__ void __launch_bounds__(EXPOSURE_THREADS)
    exposure_backward_kernel(const __grid_constant__ exposure_parameters P)
{
    __shared__ double parts[EXPOSURE_WARPS][SPLAT_EXPOSURE_SUMS];
    const splat_exposure_gains g = splat_exposure_gains_of(P.photo_row, P.camera_row, P.moments);
    double sums[SPLAT_EXPOSURE_SUMS] = {};
    const bool is_left_out = P.state && (P.state->overflow || P.state->not_finite);
    const int row = (int)blockIdx.x, begin = row * P.width;
    for (int x = (int)threadIdx.x; x < P.width && !is_left_out; x += EXPOSURE_THREADS) {
        int pixel = begin + x;
        float r2 = splat_exposure_radius2(x, row, P.cx, P.cy, P.inverse_side2);
        float falloff = splat_exposure_falloff(&g, r2), v = splat_exposure_clamped(falloff);
        float by_falloff = 0.0f, by_scale = 0.0f;
        const float world = P.sky ? 1.0f - P.sky[pixel] : 1.0f;
#pragma unroll
        for (int c = 0; c < 3; c++) {
            size_t at = (size_t)c * P.n + pixel;
            float scale = g.gain[c] * v, colour = P.image[at], z = scale * colour, gradient = P.grad[at];
            if (splat_exposure_is_beyond(photo_at<BYTES>(P, pixel, c), z)) gradient = 0.0f;
            const float seen = world * gradient;
            sums[c] += (double)(seen * z);
            by_scale += seen * z;
            by_falloff += seen * g.gain[c] * colour;
            P.grad[at] = gradient * scale * g.weight;
        }
        if (!(falloff > 0.0f && falloff <= 1.0f)) by_falloff = 0.0f;
#pragma unroll
        for (int j = 0; j < 3; j++) sums[3 + j] += (double)((by_falloff *= r2) - by_scale * g.pull[j]);
    }
    double sum = sum_of_block(sums, parts);
    if (threadIdx.x < SPLAT_EXPOSURE_SUMS) P.sums[(size_t)row * SPLAT_EXPOSURE_SUMS + threadIdx.x] = sum;
}

/* One block. */
__global__ void __launch_bounds__(EXPOSURE_THREADS)
    exposure_step_kernel(const __grid_constant__ struct splat_exposure_step_args P, const splat_cuda_view_state *state)
{
    __shared__ double parts[EXPOSURE_WARPS][SPLAT_EXPOSURE_SUMS], sums[SPLAT_EXPOSURE_SUMS],
        means[SPLAT_EXPOSURE_SUMS];
    if (state && (state->overflow || state->not_finite)) return;
    double own[SPLAT_EXPOSURE_SUMS] = {};
    for (size_t row = threadIdx.x; row < P.n_rows; row += EXPOSURE_THREADS)
#pragma unroll
        for (int k = 0; k < SPLAT_EXPOSURE_SUMS; k++) own[k] += P.sums[row * SPLAT_EXPOSURE_SUMS + k];
    double sum = sum_of_block(own, parts);
    if (threadIdx.x < SPLAT_EXPOSURE_SUMS) sums[threadIdx.x] = sum;
    __syncthreads(); /* before parts are written again */
    double rows[SPLAT_EXPOSURE_SUMS] = {};
    for (uint32_t i = threadIdx.x; i < P.n_photos; i += EXPOSURE_THREADS)
#pragma unroll
        for (int k = 0; k < SPLAT_EXPOSURE_ROW; k++) rows[k] += (double)P.values[SPLAT_EXPOSURE_ROW * i + k];
    sum = sum_of_block(rows, parts);
    if (threadIdx.x < SPLAT_EXPOSURE_SUMS) means[threadIdx.x] = sum / P.n_photos;
    __syncthreads(); /* all have read the values, too */
    const uint32_t n = SPLAT_EXPOSURE_ROW * (P.n_photos + P.n_cameras);
    for (uint32_t i = threadIdx.x; i < n; i += EXPOSURE_THREADS) splat_exposure_step_number(&P, i, sums, means);
}

/* ---------------------------------------------------------------- host */

static splat_status parameters_of(const struct splat_exposure_args *args, exposure_parameters *P, splat_error *error)
{
    SPLAT_TRY(splat_exposure_check(args, error));
    if ((int64_t)args->width * args->height > INT32_MAX / 4)
        return splat_fail(error, SPLAT_ERROR_UNSUPPORTED,
                          "a picture of %dx%d pixels is too large for exposure on a GPU", args->width, args->height);
    float side = (float)(args->width > args->height ? args->width : args->height);
    *P = {};
    P->width = args->width;
    P->n = args->width * args->height;
    P->cx = args->cx;
    P->cy = args->cy;
    P->inverse_side2 = 1.0f / (side * side);
    splat_exposure_moments(args->width, args->height, args->cx, args->cy, P->moments);
    P->photo_row = args->photo_row;
    P->camera_row = args->camera_row;
    P->image = args->image;
    P->photo_u8 = args->photo_u8;
    P->photo_f32 = args->photo_f32;
    P->exposed = args->exposed;
    return SPLAT_OK;
}

extern "C" splat_status splat_exposure_cuda(splat_backend *backend, const struct splat_exposure_args *args,
                                            splat_error *error)
{
    exposure_parameters P;
    SPLAT_TRY(parameters_of(args, &P, error));
    const unsigned n_blocks = splat_cuda_blocks((uint64_t)P.n, EXPOSURE_THREADS);
    if (P.photo_u8)
        exposure_kernel<true><<<n_blocks, EXPOSURE_THREADS, 0, splat_cuda_of(backend)->stream>>>(P);
    else
        exposure_kernel<false><<<n_blocks, EXPOSURE_THREADS, 0, splat_cuda_of(backend)->stream>>>(P);
    CUDA_LAUNCHED("exposure");
    return SPLAT_OK;
}

extern "C" splat_status splat_exposure_backward_cuda(splat_backend *backend,
                                                     const struct splat_exposure_backward_args *args,
                                                     splat_error *error)
{
    exposure_parameters P;
    SPLAT_TRY(parameters_of(&args->forward, &P, error));
    P.grad = args->grad;
    P.sky = args->sky;
    P.sums = args->sums;
    P.state = args->frame ? splat_cuda_state_of(args->frame) : NULL;
    const unsigned n_rows = (unsigned)args->forward.height;
    if (P.photo_u8)
        exposure_backward_kernel<true><<<n_rows, EXPOSURE_THREADS, 0, splat_cuda_of(backend)->stream>>>(P);
    else
        exposure_backward_kernel<false><<<n_rows, EXPOSURE_THREADS, 0, splat_cuda_of(backend)->stream>>>(P);
    CUDA_LAUNCHED("exposure backward");
    return SPLAT_OK;
}

extern "C" splat_status splat_exposure_step_cuda(splat_backend *backend, const struct splat_exposure_step_args *args,
                                                 splat_error *error)
{
    SPLAT_TRY(splat_exposure_step_check(args, error));
    const splat_cuda_view_state *state = args->frame ? splat_cuda_state_of(args->frame) : NULL;
    exposure_step_kernel<<<1, EXPOSURE_THREADS, 0, splat_cuda_of(backend)->stream>>>(*args, state);
    CUDA_LAUNCHED("exposure step");
    return SPLAT_OK;
}
