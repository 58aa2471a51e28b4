/* transforms.json as Nerfstudio and instant-ngp read it. */
#ifndef SPLAT_IO_TRANSFORMS_WRITE_H
#define SPLAT_IO_TRANSFORMS_WRITE_H

#include "io/transforms.h"

/* Writes a transforms.json, atomically: path, pose, focal lengths, centre and size of each frame;
 * pinhole cameras alone. */
splat_status splat_transforms_write(const char *path, const splat_transforms_frame *frames, size_t n,
                                    splat_error *error);

#endif
