/* The built-in world `glossy`, and the cameras in it. */
#ifndef SPLAT_SAMPLE_GLOSSY_H
#define SPLAT_SAMPLE_GLOSSY_H

#include "sample/sample_camera.h"
#include "sample/sample_parts.h"

/* A room of 5 x 4 with a polished table, a mirror on a wall, a dark pane that reflects, an open window to the sky, and
 * a floor with a little gloss. */
void splat_sample_glossy_init(splat_parts *parts, uint64_t seed);
void splat_sample_glossy_camera(uint64_t seed, int index, int n, splat_sample_camera *camera);

#endif
