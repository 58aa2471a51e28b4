/* The viewer of a training: opened as the options say, and where to look. */
#ifndef SPLAT_STAGE_VIEWER_H
#define SPLAT_STAGE_VIEWER_H

#include "line/line.h"
#include "stage/talk.h"

/* True if `viewer` or `sibr` asks for one during a training. */
bool splat_stage_wants_viewer(const splat_line *line);
/* A notice for each option of a viewer that is given and has no effect, as nothing asks for a viewer. */
void splat_stage_tell_unused_viewer(const splat_line *line);
/* Opens a viewer with its page at a port (-1: without a page), or at the next that is not busy, unless the port is
 * named; with `sibr` the same holds for that port. Errors: those of splat_viewer_open. */
splat_status splat_stage_open_viewer(const splat_line *line, int port, bool is_named, const char *path,
                                     splat_viewer **viewer, splat_error *error);
/* Says where to look. */
void splat_stage_tell_viewer(const splat_line *line, const splat_viewer *viewer);
/* Begins the viewer of a training: with `viewer` or `sibr`, or that of the pipeline around it; NULL without. Its pages
 * show the trainer from now on. Errors: those of splat_viewer_open and splat_viewer_watch. */
splat_status splat_stage_begin_viewer(const splat_line *line, const char *path, const char *stage,
                                      splat_trainer *trainer, splat_viewer **viewer, splat_error *error);
/* Before the trainer goes. The viewer goes, too, unless it is the pipeline's. NULL is allowed. */
void splat_stage_end_viewer(const splat_line *line, splat_viewer *viewer);

#endif
