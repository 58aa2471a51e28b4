/* The exchanges of a step with other ranks: a constant table of functions, one for a trainer alone (alone.h) and one
 * for several ranks with a view each (batch.h). The step calls them and never asks for the number of ranks. */
#ifndef SPLAT_TRAIN_WAY_H
#define SPLAT_TRAIN_WAY_H

#include "backend/backend.h"
#include "splatsmith/train.h"

struct splat_step;

typedef struct splat_way {
    /* At the beginning of a step: what belongs after the iteration before and concerns the whole model is done, and
     * every rank has its rows. Errors: those of density control; MEMORY, RANK. */
    splat_status (*open)(splat_trainer *trainer, splat_error *error);
    /* A step that was opened has ended with this status: where the other ranks cannot know of a failure, they hear of
     * it. */
    void (*close)(splat_trainer *trainer, splat_status status, const splat_error *error);
    /* The order of a new epoch's views was drawn (trainer->view_order), and may be changed. */
    void (*order_views)(splat_trainer *trainer);
    /* Iterations and views of the next step. Errors: those of splat_step_next_view, RANK. */
    splat_status (*choose)(splat_trainer *trainer, struct splat_step *step, splat_error *error);
    /* A status that all ranks agree on: MEMORY if any rank lacks memory below a limit. */
    splat_status (*agree)(splat_trainer *trainer, splat_status local, splat_error *error);
    /* The losses of a regularizer, of all views. */
    splat_status (*regularize)(splat_trainer *trainer, struct splat_step *step, splat_error *error);
    /* Frames for the Gaussians of this rank, in every view; and the own view's. Errors: MEMORY. */
    splat_status (*begin)(splat_trainer *trainer, struct splat_step *step, splat_error *error);
    /* Projects the Gaussians of this rank for every view. */
    splat_status (*project)(splat_trainer *trainer, struct splat_step *step, splat_error *error);
    /* Projected Gaussians go to the ranks of their views. */
    splat_status (*send)(splat_trainer *trainer, struct splat_step *step, splat_error *error);
    /* NUMERIC on all ranks if the loss of a view is not finite, where it is known now. */
    splat_status (*check_loss)(splat_trainer *trainer, const struct splat_step *step, double loss, splat_error *error);
    /* Room for the gradients of this rank's Gaussians, before raster_backward. Errors: MEMORY. */
    splat_status (*reserve)(splat_trainer *trainer, splat_error *error);
    /* Gradients on the screen go back to the ranks of their Gaussians; from here on nothing is allocated. */
    splat_status (*give_back)(splat_trainer *trainer, struct splat_step *step, splat_error *error);
    /* Gradients of the Gaussians, statistics, and Adam's step. Counts the step's degenerate Gaussians. */
    splat_status (*update)(splat_trainer *trainer, struct splat_step *step, splat_error *error);
    /* True if refused memory may be requested again: there is a limit. */
    bool (*may_ask_again)(const splat_trainer *trainer);
    /* Gives back the working memory of views. Errors: RANK. */
    splat_status (*release)(splat_trainer *trainer, splat_error *error);
    /* Computes the report of the step: means over the views. `found`: NUMERIC if the loss of an earlier step of this
     * rank was not finite. */
    splat_status (*report)(splat_trainer *trainer, const struct splat_step *step, splat_status found,
                           splat_step_result *mean, splat_error *error);
} splat_way;

#endif
