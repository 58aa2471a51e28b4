/* A picture for whoever looks at a training of several ranks: each projects its own Gaussians for the camera, and rank
 * 0 blends what is seen of all (docs/distributed.md). */
#include "model/render.h"
#include "train/ranks/shard_link.h"

#include "math/camera.h"
#include "ops/geometry/geometry.h"

/* Of the own Gaussians in the view, in its frame. */
static splat_status make_planes(splat_trainer *t, float **planes, splat_error *error)
{
    splat_frame *frame = splat_batch_frame(&t->shards.batch, 0);
    const size_t n = frame->capacity ? frame->capacity : 1;
    SPLAT_TRY(splat_frame_take(t->backend, frame, n * SPLAT_GEOMETRY_CHANNELS * sizeof **planes, (void **)planes,
                               error));
    const struct splat_geometry_features_args args = {.gaussians = &t->model->gaussians, .frame = frame, .world = true,
                                                      .features = *planes};
    return splat_op_geometry_features(t->backend, &args, error);
}

static splat_status project(splat_trainer *t, const splat_shown *shown, splat_model_undo *undo, float **planes,
                            splat_error *error)
{
    const splat_camera *camera = &shown->camera;
    SPLAT_TRY(splat_model_apply_change(t->model, &shown->change, undo, error));
    SPLAT_TRY(splat_shards_project(t, &camera, 1, shown->background, shown->counted, error));
    return shown->has_planes ? make_planes(t, planes, error) : SPLAT_OK;
}

/* Every rank; *planes: at rank 0, of all that is seen. */
static splat_status bring(splat_trainer *t, const splat_shown *shown, splat_model_undo *undo, float **planes,
                          splat_error *error)
{
    splat_batch_views *batch = &t->shards.batch;
    splat_frame *frame = splat_shards_leads(t) ? &t->model->frame : NULL;
    float *own = NULL;
    SPLAT_TRY(splat_batch_agree(batch, project(t, shown, undo, &own, error), error));
    SPLAT_TRY(splat_batch_send(batch, frame, error));
    return shown->has_planes ? splat_batch_send_planes(batch, own, frame, planes, error) : SPLAT_OK;
}

/* bring; whatever became of it the parameters are as they were. A rank that has no room for a picture below its limit
 * is no reason to end a training. */
static splat_status bring_all(splat_trainer *t, const splat_shown *shown, float **planes, splat_error *error)
{
    splat_model_undo undo = {.opacities = {0}};
    splat_error own;
    splat_status status = bring(t, shown, &undo, planes, &own);
    const bool is_refused = status == SPLAT_ERROR_MEMORY && t->shards.batch.agrees;
    if (!is_refused) SPLAT_TRY(splat_shards_fail(t, status, &own, error));
    SPLAT_TRY(splat_shards_fail(t, splat_model_undo_change(t->model, &undo, &own), &own, error));
    if (is_refused && error) *error = own;
    return status;
}

splat_status splat_shards_serve_shown(splat_trainer *t, const splat_order *order, splat_error *error)
{
    float *planes;
    t->model->gaussians.active_sh_degree = order->active_sh_degree;
    splat_status status = bring_all(t, &order->shown, &planes, error);
    if (status != SPLAT_OK && !(status == SPLAT_ERROR_MEMORY && t->shards.batch.agrees)) return status;
    return t->backend->memory.limit ? splat_shards_release(t, error) : SPLAT_OK;
}

splat_status splat_shards_show(splat_trainer *t, const splat_shown *shown, splat_model_geometry *g, splat_error *error)
{
    splat_frame *frame = &t->model->frame;
    const size_t n_pixels = splat_camera_pixels(&shown->camera);
    float *planes;
    void *maps;
    splat_order order;
    splat_order_make(t, SPLAT_ORDER_SHOW, &order);
    order.shown = *shown;
    SPLAT_TRY(splat_order_give(t, &order, error));
    SPLAT_TRY(bring_all(t, shown, &planes, error));
    *g = (splat_model_geometry){0};
    splat_view_blend blend = {.max_instances = splat_model_max_instances(t->model),
                              .colors = !shown->has_planes || shown->counted};
    if (!shown->has_planes) return splat_view_forward(t->backend, frame, &blend, error);
    SPLAT_TRY(splat_frame_take(t->backend, frame, SPLAT_GEOMETRY_CHANNELS * n_pixels * sizeof(float), &maps, error));
    g->maps = maps;
    const struct splat_geometry_args geometry = {frame, planes, true, g->maps, NULL, NULL, true};
    blend.geometry = &geometry;
    return splat_view_forward(t->backend, frame, &blend, error);
}
