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
    float T, distance, x, y, z;
    uint32_t middle; /* the entry that takes T below 1/2, or NO_ENTRY */
    uint32_t last;
    bool done;
};

#define NO_ENTRY UINT32_MAX

__device__ __forceinline__ void add_entry(geometry_pixel &q, float4 channels, float weight, float T_after, uint32_t id)
{
    q.distance += channels.x * weight;
    q.x += channels.y * weight;
    q.y += channels.z * weight;
    q.z += channels.w * weight;
    if (q.T >= 0.5f && T_after < 0.5f) q.middle = id;
}

/* The output after the walk. */
struct geometry_output {
    splat_plane_rays rays;
    bool normalize;
    float *median;
    const float2 *spans;
};

__device__ __forceinline__ float median_of(const raster_parameters &P, const geometry_output &O, uint32_t id,
                                           const float ray[3])
{
    if (id == NO_ENTRY) return 0.0f;
    const float4 feature = P.features[id];
    const float2 span = O.spans[id];
    const float plane[4] = {feature.x, feature.y, feature.z, feature.w};
    return splat_plane_median(plane, span.x, span.y, ray);
}

__device__ __forceinline__ void normalize_pixel(geometry_pixel &q, const float ray[3])
{
    const float maps[4] = {q.distance, q.x, q.y, q.z};
    float length = sqrtf(q.x * q.x + q.y * q.y + q.z * q.z), per_length = length > 0.0f ? 1.0f / length : 0.0f;
    splat_plane_depth(maps, 1.0f - q.T, ray, &q.distance);
    q.x *= per_length;
    q.y *= per_length;
    q.z *= per_length;
}

/* maps: P.image. */
__global__ void __launch_bounds__(GEOMETRY_THREADS)
    geometry_kernel(const __grid_constant__ raster_parameters P, const __grid_constant__ geometry_output O)
{
    __shared__ staged<SPLAT_WALK_PLANES> warps[TILE_PATCHES];
    staged<SPLAT_WALK_PLANES> &s = warps[threadIdx.x / 32];
    const uint32_t tile = P.tile_order[blockIdx.x];
    lane_pixels p = pixels_of(P, tile, threadIdx.x / 32);
    tile_list list = list_of(P, tile);
    geometry_pixel q = {position_of(P, p, 0), 1.0f, 0.0f, 0.0f, 0.0f, 0.0f, NO_ENTRY, 0, !is_inside(P, p, 0)};
    walk_forward(P, list, p, q, s);
    if (!is_inside(P, p, 0)) return;
    size_t at = index_of(P, p, 0), plane = (size_t)P.width * P.height;
    if (O.normalize || O.median) {
        float ray[3];
        splat_plane_ray(&O.rays, q.at.x, q.at.y, ray);
        if (O.median) O.median[at] = median_of(P, O, q.middle, ray);
        if (O.normalize) normalize_pixel(q, ray);
    }
    P.image[at] = q.distance;
    P.image[plane + at] = q.x;
    P.image[2 * plane + at] = q.y;
    P.image[3 * plane + at] = q.z;
    P.transmittance[at] = q.T;
    P.last[at] = q.last;
}

extern "C" splat_status splat_geometry_cuda(splat_backend *backend, const struct splat_geometry_args *args,
                                            splat_error *error)
{
    splat_cuda_backend *cuda = splat_cuda_of(backend);
    raster_parameters P = parameters_of(args->frame, NULL);
    P.features = (const float4 *)args->features;
    P.image = args->maps;
    const geometry_output O = {splat_plane_rays_of(&args->frame->camera, args->world), args->normalize, args->median,
                               (const float2 *)args->spans};
    geometry_kernel<<<tiles_of_band(args->frame), GEOMETRY_THREADS, 0, cuda->stream>>>(P, O);
    CUDA_LAUNCHED("geometry");
    return SPLAT_OK;
}

/* ---------------------------------------------------------------- a thread a Gaussian */

struct feature_parameters {
    uint32_t n;
    splat_tensors p;
    float rotation[9], center[3];
    int world, centers;
    const uint32_t *ids;
    const float *depth, *filter_3d;
    float4 *features;
    float2 *spans;
    const splat_grad2d *gradients;
    splat_grad2d *grad2d;
    float *grad_means, *grad_rotations;
    const splat_cuda_view_state *state;
};

static feature_parameters feature_parameters_of(const splat_gaussians *gaussians, const splat_frame *frame, bool world,
                                                bool centers)
{
    feature_parameters F = {};
    F.n = frame->n_visible;
    F.p = gaussians->p;
    for (int i = 0; i < 9; i++) F.rotation[i] = frame->camera.rotation[i];
    for (int i = 0; i < 3; i++) F.center[i] = frame->camera.center[i];
    F.world = world;
    F.centers = centers;
    F.ids = frame->ids;
    F.depth = frame->depth;
    F.filter_3d = gaussians->filter_3d;
    F.state = splat_cuda_state_of(frame);
    return F;
}

/* Entries that are not visible have depth 0 and are left out. */
__global__ void __launch_bounds__(FEATURE_THREADS) features_kernel(const __grid_constant__ feature_parameters F)
{
    uint32_t v = blockIdx.x * FEATURE_THREADS + threadIdx.x;
    if (v >= F.n || F.depth[v] == 0.0f) return;
    size_t i = F.ids[v];
    float feature[4], span[2];
    splat_geometry_feature(F.p.means + 3 * i, F.p.scales + 3 * i, F.p.rotations + 4 * i, F.rotation, F.center, F.world,
                           F.centers ? &F.depth[v] : NULL, feature);
    F.features[v] = make_float4(feature[0], feature[1], feature[2], feature[3]);
    if (!F.spans) return;
    splat_geometry_span(F.p.scales + 3 * i, F.p.rotations + 4 * i, F.filter_3d[i], F.depth[v], F.rotation, span);
    F.spans[v] = make_float2(span[0], span[1]);
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
                                    F.world, F.centers, g.channel, F.grad_means + 3 * i, F.grad_rotations + 4 * i);
}

extern "C" splat_status splat_geometry_features_cuda(splat_backend *backend,
                                                     const struct splat_geometry_features_args *args,
                                                     splat_error *error)
{
    splat_cuda_backend *cuda = splat_cuda_of(backend);
    feature_parameters F = feature_parameters_of(args->gaussians, args->frame, args->world, args->centers);
    F.features = (float4 *)args->features;
    F.spans = (float2 *)args->spans;
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
    feature_parameters F = feature_parameters_of(args->gaussians, args->frame, args->world, args->centers);
    F.gradients = args->gradients;
    F.grad2d = args->frame->grad2d;
    F.grad_means = args->tensors->means;
    F.grad_rotations = args->tensors->rotations;
    if (F.n == 0) return SPLAT_OK;
    features_backward_kernel<<<splat_cuda_blocks(F.n, FEATURE_THREADS), FEATURE_THREADS, 0, cuda->stream>>>(F);
    CUDA_LAUNCHED("geometry_features_backward");
    return SPLAT_OK;
}
