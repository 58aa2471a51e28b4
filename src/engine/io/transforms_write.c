/* transforms.json as Nerfstudio and instant-ngp read it: poses from camera to world, x right, y up, z backward. */
#include "io/transforms_write.h"

#include "base/file.h"
#include "io/json.h"
#include "io/transforms.h"

#include <stdlib.h>
#include <string.h>

/* The inverse of a rigid world-to-camera pose, with the camera's y and z turned around. */
static json_t *pose_json(const double w[12])
{
    json_t *rows = json_array();
    for (int i = 0; i < 3; i++) {
        double center = -(w[i] * w[3] + w[4 + i] * w[7] + w[8 + i] * w[11]);
        json_array_append_new(rows, json_pack("[f,f,f,f]", w[i], -w[4 + i], -w[8 + i], center));
    }
    json_array_append_new(rows, json_pack("[f,f,f,f]", 0.0, 0.0, 0.0, 1.0));
    if (json_array_size(rows) == 4) return rows;
    json_decref(rows);
    return NULL;
}

splat_status splat_transforms_write(const char *path, const splat_transforms_frame *frames, size_t n,
                                    splat_error *error)
{
    json_t *list = json_array(), *root = json_object();
    bool good = json_object_set_new(root, "camera_model", json_string("PINHOLE")) == 0;
    for (size_t i = 0; i < n && good; i++) {
        const splat_transforms_frame *f = &frames[i];
        good = json_array_append_new(list, json_pack("{s:s,s:i,s:i,s:f,s:f,s:f,s:f,s:o}", "file_path", f->path, "w",
                                                     f->width, "h", f->height, "fl_x", f->fx, "fl_y", f->fy, "cx",
                                                     f->cx, "cy", f->cy, "transform_matrix",
                                                     pose_json(f->world_to_camera))) == 0;
    }
    good = json_object_set_new(root, "frames", list) == 0 && good;
    char *text = good ? splat_json_print(root, JSON_INDENT(1) | JSON_REAL_PRECISION(17)) : NULL;
    splat_status status = text ? splat_file_write(path, text, strlen(text), error)
                               : splat_fail_at(error, SPLAT_ERROR_MEMORY, path, SPLAT_NO_OFFSET,
                                               "no memory for %zu poses", n);
    free(text);
    json_decref(root);
    return status;
}
