/* Calls of a regularizer, and the losses of a trainer. */
#include "train/parts/regularizer.h"

#include "train/parts/part.h"
#include "train/state.h"

size_t splat_regularizer_neighbor_bytes(const splat_train_options *options, size_t photo_pixels)
{
    const splat_regularizer *regularizer = options->regularizer;
    return regularizer && regularizer->neighbor_bytes ? regularizer->neighbor_bytes(options, photo_pixels) : 0;
}

splat_status splat_regularize(splat_trainer *t, int iteration, uint32_t view, splat_tensors *gradients, bool *any,
                              splat_error *error)
{
    const splat_regularizer *regularizer = t->options.regularizer;
    *any = false;
    if (!regularizer) return SPLAT_OK;
    if (regularizer->prepare) SPLAT_TRY(regularizer->prepare(t, iteration, iteration, error));
    return regularizer->step(t, iteration, view, gradients, any, error);
}

splat_status splat_trainer_regularizer_results(splat_trainer *t, double **results, splat_error *error)
{
    const splat_regularizer *regularizer = t->options.regularizer;
    SPLAT_TRY(splat_block_ensure(t->backend, &t->regularizer_results, regularizer->results_name, SPLAT_OWNER_OTHER,
                                 regularizer->n_results * sizeof(double), error));
    *results = t->regularizer_results.data;
    return SPLAT_OK;
}

splat_status splat_trainer_get_losses(const splat_trainer *t, splat_loss losses[SPLAT_MAX_LOSSES], size_t *n,
                                      splat_error *error)
{
    const splat_regularizer *regularizer = t->options.regularizer;
    double results[SPLAT_MAX_REGULARIZER_RESULTS];
    const void *source = t->regularizer_results.data;
    SPLAT_TRY(splat_parts_get_losses(t, losses, n, error));
    if (!regularizer) return SPLAT_OK;
    if (source)
        SPLAT_TRY(splat_backend_download(t->backend, results, source, regularizer->n_results * sizeof(double), error));
    *n += regularizer->losses(t, source ? results : NULL, losses + *n);
    return SPLAT_OK;
}
