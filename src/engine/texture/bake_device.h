/* The mesh, a view and a band of texels in the memory of the device, and the ops on them. */
#ifndef SPLAT_TEXTURE_BAKE_DEVICE_H
#define SPLAT_TEXTURE_BAKE_DEVICE_H

#include "texture/bake_parts.h"

#define SPLAT_BAKE_BLOCKS 15

/* A zeroed struct is closed. */
typedef struct splat_bake_device {
    splat_backend *backend;
    splat_block blocks[SPLAT_BAKE_BLOCKS];
    splat_texture_points points;        /* device pointers */
    const splat_texture_labels *labels;
} splat_bake_device;

/* Bytes of the device for a texel of a band: face, weights, samples, colour. */
#define SPLAT_BAKE_TEXEL_BYTES (4 + 8 + SPLAT_TEXTURE_SAMPLES * sizeof(splat_texture_sample) + 16)

/* The mesh, with its uvs, and what is known of its faces. Close it in either case. Errors: MEMORY, DEVICE. */
splat_status splat_bake_device_open(splat_bake_device *device, const splat_bake *bake, const splat_atlas *atlas,
                                    splat_error *error);
void splat_bake_device_close(splat_bake_device *device);
/* A new band of texels, of which nothing is known yet. */
splat_status splat_bake_device_band(splat_bake_device *device, size_t n, const uint32_t *faces,
                                    const float (*weights)[2], splat_error *error);
/* Shows a view, whose arrays are host memory, to the band. */
splat_status splat_bake_device_view(splat_bake_device *device, const splat_texture_view *view, splat_error *error);
/* The band's colours in [0, 1], and from how many views: host memory, [n]. */
splat_status splat_bake_device_colors(splat_bake_device *device, float (*rgb)[4], splat_error *error);

#endif
