/* Skies at infinity: a colour for each direction. */
#ifndef SPLAT_SCENE_SAMPLE_SKY_H
#define SPLAT_SCENE_SAMPLE_SKY_H

#include "sample/sample_vec.h"

#include <stdint.h>

typedef enum splat_sky_kind {
    SPLAT_SKY_NONE,
    SPLAT_SKY_OVERCAST, /* white: 255 everywhere */
    SPLAT_SKY_BLUE,     /* a gradient from the horizon to the zenith */
    SPLAT_SKY_CLOUDS    /* the gradient with clouds of little contrast */
} splat_sky_kind;

typedef struct splat_sky {
    splat_sky_kind kind;
    splat_vec3 horizon, zenith;
} splat_sky;

/* A sky of the seed's kind: each third seed has the same. */
splat_sky splat_sky_of_seed(uint64_t seed);
/* Colour in [0, 1]; direction has length 1, y points down. */
splat_vec3 splat_sky_color(const splat_sky *sky, const uint8_t noise[512], splat_vec3 direction);

#endif
