/* Surfaces from a splat: what its training views see is made into points or fused depth, and that into a mesh. */
#ifndef SPLAT_SUGAR_EXTRACT_H
#define SPLAT_SUGAR_EXTRACT_H

#include "mesh/mesh.h"
#include "model/model.h"
#include "scene/scene.h"

/* What one view sees, on the host; valid during the call. Pixels without surface have depth 0. */
typedef struct splat_surface_view {
    uint32_t index;         /* into the dataset's views */
    const splat_camera *camera;
    const float *depth;     /* [height][width], along the camera's axis: where the transmittance passes 1/2 */
    const float *normal;    /* [3][height][width], world, towards the camera, unit or 0 */
    const float *alpha;     /* [height][width] */
    const uint8_t *rgb;     /* [height][width][3]: colours that do not depend on the direction (SH degree 0) */
} splat_surface_view;

typedef splat_status (*splat_surface_function)(void *user, const splat_surface_view *view, splat_error *error);

/* Calls `use` with every training view in turn, one in memory at a time. min_alpha: pixels with less have depth 0. */
splat_status splat_surface_views(splat_scene *scene, splat_model *model, float min_alpha, splat_surface_function use,
                                 void *user, splat_error *error);

/* Points on the surface with normals and colours. */
typedef struct splat_surface_points {
    size_t n, capacity;
    float *positions, *normals; /* [n][3] */
    uint8_t *colors;            /* [n][4] */
} splat_surface_points;

void splat_surface_points_free(splat_surface_points *points);
/* About n_wanted points, evenly spread over views and at random over their pixels, inside the box (low, high). */
splat_status splat_surface_points_collect(splat_scene *scene, splat_model *model,
                                          const splat_mesh_extract_options *options, splat_surface_points *points,
                                          splat_error *error);

/* Foreground and background boxes: those of the options, or cubes around the cameras' mean (docs/method.md). */
typedef struct splat_surface_boxes {
    double low[3], high[3];         /* foreground */
    double outer_low[3], outer_high[3]; /* background: what lies in here and not in the foreground */
} splat_surface_boxes;
splat_surface_boxes splat_surface_boxes_make(const splat_scene *scene, const splat_mesh_extract_options *options);

#endif
