/* The reports of a run, opened, fed after each step and evaluation, and closed. */
#include "run/run_report.h"

#include "measure/view_set.h"
#include "report/monitor/monitor.h"
#include "report/page/run_page.h"
#include "train/parts/depths.h"
#include "train/parts/exposure.h"
#include "train/ranks/shards.h"
#include "train/schedule.h"
#include "report/tensorboard/view_batch.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static void warn(const splat_run_report *r, splat_status status, const splat_error *error)
{
    char text[sizeof error->file + sizeof error->message + 64];
    if (status == SPLAT_OK) return;
    splat_log(r->trainer->context, SPLAT_LOG_WARNING, "%s", splat_error_format(error, text, sizeof text));
}

/* ---------------------------------------------------------------- the run */

static splat_status open_profiler(splat_run_report *r, splat_error *error)
{
    const splat_run_options *run = r->run;
    if (!run->profile_interval && !run->n_snapshot_iterations) return SPLAT_OK;
    splat_memory_profiler_options options = {run->profile_interval, run->snapshot_iterations,
                                             run->n_snapshot_iterations};
    return splat_memory_profiler_open(run->model_path, &options, r->trainer, &r->profiler, error);
}

static splat_status open_tensorboard(splat_run_report *r, splat_error *error)
{
    const splat_trainer *t = r->trainer;
    if (r->run->tensorboard == SPLAT_TENSORBOARD_NONE) return SPLAT_OK;
    splat_tensorboard_tags tags = r->run->tensorboard == SPLAT_TENSORBOARD_UPSTREAM ? SPLAT_TENSORBOARD_TAGS_UPSTREAM
                                                                                     : SPLAT_TENSORBOARD_TAGS_DEFAULT;
    SPLAT_TRY(splat_tensorboard_report_open(&r->tensorboard, r->run->model_path, tags, t->iteration,
                                            t->backend->threads, error));
    r->tensorboard.trainer = r->trainer;
    if (r->settings) splat_tensorboard_report_begin(&r->tensorboard, splat_run_settings_config(r->settings));
    return SPLAT_OK;
}

static splat_status open_history(splat_run_report *r, splat_error *error)
{
    splat_trainer *t = r->trainer;
    splat_loss losses[SPLAT_MAX_LOSSES];
    splat_history_losses list = {.n = 0};
    const splat_regularizer *regularizer = t->options.regularizer;
    size_t n;
    SPLAT_TRY(splat_trainer_get_losses(t, losses, &n, error));
    if (n) list = (splat_history_losses){.group = "depth", .title = "known depth"};
    if (regularizer) list = (splat_history_losses){.group = regularizer->stage, .title = regularizer->title};
    for (size_t i = 0; i < n && !losses[i].is_figure; i++) {
        list.names[list.n] = losses[i].name;
        list.labels[list.n++] = losses[i].label;
    }
    return splat_run_history_open(&r->history, r->run->model_path, t->iteration, &list, error);
}

splat_status splat_run_report_open(splat_run_report *r, splat_trainer *trainer, const splat_run_options *run,
                                   splat_error *error)
{
    memset(r, 0, sizeof *r);
    r->trainer = trainer;
    r->run = run;
    r->first_iteration = trainer->iteration;
    splat_memory_begin_phase(&trainer->backend->memory);
    if (run->tensorboard != SPLAT_TENSORBOARD_NONE || run->report)
        r->settings = splat_run_settings_make(trainer, run->command);
    splat_status status = open_profiler(r, error);
    if (status == SPLAT_OK) status = open_tensorboard(r, error);
    if (status == SPLAT_OK && run->report)
        status = open_history(r, error);
    if (status != SPLAT_OK) splat_run_report_close(r, status, error);
    return status;
}

/* Steps that a loss is late: those of a backend that works ahead belong to the step before. */
static int steps_late(const splat_run_report *r)
{
    return splat_backend_result_latency(r->trainer->backend);
}

static void tell_step(splat_run_report *r, const splat_step_info *step)
{
    int iteration = step->iteration - steps_late(r);
    if (iteration < 1 || step->loss == 0) return; /* there is none yet */
    splat_report_step report_step = {step->l1, step->loss, step->step_ms};
    splat_tensorboard_report_step(&r->tensorboard, iteration, &report_step);
}

static void tell_read_losses(splat_run_report *r, double rendering)
{
    splat_tensorboard_report_losses(&r->tensorboard, r->losses_at, rendering, r->losses, r->n_losses);
    r->losses_at = 0;
}

/* Reports the losses that a step adds to that of the photos: reading them waits for the device. They are reported with
 * the step's other figures, on a backend that works ahead one step later. */
static void tell_losses(splat_run_report *r, const splat_step_info *step)
{
    splat_error error;
    const splat_trainer *t = r->trainer;
    bool has_losses = t->options.regularizer || splat_depths_of(t)->results.data;
    if (!has_losses || (!r->tensorboard.writer && !r->run->report)) return;
    int late = steps_late(r);
    if (late && r->losses_at && r->losses_at == step->iteration - late) tell_read_losses(r, (double)step->loss);
    if (step->iteration % SPLAT_TENSORBOARD_STEP_INTERVAL != 0) return;
    warn(r, splat_trainer_get_losses(r->trainer, r->losses, &r->n_losses, &error), &error);
    r->losses_at = step->iteration;
    if (!late) tell_read_losses(r, (double)step->loss);
}

static void tell_machine(splat_run_report *r, int iteration)
{
    const splat_memory *memory = &r->trainer->backend->memory;
    splat_monitor_sample sample;
    if (!r->tensorboard.writer || iteration % SPLAT_TENSORBOARD_STEP_INTERVAL != 0) return;
    if (r->run->monitor) splat_monitor_get_latest(r->run->monitor, &sample);
    splat_tensorboard_report_performance(&r->tensorboard, iteration, (double)memory->device.bytes,
                                         (double)memory->device.reserved, r->run->monitor ? &sample : NULL);
}

/* Reading them waits for the device. */
static void tell_exposures(splat_run_report *r, int iteration)
{
    splat_error error;
    double mean, min, max;
    if (!r->trainer->options.exposure || iteration % SPLAT_TENSORBOARD_MODEL_INTERVAL != 0) return;
    splat_status status = splat_exposures_summary(r->trainer, &mean, &min, &max, &error);
    warn(r, status, &error);
    if (status == SPLAT_OK) splat_tensorboard_report_exposures(&r->tensorboard, iteration, mean, min, max);
}

/* ---------------------------------------------------------------- the history */

static void note_history(const splat_run_report *r, bool good)
{
    if (good) return;
    splat_log(r->trainer->context, SPLAT_LOG_WARNING,
              "%s ends here: it cannot be written; the run goes on, and its report will have the curves",
              r->history.path);
}

/* The stages are measured for some steps of many, so that marking them costs nothing that counts. */
static void measure_stages(splat_run_report *r, int iteration, splat_history_point *point)
{
    enum { EVERY = 500, FROM = 30, TO = 50 };
    splat_trainer *t = r->trainer;
    splat_stage_times sums;
    if (iteration % EVERY >= FROM && iteration % EVERY < TO && !t->measures_stages) {
        splat_trainer_measure_stages(t, true);
        r->measures_stages = true;
    }
    if (iteration % EVERY < TO || !r->measures_stages) return;
    splat_trainer_take_stage_times(t, &sums);
    splat_trainer_measure_stages(t, false);
    r->measures_stages = false;
    const double ms[SPLAT_N_STAGES] = {sums.data, sums.project + sums.send,              sums.bin,
                                       sums.raster, sums.loss, sums.raster_backward + sums.send_back,
                                       sums.project_backward};
    for (int i = 0; i < SPLAT_N_STAGES && sums.steps; i++) point->stages[i] = ms[i] / sums.steps;
}

static void look_at_memory(splat_run_report *r, splat_history_point *point)
{
    splat_error error;
    splat_monitor_sample sample;
    const splat_trainer *t = r->trainer;
    if (splat_memory_snapshot_take(&r->snapshot, t->backend, &error) == SPLAT_OK)
        for (int i = 0; i < SPLAT_N_MEMORY_CATEGORIES; i++)
            point->memory[i] = (double)r->snapshot.categories[SPLAT_PLACE_DEVICE][i].reserved;
    if (!r->run->monitor) return;
    splat_monitor_get_latest(r->run->monitor, &sample);
    point->driver = sample.gpu.process_bytes;
    point->process = sample.process_rss_bytes;
}

static void tell_history(splat_run_report *r, const splat_step_info *step)
{
    if (step->loss > 0) { /* the first step of a backend that works ahead has none yet */
        splat_running_mean_add(&r->loss, (double)step->loss);
        splat_running_mean_add(&r->l1, (double)step->l1);
    }
    splat_running_mean_add(&r->step_ms, step->step_ms);
    if (step->iteration % SPLAT_HISTORY_INTERVAL != 0 && step->iteration != r->trainer->options.iterations) return;
    splat_history_point point = splat_history_point_make(step->iteration);
    point.loss = splat_running_mean_take(&r->loss);
    point.l1 = splat_running_mean_take(&r->l1);
    point.step_ms = splat_running_mean_take(&r->step_ms);
    point.n_gaussians = (double)step->n_gaussians;
    measure_stages(r, step->iteration, &point);
    look_at_memory(r, &point);
    bool were_read = step->iteration % SPLAT_TENSORBOARD_STEP_INTERVAL == 0;
    for (size_t i = 0; were_read && i < r->history.losses.n; i++) point.losses[i] = r->losses[i].value;
    note_history(r, splat_run_history_add(&r->history, &point));
}

void splat_run_report_step(splat_run_report *r, const splat_step_info *step)
{
    splat_error error;
    splat_trainer *t = r->trainer;
    splat_memory_profiler_step(r->profiler, t, step, r->tensorboard.writer);
    tell_losses(r, step);
    if (r->run->report) tell_history(r, step);
    if (!r->tensorboard.writer) return;
    tell_step(r, step);
    tell_machine(r, step->iteration);
    tell_exposures(r, step->iteration);
    if (step->n_added || step->n_removed)
        splat_tensorboard_report_density(&r->tensorboard, step->iteration, step->n_added, step->n_removed);
    warn(r, splat_tensorboard_report_model(&r->tensorboard, t->backend, NULL, step->iteration, false, &error), &error);
}

/* ---------------------------------------------------------------- evaluations */

typedef struct set_visit {
    const splat_evaluator *evaluator;
    bool is_test;
    splat_view_batch batch;
} set_visit;

static void make_pictures(void *user, const splat_report_view *views, size_t n)
{
    splat_run_report *r = user;
    int threads = r->trainer->backend->threads;
    splat_tensorboard_report_views(&r->tensorboard, r->trainer->iteration, views, n);
    if (r->run->report) splat_run_pictures_add(&r->pictures, r->trainer->iteration, views, n, threads);
}

static bool show_view(void *user, size_t index_in_set, const splat_view_info *view, const float *render,
                      const uint8_t *photo, const splat_metrics *metrics)
{
    set_visit *visit = user;
    if (index_in_set >= SPLAT_TENSORBOARD_VIEWS) return true;
    splat_report_view shown = {.name = view->name,
                               .index_in_set = index_in_set,
                               .is_test = visit->is_test,
                               .width = view->camera.width,
                               .height = view->camera.height,
                               .render = render,
                               .photo = photo,
                               .blended = visit->evaluator->blended,
                               .metrics = *metrics};
    splat_view_batch_add(&visit->batch, &shown);
    return true;
}

/* Training and evaluation take turns; each has its peak. */
static void end_phase(splat_run_report *r, size_t *peak)
{
    size_t bytes = splat_memory_begin_phase(&r->trainer->backend->memory);
    if (bytes > *peak) *peak = bytes;
}

splat_status splat_run_report_evaluate(splat_run_report *r, splat_view_set set, splat_metrics *mean, splat_error *error)
{
    splat_trainer *t = r->trainer;
    bool shows = r->tensorboard.writer || r->run->report;
    const splat_view_job job = {.set = set, .lpips = r->run->lpips, .visit = shows ? show_view : NULL,
                                .color_correct = t->options.exposure};
    splat_evaluator evaluator = splat_evaluator_make(t->model, t->scene, &job);
    set_visit visit = {&evaluator, set == SPLAT_VIEWS_TEST, {.take = make_pictures, .user = r}};
    evaluator.job.user = &visit;
    evaluator.trainer = splat_shards_sharer(r->trainer);
    evaluator.n_shown = SPLAT_TENSORBOARD_VIEWS;
    if (r->tensorboard.writer && r->tensorboard.tags == SPLAT_TENSORBOARD_TAGS_DEFAULT) {
        int width, height;
        splat_scene_largest_view(t->scene, &width, &height);
        evaluator.blended = calloc((size_t)width * (size_t)height, sizeof *evaluator.blended); /* NULL: no heat maps */
    }
    end_phase(r, &r->training_peak);
    splat_status status = splat_evaluator_run(&evaluator, mean, error);
    end_phase(r, &r->evaluation_peak);
    splat_view_batch_flush(&visit.batch);
    free(evaluator.blended);
    if (status != SPLAT_OK || mean->n_views == 0) return status;
    double lpips = mean->lpips_net ? mean->lpips : (double)NAN;
    splat_history_evaluation measured = {t->iteration, visit.is_test, mean->n_views, mean->l1, mean->psnr, mean->ssim,
                                         lpips};
    splat_tensorboard_report_evaluation(&r->tensorboard, t->iteration, visit.is_test, mean, lpips);
    if (r->run->report) note_history(r, splat_run_history_add_evaluation(&r->history, &measured));
    return SPLAT_OK;
}

void splat_run_report_end_evaluation(splat_run_report *r)
{
    splat_error error;
    splat_trainer *t = r->trainer;
    warn(r, splat_tensorboard_report_model(&r->tensorboard, t->backend, NULL, t->iteration, true, &error), &error);
    warn(r, splat_tensorboard_report_flush(&r->tensorboard, &error), &error);
    note_history(r, splat_run_history_flush(&r->history));
}

void splat_run_report_before_checkpoint(splat_run_report *r)
{
    note_history(r, splat_run_history_sync(&r->history));
}

/* ---------------------------------------------------------------- the end */

/* A run without a step leaves the report of the one before. */
static void write_page(splat_run_report *r, splat_status status, const splat_error *ended)
{
    splat_error error;
    splat_scene_info scene;
    splat_memory_info memory;
    double opacity;
    splat_trainer *t = r->trainer;
    if (!r->run->report || t->iteration == r->first_iteration) return;
    splat_scene_get_info(t->scene, &scene);
    splat_context_get_memory(t->context, &memory);
    if (splat_trainer_get_mean_opacity(t, &opacity, &error) != SPLAT_OK)
        opacity = (double)NAN; /* a broken device, a rank that is gone */
    end_phase(r, &r->training_peak);
    splat_run_page page = {.folder = r->run->model_path,
                           .ended = status == SPLAT_OK ? NULL : ended->message,
                           .iteration = t->iteration,
                           .n_gaussians = splat_shards_count(t),
                           .n_train = scene.n_train,
                           .n_test = scene.n_test,
                           .width = scene.max_width,
                           .height = scene.max_height,
                           .seconds = splat_run_history_seconds(&r->history),
                           .mean_opacity = opacity,
                           .training_peak_bytes = r->training_peak,
                           .evaluation_peak_bytes = r->evaluation_peak,
                           .overhead_bytes = memory.overhead_bytes,
                           .settings = r->settings ? splat_run_settings_config(r->settings) : NULL,
                           .history = &r->history,
                           .pictures = &r->pictures};
    warn(r, splat_run_page_write(&page, &error), &error);
}

void splat_run_report_close(splat_run_report *r, splat_status status, const splat_error *ended)
{
    splat_error error;
    splat_memory_profiler_close(r->profiler);
    if (r->losses_at) tell_read_losses(r, (double)NAN); /* the last step's photo loss was never asked for */
    warn(r, splat_tensorboard_report_close(&r->tensorboard, r->trainer->backend, &error), &error);
    write_page(r, status, ended);
    if (r->measures_stages) splat_trainer_measure_stages(r->trainer, false);
    splat_memory_snapshot_free(&r->snapshot);
    splat_run_pictures_free(&r->pictures);
    splat_run_history_close(&r->history);
    splat_run_settings_free(r->settings);
    r->profiler = NULL;
    r->settings = NULL;
}
