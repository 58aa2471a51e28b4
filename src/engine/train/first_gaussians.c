/* Points of the scene, and of photos that match. */
#include "train/first_gaussians.h"

#include "base/clock.h"
#include "model/init_points.h"
#include "stereo/matched_points.h"
#include "train/density/density.h"
#include "train/density/strategies.h"
#include "train/memory/give_up.h"
#include "train/parts/regularizer.h"
#include "train/ranks/shards.h"
#include "train/resize.h"
#include "train/schedule.h"

#include <stdlib.h>
#include <string.h>

#define SITES_OF_A_STEP 100.0 /* pixels asked for each step: matching takes a small part of the training's time */

/* The scene's points, followed by matched ones. */
typedef struct first_points {
    const splat_point *points;
    splat_point *own; /* NULL: they are the scene's */
    size_t n;
} first_points;

static splat_status append(first_points *first, const splat_matched_points *found, splat_error *error)
{
    first->own = malloc((first->n + found->n + 1) * sizeof *first->own);
    if (!first->own) return splat_fail(error, SPLAT_ERROR_MEMORY, "no memory for %zu points", first->n + found->n);
    memcpy(first->own, first->points, first->n * sizeof *first->own);
    if (found->n) memcpy(first->own + first->n, found->points, found->n * sizeof *first->own);
    first->points = first->own;
    first->n += found->n;
    return SPLAT_OK;
}

/* Appends matched points. Without memory for them the training begins with the scene's. */
static splat_status match(splat_trainer *t, size_t wanted, first_points *first, splat_error *error)
{
    const double begin = splat_clock_seconds();
    splat_matched_points found;
    splat_error why;
    splat_status status = splat_matched_points_find(t->scene, t->backend, wanted,
                                                    SITES_OF_A_STEP * t->options.iterations, &found, &why);
    if (status == SPLAT_OK) status = append(first, &found, &why);
    free(found.points);
    const bool speaks = !splat_shards_is_worker(t);
    if (status == SPLAT_OK && found.n && speaks)
        splat_log(t->context, SPLAT_LOG_NOTICE,
                  "the training begins with %zu more points, where photos match (%.1f s)", found.n,
                  splat_clock_seconds() - begin);
    if (status == SPLAT_ERROR_MEMORY && speaks)
        splat_log(t->context, SPLAT_LOG_NOTICE, "photos are not matched for the first Gaussians: %s", why.message);
    if (status == SPLAT_OK || status == SPLAT_ERROR_MEMORY) return SPLAT_OK;
    if (error) *error = why;
    return status;
}

static splat_status make_from(splat_trainer *t, const first_points *points, const splat_first_gaussians *as,
                              splat_error *error)
{
    splat_first_gaussians first = *as;
    const size_t n = first.most && first.most < points->n ? first.most : points->n;
    SPLAT_TRY(splat_shards_check_count(t, n, error));
    if (t->shards.comm) { /* each rank makes its rows */
        t->shards.is_whole = false;
        t->shards.n_all = (uint32_t)n;
        splat_shards_rows(t, &first.first_row, &first.row_stride);
    }
    SPLAT_TRY(splat_give_up_for(t, splat_shards_part(t, n), error));
    SPLAT_TRY(splat_model_init_from_points(t->model, points->points, points->n, &first, error));
    SPLAT_TRY(splat_trainer_resize(t, t->model->gaussians.n, error));
    return splat_density_update_filter(t, error);
}

splat_status splat_trainer_make_first(splat_trainer *t, splat_error *error)
{
    const splat_dataset *dataset = &t->scene->dataset;
    const splat_train_options *o = &t->options;
    const bool waits = splat_schedule_continues_splat(o);
    const uint64_t most = t->strategy->first ? t->strategy->first(o, dataset) : o->target_gaussian_count;
    const splat_first_gaussians first = {.most = waits ? o->regularizer->least_gaussians : (size_t)most,
                                         .opacity = o->init_opacity,
                                         .scale = o->init_scale};
    first_points points = {.points = dataset->points, .n = dataset->n_points};
    splat_status status = SPLAT_OK;
    if (!waits && most > points.n && o->dense_start && !o->begins_later)
        status = match(t, (size_t)(most - dataset->n_points), &points, error);
    if (status == SPLAT_OK) status = make_from(t, &points, &first, error);
    free(points.own);
    return status;
}
