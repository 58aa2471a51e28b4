/* A splat in host memory, as plain data: what files hold, and what a model takes and gives. */
#ifndef SPLAT_IO_CLOUD_H
#define SPLAT_IO_CLOUD_H

#include "base/error.h"
#include "math/gaussians.h"

/* Arrays are malloc'd and owned by the cloud; a zeroed struct is the empty one. */
typedef struct splat_cloud {
    size_t n;
    int sh_degree; /* 0 to SPLAT_MAX_SH_DEGREE */
#define SPLAT_TENSOR(name, ...) float *name; /* [n][channels] */
#include "math/gaussians.def"
#undef SPLAT_TENSOR
    float *filter_3d;              /* [n] standard deviation of the 3D filter, world units; NULL: none */
    bool sh_is_half;               /* sh_rest holds 16-bit floats: a model that stores it so loses nothing */
    splat_render_mode render_mode; /* mode that the file names; AUTO: none */
    float kernel_size;             /* kernel of that mode, pixel^2; 0: its default */
} splat_cloud;

/* Opacity of a Gaussian that only keeps its place in the list: a logit far below the least that renderers blend. */
#define SPLAT_HIDDEN_OPACITY (-30.0f)

/* The contents of a file, without its arrays. */
typedef struct splat_cloud_shape {
    size_t n;
    int sh_degree;
    bool has_filter;
    splat_render_mode render_mode; /* as in splat_cloud */
    float kernel_size;
} splat_cloud_shape;

/* n Gaussians of zeros, overwriting *cloud; every array is there (sh_rest of degree 0 is empty, not NULL), filter_3d
 * when has_filter. Errors: ARGUMENT (degree), MEMORY; *cloud is then empty. */
splat_status splat_cloud_make(splat_cloud *cloud, size_t n, int sh_degree, bool has_filter, splat_error *error);
/* Frees the arrays and makes the cloud empty. */
void splat_cloud_free(splat_cloud *cloud);
/* Bytes of the arrays of such a cloud. */
size_t splat_cloud_bytes(size_t n, int sh_degree, bool has_filter);

/* Cuts SH bands off, or adds bands of zeros; 0 <= sh_degree <= SPLAT_MAX_SH_DEGREE. Errors: MEMORY; nothing has changed
 * then. */
splat_status splat_cloud_set_degree(splat_cloud *cloud, int sh_degree, splat_error *error);
/* Bakes the 3D filter into scales and opacities and drops it: the same pictures but for rounding, for readers that know
 * no filter. A cloud with a filter and of no mode is of MIP from then on. */
void splat_cloud_bake_filter(splat_cloud *cloud);
/* The 3D filter f baked into one Gaussian (docs/method.md 4): s~ = sqrt(s^2 + f^2), opacity o c3, c3 = prod s / s~.
 * scales are logarithms, opacity a logit. */
void splat_gaussian_bake_filter(float scales[3], float *opacity, double f);

#endif
