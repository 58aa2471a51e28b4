/* Masks of the sky of the training photos. */
#ifndef SPLAT_SCENE_SKY_MASKS_H
#define SPLAT_SCENE_SKY_MASKS_H

#include "base/error.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* True if the value of option `sky` is a folder. */
bool splat_sky_is_folder(const char *option);

#define SPLAT_SKY_TRUST 2 /* pixels around a trusted one that are sky as well */

/* The sky in one training photo. */
typedef struct splat_sky_mask {
    int width, height; /* of the mask, not of the photo */
    uint8_t *pixels;   /* [height][width] 1: sky; NULL: the photo shows none */
} splat_sky_mask;

typedef struct splat_sky {
    size_t n;              /* training photos */
    splat_sky_mask *masks; /* [n], in the order of the training photos */
    bool is_found;         /* false: no photo shows sky, and the rest is 0 */
    double fit;            /* share of the plain pixels above the horizon that have the colour of their direction; of
                              all plain pixels for a backdrop */
    bool is_backdrop;      /* white paper and walls around a thing: nothing tells where they are */
    double brightness;     /* of a bright sky: its luma by that of what is below; 0: directions have a colour */
    double radius;         /* of the ball on which directions fit best, scene units; 0: infinity */
    double share;          /* of the pixels of all training photos */
    float *colors;         /* of splat_scene_find_sky_dome; NULL: not found yet, or nowhere */
    double center[3];      /* of the ball, with colors */
} splat_sky;

void splat_sky_free(splat_sky *sky);

/* True if the mask's pixel under pixel (x, y) of a picture of width x height is sky. mask->pixels must not be NULL. */
static inline bool splat_sky_mask_at(const splat_sky_mask *mask, size_t width, size_t height, size_t x, size_t y)
{
    const size_t i = (2 * x + 1) * (size_t)mask->width / (2 * width);
    const size_t j = (2 * y + 1) * (size_t)mask->height / (2 * height);
    return mask->pixels[j * (size_t)mask->width + i];
}

/* The trusted sky of training photo `number` at another size: (*trusted)[height][width] is 1 where the pixel and the 24
 * pixels around it are sky, else 0. The caller frees it. NULL if the photo shows no sky. Errors: MEMORY. */
splat_status splat_sky_take_trusted(const splat_sky *sky, size_t number, int width, int height, uint8_t **trusted,
                                    splat_error *error);

#endif
