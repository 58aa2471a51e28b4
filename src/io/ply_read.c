#include "base/checked.h"
#include "io/ply.h"
#include "io/ply_table.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_REST = 45 };

/* Where a splat's numbers stand in a row. */
typedef struct gaussian_columns {
    int mean[3], dc[3], rest[MAX_REST], opacity, scale[3], rotation[4];
    int filter; /* -1: none */
    int n_rest; /* 0, 9, 24 or 45 */
} gaussian_columns;

static splat_status require_numbered(const splat_ply_file *file, const splat_ply_element *vertex, const char *prefix,
                                     int n, int *columns, splat_error *error)
{
    for (int i = 0; i < n; i++) {
        char name[32];
        snprintf(name, sizeof name, "%s_%d", prefix, i);
        SPLAT_TRY(splat_ply_require(file, vertex, name, &columns[i], error));
    }
    return SPLAT_OK;
}

static splat_status require_position(const splat_ply_file *file, const splat_ply_element *vertex, int columns[3],
                                     splat_error *error)
{
    SPLAT_TRY(splat_ply_require(file, vertex, "x", &columns[0], error));
    SPLAT_TRY(splat_ply_require(file, vertex, "y", &columns[1], error));
    return splat_ply_require(file, vertex, "z", &columns[2], error);
}

static splat_status find_columns(const splat_ply_file *file, const splat_ply_element *vertex, gaussian_columns *columns,
                                 splat_error *error)
{
    if (splat_ply_find(vertex, "packed_position") >= 0)
        return splat_fail_at(error, SPLAT_ERROR_UNSUPPORTED, file->path, SPLAT_NO_OFFSET,
                             "this is a compressed PLY (packed_position): convert it to a plain PLY first");
    columns->n_rest = 0;
    for (size_t i = 0; i < vertex->n_properties; i++)
        if (strncmp(vertex->properties[i].name, "f_rest_", 7) == 0) columns->n_rest++;
    if (columns->n_rest != 0 && columns->n_rest != 9 && columns->n_rest != 24 && columns->n_rest != MAX_REST)
        return splat_fail_at(error, SPLAT_ERROR_FORMAT, file->path, SPLAT_NO_OFFSET,
                             "the PLY file has %d f_rest columns; 0, 9, 24 or 45 (SH degree 0 to 3) are possible",
                             columns->n_rest);
    SPLAT_TRY(require_position(file, vertex, columns->mean, error));
    SPLAT_TRY(require_numbered(file, vertex, "f_dc", 3, columns->dc, error));
    SPLAT_TRY(require_numbered(file, vertex, "f_rest", columns->n_rest, columns->rest, error));
    SPLAT_TRY(splat_ply_require(file, vertex, "opacity", &columns->opacity, error));
    SPLAT_TRY(require_numbered(file, vertex, "scale", 3, columns->scale, error));
    SPLAT_TRY(require_numbered(file, vertex, "rot", 4, columns->rotation, error));
    columns->filter = splat_ply_find(vertex, "filter_3D");
    return SPLAT_OK;
}

/* Room for n x channels floats; never NULL on success, so that "no column" stays distinguishable. */
static bool allocate(float **array, size_t n, size_t channels)
{
    size_t bytes;
    if (!splat_size_mul(n, channels * sizeof **array, &bytes)) return false;
    *array = malloc(bytes ? bytes : 1);
    return *array != NULL;
}

static bool allocate_gaussians(splat_ply_gaussians *gaussians, const gaussian_columns *columns)
{
    size_t n = gaussians->n;
    return allocate(&gaussians->means, n, 3) && allocate(&gaussians->sh_dc, n, 3) &&
           allocate(&gaussians->sh_rest, n, (size_t)columns->n_rest) && allocate(&gaussians->opacities, n, 1) &&
           allocate(&gaussians->scales, n, 3) && allocate(&gaussians->rotations, n, 4) &&
           (columns->filter < 0 || allocate(&gaussians->filter_3d, n, 1));
}

static void store_row(const splat_ply_gaussians *gaussians, const gaussian_columns *columns, size_t row,
                      const double *values)
{
    size_t n_rest = (size_t)columns->n_rest, n_coefficients = n_rest / 3;
    for (size_t c = 0; c < 3; c++) {
        gaussians->means[3 * row + c] = (float)values[columns->mean[c]];
        gaussians->sh_dc[3 * row + c] = (float)values[columns->dc[c]];
        gaussians->scales[3 * row + c] = (float)values[columns->scale[c]];
        for (size_t j = 0; j < n_coefficients; j++) /* channel-major in the file, coefficient-major here */
            gaussians->sh_rest[n_rest * row + 3 * j + c] = (float)values[columns->rest[n_coefficients * c + j]];
    }
    for (size_t c = 0; c < 4; c++) gaussians->rotations[4 * row + c] = (float)values[columns->rotation[c]];
    gaussians->opacities[row] = (float)values[columns->opacity];
    if (columns->filter >= 0) gaussians->filter_3d[row] = (float)values[columns->filter];
}

/* What the header tells: the columns, and everything of the splat but its arrays. */
static splat_status read_shape(splat_ply_file *file, const splat_ply_element **vertex, gaussian_columns *columns,
                               splat_ply_gaussians *gaussians, splat_error *error)
{
    SPLAT_TRY(splat_ply_seek(file, "vertex", vertex, error));
    SPLAT_TRY(find_columns(file, *vertex, columns, error));
    gaussians->n = (size_t)(*vertex)->n; /* at most the bytes of the file: splat_ply_seek has checked */
    gaussians->sh_degree = columns->n_rest == 0 ? 0 : columns->n_rest == 9 ? 1 : columns->n_rest == 24 ? 2 : 3;
    gaussians->tagged_mip = file->tagged_mip;
    gaussians->tagged_default = file->tagged_default;
    return SPLAT_OK;
}

static splat_status read_gaussians(splat_ply_file *file, splat_ply_gaussians *gaussians, splat_error *error)
{
    const splat_ply_element *vertex;
    gaussian_columns columns;
    SPLAT_TRY(read_shape(file, &vertex, &columns, gaussians, error));
    double *values = calloc(vertex->n_properties, sizeof *values);
    if (!values || !allocate_gaussians(gaussians, &columns)) {
        free(values);
        return splat_fail_at(error, SPLAT_ERROR_MEMORY, file->path, SPLAT_NO_OFFSET,
                             "no memory for the %zu Gaussians of this file", gaussians->n);
    }
    splat_status status = SPLAT_OK;
    for (size_t row = 0; row < gaussians->n; row++) {
        SPLAT_TRY_GOTO(status, done, splat_ply_next(file, vertex, row, values, error));
        store_row(gaussians, &columns, row, values);
    }
done:
    free(values);
    return status;
}

splat_status splat_ply_read_gaussians(const char *path, splat_ply_gaussians *gaussians, splat_error *error)
{
    splat_ply_file file;
    memset(gaussians, 0, sizeof *gaussians);
    SPLAT_TRY(splat_ply_open(&file, path, error));
    splat_status status = read_gaussians(&file, gaussians, error);
    splat_ply_close(&file);
    if (status != SPLAT_OK) splat_ply_gaussians_free(gaussians);
    return status;
}

splat_status splat_ply_read_shape(const char *path, splat_ply_gaussians *shape, bool *has_filter, splat_error *error)
{
    splat_ply_file file;
    const splat_ply_element *vertex;
    gaussian_columns columns;
    memset(shape, 0, sizeof *shape);
    SPLAT_TRY(splat_ply_open(&file, path, error));
    splat_status status = read_shape(&file, &vertex, &columns, shape, error);
    *has_filter = status == SPLAT_OK && columns.filter >= 0;
    splat_ply_close(&file);
    return status;
}

void splat_ply_gaussians_free(splat_ply_gaussians *gaussians)
{
    free(gaussians->means);
    free(gaussians->sh_dc);
    free(gaussians->sh_rest);
    free(gaussians->opacities);
    free(gaussians->scales);
    free(gaussians->rotations);
    free(gaussians->filter_3d);
    memset(gaussians, 0, sizeof *gaussians);
}

splat_status splat_ply_gaussians_set_degree(splat_ply_gaussians *g, int sh_degree, splat_error *error)
{
    size_t from = 3 * ((size_t)(g->sh_degree + 1) * (size_t)(g->sh_degree + 1) - 1);
    size_t to = 3 * ((size_t)(sh_degree + 1) * (size_t)(sh_degree + 1) - 1), kept = from < to ? from : to;
    if (from == to) return SPLAT_OK;
    float *rest = calloc(g->n * to + 1, sizeof *rest);
    if (!rest) return splat_fail(error, SPLAT_ERROR_MEMORY, "no memory for the SH of %zu Gaussians", g->n);
    for (size_t i = 0; i < g->n && kept; i++) memcpy(rest + i * to, g->sh_rest + i * from, kept * sizeof *rest);
    free(g->sh_rest);
    g->sh_rest = rest;
    g->sh_degree = sh_degree;
    return SPLAT_OK;
}

/* A colour channel as 8 bits: 16-bit integers over their range, floats as [0,1]. */
static uint8_t color_byte(double value, splat_ply_type type)
{
    if (type == SPLAT_PLY_FLOAT32 || type == SPLAT_PLY_FLOAT64) value *= 255.0;
    if (type == SPLAT_PLY_UINT16) value /= 257.0;
    if (!(value > 0.0)) return 0; /* NaN too */
    return value >= 255.0 ? 255 : (uint8_t)(value + 0.5);
}

static splat_status read_point_rows(splat_ply_file *file, const splat_ply_element *vertex, const int position[3],
                                    const int color[3], splat_point *points, double *values, splat_error *error)
{
    for (size_t row = 0; row < vertex->n; row++) {
        size_t offset = file->position;
        uint64_t line = file->line;
        SPLAT_TRY(splat_ply_next(file, vertex, row, values, error));
        for (int c = 0; c < 3; c++) {
            float coordinate = (float)values[position[c]];
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

static splat_status read_points(splat_ply_file *file, splat_point **points, size_t *n, splat_error *error)
{
    static const char *const color_names[3] = {"red", "green", "blue"};
    const splat_ply_element *vertex;
    int position[3], color[3];
    size_t bytes;
    SPLAT_TRY(splat_ply_seek(file, "vertex", &vertex, error));
    SPLAT_TRY(require_position(file, vertex, position, error));
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
        status = read_point_rows(file, vertex, position, color, *points, values, error);
    *n = (size_t)vertex->n;
    free(values);
    return status;
}

splat_status splat_ply_read_points(const char *path, splat_point **points, size_t *n, splat_error *error)
{
    splat_ply_file file;
    *points = NULL;
    *n = 0;
    SPLAT_TRY(splat_ply_open(&file, path, error));
    splat_status status = read_points(&file, points, n, error);
    splat_ply_close(&file);
    if (status != SPLAT_OK) {
        free(*points);
        *points = NULL;
        *n = 0;
    }
    return status;
}
