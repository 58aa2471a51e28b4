/* The trainer's state: everything a step reads or writes, all of it in this handle. */
#ifndef SPLAT_TRAIN_TRAINER_H
#define SPLAT_TRAIN_TRAINER_H

#include "model/model.h"
#include "ops/loss/loss.h"
#include "scene/scene.h"

#include <signal.h>

/* The training photos in device memory as uint8: all of them, each uploaded when it is first used, or those of two
 * steps. */
typedef struct splat_photo_store {
    splat_block block;                   /* empty: not all are kept */
    splat_block streamed[2];             /* then these, each as large as the largest photo */
    size_t *offsets;                     /* [n_views] bytes into the block; SIZE_MAX: not a training view */
    bool *loaded;                        /* [n_views] */
} splat_photo_store;

/* What a view needed when it was last trained on, 0: unknown. Sizes arrays, never results. */
typedef struct splat_view_hint {
    uint64_t n_instances;
    uint32_t n_visible;
} splat_view_hint;

struct splat_trainer {
    splat_context *context;
    splat_backend *backend;
    splat_scene *scene;
    splat_train_options options;
    splat_model *model;

    int iteration;                       /* steps done */
    int controlled;                      /* the iteration that density control was last done after; -1: none. A step
                                            that is tried again, here or after a resume, must not do it twice */
    bool is_broken;                      /* a change of the state failed halfway: no run could go on from it */
    splat_row_blocks moment_blocks[2];   /* Adam's m and v, or the first alone with both quantized */
    splat_moments moments;               /* pointers into them */
    int adam_steps[SPLAT_N_TENSORS];     /* steps each tensor has made (t of the bias correction) */
    splat_row_blocks statistics;         /* grad, grad_abs, count: [n_statistics] each */
    uint32_t n_statistics;               /* n while there is density control, then 0 */

    splat_row_blocks regular;            /* coarse training: gradients of its losses, [n] rows */
    splat_row_blocks neighbors;          /* [n_neighbors][SPLAT_NEIGHBORS] nearest other Gaussians */
    uint32_t n_neighbors;                /* n once they were searched, else 0 */
    splat_block coarse_results;          /* double[SPLAT_N_COARSE_RESULTS] of the last step */

    uint32_t n_bands, band_begin[SPLAT_MAX_BANDS]; /* of the view in work: first rows of tiles */
    uint64_t n_instances;                /* of all its bands */
    splat_photo_store photos;            /* the training photos on the device, when they fit easily */
    splat_view_hint *hints;              /* [n_views] */
    uint32_t posted_view;                /* asynchronous backends: the view of the step whose result is on its way */
    bool has_posted;
    uint32_t *view_order, view_order_epoch; /* the current epoch's permutation of the training views */

    size_t n_added, n_removed, n_refused; /* by the density control before the step in work */
    size_t n_left_out;                   /* steps that the memory limit did not allow */
    bool measures_stages;
    int n_marked;                        /* steps since then */
    splat_stage_times times;             /* sums since they were last read */
    volatile sig_atomic_t stop_requested;
};

/* What the frame holds a pixel: image, transmittance, last contributor, gradient. */
#define SPLAT_PIXEL_BYTES 32u

#define SPLAT_PHOTO_SHARE 8 /* photos may take an eighth of the device's memory */

/* photo_store.c: keeps the photos of the training views on the device when it has memory of its own, they take at most
 * an eighth of it, and on_host does not forbid it; makes room. */
splat_status splat_photo_store_init(splat_photo_store *store, splat_backend *backend, const splat_dataset *dataset,
                                    bool on_host, splat_error *error);
void splat_photo_store_free(splat_photo_store *store, splat_backend *backend);

/* coarse.c: the nearest neighbours, when they are due before this iteration. */
splat_status splat_trainer_search_neighbors(splat_trainer *trainer, int iteration, splat_error *error);
/* coarse.c: there are enough Gaussians to have neighbours. path: the splat's, or NULL. Errors: NUMERIC. */
splat_status splat_trainer_check_surface(const splat_trainer *trainer, const char *path, splat_error *error);

/* Working memory of growing to n Gaussians and pruning them, from scratch, on a device or on the host. */
static inline size_t splat_density_work_bytes(bool on_device, size_t n)
{
    return on_device ? 48 * n + ((size_t)1 << 20) : 8 * n + ((size_t)1 << 14);
}

/* density_control.c: what belongs after `iteration` (densify, opacity reset, 3D filter), see schedule.h. */
splat_status splat_density_control_after(splat_trainer *trainer, int iteration, splat_error *error);
/* checkpoint_read.c: the state was replaced by that after an iteration; density_control_done: and after the density
 * control that follows it. */
void splat_trainer_begin_at(splat_trainer *trainer, int iteration, bool density_control_done,
                            const int adam_steps[SPLAT_N_TENSORS]);
/* After the state was replaced: no result is on its way, and the views' counts are unknown. */
void splat_trainer_forget_results(splat_trainer *trainer);
/* Every option in its range, and no two that exclude each other. */
splat_status splat_train_options_check(const splat_train_options *options, splat_error *error);
/* Recomputes filter_3d from the training cameras. */
splat_status splat_trainer_update_filter(splat_trainer *trainer, splat_error *error);

/* trainer_state.c: the arrays with a row for each Gaussian. */

/* Parameters, moments and statistics n rows long; statistics become zero, and neighbours are unknown. On failure
 * nothing has changed. */
splat_status splat_trainer_resize(splat_trainer *trainer, uint32_t n, splat_error *error);
/* Room for the neighbours of n Gaussians (n: the model's, or 0). */
splat_status splat_trainer_resize_neighbors(splat_trainer *trainer, uint32_t n, splat_error *error);
/* Gives the statistics back when no density control is left after `iteration`. */
void splat_trainer_drop_statistics(splat_trainer *trainer, int iteration);
splat_statistics splat_trainer_statistics(const splat_trainer *trainer);

/* Every array of the state, as a checkpoint holds it. */
typedef struct splat_state_array {
    char name[32];     /* "means", "adam_m.means", "adam.sh_rest" (quantized), "statistics.grad", ... */
    const char *type;  /* "F32", "F16" (rows padded to whole words), "U32" (quantized moments, neighbours: words) */
    uint32_t rows, words; /* words (32 bits) of a row */
    void *device;
} splat_state_array;

#define SPLAT_MAX_STATE_ARRAYS (3 * SPLAT_N_TENSORS + 5)
int splat_trainer_state_arrays(const splat_trainer *trainer, splat_state_array arrays[SPLAT_MAX_STATE_ARRAYS]);

#endif
