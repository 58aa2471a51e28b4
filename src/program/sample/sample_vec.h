/* Vectors of three doubles, for the ray-traced scenes. */
#ifndef SPLAT_SCENE_SAMPLE_VEC_H
#define SPLAT_SCENE_SAMPLE_VEC_H

#include <math.h>

typedef struct splat_vec3 { double x, y, z; } splat_vec3;

static inline splat_vec3 splat_vec3_make(double x, double y, double z)
{
    splat_vec3 v = {x, y, z};
    return v;
}

static inline splat_vec3 splat_vec3_add(splat_vec3 a, splat_vec3 b)
{
    return splat_vec3_make(a.x + b.x, a.y + b.y, a.z + b.z);
}

static inline splat_vec3 splat_vec3_sub(splat_vec3 a, splat_vec3 b)
{
    return splat_vec3_make(a.x - b.x, a.y - b.y, a.z - b.z);
}

static inline splat_vec3 splat_vec3_scale(splat_vec3 a, double s)
{
    return splat_vec3_make(a.x * s, a.y * s, a.z * s);
}

static inline splat_vec3 splat_vec3_mul(splat_vec3 a, splat_vec3 b)
{
    return splat_vec3_make(a.x * b.x, a.y * b.y, a.z * b.z);
}

static inline double splat_vec3_dot(splat_vec3 a, splat_vec3 b)
{
    return a.x * b.x + a.y * b.y + a.z * b.z;
}

static inline splat_vec3 splat_vec3_cross(splat_vec3 a, splat_vec3 b)
{
    return splat_vec3_make(a.y * b.z - a.z * b.y, a.z * b.x - a.x * b.z, a.x * b.y - a.y * b.x);
}

static inline splat_vec3 splat_vec3_normalize(splat_vec3 a)
{
    return splat_vec3_scale(a, 1.0 / sqrt(splat_vec3_dot(a, a)));
}

/* a + t b */
static inline splat_vec3 splat_vec3_along(splat_vec3 a, splat_vec3 b, double t)
{
    return splat_vec3_make(a.x + t * b.x, a.y + t * b.y, a.z + t * b.z);
}

/* (1 - t) a + t b */
static inline splat_vec3 splat_vec3_mix(splat_vec3 a, splat_vec3 b, double t)
{
    return splat_vec3_add(splat_vec3_scale(a, 1 - t), splat_vec3_scale(b, t));
}

#endif
