/* Files of depth, normals and other maps of a view: folder/%05d.{png,pfm,json}. docs/files.md describes them. */
#ifndef SPLAT_IO_MAP_FILES_H
#define SPLAT_IO_MAP_FILES_H

#include "base/error.h"

/* Maps are [height][width] of the camera; all files are written atomically. Errors: IO, MEMORY. */

/* channels and bits as splat_png_write has them. */
splat_status splat_map_png_write(const char *folder, size_t index, const splat_camera *camera, int channels, int bits,
                                 const void *pixels, splat_error *error);
/* planar: [channels][height][width]. */
splat_status splat_map_pfm_write(const char *folder, size_t index, const splat_camera *camera, int channels,
                                 const float *planar, splat_error *error);
/* PNG of 16 bits (65535 is the picture's largest depth, 0 is no depth: 0 or less), PFM, and a JSON with what a program
 * needs to make points of it; `kind` and `view`, the name of the photo, go into that. pixels: room for 2 bytes a
 * pixel. Depth must be finite. */
splat_status splat_depth_files_write(const char *folder, size_t index, const char *kind, const char *view,
                                     const splat_camera *camera, const float *depth, void *pixels, splat_error *error);
/* PNG of 8-bit RGB, (n + 1) / 2, and PFM. normal: [3][height][width], in [-1, 1]; pixels: room for 3 bytes a pixel. */
splat_status splat_normal_files_write(const char *folder, size_t index, const splat_camera *camera,
                                      const float *normal, void *pixels, splat_error *error);

#endif
