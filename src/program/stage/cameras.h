/* Photos, or a video, in the place of a scene: the work of `cameras`, and what train and pipeline do before theirs. */
#ifndef SPLAT_STAGE_CAMERAS_H
#define SPLAT_STAGE_CAMERAS_H

#include "line/line.h"
#include "stage/talk.h"

/* Writes a scene with cameras into the folder, or finds that it was done before. Fills *info and says the result.
 * Errors: those of splat_cameras_find; STOPPED also where the stop came late or ended a program that was run. */
splat_status splat_stage_find_cameras(const splat_line *line, const char *source, const char *folder,
                                      splat_cameras_info *info, splat_error *error);
/* True if source_path names photos without cameras, or a video. */
bool splat_stage_needs_cameras(const splat_line *line);
/* The folder for the cameras of a run: in `output`, or, when that is NULL, next to what is written by default. Errors:
 * ARGUMENT (too long). */
splat_status splat_stage_cameras_folder(const splat_line *line, const char *output, char path[SPLAT_STAGE_PATH],
                                        splat_error *error);
/* The scene is the folder from now on, which is borrowed. */
void splat_stage_take_cameras(splat_line *line, const char *folder);

#endif
