/* Depth and normals of a view as PNG, PFM and JSON. */
#include "io/picture/map_files.h"

#include "io/picture/image_write.h"

#include "base/file.h"
#include "io/json.h"
#include "math/camera.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

splat_status splat_map_png_write(const char *folder, size_t index, const splat_camera *camera, int channels, int bits,
                                 const void *pixels, splat_error *error)
{
    char *path = splat_format("%s/%05zu.png", folder, index);
    if (!path) return splat_fail(error, SPLAT_ERROR_MEMORY, "no memory for a path");
    splat_status status = splat_png_write(path, camera->width, camera->height, channels, bits, pixels, error);
    free(path);
    return status;
}

splat_status splat_map_pfm_write(const char *folder, size_t index, const splat_camera *camera, int channels,
                                 const float *planar, splat_error *error)
{
    char *path = splat_format("%s/%05zu.pfm", folder, index);
    if (!path) return splat_fail(error, SPLAT_ERROR_MEMORY, "no memory for a path");
    splat_status status = splat_pfm_write(path, camera->width, camera->height, channels, planar, error);
    free(path);
    return status;
}

/* Writes the camera and the scale, with which a program makes points of a depth picture. */
static splat_status write_depth_json(const char *folder, size_t index, const char *kind, const char *view,
                                     const splat_camera *c, double scale, splat_error *error)
{
    char *path = splat_format("%s/%05zu.json", folder, index);
    json_t *pose = json_array();
    for (int i = 0; i < 12; i++)
        splat_json_append(&pose, json_real(i % 4 < 3 ? c->rotation[i / 4 * 3 + i % 4] : c->translation[i / 4]));
    json_t *root = json_pack("{s:o, s:s, s:f, s:i, s:i, s:f, s:f, s:f, s:f, s:o}", "view", splat_json_text(view),
                             "depth", kind, "png_scale", scale, "width", c->width, "height", c->height, "fx",
                             (double)c->fx, "fy", (double)c->fy, "cx", (double)c->cx, "cy", (double)c->cy,
                             "world_to_camera", pose);
    char *text = splat_json_print(root, JSON_INDENT(1));
    splat_status status = path && text ? splat_file_write(path, text, strlen(text), error)
                                       : splat_fail(error, SPLAT_ERROR_MEMORY, "no memory for a depth picture's JSON");
    json_decref(root);
    free(text);
    free(path);
    return status;
}

splat_status splat_depth_files_write(const char *folder, size_t index, const char *kind, const char *view,
                                     const splat_camera *camera, const float *depth, void *pixels, splat_error *error)
{
    size_t n = splat_camera_pixels(camera);
    uint16_t *steps = pixels;
    double most = 0;
    for (size_t i = 0; i < n; i++) most = (double)depth[i] > most ? (double)depth[i] : most;
    double scale = most > 0 ? most / 65535 : 1;
    for (size_t i = 0; i < n; i++) {
        double step = floor((double)depth[i] / scale + 0.5);
        steps[i] = depth[i] > 0 ? (uint16_t)(step < 1 ? 1 : step) : 0;
    }
    SPLAT_TRY(splat_map_png_write(folder, index, camera, 1, 16, pixels, error));
    SPLAT_TRY(splat_map_pfm_write(folder, index, camera, 1, depth, error));
    return write_depth_json(folder, index, kind, view, camera, scale, error);
}

splat_status splat_normal_files_write(const char *folder, size_t index, const splat_camera *camera,
                                      const float *normal, void *pixels, splat_error *error)
{
    size_t n = splat_camera_pixels(camera);
    uint8_t *rgb = pixels;
    for (size_t i = 0; i < n; i++)
        for (size_t k = 0; k < 3; k++) rgb[3 * i + k] = (uint8_t)floorf(127.5f * (normal[k * n + i] + 1.0f) + 0.5f);
    SPLAT_TRY(splat_map_png_write(folder, index, camera, 3, 8, rgb, error));
    return splat_map_pfm_write(folder, index, camera, 3, normal, error);
}
