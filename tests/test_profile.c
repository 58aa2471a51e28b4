/* The memory profiler: exact sums on a real trainer, its files and curves, and what the report says of good, leaking
 * and broken profiles. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include "base/file.h"
#include "event_reader.h"
#include "io/json.h"
#include "train/memory_profiler.h"
#include "trainer_fixture.h"

#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>

#define MIB 1048576.0

typedef struct fixture {
    splat_context *context;
    splat_scene *scene;
    splat_trainer *trainer;
    int n_warnings;
    char warning[512];
} fixture;

static void collect(void *user, splat_log_level level, const char *message)
{
    fixture *f = user;
    if (level != SPLAT_LOG_WARNING) return;
    f->n_warnings++;
    snprintf(f->warning, sizeof f->warning, "%s", message);
}

static void open_fixture(fixture *f, const splat_train_options *train)
{
    splat_error error;
    splat_context_options options;
    memset(f, 0, sizeof *f);
    splat_context_options_init(&options);
    options.backend = "cpu";
    options.threads = 1; /* quicker for so small a scene */
    options.log = collect;
    options.log_user = f;
    must(splat_context_create(&options, &f->context, &error), &error);
    f->scene = open_scene(f->context);
    must(splat_trainer_create(f->context, f->scene, train, &f->trainer, &error), &error);
}

static void close_fixture(fixture *f)
{
    splat_trainer_destroy(f->trainer);
    splat_scene_close(f->scene);
    splat_context_destroy(f->context);
}

static void empty_folder(const char *path)
{
    splat_error error;
    must(splat_folder_delete(path, &error), &error);
    must(splat_folder_create(path, &error), &error);
}

/* ---------------------------------------------------------------- snapshots */

static void assert_sum(const splat_memory_sum *sum, size_t bytes, size_t reserved)
{
    assert_int_equal(sum->bytes, bytes);
    assert_int_equal(sum->reserved, reserved);
}

/* Rows against the backend's counters, and every sum against the rows. */
static void check_snapshot(const splat_memory_snapshot *s, const splat_context *context)
{
    splat_memory_info memory;
    splat_memory_sum categories = {0}, types = {0}, device = {0}, pinned = {0};
    splat_context_memory(context, &memory);
    for (size_t i = 0; i < s->n_rows; i++) {
        splat_memory_sum *sum = s->rows[i].place == SPLAT_PLACE_DEVICE ? &device : &pinned;
        if (s->rows[i].place == SPLAT_PLACE_HOST) continue;
        sum->bytes += s->rows[i].bytes;
        sum->reserved += s->rows[i].reserved;
        sum->n++;
        assert_true(s->rows[i].bytes <= s->rows[i].reserved);
    }
    for (int i = 0; i < SPLAT_N_MEMORY_CATEGORIES; i++) {
        categories.bytes += s->categories[SPLAT_PLACE_DEVICE][i].bytes;
        categories.reserved += s->categories[SPLAT_PLACE_DEVICE][i].reserved;
    }
    for (int i = 0; i < SPLAT_N_ELEMENT_TYPES; i++) {
        types.bytes += s->types[i].bytes;
        types.reserved += s->types[i].reserved;
    }
    assert_sum(&device, memory.used_bytes, memory.bytes);
    assert_sum(&pinned, s->pinned.bytes, memory.host_bytes);
    assert_sum(&s->places[SPLAT_PLACE_DEVICE], memory.used_bytes, memory.bytes);
    assert_sum(&categories, memory.used_bytes, memory.bytes);
    assert_sum(&types, memory.used_bytes, memory.bytes);
    assert_int_equal(device.n + pinned.n, memory.n_blocks);
    for (size_t i = 1; i < s->n_rows; i++) assert_true(s->rows[i - 1].reserved >= s->rows[i].reserved);
}

static void test_sums_are_exact_at_every_step(void **state)
{
    (void)state;
    fixture f;
    splat_memory_snapshot snapshot = {0};
    splat_error error;
    splat_train_options options = busy_options(50); /* density control, reset, and the end of the statistics */
    open_fixture(&f, &options);
    for (int i = 0; i < 50; i++) {
        run_steps(f.trainer, 1);
        must(splat_memory_snapshot_take(&snapshot, f.trainer->backend, SPLAT_SH_FLOAT32, &error), &error);
        check_snapshot(&snapshot, f.context);
        size_t n = f.trainer->model->gaussians.n;
        /* 59 floats and the 3D filter; two moments each; a gradient, its absolute one and a count */
        const splat_memory_sum *categories = snapshot.categories[SPLAT_PLACE_DEVICE];
        assert_int_equal(categories[SPLAT_MEMORY_PARAMETERS].bytes, n * 60 * 4);
        assert_int_equal(categories[SPLAT_MEMORY_OPTIMIZER].bytes, n * 59 * 2 * 4);
        assert_int_equal(categories[SPLAT_MEMORY_STATISTICS].bytes, f.trainer->n_statistics * 3 * sizeof(float));
        assert_true(categories[SPLAT_MEMORY_ACTIVATIONS].bytes > 0);
        assert_int_equal(categories[SPLAT_MEMORY_GRADIENTS].n, 0);
        assert_true(snapshot.categories[SPLAT_PLACE_HOST][SPLAT_MEMORY_IMAGES].bytes > 0); /* the photo cache */
    }
    splat_memory_snapshot_free(&snapshot);
    close_fixture(&f);
}

static void test_types_follow_the_storage(void **state)
{
    (void)state;
    fixture f;
    splat_memory_snapshot snapshot = {0};
    splat_error error;
    splat_train_options options = busy_options(10);
    options.sh_storage = SPLAT_SH_FLOAT16;
    options.optimizer_storage = SPLAT_OPTIMIZER_QUANTIZED;
    open_fixture(&f, &options);
    must(splat_memory_snapshot_take(&snapshot, f.trainer->backend, f.trainer->model->sh_storage, &error), &error);
    check_snapshot(&snapshot, f.context);
    size_t n = f.trainer->model->gaussians.n;
    assert_int_equal(snapshot.types[SPLAT_TYPE_FLOAT16].bytes, n * 46 * 2); /* 45 in whole words */
    assert_int_equal(snapshot.types[SPLAT_TYPE_QUANTIZED16].bytes, n * 14 * 4);
    assert_int_equal(snapshot.types[SPLAT_TYPE_QUANTIZED8].bytes,
                     n * splat_quantized_moment_words(SPLAT_TENSOR_sh_rest, 3) * 4);
    assert_int_equal(snapshot.types[SPLAT_TYPE_FLOAT32].bytes, n * (14 + 1 + 3) * 4);
    splat_memory_snapshot_free(&snapshot);
    close_fixture(&f);
}

/* ---------------------------------------------------------------- the files of a run */

#define RUN "profiled"

/* The one file of RUN/profiles that begins and ends so; the caller frees. */
static char *find_file(const char *begin, const char *end)
{
    char **names, *found = NULL;
    size_t n;
    splat_error error;
    must(splat_folder_list(RUN "/profiles", &names, &n, &error), &error);
    for (size_t i = 0; i < n; i++) {
        size_t length = strlen(names[i]);
        if (strncmp(names[i], begin, strlen(begin)) != 0 || length < strlen(end)) continue;
        if (strcmp(names[i] + length - strlen(end), end) != 0) continue;
        assert_null(found);
        found = splat_format(RUN "/profiles/%s", names[i]);
    }
    splat_names_free(names, n);
    assert_non_null(found);
    return found;
}

/* The analyze scripts of the field: line by line, by what a line begins with. */
typedef struct parsed_log {
    int n_samples, total_tensors, n_large;
    double allocated, reserved, fragmentation, categories, types;
    enum { NO_SECTION, CATEGORIES, TYPES } section;
} parsed_log;

static void parse_log_line(parsed_log *p, const char *line)
{
    char name[64];
    double size;
    if (sscanf(line, "Total Tensors: %d", &p->total_tensors) == 1) p->n_samples++;
    if (strncmp(line, "Allocated:", 10) == 0)
        assert_int_equal(sscanf(line, "Allocated: %lf MB | Reserved: %lf MB | Fragmentation: %lf%%", &p->allocated,
                                &p->reserved, &p->fragmentation), 3);
    if (sscanf(line, "Large Tensors (>100MB): %d", &p->n_large) == 1) p->section = NO_SECTION;
    if (strncmp(line, "Tensor Categories:", 18) == 0) {
        p->section = CATEGORIES;
        p->categories = 0;
    } else if (strncmp(line, "Data Types:", 11) == 0) {
        p->section = TYPES;
        p->types = 0;
    } else if (p->section && sscanf(line, " %63[^:]: %lf MB", name, &size) == 2) {
        *(p->section == CATEGORIES ? &p->categories : &p->types) += size;
    }
}

static parsed_log parse_log(const char *path)
{
    char line[512];
    parsed_log parsed = {.n_samples = 0};
    FILE *file = fopen(path, "r");
    assert_non_null(file);
    while (fgets(line, sizeof line, file)) parse_log_line(&parsed, line);
    fclose(file);
    return parsed;
}

static void check_log(const splat_memory_info *memory)
{
    char *path = find_file("tensor_profile_", ".log");
    parsed_log p = parse_log(path);
    assert_int_equal(p.n_samples, 5);
    assert_int_equal(p.total_tensors, memory->n_blocks);
    /* two decimals a figure, and as many of them as are added */
    assert_float_equal(p.allocated, (double)memory->used_bytes / MIB, 0.0051);
    assert_float_equal(p.reserved, (double)memory->bytes / MIB, 0.0051);
    assert_float_equal(p.fragmentation,
                       100 * (double)(memory->bytes - memory->used_bytes) / (double)memory->bytes, 0.0051);
    assert_float_equal(p.categories, p.allocated, 0.0051 * 9);
    assert_float_equal(p.types, p.allocated, 0.0051 * 7);
    assert_int_equal(p.n_large, 0);
    free(path);
}

static void check_lines(const splat_memory_info *memory)
{
    static const int iterations[] = {5, 10, 15, 20, 23};
    char *path = find_file("tensor_profile_", ".jsonl"), found[256];
    splat_profile *profile;
    splat_error error;
    must(splat_profile_find(RUN, NULL, found, sizeof found, &error), &error);
    assert_string_equal(found, path);
    must(splat_profile_read(path, &profile, &error), &error);
    assert_int_equal(profile->n_samples, 5);
    for (int i = 0; i < 5; i++) assert_int_equal(profile->samples[i].iteration, iterations[i]);
    const splat_profile_sample *last = &profile->samples[4];
    assert_int_equal(last->allocated_bytes, memory->used_bytes);
    assert_int_equal(last->reserved_bytes, memory->bytes);
    assert_int_equal(last->peak_bytes, memory->peak_bytes);
    assert_int_equal(last->driver_bytes, 0);
    assert_true(last->process_bytes > 0 && last->host_bytes > 0);
    assert_true(profile->n_savings >= 3);
    assert_string_equal(profile->savings[0].option, "--optimizer_storage quantized");
    splat_profile_free(profile);
    free(path);
}

static void check_full_list(const splat_trainer *t)
{
    json_t *root, *block;
    size_t i, reserved = 0;
    splat_error error;
    must(splat_json_read(RUN "/profiles/memory_snapshot_23.json", &root, &error), &error);
    assert_int_equal(json_integer_value(json_object_get(root, "iteration")), 23);
    assert_int_equal(json_integer_value(json_object_get(root, "gaussians")), t->model->gaussians.n);
    json_array_foreach(json_object_get(root, "blocks"), i, block)
        if (strcmp(json_string_value(json_object_get(block, "place")), "device") == 0)
            reserved += (size_t)json_integer_value(json_object_get(block, "reserved"));
    assert_int_equal(reserved, t->backend->memory.device.reserved);
    json_decref(root);
    assert_true(splat_path_exists(RUN "/profiles/memory_snapshot_7.json"));
}

/* Every tag of the field at the last sample, the parts adding up to the whole. */
static void check_events(const char *path, const splat_memory_info *memory)
{
    static const char *const others[] = {
        "TensorProfiling/Tensor_Category/statistics_MB", "TensorProfiling/Tensor_Category/images_MB",
        "TensorProfiling/Tensor_DType/float32_MB",       "TensorProfiling/Tensor_DType/mixed_MB",
        "TensorProfiling/Large_Tensors/count",           "TensorProfiling/Large_Tensors/total_MB",
        "TensorProfiling/fragmentation_percent",         "Memory/fragmentation_percent",
        "Memory/peak_reserved_MB",                       "Memory/host_MB", "Memory/process_MB"};
    event_file file = event_file_read(path);
    double sum = 0;
    for (int i = 0; i < SPLAT_N_MEMORY_CATEGORIES; i++) {
        char tag[96];
        snprintf(tag, sizeof tag, "TensorProfiling/Tensor_Category/%s_MB",
                 splat_memory_category_name((splat_memory_category)i));
        const event *e = event_find(&file, tag, 23);
        assert_non_null(e);
        sum += (double)e->scalar;
    }
    for (size_t i = 0; i < sizeof others / sizeof others[0]; i++)
        if (!event_find(&file, others[i], 23)) fail_msg("no %s", others[i]);
    assert_null(event_find(&file, "Memory/allocated_MB", 7)); /* a full list is no sample */
    /* scalars are floats: seven digits */
    assert_float_equal(sum, (double)memory->used_bytes / MIB, 1e-5);
    assert_float_equal((double)event_find(&file, "Memory/allocated_MB", 23)->scalar,
                       (double)memory->used_bytes / MIB, 1e-5);
    assert_float_equal((double)event_find(&file, "Memory/reserved_MB", 23)->scalar, (double)memory->bytes / MIB, 1e-5);
    assert_float_equal((double)event_find(&file, "TensorProfiling/Tensor_Count/total", 23)->scalar,
                       (double)memory->n_blocks, 0);
    event_file_free(&file);
}

static void test_files_of_a_run(void **state)
{
    (void)state;
    static const int full[] = {7, 23};
    fixture f;
    splat_memory_profiler *profiler;
    splat_tensorboard *writer;
    splat_memory_info memory;
    splat_error error;
    splat_memory_profiler_options options = {5, full, 2};
    splat_train_options train = busy_options(23);
    open_fixture(&f, &train);
    empty_folder(RUN);
    must(splat_tensorboard_open(RUN, 1e9, 0, &writer, &error), &error);
    must(splat_memory_profiler_open(RUN, &options, f.trainer, &profiler, &error), &error);
    for (int i = 0; i < 23; i++) {
        run_steps(f.trainer, 1);
        splat_memory_profiler_step(profiler, f.trainer, writer);
    }
    splat_context_memory(f.context, &memory);
    check_log(&memory); /* flushed: the profiler is still open */
    check_lines(&memory);
    check_full_list(f.trainer);
    must(splat_tensorboard_flush(writer, &error), &error);
    check_events(splat_tensorboard_path(writer), &memory);
    must(splat_tensorboard_close(writer, &error), &error);
    splat_memory_profiler_close(profiler);
    assert_int_equal(f.n_warnings, 0);
    close_fixture(&f);
}

static void test_snapshots_alone_make_no_other_file(void **state)
{
    (void)state;
    static const int full[] = {2};
    fixture f;
    splat_memory_profiler *profiler;
    splat_error error;
    char **names;
    size_t n;
    splat_memory_profiler_options options = {0, full, 1};
    splat_train_options train = busy_options(3);
    open_fixture(&f, &train);
    empty_folder(RUN);
    must(splat_memory_profiler_open(RUN, &options, f.trainer, &profiler, &error), &error);
    for (int i = 0; i < 3; i++) {
        run_steps(f.trainer, 1);
        splat_memory_profiler_step(profiler, f.trainer, NULL);
    }
    splat_memory_profiler_step(NULL, f.trainer, NULL);
    must(splat_folder_list(RUN "/profiles", &names, &n, &error), &error);
    assert_int_equal(n, 1);
    assert_string_equal(names[0], "memory_snapshot_2.json");
    splat_names_free(names, n);
    splat_memory_profiler_close(profiler);
    close_fixture(&f);
}

/* A full disk, which a limit on the size of files stands for: told once a file, and the run goes on. */
static void test_a_full_disk_is_told_once(void **state)
{
    (void)state;
    fixture f;
    splat_memory_profiler *profiler;
    splat_error error;
    struct rlimit before, limit;
    splat_memory_profiler_options options = {1, NULL, 0};
    splat_train_options train = busy_options(12);
    open_fixture(&f, &train);
    empty_folder(RUN);
    must(splat_memory_profiler_open(RUN, &options, f.trainer, &profiler, &error), &error);
    signal(SIGXFSZ, SIG_IGN);
    getrlimit(RLIMIT_FSIZE, &before);
    limit = before;
    limit.rlim_cur = 3000; /* a few samples of the log, none of the lines */
    setrlimit(RLIMIT_FSIZE, &limit);
    for (int i = 0; i < 12; i++) {
        run_steps(f.trainer, 1);
        splat_memory_profiler_step(profiler, f.trainer, NULL);
    }
    setrlimit(RLIMIT_FSIZE, &before);
    assert_int_equal(f.n_warnings, 2);
    assert_non_null(strstr(f.warning, "cannot be written"));
    assert_int_equal(f.trainer->iteration, 12);
    splat_memory_profiler_close(profiler);
    close_fixture(&f);
}

/* ---------------------------------------------------------------- verdicts, on made profiles */

#define HEADER                                                                                                         \
    "{\"format\":\"splatsmith memory profile\",\"version\":1,\"backend\":\"cuda (made up)\",\"gpu\":true,"             \
    "\"iterations\":2000,\"densify_until\":500,\"train_views\":20,\"largest_photo_bytes\":1000,\"sh_degree\":3}\n"

typedef enum leak { NO_LEAK, LEAK, ONE_JUMP, HOST_LEAK, PROCESS_LEAK, NEW_BLOCKS } leak;

#define N_MADE 2000u
#define MADE_SH (180u * N_MADE) /* what a model of so many Gaussians has */

/* A line with the blocks "sh_rest", "adam_m.sh_rest", "photos", "frame" and on the host "decoded photos". */
static void make_line(FILE *file, int iteration, unsigned n, leak kind)
{
    unsigned sh = 180 * n, frame = 1000000, host = 500000, process = 90000000, extra = 0;
    if (kind == LEAK) frame += (unsigned)iteration * 1000;
    if (kind == ONE_JUMP && iteration > 1200) frame += 700000;
    if (kind == HOST_LEAK) host += (unsigned)iteration * 512;
    if (kind == PROCESS_LEAK) process += (unsigned)iteration * 20000;
    if (kind == NEW_BLOCKS) extra = (unsigned)iteration / 100;
    unsigned allocated = 2 * sh + 50000 + frame + extra * 8192, reserved = allocated + 4096;
    fprintf(file, "{\"iteration\":%d,\"gaussians\":%u,\"seconds\":%d.5,\"allocated\":%u,\"reserved\":%u,\"peak\":%u,"
                  "\"driver\":%u,\"pinned\":0,\"host\":%u,\"process\":%u,\"categories\":{\"parameters\":[%u,%u],"
                  "\"optimizer\":[%u,%u],\"images\":[50000,50000],\"activations\":[%u,%u],\"other\":[%u,%u]},"
                  "\"blocks\":[",
            iteration, n, iteration, allocated, reserved, reserved, reserved + 500000000, host, process, sh, sh, sh, sh,
            frame, frame + 4096, extra * 8192, extra * 8192);
    static const char format[] = "{\"name\":\"%s\",\"owner\":\"o\",\"category\":\"%s\",\"place\":\"%s\","
                                 "\"type\":\"%s\",\"bytes\":%u,\"reserved\":%u}%s";
    fprintf(file, format, "sh_rest", "parameters", "device", "float32", sh, sh, ",");
    fprintf(file, format, "adam_m.sh_rest", "optimizer", "device", "float32", sh, sh, ",");
    fprintf(file, format, "photos", "images", "device", "uint8", 50000u, 50000u, ",");
    for (unsigned i = 0; i < extra; i++) fprintf(file, format, "lists", "other", "device", "mixed", 8192u, 8192u, ",");
    fprintf(file, format, "frame", "activations", "device", "mixed", frame, frame + 4096, ",");
    fprintf(file, format, "decoded photos", "images", "host", "uint8", host, host, "]}\n");
}

/* Samples every `interval` iterations; the count grows until `grown`. */
static splat_profile *made_grown_profile(leak kind, int interval, int last, int grown)
{
    splat_profile *profile;
    splat_error error;
    FILE *file = fopen("made.jsonl", "w");
    assert_non_null(file);
    fputs(HEADER, file);
    for (int i = interval; i <= last; i += interval) make_line(file, i, i < grown ? 2 * (unsigned)i : N_MADE, kind);
    fclose(file);
    must(splat_profile_read("made.jsonl", &profile, &error), &error);
    return profile;
}

static splat_profile *made_profile(leak kind, int interval, int last)
{
    return made_grown_profile(kind, interval, last, 500);
}

static const splat_profile_trend *trend_of(const splat_profile *profile, const char *what)
{
    for (size_t i = 0; i < profile->n_trends; i++)
        if (strcmp(profile->trends[i].what, what) == 0) return &profile->trends[i];
    fail_msg("no trend '%s'", what);
    return NULL;
}

static void assert_verdicts(const splat_profile *profile, splat_profile_verdict device, splat_profile_verdict host,
                            splat_profile_verdict process)
{
    assert_int_equal(profile->n_trends, 4);
    assert_int_equal(trend_of(profile, "allocated on the device")->verdict, device);
    assert_int_equal(trend_of(profile, "counted on the host")->verdict, host);
    assert_int_equal(trend_of(profile, "resident memory of the process")->verdict, process);
    assert_int_equal(trend_of(profile, "the driver's figure")->verdict, SPLAT_PROFILE_FLAT);
}

static void test_flat_runs(void **state)
{
    (void)state;
    splat_profile *profile = made_profile(NO_LEAK, 50, 2000);
    assert_verdicts(profile, SPLAT_PROFILE_FLAT, SPLAT_PROFILE_FLAT, SPLAT_PROFILE_FLAT);
    assert_int_equal(profile->settled_iteration, 550); /* behind the growth of the first 500 */
    assert_float_equal(trend_of(profile, "allocated on the device")->bytes_per_1000_steps, 0, 1e-6);
    splat_profile_free(profile);
    profile = made_grown_profile(NO_LEAK, 50, 2000, 1000); /* more Gaussians are no leak, whatever the options say */
    assert_verdicts(profile, SPLAT_PROFILE_FLAT, SPLAT_PROFILE_FLAT, SPLAT_PROFILE_FLAT);
    assert_int_equal(profile->settled_iteration, 1000);
    splat_profile_free(profile);
    profile = made_profile(ONE_JUMP, 50, 2000);
    assert_verdicts(profile, SPLAT_PROFILE_FLAT, SPLAT_PROFILE_FLAT, SPLAT_PROFILE_FLAT);
    splat_profile_free(profile);
}

static void test_leaks(void **state)
{
    (void)state;
    splat_profile *profile = made_profile(LEAK, 50, 2000);
    assert_verdicts(profile, SPLAT_PROFILE_GROWS, SPLAT_PROFILE_FLAT, SPLAT_PROFILE_FLAT);
    const splat_profile_trend *trend = trend_of(profile, "allocated on the device");
    assert_float_equal(trend->bytes_per_1000_steps, 1e6, 1); /* a straight line: rounding only */
    assert_non_null(strstr(trend->reason, "'frame' (activations)"));
    splat_profile_free(profile);

    profile = made_profile(HOST_LEAK, 50, 2000);
    assert_verdicts(profile, SPLAT_PROFILE_FLAT, SPLAT_PROFILE_GROWS, SPLAT_PROFILE_FLAT);
    assert_non_null(strstr(trend_of(profile, "counted on the host")->reason, "'decoded photos'"));
    splat_profile_free(profile);

    profile = made_profile(PROCESS_LEAK, 50, 2000);
    assert_verdicts(profile, SPLAT_PROFILE_FLAT, SPLAT_PROFILE_FLAT, SPLAT_PROFILE_GROWS);
    splat_profile_free(profile);

    profile = made_profile(NEW_BLOCKS, 50, 2000);
    assert_verdicts(profile, SPLAT_PROFILE_GROWS, SPLAT_PROFILE_FLAT, SPLAT_PROFILE_FLAT);
    assert_non_null(strstr(trend_of(profile, "allocated on the device")->reason, "'lists' (other) went from 5 to 20"));
    splat_profile_free(profile);
}

static void test_too_few_samples_are_not_judged(void **state)
{
    (void)state;
    splat_profile *profile = made_profile(LEAK, 50, 850); /* 7 samples from 550 on */
    assert_int_equal(trend_of(profile, "allocated on the device")->verdict, SPLAT_PROFILE_UNKNOWN);
    splat_profile_free(profile);
    profile = made_profile(LEAK, 50, 900);
    assert_int_equal(trend_of(profile, "allocated on the device")->verdict, SPLAT_PROFILE_GROWS);
    splat_profile_free(profile);
}

static void test_peaks_and_savings(void **state)
{
    (void)state;
    splat_profile *profile = made_profile(LEAK, 50, 2000);
    assert_int_equal(profile->samples[profile->peak].iteration, 2000);
    assert_int_equal(profile->samples[profile->category_peaks[SPLAT_MEMORY_PARAMETERS]].iteration, 500);
    assert_int_equal(profile->samples[profile->category_peaks[SPLAT_MEMORY_ACTIVATIONS]].iteration, 2000);
    assert_int_equal(profile->overhead_bytes, 500000000);
    for (size_t i = 0; i < profile->n_savings; i++) {
        const splat_profile_saving *s = &profile->savings[i];
        if (strcmp(s->option, "--sh_storage float16") == 0) assert_int_equal(s->bytes, MADE_SH - 92 * N_MADE);
        if (strcmp(s->option, "--sh_offload") == 0) assert_int_equal(s->bytes, 2 * MADE_SH);
        if (strcmp(s->option, "--data_device cpu") == 0) assert_int_equal(s->bytes, 50000 - 2000);
        if (i) assert_true(s[-1].bytes >= s->bytes);
    }
    assert_string_equal(profile->savings[0].option, "--sh_offload");
    splat_profile_free(profile);
}

/* ---------------------------------------------------------------- broken files */

#define GOOD                                                                                                           \
    "\"gaussians\":1,\"seconds\":1,\"allocated\":10,\"reserved\":16,\"peak\":16,\"driver\":0,\"pinned\":0,\"host\":0," \
    "\"process\":0,"
#define GOOD_SUMS "\"categories\":{\"other\":[10,16]},"
#define GOOD_BLOCKS                                                                                                    \
    "\"blocks\":[{\"name\":\"a\",\"category\":\"other\",\"place\":\"device\",\"type\":\"mixed\",\"bytes\":10,"         \
    "\"reserved\":16}]"
#define LINE(iteration) "{\"iteration\":" iteration "," GOOD GOOD_SUMS GOOD_BLOCKS "}\n"

static void read_text(const char *text, splat_status status, uint64_t line, const char *part)
{
    splat_profile *profile;
    splat_error error;
    must(splat_file_write("broken.jsonl", text, strlen(text), &error), &error);
    splat_status found = splat_profile_read("broken.jsonl", &profile, &error);
    if (found != status || (status != SPLAT_OK && (error.line != line || !strstr(error.message, part))))
        fail_msg("%s\n-> %s, line %llu: %s", text, splat_status_name(found),
                 found ? (unsigned long long)error.line : 0, found ? error.message : "");
    if (found == SPLAT_OK) splat_profile_free(profile);
    else assert_null(profile);
}

static void test_broken_files(void **state)
{
    (void)state;
    static const struct { const char *text; uint64_t line; const char *part; } cases[] = {
        {"", 1, "no samples"},
        {HEADER, 1, "no samples"},
        {"{}\n", 1, "not a memory profile"},
        {"[1]\n", 1, "not a JSON object"},
        {LINE("1"), 1, "not a memory profile"},
        {HEADER LINE("1") "{\"iteration\":2,\"gauss", 3, "cut off"},
        {HEADER LINE("1") "{\"iteration\":2,\"gauss\n" LINE("3"), 3, "not valid JSON"},
        {HEADER LINE("1") "\n", 3, "not valid JSON"},
        {HEADER LINE("1") LINE("1"), 3, "not in order"},
        {HEADER LINE("1") LINE("-2"), 3, "\"iteration\" must be"},
        {HEADER LINE("99999999999"), 2, "\"iteration\" is"},
        {HEADER LINE("1e3"), 2, "\"iteration\" must be"},
        {HEADER LINE("\"1\""), 2, "\"iteration\" must be"},
        {HEADER "{\"iteration\":1,\"iteration\":2," GOOD GOOD_SUMS GOOD_BLOCKS "}\n", 2, "duplicate"},
        {HEADER "{\"iteration\":1," GOOD GOOD_SUMS "\"blocks\":[]}\n", 2, "the blocks add up to 0 bytes"},
        {HEADER "{\"iteration\":1," GOOD GOOD_SUMS "\"blocks\":{}}\n", 2, "\"blocks\" must be an array"},
        {HEADER "{\"iteration\":1," GOOD GOOD_SUMS "\"blocks\":[7]}\n", 2, "a block must have"},
        {HEADER "{\"iteration\":1," GOOD "\"categories\":{\"other\":[10,15]}," GOOD_BLOCKS "}\n", 2,
         "the categories add up to 15 bytes, but 16"},
        {HEADER "{\"iteration\":1," GOOD "\"categories\":{\"other\":7}," GOOD_BLOCKS "}\n", 2, "two whole numbers"},
        {HEADER "{\"iteration\":1," GOOD_SUMS GOOD_BLOCKS "}\n", 2, "\"gaussians\" must be"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++)
        read_text(cases[i].text, SPLAT_ERROR_FORMAT, cases[i].line, cases[i].part);
    read_text("{\"format\":\"splatsmith memory profile\",\"version\":2}\n", SPLAT_ERROR_UNSUPPORTED, 1, "version 2");
    read_text(HEADER LINE("1"), SPLAT_OK, 0, "");
}

static const char whole[] = HEADER LINE("1") LINE("2");

/* An atomic save waits for the disk. */
static void write_quickly(const char *text, size_t length)
{
    FILE *file = fopen("cut.jsonl", "w");
    assert_non_null(file);
    assert_int_equal(fwrite(text, 1, length, file), length);
    fclose(file);
}

/* For the sanitizers: any byte may be wrong, and nothing but an error may come of it. */
static void test_wrong_bytes(void **state)
{
    (void)state;
    static const char wrong[] = {'9', '"', '{', '\n', '\0', '-'};
    char text[sizeof whole];
    for (size_t i = 0; i < sizeof whole - 1; i++) {
        splat_profile *profile;
        splat_error error;
        memcpy(text, whole, sizeof whole);
        text[i] = wrong[i % sizeof wrong];
        write_quickly(text, sizeof whole - 1);
        if (splat_profile_read("cut.jsonl", &profile, &error) == SPLAT_OK)
            splat_profile_free(profile);
        else
            assert_true((error.status == SPLAT_ERROR_FORMAT || error.status == SPLAT_ERROR_UNSUPPORTED) && error.line);
    }
}

static void test_every_cut_is_an_error_or_a_shorter_profile(void **state)
{
    (void)state;
    for (size_t length = 0; length < sizeof whole - 1; length++) {
        splat_profile *profile;
        splat_error error;
        write_quickly(whole, length);
        if (splat_profile_read("cut.jsonl", &profile, &error) != SPLAT_OK) {
            assert_int_equal(error.status, SPLAT_ERROR_FORMAT);
            assert_true(error.line > 0);
            continue;
        }
        assert_true(profile->n_samples >= 1 && profile->n_samples <= 2);
        splat_profile_free(profile);
    }
}

/* ---------------------------------------------------------------- finding */

static void make_profile_file(const char *path, long seconds)
{
    splat_error error;
    struct timespec times[2] = {{seconds, 0}, {seconds, 0}};
    must(splat_file_write(path, "", 0, &error), &error);
    assert_int_equal(utimensat(AT_FDCWD, path, times, 0), 0);
}

static void assert_found(const char *run, const char *folder, const char *wanted)
{
    char path[256];
    splat_error error;
    must(splat_profile_find(run, folder, path, sizeof path, &error), &error);
    assert_string_equal(path, wanted);
}

static void test_latest_is_the_newest(void **state)
{
    (void)state;
    static const char *const folders[] = {"runs/a/profiles", "runs/b/c/profiles", "runs/d/e/f/profiles",
                                          "runs/empty/profiles"};
    splat_error error;
    char path[256];
    empty_folder("runs");
    for (int i = 0; i < 4; i++) must(splat_folder_create(folders[i], &error), &error);
    make_profile_file("runs/a/profiles/tensor_profile_20260101_000000.jsonl", 5000);
    make_profile_file("runs/a/profiles/tensor_profile_20260101_000001.jsonl", 4000); /* newer by name, as in a copy */
    make_profile_file("runs/a/profiles/tensor_profile_20269999_000001.log", 9000);
    assert_found("latest", "runs", "runs/a/profiles/tensor_profile_20260101_000001.jsonl");
    make_profile_file("runs/b/c/profiles/tensor_profile_20260102_000000.jsonl", 100);
    assert_found("latest", "runs", "runs/b/c/profiles/tensor_profile_20260102_000000.jsonl");
    make_profile_file("runs/a/profiles/tensor_profile_20260102_000000.jsonl", 200); /* the same second, written later */
    assert_found("latest", "runs", "runs/a/profiles/tensor_profile_20260102_000000.jsonl");
    make_profile_file("runs/d/e/f/profiles/tensor_profile_20270101_000000.jsonl", 9000); /* too deep */
    assert_found("latest", "runs", "runs/a/profiles/tensor_profile_20260102_000000.jsonl");
    assert_found("runs/b/c", NULL, "runs/b/c/profiles/tensor_profile_20260102_000000.jsonl");
    assert_found("runs/b/c/profiles/tensor_profile_20260102_000000.jsonl", NULL,
                 "runs/b/c/profiles/tensor_profile_20260102_000000.jsonl");
    assert_int_equal(splat_profile_find("runs/empty", NULL, path, sizeof path, &error), SPLAT_ERROR_IO);
    assert_non_null(strstr(error.message, "--profile_tensors"));
    assert_int_equal(splat_profile_find("nowhere", NULL, path, sizeof path, &error), SPLAT_ERROR_IO);
    assert_int_equal(splat_profile_find("runs/a", NULL, path, 10, &error), SPLAT_ERROR_ARGUMENT);
    assert_int_equal(splat_profile_find("latest", NULL, path, sizeof path, &error), SPLAT_ERROR_ARGUMENT);
}

/* ---------------------------------------------------------------- the timeline */

/* Tags nest and close, attributes are quoted, and no bare & or < stands in text. Returns the number of elements. */
static int check_xml(const char *text)
{
    char stack[16][32];
    int depth = 0, n = 0;
    while (*text) {
        if (*text == '&') assert_true(strchr("lgaq", text[1]) && strchr(text, ';') && strchr(text, ';') - text <= 5);
        if (*text != '<') {
            assert_true(depth > 0 || *text == '\n');
            text++;
            continue;
        }
        bool closes = text[1] == '/';
        const char *name = text + 1 + closes, *end = name;
        size_t length = strspn(name, "abcdefghijklmnopqrstuvwxyz");
        assert_true(length > 0 && length < 32);
        for (bool quoted = false; *end && (quoted || *end != '>'); end++) {
            assert_true(*end != '<');
            if (*end == '"') quoted = !quoted;
        }
        assert_int_equal(*end, '>');
        if (closes) {
            assert_true(depth > 0 && strlen(stack[depth - 1]) == length);
            assert_memory_equal(stack[--depth], name, length);
        } else if (end[-1] != '/') {
            assert_true(depth < 16);
            snprintf(stack[depth++], 32, "%.*s", (int)length, name);
        }
        n += !closes;
        text = end + 1;
    }
    assert_int_equal(depth, 0);
    return n;
}

static int count_of(const char *text, const char *part)
{
    int n = 0;
    for (const char *at = strstr(text, part); at; at = strstr(at + 1, part)) n++;
    return n;
}

static void check_svg(const splat_profile *profile, int n_areas)
{
    uint8_t *data;
    size_t size;
    splat_error error;
    must(splat_profile_write_svg(profile, "timeline.svg", &error), &error);
    must(splat_file_read("timeline.svg", &data, &size, &error), &error);
    const char *text = (const char *)data;
    assert_int_equal(strlen(text), size);
    assert_true(check_xml(strchr(text, '\n') + 1) > 20); /* behind <?xml ... ?> */
    assert_int_equal(count_of(text, "<polygon"), n_areas);
    assert_int_equal(count_of(text, "stroke-width=\"2\" d="), 1); /* the driver's figure */
    assert_null(strstr(text, "nan"));
    assert_null(strstr(text, "inf"));
    assert_true(size < 200000); /* however long the run was */
    free(data);
}

static void test_timeline(void **state)
{
    (void)state;
    splat_profile *profile = made_profile(LEAK, 50, 2000);
    check_svg(profile, 4);
    splat_error error;
    assert_int_equal(splat_profile_write_svg(profile, "nowhere/timeline.svg", &error), SPLAT_ERROR_IO);
    splat_profile_free(profile);
    profile = made_profile(NEW_BLOCKS, 50, 50); /* one sample, no extra block yet */
    check_svg(profile, 4);
    splat_profile_free(profile);
    profile = made_profile(NO_LEAK, 1, 5000);
    check_svg(profile, 4);
    splat_profile_free(profile);
}

/* ---------------------------------------------------------------- the command */

static void test_command(void **state)
{
    (void)state;
    const char *binary = getenv("SPLATSMITH_BINARY");
    char command[1024], text[8192];
    splat_profile_free(made_profile(LEAK, 50, 2000));
    snprintf(command, sizeof command, "%s help profile > help.txt 2>&1", binary ? binary : "false");
    if (system(command) != 0) {
        print_message("SKIPPED: the program has no command 'profile', or SPLATSMITH_BINARY is not set\n");
        skip();
    }
    snprintf(command, sizeof command, "%s profile made.jsonl --svg command.svg > report.txt 2>&1", binary);
    assert_int_equal(system(command), 0);
    FILE *file = fopen("report.txt", "r");
    assert_non_null(file);
    text[fread(text, 1, sizeof text - 1, file)] = '\0';
    fclose(file);
    static const char *const parts[] = {"40 samples, iterations 50 to 2000", "GROWS 976.6 KB per 1000 steps",
                                        "'frame' (activations)", "Fragmentation", "--sh_offload", "command.svg"};
    for (size_t i = 0; i < sizeof parts / sizeof parts[0]; i++)
        if (!strstr(text, parts[i])) fail_msg("'%s' is not in:\n%s", parts[i], text);
    snprintf(command, sizeof command, "%s profile broken.jsonl > report.txt 2>&1", binary);
    read_text(HEADER LINE("1") LINE("1"), SPLAT_ERROR_FORMAT, 3, "not in order");
    assert_int_equal(WEXITSTATUS(system(command)), 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_sums_are_exact_at_every_step),
        cmocka_unit_test(test_types_follow_the_storage),
        cmocka_unit_test(test_files_of_a_run),
        cmocka_unit_test(test_snapshots_alone_make_no_other_file),
        cmocka_unit_test(test_a_full_disk_is_told_once),
        cmocka_unit_test(test_flat_runs),
        cmocka_unit_test(test_leaks),
        cmocka_unit_test(test_too_few_samples_are_not_judged),
        cmocka_unit_test(test_peaks_and_savings),
        cmocka_unit_test(test_broken_files),
        cmocka_unit_test(test_wrong_bytes),
        cmocka_unit_test(test_every_cut_is_an_error_or_a_shorter_profile),
        cmocka_unit_test(test_latest_is_the_newest),
        cmocka_unit_test(test_timeline),
        cmocka_unit_test(test_command),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
