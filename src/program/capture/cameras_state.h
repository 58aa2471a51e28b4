/* The folder of a scene whose cameras are looked for, and cameras.json: what it is made of, and which stages are
 * complete. */
#ifndef SPLAT_CAPTURE_CAMERAS_STATE_H
#define SPLAT_CAPTURE_CAMERAS_STATE_H

#include "capture/cameras_parts.h"

/* The folder and the paths in it; reads cameras.json when it is there (damaged: as if it were empty). IO: the folder
 * holds something else. */
splat_status splat_cameras_folder_open(splat_cameras_work *work, splat_error *error);
/* Compares what the state says with what is wanted; forgets, and deletes, what would be made otherwise now, with a
 * notice. Photos, program, camera model and matcher must be known; the program need not be when `program` is false. */
splat_status splat_cameras_state_settle(splat_cameras_work *work, bool program, splat_error *error);
/* The one that was, or is to be used. */
splat_matcher splat_cameras_state_get_matcher(const splat_cameras_work *work);
bool splat_cameras_is_done(const splat_cameras_work *work, const char *stage);
/* Notes that a stage is complete, after so many seconds, and writes the file. */
splat_status splat_cameras_set_done(splat_cameras_work *work, const char *stage, double seconds, splat_error *error);
splat_status splat_cameras_state_write(const splat_cameras_work *work, splat_error *error);

/* Takes a note back, and writes the file. */
splat_status splat_cameras_state_forget(splat_cameras_work *work, const char *stage, splat_error *error);
/* Deletes the database, and SQLite's files next to it. */
splat_status splat_cameras_delete_database(const splat_cameras_work *work, splat_error *error);

#endif
