/* TensorBoard's tags of coarse training. */
#ifndef SPLAT_SURFACE_COARSE_TAGS_H
#define SPLAT_SURFACE_COARSE_TAGS_H

#include "train/parts/regularizer.h"

extern const splat_regularizer_report splat_coarse_report;

#endif
