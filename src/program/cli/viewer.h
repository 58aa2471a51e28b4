/* The viewer of the command line: opened as the options say, and where to look. */
#ifndef SPLAT_CLI_VIEWER_H
#define SPLAT_CLI_VIEWER_H

#include "cli.h"

/* Whether --viewer or --sibr asks for one beside a training. */
bool cli_viewer_is_wanted(const splat_line *line);
/* Prints a notice for each option of a viewer that is given and has no effect, as nothing asks for a viewer. */
void cli_viewer_tell_unused(const splat_line *line);
/* Opens a viewer with its page at a port (-1: without a page), or at the next that is not busy, unless the command line
 * names it; with --sibr the same holds for that port. Returns an exit code. */
int cli_viewer_open(const splat_line *line, int port, bool is_named, const char *path, splat_viewer **viewer);
/* Says where to look. */
void cli_viewer_tell(const splat_line *line, const splat_viewer *viewer);
/* Beside a training: with --viewer or --sibr, or that of the pipeline around it; NULL without. Its pages show the
 * trainer from now on. Returns an exit code. */
int cli_viewer_begin(const splat_line *line, const char *path, const char *stage, splat_trainer *trainer,
                     splat_viewer **viewer);
/* After the training: its pages show how it ended, and with --viewer_stay the splat, until Ctrl-C. NULL is allowed. */
void cli_viewer_stay(const splat_line *line, splat_viewer *viewer);
/* Before the trainer goes. The viewer goes, too, unless it is the pipeline's. NULL is allowed. */
void cli_viewer_end(const splat_line *line, splat_viewer *viewer);

#endif
