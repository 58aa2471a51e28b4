/* PLY meshes, through the table of src/io. */
#include "base/file.h"
#include "io/ply/ply_table.h"
#include "mesh/files/mesh_io.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Columns of the file; -1: not there. */
typedef struct vertex_columns {
    int position[3], normal[3], color[4];
    bool has_normals, has_colors;
    double color_scale; /* to 0 .. 255 */
} vertex_columns;

static splat_status find_columns(const splat_ply_file *file, const splat_ply_element *element, vertex_columns *columns,
                                 splat_error *error)
{
    static const char *const normals[3] = {"nx", "ny", "nz"}, *const colors[4] = {"red", "green", "blue", "alpha"};
    columns->has_normals = columns->has_colors = true;
    SPLAT_TRY(splat_ply_require_position(file, element, columns->position, error));
    for (int c = 0; c < 3; c++) {
        columns->normal[c] = splat_ply_find(element, normals[c]);
        columns->color[c] = splat_ply_find(element, colors[c]);
        columns->has_normals = columns->has_normals && columns->normal[c] >= 0;
        columns->has_colors = columns->has_colors && columns->color[c] >= 0;
    }
    columns->color[3] = splat_ply_find(element, colors[3]);
    if (columns->has_colors) { /* floats are 0 .. 1, bytes are 0 .. 255 */
        splat_ply_type type = element->properties[columns->color[0]].type;
        columns->color_scale = type == SPLAT_PLY_FLOAT32 || type == SPLAT_PLY_FLOAT64 ? 255.0 : 1.0;
    }
    return SPLAT_OK;
}

static uint8_t color_byte(double value)
{
    return value >= 255.0 ? 255 : value > 0.0 ? (uint8_t)(value + 0.5) : 0; /* NaN: 0 */
}

static splat_status bad_row(const splat_ply_file *file, const char *what, uint64_t row, splat_error *error)
{
    if (file->encoding == SPLAT_PLY_ASCII)
        return splat_fail_line(error, SPLAT_ERROR_FORMAT, file->path, file->line - 1, "row %" PRIu64 " %s",
                               row, what);
    return splat_fail_at(error, SPLAT_ERROR_FORMAT, file->path, file->position, "row %" PRIu64 " %s", row, what);
}

static splat_status read_vertices(splat_ply_file *file, splat_mesh *mesh, splat_error *error)
{
    const splat_ply_element *element;
    vertex_columns columns;
    splat_status status = SPLAT_OK;
    SPLAT_TRY(splat_ply_seek(file, "vertex", &element, error));
    SPLAT_TRY(find_columns(file, element, &columns, error));
    SPLAT_TRY(splat_mesh_reserve(mesh, (size_t)element->n, 0, error)); /* seek has checked the count */
    if (columns.has_normals) SPLAT_TRY(splat_mesh_require_normals(mesh, error));
    if (columns.has_colors) SPLAT_TRY(splat_mesh_require_colors(mesh, error));
    double *values = calloc(element->n_properties, sizeof *values);
    if (!values) return splat_fail(error, SPLAT_ERROR_MEMORY, "no memory for a row of a PLY file");
    for (uint64_t row = 0; row < element->n; row++) {
        float position[3];
        uint8_t color[4] = {255, 255, 255, 255};
        SPLAT_TRY_GOTO(status, done, splat_ply_next(file, element, row, values, error));
        for (int c = 0; c < 3; c++) position[c] = (float)values[columns.position[c]];
        if (!isfinite(position[0]) || !isfinite(position[1]) || !isfinite(position[2])) {
            status = bad_row(file, "of element vertex has a coordinate that is not finite", row, error);
            goto done;
        }
        for (int c = 0; columns.has_colors && c < 4; c++)
            if (columns.color[c] >= 0) color[c] = color_byte(columns.color_scale * values[columns.color[c]]);
        SPLAT_TRY_GOTO(status, done, splat_mesh_add_vertex(mesh, position, color, error));
        for (size_t c = 0; columns.has_normals && c < 3; c++)
            mesh->normals[3 * row + c] = (float)values[columns.normal[c]];
    }
done:
    free(values);
    return status;
}

/* The kept list as a fan of triangles. */
static splat_status add_polygon(splat_ply_file *file, splat_mesh *mesh, uint64_t row, splat_error *error)
{
    if (file->n_list < 3 || file->n_list > SPLAT_PLY_LIST_MAX)
        return bad_row(file, "of element face has fewer than 3 or more than 255 corners", row, error);
    for (size_t k = 0; k < file->n_list; k++) {
        double index = file->list[k];
        if (!(index >= 0.0 && index < (double)mesh->n_vertices) || index != floor(index))
            return bad_row(file, "of element face names a vertex that does not exist", row, error);
    }
    for (size_t k = 2; k < file->n_list; k++)
        SPLAT_TRY(splat_mesh_add_face(mesh, (uint32_t)file->list[0], (uint32_t)file->list[k - 1],
                                      (uint32_t)file->list[k], error));
    return SPLAT_OK;
}

static splat_status read_faces(splat_ply_file *file, splat_mesh *mesh, splat_error *error)
{
    const splat_ply_element *element;
    splat_status status = SPLAT_OK;
    if (!splat_ply_has(file, "face")) return SPLAT_OK;
    SPLAT_TRY(splat_ply_seek(file, "face", &element, error));
    if (element->n == 0) return SPLAT_OK;
    file->kept = splat_ply_find_list(element, "vertex_indices");
    if (!file->kept) file->kept = splat_ply_find_list(element, "vertex_index");
    if (!file->kept)
        return splat_fail_at(error, SPLAT_ERROR_FORMAT, file->path, SPLAT_NO_OFFSET,
                             "element face of the PLY file has no list called vertex_indices or vertex_index");
    double *values = calloc(element->n_properties, sizeof *values);
    if (!values) return splat_fail(error, SPLAT_ERROR_MEMORY, "no memory for a row of a PLY file");
    for (uint64_t row = 0; row < element->n && status == SPLAT_OK; row++) {
        status = splat_ply_next(file, element, row, values, error);
        if (status == SPLAT_OK) status = add_polygon(file, mesh, row, error);
    }
    free(values);
    return status;
}

static splat_status read_ply(const char *path, splat_mesh *mesh, splat_error *error)
{
    splat_ply_file file;
    memset(mesh, 0, sizeof *mesh);
    SPLAT_TRY(splat_ply_open(&file, path, error));
    splat_status status = read_vertices(&file, mesh, error);
    if (status == SPLAT_OK) status = read_faces(&file, mesh, error);
    splat_ply_close(&file);
    if (status != SPLAT_OK) splat_mesh_free(mesh);
    return status;
}

static splat_status write_ply(const char *path, const splat_mesh *mesh, splat_error *error)
{
    splat_save save;
    size_t row_size = 12 + (mesh->normals ? 12u : 0u) + (mesh->colors ? 4u : 0u);
    SPLAT_TRY(splat_disk_check(path, mesh->n_vertices * row_size + 13 * mesh->n_faces, error));
    SPLAT_TRY(splat_save_open(&save, path, error));
    fprintf(save.stream, "ply\nformat binary_little_endian 1.0\nelement vertex %zu\n"
                         "property float x\nproperty float y\nproperty float z\n", mesh->n_vertices);
    if (mesh->normals) fprintf(save.stream, "property float nx\nproperty float ny\nproperty float nz\n");
    if (mesh->colors)
        fprintf(save.stream, "property uchar red\nproperty uchar green\nproperty uchar blue\nproperty uchar alpha\n");
    fprintf(save.stream, "element face %zu\nproperty list uchar int vertex_indices\nend_header\n", mesh->n_faces);
    for (size_t i = 0; i < mesh->n_vertices && !ferror(save.stream); i++) {
        uint8_t row[28], *end = row + 12;
        memcpy(row, mesh->vertices + 3 * i, 12);
        if (mesh->normals) memcpy(end, mesh->normals + 3 * i, 12), end += 12;
        if (mesh->colors) memcpy(end, mesh->colors + 4 * i, 4);
        fwrite(row, row_size, 1, save.stream);
    }
    for (size_t i = 0; i < mesh->n_faces && !ferror(save.stream); i++) {
        uint8_t row[13] = {3};
        memcpy(row + 1, mesh->faces + 3 * i, 12);
        fwrite(row, sizeof row, 1, save.stream);
    }
    return splat_save_commit(&save, error);
}

static bool begins_as_ply(const uint8_t *head, size_t n)
{
    return n >= 3 && memcmp(head, "ply", 3) == 0;
}

const splat_mesh_file_format splat_mesh_format_ply = {
    .name = "PLY",
    .ending = ".ply",
    .description = "vertices with normals and colours, faces; every mesh program and most viewers read it",
    .begins = begins_as_ply,
    .read = read_ply,
    .write = write_ply,
};
