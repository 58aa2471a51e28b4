/* Ray-traced worlds as lists of parts. y points down; everything is in doubles and depends on the seed only. */
#ifndef SPLAT_SCENE_SAMPLE_PARTS_H
#define SPLAT_SCENE_SAMPLE_PARTS_H

#include "sample/sample_noise.h"
#include "sample/sample_shapes.h"
#include "sample/sample_sky.h"
#include "sample/sample_tree.h"

#include <stdbool.h>
#include <stddef.h>

enum { SPLAT_PARTS_MAX_LIGHTS = 4, SPLAT_PARTS_MAX_WALLS = 8 };

typedef struct splat_light {
    splat_vec3 place, color; /* is_sun: place is the direction to it */
    double radius;           /* shadows have an edge as soft as this */
    bool is_sun;
    int rays;                /* to the light from each ray of the camera, for smooth shadows; 0: one */
} splat_light;

/* A plane near which surfaces are darker, because less light comes back: normal . p + offset is the distance. */
typedef struct splat_dark_wall {
    splat_vec3 normal;
    double offset;
} splat_dark_wall;

typedef struct splat_parts {
    splat_part *items; /* [n], room for `capacity`; splat_parts_release */
    int n, capacity;
    bool lacks_memory; /* a part was dropped */
    splat_part dropped;
    splat_tree tree;   /* without nodes: parts are tried one by one */
    splat_light lights[SPLAT_PARTS_MAX_LIGHTS];
    int n_lights;
    splat_vec3 light_from_above, light_from_below; /* without direction or shadow */
    splat_vec3 room;     /* half length (x), height (y) and half depth (z) of a room, whose corners are darker; zeros:
                          * out of doors */
    splat_dark_wall walls[SPLAT_PARTS_MAX_WALLS]; /* the same, for rooms of any form */
    int n_walls;
    splat_sky sky;       /* out of doors, at infinity */
    const splat_sample_things *things; /* of the world `table`, borrowed */
    double backdrop;     /* radius of a painted ball around everything; 0: none */
    uint8_t noise[512];
} splat_parts;

typedef struct splat_parts_hit {
    int part;
    double t;
    splat_vec3 position, normal; /* normal: outwards, length 1 */
} splat_parts_hit;

/* ---------------------------------------------------------------- building */

/* Sets the bounds of a part and appends it; the new part, for changes of its paint. */
splat_part *splat_parts_add(splat_parts *parts, splat_part part);
/* Turns the whole world around its vertical axis. */
void splat_parts_turn(splat_parts *parts, double angle);
/* Makes the tree of a world that is complete. */
void splat_parts_make_tree(splat_parts *parts);
void splat_parts_release(splat_parts *parts);
/* A vector, turned as splat_parts_turn does. */
splat_vec3 splat_vec3_turn(splat_vec3 v, double angle);

/* ---------------------------------------------------------------- rays */

/* The first surface along a ray; direction has length 1. */
bool splat_parts_trace(const splat_parts *parts, splat_vec3 origin, splat_vec3 direction, splat_parts_hit *hit);
/* Something stands between origin and origin + distance direction. */
bool splat_parts_is_occluded(const splat_parts *parts, splat_vec3 origin, splat_vec3 direction, double distance);

#endif
