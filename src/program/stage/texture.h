/* The work of `texture`: a mesh painted with the photos of its scene. */
#ifndef SPLAT_STAGE_TEXTURE_H
#define SPLAT_STAGE_TEXTURE_H

#include "stage/session.h"

/* All that can be said before anything is opened. Errors: ARGUMENT. */
splat_status splat_stage_check_texture(const splat_line *line, splat_error *error);
/* The mesh of model_path, which is a file or the folder of a refinement, into the files that `output` names. Errors:
 * those of splat_session_open_scene and splat_texture_make. */
splat_status splat_stage_texture(const splat_line *line, splat_error *error);

#endif
