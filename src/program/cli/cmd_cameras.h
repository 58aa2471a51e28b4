/* splatsmith cameras, and the search that comes before a training. */
#ifndef SPLAT_CLI_CMD_CAMERAS_H
#define SPLAT_CLI_CMD_CAMERAS_H

#include "cli.h"

/* Cameras for the photos of a source, written as a scene; Ctrl-C ends the search. Returns an exit code. */
int cli_find_cameras(const splat_line *line, const char *source, const char *folder, splat_cameras_info *info);

#endif
