/* The results of a splat on the views of a scene, and its renders, as files. */
#ifndef SPLAT_MEASURE_RESULTS_H
#define SPLAT_MEASURE_RESULTS_H

#include "splatsmith/model.h"
#include "splatsmith/scene.h"

/* Measures the views of a job and writes results.json and per_view.json in the model folder, under the method name
 * "ours_<iteration>", with "_<variant>" after it unless that is NULL. Results that the files have of more views (a test
 * photo may be lost since) stay; the new ones then are "<method>_<n>_of_<more>_views". Errors: ARGUMENT (there are no
 * such views), STOPPED (nothing is written then), those of splat_model_evaluate, IO. */
splat_status splat_results_write(splat_model *model, splat_scene *scene, const splat_view_job *job,
                                 const char *model_path, int iteration, const char *variant, splat_metrics *mean,
                                 splat_error *error);
/* Writes <folder>/{train,test}/ours_N/{test_preds_R,gt_R}/%05d.png (N: iteration, R: the scene's resolution option). */
splat_status splat_renders_write(splat_model *model, splat_scene *scene, const splat_view_job *job, const char *folder,
                                 int iteration, splat_error *error);

#endif
