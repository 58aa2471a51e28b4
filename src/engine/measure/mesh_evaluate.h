/* Measuring a mesh on a set of views. */
#ifndef SPLAT_MEASURE_MESH_EVALUATE_H
#define SPLAT_MEASURE_MESH_EVALUATE_H

#include "backend/memory.h"
#include "measure/measured_mesh.h"
#include "splatsmith/model.h"

/* A mesh against photos. Means over views. */
typedef struct splat_mesh_metrics {
    splat_metrics all;     /* of pictures with their background; with masks as for a splat: of the kept pixels, and also
                              of whole pictures */
    splat_metrics covered; /* l1, psnr and ssim: means over the pixels that the mesh covers with all their samples,
                              and that masks keep, the photo standing in the others, so that windows of SSIM across the
                              border see no step; lpips is of the same picture, not scaled; colours are not corrected.
                              Views without such pixels are left out */
    double coverage;       /* such pixels, of all, or of those that masks keep */
    bool textured;         /* the mesh has a texture */
} splat_mesh_metrics;

/* Draws the mesh and measures it on the views of a job (splat_model_evaluate), one view in memory at a time; quantize,
 * lpips and color_correct (of all pixels) as there. The visitor gets the metrics of all pixels. Errors: those of
 * splat_mesh_views_write and
 * splat_model_evaluate. */
splat_status splat_mesh_evaluate(splat_scene *scene, const char *mesh_path, const splat_view_job *job,
                                 const splat_mesh_draw_options *options, splat_mesh_metrics *mean, splat_error *error);

typedef struct splat_mesh_evaluator {
    splat_scene *scene;
    splat_view_job job; /* lpips becomes NULL where it is given up */
    splat_measured_mesh measured;
    splat_block image, photo; /* device memory; the mask follows the photo */
    float *render;            /* host, [3][height][width] of the last view */
    float *coverage;          /* [height][width] */
} splat_mesh_evaluator;

/* Close it in either case. */
splat_status splat_mesh_evaluator_open(splat_mesh_evaluator *evaluator, splat_scene *scene, const char *mesh_path,
                                       const splat_view_job *job, const splat_mesh_draw_options *options,
                                       splat_error *error);
void splat_mesh_evaluator_close(splat_mesh_evaluator *evaluator);
/* Draws a view, clamps (and quantises) it in evaluator->render, and measures it against the photo of the scene's
 * cache, over all pixels, or with a mask over the pixels that it keeps, and also over whole pictures; n_views is 0
 * if it keeps none. */
splat_status splat_mesh_evaluator_view(splat_mesh_evaluator *evaluator, uint32_t index, const uint8_t *photo,
                                       splat_metrics *metrics, splat_error *error);

/* splat_mesh_evaluate with the figures of each view: views has a place for each of the set, NULL: not wanted; the
 * first *n_done were measured. covered.n_views is 0 for a view of which the mesh covers no pixel. */
splat_status splat_mesh_evaluate_views(splat_scene *scene, const char *mesh_path, const splat_view_job *job,
                                       const splat_mesh_draw_options *options, splat_mesh_metrics *views,
                                       splat_mesh_metrics *mean, size_t *n_done, splat_error *error);

#endif
