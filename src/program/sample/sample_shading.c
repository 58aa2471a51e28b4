/* Colours of the built-in scene: patterns of noise, sun and sky. */
#include "sample/sample_raytrace.h"

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

/* What the big shapes, taken as balls, hide of the sky: n.d r^2 / d^2 of a ball of radius r at distance d. */
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

/* Where a ray that met nothing ends: origin lies inside the ball. */
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
