/* One command of COLMAP: its words, its log, its lines as progress, and why it failed. */
#ifndef SPLAT_CAPTURE_COLMAP_RUN_H
#define SPLAT_CAPTURE_COLMAP_RUN_H

#include "capture/cameras_parts.h"
#include "capture/colmap_output.h"

/* How a command ended, when it did not end well. */
typedef struct splat_colmap_end {
    bool is_good;
    splat_colmap_fault fault;
    int exit_code, signal;
    size_t n_bad_photos;
} splat_colmap_end;

/* Runs a command; its lines go to the log and become progress of the stage. Bad ends are no error of this function.
 * STOPPED, IO: it could not be started or the log not be written. */
splat_status splat_colmap_run(const splat_cameras_work *work, const char *stage, const splat_words *words,
                              splat_colmap_end *end, splat_error *error);
/* Makes the error of a failed command, which names the log, and logs its last lines as a notice. */
splat_status splat_cameras_fail(const splat_cameras_work *work, const char *command, const splat_colmap_end *end,
                               splat_error *error);

#endif
