/* The memory profiler: exact sums on a real trainer, its files and curves. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include "base/file.h"
#include "event_reader.h"
#include "io/json.h"
#include "report/profile/profile.h"
#include "report/profile/profile_read.h"
#include "run/memory_profiler.h"
#include "trainer_fixture.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

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
    splat_context_get_memory(context, &memory);
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
        must(splat_memory_snapshot_take(&snapshot, f.trainer->backend, &error), &error);
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
    must(splat_memory_snapshot_take(&snapshot, f.trainer->backend, &error), &error);
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
    int n_samples, total_tensors, n_large, n_largest;
    double allocated, reserved, fragmentation, categories, types;
    enum { NO_SECTION, CATEGORIES, TYPES, LARGEST } section;
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
    } else if (strncmp(line, "Largest Tensors:", 16) == 0) {
        p->section = LARGEST;
        p->n_largest = 0;
    } else if (p->section == LARGEST) {
        p->n_largest += sscanf(line, " %63[^:]: %lf MB (", name, &size) == 2;
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
    assert_int_equal(p.n_largest, 5);
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
    assert_string_equal(profile->savings[0].option, "`optimizer_storage quantized`");
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
    must(splat_tensorboard_open(RUN, 1e9, SPLAT_TENSORBOARD_BESIDE, &writer, &error), &error);
    must(splat_memory_profiler_open(RUN, &options, f.trainer, &profiler, &error), &error);
    for (int i = 0; i < 23; i++) {
        run_steps(f.trainer, 1);
        profile_step(profiler, f.trainer, writer);
    }
    splat_context_get_memory(f.context, &memory);
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
        profile_step(profiler, f.trainer, NULL);
    }
    profile_step(NULL, f.trainer, NULL);
    must(splat_folder_list(RUN "/profiles", &names, &n, &error), &error);
    assert_int_equal(n, 1);
    assert_string_equal(names[0], "memory_snapshot_2.json");
    splat_names_free(names, n);
    splat_memory_profiler_close(profiler);
    close_fixture(&f);
}

/* A full disk, which a limit on the size of files stands for: reported once a file, and the run goes on. */
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
        profile_step(profiler, f.trainer, NULL);
    }
    setrlimit(RLIMIT_FSIZE, &before);
    assert_int_equal(f.n_warnings, 2);
    assert_non_null(strstr(f.warning, "cannot be written"));
    assert_int_equal(f.trainer->iteration, 12);
    splat_memory_profiler_close(profiler);
    close_fixture(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_sums_are_exact_at_every_step),
        cmocka_unit_test(test_types_follow_the_storage),
        cmocka_unit_test(test_files_of_a_run),
        cmocka_unit_test(test_snapshots_alone_make_no_other_file),
        cmocka_unit_test(test_a_full_disk_is_told_once),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
