/* The work of `mesh`: the mesh of a splat. */
#ifndef SPLAT_STAGE_MESH_H
#define SPLAT_STAGE_MESH_H

#include "stage/session.h"

/* All that can be said before anything is opened. Errors: ARGUMENT. */
splat_status splat_stage_check_mesh(const splat_line *line, splat_error *error);
/* Opens the splat of model_path or `ply`, and writes the meshes that `output` names. Errors: those of
 * splat_session_open and splat_mesh_extract. */
splat_status splat_stage_mesh(const splat_line *line, splat_error *error);

/* `bboxmin` and `bboxmax`, in the world. Errors: ARGUMENT. */
splat_status splat_stage_read_box(const splat_line *line, bool *has_box, double low[3], double high[3],
                                  splat_error *error);
/* Takes the floaters from the session's splat and says how many. options: NULL for the line's. Errors: those of
 * splat_model_remove_floaters. */
splat_status splat_stage_remove_floaters(splat_session *session, const splat_line *line,
                                         const splat_mesh_extract_options *options, splat_error *error);

#endif
