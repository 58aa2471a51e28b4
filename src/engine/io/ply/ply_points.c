/* Point clouds as PLY: positions and colours in; with normals out. */
#include "io/ply/ply_points.h"

#include "base/checked.h"
#include "base/file.h"
#include "base/reader.h" /* refuses big-endian hosts: floats are written as they stand in memory */
#include "io/ply/ply_table.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* A colour channel as 8 bits: 16-bit integers over their range, floats as [0,1]. */
static uint8_t color_byte(double value, splat_ply_type type)
{
    if (type == SPLAT_PLY_FLOAT32 || type == SPLAT_PLY_FLOAT64) value *= 255.0;
    if (type == SPLAT_PLY_UINT16) value /= 257.0;
    if (!(value > 0.0)) return 0; /* NaN too */
    return value >= 255.0 ? 255 : (uint8_t)(value + 0.5);
}

static splat_status read_point_rows(splat_ply_file *file, const splat_ply_element *vertex, const int position[3],
                                    const int color[3], const double origin[3], splat_point *points, double *values,
                                    splat_error *error)
{
    for (size_t row = 0; row < vertex->n; row++) {
        size_t offset = file->position;
        uint64_t line = file->line;
        SPLAT_TRY(splat_ply_next(file, vertex, row, values, error));
        for (int c = 0; c < 3; c++) {
            float coordinate = (float)(values[position[c]] - origin[c]);
            if (!isfinite(coordinate) && file->encoding == SPLAT_PLY_ASCII)
                return splat_fail_line(error, SPLAT_ERROR_FORMAT, file->path, line,
                                       "coordinate %c of point %zu is not finite", "xyz"[c], row);
            if (!isfinite(coordinate))
                return splat_fail_at(error, SPLAT_ERROR_FORMAT, file->path, offset,
                                     "coordinate %c of point %zu is not finite", "xyz"[c], row);
            points[row].position[c] = coordinate;
            points[row].color[c] =
                color[c] < 0 ? 128 : color_byte(values[color[c]], vertex->properties[color[c]].type);
        }
    }
    return SPLAT_OK;
}

static splat_status read_points(splat_ply_file *file, const double origin[3], splat_point **points, size_t *n,
                                splat_error *error)
{
    static const char *const color_names[3] = {"red", "green", "blue"};
    const splat_ply_element *vertex;
    int position[3], color[3];
    size_t bytes;
    SPLAT_TRY(splat_ply_seek(file, "vertex", &vertex, error));
    SPLAT_TRY(splat_ply_require_position(file, vertex, position, error));
    bool has_color = false;
    for (int c = 0; c < 3; c++) {
        color[c] = splat_ply_find(vertex, color_names[c]);
        has_color = has_color || color[c] >= 0;
    }
    for (int c = 0; c < 3 && has_color; c++)
        SPLAT_TRY(splat_ply_require(file, vertex, color_names[c], &color[c], error));
    double *values = calloc(vertex->n_properties, sizeof *values);
    bool fits = splat_size_mul((size_t)vertex->n, sizeof **points, &bytes);
    *points = fits ? malloc(bytes ? bytes : 1) : NULL;
    splat_status status;
    if (!values || !*points)
        status = splat_fail_at(error, SPLAT_ERROR_MEMORY, file->path, SPLAT_NO_OFFSET,
                               "no memory for the %" PRIu64 " points of this file", vertex->n);
    else
        status = read_point_rows(file, vertex, position, color, origin, *points, values, error);
    *n = (size_t)vertex->n;
    free(values);
    return status;
}

splat_status splat_ply_read_points(const char *path, splat_point **points, size_t *n, splat_error *error)
{
    return splat_ply_read_points_from(path, (double[3]){0, 0, 0}, points, n, error);
}

splat_status splat_ply_read_points_from(const char *path, const double origin[3], splat_point **points, size_t *n,
                                        splat_error *error)
{
    splat_ply_file file;
    *points = NULL;
    *n = 0;
    SPLAT_TRY(splat_ply_open(&file, path, error));
    splat_status status = read_points(&file, origin, points, n, error);
    splat_ply_close(&file);
    if (status != SPLAT_OK) {
        free(*points);
        *points = NULL;
        *n = 0;
    }
    return status;
}

splat_status splat_ply_write_points(const char *path, const splat_point *points, const float *normals, size_t n,
                                    splat_error *error)
{
    splat_save save;
    SPLAT_TRY(splat_save_open(&save, path, error));
    fprintf(save.stream, "ply\nformat binary_little_endian 1.0\nelement vertex %zu\n"
                         "property float x\nproperty float y\nproperty float z\n"
                         "property float nx\nproperty float ny\nproperty float nz\n"
                         "property uchar red\nproperty uchar green\nproperty uchar blue\nend_header\n", n);
    for (size_t i = 0; i < n && !ferror(save.stream); i++) {
        static const float no_normal[3];
        uint8_t row[27];
        memcpy(row, points[i].position, 12);
        memcpy(row + 12, normals ? normals + 3 * i : no_normal, 12);
        memcpy(row + 24, points[i].color, 3);
        fwrite(row, 1, sizeof row, save.stream);
    }
    return splat_save_commit(&save, error);
}
