/* The seam for an addition to the step of a photo's view: masks, exposure, known depth, rays inside pixels. A part is
 * a constant table of functions; parts.def lists the parts in the order in which a step calls them. Functions may be
 * NULL. A part finds its state in the trainer and in the step's view, and does nothing where its option is off. */
#ifndef SPLAT_TRAIN_PART_H
#define SPLAT_TRAIN_PART_H

#include "splatsmith/train.h"
#include "train/memory/setup.h"

struct splat_state_array;
struct splat_step;
struct splat_step_view;

/* Device memory that parts need, for the plan. */
typedef struct splat_part_bytes {
    size_t frame;    /* bytes in the frame of the step's view */
    size_t backward; /* bytes of scratch during raster_backward */
    size_t kept;     /* bytes for the whole run */
    size_t n_blocks; /* blocks of memory that are not rows of Gaussians */
    size_t batch;    /* with several ranks: bytes for the views of a step */
} splat_part_bytes;

/* n Gaussians on each rank; `view` is the work of the step's view, whose n is the number of Gaussians in it. */
typedef struct splat_part_work {
    const splat_memory_setup *setup;
    const splat_train_options *options;
    splat_work view;
    size_t n;
} splat_part_work;

typedef struct splat_part {
    const char *name; /* name of its option */

    /* Bytes of the part's state, trainer->parts[SPLAT_PART_<name>], which is zero before init. 0: it keeps none, and
     * has no `free`. */
    size_t state_bytes;
    /* When the trainer is made and destroyed. Errors: MEMORY, DEVICE. */
    splat_status (*init)(splat_trainer *trainer, splat_error *error);
    void (*free)(splat_trainer *trainer);
    /* The part's bytes. */
    void (*bytes)(const splat_part_work *work, splat_part_bytes *bytes);

    /* The step, in this order. Errors: MEMORY, DEVICE, RANK. */

    /* Every rank, once the views of the step are chosen. */
    splat_status (*begin)(splat_trainer *trainer, struct splat_step *step, splat_error *error);
    /* The view's photo is staged: room in the frame. */
    splat_status (*stage)(splat_trainer *trainer, int iteration, struct splat_step_view *view, splat_error *error);
    /* The view is blended: changes of the picture that op loss compares. */
    splat_status (*picture)(splat_trainer *trainer, struct splat_step_view *view, splat_error *error);
    /* Op loss has written the gradient of the picture: its changes, and losses of the part's own. */
    splat_status (*loss)(splat_trainer *trainer, struct splat_step_view *view, splat_error *error);
    /* dL/dimage is that of the blended picture: gradients of what is blended besides Gaussians. */
    splat_status (*backward)(splat_trainer *trainer, struct splat_step_view *view, splat_error *error);
    /* The Gaussians have made their step: the part's own parameters make theirs. Allocates nothing. */
    splat_status (*update)(splat_trainer *trainer, struct splat_step *step, splat_error *error);

    /* Checkpoints. */

    const char *steps_name; /* key of `steps` in the header; NULL: the part trains nothing */
    bool (*is_on)(const splat_trainer *trainer);
    /* Steps that Adam made of the part's parameters. */
    int *(*steps)(const splat_trainer *trainer);
    /* Appends the part's arrays, of which every rank has all; none where it is off. */
    void (*state_arrays)(const splat_trainer *trainer, struct splat_state_array *arrays, int *n);
    /* Rank 0 has read arrays and steps from a file: the other ranks get them. Errors: MEMORY, DEVICE, RANK. */
    splat_status (*restored)(splat_trainer *trainer, splat_error *error);

    /* Appends the part's losses of the last step to losses[*n]. Waits for the device. Errors: DEVICE, RANK. */
    splat_status (*get_losses)(const splat_trainer *trainer, splat_loss *losses, size_t *n, splat_error *error);
} splat_part;

/* Every part of the table, in its order. states: trainer->parts. */
splat_status splat_parts_init(splat_trainer *trainer, void **states, splat_error *error);
void splat_parts_free(splat_trainer *trainer, void **states);
splat_status splat_parts_begin(splat_trainer *trainer, struct splat_step *step, splat_error *error);
splat_status splat_parts_stage(splat_trainer *trainer, int iteration, struct splat_step_view *view, splat_error *error);
splat_status splat_parts_picture(splat_trainer *trainer, struct splat_step_view *view, splat_error *error);
splat_status splat_parts_loss(splat_trainer *trainer, struct splat_step_view *view, splat_error *error);
splat_status splat_parts_backward(splat_trainer *trainer, struct splat_step_view *view, splat_error *error);
splat_status splat_parts_update(splat_trainer *trainer, struct splat_step *step, splat_error *error);
splat_status splat_parts_get_losses(const splat_trainer *trainer, splat_loss *losses, size_t *n, splat_error *error);

void splat_parts_state_arrays(const splat_trainer *trainer, struct splat_state_array *arrays, int *n);
splat_status splat_parts_restored(splat_trainer *trainer, splat_error *error);

extern const splat_part *const splat_parts[];
extern const int splat_n_parts;

/* Sums over the parts; `batch` is a sum of whole granules. */
splat_part_bytes splat_parts_bytes(const splat_part_work *work);

#endif
