/* multi_view on CUDA: a thread a pixel, then a warp a patch; sums by block, then in the order of the blocks. */
#include "backend/cuda_backend.cuh"

extern "C" {
#include "ops/multi_view/multi_view_math.h"
}

#define BLOCK_X SPLAT_MULTI_VIEW_BLOCK_X
#define BLOCK_Y SPLAT_MULTI_VIEW_BLOCK_Y
#define THREADS (BLOCK_X * BLOCK_Y)
#define N_WARPS (THREADS / 32)
#define PATCH SPLAT_MULTI_VIEW_PATCH
#define OFFSETS ((PATCH + 31) / 32) /* of a lane, at most */
static_assert(N_WARPS == SPLAT_MULTI_VIEW_RUNS, "a block has as many warps as patches that are summed together");

__global__ void __launch_bounds__(THREADS) grey_kernel(const uint8_t *photo, size_t n, float *grey)
{
    const size_t i = (size_t)blockIdx.x * THREADS + threadIdx.x;
    if (i < n) grey[i] = splat_luma(photo + 3 * i);
}

__global__ void __launch_bounds__(THREADS)
    first_kernel(const __grid_constant__ splat_multi_view_job job, double2 *sums)
{
    __shared__ double2 parts[N_WARPS];
    const int x = blockIdx.x * BLOCK_X + threadIdx.x, y = blockIdx.y * BLOCK_Y + threadIdx.y;
    float loss = 0.0f;
    int counts = 0;
    if (x < job.maps.width && y < job.maps.height)
        counts = splat_multi_view_first(&job, (size_t)y * (size_t)job.maps.width + (size_t)x, &loss);
    double2 sum = splat_block_sum2<N_WARPS>(loss, counts, parts);
    if (threadIdx.x == 0 && threadIdx.y == 0) sums[blockIdx.y * gridDim.x + blockIdx.x] = sum;
}

/* The mean and the count of n sums; one block. */
__global__ void __launch_bounds__(THREADS) mean_kernel(const double2 *sums, unsigned n, double *result)
{
    __shared__ double2 parts[N_WARPS];
    double a = 0, b = 0;
    for (unsigned i = threadIdx.x; i < n; i += THREADS) {
        a += sums[i].x;
        b += sums[i].y;
    }
    double2 sum = splat_block_sum2<N_WARPS>(a, b, parts);
    if (threadIdx.x != 0) return;
    result[0] = sum.y > 0 ? sum.x / sum.y : 0;
    result[1] = sum.y;
}

__global__ void __launch_bounds__(THREADS)
    spread_kernel(const __grid_constant__ splat_multi_view_job job, const double *result)
{
    const unsigned at = blockIdx.x * THREADS + threadIdx.x;
    if (at < job.n_pixels) splat_multi_view_spread(&job, at, (float)((double)job.geometric_weight / result[1]));
}

/* The first pixel of a run that counts, from its random start; UINT32_MAX when none does. The same in all lanes. */
__device__ __forceinline__ uint32_t choose_pixel(const splat_multi_view_job &job, uint32_t run, unsigned lane)
{
    uint32_t begin, n = splat_multi_view_run(&job, run, &begin), start = splat_multi_view_start(&job, run, n);
    for (uint32_t first = 0; first < n; first += 32) {
        const uint32_t pixel = begin + (start + first + lane) % n;
        const unsigned found = __ballot_sync(0xffffffffu, first + lane < n && job.weights[pixel] > 0.0f);
        if (found) return __shfl_sync(0xffffffffu, pixel, __ffs(found) - 1);
    }
    return UINT32_MAX;
}

/* Compares the patch around a pixel: returns true if it counts (the same in all lanes), with its loss and its
 * gradient. */
__device__ __forceinline__ int compare(const splat_multi_view_job &job, uint32_t pixel, unsigned lane, float *loss,
                                       float g[4])
{
    splat_multi_view_patch patch;
    float a[OFFSETS], b[OFFSETS], s[OFFSETS], pi[3] = {0.0f, 0.0f, 0.0f}, e, of_a, of_b;
    int seen = splat_multi_view_begin(&job, pixel, &patch);
    if (!seen) return 0;
#pragma unroll
    for (int i = 0; i < OFFSETS; i++) {
        a[i] = b[i] = s[i] = 0.0f;
        if (lane + 32 * i < PATCH) seen &= splat_multi_view_offset(&job, &patch, lane + 32 * i, &a[i], &b[i], &s[i]);
    }
    if (!__all_sync(0xffffffffu, seen)) return 0;
    float mean_a = 0.0f, mean_b = 0.0f, va = 0.0f, vb = 0.0f, cov = 0.0f;
#pragma unroll
    for (int i = 0; i < OFFSETS; i++) {
        mean_a += a[i];
        mean_b += b[i];
    }
    mean_a = splat_lanes_sum<32>(mean_a) / (float)PATCH;
    mean_b = splat_lanes_sum<32>(mean_b) / (float)PATCH;
#pragma unroll
    for (int i = 0; i < OFFSETS; i++) {
        const bool inside = lane + 32 * i < PATCH;
        a[i] = inside ? a[i] - mean_a : 0.0f;
        b[i] = inside ? b[i] - mean_b : 0.0f;
        va += a[i] * a[i];
        vb += b[i] * b[i];
        cov += a[i] * b[i];
    }
    va = splat_lanes_sum<32>(va);
    vb = splat_lanes_sum<32>(vb);
    cov = splat_lanes_sum<32>(cov);
    if (!splat_multi_view_score(va, vb, cov, &e, &of_a, &of_b)) return 0;
    const float weight = job.weights[pixel];
#pragma unroll
    for (int i = 0; i < OFFSETS; i++) {
        float ray[3];
        const float along = weight * (of_a * a[i] + of_b * b[i]) * s[i];
        splat_multi_view_ray(&job, &patch, lane + 32 * i, ray);
#pragma unroll
        for (int k = 0; k < 3; k++) pi[k] += along * ray[k];
    }
#pragma unroll
    for (int k = 0; k < 3; k++) pi[k] = splat_lanes_sum<32>(pi[k]);
    splat_multi_view_of_plane(&patch, pi, g);
    *loss = weight * e;
    return 1;
}

__global__ void __launch_bounds__(THREADS)
    patch_kernel(const __grid_constant__ splat_multi_view_job job, double2 *sums)
{
    __shared__ double2 parts[N_WARPS];
    const unsigned warp = threadIdx.x / 32, lane = threadIdx.x % 32;
    const uint32_t run = blockIdx.x * N_WARPS + warp;
    float loss = 0.0f, g[4] = {0.0f, 0.0f, 0.0f, 0.0f};
    int counts = 0;
    if (run < job.n_patches) {
        const uint32_t pixel = choose_pixel(job, run, lane);
        if (pixel != UINT32_MAX) counts = compare(job, pixel, lane, &loss, g);
        if (lane == 0) {
            job.gradients[run].pixel = counts ? pixel : UINT32_MAX;
            for (int k = 0; k < 4; k++) job.gradients[run].g[k] = g[k];
        }
    }
    const bool speaks = lane == 0 && counts;
    double2 sum = splat_block_sum2<N_WARPS>(speaks ? loss : 0.0, speaks, parts);
    if (threadIdx.x == 0) sums[blockIdx.x] = sum;
}

/* Each pixel is in one run. */
__global__ void __launch_bounds__(THREADS)
    patch_spread_kernel(const __grid_constant__ splat_multi_view_job job, const double *result)
{
    const unsigned run = blockIdx.x * THREADS + threadIdx.x;
    if (run >= job.n_patches) return;
    const splat_multi_view_gradient g = job.gradients[run];
    if (g.pixel == UINT32_MAX) return;
    const float scale = (float)((double)job.photometric_weight / result[1]);
    for (int k = 0; k < 4; k++) job.grad_maps[(size_t)k * job.n_pixels + g.pixel] += scale * g.g[k];
}

static splat_status photometric(splat_backend *backend, const struct splat_multi_view_args *args,
                                splat_multi_view_job *job, double2 *sums, splat_error *error)
{
    splat_cuda_backend *cuda = splat_cuda_of(backend);
    const splat_multi_view_side *sides[2] = {&args->reference, &args->neighbor};
    const unsigned n_blocks = splat_cuda_blocks(job->n_patches, N_WARPS);
    void *grey[2];
    for (int i = 0; i < 2; i++) {
        const size_t n = splat_camera_pixels(sides[i]->photo_camera);
        SPLAT_TRY(splat_scratch_take(backend, splat_multi_view_grey_bytes(n), &grey[i], error));
        grey_kernel<<<splat_cuda_blocks(n, THREADS), THREADS, 0, cuda->stream>>>(sides[i]->photo, n, (float *)grey[i]);
        CUDA_LAUNCHED("multi_view grey");
    }
    job->grey = (float *)grey[0];
    job->neighbor_grey = (float *)grey[1];
    patch_kernel<<<n_blocks, THREADS, 0, cuda->stream>>>(*job, sums);
    CUDA_LAUNCHED("multi_view patches");
    mean_kernel<<<1, THREADS, 0, cuda->stream>>>(sums, n_blocks, args->result + 2);
    CUDA_LAUNCHED("multi_view sum of patches");
    patch_spread_kernel<<<splat_cuda_blocks(job->n_patches, THREADS), THREADS, 0, cuda->stream>>>(*job,
                                                                                                  args->result + 2);
    CUDA_LAUNCHED("multi_view gradient of patches");
    return SPLAT_OK;
}

extern "C" splat_status splat_multi_view_cuda(splat_backend *backend, const struct splat_multi_view_args *args,
                                              splat_error *error)
{
    splat_cuda_backend *cuda = splat_cuda_of(backend);
    splat_multi_view_job job = splat_multi_view_job_of(args);
    const dim3 grid(splat_cuda_blocks(job.maps.width, BLOCK_X), splat_cuda_blocks(job.maps.height, BLOCK_Y));
    const dim3 block(BLOCK_X, BLOCK_Y);
    const size_t n_sums = (size_t)grid.x * grid.y, n_patch_sums = splat_multi_view_patch_sums(job.n_patches);
    void *field, *gradients, *sums;
    SPLAT_TRY(splat_scratch_reset(backend, error));
    SPLAT_TRY(splat_scratch_take(backend, splat_multi_view_field_bytes(job.n_pixels), &field, error));
    SPLAT_TRY(splat_scratch_take(backend, splat_multi_view_gradients_bytes(job.n_patches), &gradients, error));
    SPLAT_TRY(splat_scratch_take(backend, splat_multi_view_sums_bytes(n_sums + n_patch_sums), &sums, error));
    job.weights = (float *)field;
    job.slopes = job.weights + job.n_pixels;
    job.gradients = (splat_multi_view_gradient *)gradients;
    first_kernel<<<grid, block, 0, cuda->stream>>>(job, (double2 *)sums);
    CUDA_LAUNCHED("multi_view");
    mean_kernel<<<1, THREADS, 0, cuda->stream>>>((const double2 *)sums, (unsigned)n_sums, args->result);
    CUDA_LAUNCHED("multi_view sum");
    spread_kernel<<<splat_cuda_blocks(job.n_pixels, THREADS), THREADS, 0, cuda->stream>>>(job, args->result);
    CUDA_LAUNCHED("multi_view gradient");
    if (job.n_patches) return photometric(backend, args, &job, (double2 *)sums + n_sums, error);
    CUDA_TRY("clear sums", cudaMemsetAsync(args->result + 2, 0, 2 * sizeof(double), cuda->stream));
    return SPLAT_OK;
}
