/* Pictures along camera paths. */
#ifndef SPLAT_MEASURE_PATH_VIEWS_H
#define SPLAT_MEASURE_PATH_VIEWS_H

#include "mesh/mesh_draw.h"
#include "splatsmith/model.h"

/* How many pictures a camera path has (docs/viewer.md, "Camera paths"). Errors: IO, FORMAT, MEMORY. */
splat_status splat_path_describe(const char *path_file, size_t *n_frames, splat_error *error);
/* Renders a camera path into output/000000.png ..., or, where output ends with .mp4, into a film, by the program
 * ffmpeg. background: rgb in [0,1]. Of the job visit and user count: the camera, the number in place of a name and the
 * unclamped render. Errors: IO (also: there is no ffmpeg), FORMAT, MEMORY, STOPPED. */
splat_status splat_path_write(splat_model *model, const char *path_file, const float background[3],
                              const splat_view_job *job, const char *output, splat_error *error);
/* splat_path_write with a mesh in place of the splat. Errors also: ARGUMENT, UNSUPPORTED. */
splat_status splat_mesh_path_write(splat_context *context, const char *mesh_path,
                                   const splat_mesh_draw_options *draw_options, const char *path_file,
                                   const float background[3], const splat_view_job *job, const char *output,
                                   splat_error *error);

#endif
