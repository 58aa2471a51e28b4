/* Reading the points of a true surface, with their subsets. */
#include "mesh/measure/reference_points.h"

#include "io/ply/ply_table.h"
#include "mesh/files/mesh_io.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* "0 textured 1 plain": values and their names, as they come. What is none is passed over. */
static void read_names(const char *text, splat_reference_points *points)
{
    for (int i = 0; i < SPLAT_MESH_SUBSETS; i++) snprintf(points->names[i], sizeof points->names[i], "%d", i);
    while (text && *text) {
        char *end;
        long value = strtol(text, &end, 10);
        end += strspn(end, " \t");
        size_t n = strcspn(end, " \t");
        if (end == text || n == 0) return;
        if (value >= 0 && value < SPLAT_MESH_SUBSETS && n < SPLAT_MESH_SUBSET_NAME)
            snprintf(points->names[value], sizeof points->names[value], "%.*s", (int)n, end);
        text = end + n + strspn(end + n, " \t");
    }
}

static splat_status read_column(splat_ply_file *file, splat_reference_points *points, splat_error *error)
{
    const splat_ply_element *vertex;
    splat_status status = SPLAT_OK;
    SPLAT_TRY(splat_ply_seek(file, "vertex", &vertex, error));
    int column = splat_ply_find(vertex, "subset");
    if (column < 0 || vertex->n == 0) return SPLAT_OK;
    double *values = calloc(vertex->n_properties, sizeof *values);
    points->subset = malloc((size_t)vertex->n);
    if (!values || !points->subset)
        status = splat_fail(error, SPLAT_ERROR_MEMORY, "no memory for the subsets of %zu points", (size_t)vertex->n);
    for (uint64_t row = 0; row < vertex->n && status == SPLAT_OK; row++) {
        status = splat_ply_next(file, vertex, row, values, error);
        double value = values[column];
        if (status == SPLAT_OK && !(value >= 0 && value < SPLAT_MESH_SUBSETS && value == (uint8_t)value))
            status = splat_fail_at(error, SPLAT_ERROR_FORMAT, file->path, SPLAT_NO_OFFSET,
                                   "point %zu has the subset %g; subsets are whole numbers from 0 to %d", (size_t)row,
                                   value, SPLAT_MESH_SUBSETS - 1);
        if (status == SPLAT_OK) points->subset[row] = (uint8_t)value;
    }
    free(values);
    read_names(file->subsets, points);
    return status;
}

/* By its first line. */
static bool is_ply(const char *path)
{
    char head[3] = "";
    FILE *file = fopen(path, "rb");
    bool found = file && fread(head, 1, 3, file) == 3 && memcmp(head, "ply", 3) == 0;
    if (file) fclose(file);
    return found;
}

splat_status splat_reference_points_read_subsets(const char *path, splat_reference_points *points, splat_error *error)
{
    splat_ply_file file;
    points->subset = NULL;
    if (!is_ply(path)) return SPLAT_OK;
    SPLAT_TRY(splat_ply_open(&file, path, error));
    splat_status status = read_column(&file, points, error);
    splat_ply_close(&file);
    if (status != SPLAT_OK) {
        free(points->subset);
        points->subset = NULL;
    }
    return status;
}

splat_status splat_reference_points_read(const char *path, splat_reference_points *points, splat_error *error)
{
    memset(points, 0, sizeof *points);
    SPLAT_TRY(splat_mesh_read(path, &points->cloud, error));
    splat_status status = SPLAT_OK;
    if (points->cloud.n_faces || !points->cloud.n_vertices)
        status = splat_fail_at(error, SPLAT_ERROR_FORMAT, path, SPLAT_NO_OFFSET,
                               points->cloud.n_faces
                                   ? "a list of points is needed, and this file has faces: it is a `reference`"
                                   : "the file has no points");
    if (status == SPLAT_OK) status = splat_reference_points_read_subsets(path, points, error);
    if (status != SPLAT_OK) splat_reference_points_free(points);
    return status;
}

void splat_reference_points_free(splat_reference_points *points)
{
    splat_mesh_free(&points->cloud);
    free(points->subset);
    memset(points, 0, sizeof *points);
}
