/* The parameters of raster, geometry and their backward passes on CUDA. */
#ifndef SPLAT_OPS_RASTER_PARAMETERS_CUH
#define SPLAT_OPS_RASTER_PARAMETERS_CUH

#include "backend/cuda_backend.cuh"

extern "C" {
#include "ops/geometry/geometry.h"
#include "ops/raster/raster_bytes.h"
}

#define N_GRADS 10 /* floats of splat_grad2d */

static_assert(sizeof(splat_grad2d) == N_GRADS * sizeof(float), "the reduction writes splat_grad2d as ten floats");

struct fixed_bounds;

struct raster_parameters {
    int width, height;
    uint32_t tiles_x;
    float widen;                   /* of a patch, for ray jitter */
    float background[3];
    const float *jitter;
    const uint32_t *instances, *tile_begin, *tile_order;
    const float2 *mean2d;
    const float4 *conic;
    const float *rgb;
    float *image, *transmittance;
    uint32_t *last, *blended;
    const float *grad_image; /* of geometry: of the maps */
    const float4 *features;  /* of geometry, as the next */
    const float *grad_alpha; /* or NULL */
    /* of depths (splat_raster_depth) */
    splat_patches patches;
    const float *depth;
    float *along, *inverse, *grad_depth;
    const float *grad_along, *grad_inverse;
    splat_grad2d *grad2d;
    /* of a deterministic device's backward passes, else NULL (fixed_sums_cuda.cuh) */
    unsigned long long *fixed_sums; /* [n_visible][N_GRADS] */
    unsigned long long *fixed_depth; /* [n_visible]; NULL without depths */
    fixed_bounds *bounds;
    int fixed_bits; /* of what a patch may add to one of them */
    const splat_cuda_view_state *state;
};

static inline unsigned tiles_of_band(const splat_frame *frame)
{
    return frame->tiles_x * (frame->row_end - frame->row_begin);
}

static inline raster_parameters parameters_of(const splat_frame *frame, const float *grad_image)
{
    raster_parameters P = {};
    P.width = frame->camera.width;
    P.height = frame->camera.height;
    P.tiles_x = frame->tiles_x;
    P.widen = frame->jitter ? 0.5f : 0.0f;
    for (int c = 0; c < 3; c++) P.background[c] = frame->background[c];
    P.jitter = frame->jitter;
    P.instances = frame->instances;
    P.tile_begin = frame->tile_begin;
    P.tile_order = frame->tile_order;
    P.mean2d = (const float2 *)frame->mean2d;
    P.conic = (const float4 *)frame->conic;
    P.rgb = frame->rgb;
    P.image = frame->image;
    P.transmittance = frame->transmittance;
    P.last = frame->last;
    P.blended = frame->blended;
    P.grad_image = grad_image;
    P.depth = frame->depth;
    P.grad2d = frame->grad2d;
    P.state = splat_cuda_state_of(frame);
    return P;
}

/* Sets the depth; NULL: none. */
static inline void set_depth(raster_parameters *P, const splat_raster_depth *depth)
{
    if (!depth) return;
    P->patches = depth->patches;
    P->along = depth->along;
    P->inverse = depth->inverse;
    P->grad_along = depth->grad_along;
    P->grad_inverse = depth->grad_inverse;
    P->grad_depth = depth->grad_depth;
}

#endif
