/* Known depth: its weights, its memory, and what is told of it (docs/method.md 8.5). */
#include "train/parts/depths.h"

#include "base/rng.h"
#include "ops/depth_prior/depth_prior_math.h"
#include "ops/raster/raster_bytes.h"
#include "train/schedule.h"
#include "train/ranks/shard_link.h"

#include <math.h>
#include <stdlib.h>

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

bool splat_depths_looks(uint64_t seed, int iteration)
{
    const uint32_t before = (uint32_t)iteration - 1;
    const splat_random4 lot = splat_random(seed, SPLAT_STREAM_DEPTH_STEPS, before / SPLAT_DEPTH_STEPS, 0);
    return before % SPLAT_DEPTH_STEPS == lot.x[0] % SPLAT_DEPTH_STEPS;
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
    const size_t points = has_points(u, o), maps = has_maps(u, o);
    if (!points && !maps) return 0;
    /* S and Q, their gradients, that of the opacity, and dL/dz */
    return ((3 * points + 2 * maps) * n_pixels + (n ? n : 1)) * sizeof(float);
}

size_t splat_depths_batch_bytes(const splat_memory_setup *u, const splat_train_options *o, size_t n_home,
                                size_t n_seen)
{
    return has_maps(u, o) || has_points(u, o) ? (n_home + n_seen) * sizeof(float) : 0;
}

size_t splat_depths_backward_bytes(const splat_memory_setup *u, const splat_train_options *o, const splat_work *work)
{
    return has_maps(u, o) || has_points(u, o) ? splat_raster_backward_depth_bytes(work) : 0;
}

size_t splat_depths_blocks(const splat_memory_setup *u, const splat_train_options *o)
{
    size_t points = has_points(u, o);
    return points || has_maps(u, o) ? 1 + 2 * points : 0;
}

size_t splat_depths_point_bytes(const splat_memory_setup *u, const splat_train_options *o)
{
    return has_points(u, o) ? u->n_depth_points * sizeof(splat_depth_point) + u->depth_patch_bytes : 0;
}

/* ---------------------------------------------------------------- points and their patches */

static void mark_view(const splat_dataset *dataset, const splat_dataset_view *view, uint8_t *patches)
{
    const size_t width = (size_t)view->camera.width, tiles_x = splat_tiles_along(width);
    for (size_t i = 0; i < view->n_depth_points; i++) {
        const splat_depth_point *p = &dataset->depth_points[view->first_depth_point + i];
        const splat_depth_corners c = splat_depth_corners_of(p->x, p->y, view->camera.width, view->camera.height);
        for (int k = 0; k < 4; k++) {
            const size_t x = c.pixel[k] % width, y = c.pixel[k] / width;
            patches[y / SPLAT_TILE * tiles_x + x / SPLAT_TILE] |=
                (uint8_t)(1u << splat_patch_of((uint32_t)x, (uint32_t)y));
        }
    }
}

/* The patches that the points lie in, of all views. */
static splat_status mark_patches(splat_trainer *t, splat_error *error)
{
    splat_depth_state *s = &t->depths;
    const splat_dataset *dataset = &t->scene->dataset;
    size_t bytes = 0;
    s->first_patch = calloc(dataset->n_views + 1, sizeof *s->first_patch);
    if (!s->first_patch) return splat_fail(error, SPLAT_ERROR_MEMORY, "no memory for the patches of known depth");
    for (size_t i = 0; i < dataset->n_views; i++) {
        s->first_patch[i] = bytes;
        if (dataset->views[i].n_depth_points) bytes += splat_depths_patch_bytes(&dataset->views[i].camera);
    }
    uint8_t *patches = calloc(bytes + 1, 1);
    if (!patches) return splat_fail(error, SPLAT_ERROR_MEMORY, "no memory for the patches of known depth");
    for (size_t i = 0; i < dataset->n_views; i++)
        mark_view(dataset, &dataset->views[i], patches + s->first_patch[i]);
    splat_status status = splat_block_resize(t->backend, &s->patches, "patches of known depth", SPLAT_OWNER_IMAGES,
                                             bytes, error);
    if (status == SPLAT_OK) status = splat_backend_upload(t->backend, s->patches.data, patches, bytes, error);
    if (status == SPLAT_OK) status = splat_backend_synchronize(t->backend, error);
    free(patches);
    return status;
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
    return mark_patches(t, error);
}

void splat_depths_free(splat_trainer *t)
{
    splat_block_free(t->backend, &t->depths.points);
    splat_block_free(t->backend, &t->depths.patches);
    free(t->depths.first_patch);
    t->depths.first_patch = NULL;
    splat_block_free(t->backend, &t->depths.results);
}

/* ---------------------------------------------------------------- what is told */

static double sum_of(const double *parts, size_t stride)
{
    double sum = 0;
    for (size_t i = 0; i < SPLAT_DEPTH_SUMS; i++) sum += parts[stride * i];
    return sum;
}

/* The losses of the last steps that looked; NAN: none has. */
typedef struct found {
    double map, points;
} found;

static splat_status find_own(const splat_trainer *t, found *own, splat_error *error)
{
    const splat_depth_state *s = &t->depths;
    double results[SPLAT_N_DEPTH_RESULTS];
    *own = (found){(double)NAN, (double)NAN};
    if (!s->map_iteration && !s->points_iteration) return SPLAT_OK;
    SPLAT_TRY(splat_backend_download(t->backend, results, s->results.data, sizeof results, error));
    if (s->map_iteration) own->map = sum_of(results + SPLAT_DEPTH_OF_MAP, 1);
    if (s->points_iteration) own->points = sum_of(results + SPLAT_DEPTH_OF_POINTS, 2);
    return SPLAT_OK;
}

/* Of all ranks: that of the last view that one looked at, or the sum over the rows of pixels of one that they share. */
static splat_status find_of_all(const splat_trainer *t, found *all, splat_error *error)
{
    const uint64_t own[2] = {(uint64_t)t->depths.map_iteration, (uint64_t)t->depths.points_iteration};
    uint64_t last[2] = {own[0], own[1]};
    double values[2];
    SPLAT_TRY(find_own(t, all, error));
    SPLAT_TRY(splat_comm_reduce_u64(t->shards.comm, SPLAT_COMM_MAX, last, 2, error));
    values[0] = own[0] && own[0] == last[0] ? all->map : 0;
    values[1] = own[1] && own[1] == last[1] ? all->points : 0;
    SPLAT_TRY(splat_comm_reduce_f64(t->shards.comm, SPLAT_COMM_SUM, values, 2, error));
    *all = (found){last[0] ? values[0] : (double)NAN, last[1] ? values[1] : (double)NAN};
    return SPLAT_OK;
}

splat_status splat_depths_serve_losses(const splat_trainer *t, splat_error *error)
{
    found all;
    return find_of_all(t, &all, error);
}

/* At rank 0, or alone. */
static splat_status find(const splat_trainer *t, found *f, splat_error *error)
{
    splat_error own;
    if (!splat_shards_leads(t)) return find_own(t, f, error);
    SPLAT_TRY(splat_shards_order(t, SPLAT_ORDER_DEPTHS, error));
    return splat_shards_fail(t, find_of_all(t, f, &own), &own, error);
}

splat_status splat_depths_get_losses(const splat_trainer *t, splat_loss *losses, size_t *n, splat_error *error)
{
    const splat_dataset *dataset = &t->scene->dataset;
    found f;
    *n = 0;
    if (!splat_depths_has_maps(&t->options, dataset) && !splat_depths_has_points(&t->options, dataset)) return SPLAT_OK;
    SPLAT_TRY(find(t, &f, error));
    if (splat_depths_has_maps(&t->options, dataset))
        losses[(*n)++] = (splat_loss){.name = "depth",
                                      .label = "inverse depth against maps",
                                      .tag = "Loss/component_depth",
                                      .value = f.map,
                                      .factor = (double)splat_depth_map_weight(&t->options, t->iteration)};
    if (splat_depths_has_points(&t->options, dataset))
        losses[(*n)++] = (splat_loss){.name = "sfm_depth",
                                      .label = "depth against points",
                                      .tag = "Loss/component_sfm_depth",
                                      .value = f.points,
                                      .factor = (double)splat_depth_point_weight(&t->options, t->iteration)};
    return SPLAT_OK;
}
