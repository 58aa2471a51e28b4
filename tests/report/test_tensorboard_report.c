/* The tags of a run, in both sets, read back; and run folders with descriptions for interop/check_tensorboard.py. */
#include "backend/cpu.h"
#include "base/file.h"
#include "check.h"
#include "io/picture/colormap.h"
#include "io/picture/image.h"
#include "io/picture/image_read.h"
#include "ops/ops.h"
#include "report/tensorboard/tensorboard_report.h"
#include "surface/coarse/coarse.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "event_reader.h"

enum { WIDTH = 24, HEIGHT = 16, PIXELS = WIDTH * HEIGHT, N_GAUSSIANS = 2500, N_ITERATIONS = 2000 };

/* A population with opacities 0.05 (a fifth), 0.5, and 0.95 (a fifth), and scales 0.01 to 1. */
typedef struct population {
    splat_gaussians g;
    float means[3 * N_GAUSSIANS], scales[3 * N_GAUSSIANS], rotations[4 * N_GAUSSIANS], opacities[N_GAUSSIANS];
    float sh_dc[3 * N_GAUSSIANS];
} population;

static void make_population(population *p)
{
    for (int i = 0; i < N_GAUSSIANS; i++) {
        double opacity = i % 5 == 0 ? 0.05 : i % 5 == 1 ? 0.95 : 0.5;
        p->opacities[i] = (float)log(opacity / (1 - opacity));
        for (int k = 0; k < 3; k++) {
            p->means[3 * i + k] = (float)(i % (50 + k)) - 20;
            p->sh_dc[3 * i + k] = i % 2 ? 1 : 3;
            p->scales[3 * i + k] = (float)log(k == 0 ? 0.01 : k == 1 ? 0.1 : 1);
        }
        for (int k = 0; k < 4; k++) p->rotations[4 * i + k] = (float)(1 + (i + k) % 3);
    }
    p->g = (splat_gaussians){.n = N_GAUSSIANS, .p = {.means = p->means, .scales = p->scales, .rotations = p->rotations,
                                                     .opacities = p->opacities, .sh_dc = p->sh_dc}};
}

static void evaluate(splat_tensorboard_report *report, int iteration)
{
    static float render[3 * PIXELS];
    static uint8_t photo[3 * PIXELS];
    static uint32_t blended[PIXELS];
    for (int i = 0; i < PIXELS; i++) blended[i] = (uint32_t)(i % 1024);
    for (int i = 0; i < 3 * PIXELS; i++) render[i] = (float)(i % 200) / 255.0f, photo[i] = (uint8_t)(i % 256);
    for (int set = 0; set < 2; set++) {
        for (size_t v = 0; v < 7; v++) {
            char name[32];
            snprintf(name, sizeof name, "IMG.v1_%04zu.JPG", v);
            splat_report_view view = {.name = name, .index_in_set = v, .is_test = set == 0, .width = WIDTH,
                                      .height = HEIGHT, .render = render, .photo = photo,
                                      .blended = v == 4 ? NULL : blended};
            splat_tensorboard_report_views(report, iteration, &view, 1);
        }
        splat_metrics metrics = {.l1 = 0.02, .psnr = 30, .psnr_per_channel = 31, .ssim = 0.9, .n_views = 7};
        splat_tensorboard_report_evaluation(report, iteration, set == 0, &metrics, set == 0 ? 0.25 : (double)NAN);
    }
}

/* A run of 2,000 steps, evaluated at 1,000 and 1,500. */
static event_file write_run(const char *folder, splat_tensorboard_tags tags)
{
    static splat_tensorboard_report report;
    static population p;
    splat_error error;
    splat_backend *backend;
    const splat_report_row rows[] = {{"photos", "12"}, {"a|b", "two\nlines"}};
    splat_report_config config = {
        .command = "splatsmith train -s scene", .dataset = {rows, 2}, .optimization = {rows, 1}};
    make_population(&p);
    ASSERT_OK(splat_backend_cpu_create(2, "auto", &backend, &error));
    ASSERT_OK(splat_folder_delete(folder, &error));
    ASSERT_OK(splat_folder_create(folder, &error));
    ASSERT_OK(splat_tensorboard_report_open(&report, folder, tags, 0, 2, &error));
    char *path = strdup(splat_tensorboard_path(report.writer));
    splat_tensorboard_report_begin(&report, &config);
    for (int i = 1; i <= N_ITERATIONS; i++) {
        splat_report_step step = {0.5, 0.75, i % 50 == 0 ? 102.5 : 2.5}; /* 4.5 on average */
        splat_tensorboard_report_step(&report, i, &step);
        if (i % 500 == 0) {
            splat_monitor_sample sample;
            memset(&sample, 0xff, sizeof sample); /* NaN: nothing is known */
            sample.gpu.pstate = 2;
            sample.gpu.throttle_power_cap = 0;
            splat_tensorboard_report_performance(&report, i, 3221225472.0, 4294967296.0, &sample);
            splat_tensorboard_report_density(&report, i, 300, 1200);
            splat_tensorboard_report_exposures(&report, i, 0.125, -1, 1.5);
        }
        bool evaluation = i == 1000 || i == 1500;
        ASSERT_OK(splat_tensorboard_report_model(&report, backend, &p.g, i, false, &error));
        if (!evaluation) continue;
        evaluate(&report, i);
        ASSERT_OK(splat_tensorboard_report_model(&report, backend, &p.g, i, true, &error)); /* nothing twice */
    }
    ASSERT_OK(splat_tensorboard_report_flush(&report, &error));
    ASSERT_OK(splat_tensorboard_report_close(&report, backend, &error));
    assert_int_equal(backend->memory.n_blocks, 0);
    splat_backend_destroy(backend);
    event_file file = event_file_read(path);
    assert_int_equal(file.whole_bytes, file.size);
    free(path);
    return file;
}

typedef struct expected_tag {
    event_kind kind;
    const char *tag;
    size_t n;
} expected_tag;

/* After the version and the beginning of a run exactly these tags, each with its kind and number of values. */
static void check_tags(const event_file *file, const expected_tag *expected, size_t n)
{
    size_t n_values = 0;
    assert_true(file->n > 3 && file->events[2].kind == EVENT_START && file->events[2].step == 0);
    for (size_t k = 0; k < n; k++) {
        size_t found = 0;
        for (size_t i = 0; i < file->n; i++) {
            if (strcmp(file->events[i].tag, expected[k].tag) != 0) continue;
            assert_int_equal(file->events[i].kind, expected[k].kind);
            found++;
        }
        if (found != expected[k].n) fail_msg("%s: %zu values, not %zu", expected[k].tag, found, expected[k].n);
        n_values += found;
    }
    for (size_t i = 3; i < file->n && n_values + 3 != file->n; i++) {
        size_t k = 0;
        while (k < n && strcmp(expected[k].tag, file->events[i].tag) != 0) k++;
        if (k == n) fail_msg("unexpected tag %s", file->events[i].tag);
    }
}

/* The tags that check_tensorboard.py must find. */
static void describe(const char *path, const expected_tag *expected, size_t n)
{
    static const struct {
        event_kind kind;
        const char *name;
    } kinds[] = {{EVENT_SCALAR, "scalars"}, {EVENT_HISTOGRAM, "histograms"}, {EVENT_IMAGE, "images"},
                 {EVENT_TEXT, "texts"}};
    FILE *stream = fopen(path, "w");
    assert_non_null(stream);
    for (size_t kind = 0; kind < 4; kind++) {
        const char *separator = "";
        fprintf(stream, "%s\"%s\": {", kind ? "},\n" : "{\n", kinds[kind].name);
        for (size_t i = 0; i < n; i++) {
            if (expected[i].kind != kinds[kind].kind) continue;
            fprintf(stream, "%s\n  \"%s\": %zu", separator, expected[i].tag, expected[i].n);
            separator = ",";
        }
    }
    fputs("}\n}\n", stream);
    assert_int_equal(fclose(stream), 0);
}

static float scalar(const event_file *file, const char *tag, int64_t step)
{
    const event *e = event_find(file, tag, step);
    if (!e) fail_msg("no %s at step %" PRId64, tag, step);
    return e->scalar;
}

static void near(double value, double expected)
{
    if (!(fabs(value - expected) <= 1e-5 * fabs(expected))) fail_msg("%.9g, not %.9g", value, expected); /* floats */
}

#define PICTURES(view)                                                                                                 \
    {EVENT_IMAGE, "test_view_IMG.v1_" view "/render", 2}, {EVENT_IMAGE, "test_view_IMG.v1_" view "/ground_truth", 1},  \
    {EVENT_IMAGE, "train_view_IMG.v1_" view "/render", 2}, {EVENT_IMAGE, "train_view_IMG.v1_" view "/ground_truth", 1}
#define ALL_PICTURES(view, n_heatmaps)                                                                                 \
    PICTURES(view), {EVENT_IMAGE, "test_view_IMG.v1_" view "/error_map", 2},                                        \
    {EVENT_IMAGE, "train_view_IMG.v1_" view "/error_map", 2},                                                          \
    {EVENT_IMAGE, "test_view_IMG.v1_" view "/gaussian_density_heatmap", n_heatmaps},                                   \
    {EVENT_IMAGE, "train_view_IMG.v1_" view "/gaussian_density_heatmap", n_heatmaps}

static void the_default_tags(void **state)
{
    (void)state;
    static const expected_tag expected[] = {
        {EVENT_TEXT, "Config/00_Training_Command/text_summary", 1},
        {EVENT_TEXT, "Config/01_Dataset/text_summary", 1},
        {EVENT_TEXT, "Config/02_Optimization/text_summary", 1},
        {EVENT_SCALAR, "1_train/l1_loss", 40},
        {EVENT_SCALAR, "1_train/total_loss", 40},
        {EVENT_SCALAR, "1_train/iter_time", 40},
        {EVENT_SCALAR, "1_train/total_points", 2},
        {EVENT_SCALAR, "1_train/loss_viewpoint_l1", 2},
        {EVENT_SCALAR, "1_train/loss_viewpoint_psnr", 2},
        {EVENT_SCALAR, "1_train/loss_viewpoint_ssim", 2},
        {EVENT_SCALAR, "2_test/loss_viewpoint_l1", 2},
        {EVENT_SCALAR, "2_test/loss_viewpoint_psnr", 2},
        {EVENT_SCALAR, "2_test/loss_viewpoint_ssim", 2},
        {EVENT_SCALAR, "2_test/loss_viewpoint_lpips", 2},
        {EVENT_SCALAR, "3_gaussians/total_count_K", 20},
        {EVENT_SCALAR, "3_gaussians/opacity_mean", 20},
        {EVENT_SCALAR, "3_gaussians/opacity_max", 20},
        {EVENT_SCALAR, "3_gaussians/opacity_min", 20},
        {EVENT_SCALAR, "3_gaussians/low_opacity_count_K", 20},
        {EVENT_SCALAR, "3_gaussians/high_opacity_count_K", 20},
        {EVENT_SCALAR, "3_gaussians/low_opacity_percent", 20},
        {EVENT_SCALAR, "3_gaussians/scale_mean", 20},
        {EVENT_SCALAR, "3_gaussians/scale_max", 20},
        {EVENT_SCALAR, "3_gaussians/scale_min", 20},
        {EVENT_SCALAR, "gaussians/added_K", 4},
        {EVENT_SCALAR, "gaussians/removed_K", 4},
        {EVENT_SCALAR, "gaussians/net_change_K", 4},
        {EVENT_SCALAR, "exposure/mean_stops", 4},
        {EVENT_SCALAR, "exposure/min_stops", 4},
        {EVENT_SCALAR, "exposure/max_stops", 4},
        {EVENT_SCALAR, "4_performance/vram_allocated_GB", 4},
        {EVENT_SCALAR, "4_performance/vram_reserved_GB", 4},
        {EVENT_SCALAR, "4_performance/pstate", 4},
        {EVENT_SCALAR, "4_performance/throttle_power_cap", 4},
        {EVENT_HISTOGRAM, "scene/opacity_histogram", 3},
        {EVENT_HISTOGRAM, "scene/scale_histogram", 3},
        {EVENT_HISTOGRAM, "scene/rotation_magnitude_histogram", 3},
        {EVENT_HISTOGRAM, "scene/xyz_magnitude_histogram", 3},
        ALL_PICTURES("0000", 2), ALL_PICTURES("0001", 2), ALL_PICTURES("0002", 2), ALL_PICTURES("0003", 2),
        ALL_PICTURES("0004", 0),
    };
    const size_t n_expected = sizeof expected / sizeof expected[0] - 2; /* the view without a heat map is the last */
    event_file file = write_run("default", SPLAT_TENSORBOARD_TAGS_DEFAULT);
    check_tags(&file, expected, n_expected);
    describe("default.json", expected, n_expected);

    near(scalar(&file, "1_train/l1_loss", 50), 0.5);
    near(scalar(&file, "1_train/total_loss", 2000), 0.75);
    near(scalar(&file, "1_train/iter_time", 100), 4.5);
    near(scalar(&file, "exposure/mean_stops", 500), 0.125);
    near(scalar(&file, "exposure/min_stops", 500), -1);
    near(scalar(&file, "exposure/max_stops", 500), 1.5);
    near(scalar(&file, "1_train/total_points", 1500), N_GAUSSIANS);
    near(scalar(&file, "2_test/loss_viewpoint_psnr", 1000), 30);
    near(scalar(&file, "2_test/loss_viewpoint_lpips", 1000), 0.25);
    near(scalar(&file, "3_gaussians/total_count_K", 100), 2.5);
    near(scalar(&file, "3_gaussians/opacity_mean", 100), 0.5);
    near(scalar(&file, "3_gaussians/opacity_max", 100), 0.95);
    near(scalar(&file, "3_gaussians/opacity_min", 100), 0.05);
    near(scalar(&file, "3_gaussians/low_opacity_count_K", 100), 0.5);
    near(scalar(&file, "3_gaussians/high_opacity_count_K", 100), 0.5);
    near(scalar(&file, "3_gaussians/low_opacity_percent", 100), 20);
    near(scalar(&file, "3_gaussians/scale_mean", 100), 0.37);
    near(scalar(&file, "3_gaussians/scale_max", 100), 1);
    near(scalar(&file, "3_gaussians/scale_min", 100), 0.01);
    near(scalar(&file, "gaussians/added_K", 500), 0.3);
    near(scalar(&file, "gaussians/removed_K", 500), 1.2);
    near(scalar(&file, "gaussians/net_change_K", 500), -0.9);
    near(scalar(&file, "4_performance/vram_allocated_GB", 500), 3);
    near(scalar(&file, "4_performance/throttle_power_cap", 500), 0);

    const event *e = event_find(&file, "Config/01_Dataset/text_summary", 0);
    const char *table = "| setting | value |\n|---|---|\n| photos | 12 |\n| a\\|b | two lines |\n";
    assert_int_equal(e->bytes.n, strlen(table));
    assert_memory_equal(e->bytes.data, table, e->bytes.n);
    e = event_find(&file, "Config/00_Training_Command/text_summary", 0);
    assert_memory_equal(e->bytes.data, "    splatsmith train -s scene", e->bytes.n);

    e = event_find(&file, "scene/opacity_histogram", 1000); /* 2,500 values in three buckets */
    assert_true(e->num == N_GAUSSIANS && fabs(e->min - 0.05) < 1e-6 && fabs(e->max - 0.95) < 1e-6);
    size_t n_filled = 0;
    for (size_t i = 0; i < e->buckets.n / 8; i++) {
        double count = reader_double(e->buckets.data + 8 * i);
        assert_true(count == 0 || count == N_GAUSSIANS / 5 || count == 3 * N_GAUSSIANS / 5);
        if (count == 0) continue;
        double low = reader_double(e->limits.data + 8 * (i - 1)), high = reader_double(e->limits.data + 8 * i);
        double value = count == 3 * N_GAUSSIANS / 5 ? 0.5 : n_filled == 0 ? 0.05 : 0.95;
        assert_true(low < value && value < high);
        n_filled++;
    }
    assert_int_equal(n_filled, 3);
    assert_non_null(event_find(&file, "scene/xyz_magnitude_histogram", 2000));
    event_file_free(&file);
}

static void the_upstream_tags(void **state)
{
    (void)state;
    static const expected_tag expected[] = {
        {EVENT_SCALAR, "train_loss_patches/l1_loss", N_ITERATIONS},
        {EVENT_SCALAR, "train_loss_patches/total_loss", N_ITERATIONS},
        {EVENT_SCALAR, "iter_time", N_ITERATIONS},
        {EVENT_SCALAR, "total_points", 2},
        {EVENT_SCALAR, "test/loss_viewpoint - l1_loss", 2},
        {EVENT_SCALAR, "test/loss_viewpoint - psnr", 2},
        {EVENT_SCALAR, "train/loss_viewpoint - l1_loss", 2},
        {EVENT_SCALAR, "train/loss_viewpoint - psnr", 2},
        {EVENT_HISTOGRAM, "scene/opacity_histogram", 2},
        PICTURES("0000"), PICTURES("0001"), PICTURES("0002"), PICTURES("0003"), PICTURES("0004"),
    };
    event_file file = write_run("upstream", SPLAT_TENSORBOARD_TAGS_UPSTREAM);
    check_tags(&file, expected, sizeof expected / sizeof expected[0]);
    describe("upstream.json", expected, sizeof expected / sizeof expected[0]);
    near(scalar(&file, "test/loss_viewpoint - psnr", 1000), 31); /* by channel, as published */
    near(scalar(&file, "train_loss_patches/total_loss", 1), 0.75);
    near(scalar(&file, "total_points", 1000), N_GAUSSIANS);
    event_file_free(&file);
}

/* Coarse training has SuGaR's tags in addition to the others, except for the losses, which only the default tags
 * have. */
static void write_coarse(splat_tensorboard_report *report, splat_tensorboard_tags tags, const char *folder)
{
    static population p;
    splat_error error;
    splat_backend *backend;
    splat_report_config config = {.command = "splatsmith coarse", .more = &splat_coarse_report, .last_iteration = 7300};
    splat_monitor_sample sample;
    static const splat_loss losses[] = {
        {"entropy", "opacity entropy", "Loss/component_entropy_regularization", (double)NAN, 0.1, false},
        {"estimation", "surface estimate", "Loss/component_sdf_estimation", 0.5, 0.5, false},
        {"samples", "points that counted", NULL, 10, 0, true},
        {"sampled_gaussians", "Gaussians sampled", "Stats/n_gaussians_sdf_sampling", 7, 0, true}};
    const size_t n_losses = sizeof losses / sizeof losses[0];
    memset(&sample, 0xff, sizeof sample); /* NaN: nothing is known */
    sample.gpu.memory_used_bytes = 1e9;
    sample.gpu.memory_total_bytes = 4e9;
    sample.ram_percent = 61;
    sample.cpu_percent = 11;
    make_population(&p);
    ASSERT_OK(splat_backend_cpu_create(2, "auto", &backend, &error));
    ASSERT_OK(splat_folder_delete(folder, &error));
    ASSERT_OK(splat_folder_create(folder, &error));
    ASSERT_OK(splat_tensorboard_report_open(report, folder, tags, 7000, 1, &error));
    splat_tensorboard_report_begin(report, &config);
    for (int i = 7001; i <= 7100; i++) {
        splat_report_step step = {0.1, 0.2, i % 2 ? 40 : 20};
        splat_tensorboard_report_step(report, i, &step);
        if (i % 50 == 0) {
            splat_tensorboard_report_losses(report, i, 0.25, losses, n_losses);
            splat_tensorboard_report_performance(report, i, 3221225472.0, 4294967296.0, &sample);
        }
        ASSERT_OK(splat_tensorboard_report_model(report, backend, &p.g, i, false, &error));
    }
    splat_tensorboard_report_losses(report, 7150, (double)NAN, losses, n_losses); /* a GPU's last step */
    splat_metrics metrics = {.l1 = 0.02, .psnr = 30, .ssim = 0.9, .n_views = 7, .render_ms = 2.5};
    splat_tensorboard_report_evaluation(report, 7100, true, &metrics, 0.25);
    splat_tensorboard_report_evaluation(report, 7100, false, &metrics, 0.25);
    ASSERT_OK(splat_tensorboard_report_model(report, backend, &p.g, 7100, true, &error));
    char *path = strdup(splat_tensorboard_path(report->writer));
    ASSERT_OK(splat_tensorboard_report_close(report, backend, &error));
    assert_int_equal(backend->memory.n_blocks, 0);
    splat_backend_destroy(backend);
    assert_int_equal(rename(path, "coarse_events"), 0);
    free(path);
}

static size_t count_below(const event_file *file, const char *group)
{
    size_t n = 0;
    for (size_t i = 0; i < file->n; i++) n += strncmp(file->events[i].tag, group, strlen(group)) == 0;
    return n;
}

static void the_tags_of_coarse_training(void **state)
{
    (void)state;
    static splat_tensorboard_report report;
    static const struct {
        const char *tag;
        double value;
    } expected[] = {
        {"Loss/total", 0.5}, {"Loss/component_rendering", 0.25}, {"Loss/component_sdf_estimation", 0.25},
        {"Stats/n_gaussians_sdf_sampling", 7},
        {"Time/minutes_per_iter", 0.03 / 60}, {"Performance/iterations_per_sec", 1000.0 / 30},
        {"Performance/eta_minutes", 200 * 0.03 / 60}, /* 7100 of 7300 */
        {"VRAM/allocated_GB", 3}, {"VRAM/reserved_GB", 4}, {"VRAM/percent", 25},
        {"System/RAM_percent", 61}, {"System/CPU_percent", 11},
        {"Stats/n_active_gaussians", N_GAUSSIANS}, {"Stats/opacities_mean", 0.5},
        {"Stats/opacities_std", 0.284661726}, /* 0.45 sqrt(0.4 n / (n - 1)) */
        {"Stats/scales_mean", 0.37}, {"Stats/sh_dc_mean", 2}, {"Stats/sh_dc_std", 1.00006667},
        {"Test/loss", 0.02}, {"Test/PSNR", 30}, {"Test/ssim", 0.9}, {"Test/lpips", 0.25}, {"Test/render_time_ms", 2.5},
        {"Test/num_gaussians_K", 2.5},
    };
    write_coarse(&report, SPLAT_TENSORBOARD_TAGS_DEFAULT, "coarse");
    event_file file = event_file_read("coarse_events");
    assert_null(event_find(&file, "Loss/total", 7150));
    assert_int_equal(count_below(&file, "Loss/component_entropy"), 0); /* which was not part of any step */
    assert_non_null(event_find(&file, "Loss/component_sdf_estimation", 7150));
    for (size_t i = 0; i < sizeof expected / sizeof expected[0]; i++)
        near(scalar(&file, expected[i].tag, 7100), expected[i].value);
    assert_int_equal(count_below(&file, "Time/"), 2); /* 7050 and 7100 */
    assert_int_equal(count_below(&file, "Test/"), 6);
    assert_int_equal(count_below(&file, "Histograms/scales"), 1);
    assert_int_equal(count_below(&file, "Histograms/opacities"), 1);
    assert_int_equal(count_below(&file, "Stats/sh_rest"), 0); /* degree 0 */
    scalar(&file, "Stats/points_std", 7100);
    scalar(&file, "Stats/quaternions_mean", 7100);
    scalar(&file, "Stats/quaternions_std", 7100);
    assert_non_null(event_find(&file, "Training_Guide/text_summary", 7001));
    assert_true(count_below(&file, "3_gaussians/") > 0 && count_below(&file, "2_test/") > 0);
    event_file_free(&file);

    write_coarse(&report, SPLAT_TENSORBOARD_TAGS_UPSTREAM, "coarse_upstream");
    file = event_file_read("coarse_events");
    near(scalar(&file, "Loss/total", 7100), 0.5);
    assert_int_equal(count_below(&file, "Time/") + count_below(&file, "Test/") + count_below(&file, "VRAM/") +
                         count_below(&file, "Training_Guide"), 0);
    event_file_free(&file);
}

/* Its settings appear at the resumed step, in addition to those of the run before. */
static void a_resumed_run(void **state)
{
    (void)state;
    static splat_tensorboard_report report;
    splat_error error;
    splat_report_config config = {.command = "splatsmith train"};
    ASSERT_OK(splat_folder_delete("resumed_report", &error));
    ASSERT_OK(splat_folder_create("resumed_report", &error));
    ASSERT_OK(splat_tensorboard_report_open(&report, "resumed_report", SPLAT_TENSORBOARD_TAGS_DEFAULT, 7000, 1,
                                            &error));
    char *path = strdup(splat_tensorboard_path(report.writer));
    splat_tensorboard_report_begin(&report, &config);
    ASSERT_OK(splat_tensorboard_report_close(&report, NULL, &error));
    event_file file = event_file_read(path);
    assert_int_equal(file.n, 4);
    assert_true(file.events[2].kind == EVENT_START && file.events[2].step == 7001);
    assert_true(file.events[3].kind == EVENT_TEXT && file.events[3].step == 7001);
    event_file_free(&file);
    free(path);
}

/* A run that another program wrote until 60 and that goes on from 40: interop/check_tensorboard.py finds one curve. */
static void a_folder_with_two_files(void **state)
{
    (void)state;
    static splat_tensorboard_report report;
    static const expected_tag expected[] = {{EVENT_SCALAR, "train_loss_patches/l1_loss", 40},
                                            {EVENT_SCALAR, "train_loss_patches/total_loss", 40},
                                            {EVENT_SCALAR, "iter_time", 80}};
    splat_error error;
    splat_tensorboard *other;
    ASSERT_OK(splat_folder_delete("resumed", &error));
    ASSERT_OK(splat_folder_create("resumed", &error));
    ASSERT_OK(splat_tensorboard_open("resumed", 10, SPLAT_TENSORBOARD_BESIDE, &other, &error));
    for (int i = 1; i <= 60; i++) splat_tensorboard_add_scalar(other, "iter_time", i, 1);
    ASSERT_OK(splat_tensorboard_close(other, &error));
    ASSERT_OK(splat_tensorboard_report_open(&report, "resumed", SPLAT_TENSORBOARD_TAGS_UPSTREAM, 40, 1, &error));
    for (int i = 41; i <= 80; i++) {
        splat_report_step step = {0.5, 0.75, 4.5};
        splat_tensorboard_report_step(&report, i, &step);
    }
    ASSERT_OK(splat_tensorboard_report_close(&report, NULL, &error));
    describe("resumed.json", expected, sizeof expected / sizeof expected[0]);
}

static void pictures_show_what_they_say(void **state)
{
    (void)state;
    splat_error error;
    splat_image image;
    event_file file = write_run("pictures", SPLAT_TENSORBOARD_TAGS_DEFAULT);
    const event *e = event_find(&file, "test_view_IMG.v1_0000/render", 1000);
    ASSERT_OK(splat_image_decode("render", e->bytes.data, e->bytes.n, &image, &error));
    for (int i = 0; i < PIXELS; i++)
        for (int c = 0; c < 3; c++) assert_int_equal(image.pixels[3 * i + c], (c * PIXELS + i) % 200);
    splat_image_free(&image);

    e = event_find(&file, "train_view_IMG.v1_0001/ground_truth", 1000);
    ASSERT_OK(splat_image_decode("photo", e->bytes.data, e->bytes.n, &image, &error));
    for (int i = 0; i < 3 * PIXELS; i++) assert_int_equal(image.pixels[i], i % 256);
    splat_image_free(&image);
    assert_null(event_find(&file, "train_view_IMG.v1_0001/ground_truth", 1500));

    e = event_find(&file, "test_view_IMG.v1_0000/gaussian_density_heatmap", 1500);
    ASSERT_OK(splat_image_decode("heat", e->bytes.data, e->bytes.n, &image, &error));
    uint8_t rgb[3];
    splat_colormap_color(SPLAT_COLORMAP_VIRIDIS, 0.5f, rgb); /* 31: log2(32) / 10 */
    assert_memory_equal(image.pixels + 3 * 31, rgb, 3);
    splat_colormap_color(SPLAT_COLORMAP_VIRIDIS, 0, rgb);
    assert_memory_equal(image.pixels, rgb, 3);
    splat_image_free(&image);

    e = event_find(&file, "test_view_IMG.v1_0000/error_map", 1500);
    ASSERT_OK(splat_image_decode("error", e->bytes.data, e->bytes.n, &image, &error));
    int differences = abs(5 - 15) + abs((PIXELS + 5) % 200 - 16) + abs((2 * PIXELS + 5) % 200 - 17); /* pixel 5 */
    splat_colormap_color(SPLAT_COLORMAP_MAGMA, (float)differences / (3 * 255 * SPLAT_ERROR_MAP_FULL), rgb);
    for (int c = 0; c < 3; c++) assert_true(abs(image.pixels[15 + c] - rgb[c]) <= 1);
    splat_image_free(&image);
    event_file_free(&file);
}

/* Lightness (CIE L*) rises along both maps, evenly but for the straight lines between the points. */
static void the_colour_maps_are_perceptual(void **state)
{
    (void)state;
    for (int map = 0; map < 2; map++) {
        double before = -1, first = 0, last = 0;
        for (int i = 0; i <= 256; i++) {
            uint8_t rgb[3];
            double y = 0;
            const double weights[3] = {0.2126, 0.7152, 0.0722};
            splat_colormap_color((splat_colormap)map, (float)i / 256.0f, rgb);
            for (int c = 0; c < 3; c++) {
                double v = rgb[c] / 255.0;
                y += weights[c] * (v <= 0.04045 ? v / 12.92 : pow((v + 0.055) / 1.055, 2.4));
            }
            double lightness = y > 0.008856 ? 116 * cbrt(y) - 16 : 903.3 * y;
            assert_true(lightness > before - 0.3); /* bytes round */
            assert_true(i == 0 || lightness - before < 1.5);
            if (i == 0) first = lightness;
            before = last = lightness;
        }
        assert_true(last - first > 70);
        uint8_t rgb[3], end[3];
        splat_colormap_color((splat_colormap)map, NAN, rgb);
        splat_colormap_color((splat_colormap)map, -1, end);
        assert_memory_equal(rgb, end, 3);
        splat_colormap_color((splat_colormap)map, INFINITY, rgb);
        splat_colormap_color((splat_colormap)map, 1, end);
        assert_memory_equal(rgb, end, 3);
    }
}

/* A report that was never opened writes nothing and asks the backend for nothing. */
static void a_closed_report_does_nothing(void **state)
{
    (void)state;
    static splat_tensorboard_report report;
    splat_error error;
    splat_report_step step = {0};
    splat_report_config config = {.command = "x"};
    splat_metrics metrics = {.n_views = 1};
    splat_report_view view = {.name = "a"};
    splat_tensorboard_report_begin(&report, &config);
    splat_tensorboard_report_step(&report, 50, &step);
    splat_tensorboard_report_performance(&report, 50, 1, 1, NULL);
    splat_tensorboard_report_density(&report, 50, 1, 1);
    splat_tensorboard_report_evaluation(&report, 50, true, &metrics, 0);
    splat_tensorboard_report_views(&report, 50, &view, 1);
    ASSERT_OK(splat_tensorboard_report_model(&report, NULL, NULL, 1000, true, &error));
    ASSERT_OK(splat_tensorboard_report_flush(&report, &error));
    ASSERT_OK(splat_tensorboard_report_close(&report, NULL, &error));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_default_tags),
        cmocka_unit_test(the_upstream_tags),
        cmocka_unit_test(the_tags_of_coarse_training),
        cmocka_unit_test(a_resumed_run),
        cmocka_unit_test(a_folder_with_two_files),
        cmocka_unit_test(pictures_show_what_they_say),
        cmocka_unit_test(the_colour_maps_are_perceptual),
        cmocka_unit_test(a_closed_report_does_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
