/* Novel views around the cameras of a scene. */
#ifndef SPLAT_MEASURE_RANDOM_VIEWS_H
#define SPLAT_MEASURE_RANDOM_VIEWS_H

#include "mesh/mesh_draw.h"
#include "splatsmith/model.h"
#include "splatsmith/scene.h"

typedef struct splat_random_views_options {
    size_t size;
    size_t n;
    float position_deviation;  /* in mean distances from a camera to its nearest neighbour: 0.1 */
    float rotation_deviation_deg; /* about each of the camera's axes: 2 */
    uint64_t seed;
    splat_view_function visit; /* called for each written view; NULL allowed */
    void *user;
} splat_random_views_options;

void splat_random_views_options_init_sized(splat_random_views_options *options, size_t size);
#define splat_random_views_options_init(options) splat_random_views_options_init_sized(options, sizeof *(options))
/* cameras[options->n] (caller's memory), a function of scene, split and options: between a training camera and one of
 * its three nearest neighbours, position and rotation interpolated, then moved by normal noise; intrinsics of the
 * first. Errors: ARGUMENT (fewer than two training views; a deviation out of range). */
splat_status splat_random_views_make(const splat_scene *scene, const splat_random_views_options *options,
                                     splat_camera *cameras, splat_error *error);
/* Renders them into folder/images/000000.png ... and writes their poses as transforms.json and as a COLMAP model in
 * sparse/0: the folder is a scene by itself. Options->visit gets the camera, the number in place of a name and the
 * unclamped render. */
splat_status splat_random_views_write(splat_model *model, splat_scene *scene, const splat_random_views_options *options,
                                      const char *folder, splat_error *error);
/* splat_random_views_write with a mesh in place of the splat. */
splat_status splat_mesh_random_views_write(splat_scene *scene, const char *mesh_path,
                                           const splat_mesh_draw_options *draw_options,
                                           const splat_random_views_options *options, const char *folder,
                                           splat_error *error);

#endif
