/* Requests of SIBR's network viewers. */
#include "viewer/sibr_request.h"

#include "io/json.h"
#include "io/orthonormal.h"
#include "math/camera.h"
#include "viewer/message.h"

#include <math.h>

#define FAIL(what) splat_fail(error, SPLAT_ERROR_FORMAT, "a request of SIBR's protocol " what)

static bool read_number(const json_t *value, double low, double high, double *out)
{
    if (!json_is_number(value)) return false;
    *out = json_number_value(value);
    return *out >= low && *out <= high; /* not NaN, too */
}

/* Sixteen numbers. */
static bool read_matrix(const json_t *array, double most, double out[16])
{
    if (!json_is_array(array) || json_array_size(array) != 16) return false;
    for (size_t i = 0; i < 16; i++)
        if (!read_number(json_array_get(array, i), -most, most, &out[i])) return false;
    return true;
}

static bool read_side(const json_t *value, int *side)
{
    if (!json_is_integer(value) || json_integer_value(value) < 0 || json_integer_value(value) > SPLAT_VIEWER_SIDE_MAX)
        return false;
    *side = (int)json_integer_value(value);
    return true;
}

/* A matrix by columns whose last row is 0, 0, 0, 1 and whose axes are orthonormal. */
static splat_status read_pose(const double m[16], splat_camera *camera, splat_error *error)
{
    double axes[3][3], rotation[9], translation[3];
    if (fabs(m[3]) > 1e-3 || fabs(m[7]) > 1e-3 || fabs(m[11]) > 1e-3 || fabs(m[15] - 1) > 1e-3)
        return FAIL("has a view_matrix whose last row is not 0, 0, 0, 1");
    for (int c = 0; c < 3; c++)
        for (int r = 0; r < 3; r++) axes[c][r] = m[4 * c + r];
    if (fabs(hypot(hypot(m[0], m[1]), m[2]) - 1) > 1e-2 || !splat_orthonormalize(axes))
        return FAIL("has a view_matrix that is no rotation and translation");
    for (int r = 0; r < 3; r++) {
        const double sign = r == 0 ? 1 : -1; /* y up and z backward become y down and z forward */
        for (int c = 0; c < 3; c++) rotation[3 * r + c] = sign * axes[c][r];
        translation[r] = sign * m[12 + r];
    }
    splat_camera_set_pose(camera, rotation, translation);
    return SPLAT_OK;
}

static splat_status read_camera(const json_t *root, int width, int height, splat_camera *camera, splat_error *error)
{
    double matrix[16], fov_x, fov_y;
    const json_t *projection = json_object_get(root, "view_projection_matrix");
    if ((int64_t)width * height > SPLAT_VIEWER_PIXELS_MAX) return FAIL("wants a picture that is too large");
    if (!read_number(json_object_get(root, "fov_x"), 1e-3, 3.1, &fov_x) ||
        !read_number(json_object_get(root, "fov_y"), 1e-3, 3.1, &fov_y))
        return FAIL("has no fov_x and fov_y from 0.001 to 3.1 radians");
    if (projection && !read_matrix(projection, 1e30, matrix)) return FAIL("has a view_projection_matrix without sense");
    if (!read_matrix(json_object_get(root, "view_matrix"), 1e7, matrix)) return FAIL("has no view_matrix");
    camera->width = width;
    camera->height = height;
    camera->fx = (float)(0.5 * width / tan(0.5 * fov_x));
    camera->fy = (float)(0.5 * height / tan(0.5 * fov_y));
    camera->cx = 0.5f * (float)width;
    camera->cy = 0.5f * (float)height;
    return read_pose(matrix, camera, error);
}

static splat_status read_request(const json_t *root, splat_sibr_request *read, splat_error *error)
{
    int width, height;
    double scaling = 1;
    const json_t *modifier = json_object_get(root, "scaling_modifier"), *train = json_object_get(root, "train");
    if (!json_is_object(root)) return FAIL("is no object");
    if (!read_side(json_object_get(root, "resolution_x"), &width) ||
        !read_side(json_object_get(root, "resolution_y"), &height))
        return FAIL("has no resolution_x and resolution_y from 0 to 4096");
    if (train && !json_is_boolean(train) && !json_is_number(train)) return FAIL("has a train that is no truth");
    if (modifier && !read_number(modifier, 0, 10, &scaling)) return FAIL("has no scaling_modifier from 0 to 10");
    read->trains = !train || json_is_true(train) || (json_is_number(train) && json_number_value(train) != 0);
    read->scaling = (float)fmax(scaling, 1e-3);
    read->has_picture = width > 0 && height > 0;
    return read->has_picture ? read_camera(root, width, height, &read->camera, error) : SPLAT_OK;
}

splat_status splat_sibr_request_parse(const char *text, size_t size, splat_sibr_request *request, splat_error *error)
{
    json_t *root;
    splat_sibr_request read = {0};
    if (size > SPLAT_SIBR_REQUEST_MAX) return FAIL("is too long");
    SPLAT_TRY(splat_json_parse_message("a request of SIBR's protocol", text, size, &root, error));
    splat_status status = read_request(root, &read, error);
    json_decref(root);
    if (status == SPLAT_OK) *request = read;
    return status;
}

size_t splat_sibr_request_length(const uint8_t bytes[4])
{
    const uint32_t length = (uint32_t)bytes[0] | (uint32_t)bytes[1] << 8 | (uint32_t)bytes[2] << 16 |
                            (uint32_t)bytes[3] << 24;
    return length <= SPLAT_SIBR_REQUEST_MAX ? length : 0;
}
