/* An opened scene: the dataset, the image cache, and the options it was opened with. */
#ifndef SPLAT_SCENE_SCENE_H
#define SPLAT_SCENE_SCENE_H

#include "base/context.h"
#include "scene/dataset.h"
#include "scene/image_cache.h"
#include "splatsmith/scene.h"

struct splat_scene {
    splat_context *context;
    splat_scene_options options; /* strings are owned copies */
    splat_dataset dataset;
    splat_image_cache *cache;
    splat_camera *train_cameras; /* [dataset.n_train], for the 3D filter */
    float *train_near_depths;    /* [dataset.n_train] near_depth of their views */
    struct splat_sky *sky;       /* NULL before splat_scene_find_sky */
};

/* Largest picture of the scene, pixels. */
void splat_scene_largest_view(const splat_scene *scene, int *width, int *height);
/* The colour behind the Gaussians: black or white. */
void splat_scene_background(const splat_scene *scene, float background[3]);
/* The vertical of the scene, in its coordinates, of length 1: across the training cameras' rows of pixels, which
 * people hold level, on the side of the cameras' tops. Where all cameras look the same way, the mean of their tops.
 * Zeros where the cameras do not agree (the mean's length is below a tenth). */
void splat_scene_up(const splat_scene *scene, float up[3]);
/* True if the unit of the scene is a metre: Polycam's poses are those of ARKit. Other formats do not say. */
bool splat_scene_is_metric(const splat_scene *scene);
/* "train" or "test": the folder of a set's pictures. */
const char *splat_view_set_name(splat_view_set set);
/* The views of a set: *indices borrowed from the scene, or from storage[5] for SPLAT_VIEWS_TRAIN_REPORT. */
size_t splat_scene_view_set(const splat_scene *scene, splat_view_set set, const uint32_t **indices,
                            uint32_t storage[5]);

/* The mask of a view at another size, [height][width]: 1 where the pixel of the photo that lies under the middle is
 * kept, else 0. Of a view that has one. Errors: those of decoding. */
splat_status splat_scene_read_mask(splat_scene *scene, size_t view, int width, int height, uint8_t *kept,
                                   splat_error *error);
/* True if evaluations use the mask of a view. */
bool splat_scene_measures_masked(const splat_scene *scene, size_t view);

#endif
