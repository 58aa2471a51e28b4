/* The training views of a splat as depth, normals and plain colours. */
#ifndef SPLAT_SURFACE_SURFACE_VIEWS_H
#define SPLAT_SURFACE_SURFACE_VIEWS_H

#include "surface/extract/pixel_state.h"
#include "surface/extract/surface_points.h"

/* The surface that one view sees, on the host; valid during the call. Pixels without surface have depth 0. */
typedef struct splat_surface_view {
    uint32_t index;         /* into the dataset's views */
    size_t number;          /* among the training views */
    const splat_camera *camera;
    const float *depth;     /* [height][width], along the camera's axis: where the transmittance passes 1/2 */
    const float *normal;    /* [3][height][width], world, towards the camera, unit or 0 */
    const float *alpha;     /* [height][width] */
    const uint8_t *state;   /* [height][width], splat_pixel_state: SILENT, MASKED or SKY */
    const uint8_t *rgb;     /* [height][width][3]: colours that do not depend on the direction (SH degree 0) */
} splat_surface_view;

typedef splat_status (*splat_surface_function)(void *user, const splat_surface_view *view, splat_error *error);

/* Calls `use` with every training view in turn, one in memory at a time. Pixels with less alpha than min_alpha have
 * depth 0. */
splat_status splat_surface_views(splat_scene *scene, splat_model *model, const splat_mesh_extract_options *options,
                                 splat_surface_function use, void *user, splat_error *error);
/* A training view's camera for pictures whose sides are resolution_factor times the scene's. */
splat_camera splat_surface_camera(const splat_scene *scene, size_t number, float resolution_factor);
/* A training view's camera for pictures of at most so many pixels. */
splat_camera splat_surface_camera_within(const splat_scene *scene, size_t number, double most_pixels);
/* Pixels of the largest of the views, with sides resolution_factor times the scene's. */
size_t splat_surface_pixels(const splat_scene *scene, float resolution_factor);
/* The colour that all directions share: host arrays rgb [3][height][width] and alpha [height][width], which is 1 less
 * the transmittance. */
splat_status splat_surface_render(splat_model *model, const splat_camera *camera, float *rgb, float *alpha,
                                  splat_error *error);
/* Pixel i of such a picture without the black background. */
void splat_surface_color(const float *rgb, const float *alpha, size_t n_pixels, size_t i, uint8_t color[3]);

/* The points of DEPTHS at the median depth, appended. */
splat_status splat_surface_depths(splat_scene *scene, splat_model *model, const splat_mesh_extract_options *options,
                                  splat_surface_points *points, splat_error *error);

#endif
