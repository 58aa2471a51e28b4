/* The boxes and the resolution of an extraction, and its progress. */
#include "base/error.h"
#include "scene/dataset.h"
#include "scene/scene.h"
#include "surface/extract/extract_boxes.h"

#include <math.h>

#define OUTER 4.0            /* background box over foreground box */
#define DEFAULT_VOXELS 320.0 /* along the foreground box */

splat_surface_boxes splat_surface_boxes_make(const splat_scene *scene, const splat_mesh_extract_options *options)
{
    const splat_dataset *dataset = &scene->dataset;
    splat_surface_boxes boxes;
    double center[3] = {0, 0, 0}, extent = (double)dataset->extent;
    for (size_t i = 0; i < dataset->n_train && options->center_bbox; i++)
        for (int k = 0; k < 3; k++)
            center[k] += (double)dataset->views[dataset->train[i]].camera.center[k] / (double)dataset->n_train;
    for (int k = 0; k < 3; k++) { /* a box that the user gave is never shifted */
        boxes.low[k] = options->has_bbox ? options->bbox_low[k] : center[k] - extent;
        boxes.high[k] = options->has_bbox ? options->bbox_high[k] : center[k] + extent;
        boxes.outer_low[k] = fmin(boxes.low[k], center[k] - OUTER * extent);
        boxes.outer_high[k] = fmax(boxes.high[k], center[k] + OUTER * extent);
    }
    return boxes;
}

bool splat_surface_is_inside(const float p[3], const double low[3], const double high[3])
{
    for (int k = 0; k < 3; k++)
        if (!((double)p[k] > low[k] && (double)p[k] < high[k])) return false;
    return true;
}

splat_status splat_surface_go_on(const splat_mesh_extract_options *options, const char *stage, double fraction,
                                 splat_error *error)
{
    if (!options->progress || options->progress(options->progress_user, stage, fraction)) return SPLAT_OK;
    return splat_fail(error, SPLAT_ERROR_STOPPED, "stopped while %s", stage);
}

double splat_extract_voxel(const splat_extraction *e)
{
    double side = 0;
    for (int k = 0; k < 3; k++) side = fmax(side, e->boxes.high[k] - e->boxes.low[k]);
    return e->options->voxel_size > 0 ? e->options->voxel_size : side / DEFAULT_VOXELS;
}
