/* Regions of photos whose tones are their own. */
#ifndef SPLAT_SCENE_SKY_TONES_H
#define SPLAT_SCENE_SKY_TONES_H

#include "scene/sky_parts.h"

/* Phones bend the tones of each photo, so that no gain of the whole photo gives its sky the colours of the dome. True
 * if the region's colours follow the dome's by a tone curve of each channel, where the dome changes enough to tell.
 * labels: [pixels] of the photo; n: pixels with `label`. Needs the photo's bins, dome and is_sky. */
bool sky_tones_follow(const sky_finder *finder, const sky_photo *photo, const uint16_t *labels, uint16_t label,
                      size_t n);

#endif
