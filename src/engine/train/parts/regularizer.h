/* The seam for losses in addition to that of the photo: a regularizer is a constant table of data and functions that
 * the options name (NULL: none). The trainer calls it, and knows nothing else of it. */
#ifndef SPLAT_TRAIN_REGULARIZER_H
#define SPLAT_TRAIN_REGULARIZER_H

#include "base/monitor_sample.h"
#include "io/tensorboard.h"
#include "ops/summary/summary.h"
#include "ops/work.h"
#include "splatsmith/train.h"
#include "train/parts/extra_rows.h"

/* Additional curves of a run with a regularizer in TensorBoard, at the same steps as those of every run. Functions may
 * be NULL. */
typedef struct splat_regularizer_report {
    void (*begin)(splat_tensorboard *writer, int first_step);
    /* step_ms: mean of the steps since the last call; NAN: there were none. sample: NULL: none. */
    void (*machine)(splat_tensorboard *writer, int iteration, int steps_left, double step_ms, double allocated_bytes,
                    double reserved_bytes, const splat_monitor_sample *sample);
    /* summary: with spreads. */
    void (*model)(splat_tensorboard *writer, int iteration, const splat_summary *summary);
    /* Writes figures of the test views. lpips: NAN if it was not measured. */
    void (*test)(splat_tensorboard *writer, int iteration, const splat_metrics *metrics, double lpips);
    const char *count_tag, *opacities_tag, *scales_tag; /* Gaussians in thousands, histograms: at evaluations */
} splat_regularizer_report;

struct splat_regularizer {
    const char *stage;              /* what checkpoints and curves call a run with it; without any it is "train" */
    const char *title;              /* title in plans and charts: "coarse training" */
    bool continues_splat;           /* it trains a finished splat on: the splat's render mode, its 3D filter fused and
                                       never made again, all bands of the SH, every step made */
    uint32_t least_gaussians;       /* fewer cannot be regularized */
    const splat_extra_array *arrays; /* its state, in trainer->regularizer_rows */
    int n_arrays;
    const char *arrays_title;       /* title of the arrays in plans */
    const char *results_name;       /* of trainer->regularizer_results, double[n_results] on the device, which its step
                                       writes */
    size_t n_results;               /* at most SPLAT_MAX_REGULARIZER_RESULTS */
    const char *constant;           /* the name, in checkpoints, of a number that its beginning leaves in
                                       trainer->regularizer_constant; NULL: there is none */
    const char *acts_after;         /* the option that names the iteration after which it changes the model, once */
    const splat_regularizer_report *report; /* NULL: none */

    /* Checks combinations of options, after the ranges of single options. Errors: ARGUMENT. */
    splat_status (*check)(const splat_train_options *options, splat_error *error);
    /* True if the step of an iteration has such losses; depends on nothing else. NULL: none. */
    bool (*has_losses)(const splat_train_options *options, int iteration);
    /* Before the steps of iterations first .. last, by all ranks that share them: what lasts from step to step, in the
     * cached arrays of splat_shapes_extra_rows. NULL: there is nothing. */
    splat_status (*prepare)(splat_trainer *trainer, int first, int last, splat_error *error);
    /* Before the step of the photo, in the frame that it will use again, of the Gaussians and arrays that
     * train/ranks/shards.h gives. *any: this iteration has such losses; then gradients: what they ask of every Gaussian
     * (means, scales, rotations, opacities; the other tensors are NULL), valid until the next call. Nothing of the
     * model changes. */
    splat_status (*step)(splat_trainer *trainer, int iteration, uint32_t view, splat_tensors *gradients, bool *any,
                         splat_error *error);
    /* For the plan: what its step takes of the frame, and the most that it takes of scratch at a time, where the work
     * of the photo's view is `photo`. NULL: none. */
    void (*work_bytes)(const splat_train_options *options, const splat_work *photo, size_t *frame, size_t *scratch);
    /* Memory that it keeps from step to step for what a neighbour of the step's view sees, with photos of so many
     * pixels at most (trainer->regularizer_maps); then its step fetches the photos of neighbours, too. NULL or 0: it
     * looks at none. */
    size_t (*neighbor_bytes)(const splat_train_options *options, size_t photo_pixels);
    /* Runs after an iteration, after density control, once: it may change the model (train/density/density.h). */
    splat_status (*after)(splat_trainer *trainer, int iteration, splat_error *error);
    /* True if `after` changes the model: then ranks collect all Gaussians first. NULL: never. */
    bool (*changes_after)(const splat_train_options *options, int iteration);
    /* Its losses and figures, as splat_trainer_get_losses gives them; results: of the last step, on the host; NULL:
     * there was none. Returns how many. */
    size_t (*losses)(const splat_trainer *trainer, const double *results, splat_loss losses[SPLAT_MAX_LOSSES]);
};

#define SPLAT_MAX_REGULARIZER_RESULTS 32

/* neighbor_bytes of the options' regularizer; 0: none looks at neighbours. */
size_t splat_regularizer_neighbor_bytes(const splat_train_options *options, size_t photo_pixels);
/* The losses of the view of an iteration, with one rank: `any` if it has some then, and their gradients. Errors: those
 * of the regularizer; MEMORY, DEVICE. */
splat_status splat_regularize(splat_trainer *trainer, int iteration, uint32_t view, splat_tensors *gradients,
                              bool *any, splat_error *error);
/* *results: double[n_results] of the regularizer, device memory. Errors: MEMORY. */
splat_status splat_trainer_regularizer_results(splat_trainer *trainer, double **results, splat_error *error);

#endif
