/* The first message to the viewer's page: its first camera, and the cameras of the scene. */
#ifndef SPLAT_VIEWER_START_VIEW_H
#define SPLAT_VIEWER_START_VIEW_H

#include "mesh/mesh.h"
#include "model/model.h"
#include "splatsmith/scene.h"

/* The content of the page. All but one of model, mesh and scene may be NULL. */
typedef struct splat_viewer_content {
    const char *title;
    const splat_model *model;
    const splat_mesh *mesh;
    const splat_scene *scene;
    bool is_points; /* the model has a Gaussian for each point of the scene: the page counts points */
} splat_viewer_content;

/* JSON: title, gaussians (or points), center (the median of the Gaussians along each axis), radius (twice the
 * distance from it that half of them lie within), up (0, 0, 0: unknown), views: name, test, position, rotation
 * (world to camera, row-major), fov_y in degrees, width, height. Without a model center and radius are those of the
 * scene's points, and gaussians is absent. Of a mesh in place of a model they are those of its vertices; faces and
 * kinds (of pictures, besides error and photo) are there then. The caller frees *text. Errors: MEMORY, DEVICE. */
splat_status splat_start_view_json(const splat_viewer_content *content, char **text, splat_error *error);

#endif
