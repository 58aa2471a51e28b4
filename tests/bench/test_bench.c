/* Benchmarks in the library: statistics, measuring, writing, reading, comparing, reporting. */
#include "bench_fixture.h"

#include "backend/backend.h"
#include "base/context.h"
#include "bench/compare.h"
#include "bench/json.h"
#include "bench/report.h"
#include "io/json.h"
#include "bench/times.h"
#include "report/environment.h"
#include "trainer_fixture.h"
#include "view_job_fixture.h"

#include <math.h>

static splat_context *context;

static void assert_near(double value, double wanted, double tolerance)
{
    if (!(fabs(value - wanted) <= tolerance)) fail_msg("%.17g, not %.17g", value, wanted);
}

static double number_at(const json_t *root, const char *group, const char *key)
{
    const json_t *value = json_object_get(json_object_get(root, group), key);
    if (!json_is_number(value)) fail_msg("%s.%s is no number", group, key);
    return json_number_value(value);
}

/* ---------------------------------------------------------------- statistics */

static void test_known_sample(void **state)
{
    double values[100];
    splat_bench_times t;
    splat_error error;
    (void)state;
    for (int i = 0; i < 100; i++) values[i] = (i * 37) % 100 + 1; /* 1 to 100 in another order */
    ASSERT_OK(splat_bench_times_compute(values, 100, &t, &error));
    assert_int_equal(t.n, 100);
    assert_near(t.mean, 50.5, 1e-12);
    assert_near(t.median, 50.5, 1e-12);
    assert_near(t.min, 1, 0);
    assert_near(t.max, 100, 0);
    assert_near(t.p95, 95.05, 1e-12); /* numpy.percentile's default, linear */
    assert_near(t.p99, 99.01, 1e-12);
    assert_near(t.standard_deviation, 29.011491975882016, 1e-12);
    assert_int_equal(t.n_batches, 10);
    assert_near((t.mean_low + t.mean_high) / 2, t.mean, 1e-12);
}

/* Four batches with the means 1, 2, 3, 4: error sqrt(5/3) / 2, and t(3) = 3.1824. */
static void test_batches_by_hand(void **state)
{
    const double values[8] = {0, 2, 1, 3, 2, 4, 3, 5};
    splat_bench_times t;
    splat_error error;
    (void)state;
    ASSERT_OK(splat_bench_times_compute(values, 8, &t, &error));
    assert_int_equal(t.n_batches, 4);
    assert_near(t.mean_error, 0.6454972243679028, 1e-12);
    assert_near(t.mean_high - t.mean, 3.1824 * 0.6454972243679028, 1e-9);
    ASSERT_OK(splat_bench_times_compute(values, 7, &t, &error)); /* too few */
    assert_int_equal(t.n_batches, 0);
    assert_true(isnan(t.mean_low) && isnan(t.mean_high) && isnan(t.mean_error));
    ASSERT_OK(splat_bench_times_compute(values, 1, &t, &error));
    assert_true(isnan(t.standard_deviation) && t.p99 == 0 && t.median == 0);
    assert_failure(splat_bench_times_compute(values, 0, &t, &error), SPLAT_ERROR_ARGUMENT, &error, "no times");
}

static void test_student(void **state)
{
    (void)state; /* tables have four decimals; the expansion is right to 3e-4 */
    const double known[][2] = {{1, 12.7062}, {3, 3.1824}, {9, 2.2622}, {10, 2.2281}, {19, 2.0930}, {38, 2.0244}};
    for (size_t i = 0; i < sizeof known / sizeof known[0]; i++)
        assert_near(splat_student_t(known[i][0]), known[i][1], 3e-4);
    assert_near(splat_student_t(3.9), 3.1824, 3e-4); /* rounded down */
}

/* Neighbouring values resemble each other: x[i] = 0.6 x[i-1] + noise, around 10. */
static void make_correlated(double *values, size_t n, uint32_t seed)
{
    float a, b;
    double x = 0;
    for (size_t i = 0; i < n; i++) {
        splat_random4 r = splat_random(seed, SPLAT_STREAM_TEST, 1, i);
        splat_normal2(r.x[0], r.x[1], &a, &b);
        x = i ? 0.6 * x + (double)a : (double)a / 0.8; /* stationary from the first */
        values[i] = 10 + x;
    }
}

static void test_interval_covers(void **state)
{
    enum { RUNS = 1000, N = 1000 };
    static double first[N], second[N];
    int covered = 0, naive = 0, different = 0;
    splat_error error;
    (void)state;
    for (uint32_t run = 0; run < RUNS; run++) {
        splat_bench_times t, u;
        double log_ratio, half;
        make_correlated(first, N, 2 * run);
        make_correlated(second, N, 2 * run + 1);
        ASSERT_OK(splat_bench_times_compute(first, N, &t, &error));
        ASSERT_OK(splat_bench_times_compute(second, N, &u, &error));
        assert_int_equal(t.n_batches, 20);
        covered += t.mean_low <= 10 && 10 <= t.mean_high;
        naive += fabs(t.mean - 10) < 1.96 * t.standard_deviation / sqrt(N);
        splat_bench_times_ratio(&t, &u, &log_ratio, &half);
        different += fabs(log_ratio) > half;
    }
    /* 95 %, less 1 % as batches of 50 are not quite independent; 0.7 % is the deviation of such a count */
    print_message("the interval covers the mean in %d of %d runs, s/sqrt(n) in %d; equal ones differ in %d\n", covered,
                  RUNS, naive, different);
    assert_in_range(covered, 915, 970);
    assert_in_range(different, 30, 85);
    assert_true(naive < 750); /* half as wide: what batches are for */
}

/* ---------------------------------------------------------------- measuring */

static splat_trainer *make_trainer(splat_scene *scene)
{
    const splat_train_options options = busy_options(1000);
    return new_trainer(context, scene, &options);
}

static void test_measure(void **state)
{
    splat_error error;
    splat_bench_result r;
    splat_metrics quality;
    splat_memory_info memory;
    (void)state;
    splat_scene *scene = open_scene(context);
    splat_trainer *trainer = make_trainer(scene);
    splat_bench_options options = {.size = sizeof options, .warmup = 3, .iterations = 20};
    must(splat_trainer_bench(trainer, &options, &r, &error), &error);
    assert_int_equal(r.first_iteration, 4);
    assert_int_equal(r.step.n, 20);
    assert_int_equal(splat_trainer_get_iteration(trainer), 23);
    double sum = 0;
    for (int i = 0; i < 20; i++) sum += r.step_ms[i];
    assert_near(1e-3 * sum, r.seconds, 1e-9);
    assert_near(r.seconds_to_30k, 30000 * r.seconds / 20, 1e-6);
    assert_int_equal(r.n_gaussians_first, 400);
    assert_true(r.n_gaussians_last != 400); /* density control ran: nothing was left out of the loop */
    assert_true(r.n_visible > 0 && r.n_instances >= r.n_visible);
    assert_true(r.training.peak_bytes >= r.training.named_bytes && r.training.allocated_bytes > 0);
    assert_true(r.training.named_bytes > r.training.allocated_bytes); /* whole pages */
    assert_true(r.evaluation.peak_bytes >= r.evaluation.named_bytes);
    assert_true(r.host_peak_bytes > 1e6 && r.host_bytes > 1e6 && r.host_bytes <= r.host_peak_bytes);
    assert_false(r.gpu.present);
    assert_int_equal(r.n_stages, 0);
    assert_true(r.copy_gb_per_s > 0);
    must(evaluate_set(splat_trainer_get_model(trainer), scene, SPLAT_VIEWS_TEST, true, &quality, &error), &error);
    assert_true(quality.render_ms > 0);
    quality.render_ms = r.quality.render_ms; /* a time */
    assert_memory_equal(&quality, &r.quality, sizeof quality);
    splat_context_get_memory(context, &memory); /* the copy's blocks are neither left nor counted */
    assert_true(memory.peak_bytes < 100e6);
    splat_bench_result_free(&r);
    options = (splat_bench_options){.size = sizeof options, .warmup = 0, .iterations = 5, .stages = true};
    must(splat_trainer_bench(trainer, &options, &r, &error), &error);
    assert_int_equal(splat_trainer_get_iteration(trainer), 33); /* five more for the stages */
    assert_int_equal(r.n_stages, SPLAT_BENCH_STAGES - 2); /* one rank sends nothing */
    assert_true(r.stages[3].ms > 0 && r.stages[3].limit_ms > 0);
    splat_bench_result_free(&r);
    options.iterations = 0;
    assert_failure(splat_trainer_bench(trainer, &options, &r, &error), SPLAT_ERROR_ARGUMENT, &error, "at least one");
    splat_bench_result_free(&r);
    splat_trainer_destroy(trainer);
    splat_scene_close(scene);
}

/* With a stand-in for the driver, as if the context were that of its GPU: what is seen while measuring. */
static void test_measure_gpu(void **state)
{
    splat_error error;
    splat_bench_result r;
    splat_environment environment;
    char text[64];
    json_t *root;
    (void)state;
    if (!getenv("SPLATSMITH_FAKE_NVML")) fail_msg("SPLATSMITH_FAKE_NVML is not set: run this test with ctest");
    setenv("SPLATSMITH_NVML", getenv("SPLATSMITH_FAKE_NVML"), 1);
    setenv("FAKE_NVML_STATE", "state.txt", 1);
    snprintf(text, sizeof text, "process %d 123456789\n", (int)getpid());
    fixture_text("state.txt", text);
    splat_scene *scene = open_scene(context);
    splat_trainer *trainer = make_trainer(scene);
    strcpy(context->backend->pci_bus_id, "0000:3b:00.0");
    splat_bench_options options = {.size = sizeof options, .warmup = 1, .iterations = 4};
    must(splat_trainer_bench(trainer, &options, &r, &error), &error);
    assert_true(r.gpu.present && r.gpu.n_samples > 0);
    assert_string_equal(r.gpu.name, "Fake GPU 1");
    assert_near(r.gpu.clock_sm_min_mhz, 1965, 0);
    assert_near(r.gpu.clock_sm_mean_mhz, 1965, 1e-9);
    assert_near(r.gpu.clock_sm_max_mhz, 1965, 0);
    assert_near(r.gpu.clock_memory_mean_mhz, 3201, 1e-9);
    assert_near(r.gpu.temperature_max_c, 62, 0);
    assert_near(r.gpu.power_mean_w, 312.5, 1e-9);
    assert_near(r.gpu.throttled_power, 1, 0);
    assert_near(r.gpu.throttled_thermal, 0, 0);
    assert_near(r.training.process_bytes, 123456789, 0);
    assert_near(r.evaluation.process_bytes, 123456789, 0);
    splat_environment_read(context, &environment);
    assert_string_equal(environment.gpu, "Fake GPU 1");
    ASSERT_OK(splat_bench_write(trainer, &r, NULL, "gpu.json", &error));
    context->backend->pci_bus_id[0] = '\0';
    ASSERT_OK(splat_json_read("gpu.json", &root, &error));
    assert_near(number_at(root, "gpu", "throttled_power"), 1, 0);
    assert_near(number_at(root, "gpu", "clock_sm_mean_mhz"), 1965, 0);
    json_decref(root);
    splat_bench_result_free(&r);
    splat_trainer_destroy(trainer);
    splat_scene_close(scene);
}

/* ---------------------------------------------------------------- writing and reading */

static void check_json(const splat_bench_result *r)
{
    json_t *root;
    splat_error error;
    ASSERT_OK(splat_json_read("out/training_benchmark_results.json", &root, &error));
    assert_string_equal(json_string_value(json_object_get(root, "schema")), "splatsmith-bench-2");
    assert_near(number_at(root, "speed", "ms_mean"), r->step.mean, 1e-6);
    assert_near(number_at(root, "speed", "ms_p99"), r->step.p99, 1e-6);
    assert_near(number_at(root, "measurement", "first_iteration"), r->first_iteration, 0);
    assert_near(number_at(root, "options", "densification_interval"), 10, 0);
    assert_near(number_at(root, "options", "kernel_size"), 0.1, 0); /* as people write it */
    assert_near(number_at(root, "quality", "views"), (double)r->quality.n_views, 0);
    const json_t *way = json_array_get(json_object_get(root, "evaluations"), 1);
    assert_near(json_number_value(json_object_get(way, "PSNR")), r->evaluations[1].quality.psnr, 1e-6);
    assert_near(number_at(root, "scene", "width"), WIDTH, 0);
    const json_t *environment = json_object_get(root, "environment");
    const char *command = json_string_value(json_object_get(environment, "command"));
    assert_string_equal(command, "bench \"quoted\" \xC3\xBC \xC3\xBF");
    assert_int_equal(strlen(json_string_value(json_object_get(environment, "date"))), 20);
    assert_true(json_array_size(json_object_get(json_object_get(root, "memory"), "blocks")) > 10);
    json_decref(root);
}

static void test_round_trip(void **state)
{
    splat_error error;
    splat_bench_result r;
    splat_bench_record *record;
    splat_bench_figures f;
    (void)state;
    splat_scene *scene = open_scene(context);
    splat_trainer *trainer = make_trainer(scene);
    const int test_iterations[] = {1, 11, 26, 90}; /* warm-up, measured, the last one, never */
    splat_bench_options options = {
        .size = sizeof options,
        .warmup = 1, .iterations = 25, .test_iterations = test_iterations, .n_test_iterations = 4};
    must(splat_trainer_bench(trainer, &options, &r, &error), &error);
    assert_int_equal(r.n_evaluations, 2);
    assert_int_equal(r.evaluations[1].iteration, 11);
    assert_true(r.evaluations[1].quality.psnr > r.evaluations[0].quality.psnr);
    assert_true(r.loss > 0 && r.loss < 1 && r.mean_opacity > 0 && r.mean_opacity < 1);
    assert_true(r.n_gaussians_last != r.n_gaussians_first); /* the two counts must differ */
    ASSERT_OK(splat_folder_delete("out", &error));
    /* the second word ends in a byte that is no UTF-8: read as Latin-1, all of the text */
    const splat_bench_note note = {"bench \"quoted\" \xFC \xFF", "a label", "why it was measured"};
    ASSERT_OK(splat_bench_write(trainer, &r, &note, "out", &error));
    check_json(&r);
    ASSERT_OK(splat_bench_read("out", &record, &error));
    splat_bench_record_get(record, &f);
    assert_string_equal(f.name, "a label");
    assert_string_equal(f.label, "a label");
    assert_string_equal(f.notes, "why it was measured");
    assert_int_equal(strlen(f.date), 20);
    assert_near(f.loss, r.loss, 1e-6);
    assert_near(f.mean_opacity, r.mean_opacity, 1e-6);
    char *markdown = splat_bench_report_markdown(&record, 1, 0.005), day[16];
    snprintf(day, sizeof day, "| %.10s |", f.date);
    assert_non_null(markdown);
    assert_non_null(strstr(markdown, day));
    assert_non_null(strstr(markdown, "- a label: why it was measured"));
    free(markdown);
    assert_string_equal(f.scene, SCENE);
    assert_near(f.step.mean, r.step.mean, 1e-6);
    assert_near(f.step.mean_low, r.step.mean_low, 1e-6);
    assert_near(f.psnr, r.quality.psnr, 1e-6);
    assert_near(f.n_gaussians, (double)r.n_gaussians_last, 0);
    assert_near(f.training_peak_bytes, (double)r.training.peak_bytes, 0);
    assert_true(isnan(f.lpips));
    splat_bench_record_free(record);
    assert_xml_file("out/iteration_times.svg");
    assert_xml_file("out/iteration_histogram.svg");
    ASSERT_OK(splat_bench_write(trainer, &r, NULL, "alone.json", &error));
    ASSERT_OK(splat_bench_read("alone.json", &record, &error));
    splat_bench_record_get(record, &f);
    assert_string_equal(f.name, "alone");
    splat_bench_record_free(record);
    assert_failure(splat_bench_write(trainer, &r, NULL, "alone.json/below", &error), SPLAT_ERROR_IO, &error,
                   "alone.json");
    splat_bench_result_free(&r);
    splat_trainer_destroy(trainer);
    splat_scene_close(scene);
}

static void refuse(const char *text, splat_status status, const char *words)
{
    splat_bench_record *record;
    splat_error error;
    fixture_text("bad.json", text);
    assert_failure(splat_bench_read("bad.json", &record, &error), status, &error, words);
    assert_null(record);
}

static void check_damaged(const uint8_t *data, size_t size, bool is_prefix)
{
    splat_bench_record *record;
    splat_error error;
    (void)is_prefix;
    fixture_bytes("damaged.json", data, size);
    if (splat_bench_read("damaged.json", &record, &error) == SPLAT_OK) splat_bench_record_free(record);
}

static void test_bad_files(void **state)
{
    splat_bench_record *record;
    splat_error error;
    uint8_t *data;
    size_t size;
    (void)state;
#define HEAD "{\"schema\": \"splatsmith-bench-2\", \"mode\": \"training\", "
    assert_failure(splat_bench_read("absent", &record, &error), SPLAT_ERROR_IO, &error, "absent");
    refuse("{\"a\": ", SPLAT_ERROR_FORMAT, "not valid JSON");
    refuse("[1]", SPLAT_ERROR_FORMAT, "not a result of splatsmith bench");
    refuse("{\"schema\": 2}", SPLAT_ERROR_FORMAT, "not a result of splatsmith bench");
    refuse("{\"schema\": \"splatsmith-bench-1\"}", SPLAT_ERROR_UNSUPPORTED, "splatsmith-bench-1, but this version");
    refuse("{\"schema\": \"splatsmith-bench-2\", \"mode\": \"data\"}", SPLAT_ERROR_FORMAT, "1 to 8 measurements");
    refuse("{\"schema\": \"splatsmith-bench-2\", \"mode\": \"fast\"}", SPLAT_ERROR_FORMAT, "mode fast");
    refuse("{\"schema\": \"splatsmith-bench-2\", \"mode\": \"data\", \"rows\": [3]}", SPLAT_ERROR_FORMAT, "row 1");
    refuse("{\"schema\": \"splatsmith-bench-2\"}", SPLAT_ERROR_FORMAT, "mode (none)");
    refuse(HEAD "\"x\": 1}", SPLAT_ERROR_FORMAT, "missing or empty");
    refuse(HEAD "\"iteration_ms\": []}", SPLAT_ERROR_FORMAT, "missing or empty");
    refuse(HEAD "\"iteration_ms\": [1, -2]}", SPLAT_ERROR_FORMAT, "time 2 of");
    refuse(HEAD "\"iteration_ms\": [\"1\"]}", SPLAT_ERROR_FORMAT, "time 1 of");
    refuse(HEAD "\"iteration_ms\": {}}", SPLAT_ERROR_FORMAT, "not an array");
    refuse(HEAD "\"environment\": {\"label\": \"\\u001b[2J\"}, \"iteration_ms\": [1]}", SPLAT_ERROR_FORMAT,
           "the label");
    refuse(HEAD "\"quality\": {\"PSNR\": \"high\"}, \"iteration_ms\": [1]}", SPLAT_ERROR_FORMAT, "\"PSNR\" is not");
    fixture_result("good.json", 5, 9, 1, 30, "\"scene\": {\"path\": \"a\"}, ");
    ASSERT_OK(splat_file_read("good.json", &data, &size, &error));
    fixture_sweep(data, size, check_damaged, 500);
    free(data);
}

/* ---------------------------------------------------------------- comparing */

static splat_bench_record *read_result(const char *path)
{
    splat_bench_record *record;
    splat_error error;
    ASSERT_OK(splat_bench_read(path, &record, &error));
    return record;
}

static char differences[8192];

static void collect(void *user, const char *sentence)
{
    (void)user;
    strncat(differences, sentence, sizeof differences - strlen(differences) - 2);
    strcat(differences, "\n");
}

static void test_compare(void **state)
{
    splat_bench_comparison c;
    (void)state;
    fixture_result("slow.json", 10, 400, 1, 30, "");
    fixture_result("fast.json", 8, 400, 2, 29.7, "");
    fixture_result("same.json", 10, 400, 6, 0, "");
    splat_bench_record *slow = read_result("slow.json"), *fast = read_result("fast.json");
    splat_bench_record *same = read_result("same.json");
    splat_bench_compare(slow, fast, &c);
    assert_near(c.speedup, 1.25, 0.01); /* the mean of 400 scatters by 0.15 % */
    assert_near(c.change, -0.2, 0.01);
    assert_true(c.is_significant && c.change_low < c.change && c.change < c.change_high && c.change_high < -0.19);
    assert_true(c.speedup_low < c.speedup && c.speedup < c.speedup_high);
    assert_near(1 / c.speedup_low - 1, c.change_high, 1e-12);
    assert_near(c.seconds_saved, 60, 3); /* 30,000 x 2 ms */
    assert_near(c.quality_loss, 0.01, 1e-9);
    splat_bench_compare(fast, slow, &c);
    assert_true(c.seconds_saved < 0 && c.speedup < 1);
    assert_near(c.quality_loss, 0, 1e-12); /* SSIM is equal, PSNR better */
    splat_bench_compare(slow, same, &c);
    assert_false(c.is_significant);
    assert_true(isnan(c.quality_loss));
    splat_bench_record_free(slow);
    splat_bench_record_free(fast);
    splat_bench_record_free(same);
}

/* A distance of one network says nothing about that of another. */
static void test_other_network(void **state)
{
    splat_bench_comparison c;
    (void)state;
#define WITH_LPIPS(net, value) "\"quality\": {\"PSNR\": 30, \"SSIM\": 0.9, \"LPIPS\": " value ", " net "}, "
    fixture_result("vgg.json", 10, 40, 1, 0, WITH_LPIPS("\"lpips_net\": \"vgg\"", "0.2"));
    fixture_result("alex.json", 10, 40, 1, 0, WITH_LPIPS("\"lpips_net\": \"alex\"", "0.3"));
    fixture_result("worse.json", 10, 40, 1, 0, WITH_LPIPS("\"lpips_net\": \"vgg\"", "0.22"));
    splat_bench_record *vgg = read_result("vgg.json"), *alex = read_result("alex.json");
    splat_bench_record *worse = read_result("worse.json");
    splat_bench_compare(vgg, alex, &c);
    assert_near(c.quality_loss, 0, 0);
    splat_bench_compare(vgg, worse, &c);
    assert_near(c.quality_loss, 0.1, 1e-9);
    differences[0] = '\0';
    splat_bench_list_differences(vgg, alex, collect, NULL);
    assert_string_equal(differences, "the network of LPIPS differs: \"vgg\" and \"alex\"\n");
    splat_bench_record_free(vgg);
    splat_bench_record_free(alex);
    splat_bench_record_free(worse);
}

static void test_differences(void **state)
{
    (void)state;
    fixture_result("a.json", 10, 40, 1, 30,
                   "\"environment\": {\"host\": \"one\", \"gpu\": \"A\", \"threads\": 2}, \"scene\": {\"name\": \"x\", "
                   "\"width\": 100}, \"options\": {\"sh_degree\": 3, \"old\": 1, \"seed\": 0}, ");
    fixture_result("b.json", 10, 40, 1, 30,
                   "\"environment\": {\"host\": \"two\", \"gpu\": \"B\", \"threads\": 2}, \"scene\": {\"name\": \"x\", "
                   "\"width\": 200}, \"options\": {\"sh_degree\": 2, \"new\": true, \"seed\": 0.0}, "
                   "\"gpu\": {\"throttled_power\": 0.25}, ");
    splat_bench_record *a = read_result("a.json"), *b = read_result("b.json");
    differences[0] = '\0';
    splat_bench_list_differences(a, a, collect, NULL);
    assert_string_equal(differences, "");
    splat_bench_list_differences(a, b, collect, NULL);
    assert_string_equal(differences, "the machine differs: \"one\" and \"two\"\n"
                                     "the GPU differs: \"A\" and \"B\"\n"
                                     "the width of the pictures differs: 100 and 200\n"
                                     "the option sh_degree differs: 3 and 2\n"
                                     "the option old differs: 1 and -\n"
                                     "the option new differs: - and true\n"
                                     "the clocks of the candidate were held down by the power limit for 25 % of the "
                                     "time\n");
    splat_bench_record_free(a);
    splat_bench_record_free(b);
}

static void test_counts_differ(void **state)
{
    (void)state;
    fixture_text("c.json", "{\"schema\": \"splatsmith-bench-2\", \"mode\": \"training\", \"iteration_ms\": [1], "
                           "\"measurement\": {\"gaussians_first\": 1000, \"gaussians_last\": 1060}}");
    fixture_result("a.json", 1, 1, 1, 0, "");
    splat_bench_record *a = read_result("a.json"), *c = read_result("c.json");
    differences[0] = '\0';
    splat_bench_list_differences(a, c, collect, NULL);
    assert_string_equal(differences, "the number of Gaussians differs: 1000 and 1060\n");
    splat_bench_record_free(a);
    splat_bench_record_free(c);
}

/* ---------------------------------------------------------------- the report */

static void test_report(void **state)
{
    splat_error error;
    (void)state;
    fixture_folder("phases");
    fixture_result("phases/1 | start.json", 10, 400, 1, 30, "\"scene\": {\"path\": \"a<b>&\"}, ");
    fixture_result("phases/2.json", 8, 400, 2, 29.99, "\"gpu\": {\"throttled_power\": 0.25}, ");
    fixture_result("phases/3.json", 8, 400, 6, 29.99, "");
    fixture_result("phases/4.json", 9, 400, 4, 29.99, "");
    fixture_result("phases/5.json", 4, 400, 5, 28, "");
    splat_bench_record *records[5];
    const char *const paths[5] = {"phases/1 | start.json", "phases/2.json", "phases/3.json", "phases/4.json",
                                  "phases/5.json"};
    for (int i = 0; i < 5; i++) records[i] = read_result(paths[i]);
    char *text = splat_bench_report_markdown(records, 5, 0.005);
    assert_non_null(text);
    static const char *const parts[] = {
        "| phase | date | ms/iter | it/s |", "| 1 \\| start | ", "| the start |", "| faster, quality kept |",
        "| no difference in speed |", "| slower |", "| quality lost |", "| 2 MiB | 1 MiB | 30.00 | 0.9000 | - |",
        "1.25x | 1.25x", "~", "\n- 2: the clocks of the GPU were held down by the power limit for 25 % of the time\n"};
    for (size_t i = 0; i < sizeof parts / sizeof parts[0]; i++)
        if (!strstr(text, parts[i])) fail_msg("'%s' is not in:\n%s", parts[i], text);
    free(text);
    text = splat_bench_report_markdown(records, 5, 0.5); /* the tolerance forgives */
    assert_null(strstr(text, "quality lost"));
    free(text);
    ASSERT_OK(splat_bench_report_write(records, 5, 0.005, "phases/report", &error));
    assert_xml_file("phases/report/benchmark_report.html"); /* the page is XHTML, too */
    uint8_t *html;
    size_t size;
    ASSERT_OK(splat_file_read("phases/report/benchmark_report.html", &html, &size, &error));
    assert_non_null(strstr((char *)html, "a&lt;b&gt;&amp;"));
    assert_null(strstr((char *)html, "http")); /* self-contained */
    free(html);
    assert_true(splat_path_exists("phases/report/benchmark_report.md"));
    for (int i = 0; i < 5; i++) splat_bench_record_free(records[i]);
}

/* ---------------------------------------------------------------- photos and views */

static void check_rows(const splat_bench_rows *rows, size_t n_rows, size_t n)
{
    assert_int_equal(rows->n_rows, n_rows);
    for (size_t i = 0; i < n_rows; i++) {
        const splat_bench_row *row = &rows->rows[i];
        assert_int_equal(row->ms.n, n);
        assert_near(row->per_second * row->ms.mean, 1e3 * (double)row->n_together, 1e-6 * (double)row->n_together);
    }
}

/* Reading gives the written values. */
static void check_read_rows(const char *folder, const splat_bench_rows *rows)
{
    splat_bench_figures f;
    splat_bench_record *record = read_result(folder);
    splat_bench_record_get(record, &f);
    assert_string_equal(f.mode, rows->mode);
    assert_string_equal(f.name, folder);
    assert_int_equal(f.n_rows, rows->n_rows);
    for (size_t i = 0; i < f.n_rows; i++) {
        const splat_bench_row *a = &f.rows[i], *b = &rows->rows[i];
        assert_string_equal(a->name, b->name);
        assert_true(a->n_together == b->n_together && a->ms.n == b->ms.n && a->ms.n_batches == b->ms.n_batches);
        assert_near(a->ms.mean, b->ms.mean, 1e-9 * b->ms.mean);
        assert_near(a->ms.p99, b->ms.p99, 1e-9 * b->ms.p99);
        assert_near(a->per_second, b->per_second, 1e-9 * b->per_second);
        assert_near(a->ms.mean_error, b->ms.mean_error, 1e-6 * b->ms.mean);
    }
    splat_bench_record_free(record);
}

static void test_data_and_render(void **state)
{
    splat_error error;
    splat_bench_rows rows;
    json_t *root;
    (void)state;
    splat_scene *scene = open_scene(context);
    ASSERT_OK(splat_bench_data(context, scene, 9, &rows, &error));
    check_rows(&rows, 6, 9);
    const double bytes = 3e-6 * WIDTH * HEIGHT; /* MB of a photo */
    assert_near(rows.rows[1].mb_per_s, rows.rows[1].per_second * bytes, 1e-9 * rows.rows[1].mb_per_s);
    assert_near(rows.rows[5].mb_per_s, rows.rows[5].per_second * bytes, 1e-9 * rows.rows[5].mb_per_s);
    assert_true(rows.rows[3].per_second > 5 * rows.rows[1].per_second); /* a hit decodes nothing */
    ASSERT_OK(splat_bench_write_rows(context, scene, &rows, NULL, "rows", &error));
    check_read_rows("rows", &rows);
    ASSERT_OK(splat_json_read("rows/data_benchmark_results.json", &root, &error));
    assert_int_equal(json_array_size(json_object_get(root, "rows")), 6);
    json_decref(root);
    assert_failure(splat_bench_data(context, scene, 0, &rows, &error), SPLAT_ERROR_ARGUMENT, &error, "at least one");

    splat_trainer *trainer = make_trainer(scene);
    splat_model *model = splat_trainer_get_model(trainer);
    ASSERT_OK(splat_bench_render(scene, model, 0, 0, 1, 5, &rows, &error));
    check_rows(&rows, 4, 5);
    assert_string_equal(rows.rows[2].name, "random view on the device");
    assert_near(rows.rows[3].mb_per_s, rows.rows[3].per_second * 4 * bytes, 1e-9 * rows.rows[3].mb_per_s);
    assert_int_equal(rows.width, WIDTH);
    assert_int_equal(rows.n_gaussians, 400);
    assert_near(rows.rows[1].mb_per_s, rows.rows[1].per_second * 4 * bytes, 1e-9 * rows.rows[1].mb_per_s);
    ASSERT_OK(splat_bench_render(scene, model, 33, 21, 0, 5, &rows, &error));
    assert_near(rows.rows[1].mb_per_s, rows.rows[1].per_second * 12e-6 * 33 * 21, 1e-9 * rows.rows[1].mb_per_s);
    assert_near(rows.rows[3].mb_per_s, rows.rows[3].per_second * 12e-6 * 33 * 21, 1e-9 * rows.rows[3].mb_per_s);
    assert_failure(splat_bench_render(scene, model, 33, 0, 0, 5, &rows, &error), SPLAT_ERROR_ARGUMENT, &error,
                   "33 x 0");
    splat_trainer_destroy(trainer);
    splat_scene_close(scene);
}

static int open_context(void **state)
{
    (void)state;
    context = open_cpu(2);
    return 0;
}

static int close_context(void **state)
{
    (void)state;
    splat_context_destroy(context);
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_known_sample),    cmocka_unit_test(test_batches_by_hand),
        cmocka_unit_test(test_student),         cmocka_unit_test(test_interval_covers),
        cmocka_unit_test(test_measure),         cmocka_unit_test(test_round_trip),
        cmocka_unit_test(test_measure_gpu),     cmocka_unit_test(test_bad_files),
        cmocka_unit_test(test_compare),         cmocka_unit_test(test_other_network),
        cmocka_unit_test(test_differences),     cmocka_unit_test(test_counts_differ),
        cmocka_unit_test(test_report),          cmocka_unit_test(test_data_and_render),
    };
    return cmocka_run_group_tests(tests, open_context, close_context);
}
