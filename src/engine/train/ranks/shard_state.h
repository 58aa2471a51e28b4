/* The part of the trainer's state for several ranks, as plain data. Gaussian i of the model is row i / ranks of rank
 * i % ranks. The trainer's state (train/state.h) holds it; shards.h has the functions. */
#ifndef SPLAT_TRAIN_SHARD_STATE_H
#define SPLAT_TRAIN_SHARD_STATE_H

#include "distributed/batch_views.h"
#include "model/row_blocks.h"
#include "splatsmith/train.h"
#include "train/parts/extra_rows.h"

/* The work of a rank in its steps. */
typedef struct splat_shard_work {
    uint64_t n_steps, n_visible, n_instances, sent_bytes;
    double exchange_seconds;
    splat_stage_times stages;
} splat_shard_work;

/* Costs of views, (Gaussian, tile) pairs by the dataset's view; 0: not known. */
typedef struct splat_shard_views {
    float *pairs, *of_order; /* pairs: the last known costs; of_order: those that the next epoch's order uses. NULL: it
                                uses none */
    size_t looked_in;        /* the epoch, from 1, in which of_order was last set */
    uint32_t before[SPLAT_MAX_RANKS]; /* counts of the batch whose results come next */
    int n_before;
} splat_shard_views;

/* The arrays of splat_shard_shapes.rows, in the order of the tensors that they stand for. */
enum {
    SPLAT_SHAPES_MEANS,
    SPLAT_SHAPES_SCALES,
    SPLAT_SHAPES_ROTATIONS,
    SPLAT_SHAPES_OPACITIES,
    SPLAT_N_SHAPES,
    SPLAT_SHAPES_FILTER = SPLAT_N_SHAPES, /* zeros: what is regularized has its 3D filter fused */
    SPLAT_N_SHAPES_ARRAYS
};
#define SPLAT_SHAPE_FLOATS 11 /* floats of a Gaussian's shape */

/* Shapes of all Gaussians, at every rank (shapes.h). */
typedef struct splat_shard_shapes {
    splat_row_blocks rows;       /* [n] each */
    splat_extra_rows extra_rows; /* the regularizer's arrays, for all Gaussians; trainer->regularizer_rows has the own
                                    rows of those that are cached */
    uint32_t n;                  /* Gaussians of all ranks; 0: not yet received */
    splat_block out, in;         /* buffers of the exchange */
    int first, last;             /* iterations of the batch whose gradients wait in `in`; 0: none do */
} splat_shard_shapes;

typedef struct splat_shards {
    splat_comm *comm;           /* borrowed; NULL: alone */
    bool is_whole;              /* rank 0: its rows are all Gaussians; the other ranks' are of the past */
    uint32_t n_all;             /* Gaussians of all ranks, while it is not */
    splat_batch_views batch;    /* views of a step, one a rank */
    splat_row_blocks gradients; /* sums over the views of their gradients, */
    splat_row_blocks squares;   /* and of the squares of these, of n_gradients Gaussians, as the model's tensors */
    uint32_t n_gradients;
    splat_shard_shapes shapes;  /* only with a regularizer */
    splat_shard_work work;
    splat_shard_views views;    /* views of batches whose results come a step late */
    splat_comm_traffic traffic; /* traffic until the beginning of the step */
    splat_block staging;        /* rows on their way */
    size_t piece_bytes;         /* most bytes of an array in one message */
} splat_shards;

#endif
