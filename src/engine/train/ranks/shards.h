/* The Gaussians of a training that several ranks share: Gaussian i of the model is row i / ranks of rank i % ranks. All
 * of them come together at rank 0 where something concerns the model as a whole, as Gaussians that only masked pixels
 * show do. Rank 0 decides; the others do what it orders. With one rank, every call here is a no-op. */
#ifndef SPLAT_TRAIN_SHARDS_H
#define SPLAT_TRAIN_SHARDS_H

#include "distributed/batch_views.h"
#include "model/change.h"
#include "model/render.h"
#include "model/row_blocks.h"
#include "splatsmith/train.h"
#include "train/parts/extra_rows.h"

/* How many Gaussians a state from elsewhere has, and what its run had given up (train/state.h). */
typedef struct splat_beginning {
    uint32_t n;
    int iteration;
    bool is_empty;
    bool strategy_cached, regularizer_cached; /* their cached arrays get rows, too */
    unsigned given_up; /* SPLAT_GIVE_UP_* */
    size_t overhead;
} splat_beginning;

/* What a rank did in its steps. */
typedef struct splat_shard_work {
    uint64_t n_steps, n_visible, n_instances, sent_bytes;
    double exchange_seconds;
    splat_stage_times stages;
} splat_shard_work;

/* What views took, (Gaussian, tile) pairs by the dataset's view; 0: not known. */
typedef struct splat_shard_views {
    float *pairs, *of_order; /* as last told; as the next epoch's order goes by. NULL: the order does not */
    size_t looked_in;        /* the epoch, from 1, in which of_order was last set */
    uint32_t before[SPLAT_MAX_RANKS]; /* of the batch whose results come next */
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
#define SPLAT_SHAPE_FLOATS 11 /* of a Gaussian */

/* Of all Gaussians, at every rank (shard_shapes.c). */
typedef struct splat_shard_shapes {
    splat_row_blocks rows;       /* [n] each */
    splat_extra_rows extra_rows; /* the regularizer's arrays, for all Gaussians; trainer->regularizer_rows has the own
                                    rows of those that are cached */
    uint32_t n;                  /* of all ranks; 0: none are here yet */
    splat_block out, in;         /* on their way */
    int first, last;             /* iterations of the batch whose gradients wait in `in`; 0: none do */
} splat_shard_shapes;

typedef struct splat_shards {
    splat_comm *comm;           /* borrowed; NULL: alone */
    bool is_whole;              /* rank 0: its rows are all Gaussians; the other ranks' are of the past */
    uint32_t n_all;             /* Gaussians of all ranks, while it is not */
    splat_batch_views batch;    /* of a step: each rank has a view of its own */
    splat_row_blocks gradients; /* sums over the views of their gradients, */
    splat_row_blocks squares;   /* and of the squares of these, of n_gradients Gaussians, as the model's tensors */
    uint32_t n_gradients;
    splat_shard_shapes shapes;  /* with a regularizer */
    splat_shard_work work;
    splat_shard_views views;    /* of batches, where results come late */
    splat_comm_traffic traffic; /* at the beginning of the step */
    splat_block staging;        /* rows on their way */
    size_t piece_bytes;         /* of an array that go to or come from a rank at a time */
} splat_shards;

/* After the options are taken. Errors: UNSUPPORTED: what several ranks cannot train with. */
splat_status splat_shards_init(splat_trainer *trainer, splat_error *error);
/* shard_options.c, part of init and the first exchange: the ranks compare what they train, and with which options.
 * Errors: ARGUMENT, on all ranks (one trains something else), MEMORY, RANK. */
splat_status splat_shards_compare_options(const splat_trainer *trainer, splat_error *error);
/* Ranks that are processes: those of a host decode each photo once (scene/shared_photos.h), where its shared memory and
 * the bound of the cache have room for all. Part of init. Errors: RANK. */
splat_status splat_shards_share_photos(splat_trainer *trainer, splat_error *error);
/* Rank 0: the others' splat_trainer_serve returns. */
void splat_shards_free(splat_trainer *trainer);

/* Whether this is rank 0 of several. */
bool splat_shards_leads(const splat_trainer *trainer);
/* True once somebody asked for the end of the run: by splat_trainer_request_stop, or rank 0 heard it from another. */
bool splat_shards_is_stopped(const splat_trainer *trainer);
/* Whether this trainer does what another one's rank 0 orders. */
bool splat_shards_is_worker(const splat_trainer *trainer);
/* The trainer, if there are other ranks, else NULL. */
splat_trainer *splat_shards_sharer(splat_trainer *trainer);
/* The last iteration of the batch after an iteration: as many views as there are ranks, but no more than are left, and
 * none after one that concerns the whole model or is a multiple of 100, so that what happens or is saved then is. */
int splat_shards_batch_end(const splat_trainer *trainer, int iteration);
/* Whether each rank has rows of its own. */
bool splat_shards_are_apart(const splat_trainer *trainer);
/* Gaussians of all ranks. */
uint32_t splat_shards_count(const splat_trainer *trainer);
/* Of the row `first + i stride` of the whole model, which this trainer has as row i. */
void splat_shards_rows(const splat_trainer *trainer, uint32_t *first, uint32_t *stride);

/* shard_control.c: density control of the rows that each rank has, in a batch. Where a trainer has all rows,
 * these do nothing. Collective; errors: RANK. */

/* NUMERIC where there are not enough Gaussians for all ranks: exchanges of rows take for granted that each has some. */
splat_status splat_shards_check_count(const splat_trainer *trainer, size_t n, splat_error *error);
/* Of a number of Gaussians of the whole model, the part that is to be this trainer's. */
uint32_t splat_shards_part(const splat_trainer *trainer, uint64_t n);
/* Random numbers that no other rank draws. */
uint64_t splat_shards_seed(const splat_trainer *trainer);
/* values[n] become sums over the ranks. */
splat_status splat_shards_sum(splat_trainer *trainer, uint64_t *values, size_t n, splat_error *error);
/* The largest of the ranks'. */
splat_status splat_shards_largest(splat_trainer *trainer, float *value, splat_error *error);
splat_status splat_shards_most(splat_trainer *trainer, uint64_t *value, splat_error *error);
/* splat_comm_agree. */
splat_status splat_shards_agree(splat_trainer *trainer, splat_status own, splat_error *refused);
/* shard_level.c: after the number of Gaussians has changed rows move from the ends of ranks that have too many, so that
 * every rank has its part again. Errors: MEMORY, DEVICE, too. */
splat_status splat_shards_level(splat_trainer *trainer, splat_error *error);

/* shard_views.c: the order of an epoch's views, of batches. Errors: MEMORY. */
splat_status splat_shard_views_init(splat_trainer *trainer, splat_error *error);
void splat_shard_views_free(splat_trainer *trainer);
/* All ranks, before a batch whose first iteration is `first`. */
void splat_shard_views_begin_batch(splat_trainer *trainer, int first);
/* All ranks, after one: pairs[r] of rank r's view of the batch before (0: not known); views: those of this one. */
void splat_shard_views_note(splat_trainer *trainer, const double *pairs, const uint32_t *views, int n_views);
/* A new epoch's order was drawn: views that take alike come side by side. */
void splat_shard_views_order(splat_trainer *trainer);
/* In every `window` of order[n], indices into views, those come first that have fewer pairs; nothing where not all are
 * known. */
void splat_sort_views(uint32_t *order, size_t n, size_t window, const uint32_t *views, const float *pairs);

/* shard_summary.c, at rank 0 or alone: op summary of the Gaussians of all ranks. Of a sample each has its part. Errors:
 * MEMORY, RANK, DEVICE. */
struct splat_summary_args;
splat_status splat_shards_summarize(splat_trainer *trainer, const struct splat_summary_args *args, splat_error *error);

/* ---------------------------------------------------------------- losses of a regularizer */

/* shard_shapes.c: the shapes of all Gaussians (means, scales, rotations, opacities) at every rank. The losses of a
 * regularizer look at any of them: at the nearest around a point, and at what several views see. So each rank finds
 * those of its view from a copy, and what they ask of a Gaussian goes to the rank that has it. A rank sends 44 bytes
 * for each of its Gaussians to every other rank; with a view for each as much comes back, view by view. Views that are
 * shared need no way back: every rank finds the same losses, and takes its own rows. */

void splat_shard_shapes_init(splat_trainer *trainer);
void splat_shard_shapes_free(splat_trainer *trainer);

/* What a regularizer works on: alone the trainer's own. Valid until the next step. */

/* All Gaussians, without their colours. */
splat_gaussians splat_shapes_gaussians(const splat_trainer *trainer);
/* Its arrays, with a row for each of them. */
splat_extra_rows *splat_shapes_extra_rows(splat_trainer *trainer);
/* After it has filled the cached ones: each rank keeps its rows, as checkpoints want them. Errors: MEMORY, DEVICE. */
splat_status splat_shapes_keep_cached(splat_trainer *trainer, splat_error *error);

/* With one rank, the regularizer's losses of the view of an iteration: `any` if it has some then, and their gradients.
 * Errors: those of the regularizer; MEMORY, DEVICE. */
splat_status splat_regularize(splat_trainer *trainer, int iteration, uint32_t view, splat_tensors *gradients,
                              bool *any, splat_error *error);
/* The same of a batch, by all ranks: of iterations first .. last rank r's is first + r, `view` the own one (it is not
 * looked at where there is none). Errors: likewise. */
splat_status splat_regularize_batch(splat_trainer *trainer, int first, int last, uint32_t view,
                                    splat_error *error);
/* Then: whether the view of a rank has such losses, and what they ask of the own Gaussians. */
bool splat_regularized(const splat_trainer *trainer, int rank, splat_tensors *gradients);

/* ---------------------------------------------------------------- steps */

/* shard_report.c: what this rank blended of a view, when it is known; a step begins, and has ended well. */
void splat_shards_note_view(splat_trainer *trainer, uint64_t n_visible, uint64_t n_instances);
void splat_shards_begin_traffic(splat_trainer *trainer);
void splat_shards_end_traffic(splat_trainer *trainer);

/* shard_pictures.c, collective: the pictures of n_views of the dataset's views, over the scene's background, that of
 * views[r] in the model's frame of rank r. Every rank has its rows (splat_shards_deal). counted: the own frame's
 * blended is written too. Errors: MEMORY, below a memory limit on all ranks; RANK, DEVICE. */
splat_status splat_shards_blend(splat_trainer *trainer, const uint32_t *views, int n_views, bool counted,
                                splat_error *error);

/* A picture of any camera at rank 0: what it shows of the Gaussians of all ranks. */
typedef struct splat_shown {
    splat_camera camera;
    float background[3];
    bool has_planes, counted; /* depth and normals, not colours; frame->blended is written, too */
    splat_model_change change;
} splat_shown;

/* shard_pictures.c: the own Gaussians in n_views views, and room for the own picture. */
splat_status splat_shards_project(splat_trainer *trainer, const splat_camera *const *cameras, int n_views,
                                  const float background[3], bool counted, splat_error *error);
/* shard_shown.c, at rank 0 where rows are apart: into model->frame, and into *geometry, which is the frame's, as
 * splat_model_rasterize_geometry has it but without a median. Errors: as splat_shards_blend. */
splat_status splat_shards_show(splat_trainer *trainer, const splat_shown *shown, splat_model_geometry *geometry,
                               splat_error *error);

/* Gives back the working memory of views, which the next ones take again. Errors: DEVICE. */
splat_status splat_shards_release(splat_trainer *trainer, splat_error *error);

/* At the beginning of a step: what belongs after the iteration before and concerns the whole model is done, and every
 * rank has its rows. Errors: those of density control; MEMORY, RANK. */
splat_status splat_shards_begin_step(splat_trainer *trainer, splat_error *error);
/* A step that has ended with this status: where the other ranks cannot know of a failure, they are told. */
void splat_shards_end_step(splat_trainer *trainer, splat_status status, const splat_error *error);

#endif
