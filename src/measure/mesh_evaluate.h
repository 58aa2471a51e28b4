/* Measuring a mesh on a set of views. */
#ifndef SPLAT_MEASURE_MESH_EVALUATE_H
#define SPLAT_MEASURE_MESH_EVALUATE_H

#include "base/error.h"
#include "splatsmith/observe.h"

/* splat_mesh_evaluate with the figures of each view: views has a place for each of the set, NULL: not wanted; the
 * first *n_done were measured. covered.n_views is 0 for a view of which the mesh covers no pixel. */
splat_status splat_mesh_evaluate_views(splat_scene *scene, const char *mesh_path, const splat_view_job *job,
                                       const splat_mesh_draw_options *options, splat_mesh_metrics *views,
                                       splat_mesh_metrics *mean, size_t *n_done, splat_error *error);

#endif
