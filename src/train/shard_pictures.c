/* Pictures of several views, one a rank, for whoever measures them: each rank projects its own Gaussians for all, and
 * blends one with what is seen of everybody's (docs/distributed.md). */
#include "train/shards.h"

#include "math/camera.h"
#include "train/trainer.h"

#include <string.h>

/* Room for the own picture. */
static splat_status begin_own(splat_trainer *t, const splat_camera *camera, bool counted, splat_error *error)
{
    splat_frame *frame = &t->model->frame;
    SPLAT_TRY(splat_view_begin(t->backend, frame, 0, camera, error));
    frame->filter = splat_model_screen_filter(t->model);
    splat_scene_background(t->scene, frame->background);
    if (!counted) return SPLAT_OK;
    return splat_frame_take(t->backend, frame, splat_camera_pixels(camera) * sizeof *frame->blended,
                            (void **)&frame->blended, error);
}

static splat_status project(splat_trainer *t, int n_views, splat_error *error)
{
    splat_batch_views *batch = &t->shards.batch;
    splat_gaussians settled = t->model->gaussians; /* nothing is put off, and no step follows that could */
    const struct splat_project_views_args args = {&settled, batch->frames, (uint32_t)n_views};
    SPLAT_TRY(splat_model_settle(t->model, error));
    settled.deferred = NULL;
    return splat_op_project_views(t->backend, &args, error);
}

splat_status splat_shards_blend(splat_trainer *t, const uint32_t *views, int n_views, bool counted, splat_error *error)
{
    const splat_camera *cameras[SPLAT_MAX_RANKS] = {NULL};
    const int rank = t->shards.comm->rank;
    splat_frame *frame = rank < n_views ? &t->model->frame : NULL;
    for (int r = 0; r < n_views; r++) cameras[r] = &t->scene->dataset.views[views[r]].camera;
    SPLAT_TRY(splat_batch_begin(&t->shards.batch, t->model->gaussians.n, cameras, n_views, error));
    for (int r = 0; r < n_views; r++)
        splat_batch_frame(&t->shards.batch, r)->filter = splat_model_screen_filter(t->model);
    if (frame) SPLAT_TRY(begin_own(t, cameras[rank], counted, error));
    SPLAT_TRY(project(t, n_views, error));
    SPLAT_TRY(splat_batch_send(&t->shards.batch, frame, error));
    const splat_view_blend blend = {.max_instances = splat_model_max_instances(t->model), .colors = true};
    return frame ? splat_view_forward(t->backend, frame, &blend, error) : SPLAT_OK;
}
