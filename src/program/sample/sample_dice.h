/* Random numbers of the built-in worlds. Seeds vary places, sizes, colours and cameras: other seeds are other scenes of
 * the same kind. */
#ifndef SPLAT_SAMPLE_DICE_H
#define SPLAT_SAMPLE_DICE_H

#include "base/rng.h"

/* Steps of the random stream of the scenes: one purpose each; surface points take one step an attempt. */
enum { SPLAT_SAMPLE_STEP_CAMERAS = 1, SPLAT_SAMPLE_STEP_NOISE = 2, SPLAT_SAMPLE_STEP_LAYOUT = 3,
       SPLAT_SAMPLE_STEP_BLOBS = 4, SPLAT_SAMPLE_STEP_BLOB_PLACES = 5, SPLAT_SAMPLE_STEP_TRACKS = 6,
       SPLAT_SAMPLE_STEP_DEPTHS = 7, SPLAT_SAMPLE_STEP_SENSOR = 8,
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

#endif
