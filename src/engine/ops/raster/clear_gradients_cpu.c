/* clear_gradients on the CPU, where only the visible have rows. */
#include "backend/backend.h"
#include "ops/raster/raster.h"

#include <string.h>

splat_status splat_clear_gradients_cpu(splat_backend *backend, const struct splat_clear_gradients_args *args,
                                       splat_error *error)
{
    (void)backend, (void)error;
    memset(args->frame->grad2d, 0, args->frame->n_visible * sizeof *args->frame->grad2d);
    return SPLAT_OK;
}
