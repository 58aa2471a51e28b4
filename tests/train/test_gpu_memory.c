/* Memory on a GPU: storages, bands and limits, compared with the CPU; evaluation; missing memory; handles. Without a
 * GPU every test prints that it is skipped; `test_gpu_memory cpu` tries the tests with the CPU in the GPU's place. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include "base/file.h"
#include "gpu_fixture.h"
#include "train/memory/give_up.h"
#include "view_job_fixture.h"

#include <dirent.h>
#include <math.h>

/* ---------------------------------------------------------------- evaluation, and memory that is missing */

static size_t peak_of(const place *p)
{
    splat_memory_info memory;
    splat_context_get_memory(p->context, &memory);
    return memory.peak_bytes;
}

/* Evaluates every view; the peak while it did. */
static size_t evaluation_peak(const place *p, splat_model *model)
{
    splat_memory *memory = &p->context->backend->memory;
    splat_metrics mean;
    splat_error error;
    memory->device.peak_reserved = memory->device.reserved;
    for (int set = SPLAT_VIEWS_TRAIN; set <= SPLAT_VIEWS_TEST; set++)
        must(evaluate_set(model, p->scene, (splat_view_set)set, true, &mean, &error), &error);
    return memory->device.peak_reserved;
}

static void evaluation_needs_no_more_memory_than_training(void **state)
{
    (void)state;
    NEEDS_DEVICE();
    place p = open_place(device, false);
    splat_train_options o = busy_options(60);
    splat_error error;
    splat_memory_info memory;
    splat_model *loaded;
    splat_trainer *trainer = make_trainer(&p, &o);
    run_steps(trainer, 40);
    size_t training = peak_of(&p), during = evaluation_peak(&p, splat_trainer_get_model(trainer));
    must(splat_model_save(splat_trainer_get_model(trainer), "memory.ply", NULL, &error), &error);
    splat_trainer_destroy(trainer);
    splat_context_get_memory(p.context, &memory);
    assert_int_equal(memory.bytes, p.bytes);

    must(splat_model_load(p.context, "memory.ply", &loaded, &error), &error);
    size_t alone = evaluation_peak(&p, loaded);
    print_message("peak bytes: training %zu, evaluation in the run %zu, of the file %zu\n", training, during, alone);
    assert_true(during <= training);
    assert_true(alone < training);
    splat_model_destroy(loaded);
    close_place(&p);
}

static size_t device_bytes(void)
{
    splat_device_info info;
    size_t n;
    if (strcmp(device, "cuda") != 0 || splat_device_list(&info, 1, &n, NULL) != SPLAT_OK) return 0;
    return info.total_bytes;
}

/* A picture of 65536 x 65536 needs 80 GiB and more, which some cards have: all but 64 GiB is taken away first. */
static void refuse_a_picture(const place *p, splat_model *model, size_t total)
{
    splat_backend *backend = p->context->backend;
    splat_block ballast = {0};
    splat_error error;
    splat_camera camera = camera_of(p, 0);
    const float background[3] = {0};
    const size_t kept = (size_t)64 << 30;
    camera.width = camera.height = 65536;
    for (size_t bytes = total > kept ? total - kept : 0; bytes; bytes /= 2)
        if (splat_block_resize(backend, &ballast, "ballast", SPLAT_OWNER_OTHER, bytes, &error) == SPLAT_OK) break;
    float untouched = 0; /* the refusal comes before the first pixel */
    assert_int_equal(splat_model_render(model, &camera, background, &untouched, &error), SPLAT_ERROR_MEMORY);
    print_message("%s\n", error.message);
    assert_non_null(strstr(error.message, "block 'frame'"));
    assert_non_null(strstr(error.message, " bytes wanted"));
    splat_block_free(backend, &ballast);
}

/* Means fit, harmonics do not: what was taken for the means goes back. */
static void refuse_a_model(const place *p, size_t total)
{
    splat_model *model;
    splat_error error;
    splat_memory_info before, after;
    splat_context_get_memory(p->context, &before);
    must(splat_model_create(p->context, 3, SPLAT_SH_FLOAT32, SPLAT_ON_DEVICE, &model, &error), &error);
    assert_int_equal(splat_model_resize(model, (uint32_t)(total / 150), &error), SPLAT_ERROR_MEMORY);
    print_message("%s\n", error.message);
    assert_non_null(strstr(error.message, "block 'sh_rest'"));
    assert_int_equal(model->gaussians.n, 0);
    splat_context_get_memory(p->context, &after);
    assert_int_equal(after.bytes, before.bytes);
    assert_int_equal(after.n_blocks, before.n_blocks);
    splat_model_destroy(model);
}

static void memory_that_is_not_there_is_an_error(void **state)
{
    (void)state;
    NEEDS_DEVICE();
    place p = open_place(device, true);
    splat_train_options o = busy_options(60);
    splat_error error;
    splat_block absurd = {0};
    splat_trainer *trainer = make_trainer(&p, &o);
    run_steps(trainer, 20);
    splat_camera camera = camera_of(&p, 0);
    float *before = render(splat_trainer_get_model(trainer), &camera);

    assert_int_equal(splat_block_resize(p.context->backend, &absurd, "absurd", SPLAT_OWNER_OTHER, (size_t)1 << 62,
                                        &error), SPLAT_ERROR_MEMORY);
    print_message("%s\n", error.message);
    assert_non_null(strstr(error.message, "block 'absurd'"));
    assert_true(absurd.reserved == 0 && absurd.bytes == 0 && absurd.data == NULL);
    size_t total = device_bytes();
    if (total) { /* what a host refuses depends on its settings */
        refuse_a_picture(&p, splat_trainer_get_model(trainer), total);
        refuse_a_model(&p, total);
    }

    float *after = render(splat_trainer_get_model(trainer), &camera);
    assert_memory_equal(before, after, 3 * WIDTH * HEIGHT * sizeof *before);
    free(before);
    free(after);
    assert_true(isfinite(run_steps(trainer, 20).loss)); /* and training goes on, density control included */
    splat_trainer_destroy(trainer);
    close_place(&p);
}

/* ---------------------------------------------------------------- uploads ahead of the work */

#define AHEAD_BYTES ((size_t)32 << 20)
#define AHEAD_COPIES 40 /* work in flight that a copy could overtake */

/* Slots 1, 0, 0, 1: where the turn is broken, as by a step that was left out, the work that reads the slot still sees
 * what was uploaded for it. */
static void uploads_ahead_wait_for_the_work_that_reads_their_slot(void **state)
{
    (void)state;
    NEEDS_DEVICE();
    static const int slots[] = {1, 0, 0, 1};
    place p = open_place(device, false);
    splat_backend *b = p.context->backend;
    splat_block blocks[7] = {{0}}; /* of the slots; one for each call; one more */
    splat_error error;
    uint8_t *host = malloc(AHEAD_BYTES);
    assert_non_null(host);
    for (int i = 0; i < 7; i++)
        must(splat_block_resize(b, &blocks[i], "ahead", SPLAT_OWNER_OTHER, AHEAD_BYTES, &error), &error);
    must(splat_backend_synchronize(b, &error), &error);
    for (int call = 0; call < 4; call++) {
        void *data = blocks[slots[call]].data;
        memset(host, call + 1, AHEAD_BYTES);
        must(splat_backend_upload_ahead(b, slots[call], data, host, AHEAD_BYTES, &error), &error);
        for (int i = 0; i < AHEAD_COPIES; i++)
            must(splat_backend_copy(b, blocks[6].data, blocks[2 + call].data, AHEAD_BYTES, &error), &error);
        must(splat_backend_copy(b, blocks[2 + call].data, data, AHEAD_BYTES, &error), &error);
    }
    for (int call = 0; call < 4; call++) {
        must(splat_backend_download(b, host, blocks[2 + call].data, AHEAD_BYTES, &error), &error);
        for (size_t i = 0; i < AHEAD_BYTES; i++)
            if (host[i] != call + 1) fail_msg("call %d: byte %zu is %d", call + 1, i, host[i]);
    }
    for (int i = 0; i < 7; i++) splat_block_free(b, &blocks[i]);
    free(host);
    close_place(&p);
}

/* ---------------------------------------------------------------- storages and bands */

#define N_STEPS 30

typedef struct variant {
    const char *name;
    splat_sh_storage sh;
    splat_optimizer_storage optimizer;
    bool offload;
    uint64_t max_instances;
    float tolerance; /* of the losses against the CPU's */
} variant;

/* Rounding is the same on both, but a value that differs in its last bit may round the other way: a step of 16-bit SH
 * is 1e-3 of a value, which a picture's loss hardly shows. */
static const variant variants[] = {
    {"float32", SPLAT_SH_FLOAT32, SPLAT_OPTIMIZER_FLOAT32, false, 0, 1e-3f},
    {"16-bit SH", SPLAT_SH_FLOAT16, SPLAT_OPTIMIZER_FLOAT32, false, 0, 2e-3f},
    {"quantized", SPLAT_SH_FLOAT32, SPLAT_OPTIMIZER_QUANTIZED, false, 0, 5e-3f},
    {"both", SPLAT_SH_FLOAT16, SPLAT_OPTIMIZER_QUANTIZED, false, 0, 5e-3f},
    {"offload", SPLAT_SH_FLOAT32, SPLAT_OPTIMIZER_FLOAT32, true, 0, 1e-3f},
    {"all", SPLAT_SH_FLOAT16, SPLAT_OPTIMIZER_QUANTIZED, true, 1500, 5e-3f},
    {"bands", SPLAT_SH_FLOAT32, SPLAT_OPTIMIZER_FLOAT32, false, 1500, 1e-3f},
};
#define N_VARIANTS (sizeof variants / sizeof variants[0])

static splat_train_options options_of(const variant *v)
{
    splat_train_options o = late_options(N_STEPS + 1);
    o.sh_storage = v->sh;
    o.optimizer_storage = v->optimizer;
    o.sh_offload = v->offload;
    o.max_instances = v->max_instances;
    o.densify_until_iter = LATE + 25;
    return o;
}

static void losses_of(const char *backend, const variant *v, float losses[N_STEPS])
{
    place p = open_place(backend, true);
    int late = splat_backend_result_latency(p.context->backend);
    splat_train_options o = options_of(v);
    splat_trainer *trainer = make_trainer(&p, &o);
    trainer->iteration = LATE;
    for (int i = 0; i < N_STEPS + late; i++) {
        float loss = run_steps(trainer, 1).loss;
        if (i >= late) losses[i - late] = loss;
    }
    splat_trainer_destroy(trainer);
    close_place(&p);
}

static void every_storage_trains_as_on_the_cpu(void **state)
{
    (void)state;
    NEEDS_DEVICE();
    for (size_t k = 0; k < N_VARIANTS; k++) {
        float wanted[N_STEPS], losses[N_STEPS];
        losses_of("cpu", &variants[k], wanted);
        losses_of(device, &variants[k], losses);
        for (int i = 0; i < 10; i++) /* then density control decides by counts that may differ by one */
            if (!(fabsf(losses[i] - wanted[i]) <= variants[k].tolerance * fabsf(wanted[i])))
                fail_msg("%s: loss %d is %.8f, on the CPU %.8f", variants[k].name, i + 1, (double)losses[i],
                         (double)wanted[i]);
        if (!(fabsf(losses[N_STEPS - 1] - wanted[N_STEPS - 1]) <= 0.05f * wanted[N_STEPS - 1]))
            fail_msg("%s: loss %d is %.8f, on the CPU %.8f", variants[k].name, N_STEPS, (double)losses[N_STEPS - 1],
                     (double)wanted[N_STEPS - 1]);
    }
}

static void every_storage_is_deterministic(void **state)
{
    (void)state;
    NEEDS_DEVICE();
    for (size_t k = 0; k < N_VARIANTS; k++) {
        place p = open_place(device, true);
        splat_train_options o = options_of(&variants[k]);
        splat_error error;
        splat_trainer *whole = make_trainer(&p, &o), *resumed = make_trainer(&p, &o);
        whole->iteration = LATE;
        run_steps(whole, 13);
        must(splat_trainer_save_checkpoint(whole, "storage.splatsmith", &error), &error);
        run_steps(whole, N_STEPS - 13);
        must(splat_trainer_load_checkpoint(resumed, "storage.splatsmith", &error), &error);
        run_steps(resumed, N_STEPS - 13);
        if (!same_models(splat_trainer_get_model(whole), splat_trainer_get_model(resumed)))
            fail_msg("%s: a resumed run is another one", variants[k].name);
        splat_trainer_destroy(whole);
        splat_trainer_destroy(resumed);
        close_place(&p);
    }
}

enum { GIVING = 6, STEPS_EACH = 4, N_GIVING = STEPS_EACH * (GIVING + 1) };

static splat_trainer *begin_giving(place *p, const char *backend)
{
    splat_error error;
    *p = open_place(backend, true);
    splat_train_options o = late_options(N_GIVING + 1);
    o.densify_until_iter = LATE + 15;
    o.may_give_up = SPLAT_GIVE_UP_ALL;
    must(splat_context_set_memory_limit(p->context, (size_t)8 << 30, &error), &error);
    return make_trainer(p, &o);
}

/* One thing more is given up after every few steps, from the first bit on; checkpoints before, where they have a name.
 * On a GPU a loss comes a step late: losses[i] is that of step i - 1. */
static void give_up_from(splat_trainer *t, int first, const char *names, float *losses)
{
    splat_error error;
    char path[64];
    for (int i = first; i <= GIVING; i++) {
        for (int k = 0; k < STEPS_EACH; k++) {
            float loss = run_steps(t, 1).loss;
            if (losses) losses[STEPS_EACH * i + k] = loss;
        }
        snprintf(path, sizeof path, names ? names : "", i);
        if (names) must(splat_trainer_save_checkpoint(t, path, &error), &error);
        if (i < GIVING) must(splat_give_up_as(t, 1u << i, 0, &error), &error);
    }
}

static void what_is_given_up_on_the_way(void **state)
{
    (void)state;
    NEEDS_DEVICE();
    float wanted[N_GIVING], losses[N_GIVING];
    place p, q;
    splat_error error;
    splat_trainer *whole = begin_giving(&p, "cpu");
    whole->iteration = LATE;
    give_up_from(whole, 0, NULL, wanted);
    splat_trainer_destroy(whole);
    close_place(&p);
    whole = begin_giving(&p, device);
    whole->iteration = LATE;
    int late = splat_backend_result_latency(p.context->backend);
    give_up_from(whole, 0, "giving%d.splatsmith", losses);
    assert_int_equal(splat_given_up(whole), SPLAT_GIVE_UP_ALL);
    assert_true(whole->model->gaussians.rest_on_host && whole->model->sh_storage == SPLAT_SH_FLOAT16);
    for (int i = late; i < N_GIVING; i++) { /* density control decides by counts that may differ by one */
        float a = wanted[i - late], tolerance = i < 12 ? 5e-3f : 0.05f;
        if (!(fabsf(losses[i] - a) <= tolerance * a))
            fail_msg("loss %d is %.8f, on the CPU %.8f", i + 1 - late, (double)losses[i], (double)a);
    }
    for (int i = 0; i < GIVING; i++) {
        char path[64];
        splat_trainer *resumed = begin_giving(&q, device);
        snprintf(path, sizeof path, "giving%d.splatsmith", i);
        must(splat_trainer_load_checkpoint(resumed, path, &error), &error);
        assert_int_equal(splat_given_up(resumed), (1u << i) - 1);
        must(splat_give_up_as(resumed, 1u << i, 0, &error), &error);
        give_up_from(resumed, i + 1, NULL, NULL);
        if (!same_models(splat_trainer_get_model(whole), splat_trainer_get_model(resumed)))
            fail_msg("resumed before %d: another run", i);
        splat_trainer_destroy(resumed);
        close_place(&q);
    }
    splat_trainer_destroy(whole);
    close_place(&p);
}

/* The named blocks, and on a GPU what the driver counts for the process, stay below any limit. */
static void a_limit_holds(void **state)
{
    (void)state;
    NEEDS_DEVICE();
    place p = open_place(device, false);
    splat_backend *b = p.context->backend;
    size_t overhead = splat_backend_overhead(b);
    int n_trained = 0, n_refused = 0;
    for (int i = 0; i < 12; i++) {
        splat_train_options wanted = busy_options(60);
        splat_plan_options options;
        splat_plan plan;
        splat_error error;
        wanted.densify_grad_threshold = 0.00002f;
        splat_plan_options_init(&options);
        splat_plan_init(&plan);
        options.limit_bytes = overhead + ((size_t)30 << 20) +
                              ((size_t)12 << 20) * (size_t)i; /* the context's late kernels, then granules */
        if (splat_plan_make(p.context, p.scene, &wanted, &options, &wanted, &plan, &error) != SPLAT_OK) {
            assert_int_equal(error.status, SPLAT_ERROR_MEMORY);
            n_refused++;
            continue;
        }
        b->memory.device.peak_reserved = b->memory.device.reserved;
        must(splat_context_set_memory_limit(p.context, options.limit_bytes, &error), &error);
        splat_trainer *trainer = make_trainer(&p, &wanted);
        run_steps(trainer, 60);
        size_t now = splat_backend_overhead(b);
        assert_true(b->memory.device.peak_reserved + now <= options.limit_bytes);
        splat_trainer_destroy(trainer);
        must(splat_context_set_memory_limit(p.context, 0, &error), &error);
        n_trained++;
    }
    print_message("%d limits refused, %d kept; the context holds %zu MiB\n", n_refused, n_trained, overhead >> 20);
    assert_true(n_trained >= 4);
    close_place(&p);
}

/* ---------------------------------------------------------------- handles */

static int open_handles(void)
{
    DIR *folder = opendir("/proc/self/fd");
    assert_non_null(folder);
    int n = 0;
    while (readdir(folder)) n++;
    closedir(folder);
    return n;
}

/* The first context may leave what the driver keeps for the process. */
static void contexts_leave_no_handles(void **state)
{
    (void)state;
    NEEDS_DEVICE();
    int first = 0;
    for (int i = 0; i < 4; i++) {
        splat_context_options options;
        splat_context *context;
        splat_error error;
        splat_context_options_init(&options);
        options.backend = device;
        must(splat_context_create(&options, &context, &error), &error);
        splat_context_destroy(context);
        if (i == 0) first = open_handles();
    }
    assert_int_equal(open_handles(), first);
}

int main(int argc, char **argv)
{
    find_device(argc, argv, "storages, limits and memory");
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(evaluation_needs_no_more_memory_than_training),
        cmocka_unit_test(memory_that_is_not_there_is_an_error),
        cmocka_unit_test(uploads_ahead_wait_for_the_work_that_reads_their_slot),
        cmocka_unit_test(every_storage_trains_as_on_the_cpu),
        cmocka_unit_test(every_storage_is_deterministic),
        cmocka_unit_test(what_is_given_up_on_the_way),
        cmocka_unit_test(a_limit_holds),
        cmocka_unit_test(contexts_leave_no_handles),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
