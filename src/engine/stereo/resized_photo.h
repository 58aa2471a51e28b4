/* The photo of a view at another size. */
#ifndef SPLAT_STEREO_RESIZED_PHOTO_H
#define SPLAT_STEREO_RESIZED_PHOTO_H

#include "scene/scene.h"

/* rgb: [height][width][3] of the target, a camera of the view at another size. May be called from several threads.
 * Errors: MEMORY, those of reading. */
splat_status splat_resized_photo(splat_scene *scene, uint32_t view, const splat_camera *target, uint8_t *rgb,
                                 splat_error *error);

#endif
