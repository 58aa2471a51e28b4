/* sh_rest while a training puts its steps off, or keeps its rows in a cache: all but ops of a step find settled rows.
 * The CPU does neither, so its table of functions is replaced by one that counts the steps that rows lack, and the
 * reads and moves of rows meanwhile. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "shared_run_fixture.h"
#include "trainer_fixture.h"

#include "model/files.h"
#include "model/render.h"
#include "model/rest.h"
#include "ops/densify/densify.h"
#include "ops/project/project.h"
#include "ops/relocate/relocate.h"
#include "ops/share/share.h"
#include "ops/shrink/shrink.h"
#include "ops/summary/summary.h"
#include "train/density/strategies.h"
#include "train/memory/give_up.h"
#include "train/ranks/host_rows.h"
#include "train/ranks/report.h"
#include "train/ranks/rows.h"
#include "train/resize.h"

#include <stdatomic.h>
#include <stdlib.h>

#define STEPS 60

static const splat_backend_functions *real; /* the CPU's */
static splat_backend_functions counting;

/* The trainer of a rank, which is a thread. */
static _Thread_local const splat_trainer *watched;
static _Thread_local int own;      /* its number */
static _Thread_local bool is_away; /* rows lie in the cache */
/* Counts over all ranks. */
static atomic_int n_lacking[MAX_TEST_RANKS]; /* steps that are put off */
static atomic_int n_looks;    /* reads and moves of rows */
static atomic_int n_early;    /* those while rows lacked steps, or were away */
static atomic_int n_in_cache; /* those by ops that know the cache */
static atomic_int n_most;     /* steps that rows lacked at most */

static void look(const splat_rest_state *known)
{
    const bool knows_cache = known && known->cache;
    n_looks++;
    n_in_cache += is_away && knows_cache;
    n_early += n_lacking[own] > 0 || (is_away && !knows_cache);
}

static void put_off(const splat_rest_state *rest)
{
    if (rest->deferred) n_lacking[own]++;
    if (n_lacking[own] > n_most) n_most = n_lacking[own];
    if (!rest->cache) return;
    rest->cache->is_empty = false;
    is_away = true;
}

/* ---------------------------------------------------------------- ops */

static splat_status project(splat_backend *backend, const struct splat_project_args *args, splat_error *error)
{
    if (!args->rest && args->gaussians->active_sh_degree > 0) look(NULL);
    return real->ops.project(backend, args, error);
}

static splat_status project_views(splat_backend *backend, const struct splat_project_views_args *args,
                                  splat_error *error)
{
    if (!args->rest) look(NULL);
    return real->ops.project_views(backend, args, error);
}

static splat_status project_backward(splat_backend *backend, const struct splat_project_backward_args *args,
                                     splat_error *error)
{
    args->sink.rest ? put_off(args->sink.rest) : look(NULL);
    return real->ops.project_backward(backend, args, error);
}

static splat_status batch_step(splat_backend *backend, const struct splat_batch_step_args *args, splat_error *error)
{
    args->rest ? put_off(args->rest) : look(NULL);
    return real->ops.batch_step(backend, args, error);
}

static splat_status settle(splat_backend *backend, const struct splat_settle_rest_args *args, splat_error *error)
{
    (void)backend;
    (void)error;
    if (args->rest->deferred) n_lacking[own] = 0;
    if (!args->rest->cache) return SPLAT_OK;
    args->rest->cache->is_empty = true;
    is_away = false;
    return SPLAT_OK;
}

static splat_status grow(splat_backend *backend, const struct splat_density_grow_args *args, splat_error *error)
{
    look(args->rest);
    return real->ops.density_grow(backend, args, error);
}

static splat_status prune(splat_backend *backend, const struct splat_density_prune_args *args, splat_error *error)
{
    look(args->rest);
    return real->ops.density_prune(backend, args, error);
}

static splat_status relocate(splat_backend *backend, const struct splat_density_relocate_args *args,
                             splat_error *error)
{
    look(NULL);
    return real->ops.density_relocate(backend, args, error);
}

static splat_status summary(splat_backend *backend, const struct splat_summary_args *args, splat_error *error)
{
    if (args->spreads) look(NULL);
    return real->ops.summary(backend, args, error);
}

static splat_status shrink(splat_backend *backend, const struct splat_shrink_args *args, splat_error *error)
{
    if (args->storage == SPLAT_STORED_HARMONICS) look(NULL);
    return real->ops.shrink(backend, args, error);
}

/* ---------------------------------------------------------------- memory */

static const splat_block *block_of(int which)
{
    const int rest = SPLAT_TENSOR_sh_rest;
    return which == 0 ? &watched->model->parameters.blocks[rest] : &watched->moment_blocks[which - 1].blocks[rest];
}

/* sh_rest, and its moments. */
static void look_at(const void *data)
{
    for (int i = 0; watched && i < 3; i++) {
        const char *begin = block_of(i)->data;
        if (begin && (const char *)data >= begin && (const char *)data < begin + block_of(i)->bytes) look(NULL);
    }
}

static splat_status share_rows(splat_backend *backend, const struct splat_share_rows_args *args, splat_error *error)
{
    look_at(args->from);
    look_at(args->to);
    return real->ops.share_rows(backend, args, error);
}

static splat_status download(splat_backend *backend, void *host, const void *device, size_t bytes, splat_error *error)
{
    look_at(device);
    return real->download(backend, host, device, bytes, error);
}

static splat_status upload(splat_backend *backend, void *device, const void *host, size_t bytes, splat_error *error)
{
    look_at(device);
    return real->upload(backend, device, host, bytes, error);
}

static splat_status copy(splat_backend *backend, void *to, const void *from, size_t bytes, splat_error *error)
{
    look_at(from);
    look_at(to);
    return real->copy(backend, to, from, bytes, error);
}

static splat_status zero(splat_backend *backend, void *device, size_t bytes, splat_error *error)
{
    look_at(device);
    return real->zero(backend, device, bytes, error);
}

/* Rows in the cache stay there while their home is resized. */
static splat_status map(splat_backend *backend, splat_block *block, size_t bytes, size_t reserved, splat_error *error)
{
    for (int i = 0; watched && bytes && i < 3; i++) n_early += block == block_of(i) && n_lacking[own] > 0;
    return real->map(backend, block, bytes, reserved, error);
}

/* ---------------------------------------------------------------- a training that is watched */

static void watch(splat_trainer *t, int rank)
{
    t->backend->functions = &counting;
    watched = t;
    own = rank;
    n_lacking[own] = 0;
    is_away = false;
}

typedef struct training {
    splat_context *context;
    splat_scene *scene;
    splat_trainer *t;
} training;

static training begin(splat_train_options o, bool has_cache)
{
    training r = {.context = open_cpu(2)};
    splat_backend *backend = r.context->backend;
    r.scene = open_scene(r.context);
    backend->defers_rest = backend->caches_rest = true;
    o.sh_offload = o.moments_offload = has_cache;
    r.t = new_trainer(r.context, r.scene, &o);
    n_looks = n_early = n_in_cache = n_most = 0;
    watch(r.t, 0);
    return r;
}

static void end(training *r)
{
    r->t->backend->functions = real;
    watched = NULL;
    close_training(r->context, r->scene, r->t);
}

/* ---------------------------------------------------------------- density control */

static void train(splat_train_options o, bool has_cache)
{
    training r = begin(o, has_cache);
    r.t->iteration = LATE;
    run_steps(r.t, STEPS);
    assert_true(n_looks > 1);
    assert_int_equal(n_early, 0);
    assert_true(has_cache ? is_away : n_most > 1);
    end(&r);
}

static void density_control_finds_all_steps_made(void **state)
{
    (void)state;
    train(late_options(STEPS), false);
}

static void density_control_moves_rows_within_a_cache(void **state)
{
    (void)state;
    splat_train_options o = late_options(STEPS);
    o.densify_grad_threshold = 0.0003f; /* little growth, for which the cache has room */
    train(o, true);
    assert_true(n_in_cache > 1);
}

static splat_train_options mcmc_options(void)
{
    splat_train_options o;
    splat_train_options_init_strategy(&o, splat_strategy_find("mcmc"));
    o.iterations = LATE + STEPS;
    o.densify_from_iter = LATE + 10;
    o.densification_interval = 10;
    o.densify_until_iter = LATE + 45;
    o.target_gaussian_count = 520;
    return o;
}

static void relocation_finds_all_steps_made(void **state)
{
    (void)state;
    train(mcmc_options(), false);
}

static void relocation_finds_all_rows_at_home(void **state)
{
    (void)state;
    train(mcmc_options(), true);
}

/* ---------------------------------------------------------------- all others */

static const float black[3];

static const splat_camera *a_camera(const splat_trainer *t)
{
    return &t->scene->dataset.views[0].camera;
}

static splat_status render(splat_trainer *t, splat_error *error)
{
    const splat_camera *camera = a_camera(t);
    float *rgb = malloc(3 * sizeof *rgb * (size_t)camera->width * (size_t)camera->height);
    assert_non_null(rgb);
    splat_status status = splat_model_render(t->model, camera, black, rgb, error);
    free(rgb);
    return status;
}

static splat_status render_geometry(splat_trainer *t, splat_error *error)
{
    splat_model_geometry maps;
    return splat_model_rasterize_geometry(t->model, &t->model->frame, a_camera(t), false, true, &maps, error);
}

static splat_status count_views(splat_trainer *t, splat_error *error)
{
    const uint32_t n = t->model->gaussians.n;
    splat_block blocks[2] = {{0}};
    for (int i = 0; i < 2; i++)
        SPLAT_TRY(splat_block_resize(t->backend, &blocks[i], "counts", SPLAT_OWNER_OTHER, n * sizeof(uint32_t), error));
    const struct splat_view_count_args args = {.stamps = blocks[0].data, .counts = blocks[1].data};
    splat_status status = splat_model_count_views(t->model, a_camera(t), 1, 0, args, NULL, NULL, error);
    for (int i = 0; i < 2; i++) splat_block_free(t->backend, &blocks[i]);
    return status;
}

static splat_status save(splat_trainer *t, splat_error *error)
{
    return splat_model_save(t->model, "deferred.ply", NULL, error);
}

static splat_status replace(splat_trainer *t, splat_error *error)
{
    const uint32_t channels = splat_sh_rest_floats(t->model->gaussians.sh_degree), n = t->model->gaussians.n;
    float *rest = calloc((size_t)n * channels, sizeof *rest);
    assert_non_null(rest);
    splat_status status = splat_rest_write(t->model, 0, n, rest, error);
    free(rest);
    return status;
}

static splat_status lend_arrays(splat_trainer *t, splat_error *error)
{
    splat_model_arrays arrays;
    return splat_model_get_arrays(t->model, &arrays, error);
}

static splat_status save_checkpoint(splat_trainer *t, splat_error *error)
{
    return splat_trainer_save_checkpoint(t, "deferred.splatsmith", error);
}

static splat_status load_checkpoint(splat_trainer *t, splat_error *error)
{
    SPLAT_TRY(splat_trainer_save_checkpoint(t, "deferred.splatsmith", error));
    run_steps(t, 2);
    return splat_trainer_load_checkpoint(t, "deferred.splatsmith", error);
}

static splat_status summarize(splat_trainer *t, splat_error *error)
{
    const double edges[2] = {0, 1};
    uint32_t counts[SPLAT_SUMMARY_N];
    splat_block scratch = {0};
    splat_summary result;
    const struct splat_summary_args args = {.edges = edges, .n_edges = 2, .max_samples = 100, .spreads = true,
                                            .scratch = &scratch, .result = &result, .counts = counts};
    splat_status status = splat_shards_summarize(t, &args, error);
    splat_block_free(t->backend, &scratch);
    return status;
}

static splat_status reduce_bands(splat_trainer *t, splat_error *error)
{
    return splat_model_reduce_sh(t->model, 1, error);
}

static splat_status halve(splat_trainer *t, splat_error *error)
{
    return splat_rest_halve(t->model, error);
}

static splat_status place(splat_trainer *t, splat_error *error)
{
    return splat_rest_place(t->model, t->options.sh_offload ? SPLAT_ON_DEVICE : SPLAT_ON_HOST, error);
}

static splat_status give_up(splat_trainer *t, splat_error *error)
{
    bool gave = true;
    t->options.may_give_up = SPLAT_GIVE_UP_ALL;
    t->backend->memory.limit = t->backend->memory.process_limit = (size_t)1 << 40;
    while (gave) SPLAT_TRY(splat_give_up_next(t, &gave, error));
    return SPLAT_OK;
}

static splat_status grow_model(splat_trainer *t, splat_error *error)
{
    return splat_trainer_grow_to(t, t->model->gaussians.n + 20, error);
}

/* Memory is refused to something else, which gets that of the cache. */
static splat_status yield_cache(splat_trainer *t, splat_error *error)
{
    (void)error;
    if (t->caching.block.yield) t->caching.block.yield(t->caching.block.yield_user);
    return t->caching.block.yield ? SPLAT_OK : render(t, error);
}

static const struct {
    const char *name;
    splat_status (*call)(splat_trainer *t, splat_error *error);
} users[] = {{"a picture", render},
             {"depth and normals", render_geometry},
             {"counts of views", count_views},
             {"a file", save},
             {"other values", replace},
             {"borrowed arrays", lend_arrays},
             {"a checkpoint", save_checkpoint},
             {"a state from a checkpoint", load_checkpoint},
             {"a summary", summarize},
             {"fewer bands", reduce_bands},
             {"another storage", halve},
             {"another place", place},
             {"everything given up", give_up},
             {"a larger model", grow_model},
             {"memory for something else", yield_cache}};

static void check_users(bool has_cache)
{
    for (size_t i = 0; i < sizeof users / sizeof users[0]; i++) {
        splat_error error = {0};
        training r = begin(late_options(STEPS), has_cache);
        r.t->iteration = LATE;
        run_steps(r.t, 3);
        if (n_lacking[own] == 0 && !is_away) fail_msg("%s: the steps left nothing to settle", users[i].name);
        if (users[i].call(r.t, &error) != SPLAT_OK) fail_msg("%s: %s", users[i].name, error.message);
        if (n_early) fail_msg("%s: %d looks at rows that were not settled", users[i].name, n_early);
        if (n_lacking[own]) fail_msg("%s: the rows lack steps", users[i].name);
        if (is_away && users[i].call != grow_model /* its ops know the cache */)
            fail_msg("%s: the rows are away", users[i].name);
        end(&r);
    }
}

static void all_others_find_all_steps_made(void **state)
{
    (void)state;
    check_users(false);
}

static void all_others_find_all_rows_at_home(void **state)
{
    (void)state;
    check_users(true);
}

/* ---------------------------------------------------------------- ranks */

static void watch_rank(splat_trainer *t, int rank)
{
    splat_error error;
    start_late(t, rank);
    t->backend->defers_rest = true; /* from the rows on that are made here */
    if (splat_trainer_resize_rows(t, t->model->gaussians.n, &error) != SPLAT_OK) n_early++;
    watch(t, rank);
}

/* At rank 0, for all. Assertions belong to the main thread. */
static void look_apart(splat_trainer *t, void *user)
{
    atomic_int *n_failed = user;
    splat_cloud cloud;
    splat_error error;
    *n_failed += summarize(t, &error) != SPLAT_OK;
    if (splat_trainer_download(t, &cloud, &error) == SPLAT_OK)
        splat_cloud_free(&cloud);
    else
        (*n_failed)++;
}

/* At rank 0, which has gathered the rows of all. */
static void look_at_all(splat_trainer *t, void *user)
{
    atomic_int *n_failed = user;
    for (int r = 0; r < t->shards.comm->size; r++) *n_failed += n_lacking[r] > 0;
}

static void ranks_find_all_steps_made(void **state)
{
    (void)state;
    const splat_train_options o = late_options(STEPS);
    for (int is_apart = 0; is_apart < 2; is_apart++) {
        atomic_int n_failed = 0;
        shared_run run = make_run(&o, STEPS);
        run.spoil = watch_rank;
        run.look = is_apart ? NULL : look_at_all;
        run.look_apart = is_apart ? look_apart : NULL;
        run.user = &n_failed;
        n_looks = n_early = n_most = 0;
        run_well(&run, 2);
        assert_int_equal(n_failed, 0);
        assert_true(n_looks > 1);
        assert_true(n_most > 1);
        assert_int_equal(n_early, 0);
    }
}

static int make_table(void **state)
{
    (void)state;
    splat_context *context = open_cpu(1);
    real = context->backend->functions;
    splat_context_destroy(context);
    counting = *real;
    counting.ops.project = project;
    counting.ops.project_views = project_views;
    counting.ops.project_backward = project_backward;
    counting.ops.batch_step = batch_step;
    counting.ops.settle_rest = settle;
    counting.ops.density_grow = grow;
    counting.ops.density_prune = prune;
    counting.ops.density_relocate = relocate;
    counting.ops.summary = summary;
    counting.ops.shrink = shrink;
    counting.ops.share_rows = share_rows;
    counting.download = download;
    counting.upload = upload;
    counting.copy = copy;
    counting.zero = zero;
    counting.map = map;
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(density_control_finds_all_steps_made),
                                       cmocka_unit_test(density_control_moves_rows_within_a_cache),
                                       cmocka_unit_test(relocation_finds_all_steps_made),
                                       cmocka_unit_test(relocation_finds_all_rows_at_home),
                                       cmocka_unit_test(all_others_find_all_steps_made),
                                       cmocka_unit_test(all_others_find_all_rows_at_home),
                                       cmocka_unit_test(ranks_find_all_steps_made)};
    return cmocka_run_group_tests(tests, make_table, NULL);
}
