/* One triangle, one bound Gaussian, one value of Adam: the formulas of bind and bind_backward (docs/method.md), the
 * same on every backend. */
#ifndef SPLAT_OPS_BIND_MATH_H
#define SPLAT_OPS_BIND_MATH_H

#include "ops/bind/bind.h"
#include "ops/adam/adam.h"

typedef struct splat_bind_vector {
    float x, y, z;
} splat_bind_vector;

SPLAT_MATH_INLINE splat_bind_vector splat_bind_load(const float *values)
{
    splat_bind_vector v = {values[0], values[1], values[2]};
    return v;
}

SPLAT_MATH_INLINE void splat_bind_store(float *values, splat_bind_vector v)
{
    values[0] = v.x;
    values[1] = v.y;
    values[2] = v.z;
}

/* a + s b */
SPLAT_MATH_INLINE splat_bind_vector splat_bind_add(splat_bind_vector a, float s, splat_bind_vector b)
{
    splat_bind_vector v = {a.x + s * b.x, a.y + s * b.y, a.z + s * b.z};
    return v;
}

SPLAT_MATH_INLINE splat_bind_vector splat_bind_times(float s, splat_bind_vector a)
{
    splat_bind_vector v = {s * a.x, s * a.y, s * a.z};
    return v;
}

SPLAT_MATH_INLINE float splat_bind_dot(splat_bind_vector a, splat_bind_vector b)
{
    return a.x * b.x + a.y * b.y + a.z * b.z;
}

SPLAT_MATH_INLINE splat_bind_vector splat_bind_cross(splat_bind_vector a, splat_bind_vector b)
{
    splat_bind_vector v = {a.y * b.z - a.z * b.y, a.z * b.x - a.x * b.z, a.x * b.y - a.y * b.x};
    return v;
}

SPLAT_MATH_INLINE float splat_bind_length(splat_bind_vector a)
{
    return sqrtf(splat_bind_dot(a, a));
}

/* ---------------------------------------------------------------- a triangle */

typedef struct splat_bind_face {
    int is_degenerate;
    splat_bind_vector a, b;      /* v1 - v0, v2 - v0 */
    splat_bind_vector normal;    /* a x b, not normalised */
    float normal_length, length; /* |normal|; |v0 - v1| */
} splat_bind_face;

/* Corners; also tells what is not finite, as degenerate. */
SPLAT_MATH_INLINE splat_bind_face splat_bind_face_make(const splat_bound_mesh *mesh, splat_bind_vector v0,
                                                       splat_bind_vector v1, splat_bind_vector v2)
{
    splat_bind_face face;
    face.a = splat_bind_add(v1, -1.0f, v0);
    face.b = splat_bind_add(v2, -1.0f, v0);
    face.normal = splat_bind_cross(face.a, face.b);
    face.normal_length = splat_bind_length(face.normal);
    face.length = splat_bind_length(face.a);
    float second = splat_bind_length(face.b), third = splat_bind_length(splat_bind_add(v2, -1.0f, v1));
    face.is_degenerate = !(0.5f * face.normal_length >= mesh->least_area && face.length >= mesh->least_edge &&
                           second >= mesh->least_edge && third >= mesh->least_edge && face.normal_length > 0.0f &&
                           face.length > 0.0f && face.normal_length <= 1e37f);
    return face;
}

SPLAT_MATH_INLINE splat_bind_face splat_bind_face_of(const splat_bound_mesh *mesh, const float *vertices, uint32_t face)
{
    const uint32_t *corners = mesh->faces + 3 * (size_t)face;
    return splat_bind_face_make(mesh, splat_bind_load(vertices + 3 * (size_t)corners[0]),
                                splat_bind_load(vertices + 3 * (size_t)corners[1]),
                                splat_bind_load(vertices + 3 * (size_t)corners[2]));
}

/* R0, e1, e2 of a face that is not degenerate. */
typedef struct splat_bind_frame {
    splat_bind_vector r0, e1, e2;
} splat_bind_frame;

SPLAT_MATH_INLINE splat_bind_frame splat_bind_frame_of(const splat_bind_face *face)
{
    splat_bind_frame frame;
    frame.r0 = splat_bind_times(1.0f / face->normal_length, face->normal);
    frame.e1 = splat_bind_times(-1.0f / face->length, face->a);
    splat_bind_vector e2 = splat_bind_cross(frame.r0, frame.e1);
    frame.e2 = splat_bind_times(1.0f / splat_bind_length(e2), e2);
    return frame;
}

/* ---------------------------------------------------------------- a Gaussian */

/* The unit quaternion (w, x, y, z) of the rotation with columns a, b, c, by its largest component. */
SPLAT_MATH_INLINE void splat_bind_quaternion(splat_bind_vector a, splat_bind_vector b, splat_bind_vector c, float q[4])
{
    /* four times the squares, less 1 */
    float ww = a.x + b.y + c.z, xx = a.x - b.y - c.z, yy = b.y - a.x - c.z, zz = c.z - a.x - b.y;
    float w, x, y, z;
    if (ww >= xx && ww >= yy && ww >= zz) {
        w = 1.0f + ww, x = b.z - c.y, y = c.x - a.z, z = a.y - b.x;
    } else if (xx >= yy && xx >= zz) {
        w = b.z - c.y, x = 1.0f + xx, y = a.y + b.x, z = c.x + a.z;
    } else if (yy >= zz) {
        w = c.x - a.z, x = a.y + b.x, y = 1.0f + yy, z = b.z + c.y;
    } else {
        w = a.y - b.x, x = c.x + a.z, y = b.z + c.y, z = 1.0f + zz;
    }
    float scale = 1.0f / sqrtf(w * w + x * x + y * y + z * z);
    q[0] = scale * w;
    q[1] = scale * x;
    q[2] = scale * y;
    q[3] = scale * z;
}

/* The squared length of a complex parameter, 0 when the Gaussian is hidden for its own parameters. */
SPLAT_MATH_INLINE float splat_bind_plane_square(const float scales[2], const float turn[2])
{
    float square = turn[0] * turn[0] + turn[1] * turn[1];
    int is_usable = square >= 1e-24f && square <= 1e38f && fabsf(scales[0]) <= 3e38f && fabsf(scales[1]) <= 3e38f;
    return is_usable ? square : 0.0f;
}

/* g_omega: dL/d(rotation vector in the world) of a unit quaternion from its gradient (docs/method.md). */
SPLAT_MATH_INLINE splat_bind_vector splat_bind_turn_gradient(const float q[4], const float g[4])
{
    splat_bind_vector v = {q[1], q[2], q[3]}, gv = {g[1], g[2], g[3]};
    splat_bind_vector sum = splat_bind_cross(v, gv);
    sum = splat_bind_add(sum, q[0], gv);
    sum = splat_bind_add(sum, -g[0], v);
    return splat_bind_times(0.5f, sum);
}

/* The rotation of a Gaussian that is shown. */
SPLAT_MATH_INLINE void splat_bind_gaussian(const splat_bind_frame *frame, float turn_x, float turn_y, float square,
                                           float q[4])
{
    float scale = 1.0f / sqrtf(square), x = scale * turn_x, y = scale * turn_y;
    splat_bind_vector r1 = splat_bind_add(splat_bind_times(x, frame->e1), y, frame->e2);
    splat_bind_vector r2 = splat_bind_add(splat_bind_times(-y, frame->e1), x, frame->e2);
    splat_bind_quaternion(frame->r0, r1, r2, q);
}

/* The gradients of a face's frame from its Gaussians: dL/d(turn about R0, e1, e2). */
typedef struct splat_bind_turns {
    float about_r0, about_e1, about_e2;
} splat_bind_turns;

/* A Gaussian's part: adds to turns; plane gradients of its parameters. */
SPLAT_MATH_INLINE void splat_bind_gaussian_backward(const splat_bind_frame *frame, const float q[4], const float gq[4],
                                                    const float turn[2], float square, splat_bind_turns *turns,
                                                    float gradient[2])
{
    splat_bind_vector omega = splat_bind_turn_gradient(q, gq);
    float about = splat_bind_dot(omega, frame->r0);
    turns->about_r0 += about;
    turns->about_e1 += splat_bind_dot(omega, frame->e1);
    turns->about_e2 += splat_bind_dot(omega, frame->e2);
    gradient[0] = -turn[1] / square * about;
    gradient[1] = turn[0] / square * about;
}

/* dL/d(v0, v1, v2) of the turns of the face's frame and of a gradient of its normal (not normalised); added. */
SPLAT_MATH_INLINE void splat_bind_face_backward(const splat_bind_face *face, const splat_bind_frame *frame,
                                                const splat_bind_turns *turns, splat_bind_vector normal_gradient,
                                                splat_bind_vector corners[3])
{
    float scale = 1.0f / face->normal_length, along = turns->about_r0 / face->length;
    splat_bind_vector g = splat_bind_add(normal_gradient, scale * turns->about_e2, frame->e1);
    g = splat_bind_add(g, -scale * turns->about_e1, frame->e2);
    splat_bind_vector ga = splat_bind_cross(face->b, g), gb = splat_bind_cross(g, face->a);
    ga = splat_bind_add(ga, -along, frame->e2);
    corners[0] = splat_bind_add(splat_bind_add(corners[0], -1.0f, ga), -1.0f, gb);
    corners[1] = splat_bind_add(corners[1], 1.0f, ga);
    corners[2] = splat_bind_add(corners[2], 1.0f, gb);
}

/* ---------------------------------------------------------------- the consistency of normals */

/* 1 - cos of a pair with its sign (1 or -1), and sign times dcos/d(own normal). Both faces are not degenerate. */
SPLAT_MATH_INLINE float splat_bind_consistency(const splat_bind_face *own, const splat_bind_face *other, float sign,
                                               float least, splat_bind_vector *slope)
{
    float own_length = own->normal_length > least ? own->normal_length : least;
    float other_length = other->normal_length > least ? other->normal_length : least;
    splat_bind_vector u = splat_bind_times(1.0f / own_length, own->normal);
    splat_bind_vector w = splat_bind_times(sign / other_length, other->normal);
    float cosine = splat_bind_dot(u, w);
    *slope = own->normal_length > least ? splat_bind_add(w, -cosine, u) : w;
    *slope = splat_bind_times(1.0f / own_length, *slope);
    /* between unit vectors: half the square of their difference, which keeps its digits where they agree */
    if (own->normal_length <= least || other->normal_length <= least) return 1.0f - cosine;
    splat_bind_vector d = splat_bind_add(u, -1.0f, w);
    return 0.5f * splat_bind_dot(d, d);
}

/* ---------------------------------------------------------------- Adam */

typedef struct splat_bind_step {
    float step, inverse_correction2; /* lr / correction1 */
} splat_bind_step;

/* Moments that would be denormal are dropped, as in project_backward. */
SPLAT_MATH_INLINE void splat_bind_adam(float *parameter, float *m, float *v, float g, splat_bind_step step)
{
    float mi = SPLAT_ADAM_BETA1 * *m + (1.0f - SPLAT_ADAM_BETA1) * g;
    float vi = SPLAT_ADAM_BETA2 * *v + (1.0f - SPLAT_ADAM_BETA2) * g * g;
    mi = fabsf(mi) >= 1e-30f ? mi : 0.0f;
    vi = vi >= 1e-37f ? vi : 0.0f;
    *m = mi;
    *v = vi;
    *parameter -= step.step * mi / (sqrtf(vi * step.inverse_correction2) + SPLAT_ADAM_EPSILON);
}

#endif
