/* Measuring a mesh on a set of views. */
#ifndef SPLAT_MEASURE_MESH_EVALUATE_H
#define SPLAT_MEASURE_MESH_EVALUATE_H

#include "backend/memory.h"
#include "measure/mesh_subject.h"

typedef struct splat_mesh_evaluator {
    splat_scene *scene;
    splat_view_job job; /* lpips becomes NULL where it is given up */
    splat_mesh_subject subject;
    splat_block image, photo; /* on the device; the mask after the photo */
    float *render;            /* host, [3][height][width] of the last view */
    float *coverage;          /* [height][width] */
} splat_mesh_evaluator;

/* Close it in either case. */
splat_status splat_mesh_evaluator_open(splat_mesh_evaluator *evaluator, splat_scene *scene, const char *mesh_path,
                                       const splat_view_job *job, const splat_mesh_draw_options *options,
                                       splat_error *error);
void splat_mesh_evaluator_close(splat_mesh_evaluator *evaluator);
/* Draws a view, clamps (and quantises) it in evaluator->render, and measures it against the photo of the scene's cache,
 * over all pixels, or with a mask over those that it keeps, whole pictures beside them; n_views is 0 where it keeps
 * none. */
splat_status splat_mesh_evaluator_view(splat_mesh_evaluator *evaluator, uint32_t index, const uint8_t *photo,
                                       splat_metrics *metrics, splat_error *error);

/* splat_mesh_evaluate with the figures of each view: views has a place for each of the set, NULL: not wanted; the
 * first *n_done were measured. covered.n_views is 0 for a view of which the mesh covers no pixel. */
splat_status splat_mesh_evaluate_views(splat_scene *scene, const char *mesh_path, const splat_view_job *job,
                                       const splat_mesh_draw_options *options, splat_mesh_metrics *views,
                                       splat_mesh_metrics *mean, size_t *n_done, splat_error *error);

#endif
