/* Rows of ranks that train together, as threads: how they move, what concerns all of them, and what ranks refuse. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "shared_run_fixture.h"
#include "train/ranks/shards.h"

#include <math.h>

static void move_few_at_a_time(splat_trainer *t, int rank)
{
    (void)rank;
    t->shards.piece_bytes = 100; /* seven rows of opacities, less than one of the bands */
}

/* Rows go to rank 0 and return in pieces: their size changes no byte. */
static void rows_move_in_pieces(void **state)
{
    (void)state;
    splat_train_options o = tiny_options(60);
    shared_run at_once = make_run(&o, 60), in_pieces = at_once;
    at_once.to = "at_once.splatsmith";
    in_pieces.to = "in_pieces.splatsmith";
    in_pieces.spoil = move_few_at_a_time;
    run_well(&at_once, 3);
    run_well(&in_pieces, 3);
    assert_true(same_checkpoints(at_once.to, in_pieces.to));
}

enum { N_HIDDEN = 6 };

/* A mean that is no number is seen by no camera; each rank has some of them. */
static void hide_some(splat_trainer *t, int rank)
{
    uint32_t first, stride;
    splat_shards_rows(t, &first, &stride);
    assert_int_equal(first, rank);
    for (uint32_t i = 0; i < N_HIDDEN; i++)
        if (i % stride == first) t->model->gaussians.p.means[3 * (i / stride)] = NAN;
}

static void look_at_filters(splat_trainer *t, void *user)
{
    const splat_gaussians *g = &t->model->gaussians;
    float largest = 0;
    for (uint32_t i = 0; i < g->n; i++)
        if (isfinite(g->p.means[3 * (size_t)i])) largest = fmaxf(largest, g->filter_3d[i]);
    for (uint32_t i = 0; i < g->n; i++)
        if (!isfinite(g->p.means[3 * (size_t)i])) *(uint32_t *)user += g->filter_3d[i] == largest;
}

/* A Gaussian that no view sees gets the largest filter of all, not that of its rank. */
static void late_filters_are_those_of_all(void **state)
{
    (void)state;
    uint32_t n_largest = 0;
    splat_train_options o = tiny_options(210);
    o.densify_until_iter = 5;
    shared_run run = make_run(&o, 105); /* the filter is found after 100 */
    run.spoil = hide_some;
    run.look = look_at_filters;
    run.user = &n_largest;
    run_well(&run, 3);
    assert_int_equal(n_largest, N_HIDDEN);
}

/* Numbers of 16 bits and less are rounded by lot, and the lots go by the rows of a rank. */
static void small_storages_train_as_well(void **state)
{
    (void)state;
    splat_train_options o = tiny_options(120);
    shared_run full = make_run(&o, 120);
    run_well(&full, 3);
    const double a = mean_loss(&full, 100, 120);
    for (int which = 1; which < N_STORAGES; which++) {
        shared_run small = make_run(&o, 120);
        set_storages(&small.options, which);
        run_well(&small, 3);
        const double b = mean_loss(&small, 100, 120);
        if (fabs(a - b) > 0.05 * a) fail_msg("storage %d: the mean loss is %g, not %g", which, b, a);
    }
}

/* ---------------------------------------------------------------- refusals */

typedef struct refused_case {
    void (*ask)(splat_train_options *o);
    const char *named;
} refused_case;

static void ask_offload(splat_train_options *o) { o->sh_offload = true; }
static void ask_moments(splat_train_options *o) { o->moments_offload = true; }

static void what_ranks_cannot_do_is_refused(void **state)
{
    (void)state;
    static const refused_case cases[] = {{ask_offload, "`sh_offload`"},
                                         {ask_moments, "moments in host memory"}};
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
        cmocka_unit_test(rows_move_in_pieces),
        cmocka_unit_test(late_filters_are_those_of_all),
        cmocka_unit_test(small_storages_train_as_well),
        cmocka_unit_test(what_ranks_cannot_do_is_refused),
        cmocka_unit_test(rank_0_does_not_serve),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
