/* Density control within a budget (docs/method.md 10.3): Gaussians are drawn by their gradients, split along their
 * longest axis, and their number grows like a square root. Gaussians that stay faint after a reset are removed. */
#include "train/density/budget.h"

#include "ops/densify/densify.h"
#include "scene/dataset_tracks.h"
#include "train/density/default.h"
#include "train/density/density.h"
#include "train/density/growth.h"
#include "train/density/prune_masked.h"
#include "train/density/strategy.h"
#include "train/ranks/shards.h"

#include <math.h>
#include <string.h>

#define USUAL_PIXELS 1e8        /* pixels of all photos for which pixels_per_gaussian is meant */
#define FEWER_EXPONENT 0.5      /* of their pixels, below USUAL_PIXELS: photos overlap */
#define MORE_EXPONENT 0.75      /* above: many photos also show more places */
#define FEW_POINTS 2            /* of those that a training may begin with, fewer than one in so many */
#define RESET_OPACITY 0.05f
#define N_RECOVERIES 2          /* resets that a removal of the least opaque follows */
#define RECOVERY_STEPS 300      /* the least number of steps between such a reset and the removal */
#define STEPS_OF_A_PHOTO 1.2    /* steps for each photo, so that most Gaussians have been seen */
#define UNRECOVERED 5           /* one Gaussian in five is removed */

/* ---------------------------------------------------------------- the schedule */

uint64_t splat_budget_at(const splat_train_options *o, uint64_t n_first, uint64_t cap, int iteration)
{
    const int from = o->densify_from_iter, until = o->densify_until_iter;
    if (cap <= n_first || iteration <= from || until <= from) return cap < n_first ? cap : n_first;
    const double x = iteration < until ? (double)(iteration - from) / (until - from) : 1;
    return n_first + (uint64_t)((double)(cap - n_first) * sqrt(x));
}

uint64_t splat_budget_cap(const splat_train_options *o, const splat_dataset *dataset)
{
    const double pixels = splat_default_photo_pixels(dataset), named = (double)o->target_gaussian_count;
    if (!(o->pixels_per_gaussian > 0)) return o->target_gaussian_count;
    const double exponent = pixels < USUAL_PIXELS ? FEWER_EXPONENT : MORE_EXPONENT;
    double cap = USUAL_PIXELS * pow(pixels / USUAL_PIXELS, exponent) / (double)o->pixels_per_gaussian;
    cap = fmax(cap, (double)splat_dataset_floor(dataset, (size_t)cap));
    if (named > 0) cap = fmin(cap, named);
    return cap < UINT32_MAX ? (uint64_t)cap : UINT32_MAX;
}

/* Gaussians that a training begins with: the points, at most half of the cap; a dense start fills up to the half where
 * the scene has few points. The cap counts the points that photos see, so it is not computed twice. */
static uint64_t first_of(const splat_train_options *o, const splat_dataset *dataset, uint64_t cap)
{
    const uint64_t half = (cap + 1) / 2;
    const bool is_dense = o->dense_start && !dataset->random_points && dataset->n_points < half / FEW_POINTS;
    return half > 0 && (half < dataset->n_points || is_dense) ? half : dataset->n_points;
}

uint64_t splat_budget_first(const splat_train_options *o, const splat_dataset *dataset)
{
    return first_of(o, dataset, splat_budget_cap(o, dataset));
}

static bool resets_after(const splat_train_options *o, int iteration)
{
    return splat_default_recovers(o) && splat_default_resets_opacity_after(o, false, iteration);
}

bool splat_budget_prunes_unrecovered_after(const splat_train_options *o, size_t n_photos, int iteration)
{
    const double wait = fmax(RECOVERY_STEPS, STEPS_OF_A_PHOTO * (double)n_photos);
    if (wait >= o->opacity_reset_interval) return false;
    for (int i = 1; i <= N_RECOVERIES; i++) {
        const int reset = i * o->opacity_reset_interval;
        if (resets_after(o, reset) && iteration == reset + (int)wait) return true;
    }
    return false;
}

static bool prunes_unrecovered_after(const splat_trainer *t, int iteration)
{
    return splat_budget_prunes_unrecovered_after(&t->options, t->scene->dataset.n_train, iteration);
}

static bool changes_after(const splat_trainer *t, int iteration)
{
    const splat_train_options *o = &t->options;
    return splat_default_prunes_late_after(o, iteration) || splat_default_densifies_after(o, iteration) ||
           resets_after(o, iteration) || prunes_unrecovered_after(t, iteration) ||
           splat_density_prunes_masked_after(o, &t->scene->dataset, iteration);
}

/* ---------------------------------------------------------------- a round of growth */

static splat_status draw_at(splat_trainer *t, int iteration, float limit, uint8_t *actions, uint64_t counts[2],
                            splat_growth *selected, splat_error *error)
{
    const splat_statistics statistics = splat_trainer_statistics(t);
    splat_density_drawn drawn;
    struct splat_density_draw_args args = {.n = t->model->gaussians.n,
                                           .statistics = &statistics,
                                           .threshold = t->options.densify_grad_threshold,
                                           .limit = limit,
                                           .seed = t->options.seed,
                                           .step = (uint32_t)iteration,
                                           .actions = actions,
                                           .result = &drawn};
    splat_shards_rows(t, &args.first, &args.stride);
    SPLAT_TRY(splat_op_density_draw(t->backend, &args, error));
    counts[0] = drawn.n_candidates;
    counts[1] = drawn.n_drawn;
    SPLAT_TRY(splat_shards_sum(t, counts, 2, error));
    *selected = (splat_growth){.here = {.n_clone = drawn.n_drawn, .n_long = drawn.n_drawn}, .n_clone = counts[1]};
    return SPLAT_OK;
}

static float float_of(uint32_t bits)
{
    float value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

#define INFINITE_BITS 0x7F800000u

/* All candidates, or as many as there is room for: the bits of positive floats have their order, so that bisection
 * finds the limit exactly. */
static splat_status draw_within(splat_trainer *t, int iteration, splat_growth_room room, uint8_t *actions,
                                splat_growth *selected, uint64_t *asked, splat_error *error)
{
    const uint64_t most = room.rows < room.gaussians ? room.rows : room.gaussians;
    uint32_t low = 0, high = INFINITE_BITS;
    uint64_t counts[2];
    SPLAT_TRY(draw_at(t, iteration, INFINITY, actions, counts, selected, error));
    *asked = counts[0];
    if (counts[1] <= most) return SPLAT_OK;
    while (high - low > 1) {
        const uint32_t middle = low + (high - low) / 2;
        SPLAT_TRY(draw_at(t, iteration, float_of(middle), actions, counts, selected, error));
        if (counts[1] <= most)
            low = middle;
        else
            high = middle;
    }
    return draw_at(t, iteration, float_of(low), actions, counts, selected, error);
}

/* Gaussians that the whole model may have after this round, at least those that it has; 0: no limit. Nothing is
 * exchanged at the cap: a late Gaussian has less time to train than an old one (docs/lab/strategies.md). */
static uint64_t most_after(const splat_trainer *t, int iteration)
{
    const splat_dataset *dataset = &t->scene->dataset;
    const uint64_t cap = splat_budget_cap(&t->options, dataset), n = splat_shards_count(t);
    if (cap == 0) return 0;
    const uint64_t n_first = first_of(&t->options, dataset, cap), least = n < cap ? n : cap;
    const uint64_t budget = splat_budget_at(&t->options, n_first, cap, iteration);
    return budget > least ? budget : least;
}

static splat_status densify(splat_trainer *t, int iteration, splat_error *error)
{
    const uint64_t most = most_after(t, iteration);
    const struct splat_density_prune_args prune = {.min_opacity = t->options.min_opacity_threshold,
                                                   .target_count = most < UINT32_MAX ? (uint32_t)most : 0};
    return splat_growth_round(t, iteration, most ? most : UINT64_MAX, draw_within, prune, error);
}

/* ---------------------------------------------------------------- after an iteration */

/* Removes the least opaque fifth: no photo has restored these Gaussians since the reset. Later rounds add others in
 * places with large gradients. */
static splat_status prune_unrecovered(splat_trainer *t, int iteration, splat_error *error)
{
    const uint32_t n = splat_shards_count(t);
    struct splat_density_prune_args args = {.target_count = n - n / UNRECOVERED};
    return splat_density_prune_alone(t, iteration, args, "opacity_reset_interval", error);
}

static splat_status after(splat_trainer *t, int iteration, splat_error *error)
{
    const splat_train_options *o = &t->options;
    const bool densifies = splat_default_densifies_after(o, iteration);
    if (splat_default_prunes_late_after(o, iteration)) return splat_default_prune_late(t, iteration, error);
    if (densifies) SPLAT_TRY(densify(t, iteration, error));
    if (prunes_unrecovered_after(t, iteration)) SPLAT_TRY(prune_unrecovered(t, iteration, error));
    SPLAT_TRY(splat_density_prune_masked(t, iteration, error));
    if (densifies) SPLAT_TRY(splat_density_update_filter(t, error));
    if (!resets_after(o, iteration)) return SPLAT_OK;
    return splat_default_reset_opacities(t, RESET_OPACITY, error);
}

/* ---------------------------------------------------------------- the strategy */

static splat_status check(const splat_train_options *o, splat_error *error)
{
    SPLAT_TRY(splat_density_check_points(o, "budget", error));
    if (!(o->densify_grad_threshold > 0))
        return splat_fail(error, SPLAT_ERROR_ARGUMENT,
                          "the density strategy 'budget' draws by gradients: `densify_grad_threshold` must be above 0");
    return SPLAT_OK;
}

/* The three differ in the defaults of their options (PRESET in train_options.def). */
#define RULES                                                                                                          \
    .scales = true,                                                                                                    \
    .wants_statistics = splat_default_wants_statistics,                                                                \
    .after = after,                                                                                                    \
    .changes_after = changes_after,                                                                                    \
    .work_bytes = splat_density_scratch_bytes,                                                                         \
    .cap = splat_budget_cap,                                                                                           \
    .first = splat_budget_first,                                                                                       \
    .check = check

const splat_strategy splat_strategy_budget = {
    .name = "budget",
    RULES,
};

const splat_strategy splat_strategy_budget_fast = {
    .name = "budget_fast",
    RULES,
};

const splat_strategy splat_strategy_budget_high = {
    .name = "budget_high",
    RULES,
};
