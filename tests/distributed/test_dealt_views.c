/* Evaluations by several ranks, as threads: the views are dealt, the figures and pictures are those of one rank that
 * has all Gaussians, in their order; no rank has them all. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "lpips_fixture.h"
#include "shared_run_fixture.h"
#include "train/ranks/shards.h"

#include <math.h>

enum { VIEWS = 8, PIXELS = 64 * 48 }; /* of the tiny scene */

/* The arguments that a visitor received. */
typedef struct seen {
    size_t n, order[VIEWS], stop_after;
    float pictures[VIEWS][3 * PIXELS];
    uint8_t photos[VIEWS][3 * PIXELS];
    splat_metrics metrics[VIEWS];
} seen;

typedef struct evaluation {
    splat_view_set set;
    bool quantize, color_correct;
    const char *lpips_net;
    splat_lpips *lpips;
    size_t stop_after; /* views; 0: none */
    bool whole_before; /* all Gaussians come to rank 0 first */
    seen dealt, whole;
    splat_metrics mean, wanted;
    splat_status status;
    splat_error error;
    uint32_t n_here, n_all; /* rank 0's Gaussians at the last view */
} evaluation;

static bool see(void *user, size_t index_in_set, const splat_view_info *view, const float *render,
                const uint8_t *photo, const splat_metrics *metrics)
{
    seen *s = user;
    if (s->n == VIEWS || view->camera.width * view->camera.height != PIXELS) return false;
    memcpy(s->pictures[s->n], render, sizeof s->pictures[0]);
    memcpy(s->photos[s->n], photo, sizeof s->photos[0]);
    s->metrics[s->n] = *metrics;
    s->order[s->n++] = index_in_set;
    return s->n != s->stop_after;
}

/* Runs on rank 0, in its thread: no assertion here. */
static void evaluate(splat_trainer *t, void *user)
{
    evaluation *e = user;
    splat_lpips_options with;
    splat_lpips_options_init(&with);
    with.net = e->lpips_net;
    with.weights = ".";
    splat_view_job job = job_on(e->set, see, &e->dealt);
    job.quantize = e->quantize;
    job.color_correct = e->color_correct;
    e->status = SPLAT_OK;
    e->dealt.n = e->whole.n = 0;
    e->dealt.stop_after = e->whole.stop_after = e->stop_after;
    if (e->lpips_net) e->status = splat_lpips_create(t->context, &with, &e->lpips, &e->error);
    job.lpips = e->lpips;
    if (e->status == SPLAT_OK && e->whole_before) e->status = splat_trainer_gather(t, &e->error);
    if (e->status == SPLAT_OK) e->status = splat_trainer_evaluate(t, &job, &e->mean, &e->error);
    e->n_here = t->model->gaussians.n;
    e->n_all = splat_shards_count(t);
    job.user = &e->whole;
    if (e->status == SPLAT_OK) e->status = splat_trainer_gather(t, &e->error);
    if (e->status == SPLAT_OK) e->status = splat_model_evaluate(t->model, t->scene, &job, &e->wanted, &e->error);
    splat_lpips_destroy(e->lpips);
    e->lpips = NULL;
}

static void must_be_alike(const splat_metrics *a, const splat_metrics *b)
{
    assert_true(a->psnr == b->psnr && a->ssim == b->ssim && a->l1 == b->l1 && a->n_views == b->n_views);
    assert_true(a->psnr_per_channel == b->psnr_per_channel && a->kept == b->kept && a->n_masked == b->n_masked);
    assert_true(a->psnr_whole == b->psnr_whole && a->is_corrected == b->is_corrected && a->cc_psnr == b->cc_psnr);
    assert_true(a->lpips == b->lpips && a->lpips_net == b->lpips_net && a->render_ms > 0);
}

static void must_agree(const evaluation *e, int n_ranks)
{
    if (e->status != SPLAT_OK) fail_msg("%d ranks: %s", n_ranks, e->error.message);
    assert_true(e->mean.n_views > 0 && e->mean.psnr > 1);
    must_be_alike(&e->mean, &e->wanted);
    assert_int_equal(e->dealt.n, e->whole.n);
    for (size_t i = 0; i < e->dealt.n; i++) {
        assert_int_equal(e->dealt.order[i], i);
        must_be_alike(&e->dealt.metrics[i], &e->whole.metrics[i]);
        assert_memory_equal(e->dealt.photos[i], e->whole.photos[i], sizeof e->whole.photos[i]);
        assert_memory_equal(e->dealt.pictures[i], e->whole.pictures[i], sizeof e->whole.pictures[i]);
    }
    assert_int_equal(e->n_here, n_ranks == 1 ? e->n_all : (e->n_all - 1) / (uint32_t)n_ranks + 1);
}

/* Eight views, or five: the last batch of 3 and of 5 ranks is smaller; 8 ranks have one of five at most. */
static void evaluate_in(shared_run run, evaluation *e)
{
    static const int ranks[] = {1, 2, 3, 5, 8};
    run.look_apart = evaluate;
    run.user = e;
    for (size_t i = 0; i < sizeof ranks / sizeof ranks[0]; i++) {
        run_well(&run, ranks[i]);
        must_agree(e, ranks[i]);
    }
}

static void figures_are_those_of_one_rank(void **state)
{
    (void)state;
    evaluation *e = calloc(1, sizeof *e);
    splat_train_options o = tiny_options(60);
    e->set = SPLAT_VIEWS_TRAIN;
    e->quantize = true;
    evaluate_in(make_run(&o, 40), e);
    assert_int_equal(e->mean.n_views, VIEWS);
    e->set = SPLAT_VIEWS_TRAIN_REPORT;
    e->quantize = false;
    e->color_correct = e->whole_before = true;
    evaluate_in(make_run(&o, 40), e);
    assert_int_equal(e->mean.n_views, 5);
    assert_true(e->mean.is_corrected);
    free(e);
}

/* Before any step. Small storages, too, and rays within their pixels, which no evaluation has. */
static void at_any_time(void **state)
{
    (void)state;
    evaluation *e = calloc(1, sizeof *e);
    e->set = SPLAT_VIEWS_TRAIN;
    splat_train_options o = tiny_options(60);
    evaluate_in(make_run(&o, 0), e);
    set_storages(&o, 3);
    o.ray_jitter = o.resample_gt_image = true;
    evaluate_in(make_run(&o, 30), e);
    free(e);
}

/* All bands are active in the checkpoint; ranks that have made no step yet must learn it. */
static void bands_are_those_of_a_checkpoint(void **state)
{
    (void)state;
    evaluation *e = calloc(1, sizeof *e);
    e->set = SPLAT_VIEWS_TRAIN;
    splat_train_options o = late_options(60);
    shared_run first = make_run(&o, 50), rest = make_run(&o, 0);
    first.spoil = start_late;
    first.to = rest.from = "bands.splatsmith";
    run_well(&first, 1);
    evaluate_in(rest, e);
    free(e);
}

/* On white. */
static void masked_views_are_measured_by_what_is_kept(void **state)
{
    (void)state;
    write_masked_scene("blobs");
    evaluation *e = calloc(1, sizeof *e);
    e->set = SPLAT_VIEWS_TRAIN;
    splat_train_options o = tiny_options(60);
    shared_run run = make_run(&o, 20);
    run.scene = "blobs";
    run.white_background = true;
    evaluate_in(run, e);
    free(e);
}

/* By one net, then by another. */
static void evaluate_by_two(splat_trainer *t, void *user)
{
    evaluation *both = user;
    for (int i = 0; i < 2; i++) evaluate(t, &both[i]);
}

/* The weights go to all ranks, also when they are others than before. */
static void lpips_is_measured_by_all(void **state)
{
    (void)state;
    splat_error error;
    static const char *const nets[] = {"alex", "squeeze"};
    evaluation *both = calloc(2, sizeof *both);
    splat_train_options o = tiny_options(60);
    must(fixture_write("alex", "lpips_alex.safetensors", &error), &error);
    must(fixture_write("squeeze", "lpips_squeeze.safetensors", &error), &error);
    for (int i = 0; i < 2; i++) {
        both[i].set = SPLAT_VIEWS_TRAIN;
        both[i].lpips_net = nets[i];
    }
    shared_run run = make_run(&o, 20);
    run.look_apart = evaluate_by_two;
    run.user = both;
    run_well(&run, 3);
    for (int i = 0; i < 2; i++) {
        must_agree(&both[i], 3);
        assert_true(both[i].mean.lpips > 0);
        assert_string_equal(both[i].mean.lpips_net, nets[i]);
    }
    free(both);
}

static void a_visitor_stops_it(void **state)
{
    (void)state;
    evaluation *e = calloc(1, sizeof *e);
    splat_train_options o = tiny_options(60);
    e->set = SPLAT_VIEWS_TRAIN;
    for (e->stop_after = 1; e->stop_after <= 4; e->stop_after++) {
        shared_run run = make_run(&o, 10);
        run.look_apart = evaluate;
        run.user = e;
        run_well(&run, 3);
        must_agree(e, 3);
        assert_int_equal(e->mean.n_views, e->stop_after);
    }
    free(e);
}

/* A photo that rank 1 alone asks for. */
static void lose_a_photo(splat_trainer *t, int rank)
{
    splat_dataset *dataset = &t->scene->dataset;
    if (rank != 1) return;
    char **path = &dataset->views[dataset->train[4]].path; /* of the second batch of three */
    free(*path);
    *path = strdup("nowhere.png");
}

/* Rank 0 gets the error, and the ranks continue: the trained model can be saved. */
static void a_photo_that_one_rank_cannot_read(void **state)
{
    (void)state;
    evaluation *e = calloc(1, sizeof *e);
    splat_train_options o = tiny_options(60);
    e->set = SPLAT_VIEWS_TRAIN;
    shared_run run = make_run(&o, 0);
    run.spoil = lose_a_photo;
    run.look_apart = evaluate;
    run.user = e;
    run.to = "unseen.splatsmith";
    remove(run.to);
    run_well(&run, 3);
    assert_int_equal(e->status, SPLAT_ERROR_IO);
    assert_non_null(strstr(e->error.file, "nowhere.png"));
    assert_int_equal(e->dealt.n, 4); /* those before it */
    assert_true(splat_path_exists(run.to));
    free(e);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(figures_are_those_of_one_rank),
        cmocka_unit_test(at_any_time),
        cmocka_unit_test(bands_are_those_of_a_checkpoint),
        cmocka_unit_test(masked_views_are_measured_by_what_is_kept),
        cmocka_unit_test(lpips_is_measured_by_all),
        cmocka_unit_test(a_visitor_stops_it),
        cmocka_unit_test(a_photo_that_one_rank_cannot_read),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
