/* Writing under faults: every system call of every save fails once, with ENOSPC, with EIO, or writes short. The old
 * file stays, no temporary is left, the error names file and reason, no descriptor leaks; and what a run does when its
 * checkpoints cannot be written. The calls are replaced by the linker (--wrap, tests/CMakeLists.txt). */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include "bench/json.h"
#include "checkpoint_fixture.h"
#include "io/model_folder.h"
#include "io/picture/image_write.h"
#include "io/ply/ply_points.h"
#include "measure/contact_sheet.h"
#include "measure/results_json.h"
#include "mesh/files/mesh_io.h"
#include "report/page/run_page.h"
#include "run/cfg_args.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <time.h>
#include <unistd.h>

/* ---------------------------------------------------------------- the calls */

typedef enum fault { FAULT_NONE, FAULT_ENOSPC, FAULT_EIO, FAULT_SHORT, FAULT_EINTR, FAULT_SHORT_THEN_FULL } fault;

static struct {
    fault kind;
    int at, n;           /* the call that fails, 1 is the first; calls so far */
    bool writes_only;    /* count and fail write() only */
    bool every;          /* from `at` on every call fails */
    uint64_t free_bytes; /* what statvfs tells; 0: the truth */
} plan;

static void set_fault(fault kind, int at)
{
    memset(&plan, 0, sizeof plan);
    plan.kind = kind;
    plan.at = at;
    plan.writes_only = kind == FAULT_SHORT || kind == FAULT_EINTR || kind == FAULT_SHORT_THEN_FULL;
}

static bool is_now(bool is_write)
{
    if (plan.kind == FAULT_NONE || (plan.writes_only && !is_write)) return false;
    plan.n++;
    return plan.n == plan.at || (plan.every && plan.n > plan.at);
}

static int fail_with_errno(void)
{
    errno = plan.kind == FAULT_EIO ? EIO : plan.kind == FAULT_EINTR ? EINTR : ENOSPC;
    return -1;
}

ssize_t __real_write(int descriptor, const void *data, size_t size);
int __real_mkostemp(char *path, int flags);
int __real_fsync(int descriptor);
int __real_rename(const char *from, const char *to);
int __real_close(int descriptor);
int __real_statvfs(const char *path, struct statvfs *disk);
ssize_t __wrap_write(int descriptor, const void *data, size_t size);
int __wrap_mkostemp(char *path, int flags);
int __wrap_fsync(int descriptor);
int __wrap_rename(const char *from, const char *to);
int __wrap_close(int descriptor);
int __wrap_statvfs(const char *path, struct statvfs *disk);

static int saving = -1; /* the descriptor of the save in work */

ssize_t __wrap_write(int descriptor, const void *data, size_t size)
{
    static bool full;
    if (descriptor != saving) return __real_write(descriptor, data, size);
    bool now = is_now(true);
    if (full) {
        full = false;
        return fail_with_errno();
    }
    if (!now) return __real_write(descriptor, data, size);
    if (plan.kind != FAULT_SHORT && plan.kind != FAULT_SHORT_THEN_FULL) return fail_with_errno();
    full = plan.kind == FAULT_SHORT_THEN_FULL;
    return __real_write(descriptor, data, (size + 1) / 2);
}

int __wrap_mkostemp(char *path, int flags)
{
    if (is_now(false)) return fail_with_errno();
    return saving = __real_mkostemp(path, flags);
}

int __wrap_fsync(int descriptor)
{
    if (descriptor != saving) return __real_fsync(descriptor); /* the folder's: the file exists by then */
    return is_now(false) ? fail_with_errno() : 0; /* what it would flush is not in question here */
}

int __wrap_rename(const char *from, const char *to)
{
    return is_now(false) ? fail_with_errno() : __real_rename(from, to);
}

int __wrap_close(int descriptor)
{
    bool mine = descriptor == saving;
    if (mine) saving = -1;
    int result = __real_close(descriptor); /* Linux closes it whatever it returns */
    return mine && is_now(false) ? fail_with_errno() : result;
}

int __wrap_statvfs(const char *path, struct statvfs *disk)
{
    int result = __real_statvfs(path, disk);
    if (plan.free_bytes) disk->f_bavail = plan.free_bytes / disk->f_frsize;
    return result;
}

/* Files with a date are compared by their bytes. */
time_t __wrap_time(time_t *now);
time_t __wrap_time(time_t *now)
{
    if (now) *now = 1000000000;
    return 1000000000;
}

/* ---------------------------------------------------------------- the saves */

typedef struct subject {
    const char *name;
    splat_status (*save)(int version, splat_error *error); /* into "faults/", version 0 or 1 */
} subject;

static tiny_place place;
static splat_trainer *trainers[2]; /* another iteration each */

static splat_status save_checkpoint(int version, splat_error *error)
{
    return splat_trainer_save_checkpoint(trainers[version], "faults/chkpnt.splatsmith", error);
}

static splat_status save_splat(int version, splat_error *error)
{
    return splat_model_save(splat_trainer_get_model(trainers[version]), "faults/point_cloud.ply", NULL, error);
}

static splat_status save_fused(int version, splat_error *error)
{
    splat_save_options options;
    splat_save_options_init(&options);
    options.fused = true;
    return splat_model_save(splat_trainer_get_model(trainers[version]), "faults/point_cloud.ply", &options, error);
}

static splat_status save_points(int version, splat_error *error)
{
    const splat_dataset *dataset = &place.scene->dataset;
    size_t n = dataset->n_points - (size_t)version;
    return splat_ply_write_points("faults/input.ply", dataset->points, NULL, n, error);
}

static splat_status save_config(int version, splat_error *error)
{
    char source[] = "scene", model[] = "model", images[] = "images";
    splat_model_config config = {.model_path = model, .sh_degree = version,
                                 .scene = {.source_path = source, .images = images}};
    return splat_cfg_args_write("faults", &config, &(splat_train_options){0}, error);
}

static splat_status save_cameras(int version, splat_error *error)
{
    splat_camera_entry entries[2] = {{.name = "a", .width = 3 + version, .height = 2, .fx = 1, .fy = 1},
                                     {.name = "b", .width = 3, .height = 2, .fx = 1, .fy = 1}};
    return splat_cameras_json_write("faults", entries, 2, error);
}

static splat_status save_split(int version, splat_error *error)
{
    char a[] = "a.png", b[] = "b.png";
    char *names[2] = {a, b};
    splat_split split = {names, names + 1, 1, version ? 1 : 0};
    return splat_split_write("faults", &split, error);
}

static splat_status save_results(int version, splat_error *error)
{
    static const char *const names[] = {"00000.png"};
    splat_metrics metrics = {.l1 = 0.1 * version, .psnr = 20, .psnr_per_channel = 21, .ssim = 0.5, .n_views = 1};
    return splat_results_json_write("faults", "ours_1", &metrics, &metrics, names, 1, error);
}

static splat_status save_picture(int version, splat_error *error)
{
    static uint8_t pixels[3 * 200 * 200];
    for (size_t i = 0; i < sizeof pixels; i++) pixels[i] = (uint8_t)(i * i >> (8 + version)); /* more than a buffer */
    return splat_png_write("faults/00000.png", 200, 200, 3, 8, pixels, error);
}

static splat_status save_mesh(const char *path, int version, splat_error *error)
{
    splat_mesh mesh = {0};
    for (int i = 0; i < 3; i++) {
        const float position[3] = {(float)i, (float)(i * i), (float)version};
        must(splat_mesh_add_vertex(&mesh, position, NULL, error), error);
    }
    must(splat_mesh_add_face(&mesh, 0, 1, 2, error), error);
    splat_status status = splat_mesh_write(path, &mesh, error);
    splat_mesh_free(&mesh);
    return status;
}

static splat_status save_mesh_ply(int version, splat_error *error)
{
    return save_mesh("faults/mesh.ply", version, error);
}

static splat_status save_mesh_obj(int version, splat_error *error)
{
    return save_mesh("faults/mesh.obj", version, error);
}

static splat_status save_mesh_glb(int version, splat_error *error)
{
    return save_mesh("faults/mesh.glb", version, error);
}

static splat_status save_map(int version, splat_error *error)
{
    const float depths[6] = {1, 2, 3, 4, 5, (float)version};
    return splat_pfm_write("faults/00000.pfm", 3, 2, 1, depths, error);
}

static splat_status save_sheet(int version, splat_error *error)
{
    return splat_contact_sheet_write((splat_model *)splat_trainer_get_model(trainers[0]), place.scene,
                                     (size_t)version + 1, "faults/sheet.png", error);
}

static splat_status save_page(int version, splat_error *error)
{
    static const splat_run_history history;
    static const splat_run_pictures pictures;
    splat_run_page page = {.folder = "faults", .iteration = 10 + version, .n_gaussians = 5, .n_train = 3, .width = 4,
                           .height = 3, .mean_opacity = NAN, .history = &history, .pictures = &pictures};
    return splat_run_page_write(&page, error);
}

static splat_status save_bench(int version, splat_error *error)
{
    splat_bench_rows rows = {.mode = "data", .n_rows = 1, .rows = {{.name = "row", .n_together = 1}}, .width = version};
    return splat_bench_write_rows(place.context, place.scene, &rows, NULL, "faults/bench.json", error);
}

static const subject subjects[] = {
    {"mesh PLY", save_mesh_ply},     {"mesh OBJ", save_mesh_obj},   {"mesh GLB", save_mesh_glb},
    {"map", save_map},               {"contact sheet", save_sheet}, {"report.html", save_page},
    {"bench JSON", save_bench},
    {"checkpoint", save_checkpoint}, {"splat", save_splat},     {"fused splat", save_fused}, {"points", save_points},
    {"cfg_args", save_config},       {"cameras", save_cameras}, {"split", save_split},       {"results", save_results},
    {"picture", save_picture},
};

/* ---------------------------------------------------------------- what is in the folder */

#define MAX_FILES 4
typedef struct content {
    size_t n;
    char names[MAX_FILES][64];
    uint8_t *data[MAX_FILES];
    size_t sizes[MAX_FILES];
} content;

static content read_content(void)
{
    content c = {0};
    char **names;
    splat_error error;
    must(splat_folder_list("faults", &names, &c.n, &error), &error);
    assert_true(c.n <= MAX_FILES);
    for (size_t i = 0; i < c.n; i++) {
        char *path = splat_format("faults/%s", names[i]);
        snprintf(c.names[i], sizeof c.names[i], "%s", names[i]);
        must(splat_file_read(path, &c.data[i], &c.sizes[i], &error), &error);
        free(path);
    }
    splat_names_free(names, c.n);
    return c;
}

static bool same_file(const content *a, const content *b, size_t i)
{
    return strcmp(a->names[i], b->names[i]) == 0 && a->sizes[i] == b->sizes[i] &&
           memcmp(a->data[i], b->data[i], a->sizes[i]) == 0;
}

static void free_content(content *c)
{
    for (size_t i = 0; i < c->n; i++) free(c->data[i]);
}

static int open_descriptors(void)
{
    int n = 0;
    DIR *folder = opendir("/proc/self/fd");
    while (readdir(folder)) n++;
    closedir(folder);
    return n;
}

/* ---------------------------------------------------------------- the test */

/* Fails call after call until none is left to fail. Returns how many there were. */
static int fail_each_call(const subject *s, fault kind, const content *old, const content *new)
{
    splat_error error;
    for (int at = 1;; at++) {
        int before = open_descriptors();
        set_fault(kind, at);
        memset(&error, 0, sizeof error);
        splat_status status = s->save(1, &error);
        int n = plan.n;
        set_fault(FAULT_NONE, 0);
        content now = read_content();
        assert_int_equal(open_descriptors(), before);
        assert_int_equal(now.n, old->n); /* no temporary */
        bool harmless = kind == FAULT_SHORT || kind == FAULT_EINTR || n < at;
        if (status != SPLAT_OK && harmless) fail_msg("%s, call %d, fault %d: %s", s->name, at, kind, error.message);
        if (status == SPLAT_OK && !harmless) fail_msg("%s, call %d, fault %d: no error", s->name, at, kind);
        for (size_t i = 0; i < now.n; i++)
            if (!same_file(&now, new, i) && (harmless || !same_file(&now, old, i)))
                fail_msg("%s, call %d, fault %d: %s is neither old nor new", s->name, at, kind, now.names[i]);
        if (!harmless) {
            assert_int_equal(status, SPLAT_ERROR_IO);
            assert_true(strncmp(error.file, "faults/", 7) == 0);
            const char *reason = kind == FAULT_EIO ? "Input/output error" : "No space left on device";
            assert_non_null(strstr(error.message, reason));
            assert_true(old->n > 1 || same_file(&now, old, 0)); /* results are two files: the first may be new */
        }
        free_content(&now);
        must(s->save(0, &error), &error);
        if (n < at) return at - 1;
    }
}

static void every_write_may_fail(void **state)
{
    (void)state;
    splat_error error;
    for (size_t i = 0; i < sizeof subjects / sizeof subjects[0]; i++) {
        const subject *s = &subjects[i];
        int n_calls[6] = {0};
        splat_folder_delete("faults", NULL);
        must(splat_folder_create("faults", &error), &error);
        must(s->save(1, &error), &error);
        content new = read_content();
        must(s->save(0, &error), &error);
        content old = read_content();
        assert_false(same_file(&old, &new, 0));
        for (int kind = FAULT_ENOSPC; kind <= FAULT_SHORT_THEN_FULL; kind++)
            n_calls[kind] = fail_each_call(s, (fault)kind, &old, &new);
        print_message("%s: %d calls, %d of them writes\n", s->name, n_calls[FAULT_ENOSPC], n_calls[FAULT_EINTR]);
        assert_true(n_calls[FAULT_ENOSPC] >= 5); /* create, write, fsync, close, rename */
        free_content(&new);
        free_content(&old);
    }
}

static void room_is_looked_at_first(void **state)
{
    (void)state;
    splat_error error;
    splat_folder_delete("faults", NULL);
    must(splat_folder_create("faults", &error), &error);
    must(save_checkpoint(0, &error), &error);
    content old = read_content();
    set_fault(FAULT_ENOSPC, 1 << 20);
    plan.free_bytes = 16000000;
    assert_int_equal(save_checkpoint(1, &error), SPLAT_ERROR_IO);
    assert_int_equal(plan.n, 0); /* nothing was begun */
    set_fault(FAULT_NONE, 0);
    assert_non_null(strstr(error.message, "MB free"));
    assert_string_equal(error.file, "faults/chkpnt.splatsmith");
    content now = read_content();
    assert_true(now.n == 1 && same_file(&now, &old, 0));
    free_content(&now);
    free_content(&old);
}

/* ---------------------------------------------------------------- a run on a full disk */

static int fail_from, fail_until; /* iterations in which checkpoints fail */

static void on_event(void *user, const splat_event *event)
{
    (void)user;
    if (event->kind != SPLAT_EVENT_STEP) return;
    int iteration = event->step->iteration;
    set_fault(FAULT_NONE, 0);
    if (iteration < fail_from || iteration > fail_until) return;
    set_fault(FAULT_ENOSPC, 3);
    plan.every = false; /* one file a step: the splat of the end is written after it */
}

static splat_status run_with_failures(int from, int until, splat_error *error)
{
    splat_run_options run;
    splat_run_options_init(&run);
    run.model_path = "full";
    run.checkpoint_interval = 5;
    run.event = on_event;
    fail_from = from;
    fail_until = until;
    splat_folder_delete("full", NULL);
    place.log->text[0] = '\0';
    splat_train_options o = tiny_options(30);
    splat_trainer *t = tiny_trainer(&place, &o);
    splat_status status = splat_trainer_run(t, &run, error);
    set_fault(FAULT_NONE, 0);
    splat_trainer_destroy(t);
    return status;
}

static void one_failure_is_a_warning(void **state)
{
    (void)state;
    splat_error error;
    must(run_with_failures(15, 15, &error), &error);
    assert_non_null(strstr(place.log->text, "iteration 15: no checkpoint was written"));
    assert_non_null(strstr(place.log->text, "No space left on device"));
    assert_true(splat_path_exists("full/chkpnt25.splatsmith") && splat_path_exists("full/chkpnt30.splatsmith"));
    assert_true(splat_path_exists("full/point_cloud/iteration_30/point_cloud.ply"));
}

static void the_second_failure_ends_the_run(void **state)
{
    (void)state;
    splat_error error;
    assert_int_equal(run_with_failures(15, 20, &error), SPLAT_ERROR_CHECKPOINT);
    assert_string_equal(splat_status_name(SPLAT_ERROR_CHECKPOINT), "checkpoint");
    assert_non_null(strstr(error.message, "after iteration 20"));
    assert_non_null(strstr(error.message, "No space left on device"));
    assert_string_equal(error.file, "full/chkpnt20.splatsmith");
    /* the last good ones stay, and the splat is saved */
    assert_true(splat_path_exists("full/chkpnt5.splatsmith") && splat_path_exists("full/chkpnt10.splatsmith"));
    assert_true(splat_path_exists("full/point_cloud/iteration_20/point_cloud.ply"));
    assert_int_equal(splat_temporaries_delete("full"), 0);
}

/* The splat of --save_iterations cannot be written: the run ends, with a checkpoint. */
static void a_splat_that_fails_leaves_a_checkpoint(void **state)
{
    (void)state;
    splat_error error;
    splat_run_options run;
    static const int saves[] = {12};
    splat_run_options_init(&run);
    run.model_path = "full";
    run.save_iterations = saves;
    run.n_save_iterations = 1;
    run.event = on_event;
    fail_from = fail_until = 12;
    splat_folder_delete("full", NULL);
    splat_train_options o = tiny_options(30);
    splat_trainer *t = tiny_trainer(&place, &o);
    assert_int_equal(splat_trainer_run(t, &run, &error), SPLAT_ERROR_IO);
    set_fault(FAULT_NONE, 0);
    assert_string_equal(error.file, "full/point_cloud/iteration_12/point_cloud.ply");
    assert_true(splat_path_exists("full/chkpnt12.splatsmith"));
    splat_trainer_destroy(t);
}

/* The error comes before the first step, not after the last. */
static void a_full_disk_is_seen_before_training(void **state)
{
    (void)state;
    splat_error error;
    splat_run_options run;
    splat_run_options_init(&run);
    run.model_path = "full";
    splat_folder_delete("full", NULL);
    splat_train_options o = tiny_options(30);
    splat_trainer *t = tiny_trainer(&place, &o);
    set_fault(FAULT_NONE, 0);
    plan.free_bytes = 16000000;
    assert_int_equal(splat_trainer_run(t, &run, &error), SPLAT_ERROR_IO);
    plan.free_bytes = 0;
    assert_non_null(strstr(error.message, "make room"));
    assert_int_equal(splat_trainer_get_iteration(t), 0);
    must(splat_trainer_run(t, &run, &error), &error);
    splat_trainer_destroy(t);
}

static int set_up(void **state)
{
    (void)state;
    place = open_tiny(1);
    splat_train_options o = tiny_options(60);
    o.sh_degree = 1;
    for (int i = 0; i < 2; i++) {
        trainers[i] = tiny_trainer(&place, &o);
        run_steps(trainers[i], 3 + i);
    }
    return 0;
}

/* A rename would put a file where a device or a pipe was; root's saves could do that to /dev/null. */
static void what_is_no_file_is_not_replaced(void **state)
{
    (void)state;
    splat_error error;
    struct stat status;
    char text[16] = "";
    set_fault(FAULT_NONE, 0);
    unlink("pipe");
    assert_int_equal(mkfifo("pipe", 0600), 0);
    int reader = open("pipe", O_RDWR | O_NONBLOCK | O_CLOEXEC);
    assert_true(reader >= 0);
    if (splat_file_write("pipe", "hello", 5, &error) != SPLAT_OK) fail_msg("%s", error.message);
    assert_true(stat("pipe", &status) == 0 && S_ISFIFO(status.st_mode));
    assert_int_equal(read(reader, text, sizeof text), 5);
    assert_string_equal(text, "hello");
    close(reader);
    if (stat("/dev/full", &status) != 0 || !S_ISCHR(status.st_mode)) return;
    unlink("full_link");
    assert_int_equal(symlink("/dev/full", "full_link"), 0); /* were it replaced, the link would be */
    assert_int_equal(splat_file_write("full_link", "hello", 5, &error), SPLAT_ERROR_IO);
    assert_string_equal(error.message, "cannot write the file: No space left on device");
    assert_true(lstat("full_link", &status) == 0 && S_ISLNK(status.st_mode));
    unlink("full_link");
}

static int tear_down(void **state)
{
    (void)state;
    for (int i = 0; i < 2; i++) splat_trainer_destroy(trainers[i]);
    close_tiny(&place);
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_write_may_fail),
        cmocka_unit_test(room_is_looked_at_first),
        cmocka_unit_test(one_failure_is_a_warning),
        cmocka_unit_test(the_second_failure_ends_the_run),
        cmocka_unit_test(a_splat_that_fails_leaves_a_checkpoint),
        cmocka_unit_test(a_full_disk_is_seen_before_training),
        cmocka_unit_test(what_is_no_file_is_not_replaced),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
