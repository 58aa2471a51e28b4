/* A splat turned about the origin of its world, and scaled. */
#include "model/transform.h"

#include "math/camera.h"
#include "math/sh_rotation.h"
#include "model/dome.h"
#include "model/files.h"

#include <math.h>
#include <stdlib.h>

/* ---------------------------------------------------------------- the 3D filter */

#define PIECE 65536u /* Gaussians at a time */

static splat_status fuse_piece(splat_model *model, uint32_t first, uint32_t n, float *host, splat_error *error)
{
    const splat_gaussians *g = &model->gaussians;
    float *scales = host, *opacities = host + 3 * (size_t)n, *filter = host + 4 * (size_t)n;
    float *device_scales = g->p.scales + 3 * (size_t)first;
    size_t row = n * sizeof *host;
    SPLAT_TRY(splat_backend_download(model->backend, scales, device_scales, 3 * row, error));
    SPLAT_TRY(splat_backend_download(model->backend, opacities, g->p.opacities + first, row, error));
    SPLAT_TRY(splat_backend_download(model->backend, filter, g->filter_3d + first, row, error));
    for (size_t i = 0; i < n; i++) splat_gaussian_bake_filter(scales + 3 * i, opacities + i, (double)filter[i]);
    SPLAT_TRY(splat_backend_upload(model->backend, device_scales, scales, 3 * row, error));
    SPLAT_TRY(splat_backend_upload(model->backend, g->p.opacities + first, opacities, row, error));
    return splat_backend_synchronize(model->backend, error); /* the piece is written again */
}

splat_status splat_model_fuse_filter(splat_model *model, splat_error *error)
{
    const splat_gaussians *g = &model->gaussians;
    if (!model->has_filter_3d) return SPLAT_OK;
    float *piece = malloc(5 * (size_t)(g->n < PIECE ? g->n : PIECE) * sizeof *piece + 1);
    if (!piece) return splat_fail(error, SPLAT_ERROR_MEMORY, "no memory to fuse the filter of %u Gaussians", g->n);
    splat_status status = SPLAT_OK;
    for (uint32_t first = 0; first < g->n && status == SPLAT_OK; first += PIECE)
        status = fuse_piece(model, first, g->n - first < PIECE ? g->n - first : PIECE, piece, error);
    free(piece);
    if (status != SPLAT_OK) return status;
    model->has_filter_3d = false;
    return splat_backend_zero(model->backend, g->filter_3d, g->n * sizeof *g->filter_3d, error);
}

/* ---------------------------------------------------------------- a turn and a scale */

/* p becomes the product q p: the turn p, then q. */
static void turn_quaternion(const double q[4], float p[4])
{
    double w = (double)p[0], x = (double)p[1], y = (double)p[2], z = (double)p[3];
    p[0] = (float)(q[0] * w - q[1] * x - q[2] * y - q[3] * z);
    p[1] = (float)(q[0] * x + q[1] * w + q[2] * z - q[3] * y);
    p[2] = (float)(q[0] * y - q[1] * z + q[2] * w + q[3] * x);
    p[3] = (float)(q[0] * z + q[1] * y - q[2] * x + q[3] * w);
}

static void turn_cloud(splat_cloud *cloud, const double q[4])
{
    splat_sh_rotation turn;
    double m[9];
    size_t n_rest = splat_sh_rest_floats(cloud->sh_degree);
    splat_quaternion_to_rotation(q, m);
    splat_sh_rotation_make(&turn, m);
    for (size_t i = 0; i < cloud->n; i++) {
        float *p = cloud->means + 3 * i;
        double x = (double)p[0], y = (double)p[1], z = (double)p[2];
        for (int k = 0; k < 3; k++) p[k] = (float)(m[3 * k] * x + m[3 * k + 1] * y + m[3 * k + 2] * z);
        turn_quaternion(q, cloud->rotations + 4 * i);
        splat_sh_rotate(&turn, cloud->sh_degree, cloud->sh_rest + n_rest * i);
    }
}

static void scale_cloud(splat_cloud *cloud, double scale)
{
    double growth = log(scale);
    for (size_t i = 0; i < 3 * cloud->n; i++) {
        cloud->means[i] = (float)((double)cloud->means[i] * scale);
        cloud->scales[i] = (float)((double)cloud->scales[i] + growth);
    }
    for (size_t i = 0; i < cloud->n && cloud->filter_3d; i++)
        cloud->filter_3d[i] = (float)((double)cloud->filter_3d[i] * scale);
}

/* m: of the turn, row-major. A colour moves with its direction. */
static splat_status turn_dome(splat_model *model, const double m[9], double scale, splat_error *error)
{
    splat_dome before, after;
    SPLAT_TRY(splat_model_get_dome(model, &before, error));
    if (!before.colors) return SPLAT_OK;
    float *colors = malloc(SPLAT_DOME_BYTES);
    for (size_t i = 0; i < SPLAT_DOME_NODES && colors; i++) {
        float to[3], from[3];
        splat_dome_node_direction(i, to);
        for (int k = 0; k < 3; k++)
            from[k] = (float)m[k] * to[0] + (float)m[3 + k] * to[1] + (float)m[6 + k] * to[2];
        const splat_dome_place place = splat_dome_place_of(from);
        splat_dome_color(before.colors, &place, colors + 3 * i);
    }
    after = (splat_dome){.colors = colors, .radius = (float)scale * before.radius};
    for (int k = 0; k < 3; k++)
        for (int j = 0; j < 3; j++) after.center[k] += (float)(scale * m[3 * k + j]) * before.center[j];
    splat_status status = colors ? splat_model_set_dome(model, &after, error)
                                 : splat_fail(error, SPLAT_ERROR_MEMORY, "no memory for the colours of a sky");
    free(colors);
    free((void *)before.colors);
    return status;
}

void splat_camera_transform(splat_camera *camera, const double rotation[4], double scale)
{
    double turn[9], axes[9], translation[3];
    splat_quaternion_to_rotation(rotation, turn);
    for (int i = 0; i < 3; i++) {
        const float *axis = camera->rotation + 3 * i;
        for (int k = 0; k < 3; k++)
            axes[3 * i + k] = turn[3 * k] * (double)axis[0] + turn[3 * k + 1] * (double)axis[1] +
                              turn[3 * k + 2] * (double)axis[2];
        translation[i] = scale * (double)camera->translation[i];
    }
    splat_camera_set_pose(camera, axes, translation);
}

splat_status splat_model_transform(splat_model *model, const double rotation[4], double scale, splat_error *error)
{
    splat_cloud cloud;
    double norm = 0, q[4], m[9];
    for (int k = 0; k < 4; k++) norm += rotation[k] * rotation[k];
    if (!(norm > 0) || !isfinite(norm))
        return splat_fail(error, SPLAT_ERROR_ARGUMENT, "the quaternion of a rotation must be finite and not 0");
    if (!(scale > 0) || !isfinite(scale))
        return splat_fail(error, SPLAT_ERROR_ARGUMENT, "a splat is scaled by a factor above 0, not by %g", scale);
    for (int k = 0; k < 4; k++) q[k] = rotation[k] / sqrt(norm);
    SPLAT_TRY(splat_model_download(model, &cloud, error));
    if (q[1] != 0 || q[2] != 0 || q[3] != 0) turn_cloud(&cloud, q); /* else harmonics keep their last bits */
    if (scale != 1) scale_cloud(&cloud, scale);
    splat_status status = splat_model_upload(model, &cloud, error);
    splat_cloud_free(&cloud);
    splat_quaternion_to_rotation(q, m);
    return status == SPLAT_OK ? turn_dome(model, m, scale, error) : status;
}
