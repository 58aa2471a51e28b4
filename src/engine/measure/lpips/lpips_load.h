/* The weights of a network on the device. */
#ifndef SPLAT_MEASURE_LPIPS_LOAD_H
#define SPLAT_MEASURE_LPIPS_LOAD_H

#include "measure/lpips/lpips.h"

/* As splat_lpips_create, but only the first n_taps comparisons: for files that hold only the first layers. */
splat_status splat_lpips_create_part(splat_context *context, const splat_lpips_options *options, int n_taps,
                                     splat_lpips **lpips, splat_error *error);
/* Rank 0's *lpips to all others, where an older one becomes this. Collective. Errors: MEMORY, RANK. */
splat_status splat_lpips_share(splat_context *context, splat_comm *comm, splat_lpips **lpips, splat_error *error);

#endif
