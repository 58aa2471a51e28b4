/* The figures of an evaluation in a model folder: results.json and per_view.json. */
#ifndef SPLAT_MEASURE_RESULTS_JSON_H
#define SPLAT_MEASURE_RESULTS_JSON_H

#include "base/context.h"
#include "base/error.h"
#include "measure/mesh_evaluate.h"

/* The name for results of n views: `method`, or, where per_view.json has more views of it, method_<n>_of_<more>_views,
 * with a notice: results of fewer views (photos may be lost) do not replace the others. malloc'd; NULL: no memory. */
char *splat_results_json_name(const splat_context *context, const char *model_path, const char *method, size_t n);
/* results.json {method: {SSIM, PSNR, PSNR_per_channel, L1, n_views}} and per_view.json {method: {SSIM: {view: value},
 * ..}}, indent 1. Other methods already in the files are kept. names[i] is "00000.png" and so on. */
splat_status splat_results_json_write(const char *model_path, const char *method, const splat_metrics *mean,
                                      const splat_metrics *views, const char *const *names, size_t n,
                                      splat_error *error);
/* The same of a mesh: the keys again with "_covered" at their ends, and coverage. A view without covered pixels has
 * null. */
splat_status splat_mesh_results_json_write(const char *model_path, const char *method, const splat_mesh_metrics *mean,
                                           const splat_mesh_metrics *views, const char *const *names, size_t n,
                                           splat_error *error);
#endif
