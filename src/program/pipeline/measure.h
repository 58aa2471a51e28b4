/* Figures of a textured mesh. */
#ifndef SPLAT_PIPELINE_MEASURE_H
#define SPLAT_PIPELINE_MEASURE_H

#include "line/line.h"
#include "pipeline/state.h"

#include <jansson.h>

/* "test_psnr", "test_psnr_covered" and "test_coverage" of a mesh, where the scene has test views. Errors: those of
 * splat_session_open_scene and splat_mesh_evaluate. */
splat_status splat_pipeline_measure_mesh(const splat_pipeline_place *at, json_t *results, const splat_line *line,
                                         splat_error *error);

#endif
