/* The callbacks, signals and summary of a run of train or coarse. */
#include "training.h"
#include "ranks.h"
#include "viewer.h"

#include <errno.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define PATIENCE_SECONDS 1200.0 /* a longer training on the CPU gets a notice */
#define ESTIMATE_STEPS 20       /* after the first one */
#define PAUSE_SECONDS 1.0 /* an event that takes the viewer longer was a pause, no picture */

/* ---------------------------------------------------------------- Ctrl-C, SIGTERM, a lost terminal */

static splat_trainer *_Atomic stop_target; /* what a signal stops */
static splat_comm *_Atomic stop_ranks;     /* those of its training; NULL: it is alone */
static volatile sig_atomic_t stop_signal;  /* the signal that came, 0: none */

static const int stop_signals[] = {SIGINT, SIGTERM, SIGHUP};
#define N_STOP_SIGNALS (sizeof stop_signals / sizeof stop_signals[0])

/* The first signal ends the run after its step; after it Ctrl-C and SIGTERM have their usual effect again. SIGHUP has
 * not: a lost connection sends it from the kernel and from the shell, and nobody waits who could be impatient. */
static void on_signal(int number)
{
    static const char text[] =
        "\nsplatsmith: notice: stopping after this step and saving; Ctrl-C again quits at once\n";
    splat_trainer *trainer = atomic_load(&stop_target);
    splat_comm *ranks = atomic_load(&stop_ranks);
    int kept = errno;
    signal(SIGHUP, SIG_IGN);
    if (number != SIGHUP) {
        signal(SIGINT, SIG_DFL);
        signal(SIGTERM, SIG_DFL);
    }
    stop_signal = number;
    if (ranks) splat_comm_interrupt_by(ranks, number);
    if (trainer) splat_trainer_request_stop(trainer);
    ssize_t ignored = cli_is_quiet() ? 0 : write(STDERR_FILENO, text, sizeof text - 1);
    (void)ignored;
    errno = kept;
}

static void install_signals(const cli_training *j)
{
    struct sigaction action, old;
    atomic_store(&stop_ranks, j->train_options.ranks);
    atomic_store(&stop_target, j->trainer);
    memset(&action, 0, sizeof action);
    action.sa_handler = on_signal;
    action.sa_flags = SA_RESTART;
    sigemptyset(&action.sa_mask);
    for (size_t i = 0; i < N_STOP_SIGNALS; i++)
        if (sigaction(stop_signals[i], NULL, &old) == 0 && old.sa_handler != SIG_IGN)
            sigaction(stop_signals[i], &action, NULL);
}

static void remove_signals(void)
{
    struct sigaction old;
    for (size_t i = 0; i < N_STOP_SIGNALS; i++)
        if (sigaction(stop_signals[i], NULL, &old) == 0 && old.sa_handler == on_signal)
            signal(stop_signals[i], SIG_DFL);
    atomic_store(&stop_target, NULL);
    atomic_store(&stop_ranks, NULL);
}

/* ---------------------------------------------------------------- what the run reports */

/* The --resolution at which the sides of the photos are a quarter of the present ones; 0: the photos are small. */
static int quarter_size(const cli_report_state *r)
{
    if (r->max_width < 800) return 0;
    bool divides = r->resolution == 1 || r->resolution == 2 || r->resolution == 4 || r->resolution == 8;
    bool is_full_size = r->resolution == -1 && r->max_width < 1600; /* which -1 makes of wider photos */
    return divides ? 4 * r->resolution : is_full_size ? 4 : r->max_width / 4;
}

/* On a CPU photos of full size take hours, which people learn too late. The time of a step goes with the pixels. */
static void tell_smaller_photos(cli_report_state *r, const splat_step_info *step)
{
    char long_text[32], short_text[32];
    const int steps = step->iteration - r->first_iteration, quarter = quarter_size(r);
    if (r->is_estimated || steps < ESTIMATE_STEPS) return;
    r->is_estimated = true;
    if (!r->on_cpu || quarter == 0) return;
    double seconds = (cli_seconds() - r->first_step) / steps * (r->progress.total - step->iteration);
    if (seconds < PATIENCE_SECONDS) return;
    cli_notice("on the CPU this takes about %s with photos of %d x %d pixels; with -r %d, a quarter of their sides, it "
               "would take about %s", cli_duration(seconds, long_text), r->max_width, r->max_height, quarter,
               cli_duration(seconds / 16, short_text));
}

static void on_step(cli_report_state *r, const splat_step_info *step)
{
    r->last_step = *step;
    r->mark = cli_seconds();
    if (step->n_refused && r->n_refused == 0)
        cli_notice(
            "memory leaves no room for all the Gaussians that density control wants (%zu at step %d); the largest "
            "gradients win",
            step->n_refused, step->iteration);
    r->n_refused += step->n_refused;
    if (r->n_steps == 0) {
        cli_progress_resume(&r->progress, step->iteration);
        r->first_step = r->mark;
        r->first_iteration = step->iteration;
    }
    tell_smaller_photos(r, step);
    r->n_steps += step->n_views;
    cli_progress_step(&r->progress, step);
}

static void on_evaluation(cli_report_state *r, const splat_event *event, int iteration)
{
    const splat_metrics *m = event->metrics;
    if (m->n_views == 0) return;
    r->training_peak_bytes = event->training_peak_bytes;
    r->evaluation_peak_bytes = event->evaluation_peak_bytes;
    char lpips[64] = "";
    if (m->lpips_net) snprintf(lpips, sizeof lpips, " LPIPS %.4f (%s)", m->lpips, m->lpips_net);
    char masked[80] = "", corrected[64] = "";
    if (m->n_masked) cli_masked_words(m, masked, sizeof masked);
    if (m->is_corrected)
        snprintf(corrected, sizeof corrected, "; colours corrected: PSNR %.2f SSIM %.4f", m->cc_psnr, m->cc_ssim);
    cli_say("[ITER %d] Evaluating %s: L1 %.4f PSNR %.2f (per channel %.2f) SSIM %.4f%s%s%s", iteration,
            event->set == SPLAT_VIEWS_TEST ? "test" : "train", m->l1, m->psnr, m->psnr_per_channel, m->ssim, lpips,
            masked, corrected);
    if (event->set != SPLAT_VIEWS_TEST) return;
    r->psnr = m->psnr;
    r->psnr_iteration = iteration;
}

/* What the viewer does with an event; a pause is no time of training. */
static void show_event(cli_report_state *r, const splat_event *event)
{
    const double begin = cli_seconds();
    if (!r->viewer) return;
    splat_viewer_event(r->viewer, event);
    const double seconds = cli_seconds() - begin;
    if (seconds < PAUSE_SECONDS) return;
    r->other_seconds += seconds;
    r->mark = cli_seconds();
    cli_progress_resume(&r->progress, r->last_step.iteration);
}

static void report_event(cli_report_state *r, const splat_event *event)
{
    int iteration = event->step ? event->step->iteration : r->last_step.iteration;
    switch (event->kind) {
    case SPLAT_EVENT_STEP: on_step(r, event->step); return;
    case SPLAT_EVENT_EVALUATION: on_evaluation(r, event, iteration); break;
    case SPLAT_EVENT_SAVED:
        snprintf(r->saved, sizeof r->saved, "%s", event->path);
        cli_say("[ITER %d] Saving Gaussians: %s", iteration, event->path);
        break;
    case SPLAT_EVENT_CHECKPOINT:
        snprintf(r->checkpoint, sizeof r->checkpoint, "%s", event->path);
        cli_say("[ITER %d] Saving checkpoint: %s", iteration, event->path);
        break;
    }
    cli_progress_resume(&r->progress, iteration);
    r->other_seconds += cli_seconds() - r->mark;
    r->mark = cli_seconds();
}

static void on_event(void *user, const splat_event *event)
{
    report_event(user, event);
    show_event(user, event);
}

/* The blocks' peak, in evaluations too, and what the driver holds beside them. */
static void print_memory(const cli_report_state *r)
{
    splat_memory_info memory;
    char peak[32], evaluating[48] = "", bytes[32], overhead[32], host[32];
    splat_context_get_memory(r->progress.context, &memory);
    if (r->evaluation_peak_bytes)
        snprintf(evaluating, sizeof evaluating, ", %s while evaluating", cli_bytes(r->evaluation_peak_bytes, bytes));
    cli_say("  memory       %s at most%s%s%s%s%s",
            cli_bytes(r->training_peak_bytes ? r->training_peak_bytes : memory.peak_bytes, peak), evaluating,
            memory.overhead_bytes ? ", and the driver's " : "",
            memory.overhead_bytes ? cli_bytes(memory.overhead_bytes, overhead) : "",
            memory.host_bytes ? "; pinned on the host " : "",
            memory.host_bytes ? cli_bytes(memory.host_bytes, host) : "");
}

static void print_ranks(const cli_training *j)
{
    splat_rank_info ranks[SPLAT_MAX_RANKS];
    splat_error error;
    size_t n;
    if (splat_trainer_get_ranks(j->trainer, ranks, SPLAT_MAX_RANKS, &n, &error) == SPLAT_OK) /* none was lost */
        cli_ranks_print(ranks, n);
}

static void print_summary(const cli_training *j)
{
    const cli_report_state *r = &j->report;
    char time_text[32], psnr_text[64] = "", opacity_text[48] = "", result[256];
    double seconds = cli_seconds() - r->started;
    double training = r->mark - r->started - r->other_seconds; /* the page of the run comes after the last mark */
    if (r->n_steps == 0) return;
    if (r->psnr_iteration)
        snprintf(psnr_text, sizeof psnr_text, ", test PSNR %.2f dB at %d", r->psnr, r->psnr_iteration);
    double opacity;
    if (splat_trainer_get_mean_opacity(j->trainer, &opacity, NULL) == SPLAT_OK)
        snprintf(opacity_text, sizeof opacity_text, " of mean opacity %.2f", opacity);
    snprintf(result, sizeof result, "Trained %d step%s in %s (%.2f it/s): %zu Gaussians%s%s", r->n_steps,
             cli_plural((size_t)r->n_steps), cli_duration(seconds, time_text),
             training > 0 ? r->n_steps / training : 0.0, r->last_step.n_gaussians, opacity_text, psnr_text);
    cli_say("%s", result);
    if (r->viewer) splat_viewer_finish(r->viewer, result);
    if (r->n_refused)
        cli_say("  refused      %zu Gaussian%s for want of memory", r->n_refused, cli_plural(r->n_refused));
    print_memory(r);
    print_ranks(j);
    if (j->run_options.report) cli_say("  report       %s/report.html", j->model_path);
    if (!r->saved[0]) return;
    cli_say("  splat        %s", r->saved);
    char fused[CLI_PATH_MAX + 32];
    size_t folder = strlen(r->saved);
    while (folder && r->saved[folder - 1] != '/') folder--;
    snprintf(fused, sizeof fused, "%.*spoint_cloud_fused.ply", (int)folder, r->saved);
    if (cli_path_exists(fused)) cli_say("  for viewers  %s", fused);
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
        cli_tell_unused(line, "depth_l1_weight_init", " without --depths");
        cli_tell_unused(line, "depth_l1_weight_final", " without --depths");
    }
    if (!line->scene->sfm_depth) cli_tell_unused(line, "sfm_depth_weight", " without --sfm_depth");
}

void cli_training_fill(cli_training *j, const splat_line *line)
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
    run->start_checkpoint = line->run->start_checkpoint;
    run->tensorboard = !line->run->tensorboard                             ? SPLAT_TENSORBOARD_NONE
                       : strcmp(line->run->tensorboard_tags, "upstream") == 0 ? SPLAT_TENSORBOARD_UPSTREAM
                                                                           : SPLAT_TENSORBOARD_DEFAULT;
    run->report = line->run->report;
    if (!line->run->tensorboard) cli_tell_unused(line, "tensorboard_tags", " with --tensorboard False");
    if (!line->run->profile_tensors) cli_tell_unused(line, "profile_interval", " without --profile_tensors");
    tell_depth_without_effect(line);
    run->profile_interval = line->run->profile_tensors ? line->run->profile_interval : 0;
    run->snapshot_iterations = j->snapshot.values;
    run->n_snapshot_iterations = j->snapshot.n;
    run->command = j->command = cli_command_text(line->command_line);
    run->event = on_event;
    run->event_user = &j->report;
}

void cli_training_describe(const cli_training *j)
{
    splat_scene_info info;
    splat_scene_get_info(j->scene, &info);
    cli_say("Output folder: %s", j->model_path);
    cli_say("Scene: %s, %zu train and %zu test view%s up to %dx%d, %zu points%s; %s", info.format, info.n_train,
            info.n_test, cli_plural(info.n_test), info.max_width, info.max_height, info.n_points,
            info.random_points ? " drawn at random" : "",
            splat_context_get_description(j->context));
}

/* Figures of the machine for the progress line and --monitor_csv. Returns an exit code. */
static int start_monitor(cli_training *j, const splat_line *line)
{
    splat_monitor_options options;
    splat_error error;
    splat_monitor_options_init(&options);
    options.gpu = splat_context_get_pci_bus_id(j->context);
    options.csv_path = line->run->monitor_csv;
    options.log = cli_log;
    if (splat_monitor_create(&options, &j->monitor, &error) == SPLAT_OK) return CLI_OK;
    if (line->run->monitor_csv) return cli_report(&error);
    cli_notice("training goes on without figures of the machine: %s", error.message);
    return CLI_OK;
}

static const char *stage_name(const cli_training *j)
{
    return j->train_options.binding ? "refine" : j->train_options.regularizer ? "coarse" : "train";
}

/* How to look at the result; a pipeline has results of its own. */
static void print_view(const cli_training *j, const splat_line *line)
{
    const bool has_splat = j->report.saved[0] || j->report.checkpoint[0];
    if (!has_splat || line->outcome || strcmp(stage_name(j), "train") != 0) return;
    char program[] = "splatsmith", view[] = "view", option[] = "-m", *path = strdup(j->model_path);
    char *text = path ? cli_command_text((char *[]){program, view, option, path, NULL}) : NULL;
    if (text) cli_say("  look at it   %s", text);
    free(text);
    free(path);
}

/* The signal that ended the run, of this process or of another rank; SIGINT where none did. */
static int signal_of_stop(const cli_training *j)
{
    int number = stop_signal;
    if (!number && j->train_options.ranks) splat_comm_get_interrupt(j->train_options.ranks, &number);
    return number ? number : SIGINT;
}

/* How to go on: a pipeline, which asks for the outcome, does so by itself. */
static void tell_stop(const cli_training *j, const splat_line *line)
{
    const char *checkpoint = j->report.checkpoint;
    const int rank = j->train_options.ranks ? splat_comm_get_interrupt(j->train_options.ranks, NULL) : 0;
    const char *start = line->outcome ? "; the same command" : "; --start_checkpoint ";
    char why[64] = "";
    if (!stop_signal && rank) snprintf(why, sizeof why, ", as rank %d was asked to end", rank);
    cli_notice("stopped at step %d of %d%s%s%s%s", splat_trainer_get_iteration(j->trainer),
               j->train_options.iterations, why, checkpoint[0] ? start : "",
               line->outcome ? "" : checkpoint, checkpoint[0] ? " goes on from there" : "");
}

static int train(cli_training *j, const splat_line *line)
{
    splat_error error = {0};
    cli_report_state *r = &j->report;
    splat_scene_info scene;
    splat_scene_get_info(j->scene, &scene);
    r->on_cpu = !splat_context_get_pci_bus_id(j->context)[0];
    r->resolution = j->scene_options.resolution;
    r->max_width = scene.max_width;
    r->max_height = scene.max_height;
    r->started = r->mark = cli_seconds();
    cli_progress_start(&r->progress, j->context, j->train_options.iterations);
    cli_progress_watch(&r->progress, j->monitor);
    install_signals(j);
    splat_status status = splat_trainer_run(j->trainer, &j->run_options, &error);
    remove_signals();
    cli_progress_end();
    if (status == SPLAT_OK || status == SPLAT_ERROR_STOPPED) {
        print_summary(j);
        print_view(j, line);
    }
    if (status == SPLAT_OK && r->n_steps == 0)
        cli_notice("nothing to train: the checkpoint is at step %d; give more --iterations",
                   splat_trainer_get_iteration(j->trainer));
    if (status == SPLAT_OK) return CLI_OK;
    if (status == SPLAT_ERROR_STOPPED) {
        tell_stop(j, line);
        return 128 + signal_of_stop(j);
    }
    int code = cli_report(&error);
    if (status == SPLAT_ERROR_RANK)
        cli_notice("%s%s%s", r->checkpoint[0] ? "the last checkpoint is " : "no checkpoint was written in this run",
                   r->checkpoint, r->checkpoint[0] ? "; --start_checkpoint latest goes on from it" : "");
    if (r->saved[0]) cli_notice("the last splat that was saved is %s", r->saved);
    return code;
}

/* What rank 0 orders, until it ends. */
static int serve(cli_training *j)
{
    splat_error error;
    install_signals(j);
    splat_status status = splat_trainer_serve(j->trainer, &error);
    remove_signals();
    return status == SPLAT_OK ? CLI_OK : cli_report(&error);
}

int cli_training_run(cli_training *j, const splat_line *line)
{
    if (cli_ranks_is_worker(line)) return serve(j);
    int code = cli_lpips_open_training(line, j->context, j->scene, &j->lpips);
    if (code == CLI_OK) code = start_monitor(j, line);
    j->run_options.monitor = j->monitor;
    j->run_options.lpips = j->lpips;
    if (code == CLI_OK)
        code = cli_viewer_begin(line, j->model_path, stage_name(j), j->trainer, &j->report.viewer);
    if (code != CLI_OK) return code;
    code = train(j, line);
    if (code == CLI_OK) cli_viewer_stay(line, j->report.viewer);
    cli_viewer_end(line, j->report.viewer);
    cli_note_memory(line->outcome, j->context);
    if (line->outcome && j->report.psnr_iteration) {
        line->outcome->psnr = j->report.psnr;
        line->outcome->psnr_iteration = j->report.psnr_iteration;
    }
    return code;
}

void cli_training_close(cli_training *j)
{
    splat_monitor_destroy(j->monitor);
    splat_trainer_destroy(j->trainer);
    splat_workers_join(j->workers);
    splat_lpips_destroy(j->lpips);
    splat_scene_close(j->scene);
    splat_context_destroy(j->context);
    free(j->command);
}

int cli_training_of_session(const splat_line *line,
                            int (*prepare)(cli_training *training, cli_session *session, const splat_line *line),
                            void (*finish)(const cli_training *training))
{
    cli_session session;
    cli_training *t = calloc(1, sizeof *t);
    if (!t) {
        cli_error("memory is exhausted");
        return CLI_FAILED;
    }
    memset(&session, 0, sizeof session);
    cli_training_fill(t, line);
    int code = prepare(t, &session, line);
    t->context = session.context; /* from here on the training's, as is the scene */
    t->scene = session.scene;
    session.context = NULL;
    session.scene = NULL;
    if (code == CLI_OK) cli_training_describe(t);
    if (code == CLI_OK) code = cli_training_run(t, line);
    if (code == CLI_OK && finish) finish(t);
    if (!t->trainer) cli_ranks_fail(line->train->ranks, code); /* with one, the others know */
    cli_training_close(t);
    cli_session_close(&session);
    free(t);
    return code;
}
