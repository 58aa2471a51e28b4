/* The results of a mesh on the views of a scene, as files. */
#ifndef SPLAT_MEASURE_MESH_RESULTS_H
#define SPLAT_MEASURE_MESH_RESULTS_H

#include "measure/mesh_evaluate.h"

/* splat_mesh_evaluate, with results.json and per_view.json in the model folder, under the method "mesh_<name>", with
 * "_<variant>" after it unless that is NULL: the keys of splat_results_write, again with "_covered" at their ends, and
 * "coverage". Errors as above, and IO, STOPPED (nothing is written). */
splat_status splat_mesh_results_write(splat_scene *scene, const char *mesh_path, const splat_view_job *job,
                                      const splat_mesh_draw_options *options, const char *model_path,
                                      const char *variant, splat_mesh_metrics *mean, splat_error *error);

#endif
