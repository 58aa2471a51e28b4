/* The work of `refine`: a mesh is trained with Gaussians bound to its triangles. */
#ifndef SPLAT_STAGE_REFINE_H
#define SPLAT_STAGE_REFINE_H

#include "stage/training.h"

/* All that can be said before anything is opened. Errors: ARGUMENT. */
splat_status splat_stage_check_refine(const splat_line *line, splat_error *error);
/* A splat_training_begin: from the mesh of line->model->mesh_file, with the colours of the splat in gs_output_dir. */
splat_status splat_stage_begin_refine(splat_training *training, const splat_line *line, splat_error *error);
/* After a run that went well: where the mesh lies. */
void splat_stage_tell_mesh(const splat_training *training);

#endif
