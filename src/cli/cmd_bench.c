/* splatsmith bench: the training loop, measured. */
#include "cli.h"
#include "progress.h"

#include <stdlib.h>
#include <string.h>

typedef struct bench {
    splat_context *context;
    splat_scene *scene;
    splat_trainer *trainer;
    splat_scene_info info;
    splat_bench_result result;
} bench;

/* A stage beside the least time that its bytes take on this device. */
typedef struct stage_row {
    const char *name;
    double ms, limit_ms;
} stage_row;

#define N_STAGES 7

/* Bytes that must move once, with SH degree d, over the measured copy bandwidth; docs/performance.md has the table. */
static void stage_rows(const bench *b, const splat_train_options *options, stage_row rows[N_STAGES])
{
    const splat_bench_result *r = &b->result;
    const splat_stage_times *t = &r->stages;
    double steps = t->steps ? t->steps : 1;
    double n = (double)r->n_gaussians_last, visible = r->n_visible, pairs = r->n_instances;
    double pixels = (double)b->info.max_width * b->info.max_height;
    double rest = 3.0 * ((options->sh_degree + 1) * (options->sh_degree + 1) - 1), parameters = 14 + rest;
    double per_ms = r->copy_gb_per_s * 1e6; /* bytes */
    const stage_row all[N_STAGES] = {
        {"photo", t->data / steps, 0},
        {"project", t->project / steps, (n * 4 * 12 + visible * 4 * (3 + rest + 14)) / per_ms},
        {"bin", t->bin / steps, (visible * 4 * 8 * 2 + pairs * 6 * 4) / per_ms},
        {"raster", t->raster / steps, (pairs * 40 + pixels * 20) / per_ms},
        {"loss", t->loss / steps, pixels * (12 + 3 + 12 + 2 * 36) / per_ms},
        {"raster backward", t->raster_backward / steps, (pairs * 40 + pixels * 20 + visible * 80) / per_ms},
        {"project backward + Adam", t->project_backward / steps, (n * parameters * 4 * 6 + visible * 60) / per_ms},
    };
    memcpy(rows, all, sizeof all);
}

#define N_SHOWN_BLOCKS 8

/* The largest named blocks; a visitor for splat_context_memory_blocks, which calls back once a block, largest first. */
static void print_block(void *user, const char *owner, const char *name, size_t bytes)
{
    int *n_shown = user;
    if ((*n_shown)++ < N_SHOWN_BLOCKS) cli_say("%-24s %9.1f MB  %s", name, 1e-6 * (double)bytes, owner);
}

static void print_result(const bench *b, const stage_row *rows)
{
    const splat_bench_result *r = &b->result;
    cli_say("%.1f it/s: %.3f ms a step (median %.3f, p95 %.3f); %zu Gaussians, %.0f visible, %.0f instances; "
            "peak %.0f MB", r->iterations_per_second, r->ms_mean, r->ms_median, r->ms_p95, r->n_gaussians_last,
            r->n_visible, r->n_instances, 1e-6 * (double)r->peak_bytes);
    cli_say("copy bandwidth %.0f GB/s (read + written)", r->copy_gb_per_s);
    int n_shown = 0;
    splat_context_memory_blocks(b->context, print_block, &n_shown);
    if (!r->stages.steps) return;
    double sum = 0;
    cli_say("%-24s %9s %9s %7s", "stage", "ms", "limit ms", "ratio");
    for (int i = 0; i < N_STAGES; i++) {
        sum += rows[i].ms;
        if (rows[i].limit_ms > 0)
            cli_say("%-24s %9.4f %9.4f %7.1f", rows[i].name, rows[i].ms, rows[i].limit_ms,
                    rows[i].ms / rows[i].limit_ms);
        else
            cli_say("%-24s %9.4f", rows[i].name, rows[i].ms);
    }
    cli_say("%-24s %9.4f", "sum", sum);
}

/* ---------------------------------------------------------------- JSON */

static void write_text(FILE *out, const char *text)
{
    fputc('"', out);
    for (; *text; text++) {
        if (*text == '"' || *text == '\\') fputc('\\', out);
        if ((unsigned char)*text >= 0x20) fputc(*text, out);
    }
    fputc('"', out);
}

static void write_block(void *user, const char *owner, const char *name, size_t bytes)
{
    FILE *out = user;
    fprintf(out, ",\n  [\"%s\", \"%s\", %zu]", owner, name, bytes);
}

static void write_result(FILE *out, const bench *b, const cli_values *values, const stage_row *rows)
{
    const splat_bench_result *r = &b->result;
    fprintf(out, "{\n \"schema\": \"splatsmith-bench-1\",\n \"version\": \"%s\",\n \"device\": ", splat_version());
    write_text(out, splat_context_description(b->context));
    fprintf(out, ",\n \"scene\": ");
    write_text(out, values->scene.source_path);
    fprintf(out, ",\n \"train_views\": %zu, \"width\": %d, \"height\": %d,\n", b->info.n_train, b->info.max_width,
            b->info.max_height);
    fprintf(out, " \"warmup\": %d, \"iterations\": %d, \"sh_degree\": %d,\n", values->bench.warmup,
            values->bench.iterations, values->train.sh_degree);
    fprintf(out, " \"ms_mean\": %.6f, \"ms_median\": %.6f, \"ms_p95\": %.6f, \"it_per_s\": %.3f,\n", r->ms_mean,
            r->ms_median, r->ms_p95, r->iterations_per_second);
    fprintf(out, " \"gaussians_first\": %zu, \"gaussians_last\": %zu, \"visible\": %.1f, \"instances\": %.1f,\n",
            r->n_gaussians_first, r->n_gaussians_last, r->n_visible, r->n_instances);
    fprintf(out, " \"peak_bytes\": %zu, \"copy_gb_per_s\": %.1f,\n \"stages_ms\": {", r->peak_bytes, r->copy_gb_per_s);
    for (int i = 0; i < N_STAGES && r->stages.steps; i++)
        fprintf(out, "%s\n  \"%s\": {\"ms\": %.6f, \"limit_ms\": %.6f}", i ? "," : "", rows[i].name, rows[i].ms,
                rows[i].limit_ms);
    fprintf(out, "\n },\n \"blocks\": [[\"owner\", \"name\", \"bytes\"]");
    splat_context_memory_blocks(b->context, write_block, out);
    fprintf(out, "\n ]\n}\n");
}

/* Beside, then renamed: a failed write leaves nothing half-written. */
static int save_result(const bench *b, const cli_values *values, const stage_row *rows)
{
    char temporary[CLI_PATH_MAX];
    if (snprintf(temporary, sizeof temporary, "%s.tmp", values->output) >= CLI_PATH_MAX) {
        cli_error("the path %.200s... is too long", values->output);
        return CLI_USAGE;
    }
    FILE *out = fopen(temporary, "w");
    bool good = out != NULL;
    if (out) {
        write_result(out, b, values, rows);
        good = !ferror(out);
        if (fclose(out) != 0) good = false;
        if (good) good = rename(temporary, values->output) == 0;
        if (!good) remove(temporary);
    }
    if (good) return CLI_OK;
    cli_error("cannot write %s", values->output);
    return CLI_FAILED;
}

/* ---------------------------------------------------------------- the command */

static int open_bench(bench *b, const cli_values *values)
{
    splat_error error;
    splat_scene_options scene = values->scene;
    splat_train_options train;
    scene.seed = values->train.seed;
    int code = cli_context_create(values, &b->context);
    if (code != CLI_OK) return code;
    if (splat_scene_open(b->context, &scene, &b->scene, &error) != SPLAT_OK) return cli_report(&error);
    code = cli_train_options(values, b->context, b->scene, &train);
    if (code != CLI_OK) return code;
    if (splat_trainer_create(b->context, b->scene, &train, &b->trainer, &error) != SPLAT_OK ||
        (values->start_checkpoint &&
         splat_trainer_load_checkpoint(b->trainer, values->start_checkpoint, &error) != SPLAT_OK) ||
        (values->ply &&
         splat_trainer_load_model(b->trainer, values->ply, values->from_iteration, &error) != SPLAT_OK) ||
        (values->n_gaussians && splat_trainer_grow_to(b->trainer, values->n_gaussians, &error) != SPLAT_OK) ||
        splat_trainer_bench(b->trainer, &values->bench, &b->result, &error) != SPLAT_OK)
        return cli_report(&error);
    splat_scene_get_info(b->scene, &b->info);
    return CLI_OK;
}

int cmd_bench(const cli_values *values)
{
    bench b = {0};
    stage_row rows[N_STAGES];
    if (!values->scene.source_path) {
        cli_error("give the scene's folder with -s");
        return CLI_USAGE;
    }
    int code = open_bench(&b, values);
    if (code == CLI_OK) {
        stage_rows(&b, &values->train, rows);
        print_result(&b, rows);
        if (values->output) code = save_result(&b, values, rows);
    }
    splat_trainer_destroy(b.trainer);
    splat_scene_close(b.scene);
    splat_context_destroy(b.context);
    return code;
}
