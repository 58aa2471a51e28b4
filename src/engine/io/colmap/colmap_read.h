/* COLMAP models read with suspicion. */
#ifndef SPLAT_IO_COLMAP_READ_H
#define SPLAT_IO_COLMAP_READ_H

#include "io/colmap/colmap.h"

/* Reads cameras (sorted by id) and images (in the file's order) of a folder, .bin before .txt. Every
 * camera model of COLMAP up to 4.1 is read; others fail with UNSUPPORTED. Unknown files (rigs.bin, frames.bin) are
 * ignored. Points are read separately. */
splat_status splat_colmap_read(const char *folder, splat_colmap_model *model, splat_error *error);
/* Returns the number of images that a model's folder claims to have, without reading them; 0 if it is not known. */
uint64_t splat_colmap_count_images(const char *folder);
/* points3D.bin, then .txt; neither present gives n_points = 0. Coordinates must be finite. Tracks are read when
 * model->tracks is set (zeros at first; splat_colmap_tracks_free, also after an error). */
splat_status splat_colmap_read_points(const char *folder, splat_colmap_model *model, splat_error *error);
void splat_colmap_free(splat_colmap_model *model);

#endif
