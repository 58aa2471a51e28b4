/* SuGaR's coarse training: where it begins, its clock, what its losses do to the Gaussians, and that a run that was
 * stopped anywhere is the same run. The losses themselves are tested with their ops. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include "io/splat/formats.h"
#include "option_effects.h"
#include "scene_fixture.h"
#include "sugar/coarse/coarse_parts.h"
#include "train/schedule.h"
#include "train/strategies/default.h"
#include "train/train_options.h"
#include "view_job_fixture.h"

#include <math.h>

#define SPLAT "splat.ply"
#define FIRST 100
#define AFTER 130
#define LAST 430

/* A splat of the tiny scene, trained until its surfaces are opaque; made once. */
static void make_splat(void)
{
    splat_error error;
    splat_train_options o;
    if (splat_path_exists(SPLAT)) return;
    tiny_place p = open_tiny(2);
    splat_train_options_init(&o);
    o.iterations = 1000;
    o.densify_from_iter = 150;
    o.densification_interval = 100;
    o.densify_until_iter = 500;
    o.opacity_reset_interval = 100000;
    splat_trainer *t = tiny_trainer(&p, &o);
    run_steps(t, 800);
    must(splat_model_save(splat_trainer_get_model(t), SPLAT, NULL, &error), &error);
    splat_trainer_destroy(t);
    close_tiny(&p);
}

/* The whole schedule within a few hundred steps. */
static splat_train_options short_options(splat_regularization regularization)
{
    splat_train_options o;
    splat_train_options_init_coarse(&o, regularization);
    o.iterations = LAST;
    o.coarse.first_iteration = FIRST;
    o.coarse.regularize_after = AFTER;
    o.coarse.neighbor_interval = 25;
    o.coarse.n_samples = 2000;
    return o;
}

static splat_trainer *start(const tiny_place *p, const splat_train_options *o)
{
    splat_error error;
    make_splat();
    splat_trainer *t = tiny_trainer(p, o);
    must(splat_trainer_start_coarse(t, SPLAT, &error), &error);
    return t;
}

static double psnr_of(const tiny_place *p, splat_model *model)
{
    splat_error error;
    splat_metrics mean;
    must(evaluate_set(model, p->scene, SPLAT_VIEWS_TRAIN, false, &mean, &error), &error);
    return mean.psnr;
}

/* ---------------------------------------------------------------- the options */

/* The model after the first losses of the surface; the caller frees. */
static uint8_t *early_result(const tiny_place *p, const splat_train_options *o, size_t *size)
{
    splat_trainer *t = start(p, o);
    run_steps(t, 12);
    uint8_t *bytes = model_bytes(splat_trainer_get_model(t), "result.ply", size);
    splat_trainer_destroy(t);
    return bytes;
}

/* Those lines of train_options.def that have this effect; the others are tested in test_trainer. */
static void check_effects(splat_option_effect effect, splat_regularization regularization)
{
    tiny_place p = open_tiny(2);
    splat_train_options usual = short_options(regularization);
    usual.coarse.regularize_after = FIRST + 3;
    usual.coarse.neighbor_interval = 4;
    usual.coarse.entropy_factor = 1;
    usual.flat_factor = 100;
    assert_true(check_option_effects(&p, &usual, effect, early_result) > 0);
    close_tiny(&p);
}

static void every_option_does_what_its_line_says(void **state)
{
    (void)state;
    check_effects(SPLAT_CHANGES_COARSE, SPLAT_REGULARIZE_DN_CONSISTENCY);
    check_effects(SPLAT_CHANGES_SDF, SPLAT_REGULARIZE_SDF);
}

/* ---------------------------------------------------------------- the clock */

static void the_clock(void **state)
{
    (void)state;
    splat_train_options o, plain;
    splat_train_options_init_coarse(&o, SPLAT_REGULARIZE_DENSITY);
    splat_train_options_init(&plain);
    assert_int_equal(o.iterations, 15000);
    assert_int_equal(splat_schedule_sh_degree(&o, 7001), 3);
    assert_true(splat_coarse_has_entropy(&o, 7001) && splat_coarse_has_entropy(&o, 8999));
    assert_false(splat_coarse_has_entropy(&o, 9000));
    assert_false(splat_coarse_regularizes(&o, 9000));
    assert_true(splat_coarse_regularizes(&o, 9001));
    assert_true(splat_coarse_searches_neighbors(&o, 9001) && splat_coarse_searches_neighbors(&o, 9500));
    assert_false(splat_coarse_searches_neighbors(&o, 9002) || splat_coarse_searches_neighbors(&o, 8500));
    for (int i = 7000; i <= 15000; i++) {
        assert_int_equal(splat_coarse_prunes_after(&o, i), i == 9000);
        assert_false(splat_default_densifies_after(&o, i) || splat_default_resets_opacity_after(&o, true, i) ||
                     splat_schedule_filters_after(&o, i) || splat_default_wants_statistics(&o, i));
        assert_false(splat_coarse_regularizes(&plain, i) || splat_coarse_has_entropy(&plain, i) ||
                     splat_coarse_prunes_after(&plain, i));
    }
    /* 7000 of 30000 steps down from 1.6e-4 to 1.6e-6 is a factor of 100^(-7/30) */
    for (int i = 9001; i <= 15000; i++) assert_true(splat_coarse_fade(&o, i) == 1);
    o.surface_fade = 0.5f; /* the last 3000 of 6000 steps */
    assert_true(splat_coarse_fade(&o, 9001) == 1 && splat_coarse_fade(&o, 12000) == 1);
    assert_true(splat_coarse_fade(&o, 13500) == 0.5 && splat_coarse_fade(&o, 14250) == 0.25);
    assert_true(splat_coarse_fade(&o, 15000) == 0);
    assert_true(fabs((double)splat_schedule_position_lr(&o, 1, 7000) / 1.6e-4 - 0.3415) < 1e-3);
}

/* ---------------------------------------------------------------- the beginning */

/* The largest difference of two pictures of the first view. */
static double difference(const tiny_place *p, splat_model *a, splat_model *b)
{
    splat_error error;
    splat_view_info view;
    const float black[3] = {0, 0, 0};
    must(splat_scene_get_view(p->scene, 0, &view, &error), &error);
    size_t n = 3 * (size_t)view.camera.width * (size_t)view.camera.height;
    float *x = malloc(n * sizeof *x), *y = malloc(n * sizeof *y);
    must(splat_model_render(a, &view.camera, black, x, &error), &error);
    must(splat_model_render(b, &view.camera, black, y, &error), &error);
    double worst = 0;
    for (size_t i = 0; i < n; i++) worst = fmax(worst, fabs((double)x[i] - (double)y[i]));
    free(x);
    free(y);
    return worst;
}

/* It looks as the splat does, in the mode that the splat asks for, with the filter fused and all SH bands. */
static void it_begins_with_the_splat(void **state)
{
    (void)state;
    splat_error error;
    splat_model_info info;
    splat_model *splat;
    splat_train_options o = short_options(SPLAT_REGULARIZE_DENSITY);
    tiny_place p = open_tiny(2);
    splat_trainer *t = start(&p, &o);
    must(splat_model_load(p.context, SPLAT, &splat, &error), &error);
    splat_model_get_info(splat_trainer_get_model(t), &info);
    assert_int_equal(info.render_mode, SPLAT_RENDER_MIP);
    assert_false(info.has_filter_3d);
    assert_int_equal(splat_trainer_get_iteration(t), FIRST);
    assert_int_equal(splat_trainer_get_model(t)->gaussians.active_sh_degree, 3);
    double worst = difference(&p, splat, splat_trainer_get_model(t));
    assert_true(worst < 1e-4); /* scales and opacities were rounded once more */
    splat_model_destroy(splat);

    splat_cloud host; /* a classic splat stays classic */
    must(splat_cloud_read(SPLAT, &host, &error), &error);
    free(host.filter_3d);
    host.filter_3d = NULL;
    host.render_mode = SPLAT_RENDER_AUTO;
    must(splat_cloud_write("classic.ply", &host, NULL, &error), &error);
    splat_cloud_free(&host);
    must(splat_trainer_start_coarse(t, "classic.ply", &error), &error);
    splat_model_get_info(splat_trainer_get_model(t), &info);
    assert_int_equal(info.render_mode, SPLAT_RENDER_CLASSIC);
    must(splat_model_load(p.context, "classic.ply", &splat, &error), &error);
    assert_true(difference(&p, splat, splat_trainer_get_model(t)) < 1e-6);
    splat_model_destroy(splat);
    splat_trainer_destroy(t);
    close_tiny(&p);
}

/* The prune may leave too few: the option that did it is named. */
static void a_prune_that_leaves_too_few(void **state)
{
    (void)state;
    splat_error error;
    tiny_place p = open_tiny(1);
    splat_train_options o = short_options(SPLAT_REGULARIZE_DENSITY);
    o.coarse.prune_opacity = 0.5f;
    o.coarse.regularize_after = FIRST + 2;
    splat_cloud host;
    must(splat_cloud_read(SPLAT, &host, &error), &error);
    for (size_t i = 0; i < host.n; i++) host.opacities[i] = i < 5 ? 6 : -6;
    must(splat_cloud_write("transparent.ply", &host, NULL, &error), &error);
    splat_cloud_free(&host);
    splat_trainer *t = start(&p, &o);
    must(splat_trainer_start_coarse(t, "transparent.ply", &error), &error);
    splat_status status = SPLAT_OK;
    for (int step = 0; step < 4 && status == SPLAT_OK; step++) status = splat_trainer_step(t, NULL, &error);
    assert_failure(status, SPLAT_ERROR_NUMERIC, &error, "as opaque as `prune_opacity` asks (0.5)");
    splat_trainer_destroy(t);
    close_tiny(&p);
}

static void what_cannot_begin(void **state)
{
    (void)state;
    splat_error error;
    tiny_place p = open_tiny(1);
    splat_train_options o = short_options(SPLAT_REGULARIZE_SDF), plain = tiny_options(100);
    splat_trainer *t = start(&p, &o), *first_stage = tiny_trainer(&p, &plain);
    assert_failure(splat_trainer_start_coarse(first_stage, SPLAT, &error), SPLAT_ERROR_ARGUMENT, &error,
                   "without coarse options");
    assert_failure(splat_trainer_start_coarse(t, "none.ply", &error), SPLAT_ERROR_IO, &error, "none.ply");

    splat_cloud host;
    must(splat_cloud_read(SPLAT, &host, &error), &error);
    size_t n = host.n;
    host.n = 15;
    must(splat_cloud_write("few.ply", &host, NULL, &error), &error);
    host.n = 0;
    must(splat_cloud_write("empty.ply", &host, NULL, &error), &error);
    host.n = n;
    for (size_t i = 0; i < n; i++) host.means[3 * i + 1] += 1000; /* another world */
    must(splat_cloud_write("elsewhere.ply", &host, NULL, &error), &error);
    splat_cloud_free(&host);
    assert_failure(splat_trainer_start_coarse(t, "elsewhere.ply", &error), SPLAT_ERROR_FORMAT, &error,
                   "no training view of tiny sees this splat");
    assert_failure(splat_trainer_start_coarse(t, "few.ply", &error), SPLAT_ERROR_NUMERIC, &error,
                   "15 Gaussians do not make a surface");
    splat_trainer_destroy(t);
    t = start(&p, &o);
    assert_failure(splat_trainer_start_coarse(t, "empty.ply", &error), SPLAT_ERROR_FORMAT, &error, "0 Gaussians");
    splat_trainer_destroy(t);

    run_steps(first_stage, 3); /* a checkpoint of the other stage */
    must(splat_trainer_save_checkpoint(first_stage, "first.splatsmith", &error), &error);
    splat_trainer_destroy(first_stage);
    t = start(&p, &o);
    assert_failure(splat_trainer_load_checkpoint(t, "first.splatsmith", &error), SPLAT_ERROR_ARGUMENT, &error,
                   "stage train");
    const char *source = getenv("SPLATSMITH_SOURCE"); /* the published trainers' are all of the first stage */
    char *path = splat_format("%s/tests/golden/torch_checkpoint.pth", source ? source : ".");
    assert_failure(splat_trainer_load_checkpoint(t, path, &error), SPLAT_ERROR_ARGUMENT, &error, "stage coarse");
    free(path);
    assert_int_equal(splat_trainer_get_iteration(t), FIRST);
    splat_trainer_destroy(t);
    o.densify_until_iter = 10;
    assert_failure(splat_trainer_create(p.context, p.scene, &o, &t, &error), SPLAT_ERROR_ARGUMENT, &error,
                   "density control");
    o.densify_until_iter = 0;
    o.iterations = FIRST;
    assert_failure(splat_trainer_create(p.context, p.scene, &o, &t, &error), SPLAT_ERROR_ARGUMENT, &error,
                   "counts from 100");
    o.iterations = LAST;
    o.coarse.regularize_after = FIRST - 1; /* nothing would be pruned */
    assert_failure(splat_trainer_create(p.context, p.scene, &o, &t, &error), SPLAT_ERROR_ARGUMENT, &error,
                   "regularize_after");
    o.coarse.regularize_after = AFTER;
    o.coarse.n_samples = 0;
    assert_failure(splat_trainer_create(p.context, p.scene, &o, &t, &error), SPLAT_ERROR_ARGUMENT, &error, "n_samples");
    close_tiny(&p);
}

/* ---------------------------------------------------------------- the run */

/* Means over the Gaussians: of the smallest scale over the middle one, and of opacity. */
static void shape_of(const splat_model *model, double *flatness, double *opacity, double *least_opacity)
{
    const splat_gaussians *g = &model->gaussians; /* the CPU's memory is the host's */
    *flatness = *opacity = 0;
    *least_opacity = 1;
    for (uint32_t i = 0; i < g->n; i++) {
        const float *s = g->p.scales + 3 * i;
        double low = fmin(fmin((double)s[0], (double)s[1]), (double)s[2]);
        double high = fmax(fmax((double)s[0], (double)s[1]), (double)s[2]);
        double middle = (double)s[0] + (double)s[1] + (double)s[2] - low - high;
        double o = 1 / (1 + exp(-(double)g->p.opacities[i]));
        *flatness += exp(low - middle) / g->n;
        *opacity += o / g->n;
        *least_opacity = fmin(*least_opacity, o);
    }
}

/* A loss or figure of the last step. */
static double loss_of(const splat_trainer *t, const char *name)
{
    splat_error error;
    splat_loss losses[SPLAT_MAX_LOSSES];
    size_t n;
    must(splat_trainer_get_losses(t, losses, &n, &error), &error);
    for (size_t i = 0; i < n; i++)
        if (strcmp(losses[i].name, name) == 0) return losses[i].value;
    fail_msg("there is no loss %s", name);
    return NAN;
}

#define MEAN_STEPS 20

static double mean_estimation(splat_trainer *t)
{
    double sum = 0;
    for (int i = 0; i < MEAN_STEPS; i++) {
        run_steps(t, 1);
        sum += loss_of(t, "estimation") / MEAN_STEPS;
    }
    return sum;
}

static void each_loss_at_its_time(void **state)
{
    (void)state;
    static const splat_regularization modes[] = {SPLAT_REGULARIZE_DENSITY, SPLAT_REGULARIZE_SDF,
                                                 SPLAT_REGULARIZE_DN_CONSISTENCY};
    for (int m = 0; m < 3; m++) {
        double flat[2], opacity[2], least;
        tiny_place p = open_tiny(2);
        splat_train_options o = short_options(modes[m]);
        o.prune_keep = 0; /* as SuGaR */
        o.coarse.prune_opacity = 0.5f;
        splat_trainer *t = start(&p, &o);
        double before = psnr_of(&p, splat_trainer_get_model(t));
        size_t n = splat_trainer_get_model(t)->gaussians.n;
        run_steps(t, AFTER - FIRST - 1);
        assert_true(loss_of(t, "entropy") > 0 && loss_of(t, "entropy") < 0.6932);
        assert_true(isnan(loss_of(t, "estimation")) && isnan(loss_of(t, "normal")));
        run_steps(t, 1); /* 9000 of the usual clock: no loss of its own */
        assert_true(isnan(loss_of(t, "entropy")) && isnan(loss_of(t, "estimation")));
        shape_of(splat_trainer_get_model(t), &flat[0], &opacity[0], &least);
        assert_int_equal(splat_trainer_get_model(t)->gaussians.n, n);
        splat_step_info step = run_steps(t, 1);
        assert_true(step.n_removed > 0 && step.n_gaussians == n - step.n_removed);
        shape_of(splat_trainer_get_model(t), &flat[0], &opacity[0], &least);
        assert_true(least > 0.45); /* a step after those below 0.5 went */
        assert_true(isnan(loss_of(t, "entropy")) && loss_of(t, "estimation") > 0 && loss_of(t, "normal") > 0);
        double sampled = loss_of(t, "sampled_gaussians");
        bool is_sdf = modes[m] == SPLAT_REGULARIZE_SDF; /* about half have a depth, and within the field's range */
        assert_true(loss_of(t, "samples") > (is_sdf ? 500 : 1999));
        assert_true(sampled > 0 && sampled <= (double)step.n_gaussians);
        assert_int_equal(isnan(loss_of(t, "depth_normal")), modes[m] != SPLAT_REGULARIZE_DN_CONSISTENCY);
        double first = mean_estimation(t), last;
        run_steps(t, LAST - AFTER - 1 - 2 * MEAN_STEPS);
        last = mean_estimation(t);
        shape_of(splat_trainer_get_model(t), &flat[1], &opacity[1], &least);
        double after = psnr_of(&p, splat_trainer_get_model(t));
        print_message("mode %d: PSNR %.2f -> %.2f, %zu -> %u Gaussians, flatness %.3f -> %.3f, opacity %.3f -> %.3f, "
                      "loss %.4f -> %.4f\n", (int)modes[m], before, after, n, splat_trainer_get_model(t)->gaussians.n,
                      flat[0], flat[1], opacity[0], opacity[1], first, last);
        assert_true(last < 0.9 * first);
        assert_true(after > before - 1.5);
        splat_trainer_destroy(t);
        close_tiny(&p);
    }
}

/* ---------------------------------------------------------------- the prune */

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

/* What the prune leaves of a splat. */
static double share_kept(const tiny_place *p, const char *splat, float keep)
{
    splat_error error;
    splat_train_options o = short_options(SPLAT_REGULARIZE_DENSITY);
    o.coarse.regularize_after = FIRST + 300;
    o.prune_keep = keep;
    o.coarse.entropy_factor = 30; /* the photos have no say */
    if (keep <= 0) o.coarse.prune_opacity = 0.5f;
    splat_trainer *t = tiny_trainer(p, &o);
    must(splat_trainer_start_coarse(t, splat, &error), &error);
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
    splat_error error;
    splat_train_options o = short_options(SPLAT_REGULARIZE_DENSITY);
    o.coarse.regularize_after = FIRST + 1;
    o.coarse.prune_opacity = 0;
    o.trim_views = trim_views;
    splat_trainer *t = tiny_trainer(p, &o);
    must(splat_trainer_start_coarse(t, "hidden.ply", &error), &error);
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

    splat_train_options o = short_options(SPLAT_REGULARIZE_DENSITY);
    o.coarse.regularize_after = FIRST + 1;
    o.trim_views = 100000;
    splat_trainer *t = tiny_trainer(&p, &o);
    must(splat_trainer_start_coarse(t, "hidden.ply", &error), &error);
    run_steps(t, 1);
    assert_failure(splat_trainer_step(t, NULL, &error), SPLAT_ERROR_NUMERIC, &error, "take a smaller `trim_views`");
    splat_trainer_destroy(t);
    close_tiny(&p);
}

/* Photos, entropy and prune alone: what a mode costs is told against this. Nothing else is done, nor searched. */
static void without_factors_only_photos_are_trained_on(void **state)
{
    (void)state;
    splat_train_options o = short_options(SPLAT_REGULARIZE_DENSITY);
    o.coarse.regularize_after = FIRST + 2;
    tiny_place p = open_tiny(2);
    for (int k = 0; k < 2; k++) {
        splat_error error;
        splat_tensors gradients;
        bool any = true;
        o.coarse.normal_factor = k ? 0 : 0.2f;
        o.coarse.estimation_factor = 0;
        splat_trainer *t = start(&p, &o);
        run_steps(t, 4);
        assert_true((t->regularizer_rows.n_cached > 0) == (k == 0));
        assert_true(isnan(loss_of(t, "estimation")) == (k == 1) && isnan(loss_of(t, "entropy")));
        must(splat_coarse_step(t, FIRST + 5, 0, &gradients, &any, &error), &error);
        assert_true(any == (k == 0));
        splat_trainer_destroy(t);
    }
    close_tiny(&p);
}

/* The mean of the smallest scale over the middle one after training with the losses of the surface. */
static double flatness_with(const tiny_place *p, float factor, float ratio, double *share)
{
    double flat, opacity, least;
    splat_train_options o = short_options(SPLAT_REGULARIZE_DENSITY);
    o.coarse.estimation_factor = o.coarse.normal_factor = 0;
    o.flat_factor = factor;
    o.flat_ratio = ratio;
    splat_trainer *t = start(p, &o);
    run_steps(t, LAST - FIRST);
    shape_of(splat_trainer_get_model(t), &flat, &opacity, &least);
    *share = loss_of(t, "thick_share");
    assert_true(isnan(loss_of(t, "thickness")) == (factor <= 0));
    splat_trainer_destroy(t);
    return flat;
}

/* Without a hinge all Gaussians count to the end. With one those below it do not, and it stops where it stands. */
static void thick_gaussians_are_flattened(void **state)
{
    (void)state;
    double shares[3], flat[3];
    tiny_place p = open_tiny(2);
    flat[0] = flatness_with(&p, 0, 0, &shares[0]);
    flat[1] = flatness_with(&p, 400, 0, &shares[1]);
    flat[2] = flatness_with(&p, 400, 0.4f, &shares[2]);
    print_message("flatness %.3f, flattened %.3f, with a hinge %.3f; too thick %.3f, %.3f\n", flat[0], flat[1], flat[2],
                  shares[1], shares[2]);
    assert_true(isnan(shares[0]) && shares[1] == 1 && shares[2] < 0.9);
    assert_true(flat[1] < 0.5 * flat[0] && flat[1] < flat[2] && flat[2] < 0.8 * flat[0]);
    close_tiny(&p);
}

/* Stops at random places, before and after pruning and searches of neighbours. */
static void a_stopped_run_is_the_same_run(void **state)
{
    (void)state;
    static const splat_regularization modes[] = {SPLAT_REGULARIZE_SDF, SPLAT_REGULARIZE_DN_CONSISTENCY};
    for (int m = 0; m < 2; m++) {
        splat_error error;
        splat_train_options o = short_options(modes[m]);
        o.prune_keep = 0.8f; /* more than are above 1/2: the pivot is one of the run */
        o.trim_views = 1;
        tiny_place p = open_tiny(1);
        splat_trainer *whole = start(&p, &o);
        run_steps(whole, LAST - FIRST);
        save_as(whole, "whole.splatsmith", "whole.ply");
        splat_trainer_destroy(whole);
        close_tiny(&p);
        unsigned random = 3;
        for (int at = FIRST; at < LAST;) {
            p = open_tiny(3);
            splat_trainer *t = tiny_trainer(&p, &o);
            if (at == FIRST)
                must(splat_trainer_start_coarse(t, SPLAT, &error), &error);
            else
                must(splat_trainer_load_checkpoint(t, "part.splatsmith", &error), &error);
            assert_int_equal(splat_trainer_get_iteration(t), at);
            random = random * 1103515245u + 12345u;
            int n = 1 + (int)(random >> 16) % 17;
            if (at + n > LAST) n = LAST - at;
            run_steps(t, n);
            at += n;
            save_as(t, "part.splatsmith", "part.ply");
            splat_trainer_destroy(t);
            close_tiny(&p);
        }
        assert_true(same_checkpoints("whole.splatsmith", "part.splatsmith"));
        assert_true(same_files("whole.ply", "part.ply"));
    }
}

/* Copies a checkpoint with one index among its neighbours changed, and with right checksums. */
static void write_with_neighbor(const char *path, const char *to, size_t place, uint32_t index)
{
    splat_error error;
    splat_tensor_reader file;
    splat_tensor_writer writer;
    must(splat_tensor_reader_open(&file, path, &error), &error);
    must(splat_tensor_writer_open(&writer, to, file.header, file.entries, file.n, &error), &error);
    for (size_t i = 0; i < file.n; i++) {
        size_t size = (size_t)file.entries[i].bytes;
        uint32_t *data = malloc(size + 1);
        must(splat_tensor_reader_read(&file, &file.entries[i], 0, data, size, &error), &error);
        if (strcmp(file.entries[i].name, "neighbors") == 0) {
            assert_true(place < size / sizeof *data);
            data[place] = index;
        }
        must(splat_tensor_writer_write(&writer, data, size, &error), &error);
        free(data);
    }
    must(splat_tensor_writer_commit(&writer, &error), &error);
    splat_tensor_reader_close(&file);
}

/* Neighbours are indices: a file that was made by hand must not lead out of the arrays. */
static void neighbors_stay_inside(void **state)
{
    (void)state;
    splat_error error;
    splat_train_options o = short_options(SPLAT_REGULARIZE_DENSITY);
    o.coarse.regularize_after = FIRST + 1;
    tiny_place p = open_tiny(1);
    splat_trainer *t = start(&p, &o);
    run_steps(t, 3);
    uint32_t n = splat_trainer_get_model(t)->gaussians.n;
    must(splat_trainer_save_checkpoint(t, "neighbors.splatsmith", &error), &error);
    write_with_neighbor("neighbors.splatsmith", "inside.splatsmith", (size_t)n * SPLAT_NEIGHBORS - 1, n - 1);
    write_with_neighbor("neighbors.splatsmith", "outside.splatsmith", (size_t)n * SPLAT_NEIGHBORS - 1, n);
    must(splat_trainer_load_checkpoint(t, "inside.splatsmith", &error), &error);
    run_steps(t, 1);
    assert_failure(splat_trainer_load_checkpoint(t, "outside.splatsmith", &error), SPLAT_ERROR_FORMAT, &error,
                   "a Gaussian that does not exist");
    assert_failure(splat_trainer_save_checkpoint(t, "never.splatsmith", &error), SPLAT_ERROR_UNSUPPORTED, &error,
                   "halfway");
    must(splat_trainer_load_checkpoint(t, "neighbors.splatsmith", &error), &error); /* and all is well again */
    run_steps(t, 1);
    splat_trainer_destroy(t);
    close_tiny(&p);
}

/* The model of a checkpoint is rendered as the run renders it. */
static void a_checkpoint_is_a_splat(void **state)
{
    (void)state;
    splat_error error;
    splat_model *loaded;
    splat_model_info info;
    splat_train_options o = short_options(SPLAT_REGULARIZE_DENSITY);
    tiny_place p = open_tiny(1);
    splat_trainer *t = start(&p, &o);
    must(splat_trainer_start_coarse(t, "classic.ply", &error), &error);
    run_steps(t, 2);
    must(splat_trainer_save_checkpoint(t, "classic.splatsmith", &error), &error);
    must(splat_model_load(p.context, "classic.splatsmith", &loaded, &error), &error);
    splat_model_get_info(loaded, &info);
    assert_int_equal(info.render_mode, SPLAT_RENDER_CLASSIC);
    assert_true(difference(&p, loaded, splat_trainer_get_model(t)) == 0);
    must(splat_model_describe("classic.splatsmith", &info, &error), &error);
    assert_int_equal(info.n_gaussians, splat_trainer_get_model(t)->gaussians.n);
    assert_int_equal(info.render_mode, SPLAT_RENDER_CLASSIC);
    must(splat_model_describe(SPLAT, &info, &error), &error);
    assert_true(info.has_filter_3d && info.sh_degree == 3 && info.render_mode == SPLAT_RENDER_MIP);
    splat_model_destroy(loaded);
    splat_trainer_destroy(t);
    close_tiny(&p);
}

/* ---------------------------------------------------------------- memory */

/* What a plan promises is kept: the peak stays below the planned bytes; and too small a limit is an error. */
static void keep_limit(const char *scene, splat_regularization mode, int threads, int after, int n_steps)
{
    splat_error error;
    splat_plan plan;
    splat_plan_options wanted;
    splat_memory_info memory;
    splat_model_info splat;
    splat_train_options o = short_options(mode), chosen;
    o.coarse.regularize_after = after;
    splat_train_options_init(&chosen);
    make_splat();
    tiny_place p = open_tiny_at(scene, threads);
    must(splat_model_describe(SPLAT, &splat, &error), &error);
    splat_plan_options_init(&wanted);
    splat_plan_init(&plan);
    wanted.n_gaussians = splat.n_gaussians;
    wanted.limit_bytes = (size_t)1 << 40;
    must(splat_plan_make(p.context, p.scene, &o, &wanted, &chosen, &plan, &error), &error);
    size_t ample = plan.total_bytes;
    wanted.limit_bytes = 100000;
    assert_failure(splat_plan_make(p.context, p.scene, &o, &wanted, &chosen, &plan, &error), SPLAT_ERROR_MEMORY, &error,
                   "least possible");
    wanted.limit_bytes = ample;
    must(splat_plan_make(p.context, p.scene, &o, &wanted, &chosen, &plan, &error), &error);
    must(splat_context_set_memory_limit(p.context, ample, &error), &error);
    splat_trainer *t = start(&p, &chosen);
    run_steps(t, n_steps);
    splat_context_get_memory(p.context, &memory);
    print_message("planned %zu, peak %zu\n", ample, memory.peak_bytes);
    assert_true(memory.peak_bytes <= ample);
    assert_int_equal(p.log->n_warnings, 0); /* no step was left out */
    splat_trainer_destroy(t);
    close_tiny(&p);
}

static void a_limit_is_kept(void **state)
{
    (void)state;
    keep_limit(TINY_SCENE, SPLAT_REGULARIZE_DN_CONSISTENCY, 2, AFTER, LAST - FIRST);
    /* many threads have much working memory of their own; a step on each side of the pruning sees all of it */
    keep_limit(TINY_SCENE, SPLAT_REGULARIZE_SDF, 200, FIRST + 1, 2);
}

/* A scene with far more points than the splat has Gaussians: they are of no use here, and must not need memory. */
static void points_of_the_scene_take_no_memory(void **state)
{
    (void)state;
    tiny_place p = open_tiny(2);
    make_tiny_scene("points", p.context, 20000, 0);
    close_tiny(&p);
    keep_limit("points", SPLAT_REGULARIZE_DENSITY, 2, FIRST + 1, 3);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_option_does_what_its_line_says),
        cmocka_unit_test(the_clock),
        cmocka_unit_test(it_begins_with_the_splat),
        cmocka_unit_test(a_prune_that_leaves_too_few),
        cmocka_unit_test(what_cannot_begin),
        cmocka_unit_test(each_loss_at_its_time),
        cmocka_unit_test(the_pivot_is_a_quantile),
        cmocka_unit_test(the_prune_keeps_a_stated_share),
        cmocka_unit_test(what_no_view_has_in_front_is_trimmed),
        cmocka_unit_test(without_factors_only_photos_are_trained_on),
        cmocka_unit_test(thick_gaussians_are_flattened),
        cmocka_unit_test(a_stopped_run_is_the_same_run),
        cmocka_unit_test(neighbors_stay_inside),
        cmocka_unit_test(a_checkpoint_is_a_splat),
        cmocka_unit_test(a_limit_is_kept),
        cmocka_unit_test(points_of_the_scene_take_no_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
