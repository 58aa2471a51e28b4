/* The exposure of a photo that none was found for, of those before and after it in a video. */
#ifndef SPLAT_MEASURE_EXPOSURE_GUESS_H
#define SPLAT_MEASURE_EXPOSURE_GUESS_H

#include "io/exposure_file.h"

#include <stdbool.h>

/* That of a photo whose name is that of others but for its last number: between the nearest lower and higher numbers
 * of `known` (but its own) in proportion, in log2 gains, or that of the only side there is. Photos of several cameras
 * are not mixed: the nearest one's counts. False: no other photo of `known` is named so. guess->name stays NULL. */
bool splat_exposure_guess(const splat_exposures *known, const char *name, splat_photo_exposure *guess);
/* Whether exposures of `known` follow their neighbours: guessed of the others they are nearer to what they are (a sum
 * of squares) than their mean is. Drawn at random they would not be. */
bool splat_exposures_follow(const splat_exposures *known);

#endif
