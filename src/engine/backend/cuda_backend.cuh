/* Declarations shared by the .cu files: the CUDA backend's state, checked calls, and a few device helpers. */
#ifndef SPLAT_BACKEND_CUDA_BACKEND_CUH
#define SPLAT_BACKEND_CUDA_BACKEND_CUH

extern "C" {
#include "backend/backend.h"
#include "backend/nvml.h"
#include "ops/frame.h"
}

#include <cuda_runtime.h>

/* frame->state: what the device knows of a view before the host does. Kernels that change the model or its gradients
 * look at `overflow` and `not_finite` first and change nothing then: the host learns of it one step later, and the
 * model is as it was. */
struct splat_cuda_view_state {
    unsigned long long n_instances; /* of all bands */
    unsigned long long n_band;      /* instances of the band in work */
    unsigned int n_visible, n_degenerate;
    unsigned int overflow;          /* the instance arrays were too small: nothing is done */
    unsigned int not_finite;        /* the loss was not finite: nothing is done */
    double l1, ssim;                /* sums over 3HW */
};

static inline splat_cuda_view_state *splat_cuda_state_of(const splat_frame *frame)
{
    return (splat_cuda_view_state *)frame->state;
}

/* One of the two staging buffers of upload_ahead. */
struct splat_cuda_staging {
    void *pinned;
    size_t bytes;
    cudaEvent_t copied; /* the copy out of `pinned` is over */
    cudaEvent_t free;   /* the work that read the slot's device memory is over */
};

struct splat_cuda_backend {
    splat_backend base; /* first: a splat_backend * is a splat_cuda_backend * */
    int device, n_multiprocessors;
    size_t total_bytes;
    cudaStream_t stream, copy_stream; /* the work; uploads ahead of it */
    cudaStream_t side_stream;         /* work that overlaps with the stream, of lower priority */
    cudaEvent_t forked, joined;       /* forked: the stream has reached the place where side work begins; joined: the
                                         side work is done */
    cudaEvent_t blended;              /* the work has come to where what the view does not see is left alone */
    cudaEvent_t coloured;             /* the side work has written the colours of the view */
    bool has_side_work, has_blended, has_coloured; /* since the last splat_cuda_join */
    splat_cuda_staging staging[2];
    int last_ahead;     /* the slot of the last upload_ahead */
    splat_cuda_view_state *results; /* [SPLAT_RESULT_SLOTS] pinned host memory */
    size_t result_values[SPLAT_RESULT_SLOTS];
    cudaEvent_t result_events[SPLAT_RESULT_SLOTS], marks[SPLAT_MARKS];
    struct splat_cuda_driver *driver;
    struct splat_cuda_peers *peers; /* NULL: alone */
    splat_nvml *nvml;   /* NULL: the driver does not tell what the process holds */
    bool maps_host;     /* the device can use registered host memory by its own address */
};

static inline splat_cuda_backend *splat_cuda_of(splat_backend *backend)
{
    return (splat_cuda_backend *)backend;
}

/* SPLAT_OK, or SPLAT_ERROR_DEVICE / MEMORY with the runtime's words. */
splat_status splat_cuda_check(cudaError_t result, const char *doing, splat_error *error);

/* cuda_side.cu: work that overlaps with the stream. Work submitted to side_stream after a fork sees all work submitted
 * to the stream before; the stream continues. After a join the stream sees the side work too. Every function of the
 * table that moves memory joins first, except upload_ahead, whose memory the side work does not touch. */
splat_status splat_cuda_fork(splat_cuda_backend *cuda, splat_error *error);
/* mark_blended: from here on, until memory moves or something joins, what is submitted to the stream neither reads nor
 * writes rows of Gaussians that the view does not see. fork_blended: as fork, but what is submitted to side_stream
 * begins as early as at that mark, where it still counts. */
splat_status splat_cuda_mark_blended(splat_cuda_backend *cuda, splat_error *error);
splat_status splat_cuda_fork_blended(splat_cuda_backend *cuda, splat_error *error);
splat_status splat_cuda_join(splat_cuda_backend *cuda, splat_error *error);
/* mark_coloured: after fork, what is submitted to side_stream from here on is not needed before project_backward.
 * join_coloured: the stream sees what was submitted before that mark; as join where there is none. */
splat_status splat_cuda_mark_coloured(splat_cuda_backend *cuda, splat_error *error);
splat_status splat_cuda_join_coloured(splat_cuda_backend *cuda, splat_error *error);

/* cuda_peers.cu */
extern const splat_peer_functions splat_cuda_peer_functions;
void splat_cuda_peers_close(splat_cuda_backend *cuda);

/* cuda_memory.cu: the memory functions of the table. Pointers may lie on the device or in blocks placed on the host. */
splat_status splat_cuda_memory_open(splat_cuda_backend *cuda, splat_error *error);
splat_status splat_cuda_map(splat_backend *backend, splat_block *block, size_t bytes, size_t reserved,
                            splat_error *error);
size_t splat_cuda_overhead(splat_backend *backend);
splat_status splat_cuda_upload(splat_backend *backend, void *device, const void *host, size_t bytes,
                               splat_error *error);
splat_status splat_cuda_download(splat_backend *backend, void *host, const void *device, size_t bytes,
                                 splat_error *error);
splat_status splat_cuda_zero(splat_backend *backend, void *device, size_t bytes, splat_error *error);
splat_status splat_cuda_copy(splat_backend *backend, void *to, const void *from, size_t bytes, splat_error *error);

#define CUDA_TRY(doing, call)                                                                                          \
    do {                                                                                                               \
        splat_status cuda_status_ = splat_cuda_check((call), doing, error);                                            \
        if (cuda_status_ != SPLAT_OK) return cuda_status_;                                                             \
    } while (0)

/* After a launch, in every build. */
#define CUDA_LAUNCHED(name) CUDA_TRY("launch " name, cudaGetLastError())

static inline unsigned splat_cuda_blocks(uint64_t n, unsigned threads)
{
    return (unsigned)((n + threads - 1) / threads);
}

/* Arrays cut from one block begin at multiples of 256 bytes. */
static inline size_t splat_cuda_round_up(size_t bytes)
{
    return (bytes + 255) / 256 * 256;
}

/* The CUDA versions of the ops. */
extern "C" {
#define SPLAT_OP(name)                                                                                                 \
    splat_status splat_##name##_cuda(struct splat_backend *backend, const struct splat_##name##_args *args,            \
                                     splat_error *error);
#include "ops/ops.def"
#undef SPLAT_OP
}

#ifdef __CUDACC__
/* ac - b^2 to an ulp or two, also where the products nearly cancel (Kahan). */
__device__ __forceinline__ float splat_determinant(float a, float b, float c)
{
    float square = b * b, lost = fmaf(-b, b, square);
    return fmaf(a, c, -square) + lost;
}

/* Needles with ac / (ac - b^2) beyond this are not culled: rounding of their power could pass any bound. */
#define SPLAT_CULL_RATIO 3e5f

/* Over LANES neighbours of a warp, in all of them; always in the same order. */
template <int LANES, typename NUMBER>
__device__ __forceinline__ NUMBER splat_lanes_sum(NUMBER value)
{
#pragma unroll
    for (int offset = LANES / 2; offset > 0; offset /= 2) value += __shfl_xor_sync(0xffffffffu, value, offset);
    return value;
}

/* Sums two values over a block of N_WARPS whole warps, in its thread 0; always in the same order. parts: shared. */
template <int N_WARPS> __device__ __forceinline__ double2 splat_block_sum2(double a, double b, double2 parts[N_WARPS])
{
    const unsigned thread = threadIdx.y * blockDim.x + threadIdx.x;
    a = splat_lanes_sum<32>(a);
    b = splat_lanes_sum<32>(b);
    if (thread % 32 == 0) parts[thread / 32] = make_double2(a, b);
    __syncthreads();
    double2 sum = make_double2(0, 0);
    if (thread == 0)
        for (int w = 0; w < N_WARPS; w++) {
            sum.x += parts[w].x;
            sum.y += parts[w].y;
        }
    return sum;
}

/* One number, or two or three that go together. */
__device__ __forceinline__ double splat_add(double a, double b)
{
    return a + b;
}

__device__ __forceinline__ double2 splat_add(const double2 &a, const double2 &b)
{
    return make_double2(a.x + b.x, a.y + b.y);
}

__device__ __forceinline__ double3 splat_add(const double3 &a, const double3 &b)
{
    return make_double3(a.x + b.x, a.y + b.y, a.z + b.z);
}

/* The value of the lane `offset` further on. */
__device__ __forceinline__ double splat_lane_after(double value, int offset)
{
    return __shfl_down_sync(0xffffffffu, value, offset);
}

__device__ __forceinline__ double2 splat_lane_after(const double2 &value, int offset)
{
    return make_double2(splat_lane_after(value.x, offset), splat_lane_after(value.y, offset));
}

__device__ __forceinline__ double3 splat_lane_after(const double3 &value, int offset)
{
    return make_double3(splat_lane_after(value.x, offset), splat_lane_after(value.y, offset),
                        splat_lane_after(value.z, offset));
}

/* Sum over a one-dimensional block of N_WARPS whole warps, in its thread 0: neighbours first, then the warps in their
 * order, as cub::BLOCK_REDUCE_WARP_REDUCTIONS. parts: shared. */
template <int N_WARPS, typename NUMBERS>
__device__ __forceinline__ NUMBERS splat_block_sum(NUMBERS sum, NUMBERS (&parts)[N_WARPS])
{
#pragma unroll
    for (int offset = 1; offset < 32; offset *= 2) sum = splat_add(sum, splat_lane_after(sum, offset));
    if (threadIdx.x % 32 == 0) parts[threadIdx.x / 32] = sum;
    __syncthreads();
    if (threadIdx.x == 0)
        for (int w = 1; w < N_WARPS; w++) sum = splat_add(sum, parts[w]);
    return sum;
}

/* Over the whole warp; one instruction from sm_80 on. */
__device__ __forceinline__ unsigned splat_warp_sum_u32(unsigned value)
{
#if __CUDA_ARCH__ >= 800
    return __reduce_add_sync(0xffffffffu, value);
#else
    return splat_lanes_sum<32>(value);
#endif
}

__device__ __forceinline__ unsigned splat_warp_max_u32(unsigned value)
{
#if __CUDA_ARCH__ >= 800
    return __reduce_max_sync(0xffffffffu, value);
#else
    for (int offset = 16; offset > 0; offset /= 2) value = max(value, __shfl_xor_sync(0xffffffffu, value, offset));
    return value;
#endif
}
#endif

#endif
