/* COLMAP models written for samples and tests. */
#ifndef SPLAT_IO_COLMAP_WRITE_H
#define SPLAT_IO_COLMAP_WRITE_H

#include "io/colmap/colmap.h"

/* Writes cameras, images and points3D, as .bin and as .txt, atomically each, with the tracks that the model has: their
 * images must be the model's, with ids that count from 1. The cameras' models must be COLMAP's. */
splat_status splat_colmap_write(const char *folder, const splat_colmap_model *model, splat_error *error);

#endif
