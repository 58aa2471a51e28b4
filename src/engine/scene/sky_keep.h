/* A sky that one opening of a scene leaves to the next, as the stages of a pipeline open the same photos. */
#ifndef SPLAT_SCENE_SKY_KEEP_H
#define SPLAT_SCENE_SKY_KEEP_H

#include "splatsmith/scene.h"

/* Zero, then kept and used; freed at the end. */
typedef struct splat_kept_sky {
    struct splat_sky *sky;       /* NULL: none */
    splat_scene_options options; /* of the scene it was found in; strings are owned copies */
    splat_camera *cameras;       /* [n] of its training photos */
    size_t n;
} splat_kept_sky;

/* Takes the sky that the scene has found, which the scene loses; without one nothing changes. Without memory the sky is
 * lost. NULL kept: nothing. */
void splat_scene_keep_sky(splat_scene *scene, splat_kept_sky *kept);
/* Gives the sky to a scene of the same training photos, which has not looked for one yet. Of other photos or options
 * the sky stays where it is. NULL kept: nothing. */
void splat_scene_use_sky(splat_scene *scene, splat_kept_sky *kept);
void splat_kept_sky_free(splat_kept_sky *kept);

#endif
