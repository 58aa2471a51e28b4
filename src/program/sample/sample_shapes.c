/* Shapes of parts: rays against them and points on them. */
#include "sample/sample_shapes.h"

#include "sample/sample_hits.h"

static const double pi = 3.14159265358979323846;

void splat_part_turn(splat_part *part, splat_vec3 up, splat_vec3 along)
{
    splat_vec3 y = splat_vec3_normalize(up);
    splat_vec3 z = splat_vec3_normalize(splat_vec3_cross(along, y));
    part->axes[0] = splat_vec3_cross(y, z);
    part->axes[1] = y;
    part->axes[2] = z;
}

double splat_part_bound_squared(const splat_part *part)
{
    double wide = part->radius + part->tube;
    switch (part->shape) {
    case SPLAT_PART_BALL: return part->radius * part->radius;
    case SPLAT_PART_DOME: return part->radius * part->radius;
    case SPLAT_PART_MESH:
        return part->thing->radius * part->thing->radius + part->thing->height * part->thing->height;
    case SPLAT_PART_TORUS: return wide * wide;
    case SPLAT_PART_PATCH:
    case SPLAT_PART_CYLINDER: return part->radius * part->radius + part->half.y * part->half.y;
    default: return splat_vec3_dot(part->half, part->half);
    }
}

void splat_part_box(const splat_part *part, double low[3], double high[3])
{
    const splat_vec3 *a = part->axes, h = part->half;
    const double center[3] = {part->center.x, part->center.y, part->center.z}, round = sqrt(part->bound2);
    const double x[3] = {a[0].x, a[0].y, a[0].z}, y[3] = {a[1].x, a[1].y, a[1].z}, z[3] = {a[2].x, a[2].y, a[2].z};
    bool is_flat = part->shape == SPLAT_PART_RECTANGLE || part->shape == SPLAT_PART_TRIANGLE ||
                   part->shape == SPLAT_PART_BOX;
    bool is_cylinder = part->shape == SPLAT_PART_CYLINDER || part->shape == SPLAT_PART_PATCH;
    for (int k = 0; k < 3; k++) {
        double half = is_flat       ? fabs(x[k]) * h.x + fabs(y[k]) * h.y + fabs(z[k]) * h.z
                      : is_cylinder ? fabs(y[k]) * h.y + part->radius * sqrt(fmax(0, 1 - y[k] * y[k]))
                                    : round;
        low[k] = center[k] - half - 1e-9;
        high[k] = center[k] + half + 1e-9;
    }
}

/* ---------------------------------------------------------------- rays, in local coordinates */

static double hit_rectangle(const splat_part *part, splat_vec3 p, splat_vec3 d)
{
    if (d.y >= 0 || p.y <= 0) return no_hit;
    double t = -p.y / d.y;
    bool inside = fabs(p.x + t * d.x) <= part->half.x && fabs(p.z + t * d.z) <= part->half.z;
    return inside && t > nearest ? t : no_hit;
}

static double hit_ball(const splat_part *part, splat_vec3 p, splat_vec3 d)
{
    double b = splat_vec3_dot(p, d), c = splat_vec3_dot(p, p) - part->radius * part->radius, discriminant = b * b - c;
    if (discriminant <= 0) return no_hit;
    double root = sqrt(discriminant), t = -b - root > nearest ? -b - root : -b + root;
    return t > nearest ? t : no_hit;
}

/* From outside. */
static double hit_cylinder(const splat_part *part, splat_vec3 p, splat_vec3 d)
{
    double r2 = part->radius * part->radius, t = no_hit;
    double a = d.x * d.x + d.z * d.z, b = p.x * d.x + p.z * d.z, c = p.x * p.x + p.z * p.z - r2;
    double discriminant = b * b - a * c;
    if (a > 1e-18) {
        if (discriminant <= 0) return no_hit; /* passes both ends by, too */
        double side = (-b - sqrt(discriminant)) / a;
        if (side > nearest && fabs(p.y + side * d.y) <= part->half.y) t = side;
    }
    if (fabs(p.y) > part->half.y && p.y * d.y < 0) {
        double end = (fabs(p.y) - part->half.y) / fabs(d.y), x = p.x + end * d.x, z = p.z + end * d.z;
        if (end > nearest && x * x + z * z <= r2) t = fmin(t, end);
    }
    return t;
}

/* Sphere tracing inside the slab around the torus: the distance is exact, so no step passes the surface. */
static double hit_torus(const splat_part *part, splat_vec3 p, splat_vec3 d)
{
    const double close = 1e-7, wide = part->radius + part->tube;
    double b = splat_vec3_dot(p, d), discriminant = b * b - splat_vec3_dot(p, p) + wide * wide;
    if (discriminant <= 0) return no_hit;
    double t0 = fmax(-b - sqrt(discriminant), nearest), t1 = -b + sqrt(discriminant);
    cut_slab(p.y, d.y, part->tube, &t0, &t1);
    for (int step = 0; step < 200 && t0 < t1; step++) {
        splat_vec3 q = splat_vec3_along(p, d, t0);
        double ring = sqrt(q.x * q.x + q.z * q.z) - part->radius, distance = sqrt(ring * ring + q.y * q.y) - part->tube;
        if (distance < close) return t0;
        t0 += distance;
    }
    return no_hit;
}

static double hit_triangle(const splat_part *part, splat_vec3 p, splat_vec3 d)
{
    double t = hit_rectangle(part, p, d), high = (p.z + t * d.z + part->half.z) / (2 * part->half.z);
    if (t >= no_hit) return t;
    return fabs(p.x + t * d.x - high * part->tip) <= (1 - high) * part->half.x ? t : no_hit;
}

/* True if a place on the whole cylinder or ball lies on the patch or dome. */
static bool is_on(const splat_part *part, splat_vec3 q)
{
    bool is_high = part->shape == SPLAT_PART_DOME ? q.y >= part->half.y : fabs(q.y) <= part->half.y;
    return is_high && fabs(atan2(q.z, q.x)) <= part->angle;
}

/* Patches and domes show one side: rays that leave the cylinder or ball see a hollow one. */
static double hit_curved(const splat_part *part, splat_vec3 p, splat_vec3 d)
{
    double up = part->shape == SPLAT_PART_DOME, r2 = part->radius * part->radius;
    double a = d.x * d.x + d.z * d.z + up * d.y * d.y, b = p.x * d.x + p.z * d.z + up * p.y * d.y;
    double discriminant = b * b - a * (p.x * p.x + p.z * p.z + up * p.y * p.y - r2);
    if (a <= 1e-18 || discriminant <= 0) return no_hit;
    double root = part->is_hollow ? sqrt(discriminant) : -sqrt(discriminant), t = (root - b) / a;
    return t > nearest && is_on(part, splat_vec3_along(p, d, t)) ? t : no_hit;
}

/* From `nearest` on: a ray may begin on the surface. */
static double hit_thing(const splat_part *part, splat_vec3 p, splat_vec3 d, double limit)
{
    double t = splat_sample_thing_hit(part->thing, splat_vec3_along(p, d, nearest), d, limit) + nearest;
    return t < limit ? t : no_hit;
}

double splat_part_hit(const splat_part *part, splat_vec3 origin, splat_vec3 direction, double limit)
{
    splat_vec3 offset = splat_vec3_sub(origin, part->center);
    double b = splat_vec3_dot(offset, direction), c = splat_vec3_dot(offset, offset) - part->bound2;
    if (c > 0 && (b >= 0 || b * b < c)) return no_hit; /* the ball around it is behind, or passed by */
    if (c > 0 && -b > limit && (b + limit) * (b + limit) > b * b - c) return no_hit; /* or too far */
    splat_vec3 p = splat_part_to_local(part, offset), d = splat_part_to_local(part, direction);
    double t;
    switch (part->shape) {
    case SPLAT_PART_RECTANGLE: t = hit_rectangle(part, p, d); break;
    case SPLAT_PART_BOX: t = hit_box(part->half, p, d); break;
    case SPLAT_PART_BALL: t = hit_ball(part, p, d); break;
    case SPLAT_PART_CYLINDER: t = hit_cylinder(part, p, d); break;
    case SPLAT_PART_TRIANGLE: t = hit_triangle(part, p, d); break;
    case SPLAT_PART_PATCH:
    case SPLAT_PART_DOME: t = hit_curved(part, p, d); break;
    case SPLAT_PART_MESH: t = hit_thing(part, p, d, limit); break;
    default: t = hit_torus(part, p, d);
    }
    return t < limit ? t : no_hit;
}

static splat_vec3 box_normal(splat_vec3 half, splat_vec3 p)
{
    double x = fabs(fabs(p.x) - half.x), y = fabs(fabs(p.y) - half.y), z = fabs(fabs(p.z) - half.z);
    if (x <= y && x <= z) return splat_vec3_make(p.x < 0 ? -1 : 1, 0, 0);
    return y <= z ? splat_vec3_make(0, p.y < 0 ? -1 : 1, 0) : splat_vec3_make(0, 0, p.z < 0 ? -1 : 1);
}

splat_vec3 splat_part_normal(const splat_part *part, splat_vec3 p)
{
    switch (part->shape) {
    case SPLAT_PART_TRIANGLE:
    case SPLAT_PART_RECTANGLE: return splat_vec3_make(0, 1, 0);
    case SPLAT_PART_PATCH: return splat_vec3_scale(splat_vec3_make(p.x, 0, p.z), part->is_hollow ? -1 : 1);
    case SPLAT_PART_DOME: return splat_vec3_scale(p, part->is_hollow ? -1 : 1);
    case SPLAT_PART_BOX: return box_normal(part->half, p);
    case SPLAT_PART_BALL: return p;
    case SPLAT_PART_MESH: return splat_sample_thing_normal(part->thing, p);
    case SPLAT_PART_CYLINDER: {
        double side = part->radius - sqrt(p.x * p.x + p.z * p.z), end = part->half.y - fabs(p.y);
        return fabs(end) < fabs(side) ? splat_vec3_make(0, p.y < 0 ? -1 : 1, 0) : splat_vec3_make(p.x, 0, p.z);
    }
    default: { /* away from the nearest point of the ring */
        double scale = 1.0 - part->radius / sqrt(p.x * p.x + p.z * p.z);
        return splat_vec3_make(p.x * scale, p.y, p.z * scale);
    }
    }
}

/* ---------------------------------------------------------------- points on the surfaces */

double splat_part_area(const splat_part *part)
{
    splat_vec3 h = part->half;
    switch (part->shape) {
    case SPLAT_PART_RECTANGLE: return 4 * h.x * h.z;
    case SPLAT_PART_BOX: return 8 * (h.x * h.y + h.y * h.z + h.z * h.x);
    case SPLAT_PART_BALL: return 4 * pi * part->radius * part->radius;
    case SPLAT_PART_CYLINDER: return 2 * pi * part->radius * (2 * h.y + part->radius);
    case SPLAT_PART_TRIANGLE: return 2 * h.x * h.z;
    case SPLAT_PART_PATCH: return 4 * part->angle * part->radius * h.y;
    case SPLAT_PART_DOME: return 2 * part->angle * part->radius * (part->radius - h.y);
    case SPLAT_PART_MESH: return splat_sample_thing_area(part->thing);
    default: return 4 * pi * pi * (part->radius + part->tube) * part->tube; /* of the proposals */
    }
}

static splat_vec3 box_point(splat_vec3 h, const double uniform[3])
{
    double xy = h.x * h.y, yz = h.y * h.z, zx = h.z * h.x, pick = uniform[2] * 2 * (xy + yz + zx), sign = 1;
    double a = 2 * uniform[0] - 1, b = 2 * uniform[1] - 1;
    if (pick >= xy + yz + zx) {
        sign = -1;
        pick -= xy + yz + zx;
    }
    if (pick < xy) return splat_vec3_make(a * h.x, b * h.y, sign * h.z);
    if (pick < xy + yz) return splat_vec3_make(sign * h.x, a * h.y, b * h.z);
    return splat_vec3_make(a * h.x, sign * h.y, b * h.z);
}

static splat_vec3 cylinder_point(const splat_part *part, const double uniform[3])
{
    double r = part->radius, angle = 2 * pi * uniform[0], y = part->half.y;
    double side = 4 * pi * r * y, end = pi * r * r, pick = uniform[2] * (side + 2 * end);
    if (pick < side) return splat_vec3_make(r * cos(angle), (2 * uniform[1] - 1) * y, r * sin(angle));
    r *= sqrt(uniform[1]);
    return splat_vec3_make(r * cos(angle), pick < side + end ? y : -y, r * sin(angle));
}

static splat_vec3 curved_point(const splat_part *part, double u, double v)
{
    double angle = (2 * u - 1) * part->angle, y = (2 * v - 1) * part->half.y, r = part->radius;
    if (part->shape == SPLAT_PART_DOME) { /* Archimedes, again */
        y = part->half.y + v * (part->radius - part->half.y);
        r = sqrt(fmax(0, part->radius * part->radius - y * y));
    }
    return splat_vec3_make(r * cos(angle), y, r * sin(angle));
}

bool splat_part_point(const splat_part *part, const double uniform[3], splat_vec3 *position, splat_vec3 *normal)
{
    double u = uniform[0], v = uniform[1], angle = 2 * pi * u, r;
    splat_vec3 p;
    bool is_kept = true;
    switch (part->shape) {
    case SPLAT_PART_RECTANGLE: p = splat_vec3_make((2 * u - 1) * part->half.x, 0, (2 * v - 1) * part->half.z); break;
    case SPLAT_PART_BOX: p = box_point(part->half, uniform); break;
    case SPLAT_PART_BALL: /* Archimedes: uniform in height */
        r = sqrt(fmax(0, 1 - (2 * v - 1) * (2 * v - 1)));
        p = splat_vec3_scale(splat_vec3_make(r * cos(angle), 2 * v - 1, r * sin(angle)), part->radius);
        break;
    case SPLAT_PART_CYLINDER: p = cylinder_point(part, uniform); break;
    case SPLAT_PART_TRIANGLE: /* a row of length 1 - v */
        v = 1 - sqrt(1 - v);
        p = splat_vec3_make((2 * u - 1) * (1 - v) * part->half.x + v * part->tip, 0, (2 * v - 1) * part->half.z);
        break;
    case SPLAT_PART_PATCH:
    case SPLAT_PART_DOME: p = curved_point(part, u, v); break;
    case SPLAT_PART_MESH: p = splat_sample_thing_point(part->thing, uniform); break;
    default: /* uniform in both angles; kept in proportion to the distance from the axis */
        r = part->radius + part->tube * cos(2 * pi * v);
        p = splat_vec3_make(r * cos(angle), part->tube * sin(2 * pi * v), r * sin(angle));
        is_kept = uniform[2] * (part->radius + part->tube) < r;
    }
    *position = splat_vec3_add(part->center, splat_part_to_world(part, p));
    *normal = splat_vec3_normalize(splat_part_to_world(part, splat_part_normal(part, p)));
    return is_kept;
}

double splat_part_edge_length(const splat_part *part)
{
    switch (part->shape) {
    case SPLAT_PART_RECTANGLE: return 4 * (part->half.x + part->half.z);
    case SPLAT_PART_BOX: return 8 * (part->half.x + part->half.y + part->half.z);
    case SPLAT_PART_CYLINDER: return 4 * pi * part->radius;
    default: return 0;
    }
}

/* One of the edges along each axis, signs by the second number. */
static void box_edge(splat_vec3 h, const double uniform[3], splat_vec3 *p, splat_vec3 *n)
{
    double pick = uniform[2] * (h.x + h.y + h.z), along = 2 * uniform[0] - 1;
    double a = uniform[1] < 0.5 ? -1 : 1, b = fmod(2 * uniform[1], 1) < 0.5 ? -1 : 1;
    if (pick < h.x) {
        *p = splat_vec3_make(along * h.x, a * h.y, b * h.z);
        *n = splat_vec3_make(0, a, b);
    } else if (pick < h.x + h.y) {
        *p = splat_vec3_make(a * h.x, along * h.y, b * h.z);
        *n = splat_vec3_make(a, 0, b);
    } else {
        *p = splat_vec3_make(a * h.x, b * h.y, along * h.z);
        *n = splat_vec3_make(a, b, 0);
    }
}

void splat_part_edge_point(const splat_part *part, const double uniform[3], splat_vec3 *position, splat_vec3 *normal)
{
    splat_vec3 p, n;
    double angle = 2 * pi * uniform[0], along = 2 * uniform[0] - 1, side = uniform[1] < 0.5 ? -1 : 1;
    if (part->shape == SPLAT_PART_BOX) {
        box_edge(part->half, uniform, &p, &n);
    } else if (part->shape == SPLAT_PART_RECTANGLE) {
        bool is_x = uniform[2] * (part->half.x + part->half.z) < part->half.x;
        p = splat_vec3_make((is_x ? along : side) * part->half.x, 0, (is_x ? side : along) * part->half.z);
        n = splat_vec3_make(0, 1, 0);
    } else {
        p = splat_vec3_make(part->radius * cos(angle), side * part->half.y, part->radius * sin(angle));
        n = splat_vec3_make(cos(angle), side, sin(angle));
    }
    *position = splat_vec3_add(part->center, splat_part_to_world(part, p));
    *normal = splat_vec3_normalize(splat_part_to_world(part, n));
}
