/* Point clouds as PLY, read by property name, written in the order other tools expect. */
#ifndef SPLAT_IO_PLY_POINTS_H
#define SPLAT_IO_PLY_POINTS_H

#include "base/error.h"
#include "io/colmap/colmap.h"

/* Points with colours (red green blue, or none: gray 128). FORMAT for coordinates that are not finite. */
splat_status splat_ply_read_points(const char *path, splat_point **points, size_t *n, splat_error *error);
/* The same; `origin` is subtracted from the coordinates before they become floats. */
splat_status splat_ply_read_points_from(const char *path, const double origin[3], splat_point **points, size_t *n,
                                        splat_error *error);
/* x y z nx ny nz float, red green blue uchar; normals may be NULL (zeros). Atomic. */
splat_status splat_ply_write_points(const char *path, const splat_point *points, const float *normals, size_t n,
                                    splat_error *error);

#endif
