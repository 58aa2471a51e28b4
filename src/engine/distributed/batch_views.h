/* A batch of views, one a rank (docs/distributed.md): every rank projects its own Gaussians for each view, what is seen
 * goes to the view's rank, which blends the whole picture, and the gradients return. The calls, in their order, by
 * every rank, also by those that a last, smaller batch has no view for:
 *
 *     splat_batch_begin       the cameras of all views
 *     (project, in each splat_batch_frame)
 *     splat_batch_send        now the rank's own frame holds what is seen in its view, of all ranks
 *     (splat_view_forward, op loss, splat_view_backward, in that frame)
 *     splat_batch_return      the gradients of the own Gaussians, of all views
 *     (for each view: splat_batch_take, then project_backward)
 */
#ifndef SPLAT_DISTRIBUTED_BATCH_VIEWS_H
#define SPLAT_DISTRIBUTED_BATCH_VIEWS_H

#include "backend/backend.h"
#include "distributed/comm.h"
#include "ops/view.h"

typedef struct splat_batch_views {
    splat_comm *comm; /* borrowed */
    splat_backend *backend;
    bool agrees;          /* below a memory limit: what one has no room for is refused to all, who go on together */
    int n_views;          /* views of the current batch, at most one a rank */
    splat_frame **frames; /* [ranks] the own Gaussians in each view: without a picture */
    uint64_t sent[SPLAT_MAX_RANKS], received[SPLAT_MAX_RANKS]; /* rows to and from each rank */
    splat_block entries; /* entries sent for each view, one view after the other */
    uint64_t first_entry[SPLAT_MAX_RANKS];
    bool has_depths[SPLAT_MAX_RANKS]; /* the caller says it: gradients of depths return from these views, too */
    splat_block out, in, colors, gradients, depths;
} splat_batch_views;

/* A zeroed one; backend and comm are borrowed. Errors: MEMORY. */
splat_status splat_batch_init(splat_batch_views *batch, splat_comm *comm, splat_backend *backend, splat_error *error);
void splat_batch_free(splat_batch_views *batch);
/* Gives back what views took, which the next ones take again. */
void splat_batch_release(splat_batch_views *batch);
/* Agrees on a status by splat_comm_agree, if a memory limit may refuse memory to one rank. Otherwise returns `own`
 * without an exchange. */
splat_status splat_batch_agree(splat_batch_views *batch, splat_status local, splat_error *refused);

/* Frames for n Gaussians and the cameras of n_views views; the caller sets their filter. Errors: MEMORY. */
splat_status splat_batch_begin(splat_batch_views *batch, uint32_t n, const splat_camera *const *cameras, int n_views,
                               splat_error *error);
static inline splat_frame *splat_batch_frame(const splat_batch_views *batch, int view)
{
    return batch->frames[view];
}

/* frame: the own view's, begun without Gaussians (NULL: this rank has none). Errors: RANK, DEVICE; MEMORY, with
 * `agrees` on all ranks. */
splat_status splat_batch_send(splat_batch_views *batch, splat_frame *frame, splat_error *error);
/* After a batch of one view was sent: the planes of its Gaussians (op geometry_features), too. own: [..][4], of the own
 * ones in frame 0; *planes: those of `frame`, where the own rank has the view. Errors: as send. */
splat_status splat_batch_send_planes(splat_batch_views *batch, const float *local, splat_frame *frame, float **planes,
                                     splat_error *error);
/* frame: with its grad2d, or NULL. grad_depth: dL/dz of this rank's view, or NULL. Errors: MEMORY, RANK,
 * DEVICE. */
splat_status splat_batch_return(splat_batch_views *batch, const splat_frame *frame, const float *grad_depth,
                                splat_error *error);
/* grad2d of the frame of a view, and *grad_depth where it has it, else NULL (in scratch, as splat_view_backward says).
 * Errors: MEMORY. */
splat_status splat_batch_take(splat_batch_views *batch, int view, float **grad_depth, splat_error *error);
/* The most room that taking a view asks for, in advance. Errors: MEMORY. */
splat_status splat_batch_reserve(splat_batch_views *batch, splat_error *error);

#endif
