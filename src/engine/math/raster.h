/* A rasterizer's formulas for a vertex, a face and a triangle: cutting at the planes of the view, corners in whole
 * steps of a pixel, edge functions, depth and weights. Shared by C and CUDA; without contraction (a*b+c stays two
 * roundings) both give the same bits. mesh/mesh_raster.h says what the picture shows. */
#ifndef SPLAT_MATH_RASTER_H
#define SPLAT_MATH_RASTER_H

#include "math/inline.h"
#include "splatsmith/core.h"

#include <float.h>
#include <stdbool.h>
#include <stddef.h>

#define SPLAT_RASTER_STEPS                                                                                             \
    1024 /* of a pixel: coordinates on the screen are whole numbers of them, so that edges
                                        are exact */
#define SPLAT_RASTER_GUARD                                                                                             \
    16384 /* pixels around the picture beyond which faces are cut: edge functions stay below
                                        2^58 */
#define SPLAT_RASTER_FARTHEST (1 << 27) /* steps; more than any picture with its guard has */
#define SPLAT_RASTER_PLANES 5
#define SPLAT_RASTER_CORNERS 12 /* 3 and one more for each plane, and room for what rounding might bend */
#define SPLAT_RASTER_OUTSIDE INT32_MIN

/* A vertex on the screen; or x = OUTSIDE, and y tells by bits the planes that it is beyond. */
typedef struct splat_raster_corner {
    int32_t x, y; /* steps */
    float z;
} splat_raster_corner;

/* A mesh and the camera that looks at it. */
typedef struct splat_raster_eye {
    const float *vertices;              /* [n_vertices][3] */
    const uint32_t *faces;              /* [n_faces][3] */
    const splat_raster_corner *corners; /* [n_vertices] */
    double rotation[9], translation[3], fx, fy, cx, cy, near;
    double planes[SPLAT_RASTER_PLANES][4]; /* a point is inside when plane . (x, y, z, 1) >= 0; near, left, right, top,
                                              bottom */
    int width, height;
} splat_raster_eye;

/* The visible part of a face: a convex polygon; three corners unless planes cut it. */
typedef struct splat_raster_polygon {
    int n;
    splat_raster_corner corners[SPLAT_RASTER_CORNERS];
    double weights[SPLAT_RASTER_CORNERS][2]; /* b0 and b1 of the face there */
} splat_raster_polygon;

static inline splat_raster_eye splat_raster_eye_make(const float *vertices, const uint32_t *faces,
                                                     const splat_raster_corner *corners, const splat_camera *c,
                                                     float near)
{
    splat_raster_eye v = {vertices,      faces,         corners,      {0},   {0},      (double)c->fx, (double)c->fy,
                          (double)c->cx, (double)c->cy, (double)near, {{0}}, c->width, c->height};
    const double planes[SPLAT_RASTER_PLANES][4] = {{0, 0, 1, -v.near},
                                                   {v.fx, 0, v.cx + SPLAT_RASTER_GUARD, 0},
                                                   {-v.fx, 0, v.width + SPLAT_RASTER_GUARD - v.cx, 0},
                                                   {0, v.fy, v.cy + SPLAT_RASTER_GUARD, 0},
                                                   {0, -v.fy, v.height + SPLAT_RASTER_GUARD - v.cy, 0}};
    memcpy(v.planes, planes, sizeof planes);
    for (int k = 0; k < 9; k++) v.rotation[k] = (double)c->rotation[k];
    for (int k = 0; k < 3; k++) v.translation[k] = (double)c->translation[k];
    return v;
}

SPLAT_MATH_INLINE void splat_raster_to_camera(const splat_raster_eye *v, size_t vertex, double out[3])
{
    const float *p = v->vertices + 3 * vertex;
    const double *r = v->rotation;
    for (int k = 0; k < 3; k++)
        out[k] = r[3 * k] * (double)p[0] + r[3 * k + 1] * (double)p[1] + r[3 * k + 2] * (double)p[2] +
                 v->translation[k];
}

SPLAT_MATH_INLINE double splat_raster_height_over(const splat_raster_eye *v, int plane, const double p[3])
{
    const double *a = v->planes[plane];
    return a[0] * p[0] + a[1] * p[1] + a[2] * p[2] + a[3];
}

/* Cut points of enormous faces may be beyond the guard by rounding, hence the bounds. */
SPLAT_MATH_INLINE int32_t splat_raster_to_steps(double pixels)
{
    double steps = pixels * SPLAT_RASTER_STEPS + 0.5;
    if (!(steps > -SPLAT_RASTER_FARTHEST)) return -SPLAT_RASTER_FARTHEST;
    if (!(steps < SPLAT_RASTER_FARTHEST)) return SPLAT_RASTER_FARTHEST;
    return (int32_t)(steps + SPLAT_RASTER_FARTHEST) -
           SPLAT_RASTER_FARTHEST; /* rounds down, and is no call as floor is on any x86 */
}

SPLAT_MATH_INLINE splat_raster_corner splat_raster_project(const splat_raster_eye *v, const double p[3])
{
    double x = v->fx * p[0] / p[2] + v->cx, y = v->fy * p[1] / p[2] + v->cy;
    splat_raster_corner c = {splat_raster_to_steps(x), splat_raster_to_steps(y),
                             p[2] < (double)FLT_MAX ? (float)p[2] : FLT_MAX};
    return c;
}

/* The vertex on the screen, or which planes it is beyond. */
SPLAT_MATH_INLINE splat_raster_corner splat_raster_corner_of(const splat_raster_eye *v, size_t vertex)
{
    double p[3];
    int beyond = 0;
    splat_raster_to_camera(v, vertex, p);
    for (int k = 0; k < SPLAT_RASTER_PLANES; k++) beyond |= (splat_raster_height_over(v, k, p) >= 0 ? 0 : 1) << k;
    if (!beyond) return splat_raster_project(v, p);
    splat_raster_corner outside = {SPLAT_RASTER_OUTSIDE, beyond, 0};
    return outside;
}

typedef struct splat_raster_cut_point {
    double p[3], weights[2];
} splat_raster_cut_point;

/* From the inner to the outer point, so that both faces of an edge get the same point. */
SPLAT_MATH_INLINE splat_raster_cut_point splat_raster_cut(const splat_raster_eye *v, int plane,
                                                          const splat_raster_cut_point *inner,
                                                          const splat_raster_cut_point *outer)
{
    double a = splat_raster_height_over(v, plane, inner->p), b = splat_raster_height_over(v, plane, outer->p),
           t = a / (a - b);
    splat_raster_cut_point c;
    for (int k = 0; k < 3; k++) c.p[k] = inner->p[k] + t * (outer->p[k] - inner->p[k]);
    for (int k = 0; k < 2; k++) c.weights[k] = inner->weights[k] + t * (outer->weights[k] - inner->weights[k]);
    if (plane == 0) c.p[2] = v->near; /* not 0 by rounding */
    return c;
}

/* The part of a convex polygon inside a plane (Sutherland and Hodgman, 1974). */
SPLAT_MATH_INLINE int splat_raster_cut_polygon(const splat_raster_eye *v, int plane, const splat_raster_cut_point *in,
                                               int n, splat_raster_cut_point *out)
{
    int count = 0;
    for (int i = 0; i < n; i++) {
        const splat_raster_cut_point *a = &in[i], *b = &in[(i + 1) % n];
        bool a_inside = splat_raster_height_over(v, plane, a->p) >= 0,
             b_inside = splat_raster_height_over(v, plane, b->p) >= 0;
        if (a_inside) out[count++] = *a;
        if (a_inside != b_inside)
            out[count++] = a_inside ? splat_raster_cut(v, plane, a, b) : splat_raster_cut(v, plane, b, a);
        if (count > SPLAT_RASTER_CORNERS - 2) break;
    }
    return count;
}

SPLAT_MATH_INLINE void splat_raster_cut_face(const splat_raster_eye *v, size_t face, int beyond,
                                             splat_raster_polygon *out)
{
    splat_raster_cut_point points[2][SPLAT_RASTER_CORNERS];
    int now = 0;
    out->n = 3;
    for (int k = 0; k < 3; k++) {
        splat_raster_to_camera(v, v->faces[3 * face + (size_t)k], points[0][k].p);
        points[0][k].weights[0] = k == 0;
        points[0][k].weights[1] = k == 1;
    }
    for (int plane = 0; plane < SPLAT_RASTER_PLANES; plane++) {
        if (!(beyond >> plane & 1)) continue;
        out->n = splat_raster_cut_polygon(v, plane, points[now], out->n, points[1 - now]);
        now = 1 - now;
    }
    for (int i = 0; i < out->n; i++) {
        out->corners[i] = splat_raster_project(v, points[now][i].p);
        memcpy(out->weights[i], points[now][i].weights, sizeof out->weights[i]);
    }
}

SPLAT_MATH_INLINE void splat_raster_face_polygon(const splat_raster_eye *v, size_t face, splat_raster_polygon *out)
{
    const uint32_t *f = v->faces + 3 * face;
    int any = 0, all = (1 << SPLAT_RASTER_PLANES) - 1;
    for (int k = 0; k < 3; k++) {
        out->corners[k] = v->corners[f[k]];
        int beyond = out->corners[k].x == SPLAT_RASTER_OUTSIDE ? out->corners[k].y : 0;
        any |= beyond;
        all &= beyond;
    }
    out->n = all ? 0 : 3;
    if (any && !all)
        splat_raster_cut_face(v, face, any, out);
    else
        for (int k = 0; k < 3; k++) {
            out->weights[k][0] = k == 0;
            out->weights[k][1] = k == 1;
        }
}

/* Pixels first[axis] .. last[axis] whose centres are in the bounds of three corners or more and in the picture; false
 * when there are none. The shifts round down, also below 0. */
SPLAT_MATH_INLINE bool splat_raster_pixel_bounds(const splat_raster_eye *v, const splat_raster_corner *corners, int n,
                                                 int first[2], int last[2])
{
    const int sides[2] = {v->width, v->height};
    int32_t low[2] = {corners[0].x, corners[0].y}, high[2] = {corners[0].x, corners[0].y};
    for (int i = 1; i < n; i++) {
        const int32_t at[2] = {corners[i].x, corners[i].y};
        for (int k = 0; k < 2; k++) {
            low[k] = at[k] < low[k] ? at[k] : low[k];
            high[k] = at[k] > high[k] ? at[k] : high[k];
        }
    }
    for (int k = 0; k < 2; k++) {
        first[k] = (low[k] + SPLAT_RASTER_STEPS / 2 - 1) >> 10;
        last[k] = (high[k] - SPLAT_RASTER_STEPS / 2) >> 10;
        if (first[k] < 0) first[k] = 0;
        if (last[k] > sides[k] - 1) last[k] = sides[k] - 1;
        if (first[k] > last[k]) return false;
    }
    return true;
}

/* Twice the area of a, b and a point, in squared steps: positive when the point is on the right of the way from a to
 * b, as the picture shows it. */
SPLAT_MATH_INLINE int64_t splat_raster_side_of(const splat_raster_corner *a, const splat_raster_corner *b, int64_t x,
                                               int64_t y)
{
    return ((int64_t)b->x - a->x) * (y - a->y) - ((int64_t)b->y - a->y) * (x - a->x);
}

typedef struct splat_raster_triangle {
    uint32_t face;
    int front; /* -1: not known yet, as most small faces cover no pixel centre */
    const double *weights[3];
    double inverse_z[3], area;
    int64_t value[3], right[3], down[3]; /* of edge k, opposite to corner k: at a pixel; a pixel further */
    int64_t bias[3];                     /* -1 where pixel centres on the edge are not covered; part of value */
} splat_raster_triangle;

/* At the centre of a pixel; false when the triangle has no area. */
SPLAT_MATH_INLINE bool splat_raster_triangle_make(splat_raster_triangle *t, const splat_raster_corner *const c[3],
                                                  int column, int row)
{
    int64_t area = splat_raster_side_of(c[0], c[1], c[2]->x, c[2]->y), sign = area < 0 ? -1 : 1;
    int64_t x = (int64_t)column * SPLAT_RASTER_STEPS + SPLAT_RASTER_STEPS / 2,
            y = (int64_t)row * SPLAT_RASTER_STEPS + SPLAT_RASTER_STEPS / 2;
    if (area == 0) return false;
    t->area = (double)(sign * area);
    for (int k = 0; k < 3; k++) {
        const splat_raster_corner *a = c[(k + 1) % 3], *b = c[(k + 2) % 3];
        int64_t dx = sign * ((int64_t)b->x - a->x), dy = sign * ((int64_t)b->y - a->y);
        t->bias[k] = dy < 0 || (dy == 0 && dx > 0) ? 0 : -1; /* a left or a top edge, or not */
        t->value[k] = sign * splat_raster_side_of(a, b, x, y) + t->bias[k];
        t->right[k] = -dy * SPLAT_RASTER_STEPS;
        t->down[k] = dx * SPLAT_RASTER_STEPS;
        t->inverse_z[k] = 1.0 / (double)c[k]->z;
    }
    return true;
}

/* By the face itself: rounding to steps may turn a sliver. */
SPLAT_MATH_INLINE bool splat_raster_shows_front(const splat_raster_eye *v, size_t face)
{
    double p[3][3], a[3], b[3];
    for (size_t k = 0; k < 3; k++) splat_raster_to_camera(v, v->faces[3 * face + k], p[k]);
    for (int k = 0; k < 3; k++) {
        a[k] = p[1][k] - p[0][k];
        b[k] = p[2][k] - p[0][k];
    }
    return (a[1] * b[2] - a[2] * b[1]) * p[0][0] + (a[2] * b[0] - a[0] * b[2]) * p[0][1] +
               (a[0] * b[1] - a[1] * b[0]) * p[0][2] <
           0;
}

/* Depth of the triangle at a pixel that it covers, where its edge functions are e; share: of its corners, times sum. */
SPLAT_MATH_INLINE float splat_raster_depth(const splat_raster_triangle *t, const int64_t e[3], double share[3],
                                           double *sum)
{
    *sum = 0;
    for (int k = 0; k < 3; k++) {
        share[k] = (double)(e[k] - t->bias[k]) * t->inverse_z[k];
        *sum += share[k];
    }
    return (float)(t->area / *sum);
}

SPLAT_MATH_INLINE void splat_raster_weights(const splat_raster_triangle *t, const double share[3], double sum,
                                            float out[2])
{
    for (int b = 0; b < 2; b++) {
        double weight = 0;
        for (int k = 0; k < 3; k++) weight += share[k] * t->weights[k][b];
        out[b] = (float)fmin(weight / sum, 1.0);
    }
}

#endif
