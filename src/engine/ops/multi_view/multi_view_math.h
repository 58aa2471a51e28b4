/* One pixel and one offset of a patch of multi_view; the same on every backend. */
#ifndef SPLAT_OPS_MULTI_VIEW_MATH_H
#define SPLAT_OPS_MULTI_VIEW_MATH_H

#include "base/rng.h"
#include "math/camera.h"
#include "math/color.h"
#include "math/inline.h"
#include "math/projection.h"
#include "ops/multi_view/multi_view.h"

/* A camera by the indices of its pixels: ray ((x + offset_x) / fx, (y + offset_y) / fy, 1). */
typedef struct splat_multi_view_lens {
    int width, height;
    float fx, fy, offset_x, offset_y;
} splat_multi_view_lens;

typedef struct splat_multi_view_job {
    splat_multi_view_lens maps, neighbor_maps, photo, neighbor_photo;
    float rotation[9], translation[3]; /* X in the neighbour = rotation X in the reference + translation */
    float center[3];                   /* centre of the neighbour, in axes of the reference view */
    float scale_x, scale_y;            /* pixels of the photo in a pixel of the maps */
    const float *reference, *transmittance, *neighbor, *neighbor_transmittance;
    float *grey, *neighbor_grey;       /* NULL without patches */
    float *weights;                    /* [height][width] exp(-phi); 0: the pixel does not count */
    float *slopes;                     /* [height][width] weight dphi/dD */
    splat_multi_view_gradient *gradients;
    uint32_t n_pixels, n_patches;      /* as many runs */
    uint64_t seed;
    uint32_t step;
    float geometric_weight, photometric_weight;
    float *grad_maps;
} splat_multi_view_job;

static inline splat_multi_view_lens splat_multi_view_lens_of(const splat_camera *c)
{
    splat_multi_view_lens lens = {c->width, c->height, c->fx, c->fy, 0.5f - c->cx, 0.5f - c->cy};
    return lens;
}

/* The runs of a call. */
static inline uint32_t splat_multi_view_n_runs(const struct splat_multi_view_args *args)
{
    size_t n = splat_camera_pixels(args->reference.camera);
    return args->n_patches < n ? args->n_patches : (uint32_t)n;
}

/* All but the pointers into scratch. */
static inline splat_multi_view_job splat_multi_view_job_of(const struct splat_multi_view_args *args)
{
    const splat_multi_view_side *r = &args->reference, *n = &args->neighbor;
    splat_multi_view_job job;
    memset(&job, 0, sizeof job);
    job.maps = splat_multi_view_lens_of(r->camera);
    job.neighbor_maps = splat_multi_view_lens_of(n->camera);
    job.photo = splat_multi_view_lens_of(r->photo_camera);
    job.neighbor_photo = splat_multi_view_lens_of(n->photo_camera);
    for (int i = 0; i < 3; i++) {
        double moved = 0;
        for (int j = 0; j < 3; j++) {
            double sum = 0;
            for (int k = 0; k < 3; k++)
                sum += (double)n->camera->rotation[3 * i + k] * (double)r->camera->rotation[3 * j + k];
            job.rotation[3 * i + j] = (float)sum;
            moved += sum * (double)r->camera->translation[j];
        }
        job.translation[i] = (float)((double)n->camera->translation[i] - moved);
    }
    for (int i = 0; i < 3; i++) {
        double sum = 0;
        for (int k = 0; k < 3; k++) sum -= (double)job.rotation[3 * k + i] * (double)job.translation[k];
        job.center[i] = (float)sum;
    }
    job.scale_x = (float)job.photo.width / (float)job.maps.width;
    job.scale_y = (float)job.photo.height / (float)job.maps.height;
    job.reference = r->maps;
    job.transmittance = r->transmittance;
    job.neighbor = n->maps;
    job.neighbor_transmittance = n->transmittance;
    job.n_pixels = (uint32_t)splat_camera_pixels(r->camera);
    job.n_patches = splat_multi_view_n_runs(args);
    job.seed = args->seed;
    job.step = args->step;
    job.geometric_weight = args->geometric_weight;
    job.photometric_weight = args->photometric_weight;
    job.grad_maps = args->grad_maps;
    return job;
}

SPLAT_MATH_INLINE void splat_multi_view_rotate(const float *m, const float v[3], float out[3])
{
    for (int k = 0; k < 3; k++) out[k] = m[3 * k] * v[0] + m[3 * k + 1] * v[1] + m[3 * k + 2] * v[2];
}

/* The place between the centres of pixels: its upper left pixel and the shares of the right and the lower ones. 0
 * outside. */
SPLAT_MATH_INLINE int splat_multi_view_corner(const splat_multi_view_lens *lens, float u, float v, size_t *at,
                                              float *across, float *down)
{
    if (!(u >= 0.0f && v >= 0.0f && u <= (float)(lens->width - 1) && v <= (float)(lens->height - 1))) return 0;
    if (lens->width < 2 || lens->height < 2) return 0;
    int x = (int)u, y = (int)v;
    if (x > lens->width - 2) x = lens->width - 2;
    if (y > lens->height - 2) y = lens->height - 2;
    *at = (size_t)y * (size_t)lens->width + (size_t)x;
    *across = u - (float)x;
    *down = v - (float)y;
    return 1;
}

/* A value between four, and its slopes. */
SPLAT_MATH_INLINE float splat_multi_view_between(const float *plane, size_t at, size_t width, float across, float down,
                                                 float *slope_u, float *slope_v)
{
    float a = plane[at], b = plane[at + 1], c = plane[at + width], d = plane[at + width + 1];
    float top = a + across * (b - a), bottom = c + across * (d - c);
    *slope_u = (b - a) + down * ((d - c) - (b - a));
    *slope_v = bottom - top;
    return top + down * (bottom - top);
}

/* The neighbour's depth at a place of its maps and the depth's slopes; 0 when there is none. ray: through the place. */
SPLAT_MATH_INLINE int splat_multi_view_neighbor_depth(const splat_multi_view_job *job, float u, float v,
                                                      const float ray[3], float *depth, float *slope_u, float *slope_v)
{
    const splat_multi_view_lens *lens = &job->neighbor_maps;
    size_t at, width = (size_t)lens->width, plane = width * (size_t)lens->height;
    float across, down, m[4], mu[4], mv[4];
    if (!splat_multi_view_corner(lens, u, v, &at, &across, &down)) return 0;
    const float *t = job->neighbor_transmittance;
    const float most = 1.0f - SPLAT_MULTI_VIEW_ALPHA;
    if (!(t[at] < most && t[at + 1] < most && t[at + width] < most && t[at + width + 1] < most)) return 0;
    for (int k = 0; k < 4; k++)
        m[k] = splat_multi_view_between(job->neighbor + (size_t)k * plane, at, width, across, down, &mu[k], &mv[k]);
    float unused_u, unused_v, alpha = 1.0f - splat_multi_view_between(t, at, width, across, down, &unused_u, &unused_v);
    float facing = -(m[1] * ray[0] + m[2] * ray[1] + m[3] * ray[2]);
    if (!(facing > SPLAT_MULTI_VIEW_FACING * alpha && m[0] > 0.0f)) return 0;
    float facing_u = -(mu[1] * ray[0] + mu[2] * ray[1] + mu[3] * ray[2] + m[1] / lens->fx);
    float facing_v = -(mv[1] * ray[0] + mv[2] * ray[1] + mv[3] * ray[2] + m[2] / lens->fy);
    *depth = m[0] / facing;
    *slope_u = (mu[0] - *depth * facing_u) / facing;
    *slope_v = (mv[0] - *depth * facing_v) / facing;
    return 1;
}

/* A pixel of the reference: ray, Dist and N, and -N.r; 0 when it has no depth. */
SPLAT_MATH_INLINE int splat_multi_view_surface(const splat_multi_view_job *job, size_t at, float ray[3], float m[4],
                                               float *facing)
{
    const splat_multi_view_lens *lens = &job->maps;
    size_t width = (size_t)lens->width, plane = width * (size_t)lens->height;
    float alpha = 1.0f - job->transmittance[at];
    ray[0] = ((float)(at % width) + lens->offset_x) / lens->fx;
    ray[1] = ((float)(at / width) + lens->offset_y) / lens->fy;
    ray[2] = 1.0f;
    for (int k = 0; k < 4; k++) m[k] = job->reference[(size_t)k * plane + at];
    *facing = -(m[1] * ray[0] + m[2] * ray[1] + m[3]);
    return alpha > SPLAT_MULTI_VIEW_ALPHA && *facing > SPLAT_MULTI_VIEW_FACING * alpha && m[0] > 0.0f;
}

/* phi of a pixel and dphi/dD; 0 when it does not count.
 *
 * With X = D r, c = the neighbour's centre, z = depth of X in the neighbour and mu = (D_n - z) / z, the point that the
 * neighbour sees is X2 = c + (1 + mu) (X - c) = X + mu (X - c), and the way from the pixel to its picture is
 * mu / X2_z times (fx (r_x c_z - c_x), fy (r_y c_z - c_y)), which does not depend on D. */
SPLAT_MATH_INLINE int splat_multi_view_pixel(const splat_multi_view_job *job, size_t at, float *phi, float *slope)
{
    float ray[3], m[4], facing, turned[3], n[3], seen, slope_u, slope_v;
    if (!splat_multi_view_surface(job, at, ray, m, &facing)) return 0;
    float depth = m[0] / facing;
    splat_multi_view_rotate(job->rotation, ray, turned);
    float z = depth * turned[2] + job->translation[2];
    if (!(z > SPLAT_NEAR)) return 0;
    n[0] = (depth * turned[0] + job->translation[0]) / z;
    n[1] = (depth * turned[1] + job->translation[1]) / z;
    n[2] = 1.0f;
    const splat_multi_view_lens *lens = &job->neighbor_maps;
    float u = lens->fx * n[0] - lens->offset_x, v = lens->fy * n[1] - lens->offset_y;
    if (!splat_multi_view_neighbor_depth(job, u, v, n, &seen, &slope_u, &slope_v)) return 0;
    float u_depth = lens->fx * (turned[0] - n[0] * turned[2]) / z; /* du/dD */
    float v_depth = lens->fy * (turned[1] - n[1] * turned[2]) / z;
    float mu = (seen - z) / z, mu_depth = (slope_u * u_depth + slope_v * v_depth - seen / z * turned[2]) / z;
    float behind = depth - job->center[2], back = depth + mu * behind; /* X2_z */
    if (!(back > SPLAT_NEAR)) return 0;
    float way_x = job->photo.fx * (ray[0] * job->center[2] - job->center[0]);
    float way_y = job->photo.fy * (ray[1] * job->center[2] - job->center[1]);
    float way = sqrtf(way_x * way_x + way_y * way_y), share = mu / back;
    float share_depth = (mu_depth - share * (1.0f + mu_depth * behind + mu)) / back;
    *phi = fabsf(share) * way;
    *slope = share > 0.0f ? way * share_depth : share < 0.0f ? -way * share_depth : 0.0f;
    return *phi < 1.0f && fabsf(*slope) < 1e18f;
}

/* The first pass: weight and slope of a pixel. Whether it counts; loss: w phi. */
SPLAT_MATH_INLINE int splat_multi_view_first(const splat_multi_view_job *job, size_t at, float *loss)
{
    float phi = 0.0f, slope = 0.0f;
    int counts = splat_multi_view_pixel(job, at, &phi, &slope);
    float weight = counts ? expf(-phi) : 0.0f;
    job->weights[at] = weight;
    job->slopes[at] = counts ? weight * slope : 0.0f;
    *loss = counts ? weight * phi : 0.0f;
    return counts;
}

/* The geometric gradient of a pixel. scale: the weight over the number of pixels that count. */
SPLAT_MATH_INLINE void splat_multi_view_spread(const splat_multi_view_job *job, size_t at, float scale)
{
    float ray[3], m[4], facing;
    if (!(job->weights[at] > 0.0f)) return;
    splat_multi_view_surface(job, at, ray, m, &facing);
    float along = scale * job->slopes[at] / facing, depth = m[0] / facing;
    job->grad_maps[at] += along;
    for (int k = 0; k < 3; k++) job->grad_maps[(size_t)(1 + k) * job->n_pixels + at] += along * depth * ray[k];
}

/* ---------------------------------------------------------------- patches */

/* The pixels of a run: [*begin, *begin + the result). */
SPLAT_MATH_INLINE uint32_t splat_multi_view_run(const splat_multi_view_job *job, uint32_t run, uint32_t *begin)
{
    uint64_t n = job->n_pixels;
    *begin = (uint32_t)(run * n / job->n_patches);
    return (uint32_t)((run + 1) * n / job->n_patches) - *begin;
}

/* The pixel of a run of n at which the search begins. */
SPLAT_MATH_INLINE uint32_t splat_multi_view_start(const splat_multi_view_job *job, uint32_t run, uint32_t n)
{
    splat_random4 r = splat_random(job->seed, SPLAT_STREAM_MULTI_VIEW, job->step, run);
    return (uint32_t)(((uint64_t)r.x[0] * n) >> 32);
}

typedef struct splat_multi_view_patch {
    int x, y;        /* the middle pixel of the photo */
    float dist, n[3]; /* the plane; pi = n / dist */
    float pi[3];
} splat_multi_view_patch;

/* The patch of a pixel that counts; 0 when it is not inside the photo. */
SPLAT_MATH_INLINE int splat_multi_view_begin(const splat_multi_view_job *job, uint32_t pixel,
                                             splat_multi_view_patch *patch)
{
    const int r = SPLAT_MULTI_VIEW_RADIUS;
    uint32_t width = (uint32_t)job->maps.width;
    patch->x = (int)(((float)(pixel % width) + 0.5f) * job->scale_x);
    patch->y = (int)(((float)(pixel / width) + 0.5f) * job->scale_y);
    patch->dist = job->reference[pixel];
    for (int k = 0; k < 3; k++) {
        patch->n[k] = job->reference[(size_t)(1 + k) * job->n_pixels + pixel];
        patch->pi[k] = patch->n[k] / patch->dist;
    }
    return patch->x >= r && patch->y >= r && patch->x < job->photo.width - r && patch->y < job->photo.height - r;
}

/* The ray of an offset, in 0 .. SPLAT_MULTI_VIEW_PATCH - 1. */
SPLAT_MATH_INLINE size_t splat_multi_view_ray(const splat_multi_view_job *job, const splat_multi_view_patch *patch,
                                              int offset, float ray[3])
{
    int x = patch->x + offset % SPLAT_MULTI_VIEW_SIDE - SPLAT_MULTI_VIEW_RADIUS;
    int y = patch->y + offset / SPLAT_MULTI_VIEW_SIDE - SPLAT_MULTI_VIEW_RADIUS;
    ray[0] = ((float)x + job->photo.offset_x) / job->photo.fx;
    ray[1] = ((float)y + job->photo.offset_y) / job->photo.fy;
    ray[2] = 1.0f;
    return (size_t)y * (size_t)job->photo.width + (size_t)x;
}

/* Both photos at an offset, and s with db/dpi = s ray; 0 when the neighbour does not see it. */
SPLAT_MATH_INLINE int splat_multi_view_offset(const splat_multi_view_job *job, const splat_multi_view_patch *patch,
                                              int offset, float *a, float *b, float *s)
{
    const splat_multi_view_lens *lens = &job->neighbor_photo;
    const float *t = job->translation;
    float ray[3], p[3], across, down, slope_u, slope_v;
    size_t corner, at = splat_multi_view_ray(job, patch, offset, ray);
    float along = patch->pi[0] * ray[0] + patch->pi[1] * ray[1] + patch->pi[2];
    splat_multi_view_rotate(job->rotation, ray, p);
    for (int k = 0; k < 3; k++) p[k] -= t[k] * along;
    if (!(along < 0.0f && p[2] > -along * SPLAT_NEAR)) return 0; /* the plane before both cameras */
    float x = p[0] / p[2], y = p[1] / p[2];
    if (!splat_multi_view_corner(lens, lens->fx * x - lens->offset_x, lens->fy * y - lens->offset_y, &corner, &across,
                                 &down))
        return 0;
    *a = job->grey[at];
    *b = splat_multi_view_between(job->neighbor_grey, corner, (size_t)lens->width, across, down, &slope_u, &slope_v);
    *s = (slope_u * lens->fx * (x * t[2] - t[0]) + slope_v * lens->fy * (y * t[2] - t[1])) / p[2];
    return 1;
}

/* True if a patch counts; then its error, and de/db_o = of_a (a_o - mean a) + of_b (b_o - mean b). */
SPLAT_MATH_INLINE int splat_multi_view_score(float va, float vb, float cov, float *e, float *of_a, float *of_b)
{
    const float least = (float)SPLAT_MULTI_VIEW_PATCH * SPLAT_MULTI_VIEW_TEXTURE * SPLAT_MULTI_VIEW_TEXTURE;
    float product = va * vb + SPLAT_MULTI_VIEW_EPSILON;
    *e = 1.0f - cov * fabsf(cov) / product;
    if (*e < 0.0f) *e = 0.0f; /* rounding may make it negative */
    *of_a = -2.0f * cov / product;
    *of_b = 2.0f * cov * cov * va / (product * product);
    return va >= least && vb >= least && *e < SPLAT_MULTI_VIEW_WORST;
}

/* dL/dpi into dL/d(Dist, N). */
SPLAT_MATH_INLINE void splat_multi_view_of_plane(const splat_multi_view_patch *patch, const float pi[3], float g[4])
{
    g[0] = -(pi[0] * patch->pi[0] + pi[1] * patch->pi[1] + pi[2] * patch->pi[2]) / patch->dist;
    for (int k = 0; k < 3; k++) g[1 + k] = pi[k] / patch->dist;
}

#endif
