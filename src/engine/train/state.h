/* The trainer's state: everything a step reads or writes, all of it in this handle. */
#ifndef SPLAT_TRAIN_STATE_H
#define SPLAT_TRAIN_STATE_H

#include "model/model.h"
#include "ops/loss/loss.h"
#include "scene/scene.h"
#include "splatsmith/train.h"
#include "train/parts/binding.h"
#include "train/optimizer/deferred.h"
#include "train/memory/setup.h"
#include "train/photo_store.h"
#include "train/parts/regularizer.h"
#include "train/parts/state_array.h"
#include "train/optimizer/rest_cache.h"
#include "train/ranks/shards.h"
#include "train/density/strategy.h"

#include <signal.h>

enum {
#define SPLAT_PART(name) SPLAT_PART_##name,
#include "train/parts/parts.def"
#undef SPLAT_PART
    SPLAT_N_PARTS
};

#define SPLAT_MARKED_STEPS 3 /* sets of marks; a step's are read two steps later, when a device has long passed them */

struct splat_trainer {
    splat_context *context;
    splat_backend *backend;
    splat_scene *scene;
    splat_train_options options;
    splat_model *model;

    int iteration;                       /* steps done */
    int last_density_control;            /* the iteration that it was last done after; -1: none. A step that is tried
                                            again, here or after a resume, must not do it twice */
    bool is_broken;                      /* a change of the state failed halfway: no run could go on from it */
    splat_row_blocks moment_blocks[2];   /* Adam's m and v, or the first alone with both quantized */
    splat_moments moments;               /* pointers into them */
    int adam_steps[SPLAT_N_TENSORS];     /* steps each tensor has made (t of the bias correction) */
    splat_deferral deferral;             /* those of sh_rest that the backend has put off */
    splat_rest_caching caching;          /* of sh_rest and its moments, where they lie in host memory */
    splat_row_blocks statistics;         /* grad, grad_abs, count: [n_statistics] each */
    uint32_t n_statistics;               /* n while there is density control, then 0 */

    const struct splat_way *way;         /* what a step does with other ranks (ranks/way.h) */
    const splat_strategy *strategy;
    splat_extra_rows strategy_rows;      /* what it keeps */
    splat_extra_rows regularizer_rows;   /* what the regularizer keeps; empty without one */
    float regularizer_constant;          /* what a run keeps from its beginning (splat_regularizer); 0 at first */
    splat_block regularizer_results;     /* double[n_results] of the last step with such losses */

    splat_block regularizer_maps;        /* of a view beside the step's */

    void *parts[SPLAT_N_PARTS];          /* the state of each part (parts/part.h); NULL: it keeps none */
    splat_bound_state bound;             /* what the Gaussians follow from; empty without a binding */

    struct {
        splat_memory_setup setup;
        int form;                        /* memory/forms.h: what has been given up so far */
    } memory;

    splat_shards shards;                 /* which of the Gaussians are here, where several ranks train */

    splat_photo_store photos;            /* the training photos on the device, when they fit easily */
    splat_view_hint *hints;              /* [n_views] of when each was last trained on */
    size_t n_waits;                      /* steps to come that wait for their counts instead of trusting the hints */
    double posted_kept;                  /* of posted_view, the share of pixels that count */
    uint32_t posted_view;                /* asynchronous backends: the view of the step whose result is on its way */
    int posted_iteration;                /* of it */
    int n_posted, n_staged;              /* results and photos so far, which take turns */
    bool has_posted;
    uint32_t *view_order, view_order_epoch; /* the current epoch's permutation of the training views */

    size_t n_added, n_removed, n_refused; /* by the density control before the step in work */
    size_t n_left_out;                   /* steps that the memory limit did not allow */
    bool measures_stages;
    int n_marked;                        /* steps since then */
    unsigned marks_set[SPLAT_MARKED_STEPS]; /* bits of the marks of a step */
    splat_stage_times times;             /* sums since they were last read */
    volatile sig_atomic_t stop_requested, save_requested;
};

/* density_control.c: what belongs after `iteration`, see schedule.h. */
splat_status splat_density_control_after(splat_trainer *trainer, int iteration, splat_error *error);

/* start.c: how a state from elsewhere comes in, at rank 0 or alone: room for it, then its rows (shard_host.h), then
 * what else there is to know. Each is done by all ranks, of which each has its rows. */

/* Rows for n Gaussians, as after an iteration; old ones keep their content, or with is_empty what belongs to optimizer
 * and statistics is zero. given_up, overhead: see splat_give_up_as. Errors: MEMORY, then it is the one before; RANK. */
splat_status splat_trainer_begin_rows(splat_trainer *trainer, const splat_beginning *beginning, splat_error *error);
/* The state was replaced by that after an iteration; density_control_done: and after the density control that follows
 * it. Errors: RANK. */
splat_status splat_trainer_begin_at(splat_trainer *trainer, int iteration, bool density_control_done,
                                    const int adam_steps[SPLAT_N_TENSORS], splat_error *error);
/* filter_3d of all Gaussians, from the training cameras. Errors: RANK. */
splat_status splat_trainer_begin_filter(splat_trainer *trainer, splat_error *error);
/* What a view is expected to need; nothing is known while steps wait. */
static inline splat_view_hint splat_trainer_hint(const splat_trainer *trainer, uint32_t view)
{
    return trainer->n_waits ? (splat_view_hint){0} : trainer->hints[view];
}
/* The turn (train/photo_store.h) of the step that is about to stage its photo. */
static inline int splat_trainer_photo_turn(const splat_trainer *trainer)
{
    return trainer->n_staged % 2;
}
/* After the state was replaced: no result is on its way, and the views' counts are unknown. */
void splat_trainer_forget_results(splat_trainer *trainer);
/* start.c: a splat in host memory, of any SH degree, becomes the state after an iteration: fresh moments, and the
 * filter of the training views, or none when a splat is trained on. Bands that the splat lacks start at zero; those
 * that the trainer lacks are cut off. path: for messages. Errors: FORMAT, MEMORY; on these the trainer is unchanged. */
splat_status splat_trainer_begin_with(splat_trainer *trainer, splat_cloud *host, const char *path,
                                      int iteration, splat_error *error);
/* Recomputes filter_3d from the training cameras; by all ranks, where they are apart. */
splat_status splat_trainer_update_filter(splat_trainer *trainer, splat_error *error);

/* give_up.c: what a run gives up while it trains, when growth would not fit below the memory limit otherwise
 * (may_give_up). It happens between two steps, in place, and for good: a form (memory/forms.h) is never left for an
 * earlier one. */

/* At the beginning: what the forms follow from. */
void splat_give_up_init(splat_trainer *trainer);
/* Whether this run gives anything up. */
bool splat_gives_up(const splat_trainer *trainer);
/* Of several ranks, n Gaussians each, these three are called by all, who do the same. */

/* Whether splat_give_up_for would give anything up. Errors: RANK. */
splat_status splat_give_up_is_due(splat_trainer *trainer, size_t n, bool *is_due, splat_error *error);
/* Gives up what n Gaussians need, before they are made room for; nothing when they fit. Errors: DEVICE, RANK; MEMORY
 * when something could not be given up: it is as it was. */
splat_status splat_give_up_for(splat_trainer *trainer, size_t n, splat_error *error);
/* Gives up the next of what is left, since memory was refused after all. *gave: false: there is nothing more. */
splat_status splat_give_up_next(splat_trainer *trainer, bool *gave, splat_error *error);
/* After the number of Gaussians has changed: what the limit leaves is room for the lists of views. */
void splat_give_up_set_lists(splat_trainer *trainer);

/* SPLAT_GIVE_UP_* of what this run does without, for a checkpoint; and what a run had given up that is gone on with. */
unsigned splat_given_up(const splat_trainer *trainer);
splat_status splat_give_up_as(splat_trainer *trainer, unsigned bits, size_t overhead, splat_error *error);

/* trainer_state.c: the arrays with a row for each Gaussian. */

/* Parameters, moments and statistics n rows long; statistics become zero, and the arrays of strategy and
 * regularizer are as their lives say. What must be given up for n Gaussians is given up first, and more when memory is
 * refused all the same; not where ranks are apart, which do that together (splat_give_up_for, splat_density_make_room).
 * On failure nothing else has changed. */
splat_status splat_trainer_resize(splat_trainer *trainer, uint32_t n, splat_error *error);
/* The same for rows that will be fewer before a view is done with them: something is given up only when memory is
 * refused. */
splat_status splat_trainer_resize_rows(splat_trainer *trainer, uint32_t n, splat_error *error);
/* The same for rows that are only on their way: statistics, if there shall be any, keep what they hold. */
splat_status splat_trainer_resize_state(splat_trainer *trainer, uint32_t n, bool has_statistics, splat_error *error);
/* All that there are. */
splat_status splat_trainer_zero_statistics(splat_trainer *trainer, splat_error *error);
/* What that maps on the device beyond what is there. */
size_t splat_trainer_growth_bytes(const splat_trainer *trainer, uint32_t n);
/* Gives the statistics back when no density control is left after `iteration`. */
void splat_trainer_drop_statistics(splat_trainer *trainer, int iteration);
/* *results: double[n_results] of the regularizer, device memory. Errors: MEMORY. */
splat_status splat_trainer_regularizer_results(splat_trainer *trainer, double **results, splat_error *error);

/* state_rows.c */
splat_statistics splat_trainer_statistics(const splat_trainer *trainer);
/* The pointers of `moments`, after their blocks have changed. */
void splat_trainer_refresh_moments(splat_trainer *trainer);

#define SPLAT_N_STATISTICS 3
extern const char *const splat_statistics_names[SPLAT_N_STATISTICS]; /* in the order of splat_statistics */
void splat_statistics_describe(splat_row_blocks *rows);

#define SPLAT_MAX_STATE_ARRAYS (3 * SPLAT_N_TENSORS + 7 + 2 * SPLAT_MAX_EXTRA_ARRAYS + 3 * SPLAT_MAX_BOUND_ARRAYS)
/* Appends the arrays of a description; that of a trainer, or that of a checkpoint, where there is no device memory. */
void splat_state_arrays_add(splat_state_array *arrays, int *n, const splat_row_blocks *rows, uint32_t n_rows);
/* Those of a binding with so many rows; bound: where they lie, or NULL as above. */
void splat_state_arrays_add_bound(splat_state_array *arrays, int *n, const splat_binding *binding,
                                  const uint32_t *rows, const splat_bound_state *bound);
int splat_trainer_state_arrays(const splat_trainer *trainer, splat_state_array arrays[SPLAT_MAX_STATE_ARRAYS]);
/* The first of them: those with a row for each Gaussian. */
int splat_trainer_row_arrays(const splat_trainer *trainer, splat_state_array arrays[SPLAT_MAX_STATE_ARRAYS]);

#endif
