/* conv, pool on CUDA. A convolution is a matrix product, [output channels] x [pixels], whose second factor, the
 * patches, is gathered while it is multiplied: no matrix of patches in memory, and no library to find at run time. A
 * block makes 64 x 256 or 128 x 128 outputs, a thread 8 x 8; the products come eight deep through two buffers in shared
 * memory, the next eight being fetched into registers meanwhile. All in float32. */
#include "backend/cuda_backend.cuh"

extern "C" {
#include "ops/conv/conv.h"
}

#define CONV_THREADS 256
#define CONV_DEPTH 8

struct conv_shape {
    splat_maps input, output;
    int input_height, kernel, stride, pad;
    int n_pixels;   /* of the output's rows */
    int n_products; /* kernel x kernel x input channels */
    bool aligned;   /* four outputs may be stored at once */
    const float *weights, *bias;
};

/* One pixel of the output, as the gathering thread sees it. */
struct conv_pixel {
    const float *image; /* of the input */
    int x, y;           /* of its patch's corner */
    bool inside;        /* of the output */
};

/* The value of a patch at (ky, kx), channel c; zero outside the map. */
__device__ __forceinline__ float conv_value(const conv_shape &s, const conv_pixel &pixel, int ky, int kx, int c)
{
    int y = pixel.y + ky, x = pixel.x + kx;
    if (!pixel.inside || y < 0 || y >= s.input_height || x < 0 || x >= s.input.width) return 0.0f;
    return __ldg(pixel.image + c * s.input.channel_stride + (size_t)(y - s.input.row_begin) * s.input.width + x);
}

/* The N products k, k + STEP, ... of a pixel: product k is tap k / channels of channel k % channels. With 8 channels or
 * more, eight products in turn belong to one tap. */
template <int N, int STEP, bool THREE_CHANNELS>
__device__ __forceinline__ void conv_gather(const conv_shape &s, const conv_pixel &pixel, int k, float values[N])
{
    if (THREE_CHANNELS) {
#pragma unroll
        for (int i = 0; i < N; i++) {
            int tap = (k + i * STEP) / 3, c = (k + i * STEP) % 3, ky = tap / s.kernel;
            values[i] = k + i * STEP < s.n_products ? conv_value(s, pixel, ky, tap - ky * s.kernel, c) : 0.0f;
        }
        return;
    }
    int tap = k / s.input.channels, c = k - tap * s.input.channels, ky = tap / s.kernel;
    int y = pixel.y + ky, x = pixel.x + tap - ky * s.kernel;
    bool inside = pixel.inside && y >= 0 && y < s.input_height && x >= 0 && x < s.input.width;
    const float *from = pixel.image + c * s.input.channel_stride + (size_t)(y - s.input.row_begin) * s.input.width + x;
#pragma unroll
    for (int i = 0; i < N; i++) values[i] = inside ? __ldg(from + (size_t)(i * STEP) * s.input.channel_stride) : 0.0f;
}

/* CHANNELS x PIXELS outputs of image blockIdx.z. */
template <int CHANNELS, int PIXELS, bool THREE_CHANNELS>
__global__ void __launch_bounds__(CONV_THREADS, 2) conv_kernel(const __grid_constant__ conv_shape s)
{
    enum {
        TX = PIXELS / 8, TY = CONV_THREADS / TX,            /* threads along pixels and channels */
        STEP = CONV_THREADS / PIXELS, N = CONV_DEPTH / STEP /* a thread gathers N products of one pixel */
    };
    static_assert(TY * 8 == CHANNELS, "64 outputs a thread");
    __shared__ __align__(16) float weights[2][CONV_DEPTH][CHANNELS], patches[2][CONV_DEPTH][PIXELS];
    int thread = threadIdx.x, tx = thread % TX, ty = thread / TX;
    int first_pixel = blockIdx.x * PIXELS, first_channel = blockIdx.y * CHANNELS;

    conv_pixel pixel;
    {
        int n = first_pixel + thread % PIXELS, y = n / s.output.width;
        pixel.inside = n < s.n_pixels;
        pixel.x = (n - y * s.output.width) * s.stride - s.pad;
        pixel.y = (y + s.output.row_begin) * s.stride - s.pad;
        pixel.image = s.input.data + blockIdx.z * s.input.image_stride;
    }
    /* Weights: [channel / 8][product][8]. Four of a product at a time; CHANNELS * 8 / 4 threads fetch. */
    int w_octet = thread / 16, w_product = thread % 16 / 2, w_half = thread % 2 * 4;
    bool fetches = thread < CHANNELS * 2 && first_channel + w_octet * 8 < s.output.channels;
    const float *w_from = s.weights + (size_t)(first_channel / 8 + w_octet) * s.n_products * 8 + w_product * 8 + w_half;

    float sums[8][8] = {}, values[N];
    float4 w = make_float4(0.0f, 0.0f, 0.0f, 0.0f);
    int n_steps = (s.n_products + CONV_DEPTH - 1) / CONV_DEPTH;
    for (int step = -1; step < n_steps; step++) {
        int k = (step + 1) * CONV_DEPTH;
        if (k < s.n_products) { /* fetch the next eight products */
            conv_gather<N, STEP, THREE_CHANNELS>(s, pixel, k + thread / PIXELS, values);
            w = make_float4(0.0f, 0.0f, 0.0f, 0.0f);
            if (fetches && k + w_product < s.n_products) w = __ldg((const float4 *)(w_from + (size_t)k * 8));
        }
        if (step >= 0) { /* multiply these */
            int now = step & 1;
#pragma unroll
            for (int d = 0; d < CONV_DEPTH; d++) {
                float a[8], b[8];
                *(float4 *)&a[0] = *(const float4 *)&weights[now][d][ty * 4];
                *(float4 *)&a[4] = *(const float4 *)&weights[now][d][CHANNELS / 2 + ty * 4];
                *(float4 *)&b[0] = *(const float4 *)&patches[now][d][tx * 4];
                *(float4 *)&b[4] = *(const float4 *)&patches[now][d][PIXELS / 2 + tx * 4];
#pragma unroll
                for (int i = 0; i < 8; i++)
#pragma unroll
                    for (int j = 0; j < 8; j++) sums[i][j] = fmaf(a[i], b[j], sums[i][j]);
            }
        }
        if (k < s.n_products) {
            int next = (step + 1) & 1;
#pragma unroll
            for (int i = 0; i < N; i++) patches[next][thread / PIXELS + i * STEP][thread % PIXELS] = values[i];
            if (thread < CHANNELS * 2) *(float4 *)&weights[next][w_product][w_octet * 8 + w_half] = w;
        }
        __syncthreads();
    }

#pragma unroll
    for (int i = 0; i < 8; i++) {
        int channel = first_channel + (i / 4) * (CHANNELS / 2) + ty * 4 + i % 4;
        if (channel >= s.output.channels) continue;
        float bias = __ldg(s.bias + channel);
        float *row = s.output.data + blockIdx.z * s.output.image_stride + channel * s.output.channel_stride;
#pragma unroll
        for (int j = 0; j < 8; j += 4) {
            int n = first_pixel + (j / 4) * (PIXELS / 2) + tx * 4;
            float out[4];
#pragma unroll
            for (int e = 0; e < 4; e++) {
                float x = sums[i][j + e] + bias;
                out[e] = x < 0.0f ? 0.0f : x; /* NaN stays */
            }
            if (s.aligned && n + 3 < s.n_pixels) {
                *(float4 *)(row + n) = make_float4(out[0], out[1], out[2], out[3]);
            } else {
#pragma unroll
                for (int e = 0; e < 4; e++)
                    if (n + e < s.n_pixels) row[n + e] = out[e];
            }
        }
    }
}

template <int CHANNELS, int PIXELS>
static void conv_launch(const conv_shape *s, int n_images, cudaStream_t stream)
{
    dim3 grid(splat_cuda_blocks(s->n_pixels, PIXELS), splat_cuda_blocks(s->output.channels, CHANNELS), n_images);
    if (s->input.channels == 3)
        conv_kernel<CHANNELS, PIXELS, true><<<grid, CONV_THREADS, 0, stream>>>(*s);
    else
        conv_kernel<CHANNELS, PIXELS, false><<<grid, CONV_THREADS, 0, stream>>>(*s);
}

extern "C" splat_status splat_conv_cuda(splat_backend *backend, const struct splat_conv_args *args, splat_error *error)
{
    SPLAT_TRY(splat_conv_check(args, error));
    const splat_maps *out = &args->output;
    conv_shape s;
    s.input = args->input;
    s.output = *out;
    s.input_height = args->input_height;
    s.kernel = args->kernel;
    s.stride = args->stride;
    s.pad = args->pad;
    s.n_pixels = (out->row_end - out->row_begin) * out->width;
    s.n_products = args->kernel * args->kernel * args->input.channels;
    s.aligned = ((size_t)out->data | out->channel_stride * sizeof(float) | out->image_stride * sizeof(float)) % 16 == 0;
    s.weights = args->weights;
    s.bias = args->bias;
    cudaStream_t stream = splat_cuda_of(backend)->stream;
    if (out->channels > 64)
        conv_launch<128, 128>(&s, args->n_images, stream);
    else
        conv_launch<64, 256>(&s, args->n_images, stream);
    CUDA_LAUNCHED("conv");
    return SPLAT_OK;
}

/* ---------------------------------------------------------------- pool */

#define POOL_THREADS 256

/* A thread a pixel; blockIdx.y is the channel, blockIdx.z the image. */
__global__ void __launch_bounds__(POOL_THREADS) pool_kernel(const __grid_constant__ splat_pool_args a)
{
    int n = blockIdx.x * POOL_THREADS + threadIdx.x, out_y = n / a.output.width;
    if (out_y >= a.output.row_end - a.output.row_begin) return;
    int x_begin = (n - out_y * a.output.width) * a.stride, y_begin = (out_y + a.output.row_begin) * a.stride;
    int x_end = min(x_begin + a.window, a.input.width), y_end = min(y_begin + a.window, a.input_height);
    const float *row = a.input.data + blockIdx.z * a.input.image_stride + blockIdx.y * a.input.channel_stride +
                       (size_t)(y_begin - a.input.row_begin) * a.input.width;
    float largest = row[x_begin];
    for (int y = y_begin; y < y_end; y++, row += a.input.width)
        for (int x = x_begin; x < x_end; x++) largest = row[x] > largest ? row[x] : largest;
    a.output.data[blockIdx.z * a.output.image_stride + blockIdx.y * a.output.channel_stride + n] = largest;
}

extern "C" splat_status splat_pool_cuda(splat_backend *backend, const struct splat_pool_args *args, splat_error *error)
{
    SPLAT_TRY(splat_pool_check(args, error));
    const splat_maps *out = &args->output;
    dim3 grid(splat_cuda_blocks((uint64_t)(out->row_end - out->row_begin) * out->width, POOL_THREADS), out->channels,
              args->n_images);
    pool_kernel<<<grid, POOL_THREADS, 0, splat_cuda_of(backend)->stream>>>(*args);
    CUDA_LAUNCHED("pool");
    return SPLAT_OK;
}
