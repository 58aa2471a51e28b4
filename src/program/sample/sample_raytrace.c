/* The world of the built-in scene `basic`: distances to its solids, rays against them, points on them, and their
 * colours. */
#include "sample/sample_raytrace.h"

#include "sample/sample_hits.h"

static const double pi = 3.14159265358979323846;

/* ---------------------------------------------------------------- the scene */

/* Local y along `up`; the other axes at a right angle. */
static void set_axes(splat_sample_solid *solid, splat_vec3 up)
{
    splat_vec3 y = splat_vec3_normalize(up);
    splat_vec3 helper = fabs(y.y) < 0.9 ? splat_vec3_make(0, 1, 0) : splat_vec3_make(1, 0, 0);
    splat_vec3 x = splat_vec3_normalize(splat_vec3_cross(y, helper));
    solid->axes[0] = x;
    solid->axes[1] = y;
    solid->axes[2] = splat_vec3_cross(x, y);
}

static void set_torus(splat_sample_solid *solid, splat_vec3 center, splat_vec3 axis, double radius, double tube)
{
    solid->center = center;
    solid->radius = radius;
    solid->tube = tube;
    solid->area = 4 * pi * pi * (radius + tube) * tube; /* of the proposals: see surface_point_torus */
    set_axes(solid, axis);
}

static void place_solids(splat_sample_solid *solids)
{
    const double tilt = 1.05, pole_height = 1.15;
    splat_sample_solid *ground = &solids[SPLAT_SAMPLE_GROUND], *ball = &solids[SPLAT_SAMPLE_BALL];
    splat_sample_solid *box = &solids[SPLAT_SAMPLE_BOX], *pole = &solids[SPLAT_SAMPLE_POLE];
    ground->radius = 4.0;
    ground->area = pi * ground->radius * ground->radius;
    set_axes(ground, splat_vec3_make(0, -1, 0));

    ball->radius = 0.65;
    ball->center = splat_vec3_make(-0.95, -ball->radius, 0.35);
    ball->area = 4 * pi * ball->radius * ball->radius;
    set_axes(ball, splat_vec3_make(0.35, -1, -0.2));

    box->half = splat_vec3_make(0.46, 0.42, 0.36);
    box->center = splat_vec3_make(0.95, -box->half.y, 0.55);
    box->area = 8 * (box->half.x * box->half.y + box->half.y * box->half.z + box->half.z * box->half.x);
    box->axes[0] = splat_vec3_make(cos(0.5), 0, sin(0.5));
    box->axes[1] = splat_vec3_make(0, 1, 0);
    box->axes[2] = splat_vec3_make(-sin(0.5), 0, cos(0.5));

    /* the torus leans; it touches the ground at one point */
    set_torus(&solids[SPLAT_SAMPLE_TORUS], splat_vec3_make(0.25, -(0.45 * sin(tilt) + 0.17), -0.95),
              splat_vec3_make(0.3 * sin(tilt), -cos(tilt), -sqrt(1 - 0.09) * sin(tilt)), 0.45, 0.17);
    /* thin: a pole and a hoop of 4 cm across, as wires are */
    pole->radius = 0.02;
    pole->half = splat_vec3_make(0, 0.5 * pole_height, 0);
    pole->center = splat_vec3_make(0.05, -0.5 * pole_height, 0.2);
    pole->area = 2 * pi * pole->radius * pole_height;
    set_axes(pole, splat_vec3_make(0, -1, 0));
    set_torus(&solids[SPLAT_SAMPLE_HOOP], splat_vec3_make(0.05, -(pole_height + 0.34), 0.2),
              splat_vec3_make(0.8, 0, -0.6), 0.34, 0.02);
}

void splat_sample_world_init(splat_sample_world *world, uint64_t seed)
{
    *world = (splat_sample_world){0};
    place_solids(world->solids);
    splat_noise_init(world->noise, seed);
}

static splat_vec3 to_local(const splat_sample_solid *solid, splat_vec3 v)
{
    return splat_vec3_make(splat_vec3_dot(solid->axes[0], v), splat_vec3_dot(solid->axes[1], v),
                           splat_vec3_dot(solid->axes[2], v));
}

static splat_vec3 to_world(const splat_sample_solid *solid, splat_vec3 v)
{
    splat_vec3 sum = splat_vec3_scale(solid->axes[0], v.x);
    return splat_vec3_along(splat_vec3_along(sum, solid->axes[1], v.y), solid->axes[2], v.z);
}

/* ---------------------------------------------------------------- distances */

static double torus_distance(const splat_sample_solid *solid, splat_vec3 p)
{
    double ring = sqrt(p.x * p.x + p.z * p.z) - solid->radius;
    return sqrt(ring * ring + p.y * p.y) - solid->tube;
}

static double box_distance(splat_vec3 half, splat_vec3 p)
{
    double x = fabs(p.x) - half.x, y = fabs(p.y) - half.y, z = fabs(p.z) - half.z;
    double ox = fmax(x, 0), oy = fmax(y, 0), oz = fmax(z, 0);
    return sqrt(ox * ox + oy * oy + oz * oz) + fmin(fmax(x, fmax(y, z)), 0);
}

/* The distance to a finite cylinder around y. */
static double cylinder_distance(double radius, double half_height, splat_vec3 p)
{
    double side = sqrt(p.x * p.x + p.z * p.z) - radius, cap = fabs(p.y) - half_height;
    double out_side = fmax(side, 0), out_cap = fmax(cap, 0);
    return sqrt(out_side * out_side + out_cap * out_cap) + fmin(fmax(side, cap), 0);
}

double splat_sample_distance(const splat_sample_world *world, splat_sample_shape shape, splat_vec3 point)
{
    const splat_sample_solid *solid = &world->solids[shape];
    splat_vec3 p = to_local(solid, splat_vec3_sub(point, solid->center));
    switch (shape) {
    case SPLAT_SAMPLE_GROUND: /* local y is up: an endless cylinder downwards, cut at y = 0 */
        return cylinder_distance(solid->radius, 1e3, splat_vec3_make(p.x, p.y + 1e3, p.z));
    case SPLAT_SAMPLE_BALL: return sqrt(splat_vec3_dot(p, p)) - solid->radius;
    case SPLAT_SAMPLE_BOX: return box_distance(solid->half, p);
    case SPLAT_SAMPLE_POLE: return cylinder_distance(solid->radius, solid->half.y, p);
    default: return torus_distance(solid, p);
    }
}

/* ---------------------------------------------------------------- rays */

static double hit_ground(const splat_sample_solid *solid, splat_vec3 origin, splat_vec3 direction)
{
    if (direction.y <= 0 || origin.y >= 0) return no_hit; /* seen from above only */
    double t = -origin.y / direction.y, x = origin.x + t * direction.x, z = origin.z + t * direction.z;
    return x * x + z * z <= solid->radius * solid->radius ? t : no_hit;
}

/* Entry and exit of a ball around the local origin. */
static bool hit_sphere(double radius, splat_vec3 p, splat_vec3 d, double *t0, double *t1)
{
    double b = splat_vec3_dot(p, d), c = splat_vec3_dot(p, p) - radius * radius, discriminant = b * b - c;
    if (discriminant <= 0) return false;
    double root = sqrt(discriminant);
    *t0 = -b - root;
    *t1 = -b + root;
    return *t1 > nearest;
}

static double hit_ball(const splat_sample_solid *solid, splat_vec3 p, splat_vec3 d)
{
    double t0, t1;
    if (!hit_sphere(solid->radius, p, d, &t0, &t1)) return no_hit;
    return t0 > nearest ? t0 : t1;
}

/* The side of a finite cylinder around y; its ends are covered (ground and hoop). */
static double hit_pole(const splat_sample_solid *solid, splat_vec3 p, splat_vec3 d)
{
    double a = d.x * d.x + d.z * d.z, b = p.x * d.x + p.z * d.z;
    double c = p.x * p.x + p.z * p.z - solid->radius * solid->radius, discriminant = b * b - a * c;
    if (discriminant <= 0 || a <= 0) return no_hit;
    double t = (-b - sqrt(discriminant)) / a;
    return t > nearest && fabs(p.y + t * d.y) <= solid->half.y ? t : no_hit;
}

/* Sphere tracing inside the ball and the slab around the torus: the distance is exact, so no step passes the surface.
 * Grazing rays that run out of steps stop within a tenth of a millimetre or miss. */
static double hit_torus(const splat_sample_solid *solid, splat_vec3 p, splat_vec3 d)
{
    const double close = 1e-6;
    double t0, t1;
    if (!hit_sphere(solid->radius + solid->tube, p, d, &t0, &t1)) return no_hit;
    cut_slab(p.y, d.y, solid->tube, &t0, &t1);
    t0 = fmax(t0, nearest);
    for (int step = 0; step < 200 && t0 < t1; step++) {
        double distance = torus_distance(solid, splat_vec3_along(p, d, t0));
        if (distance < close) return t0;
        t0 += distance;
    }
    return no_hit;
}

static double hit_solid(const splat_sample_world *world, splat_sample_shape shape, splat_vec3 origin,
                        splat_vec3 direction)
{
    const splat_sample_solid *solid = &world->solids[shape];
    if (shape == SPLAT_SAMPLE_GROUND) return hit_ground(solid, origin, direction);
    splat_vec3 p = to_local(solid, splat_vec3_sub(origin, solid->center)), d = to_local(solid, direction);
    switch (shape) {
    case SPLAT_SAMPLE_BALL: return hit_ball(solid, p, d);
    case SPLAT_SAMPLE_BOX: return hit_box(solid->half, p, d);
    case SPLAT_SAMPLE_POLE: return hit_pole(solid, p, d);
    default: return hit_torus(solid, p, d);
    }
}

static splat_vec3 box_normal(splat_vec3 half, splat_vec3 p)
{
    double x = fabs(fabs(p.x) - half.x), y = fabs(fabs(p.y) - half.y), z = fabs(fabs(p.z) - half.z);
    if (x <= y && x <= z) return splat_vec3_make(p.x < 0 ? -1 : 1, 0, 0);
    return y <= z ? splat_vec3_make(0, p.y < 0 ? -1 : 1, 0) : splat_vec3_make(0, 0, p.z < 0 ? -1 : 1);
}

static splat_vec3 normal_at(const splat_sample_solid *solid, splat_sample_shape shape, splat_vec3 position)
{
    splat_vec3 p = to_local(solid, splat_vec3_sub(position, solid->center)), n;
    switch (shape) {
    case SPLAT_SAMPLE_GROUND: n = splat_vec3_make(0, 1, 0); break;
    case SPLAT_SAMPLE_BALL: n = p; break;
    case SPLAT_SAMPLE_BOX: n = box_normal(solid->half, p); break;
    case SPLAT_SAMPLE_POLE: n = splat_vec3_make(p.x, 0, p.z); break;
    default: { /* away from the nearest point of the ring */
        double scale = 1.0 - solid->radius / sqrt(p.x * p.x + p.z * p.z);
        n = splat_vec3_make(p.x * scale, p.y, p.z * scale);
    }
    }
    return splat_vec3_normalize(to_world(solid, n));
}

bool splat_sample_trace(const splat_sample_world *world, splat_vec3 origin, splat_vec3 direction,
                        splat_sample_hit *hit)
{
    hit->t = no_hit;
    for (int shape = 0; shape < SPLAT_SAMPLE_N_SHAPES; shape++) {
        double t = hit_solid(world, (splat_sample_shape)shape, origin, direction);
        if (t >= hit->t) continue;
        hit->t = t;
        hit->shape = (splat_sample_shape)shape;
    }
    if (hit->t >= no_hit) return false;
    hit->position = splat_vec3_along(origin, direction, hit->t);
    hit->normal = normal_at(&world->solids[hit->shape], hit->shape, hit->position);
    return true;
}

bool splat_sample_is_occluded(const splat_sample_world *world, splat_vec3 origin, splat_vec3 direction, double distance)
{
    for (int shape = SPLAT_SAMPLE_GROUND + 1; shape < SPLAT_SAMPLE_N_SHAPES; shape++)
        if (hit_solid(world, (splat_sample_shape)shape, origin, direction) < distance) return true;
    return false;
}

/* ---------------------------------------------------------------- points on the surfaces */

static double unit(uint32_t word)
{
    return ((double)word + 0.5) * (1.0 / 4294967296.0);
}

static splat_vec3 surface_point_box(splat_vec3 half, double u, double v, double which)
{
    double xy = half.x * half.y, yz = half.y * half.z, zx = half.z * half.x;
    double pick = which * 2 * (xy + yz + zx), sign = 1;
    double a = 2 * u - 1, b = 2 * v - 1;
    if (pick >= xy + yz + zx) {
        sign = -1;
        pick -= xy + yz + zx;
    }
    if (pick < xy) return splat_vec3_make(a * half.x, b * half.y, sign * half.z);
    if (pick < xy + yz) return splat_vec3_make(sign * half.x, a * half.y, b * half.z);
    return splat_vec3_make(a * half.x, sign * half.y, b * half.z);
}

/* Uniform in both angles; kept in proportion to the distance from the axis, which makes it uniform by area. */
static bool surface_point_torus(const splat_sample_solid *solid, double u, double v, double keep, splat_vec3 *p)
{
    double ring = solid->radius + solid->tube * cos(2 * pi * v);
    *p = splat_vec3_make(ring * cos(2 * pi * u), solid->tube * sin(2 * pi * v), ring * sin(2 * pi * u));
    return keep * (solid->radius + solid->tube) < ring;
}

static bool surface_point(const splat_sample_solid *solid, splat_sample_shape shape, const uint32_t words[4],
                          splat_vec3 *p)
{
    double u = unit(words[1]), v = unit(words[2]), angle = 2 * pi * u, r;
    switch (shape) {
    case SPLAT_SAMPLE_GROUND:
        r = solid->radius * sqrt(v);
        *p = splat_vec3_make(r * cos(angle), 0, r * sin(angle));
        return true;
    case SPLAT_SAMPLE_BALL: /* Archimedes: uniform in height */
        r = sqrt(fmax(0, 1 - (2 * v - 1) * (2 * v - 1)));
        *p = splat_vec3_scale(splat_vec3_make(r * cos(angle), 2 * v - 1, r * sin(angle)), solid->radius);
        return true;
    case SPLAT_SAMPLE_BOX: *p = surface_point_box(solid->half, u, v, unit(words[3])); return true;
    case SPLAT_SAMPLE_POLE:
        *p = splat_vec3_make(solid->radius * cos(angle), (2 * v - 1) * solid->half.y, solid->radius * sin(angle));
        return true;
    default: return surface_point_torus(solid, u, v, unit(words[3]), p);
    }
}

bool splat_sample_surface_point(const splat_sample_world *world, const uint32_t words[4], splat_sample_hit *hit)
{
    double total = 0;
    for (int shape = 0; shape < SPLAT_SAMPLE_N_SHAPES; shape++) total += world->solids[shape].area;
    double pick = unit(words[0]) * total;
    int shape = 0;
    for (; shape + 1 < SPLAT_SAMPLE_N_SHAPES && pick >= world->solids[shape].area; shape++)
        pick -= world->solids[shape].area;

    const splat_sample_solid *solid = &world->solids[shape];
    splat_vec3 local;
    if (!surface_point(solid, (splat_sample_shape)shape, words, &local)) return false;
    hit->shape = (splat_sample_shape)shape;
    hit->t = 0;
    hit->position = splat_vec3_add(solid->center, to_world(solid, local));
    hit->normal = normal_at(solid, hit->shape, hit->position);
    splat_vec3 outside = splat_vec3_along(hit->position, hit->normal, 1e-3);
    for (int other = 0; other < SPLAT_SAMPLE_N_SHAPES; other++)
        if (other != shape && splat_sample_distance(world, (splat_sample_shape)other, outside) < 0) return false;
    return true;
}

/* ---------------------------------------------------------------- colours: noise, sun and sky */

/* Colours are display values: the pictures are clamp(colour) * 255, as photos from a camera are already encoded. */

/* ---------------------------------------------------------------- textures */

/* Stone tiles, each of its own shade, with veins. */
static splat_vec3 ground_color(const splat_sample_world *world, splat_vec3 p)
{
    const splat_vec3 sand = {0.80, 0.70, 0.54}, slate = {0.30, 0.37, 0.42}, moss = {0.42, 0.52, 0.30};
    double size = 0.5, u = p.x / size, v = p.z / size;
    int i = (int)floor(u), j = (int)floor(v);
    double shade = 0.82 + 0.32 * splat_noise_lattice(world->noise, i, j, 3);
    splat_vec3 color = splat_vec3_scale((i + j) & 1 ? sand : slate, shade);
    color = splat_vec3_mix(color, moss, 0.75 * splat_smoothstep(0.5, 0.72, splat_noise_fractal(world->noise, p, 1.1)));
    color = splat_vec3_scale(color, 0.72 + 0.5 * splat_noise_fractal(world->noise, splat_vec3_make(p.x, 7, p.z), 5.0));
    double edge = fmin(fmin(u - i, i + 1 - u), fmin(v - j, j + 1 - v)) * size;
    return splat_vec3_scale(color, 0.55 + 0.45 * splat_smoothstep(0.006, 0.02, edge));
}

/* A planet: bands that the weather has bent. */
static splat_vec3 ball_color(const splat_sample_world *world, splat_vec3 p)
{
    static const splat_vec3 bands[5] = {
        {0.93, 0.83, 0.66}, {0.80, 0.44, 0.22}, {0.95, 0.72, 0.42}, {0.58, 0.24, 0.16}, {0.98, 0.90, 0.76}};
    double height = 4.2 * (p.y / 0.65 + 1) + 2.4 * (splat_noise_fractal(world->noise, p, 2.6) - 0.5);
    double band = height - floor(height);
    int k = ((int)floor(height) % 5 + 5) % 5;
    splat_vec3 color = splat_vec3_mix(bands[k], bands[(k + 1) % 5], splat_smoothstep(0.55, 0.95, band));
    return splat_vec3_scale(color, 0.85 + 0.3 * splat_noise_fractal(world->noise, p, 9.0));
}

/* Painted tiles with dark joints, 3 x 3 a face. */
static splat_vec3 box_color(const splat_sample_world *world, splat_vec3 half, splat_vec3 p)
{
    static const splat_vec3 paints[6] = {{0.86, 0.26, 0.24}, {0.95, 0.75, 0.25}, {0.22, 0.55, 0.62},
                                         {0.93, 0.90, 0.82}, {0.24, 0.30, 0.55}, {0.45, 0.68, 0.38}};
    double x = fabs(p.x) / half.x, y = fabs(p.y) / half.y, z = fabs(p.z) / half.z, u, v;
    int face;
    if (x >= y && x >= z) {
        face = p.x < 0 ? 0 : 1;
        u = p.y / half.y, v = p.z / half.z;
    } else if (y >= z) {
        face = p.y < 0 ? 2 : 3;
        u = p.x / half.x, v = p.z / half.z;
    } else {
        face = p.z < 0 ? 4 : 5;
        u = p.x / half.x, v = p.y / half.y;
    }
    u = fmin(fmax(1.5 * (u + 1), 0), 2.999999);
    v = fmin(fmax(1.5 * (v + 1), 0), 2.999999);
    int i = (int)u, j = (int)v;
    double edge = fmin(fmin(u - i, i + 1 - u), fmin(v - j, j + 1 - v));
    /* 5 i + 2 j: neighbours differ */
    splat_vec3 color = paints[(5 * i + 2 * j + face + (int)(splat_noise_lattice(world->noise, face, 1, 2) * 6)) % 6];
    color = splat_vec3_scale(color, 0.8 + 0.4 * splat_noise_fractal(world->noise, p, 6.0));
    return splat_vec3_mix(splat_vec3_make(0.12, 0.11, 0.12), color, splat_smoothstep(0.03, 0.07, edge));
}

/* Candy stripes that wind around the tube. */
static splat_vec3 torus_color(const splat_sample_world *world, const splat_sample_solid *solid, splat_vec3 p)
{
    double around = atan2(p.z, p.x), ring = sqrt(p.x * p.x + p.z * p.z) - solid->radius, tube = atan2(p.y, ring);
    double stripe = sin(9 * around + 2 * tube);
    splat_vec3 color = splat_vec3_mix(splat_vec3_make(0.10, 0.45, 0.48), splat_vec3_make(0.94, 0.91, 0.84),
                           splat_smoothstep(-0.15, 0.15, stripe));
    return splat_vec3_scale(color, 0.85 + 0.3 * splat_noise_fractal(world->noise, p, 8.0));
}

static splat_vec3 surface_color(const splat_sample_world *world, const splat_sample_hit *hit)
{
    const splat_sample_solid *solid = &world->solids[hit->shape];
    splat_vec3 offset = splat_vec3_sub(hit->position, solid->center);
    splat_vec3 p = splat_vec3_make(splat_vec3_dot(solid->axes[0], offset), splat_vec3_dot(solid->axes[1], offset),
                                   splat_vec3_dot(solid->axes[2], offset));
    switch (hit->shape) {
    case SPLAT_SAMPLE_GROUND: return ground_color(world, hit->position);
    case SPLAT_SAMPLE_BALL: return ball_color(world, p);
    case SPLAT_SAMPLE_BOX: return box_color(world, solid->half, p);
    case SPLAT_SAMPLE_TORUS: return torus_color(world, solid, p);
    case SPLAT_SAMPLE_HOOP: return splat_vec3_make(0.92, 0.68, 0.22);
    default: /* a surveyor's pole */
        return (int)floor((p.y + solid->half.y) * 6) & 1 ? splat_vec3_make(0.85, 0.22, 0.18)
                                                         : splat_vec3_make(0.92, 0.92, 0.90);
    }
}

/* ---------------------------------------------------------------- light */

/* The part of the sky that the big shapes, as balls, hide: n.d r^2 / d^2 for a ball of radius r at distance d. */
static double sky_visibility(const splat_sample_world *world, const splat_sample_hit *hit)
{
    static const struct { splat_sample_shape shape; double radius; } balls[] = {
        {SPLAT_SAMPLE_BALL, 0.65}, {SPLAT_SAMPLE_BOX, 0.5}, {SPLAT_SAMPLE_TORUS, 0.42}};
    double visible = 1;
    for (int i = 0; i < 3; i++) {
        if (balls[i].shape == hit->shape) continue;
        splat_vec3 offset = splat_vec3_sub(world->solids[balls[i].shape].center, hit->position);
        double d2 = splat_vec3_dot(offset, offset), r2 = balls[i].radius * balls[i].radius;
        double facing = splat_vec3_dot(hit->normal, offset) / sqrt(d2);
        visible *= 1 - fmin(fmax(facing, 0) * fmin(r2 / d2, 1), 0.9);
    }
    return visible;
}

splat_vec3 splat_sample_backdrop(const splat_sample_world *world, splat_vec3 p)
{
    double height = fmin(fmax(-p.y / SPLAT_SAMPLE_BACKDROP, 0), 1);
    const splat_vec3 low = {0.24, 0.27, 0.33}, high = {0.07, 0.09, 0.14};
    splat_vec3 color = splat_vec3_mix(low, high, sqrt(height));
    double cloth = splat_noise_fractal(world->noise, p, 0.45);
    double weave = splat_noise_fractal(world->noise, splat_vec3_make(p.z, p.x, p.y), 1.7);
    return splat_vec3_scale(color, 0.55 + 0.6 * cloth + 0.35 * weave);
}

/* The colour of a ray that met nothing; its origin lies inside the ball. */
static splat_vec3 background(const splat_sample_world *world, splat_vec3 origin, splat_vec3 direction)
{
    double b = splat_vec3_dot(origin, direction);
    double c = splat_vec3_dot(origin, origin) - SPLAT_SAMPLE_BACKDROP * SPLAT_SAMPLE_BACKDROP;
    return splat_sample_backdrop(world, splat_vec3_along(origin, direction, -b + sqrt(b * b - c)));
}

splat_vec3 splat_sample_shade(const splat_sample_world *world, const splat_sample_hit *hit, splat_vec3 direction)
{
    static const double gloss[SPLAT_SAMPLE_N_SHAPES] = {0, 0.35, 0.08, 0.45, 0.5, 0.1};
    const splat_vec3 sun = splat_vec3_normalize(splat_vec3_make(-0.55, -1.0, -0.45));
    const splat_vec3 sun_light = {0.74, 0.70, 0.61}, sky_light = {0.52, 0.55, 0.62}, bounce = {0.40, 0.36, 0.32};
    double toward_sun = splat_vec3_dot(hit->normal, sun), up = -hit->normal.y;
    splat_vec3 start = splat_vec3_along(hit->position, hit->normal, 1e-3);
    bool lit = toward_sun > 0 && !splat_sample_is_occluded(world, start, sun, 1e9);
    splat_vec3 light = splat_vec3_scale(splat_vec3_mix(bounce, sky_light, 0.5 + 0.5 * up), sky_visibility(world, hit));
    if (lit) light = splat_vec3_add(light, splat_vec3_scale(sun_light, toward_sun));
    splat_vec3 color = splat_vec3_mul(surface_color(world, hit), light);
    if (lit && gloss[hit->shape] > 0) { /* Blinn-Phong */
        splat_vec3 half = splat_vec3_normalize(splat_vec3_sub(sun, direction));
        double shine = fmax(splat_vec3_dot(half, hit->normal), 0);
        shine *= shine, shine *= shine, shine *= shine, shine *= shine, shine *= shine; /* to the 32nd */
        color = splat_vec3_add(color, splat_vec3_scale(sun_light, gloss[hit->shape] * shine));
    }
    if (hit->shape == SPLAT_SAMPLE_GROUND) { /* the light ends before the ground does */
        double r = sqrt(hit->position.x * hit->position.x + hit->position.z * hit->position.z);
        color = splat_vec3_scale(color, 1 - 0.75 * splat_smoothstep(2.4, 3.9, r));
    }
    return color;
}

splat_vec3 splat_sample_color(const splat_sample_world *world, splat_vec3 origin, splat_vec3 direction)
{
    splat_sample_hit hit;
    splat_vec3 color = splat_sample_trace(world, origin, direction, &hit) ? splat_sample_shade(world, &hit, direction)
                                                                          : background(world, origin, direction);
    return splat_vec3_make(fmin(fmax(color.x, 0), 1), fmin(fmax(color.y, 0), 1), fmin(fmax(color.z, 0), 1));
}
