/* 3D Gaussian Splatting as Markov Chain Monte Carlo (Kheradmand et al., NeurIPS 2024; docs/method.md 10.1): a fixed
 * number of Gaussians, of which those that are not seen move to where others are; noise on the positions of what is
 * hardly seen; and losses on opacities and scales (the options opacity_reg and scale_reg), which make room. */
#include "train/density/mcmc.h"

#include "model/rest.h"
#include "ops/noise/noise.h"
#include "ops/relocate/relocate.h"
#include "ops/work.h"
#include "train/density/density.h"
#include "train/density/prune_masked.h"
#include "train/density/strategy.h"
#include "train/ranks/shards.h"
#include "train/resize.h"
#include "train/rest_state.h"
#include "train/schedule.h"

#include <math.h>

#define REORDER_INTERVAL 1000
#define SICK_SHARE 5 /* one in so many dead in a round: more are made than the photos ask for */

/* ---------------------------------------------------------------- options */

static splat_status check(const splat_train_options *o, splat_error *error)
{
    SPLAT_TRY(splat_density_check_points(o, "mcmc", error));
    if (o->target_gaussian_count == 0)
        return splat_fail(error, SPLAT_ERROR_ARGUMENT,
                          "the density strategy 'mcmc' grows to `target_gaussian_count`, which must not be 0");
    return SPLAT_OK;
}

/* ---------------------------------------------------------------- the schedule */

static bool wants_statistics(const splat_train_options *options, int iteration)
{
    (void)options;
    (void)iteration;
    return false;
}

bool splat_mcmc_refines_after(const splat_train_options *options, int iteration)
{
    return iteration > options->densify_from_iter && iteration < options->densify_until_iter &&
           iteration % options->densification_interval == 0;
}

bool splat_mcmc_reorders_after(const splat_train_options *options, int iteration)
{
    if (iteration <= options->densify_from_iter || iteration > options->densify_until_iter) return false;
    return iteration % REORDER_INTERVAL == 0 || iteration == options->densify_until_iter;
}

uint64_t splat_mcmc_cap(const splat_train_options *options, const splat_dataset *dataset)
{
    const uint64_t named = options->target_gaussian_count;
    double pixels = 0;
    if (!(options->pixels_per_gaussian > 0)) return named;
    for (size_t i = 0; i < dataset->n_train; i++) {
        const splat_camera *camera = &dataset->views[dataset->train[i]].camera;
        pixels += (double)camera->width * camera->height;
    }
    const double cap = fmax(pixels / (double)options->pixels_per_gaussian, (double)dataset->n_points);
    return cap < (double)named ? (uint64_t)cap : named;
}

static uint64_t cap_of(const splat_trainer *t)
{
    return splat_mcmc_cap(&t->options, &t->scene->dataset);
}

uint32_t splat_mcmc_grown(const splat_train_options *options, uint64_t cap, uint32_t n)
{
    uint64_t grown = (uint64_t)n + n / 20;
    if (options->max_gaussians && options->max_gaussians < cap) cap = options->max_gaussians;
    grown = grown < cap ? grown : cap;
    return grown > n ? (uint32_t)grown : n;
}

/* ---------------------------------------------------------------- a round */

/* *granted: whether memory has room for a round after which the whole model has n Gaussians; if not, training goes on
 * without it. */
static splat_status make_room(splat_trainer *t, int iteration, uint32_t n, bool *granted, splat_error *error)
{
    splat_error refused;
    const uint32_t here = splat_shards_part(t, n), n_new = n - splat_shards_count(t);
    splat_status status = splat_density_make_room(t, here, here, &refused);
    *granted = status == SPLAT_OK;
    if (status == SPLAT_ERROR_MEMORY) {
        splat_log(t->context, SPLAT_LOG_WARNING, "iteration %d: %s %u Gaussians is refused, training goes on: %s",
                  iteration, n_new ? "growth to" : "relocation among", n, refused.message);
        t->n_refused += n_new;
        return SPLAT_OK;
    }
    if (status != SPLAT_OK && error) *error = refused;
    return status;
}

static splat_status tell_health(splat_trainer *t, int iteration, uint64_t n_dead, uint32_t n, splat_error *error)
{
    SPLAT_TRY(splat_shards_sum(t, &n_dead, 1, error));
    if (n_dead == n)
        splat_log(t->context, SPLAT_LOG_WARNING, "iteration %d: none of %u Gaussians is opaque enough to be seen, and "
                  "none is moved; lower `opacity_reg` (%g)", iteration, n, (double)t->options.opacity_reg);
    else if (n_dead > n / SICK_SHARE && iteration % REORDER_INTERVAL == 0)
        splat_log(t->context, SPLAT_LOG_WARNING, "iteration %d: %llu of %u Gaussians were of no use; lower "
                  "`target_gaussian_count` or `opacity_reg` (%g)", iteration, (unsigned long long)n_dead, n,
                  (double)t->options.opacity_reg);
    return SPLAT_OK;
}

static splat_status relocate(splat_trainer *t, int iteration, splat_error *error)
{
    splat_density_relocated round;
    splat_rest_rows rows;
    const uint32_t old_n = t->model->gaussians.n, n_all = splat_shards_count(t);
    uint32_t grown = splat_mcmc_grown(&t->options, cap_of(t), n_all);
    bool granted;
    SPLAT_TRY(make_room(t, iteration, grown, &granted, error));
    if (!granted && grown > n_all) { /* the next round asks again; this one only moves */
        grown = n_all;
        SPLAT_TRY(make_room(t, iteration, grown, &granted, error));
    }
    if (!granted) return SPLAT_OK;
    const uint32_t n_new = splat_shards_part(t, grown) - old_n;
    SPLAT_TRY(splat_rest_open(t->model, SPLAT_REST_ROWS, &rows, error));
    rows.gaussians.n = old_n; /* the op wants the old count; the arrays have room for the new ones */
    struct splat_density_relocate_args args = {.gaussians = &rows.gaussians,
                                               .moments = &t->moments,
                                               .n_new = n_new,
                                               .dead_opacity = t->options.min_opacity_threshold,
                                               .seed = splat_shards_seed(t),
                                               .step = (uint32_t)iteration,
                                               .result = &round};
    SPLAT_TRY(splat_op_density_relocate(t->backend, &args, error));
    SPLAT_TRY(tell_health(t, iteration, round.n_dead, n_all, error));
    t->n_added += (size_t)round.n_relocated + round.n_added;
    t->n_removed += round.n_relocated;
    return round.n_added == n_new ? SPLAT_OK : splat_trainer_resize(t, old_n, error);
}

/* The order of rows on a device; and the cap, should the run have begun above it: the least opaque go. */
static splat_status put_in_order(splat_trainer *t, int iteration, splat_error *error)
{
    const uint64_t cap = cap_of(t);
    struct splat_density_prune_args args = {.target_count = cap < UINT32_MAX ? (uint32_t)cap : 0};
    bool is_above = args.target_count && splat_shards_count(t) > args.target_count;
    if (!is_above && !splat_mcmc_reorders_after(&t->options, iteration)) return SPLAT_OK;
    return splat_density_prune(t, iteration, args, "min_opacity_threshold", error);
}

static splat_status refine(splat_trainer *t, int iteration, splat_error *error)
{
    uint32_t old_n = t->model->gaussians.n;
    void *unused;
    splat_memory_update_limit(t->backend);
    SPLAT_TRY(splat_density_begin(t, 0, &unused, error));
    if (splat_mcmc_refines_after(&t->options, iteration)) {
        SPLAT_TRY(splat_rest_cache_drop(t, error));
        SPLAT_TRY(relocate(t, iteration, error));
    }
    SPLAT_TRY(put_in_order(t, iteration, error));
    SPLAT_TRY(splat_density_end(t, old_n, error));
    return splat_density_update_filter(t, error);
}

/* ---------------------------------------------------------------- after an iteration */

static splat_status add_noise(splat_trainer *t, int iteration, splat_error *error)
{
    float rate = splat_tensor_rate_at(&splat_gaussian_rates[SPLAT_TENSOR_means], &t->options, t->scene->dataset.extent,
                                      iteration);
    struct splat_means_noise_args args = {.gaussians = &t->model->gaussians,
                                          .strength = rate * t->options.noise_lr,
                                          .seed = t->options.seed,
                                          .step = (uint32_t)iteration};
    if (!(args.strength > 0)) return SPLAT_OK;
    splat_shards_rows(t, &args.first, &args.stride);
    t->is_broken = true;
    return splat_op_means_noise(t->backend, &args, error);
}

static bool changes_after(const splat_trainer *t, int iteration)
{
    return splat_mcmc_refines_after(&t->options, iteration) || splat_mcmc_reorders_after(&t->options, iteration) ||
           splat_density_prunes_masked_after(&t->options, &t->scene->dataset, iteration);
}

static splat_status after(splat_trainer *t, int iteration, splat_error *error)
{
    if (iteration < 1) return SPLAT_OK;
    if (splat_mcmc_refines_after(&t->options, iteration) || splat_mcmc_reorders_after(&t->options, iteration))
        SPLAT_TRY(refine(t, iteration, error));
    SPLAT_TRY(splat_density_prune_masked(t, iteration, error));
    return add_noise(t, iteration, error);
}

static size_t work_bytes(bool on_device, size_t n)
{
    return splat_larger(splat_density_relocate_scratch_bytes(on_device, n), splat_density_scratch_bytes(on_device, n));
}

const splat_strategy splat_strategy_mcmc = {
    .name = "mcmc",
    .moves = true,
    .wants_statistics = wants_statistics,
    .after = after,
    .changes_after = changes_after,
    .work_bytes = work_bytes,
    .cap = splat_mcmc_cap,
    .check = check,
};
