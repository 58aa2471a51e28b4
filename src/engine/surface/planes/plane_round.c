/* The geometry of cylinders and balls. */
#include "surface/planes/plane_round.h"

#include "math/camera.h"
#include "math/vec3.h"

#include <math.h>
#include <string.h>

#define LEAST_BEND 0.1   /* sine of the angle between the normals of two places that determine a surface */
#define LEAST_ACROSS 0.85 /* part of a normal across the axis of its cylinder */
#define LIKE 0.15         /* of the radius, and */
#define LIKE_COSINE 0.98
#define MOST_UNEQUAL 0.3 /* of the radius: the difference of the radii that the two places tell */

bool plane_round_is_ball(const plane_round *r)
{
    return splat_dot3(r->axis, r->axis) < 0.5;
}

/* Without the part along the axis. */
static void across(const plane_round *r, double v[3])
{
    const double along = splat_dot3(v, r->axis);
    for (int k = 0; k < 3; k++) v[k] -= along * r->axis[k];
}

/* From the axis or the middle. */
static double from_inside(const plane_round *r, const float position[3], double v[3])
{
    for (int k = 0; k < 3; k++) v[k] = (double)position[k] - r->center[k];
    across(r, v);
    return sqrt(splat_dot3(v, v));
}

double plane_round_distance(const plane_round *r, const float position[3])
{
    double v[3];
    return from_inside(r, position, v) - r->radius;
}

double plane_round_outward(const plane_round *r, const float position[3], double outward[3])
{
    const double length = from_inside(r, position, outward);
    for (int k = 0; k < 3 && length > 0; k++) outward[k] /= length;
    return length - r->radius;
}

/* Lines from two places along their normals pass nearest to each other at a + s n and b + t m. */
static bool meet(const double a[3], const double n[3], const double b[3], const double m[3], double *s, double *t)
{
    double d[3];
    const double nn = splat_dot3(n, n), mm = splat_dot3(m, m), nm = splat_dot3(n, m), det = nn * mm - nm * nm;
    if (!(det > LEAST_BEND * LEAST_BEND * nn * mm)) return false;
    for (int k = 0; k < 3; k++) d[k] = b[k] - a[k];
    *s = (splat_dot3(d, n) * mm - splat_dot3(d, m) * nm) / det;
    *t = (splat_dot3(d, n) * nm - splat_dot3(d, m) * nn) / det;
    return *s * *t > 0 && fabs(fabs(*s) - fabs(*t)) < MOST_UNEQUAL * fmax(fabs(*s), fabs(*t));
}

/* The axis of a cylinder whose normals n are known. False: it is not determined. */
static bool axis_of(double n[2][3], double axis[3])
{
    splat_cross3(n[0], n[1], axis);
    const double length = sqrt(splat_dot3(axis, axis));
    for (int k = 0; k < 3 && length > 0; k++) axis[k] /= length;
    return length > LEAST_BEND;
}

/* Turns normals across a known axis. False: one of them points along it. */
static bool turn_across(const plane_round *r, double n[2][3])
{
    for (int i = 0; i < 2; i++) {
        across(r, n[i]);
        const double length = sqrt(splat_dot3(n[i], n[i]));
        if (!(length > LEAST_ACROSS)) return false;
        for (int k = 0; k < 3; k++) n[i][k] /= length;
    }
    return true;
}

bool plane_round_of_two(const plane_round_place *a, const plane_round_place *b, plane_round_kind kind,
                        const double *axis, plane_round *r)
{
    double p[2][3], n[2][3], s, t;
    const plane_round_place *places[2] = {a, b};
    *r = (plane_round){.radius = 0};
    for (int i = 0; i < 2; i++)
        for (int k = 0; k < 3; k++) {
            p[i][k] = (double)places[i]->position[k];
            n[i][k] = (double)places[i]->normal[k];
        }
    if (kind != PLANE_ROUND_BALL) {
        r->is_fixed = kind == PLANE_ROUND_UPRIGHT;
        if (r->is_fixed) memcpy(r->axis, axis, sizeof r->axis);
        if (!(r->is_fixed ? turn_across(r, n) : axis_of(n, r->axis))) return false;
        /* the second place in the plane across the axis through the first */
        double d[3];
        for (int k = 0; k < 3; k++) d[k] = p[1][k] - p[0][k];
        const double along = splat_dot3(d, r->axis);
        for (int k = 0; k < 3; k++) p[1][k] -= along * r->axis[k];
    }
    if (!meet(p[0], n[0], p[1], n[1], &s, &t)) return false;
    for (int k = 0; k < 3; k++) r->center[k] = 0.5 * (p[0][k] + s * n[0][k] + p[1][k] + t * n[1][k]);
    r->radius = 0.5 * (fabs(s) + fabs(t));
    return true;
}

/* Cramer's rule. False: the rows are nearly dependent. */
static bool solve3(double rows[3][3], const double right[3], double x[3])
{
    double cross[3][3], det, size = 1;
    for (int i = 0; i < 3; i++) {
        splat_cross3(rows[(i + 1) % 3], rows[(i + 2) % 3], cross[i]);
        size *= sqrt(splat_dot3(rows[i], rows[i]));
    }
    det = splat_dot3(rows[0], cross[0]);
    if (!(fabs(det) > 1e-4 * size)) return false;
    for (int k = 0; k < 3; k++)
        x[k] = (right[0] * cross[0][k] + right[1] * cross[1][k] + right[2] * cross[2][k]) / det;
    return true;
}

bool plane_round_through(const float *const places[4], plane_round *r)
{
    const bool is_ball = plane_round_is_ball(r);
    double p[4][3], rows[3][3], right[3], d[3];
    for (int i = 0; i < 4; i++) {
        for (int k = 0; k < 3; k++) p[i][k] = (double)places[i][k] - r->center[k];
        across(r, p[i]);
    }
    for (int i = 0; i < (is_ball ? 3 : 2); i++) {
        for (int k = 0; k < 3; k++) rows[i][k] = p[i + 1][k] - p[0][k];
        right[i] = 0.5 * (splat_dot3(p[i + 1], p[i + 1]) - splat_dot3(p[0], p[0]));
    }
    if (!is_ball) {
        memcpy(rows[2], r->axis, sizeof rows[2]);
        right[2] = 0;
    }
    if (!solve3(rows, right, d)) return false;
    for (int k = 0; k < 3; k++) {
        r->center[k] += d[k];
        d[k] -= p[0][k];
    }
    r->radius = sqrt(splat_dot3(d, d));
    return true;
}

bool plane_round_slant(const splat_camera *c, const plane_round *r, float x, float y, bool is_far, plane_slant *slant)
{
    double ray[3], from[3], v[3], towards = 0;
    plane_fit fit = {.offset = 0};
    plane_ray(c, (double)x, (double)y, ray);
    for (int k = 0; k < 3; k++) {
        from[k] = (double)c->center[k] - r->center[k];
        v[k] = ray[k];
    }
    across(r, from);
    across(r, v);
    const double a = splat_dot3(v, v), b = splat_dot3(from, v);
    const double root = b * b - a * (splat_dot3(from, from) - r->radius * r->radius);
    if (!(a > 1e-12 && root > 0)) return false;
    const double z = (-b + (is_far ? sqrt(root) : -sqrt(root))) / a;
    if (!(z > 1e-6 && z < 1e9)) return false;
    for (int k = 0; k < 3; k++) {
        fit.normal[k] = (from[k] + z * v[k]) / r->radius;
        towards -= fit.normal[k] * ray[k];
    }
    for (int k = 0; k < 3; k++) {
        if (towards < 0) fit.normal[k] = -fit.normal[k];
        fit.offset += fit.normal[k] * ((double)c->center[k] + z * ray[k]);
    }
    return plane_shade_slant(c, &fit, x, y, slant);
}

int plane_round_unknowns(const plane_round *r)
{
    if (r->is_touching) return 1;
    return plane_round_is_ball(r) ? (r->is_fixed ? 1 : 4) : r->is_fixed ? 3 : 5;
}

plane_round plane_round_moved(const plane_round *r, const double u[PLANE_ROUND_UNKNOWNS], double length)
{
    plane_round moved = *r;
    if (r->is_touching) {
        for (int k = 0; k < 3; k++) moved.center[k] += length * u[0] * r->along[k];
        return moved;
    }
    moved.radius = fmax(r->radius + length * u[0], 1e-9);
    if (plane_round_is_ball(r)) {
        for (int k = 0; k < 3; k++) moved.center[k] += length * u[1 + k];
        return moved;
    }
    int least = 0;
    double e[2][3] = {{0}}, size = 0;
    for (int k = 1; k < 3; k++)
        if (fabs(r->axis[k]) < fabs(r->axis[least])) least = k;
    e[0][least] = 1;
    across(r, e[0]);
    size = sqrt(splat_dot3(e[0], e[0]));
    for (int k = 0; k < 3; k++) e[0][k] /= size;
    splat_cross3(r->axis, e[0], e[1]);
    for (int k = 0; k < 3; k++) {
        moved.center[k] += length * (u[1] * e[0][k] + u[2] * e[1][k]);
        moved.axis[k] += u[3] * e[0][k] + u[4] * e[1][k];
    }
    size = sqrt(splat_dot3(moved.axis, moved.axis));
    for (int k = 0; k < 3; k++) moved.axis[k] /= size;
    return moved;
}

bool plane_round_is_like(const plane_round *a, const plane_round *b)
{
    double d[3];
    const bool is_ball = plane_round_is_ball(b);
    for (int k = 0; k < 3; k++) d[k] = a->center[k] - b->center[k];
    across(b, d);
    return plane_round_is_ball(a) == is_ball && fabs(a->radius - b->radius) < LIKE * b->radius &&
           splat_dot3(d, d) < LIKE * LIKE * b->radius * b->radius &&
           (is_ball || fabs(splat_dot3(a->axis, b->axis)) > LIKE_COSINE);
}

bool plane_round_has(const plane_round *r, const float position[3])
{
    for (int k = 0; k < 3; k++)
        if (position[k] < r->low[k] || position[k] > r->high[k]) return false;
    return true;
}

bool plane_round_nearest(const splat_camera *c, const plane_round *r, float x, float y, float q, float most,
                         bool *is_far, plane_slant *slant)
{
    bool is_found = false;
    for (int far = 0; far < 2; far++) {
        plane_slant own;
        float position[3];
        if (!plane_round_slant(c, r, x, y, far, &own) || !(fabsf(own.q - q) < most * q)) continue;
        splat_camera_unproject(c, x, y, 1 / own.q, position);
        if (!plane_round_has(r, position)) continue;
        if (is_found && fabsf(own.q - q) >= fabsf(slant->q - q)) continue;
        *slant = own;
        *is_far = far;
        is_found = true;
    }
    return is_found;
}
