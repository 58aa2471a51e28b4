#include "train/run_report.h"

#include "train/checkpoint.h"
#include "train/evaluate.h"
#include "train/monitor.h"
#include "train/schedule.h"

#include <jansson.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

static void warn(const splat_run_report *r, splat_status status, const splat_error *error)
{
    if (status != SPLAT_OK) splat_log(r->trainer->context, SPLAT_LOG_WARNING, "%s", error->message);
}

/* ---------------------------------------------------------------- the configuration, as texts */

#define MAX_ROWS 64

typedef struct text_table {
    splat_report_row rows[MAX_ROWS];
    char values[MAX_ROWS][128];
    size_t n;
} text_table;

/* Options by name, as a checkpoint's header lists them. Names live as long as `options`. */
static void fill_table(text_table *table, json_t *options)
{
    const char *key;
    json_t *value;
    json_object_foreach(options, key, value)
    {
        if (table->n == MAX_ROWS) return;
        char *text = table->values[table->n];
        size_t size = sizeof table->values[0];
        if (json_is_string(value))
            snprintf(text, size, "%s", json_string_value(value));
        else if (json_is_boolean(value))
            snprintf(text, size, "%s", json_is_true(value) ? "True" : "False");
        else if (json_is_integer(value))
            snprintf(text, size, "%lld", (long long)json_integer_value(value));
        else
            snprintf(text, size, "%.9g", json_number_value(value));
        table->rows[table->n++] = (splat_report_row){key, text};
    }
}

static void tell_configuration(splat_run_report *r)
{
    json_t *scene = splat_scene_options_json(&r->trainer->scene->options);
    json_t *options = splat_train_options_json(&r->trainer->options);
    text_table *tables = calloc(2, sizeof *tables);
    if (tables) {
        const splat_report_row machine[] = {{"device", splat_context_description(r->trainer->context)},
                                            {"splatsmith", splat_version()}};
        fill_table(&tables[0], scene);
        fill_table(&tables[1], options);
        splat_report_config config = {.command = r->run->command,
                                      .dataset = {tables[0].rows, tables[0].n},
                                      .optimization = {tables[1].rows, tables[1].n},
                                      .performance = {machine, sizeof machine / sizeof machine[0]}};
        splat_tensorboard_report_begin(&r->tensorboard, &config);
    }
    free(tables);
    json_decref(scene);
    json_decref(options);
}

/* ---------------------------------------------------------------- the run */

splat_status splat_run_report_open(splat_run_report *r, splat_trainer *trainer, const splat_run_options *run,
                                   splat_error *error)
{
    memset(r, 0, sizeof *r);
    r->trainer = trainer;
    r->run = run;
    if (run->profile_interval || run->n_snapshot_iterations) {
        splat_memory_profiler_options options = {run->profile_interval, run->snapshot_iterations,
                                                 run->n_snapshot_iterations};
        SPLAT_TRY(splat_memory_profiler_open(run->model_path, &options, trainer, &r->profiler, error));
    }
    if (run->tensorboard == SPLAT_TENSORBOARD_NONE) return SPLAT_OK;
    splat_tensorboard_tags tags = run->tensorboard == SPLAT_TENSORBOARD_UPSTREAM ? SPLAT_TENSORBOARD_TAGS_UPSTREAM
                                                                                  : SPLAT_TENSORBOARD_TAGS_DEFAULT;
    splat_status status = splat_tensorboard_report_open(&r->tensorboard, run->model_path, tags, trainer->iteration,
                                                        trainer->backend->threads, error);
    if (status == SPLAT_OK)
        tell_configuration(r);
    else
        splat_run_report_close(r);
    return status;
}

/* Losses of a backend that works ahead belong to the step before. */
static void tell_step(splat_run_report *r, const splat_step_info *step)
{
    int late = r->trainer->backend->functions->take_result ? 1 : 0, iteration = step->iteration - late;
    if (iteration < 1 || step->loss == 0) return; /* there is none yet */
    splat_report_step told = {step->l1, step->loss, step->step_ms};
    splat_tensorboard_report_step(&r->tensorboard, iteration, &told);
}

/* What the step adds to the loss of the photos: reading it waits for the device. */
static void tell_coarse(splat_run_report *r, const splat_step_info *step)
{
    splat_error error;
    const splat_train_options *o = &r->trainer->options;
    if (!splat_schedule_is_coarse(o) || step->iteration % SPLAT_TENSORBOARD_STEP_INTERVAL != 0) return;
    splat_report_coarse coarse = {.rendering = (double)step->loss, .options = &o->coarse};
    warn(r, splat_trainer_coarse_losses(r->trainer, &coarse.losses, &error), &error);
    splat_tensorboard_report_coarse(&r->tensorboard, step->iteration, &coarse);
}

static void tell_machine(splat_run_report *r, int iteration)
{
    const splat_memory *memory = &r->trainer->backend->memory;
    splat_monitor_sample sample;
    if (!r->tensorboard.writer || iteration % SPLAT_TENSORBOARD_STEP_INTERVAL != 0) return;
    if (r->run->monitor) splat_monitor_latest(r->run->monitor, &sample);
    splat_tensorboard_report_performance(&r->tensorboard, iteration, (double)memory->device.bytes,
                                         (double)memory->device.reserved, r->run->monitor ? &sample : NULL);
}

void splat_run_report_step(splat_run_report *r, const splat_step_info *step)
{
    splat_error error;
    splat_trainer *t = r->trainer;
    splat_memory_profiler_step(r->profiler, t, r->tensorboard.writer);
    if (!r->tensorboard.writer) return;
    tell_step(r, step);
    tell_coarse(r, step);
    tell_machine(r, step->iteration);
    if (step->n_added || step->n_removed)
        splat_tensorboard_report_density(&r->tensorboard, step->iteration, step->n_added, step->n_removed);
    warn(r, splat_tensorboard_report_model(&r->tensorboard, t->backend, &t->model->gaussians, step->iteration, false,
                                           &error), &error);
}

/* ---------------------------------------------------------------- evaluations */

typedef struct set_visit {
    splat_run_report *report;
    const splat_evaluator *evaluator;
    bool is_test;
} set_visit;

static bool show_view(void *user, size_t index_in_set, const splat_view_info *view, const float *render,
                      const uint8_t *photo, const splat_metrics *metrics)
{
    set_visit *visit = user;
    splat_run_report *r = visit->report;
    (void)metrics;
    if (!splat_tensorboard_report_wants_view(&r->tensorboard, index_in_set)) return true;
    splat_report_view shown = {.name = view->name,
                               .index_in_set = index_in_set,
                               .is_test = visit->is_test,
                               .width = view->camera.width,
                               .height = view->camera.height,
                               .render = render,
                               .photo = photo,
                               .blended = visit->evaluator->blended};
    splat_tensorboard_report_view(&r->tensorboard, r->trainer->iteration, &shown);
    return true;
}

splat_status splat_run_report_evaluate(splat_run_report *r, splat_view_set set, splat_metrics *mean, splat_error *error)
{
    splat_trainer *t = r->trainer;
    splat_evaluator evaluator = splat_evaluator_make(t->context, t->scene, t->model, false,
                                                     t->options.white_background);
    set_visit visit = {r, &evaluator, set == SPLAT_VIEWS_TEST};
    evaluator.n_shown = SPLAT_TENSORBOARD_VIEWS;
    if (r->tensorboard.writer && r->tensorboard.tags == SPLAT_TENSORBOARD_TAGS_DEFAULT) {
        int width, height;
        splat_scene_largest_view(t->scene, &width, &height);
        evaluator.blended = calloc((size_t)width * (size_t)height, sizeof *evaluator.blended); /* NULL: no heat maps */
    }
    splat_status status = splat_evaluator_run(&evaluator, set, r->tensorboard.writer ? show_view : NULL, &visit, mean,
                                              error);
    free(evaluator.blended);
    if (status != SPLAT_OK) return status;
    if (mean->n_views)
        splat_tensorboard_report_evaluation(&r->tensorboard, t->iteration, visit.is_test, mean,
                                            mean->lpips_net ? mean->lpips : (double)NAN);
    return SPLAT_OK;
}

void splat_run_report_end_evaluation(splat_run_report *r)
{
    splat_error error;
    splat_trainer *t = r->trainer;
    warn(r, splat_tensorboard_report_model(&r->tensorboard, t->backend, &t->model->gaussians, t->iteration, true,
                                           &error), &error);
    warn(r, splat_tensorboard_report_flush(&r->tensorboard, &error), &error);
}

void splat_run_report_close(splat_run_report *r)
{
    splat_error error;
    splat_memory_profiler_close(r->profiler);
    r->profiler = NULL;
    warn(r, splat_tensorboard_report_close(&r->tensorboard, r->trainer->backend, &error), &error);
}
