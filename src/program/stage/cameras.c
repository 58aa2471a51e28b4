/* Cameras for photos without any: the library's work, with progress, a stop, and what is said in the end. */
#include "stage/cameras.h"

#include "base/plural.h"
#include "stage/folder.h"
#include "stage/progress.h"

#include <stdio.h>
#include <string.h>

/* ---------------------------------------------------------------- progress */

typedef struct stage_progress {
    splat_counter counter;
    char stage[64];
    double begin, first; /* when the stage began to move, and how far it was then */
} stage_progress;

/* Shows the progress; false after a stop. The remaining time follows from the rate of the stage, once it has moved for
 * some seconds. */
static bool show(void *user, const char *stage, double fraction)
{
    stage_progress *p = user;
    char text[128], left[32];
    double now = splat_seconds();
    if (strcmp(stage, p->stage) != 0 || fraction < p->first) {
        snprintf(p->stage, sizeof p->stage, "%s", stage);
        p->begin = 0;
        p->first = fraction;
    }
    if (p->begin <= 0 && fraction > p->first) {
        p->begin = now;
        p->first = fraction;
    }
    double moved = fraction - p->first, spent = now - p->begin;
    if (p->begin > 0 && moved > 0 && spent > 3)
        snprintf(text, sizeof text, "%s (about %s left)", stage, splat_duration(spent / moved * (1 - fraction), left));
    else
        snprintf(text, sizeof text, "%s", stage);
    return splat_counter_show(&p->counter, text, fraction);
}

/* ---------------------------------------------------------------- the work */

static void say_result(const splat_talk *talk, const splat_cameras_info *info, const char *folder, double seconds)
{
    char time_text[32];
    if (info->is_done_before)
        splat_say(talk, "cameras: found before for %zu of %zu photo%s: %s", info->n_registered, info->n_photos,
                  splat_plural(info->n_photos), folder);
    else
        splat_say(talk, "cameras: %zu of %zu photos have them, and %zu points (%s), in %s: %s", info->n_registered,
                  info->n_photos, info->n_points, info->camera_model, splat_duration(seconds, time_text), folder);
}

static splat_status find(const splat_line *line, const char *source, const char *folder, splat_cameras_info *info,
                         splat_error *error)
{
    splat_cameras_options options = *line->cameras;
    stage_progress progress = {.counter = splat_counter_start(line->talk, "cameras", 1)};
    splat_stop *stop = line->talk ? line->talk->stop : NULL;
    options.source = source;
    options.folder = folder;
    options.images = line->scene->images;
    options.threads = line->machine->context.threads;
    options.progress = show;
    options.progress_user = &progress;
    options.log = splat_talk_log;
    options.log_user = line->talk;
    splat_stop_begin_cameras(stop);
    splat_status status = splat_cameras_find(&options, info, error);
    splat_stop_end_work(stop);
    return status;
}

splat_status splat_stage_find_cameras(const splat_line *line, const char *source, const char *folder,
                                      splat_cameras_info *info, splat_error *error)
{
    splat_error own;
    const double begin = splat_seconds();
    splat_status status = find(line, source, folder, info, &own);
    const bool stops = splat_talk_stops(line->talk) || status == SPLAT_ERROR_STOPPED;
    if (stops && status != SPLAT_OK && status != SPLAT_ERROR_STOPPED)
        splat_tell_error(line->talk, &own); /* the signal may have ended a program that was run */
    else if (stops) /* when it came late, nothing asked */
        splat_notice(line->talk, "%s",
                     status == SPLAT_OK ? "stopped; the same command goes on from here" : own.message);
    if (stops) return splat_fail(error, SPLAT_ERROR_STOPPED, "stopped while the cameras of the photos were found");
    if (status == SPLAT_OK) say_result(line->talk, info, folder, splat_seconds() - begin);
    if (status != SPLAT_OK && error) *error = own;
    return status;
}

bool splat_stage_needs_cameras(const splat_line *line)
{
    return line->scene->source_path && splat_cameras_are_needed(line->scene->source_path, line->scene->images);
}

splat_status splat_stage_cameras_folder(const splat_line *line, const char *output, char path[SPLAT_STAGE_PATH],
                                        splat_error *error)
{
    if (output) return splat_stage_join(path, output, "cameras", error);
    return splat_stage_choose_folder(path, NULL, line->scene->source_path, "_output", "cameras", error);
}

void splat_stage_take_cameras(splat_line *line, const char *folder)
{
    line->scene->source_path = folder;
    splat_line_forget(line, "images");
}
