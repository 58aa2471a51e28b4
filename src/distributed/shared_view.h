/* A view whose picture several ranks share (docs/distributed.md): each projects its own Gaussians, and owns some rows
 * of tiles. What a rank's Gaussians leave there goes to the owners; they blend, measure and go back; the gradients
 * return.
 * The calls, in their order, by every rank:
 *
 *     splat_shared_begin      which rows of tiles belong to whom
 *     (project, in the view's frame)
 *     splat_shared_send       now the frame holds what is seen in the own rows, of all ranks
 *     (splat_view_forward)
 *     splat_shared_loss       in the place of op loss
 *     splat_shared_return     in the place of splat_view_backward
 *     (project_backward, with shared->projected)
 *     splat_shared_end        counts of the whole view, and what each row of tiles took
 *
 * On the CPU the result has the same bytes for any number of ranks and any rows: lists are sorted by depth, then by
 * Gaussian, and what several owners add to a Gaussian is summed tile by tile in the picture's order. On devices the
 * picture has the same bytes; the sums of owners are added. */
#ifndef SPLAT_DISTRIBUTED_SHARED_VIEW_H
#define SPLAT_DISTRIBUTED_SHARED_VIEW_H

#include "backend/backend.h"
#include "distributed/comm.h"
#include "ops/loss/loss.h"
#include "ops/view.h"

/* The blocks of a view. */
enum {
    SPLAT_SHARED_OUT,
    SPLAT_SHARED_IN,
    SPLAT_SHARED_MERGE,  /* of what came: whose it is; by ops, its order */
    SPLAT_SHARED_SUMS,   /* of gradients; by ops, of the loss of each rank's rows */
    SPLAT_SHARED_LISTS,  /* by ops: what goes to each owner */
    SPLAT_SHARED_DEPTHS_OUT, /* of gradients of depths, as OUT and IN */
    SPLAT_SHARED_DEPTHS_IN,
    SPLAT_SHARED_BEGINS, /* by ops: the first instance of each row of tiles */
    SPLAT_N_SHARED_BLOCKS
};

typedef struct splat_shared_view {
    splat_comm *comm; /* borrowed */
    splat_backend *backend;
    uint32_t tiles_y;
    uint32_t bounds[SPLAT_MAX_RANKS + 1]; /* rank r owns the rows of tiles bounds[r] .. bounds[r + 1] - 1 */
    uint64_t *weights;          /* [n_weights] by row of tiles, what the last view with so many took; NULL: none yet */
    uint32_t n_weights;
    float *grad_depth;          /* of projected, dL/dz; NULL where no depth was blended */
    splat_frame projected;      /* of the own Gaussians: visible arrays of the view's frame, without a region */
    uint64_t sent[SPLAT_MAX_RANKS], received[SPLAT_MAX_RANKS]; /* rows of the view, by rank */
    splat_block blocks[SPLAT_N_SHARED_BLOCKS]; /* what goes out and comes in */
    bool by_ops;                /* ranks on devices; tests set it on the CPU */
    uint32_t n_begins, row_weight; /* by ops, of the view before, whose weights are not taken yet: rows of tiles and one
                                      more, and what each took beside its instances */
} splat_shared_view;

/* What a view of all ranks was. */
typedef struct splat_shared_counts {
    uint64_t n_visible, n_degenerate, n_instances;
} splat_shared_counts;

/* A zeroed one; backend and comm are borrowed. */
void splat_shared_init(splat_shared_view *shared, splat_comm *comm, splat_backend *backend);
void splat_shared_free(splat_shared_view *shared);

/* Rows for every rank, as even as what the last view took tells. Errors: MEMORY. */
splat_status splat_shared_begin(splat_shared_view *shared, const splat_frame *frame, splat_error *error);
/* The visible of `frame` go to the owners of the rows that they may touch. Afterwards the frame holds what came, in the
 * order of the whole model's indices (Gaussian i of rank r is number i * ranks + r), cut to the own rows; other tiles
 * have empty lists. shared->projected holds what project left. Errors: MEMORY, RANK. */
splat_status splat_shared_send(splat_shared_view *shared, splat_frame *frame, splat_error *error);
/* Op loss over all rows: the gradient of the own ones, the value of the whole picture. image: that of args, which gets
 * the rows around the own ones. Errors: as op loss; MEMORY, RANK. */
splat_status splat_shared_loss(splat_shared_view *shared, float *image, const struct splat_loss_args *args,
                              splat_error *error);
/* Planes [height][width] of floats of which each rank has its rows: it gets those within `halo` rows around them, too.
 * Errors: MEMORY, RANK. */
typedef struct splat_shared_planes {
    float *planes[3];
    size_t n;
    int32_t width, height;
} splat_shared_planes;

splat_status splat_shared_borders(splat_shared_view *shared, const splat_shared_planes *planes, int32_t halo,
                                  splat_error *error);
/* shared->projected.grad2d (scratch, as splat_view_backward says) from the gradients of the picture, and grad_depth.
 * gradients: image, and what belongs to it; no geometry. Errors: MEMORY, RANK. */
splat_status splat_shared_return(splat_shared_view *shared, splat_frame *frame, const splat_view_gradients *gradients,
                                splat_error *error);
/* *counts: sums over the ranks, where they are known now. */
splat_status splat_shared_end(splat_shared_view *shared, const splat_frame *frame, splat_shared_counts *counts,
                             splat_error *error);

/* ---------------------------------------------------------------- what the files shared_*.c know of each other */

/* shared_rows.c: rows of pixels [*first, *end) of a picture that belong to a rank. */
void splat_shared_pixel_rows(const splat_shared_view *shared, int rank, int32_t height, int32_t *first, int32_t *end);
/* Room in a block of the view, of undefined content. */
splat_status splat_shared_room(splat_shared_view *shared, int block, size_t bytes, void **data, splat_error *error);
/* Room for the gradients of shared->projected, which are zero. */
splat_status splat_shared_reserve_gradients(splat_shared_view *shared, bool has_depths, splat_error *error);

/* shared_ops.c: the same as above, by ops. */
splat_status splat_shared_send_by_ops(splat_shared_view *shared, splat_frame *frame, splat_error *error);
splat_status splat_shared_return_by_ops(splat_shared_view *shared, splat_frame *frame,
                                        const splat_view_gradients *gradients, splat_error *error);

#endif
