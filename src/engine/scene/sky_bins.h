/* The bins of the dome: directions from the middle of the cameras, as a cube map. */
#ifndef SPLAT_SCENE_SKY_BINS_H
#define SPLAT_SCENE_SKY_BINS_H

#include "scene/sky_parts.h"

#define SKY_STRIDE 2 /* of the pixels that choose colours and the radius */

/* The bin where the ray of a pixel meets the ball of this radius; 0: at infinity. */
uint16_t sky_bin_of(const sky_finder *finder, const splat_camera *camera, size_t pixel, double radius);
/* Fills the bins of a photo, on the finder's ball. Errors: MEMORY. */
splat_status sky_bins_look(const sky_finder *finder, sky_photo *photo, splat_error *error);
/* Fills votes[SKY_BINS]: what the photo shows on the ball of this radius. */
void sky_bins_vote(const sky_finder *finder, const sky_photo *photo, double radius, sky_vote *votes);
/* Sine of the angle of a pixel's ray above the horizon. */
double sky_elevation(const sky_finder *finder, const sky_photo *photo, size_t pixel);
/* The four pixels next to a pixel, SIZE_MAX beyond the picture. */
void sky_neighbors(const sky_photo *photo, size_t pixel, size_t next[4]);
/* Gives mark `to` to a pixel with mark `from`, and to all pixels with that mark that are connected to the pixel; lists
 * them, and returns their number. marks, queue: [pixels]. */
size_t sky_fill(const sky_photo *photo, size_t first, uint8_t from, uint8_t to, uint8_t *marks, uint32_t *queue);
/* The pixel under a point of the scene; SIZE_MAX: the photo does not show its place. */
size_t sky_pixel_of_point(const sky_photo *photo, const float position[3]);

#endif
