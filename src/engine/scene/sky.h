/* The sky of a scene: masks of the training photos, from the photos and cameras alone (docs/method.md 2.9). */
#ifndef SPLAT_SCENE_SKY_H
#define SPLAT_SCENE_SKY_H

#include "math/dome.h"
#include "scene/sky_masks.h"
#include "splatsmith/scene.h"

/* Returns the sky of the scene, which the first call finds and the scene owns. With option `sky` none there is none;
 * with a folder the masks of its files are the sky. Not for several threads at a time. Errors: those of decoding,
 * MEMORY. */
splat_status splat_scene_find_sky(splat_scene *scene, const splat_sky **sky, splat_error *error);

/* The colours of the sky in the training photos, in all directions, for photos of mean brightness; the scene owns them.
 * Colours are NULL where no photo shows sky. Errors: those of splat_scene_find_sky. */
splat_status splat_scene_find_sky_dome(splat_scene *scene, splat_dome *dome, splat_error *error);

#endif
