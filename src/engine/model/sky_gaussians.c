/* The sky as Gaussians, for programs that know no dome. */
#include "model/dome.h"

#include "base/select.h"
#include "io/dome_file.h"
#include "math/sh.h"
#include "model/files.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define FAR 50.0        /* median distances of the Gaussians from their middle */
#define WIDTH 0.65      /* standard deviation, distances of neighbours */
#define OPACITY 4.6f    /* logit of 0.99 */
#define GOLDEN 2.399963229728653 /* angle from one to the next, radians */

/* The median of each coordinate, and of the distances from there. values: [n]. */
static double find_middle(const splat_cloud *cloud, float *values, double middle[3])
{
    const size_t n = cloud->n;
    for (size_t k = 0; k < 3; k++) {
        for (size_t i = 0; i < n; i++) values[i] = cloud->means[3 * i + k];
        middle[k] = (double)splat_select_float(values, n, n / 2);
    }
    for (size_t i = 0; i < n; i++) {
        double square = 0;
        for (size_t k = 0; k < 3; k++) {
            double d = (double)cloud->means[3 * i + k] - middle[k];
            square += d * d;
        }
        values[i] = (float)sqrt(square);
    }
    return (double)splat_select_float(values, n, n / 2);
}

/* A dome with a radius has the Gaussians on its ball. */
static splat_status place_ball(const splat_cloud *cloud, const splat_dome *dome, double center[3], double *radius,
                               splat_error *error)
{
    for (int k = 0; k < 3; k++) center[k] = (double)dome->center[k];
    *radius = (double)dome->radius;
    if (*radius > 0) return SPLAT_OK;
    float *values = malloc((cloud->n + 1) * sizeof *values);
    if (!values)
        return splat_fail(error, SPLAT_ERROR_MEMORY, "no memory to place a sky around %zu Gaussians", cloud->n);
    *radius = FAR * find_middle(cloud, values, center);
    free(values);
    return SPLAT_OK;
}

/* A copy with room for n more, which are zero. */
static splat_status copy_larger(const splat_model *model, size_t n, splat_cloud *larger, splat_error *error)
{
    splat_cloud cloud;
    SPLAT_TRY(splat_model_download(model, &cloud, error));
    splat_status status = splat_model_make_cloud(model, cloud.n + n, larger, error);
    if (status == SPLAT_OK) {
#define SPLAT_TENSOR(name, ...)                                                                                        \
    memcpy(larger->name, cloud.name,                                                                                   \
           cloud.n * splat_tensor_channels(SPLAT_TENSOR_##name, cloud.sh_degree) * sizeof(float));
#include "math/gaussians.def"
#undef SPLAT_TENSOR
        if (cloud.filter_3d) memcpy(larger->filter_3d, cloud.filter_3d, cloud.n * sizeof(float));
        larger->n = cloud.n; /* so far */
    }
    splat_cloud_free(&cloud);
    return status;
}

/* Fibonacci's sphere: even distances from one to the next. */
static void add(splat_cloud *cloud, size_t n, const splat_dome *dome, const double center[3], double radius)
{
    const float size = (float)log(WIDTH * radius * sqrt(4 * 3.141592653589793 / (double)n));
    for (size_t i = 0; i < n; i++) {
        const size_t at = cloud->n + i;
        const double z = 1 - (2 * (double)i + 1) / (double)n, ring = sqrt(1 - z * z), angle = GOLDEN * (double)i;
        const double d[3] = {ring * cos(angle), ring * sin(angle), z};
        const float direction[3] = {(float)d[0], (float)d[1], (float)d[2]};
        const splat_dome_place place = splat_dome_place_of(direction);
        float rgb[3];
        splat_dome_color(dome->colors, &place, rgb);
        for (size_t k = 0; k < 3; k++) {
            cloud->means[3 * at + k] = (float)(center[k] + radius * d[k]);
            cloud->scales[3 * at + k] = size;
            cloud->sh_dc[3 * at + k] = (rgb[k] - 0.5f) / SPLAT_SH_C0;
        }
        cloud->rotations[4 * at] = 1;
        cloud->opacities[at] = OPACITY;
    }
    cloud->n += n;
}

splat_status splat_model_add_sky(splat_model *model, size_t n, splat_error *error)
{
    splat_cloud cloud;
    splat_dome dome;
    double center[3], radius;
    if (n == 0 || n > 1000000)
        return splat_fail(error, SPLAT_ERROR_ARGUMENT, "a sky has 1 to 1000000 Gaussians, not %zu", n);
    SPLAT_TRY(splat_model_get_dome(model, &dome, error));
    if (!dome.colors)
        return splat_fail(error, SPLAT_ERROR_ARGUMENT, "there is no sky behind this splat: no " SPLAT_DOME_FILE
                          " lies next to it");
    splat_status status = copy_larger(model, n, &cloud, error);
    if (status == SPLAT_OK) {
        status = place_ball(&cloud, &dome, center, &radius, error);
        if (status == SPLAT_OK) add(&cloud, n, &dome, center, radius);
        if (status == SPLAT_OK) status = splat_model_resize(model, (uint32_t)cloud.n, error);
        if (status == SPLAT_OK) status = splat_model_upload(model, &cloud, error);
        if (status == SPLAT_OK) status = splat_backend_synchronize(model->backend, error);
        splat_cloud_free(&cloud);
    }
    free((void *)dome.colors);
    return status;
}
