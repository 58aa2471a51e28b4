/* depth_params.json, as 3DGS's make_depth_scale.py writes it: what takes the values of each depth map to inverse depths
 * of the scene. */
#ifndef SPLAT_IO_DEPTH_PARAMS_H
#define SPLAT_IO_DEPTH_PARAMS_H

#include "base/error.h"

typedef struct splat_depth_param {
    char *name;           /* the photo's, without its ending */
    double scale, offset; /* finite as floats */
} splat_depth_param;

typedef struct splat_depth_params {
    splat_depth_param *items; /* [n], sorted by name (bytes) */
    size_t n;
    double median_scale;      /* median of the scales above 0; 0: none */
} splat_depth_params;

/* {"NAME": {"scale": s, "offset": o}, ...}. Errors: IO, FORMAT with line or name, MEMORY. */
splat_status splat_depth_params_read(const char *path, splat_depth_params *params, splat_error *error);
/* NULL: not in the file. The name is the first `length` bytes. */
const splat_depth_param *splat_depth_params_find(const splat_depth_params *params, const char *name, size_t length);
/* True if the fit of a map is reliable: its scale is between a fifth of the median and five times it. */
bool splat_depth_param_is_reliable(const splat_depth_params *params, const splat_depth_param *param);
void splat_depth_params_free(splat_depth_params *params);

#endif
