/* USD text with one ParticleField3DGaussianSplat: what reads it. */
#ifndef SPLAT_IO_CLOUD_USDA_READ_H
#define SPLAT_IO_CLOUD_USDA_READ_H

#include "io/splat/cloud.h"

/* The whole file into *cloud, which is overwritten and, on failure, empty. Positions, rotations and harmonics are
 * turned from USD's y up. Errors: IO, FORMAT (an array is missing: values by time are not read), UNSUPPORTED (several
 * splats, a transform, z up), MEMORY. */
splat_status splat_usda_read(const char *path, splat_cloud *cloud, splat_error *error);

#endif
