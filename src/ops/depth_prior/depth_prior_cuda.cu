/* The ops of known depth on CUDA: a thread a Gaussian, a thread a pixel, and one block for the points of a view. Sums
 * by block, then in the order of the blocks. */
#include "backend/cuda_backend.cuh"

extern "C" {
#include "ops/depth_prior/depth_prior_math.h"
#include "ops/geometry/geometry_math.h"
}

#define FEATURE_THREADS 128
#define MAP_THREADS 256 /* splat_depth_map_scratch_bytes counts on it */
#define POINT_THREADS 256

struct depth_view {
    uint32_t n;
    const uint32_t *ids;
    const float *depth;
    float ahead[3]; /* the camera's axis */
    float4 *features;
    const splat_grad2d *gradients;
    splat_grad2d *grad2d;
    float *grad_means;
    const splat_cuda_view_state *state;
};

static depth_view depth_view_of(const splat_frame *frame)
{
    depth_view V = {};
    V.n = frame->n_visible;
    V.ids = frame->ids;
    V.depth = frame->depth;
    for (int k = 0; k < 3; k++) V.ahead[k] = frame->camera.rotation[6 + k];
    V.state = splat_cuda_state_of(frame);
    return V;
}

/* Entries that are not visible have depth 0 and are left out. */
__global__ void __launch_bounds__(FEATURE_THREADS) depth_features_kernel(const __grid_constant__ depth_view V)
{
    const uint32_t v = blockIdx.x * FEATURE_THREADS + threadIdx.x;
    if (v >= V.n || V.depth[v] == 0.0f) return;
    const float z = V.depth[v];
    V.features[v] = make_float4(1.0f / z, z, 0.0f, 0.0f);
}

extern "C" splat_status splat_depth_features_cuda(splat_backend *backend, const struct splat_depth_features_args *args,
                                                  splat_error *error)
{
    splat_cuda_backend *cuda = splat_cuda_of(backend);
    depth_view V = depth_view_of(args->frame);
    V.features = (float4 *)args->features;
    if (V.n == 0) return SPLAT_OK;
    depth_features_kernel<<<splat_cuda_blocks(V.n, FEATURE_THREADS), FEATURE_THREADS, 0, cuda->stream>>>(V);
    CUDA_LAUNCHED("depth_features");
    return SPLAT_OK;
}

__global__ void __launch_bounds__(FEATURE_THREADS) depth_features_backward_kernel(const __grid_constant__ depth_view V)
{
    const uint32_t v = blockIdx.x * FEATURE_THREADS + threadIdx.x;
    if (v >= V.n || V.state->overflow || V.state->not_finite || V.depth[v] == 0.0f) return;
    const splat_grad2d g = V.gradients[v];
    const float along = splat_depth_along_backward(V.depth[v], g.channel);
    float *mean = V.grad_means + 3 * (size_t)V.ids[v];
    splat_geometry_screen_add(&V.grad2d[v], &g);
    for (int k = 0; k < 3; k++) mean[k] += V.ahead[k] * along;
}

extern "C" splat_status splat_depth_features_backward_cuda(splat_backend *backend,
                                                           const struct splat_depth_features_backward_args *args,
                                                           splat_error *error)
{
    splat_cuda_backend *cuda = splat_cuda_of(backend);
    depth_view V = depth_view_of(args->frame);
    V.gradients = args->gradients;
    V.grad2d = args->frame->grad2d;
    V.grad_means = args->grad_means;
    if (V.n == 0) return SPLAT_OK;
    depth_features_backward_kernel<<<splat_cuda_blocks(V.n, FEATURE_THREADS), FEATURE_THREADS, 0, cuda->stream>>>(V);
    CUDA_LAUNCHED("depth_features_backward");
    return SPLAT_OK;
}

__global__ void __launch_bounds__(MAP_THREADS)
    depth_map_kernel(const __grid_constant__ splat_depth_map_args args, float scale, size_t plane, double *sums)
{
    __shared__ double2 parts[MAP_THREADS / 32];
    const size_t i = (size_t)blockIdx.x * MAP_THREADS + threadIdx.x;
    float loss = 0.0f, sign;
    if (i < plane) {
        loss = splat_depth_map_pixel(&args, i, &sign);
        args.gradient[i] = scale * sign;
    }
    const double2 sum = splat_block_sum2<MAP_THREADS / 32>(loss, 0.0, parts);
    if (threadIdx.x == 0) sums[blockIdx.x] = sum.x;
}

/* One block. */
__global__ void __launch_bounds__(MAP_THREADS)
    depth_map_sum_kernel(const double *sums, unsigned n, double n_pixels, double *result)
{
    __shared__ double2 parts[MAP_THREADS / 32];
    double a = 0;
    for (unsigned i = threadIdx.x; i < n; i += MAP_THREADS) a += sums[i];
    const double2 sum = splat_block_sum2<MAP_THREADS / 32>(a, 0.0, parts);
    if (threadIdx.x == 0) *result = sum.x / n_pixels;
}

extern "C" splat_status splat_depth_map_cuda(splat_backend *backend, const struct splat_depth_map_args *args,
                                             splat_error *error)
{
    SPLAT_TRY(splat_depth_prior_check(args->width, args->height, error));
    splat_cuda_backend *cuda = splat_cuda_of(backend);
    const size_t plane = (size_t)args->width * args->height;
    const unsigned n_blocks = splat_cuda_blocks(plane, MAP_THREADS);
    void *sums;
    SPLAT_TRY(splat_scratch_reset(backend, error));
    SPLAT_TRY(splat_scratch_take(backend, n_blocks * sizeof(double), &sums, error));
    depth_map_kernel<<<n_blocks, MAP_THREADS, 0, cuda->stream>>>(*args, args->weight / (float)plane, plane,
                                                                (double *)sums);
    CUDA_LAUNCHED("depth_map");
    depth_map_sum_kernel<<<1, MAP_THREADS, 0, cuda->stream>>>((const double *)sums, n_blocks, (double)plane,
                                                             args->result);
    CUDA_LAUNCHED("depth_map sum");
    return SPLAT_OK;
}

/* One block: a view has a few thousand points at most, and their sum has an order. No two points share a pixel. */
__global__ void __launch_bounds__(POINT_THREADS)
    depth_points_kernel(const __grid_constant__ splat_depth_points_args args)
{
    __shared__ double2 parts[POINT_THREADS / 32];
    double loss = 0, count = 0;
    for (uint32_t i = threadIdx.x; i < args.n; i += POINT_THREADS) {
        int counts;
        loss += splat_depth_points_one(&args, i, &counts);
        count += counts;
    }
    const double2 sum = splat_block_sum2<POINT_THREADS / 32>(loss, count, parts);
    if (threadIdx.x != 0) return;
    args.result[0] = sum.x;
    args.result[1] = sum.y;
}

extern "C" splat_status splat_depth_points_cuda(splat_backend *backend, const struct splat_depth_points_args *args,
                                                splat_error *error)
{
    SPLAT_TRY(splat_depth_prior_check(args->width, args->height, error));
    splat_cuda_backend *cuda = splat_cuda_of(backend);
    depth_points_kernel<<<1, POINT_THREADS, 0, cuda->stream>>>(*args);
    CUDA_LAUNCHED("depth_points");
    return SPLAT_OK;
}
