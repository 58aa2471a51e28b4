/* geometry, geometry_features, geometry_features_backward on CUDA. geometry walks as raster does (walk_cuda.cuh);
 * geometry_backward is a variant of raster_backward_cuda.cu. */
#include "ops/raster/walk_cuda.cuh"

extern "C" {
#include "ops/geometry/geometry_math.h"
}

#define GEOMETRY_THREADS (32 * TILE_PATCHES)
#define FEATURE_THREADS 128

/* A pixel on its way from the front. */
struct geometry_pixel {
    float2 at;
    float T, depth, x, y, z, median;
    uint32_t last;
    bool done;
};

__device__ __forceinline__ void add_entry(geometry_pixel &q, float4 channels, float weight, float T_after,
                                          uint32_t)
{
    q.depth += channels.x * weight;
    q.x += channels.y * weight;
    q.y += channels.z * weight;
    q.z += channels.w * weight;
    if (q.T >= 0.5f && T_after < 0.5f) q.median = channels.x;
}

/* maps: P.image. */
__global__ void __launch_bounds__(GEOMETRY_THREADS)
    geometry_kernel(const __grid_constant__ raster_parameters P, bool normalize, float *median)
{
    __shared__ staged<true> warps[TILE_PATCHES];
    staged<true> &s = warps[threadIdx.x / 32];
    const uint32_t tile = P.tile_order[blockIdx.x];
    lane_pixels p = pixels_of(P, tile, threadIdx.x / 32);
    tile_list list = list_of(P, tile);
    geometry_pixel q = {position_of(P, p, 0), 1.0f, 0.0f, 0.0f, 0.0f, 0.0f, 0.0f, 0, !is_inside(P, p, 0)};
    walk_forward(P, list, p, q, s);
    if (!is_inside(P, p, 0)) return;
    size_t at = index_of(P, p, 0), plane = (size_t)P.width * P.height;
    if (normalize) {
        float alpha = 1.0f - q.T, length = sqrtf(q.x * q.x + q.y * q.y + q.z * q.z);
        float per_length = length > 0.0f ? 1.0f / length : 0.0f;
        q.depth = alpha > 0.0f ? q.depth / alpha : 0.0f;
        q.x *= per_length;
        q.y *= per_length;
        q.z *= per_length;
    }
    P.image[at] = q.depth;
    P.image[plane + at] = q.x;
    P.image[2 * plane + at] = q.y;
    P.image[3 * plane + at] = q.z;
    P.transmittance[at] = q.T;
    P.last[at] = q.last;
    if (median) median[at] = q.median;
}

extern "C" splat_status splat_geometry_cuda(splat_backend *backend, const struct splat_geometry_args *args,
                                            splat_error *error)
{
    splat_cuda_backend *cuda = splat_cuda_of(backend);
    raster_parameters P = parameters_of(args->frame, NULL);
    P.features = (const float4 *)args->features;
    P.image = args->maps;
    geometry_kernel<<<tiles_of_band(args->frame), GEOMETRY_THREADS, 0, cuda->stream>>>(P, args->normalize,
                                                                                       args->median);
    CUDA_LAUNCHED("geometry");
    return SPLAT_OK;
}

/* ---------------------------------------------------------------- a thread a Gaussian */

struct feature_parameters {
    uint32_t n;
    splat_tensors p;
    float rotation[9], center[3];
    int world;
    const uint32_t *ids;
    const float *depth;
    float4 *features;
    const splat_grad2d *gradients;
    splat_grad2d *grad2d;
    float *grad_means, *grad_rotations;
    const splat_cuda_view_state *state;
};

static feature_parameters feature_parameters_of(const splat_gaussians *gaussians, const splat_frame *frame, bool world)
{
    feature_parameters F = {};
    F.n = frame->n_visible;
    F.p = gaussians->p;
    for (int i = 0; i < 9; i++) F.rotation[i] = frame->camera.rotation[i];
    for (int i = 0; i < 3; i++) F.center[i] = frame->camera.center[i];
    F.world = world;
    F.ids = frame->ids;
    F.depth = frame->depth;
    F.state = splat_cuda_state_of(frame);
    return F;
}

/* Entries that are not visible have depth 0 and are left out. */
__global__ void __launch_bounds__(FEATURE_THREADS) features_kernel(const __grid_constant__ feature_parameters F)
{
    uint32_t v = blockIdx.x * FEATURE_THREADS + threadIdx.x;
    if (v >= F.n || F.depth[v] == 0.0f) return;
    size_t i = F.ids[v];
    float feature[4];
    splat_geometry_feature(F.p.means + 3 * i, F.p.scales + 3 * i, F.p.rotations + 4 * i, F.depth[v], F.rotation,
                           F.center, F.world, feature);
    F.features[v] = make_float4(feature[0], feature[1], feature[2], feature[3]);
}

__global__ void __launch_bounds__(FEATURE_THREADS)
    features_backward_kernel(const __grid_constant__ feature_parameters F)
{
    uint32_t v = blockIdx.x * FEATURE_THREADS + threadIdx.x;
    if (v >= F.n || F.state->overflow || F.state->not_finite || F.depth[v] == 0.0f) return;
    size_t i = F.ids[v];
    const splat_grad2d g = F.gradients[v];
    splat_geometry_screen_add(&F.grad2d[v], &g);
    splat_geometry_feature_backward(F.p.means + 3 * i, F.p.scales + 3 * i, F.p.rotations + 4 * i, F.rotation, F.center,
                                    F.world, g.channel, F.grad_means + 3 * i, F.grad_rotations + 4 * i);
}

extern "C" splat_status splat_geometry_features_cuda(splat_backend *backend,
                                                     const struct splat_geometry_features_args *args,
                                                     splat_error *error)
{
    splat_cuda_backend *cuda = splat_cuda_of(backend);
    feature_parameters F = feature_parameters_of(args->gaussians, args->frame, args->world);
    F.features = (float4 *)args->features;
    if (F.n == 0) return SPLAT_OK;
    features_kernel<<<splat_cuda_blocks(F.n, FEATURE_THREADS), FEATURE_THREADS, 0, cuda->stream>>>(F);
    CUDA_LAUNCHED("geometry_features");
    return SPLAT_OK;
}

extern "C" splat_status splat_geometry_features_backward_cuda(splat_backend *backend,
                                                              const struct splat_geometry_features_backward_args *args,
                                                              splat_error *error)
{
    splat_cuda_backend *cuda = splat_cuda_of(backend);
    feature_parameters F = feature_parameters_of(args->gaussians, args->frame, args->world);
    F.gradients = args->gradients;
    F.grad2d = args->frame->grad2d;
    F.grad_means = args->tensors->means;
    F.grad_rotations = args->tensors->rotations;
    if (F.n == 0) return SPLAT_OK;
    features_backward_kernel<<<splat_cuda_blocks(F.n, FEATURE_THREADS), FEATURE_THREADS, 0, cuda->stream>>>(F);
    CUDA_LAUNCHED("geometry_features_backward");
    return SPLAT_OK;
}
