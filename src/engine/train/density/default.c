/* The adaptive density control of 3D Gaussian Splatting as Mip-Splatting trains with it: clone, split, prune, cap,
 * opacity reset (docs/method.md 10). */
#include "train/density/default.h"

#include "train/density/density.h"
#include "train/density/growth.h"
#include "train/density/prune_masked.h"
#include "train/density/strategy.h"
#include "train/ranks/shards.h"

#define LARGE_SCALE 0.1f          /* of the extent: larger ones are pruned once opacities were reset */
#define RESET_OPACITY 0.01f
#define CAP_EXCHANGE 20           /* one in so many is exchanged in a round at the cap */
#define RECOVERY_STEPS 500        /* that opacities need between two resets, at least */
#define LEAST_PHOTO_PIXELS 405000 /* smaller photos count as many: reduced ones show as much, in fewer pixels */

/* ---------------------------------------------------------------- the schedule */

bool splat_default_wants_statistics(const splat_train_options *options, int iteration)
{
    return iteration < options->densify_until_iter;
}

bool splat_default_densifies_after(const splat_train_options *options, int iteration)
{
    return iteration < options->densify_until_iter && iteration > options->densify_from_iter &&
           iteration % options->densification_interval == 0;
}

bool splat_default_resets_opacity_after(const splat_train_options *options, bool white_background, int iteration)
{
    if (iteration >= options->densify_until_iter || iteration < 1) return false;
    return iteration % options->opacity_reset_interval == 0 ||
           (white_background && iteration == options->densify_from_iter);
}

bool splat_default_prunes_large(const splat_train_options *options, int iteration)
{
    return iteration > options->opacity_reset_interval;
}

bool splat_default_recovers(const splat_train_options *options)
{
    return options->opacity_reset_interval >= RECOVERY_STEPS;
}

/* Removes faint Gaussians late, once the model no longer grows and opacities are not reset: no photo needs them, and
 * the last steps train the others. Coarse training and refinement have no growth, and no such removal. */
bool splat_default_prunes_late_after(const splat_train_options *options, int iteration)
{
    int interval = options->opacity_reset_interval;
    return options->late_prune_opacity > 0 && splat_default_recovers(options) &&
           options->densify_until_iter > options->densify_from_iter && iteration >= options->densify_until_iter &&
           iteration % interval == 0 && iteration < options->iterations - interval;
}

static bool resets_opacity_after(const splat_trainer *t, int iteration)
{
    return splat_default_resets_opacity_after(&t->options, t->scene->options.white_background, iteration);
}

/* The published trainer replaces tensors in density control and opacity reset before it steps, which loses their
 * gradients: no step at densification, and none of the opacities at a reset. */
static void updates(const splat_trainer *t, int iteration, splat_adam *adam)
{
    bool densifies = splat_default_densifies_after(&t->options, iteration);
    for (int i = 0; i < SPLAT_N_TENSORS && densifies; i++) adam->update[i] = false;
    if (resets_opacity_after(t, iteration)) adam->update[SPLAT_TENSOR_opacities] = false;
}

/* ---------------------------------------------------------------- what is selected */

double splat_default_photo_pixels(const splat_dataset *dataset)
{
    double pixels = 0;
    for (size_t i = 0; i < dataset->n_train; i++) {
        const splat_camera *camera = &dataset->views[dataset->train[i]].camera;
        double of_photo = (double)camera->width * camera->height;
        pixels += of_photo > LEAST_PHOTO_PIXELS ? of_photo : LEAST_PHOTO_PIXELS;
    }
    return pixels;
}

uint64_t splat_default_cap(const splat_train_options *options, const splat_dataset *dataset)
{
    uint64_t named = options->target_gaussian_count;
    if (!(options->pixels_per_gaussian > 0)) return named;
    double allowed = splat_default_photo_pixels(dataset) / (double)options->pixels_per_gaussian;
    uint64_t cap = allowed < UINT32_MAX ? (uint64_t)allowed : UINT32_MAX;
    if (cap < dataset->n_points) cap = dataset->n_points;
    return named && named < cap ? named : cap;
}

/* At a cap as many must go as come: a round exchanges at most a twentieth, those with the largest gradients for the
 * most transparent. Exchanging all that the threshold asks for would never let the model settle
 * (docs/lab/strategies.md). */
static uint64_t most_gaussians(uint64_t cap)
{
    return cap && cap < UINT32_MAX ? cap + cap / CAP_EXCHANGE : UINT64_MAX;
}

static splat_status select_at(splat_trainer *t, float threshold, uint8_t *actions, splat_growth *selected,
                              splat_error *error)
{
    splat_statistics statistics = splat_trainer_statistics(t);
    struct splat_density_select_args args = {
        &t->model->gaussians, &statistics, threshold, t->options.percent_dense, t->scene->dataset.extent,
        actions,              &selected->here};
    SPLAT_TRY(splat_op_density_select(t->backend, &args, error));
    uint64_t counts[] = {selected->here.n_clone, selected->here.n_split};
    SPLAT_TRY(splat_shards_sum(t, counts, 2, error));
    selected->n_clone = counts[0];
    selected->n_split = counts[1];
    return SPLAT_OK;
}

static bool fits(const splat_growth *selected, splat_growth_room room)
{
    return splat_growth_rows(selected) <= room.rows && selected->n_clone + selected->n_split <= room.gaussians;
}

#define THRESHOLD_STEPS 10 /* the threshold is found to a thousandth of an octave range */

/* Selects by the statistics. If more are selected than there is room for, raises the threshold: those with the largest
 * gradients, as many as fit. *asked: rows without that bound. */
static splat_status select_within(splat_trainer *t, int iteration, splat_growth_room room, uint8_t *actions,
                                  splat_growth *selected, uint64_t *asked, splat_error *error)
{
    (void)iteration;
    float low = t->options.densify_grad_threshold, high = low > 0 ? low : 1e-9f;
    SPLAT_TRY(select_at(t, low, actions, selected, error));
    *asked = splat_growth_rows(selected);
    if (fits(selected, room)) return SPLAT_OK;
    for (int i = 0; i < 40 && !fits(selected, room); i++) {
        low = high;
        high *= 2;
        SPLAT_TRY(select_at(t, high, actions, selected, error));
    }
    for (int i = 0; i < THRESHOLD_STEPS; i++) {
        float middle = 0.5f * (low + high);
        SPLAT_TRY(select_at(t, middle, actions, selected, error));
        if (fits(selected, room))
            high = middle;
        else
            low = middle;
    }
    SPLAT_TRY(select_at(t, high, actions, selected, error));
    if (!fits(selected, room)) *selected = (splat_growth){{0}, 0, 0};
    return SPLAT_OK;
}

/* ---------------------------------------------------------------- after an iteration */

static splat_status densify(splat_trainer *t, int iteration, splat_error *error)
{
    uint64_t cap = splat_default_cap(&t->options, &t->scene->dataset);
    struct splat_density_prune_args prune = {
        .min_opacity = t->options.min_opacity_threshold,
        .max_scale = splat_default_prunes_large(&t->options, iteration) ? LARGE_SCALE * t->scene->dataset.extent : 0,
        .target_count = cap < UINT32_MAX ? (uint32_t)cap : 0};
    return splat_growth_round(t, iteration, most_gaussians(cap), select_within, prune, error);
}

splat_status splat_default_prune_late(splat_trainer *t, int iteration, splat_error *error)
{
    struct splat_density_prune_args args = {.min_opacity = t->options.late_prune_opacity};
    return splat_density_prune_alone(t, iteration, args, "late_prune_opacity", error);
}

splat_status splat_default_reset_opacities(splat_trainer *t, float most, splat_error *error)
{
    struct splat_opacity_reset_args args = {&t->model->gaussians, most, &t->moments};
    t->is_broken = true;
    return splat_op_opacity_reset(t->backend, &args, error);
}

static bool changes_after(const splat_trainer *t, int iteration)
{
    return splat_default_prunes_late_after(&t->options, iteration) ||
           splat_default_densifies_after(&t->options, iteration) || resets_opacity_after(t, iteration) ||
           splat_density_prunes_masked_after(&t->options, &t->scene->dataset, iteration);
}

static splat_status after(splat_trainer *t, int iteration, splat_error *error)
{
    const bool densifies = splat_default_densifies_after(&t->options, iteration);
    if (splat_default_prunes_late_after(&t->options, iteration)) return splat_default_prune_late(t, iteration, error);
    if (densifies) SPLAT_TRY(densify(t, iteration, error));
    SPLAT_TRY(splat_density_prune_masked(t, iteration, error));
    if (densifies) SPLAT_TRY(splat_density_update_filter(t, error));
    if (!resets_opacity_after(t, iteration)) return SPLAT_OK;
    return splat_default_reset_opacities(t, RESET_OPACITY, error);
}

/* Functions shared by the three strategies, which differ in the defaults of their options (PRESET in
 * train_options.def). */
#define RULES                                                                                                          \
    .wants_statistics = splat_default_wants_statistics,                                                                \
    .updates = updates,                                                                                                \
    .after = after,                                                                                                    \
    .changes_after = changes_after,                                                                                    \
    .work_bytes = splat_density_scratch_bytes,                                                                         \
    .cap = splat_default_cap

const splat_strategy splat_strategy_classic = {
    .name = "classic",
    RULES,
};

const splat_strategy splat_strategy_fast = {
    .name = "fast",
    RULES,
};

const splat_strategy splat_strategy_default = {
    .name = "default",
    RULES,
};
