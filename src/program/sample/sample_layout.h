/* The built-in worlds that are lists of parts, and the cameras that look at them. Seeds vary places, sizes, colours and
 * cameras: other seeds are other scenes of the same kind. */
#ifndef SPLAT_SCENE_SAMPLE_LAYOUT_H
#define SPLAT_SCENE_SAMPLE_LAYOUT_H

#include "sample/sample_camera.h"
#include "sample/sample_parts.h"

/* Steps of the random stream of the scenes: one purpose each; surface points take one step an attempt. */
enum { SPLAT_SAMPLE_STEP_CAMERAS = 1, SPLAT_SAMPLE_STEP_NOISE = 2, SPLAT_SAMPLE_STEP_LAYOUT = 3,
       SPLAT_SAMPLE_STEP_BLOBS = 4, SPLAT_SAMPLE_STEP_BLOB_PLACES = 5, SPLAT_SAMPLE_STEP_TRACKS = 6,
       SPLAT_SAMPLE_STEP_DEPTHS = 7,
       SPLAT_SAMPLE_STEP_POINTS = 1 << 16, SPLAT_SAMPLE_STEP_TRUTH = 2 << 16, SPLAT_SAMPLE_MAX_ATTEMPTS = 1 << 15 };

/* A number for every call. */
typedef struct splat_dice {
    uint64_t seed, next;
    uint32_t step;
} splat_dice;

static inline double splat_dice_between(splat_dice *dice, double low, double high)
{
    splat_random4 words = splat_random(dice->seed, SPLAT_STREAM_SAMPLE_SCENE, dice->step, dice->next++);
    return low + (high - low) * (double)splat_uniform(words.x[0]);
}

/* Objects on a ground of 4 x 4, half of it textured and half of one colour, under a sun, before a painted backdrop:
 * balls, boxes, tori, cylinders, a thin plate, standing, leaning and lying rods. Cameras walk around on two rings. */
void splat_sample_objects_init(splat_parts *parts, uint64_t seed);
void splat_sample_objects_camera(uint64_t seed, int index, int n, splat_sample_camera *camera);

/* A room of 6 x 4, 3 high, seen from inside: painted walls, posters, a floor of planks, a table, chairs, a shelf, a
 * sofa, a lamp, a rug. Cameras walk around its middle at the height of eyes and look outwards, across and along. */
void splat_sample_room_init(splat_parts *parts, uint64_t seed);
void splat_sample_room_camera(uint64_t seed, int index, int n, splat_sample_camera *camera);

/* A colour of any hue; saturation and brightness in [0, 1]. */
splat_vec3 splat_sample_hue(double hue, double saturation, double brightness);

#endif
