/* One pixel of a view and one neighbour: the formulas of agree, step by step. Shared by C and CUDA; without contraction
 * (a*b+c stays two roundings) both give the same bits. */
#ifndef SPLAT_OPS_AGREE_MATH_H
#define SPLAT_OPS_AGREE_MATH_H

#include "math/sight.h"
#include "ops/agree/agree.h"

#define SPLAT_AGREE_LEAST_COSINE 0.05f /* 87 degrees */
#define SPLAT_AGREE_MOST_PIXELS 1.0f /* between a pixel and what another view sees there, seen from the pixel's view */
#define SPLAT_AGREE_MOST_PART 0.01f  /* of the distance, between a place and what another view sees there */
#define SPLAT_AGREE_THROUGH 0.02f    /* a view that sees so much farther looks through the place */
#define SPLAT_AGREE_OPAQUE 128       /* alpha of 1/2: a pixel with less and without depth is sky */
#define SPLAT_AGREE_SMOOTH 0.02f     /* depths that differ by so much belong to different surfaces */

/* A pixel that asks. */
typedef struct splat_agree_pixel {
    float x, y;                        /* in the picture */
    float place[3], normal[3], cosine; /* as the view sees it */
    float ray[3];                      /* from the view to the place, unit */
} splat_agree_pixel;

/* Over the view and the neighbours that agree. */
typedef struct splat_agree_sums {
    float position[3]; /* from the pixel's place */
    float normal[3], color[3];
    float baseline2;
    uint32_t n_agree, n_against;
} splat_agree_sums;

/* The surface that a view sees at a place of its picture. */
typedef struct splat_agree_sight {
    float depth;
    float opaque; /* least depth around the place of what is not seen through; 0 where that is unknown */
    size_t pixel; /* for normal and colour */
} splat_agree_sight;

SPLAT_MATH_INLINE float splat_agree_least(float a, float b)
{
    return a < b ? a : b;
}

SPLAT_MATH_INLINE float splat_agree_most(float a, float b)
{
    return a > b ? a : b;
}

SPLAT_MATH_INLINE int splat_agree_within(int x, int size)
{
    return x < 0 ? 0 : x < size ? x : size - 1;
}

/* False where the view says too little of the pixel. */
SPLAT_MATH_INLINE bool splat_agree_begin(const splat_agree_view *view, size_t pixel, splat_agree_pixel *p,
                                         splat_agree_sums *s)
{
    const splat_camera *camera = &view->camera;
    const float z = view->depth[pixel];
    float toward = 0, length = 0;
    if (!(z > 0)) return false;
    p->x = (float)(pixel % (size_t)camera->width) + 0.5f;
    p->y = (float)(pixel / (size_t)camera->width) + 0.5f;
    splat_camera_unproject(camera, p->x, p->y, z, p->place);
    splat_normal_decode(view->normal + 2 * pixel, p->normal);
    for (int k = 0; k < 3; k++) {
        float offset = camera->center[k] - p->place[k];
        toward += offset * p->normal[k];
        length += offset * offset;
    }
    p->cosine = toward / sqrtf(length);
    if (!(p->cosine > SPLAT_AGREE_LEAST_COSINE)) return false;
    for (int k = 0; k < 3; k++) {
        p->ray[k] = (p->place[k] - camera->center[k]) / sqrtf(length);
        s->position[k] = 0;
        s->normal[k] = p->normal[k];
        s->color[k] = (float)view->rgb[3 * pixel + (size_t)k];
    }
    s->baseline2 = 0;
    s->n_agree = s->n_against = 0;
    return true;
}

/* splat_camera_project without a branch: the depth, or 0 where the picture does not have the place. */
SPLAT_MATH_INLINE float splat_agree_project(const splat_camera *c, float p0, float p1, float p2, float *u, float *v)
{
    const float *r = c->rotation;
    float d0 = p0 - c->center[0], d1 = p1 - c->center[1], d2 = p2 - c->center[2];
    float x = r[0] * d0 + r[1] * d1 + r[2] * d2, y = r[3] * d0 + r[4] * d1 + r[5] * d2;
    float z = r[6] * d0 + r[7] * d1 + r[8] * d2;
    *u = x / z * c->fx + c->cx;
    *v = y / z * c->fy + c->cy;
    bool is_seen = (z > 1e-6f) & (*u >= 0) & (*v >= 0) & (*u < (float)c->width) & (*v < (float)c->height);
    return is_seen ? z : 0;
}

/* At the rim of a surface, and at what is thinner than a pixel: the pixel of the four that is nearest in depth. */
SPLAT_MATH_INLINE splat_agree_sight splat_agree_look_at_rim(const splat_agree_view *view, const size_t pixels[4],
                                                            float z)
{
    splat_agree_sight s = {0, INFINITY, pixels[0]};
    for (int k = 0; k < 4; k++) {
        float depth = view->depth[pixels[k]];
        if (depth > 0 || view->alpha[pixels[k]] >= SPLAT_AGREE_OPAQUE) s.opaque = splat_agree_least(depth, s.opaque);
        if (fabsf(depth - z) < fabsf(view->depth[s.pixel] - z)) s.pixel = pixels[k];
    }
    s.depth = view->depth[s.pixel];
    return s;
}

/* At (x, y) of the picture, z from the view: on one surface interpolated between the four pixels around it; those
 * beyond the picture's sides are replaced by those at them. */
SPLAT_MATH_INLINE splat_agree_sight splat_agree_look(const splat_agree_view *view, float image_x, float image_y,
                                                     float z)
{
    const splat_camera *camera = &view->camera;
    float u = image_x - 0.5f, v = image_y - 0.5f;
    int x = (int)(u + 1) - 1, y = (int)(v + 1) - 1; /* floor, from -1 on: a function of its own costs more than all */
    size_t top = (size_t)splat_agree_within(y, camera->height) * (size_t)camera->width;
    size_t below = (size_t)splat_agree_within(y + 1, camera->height) * (size_t)camera->width;
    size_t left = (size_t)splat_agree_within(x, camera->width);
    size_t right = (size_t)splat_agree_within(x + 1, camera->width);
    float a = view->depth[top + left], b = view->depth[top + right], c = view->depth[below + left],
          d = view->depth[below + right];
    float low = splat_agree_least(splat_agree_least(a, b), splat_agree_least(c, d));
    float high = splat_agree_most(splat_agree_most(a, b), splat_agree_most(c, d));
    if (!(low > 0 && high - low < SPLAT_AGREE_SMOOTH * low)) {
        const size_t pixels[4] = {top + left, top + right, below + left, below + right};
        return splat_agree_look_at_rim(view, pixels, z);
    }
    u -= (float)x;
    v -= (float)y;
    splat_agree_sight s = {(a * (1 - u) + b * u) * (1 - v) + (c * (1 - u) + d * u) * v, low,
                           (v >= 0.5f ? below : top) + (u >= 0.5f ? right : left)};
    return s;
}

/* True if the neighbour looks through a place at depth z of its own; or if what it sees is like the place. */
SPLAT_MATH_INLINE bool splat_agree_is_through(const splat_agree_sight *what, float z)
{
    return what->opaque > (1 + SPLAT_AGREE_THROUGH) * z;
}

SPLAT_MATH_INLINE bool splat_agree_is_like(const splat_agree_sight *what, float z)
{
    return (what->depth > 0) & (fabsf(what->depth - z) < SPLAT_AGREE_MOST_PART * z);
}

/* Projects the surface that a neighbour sees at `depth` of (u, v) back into the view: splat_camera_unproject, whose
 * place is seen[3], and splat_camera_project. True if that is near (x, y), the pixel that asks. */
SPLAT_MATH_INLINE bool splat_agree_come_back(const splat_camera *from, const splat_camera *to, float u, float v,
                                             float depth, float x, float y, float *seen0, float *seen1, float *seen2)
{
    const float *a = from->rotation, *r = to->rotation;
    float l0 = (u - from->cx) / from->fx * depth, l1 = (v - from->cy) / from->fy * depth;
    float p0 = from->center[0] + (a[0] * l0 + a[3] * l1 + a[6] * depth);
    float p1 = from->center[1] + (a[1] * l0 + a[4] * l1 + a[7] * depth);
    float p2 = from->center[2] + (a[2] * l0 + a[5] * l1 + a[8] * depth);
    float d0 = p0 - to->center[0], d1 = p1 - to->center[1], d2 = p2 - to->center[2];
    float back_x = r[0] * d0 + r[1] * d1 + r[2] * d2, back_y = r[3] * d0 + r[4] * d1 + r[5] * d2;
    float back_z = r[6] * d0 + r[7] * d1 + r[8] * d2;
    float dx = back_x / back_z * to->fx + to->cx - x, dy = back_y / back_z * to->fy + to->cy - y;
    *seen0 = p0;
    *seen1 = p1;
    *seen2 = p2;
    return (back_z > 1e-6f) & (dx * dx + dy * dy < SPLAT_AGREE_MOST_PIXELS * SPLAT_AGREE_MOST_PIXELS);
}

/* Adds a neighbour that sees the place near; it does not count if its normal points away. own: the view's centre. */
SPLAT_MATH_INLINE void splat_agree_add(const splat_agree_view *other, const float own[3], size_t pixel,
                                       const float seen[3], const splat_agree_pixel *p, splat_agree_sums *s)
{
    const float *center = other->camera.center;
    const float apart[3] = {center[0] - own[0], center[1] - own[1], center[2] - own[2]};
    const float apart2 = apart[0] * apart[0] + apart[1] * apart[1] + apart[2] * apart[2];
    float normal[3];
    splat_normal_decode(other->normal + 2 * pixel, normal);
    if (!(normal[0] * p->normal[0] + normal[1] * p->normal[1] + normal[2] * p->normal[2] > 0)) return;
    for (int k = 0; k < 3; k++) {
        s->position[k] += seen[k] - p->place[k];
        s->normal[k] += normal[k];
        s->color[k] += (float)other->rgb[3 * pixel + (size_t)k];
    }
    float along = apart[0] * p->ray[0] + apart[1] * p->ray[1] + apart[2] * p->ray[2];
    s->baseline2 = splat_agree_most(s->baseline2, apart2 - along * along);
    s->n_agree++;
}

/* From sums to means. */
SPLAT_MATH_INLINE void splat_agree_finish(const splat_agree_pixel *p, const splat_agree_sums *s, splat_agreement *a)
{
    float n = 1 + (float)s->n_agree, square = 0;
    for (int k = 0; k < 3; k++) square += s->normal[k] * s->normal[k];
    float norm = sqrtf(square); /* not 0: all lie on one side of the first */
    for (int k = 0; k < 3; k++) {
        a->position[k] = p->place[k] + s->position[k] / n;
        a->normal[k] = s->normal[k] / norm;
        a->color[k] = s->color[k] / n;
    }
    a->cosine = p->cosine;
    a->baseline = sqrtf(s->baseline2);
    a->n_agree = s->n_agree;
    a->n_against = s->n_against;
}

SPLAT_MATH_INLINE uint8_t splat_agree_verdict(const splat_agree_pixel *p, const splat_agree_sums *s,
                                              uint32_t n_neighbors)
{
    if (!(p->cosine > SPLAT_AGREE_FLAT_COSINE)) return SPLAT_AGREE_FLAT;
    return splat_agree_is_surface(s->n_agree, s->n_against, n_neighbors) ? SPLAT_AGREE_HOLDS : SPLAT_AGREE_DOUBTED;
}

/* All neighbours, one after the other: false where the view says too little of the pixel. */
SPLAT_MATH_INLINE bool splat_agree_ask(const splat_agree_view *view, const splat_agree_view *neighbors,
                                       uint32_t n_neighbors, size_t pixel, splat_agree_pixel *p, splat_agree_sums *s)
{
    if (!splat_agree_begin(view, pixel, p, s)) return false;
    for (uint32_t k = 0; k < n_neighbors; k++) {
        const splat_agree_view *other = &neighbors[k];
        float u, v, seen[3], z = splat_agree_project(&other->camera, p->place[0], p->place[1], p->place[2], &u, &v);
        if (!(z > 0)) continue;
        splat_agree_sight what = splat_agree_look(other, u, v, z);
        s->n_against += splat_agree_is_through(&what, z);
        if (splat_agree_is_like(&what, z) &&
            splat_agree_come_back(&other->camera, &view->camera, u, v, what.depth, p->x, p->y, &seen[0], &seen[1],
                                  &seen[2]))
            splat_agree_add(other, view->camera.center, what.pixel, seen, p, s);
    }
    return true;
}

#endif
