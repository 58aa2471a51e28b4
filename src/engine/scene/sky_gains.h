/* The brightness of the photos, before anything is known of the sky. */
#ifndef SPLAT_SCENE_SKY_GAINS_H
#define SPLAT_SCENE_SKY_GAINS_H

#include "scene/sky_parts.h"

/* Sets the gains of all photos, to mean 1. Two photos have a ratio of brightness: the one that most of what both see
 * has, directions at infinity and points of the scene. What hides things gives other ratios, each its own. Least
 * squares make gains of the ratios of photos 0, step, 2 step ..., n of them. votes: [n][SKY_BINS], at infinity, which
 * are overwritten. The other photos follow by what these see. A photo without a ratio has 1. Errors: MEMORY. */
splat_status sky_gains_find(sky_finder *finder, sky_vote *votes, size_t step, size_t n, splat_error *error);

#endif
