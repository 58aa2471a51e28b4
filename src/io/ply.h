/* PLY: point clouds and splats, read by property name, written in the order other tools expect. */
#ifndef SPLAT_IO_PLY_H
#define SPLAT_IO_PLY_H

#include "base/error.h"
#include "io/colmap.h"

/* A splat in host memory: plain arrays, malloc'd, as gaussians.def describes them. */
typedef struct splat_ply_gaussians {
    size_t n;
    int sh_degree;
    float *means, *sh_dc, *sh_rest, *opacities, *scales, *rotations; /* sh_rest coefficient-major: [n][k-1][3] */
    float *filter_3d;  /* NULL when the file has none */
    bool tagged_mip;   /* a comment says SplatRenderMode: mip */
    bool tagged_default; /* a comment says SplatRenderMode: default */
} splat_ply_gaussians;

/* binary little-endian, big-endian or ASCII; any scalar types; list properties of other elements are skipped.
 * FORMAT when x y z, f_dc, opacity, scale or rot are missing, when f_rest is not 0, 9, 24 or 45 columns, or when the
 * data ends early. Values that are not finite are kept (renderers skip and count them). */
splat_status splat_ply_read_gaussians(const char *path, splat_ply_gaussians *gaussians, splat_error *error);
/* The same without the arrays: count, SH degree and tags, and whether there is a filter_3D column. */
splat_status splat_ply_read_shape(const char *path, splat_ply_gaussians *shape, bool *has_filter, splat_error *error);
void splat_ply_gaussians_free(splat_ply_gaussians *gaussians);
/* Cuts bands off, or adds bands of zeros; 0 <= sh_degree <= 3. On failure (MEMORY) nothing has changed. */
splat_status splat_ply_gaussians_set_degree(splat_ply_gaussians *gaussians, int sh_degree, splat_error *error);
/* Atomic. Binary little-endian float32: x y z nx ny nz f_dc f_rest (channel-major) opacity scale rot [filter_3D].
 * With fused a filter is baked: scale = ln sqrt(s^2 + f^2), opacity = logit(o c3), no filter_3D, and the comment
 * "SplatRenderMode: mip". A render mode the struct is tagged with is written too, so that it survives a round trip;
 * a splat with neither filter nor tag stays untagged. extra_comment may be NULL; one line. */
splat_status splat_ply_write_gaussians(const char *path, const splat_ply_gaussians *gaussians, bool fused,
                                       const char *extra_comment, splat_error *error);

/* Bakes the 3D filter f into one Gaussian (docs/method.md 4): s~ = sqrt(s^2 + f^2), opacity o c3, c3 = prod s / s~.
 * scales are logarithms, opacity a logit. */
void splat_ply_bake_filter(float scales[3], float *opacity, double f);

/* Points with colours (red green blue, or none: gray 128). FORMAT for coordinates that are not finite. */
splat_status splat_ply_read_points(const char *path, splat_point **points, size_t *n, splat_error *error);
/* x y z nx ny nz float, red green blue uchar; normals may be NULL (zeros). Atomic. */
splat_status splat_ply_write_points(const char *path, const splat_point *points, const float *normals, size_t n,
                                    splat_error *error);

#endif
