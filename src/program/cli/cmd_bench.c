/* splatsmith bench run: the training loop, photos or views, measured. */
#include "cli.h"
#include "bench_compare.h"
#include "progress.h"
#include "ranks.h"
#include "session.h"
#include "stage/memory.h"
#include "stage/ranks.h"
#include "bench/json.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* State of one run. */
typedef struct bench {
    splat_line *line;        /* as given, with what the model folder says */
    splat_session session;   /* training: without a model */
    splat_trainer *trainer;
    splat_workers *workers; /* with several GPUs: the other ranks */
    splat_bench_result result;
    splat_bench_rows rows;
} bench;

/* ---------------------------------------------------------------- printing */

#define N_SHOWN_BLOCKS 8

/* The largest named blocks; a visitor for splat_context_visit_memory_blocks, which calls back once a block, largest
 * first. */
static void print_block(void *user, const char *owner, const char *name, size_t bytes)
{
    int *n_shown = user;
    char size[32];
    if ((*n_shown)++ < N_SHOWN_BLOCKS) cli_say("%-24s %10s  %s", name, splat_bytes(bytes, size), owner);
}

static void print_memory(const char *phase, const splat_bench_memory *memory)
{
    char allocated[32], reserved[32], peak[32], overhead[32], process[32];
    bool has_driver = memory->overhead_bytes > 0, is_counted = isfinite(memory->process_bytes);
    if (memory->peak_bytes == 0) return;
    cli_say("memory, %s: %s allocated, %s reserved, %s at most%s%s%s%s", phase,
            splat_bytes(memory->allocated_bytes, allocated), splat_bytes(memory->named_bytes, reserved),
            splat_bytes(memory->peak_bytes, peak), has_driver ? "; outside of them the driver's " : "",
            has_driver ? splat_bytes(memory->overhead_bytes, overhead) : "",
            is_counted ? "; the driver counts at most " : "",
            is_counted ? splat_bytes((size_t)memory->process_bytes, process) : "");
}

static void print_gpu(const splat_bench_gpu *gpu)
{
    if (!gpu->present) return;
    cli_say("%s: SM clock %.0f MHz (%.0f to %.0f), at most %.0f C, %.0f W", gpu->name, gpu->clock_sm_mean_mhz,
            gpu->clock_sm_min_mhz, gpu->clock_sm_max_mhz, gpu->temperature_max_c, gpu->power_mean_w);
    if (gpu->throttled_hw > 0 || gpu->throttled_power > 0 || gpu->throttled_thermal > 0)
        cli_warning("the GPU's clocks were held down: by the power limit %.0f %%, by heat %.0f %%, by the hardware "
                    "%.0f %% of the time", 100 * gpu->throttled_power, 100 * gpu->throttled_thermal,
                    100 * gpu->throttled_hw);
}

static void print_quality(const splat_metrics *m, int iteration)
{
    char lpips[64] = ", LPIPS not measured";
    if (m->n_views == 0) {
        cli_notice("no quality was measured: without --eval there are no test views");
        return;
    }
    if (m->lpips_net) snprintf(lpips, sizeof lpips, ", LPIPS %.4f (%s)", m->lpips, m->lpips_net);
    cli_say("%zu test view%s after iteration %d: PSNR %.3f, SSIM %.4f, L1 %.5f%s", m->n_views, splat_plural(m->n_views),
            iteration, m->psnr, m->ssim, m->l1, lpips);
}

static void print_stages(const splat_bench_result *r)
{
    double sum = 0;
    if (!r->n_stages) return;
    cli_say("%-24s %9s %9s %7s", "stage", "ms", "limit ms", "ratio");
    for (size_t i = 0; i < r->n_stages; i++) {
        const splat_bench_stage *stage = &r->stages[i];
        sum += stage->ms;
        if (stage->limit_ms > 0)
            cli_say("%-24s %9.4f %9.4f %7.1f", stage->name, stage->ms, stage->limit_ms, stage->ms / stage->limit_ms);
        else
            cli_say("%-24s %9.4f", stage->name, stage->ms);
    }
    cli_say("%-24s %9.4f", "sum", sum);
}

static void print_result(const bench *b)
{
    const splat_bench_result *r = &b->result;
    char time[32], host[32];
    int n_shown = 0;
    cli_say("%.1f it/s: %.3f ms a step (median %.3f, min %.3f, max %.3f, p95 %.3f, p99 %.3f, deviation %.3f); 30,000 "
            "steps in %s",
            r->iterations_per_second, r->step.mean, r->step.median, r->step.min, r->step.max, r->step.p95, r->step.p99,
            r->step.standard_deviation, splat_duration(r->seconds_to_30k, time));
    if (r->step.n_batches)
        cli_say("the mean lies between %.3f and %.3f ms with 95 %% confidence (%d batches)", r->step.mean_low,
                r->step.mean_high, r->step.n_batches);
    if (r->n_ranks)
        cli_say("%.2f views a step: %.1f views/s", r->views_a_step, r->views_a_step * r->iterations_per_second);
    cli_say("iterations %d to %d: training loss %.5f; %zu Gaussians of mean opacity %.3f, %.0f visible, %.0f instances",
            r->first_iteration, r->first_iteration + (int)r->step.n - 1, r->loss, r->n_gaussians_last, r->mean_opacity,
            r->n_visible, r->n_instances);
    splat_ranks_say(cli_talk(), r->ranks, r->n_ranks);
    print_memory("training", &r->training);
    print_memory("evaluating", &r->evaluation);
    if (isfinite(r->host_peak_bytes))
        cli_say("memory of the host: %s at most", splat_bytes((size_t)r->host_peak_bytes, host));
    splat_context_visit_memory_blocks(b->session.context, print_block, &n_shown);
    print_gpu(&r->gpu);
    for (size_t i = 0; i < r->n_evaluations; i++)
        print_quality(&r->evaluations[i].quality, r->evaluations[i].iteration);
    print_quality(&r->quality, r->first_iteration + (int)r->step.n - 1);
    cli_say("copy bandwidth %.0f GB/s (read + written)", r->copy_gb_per_s);
    print_stages(r);
}

static void print_rows(const splat_bench_rows *rows)
{
    char mb[32];
    cli_say("%-36s %12s %10s %10s %10s %10s %8s", "", "a second", "MB/s", "ms", "p95", "p99", "at once");
    for (size_t i = 0; i < rows->n_rows; i++) {
        const splat_bench_row *row = &rows->rows[i];
        snprintf(mb, sizeof mb, "%.1f", row->mb_per_s);
        cli_say("%-36s %12.*f %10s %10.4f %10.4f %10.4f %8zu", row->name, row->per_second < 1000 ? 1 : 0,
                row->per_second, row->mb_per_s > 0 ? mb : "-", row->ms.mean, row->ms.p95, row->ms.p99, row->n_together);
    }
}

/* ---------------------------------------------------------------- what was asked for */

/* The trainer's state before the warm-up. */
static int load_state(bench *b)
{
    const splat_line *line = b->line;
    const int from = line->bench->from_iteration;
    splat_error error;
    char ply[CLI_PATH_MAX];
    int found = from < 0 ? 0 : from;
    if (line->run->start_checkpoint) {
        if (splat_trainer_load_checkpoint(b->trainer, line->run->start_checkpoint, &error) != SPLAT_OK)
            return cli_report(&error);
    } else if (line->model->ply || line->model->model_path) {
        if (line->model->ply)
            snprintf(ply, sizeof ply, "%s", line->model->ply);
        else if (splat_model_find_iteration(line->model->model_path, from, ply, sizeof ply,
                                            &found, &error) != SPLAT_OK)
            return cli_report(&error);
        if (splat_scene_check_splat(b->session.scene, ply, &error) != SPLAT_OK ||
            splat_trainer_load_model(b->trainer, ply, found, &error) != SPLAT_OK)
            return cli_report(&error);
        return CLI_OK;
    }
    if (from >= 0 && splat_trainer_get_iteration(b->trainer) > from) {
        cli_error("%s is at iteration %d, beyond --from_iteration %d", line->run->start_checkpoint,
                  splat_trainer_get_iteration(b->trainer), from);
        return CLI_USAGE;
    }
    while (splat_trainer_get_iteration(b->trainer) < from)
        if (splat_trainer_step(b->trainer, NULL, &error) != SPLAT_OK) return cli_report(&error);
    return CLI_OK;
}

/* Applies the options that the model was trained with, except those on the command line. */
static void apply_model(bench *b)
{
    splat_train_options options = *b->line->train;
    if (!b->session.config.scene.source_path) return;
    options.sh_degree = b->session.config.sh_degree;
    options.kernel_size = b->session.config.kernel_size;
    splat_line_put_given(b->line, b->line->train, sizeof options, &options);
    *b->line->train = options;
}

/* A name that fits into tables, and that a terminal takes for no command. */
static bool is_label(const char *text)
{
    size_t n = 0;
    while ((unsigned char)text[n] >= 0x20 && text[n] != 0x7F) n++;
    return !text[n] && n >= 1 && n <= 64;
}

static int check_words(const splat_line *line)
{
    bool training = strcmp(line->bench->mode, "training") == 0, render = strcmp(line->bench->mode, "render") == 0;
    if (!line->scene->source_path && !line->model->model_path)
        cli_error("give the scene's folder with -s, or a model folder with -m");
    else if (line->run->start_checkpoint && (line->model->ply || !training))
        cli_error("--start_checkpoint is for --mode training, and excludes --ply");
    else if (!line->bench->width != !line->bench->height)
        cli_error("--width and --height are given together");
    else if (line->bench->width && !render)
        cli_error("--width and --height are for --mode render; the size of the photos is --resolution");
    else if (!training && (splat_line_given(line, "stages") || line->plan->n_gaussians))
        cli_error("--stages and --gaussians are for --mode training");
    else if (!training && splat_line_given(line, "test_iterations"))
        cli_error("--test_iterations is for --mode training");
    else if (!training && line->machine->gpus)
        cli_error("--gpus is for --mode training");
    else if (line->bench->max_slowdown || line->bench->quality_tolerance)
        cli_error("--max_slowdown and --quality_tolerance are for bench compare and bench report");
    else if (line->bench->label && !is_label(line->bench->label))
        cli_error("--label takes a name of at most 64 printable characters");
    else
        return CLI_OK;
    return CLI_USAGE;
}

/* ---------------------------------------------------------------- the modes */

static int open_scene(bench *b)
{
    b->line->scene->seed = b->line->train->seed;
    int code = cli_context_create(b->line, &b->session.context);
    return code == CLI_OK ? cli_session_open_scene(&b->session, b->line, false) : code;
}

static int run_training(bench *b, const splat_bench_note *note)
{
    splat_error error;
    splat_train_options train;
    int code = cli_end(splat_ranks_count_gpus(b->line, &error), &error);
    if (code == CLI_OK) code = open_scene(b);
    if (code != CLI_OK) return code;
    apply_model(b);
    splat_stage_asked_steps(b->line, b->session.scene, &train);
    train.begins_later = b->line->run->start_checkpoint || b->line->model->ply || b->line->model->model_path;
    code = cli_end(splat_stage_plan(b->line, b->session.context, b->session.scene, 0, 0, &train, &error), &error);
    if (code == CLI_OK)
        code = cli_end(splat_ranks_start_gpus(b->line, b->session.scene, &train, &b->workers, &error), &error);
    if (code != CLI_OK) return code;
    if (splat_trainer_create(b->session.context, b->session.scene, &train, &b->trainer, &error) != SPLAT_OK)
        return cli_report(&error);
    code = load_state(b);
    if (code == CLI_OK)
        code = cli_lpips_open_training(b->line, b->session.context, b->session.scene, &b->session.lpips);
    if (code != CLI_OK) return code;
    b->line->bench->options.lpips = b->session.lpips;
    if (splat_line_given(b->line, "test_iterations")) {
        b->line->bench->options.test_iterations = b->line->run->test_iterations.values;
        b->line->bench->options.n_test_iterations = b->line->run->test_iterations.n;
    }
    if ((b->line->plan->n_gaussians &&
         splat_trainer_grow_to(b->trainer, b->line->plan->n_gaussians, &error) != SPLAT_OK) ||
        splat_trainer_bench(b->trainer, &b->line->bench->options, &b->result, &error) != SPLAT_OK)
        return cli_report(&error);
    print_result(b);
    if (!b->line->output->path) return CLI_OK;
    if (splat_bench_write(b->trainer, &b->result, note, b->line->output->path, &error) != SPLAT_OK)
        return cli_report(&error);
    cli_say("results in %s", b->line->output->path);
    return CLI_OK;
}

static int write_rows(bench *b, const splat_bench_note *note)
{
    splat_error error;
    print_rows(&b->rows);
    if (!b->line->output->path) return CLI_OK;
    if (splat_bench_write_rows(b->session.context, b->session.scene, &b->rows, note, b->line->output->path, &error) !=
        SPLAT_OK)
        return cli_report(&error);
    cli_say("results in %s", b->line->output->path);
    return CLI_OK;
}

static int run_data(bench *b, const splat_bench_note *note)
{
    splat_error error;
    int code = open_scene(b);
    if (code != CLI_OK) return code;
    int n = b->line->bench->options.iterations;
    if (splat_bench_data(b->session.context, b->session.scene, n, &b->rows, &error) != SPLAT_OK)
        return cli_report(&error);
    return write_rows(b, note);
}

static int run_render(bench *b, const splat_bench_note *note)
{
    splat_error error;
    if (b->line->bench->from_iteration >= 0) b->line->model->iteration = b->line->bench->from_iteration;
    int code = cli_session_open(&b->session, b->line, false);
    if (code != CLI_OK) return code;
    if (splat_bench_render(b->session.scene, b->session.model, b->line->bench->width, b->line->bench->height,
                           b->line->bench->options.warmup, b->line->bench->options.iterations, &b->rows,
                           &error) != SPLAT_OK)
        return cli_report(&error);
    cli_say("%zu Gaussians, %d x %d", b->rows.n_gaussians, b->rows.width, b->rows.height);
    return write_rows(b, note);
}

static int run(splat_line *line)
{
    int code = check_words(line);
    splat_error error;
    if (code != CLI_OK) return code;
    if (line->output->path && splat_bench_check_output(line->output->path, &error) != SPLAT_OK)
        return cli_report(&error);
    bench *b = calloc(1, sizeof *b);
    if (!b || !line->command_text) {
        cli_error("no memory for a benchmark");
        code = CLI_FAILED;
    } else {
        b->line = line;
        const splat_bench_note note = {line->command_text, line->bench->label, line->bench->notes};
        code = strcmp(line->bench->mode, "data") == 0     ? run_data(b, &note)
               : strcmp(line->bench->mode, "render") == 0 ? run_render(b, &note)
                                                           : run_training(b, &note);
        splat_bench_result_free(&b->result);
        splat_trainer_destroy(b->trainer);
        splat_workers_join(b->workers);
        splat_session_close(&b->session);
    }
    free(b);
    return code;
}

int cmd_bench(splat_line *line)
{
    const char *what = line->operand ? line->operand : "run";
    if (strcmp(what, "compare") == 0) return cmd_bench_compare(line);
    if (strcmp(what, "report") == 0) return cmd_bench_report(line);
    if (strcmp(what, "run") != 0)
        cli_error("bench does not know '%s': give run, compare or report", what);
    else if (line->n_words)
        cli_error("bench run cannot use the word '%s'; the scene is given with -s", line->words[0]);
    else
        return run(line);
    return CLI_USAGE;
}
