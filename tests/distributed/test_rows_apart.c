/* Saves, loads and looks while each rank has its own Gaussians, ranks as threads: the same as with one rank that has
 * them all, and no rank ever has more than its part. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "model/files.h"
#include "shared_run_fixture.h"

#include "io/splat/formats.h"
#include "model/rest.h"
#include "ops/summary/summary.h"
#include "train/ranks/host_rows.h"
#include "train/ranks/report.h"

#include <math.h>

/* ---------------------------------------------------------------- the same splat */

typedef struct clouds {
    splat_cloud apart, whole;
    splat_status status;
    splat_error error;
} clouds;

static void download_both(splat_trainer *t, void *user)
{
    clouds *c = user;
    c->status = splat_trainer_download(t, &c->apart, &c->error);
    if (c->status == SPLAT_OK) c->status = splat_trainer_gather(t, &c->error);
    if (c->status == SPLAT_OK) c->status = splat_model_download(t->model, &c->whole, &c->error);
}

static void must_be_same_cloud(const clouds *c)
{
    if (c->status != SPLAT_OK) fail_msg("%s", c->error.message);
    const splat_cloud *a = &c->apart, *b = &c->whole;
    assert_true(a->n == b->n && a->sh_degree == b->sh_degree && a->sh_is_half == b->sh_is_half);
    assert_true(a->render_mode == b->render_mode && a->kernel_size == b->kernel_size);
#define SPLAT_TENSOR(name, ...)                                                                                        \
    assert_memory_equal(a->name, b->name, a->n *splat_tensor_channels(SPLAT_TENSOR_##name, a->sh_degree) * 4);
#include "math/gaussians.def"
#undef SPLAT_TENSOR
    assert_non_null(a->filter_3d);
    assert_memory_equal(a->filter_3d, b->filter_3d, a->n * 4);
}

static size_t piece_bytes; /* 0: as usual */

static void begin_late(splat_trainer *t, int rank)
{
    (void)rank;
    t->iteration = LATE;
    if (piece_bytes) t->shards.piece_bytes = piece_bytes;
}

/* All bands of SH; in one piece, and a few rows at a time, of which some ranks have none. */
static void splats_are_those_of_one_rank(void **state)
{
    (void)state;
    static const size_t pieces[] = {0, 100, 900};
    for (int small = 0; small < 2; small++)
        for (size_t i = 0; i < 3; i++)
            for (int n = 2; n <= 5; n += 3) {
                clouds c;
                piece_bytes = pieces[i];
                splat_train_options o = late_options(60);
                if (small) set_storages(&o, 3);
                shared_run run = make_run(&o, 30);
                run.spoil = begin_late;
                run.look_apart = download_both;
                run.user = &c;
                run_well(&run, n);
                must_be_same_cloud(&c);
                splat_cloud_free(&c.apart);
                splat_cloud_free(&c.whole);
            }
}

/* ---------------------------------------------------------------- from elsewhere */

typedef struct beginning {
    const char *path;
    splat_status status;
    splat_error error;
} beginning;

static void load_splat(splat_trainer *t, void *user)
{
    beginning *b = user;
    b->status = splat_trainer_load_model(t, b->path, 30, &b->error);
}

static void save_splat(splat_trainer *t, void *user)
{
    beginning *b = user;
    b->status = splat_model_save(t->model, b->path, NULL, &b->error);
}

/* Each rank takes its rows of a splat, also in another storage, where it had others before; one rank is alone. */
static void a_splat_is_the_beginning_of_all(void **state)
{
    (void)state;
    beginning b = {.path = "begin.ply"};
    piece_bytes = 0;
    splat_train_options o = late_options(60);
    shared_run first = make_run(&o, 40);
    first.spoil = begin_late;
    first.look = save_splat;
    first.user = &b;
    run_well(&first, 1);
    for (int small = 0; small < 2; small++)
        for (int n = 1; n <= 5; n += 2) {
            splat_train_options later = tiny_options(60);
            if (small) set_storages(&later, 3);
            shared_run run = make_run(&later, 13);
            run.look_apart = load_splat;
            run.user = &b;
            run.to = n == 1 ? "alone.splatsmith" : "shared.splatsmith";
            run_well(&run, n);
            if (b.status != SPLAT_OK) fail_msg("%s", b.error.message);
            assert_true(n == 1 || same_checkpoints("alone.splatsmith", "shared.splatsmith"));
        }
}

/* Three ranks cannot begin with two Gaussians; they go on with what they had. */
static void too_few_are_no_beginning(void **state)
{
    (void)state;
    splat_error error;
    splat_cloud cloud;
    beginning b = {.path = "few.ply"};
    splat_train_options o = tiny_options(60);
    must(splat_cloud_make(&cloud, 2, 0, true, &error), &error);
    cloud.rotations[0] = cloud.rotations[4] = 1;
    must(splat_cloud_write(b.path, &cloud, NULL, &error), &error);
    splat_cloud_free(&cloud);
    shared_run run = make_run(&o, 6);
    run.look_apart = load_splat;
    run.user = &b;
    run.to = "shared.splatsmith";
    run_well(&run, 3);
    assert_int_equal(b.status, SPLAT_ERROR_NUMERIC);
    assert_string_equal(b.error.message, "2 Gaussians cannot be dealt to 3 ranks; train with fewer");
}

/* ---------------------------------------------------------------- figures */

enum { EDGES = 40 };

typedef struct figures {
    splat_summary apart, whole;
    uint32_t apart_counts[SPLAT_SUMMARY_N][EDGES - 1], whole_counts[SPLAT_SUMMARY_N][EDGES - 1];
    uint32_t max_samples;
    double opacity;
    splat_status status;
    splat_error error;
} figures;

static void summarize_both(splat_trainer *t, void *user)
{
    figures *f = user;
    double edges[EDGES];
    splat_block scratch = {0};
    for (int i = 0; i < EDGES; i++) edges[i] = 0.02 * i * i;
    struct splat_summary_args args = {.edges = edges, .n_edges = EDGES, .max_samples = f->max_samples,
                                      .spreads = true, .scratch = &scratch,
                                      .result = &f->apart, .counts = f->apart_counts[0]};
    f->status = splat_trainer_get_mean_opacity(t, &f->opacity, &f->error);
    if (f->status == SPLAT_OK) f->status = splat_shards_summarize(t, &args, &f->error);
    args.result = &f->whole;
    args.counts = f->whole_counts[0];
    if (f->status == SPLAT_OK) f->status = splat_trainer_gather(t, &f->error);
    splat_rest_rows rows;
    if (f->status == SPLAT_OK) f->status = splat_rest_open(t->model, SPLAT_REST_ROWS, &rows, &f->error);
    args.gaussians = &rows.gaussians;
    if (f->status == SPLAT_OK) f->status = splat_op_summary(t->backend, &args, &f->error);
    splat_block_free(t->backend, &scratch);
}

static void must_be_range(const splat_summary_range *a, const splat_summary_range *b)
{
    assert_true(a->n == b->n && a->min == b->min && a->max == b->max);
    assert_true(fabs(a->mean - b->mean) < 1e-9 * fabs(b->mean));
}

static void must_be_spread(const splat_summary_spread *a, const splat_summary_spread *b)
{
    assert_true(a->n == b->n && b->n > 1);
    assert_true(fabs(a->mean - b->mean) <= 1e-9 * b->standard_deviation);
    assert_true(fabs(a->standard_deviation - b->standard_deviation) <= 1e-9 * b->standard_deviation);
}

static void figures_are_sums_over_the_ranks(void **state)
{
    (void)state;
    figures *f = calloc(1, sizeof *f);
    splat_train_options o = tiny_options(60);
    f->max_samples = 1000; /* all */
    for (int n = 2; n <= 5; n++) {
        shared_run run = make_run(&o, 40);
        run.look_apart = summarize_both;
        run.user = f;
        run_well(&run, n);
        if (f->status != SPLAT_OK) fail_msg("%s", f->error.message);
        assert_true(f->apart.n_gaussians == f->whole.n_gaussians && f->apart.n_active == f->whole.n_active);
        assert_int_equal(f->apart.n_low_opacity, f->whole.n_low_opacity);
        assert_int_equal(f->apart.n_high_opacity, f->whole.n_high_opacity);
        must_be_range(&f->apart.opacity, &f->whole.opacity);
        must_be_range(&f->apart.scale, &f->whole.scale);
        assert_true(fabs(f->opacity - f->whole.opacity.mean) < 1e-9);
        for (int i = 0; i < SPLAT_N_TENSORS; i++) must_be_spread(&f->apart.tensors[i], &f->whole.tensors[i]);
        for (int k = 0; k < SPLAT_SUMMARY_N; k++) {
            uint64_t n_apart = 0, n_whole = 0;
            for (int i = 0; i < EDGES - 1; i++) n_apart += f->apart_counts[k][i];
            for (int i = 0; i < EDGES - 1; i++) n_whole += f->whole_counts[k][i];
            if (k == SPLAT_SUMMARY_SCALE) continue; /* which axis of a Gaussian is drawn goes by its number */
            assert_int_equal(n_apart, n_whole);
            assert_memory_equal(f->apart_counts[k], f->whole_counts[k], sizeof f->whole_counts[k]);
            assert_true(f->apart.moments[k].min == f->whole.moments[k].min);
            assert_true(f->apart.moments[k].max == f->whole.moments[k].max);
            assert_true(fabs(f->apart.moments[k].sum / f->whole.moments[k].sum - 1) < 1e-9);
        }
    }
    free(f);
}

/* ---------------------------------------------------------------- memory */

typedef struct held {
    size_t before, peak;
    uint32_t n_here, n_all;
    bool was_whole;
    splat_status status;
    splat_error error;
} held;

/* All work of a run except its steps. */
static splat_status do_all(splat_trainer *t, splat_error *error)
{
    splat_cloud cloud;
    splat_metrics mean;
    double opacity;
    const splat_view_job job = job_on(SPLAT_VIEWS_TRAIN, NULL, NULL);
    SPLAT_TRY(splat_trainer_save_checkpoint(t, "held.splatsmith", error));
    SPLAT_TRY(splat_trainer_download(t, &cloud, error));
    splat_cloud_free(&cloud);
    SPLAT_TRY(splat_trainer_get_mean_opacity(t, &opacity, error));
    SPLAT_TRY(splat_trainer_evaluate(t, &job, &mean, error));
    return splat_trainer_load_checkpoint(t, "held.splatsmith", error);
}

static void watch_memory(splat_trainer *t, void *user)
{
    held *h = user;
    splat_memory *memory = &t->backend->memory;
    h->before = splat_memory_begin_phase(memory);
    h->status = do_all(t, &h->error);
    h->peak = memory->device.phase_peak;
    h->n_here = t->model->gaussians.n;
    h->n_all = splat_shards_count(t);
    h->was_whole = !splat_shards_are_apart(t);
}

/* At rank 0, which deals them; then its steps begin. */
static void grow(splat_trainer *t, int rank)
{
    splat_error error;
    if (rank > 0) return;
    if (splat_trainer_grow_to(t, 20000, &error) != SPLAT_OK) fail_msg("%s", error.message);
    splat_memory_begin_phase(&t->backend->memory);
}

/* Rank 0 has a quarter of 20,000 Gaussians, and takes hardly more memory than its steps took. */
static void rank_0_takes_no_more_than_its_steps(void **state)
{
    (void)state;
    held h;
    splat_train_options o = tiny_options(60);
    o.densify_until_iter = 0;
    o.target_gaussian_count = 0;
    shared_run run = make_run(&o, 12);
    run.spoil = grow;
    run.look_apart = watch_memory;
    run.user = &h;
    run_well(&run, 4);
    if (h.status != SPLAT_OK) fail_msg("%s", h.error.message);
    assert_true(!h.was_whole && h.n_all == 20000 && h.n_here == 5000);
    /* a photo more. All rows take 20 MB */
    if (h.peak > h.before + 250000) fail_msg("%zu bytes, after %zu", h.peak, h.before);
}

/* There are as many Gaussians as asked for, and each rank gets its part. */
static void ranks_share_what_is_grown(void **state)
{
    (void)state;
    splat_train_options o = tiny_options(60);
    o.target_gaussian_count = 0;
    o.densify_until_iter = 0;
    for (int n = 1; n <= 3; n++) {
        held h;
        shared_run run = make_run(&o, 12);
        run.spoil = grow;
        run.look_apart = watch_memory;
        run.user = &h;
        run_well(&run, n);
        assert_int_equal(h.n_all, 20000);
        assert_int_equal(h.n_here, (20000 - 1) / (uint32_t)n + 1);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(splats_are_those_of_one_rank),
        cmocka_unit_test(a_splat_is_the_beginning_of_all),
        cmocka_unit_test(too_few_are_no_beginning),
        cmocka_unit_test(figures_are_sums_over_the_ranks),
        cmocka_unit_test(rank_0_takes_no_more_than_its_steps),
        cmocka_unit_test(ranks_share_what_is_grown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
