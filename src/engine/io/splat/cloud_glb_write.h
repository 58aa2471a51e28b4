/* The names of KHR_gaussian_splatting (Khronos, ratified), which its reader and its writer share. */
#ifndef SPLAT_IO_CLOUD_GLB_WRITE_H
#define SPLAT_IO_CLOUD_GLB_WRITE_H

#include "io/glb/glb_file.h"
#include "io/splat/formats.h"

#include <stdio.h>

#define SPLAT_GLB_EXTENSION "KHR_gaussian_splatting"
#define SPLAT_GLB_ROTATION SPLAT_GLB_EXTENSION ":ROTATION"
#define SPLAT_GLB_SCALE SPLAT_GLB_EXTENSION ":SCALE"
#define SPLAT_GLB_OPACITY SPLAT_GLB_EXTENSION ":OPACITY"

/* The extension has no mark of antialiased splats: ours is in the extras of the primitive. */
#define SPLAT_GLB_RENDER_MODE "SplatRenderMode"

/* The attribute of coefficient b_k, k = degree^2 + its number in the band: "KHR_gaussian_splatting:SH_DEGREE_1_COEF_0"
 * for 1. */
static inline void splat_glb_harmonic(int k, char name[64])
{
    int degree = 0;
    while ((degree + 1) * (degree + 1) <= k) degree++;
    snprintf(name, 64, SPLAT_GLB_EXTENSION ":SH_DEGREE_%d_COEF_%d", degree, k - degree * degree);
}

/* The row's `write`. */
splat_status splat_glb_splat_write(const char *path, const splat_cloud *cloud, const splat_save_options *options,
                                   splat_error *error);

#endif
