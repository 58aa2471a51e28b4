/* foremost: in how many views a Gaussian stands in front (the trim of PGSR, Chen et al., TVCG 2024). */
#ifndef SPLAT_OPS_FOREMOST_H
#define SPLAT_OPS_FOREMOST_H

#include "ops/frame.h"

#define SPLAT_FOREMOST_LIGHT 0.5f

/* After bin, for the rows of the band, as raster; needs no raster before it and writes nothing of the frame. A Gaussian
 * stands in front in a view when a pixel blends it (alpha >= 1/255) while its transmittance, before that Gaussian, is
 * above 1/2. counts[i] grows by 1 for each such Gaussian i of the model, once a view, whatever its bands. The result
 * does not depend on threads or order; where alpha or transmittance are within rounding of these limits, backends may
 * differ. On a device a view whose instances overflowed counts nothing. */
struct splat_foremost_args {
    const splat_frame *frame;
    uint32_t stamp;   /* of the view: above 0, another one for each view */
    uint32_t *stamps; /* [n] the stamp of the view that counted the Gaussian last; zero before the first view */
    uint32_t *counts; /* [n] */
};

#endif
