/* Sites, candidates and costs of match; the same on every backend. */
#ifndef SPLAT_OPS_MATCH_MATH_H
#define SPLAT_OPS_MATCH_MATH_H

#include "base/error.h"
#include "math/inline.h"
#include "ops/match/match.h"

#define MATCH_LANES 32      /* candidates of a site */
#define MATCH_DEPTHS 8      /* planes that a verdict asks about: the best, +-2, 4, 8 pixels of disparity, infinity */
#define MATCH_FARTHEST 23   /* pixels to a site whose plane is tried */
#define MATCH_MOST_SLOPE 11.0f /* tangent: a plane that is seen at less than 5 degrees is none */
#define MATCH_LEAST_VARIANCE 0.5f
#define MATCH_LEAST_Z 1e-4f /* of the depth */
#define MATCH_TAN_LARGE 0.08748866f /* 5 degrees */
#define MATCH_TAN_SMALL 0.01745506f /* 1 degree */

/* A neighbour: what it shows of the reference's pixel (x, y) at inverse depth q is a (x, y, 1) + t q, homogeneous, in
 * pixels from the centre of its first one; the third is its depth over that in the reference. */
typedef struct splat_match_other {
    float a[9], t[3];
    float center[3]; /* its centre in the reference's axes */
    int width, height;
    const uint32_t *quads;
    const float *depth;
} splat_match_other;

typedef struct splat_match_job {
    int width, height, sites_x, sites_y, stride;
    float fx, fy, cx, cy; /* of pixels from the centre of the first one */
    float noise;
    uint32_t n;
    int most; /* neighbours whose costs count */
    int are_guesses;
    splat_match_other others[SPLAT_MATCH_NEIGHBORS];
    const uint8_t *grey;
    const float *depth;
    float (*planes)[3];
    float *costs;
    splat_match_site *sites;
    uint8_t *raw; /* verdicts before the last step */
    uint8_t *verdicts;
} splat_match_job;

/* The photo around a site: weights with the sum 1, and these times what the photo deviates from its mean. */
typedef struct splat_match_patch {
    int n, step, start; /* offsets are start, start + step .. both ways */
    float weights[SPLAT_MATCH_SAMPLES], deviations[SPLAT_MATCH_SAMPLES];
    float mean, variance;
} splat_match_patch;

/* Sums over the samples of a patch in a neighbour. */
typedef struct splat_match_sums {
    float b, bb, ab;
} splat_match_sums;

/* ---------------------------------------------------------------- the call */

static inline splat_status splat_match_check(const struct splat_match_args *args, splat_error *error)
{
    if (args->stride >= 1 && args->n_neighbors <= SPLAT_MATCH_NEIGHBORS) return SPLAT_OK;
    return splat_fail(error, SPLAT_ERROR_ARGUMENT, "match takes at most %d neighbours and a stride of 1 and more",
                      SPLAT_MATCH_NEIGHBORS);
}

static inline splat_match_other splat_match_other_of(const splat_camera *r, const splat_match_view *view)
{
    const splat_camera *n = view->camera;
    splat_match_other o;
    double turn[9], shift[3], ray[9];
    memset(&o, 0, sizeof o);
    for (int i = 0; i < 3; i++) {
        double from = 0, to = 0;
        for (int k = 0; k < 3; k++) {
            double sum = 0, apart = (double)r->center[k] - (double)n->center[k];
            for (int j = 0; j < 3; j++) sum += (double)n->rotation[3 * i + j] * (double)r->rotation[3 * k + j];
            turn[3 * i + k] = sum;
            to += (double)n->rotation[3 * i + k] * apart;
            from -= (double)r->rotation[3 * i + k] * apart;
        }
        shift[i] = to;
        o.center[i] = (float)from;
    }
    for (int i = 0; i < 3; i++) { /* of a pixel: its ray in the reference's axes, then in the neighbour's */
        ray[3 * i] = turn[3 * i] / (double)r->fx;
        ray[3 * i + 1] = turn[3 * i + 1] / (double)r->fy;
        ray[3 * i + 2] = turn[3 * i] * (0.5 - (double)r->cx) / (double)r->fx +
                         turn[3 * i + 1] * (0.5 - (double)r->cy) / (double)r->fy + turn[3 * i + 2];
    }
    for (int k = 0; k < 3; k++) {
        o.a[k] = (float)((double)n->fx * ray[k] + ((double)n->cx - 0.5) * ray[6 + k]);
        o.a[3 + k] = (float)((double)n->fy * ray[3 + k] + ((double)n->cy - 0.5) * ray[6 + k]);
        o.a[6 + k] = (float)ray[6 + k];
    }
    o.t[0] = (float)((double)n->fx * shift[0] + ((double)n->cx - 0.5) * shift[2]);
    o.t[1] = (float)((double)n->fy * shift[1] + ((double)n->cy - 0.5) * shift[2]);
    o.t[2] = (float)shift[2];
    o.width = n->width;
    o.height = n->height;
    o.depth = view->depth;
    return o;
}

/* All but the pointers into scratch. */
static inline splat_match_job splat_match_job_of(const struct splat_match_args *args)
{
    const splat_camera *c = args->reference.camera;
    splat_match_job job;
    memset(&job, 0, sizeof job);
    job.width = c->width;
    job.height = c->height;
    job.stride = (int)args->stride;
    job.sites_x = (int)splat_match_sites(c->width, args->stride);
    job.sites_y = (int)splat_match_sites(c->height, args->stride);
    job.fx = c->fx;
    job.fy = c->fy;
    job.cx = c->cx - 0.5f;
    job.cy = c->cy - 0.5f;
    job.noise = args->noise;
    job.n = args->n_neighbors;
    for (uint32_t k = 0; k < job.n; k++) job.others[k] = splat_match_other_of(c, &args->neighbors[k]);
    job.grey = args->reference.grey;
    job.depth = args->reference.depth;
    job.are_guesses = args->are_guesses;
    job.most = job.are_guesses ? SPLAT_MATCH_BEST_OF_GUESSES : SPLAT_MATCH_BEST;
    job.planes = args->planes;
    job.costs = args->costs;
    job.verdicts = args->verdicts;
    return job;
}

SPLAT_MATH_INLINE int splat_match_within(int x, int n)
{
    return x < 0 ? 0 : x < n ? x : n - 1;
}

/* The pixel and those to its right, below, and below to the right, at the border the last again. */
SPLAT_MATH_INLINE uint32_t splat_match_quad(const uint8_t *grey, int width, int height, int x, int y)
{
    const uint8_t *row = grey + (size_t)y * (size_t)width;
    const uint8_t *below = y + 1 < height ? row + width : row;
    int right = x + 1 < width ? x + 1 : x;
    return (uint32_t)row[x] | (uint32_t)row[right] << 8 | (uint32_t)below[x] << 16 | (uint32_t)below[right] << 24;
}

SPLAT_MATH_INLINE size_t splat_match_index(const splat_match_job *job, int i, int j)
{
    return (size_t)j * (size_t)job->sites_x + (size_t)i;
}

SPLAT_MATH_INLINE int splat_match_pixel(const splat_match_job *job, int i)
{
    return i * job->stride + job->stride / 2;
}

/* ---------------------------------------------------------------- patches */

/* A depth within reach that is off the plane. */
SPLAT_MATH_INLINE int splat_match_at_step(const splat_match_job *job, int x, int y, const float plane[3])
{
    if (!job->depth) return 0;
    for (int dy = -SPLAT_MATCH_STEP_REACH; dy <= SPLAT_MATCH_STEP_REACH; dy++)
        for (int dx = -SPLAT_MATCH_STEP_REACH; dx <= SPLAT_MATCH_STEP_REACH; dx++) {
            int u = x + dx, v = y + dy;
            if (u < 0 || v < 0 || u >= job->width || v >= job->height) continue;
            float z = job->depth[(size_t)v * (size_t)job->width + (size_t)u];
            float here = plane[0] + plane[1] * (float)dx + plane[2] * (float)dy;
            if (!(z > 0.0f && fabsf(z * here - 1.0f) <= SPLAT_MATCH_STEP)) return 1;
        }
    return 0;
}

SPLAT_MATH_INLINE void splat_match_patch_kind(splat_match_patch *patch, int at_step)
{
    patch->n = at_step ? SPLAT_MATCH_STEP_SAMPLES : SPLAT_MATCH_SAMPLES;
    patch->step = at_step ? 1 : 2;
    patch->start = at_step ? -2 : -5;
}

/* Offset of a sample from the site. */
SPLAT_MATH_INLINE void splat_match_offset(const splat_match_patch *patch, int o, int *dx, int *dy)
{
    int side = patch->step == 1 ? 5 : 6;
    *dx = patch->start + patch->step * (o % side);
    *dy = patch->start + patch->step * (o / side);
}

SPLAT_MATH_INLINE float splat_match_grey(const splat_match_job *job, int x, int y)
{
    x = splat_match_within(x, job->width);
    y = splat_match_within(y, job->height);
    return (float)job->grey[(size_t)y * (size_t)job->width + (size_t)x];
}

/* Level and weight, before the sum is made 1, of a sample. */
SPLAT_MATH_INLINE float splat_match_weight(const splat_match_job *job, const splat_match_patch *patch, int x, int y,
                                           int o, float *level)
{
    int dx, dy;
    splat_match_offset(patch, o, &dx, &dy);
    *level = splat_match_grey(job, x + dx, y + dy);
    float e = *level - splat_match_grey(job, x, y);
    return expf(-(float)(dx * dx + dy * dy) * (0.5f / (SPLAT_MATCH_NEAR * SPLAT_MATCH_NEAR)) -
                e * e * (0.5f / (SPLAT_MATCH_ALIKE * SPLAT_MATCH_ALIKE)));
}

/* ---------------------------------------------------------------- costs */

/* Adds what the neighbour shows at a sample. base: a (x, y, 1) of the sample. */
SPLAT_MATH_INLINE void splat_match_add(const splat_match_other *o, const float base[3], float q, float weight,
                                       float deviation, float mean, splat_match_sums *sums)
{
    float z = base[2] + o->t[2] * q;
    float inverse = 1.0f / splat_choose(z > MATCH_LEAST_Z, z, MATCH_LEAST_Z);
    float u = splat_clamp((base[0] + o->t[0] * q) * inverse, 0.0f, (float)(o->width - 1));
    float v = splat_clamp((base[1] + o->t[1] * q) * inverse, 0.0f, (float)(o->height - 1));
    int x = (int)u, y = (int)v;
    uint32_t quad = o->quads[y * o->width + x];
    float right = u - (float)x, down = v - (float)y;
    float a = (float)(int)(quad & 255u), b = (float)(int)((quad >> 8) & 255u), c = (float)(int)((quad >> 16) & 255u),
          d = (float)(int)(quad >> 24);
    float above = a + (b - a) * right, below = c + (d - c) * right;
    float level = above + (below - above) * down - mean;
    sums->b += weight * level;
    sums->bb += weight * level * level;
    sums->ab += deviation * level;
}

SPLAT_MATH_INLINE void splat_match_base(const splat_match_other *o, int x, int y, float base[3])
{
    for (int k = 0; k < 3; k++) base[k] = o->a[3 * k] * (float)x + o->a[3 * k + 1] * (float)y + o->a[3 * k + 2];
}

/* Projects a pixel at inverse depth q into a neighbour; the third is its depth over that in the
 * reference. False: outside. */
SPLAT_MATH_INLINE int splat_match_project(const splat_match_other *o, const float base[3], float q, float image[3])
{
    float z = base[2] + o->t[2] * q, inverse = 1.0f / splat_choose(z > MATCH_LEAST_Z, z, MATCH_LEAST_Z);
    image[0] = (base[0] + o->t[0] * q) * inverse;
    image[1] = (base[1] + o->t[1] * q) * inverse;
    image[2] = z;
    return (z > MATCH_LEAST_Z) & (image[0] >= -0.5f) & (image[1] >= -0.5f) & (image[0] < (float)o->width - 0.5f) &
           (image[1] < (float)o->height - 0.5f);
}

SPLAT_MATH_INLINE float splat_match_score(const splat_match_sums *sums, float variance, int is_inside)
{
    float other = sums->bb - sums->b * sums->b;
    other = splat_choose(other > MATCH_LEAST_VARIANCE, other, MATCH_LEAST_VARIANCE);
    float cost = splat_clamp(1.0f - sums->ab / sqrtf(variance * other), 0.0f, 2.0f);
    return splat_choose(is_inside, cost, 2.0f);
}

/* Puts a cost among the least ones, in ascending order. */
SPLAT_MATH_INLINE void splat_match_keep(float best[SPLAT_MATCH_BEST], float cost)
{
    for (int k = 0; k < SPLAT_MATCH_BEST; k++) {
        float low = splat_choose(cost < best[k], cost, best[k]);
        cost = splat_choose(cost < best[k], best[k], cost);
        best[k] = low;
    }
}

/* The mean of the best costs of n neighbours, of `most` of them at most. */
SPLAT_MATH_INLINE float splat_match_mean(const float best[SPLAT_MATCH_BEST], int n, int most)
{
    float sum = best[0];
    if (n > most) n = most;
    for (int k = 1; k < SPLAT_MATCH_BEST; k++) sum += splat_choose(k < n, best[k], 0.0f);
    return sum / (float)n;
}

/* ---------------------------------------------------------------- sites */

/* True if a neighbour sees a site with its first plane; *pixels: those of the neighbour for a change of q by 1. */
SPLAT_MATH_INLINE int splat_match_sees(const splat_match_job *job, const splat_match_other *o, int x, int y, float q,
                                       float *pixels)
{
    const float ray[3] = {((float)x - job->cx) / job->fx, ((float)y - job->cy) / job->fy, 1.0f};
    float base[3], here[3], there[3], dot = 0.0f, own2 = 0.0f, other2 = 0.0f;
    splat_match_base(o, x, y, base);
    if (!splat_match_project(o, base, q, here)) return 0;
    for (int k = 0; k < 3; k++) {
        float from = ray[k] - o->center[k] * q;
        dot += ray[k] * from;
        own2 += ray[k] * ray[k];
        other2 += from * from;
    }
    float cosine = dot / sqrtf(own2 * other2);
    if (!(cosine > SPLAT_MATCH_LEAST_COSINE && cosine < SPLAT_MATCH_MOST_COSINE)) return 0;
    if (o->depth) {
        int u = splat_match_within((int)(here[0] + 0.5f), o->width),
            v = splat_match_within((int)(here[1] + 0.5f), o->height);
        float seen = o->depth[(size_t)v * (size_t)o->width + (size_t)u];
        if (seen > 0.0f && seen * q < SPLAT_MATCH_HIDDEN * here[2]) return 0;
    }
    splat_match_project(o, base, q * 1.01f, there);
    float du = there[0] - here[0], dv = there[1] - here[1];
    *pixels = sqrtf(du * du + dv * dv) / (0.01f * q);
    return 1;
}

/* True if the neighbour moves the site enough from infinity. */
SPLAT_MATH_INLINE int splat_match_is_wide(const splat_match_other *o, int x, int y, float q)
{
    float base[3], here[3], there[3];
    splat_match_base(o, x, y, base);
    splat_match_project(o, base, q, here);
    splat_match_project(o, base, 0.0f, there);
    float du = there[0] - here[0], dv = there[1] - here[1];
    return base[2] <= MATCH_LEAST_Z || du * du + dv * dv >= SPLAT_MATCH_PARALLAX * SPLAT_MATCH_PARALLAX;
}

/* ---------------------------------------------------------------- candidates */

/* The plane of a site that speaks, at (x, y). */
SPLAT_MATH_INLINE int splat_match_take(const splat_match_job *job, int i, int j, int x, int y, float plane[3])
{
    if (i < 0 || j < 0 || i >= job->sites_x || j >= job->sites_y) return 0;
    size_t at = splat_match_index(job, i, j);
    if (!job->sites[at].sees) return 0;
    const float *from = job->planes[at];
    plane[1] = from[1];
    plane[2] = from[2];
    plane[0] = from[0] + from[1] * (float)(x - splat_match_pixel(job, i)) +
               from[2] * (float)(y - splat_match_pixel(job, j));
    return 1;
}

/* The same of the best site in a direction. */
SPLAT_MATH_INLINE int splat_match_take_far(const splat_match_job *job, int i, int j, int di, int dj, int x, int y,
                                           float plane[3])
{
    float least = SPLAT_MATCH_DUMB;
    int best = 0;
    for (int k = 3; k == 3 || k * job->stride <= MATCH_FARTHEST; k += 2) {
        int u = i + k * di, v = j + k * dj;
        if (u < 0 || v < 0 || u >= job->sites_x || v >= job->sites_y) break;
        float cost = job->costs[splat_match_index(job, u, v)];
        if (cost < least) {
            least = cost;
            best = k;
        }
    }
    return best && splat_match_take(job, i + best * di, j + best * dj, x, y, plane);
}

/* The slope g of a plane, turned by an angle around the axis across it: tangents add as those of angles do. */
SPLAT_MATH_INLINE float splat_match_turn(float slope, float q, float focal, float tangent)
{
    float own = slope * focal / q, rest = 1.0f - own * tangent;
    return rest > 0.1f ? (own + tangent) / rest * q / focal : slope;
}

/* q and slopes from the next sites that speak; those of the plane where one is missing. */
SPLAT_MATH_INLINE void splat_match_smooth(const splat_match_job *job, int i, int j, int x, int y, const float plane[3],
                                          float smooth[3])
{
    float next[4][3] = {{0.0f}};
    const float apart = 0.5f / (float)job->stride;
    int left = splat_match_take(job, i - 1, j, splat_match_pixel(job, i - 1), y, next[0]);
    int right = splat_match_take(job, i + 1, j, splat_match_pixel(job, i + 1), y, next[1]);
    int above = splat_match_take(job, i, j - 1, x, splat_match_pixel(job, j - 1), next[2]);
    int below = splat_match_take(job, i, j + 1, x, splat_match_pixel(job, j + 1), next[3]);
    int across = left & right, down = above & below;
    smooth[1] = across ? (next[1][0] - next[0][0]) * apart : plane[1];
    smooth[2] = down ? (next[3][0] - next[2][0]) * apart : plane[2];
    float sum = (across ? next[0][0] + next[1][0] : 0.0f) + (down ? next[2][0] + next[3][0] : 0.0f);
    smooth[0] = across | down ? sum / (float)(2 * (across + down)) : plane[0];
}

/* True if a site may have the plane. */
SPLAT_MATH_INLINE int splat_match_allows(const splat_match_job *job, const splat_match_site *site,
                                         const float plane[3])
{
    float across = plane[1] * job->fx, down = plane[2] * job->fy;
    if (!(plane[0] > 0.0f && plane[0] < 1e9f)) return 0;
    if (!(across * across + down * down < MATCH_MOST_SLOPE * MATCH_MOST_SLOPE * plane[0] * plane[0])) return 0;
    return !(site->sees & SPLAT_MATCH_AT_STEP) ||
           fabsf(plane[0] - site->first[0]) < SPLAT_MATCH_STEP_MOVE / site->pixels;
}

/* Candidate `lane` of the site (i, j) at (x, y); the plane itself where there is none. */
SPLAT_MATH_INLINE void splat_match_candidate(const splat_match_job *job, int i, int j, int x, int y, int lane,
                                             float out[3])
{
    size_t at = splat_match_index(job, i, j);
    const splat_match_site *site = &job->sites[at];
    const float *own = job->planes[at];
    int is_some = 1;
    for (int k = 0; k < 3; k++) out[k] = own[k];
    if (lane < 8) {
        int along = lane & 1, sign = lane & 2 ? 1 : -1, di = along ? sign : 0, dj = along ? 0 : sign;
        is_some = lane < 4 ? splat_match_take(job, i + di, j + dj, x, y, out)
                           : splat_match_take_far(job, i, j, di, dj, x, y, out);
    } else if (lane < 20) {
        float pixels = 0.125f * (float)(1 << ((lane - 8) >> 1));
        out[0] += (lane & 1 ? pixels : -pixels) / site->pixels;
    } else if (lane < 28) {
        float tangent = lane < 24 ? MATCH_TAN_LARGE : MATCH_TAN_SMALL;
        tangent = lane & 1 ? tangent : -tangent;
        if (lane & 2)
            out[1] = splat_match_turn(own[1], own[0], job->fx, tangent);
        else
            out[2] = splat_match_turn(own[2], own[0], job->fy, tangent);
    } else if (lane < 31) {
        float smooth[3];
        splat_match_smooth(job, i, j, x, y, own, smooth);
        out[0] = lane == 28 ? own[0] : smooth[0];
        for (int k = 1; k < 3; k++) out[k] = lane == 29 ? own[k] : smooth[k];
    }
    if (is_some && splat_match_allows(job, site, out)) return;
    for (int k = 0; k < 3; k++) out[k] = own[k];
}

/* Plane `lane` of those that a verdict asks about. */
SPLAT_MATH_INLINE void splat_match_other_depth(const splat_match_site *site, const float plane[3], int lane,
                                               float out[3])
{
    float pixels = (float)(1 << ((lane + 1) >> 1));
    float q = plane[0] + (lane & 1 ? pixels : -pixels) / site->pixels;
    int is_near = lane == 0 || (lane < MATCH_DEPTHS - 1 && q > 0.0f);
    out[0] = lane == 0 ? plane[0] : is_near ? q : 0.0f;
    out[1] = is_near ? plane[1] : 0.0f;
    out[2] = is_near ? plane[2] : 0.0f;
}

/* ---------------------------------------------------------------- verdicts */

SPLAT_MATH_INLINE float splat_match_least_texture(float least, float noise)
{
    return least > least * noise ? least : least * noise;
}

/* The first plane comes back where the best is hardly better: a splat knows more views than the neighbours. */
SPLAT_MATH_INLINE void splat_match_return(const splat_match_job *job, size_t at)
{
    const splat_match_site *site = &job->sites[at];
    if (job->costs[at] < site->cost - SPLAT_MATCH_GAIN) return;
    for (int k = 0; k < 3; k++) job->planes[at][k] = site->first[k];
    job->costs[at] = site->cost;
}

/* costs: of the depths of splat_match_other_depth; n_wide: neighbours with parallax. */
SPLAT_MATH_INLINE uint8_t splat_match_judge(const splat_match_job *job, const splat_match_site *site,
                                            const float costs[MATCH_DEPTHS], int n_wide)
{
    float nearest = costs[1], far = costs[MATCH_DEPTHS - 1];
    for (int k = 2; k < MATCH_DEPTHS; k++) nearest = costs[k] < nearest ? costs[k] : nearest;
    if (n_wide >= 1 && costs[0] < SPLAT_MATCH_GOOD && nearest - costs[0] > SPLAT_MATCH_SHARP)
        return SPLAT_MATCH_MATCHED;
    if (site->sees & SPLAT_MATCH_AT_STEP || site->texture < splat_match_least_texture(SPLAT_MATCH_CLEAR, job->noise))
        return SPLAT_MATCH_SILENT;
    if (!(site->sees & (site->sees - 1))) return SPLAT_MATCH_SILENT; /* one neighbour: something may hide the site */
    int is_far = far < SPLAT_MATCH_GOOD && far < costs[0] - SPLAT_MATCH_BEYOND;
    return costs[0] > SPLAT_MATCH_BAD || is_far ? SPLAT_MATCH_AGAINST : SPLAT_MATCH_SILENT;
}

/* True if a site has not moved, or enough of the sites around lie on its plane, or the first planes are guesses. */
SPLAT_MATH_INLINE int splat_match_is_joined(const splat_match_job *job, int i, int j)
{
    const size_t at = splat_match_index(job, i, j);
    const splat_match_site *site = &job->sites[at];
    const float limit = SPLAT_MATCH_JOINED_PIXELS / site->pixels;
    int n = 0, x = splat_match_pixel(job, i), y = splat_match_pixel(job, j);
    if (job->are_guesses || job->planes[at][0] == site->first[0]) return 1;
    for (int v = -2; v <= 2; v++)
        for (int u = -2; u <= 2; u++) {
            float plane[3];
            if (!splat_match_take(job, i + u, j + v, x, y, plane)) continue;
            n += fabsf(plane[0] - job->planes[at][0]) < limit;
        }
    return n > SPLAT_MATCH_JOINED;
}

SPLAT_MATH_INLINE uint8_t splat_match_settle(const splat_match_job *job, int i, int j)
{
    const int reach = SPLAT_MATCH_SALT / job->stride;
    uint8_t own = job->raw[splat_match_index(job, i, j)];
    int n[3] = {0, 0, 0};
    if (own == SPLAT_MATCH_SILENT || !splat_match_is_joined(job, i, j)) return SPLAT_MATCH_SILENT;
    for (int v = j - reach; v <= j + reach; v++)
        for (int u = i - reach; u <= i + reach; u++)
            if (u >= 0 && v >= 0 && u < job->sites_x && v < job->sites_y) n[job->raw[splat_match_index(job, u, v)]]++;
    return n[SPLAT_MATCH_MATCHED + SPLAT_MATCH_AGAINST - own] > n[own] ? SPLAT_MATCH_SILENT : own;
}

#endif
