/* Coarse training by several ranks, as threads: the surface is as good as that of one rank; gradients of its losses
 * reach the rank that has the Gaussian, and are added in order. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "coarse_fixture.h"
#include "shared_run_fixture.h"
#include "train/parts/regularizer.h"
#include "train/ranks/shapes.h"
#include "train/ranks/shards.h"

#include <math.h>

#define AFTER 130
#define LAST 190

/* The whole schedule: opacities are parted, the transparent go, the losses of the surface. */
static splat_train_options short_options(splat_regularization regularization)
{
    splat_train_options o = coarse_options(regularization, AFTER, LAST);
    make_splat_of(open_tiny, 600);
    o.coarse.neighbor_interval = 25;
    o.coarse.n_samples = 2000;
    return o;
}

static shared_run coarse_run(const splat_train_options *options, int n_steps)
{
    shared_run run = make_run(options, n_steps);
    run.splat = SPLAT;
    return run;
}

/* ---------------------------------------------------------------- a view for each */

typedef struct shape {
    uint32_t n;
    double flatness; /* geometric mean of the shortest scale by the middle one */
} shape;

static void look_at_shapes(splat_trainer *t, void *user)
{
    shape *s = user;
    const splat_gaussians *g = &t->model->gaussians;
    double sum = 0;
    for (size_t i = 0; i < g->n; i++) {
        const float *scales = g->p.scales + 3 * i;
        const float a = fminf(scales[0], scales[1]), b = fmaxf(scales[0], scales[1]);
        sum += (double)(fminf(a, scales[2]) - fmaxf(a, fminf(b, scales[2])));
    }
    *s = (shape){g->n, exp(sum / g->n)};
}

/* As many photos: as many Gaussians stay, within some percent, the photos fit as well, and the shapes come as far. */
static void batches_train_as_well(void **state)
{
    (void)state;
    static const splat_regularization modes[] = {SPLAT_REGULARIZE_DN_CONSISTENCY, SPLAT_REGULARIZE_MULTIVIEW};
    for (size_t i = 0; i < sizeof modes / sizeof modes[0]; i++) {
        splat_train_options o = short_options(modes[i]);
        shape start, wanted, got;
        o.iterations = 300;
        shared_run none = coarse_run(&o, 0), alone = coarse_run(&o, 200), shared = alone;
        none.look = alone.look = shared.look = look_at_shapes;
        none.user = &start;
        alone.user = &wanted;
        shared.user = &got;
        run_well(&none, 1);
        run_well(&alone, 1);
        const double loss_of_one = mean_loss(&alone, 160, 200), way = start.flatness - wanted.flatness;
        for (int n = 2; n <= 3; n++) {
            run_well(&shared, n);
            const double loss = mean_loss(&shared, 160, 200), came = (start.flatness - got.flatness) / way;
            if (!(fabs(loss / loss_of_one - 1) < 0.01 && fabs(came - 1) < 0.2 &&
                  fabs((double)got.n / wanted.n - 1) < 0.05))
                fail_msg("mode %d, %d ranks: the loss is %g, not %g, %u Gaussians, not %u, %.2f of the way to flatness",
                         (int)modes[i], n, loss, loss_of_one, got.n, wanted.n, came);
        }
    }
}

static void batches_go_on(void **state)
{
    (void)state;
    splat_train_options o = short_options(SPLAT_REGULARIZE_DENSITY);
    shared_run run = make_run(&o, LAST - FIRST);
    run.splat = SPLAT;
    for (int middle = 30; middle <= 60; middle += 30) {
        parts_are_the_whole(&run, 3, middle);
        any_number_goes_on(run, 20);
    }
}

/* ---------------------------------------------------------------- what goes to whom */

/* A regularizer that asks for known gradients, and looks at what it is given. Where a rank finds something else it says
 * so once; no test of cmocka's may fail in a thread. */
enum { MEANS, SCALES, ROTATIONS, OPACITIES, INDICES, N_ARRAYS };
static const uint32_t words_of[] = {3, 3, 4, 1};
static char fault[256]; /* "" while there is none */
static int n_looks;

__attribute__((format(printf, 1, 2))) static void note_fault(const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    if (!fault[0]) vsnprintf(fault, sizeof fault, format, arguments);
    va_end(arguments);
}

static float *const *arrays_of(const splat_tensors *tensors, float *arrays[4])
{
    arrays[MEANS] = tensors->means;
    arrays[SCALES] = tensors->scales;
    arrays[ROTATIONS] = tensors->rotations;
    arrays[OPACITIES] = tensors->opacities;
    return arrays;
}

/* Value k of array a of Gaussian i: at the beginning; transparent, and a quarter is where no view looks. */
static float begun(size_t i, size_t a, size_t k)
{
    if (a == MEANS && i % 4 == 2) return 1000 + (float)k;
    return a == OPACITIES ? -20 - 0.01f * (float)i : -1 - 0.25f * (float)a - 0.125f * (float)k - 0.001f * (float)i;
}

/* ... and what the losses of an iteration ask of it. Of some the order of the sum tells, one view of some is broken. */
static float asked(size_t i, size_t a, size_t k, int iteration)
{
    if (i % 5 == 3 && iteration % 3 == 2 && a == i / 5 % 4 && k == 0) return NAN;
    if (i % 7 == 1 && k == 0 && iteration > 1) return iteration % 3 == 2 ? 1e8f : -1e8f;
    return ((float)((i * 31 + a * 11 + k * 7 + (size_t)iteration * 13) % 101) - 50) / 16;
}

static bool is_broken(size_t i, int iteration)
{
    return i % 5 == 3 && iteration % 3 == 2;
}

static bool always(const splat_train_options *options, int iteration)
{
    (void)options;
    return iteration > 0;
}

static splat_status look_at_copies(splat_trainer *t, int first, int last, splat_error *error)
{
    const splat_gaussians g = splat_shapes_gaussians(t);
    splat_extra_rows *rows = splat_shapes_extra_rows(t);
    float *all[4];
    (void)last;
    if (first > 1) return SPLAT_OK;
    if (g.n != splat_shards_count(t)) note_fault("%u Gaussians, not %u", g.n, splat_shards_count(t));
    arrays_of(&g.p, all);
    for (size_t i = 0; i < g.n; i++)
        for (size_t a = 0; a < 4; a++)
            for (size_t k = 0; k < words_of[a]; k++)
                if (all[a][i * words_of[a] + k] != begun(i, a, k)) note_fault("value %zu of %zu of %zu", k, a, i);
    for (size_t i = 0; i < g.n; i++)
        if (g.filter_3d[i] != 0 && t->options.ranks) note_fault("%zu has a filter", i);
    SPLAT_TRY(splat_extra_rows_cache(rows, t->backend, g.n, error));
    uint32_t *indices = splat_extra_rows_data(rows, INDICES);
    for (uint32_t i = 0; i < g.n; i++) {
        indices[2 * i] = i;
        indices[2 * i + 1] = g.n - 1 - i;
    }
    return splat_shapes_keep_cached(t, error);
}

static splat_status ask(splat_trainer *t, int iteration, uint32_t view, splat_tensors *gradients, bool *any,
                        splat_error *error)
{
    splat_extra_rows *rows = splat_shapes_extra_rows(t);
    const uint32_t n = splat_shapes_gaussians(t).n;
    float *all[4];
    (void)view;
    (void)error;
    *gradients = (splat_tensors){.means = splat_extra_rows_data(rows, MEANS),
                                 .scales = splat_extra_rows_data(rows, SCALES),
                                 .rotations = splat_extra_rows_data(rows, ROTATIONS),
                                 .opacities = splat_extra_rows_data(rows, OPACITIES)};
    arrays_of(gradients, all);
    for (size_t i = 0; i < n; i++)
        for (size_t a = 0; a < 4; a++)
            for (size_t k = 0; k < words_of[a]; k++) all[a][i * words_of[a] + k] = asked(i, a, k, iteration);
    *any = true;
    return SPLAT_OK;
}

/* After the first step Adam's moments are (1 - beta^B) of the means over its views, of gradients and of squares. */
static splat_status look_at_moments(splat_trainer *t, int iteration, splat_error *error)
{
    const int size = splat_comm_get_size(t->options.ranks), rank = splat_comm_get_rank(t->options.ranks);
    const int n_views = size;
    const uint32_t *indices = splat_extra_rows_data(&t->regularizer_rows, INDICES), n_all = splat_shards_count(t);
    float *m[4], *v[4];
    (void)error;
    if (iteration != n_views) return SPLAT_OK;
    __atomic_fetch_add(&n_looks, 1, __ATOMIC_RELAXED);
    arrays_of(&t->moments.m, m);
    arrays_of(&t->moments.v, v);
    for (size_t j = 0; j < t->model->gaussians.n; j++) {
        const size_t i = j * (size_t)size + (size_t)rank;
        for (size_t a = 0; a < 4; a++)
            for (size_t k = 0; k < words_of[a]; k++) {
                float sum = 0, squares = 0;
                for (int view = 1; view <= n_views; view++) {
                    const float g = is_broken(i, view) ? 0 : asked(i, a, k, view);
                    sum += g;
                    squares += g * g;
                }
                const double first = (1 - pow(0.9, n_views)) * (double)sum / n_views;
                const double second = (1 - pow(0.999, n_views)) * (double)squares / n_views;
                const double got[2] = {(double)m[a][j * words_of[a] + k], (double)v[a][j * words_of[a] + k]};
                if (!(fabs(got[0] - first) <= 2e-6 * fabs(first) && fabs(got[1] - second) <= 1e-4 * second))
                    note_fault("%d ranks: moments %zu, %zu of %zu are %g and %g, not %g and %g", size, a, k, i, got[0],
                               got[1], first, second);
            }
        if (indices[2 * j] != i || indices[2 * j + 1] != n_all - 1 - i) note_fault("rank %d keeps others", rank);
    }
    return SPLAT_OK;
}

static void begin_transparent(splat_trainer *t, int rank)
{
    float *own[4];
    arrays_of(&t->model->gaussians.p, own);
    for (size_t j = 0; j < t->model->gaussians.n; j++)
        for (size_t a = 0; a < 4; a++)
            for (size_t k = 0; k < words_of[a]; k++)
                own[a][j * words_of[a] + k] =
                    begun(j * (size_t)splat_comm_get_size(t->options.ranks) + (size_t)rank, a, k);
}

static void what_is_asked_reaches_its_rank(void **state)
{
    (void)state;
    static const splat_extra_array arrays[N_ARRAYS] = {[MEANS] = {"test.means", 3, false, SPLAT_ROWS_SCRATCH},
                                                       [SCALES] = {"test.scales", 3, false, SPLAT_ROWS_SCRATCH},
                                                       [ROTATIONS] = {"test.rotations", 4, false, SPLAT_ROWS_SCRATCH},
                                                       [OPACITIES] = {"test.opacities", 1, false, SPLAT_ROWS_SCRATCH},
                                                       [INDICES] = {"test.indices", 2, true, SPLAT_ROWS_CACHED}};
    static const splat_regularizer asks = {.stage = "test", .title = "test", .arrays = arrays, .n_arrays = N_ARRAYS,
                                           .results_name = "none", .n_results = 1, .has_losses = always,
                                           .prepare = look_at_copies, .step = ask, .after = look_at_moments};
    splat_train_options o = tiny_options(1000);
    o.densify_from_iter = 900;
    o.regularizer = &asks;
    for (int n = 2; n <= 4; n++) {
        shared_run run = make_run(&o, n + 1);
        run.spoil = begin_transparent;
        n_looks = 0;
        run_well(&run, n);
        if (fault[0]) fail_msg("%d ranks: %s", n, fault);
        assert_int_equal(n_looks, n);
    }
}

/* ---------------------------------------------------------------- failures */

static void a_failure_of_one_ends_all(void **state)
{
    (void)state;
    const splat_train_options o = short_options(SPLAT_REGULARIZE_DENSITY);
    ends_without_memory(coarse_run(&o, LAST - FIRST), 3);
}

static void a_memory_limit_is_refused(void **state)
{
    (void)state;
    const splat_train_options o = short_options(SPLAT_REGULARIZE_DENSITY);
    shared_run run = coarse_run(&o, 1);
    run.limits[1] = (size_t)1 << 30;
    run_thread_ranks(2, train_as, &run);
    for (int r = 0; r < 2; r++) {
        assert_int_equal(run.status[r], SPLAT_ERROR_UNSUPPORTED);
        assert_non_null(strstr(run.error[r].message, "`vram_limit`"));
        assert_non_null(strstr(run.error[r].message, "coarse training"));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(batches_train_as_well),
        cmocka_unit_test(batches_go_on),
        cmocka_unit_test(what_is_asked_reaches_its_rank),
        cmocka_unit_test(a_failure_of_one_ends_all),
        cmocka_unit_test(a_memory_limit_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
