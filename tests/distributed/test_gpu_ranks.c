/* Ranks on GPUs: the losses of ranks on the CPU, checkpoints that either opens, and failures of one that end all. Needs
 * two GPUs. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "coarse_fixture.h"
#include "gpu_ranks_fixture.h"

#include "model/files.h"
#include "train/ranks/host_rows.h"

#include <math.h>

static shared_run make_gpu_batches(const splat_train_options *options, int n_steps)
{
    shared_run run = make_run(options, n_steps);
    run.backend = "cuda";
    return run;
}

static void losses_are_those_of_the_cpu(void **state)
{
    (void)state;
    NEEDS_GPUS();
    splat_train_options o = tiny_options(60);
    batches_are_those_of_the_cpu(make_run(&o, 40));
}

/* Losses of a GPU come a batch late. Views in another order alone would move the mean of forty by 3 % (on the CPU, over
 * twenty models that differ in the last bits), so they are in the CPU's. */
static void growth_is_that_of_the_cpu(void **state)
{
    (void)state;
    NEEDS_GPUS();
    splat_train_options o = tiny_options(200);
    shared_run host = make_run(&o, 200), device = make_gpu_batches(&o, 200);
    device.deterministic = true;
    run_well(&host, n_gpus);
    run_well(&device, n_gpus);
    const double a = mean_loss(&host, 160, 200), b = mean_loss(&device, 160, 200);
    if (fabs(a - b) > 0.03 * a) fail_msg("the mean loss is %g, not %g", b, a);
}

static void checkpoints_go_between_gpus_and_the_cpu(void **state)
{
    (void)state;
    NEEDS_GPUS();
    splat_train_options o = tiny_options(120);
    shared_run first = make_gpu_batches(&o, 40), rest = make_run(&o, 40), back = rest;
    first.to = rest.from = "gpus.splatsmith";
    rest.to = back.from = "cpu.splatsmith";
    back.backend = "cuda";
    shared_run host = rest;
    run_well(&first, 2);
    run_well(&rest, 3);
    host.from = back.from;
    host.to = NULL;
    run_well(&host, 2);
    run_well(&back, 2);
    const double a = mean_loss(&host, 0, 30), b = mean_loss(&back, 2, 32);
    if (fabs(a - b) > 0.03 * a) fail_msg("the mean loss is %g, not %g", b, a);
}

/* A value that differs in its last bit may round the other way (tests/train/test_gpu_memory.c). */
static void small_storages_are_those_of_the_cpu(void **state)
{
    (void)state;
    NEEDS_GPUS();
    for (int which = 1; which < N_STORAGES; which++) {
        splat_train_options o = late_options(60);
        o.densify_from_iter = LATE + 40;
        set_storages(&o, which);
        shared_run host = make_run(&o, 30), device = make_gpu_batches(&o, 30);
        device.deterministic = true;
        host.spoil = device.spoil = start_late;
        run_well(&host, 2);
        run_well(&device, 2);
        for (int b = 0; host.iterations[b + 1] <= LATE + 24; b++) {
            const int at = host.iterations[b] - LATE;
            const float late = device.losses[at], loss = host.losses[at - 1];
            assert_int_equal(device.iterations[b], host.iterations[b]);
            if (fabsf(late - loss) > 5e-3f * loss)
                fail_msg("storage %d: the loss of batch %d is %g, not %g", which, b + 1, (double)late, (double)loss);
        }
    }
}

static void small_storages_resume(void **state)
{
    (void)state;
    NEEDS_GPUS();
    small_storages_go_on("cuda", 2);
}

/* ---------------------------------------------------------------- coarse training */

/* Opacities are parted, the transparent go at 130, then the losses of the surface. */
static shared_run make_coarse(splat_regularization mode)
{
    make_splat_of(open_tiny, 600);
    splat_train_options o = coarse_options(mode, 130, 190);
    o.coarse.n_samples = 2000;
    o.coarse.neighbor_interval = 25;
    shared_run run = make_run(&o, 90);
    run.splat = SPLAT;
    run.deterministic = true;
    return run;
}

static void coarse_losses_are_those_of_the_cpu(void **state)
{
    (void)state;
    NEEDS_GPUS();
    static const splat_regularization modes[] = {SPLAT_REGULARIZE_DN_CONSISTENCY, SPLAT_REGULARIZE_SDF,
                                                 SPLAT_REGULARIZE_MULTIVIEW};
    for (int i = 0; i < 3; i++) {
        shared_run host = make_coarse(modes[i]), device = host;
        device.backend = "cuda";
        run_well(&host, n_gpus);
        run_well(&device, n_gpus);
        for (int b = 0; host.iterations[b + 1] <= FIRST + 20; b++) {
            const int at = host.iterations[b] - FIRST;
            const float late = device.losses[at], loss = host.losses[at - 1];
            if (fabsf(late - loss) > 2e-3f * loss)
                fail_msg("case %d: the loss of batch %d is %g, not %g", i, b + 1, (double)late, (double)loss);
        }
        const double a = mean_loss(&host, 50, 80), b = mean_loss(&device, 50 + n_gpus, 80 + n_gpus);
        if (fabs(a - b) > 0.02 * a) fail_msg("case %d: the mean loss is %g, not %g", i, b, a);
    }
}

/* Deterministic: a checkpoint among the losses of the surface goes on bit for bit. */
static void coarse_batches_go_on(void **state)
{
    (void)state;
    NEEDS_GPUS();
    shared_run whole = make_coarse(SPLAT_REGULARIZE_DN_CONSISTENCY), first = whole, rest = whole;
    whole.backend = first.backend = rest.backend = "cuda";
    first.n_steps = 60;
    rest.n_steps = 30;
    whole.to = "whole.splatsmith";
    first.to = rest.from = "begun.splatsmith";
    rest.to = "part.splatsmith";
    rest.splat = NULL;
    run_well(&whole, 2);
    run_well(&first, 2);
    run_well(&rest, 2);
    assert_true(same_checkpoints("whole.splatsmith", "part.splatsmith"));
}

static void a_gpu_without_memory_ends_all(void **state)
{
    (void)state;
    NEEDS_GPUS();
    splat_train_options o = tiny_options(60);
    ends_without_memory(make_gpu_batches(&o, 60), 2);
}

static void a_broken_loss_ends_all(void **state)
{
    (void)state;
    NEEDS_GPUS();
    splat_train_options o = tiny_options(60);
    ends_by_a_broken_loss(make_gpu_batches(&o, 60), 2);
}

/* ---------------------------------------------------------------- what is done while the rows are apart */

typedef struct both_ways {
    splat_cloud apart, whole;
    splat_metrics dealt, alone;
    uint32_t n_here, n_all;
    size_t peak_before, peak; /* of rank 0's device */
    bool saves_first; /* each finds steps of SH put off: what comes first makes them up */
    splat_status status;
    splat_error error;
} both_ways;

static splat_status do_apart(splat_trainer *t, both_ways *b)
{
    splat_memory *memory = &t->backend->memory;
    splat_view_job job = job_on(SPLAT_VIEWS_TRAIN, NULL, NULL);
    job.quantize = true;
    b->peak_before = memory->device.peak_reserved;
    splat_memory_begin_phase(memory);
    if (b->saves_first) SPLAT_TRY(splat_trainer_save_checkpoint(t, "apart.splatsmith", &b->error));
    SPLAT_TRY(splat_trainer_evaluate(t, &job, &b->dealt, &b->error));
    if (!b->saves_first) SPLAT_TRY(splat_trainer_save_checkpoint(t, "apart.splatsmith", &b->error));
    SPLAT_TRY(splat_trainer_download(t, &b->apart, &b->error));
    b->peak = memory->device.phase_peak;
    b->n_here = t->model->gaussians.n;
    b->n_all = splat_shards_count(t);
    SPLAT_TRY(splat_trainer_gather(t, &b->error));
    SPLAT_TRY(splat_trainer_save_checkpoint(t, "whole.splatsmith", &b->error));
    SPLAT_TRY(splat_model_download(t->model, &b->whole, &b->error));
    SPLAT_TRY(splat_model_evaluate(t->model, t->scene, &job, &b->alone, &b->error));
    return splat_trainer_load_checkpoint(t, "apart.splatsmith", &b->error);
}

static void look_both_ways(splat_trainer *t, void *user)
{
    both_ways *b = user;
    b->status = do_apart(t, b);
}

static void rows_are_saved_and_measured_where_they_are(void **state)
{
    (void)state;
    NEEDS_GPUS();
    both_ways b;
    splat_train_options o = late_options(60);
    for (int i = 0; i < 2; i++) {
        const int n = i ? n_gpus : 2;
        shared_run run = make_gpu_batches(&o, 30);
        b.saves_first = i > 0;
        run.spoil = start_late;
        run.look_apart = look_both_ways;
        run.user = &b;
        run_well(&run, n);
        if (b.status != SPLAT_OK) fail_msg("%s", b.error.message);
        assert_int_equal(b.n_here, (b.n_all - 1) / (uint32_t)n + 1);
        assert_true(b.peak <= b.peak_before + ((size_t)8 << 20));
        assert_int_equal(b.apart.n, b.whole.n);
#define SPLAT_TENSOR(name, ...)                                                                                        \
    assert_memory_equal(b.apart.name, b.whole.name,                                                                    \
                        b.apart.n *splat_tensor_channels(SPLAT_TENSOR_##name, b.apart.sh_degree) * 4);
#include "math/gaussians.def"
#undef SPLAT_TENSOR
        assert_memory_equal(b.apart.filter_3d, b.whole.filter_3d, b.apart.n * 4);
        assert_true(same_checkpoints("apart.splatsmith", "whole.splatsmith"));
        splat_cloud_free(&b.apart);
        splat_cloud_free(&b.whole);
        assert_true(b.dealt.n_views == b.alone.n_views && b.dealt.psnr > 1);
        if (fabs(b.dealt.psnr - b.alone.psnr) > 1e-5 || fabs(b.dealt.ssim - b.alone.ssim) > 1e-5)
            fail_msg("%d GPUs: %g dB, %g; alone %g, %g", n, b.dealt.psnr, b.dealt.ssim, b.alone.psnr, b.alone.ssim);
    }
}

/* ---------------------------------------------------------------- below a limit */

static int failing_growth;

static void fail_once(splat_trainer *t, int rank)
{
    start_late(t, rank);
    if (rank == 1) t->backend->memory.fail_growth = failing_growth;
}

/* If one GPU is refused memory, all ask again; no data is lost, and photos and lists are given up together. */
static void gpus_ask_again_together(void **state)
{
    (void)state;
    NEEDS_GPUS();
    splat_train_options o = late_options(60);
    o.may_give_up = SPLAT_GIVE_UP_ALL;
    shared_run well = make_gpu_batches(&o, 24);
    well.deterministic = true;
    well.spoil = start_late;
    for (int r = 0; r < 2; r++) well.limits[r] = (size_t)4 << 30;
    run_well(&well, 2);
    for (failing_growth = 1; failing_growth < 80; failing_growth += 9) {
        shared_run run = well;
        run.spoil = fail_once;
        run_well(&run, 2);
        for (int i = 2; i < 12; i++)
            if (fabsf(run.losses[i] - well.losses[i]) > 2e-3f * well.losses[i])
                fail_msg("refusal %d: loss %d is %g, not %g", failing_growth, i, (double)run.losses[i],
                         (double)well.losses[i]);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(losses_are_those_of_the_cpu),
        cmocka_unit_test(growth_is_that_of_the_cpu),
        cmocka_unit_test(checkpoints_go_between_gpus_and_the_cpu),
        cmocka_unit_test(small_storages_are_those_of_the_cpu),
        cmocka_unit_test(small_storages_resume),
        cmocka_unit_test(coarse_losses_are_those_of_the_cpu),
        cmocka_unit_test(coarse_batches_go_on),
        cmocka_unit_test(a_gpu_without_memory_ends_all),
        cmocka_unit_test(a_broken_loss_ends_all),
        cmocka_unit_test(rows_are_saved_and_measured_where_they_are),
        cmocka_unit_test(gpus_ask_again_together),
    };
    return cmocka_run_group_tests(tests, count_gpus, NULL);
}
