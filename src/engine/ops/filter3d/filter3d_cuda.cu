/* filter3d on CUDA: a thread a Gaussian, the cameras in batches that fit a launch's parameters (constant memory), so
 * that nothing is allocated, copied or waited for. */
#include "backend/cuda_backend.cuh"

extern "C" {
#include "ops/filter3d/filter3d.h"
#include "ops/filter3d/filter3d_camera.h"
}

#define FILTER_THREADS 256
#define BATCH 56 /* cameras of a launch: its parameters stay below 4 KiB */

struct filter_parameters {
    const float *means;
    float *filter_3d;  /* between launches: the least z / fx so far, infinity when not seen */
    unsigned *largest; /* bits of the largest f of the seen; they order as the floats, which are not negative */
    uint32_t n, n_cameras;
    bool first, last;  /* batch */
    splat_filter3d_camera cameras[BATCH];
};

static_assert(sizeof(filter_parameters) <= 4096, "the parameters of a launch on any device");

__global__ void __launch_bounds__(FILTER_THREADS) filter3d_kernel(const __grid_constant__ filter_parameters P)
{
    __shared__ float of_warp[FILTER_THREADS / 32];
    uint32_t i = blockIdx.x * FILTER_THREADS + threadIdx.x, lane = threadIdx.x % 32;
    float best = INFINITY, f = 0.0f;
    if (!P.first && i < P.n) best = P.filter_3d[i];
    /* Threads beyond the end work on the last mean: the loop is not divergent, so a camera is read once for a warp. */
    const float *mean = P.means + 3 * (size_t)min(i, P.n - 1);
    float x = mean[0], y = mean[1], z = mean[2];
    /* A mean that is not finite gives NaN or infinite coordinates, which never beat `best`. Neighbours in space are
     * neighbours in memory: for most cameras a whole warp has seen a nearer one. */
#pragma unroll 4
    for (uint32_t c = 0; c < P.n_cameras; c++) {
        const splat_filter3d_camera &k = P.cameras[c];
        float cz = k.rows[2][0] * x + k.rows[2][1] * y + k.rows[2][2] * z + k.shift[2];
        float distance = cz * k.inverse_fx;
        if (!(cz > 0.2f) || !(distance < best)) continue;
        float cx = k.rows[0][0] * x + k.rows[0][1] * y + k.rows[0][2] * z + k.shift[0];
        float cy = k.rows[1][0] * x + k.rows[1][1] * y + k.rows[1][2] * z + k.shift[1];
        bool sees = (cx >= k.low[0] * cz) & (cx <= k.high[0] * cz) & (cy >= k.low[1] * cz) & (cy <= k.high[1] * cz);
        best = sees ? distance : best;
    }
    if (P.last) best *= sqrtf(0.2f);
    if (i < P.n) {
        P.filter_3d[i] = best;
        f = best < INFINITY ? best : 0.0f;
    }
    if (!P.last) return;
#pragma unroll
    for (int offset = 16; offset > 0; offset /= 2) f = fmaxf(f, __shfl_xor_sync(0xffffffffu, f, offset));
    if (lane == 0) of_warp[threadIdx.x / 32] = f;
    __syncthreads();
    if (threadIdx.x > 0) return;
    for (int w = 1; w < FILTER_THREADS / 32; w++) f = fmaxf(f, of_warp[w]);
    if (f > 0.0f) atomicMax(P.largest, __float_as_uint(f));
}

/* Gives an unseen Gaussian the largest filter of the seen ones, here or elsewhere. */
__global__ void __launch_bounds__(FILTER_THREADS)
    fill_kernel(float *filter_3d, uint32_t n, const unsigned *largest, float least)
{
    uint32_t i = blockIdx.x * FILTER_THREADS + threadIdx.x;
    if (i < n && !(filter_3d[i] < INFINITY)) filter_3d[i] = fmaxf(__uint_as_float(*largest), least);
}

extern "C" splat_status splat_filter3d_cuda(splat_backend *backend, const struct splat_filter3d_args *args,
                                            splat_error *error)
{
    splat_cuda_backend *cuda = splat_cuda_of(backend);
    if (args->largest) *args->largest = 0;
    if (args->n == 0) return SPLAT_OK;
    filter_parameters P = {};
    P.means = args->means;
    P.filter_3d = args->filter_3d;
    SPLAT_TRY(splat_scratch_reset(backend, error));
    SPLAT_TRY(splat_scratch_take(backend, sizeof *P.largest, (void **)&P.largest, error));
    P.n = args->n;
    CUDA_TRY("clear memory", cudaMemsetAsync(P.largest, 0, sizeof *P.largest, cuda->stream));
    unsigned blocks = splat_cuda_blocks(P.n, FILTER_THREADS);
    uint32_t begin = 0;
    do {
        uint32_t left = args->n_cameras - begin;
        P.n_cameras = left < BATCH ? left : BATCH;
        P.first = begin == 0;
        P.last = left <= BATCH;
        for (uint32_t c = 0; c < P.n_cameras; c++) P.cameras[c] = splat_filter3d_camera_of(&args->cameras[begin + c]);
        filter3d_kernel<<<blocks, FILTER_THREADS, 0, cuda->stream>>>(P);
        CUDA_LAUNCHED("filter3d");
        begin += P.n_cameras;
    } while (begin < args->n_cameras);
    fill_kernel<<<blocks, FILTER_THREADS, 0, cuda->stream>>>(P.filter_3d, P.n, P.largest, args->least);
    CUDA_LAUNCHED("filter3d fill");
    if (!args->largest) return SPLAT_OK;
    CUDA_TRY("read a filter", cudaMemcpyAsync(args->largest, P.largest, sizeof *P.largest, cudaMemcpyDeviceToHost,
                                              cuda->stream)); /* bits of a float */
    CUDA_TRY("read a filter", cudaStreamSynchronize(cuda->stream));
    return SPLAT_OK;
}
