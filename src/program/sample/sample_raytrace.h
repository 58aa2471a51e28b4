/* The built-in scene as geometry and light: a disc of ground, a ball, a box, a torus, and a hoop on a pole. y points
 * down, as in most COLMAP worlds; the ground is y = 0. Everything is in doubles and depends on the seed only. */
#ifndef SPLAT_SCENE_SAMPLE_RAYTRACE_H
#define SPLAT_SCENE_SAMPLE_RAYTRACE_H

#include "sample/sample_noise.h"

#include <stdbool.h>

typedef enum splat_sample_shape {
    SPLAT_SAMPLE_GROUND,
    SPLAT_SAMPLE_BALL,
    SPLAT_SAMPLE_BOX,
    SPLAT_SAMPLE_TORUS,
    SPLAT_SAMPLE_HOOP,
    SPLAT_SAMPLE_POLE,
    SPLAT_SAMPLE_N_SHAPES
} splat_sample_shape;

/* A shape stands at `center`; its own coordinates are along `axes` (rows: local x, y, z). */
typedef struct splat_sample_solid {
    splat_vec3 center, axes[3];
    splat_vec3 half;      /* box: half edges; pole: half.y = half height */
    double radius;        /* ground, ball: radius; torus, hoop: of the ring; pole: of the cylinder */
    double tube;          /* torus, hoop: radius of the tube */
    double area;          /* area from which splat_sample_surface_point draws */
} splat_sample_solid;

typedef struct splat_sample_world {
    splat_sample_solid solids[SPLAT_SAMPLE_N_SHAPES];
    uint8_t noise[512];   /* a permutation of 0 to 255, twice */
} splat_sample_world;

typedef struct splat_sample_hit {
    splat_sample_shape shape;
    double t;
    splat_vec3 position, normal; /* normal: outwards, length 1 */
} splat_sample_hit;

/* Radius of the backdrop, a painted ball around the scene and its cameras: something for the sky of the photos to be,
 * at a distance that they can measure. It is not part of the true surface. */
#define SPLAT_SAMPLE_BACKDROP 9.0

void splat_sample_world_init(splat_sample_world *world, uint64_t seed);

/* The first surface along a ray; direction has length 1. */
bool splat_sample_trace(const splat_sample_world *world, splat_vec3 origin, splat_vec3 direction,
                        splat_sample_hit *hit);
/* Something stands between origin and origin + distance direction (the ground does not count: it shades nothing). */
bool splat_sample_is_occluded(const splat_sample_world *world, splat_vec3 origin, splat_vec3 direction,
                              double distance);
/* Signed distance to one shape, negative inside; the ground is the half space below, within its radius. */
double splat_sample_distance(const splat_sample_world *world, splat_sample_shape shape, splat_vec3 point);

/* Proposes a point on the surfaces, uniform by area, from four random words. False: draw again (the torus is sampled by
 * rejection; points that lie inside another shape are hidden). */
bool splat_sample_surface_point(const splat_sample_world *world, const uint32_t words[4], splat_sample_hit *hit);

/* Colour in [0, 1] of a surface point seen along `direction`, and of whatever a ray meets. */
splat_vec3 splat_sample_shade(const splat_sample_world *world, const splat_sample_hit *hit, splat_vec3 direction);
/* Colour of a point of the backdrop. */
splat_vec3 splat_sample_backdrop(const splat_sample_world *world, splat_vec3 point);
splat_vec3 splat_sample_color(const splat_sample_world *world, splat_vec3 origin, splat_vec3 direction);

#endif
