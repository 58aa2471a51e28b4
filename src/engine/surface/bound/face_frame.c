/* The frame of a triangle. */
#include "surface/bound/face_frame.h"

#include "ops/bind/bind_math.h"

#include <math.h>

static double dot(const double a[3], const double b[3])
{
    return a[0] * b[0] + a[1] * b[1] + a[2] * b[2];
}

static void cross(const double a[3], const double b[3], double out[3])
{
    for (int k = 0; k < 3; k++) out[k] = a[(k + 1) % 3] * b[(k + 2) % 3] - a[(k + 2) % 3] * b[(k + 1) % 3];
}

bool splat_face_frame_of(const splat_bound_mesh *bound, const splat_mesh *mesh, size_t f, splat_face_frame *frame)
{
    const uint32_t *corners = mesh->faces + 3 * f;
    const float *v0 = mesh->vertices + 3 * (size_t)corners[0], *v1 = mesh->vertices + 3 * (size_t)corners[1];
    const float *v2 = mesh->vertices + 3 * (size_t)corners[2];
    if (splat_bind_face_make(bound, splat_bind_load(v0), splat_bind_load(v1), splat_bind_load(v2)).is_degenerate)
        return false;
    double a[3], b[3], normal[3];
    for (int k = 0; k < 3; k++) {
        a[k] = (double)v1[k] - (double)v0[k];
        b[k] = (double)v2[k] - (double)v0[k];
    }
    cross(a, b, normal);
    const double length = sqrt(dot(a, a)), twice_area = sqrt(dot(normal, normal));
    for (int k = 0; k < 3; k++) {
        frame->r0[k] = normal[k] / twice_area;
        frame->e1[k] = -a[k] / length;
    }
    cross(frame->r0, frame->e1, frame->e2);
    frame->sides[0][0] = -length;
    frame->sides[1][0] = 0;
    frame->sides[0][1] = dot(b, frame->e1);
    frame->sides[1][1] = dot(b, frame->e2);
    return true;
}
