/* The tags of training, and when each is written. A regularizer adds its own. */
#include "report/tensorboard/tensorboard_report.h"

#include "io/picture/image_write.h"
#include "report/monitor/monitor_csv.h"

#include "base/file.h"
#include "io/picture/colormap.h"
#include "train/ranks/report.h"
#include "train/ranks/shards.h"
#include "train/state.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>


static bool is_default(const splat_tensorboard_report *report)
{
    return report->writer && report->tags == SPLAT_TENSORBOARD_TAGS_DEFAULT;
}

static void add(splat_tensorboard_report *report, int iteration, const char *tag, double value)
{
    splat_tensorboard_add_scalar(report->writer, tag, iteration, value);
}

splat_status splat_tensorboard_report_open(splat_tensorboard_report *report, const char *folder,
                                           splat_tensorboard_tags tags, int iteration, int threads,
                                           splat_error *error)
{
    memset(report, 0, sizeof *report);
    report->tags = tags;
    report->first_step = iteration > 0 ? iteration + 1 : 0;
    report->threads = threads;
    splat_tensorboard_edges(report->edges);
    return splat_tensorboard_open(folder, SPLAT_TENSORBOARD_FLUSH_SECONDS, report->first_step, &report->writer, error);
}

splat_status splat_tensorboard_report_flush(splat_tensorboard_report *report, splat_error *error)
{
    return splat_tensorboard_flush(report->writer, error);
}

splat_status splat_tensorboard_report_close(splat_tensorboard_report *report, splat_backend *backend,
                                            splat_error *error)
{
    splat_status status = splat_tensorboard_close(report->writer, error);
    splat_block_free(backend, &report->scratch);
    report->writer = NULL;
    return status;
}

/* ---------------------------------------------------------------- settings */

/* A Markdown cell: a bar or a line's end would end it. */
static void put_cell(FILE *stream, const char *text)
{
    for (; *text; text++) {
        if (*text == '|' || *text == '\\') fputc('\\', stream);
        fputc(*text == '\n' || *text == '\r' ? ' ' : *text, stream);
    }
}

static void add_table(splat_tensorboard_report *report, const char *tag, const splat_report_table *table)
{
    char *text = NULL;
    size_t size;
    FILE *stream = table->n ? open_memstream(&text, &size) : NULL;
    if (!stream) return;
    fputs("| setting | value |\n|---|---|\n", stream);
    for (size_t i = 0; i < table->n; i++) {
        fputs("| ", stream);
        put_cell(stream, table->rows[i].name);
        fputs(" | ", stream);
        put_cell(stream, table->rows[i].value);
        fputs(" |\n", stream);
    }
    bool whole = !ferror(stream);
    whole = fclose(stream) == 0 && whole && text; /* without memory fclose succeeds and leaves no text */
    if (whole) splat_tensorboard_add_text(report->writer, tag, report->first_step, text);
    free(text);
}

void splat_tensorboard_report_begin(splat_tensorboard_report *report, const splat_report_config *config)
{
    if (!is_default(report)) return;
    char *command = config->command ? splat_format("    %s", config->command) : NULL; /* indented: shown as typed */
    if (command)
        splat_tensorboard_add_text(report->writer, "Config/00_Training_Command", report->first_step, command);
    free(command);
    add_table(report, "Config/01_Dataset", &config->dataset);
    add_table(report, "Config/02_Optimization", &config->optimization);
    add_table(report, "Config/03_Performance", &config->performance);
    report->more = config->more;
    report->last_iteration = config->last_iteration;
    if (report->more && report->more->begin) report->more->begin(report->writer, report->first_step);
}

/* ---------------------------------------------------------------- steps */

void splat_tensorboard_report_step(splat_tensorboard_report *report, int iteration, const splat_report_step *step)
{
    bool with_group = is_default(report);
    splat_running_mean_add(&report->step_ms, step->ms);
    splat_running_mean_add(&report->more_ms, step->ms);
    if (with_group && iteration % SPLAT_TENSORBOARD_STEP_INTERVAL != 0) return;
    add(report, iteration, with_group ? "1_train/l1_loss" : "train_loss_patches/l1_loss", step->l1);
    add(report, iteration, with_group ? "1_train/total_loss" : "train_loss_patches/total_loss", step->total);
    add(report, iteration, with_group ? "1_train/iter_time" : "iter_time",
        splat_running_mean_take(&report->step_ms));
}

void splat_tensorboard_report_losses(splat_tensorboard_report *report, int iteration, double rendering,
                                     const splat_loss *losses, size_t n)
{
    double total = rendering;
    if (!report->writer) return;
    if (isfinite(rendering)) add(report, iteration, "Loss/component_rendering", rendering);
    for (size_t i = 0; i < n; i++) {
        const splat_loss *loss = &losses[i];
        double value = loss->is_figure ? loss->value : loss->factor * loss->value;
        if (isnan(loss->value)) continue;
        if (loss->tag) add(report, iteration, loss->tag, value);
        if (!loss->is_figure) total += value;
    }
    if (isfinite(rendering)) add(report, iteration, "Loss/total", total);
}

typedef struct tag_visit {
    splat_tensorboard_report *report;
    int iteration;
} tag_visit;

static void add_tag(void *user, const char *tag, double value)
{
    const tag_visit *visit = user;
    add(visit->report, visit->iteration, tag, value);
}

void splat_tensorboard_report_performance(splat_tensorboard_report *report, int iteration, double allocated_bytes,
                                          double reserved_bytes, const splat_monitor_sample *sample)
{
    tag_visit visit = {report, iteration};
    if (!is_default(report)) return;
    add(report, iteration, "4_performance/vram_allocated_GB", allocated_bytes / SPLAT_GIB);
    add(report, iteration, "4_performance/vram_reserved_GB", reserved_bytes / SPLAT_GIB);
    if (sample) splat_monitor_visit_tags(sample, add_tag, &visit);
    if (report->more && report->more->machine)
        report->more->machine(report->writer, iteration, report->last_iteration - iteration,
                              splat_running_mean_take(&report->more_ms), allocated_bytes, reserved_bytes, sample);
}

void splat_tensorboard_report_density(splat_tensorboard_report *report, int iteration, size_t n_added, size_t n_removed)
{
    if (!is_default(report)) return;
    add(report, iteration, "gaussians/added_K", (double)n_added / 1000);
    add(report, iteration, "gaussians/removed_K", (double)n_removed / 1000);
    add(report, iteration, "gaussians/net_change_K", ((double)n_added - (double)n_removed) / 1000);
}

void splat_tensorboard_report_exposures(splat_tensorboard_report *report, int iteration, double mean, double min,
                                        double max)
{
    if (!is_default(report)) return;
    add(report, iteration, "exposure/mean_stops", mean);
    add(report, iteration, "exposure/min_stops", min);
    add(report, iteration, "exposure/max_stops", max);
}

/* ---------------------------------------------------------------- the model */

static void add_counts(splat_tensorboard_report *report, int iteration, const char *tag, const splat_summary *summary,
                       int what)
{
    const splat_summary_moments *m = &summary->moments[what];
    splat_tensorboard_histogram histogram = {
        .min = m->min, .max = m->max, .sum = m->sum, .sum_squares = m->sum_squares,
        .edges = report->edges + SPLAT_TENSORBOARD_EDGES - SPLAT_TENSORBOARD_UNSIGNED_EDGES,
        .counts = report->counts[what], .n_buckets = SPLAT_TENSORBOARD_UNSIGNED_EDGES - 1};
    splat_tensorboard_add_buckets(report->writer, tag, iteration, &histogram);
}

static void add_statistics(splat_tensorboard_report *report, int iteration, const splat_summary *s)
{
    double n = s->n_gaussians;
    add(report, iteration, "3_gaussians/total_count_K", n / 1000);
    add(report, iteration, "3_gaussians/opacity_mean", s->opacity.mean);
    add(report, iteration, "3_gaussians/opacity_max", (double)s->opacity.max);
    add(report, iteration, "3_gaussians/opacity_min", (double)s->opacity.min);
    add(report, iteration, "3_gaussians/low_opacity_count_K", s->n_low_opacity / 1000.0);
    add(report, iteration, "3_gaussians/high_opacity_count_K", s->n_high_opacity / 1000.0);
    add(report, iteration, "3_gaussians/low_opacity_percent", n > 0 ? 100.0 * s->n_low_opacity / n : 0);
    add(report, iteration, "3_gaussians/scale_mean", s->scale.mean);
    add(report, iteration, "3_gaussians/scale_max", (double)s->scale.max);
    add(report, iteration, "3_gaussians/scale_min", (double)s->scale.min);
}

splat_status splat_tensorboard_report_model(splat_tensorboard_report *report, splat_backend *backend,
                                            const splat_gaussians *gaussians, int iteration, bool evaluation,
                                            splat_error *error)
{
    const splat_regularizer_report *more = report->more;
    bool all = is_default(report);
    bool histograms = evaluation || (all && iteration % SPLAT_TENSORBOARD_HISTOGRAM_INTERVAL == 0);
    bool statistics = all && (histograms || iteration % SPLAT_TENSORBOARD_MODEL_INTERVAL == 0);
    if (!report->writer) return SPLAT_OK;
    splat_tensorboard_poll(report->writer);
    const uint32_t n = report->trainer ? splat_shards_count(report->trainer) : gaussians->n;
    if (evaluation) add(report, iteration, all ? "1_train/total_points" : "total_points", n);
    if (evaluation && more && more->count_tag) add(report, iteration, more->count_tag, n / 1000.0);
    histograms = histograms && report->histograms_at != iteration; /* a step that is evaluated comes twice */
    statistics = statistics && report->statistics_at != iteration;
    if (!histograms && !statistics) return SPLAT_OK;
    splat_summary summary;
    struct splat_summary_args args = {
        .gaussians = gaussians,
        .edges = report->edges + SPLAT_TENSORBOARD_EDGES - SPLAT_TENSORBOARD_UNSIGNED_EDGES,
        .n_edges = SPLAT_TENSORBOARD_UNSIGNED_EDGES, .max_samples = SPLAT_TENSORBOARD_SAMPLES,
        .spreads = more != NULL, .scratch = &report->scratch, .result = &summary, .counts = report->counts[0]};
    SPLAT_TRY(report->trainer ? splat_shards_summarize(report->trainer, &args, error)
                              : splat_op_summary(backend, &args, error));
    if (statistics) {
        add_statistics(report, iteration, &summary);
        report->statistics_at = iteration;
        if (more && more->model) more->model(report->writer, iteration, &summary);
    }
    if (histograms) {
        report->histograms_at = iteration;
        add_counts(report, iteration, "scene/opacity_histogram", &summary, SPLAT_SUMMARY_OPACITY);
    }
    if (all && histograms) {
        add_counts(report, iteration, "scene/scale_histogram", &summary, SPLAT_SUMMARY_SCALE);
        add_counts(report, iteration, "scene/rotation_magnitude_histogram", &summary, SPLAT_SUMMARY_ROTATION);
        add_counts(report, iteration, "scene/xyz_magnitude_histogram", &summary, SPLAT_SUMMARY_POSITION);
    }
    if (more && histograms) {
        if (more->opacities_tag) add_counts(report, iteration, more->opacities_tag, &summary, SPLAT_SUMMARY_OPACITY);
        if (more->scales_tag) add_counts(report, iteration, more->scales_tag, &summary, SPLAT_SUMMARY_SCALE);
    }
    return SPLAT_OK;
}

/* ---------------------------------------------------------------- evaluation */

static void add_metric(splat_tensorboard_report *report, int iteration, const char *group, const char *name,
                       double value)
{
    char tag[64];
    snprintf(tag, sizeof tag, "%s/loss_viewpoint%s", group, name);
    if (!isnan(value)) add(report, iteration, tag, value);
}

void splat_tensorboard_report_evaluation(splat_tensorboard_report *report, int iteration, bool is_test,
                                         const splat_metrics *metrics, double lpips)
{
    if (metrics->n_views == 0) return;
    if (!is_default(report)) { /* PSNR as the published trainer defines it */
        const char *group = is_test ? "test" : "train";
        add_metric(report, iteration, group, " - l1_loss", metrics->l1);
        add_metric(report, iteration, group, " - psnr", metrics->psnr_per_channel);
        return;
    }
    const char *group = is_test ? "2_test" : "1_train";
    add_metric(report, iteration, group, "_l1", metrics->l1);
    add_metric(report, iteration, group, "_psnr", metrics->psnr);
    add_metric(report, iteration, group, "_ssim", metrics->ssim);
    add_metric(report, iteration, group, "_lpips", lpips);
    if (report->more && report->more->test && is_test) report->more->test(report->writer, iteration, metrics, lpips);
}

/* The photo's name without its extension; nothing shorter than a name is left. */
static size_t stem_length(const char *name)
{
    const char *dot = strrchr(name, '.'), *base = splat_basename(name);
    return dot && dot > base ? (size_t)(dot - name) : strlen(name);
}

static void paint_render(const void *user, uint8_t *rgb)
{
    const splat_report_view *view = user;
    splat_image_from_planar(view->render, view->width, view->height, rgb);
}

static void paint_error_map(const void *user, uint8_t *rgb)
{
    const splat_report_view *view = user;
    splat_error_map(view->width, view->height, view->render, view->photo, rgb);
}

static void paint_heatmap(const void *user, uint8_t *rgb)
{
    const splat_report_view *view = user;
    splat_density_heatmap(view->width, view->height, view->blended, rgb);
}

#define MOST_PICTURES (4 * SPLAT_TENSORBOARD_VIEWS)

typedef struct picture_list {
    splat_tensorboard_image images[MOST_PICTURES];
    char *tags[MOST_PICTURES];
    size_t n;
} picture_list;

static void list_add(picture_list *list, const splat_report_view *view, const char *what, const uint8_t *rgb,
                     void (*paint)(const void *user, uint8_t *rgb))
{
    size_t stem = stem_length(view->name);
    const char *crop = strchr(view->name + stem, '#'); /* of crops the number, which follows the extension */
    char *tag = splat_format("%s_view_%.*s%s/%s", view->is_test ? "test" : "train", (int)stem, view->name,
                             crop ? crop : "", what);
    if (!tag) return; /* a picture is not worth an error */
    list->tags[list->n] = tag;
    list->images[list->n++] = (splat_tensorboard_image){tag, view->width, view->height, rgb, paint, view};
}

static void list_view(picture_list *list, const splat_tensorboard_report *report, int iteration,
                      const splat_report_view *view)
{
    if (view->index_in_set >= SPLAT_TENSORBOARD_VIEWS || list->n + 4 > MOST_PICTURES) return;
    list_add(list, view, "render", NULL, paint_render);
    if (report->first_evaluation == iteration) list_add(list, view, "ground_truth", view->photo, NULL);
    if (is_default(report)) list_add(list, view, "error_map", NULL, paint_error_map);
    if (is_default(report) && view->blended) list_add(list, view, "gaussian_density_heatmap", NULL, paint_heatmap);
}

void splat_tensorboard_report_views(splat_tensorboard_report *report, int iteration, const splat_report_view *views,
                                    size_t n)
{
    picture_list list = {.n = 0};
    if (!report->writer) return;
    if (report->first_evaluation == 0) report->first_evaluation = iteration;
    for (size_t i = 0; i < n; i++) list_view(&list, report, iteration, &views[i]);
    splat_tensorboard_add_images(report->writer, iteration, list.images, list.n, report->threads);
    for (size_t i = 0; i < list.n; i++) free(list.tags[i]);
}
