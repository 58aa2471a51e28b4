/* loss on CUDA, in two kernels over 32x32 tiles of a channel. The first filters four moments, separably in shared
 * memory, and leaves SSIM's three derivatives at each pixel and the sums of the tile; the second filters these
 * into the gradient. Formulas: the differences form of loss_simd.c. */
#include "ops/loss/loss_cuda.cuh"

#define TILE 32
#define LOSS_THREADS 256
#define LOSS_WARPS (LOSS_THREADS / 32)
#define LOSS_BLOCKS 5                       /* of a multiprocessor; SSIM of masked or resampled photos: one less */
#define RUN 4                               /* consecutive outputs of a thread in a filter pass: loads are shared */
#define HALO (TILE + 2 * SPLAT_SSIM_RADIUS) /* pixels across that a tile needs */
#define STRIDE (HALO + 2)                   /* of a row with its halo: whole float4 */
#define TAPS (2 * SPLAT_SSIM_RADIUS + 1)
#define SPAN (RUN + TAPS - 1)               /* inputs of a run */
#define PLACES ((HALO * STRIDE + LOSS_THREADS - 1) / LOSS_THREADS) /* of a thread, at most */
#define MAX_PIXELS (INT32_MAX / 9)
#define N_SUMS 3                            /* l1, squared, ssim */
#define N_DERIVATIVES 3

static_assert(TILE == 32 && LOSS_THREADS * RUN == TILE * TILE, "a warp makes RUN rows of the tile");
static_assert(STRIDE % 4 == 0 && TILE - RUN + 16 <= STRIDE && SPAN <= 16, "four float4 hold the inputs of any run");

enum { MEAN, DIFFERENCE, POWER, ERROR, N_MOMENTS }; /* of x, x - y, x^2 + y^2, (x - y)^2 */

struct loss_parameters {
    int width, height;
    const float *image;
    const uint8_t *photo_u8;
    const float *photo_f32;
    const uint8_t *mask;
    float *derivatives; /* [N_DERIVATIVES][3][height][width]: by the mean, the power and the error; NULL: not wanted */
    float *grad_image;
    float l1_scale, ssim_scale;
    double *sums;       /* [3][tiles][N_SUMS] */
    unsigned n_tiles;   /* of a channel */
    double n_values, lambda;
    double *totals;     /* [3][N_SUMS] */
    splat_cuda_view_state *state; /* or NULL */
};

struct __align__(16) moments_tile {
    float x[HALO][STRIDE], y[HALO][STRIDE];
    float filtered[N_MOMENTS][HALO][TILE]; /* along the rows */
    float sums[LOSS_WARPS][N_SUMS];
};

struct __align__(16) gradient_tile {
    float derivatives[N_DERIVATIVES][HALO][STRIDE];
    float filtered[N_DERIVATIVES][HALO][TILE];
};

/* The pixel of a photo's byte: byte / 255, correctly rounded for all 256 (a product and its residual). */
__device__ __forceinline__ float from_byte(uint8_t byte)
{
    const float inverse = 1.0f / 255.0f;
    float value = (float)byte, quotient = value * inverse;
    return fmaf(fmaf(-255.0f, quotient, value), inverse, quotient);
}

/* Pixel and value indices fit an int: splat_loss_cuda_run refuses pictures of more than MAX_PIXELS. */
template <bool BYTES>
__device__ __forceinline__ float photo_at(const loss_parameters &P, int pixel, int channel)
{
    if (BYTES) return from_byte(P.photo_u8[3 * pixel + channel]);
    return P.photo_f32[channel * P.width * P.height + pixel];
}

/* True if a pixel counts. MASKED is a constant: without a mask the kernels contain no code for it. */
template <bool MASKED>
__device__ __forceinline__ bool is_kept(const loss_parameters &P, int pixel)
{
    return !MASKED || P.mask[pixel] >= SPLAT_LOSS_KEPT;
}

/* The window over a run: out[i] from v[i .. i + TAPS - 1]. Mirrored taps share a product, from the outside in: as many
 * instructions as eleven multiply-adds, and half the roundings. */
__device__ __forceinline__ void filter_run(const float *v, float *out)
{
    constexpr float window[TAPS] = SPLAT_SSIM_WINDOW;
#pragma unroll
    for (int i = 0; i < RUN; i++) {
        out[i] = window[0] * (v[i] + v[i + TAPS - 1]);
#pragma unroll
        for (int k = 1; k < SPLAT_SSIM_RADIUS; k++) out[i] += window[k] * (v[i + k] + v[i + TAPS - 1 - k]);
        out[i] += window[SPLAT_SSIM_RADIUS] * v[i + SPLAT_SSIM_RADIUS];
    }
}

__device__ __forceinline__ void filter_to_row(const float *v, float *row)
{
    float out[RUN];
    filter_run(v, out);
    *(float4 *)row = make_float4(out[0], out[1], out[2], out[3]);
}

__device__ __forceinline__ void filter_column(const float (*rows)[TILE], int first, int column, float *out)
{
    float v[SPAN];
#pragma unroll
    for (int k = 0; k < SPAN; k++) v[k] = rows[first + k][column];
    filter_run(v, out);
}

__device__ __forceinline__ void load_span(const float *row, float *v)
{
#pragma unroll
    for (int k = 0; k < 16; k += 4) {
        float4 four = *(const float4 *)(row + k);
        v[k] = four.x, v[k + 1] = four.y, v[k + 2] = four.z, v[k + 3] = four.w;
    }
}

__device__ __forceinline__ float sign_of(float d)
{
    return (float)(d > 0.0f) - (float)(d < 0.0f);
}

/* The i-th place of a thread in a tile with its halo. Places outside of the picture are zero; they read pixel 0 all the
 * same, so that no branch parts the loads. */
struct place {
    int row, column, pixel;
    bool inside, real; /* in the picture, in the tile */
};

__device__ __forceinline__ place place_of(const loss_parameters &P, int tile_y, unsigned i)
{
    place p;
    unsigned k = threadIdx.x + i * LOSS_THREADS;
    p.real = (i + 1) * LOSS_THREADS <= HALO * STRIDE || k < HALO * STRIDE; /* known but for the last i */
    p.row = k / STRIDE;
    p.column = k % STRIDE;
    int x = (int)blockIdx.x * TILE - SPLAT_SSIM_RADIUS + p.column;
    int y = tile_y * TILE - SPLAT_SSIM_RADIUS + p.row;
    p.inside = (unsigned)x < (unsigned)P.width && (unsigned)y < (unsigned)P.height;
    p.pixel = p.inside ? y * P.width + x : 0;
    return p;
}

template <bool BYTES, bool MASKED>
__device__ __forceinline__ void load_pixels(const loss_parameters &P, int tile_y, int channel, moments_tile &s)
{
    const float *image = P.image + channel * P.width * P.height;
#pragma unroll
    for (int i = 0; i < PLACES; i++) {
        place p = place_of(P, tile_y, i);
        float x = image[p.pixel], y = photo_at<BYTES>(P, p.pixel, channel);
        if (MASKED) x = is_kept<MASKED>(P, p.pixel) ? x : y;
        if (p.real) {
            s.x[p.row][p.column] = p.inside ? x : 0.0f;
            s.y[p.row][p.column] = p.inside ? y : 0.0f;
        }
    }
}

__device__ __forceinline__ void filter_moments(moments_tile &s)
{
    for (int k = threadIdx.x; k < HALO * (TILE / RUN); k += LOSS_THREADS) {
        int row = k / (TILE / RUN), column = k % (TILE / RUN) * RUN;
        float a[16], b[16];
        load_span(&s.x[row][column], a);
        load_span(&s.y[row][column], b);
        filter_to_row(a, &s.filtered[MEAN][row][column]);
#pragma unroll
        for (int i = 0; i < SPAN; i++) {
            float x = a[i], y = b[i];
            a[i] = x * x + y * y;
            b[i] = x - y;
        }
        filter_to_row(a, &s.filtered[POWER][row][column]);
        filter_to_row(b, &s.filtered[DIFFERENCE][row][column]);
#pragma unroll
        for (int i = 0; i < SPAN; i++) b[i] *= b[i];
        filter_to_row(b, &s.filtered[ERROR][row][column]);
    }
}

struct ssim_value {
    float ssim, by_mean, by_power, by_error;
};

/* SSIM of a pixel from its moments, and its derivatives. The variances are kept where mathematics has them, for a
 * render far above 1 where they are rounding alone: var(x) + var(y) >= 0 and 0 <= var(x - y) <= 2 (var(x) + var(y)), so
 * that SSIM is in [-1, 1]. NaN comes through in `difference`. */
__device__ __forceinline__ ssim_value ssim_of(float mean, float difference, float power, float error)
{
    ssim_value r;
    float other = mean - difference, squares = mean * mean + other * other, gap = difference * difference;
    float variance = fmaxf(power - squares, 0.0f);
    float inverse1 = __fdividef(1.0f, squares + SPLAT_SSIM_C1), inverse2 = __fdividef(1.0f, variance + SPLAT_SSIM_C2);
    float u = gap * inverse1, v = fminf(fmaxf(error - gap, 0.0f), 2.0f * variance) * inverse2;
    float q = 1.0f - u, c = 1.0f - v;
    r.ssim = __fmul_rn(q, c); /* rounded before it is summed, whether or not a mask stands between */
    r.by_mean = 2.0f * (c * inverse1 * (mean * u - difference) + q * inverse2 * (difference - mean * v));
    r.by_power = q * v * inverse2;
    r.by_error = -(q * inverse2);
    return r;
}

/* The tile's sums: a tree of floats in a warp (128 pixels; it rounds to 1e-7), then doubles in a fixed order. */
__device__ __forceinline__ void write_sums(const loss_parameters &P, float l1, float squared, float ssim,
                                           moments_tile &s)
{
    int warp = threadIdx.x / 32;
    l1 = splat_lanes_sum<32>(l1);
    squared = splat_lanes_sum<32>(squared);
    ssim = splat_lanes_sum<32>(ssim);
    if (threadIdx.x % 32 == 0) {
        s.sums[warp][0] = l1;
        s.sums[warp][1] = squared;
        s.sums[warp][2] = ssim;
    }
    __syncthreads();
    if (threadIdx.x < N_SUMS) {
        size_t tile = ((size_t)blockIdx.z * gridDim.y + blockIdx.y) * gridDim.x + blockIdx.x;
        double sum = 0;
        for (int w = 0; w < LOSS_WARPS; w++) sum += (double)s.sums[w][threadIdx.x];
        P.sums[tile * N_SUMS + threadIdx.x] = sum;
    }
}

template <bool BYTES, bool MASKED>
__global__ void __launch_bounds__(LOSS_THREADS, BYTES && !MASKED ? LOSS_BLOCKS : LOSS_BLOCKS - 1)
    ssim_kernel(const __grid_constant__ loss_parameters P)
{
    __shared__ moments_tile s;
    int channel = blockIdx.z, column = threadIdx.x % TILE, first = threadIdx.x / TILE * RUN;
    const int tile_y = (int)blockIdx.y;
    load_pixels<BYTES, MASKED>(P, tile_y, channel, s);
    __syncthreads();
    filter_moments(s);
    __syncthreads();
    float moments[N_MOMENTS][RUN];
#pragma unroll
    for (int f = 0; f < N_MOMENTS; f++) filter_column(s.filtered[f], first, column, moments[f]);
    float l1 = 0.0f, squared = 0.0f, ssim = 0.0f;
    int x = (int)blockIdx.x * TILE + column, top = tile_y * TILE + first;
    int plane = P.width * P.height, at = channel * plane + top * P.width + x;
#pragma unroll
    for (int i = 0; i < RUN; i++, at += P.width) {
        if (x >= P.width || top + i >= P.height) break;
        float d = s.x[first + i + SPLAT_SSIM_RADIUS][column + SPLAT_SSIM_RADIUS] -
                  s.y[first + i + SPLAT_SSIM_RADIUS][column + SPLAT_SSIM_RADIUS];
        ssim_value value = ssim_of(moments[MEAN][i], moments[DIFFERENCE][i], moments[POWER][i], moments[ERROR][i]);
        if (MASKED && !is_kept<MASKED>(P, (top + i) * P.width + x)) value = ssim_value{0.0f, 0.0f, 0.0f, 0.0f};
        l1 += fabsf(d); /* 0 where the pixel is not kept */
        squared += d * d;
        ssim += value.ssim;
        if (P.derivatives) {
            P.derivatives[at] = value.by_mean;
            P.derivatives[3 * plane + at] = value.by_power;
            P.derivatives[6 * plane + at] = value.by_error;
        } else if (P.grad_image) {
            P.grad_image[at] = P.l1_scale * sign_of(d); /* lambda is 0 */
        }
    }
    write_sums(P, l1, squared, ssim, s);
}

__device__ __forceinline__ void load_derivatives(const loss_parameters &P, int tile_y, int channel, gradient_tile &s)
{
    int plane = P.width * P.height;
    const float *from = P.derivatives + channel * plane;
#pragma unroll
    for (int i = 0; i < PLACES; i++) {
        place p = place_of(P, tile_y, i);
#pragma unroll
        for (int f = 0; f < N_DERIVATIVES; f++) {
            float value = from[3 * f * plane + p.pixel];
            if (p.real) s.derivatives[f][p.row][p.column] = p.inside ? value : 0.0f;
        }
    }
}

/* The sums of the picture, in an order that depends only on its size; one block. */
__device__ void write_totals(const loss_parameters &P)
{
    __shared__ double parts[LOSS_WARPS][3 * N_SUMS];
    double own[3 * N_SUMS] = {};
#pragma unroll
    for (int c = 0; c < 3; c++)
        for (unsigned i = threadIdx.x; i < P.n_tiles; i += LOSS_THREADS)
#pragma unroll
            for (int f = 0; f < N_SUMS; f++)
                own[N_SUMS * c + f] += P.sums[((size_t)c * P.n_tiles + i) * N_SUMS + f];
#pragma unroll
    for (int k = 0; k < 3 * N_SUMS; k++) {
        own[k] = splat_lanes_sum<32>(own[k]);
        if (threadIdx.x % 32 == 0) parts[threadIdx.x / 32][k] = own[k];
    }
    __syncthreads();
    if (threadIdx.x < 3 * N_SUMS) {
        double sum = 0;
        for (int w = 0; w < LOSS_WARPS; w++) sum += parts[w][threadIdx.x];
        parts[0][threadIdx.x] = P.totals[threadIdx.x] = sum;
    }
    __syncthreads();
    if (threadIdx.x == 0 && P.state) {
        const double l1 = parts[0][0] + parts[0][3] + parts[0][6], ssim = parts[0][2] + parts[0][5] + parts[0][8];
        P.state->l1 = l1;
        P.state->ssim = ssim;
        P.state->not_finite = !isfinite((1 - P.lambda) * (l1 / P.n_values) + P.lambda * (1 - ssim / P.n_values));
    }
}

__global__ void __launch_bounds__(LOSS_THREADS) total_kernel(const __grid_constant__ loss_parameters P)
{
    write_totals(P);
}

/* The first row of blocks is none of tiles: its first block makes the sums of the picture meanwhile. */
template <bool BYTES, bool MASKED>
__global__ void __launch_bounds__(LOSS_THREADS, LOSS_BLOCKS)
    gradient_kernel(const __grid_constant__ loss_parameters P)
{
    __shared__ gradient_tile s;
    if (blockIdx.y == 0) {
        if (blockIdx.x == 0 && blockIdx.z == 0) write_totals(P);
        return;
    }
    const int tile_y = (int)blockIdx.y - 1;
    int channel = blockIdx.z, column = threadIdx.x % TILE, first = threadIdx.x / TILE * RUN;
    load_derivatives(P, tile_y, channel, s);
    __syncthreads();
    for (int k = threadIdx.x; k < HALO * (TILE / RUN); k += LOSS_THREADS) {
        int row = k / (TILE / RUN), begin = k % (TILE / RUN) * RUN;
#pragma unroll
        for (int f = 0; f < N_DERIVATIVES; f++) {
            float v[16];
            load_span(&s.derivatives[f][row][begin], v);
            filter_to_row(v, &s.filtered[f][row][begin]);
        }
    }
    __syncthreads();
    float by[N_DERIVATIVES][RUN];
#pragma unroll
    for (int f = 0; f < N_DERIVATIVES; f++) filter_column(s.filtered[f], first, column, by[f]);
    int x = (int)blockIdx.x * TILE + column, top = tile_y * TILE + first;
    int plane = P.width * P.height, pixel = top * P.width + x;
#pragma unroll
    for (int i = 0; i < RUN; i++, pixel += P.width) {
        if (x >= P.width || top + i >= P.height) break;
        float value = P.image[channel * plane + pixel], d = value - photo_at<BYTES>(P, pixel, channel);
        float ssim = by[0][i] + 2.0f * (value * by[1][i] + d * by[2][i]);
        float gradient = P.ssim_scale * ssim + P.l1_scale * sign_of(d);
        P.grad_image[channel * plane + pixel] = is_kept<MASKED>(P, pixel) ? gradient : 0.0f;
    }
}

/* ---------------------------------------------------------------- host */

static dim3 grid_of(const loss_parameters &P)
{
    return dim3((unsigned)(P.width - 1) / TILE + 1, (unsigned)(P.height - 1) / TILE + 1, 3);
}

template <bool MASKED>
static splat_status launch_ssim(splat_cuda_backend *cuda, dim3 grid, const loss_parameters &P, splat_error *error)
{
    if (P.photo_u8)
        ssim_kernel<true, MASKED><<<grid, LOSS_THREADS, 0, cuda->stream>>>(P);
    else
        ssim_kernel<false, MASKED><<<grid, LOSS_THREADS, 0, cuda->stream>>>(P);
    CUDA_LAUNCHED("ssim");
    return SPLAT_OK;
}

template <bool MASKED>
static splat_status launch_gradient(splat_cuda_backend *cuda, dim3 grid, const loss_parameters &P, splat_error *error)
{
    grid.y++; /* the row for the sums */
    if (P.photo_u8)
        gradient_kernel<true, MASKED><<<grid, LOSS_THREADS, 0, cuda->stream>>>(P);
    else
        gradient_kernel<false, MASKED><<<grid, LOSS_THREADS, 0, cuda->stream>>>(P);
    CUDA_LAUNCHED("loss gradient");
    return SPLAT_OK;
}

static splat_status launch(splat_cuda_backend *cuda, loss_parameters P, splat_error *error)
{
    const dim3 grid = grid_of(P);
    P.n_tiles = grid.x * grid.y;
    SPLAT_TRY(P.mask ? launch_ssim<true>(cuda, grid, P, error) : launch_ssim<false>(cuda, grid, P, error));
    if (P.derivatives)
        return P.mask ? launch_gradient<true>(cuda, grid, P, error) : launch_gradient<false>(cuda, grid, P, error);
    total_kernel<<<1, LOSS_THREADS, 0, cuda->stream>>>(P);
    CUDA_LAUNCHED("loss total");
    return SPLAT_OK;
}

splat_status splat_loss_cuda_run(splat_cuda_backend *cuda, const splat_loss_cuda_job *job, splat_loss_sums *sums,
                                 splat_error *error)
{
    static_assert(sizeof(splat_loss_sums) == N_SUMS * sizeof(double), "the kernels write sums as three doubles");
    if ((int64_t)job->width * job->height > MAX_PIXELS)
        return splat_fail(error, SPLAT_ERROR_UNSUPPORTED,
                          "a picture of %dx%d pixels is too large; the loss on the GPU takes up to %d pixels",
                          job->width, job->height, MAX_PIXELS);
    const size_t plane = (size_t)job->width * job->height;
    const size_t n_tiles = ((size_t)(job->width - 1) / TILE + 1) * ((size_t)(job->height - 1) / TILE + 1);
    double n = 3.0 * (double)plane;
    bool backward = job->grad_image && job->lambda > 0; /* without SSIM the first kernel writes the gradient */
    size_t totals_bytes = splat_cuda_round_up(3 * sizeof *sums),
           sums_bytes = splat_cuda_round_up(3 * n_tiles * sizeof *sums);
    size_t derivatives_bytes = backward ? N_DERIVATIVES * 3 * plane * sizeof(float) : 0;
    void *scratch;
    SPLAT_TRY(splat_scratch_reset(&cuda->base, error));
    SPLAT_TRY(splat_scratch_take(&cuda->base, totals_bytes + sums_bytes + derivatives_bytes, &scratch, error));
    char *base = (char *)scratch;
    loss_parameters P = {};
    P.width = job->width;
    P.height = job->height;
    P.image = job->image;
    P.photo_u8 = job->photo_u8;
    P.photo_f32 = job->photo_f32;
    P.mask = job->mask;
    P.totals = (double *)base;
    P.sums = (double *)(base + totals_bytes);
    P.n_values = n;
    P.lambda = job->lambda;
    P.state = job->state;
    P.derivatives = backward ? (float *)(base + totals_bytes + sums_bytes) : NULL;
    P.grad_image = job->grad_image;
    P.l1_scale = (float)((1 - job->lambda) / n);
    P.ssim_scale = (float)(-job->lambda / n);
    SPLAT_TRY(launch(cuda, P, error));
    if (sums) return splat_backend_download(&cuda->base, sums, P.totals, 3 * sizeof *sums, error);
    return SPLAT_OK;
}

extern "C" splat_status splat_loss_cuda(splat_backend *backend, const struct splat_loss_args *args, splat_error *error)
{
    SPLAT_TRY(splat_loss_check(args, error));
    splat_cuda_backend *cuda = splat_cuda_of(backend);
    splat_loss_cuda_job job = {args->width, args->height,     args->image, args->photo_u8, args->photo_f32,
                               args->mask,  args->grad_image, (double)args->lambda_dssim,
                               args->frame ? splat_cuda_state_of(args->frame) : NULL};
    splat_loss_sums sums[3];
    SPLAT_TRY(splat_loss_cuda_run(cuda, &job, args->result ? sums : NULL, error));
    if (args->result) *args->result = splat_loss_result_of(args, sums);
    return SPLAT_OK;
}
