/* Pictures of several views, one a rank, for measurements, and a picture at rank 0 for the viewer of a training. */
#include "train/ranks/pictures.h"

#include "math/camera.h"
#include "model/dome.h"
#include "model/render.h"
#include "model/rest.h"
#include "ops/geometry/geometry.h"

#include <string.h>

/* ---------------------------------------------------------------- one a rank */

/* Room for the own picture. */
static splat_status begin_own(splat_trainer *t, const splat_camera *camera, const float background[3], bool counted,
                              splat_error *error)
{
    splat_frame *frame = &t->model->frame;
    SPLAT_TRY(splat_view_begin(t->backend, frame, 0, camera, error));
    frame->filter = splat_model_screen_filter(t->model);
    splat_model_set_background(t->model, frame, background);
    if (!counted) return SPLAT_OK;
    return splat_frame_take(t->backend, frame, splat_camera_pixels(camera) * sizeof *frame->blended,
                            (void **)&frame->blended, error);
}

/* The own Gaussians in n_views views, and room for the own picture. */
static splat_status project_views(splat_trainer *t, const splat_camera *const *cameras, int n_views,
                                  const float background[3], bool counted, splat_error *error)
{
    splat_batch_views *batch = &t->shards.batch;
    const int rank = t->shards.comm->rank;
    splat_rest_rows rows;
    SPLAT_TRY(splat_rest_open(t->model, SPLAT_REST_ROWS, &rows, error));
    const struct splat_project_views_args args = {
        .gaussians = &rows.gaussians, .frames = batch->frames, .n_views = (uint32_t)n_views};
    SPLAT_TRY(splat_batch_begin(batch, rows.gaussians.n, cameras, n_views, error));
    for (int r = 0; r < n_views; r++) splat_batch_frame(batch, r)->filter = splat_model_screen_filter(t->model);
    if (rank < n_views) SPLAT_TRY(begin_own(t, cameras[rank], background, counted, error));
    return splat_op_project_views(t->backend, &args, error);
}

static splat_status blend(splat_trainer *t, const uint32_t *views, int n_views, bool counted, splat_error *error)
{
    const splat_camera *cameras[SPLAT_MAX_RANKS] = {NULL};
    float background[3];
    splat_batch_views *batch = &t->shards.batch;
    splat_frame *frame = t->shards.comm->rank < n_views ? &t->model->frame : NULL;
    for (int r = 0; r < n_views; r++) cameras[r] = &t->scene->dataset.views[views[r]].camera;
    splat_scene_background(t->scene, background);
    splat_status status = project_views(t, cameras, n_views, background, counted, error);
    SPLAT_TRY(splat_batch_agree(batch, status, error));
    SPLAT_TRY(splat_batch_send(batch, frame, error));
    const splat_view_blend colors = {.max_instances = splat_model_max_instances(t->model), .colors = true};
    status = frame ? splat_view_forward(t->backend, frame, &colors, error) : SPLAT_OK;
    return splat_batch_agree(batch, status, error);
}

splat_status splat_shards_blend(splat_trainer *t, const uint32_t *views, int n_views, bool counted, splat_error *error)
{
    splat_status status = blend(t, views, n_views, counted, error);
    if (status != SPLAT_ERROR_MEMORY || !t->shards.batch.agrees) return status;
    SPLAT_TRY(splat_shards_release(t, error));
    return blend(t, views, n_views, counted, error);
}

/* ---------------------------------------------------------------- one at rank 0 */

/* Makes the planes of the rank's own Gaussians in the view, in its frame. */
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

static splat_status project(splat_trainer *t, const splat_picture_order *order, splat_model_undo *undo,
                            float **planes, splat_error *error)
{
    const splat_camera *camera = &order->camera;
    SPLAT_TRY(splat_model_apply_change(t->model, &order->change, undo, error));
    SPLAT_TRY(project_views(t, &camera, 1, order->background, order->counted, error));
    return order->has_planes ? make_planes(t, planes, error) : SPLAT_OK;
}

/* Every rank; *planes: at rank 0, of all that is seen. */
static splat_status bring(splat_trainer *t, const splat_picture_order *order, splat_model_undo *undo, float **planes,
                          splat_error *error)
{
    splat_batch_views *batch = &t->shards.batch;
    splat_frame *frame = splat_shards_leads(t) ? &t->model->frame : NULL;
    float *local = NULL;
    SPLAT_TRY(splat_batch_agree(batch, project(t, order, undo, &local, error), error));
    SPLAT_TRY(splat_batch_send(batch, frame, error));
    return order->has_planes ? splat_batch_send_planes(batch, local, frame, planes, error) : SPLAT_OK;
}

/* bring; whatever became of it the parameters are as they were. A rank that has no room for a picture below its limit
 * is no reason to end a training. */
static splat_status bring_all(splat_trainer *t, const splat_picture_order *order, float **planes, splat_error *error)
{
    splat_model_undo undo = {.opacities = {0}};
    splat_error local;
    splat_status status = bring(t, order, &undo, planes, &local);
    const bool is_refused = status == SPLAT_ERROR_MEMORY && t->shards.batch.agrees;
    if (!is_refused) SPLAT_TRY(splat_shards_fail(t, status, &local, error));
    SPLAT_TRY(splat_shards_fail(t, splat_model_undo_change(t->model, &undo, &local), &local, error));
    if (is_refused && error) *error = local;
    return status;
}

splat_status splat_shards_serve_picture(splat_trainer *t, const splat_order *order, splat_error *error)
{
    float *planes;
    t->model->gaussians.active_sh_degree = order->active_sh_degree;
    splat_status status = bring_all(t, &order->picture, &planes, error);
    if (status != SPLAT_OK && !(status == SPLAT_ERROR_MEMORY && t->shards.batch.agrees)) return status;
    return t->backend->memory.limit ? splat_shards_release(t, error) : SPLAT_OK;
}

splat_status splat_shards_show(splat_trainer *t, const splat_picture_order *order, splat_model_geometry *g,
                               splat_error *error)
{
    splat_frame *frame = &t->model->frame;
    const size_t n_pixels = splat_camera_pixels(&order->camera);
    float *planes;
    void *maps;
    splat_order o;
    splat_order_make(t, SPLAT_ORDER_SHOW, &o);
    o.picture = *order;
    SPLAT_TRY(splat_order_give(t, &o, error));
    SPLAT_TRY(bring_all(t, order, &planes, error));
    *g = (splat_model_geometry){0};
    splat_view_blend blend = {.max_instances = splat_model_max_instances(t->model),
                              .colors = !order->has_planes || order->counted};
    if (!order->has_planes) return splat_view_forward(t->backend, frame, &blend, error);
    SPLAT_TRY(splat_frame_take(t->backend, frame, SPLAT_GEOMETRY_CHANNELS * n_pixels * sizeof(float), &maps, error));
    g->maps = maps;
    const struct splat_geometry_args geometry = {frame, planes, true, g->maps, NULL, NULL, true};
    blend.geometry = &geometry;
    return splat_view_forward(t->backend, frame, &blend, error);
}
