/* The work of `coarse`: a trained splat is laid on surfaces. */
#ifndef SPLAT_STAGE_COARSE_H
#define SPLAT_STAGE_COARSE_H

#include "stage/training.h"

/* All that can be said before anything is opened. loaded: the iteration of the splat to begin with, -1 when it is not
 * known. Errors: ARGUMENT. */
splat_status splat_stage_check_coarse(const splat_line *line, int loaded, splat_error *error);
/* A splat_training_begin: from the splat of model_path or `ply`. */
splat_status splat_stage_begin_coarse(splat_training *training, const splat_line *line, splat_error *error);

#endif
