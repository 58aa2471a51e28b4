/* A whole run: the model folder of 3DGS around the steps. */
#include "base/file.h"
#include "base/options.h"
#include "io/model_folder.h"
#include "io/ply/ply_points.h"
#include "io/splat/formats.h"
#include "model/dome.h"
#include "run/cfg_args.h"
#include "run/reached_iteration.h"
#include "run/run_checkpoints.h"
#include "run/run_folder.h"
#include "run/run_report.h"
#include "train/parts/exposure.h"
#include "train/ranks/host_rows.h"

#include <stdlib.h>
#include <string.h>

void splat_run_options_init_sized(splat_run_options *options, size_t size)
{
    const splat_run_options defaults = {0};
    splat_options_give(options, size, &defaults, sizeof defaults);
}

static void tell(const splat_run_options *run, splat_event event)
{
    if (run->event) run->event(run->event_user, &event);
}

/* ---------------------------------------------------------------- the files written before the first step */

static splat_status write_cameras(const splat_trainer *t, const char *folder, splat_error *error)
{
    const splat_dataset *dataset = &t->scene->dataset;
    splat_camera_entry *entries = calloc(dataset->n_views + 1, sizeof *entries);
    char (*names)[256] = calloc(dataset->n_views + 1, sizeof *names);
    size_t n = 0;
    splat_status status = SPLAT_OK;
    if (!entries || !names)
        status = splat_fail(error, SPLAT_ERROR_MEMORY, "no memory for %zu cameras", dataset->n_views);
    for (int pass = 0; pass < 2 && status == SPLAT_OK; pass++) { /* test cameras first */
        const uint32_t *indices = pass ? dataset->train : dataset->test;
        for (size_t i = 0; i < (pass ? dataset->n_train : dataset->n_test); i++, n++) {
            const splat_dataset_view *view = &dataset->views[indices[i]];
            int stem = (int)strcspn(view->photo_name, ".");
            const char *crop = view->name + strlen(view->photo_name); /* "#" and a number, or nothing */
            snprintf(names[n], sizeof names[n], "%.*s%s", stem, view->photo_name, crop);
            splat_camera_entry *entry = &entries[n];
            entry->name = names[n];
            entry->width = view->full_width;
            entry->height = view->full_height;
            entry->fx = view->full_fx;
            entry->fy = view->full_fy;
            memcpy(entry->rotation, view->camera.rotation, sizeof entry->rotation);
            memcpy(entry->center, view->camera.center, sizeof entry->center);
        }
    }
    if (status == SPLAT_OK) status = splat_cameras_json_write(folder, entries, n, error);
    free(entries);
    free(names);
    return status;
}

/* Photos, not the crops of them. */
static size_t list_photos(const splat_dataset *dataset, const uint32_t *views, size_t n, char **names)
{
    size_t n_photos = 0;
    for (size_t i = 0; i < n; i++)
        if (dataset->views[views[i]].crop == 0) names[n_photos++] = dataset->views[views[i]].photo_name;
    return n_photos;
}

static splat_status write_split(const splat_trainer *t, const char *folder, splat_error *error)
{
    const splat_dataset *dataset = &t->scene->dataset;
    char **names = calloc(dataset->n_views + 1, sizeof *names);
    if (!names) return splat_fail(error, SPLAT_ERROR_MEMORY, "no memory for %zu views", dataset->n_views);
    splat_split split = {.train = names, .test = names + dataset->n_train};
    split.n_train = list_photos(dataset, dataset->train, dataset->n_train, split.train);
    split.n_test = list_photos(dataset, dataset->test, dataset->n_test, split.test);
    splat_status status = splat_split_write(folder, &split, error);
    free(names);
    return status;
}

/* Absolute, so that later commands find the scene from any folder; the name as given when it cannot be resolved. */
static char *absolute_path(const char *path)
{
    char *resolved = realpath(path, NULL);
    return resolved ? resolved : strdup(path);
}

static splat_status write_config(const splat_trainer *t, const char *folder, splat_error *error)
{
    char *source = absolute_path(t->scene->options.source_path), *own = absolute_path(folder);
    splat_model_config config = {.model_path = own, .sh_degree = t->options.sh_degree,
                                 .kernel_size = t->options.kernel_size, .scene = t->scene->options};
    config.scene.source_path = source;
    splat_status status = source && own ? splat_cfg_args_write(folder, &config, &t->options, error)
                                        : splat_fail(error, SPLAT_ERROR_MEMORY, "no memory for the configuration");
    free(source);
    free(own);
    return status;
}

static splat_status write_folder(const splat_trainer *t, const char *folder, splat_error *error)
{
    SPLAT_TRY(splat_folder_create(folder, error));
    SPLAT_TRY(write_config(t, folder, error));
    SPLAT_TRY(write_cameras(t, folder, error));
    SPLAT_TRY(write_split(t, folder, error));
    char *path = splat_format("%s/input.ply", folder);
    if (!path) return splat_fail(error, SPLAT_ERROR_MEMORY, "no memory for a path");
    const splat_dataset *dataset = &t->scene->dataset;
    splat_status status = splat_ply_write_points(path, dataset->points, NULL, dataset->n_points, error);
    free(path);
    return status;
}

/* A disk without room for the splat as it is now will not have any for what training makes of it: better said now than
 * after hours. */
static splat_status check_room(const splat_trainer *t, const splat_run_options *run, splat_error *error)
{
    size_t n = splat_shards_count(t), normals = 3 * n * sizeof(float);
    size_t plain = splat_cloud_bytes(n, t->options.sh_degree, true) + normals; /* the fused file has no filter */
    char *path = splat_format("%s/point_cloud", run->model_path);
    if (!path) return splat_fail(error, SPLAT_ERROR_MEMORY, "no memory for a path");
    splat_status status = splat_disk_check(path, 2 * plain, error);
    free(path);
    return status;
}

/* ---------------------------------------------------------------- during the run */

/* Saves the mesh of a binding next to the splat; the model folder has the last one. */
static splat_status save_bound(const splat_trainer *t, const char *model_path, const char *folder, splat_error *error)
{
    const splat_binding *binding = t->options.binding;
    if (!binding || !binding->save) return SPLAT_OK;
    SPLAT_TRY(binding->save(t, folder, error));
    char *saved = splat_format("%s/%s", folder, binding->file);
    char *last = splat_format("%s/%s", model_path, binding->file);
    const splat_status status = saved && last ? splat_file_share(saved, last, error)
                                              : splat_fail(error, SPLAT_ERROR_MEMORY, "no memory for a path");
    free(saved);
    free(last);
    return status;
}

/* Saves the exposures that the training found next to the splat, and the last ones also in the model folder. */
static splat_status save_exposures(const splat_trainer *t, const char *folder, splat_error *error)
{
    splat_exposures exposures;
    if (!t->options.exposure) return SPLAT_OK;
    SPLAT_TRY(splat_exposures_get(t, &exposures, error));
    char *path = splat_format("%s/" SPLAT_EXPOSURE_FILE, folder);
    splat_status status = path ? splat_exposures_write(path, &exposures, error)
                               : splat_fail(error, SPLAT_ERROR_MEMORY, "no memory for a path");
    free(path);
    splat_exposures_file_free(&exposures);
    return status;
}

/* Saves the sky behind the splat. */
static splat_status save_sky(const splat_trainer *t, const char *folder, splat_error *error)
{
    char *path = splat_format("%s/", folder);
    splat_status status = path ? splat_model_save_dome(t->model, path, error)
                               : splat_fail(error, SPLAT_ERROR_MEMORY, "no memory for a path");
    free(path);
    return status;
}

/* By way of one copy on the host, wherever the rows are; baking the filter changes the copy. Without a filter both
 * files are the same. */
static splat_status write_splats(splat_trainer *t, const char *plain, const char *fused, splat_error *error)
{
    splat_cloud cloud;
    splat_save_options options;
    splat_host_memory *counter = &t->context->host_memory;
    const size_t counted = splat_cloud_bytes(splat_shards_count(t), t->options.sh_degree, t->model->has_filter_3d);
    splat_save_options_init(&options);
    splat_host_memory_add(counter, SPLAT_HOST_FILES, counted);
    splat_status status = splat_trainer_download(t, &cloud, error);
    if (status == SPLAT_OK) {
        status = splat_cloud_write(plain, &cloud, &options, error);
        options.fused = true;
        if (status == SPLAT_OK)
            status = cloud.filter_3d ? splat_cloud_write(fused, &cloud, &options, error)
                                     : splat_file_share(plain, fused, error);
        splat_cloud_free(&cloud);
    }
    splat_host_memory_remove(counter, SPLAT_HOST_FILES, counted);
    return status;
}

static splat_status save_model(splat_trainer *t, const splat_run_options *run, const splat_step_info *step,
                               splat_error *error)
{
    char *folder = splat_format("%s/point_cloud/iteration_%d", run->model_path, t->iteration);
    char *plain = folder ? splat_format("%s/point_cloud.ply", folder) : NULL;
    char *fused = folder ? splat_format("%s/point_cloud_fused.ply", folder) : NULL;
    splat_status status = plain && fused ? splat_folder_create(folder, error)
                                         : splat_fail(error, SPLAT_ERROR_MEMORY, "no memory for a path");
    if (status == SPLAT_OK) status = write_splats(t, plain, fused, error);
    if (status == SPLAT_OK) status = save_bound(t, run->model_path, folder, error);
    if (status == SPLAT_OK) status = save_exposures(t, folder, error);
    if (status == SPLAT_OK) status = save_exposures(t, run->model_path, error);
    if (status == SPLAT_OK) status = save_sky(t, folder, error);
    if (status == SPLAT_OK) status = save_sky(t, run->model_path, error);
    if (status == SPLAT_OK) status = write_split(t, folder, error); /* this splat's, wherever its folder goes */
    if (status == SPLAT_OK) tell(run, (splat_event){.kind = SPLAT_EVENT_SAVED, .step = step, .path = plain});
    free(folder);
    free(plain);
    free(fused);
    return status;
}

/* The training report of 3DGS: all test views, then five training views, not quantised. */
static splat_status evaluate(splat_run_report *report, const splat_step_info *step, splat_error *error)
{
    static const splat_view_set sets[] = {SPLAT_VIEWS_TEST, SPLAT_VIEWS_TRAIN_REPORT};
    for (int i = 0; i < 2; i++) {
        splat_metrics mean;
        SPLAT_TRY(splat_run_report_evaluate(report, sets[i], &mean, error));
        if (mean.n_views)
            tell(report->run,
                 (splat_event){.kind = SPLAT_EVENT_EVALUATION, .step = step, .set = sets[i], .metrics = &mean,
                               .training_peak_bytes = report->training_peak,
                               .evaluation_peak_bytes = report->evaluation_peak});
    }
    splat_run_report_end_evaluation(report);
    return SPLAT_OK;
}

/* A requested stop: a checkpoint to go on from, and the splat. One that fails does not keep the other from being
 * written. */
static splat_status save_stopped(splat_trainer *t, const splat_run_options *run, splat_run_checkpoints *checkpoints,
                                 const splat_step_info *step, bool saved, splat_error *error)
{
    splat_error later;
    if (t->iteration == 0)
        return splat_fail(error, SPLAT_ERROR_STOPPED, "stopped before the first iteration; nothing is saved");
    splat_status status = checkpoints->last == t->iteration
                              ? SPLAT_OK
                              : splat_run_checkpoints_save(checkpoints, SPLAT_CHECKPOINT_STOP, step, error);
    splat_status splat = saved ? SPLAT_OK : save_model(t, run, step, status == SPLAT_OK ? error : &later);
    if (status != SPLAT_OK || splat != SPLAT_OK) return status != SPLAT_OK ? status : splat;
    return splat_fail(error, SPLAT_ERROR_STOPPED,
                      "stopped after iteration %d of %d; the splat is saved, and `start_checkpoint latest` goes on",
                      t->iteration, t->options.iterations);
}

/* A save that somebody asked for, between those that the options name. */
static void save_requested(splat_trainer *t, const splat_run_options *run, splat_run_checkpoints *checkpoints,
                           const splat_step_info *step, bool *saved)
{
    splat_error failure;
    char text[1536];
    t->save_requested = 0;
    splat_status status = SPLAT_OK;
    if (checkpoints->last != t->iteration)
        status = splat_run_checkpoints_save(checkpoints, SPLAT_CHECKPOINT_REQUESTED, step, &failure);
    if (status == SPLAT_OK && !*saved) status = save_model(t, run, step, &failure);
    *saved = *saved || status == SPLAT_OK;
    if (status != SPLAT_OK)
        splat_log(t->context, SPLAT_LOG_WARNING, "iteration %d: the save that was asked for failed, and training goes "
                  "on: %s", t->iteration, splat_error_format(&failure, text, sizeof text));
}

/* Two checkpoints in a row could not be written: hours more would be at risk. */
static splat_status give_up(splat_trainer *t, const splat_run_options *run, const splat_run_checkpoints *checkpoints,
                            const splat_step_info *step, bool saved, splat_error *error)
{
    splat_error ignored;
    if (!saved) saved = save_model(t, run, step, &ignored) == SPLAT_OK;
    return splat_fail_at(error, SPLAT_ERROR_CHECKPOINT, checkpoints->failure.file, SPLAT_NO_OFFSET,
                         "two checkpoints in a row could not be written, so the run ends after iteration %d; the splat "
                         "%s: %s",
                         t->iteration, saved ? "is saved" : "could not be saved either", checkpoints->failure.message);
}

static splat_status run_loop(splat_trainer *t, const splat_run_options *run, splat_run_folder *folder,
                             splat_run_checkpoints *checkpoints, splat_run_report *report, splat_step_info *step,
                             splat_error *error)
{
    int last = t->options.iterations;
    bool saved = false, enough;
    while (t->iteration < last && !splat_shards_is_stopped(t)) {
        SPLAT_TRY(splat_trainer_step(t, step, error));
        splat_run_folder_begin(folder);
        tell(run, (splat_event){.kind = SPLAT_EVENT_STEP, .step = step});
        splat_run_report_step(report, step);
        if (splat_reached_iteration(step, run->test_iterations, run->n_test_iterations) || t->iteration == last)
            SPLAT_TRY(evaluate(report, step, error));
        saved = splat_reached_iteration(step, run->save_iterations, run->n_save_iterations) ||
                (t->iteration == last && !run->only_checkpoint);
        if (saved) SPLAT_TRY(save_model(t, run, step, error));
        SPLAT_TRY(splat_run_checkpoints_after_step(checkpoints, step, &enough, error));
        if (t->save_requested) save_requested(t, run, checkpoints, step, &saved);
        if (enough) return give_up(t, run, checkpoints, step, saved, error);
    }
    if (t->iteration >= last && run->only_checkpoint) {
        SPLAT_TRY(save_exposures(t, run->model_path, error));
        SPLAT_TRY(save_sky(t, run->model_path, error));
    }
    if (t->iteration > 0) splat_run_folder_begin(folder); /* what is saved without a step is this run's, too */
    if (t->iteration >= last && run->only_checkpoint && checkpoints->last != t->iteration)
        return splat_run_checkpoints_save(checkpoints, SPLAT_CHECKPOINT_REQUESTED, step, error);
    return t->iteration < last ? save_stopped(t, run, checkpoints, step, saved, error) : SPLAT_OK;
}

/* All that is written, in a folder that is this run's. */
static splat_status run_in_folder(splat_trainer *t, const splat_run_options *run, splat_run_folder *folder,
                                  splat_run_checkpoints *checkpoints, splat_error *error)
{
    splat_run_report report;
    splat_step_info step;
    splat_step_info_init(&step);
    splat_run_checkpoints_tidy(checkpoints);
    SPLAT_TRY(write_folder(t, run->model_path, error));
    SPLAT_TRY(check_room(t, run, error));
    SPLAT_TRY(splat_run_report_open(&report, t, run, error));
    checkpoints->report = &report;
    splat_status status = run_loop(t, run, folder, checkpoints, &report, &step, error);
    splat_run_report_close(&report, status, error);
    if (splat_run_checkpoints_rescue(checkpoints, status, &step)) splat_run_folder_begin(folder);
    return status;
}

splat_status splat_trainer_run(splat_trainer *t, const splat_run_options *run, splat_error *error)
{
    splat_run_checkpoints checkpoints;
    splat_run_folder folder;
    splat_run_options own;
    splat_run_options_init(&own);
    SPLAT_TRY(splat_options_take(&own, run, "splat_run_options", error));
    run = &own;
    if (splat_shards_is_worker(t)) return splat_trainer_serve(t, error); /* rank 0 runs */
    if (!run->model_path || !*run->model_path)
        return splat_fail(error, SPLAT_ERROR_ARGUMENT, "no output folder was named; give one with `model_path`");
    SPLAT_TRY(splat_run_checkpoints_start(&checkpoints, t, run, error));
    if (run->start_checkpoint && t->iteration >= t->options.iterations) return SPLAT_OK; /* nothing is left to do */
    SPLAT_TRY(splat_run_folder_open(&folder, t, run, error));
    splat_status status = run_in_folder(t, run, &folder, &checkpoints, error);
    splat_run_folder_close(&folder);
    return status;
}

/* ---------------------------------------------------------------- the public face of model folders */

splat_status splat_model_read_start(const char *path, splat_camera *camera, splat_error *error)
{
    return splat_cameras_json_first(path, camera, error);
}

splat_status splat_model_find_iteration(const char *model_path, int iteration, char *path, size_t size, int *found,
                                        splat_error *error)
{
    return splat_find_iteration(model_path, iteration, path, size, found, error);
}
