/* The one prune of coarse training: how many it keeps, whom it trims, and when too few are left. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include "coarse_fixture.h"
#include "io/splat/formats.h"
#include "surface/coarse/coarse_prune.h"

#include <math.h>

#define LAST 430

static void make_splat(void)
{
    make_splat_of(open_tiny, 800);
}

/* The prune comes with the first step after `after`. */
static splat_train_options options_with(int after)
{
    splat_train_options o = coarse_options(SPLAT_REGULARIZE_DENSITY, after, LAST);
    o.coarse.n_samples = 2000;
    return o;
}

static void the_pivot_is_a_quantile(void **state)
{
    (void)state;
    enum { N = 1000 };
    static float logits[N];
    splat_error error;
    float pivot;
    for (int i = 0; i < N; i++) logits[i] = 0.01f * (float)((i * 617) % N) - 8; /* -8 to 1.99, in disorder */
    static const struct {
        float keep, pivot;
    } cases[] = {{0, 0}, {0.1f, 0}, {0.199f, 0}, {0.25f, -0.5f}, {0.4f, -2}, {0.999f, -7.99f}, {1, -8}};
    for (size_t c = 0; c < sizeof cases / sizeof cases[0]; c++) {
        must(splat_coarse_find_pivot(logits, N, cases[c].keep, &pivot, &error), &error);
        print_message("keep %g: pivot %g\n", (double)cases[c].keep, (double)pivot);
        assert_true(fabsf(pivot - cases[c].pivot) <= 0.0101f);
    }
    for (int i = 0; i < N; i += 2) logits[i] = i % 4 ? -INFINITY : NAN; /* those are the least */
    must(splat_coarse_find_pivot(logits, N, 0.9f, &pivot, &error), &error);
    assert_true(pivot >= -8 && pivot < -7.9f);
    for (int i = 0; i < N; i++) logits[i] = -3; /* all the same */
    must(splat_coarse_find_pivot(logits, N, 0.4f, &pivot, &error), &error);
    assert_true(pivot == -3);
    for (int i = 0; i < N; i++) logits[i] = NAN;
    must(splat_coarse_find_pivot(logits, N, 0.4f, &pivot, &error), &error);
    assert_true(pivot == 0);
    must(splat_coarse_find_pivot(NULL, 0, 0.4f, &pivot, &error), &error);
    assert_true(pivot == 0);
}

/* The share of a splat that the prune keeps. */
static double share_kept(const tiny_place *p, const char *splat, float keep)
{
    splat_train_options o = options_with(FIRST + 300);
    o.prune_keep = keep;
    o.coarse.entropy_factor = 30; /* the photos have no say */
    if (keep <= 0) o.coarse.prune_opacity = 0.5f;
    splat_trainer *t = start_with(p, &o, splat);
    double n = splat_trainer_get_model(t)->gaussians.n;
    run_steps(t, 301);
    double share = splat_trainer_get_model(t)->gaussians.n / n;
    print_message("keep %g: pivot %g, %.3f stay\n", (double)keep, (double)t->regularizer_constant, share);
    splat_trainer_destroy(t);
    return share;
}

static void the_prune_keeps_a_stated_share(void **state)
{
    (void)state;
    splat_error error;
    splat_cloud host;
    tiny_place p = open_tiny(2);
    make_splat();
    must(splat_cloud_read(SPLAT, &host, &error), &error);
    for (size_t i = 0; i < host.n; i++) host.opacities[i] -= 4;
    must(splat_cloud_write("faint.ply", &host, NULL, &error), &error);
    splat_cloud_free(&host);
    assert_true(share_kept(&p, "faint.ply", 0) < 0.35);
    assert_true(fabs(share_kept(&p, "faint.ply", 0.4f) - 0.4) < 0.03);
    assert_true(fabs(share_kept(&p, "faint.ply", 0.7f) - 0.7) < 0.03);
    assert_true(share_kept(&p, SPLAT, 0.4f) > 0.5); /* at least */
    close_tiny(&p);
}

/* How many stay of a splat whose first HIDDEN Gaussians are where no view looks; *hidden: how many of those. */
#define HIDDEN 40
static uint32_t kept_with(const tiny_place *p, int trim_views, uint32_t *hidden)
{
    splat_train_options o = options_with(FIRST + 1);
    o.coarse.prune_opacity = 0;
    o.trim_views = trim_views;
    splat_trainer *t = start_with(p, &o, "hidden.ply");
    run_steps(t, 2);
    const splat_gaussians *g = &splat_trainer_get_model(t)->gaussians;
    uint32_t n = g->n;
    *hidden = 0;
    for (uint32_t i = 0; i < n; i++) *hidden += g->p.means[3 * i] > 500;
    splat_trainer_destroy(t);
    return n;
}

static void what_no_view_has_in_front_is_trimmed(void **state)
{
    (void)state;
    enum { N_CASES = 5 };
    static const int least[N_CASES] = {0, 1, 2, 4, 8};
    uint32_t kept[N_CASES], hidden[N_CASES];
    splat_error error;
    splat_cloud host;
    tiny_place p = open_tiny(2);
    make_splat();
    must(splat_cloud_read(SPLAT, &host, &error), &error);
    for (size_t i = 0; i < HIDDEN; i++) host.means[3 * i] += 1000;
    must(splat_cloud_write("hidden.ply", &host, NULL, &error), &error);
    for (int c = 0; c < N_CASES; c++) {
        kept[c] = kept_with(&p, least[c], &hidden[c]);
        print_message("in front in %d views: %u of %zu\n", least[c], kept[c], host.n);
    }
    assert_true(kept[0] == host.n && hidden[0] == HIDDEN);
    assert_true(kept[1] <= host.n - HIDDEN && hidden[1] == 0);
    for (int c = 2; c < N_CASES; c++) assert_true(kept[c] < kept[c - 1] && kept[c] > host.n / 10);
    splat_cloud_free(&host);

    splat_train_options o = options_with(FIRST + 1);
    o.trim_views = 100000;
    splat_trainer *t = start_with(&p, &o, "hidden.ply");
    run_steps(t, 1);
    assert_failure(splat_trainer_step(t, NULL, &error), SPLAT_ERROR_NUMERIC, &error, "take a smaller `trim_views`");
    splat_trainer_destroy(t);
    close_tiny(&p);
}

/* The prune may leave too few: the option that did it is named. */
static void a_prune_that_leaves_too_few(void **state)
{
    (void)state;
    splat_error error;
    tiny_place p = open_tiny(1);
    splat_train_options o = options_with(FIRST + 2);
    o.coarse.prune_opacity = 0.5f;
    splat_cloud host;
    make_splat();
    must(splat_cloud_read(SPLAT, &host, &error), &error);
    for (size_t i = 0; i < host.n; i++) host.opacities[i] = i < 5 ? 6 : -6;
    must(splat_cloud_write("transparent.ply", &host, NULL, &error), &error);
    splat_cloud_free(&host);
    splat_trainer *t = start_with(&p, &o, "transparent.ply");
    splat_status status = SPLAT_OK;
    for (int step = 0; step < 4 && status == SPLAT_OK; step++) status = splat_trainer_step(t, NULL, &error);
    assert_failure(status, SPLAT_ERROR_NUMERIC, &error, "as opaque as `prune_opacity` asks (0.5)");
    splat_trainer_destroy(t);
    close_tiny(&p);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_pivot_is_a_quantile),
        cmocka_unit_test(the_prune_keeps_a_stated_share),
        cmocka_unit_test(what_no_view_has_in_front_is_trimmed),
        cmocka_unit_test(a_prune_that_leaves_too_few),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
