/* Functions that several parts of finding cameras share. */
#include "capture/cameras_parts.h"
#include "io/colmap/colmap_read.h"

#include "base/file.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

void splat_cameras_say(const splat_cameras_work *work, splat_log_level level, const char *format, ...)
{
    va_list arguments;
    char *text = NULL;
    if (!work->options->log) return;
    va_start(arguments, format);
    if (vasprintf(&text, format, arguments) < 0) text = NULL;
    va_end(arguments);
    if (text) work->options->log(work->options->log_user, level, text);
    free(text);
}

splat_status splat_cameras_find_model(const char *folder, size_t *n_models, char **largest, splat_error *error)
{
    char **names;
    size_t n;
    uint64_t most = 0;
    *largest = NULL;
    *n_models = 0;
    SPLAT_TRY(splat_folder_list(folder, &names, &n, error));
    for (size_t i = 0; i < n; i++) {
        char *path = splat_format("%s/%s", folder, names[i]);
        uint64_t count = path ? splat_colmap_count_images(path) : 0;
        *n_models += count > 0;
        if (count > most) {
            char *before = *largest;
            most = count;
            *largest = path;
            path = before;
        }
        free(path);
    }
    splat_names_free(names, n);
    if (*largest) return SPLAT_OK;
    return splat_fail_at(error, SPLAT_ERROR_FORMAT, folder, SPLAT_NO_OFFSET, "there is no COLMAP model here");
}

splat_status splat_cameras_read_model(const char *folder, size_t *n_models, splat_colmap_model *model,
                                      splat_error *error)
{
    char *largest;
    *model = (splat_colmap_model){0};
    SPLAT_TRY(splat_cameras_find_model(folder, n_models, &largest, error));
    splat_status status = splat_colmap_read(largest, model, error);
    if (status == SPLAT_OK) status = splat_colmap_read_points(largest, model, error);
    free(largest);
    return status;
}

bool splat_cameras_tick(const splat_cameras_work *work, const char *stage, double fraction)
{
    const splat_cameras_options *o = work->options;
    return !o->progress || o->progress(o->progress_user, stage, fraction);
}
