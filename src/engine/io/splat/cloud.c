/* Making, freeing and changing a splat in host memory. */
#include "io/splat/cloud.h"

#include "base/checked.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* [n][channels] zeros; never NULL on success, so that "no array" stays distinguishable. */
static bool make_array(float **array, size_t n, size_t channels)
{
    size_t bytes;
    if (!splat_size_mul(n, channels * sizeof **array, &bytes)) return false;
    *array = calloc(bytes ? bytes : 1, 1);
    return *array != NULL;
}

splat_status splat_cloud_make(splat_cloud *cloud, size_t n, int sh_degree, bool has_filter, splat_error *error)
{
    memset(cloud, 0, sizeof *cloud);
    if (sh_degree < 0 || sh_degree > SPLAT_MAX_SH_DEGREE)
        return splat_fail(error, SPLAT_ERROR_ARGUMENT, "SH degree %d is not in 0 to %d", sh_degree,
                          SPLAT_MAX_SH_DEGREE);
    bool made = !has_filter || make_array(&cloud->filter_3d, n, 1);
#define SPLAT_TENSOR(name, ...)                                                                                   \
    made = made && make_array(&cloud->name, n, splat_tensor_channels(SPLAT_TENSOR_##name, sh_degree));
#include "math/gaussians.def"
#undef SPLAT_TENSOR
    if (!made) {
        splat_cloud_free(cloud);
        return splat_fail(error, SPLAT_ERROR_MEMORY, "no memory for a splat of %zu Gaussians", n);
    }
    cloud->n = n;
    cloud->sh_degree = sh_degree;
    return SPLAT_OK;
}

void splat_cloud_free(splat_cloud *cloud)
{
#define SPLAT_TENSOR(name, ...) free(cloud->name);
#include "math/gaussians.def"
#undef SPLAT_TENSOR
    free(cloud->filter_3d);
    memset(cloud, 0, sizeof *cloud);
}

size_t splat_cloud_bytes(size_t n, int sh_degree, bool has_filter)
{
    size_t floats = has_filter ? 1 : 0;
    for (int i = 0; i < SPLAT_N_TENSORS; i++) floats += splat_tensor_channels(i, sh_degree);
    return n * floats * sizeof(float);
}

splat_status splat_cloud_set_degree(splat_cloud *cloud, int sh_degree, splat_error *error)
{
    size_t from = splat_sh_rest_floats(cloud->sh_degree), to = splat_sh_rest_floats(sh_degree);
    size_t kept = from < to ? from : to;
    float *rest;
    if (from == to) return SPLAT_OK;
    if (!make_array(&rest, cloud->n, to))
        return splat_fail(error, SPLAT_ERROR_MEMORY, "no memory for the SH of %zu Gaussians", cloud->n);
    for (size_t i = 0; i < cloud->n && kept; i++)
        memcpy(rest + i * to, cloud->sh_rest + i * from, kept * sizeof *rest);
    free(cloud->sh_rest);
    cloud->sh_rest = rest;
    cloud->sh_degree = sh_degree;
    return SPLAT_OK;
}

/* ---------------------------------------------------------------- the 3D filter */

/* The largest |logit| of a baked opacity: sigmoid is 0 or 1 far before. */
static const double max_logit = 100.0;

/* In logarithms, so that neither tiny scales nor opacities near 0 and 1 lose digits:
 * logit(o c3) = ln c3 - ln(1 + e^-logit(o) - c3). */
void splat_gaussian_bake_filter(float scales[3], float *opacity, double f)
{
    double ln_c3 = 0.0;
    if (f == 0.0) return;
    f = fabs(f); /* it enters as f^2 */
    for (int c = 0; c < 3; c++) {
        double ln_s = (double)scales[c], s = exp(ln_s);
        double ln_growth = s > f ? 0.5 * log1p((f / s) * (f / s)) : log(f) - ln_s + 0.5 * log1p((s / f) * (s / f));
        ln_c3 -= ln_growth;
        scales[c] = (float)(ln_s + ln_growth);
    }
    double logit = ln_c3 - log(exp(-(double)*opacity) - expm1(ln_c3));
    if (logit > max_logit) logit = max_logit; /* o c3 = 1 and 0; NaN stays NaN */
    if (logit < -max_logit) logit = -max_logit;
    *opacity = (float)logit;
}

void splat_cloud_bake_filter(splat_cloud *cloud)
{
    if (!cloud->filter_3d) return;
    for (size_t i = 0; i < cloud->n; i++)
        splat_gaussian_bake_filter(cloud->scales + 3 * i, cloud->opacities + i, (double)cloud->filter_3d[i]);
    free(cloud->filter_3d);
    cloud->filter_3d = NULL;
    if (cloud->render_mode == SPLAT_RENDER_AUTO) cloud->render_mode = SPLAT_RENDER_MIP;
}
