/* SuGaR's coarse training as a regularizer of the trainer. */
#ifndef SPLAT_SURFACE_COARSE_H
#define SPLAT_SURFACE_COARSE_H

#include "train/parts/regularizer.h"
#include "train/step.h"

extern const splat_regularizer splat_coarse_regularizer;
/* Its curves. */
extern const splat_regularizer_report splat_coarse_report;

#endif
