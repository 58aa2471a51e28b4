/* Ranks below a memory limit, a view each, as threads: each stays below its own, all give up the same at the same
 * moment, and what one has no room for none does. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "captured_run_fixture.h"

#include "train/density/density.h"
#include "train/density/strategy.h"
#include "train/memory/forms.h"
#include "train/ranks/shards.h"

#include <math.h>

enum { N_STEPS = 60 };

/* The ranks' trainers, while they live: rank 0 may look at the others between steps. */
static splat_trainer *trainers[MAX_TEST_RANKS];

static void begin_late(splat_trainer *t, int rank)
{
    trainers[rank] = t;
    t->iteration = LATE;
}

/* Results between the last step and the end. */
typedef struct found {
    uint32_t n;                            /* of all ranks */
    int forms[MAX_TEST_RANKS];
    size_t peaks[MAX_TEST_RANKS], left_out[MAX_TEST_RANKS];
    splat_train_options options[MAX_TEST_RANKS];
    splat_memory_setup setup;
    int n_ranks, n_to_fail; /* growths until one is refused to the rank that shall be; 0: one was */
} found;

static int failing_growth, failing_rank;

static void find(splat_trainer *t, void *user)
{
    found *f = user;
    f->n = splat_shards_count(t);
    f->n_ranks = t->shards.comm->size;
    f->setup = t->memory.setup;
    f->n_to_fail = failing_rank < f->n_ranks ? trainers[failing_rank]->backend->memory.fail_growth : 0;
    for (int r = 0; r < f->n_ranks; r++) {
        f->forms[r] = trainers[r]->memory.form;
        f->peaks[r] = trainers[r]->backend->memory.device.peak_reserved;
        f->left_out[r] = trainers[r]->n_left_out;
        f->options[r] = trainers[r]->options;
    }
}

static shared_run make_limited(const splat_train_options *o, int n_steps, found *f)
{
    splat_context *context = open_cpu(1);
    splat_scene_close(open_scene(context)); /* makes it */
    splat_context_destroy(context);
    shared_run run = make_run(o, n_steps);
    run.scene = SCENE;
    run.spoil = begin_late;
    run.look_apart = find;
    run.user = f;
    return run;
}

/* A limit below which growth gives up one thing after the other, of so many ranks. */
static size_t tight_limit(int n_ranks, found *f)
{
    splat_train_options o = growing_options(N_STEPS, 6);
    shared_run run = make_limited(&o, N_STEPS, f);
    run_well(&run, n_ranks);
    const size_t part = f->n / (uint32_t)n_ranks;
    splat_memory_forms forms = {&f->setup, &o, splat_ranks_may_give_up(false), 0};
    assert_int_equal(f->options[0].sh_storage, SPLAT_SH_FLOAT32); /* without a limit nothing is given up */
    assert_int_equal(f->setup.n_ranks, n_ranks);
    const size_t limit = splat_form_bytes(&forms, SPLAT_N_FORMS - 1, part + part / 6);
    print_message("%d ranks: %u Gaussians without a limit; %zu bytes\n", n_ranks, f->n, limit);
    return limit;
}

static void must_be_alike(const found *f, size_t limit)
{
    for (int r = 0; r < f->n_ranks; r++) {
        assert_int_equal(f->forms[r], f->forms[0]);
        assert_int_equal(f->options[r].sh_storage, f->options[0].sh_storage);
        assert_int_equal(f->options[r].optimizer_storage, f->options[0].optimizer_storage);
        assert_int_equal(f->left_out[r], f->left_out[0]);
        if (f->peaks[r] > limit) fail_msg("rank %d of %d took %zu bytes of %zu", r, f->n_ranks, f->peaks[r], limit);
    }
}

/* Everything is given up while the model grows; one rank gets the limit, or all. */
static void all_stay_below_the_limit(void **state)
{
    (void)state;
    found f;
    for (int n = 2; n <= 4; n++) {
        splat_train_options o = growing_options(N_STEPS, 6);
        const size_t limit = tight_limit(n, &f);
        for (int told = 1; told <= n; told += n - 1) {
            shared_run run = make_limited(&o, N_STEPS, &f);
            for (int r = 0; r < told; r++) run.limits[r] = limit;
            run_well(&run, n);
            must_be_alike(&f, limit);
            assert_int_equal(f.options[0].sh_storage, SPLAT_SH_FLOAT16);
            assert_int_equal(f.options[0].optimizer_storage, SPLAT_OPTIMIZER_QUANTIZED);
            assert_false(f.options[0].sh_offload || f.options[0].moments_offload);
            assert_true(f.n > 600 && run.losses[N_STEPS - 1] > 0);
        }
    }
}

/* One of the ranks has less: what it needs all give up, as rows go from one to another. */
static void the_smallest_decides_for_all(void **state)
{
    (void)state;
    found f;
    splat_train_options o = growing_options(N_STEPS, 6);
    const size_t limit = tight_limit(3, &f);
    for (int tight = 0; tight < 3; tight++) {
        shared_run run = make_limited(&o, N_STEPS, &f);
        for (int r = 0; r < 3; r++) run.limits[r] = r == tight ? limit : 1000 * limit;
        run_well(&run, 3);
        must_be_alike(&f, 1000 * limit);
        assert_true(f.peaks[tight] <= limit);
        assert_int_equal(f.options[0].sh_storage, SPLAT_SH_FLOAT16);
    }
}

/* As bytes of a run that never stopped; also a checkpoint in which everything is given up, in a run without a limit. */
static void limited_ranks_go_on_bit_for_bit(void **state)
{
    (void)state;
    found f;
    splat_train_options o = growing_options(N_STEPS, 6);
    const size_t limit = tight_limit(2, &f);
    shared_run whole = make_limited(&o, N_STEPS, &f);
    whole.limits[0] = whole.limits[1] = limit;
    shared_run first = whole, rest = whole;
    whole.to = "whole.splatsmith";
    run_well(&whole, 2);
    static const int stops[] = {8, 30, 52}; /* at 25 and 30 a batch of one view ends */
    for (int i = 0; i < 3; i++) {
        first.to = rest.from = "first.splatsmith";
        rest.to = "part.splatsmith";
        first.n_steps = stops[i];
        rest.n_steps = N_STEPS - stops[i];
        rest.spoil = NULL;
        rest.look_apart = NULL;
        run_well(&first, 2);
        run_well(&rest, 2);
        if (!same_checkpoints("whole.splatsmith", "part.splatsmith")) fail_msg("resumed at %d: other bytes", stops[i]);
    }
    shared_run alone = make_run(&o, 5);
    alone.scene = SCENE;
    alone.from = "whole.splatsmith";
    alone.options.iterations += 20;
    run_well(&alone, 1);
    assert_true(alone.losses[4] > 0);
}

/* ---------------------------------------------------------------- what one rank is refused */

/* The first batch has two views, of three ranks. */
static void begin_later(splat_trainer *t, int rank)
{
    begin_late(t, rank);
    t->iteration = LATE + 98;
}

static void fail_once(splat_trainer *t, int rank)
{
    begin_later(t, rank);
    if (rank == failing_rank) t->backend->memory.fail_growth = failing_growth;
}

/* Whatever it is that a rank is refused, all ask again, and nothing is lost. */
/* stride: of the refusals that are tried. */
static void asks_again(shared_run well, int stride, int least_failed)
{
    found f;
    well.look_apart = find;
    well.user = &f;
    well.spoil = begin_later;
    for (int r = 0; r < 3; r++) well.limits[r] = (size_t)1 << 30;
    run_well(&well, 3);
    int n_failed = 0;
    for (failing_rank = 0; failing_rank < 3; failing_rank += 2)
        for (failing_growth = 1 + failing_rank / 2; failing_growth < 60; failing_growth += stride) {
            shared_run run = well;
            run.spoil = fail_once;
            run_well(&run, 3);
            for (int i = 0; i < run.n_steps; i++)
                if (run.losses[i] != well.losses[i])
                    fail_msg("refusal %d of rank %d: loss %d is %g, not %g", failing_growth, failing_rank, i,
                             (double)run.losses[i], (double)well.losses[i]);
            n_failed += f.n_to_fail == 0;
            assert_int_equal(f.left_out[0], 0);
        }
    assert_true(n_failed > least_failed);
    failing_rank = 0;
}

static void a_refusal_is_asked_for_again(void **state)
{
    (void)state;
    splat_train_options o = late_options(N_STEPS);
    o.densify_until_iter = 0;
    o.iterations += 100;
    asks_again(make_limited(&o, 11, NULL), 1, 20);
}

/* With exposures and known depth, of which some views of a batch have gradients. */
static void with_what_a_capture_tells_too(void **state)
{
    (void)state;
    shared_run run = known_run(MAPS | POINTS, LATE + N_STEPS + 100, 11);
    run.options.densify_until_iter = LATE + 200; /* until then points count */
    run.options.densify_from_iter = LATE + 190;
    run.options.exposure = true;
    run.mask_mode = SPLAT_MASKS_SEGMENT;
    asks_again(run, 2, 10);
}

enum { ASKS_AFTER = 12 };

static bool asks_after(const splat_trainer *t, int iteration)
{
    (void)t;
    return iteration == LATE + ASKS_AFTER;
}

/* Rank 1 has no byte for the rows that growth asks for: none gets them, and no rank's rows and statistics change. */
static splat_status ask_for_room(splat_trainer *t, int iteration, splat_error *error)
{
    splat_memory *memory = &t->backend->memory;
    const uint32_t n = t->model->gaussians.n;
    const float seen = splat_trainer_statistics(t).count[0];
    void *unused;
    splat_error refused;
    if (iteration != LATE + ASKS_AFTER) return SPLAT_OK;
    SPLAT_TRY(splat_density_begin(t, 0, &unused, error));
    t->is_broken = false;
    if (t->shards.comm->rank == 1) memory->limit = 1;
    const splat_status status = splat_density_make_room(t, n + 5000, n + 5000, &refused);
    memory->limit = memory->process_limit;
    if (status != SPLAT_ERROR_MEMORY || t->model->gaussians.n != n || splat_trainer_statistics(t).count[0] != seen)
        return splat_fail(error, SPLAT_ERROR_INTERNAL, "status %d, %u rows of %u", (int)status,
                          t->model->gaussians.n, n);
    return SPLAT_OK;
}

/* Three ranks with room, by the default strategy but for what happens after an iteration, and after which. */
static shared_run run_acting(splat_status (*after)(splat_trainer *, int, splat_error *),
                             bool (*changes_after)(const splat_trainer *, int), int n_steps, found *f)
{
    splat_strategy acting = *splat_strategy_find("default");
    splat_train_options o = late_options(N_STEPS);
    acting.after = after;
    acting.changes_after = changes_after;
    o.strategy = &acting;
    shared_run run = make_limited(&o, n_steps, f);
    for (int r = 0; r < 3; r++) run.limits[r] = (size_t)1 << 30;
    run_well(&run, 3);
    return run;
}

static void growth_is_refused_to_all(void **state)
{
    (void)state;
    found f;
    const shared_run run = run_acting(ask_for_room, asks_after, 24, &f);
    assert_true(run.losses[23] > 0);
    assert_int_equal(f.left_out[0], 0);
}

enum { STARVES_AFTER = 24, EATS_AFTER = 36 };

/* Rank 1 has no byte more between two iterations. */
static splat_status starve(splat_trainer *t, int iteration, splat_error *error)
{
    splat_memory *memory = &t->backend->memory;
    if (t->shards.comm->rank == 1 && iteration == LATE + STARVES_AFTER) {
        SPLAT_TRY(splat_backend_synchronize(t->backend, error));
        splat_region_free(t->backend, &t->model->frame.region);
        memory->limit = 1;
    }
    if (iteration == LATE + EATS_AFTER) memory->limit = memory->process_limit;
    return SPLAT_OK;
}

static bool starves_after(const splat_trainer *t, int iteration)
{
    (void)t;
    return iteration == LATE + STARVES_AFTER || iteration == LATE + EATS_AFTER;
}

/* A batch for which one rank has no room is left out by all, and training goes on. */
static void a_batch_without_room_is_left_out(void **state)
{
    (void)state;
    found f;
    const shared_run run = run_acting(starve, starves_after, N_STEPS, &f);
    for (int i = 0; i < N_STEPS; i++) {
        const bool is_left_out = i >= STARVES_AFTER && i < EATS_AFTER;
        const bool has_no_picture = run.losses[i] == run.options.lambda_dssim; /* L1 and SSIM are 0 */
        if (has_no_picture != is_left_out) fail_msg("step %d: loss %g", i, (double)run.losses[i]);
    }
    must_be_alike(&f, (size_t)1 << 30);
    assert_int_equal(f.left_out[0], EATS_AFTER - STARVES_AFTER);
}

typedef struct starved_evaluation {
    found f;
    splat_status starved, fed;
    splat_error error;
    splat_metrics mean;
} starved_evaluation;

/* Rank 1 has no byte for a view, then it has. The others wait for orders: rank 0 may touch what is theirs. */
static void evaluate_starved(splat_trainer *t, void *user)
{
    starved_evaluation *e = user;
    const splat_view_job job = job_on(SPLAT_VIEWS_TRAIN, NULL, NULL);
    splat_memory *memory = &trainers[1]->backend->memory;
    memory->limit = 1;
    splat_region_free(trainers[1]->backend, &trainers[1]->model->frame.region);
    e->starved = splat_trainer_evaluate(t, &job, &e->mean, &e->error);
    memory->limit = memory->process_limit;
    e->fed = splat_trainer_evaluate(t, &job, &e->mean, &e->error);
}

/* An evaluation for which one rank has no room fails, and the ranks can still save. */
static void an_evaluation_without_room_fails_alone(void **state)
{
    (void)state;
    starved_evaluation e = {.fed = SPLAT_OK};
    splat_train_options o = late_options(N_STEPS);
    shared_run run = make_limited(&o, 6, NULL);
    for (int r = 0; r < 3; r++) run.limits[r] = (size_t)1 << 30;
    run.look_apart = evaluate_starved;
    run.user = &e;
    run.to = "starved.splatsmith";
    remove(run.to);
    run_well(&run, 3);
    assert_int_equal(e.starved, SPLAT_ERROR_MEMORY);
    if (e.fed != SPLAT_OK) fail_msg("%s", e.error.message);
    assert_true(e.mean.n_views > 3 && splat_path_exists(run.to));
}

/* ---------------------------------------------------------------- what is refused */

static void masks_have_no_limit(void **state)
{
    (void)state;
    splat_train_options o = tiny_options(60);
    write_masked_scene("blobs");
    shared_run run = make_run(&o, 1);
    run.scene = "blobs";
    run.limits[1] = (size_t)1 << 30;
    run_thread_ranks(2, train_as, &run);
    for (int r = 0; r < 2; r++) {
        assert_int_equal(run.status[r], SPLAT_ERROR_UNSUPPORTED);
        assert_non_null(strstr(run.error[r].message, "masks"));
    }
    run.mask_mode = SPLAT_MASKS_SEGMENT; /* each rank looks at its own rows */
    run_well(&run, 2);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(all_stay_below_the_limit),
        cmocka_unit_test(the_smallest_decides_for_all),
        cmocka_unit_test(limited_ranks_go_on_bit_for_bit),
        cmocka_unit_test(a_refusal_is_asked_for_again),
        cmocka_unit_test(with_what_a_capture_tells_too),
        cmocka_unit_test(growth_is_refused_to_all),
        cmocka_unit_test(a_batch_without_room_is_left_out),
        cmocka_unit_test(an_evaluation_without_room_fails_alone),
        cmocka_unit_test(masks_have_no_limit),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
