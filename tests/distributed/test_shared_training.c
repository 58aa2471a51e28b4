/* Training by several ranks that share each view, as threads: the bytes are those of one rank, checkpoints are
 * anybody's, and ranks fail together. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "shared_run_fixture.h"

#include <math.h>

/* ---------------------------------------------------------------- the same bytes */

/* Of three rows of tiles: the fourth rank owns none. */
static void the_bytes_are_those_of_one_rank(void **state)
{
    (void)state;
    splat_train_options o = tiny_options(120);
    same_bytes(make_run(&o, 120), 4);
}

/* Five rows of tiles, the last of 6 pixels, less than the loss looks around; all bands of SH, resets, late filters. */
static void of_a_larger_picture_too(void **state)
{
    (void)state;
    splat_train_options o = busy_options(60);
    splat_context *context = open_cpu(1);
    splat_scene *scene = open_scene(context); /* makes it */
    splat_scene_close(scene);
    splat_context_destroy(context);
    o.ray_jitter = o.resample_gt_image = true;
    shared_run run = {.options = o, .scene = SCENE, .n_steps = 60};
    same_bytes(run, 6);
}

static void move_few_at_a_time(splat_trainer *t, int rank)
{
    (void)rank;
    t->shards.piece_bytes = 100; /* seven rows of opacities, less than one of the bands */
}

/* What comes to rank 0 and goes from it moves in pieces, over which its own rows spread. */
static void rows_move_in_pieces(void **state)
{
    (void)state;
    splat_train_options o = tiny_options(60);
    shared_run run = make_run(&o, 60);
    run.spoil = move_few_at_a_time;
    same_bytes(run, 3);
}

static void mcmc_moves_the_same_gaussians(void **state)
{
    (void)state;
    splat_train_options o;
    splat_train_options_init_strategy(&o, splat_strategy_find("mcmc"));
    o.iterations = 60;
    o.densify_from_iter = 10;
    o.densification_interval = 10;
    o.densify_until_iter = 45;
    o.target_gaussian_count = 260;
    same_bytes(make_run(&o, 60), 3);
}

/* A mean that is no number is seen by no camera; of each rank some. */
static void hide_some(splat_trainer *t, int rank)
{
    uint32_t first, stride;
    splat_shards_rows(t, &first, &stride);
    assert_int_equal(first, rank);
    for (uint32_t i = 0; i < 6; i++)
        if (i % stride == first) t->model->gaussians.p.means[3 * (i / stride)] = NAN;
}

/* What no view sees takes the filter of another: all are looked at together. */
static void late_filters_are_those_of_all(void **state)
{
    (void)state;
    splat_train_options o = tiny_options(210);
    o.densify_until_iter = 5;
    shared_run run = make_run(&o, 105); /* after 100 */
    run.spoil = hide_some;
    same_bytes(run, 3);
}

static void masks_hide_the_same(void **state)
{
    (void)state;
    write_masked_scene("blobs");
    splat_train_options o = tiny_options(60);
    shared_run run = {.options = o, .scene = "blobs", .n_steps = 40};
    same_bytes(run, 3);
    run.mask_mode = SPLAT_MASKS_SEGMENT; /* an opacity is asked for */
    same_bytes(run, 3);
}

/* Numbers of 16 bits and less are rounded by lot, and the lots go by the rows of a rank: the bytes are others, the
 * result is not. */
static void small_storages_train_as_well(void **state)
{
    (void)state;
    for (int which = 1; which < N_STORAGES; which++) {
        splat_train_options o = tiny_options(120);
        set_storages(&o, which);
        shared_run alone = make_run(&o, 120), shared = alone;
        run_well(&alone, 1);
        run_well(&shared, 3);
        const double a = mean_loss(&alone, 100, 120), b = mean_loss(&shared, 100, 120);
        if (fabs(a - b) > 0.03 * a) fail_msg("storage %d: the mean loss is %g, not %g", which, b, a);
    }
}

/* Their bytes are those of a run of as many ranks that never stopped. */
static void small_storages_go_on_bit_for_bit(void **state)
{
    (void)state;
    splat_train_options o = tiny_options(120);
    set_storages(&o, 3);
    const shared_run run = make_run(&o, 70);
    parts_are_the_whole(&run, 2, 37);
}

/* ---------------------------------------------------------------- as devices share a view */

/* Of three rows of tiles: the fourth rank owns none. */
static void the_way_of_devices_gives_the_same_losses(void **state)
{
    (void)state;
    splat_train_options o = tiny_options(120);
    the_way_of_devices_gives(make_run(&o, 50), 4, 0.1);
    o.densify_from_iter = 100;
    the_way_of_devices_gives(make_run(&o, 50), 3, 5e-4);
}

static void of_a_larger_picture_and_masks_too(void **state)
{
    (void)state;
    splat_train_options o = busy_options(60);
    o.ray_jitter = o.resample_gt_image = true;
    the_way_of_devices_gives((shared_run){.options = o, .scene = SCENE, .n_steps = 50}, 5, 0.1);
    o = tiny_options(60);
    shared_run masked = {.options = o, .scene = "blobs", .n_steps = 40, .mask_mode = SPLAT_MASKS_SEGMENT};
    the_way_of_devices_gives(masked, 3, 0.1);
}

/* ---------------------------------------------------------------- balance */

/* Rows of tiles are cut where what the last view took says so; a picture of another height begins evenly. */
static void rows_follow_what_they_took(void **state)
{
    (void)state;
    static const uint64_t taken[6] = {1, 1, 1, 1, 100, 4};
    splat_comm *comms[3];
    splat_shared_view view;
    splat_frame *frame = calloc(1, sizeof *frame);
    splat_context *context = open_cpu(1);
    splat_error error;
    must(splat_comm_create_threads(3, comms, &error), &error);
    splat_shared_init(&view, comms[0], context->backend);
    frame->tiles_y = 6;
    must(splat_shared_begin(&view, frame, &error), &error);
    assert_true(view.bounds[0] == 0 && view.bounds[1] == 2 && view.bounds[2] == 4 && view.bounds[3] == 6);
    memcpy(view.weights, taken, sizeof taken);
    must(splat_shared_begin(&view, frame, &error), &error);
    assert_true(view.bounds[0] == 0 && view.bounds[1] == 5 && view.bounds[2] == 5 && view.bounds[3] == 6);
    frame->tiles_y = 3;
    must(splat_shared_begin(&view, frame, &error), &error);
    assert_true(view.bounds[0] == 0 && view.bounds[1] == 1 && view.bounds[2] == 2 && view.bounds[3] == 3);
    splat_shared_free(&view);
    for (int r = 0; r < 3; r++) splat_comm_close(comms[r]);
    splat_context_destroy(context);
    free(frame);
}

/* ---------------------------------------------------------------- checkpoints */

/* Two ranks to step 35, whoever goes on: the state after 80 is that of one rank that never stopped. A checkpoint stands
 * before its density control at 35 and amid statistics at 32. */
static void any_number_goes_on_from_a_checkpoint(void **state)
{
    (void)state;
    splat_train_options o = tiny_options(120);
    const shared_run run = make_run(&o, 80);
    goes_on(&run, 32, 1, 2, 1, 3);
    goes_on(&run, 35, 1, 2, 1, 3);
}

/* ---------------------------------------------------------------- failures */

static void a_loss_that_is_not_finite_ends_all(void **state)
{
    (void)state;
    splat_train_options o = tiny_options(60);
    ends_by_a_broken_loss(make_run(&o, 60), 3);
}

static void a_rank_without_memory_is_named(void **state)
{
    (void)state;
    splat_train_options o = tiny_options(60);
    ends_without_memory(make_run(&o, 60), 3);
}

typedef struct refused_case {
    void (*ask)(splat_train_options *o);
    const char *named;
} refused_case;

static void ask_offload(splat_train_options *o) { o->sh_offload = true; }
static void ask_moments(splat_train_options *o) { o->moments_offload = true; }
static void ask_bands(splat_train_options *o) { o->max_instances = 100000; }
static void ask_limit(splat_train_options *o) { o->may_give_up = SPLAT_GIVE_UP_ALL; }

static void what_ranks_cannot_do_is_refused(void **state)
{
    (void)state;
    static const refused_case cases[] = {{ask_offload, "`sh_offload`"},
                                         {ask_moments, "moments in host memory"},
                                         {ask_bands, "`split_views`"},
                                         {ask_limit, "`vram_limit`"}};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        splat_train_options o = tiny_options(60);
        cases[i].ask(&o);
        shared_run run = make_run(&o, 1);
        run_thread_ranks(2, train_as, &run);
        for (int r = 0; r < 2; r++) {
            assert_int_equal(run.status[r], SPLAT_ERROR_UNSUPPORTED);
            assert_non_null(strstr(run.error[r].message, cases[i].named));
        }
    }
}

static void serve_on_rank_0(splat_trainer *t, int rank)
{
    splat_error error;
    if (rank == 0 && splat_trainer_serve(t, &error) != SPLAT_ERROR_ARGUMENT) abort();
}

static void rank_0_does_not_serve(void **state)
{
    (void)state;
    splat_train_options o = tiny_options(60);
    shared_run run = make_run(&o, 1);
    run.spoil = serve_on_rank_0;
    run_well(&run, 2);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_bytes_are_those_of_one_rank),
        cmocka_unit_test(of_a_larger_picture_too),
        cmocka_unit_test(rows_move_in_pieces),
        cmocka_unit_test(mcmc_moves_the_same_gaussians),
        cmocka_unit_test(late_filters_are_those_of_all),
        cmocka_unit_test(masks_hide_the_same),
        cmocka_unit_test(small_storages_train_as_well),
        cmocka_unit_test(small_storages_go_on_bit_for_bit),
        cmocka_unit_test(the_way_of_devices_gives_the_same_losses),
        cmocka_unit_test(of_a_larger_picture_and_masks_too), /* of the scenes above */
        cmocka_unit_test(rows_follow_what_they_took),
        cmocka_unit_test(any_number_goes_on_from_a_checkpoint),
        cmocka_unit_test(a_loss_that_is_not_finite_ends_all),
        cmocka_unit_test(a_rank_without_memory_is_named),
        cmocka_unit_test(what_ranks_cannot_do_is_refused),
        cmocka_unit_test(rank_0_does_not_serve),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
