/* The exposure of a photo that none was found for, of those before and after it in a video. */
#ifndef SPLAT_MEASURE_EXPOSURE_GUESS_H
#define SPLAT_MEASURE_EXPOSURE_GUESS_H

#include "io/exposure_file.h"

#include <stdbool.h>

/* Guesses the exposure of a photo from photos whose names differ only in the last number: between the nearest lower and
 * higher numbers of `known` (without its own), linear in log2 gains, or that of the only side. Photos of several
 * cameras are not mixed: the nearest one's count. False: `known` has no such name. guess->name stays NULL. */
bool splat_exposure_guess(const splat_exposures *known, const char *name, splat_photo_exposure *guess);
/* True if the exposures of `known` follow their neighbours: guesses from the others are nearer to them (a sum of
 * squares) than their mean is. Random exposures would not be. */
bool splat_exposures_follow(const splat_exposures *known);

#endif
