/* The trainer's state: everything a step reads or writes, all of it in this handle; and the list of its arrays, as
 * checkpoints and ranks see them. */
#ifndef SPLAT_TRAIN_STATE_H
#define SPLAT_TRAIN_STATE_H

#include "model/model.h"
#include "model/row_blocks.h"
#include "ops/rest/rest.h"
#include "scene/scene.h"
#include "splatsmith/train.h"
#include "train/memory/setup.h"
#include "train/parts/binding.h"
#include "train/photo_store.h"
#include "train/ranks/shard_state.h"

#include <signal.h>

enum {
#define SPLAT_PART(name) SPLAT_PART_##name,
#include "train/parts/parts.def"
#undef SPLAT_PART
    SPLAT_N_PARTS
};

#define SPLAT_MARKED_STEPS 3 /* sets of marks; a step's are read two steps later, when a device has long passed them */

/* rest_state.h */
typedef struct splat_deferral {
    splat_row_blocks rows;    /* gradient, direction; of several views made, too: [n_rows] */
    uint32_t n_rows;          /* the model's Gaussians, or 0: nothing is put off */
    splat_block steps;
    splat_deferred_rest rest; /* into these; the model's rest.deferred points here */
} splat_deferral;

typedef struct splat_rest_caching {
    splat_block block;
    splat_rest_cache rows; /* into it; the model's rest.cache points here while there are slots */
    int waits;             /* steps until memory is asked for */
} splat_rest_caching;

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

    splat_block regularizer_maps;        /* of a second view, next to the step's */

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

/* ---------------------------------------------------------------- statistics and moments */

splat_statistics splat_trainer_statistics(const splat_trainer *trainer);
/* The pointers of `moments`, after their blocks have changed. */
void splat_trainer_refresh_moments(splat_trainer *trainer);

#define SPLAT_N_STATISTICS 3
extern const char *const splat_statistics_names[SPLAT_N_STATISTICS]; /* in the order of splat_statistics */
void splat_statistics_describe(splat_row_blocks *rows);

/* ---------------------------------------------------------------- the list of arrays */

typedef struct splat_state_array {
    const char *name;  /* "means", "adam_m.means", "adam.sh_rest" (quantized), "statistics.grad", ... */
    const char *type;  /* "F32", "F16" (rows padded to whole words), "U32" (quantized moments, indices: words) */
    bool is_index;     /* indices of Gaussians */
    bool is_of_all;    /* not of Gaussians: of several ranks each has all of it */
    uint32_t rows, words; /* words (32 bits) of a row */
    void *device;
} splat_state_array;

#define SPLAT_MAX_STATE_ARRAYS (3 * SPLAT_N_TENSORS + 10 + 2 * SPLAT_MAX_EXTRA_ARRAYS + 3 * SPLAT_MAX_BOUND_ARRAYS)
/* Appends the arrays of a description; that of a trainer, or that of a checkpoint, where there is no device memory. */
void splat_state_arrays_add(splat_state_array *arrays, int *n, const splat_row_blocks *rows, uint32_t n_rows);
/* Those of a binding with so many rows; bound: where they lie, or NULL as above. */
void splat_state_arrays_add_bound(splat_state_array *arrays, int *n, const splat_binding *binding,
                                  const uint32_t *rows, const splat_bound_state *bound);
int splat_trainer_state_arrays(const splat_trainer *trainer, splat_state_array arrays[SPLAT_MAX_STATE_ARRAYS]);
/* The first of them: those with a row for each Gaussian. */
int splat_trainer_row_arrays(const splat_trainer *trainer, splat_state_array arrays[SPLAT_MAX_STATE_ARRAYS]);

#endif
