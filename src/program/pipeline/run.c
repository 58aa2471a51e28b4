/* The pipeline: its stages in their order, the cameras before them, and the result for the caller. */
#include "splatsmith/pipeline.h"

#include "base/error.h"
#include "base/file.h"
#include "base/options.h"
#include "pipeline/overview.h"
#include "pipeline/prepare.h"
#include "pipeline/publish.h"
#include "pipeline/results.h"
#include "pipeline/settings.h"
#include "pipeline/stage_run.h"
#include "stage/cameras.h"
#include "stage/folder.h"
#include "stage/viewer.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---------------------------------------------------------------- options and callbacks */

void splat_pipeline_options_init_sized(splat_pipeline_options *options, size_t size)
{
    const splat_pipeline_options defaults = {.size = sizeof defaults};
    splat_options_give(options, size, &defaults, sizeof defaults);
}

void splat_pipeline_callbacks_init_sized(splat_pipeline_callbacks *callbacks, size_t size)
{
    const splat_pipeline_callbacks defaults = {.size = sizeof defaults, .interval = 0.1};
    splat_options_give(callbacks, size, &defaults, sizeof defaults);
}

static void on_message(void *user, splat_talk_kind kind, const char *text)
{
    static const splat_pipeline_message kinds[] = {[SPLAT_TALK_RESULT] = SPLAT_PIPELINE_RESULT,
                                                   [SPLAT_TALK_NOTICE] = SPLAT_PIPELINE_NOTICE,
                                                   [SPLAT_TALK_WARNING] = SPLAT_PIPELINE_WARNING,
                                                   [SPLAT_TALK_ERROR] = SPLAT_PIPELINE_ERROR};
    const splat_pipeline_work *w = user;
    w->callbacks.message(w->callbacks.user, kinds[kind], text);
}

/* A caller that stopped is not asked again. */
static bool on_progress(void *user, const splat_talk_progress *progress)
{
    splat_pipeline_work *w = user;
    const splat_pipeline_progress own = {w->stage, progress->activity, progress->text, progress->fraction,
                                         progress->iteration};
    if (splat_talk_stops(&w->talk)) return false;
    if (w->callbacks.progress(w->callbacks.user, &own)) return true;
    splat_stop_request(w->talk.stop, 0);
    return false;
}

static splat_status take_callbacks(splat_pipeline_work *w, const splat_pipeline_callbacks *callbacks,
                                   splat_error *error)
{
    splat_pipeline_callbacks_init(&w->callbacks);
    if (callbacks) SPLAT_TRY(splat_options_take(&w->callbacks, callbacks, "splat_pipeline_callbacks", error));
    if (!(w->callbacks.interval >= 0))
        return splat_fail(error, SPLAT_ERROR_ARGUMENT, "the interval of a pipeline's progress must not be negative");
    w->talk = (splat_talk){.message = w->callbacks.message ? on_message : NULL,
                           .progress = w->callbacks.progress ? on_progress : NULL,
                           .user = w,
                           .interval = w->callbacks.interval,
                           .stop = w->callbacks.stop ? w->callbacks.stop : &w->own_stop};
    return SPLAT_OK;
}

/* ---------------------------------------------------------------- the result */

static void describe_cameras(const splat_pipeline_work *w, splat_pipeline_stage_info *info)
{
    const bool is_done = w->cameras == SPLAT_PIPELINE_COMPLETE || w->cameras == SPLAT_PIPELINE_DONE_BEFORE;
    *info = (splat_pipeline_stage_info){.name = "cameras", .state = w->cameras, .psnr = NAN};
    if (!is_done) return;
    info->seconds = splat_pipeline_cameras_seconds(w);
    snprintf(info->summary, sizeof info->summary, "%zu of %zu photos", w->cameras_info.n_registered,
             w->cameras_info.n_photos);
    snprintf(info->path, sizeof info->path, "%s", w->cameras_folder);
}

static void describe_stage(const splat_pipeline_work *w, size_t i, splat_pipeline_stage_info *info)
{
    const splat_pipeline_stage_work *s = &w->stages[i];
    const json_t *psnr = json_object_get(s->file.results, "test_psnr");
    memset(info, 0, sizeof *info);
    snprintf(info->name, sizeof info->name, "%s", splat_pipeline_stages[i].product.name);
    info->state = s->state;
    info->psnr = psnr ? json_number_value(psnr) : NAN;
    if (s->state == SPLAT_PIPELINE_WAITING || s->state == SPLAT_PIPELINE_LEFT_OUT) return;
    info->seconds = s->file.seconds;
    info->peak_bytes = s->file.peak_bytes;
    info->host_peak_bytes = s->file.host_peak_bytes;
    splat_pipeline_result_text(&w->job.at, s->file.results, info->summary);
    if (s->file.results) /* of a stage.json, whose paths may be of any length: cut */
        (void)splat_pipeline_join(info->path, w->job.at.folder, splat_pipeline_result_path(s->file.results));
}

static void describe(const splat_pipeline_work *w, splat_pipeline_result *result)
{
    if (!w->has_begun) return;
    if (w->cameras != SPLAT_PIPELINE_WAITING) describe_cameras(w, &result->stages[result->n_stages++]);
    for (size_t i = 0; i < splat_pipeline_n_stages; i++) describe_stage(w, i, &result->stages[result->n_stages++]);
    result->files = calloc(json_array_size(w->files) + 1, sizeof *result->files);
    for (size_t i = 0; result->files && i < json_array_size(w->files); i++) {
        char *path = splat_format("%s/%s", w->job.at.folder, json_string_value(json_array_get(w->files, i)));
        if (path) result->files[result->n_files++] = path;
    }
}

void splat_pipeline_result_free(splat_pipeline_result *result)
{
    for (size_t i = 0; i < result->n_files; i++) free(result->files[i]);
    free(result->files);
    memset(result, 0, sizeof *result);
}

/* ---------------------------------------------------------------- the run */

/* Photos alone get a scene of their own in the folder, which all stages take instead. */
static splat_status find_cameras(splat_pipeline_work *w, splat_error *error)
{
    splat_line *line = &w->line;
    const char *folder = w->cameras_folder;
    if (!splat_stage_needs_cameras(line)) return SPLAT_OK;
    SPLAT_TRY(splat_stage_cameras_folder(line, w->job.at.folder, w->cameras_folder, error));
    w->stage = "cameras";
    splat_status status = splat_stage_find_cameras(line, line->scene->source_path, folder, &w->cameras_info, error);
    w->cameras = status == SPLAT_ERROR_STOPPED    ? SPLAT_PIPELINE_STOPPED
                 : status != SPLAT_OK             ? SPLAT_PIPELINE_FAILED
                 : w->cameras_info.is_done_before ? SPLAT_PIPELINE_DONE_BEFORE
                                                  : SPLAT_PIPELINE_COMPLETE;
    w->cameras_code = splat_stop_exit_code(w->talk.stop, status);
    SPLAT_TRY(status);
    splat_stage_take_cameras(line, folder);
    SPLAT_TRY(splat_stage_join(w->job.at.cameras, folder, "cameras.json", error));
    if (realpath(folder, w->job.at.scene)) return SPLAT_OK;
    return splat_fail(error, SPLAT_ERROR_IO, "cannot open the scene %s: %s", folder, strerror(errno));
}

static splat_status open_viewer(splat_pipeline_work *w, splat_error *error)
{
    const bool is_named = splat_line_names_value(&w->line, "viewer");
    if (!splat_stage_wants_viewer(&w->line)) return SPLAT_OK;
    SPLAT_TRY(splat_stage_open_viewer(&w->line, w->line.page->port, is_named, w->job.at.folder, &w->job.viewer, error));
    splat_stage_tell_viewer(&w->line, w->job.viewer);
    return SPLAT_OK;
}

static splat_status run_all(splat_pipeline_work *w, splat_error *error)
{
    SPLAT_TRY(open_viewer(w, error));
    SPLAT_TRY(find_cameras(w, error));
    for (size_t i = 0; i < splat_pipeline_n_stages; i++) {
        if (splat_talk_stops(&w->talk)) return splat_fail(error, SPLAT_ERROR_STOPPED, "stopped between two stages");
        SPLAT_TRY(splat_pipeline_run_stage(w, i, error));
    }
    splat_pipeline_unpublish(&w->job.at, w->files_before, w->files);
    return SPLAT_OK;
}

static splat_status run(splat_pipeline_work *w, splat_error *error)
{
    splat_error own;
    SPLAT_TRY(splat_pipeline_prepare(w, error));
    w->has_begun = true;
    SPLAT_TRY(splat_pipeline_write_overview(w, error));
    splat_status status = run_all(w, error);
    splat_status written = splat_pipeline_write_overview(w, &own);
    splat_viewer_close(w->job.viewer);
    if (written == SPLAT_OK) return status;
    if (status != SPLAT_OK) {
        splat_tell_error(&w->talk, &own);
        return status;
    }
    if (error) *error = own;
    return written;
}

static void free_work(splat_pipeline_work *w)
{
    splat_kept_sky_free(&w->sky);
    json_decref(w->files);
    json_decref(w->files_before);
    for (size_t i = 0; i < splat_pipeline_n_stages; i++) splat_stage_file_free(&w->stages[i].file);
    splat_folder_unlock(w->lock);
    splat_line_free(&w->line);
    free(w);
}

splat_status splat_pipeline_run(const splat_pipeline_options *options, const splat_pipeline_callbacks *callbacks,
                                splat_pipeline_result *result, splat_error *error)
{
    splat_pipeline_options own;
    splat_pipeline_options_init(&own);
    if (result) memset(result, 0, sizeof *result);
    SPLAT_TRY(splat_options_take(&own, options, "splat_pipeline_options", error));
    splat_pipeline_work *w = calloc(1, sizeof *w);
    if (!w) return splat_fail(error, SPLAT_ERROR_MEMORY, "memory is exhausted");
    w->job.line = &w->line;
    w->job.sky = &w->sky;
    w->lock = -1;
    splat_status status = take_callbacks(w, callbacks, error);
    if (status == SPLAT_OK) status = splat_pipeline_read_settings(&own, &w->talk, &w->line, error);
    if (status == SPLAT_OK) status = run(w, error);
    if (result) describe(w, result);
    free_work(w);
    return status;
}
