/* After a training the viewer may go on showing its splat. */
#ifndef SPLAT_CLI_VIEWER_H
#define SPLAT_CLI_VIEWER_H

#include "cli.h"

/* After the training: its pages show how it ended, and with --viewer_stay the splat, until Ctrl-C. NULL is allowed. */
void cli_viewer_stay(const splat_line *line, splat_viewer *viewer);

#endif
