/* Pictures of several views, one a rank, for whoever measures them: each rank projects its own Gaussians for all, and
 * blends one with what is seen of everybody's (docs/distributed.md). */
#include "model/render.h"
#include "train/ranks/shards.h"

#include "math/camera.h"
#include "train/state.h"

#include <string.h>

/* Room for the own picture. */
static splat_status begin_own(splat_trainer *t, const splat_camera *camera, const float background[3], bool counted,
                              splat_error *error)
{
    splat_frame *frame = &t->model->frame;
    SPLAT_TRY(splat_view_begin(t->backend, frame, 0, camera, error));
    frame->filter = splat_model_screen_filter(t->model);
    memcpy(frame->background, background, sizeof frame->background);
    if (!counted) return SPLAT_OK;
    return splat_frame_take(t->backend, frame, splat_camera_pixels(camera) * sizeof *frame->blended,
                            (void **)&frame->blended, error);
}

splat_status splat_shards_project(splat_trainer *t, const splat_camera *const *cameras, int n_views,
                                  const float background[3], bool counted, splat_error *error)
{
    splat_batch_views *batch = &t->shards.batch;
    const int rank = t->shards.comm->rank;
    SPLAT_TRY(splat_model_settle(t->model, error));
    splat_gaussians settled = t->model->gaussians; /* nothing is put off, and no step follows that could */
    settled.deferred = NULL;
    const struct splat_project_views_args args = {&settled, batch->frames, (uint32_t)n_views};
    SPLAT_TRY(splat_batch_begin(batch, settled.n, cameras, n_views, error));
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
    splat_status status = splat_shards_project(t, cameras, n_views, background, counted, error);
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
