/* Known depth, trained on by several ranks, as threads: the depth of a view counts as in a step of one view, and any
 * number of ranks goes on from a checkpoint. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "captured_run_fixture.h"

#include "train/parts/depths.h"

/* Known depth changes the losses. */
static void known_depth_counts(void **state)
{
    (void)state;
    shared_run with = known_run(MAPS | POINTS, 60, 20), maps = known_run(MAPS, 60, 20), none = known_run(0, 60, 20);
    run_well(&with, 2);
    run_well(&maps, 2);
    run_well(&none, 2);
    assert_memory_not_equal(with.losses, maps.losses, 20 * sizeof(float));
    assert_memory_not_equal(maps.losses, none.losses, 20 * sizeof(float));
}

/* ---------------------------------------------------------------- reports */

typedef struct told {
    double maps, points;
} told;

static void look_at_losses(splat_trainer *t, void *user)
{
    splat_loss losses[SPLAT_MAX_LOSSES];
    splat_error error;
    size_t n;
    must(splat_trainer_get_losses(t, losses, &n, &error), &error);
    assert_int_equal(n, 2);
    *(told *)user = (told){losses[0].value, losses[1].value};
}

/* The losses of the last view with known depth, whichever rank had it. */
static void losses_of_depth_are_told(void **state)
{
    (void)state;
    told one, all;
    shared_run alone = known_run(MAPS | POINTS, 60, 30);
    alone.look_apart = look_at_losses;
    alone.user = &one;
    run_well(&alone, 1);
    assert_true(one.maps > 0 && one.points > 0);
    for (int n = 2; n <= 4; n++) {
        shared_run shared = alone;
        shared.user = &all;
        run_well(&shared, n);
        if (fabs(all.maps / one.maps - 1) > 0.5 || fabs(all.points / one.points - 1) > 0.5)
            fail_msg("%d views at a time: %g, %g, not %g, %g", n, all.maps, all.points, one.maps, one.points);
    }
}

/* ---------------------------------------------------------------- a view for each rank */

enum { MOST = 3000 };

typedef struct pulls {
    uint32_t n;
    float m[MOST]; /* Adam's, of the means */
} pulls;

static void look_at_means(splat_trainer *t, void *user)
{
    pulls *p = user;
    p->n = 3 * t->model->gaussians.n;
    assert_true(p->n <= MOST);
    memcpy(p->m, t->moments.m.means, p->n * sizeof *p->m);
}

static int first_iteration;

static void begin_before_it(splat_trainer *t, int rank)
{
    (void)rank;
    t->iteration = first_iteration - 1;
}

/* The moments of `n` photos of a model that hardly moves, one by one or in a batch: what known depth adds to them. */
static void depth_in_moments(int what, bool batch, int n, double *difference, uint32_t *n_means)
{
    static pulls with, without;
    for (int known = 0; known < 2; known++) {
        shared_run run = known_run(known ? what : 0, 3000, n);
        splat_train_options *o = &run.options;
        o->position_lr_init = o->position_lr_final = 1e-9f;
        o->feature_lr = o->opacity_lr = o->scaling_lr = o->rotation_lr = 1e-9f;
        o->depth_l1_weight_final = o->depth_l1_weight_init;
        o->densify_from_iter = 1000;
        o->random_background = false;
        run.spoil = begin_before_it;
        run.look = look_at_means;
        run.user = known ? &with : &without;
        run_well(&run, batch ? n : 1);
        if (batch) assert_int_equal(run.n_batches, 1);
    }
    *n_means = with.n;
    for (uint32_t i = 0; i < with.n; i++) difference[i] = (double)with.m[i] - (double)without.m[i];
}

/* One by one a moment is 0.9 of what it was and 0.1 of the gradient, so that these follow; a batch of n has 1 - 0.9^n
 * of their mean. The iterations that check are of both kinds: one inside a batch, and two in a row. */
static void a_view_of_a_batch_counts_as_one(void **state)
{
    (void)state;
    static double moments[2][MOST], sums[MOST], all[MOST];
    const uint64_t seed = tiny_options(60).seed;
    for (int what = MAPS; what <= (MAPS | POINTS); what++)
        for (int in_a_row = 1; in_a_row <= 2; in_a_row++) {
            const int n = in_a_row + 1; /* the last one does not look */
            double of_all = 0, error = 0;
            uint32_t n_means = 0;
            for (first_iteration = 1;; first_iteration++) {
                const int next = first_iteration + in_a_row;
                const bool looks = splat_depths_looks(seed, first_iteration) && splat_depths_looks(seed, next - 1);
                if (looks && !splat_depths_looks(seed, next)) break;
            }
            memset(moments, 0, sizeof moments);
            memset(sums, 0, sizeof sums);
            for (int k = 1; k <= n; k++) {
                depth_in_moments(what, false, k, moments[k % 2], &n_means);
                for (uint32_t i = 0; i < n_means; i++)
                    sums[i] += (moments[k % 2][i] - 0.9 * moments[!(k % 2)][i]) / 0.1;
            }
            depth_in_moments(what, true, n, all, &n_means);
            for (uint32_t i = 0; i < n_means; i++) {
                const double wanted = (1 - pow(0.9, n)) * sums[i] / n;
                of_all += all[i] * all[i];
                error += (all[i] - wanted) * (all[i] - wanted);
            }
            assert_true(of_all > 0);
            if (sqrt(error / of_all) > 1e-3) fail_msg("depth %d, %d: an error of %g", what, n, sqrt(error / of_all));
        }
}

static void batches_go_on(void **state)
{
    (void)state;
    shared_run run = known_run(MAPS | POINTS, 120, 72);
    for (int n = 2; n <= 3; n++) parts_are_the_whole(&run, n, 36);
    for (int n = 1; n <= 4; n++) { /* and any number from what three left */
        shared_run other = known_run(MAPS | POINTS, 120, 30);
        other.from = "begun.splatsmith";
        run_well(&other, n);
        assert_true(other.losses[29] > 0);
    }
}

/* As well as one photo at a time, in every storage, with masks, and rays within their pixels. */
static void busy_batches_train(void **state)
{
    (void)state;
    for (int which = 0; which < N_STORAGES; which++) {
        shared_run run = known_run(MAPS | POINTS, 90, 90);
        run.options.ray_jitter = run.options.exposure = true;
        run.mask_mode = which % 2 ? SPLAT_MASKS_SEGMENT : SPLAT_MASKS_IGNORE;
        set_storages(&run.options, which);
        run_well(&run, 1);
        const double wanted = mean_loss(&run, 60, 90);
        run_well(&run, 3);
        const double loss = mean_loss(&run, 60, 90);
        print_message("storage %d: %g, one by one %g\n", which, loss, wanted);
        if (fabs(loss / wanted - 1) > 0.15) fail_msg("storage %d: the loss is %g, not %g", which, loss, wanted);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(known_depth_counts),
        cmocka_unit_test(losses_of_depth_are_told),
        cmocka_unit_test(a_view_of_a_batch_counts_as_one),
        cmocka_unit_test(batches_go_on),
        cmocka_unit_test(busy_batches_train),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
