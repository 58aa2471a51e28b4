/* view_count: in how many views each Gaussian is visible (the trim of PGSR, Chen et al., TVCG 2024). */
#ifndef SPLAT_OPS_VIEW_COUNT_H
#define SPLAT_OPS_VIEW_COUNT_H

#include "ops/frame.h"
#include "ops/loss/loss.h"

#define SPLAT_VIEW_COUNT_LIGHT 0.5f /* least transmittance of --trim_views */

/* After bin, for the rows of the band, as raster; needs no raster before it and writes nothing of the frame. A Gaussian
 * stands in front in a view when a pixel blends it (alpha >= 1/255) while its transmittance, before that Gaussian, is
 * above `light`, and what it gives to that pixel, alpha times the transmittance, is at least `weight`. counts[i] grows
 * by 1 for each such Gaussian i of the model, once a view, whatever its bands. With a mask counts are of the pixels
 * that it keeps, and masked_counts, where they are asked for, of the others. The result does not depend on threads or
 * order; where alpha, transmittance or their product are within rounding of these limits, backends may differ. On a
 * device a view whose instances overflowed counts nothing. */
struct splat_view_count_args {
    const splat_frame *frame;
    float light;         /* 0 .. 1 */
    float weight;        /* 0: all that is blended */
    const uint8_t *mask; /* [height][width], kept from SPLAT_LOSS_KEPT on; NULL: every pixel is */
    uint32_t stamp;      /* number of the view, above 0, different for each view */
    uint32_t *stamps;    /* [n] the stamp of the view that counted the Gaussian last; zero before the first view */
    uint32_t *counts;    /* [n] */
    uint32_t *masked_stamps, *masked_counts; /* [n] of the pixels that the mask does not keep, both or neither */
};

#endif
