/* The Gaussians of a training that several ranks share: which of them are here, what is the same on all ranks, and the
 * orders of rank 0, which the others obey (run/serve.c). All Gaussians come together at rank 0 where something concerns
 * the model as a whole, as Gaussians that only masked pixels show do. With one rank, every call here is a no-op. */
#ifndef SPLAT_TRAIN_SHARDS_H
#define SPLAT_TRAIN_SHARDS_H

#include "model/change.h"
#include "model/render.h"
#include "train/state.h"

/* ---------------------------------------------------------------- which Gaussians are here */

/* Rows of rank `rank` of n Gaussians. */
uint32_t splat_shard_count(uint32_t n, int rank, int size);
/* True if this is rank 0 of several. */
bool splat_shards_leads(const splat_trainer *trainer);
/* True if this trainer executes the orders of another one's rank 0. */
bool splat_shards_is_worker(const splat_trainer *trainer);
/* The trainer, if there are other ranks, else NULL. */
splat_trainer *splat_shards_sharer(splat_trainer *trainer);
/* True once somebody asked for the end of the run: by splat_trainer_request_stop, or rank 0 heard it from another. */
bool splat_shards_is_stopped(const splat_trainer *trainer);
/* True if each rank has rows of its own. */
bool splat_shards_are_apart(const splat_trainer *trainer);
/* Gaussians of all ranks. */
uint32_t splat_shards_count(const splat_trainer *trainer);
/* Returns first and stride: row i of this trainer is row `first + i stride` of the whole model. */
void splat_shards_rows(const splat_trainer *trainer, uint32_t *first, uint32_t *stride);
/* NUMERIC where there are not enough Gaussians for all ranks: exchanges of rows take for granted that each has some. */
splat_status splat_shards_check_count(const splat_trainer *trainer, size_t n, splat_error *error);
/* Returns this trainer's part of a number of Gaussians of the whole model. */
uint32_t splat_shards_part(const splat_trainer *trainer, uint64_t n);
/* Random numbers that no other rank draws. */
uint64_t splat_shards_seed(const splat_trainer *trainer);

/* Gives back the working memory of views, which the next ones take again. Errors: DEVICE. */
splat_status splat_shards_release(splat_trainer *trainer, splat_error *error);

/* ---------------------------------------------------------------- the same on all ranks */

/* Collective; where a trainer has all rows, these do nothing. Errors: RANK. */

/* values[n] become sums over the ranks. */
splat_status splat_shards_sum(splat_trainer *trainer, uint64_t *values, size_t n, splat_error *error);
/* The largest of the ranks'. */
splat_status splat_shards_largest(splat_trainer *trainer, float *value, splat_error *error);
splat_status splat_shards_most(splat_trainer *trainer, uint64_t *value, splat_error *error);
/* splat_comm_agree. */
splat_status splat_shards_agree(splat_trainer *trainer, splat_status local, splat_error *refused);

/* ---------------------------------------------------------------- orders of rank 0 */

typedef enum splat_order_kind {
    SPLAT_ORDER_END,
    SPLAT_ORDER_STEP,
    SPLAT_ORDER_GATHER,
    SPLAT_ORDER_DEAL,
    SPLAT_ORDER_REPORT,
    SPLAT_ORDER_EVALUATE,
    SPLAT_ORDER_ROWS,
    SPLAT_ORDER_BEGIN,
    SPLAT_ORDER_BEGIN_AT,
    SPLAT_ORDER_FILTER,
    SPLAT_ORDER_SUMMARY,
    SPLAT_ORDER_EXPOSURES,
    SPLAT_ORDER_DOME,
    SPLAT_ORDER_DEPTHS,
    SPLAT_ORDER_SHOW
} splat_order_kind;

/* BEGIN: how many Gaussians a state from elsewhere has, and what its run had given up. */
typedef struct splat_beginning {
    uint32_t n;
    int iteration;
    bool is_empty;
    bool strategy_cached, regularizer_cached; /* their cached arrays get rows, too */
    unsigned given_up; /* SPLAT_GIVE_UP_* */
    size_t overhead;
} splat_beginning;

/* ROWS: of an array of the state, to rank 0's host memory or from it. */
typedef struct splat_rows_order {
    int array;
    uint32_t first, n;      /* range in the whole model */
    bool as_floats, writes; /* sh_rest in float32, however it is stored */
} splat_rows_order;

/* SUMMARY: of the Gaussians that each has (op summary). */
typedef struct splat_summary_order {
    uint32_t n_edges, max_samples;
    bool spreads;
} splat_summary_order;

/* EVALUATE: the views from number `at` of a set on, one a rank. */
typedef struct splat_views_order {
    splat_view_set set;
    uint32_t at;
    int n_views;
    uint64_t n_shown;           /* views of the set whose pictures rank 0 requests */
    bool counts;                /* and how many Gaussians are blended in each of their pixels */
    bool quantize, color_correct;
    bool lpips, sends_lpips;    /* measured, too; its weights come first */
    bool is_last;
} splat_views_order;

/* BEGIN_AT: what a splat that is trained on, or a checkpoint, says of how it is rendered and trained. */
typedef struct splat_run_look {
    splat_render_mode render_mode;
    float kernel_size, regularizer_constant;
} splat_run_look;

/* SHOW: a picture of any camera, of the Gaussians of all ranks. */
typedef struct splat_picture_order {
    splat_camera camera;
    float background[3];
    bool has_planes, counted; /* depth and normals, not colours; frame->blended is written, too */
    splat_model_change change;
} splat_picture_order;

typedef struct splat_order {
    splat_order_kind kind;
    uint32_t n_all;
    int iteration, last_density_control, adam_steps[SPLAT_N_TENSORS]; /* DEAL: of the state that is dealt */
    bool has_statistics, measures_stages, density_control_done;
    int active_sh_degree;
    splat_views_order views;
    splat_rows_order rows;
    splat_beginning beginning;
    splat_run_look look;
    splat_summary_order summary;
    splat_picture_order picture;
} splat_order;

/* Rank 0: to all. Errors: RANK. */
splat_status splat_shards_order(const splat_trainer *trainer, splat_order_kind kind, splat_error *error);
/* The same in two steps: an order, of whose kind the caller fills in the rest. */
void splat_order_make(const splat_trainer *trainer, splat_order_kind kind, splat_order *order);
splat_status splat_order_give(const splat_trainer *trainer, splat_order *order, splat_error *error);
/* After OK nothing. Otherwise what the others, if there are any, wait for does not come: they hear why (own), unless
 * they said so themselves. Returns status; *error (NULL is allowed): own. */
splat_status splat_shards_fail(const splat_trainer *trainer, splat_status status, const splat_error *local,
                               splat_error *error);

#endif
