/* Results where SuGaR's scripts look for them. */
#ifndef SPLAT_MEASURE_SUGAR_RESULTS_H
#define SPLAT_MEASURE_SUGAR_RESULTS_H

#include "splatsmith/model.h"

/* Puts figures where SuGaR's scripts look for them: results_<method><factor>_normal<factor>[_<variant>].json in a
 * folder, {scene: {"sugar_<level>_<vertices>_<refinement_iterations>": {n_views, ssim, psnr, lpips}}}, with what the
 * file says of others; figures of more views stay. name: of a mesh or a model folder, with or without its path, such as
 * sugarmesh_3Dgs7000_densityestim02_sdfnorm02_level03_decim1000000 or the sugarfine_ of it; another one is no error,
 * and *written is false. variant: "uvtexture", "diffuseonly", or NULL; after it comes "_poissoncenter" or
 * "_marchingcubes" of such meshes. scene_path: its last part is the scene. Errors: FORMAT (the file is no such JSON),
 * IO, MEMORY. */
splat_status splat_sugar_results_write(const char *folder, const char *name, const char *variant,
                                       const char *scene_path, int refinement_iterations,
                                       const splat_metrics *metrics, bool *written, splat_error *error);

#endif
