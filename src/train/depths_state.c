/* Known depth: its weights, its memory, and what is told of it (docs/method.md 8.5). */
#include "train/depths.h"

#include "ops/raster/raster_bytes.h"
#include "train/schedule.h"
#include "train/trainer.h"

#include <math.h>

/* ---------------------------------------------------------------- weights */

/* Gaussians that are bound to a mesh have their depth from it. */
static bool takes_part(const splat_train_options *o)
{
    return !o->binding;
}

float splat_depth_map_weight(const splat_train_options *o, int iteration)
{
    double first = (double)o->depth_l1_weight_init, last = (double)o->depth_l1_weight_final;
    double at = fmin((double)iteration / o->iterations, 1);
    if (!takes_part(o) || !(first > 0)) return 0;
    return (float)splat_schedule_geometric(first, last, at);
}

float splat_depth_point_weight(const splat_train_options *o, int iteration)
{
    return takes_part(o) && iteration <= o->densify_until_iter ? o->sfm_depth_weight : 0;
}

static bool trains_on_maps(const splat_train_options *o, bool there_are)
{
    return there_are && splat_depth_map_weight(o, 1) > 0;
}

static bool trains_on_points(const splat_train_options *o, bool there_are)
{
    return there_are && splat_depth_point_weight(o, 1) > 0;
}

bool splat_depths_has_maps(const splat_train_options *o, const splat_dataset *dataset)
{
    return trains_on_maps(o, dataset->n_depths > 0);
}

bool splat_depths_has_points(const splat_train_options *o, const splat_dataset *dataset)
{
    return trains_on_points(o, dataset->n_depth_points > 0);
}

/* ---------------------------------------------------------------- memory */

static bool has_points(const splat_memory_setup *u, const splat_train_options *o)
{
    return trains_on_points(o, u->n_depth_points > 0);
}

static bool has_maps(const splat_memory_setup *u, const splat_train_options *o)
{
    return trains_on_maps(o, u->has_depth_maps);
}

size_t splat_depths_frame_bytes(const splat_memory_setup *u, const splat_train_options *o, size_t n, size_t n_pixels)
{
    if (!has_maps(u, o) && !has_points(u, o)) return 0;
    size_t of_gaussian = (2 * SPLAT_GEOMETRY_CHANNELS + 3) * sizeof(float) + sizeof(splat_grad2d);
    return n * of_gaussian + 2 * splat_depths_map_bytes(n_pixels) + (has_points(u, o) ? n_pixels * sizeof(float) : 0);
}

size_t splat_depths_scratch_bytes(const splat_memory_setup *u, const splat_train_options *o)
{
    return has_maps(u, o) ? splat_depth_map_scratch_bytes(u->view.on_device, u->view.width, u->view.height) : 0;
}

size_t splat_depths_backward_bytes(const splat_memory_setup *u, const splat_train_options *o, const splat_work *work)
{
    splat_work lists = *work;
    lists.n = 0; /* the gradients are raster_backward's */
    return has_maps(u, o) || has_points(u, o) ? splat_raster_backward_scratch_bytes(&lists) : 0;
}

size_t splat_depths_blocks(const splat_memory_setup *u, const splat_train_options *o)
{
    size_t points = has_points(u, o);
    return points || has_maps(u, o) ? 1 + points : 0;
}

size_t splat_depths_point_bytes(const splat_memory_setup *u, const splat_train_options *o)
{
    return has_points(u, o) ? u->n_depth_points * sizeof(splat_depth_point) : 0;
}

splat_status splat_depths_init(splat_trainer *t, splat_error *error)
{
    splat_depth_state *s = &t->depths;
    const splat_dataset *dataset = &t->scene->dataset;
    size_t bytes = dataset->n_depth_points * sizeof(splat_depth_point);
    bool points = splat_depths_has_points(&t->options, dataset);
    if (!points && !splat_depths_has_maps(&t->options, dataset)) return SPLAT_OK;
    SPLAT_TRY(splat_block_resize(t->backend, &s->results, "losses of known depth", SPLAT_OWNER_OTHER,
                                 SPLAT_N_DEPTH_RESULTS * sizeof(double), error));
    if (!points) return SPLAT_OK;
    SPLAT_TRY(splat_block_resize(t->backend, &s->points, "points of known depth", SPLAT_OWNER_IMAGES, bytes, error));
    SPLAT_TRY(splat_backend_upload(t->backend, s->points.data, dataset->depth_points, bytes, error));
    return splat_backend_synchronize(t->backend, error);
}

void splat_depths_free(splat_trainer *t)
{
    splat_block_free(t->backend, &t->depths.points);
    splat_block_free(t->backend, &t->depths.results);
}

/* ---------------------------------------------------------------- what is told */

splat_status splat_depths_get_losses(const splat_trainer *t, splat_loss *losses, size_t *n, splat_error *error)
{
    const splat_dataset *dataset = &t->scene->dataset;
    double results[SPLAT_N_DEPTH_RESULTS];
    bool knows_map = t->iteration > 0 && t->depths.had_map, knows_points = t->iteration > 0 && t->depths.had_points;
    *n = 0;
    if (knows_map || knows_points)
        SPLAT_TRY(splat_backend_download(t->backend, results, t->depths.results.data, sizeof results, error));
    if (splat_depths_has_maps(&t->options, dataset))
        losses[(*n)++] = (splat_loss){.name = "depth",
                                      .label = "inverse depth against maps",
                                      .tag = "Loss/component_depth",
                                      .value = knows_map ? results[SPLAT_DEPTH_OF_MAP] : (double)NAN,
                                      .factor = (double)splat_depth_map_weight(&t->options, t->iteration)};
    if (splat_depths_has_points(&t->options, dataset))
        losses[(*n)++] = (splat_loss){.name = "sfm_depth",
                                      .label = "depth against points",
                                      .tag = "Loss/component_sfm_depth",
                                      .value = knows_points ? results[SPLAT_DEPTH_OF_POINTS] : (double)NAN,
                                      .factor = (double)splat_depth_point_weight(&t->options, t->iteration)};
    return SPLAT_OK;
}
