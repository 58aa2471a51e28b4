/* PLY meshes, through the table of src/engine/io. */
#include "base/array.h"
#include "base/file.h"
#include "io/ply/ply_table.h"
#include "mesh/files/texture_files.h"

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

/* Data of faces in addition to their vertices. */
typedef struct face_reader {
    splat_ply_file *file;
    splat_mesh *mesh;
    splat_page_reader *pages;
    bool has_uvs;
    int number;           /* the column of the texture's number; -1: none */
    int16_t *face_pages;  /* of the faces so far; NULL: without texture coordinates */
    size_t capacity;
} face_reader;

/* The page of a row, -1 for none. Several rows may ask for it; a picture is read once. */
static splat_status find_page(face_reader *r, const double *values, int16_t *page, splat_error *error)
{
    double number = r->number >= 0 ? values[r->number] : 0.0;
    int found = -1;
    *page = -1;
    if (!(number >= 0.0 && number < (double)r->file->n_textures)) return SPLAT_OK;
    SPLAT_TRY(splat_page_reader_file(r->pages, r->file->textures[(size_t)number], &found, error));
    *page = (int16_t)found;
    return SPLAT_OK;
}

/* The texture coordinates of the newest triangle, of corners 0, k - 1 and k of its polygon, and its page; zeros and -1
 * where the polygon has none. */
static splat_status add_uvs(face_reader *r, size_t k, bool has_uvs, int16_t page, splat_error *error)
{
    const size_t corners[3] = {0, k - 1, k};
    size_t face = r->mesh->n_faces - 1;
    const splat_ply_kept *uvs = &r->file->kept[1];
    int16_t *grown = splat_array_grow(r->face_pages, &r->capacity, face, sizeof *grown);
    if (!grown) return splat_fail(error, SPLAT_ERROR_MEMORY, "no memory for the texture of a PLY file");
    r->face_pages = grown;
    grown[face] = page;
    for (size_t i = 0; has_uvs && i < 3; i++) {
        double u = uvs->values[2 * corners[i]], v = 1.0 - uvs->values[2 * corners[i] + 1];
        r->mesh->uvs[6 * face + 2 * i] = isfinite((float)u) ? (float)u : 0.0f;
        r->mesh->uvs[6 * face + 2 * i + 1] = isfinite((float)v) ? (float)v : 0.0f;
    }
    return SPLAT_OK;
}

/* The kept list as a fan of triangles. */
static splat_status add_polygon(face_reader *r, const double *values, uint64_t row, splat_error *error)
{
    const splat_ply_kept *corners = &r->file->kept[0];
    splat_mesh *mesh = r->mesh;
    int16_t page = -1;
    if (corners->n < 3 || corners->n > SPLAT_PLY_LIST_MAX)
        return bad_row(r->file, "of element face has fewer than 3 or more than 255 corners", row, error);
    for (size_t k = 0; k < corners->n; k++) {
        double index = corners->values[k];
        if (!(index >= 0.0 && index < (double)mesh->n_vertices) || index != floor(index))
            return bad_row(r->file, "of element face names a vertex that does not exist", row, error);
    }
    /* polygons of more corners than the list of coordinates can hold, or of another number, have no picture */
    bool has_uvs = r->has_uvs && r->file->kept[1].n == 2 * corners->n && 2 * corners->n <= SPLAT_PLY_LIST_MAX;
    if (has_uvs) SPLAT_TRY(find_page(r, values, &page, error));
    for (size_t k = 2; k < corners->n; k++) {
        SPLAT_TRY(splat_mesh_add_face(mesh, (uint32_t)corners->values[0], (uint32_t)corners->values[k - 1],
                                      (uint32_t)corners->values[k], error));
        if (r->has_uvs) SPLAT_TRY(add_uvs(r, k, has_uvs, page, error));
    }
    return SPLAT_OK;
}

static splat_status read_faces(splat_ply_file *file, splat_mesh *mesh, splat_page_reader *pages, splat_error *error)
{
    const splat_ply_element *element;
    splat_status status = SPLAT_OK;
    face_reader r = {.file = file, .mesh = mesh, .pages = pages};
    if (!splat_ply_has(file, "face")) return SPLAT_OK;
    SPLAT_TRY(splat_ply_seek(file, "face", &element, error));
    if (element->n == 0) return SPLAT_OK;
    file->kept[0].property = splat_ply_find_list(element, "vertex_indices");
    if (!file->kept[0].property) file->kept[0].property = splat_ply_find_list(element, "vertex_index");
    if (!file->kept[0].property)
        return splat_fail_at(error, SPLAT_ERROR_FORMAT, file->path, SPLAT_NO_OFFSET,
                             "element face of the PLY file has no list called vertex_indices or vertex_index");
    file->kept[1].property = splat_ply_find_list(element, "texcoord");
    r.has_uvs = file->kept[1].property != NULL;
    r.number = splat_ply_find(element, "texnumber");
    if (r.has_uvs) SPLAT_TRY(splat_mesh_require_uvs(mesh, error));
    for (size_t i = 0; r.has_uvs && i < file->n_textures; i++) { /* in the order of the file */
        int page;
        SPLAT_TRY(splat_page_reader_file(pages, file->textures[i], &page, error));
    }
    double *values = calloc(element->n_properties, sizeof *values);
    if (!values) return splat_fail(error, SPLAT_ERROR_MEMORY, "no memory for a row of a PLY file");
    for (uint64_t row = 0; row < element->n && status == SPLAT_OK; row++) {
        status = splat_ply_next(file, element, row, values, error);
        if (status == SPLAT_OK) status = add_polygon(&r, values, row, error);
    }
    if (status == SPLAT_OK && r.has_uvs) status = splat_page_reader_finish(pages, r.face_pages, false, error);
    free(r.face_pages);
    free(values);
    return status;
}

static splat_status read_ply(const char *path, splat_mesh *mesh, splat_error *error)
{
    splat_ply_file file;
    splat_page_reader pages;
    memset(mesh, 0, sizeof *mesh);
    splat_page_reader_init(&pages, mesh, path);
    SPLAT_TRY(splat_ply_open(&file, path, error));
    splat_status status = read_vertices(&file, mesh, error);
    if (status == SPLAT_OK) status = read_faces(&file, mesh, &pages, error);
    splat_page_reader_free(&pages);
    splat_ply_close(&file);
    if (status != SPLAT_OK) splat_mesh_free(mesh);
    return status;
}

static void write_header(FILE *stream, const splat_mesh *mesh, bool has_colors, const splat_page_saves *pages)
{
    fprintf(stream, "ply\nformat binary_little_endian 1.0\n");
    for (size_t i = 0; i < pages->n; i++) fprintf(stream, "comment TextureFile %s\n", pages->names[i]);
    fprintf(stream, "element vertex %zu\nproperty float x\nproperty float y\nproperty float z\n", mesh->n_vertices);
    if (mesh->normals) fprintf(stream, "property float nx\nproperty float ny\nproperty float nz\n");
    if (has_colors)
        fprintf(stream, "property uchar red\nproperty uchar green\nproperty uchar blue\nproperty uchar alpha\n");
    fprintf(stream, "element face %zu\nproperty list uchar int vertex_indices\n", mesh->n_faces);
    if (mesh->uvs) fprintf(stream, "property list uchar float texcoord\n");
    if (pages->n > 1) fprintf(stream, "property int texnumber\n");
    fprintf(stream, "end_header\n");
}

/* Texture coordinates count v upward, as MeshLab's; several pages have numbers. */
static void write_rows(FILE *stream, const splat_mesh *mesh, bool has_colors, size_t n_pages)
{
    size_t row_size = 12 + (mesh->normals ? 12u : 0u) + (has_colors ? 4u : 0u);
    for (size_t i = 0; i < mesh->n_vertices && !ferror(stream); i++) {
        uint8_t row[28], *end = row + 12;
        memcpy(row, mesh->vertices + 3 * i, 12);
        if (mesh->normals) memcpy(end, mesh->normals + 3 * i, 12), end += 12;
        if (has_colors) memcpy(end, mesh->colors + 4 * i, 4);
        fwrite(row, row_size, 1, stream);
    }
    for (size_t i = 0; i < mesh->n_faces && !ferror(stream); i++) {
        uint8_t row[13 + 25 + 4] = {3};
        size_t size = 13;
        memcpy(row + 1, mesh->faces + 3 * i, 12);
        if (mesh->uvs) {
            float uvs[6];
            for (size_t k = 0; k < 6; k++) uvs[k] = k % 2 ? 1.0f - mesh->uvs[6 * i + k] : mesh->uvs[6 * i + k];
            row[size] = 6;
            memcpy(row + size + 1, uvs, 24);
            size += 25;
        }
        if (n_pages > 1) {
            int32_t number = mesh->face_pages ? mesh->face_pages[i] : 0;
            memcpy(row + size, &number, 4);
            size += 4;
        }
        fwrite(row, size, 1, stream);
    }
}

static splat_status write_ply(const char *path, const splat_mesh *mesh, const splat_mesh_write_options *options,
                              splat_error *error)
{
    splat_save save = {.descriptor = -1};
    splat_page_saves pages;
    bool has_colors = mesh->colors && mesh->n_pages == 0; /* programs show one of both */
    SPLAT_TRY(splat_page_saves_open(&pages, path, mesh, options, error));
    splat_status status = splat_disk_check(path, mesh->n_vertices * 28 + mesh->n_faces * (mesh->uvs ? 42 : 13), error);
    if (status == SPLAT_OK) status = splat_save_open(&save, path, error);
    if (status == SPLAT_OK) {
        write_header(save.stream, mesh, has_colors, &pages);
        write_rows(save.stream, mesh, has_colors, pages.n);
        status = splat_page_saves_commit(&pages, (splat_save *const[]){&save}, 1, error);
    }
    splat_page_saves_close(&pages);
    return status;
}

static bool begins_as_ply(const uint8_t *head, size_t n)
{
    return n >= 3 && memcmp(head, "ply", 3) == 0;
}

const splat_mesh_file_format splat_mesh_format_ply = {
    .name = "PLY",
    .ending = ".ply",
    .description = "vertices with normals and colours, faces, texture; every mesh program and most viewers read it",
    .begins = begins_as_ply,
    .read = read_ply,
    .write = write_ply,
};
