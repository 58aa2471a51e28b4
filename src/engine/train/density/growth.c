/* Growth: a selection that fits in memory, and the rows that it adds. */
#include "train/density/growth.h"

#include "model/rest.h"
#include "train/density/density.h"
#include "train/ranks/shards.h"

#define GROWTH_TRIES 4

/* Rows that memory allows density control to have before it prunes. */
static uint64_t room_for_rows(const splat_trainer *t)
{
    uint64_t most = UINT32_MAX / 2, bound = t->options.max_gaussians;
    return bound && bound < most ? bound : most;
}

static uint64_t rows_here(const splat_growth *selected)
{
    return selected->here.n_clone + 2ull * selected->here.n_split;
}

/* Selects, and makes room for what is selected; what memory refuses is asked for again by halves. No selection: no
 * growth. */
static splat_status select_with_room(splat_trainer *t, int iteration, uint64_t most, splat_growth_select *select,
                                     uint8_t *actions, splat_growth *selected, splat_error *error)
{
    const uint64_t old_n = splat_shards_count(t), old_n_here = t->model->gaussians.n;
    uint64_t in_memory = room_for_rows(t), asked, first = 0;
    splat_growth_room room = {in_memory > old_n ? in_memory - old_n : 0, most > old_n ? most - old_n : 0};
    for (int i = 0; i < GROWTH_TRIES; i++, room.rows = splat_growth_rows(selected) / 2) {
        splat_error refused;
        splat_status status = SPLAT_OK;
        SPLAT_TRY(select(t, iteration, room, actions, selected, &asked, error));
        if (i == 0) first = splat_growth_rows(selected);
        if (splat_growth_rows(selected))
            status = splat_density_make_room(t, old_n_here + rows_here(selected),
                                             old_n_here + selected->here.n_clone + selected->here.n_split, &refused);
        if (status != SPLAT_OK && status != SPLAT_ERROR_MEMORY) {
            if (error) *error = refused;
            return status;
        }
        bool granted = status == SPLAT_OK;
        bool was_bound = i > 0 || old_n + asked > in_memory; /* by memory, not by the cap */
        if (granted && was_bound) t->n_refused = (size_t)((i > 0 ? first : asked) - splat_growth_rows(selected));
        if (granted) return SPLAT_OK;
        if (i + 1 < GROWTH_TRIES) continue;
        t->n_refused = (size_t)first;
        splat_log(t->context, SPLAT_LOG_WARNING, "iteration %d: growth to %llu Gaussians is refused, training goes on: "
                  "%s", iteration, (unsigned long long)(old_n + splat_growth_rows(selected)), refused.message);
    }
    *selected = (splat_growth){{0}, 0, 0};
    return SPLAT_OK;
}

/* *n_actions: rows that have an action, 0 if nothing grew. */
static splat_status grow(splat_trainer *t, int iteration, uint64_t most, splat_growth_select *select, uint8_t *actions,
                         uint32_t *n_actions, splat_error *error)
{
    splat_growth selected;
    splat_rest_rows rows;
    const uint32_t old_n = t->model->gaussians.n;
    *n_actions = 0;
    SPLAT_TRY(select_with_room(t, iteration, most, select, actions, &selected, error));
    if (splat_growth_rows(&selected) == 0) return SPLAT_OK;
    SPLAT_TRY(splat_rest_open(t->model, SPLAT_REST_MOVE, &rows, error));
    rows.gaussians.n = old_n; /* the op wants the old count; the arrays have room for the new ones */
    struct splat_density_grow_args args = {.gaussians = &rows.gaussians,
                                           .moments = &t->moments,
                                           .actions = actions,
                                           .n_clone = selected.here.n_clone,
                                           .n_split = selected.here.n_split,
                                           .n_long = selected.here.n_long,
                                           .seed = splat_shards_seed(t),
                                           .step = (uint32_t)iteration,
                                           .rest = rows.state};
    splat_status status = splat_op_density_grow(t->backend, &args, error);
    *n_actions = old_n;
    t->n_added += (size_t)rows_here(&selected);
    return status;
}

splat_status splat_growth_round(splat_trainer *t, int iteration, uint64_t most, splat_growth_select *select,
                                struct splat_density_prune_args prune, splat_error *error)
{
    const uint32_t old_n = t->model->gaussians.n;
    void *actions;
    splat_memory_update_limit(t->backend);
    SPLAT_TRY(splat_density_begin(t, old_n, &actions, error));
    SPLAT_TRY(grow(t, iteration, most, select, actions, &prune.n_actions, error));
    prune.actions = actions;
    SPLAT_TRY(splat_density_prune(t, iteration, prune, "min_opacity_threshold", error));
    return splat_density_end(t, old_n, error);
}
