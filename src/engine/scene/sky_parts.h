/* The search for the sky in work. Its steps: sky_photos.h, sky_dome.h or sky_bright.h, sky_regions.h. */
#ifndef SPLAT_SCENE_SKY_PARTS_H
#define SPLAT_SCENE_SKY_PARTS_H

#include "scene/scene.h"
#include "scene/sky_masks.h"

#define SKY_SIDE 64 /* bins along a side of the cube map: 1.4 degrees */
#define SKY_BINS (6 * SKY_SIDE * SKY_SIDE)
#define SKY_LEAST_ELEVATION 0.0872 /* sine of 5 degrees: the mean of a region that is sky */
#define SKY_VOTERS 160 /* photos at most that determine the dome */

typedef enum sky_kind {
    SKY_BUSY,  /* contrast, or masked */
    SKY_SOFT,  /* low contrast: clouds */
    SKY_PLAIN
} sky_kind;

/* A training photo at the size of the search. */
typedef struct sky_photo {
    splat_camera camera;
    uint8_t *rgb;    /* [height][width][3] */
    uint8_t *smooth; /* [height][width][3], means of 5 x 5 plain, 9 x 9 soft pixels */
    uint8_t *kind;   /* [height][width] sky_kind */
    uint8_t *kept;   /* [height][width] 0: masked; NULL: the photo has no mask */
    uint16_t *bins;  /* [height][width] of the dome; NULL before sky_dome_look */
    uint8_t *mask;   /* [height][width] 1: sky; NULL before sky_regions_find */
    float gain[3];   /* brightness of the photo, 1 on average */
    float sky_level; /* of the sky that sky_bright_find has found */
} sky_photo;

/* A colour with its channels that are at the end of their range, where it cannot be divided by gains. */
typedef struct sky_color {
    float rgb[3];
    uint8_t is_full; /* bits of channels */
    uint8_t is_known;
} sky_color;

/* A photo in a bin: the mean of its plain pixels. */
typedef struct sky_vote {
    float rgb[3]; /* levels, with the photo's gain */
    uint32_t n;   /* pixels */
} sky_vote;

typedef struct sky_finder {
    splat_scene *scene;
    size_t n;
    sky_photo *photos; /* [n] */
    int threads;
    double center[3], extent; /* of the cameras */
    double up[3];
    bool has_up;
    double radius;        /* of the dome, 0: infinity */
    sky_color *dome;      /* [SKY_BINS] where several photos share a colour */
    uint8_t *is_sky;      /* [SKY_BINS] after sky_regions_find: bins of regions that are sky */
    float same;           /* levels: difference of colours that count as equal */
    double fit;           /* of the dome, 0: none */
    bool is_backdrop;     /* the dome is white below the horizon, too */
    float brightness;     /* of the sky that sky_bright_find has found, by that of what is below; 0: none */
} sky_finder;

#endif
