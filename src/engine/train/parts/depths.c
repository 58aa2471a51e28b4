/* Known depth: its weights, its memory, its losses, and its place in a step (docs/method.md 8.5). */
#include "train/parts/depths.h"

#include "base/rng.h"
#include "math/camera.h"
#include "ops/depth_prior/depth_prior_math.h"
#include "ops/raster/raster_bytes.h"
#include "train/parts/part.h"
#include "train/ranks/shards.h"
#include "train/schedule.h"
#include "train/state.h"
#include "train/step.h"

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

static size_t patch_bytes(const splat_camera *camera)
{
    return splat_tiles_along((size_t)camera->width) * splat_tiles_along((size_t)camera->height);
}

static void bytes(const splat_part_work *work, splat_part_bytes *b)
{
    const splat_memory_setup *u = work->setup;
    const size_t points = has_points(u, work->options), maps = has_maps(u, work->options), n_seen = work->view.n;
    if (!points && !maps) return;
    /* S and Q, their gradients, that of the opacity, and dL/dz */
    b->frame = ((3 * points + 2 * maps) * splat_work_pixels(&work->view) + (n_seen ? n_seen : 1)) * sizeof(float);
    b->backward = splat_raster_backward_depth_bytes(&work->view);
    b->kept = points ? u->n_depth_points * sizeof(splat_depth_point) + u->depth_patch_bytes : 0;
    b->n_blocks = 1 + 2 * points;
    /* gradients of depths on their way, and at home */
    b->batch = u->n_ranks > 1 ? (work->n + n_seen) * sizeof(float) : 0;
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
    splat_depth_state *s = splat_depths_of(t);
    const splat_dataset *dataset = &t->scene->dataset;
    size_t bytes = 0;
    s->first_patch = calloc(dataset->n_views + 1, sizeof *s->first_patch);
    if (!s->first_patch) return splat_fail(error, SPLAT_ERROR_MEMORY, "no memory for the patches of known depth");
    for (size_t i = 0; i < dataset->n_views; i++) {
        s->first_patch[i] = bytes;
        if (dataset->views[i].n_depth_points) bytes += patch_bytes(&dataset->views[i].camera);
    }
    uint8_t *patches = calloc(bytes + 1, 1);
    if (!patches) return splat_fail(error, SPLAT_ERROR_MEMORY, "no memory for the patches of known depth");
    for (size_t i = 0; i < dataset->n_views; i++)
        mark_view(dataset, &dataset->views[i], patches + s->first_patch[i]);
    splat_status status = splat_block_resize(t->backend, &s->patches, "patches of known depth", SPLAT_OWNER_IMAGES,
                                             bytes, error);
    if (status == SPLAT_OK) status = splat_backend_upload_and_wait(t->backend, s->patches.data, patches, bytes, error);
    free(patches);
    return status;
}

/* Uploads the points and their patches. */
static splat_status init(splat_trainer *t, splat_error *error)
{
    splat_depth_state *s = splat_depths_of(t);
    const splat_dataset *dataset = &t->scene->dataset;
    const size_t n_bytes = dataset->n_depth_points * sizeof(splat_depth_point);
    bool points = splat_depths_has_points(&t->options, dataset);
    if (!points && !splat_depths_has_maps(&t->options, dataset)) return SPLAT_OK;
    SPLAT_TRY(splat_block_resize(t->backend, &s->results, "losses of known depth", SPLAT_OWNER_OTHER,
                                 SPLAT_N_DEPTH_RESULTS * sizeof(double), error));
    if (!points) return SPLAT_OK;
    SPLAT_TRY(splat_block_resize(t->backend, &s->points, "points of known depth", SPLAT_OWNER_IMAGES, n_bytes, error));
    SPLAT_TRY(splat_backend_upload(t->backend, s->points.data, dataset->depth_points, n_bytes, error));
    return mark_patches(t, error);
}

static void free_state(splat_trainer *t)
{
    splat_depth_state *s = splat_depths_of(t);
    splat_block_free(t->backend, &s->points);
    splat_block_free(t->backend, &s->patches);
    splat_block_free(t->backend, &s->results);
    free(s->first_patch);
}

/* ---------------------------------------------------------------- reports */

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
    const splat_depth_state *s = splat_depths_of(t);
    double results[SPLAT_N_DEPTH_RESULTS];
    *own = (found){(double)NAN, (double)NAN};
    if (!s->map_iteration && !s->points_iteration) return SPLAT_OK;
    SPLAT_TRY(splat_backend_download(t->backend, results, s->results.data, sizeof results, error));
    if (s->map_iteration) own->map = sum_of(results + SPLAT_DEPTH_OF_MAP, 1);
    if (s->points_iteration) own->points = sum_of(results + SPLAT_DEPTH_OF_POINTS, 2);
    return SPLAT_OK;
}

/* Collects the results of all ranks: the losses of the last view with known depth. */
static splat_status find_of_all(const splat_trainer *t, found *all, splat_error *error)
{
    const splat_depth_state *s = splat_depths_of(t);
    const uint64_t own[2] = {(uint64_t)s->map_iteration, (uint64_t)s->points_iteration};
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

static splat_status get_losses(const splat_trainer *t, splat_loss *losses, size_t *n, splat_error *error)
{
    const splat_dataset *dataset = &t->scene->dataset;
    found f;
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

static const splat_dataset_view *dataset_view(const splat_trainer *t, const splat_step_view *view)
{
    return &t->scene->dataset.views[view->index];
}

/* The next of some planes in an array; NULL: not wanted. */
static float *next_plane(float **array, bool is_used, size_t elements)
{
    float *plane = *array;
    if (!is_used) return NULL;
    *array += elements;
    return plane;
}

static void weigh(const splat_trainer *t, int iteration, const splat_dataset_view *of, splat_step_depths *d)
{
    *d = (splat_step_depths){.iteration = iteration};
    if (!splat_depths_looks(t->options.seed, iteration)) return;
    if (of->depth_path) d->map_weight = SPLAT_DEPTH_STEPS * splat_depth_map_weight(&t->options, iteration);
    if (splat_depths_of(t)->points.data && of->n_depth_points)
        d->point_weight = SPLAT_DEPTH_STEPS * splat_depth_point_weight(&t->options, iteration);
}

static bool has_losses(const splat_step_depths *d)
{
    return d->map_weight > 0 || d->point_weight > 0;
}

bool splat_depths_looks_at(const splat_trainer *t, int iteration, uint32_t view)
{
    splat_step_depths d;
    weigh(t, iteration, &t->scene->dataset.views[view], &d);
    return has_losses(&d);
}

/* One array of what is written, one of what begins as zeros, which are cleared together. */
static splat_status stage(splat_trainer *t, int iteration, splat_step_view *view, splat_error *error)
{
    const splat_depth_state *s = splat_depths_of(t);
    splat_step_depths *d = &splat_depths_of(t)->view;
    splat_frame *frame = &t->model->frame;
    const size_t n_pixels = splat_camera_pixels(view->camera);
    const size_t n = t->shards.comm ? 0 : frame->capacity ? frame->capacity : 1;
    weigh(t, iteration, dataset_view(t, view), d);
    const bool map = d->map_weight > 0, points = d->point_weight > 0, own_alpha = points && !view->grad_alpha;
    if (!has_losses(d)) return SPLAT_OK;
    const size_t written = ((size_t)map + points) * n_pixels, zeros = written + own_alpha * n_pixels + n;
    void *planes, *gradients;
    SPLAT_TRY(splat_frame_take(t->backend, frame, written * sizeof(float), &planes, error));
    SPLAT_TRY(splat_frame_take(t->backend, frame, zeros * sizeof(float), &gradients, error));
    SPLAT_TRY(splat_backend_zero(t->backend, gradients, zeros * sizeof(float), error));
    float *plane = planes, *gradient = gradients;
    splat_raster_depth *b = &d->blend;
    b->along = next_plane(&plane, points, n_pixels);
    b->inverse = next_plane(&plane, map, n_pixels);
    b->grad_along = d->grad_along = next_plane(&gradient, points, n_pixels);
    b->grad_inverse = d->grad_inverse = next_plane(&gradient, map, n_pixels);
    if (own_alpha) view->grad_alpha = next_plane(&gradient, true, n_pixels);
    view->depth = b;
    if (n) b->grad_depth = gradient;
    if (points) b->patches.marked = (const uint8_t *)s->patches.data + s->first_patch[view->index];
    if (map) {
        b->patches.n_parts = SPLAT_DEPTH_MAP_PARTS;
        b->patches.seed = t->options.seed;
        b->patches.iteration = (uint32_t)iteration;
    }
    return SPLAT_OK;
}

/* Takes dL/dz of the rows that came from other ranks. */
static splat_status stage_rows(splat_trainer *t, splat_step_depths *d, splat_error *error)
{
    splat_frame *frame = &t->model->frame;
    const size_t bytes = (frame->capacity ? frame->capacity : 1) * sizeof(float);
    if (!t->shards.comm) return SPLAT_OK;
    SPLAT_TRY(splat_frame_take(t->backend, frame, bytes, (void **)&d->blend.grad_depth, error));
    return splat_backend_zero(t->backend, d->blend.grad_depth, bytes, error);
}

static splat_status loss(splat_trainer *t, splat_step_view *view, splat_error *error)
{
    splat_depth_state *s = splat_depths_of(t);
    splat_step_depths *d = &s->view;
    const splat_dataset_view *of = dataset_view(t, view);
    const uint8_t *mask = view->photo.mask; /* in every mode: where nothing is, nothing has a depth */
    double *results = s->results.data;
    if (!has_losses(d)) return SPLAT_OK;
    SPLAT_TRY(stage_rows(t, d, error));
    if (d->map_weight > 0) {
        s->map_iteration = d->iteration;
        const struct splat_depth_map_args args = {.width = view->camera->width,
                                                  .height = view->camera->height,
                                                  .patches = d->blend.patches,
                                                  .inverse = d->blend.inverse,
                                                  .target = view->photo.depth,
                                                  .scale = of->depth_scale,
                                                  .offset = of->depth_offset,
                                                  .mask = mask,
                                                  .weight = d->map_weight,
                                                  .gradient = d->grad_inverse,
                                                  .result = results + SPLAT_DEPTH_OF_MAP};
        SPLAT_TRY(splat_op_depth_map(t->backend, &args, error));
    }
    if (!(d->point_weight > 0)) return SPLAT_OK;
    s->points_iteration = d->iteration;
    const struct splat_depth_points_args args = {
        .width = view->camera->width,
        .height = view->camera->height,
        .along = d->blend.along,
        .transmittance = t->model->frame.transmittance,
        .mask = mask,
        .points = (const splat_depth_point *)s->points.data + of->first_depth_point,
        .n = (uint32_t)of->n_depth_points,
        .weight = d->point_weight,
        .grad_along = d->grad_along,
        .grad_alpha = view->grad_alpha,
        .result = results + SPLAT_DEPTH_OF_POINTS};
    return splat_op_depth_points(t->backend, &args, error);
}

const splat_part splat_part_depth = {.name = "depths",
                                     .state_bytes = sizeof(splat_depth_state),
                                     .init = init,
                                     .free = free_state,
                                     .bytes = bytes,
                                     .stage = stage,
                                     .loss = loss,
                                     .get_losses = get_losses};
