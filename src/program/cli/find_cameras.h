/* Photos, or a video, in the place of a scene: `cameras`, and what train and pipeline do before their work. */
#ifndef SPLAT_CLI_FIND_CAMERAS_H
#define SPLAT_CLI_FIND_CAMERAS_H

#include "cli.h"

/* Writes a scene with cameras into the folder, or finds that it was done before. Fills *info, reports, and returns an
 * exit code, after a signal 128 + its number. */
int cli_find_cameras(const splat_line *line, const char *source, const char *folder, splat_cameras_info *info);
/* Whether -s names photos without cameras, or a video. */
bool cli_needs_cameras(const splat_line *line);
/* The folder for the cameras of a run: in `output`, or, when that is NULL, beside what is written by default. False,
 * with a message, when its path is too long. */
bool cli_cameras_folder(const splat_line *line, const char *output, char path[CLI_PATH_MAX]);
/* The scene is the folder from now on, which is borrowed. */
void cli_take_cameras(splat_line *line, const char *folder);

#endif
