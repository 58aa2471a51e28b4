/* The callbacks, figures and summary of a run of train, coarse or refine. */
#include "stage/training.h"

#include "base/file.h"
#include "base/plural.h"
#include "stage/memory.h"
#include "stage/ranks.h"
#include "stage/viewer.h"

#include <stdlib.h>
#include <string.h>

#define PATIENCE_SECONDS 1200.0 /* a longer training on the CPU gets a notice */
#define ESTIMATE_STEPS 20       /* after the first one */
#define PAUSE_SECONDS 1.0       /* an event that takes the viewer longer was a pause, no picture */

/* ---------------------------------------------------------------- what the run reports */

/* The --resolution at which the sides of the photos are a quarter of the present ones; 0: the photos are small. */
static int quarter_size(const splat_training_report *r)
{
    if (r->max_width < 800) return 0;
    bool divides = r->resolution == 1 || r->resolution == 2 || r->resolution == 4 || r->resolution == 8;
    bool is_full_size = r->resolution == -1 && r->max_width < 1600; /* which -1 makes of wider photos */
    return divides ? 4 * r->resolution : is_full_size ? 4 : r->max_width / 4;
}

/* On a CPU photos of full size take hours, which people learn too late. The time of a step goes with the pixels. */
static void tell_smaller_photos(splat_training_report *r, const splat_step_info *step)
{
    char long_text[32], short_text[32];
    const int steps = step->iteration - r->first_iteration, quarter = quarter_size(r);
    if (r->is_estimated || steps < ESTIMATE_STEPS) return;
    r->is_estimated = true;
    if (!r->on_cpu || quarter == 0) return;
    double seconds = (splat_seconds() - r->first_step) / steps * (r->progress.total - step->iteration);
    if (seconds < PATIENCE_SECONDS) return;
    splat_notice(
        r->talk,
        "on the CPU this takes about %s with photos of %d x %d pixels; with -r %d, a quarter of their sides, it "
        "would take about %s",
        splat_duration(seconds, long_text), r->max_width, r->max_height, quarter,
        splat_duration(seconds / 16, short_text));
}

static void on_step(splat_training_report *r, const splat_step_info *step)
{
    r->last_step = *step;
    r->mark = splat_seconds();
    if (step->n_refused && r->n_refused == 0)
        splat_notice(r->talk,
                     "memory leaves no room for all the Gaussians that density control wants (%zu at step %d); the "
                     "largest gradients win",
                     step->n_refused, step->iteration);
    r->n_refused += step->n_refused;
    if (r->n_steps == 0) {
        splat_step_progress_resume(&r->progress, step->iteration);
        r->first_step = r->mark;
        r->first_iteration = step->iteration;
    }
    tell_smaller_photos(r, step);
    r->n_steps += step->n_views;
    if (!splat_step_progress_show(&r->progress, step)) splat_trainer_request_stop(r->trainer);
}

static void on_evaluation(splat_training_report *r, const splat_event *event, int iteration)
{
    const splat_metrics *m = event->metrics;
    if (m->n_views == 0) return;
    r->training_peak_bytes = event->training_peak_bytes;
    r->evaluation_peak_bytes = event->evaluation_peak_bytes;
    char lpips[64] = "";
    if (m->lpips_net) snprintf(lpips, sizeof lpips, " LPIPS %.4f (%s)", m->lpips, m->lpips_net);
    char masked[80] = "", corrected[64] = "";
    if (m->n_masked) splat_masked_words(m, masked, sizeof masked);
    if (m->is_corrected)
        snprintf(corrected, sizeof corrected, "; colours corrected: PSNR %.2f SSIM %.4f", m->cc_psnr, m->cc_ssim);
    splat_say(r->talk, "[ITER %d] Evaluating %s: L1 %.4f PSNR %.2f (per channel %.2f) SSIM %.4f%s%s%s", iteration,
              event->set == SPLAT_VIEWS_TEST ? "test" : "train", m->l1, m->psnr, m->psnr_per_channel, m->ssim, lpips,
              masked, corrected);
    if (event->set != SPLAT_VIEWS_TEST) return;
    r->psnr = m->psnr;
    r->psnr_iteration = iteration;
}

/* Passes an event to the viewer; a pause does not count as training time. */
static void show_event(splat_training_report *r, const splat_event *event)
{
    const double begin = splat_seconds();
    if (!r->viewer) return;
    splat_viewer_event(r->viewer, event);
    const double seconds = splat_seconds() - begin;
    if (seconds < PAUSE_SECONDS) return;
    r->other_seconds += seconds;
    r->mark = splat_seconds();
    splat_step_progress_resume(&r->progress, r->last_step.iteration);
}

static void report_event(splat_training_report *r, const splat_event *event)
{
    int iteration = event->step ? event->step->iteration : r->last_step.iteration;
    switch (event->kind) {
    case SPLAT_EVENT_STEP: on_step(r, event->step); return;
    case SPLAT_EVENT_EVALUATION: on_evaluation(r, event, iteration); break;
    case SPLAT_EVENT_SAVED:
        snprintf(r->saved, sizeof r->saved, "%s", event->path);
        splat_say(r->talk, "[ITER %d] Saving Gaussians: %s", iteration, event->path);
        break;
    case SPLAT_EVENT_CHECKPOINT:
        snprintf(r->checkpoint, sizeof r->checkpoint, "%s", event->path);
        splat_say(r->talk, "[ITER %d] Saving checkpoint: %s", iteration, event->path);
        break;
    }
    splat_step_progress_resume(&r->progress, iteration);
    r->other_seconds += splat_seconds() - r->mark;
    r->mark = splat_seconds();
}

static void on_event(void *user, const splat_event *event)
{
    report_event(user, event);
    show_event(user, event);
}

/* Prints the blocks' peak, with evaluations, and the driver's memory outside of them. */
static void print_memory(const splat_training_report *r)
{
    splat_memory_info memory;
    char peak[32], evaluating[48] = "", bytes[32], overhead[32], host[32];
    splat_context_get_memory(r->progress.context, &memory);
    if (r->evaluation_peak_bytes)
        snprintf(evaluating, sizeof evaluating, ", %s while evaluating", splat_bytes(r->evaluation_peak_bytes, bytes));
    splat_say(r->talk, "  memory       %s at most%s%s%s%s%s",
              splat_bytes(r->training_peak_bytes ? r->training_peak_bytes : memory.peak_bytes, peak), evaluating,
              memory.overhead_bytes ? ", and the driver's " : "",
              memory.overhead_bytes ? splat_bytes(memory.overhead_bytes, overhead) : "",
              memory.host_bytes ? "; pinned on the host " : "",
              memory.host_bytes ? splat_bytes(memory.host_bytes, host) : "");
}

static void print_ranks(const splat_training *j)
{
    splat_rank_info ranks[SPLAT_MAX_RANKS];
    splat_error error;
    size_t n;
    if (splat_trainer_get_ranks(j->trainer, ranks, SPLAT_MAX_RANKS, &n, &error) == SPLAT_OK) /* none was lost */
        splat_ranks_say(j->report.talk, ranks, n);
}

static void print_summary(const splat_training *j)
{
    const splat_training_report *r = &j->report;
    char time_text[32], psnr_text[64] = "", opacity_text[48] = "", result[256];
    double seconds = splat_seconds() - r->started;
    double training = r->mark - r->started - r->other_seconds; /* the page of the run comes after the last mark */
    if (r->n_steps == 0) return;
    if (r->psnr_iteration)
        snprintf(psnr_text, sizeof psnr_text, ", test PSNR %.2f dB at %d", r->psnr, r->psnr_iteration);
    double opacity;
    if (splat_trainer_get_mean_opacity(j->trainer, &opacity, NULL) == SPLAT_OK)
        snprintf(opacity_text, sizeof opacity_text, " of mean opacity %.2f", opacity);
    snprintf(result, sizeof result, "Trained %d step%s in %s (%.2f it/s): %zu Gaussians%s%s", r->n_steps,
             splat_plural((size_t)r->n_steps), splat_duration(seconds, time_text),
             training > 0 ? r->n_steps / training : 0.0, r->last_step.n_gaussians, opacity_text, psnr_text);
    splat_say(r->talk, "%s", result);
    if (r->viewer) splat_viewer_finish(r->viewer, result);
    if (r->n_refused)
        splat_say(r->talk, "  refused      %zu Gaussian%s for want of memory", r->n_refused,
                  splat_plural(r->n_refused));
    print_memory(r);
    print_ranks(j);
    if (j->run_options.report) splat_say(r->talk, "  report       %s/report.html", j->model_path);
    if (!r->saved[0]) return;
    splat_say(r->talk, "  splat        %s", r->saved);
    char fused[SPLAT_STAGE_PATH + 32];
    size_t folder = strlen(r->saved);
    while (folder && r->saved[folder - 1] != '/') folder--;
    snprintf(fused, sizeof fused, "%.*spoint_cloud_fused.ply", (int)folder, r->saved);
    if (splat_path_exists(fused)) splat_say(r->talk, "  for viewers  %s", fused);
}

/* ---------------------------------------------------------------- the run */

/* The library counts steps from 1; -1 is the usual way to say never. */
static void keep_steps(splat_line_list *list)
{
    size_t n = 0;
    for (size_t i = 0; i < list->n; i++)
        if (list->values[i] > 0) list->values[n++] = list->values[i];
    list->n = n;
}

/* Weights of losses that the scene has nothing for. */
static void tell_depth_without_effect(const splat_line *line)
{
    if (!line->scene->depths) {
        splat_stage_tell_unused(line, "depth_l1_weight_init", " without `depths`");
        splat_stage_tell_unused(line, "depth_l1_weight_final", " without `depths`");
    }
    if (!line->scene->sfm_depth) splat_stage_tell_unused(line, "sfm_depth_weight", " without `sfm_depth`");
}

/* run_options and the lists that they point to. */
static void fill_run_options(splat_training *j, const splat_line *line)
{
    j->test = line->run->test_iterations;
    j->save = line->run->save_iterations;
    j->checkpoint = line->run->checkpoint_iterations;
    keep_steps(&j->test);
    keep_steps(&j->save);
    keep_steps(&j->checkpoint);
    j->snapshot = line->run->snapshot_iterations;
    keep_steps(&j->snapshot);

    splat_run_options *run = &j->run_options;
    splat_run_options_init(run);
    run->model_path = j->model_path;
    run->test_iterations = j->test.values;
    run->n_test_iterations = j->test.n;
    run->save_iterations = j->save.values;
    run->n_save_iterations = j->save.n;
    run->checkpoint_iterations = j->checkpoint.values;
    run->n_checkpoint_iterations = j->checkpoint.n;
    run->checkpoint_interval = line->run->checkpoint_interval;
    run->checkpoint_seconds = line->run->checkpoint_seconds;
    run->start_checkpoint = line->run->start_checkpoint;
    run->tensorboard = !line->run->tensorboard                                ? SPLAT_TENSORBOARD_NONE
                       : strcmp(line->run->tensorboard_tags, "upstream") == 0 ? SPLAT_TENSORBOARD_UPSTREAM
                                                                              : SPLAT_TENSORBOARD_DEFAULT;
    run->report = line->run->report;
    if (!line->run->tensorboard) splat_stage_tell_unused(line, "tensorboard_tags", " with `tensorboard False`");
    if (!line->run->profile_tensors) splat_stage_tell_unused(line, "profile_interval", " without `profile_tensors`");
    tell_depth_without_effect(line);
    run->profile_interval = line->run->profile_tensors ? line->run->profile_interval : 0;
    run->snapshot_iterations = j->snapshot.values;
    run->n_snapshot_iterations = j->snapshot.n;
    run->command = line->command_text;
    run->event = on_event;
    run->event_user = &j->report;
}

void splat_training_describe(const splat_training *j)
{
    const splat_talk *talk = j->report.talk;
    splat_scene_info info;
    splat_scene_get_info(j->session.scene, &info);
    splat_say(talk, "Output folder: %s", j->model_path);
    splat_say(talk, "Scene: %s, %zu train and %zu test view%s up to %dx%d, %zu points%s; %s", info.format, info.n_train,
              info.n_test, splat_plural(info.n_test), info.max_width, info.max_height, info.n_points,
              info.random_points ? " drawn at random" : "", splat_context_get_description(j->session.context));
}

splat_status splat_training_create(const splat_line *line, splat_training **training, splat_error *error)
{
    splat_training *t = *training = calloc(1, sizeof *t);
    if (!t) return splat_fail(error, SPLAT_ERROR_MEMORY, "memory is exhausted");
    t->report.talk = line->talk;
    fill_run_options(t, line);
    return SPLAT_OK;
}

/* Figures of the machine for the progress line and `monitor_csv`. */
static splat_status start_monitor(splat_training *j, const splat_line *line, splat_error *error)
{
    splat_monitor_options options;
    splat_error own;
    splat_monitor_options_init(&options);
    options.gpu = splat_context_get_pci_bus_id(j->session.context);
    options.csv_path = line->run->monitor_csv;
    options.log = splat_talk_log;
    options.log_user = line->talk;
    splat_status status = splat_monitor_create(&options, &j->monitor, &own);
    if (status == SPLAT_OK) return SPLAT_OK;
    if (line->run->monitor_csv) {
        if (error) *error = own;
        return status;
    }
    splat_notice(line->talk, "training goes on without figures of the machine: %s", own.message);
    return SPLAT_OK;
}

const char *splat_training_name(const splat_training *j)
{
    return j->train_options.binding ? "refine" : j->train_options.regularizer ? "coarse" : "train";
}

/* How to go on: a pipeline, which asks for the outcome, does so by itself. */
static void tell_stop(const splat_training *j, const splat_line *line)
{
    const char *checkpoint = j->report.checkpoint;
    const int rank = j->train_options.ranks ? splat_comm_get_interrupt(j->train_options.ranks, NULL) : 0;
    const char *start = line->outcome ? "; the same command" : "; `start_checkpoint` ";
    char why[64] = "";
    if (!j->is_stopped_here && rank) snprintf(why, sizeof why, ", as rank %d was asked to end", rank);
    splat_notice(line->talk, "stopped at step %d of %d%s%s%s%s", splat_trainer_get_iteration(j->trainer),
                 j->train_options.iterations, why, checkpoint[0] ? start : "", line->outcome ? "" : checkpoint,
                 checkpoint[0] ? " goes on from there" : "");
}

void splat_training_tell_end(const splat_training *j, const splat_line *line, splat_status status)
{
    const splat_training_report *r = &j->report;
    if (!j->has_run) return;
    if (status == SPLAT_OK && r->n_steps == 0)
        splat_notice(line->talk, "nothing to train: the checkpoint is at step %d; give more `iterations`",
                     splat_trainer_get_iteration(j->trainer));
    if (status == SPLAT_OK) return;
    if (status == SPLAT_ERROR_STOPPED) {
        tell_stop(j, line);
        return;
    }
    if (status == SPLAT_ERROR_RANK)
        splat_notice(line->talk, "%s%s%s",
                     r->checkpoint[0] ? "the last checkpoint is " : "no checkpoint was written in this run",
                     r->checkpoint, r->checkpoint[0] ? "; `start_checkpoint latest` goes on from it" : "");
    if (r->saved[0]) splat_notice(line->talk, "the last splat that was saved is %s", r->saved);
}

static void begin_stop(const splat_training *j, const splat_line *line)
{
    if (line->talk) splat_stop_begin_training(line->talk->stop, j->trainer, j->train_options.ranks);
}

/* The signal that ended the run may have reached another rank alone. */
static void end_stop(splat_training *j, const splat_line *line)
{
    splat_stop *stop = line->talk ? line->talk->stop : NULL;
    int number = 0;
    splat_stop_end_work(stop);
    j->is_stopped_here = splat_stop_number(stop) != 0;
    if (!stop || j->is_stopped_here || !j->train_options.ranks) return;
    splat_comm_get_interrupt(j->train_options.ranks, &number);
    if (number) splat_stop_request(stop, number);
}

static splat_status train(splat_training *j, const splat_line *line, splat_error *error)
{
    splat_training_report *r = &j->report;
    splat_scene_info scene;
    splat_scene_get_info(j->session.scene, &scene);
    r->trainer = j->trainer;
    r->on_cpu = !splat_context_get_pci_bus_id(j->session.context)[0];
    r->resolution = j->session.scene_options.resolution;
    r->max_width = scene.max_width;
    r->max_height = scene.max_height;
    r->started = r->mark = splat_seconds();
    r->progress = splat_step_progress_start(line->talk, splat_training_name(j), j->session.context, j->monitor,
                                            j->train_options.iterations);
    begin_stop(j, line);
    splat_status status = splat_trainer_run(j->trainer, &j->run_options, error);
    end_stop(j, line);
    j->has_run = true;
    if (status == SPLAT_OK || status == SPLAT_ERROR_STOPPED) print_summary(j);
    return status;
}

/* Executes the orders of rank 0, until it ends. */
static splat_status serve(splat_training *j, const splat_line *line, splat_error *error)
{
    begin_stop(j, line);
    splat_status status = splat_trainer_serve(j->trainer, error);
    end_stop(j, line);
    return status;
}

splat_status splat_training_run(splat_training *j, const splat_line *line, splat_error *error)
{
    if (splat_ranks_is_worker(line)) return serve(j, line, error);
    SPLAT_TRY(splat_stage_open_training_lpips(line, j->session.context, j->session.scene, &j->lpips, error));
    SPLAT_TRY(start_monitor(j, line, error));
    j->run_options.monitor = j->monitor;
    j->run_options.lpips = j->lpips;
    SPLAT_TRY(
        splat_stage_begin_viewer(line, j->model_path, splat_training_name(j), j->trainer, &j->report.viewer, error));
    return train(j, line, error);
}

void splat_training_destroy(splat_training *j, const splat_line *line)
{
    if (!j) return;
    splat_stage_end_viewer(line, j->report.viewer);
    if (j->has_run) splat_stage_note_memory(line->outcome, j->session.context);
    if (line->outcome && j->report.psnr_iteration) {
        line->outcome->psnr = j->report.psnr;
        line->outcome->psnr_iteration = j->report.psnr_iteration;
    }
    splat_monitor_destroy(j->monitor);
    splat_trainer_destroy(j->trainer);
    splat_workers_join(j->workers);
    splat_lpips_destroy(j->lpips);
    splat_session_close(&j->session);
    free(j);
}

splat_status splat_training_of(const splat_line *line, splat_training_begin *begin, splat_training_finish *finish,
                               splat_error *error)
{
    splat_training *t;
    SPLAT_TRY(splat_training_create(line, &t, error));
    splat_status status = begin(t, line, error);
    if (status == SPLAT_OK) status = splat_training_run(t, line, error);
    splat_training_tell_end(t, line, status);
    if (status == SPLAT_OK && finish) finish(t);
    splat_training_destroy(t, line);
    return status;
}
