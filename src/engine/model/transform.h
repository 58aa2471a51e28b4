/* The 3D filter fused into the parameters. */
#ifndef SPLAT_MODEL_TRANSFORM_H
#define SPLAT_MODEL_TRANSFORM_H

#include "model/model.h"

/* Bakes the 3D filter into scales and opacities, where there is one: the same pictures but for rounding, and no filter
 * from then on. The render mode stays. Errors: MEMORY. */
splat_status splat_model_fuse_filter(splat_model *model, splat_error *error);

#endif
