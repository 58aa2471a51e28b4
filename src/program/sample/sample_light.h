/* Colours of ray-traced worlds: the paints of parts, the light on them, and what lies behind them. */
#ifndef SPLAT_SCENE_SAMPLE_LIGHT_H
#define SPLAT_SCENE_SAMPLE_LIGHT_H

#include "sample/sample_parts.h"

/* A colour of any hue; saturation and brightness in [0, 1]. */
splat_vec3 splat_sample_hue(double hue, double saturation, double brightness);

/* Colour in [0, 1] of a surface point seen along `direction`; shadows are cast by point `sample` of n_samples of each
 * light, so that the mean over a pixel's rays has soft shadows. */
splat_vec3 splat_parts_shade(const splat_parts *parts, const splat_parts_hit *hit, splat_vec3 direction, int sample,
                             int n_samples);
/* Colour of a point of the backdrop. */
splat_vec3 splat_parts_backdrop(const splat_parts *parts, splat_vec3 point);
/* Colour in [0, 1] of whatever a ray meets. */
splat_vec3 splat_parts_color(const splat_parts *parts, splat_vec3 origin, splat_vec3 direction, int sample,
                             int n_samples);

#endif
