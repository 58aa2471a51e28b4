/* The search for cameras under way, and what all parts of it do: the folder with what is done (cameras_state.h), one
 * command of COLMAP with its log (colmap_run.h), the stages (colmap_stages.h), all of it (cameras.c). */
#ifndef SPLAT_CAPTURE_CAMERAS_PARTS_H
#define SPLAT_CAPTURE_CAMERAS_PARTS_H

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

#endif
