/* Density control: clone, split, prune, cap, opacity reset, and the 3D filter that follows (docs/method.md 10, 4). */
#include "train/trainer.h"

#include "ops/densify/densify.h"
#include "train/schedule.h"

#include <stdlib.h>
#include <string.h>

#define LARGE_SCALE 0.1f          /* of the extent: larger ones are pruned once opacities were reset */
#define RESET_OPACITY 0.01f
#define CAP_EXCHANGE 20           /* one in so many is exchanged in a round at the cap */

/* Rows that memory allows density control to have before it prunes. */
static uint64_t room_for_rows(const splat_trainer *t)
{
    uint64_t most = UINT32_MAX / 2, bound = t->options.max_gaussians;
    return bound && bound < most ? bound : most;
}

/* At a cap as many must go as come: a round exchanges at most a twentieth, those with the largest gradients for the
 * most transparent. Exchanging all that the threshold asks for would never let the model settle
 * (docs/performance.md). */
static uint64_t room_under_cap(const splat_trainer *t)
{
    uint64_t cap = t->options.target_gaussian_count;
    return cap && cap < UINT32_MAX ? cap + cap / CAP_EXCHANGE : UINT64_MAX;
}

static splat_status select_at(splat_trainer *t, float threshold, uint8_t *actions, splat_density_selection *selection,
                              splat_error *error)
{
    splat_statistics statistics = splat_trainer_statistics(t);
    struct splat_density_select_args args = {
        &t->model->gaussians, &statistics, threshold, t->options.percent_dense, t->scene->dataset.extent,
        actions,              selection};
    return t->backend->functions->ops.density_select(t->backend, &args, error);
}

static uint64_t n_new(const splat_density_selection *selection)
{
    return selection->n_clone + 2ull * selection->n_split;
}

/* What a selection may be: new rows in all, and new Gaussians once the split ones are gone. */
typedef struct growth_room {
    uint64_t rows, gaussians;
} growth_room;

static bool fits(const splat_density_selection *selection, growth_room room)
{
    return n_new(selection) <= room.rows && (uint64_t)selection->n_clone + selection->n_split <= room.gaussians;
}

#define THRESHOLD_STEPS 10 /* the threshold is found to a thousandth of an octave range */

/* What the statistics select; when that is more than there is room for, what a higher threshold selects: those with
 * the largest gradients, as many as fit. *asked: rows without that bound. */
static splat_status select_within(splat_trainer *t, growth_room room, uint8_t *actions,
                                  splat_density_selection *selection, uint64_t *asked, splat_error *error)
{
    float low = t->options.densify_grad_threshold, high = low > 0 ? low : 1e-9f;
    SPLAT_TRY(select_at(t, low, actions, selection, error));
    *asked = n_new(selection);
    if (fits(selection, room)) return SPLAT_OK;
    for (int i = 0; i < 40 && !fits(selection, room); i++) {
        low = high;
        high *= 2;
        SPLAT_TRY(select_at(t, high, actions, selection, error));
    }
    for (int i = 0; i < THRESHOLD_STEPS; i++) {
        float middle = 0.5f * (low + high);
        SPLAT_TRY(select_at(t, middle, actions, selection, error));
        if (fits(selection, room))
            high = middle;
        else
            low = middle;
    }
    SPLAT_TRY(select_at(t, high, actions, selection, error));
    if (!fits(selection, room)) *selection = (splat_density_selection){0};
    return SPLAT_OK;
}

/* Working memory of density_grow and density_prune: reserved before anything grows, so that what has begun ends. */
static splat_status reserve_work(splat_trainer *t, uint64_t n, splat_error *error)
{
    void *unused;
    SPLAT_TRY(splat_scratch_reset(t->backend, error));
    SPLAT_TRY(splat_scratch_take(t->backend, splat_density_work_bytes(t->backend->device_bytes > 0, (size_t)n), &unused, error));
    return splat_scratch_reset(t->backend, error);
}

/* Makes room for the selected rows; when memory does not allow it, nothing has changed. */
static splat_status make_room(splat_trainer *t, uint64_t n, splat_error *refused)
{
    SPLAT_TRY(reserve_work(t, n, refused));
    return splat_trainer_resize(t, (uint32_t)n, refused);
}

#define GROWTH_TRIES 4

/* Selects, and makes room for what is selected; what memory refuses is asked for again by halves. No selection: no
 * growth. */
static splat_status select_with_room(splat_trainer *t, int iteration, uint8_t *actions,
                                     splat_density_selection *selection, splat_error *error)
{
    uint32_t old_n = t->model->gaussians.n;
    uint64_t in_memory = room_for_rows(t), under_cap = room_under_cap(t), asked, first = 0;
    growth_room room = {in_memory > old_n ? in_memory - old_n : 0, under_cap > old_n ? under_cap - old_n : 0};
    for (int i = 0; i < GROWTH_TRIES; i++, room.rows = n_new(selection) / 2) {
        splat_error refused;
        SPLAT_TRY(select_within(t, room, actions, selection, &asked, error));
        if (i == 0) first = n_new(selection);
        bool granted = n_new(selection) == 0 || make_room(t, old_n + n_new(selection), &refused) == SPLAT_OK;
        bool was_bound = i > 0 || old_n + asked > in_memory; /* by memory, not by the cap */
        if (granted && was_bound) t->n_refused = (size_t)((i > 0 ? first : asked) - n_new(selection));
        if (granted) return SPLAT_OK;
        if (i + 1 < GROWTH_TRIES) continue;
        t->n_refused = (size_t)first;
        splat_log(t->context, SPLAT_LOG_WARNING, "iteration %d: growth to %llu Gaussians is refused, training goes on: "
                  "%s", iteration, (unsigned long long)(old_n + n_new(selection)), refused.message);
    }
    *selection = (splat_density_selection){0};
    return SPLAT_OK;
}

/* Clones and splits what the statistics select; appends them. */
static splat_status grow(splat_trainer *t, int iteration, uint8_t *actions, uint32_t *n_actions, splat_error *error)
{
    splat_backend *b = t->backend;
    splat_gaussians *g = &t->model->gaussians;
    splat_density_selection selection;
    uint32_t old_n = g->n;
    *n_actions = 0;
    SPLAT_TRY(select_with_room(t, iteration, actions, &selection, error));
    if (n_new(&selection) == 0) return SPLAT_OK;
    g->n = old_n; /* the op wants the old count; the arrays have room for the new ones */
    struct splat_density_grow_args growth = {g, &t->moments, actions, selection.n_clone, selection.n_split,
                                             t->options.seed, (uint32_t)iteration};
    splat_status status = b->functions->ops.density_grow(b, &growth, error);
    g->n = old_n + (uint32_t)n_new(&selection);
    *n_actions = old_n;
    t->n_added += (size_t)n_new(&selection);
    return status;
}

/* What every round of pruning is told; actions, limits and the cap are the caller's. */
static splat_status prune_with(splat_trainer *t, int iteration, struct splat_density_prune_args args,
                               const char *option, splat_error *error)
{
    splat_density_pruned pruned;
    splat_gaussians *g = &t->model->gaussians;
    args.gaussians = g;
    args.moments = &t->moments;
    args.reorder = true;
    args.result = &pruned;
    SPLAT_TRY(t->backend->functions->ops.density_prune(t->backend, &args, error));
    t->n_removed += g->n - pruned.n_kept;
    if (pruned.n_kept == 0)
        return splat_fail(error, SPLAT_ERROR_NUMERIC,
                          "pruning at iteration %d removed every Gaussian; lower --%s (%g)", iteration, option,
                          (double)args.min_opacity);
    return splat_trainer_resize(t, pruned.n_kept, error);
}

static splat_status prune(splat_trainer *t, int iteration, const uint8_t *actions, uint32_t n_actions,
                          splat_error *error)
{
    size_t cap = t->options.target_gaussian_count;
    struct splat_density_prune_args args = {
        .actions = actions,
        .n_actions = n_actions,
        .min_opacity = t->options.min_opacity_threshold,
        .max_scale = splat_schedule_prunes_large(&t->options, iteration) ? LARGE_SCALE * t->scene->dataset.extent : 0,
        .target_count = cap < UINT32_MAX ? (uint32_t)cap : 0};
    return prune_with(t, iteration, args, "min_opacity_threshold", error);
}

/* Views will have more instances as there are more Gaussians. */
static void scale_hints(splat_trainer *t, uint32_t old_n)
{
    double ratio = (double)t->model->gaussians.n / old_n;
    for (size_t i = 0; i < t->scene->dataset.n_views; i++) {
        t->hints[i].n_instances = (uint64_t)((double)t->hints[i].n_instances * ratio);
        t->hints[i].n_visible = (uint32_t)((double)t->hints[i].n_visible * ratio);
    }
}

static splat_status densify(splat_trainer *t, int iteration, splat_error *error)
{
    uint32_t n_actions = 0, old_n = t->model->gaussians.n;
    splat_region *idle = &t->model->frame.region; /* no view is in work */
    void *actions;
    splat_memory_update_limit(t->backend);
    SPLAT_TRY(splat_region_reset(t->backend, idle, error));
    SPLAT_TRY(splat_region_take(t->backend, idle, old_n, &actions, error));
    t->is_broken = true; /* until density control is done: from here on a failure leaves half of it */
    SPLAT_TRY(grow(t, iteration, actions, &n_actions, error));
    SPLAT_TRY(prune(t, iteration, actions, n_actions, error));
    scale_hints(t, old_n);
    splat_region_trim(t->backend, idle);
    splat_region_trim(t->backend, &t->backend->scratch);
    return SPLAT_OK;
}

/* SuGaR's coarse training, once: what is not opaque makes no surface. */
static splat_status prune_transparent(splat_trainer *t, int iteration, splat_error *error)
{
    uint32_t old_n = t->model->gaussians.n;
    splat_region *idle = &t->model->frame.region;
    SPLAT_TRY(splat_region_reset(t->backend, idle, error));
    t->is_broken = true;
    struct splat_density_prune_args args = {.min_opacity = t->options.coarse.prune_opacity};
    SPLAT_TRY(prune_with(t, iteration, args, "prune_opacity", error));
    SPLAT_TRY(splat_trainer_check_surface(t, NULL, error));
    scale_hints(t, old_n);
    splat_region_trim(t->backend, idle);
    splat_region_trim(t->backend, &t->backend->scratch);
    return SPLAT_OK;
}

splat_status splat_density_control_after(splat_trainer *t, int iteration, splat_error *error)
{
    if (t->controlled == iteration) return SPLAT_OK;
    bool densifies = splat_schedule_densifies_after(&t->options, iteration);
    if (densifies) {
        SPLAT_TRY(densify(t, iteration, error));
        SPLAT_TRY(splat_trainer_update_filter(t, error));
    }
    if (splat_schedule_resets_opacity_after(&t->options, iteration)) {
        struct splat_opacity_reset_args args = {&t->model->gaussians, RESET_OPACITY, &t->moments};
        t->is_broken = true;
        SPLAT_TRY(t->backend->functions->ops.opacity_reset(t->backend, &args, error));
    }
    if (splat_schedule_prunes_coarse_after(&t->options, iteration)) SPLAT_TRY(prune_transparent(t, iteration, error));
    splat_trainer_drop_statistics(t, iteration);
    if (splat_schedule_filters_after(&t->options, iteration)) SPLAT_TRY(splat_trainer_update_filter(t, error));
    t->controlled = iteration;
    t->is_broken = false;
    return SPLAT_OK;
}

/* ---------------------------------------------------------------- growing for measurements */

/* Splits the first n_split Gaussians: n_split more. */
static splat_status split_first(splat_trainer *t, uint32_t n_split, uint8_t *host, splat_error *error)
{
    splat_backend *b = t->backend;
    const splat_ops *ops = &b->functions->ops;
    splat_gaussians *g = &t->model->gaussians;
    splat_region *idle = &t->model->frame.region;
    uint32_t old_n = g->n;
    void *actions;
    memset(host, SPLAT_DENSITY_KEEP, old_n);
    memset(host, SPLAT_DENSITY_SPLIT, n_split);
    SPLAT_TRY(splat_region_reset(b, idle, error));
    SPLAT_TRY(splat_region_take(b, idle, old_n, &actions, error));
    SPLAT_TRY(b->functions->upload(b, actions, host, old_n, error));
    SPLAT_TRY(splat_trainer_resize(t, old_n + 2 * n_split, error));
    g->n = old_n;
    struct splat_density_grow_args growth = {g, &t->moments, actions, 0, n_split, t->options.seed, old_n};
    SPLAT_TRY(ops->density_grow(b, &growth, error));
    g->n = old_n + 2 * n_split;
    splat_density_pruned pruned;
    struct splat_density_prune_args prune_args = {.gaussians = g,
                                                  .moments = &t->moments,
                                                  .actions = actions,
                                                  .n_actions = old_n,
                                                  .reorder = true,
                                                  .result = &pruned};
    SPLAT_TRY(ops->density_prune(b, &prune_args, error));
    if (pruned.n_kept <= old_n)
        return splat_fail(error, SPLAT_ERROR_NUMERIC, "the model cannot grow: its Gaussians are not finite");
    return splat_trainer_resize(t, pruned.n_kept, error);
}

splat_status splat_trainer_grow_to(splat_trainer *t, size_t n, splat_error *error)
{
    if (n > UINT32_MAX / 2) return splat_fail(error, SPLAT_ERROR_UNSUPPORTED, "%zu Gaussians are more than 2^31", n);
    splat_status status = SPLAT_OK;
    while (status == SPLAT_OK && t->model->gaussians.n < n) {
        /* An eighth at a time: the split ones exist twice for a moment. */
        size_t now = t->model->gaussians.n, wanted = n - now, most = now / 8 + 1;
        uint8_t *host = malloc(now);
        if (!host) return splat_fail(error, SPLAT_ERROR_MEMORY, "no memory for %zu Gaussians", now);
        status = split_first(t, (uint32_t)(wanted < most ? wanted : most), host, error);
        free(host);
    }
    splat_trainer_forget_results(t);
    return status == SPLAT_OK ? splat_trainer_update_filter(t, error) : status;
}
