/* What rank 0 says to the others: of the files shard_*.c, of run/serve.c, which obeys, and of what is done by all. */
#ifndef SPLAT_TRAIN_SHARD_LINK_H
#define SPLAT_TRAIN_SHARD_LINK_H

#include "train/state.h"

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
    SPLAT_ORDER_DEPTHS,
    SPLAT_ORDER_SHOW
} splat_order_kind;

/* ROWS: of an array of the state, to rank 0's host memory or from it. */
typedef struct splat_rows_order {
    int array;
    uint32_t first, n;      /* of the whole model */
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
    uint64_t n_shown;           /* of the set, whose pictures rank 0 wants */
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

typedef struct splat_order {
    splat_order_kind kind;
    uint32_t n_all;
    int iteration, last_density_control, adam_steps[SPLAT_N_TENSORS]; /* DEAL: of the state that is dealt */
    bool has_statistics, measures_stages, density_control_done;
    int active_sh_degree;
    splat_views_order views;
    splat_rows_order rows;
    splat_beginning beginning;   /* BEGIN */
    splat_run_look look;
    splat_summary_order summary;
    splat_shown shown;           /* SHOW */
} splat_order;

/* Rank 0: to all. Errors: RANK. */
splat_status splat_shards_order(const splat_trainer *trainer, splat_order_kind kind, splat_error *error);
/* The same in two steps: an order, of whose kind the caller fills in the rest. */
void splat_order_make(const splat_trainer *trainer, splat_order_kind kind, splat_order *order);
splat_status splat_order_give(const splat_trainer *trainer, splat_order *order, splat_error *error);
/* Rank 0: every rank gets its rows, if all are here. Errors: MEMORY, RANK. */
splat_status splat_shards_deal(splat_trainer *trainer, splat_error *error);
/* Another rank's part in splat_shards_summarize. */
splat_status splat_shards_serve_summary(splat_trainer *trainer, const splat_order *order, splat_error *error);
/* ... and in splat_shards_show. */
splat_status splat_shards_serve_shown(splat_trainer *trainer, const splat_order *order, splat_error *error);
/* What this rank did, to rank 0: all[ranks], there. Errors: RANK. */
splat_status splat_shards_send_info(splat_trainer *trainer, splat_rank_info *all, splat_error *error);
/* After OK nothing. Otherwise what the others, if there are any, wait for does not come: they hear why (own), unless
 * they said so themselves. Returns status; *error (NULL is allowed): own. */
splat_status splat_shards_fail(const splat_trainer *trainer, splat_status status, const splat_error *own,
                               splat_error *error);

#endif
