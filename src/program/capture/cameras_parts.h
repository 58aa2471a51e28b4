/* The parts of finding cameras: the folder with what is done (cameras_state.c), one command of COLMAP with its log
 * (colmap_run.c), the stages (colmap_stages.c), all of it (cameras.c). */
#ifndef SPLAT_CAPTURE_CAMERAS_PARTS_H
#define SPLAT_CAPTURE_CAMERAS_PARTS_H

#include "capture/colmap_output.h"
#include "capture/colmap_program.h"
#include "capture/photos.h"
#include "io/colmap/colmap.h"
#include "splatsmith/capture.h"

#include <jansson.h>

typedef struct splat_cameras_work {
    const splat_cameras_options *options;
    splat_photo_list photos;
    splat_colmap_program program;
    bool use_gpu, is_video;
    const char *camera_model;    /* COLMAP's name */
    splat_sharing sharing;
    splat_camera_quality quality; /* not AUTO; chosen once the program is known */
    splat_matcher matcher;       /* not AUTO; chosen once the program is known */
    bool by_place;               /* photos are also compared with those that were taken nearby */
    char *folder;                /* the scene */
    char *images, *database, *sparse, *partial, *log, *list, *pairs; /* paths in it; partial: where the mapper works */
    json_t *state;               /* cameras.json */
} splat_cameras_work;

/* ---------------------------------------------------------------- cameras_parts.c */

/* One line to the log function of the options. */
void splat_cameras_say(const splat_cameras_work *work, splat_log_level level, const char *format, ...)
    SPLAT_PRINTF(3, 4);
/* False: the caller wants to stop. */
bool splat_cameras_tick(const splat_cameras_work *work, const char *stage, double fraction);
/* The model in a sub-folder of `folder` with the most photos, the first of equal ones; malloc'd. *n_models: those with
 * any. FORMAT: there is none; a mapper that was killed may have left an empty folder. */
splat_status splat_cameras_find_model(const char *folder, size_t *n_models, char **largest, splat_error *error);
/* The cameras and points of that model; free with splat_colmap_free. FORMAT, IO: it is damaged; the error names the
 * file. */
splat_status splat_cameras_read_model(const char *folder, size_t *n_models, splat_colmap_model *model,
                                      splat_error *error);

/* ---------------------------------------------------------------- cameras_poses.c */

/* A warning for each .xml, .csv and .json of the source that could hold poses and does not, with the reason: COLMAP is
 * about to take their place. The source is a folder without poses that can be read. */
splat_status splat_cameras_say_refused_poses(const splat_cameras_work *work, splat_error *error);

/* ---------------------------------------------------------------- cameras_state.c */

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
/* Deletes the database, with what SQLite writes beside it. */
splat_status splat_cameras_delete_database(const splat_cameras_work *work, splat_error *error);

/* ---------------------------------------------------------------- cameras_video.c */

/* The frames of the source, a video, in work->images, unless they are there. */
splat_status splat_cameras_take_frames(splat_cameras_work *work, splat_error *error);

/* ---------------------------------------------------------------- colmap_run.c */

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
/* The error of a bad end, which names the log; its last lines are told as a notice. */
splat_status splat_cameras_fail(const splat_cameras_work *work, const char *command, const splat_colmap_end *end,
                               splat_error *error);

/* ---------------------------------------------------------------- cameras_pairs.c */

/* The most features of a photo. */
int splat_cameras_max_features(const splat_cameras_work *work);
/* A notice when all pairs take long and the names say that neighbours would do. */
void splat_cameras_suggest_matcher(const splat_cameras_work *work);
/* Whether the names are numbered in order, as those of frames and of a camera: one beginning, then numbers that rise
 * with few gaps. */
bool splat_names_are_sequence(char *const *names, size_t n);

/* ---------------------------------------------------------------- colmap_stages.c */

splat_status splat_cameras_extract_features(splat_cameras_work *work, splat_error *error);
splat_status splat_cameras_match(splat_cameras_work *work, splat_error *error);
/* Leaves complete models in work->sparse. */
splat_status splat_cameras_map(splat_cameras_work *work, splat_error *error);

#endif
