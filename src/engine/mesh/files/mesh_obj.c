/* Wavefront OBJ with vertex colours after the coordinates, as most mesh tools read and write them, or with a texture:
 * texture coordinates, and a material for each page in an MTL file next to it. */
#include "base/array.h"
#include "base/c_locale.h"
#include "base/file.h"
#include "io/number.h"
#include "mesh/files/mesh_split.h"
#include "mesh/files/obj_materials.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

typedef struct obj_file {
    const char *path;
    uint64_t line;
    splat_mesh *mesh;
    float (*uvs)[2];   /* lines vt, v downward */
    size_t n_uvs, uv_capacity;
    splat_obj_materials materials;
    uint32_t material; /* of the faces that follow */
    uint32_t *of_face; /* [faces so far]: material, SPLAT_OBJ_NO_MATERIAL for those without texture coordinates */
    size_t face_capacity;
} obj_file;

static splat_status bad(const obj_file *file, const char *what, splat_error *error)
{
    return splat_fail_line(error, SPLAT_ERROR_FORMAT, file->path, file->line, "%s", what);
}

/* v x y z, with a weight or with three colours after it. Reads as many numbers as follow, at most 8. */
static splat_status read_vertex(const obj_file *file, const char *text, splat_error *error)
{
    double values[8];
    size_t n = 0;
    float position[3];
    uint8_t color[4] = {255, 255, 255, 255};
    for (char *end; n < 8; n++, text = end) {
        values[n] = splat_number_parse(text, &end);
        if (end == text) break;
    }
    if (n < 3 || text[strspn(text, " \t\r")] != '\0')
        return bad(file, "a line v needs three coordinates, and may have three colours", error);
    for (int c = 0; c < 3; c++) position[c] = (float)values[c];
    if (!isfinite(position[0]) || !isfinite(position[1]) || !isfinite(position[2]))
        return bad(file, "a coordinate is not finite", error);
    if (n >= 6) {
        SPLAT_TRY(splat_mesh_require_colors(file->mesh, error));
        for (int c = 0; c < 3; c++) {
            double value = 255.0 * values[3 + c];
            color[c] = value >= 255.0 ? 255 : value > 0.0 ? (uint8_t)(value + 0.5) : 0;
        }
    }
    return splat_mesh_add_vertex(file->mesh, position, color, error);
}

/* vt u v: v upward; a missing v is 0. */
static splat_status read_uv(obj_file *file, const char *text, splat_error *error)
{
    char *end;
    double u = splat_number_parse(text, &end), v = 0.0;
    if (end == text) return bad(file, "a line vt needs two coordinates", error);
    v = splat_number_parse(end, &end);
    float(*grown)[2] = splat_array_grow(file->uvs, &file->uv_capacity, file->n_uvs, sizeof *grown);
    if (!grown) return splat_fail(error, SPLAT_ERROR_MEMORY, "no memory for the texture coordinates of an OBJ file");
    file->uvs = grown;
    grown[file->n_uvs][0] = isfinite((float)u) ? (float)u : 0.0f;
    grown[file->n_uvs++][1] = isfinite((float)v) ? (float)(1.0 - v) : 0.0f;
    return SPLAT_OK;
}

/* A number of a corner, from 1, or from -1 for the last one so far. */
static bool read_index(const char *text, char **end, size_t n, size_t *index)
{
    long long number = strtoll(text, end, 10); /* saturates, and is then out of range */
    if (*end == text) return false;
    if (number > 0 && (unsigned long long)number <= n) *index = (size_t)number - 1;
    else if (number < 0 && number >= -(long long)n) *index = (size_t)((long long)n + number);
    else return false;
    return true;
}

typedef struct obj_corner {
    uint32_t vertex;
    size_t uv; /* SIZE_MAX: none */
} obj_corner;

/* "7", "7/1", "7//2" or "7/1/2". Normals are not read, a texture coordinate that does not exist is none. */
static bool read_corner(const obj_file *file, const char *word, obj_corner *corner)
{
    char *end;
    size_t vertex;
    if (!read_index(word, &end, file->mesh->n_vertices, &vertex) || (*end != '\0' && *end != '/')) return false;
    *corner = (obj_corner){(uint32_t)vertex, SIZE_MAX};
    if (*end == '/' && !read_index(end + 1, &end, file->n_uvs, &corner->uv)) corner->uv = SIZE_MAX;
    return true;
}

/* A triangle, its texture coordinates and its material. */
static splat_status add_triangle(obj_file *file, const obj_corner corners[3], splat_error *error)
{
    splat_mesh *mesh = file->mesh;
    size_t face = mesh->n_faces;
    bool has_uvs = corners[0].uv != SIZE_MAX && corners[1].uv != SIZE_MAX && corners[2].uv != SIZE_MAX;
    SPLAT_TRY(splat_mesh_add_face(mesh, corners[0].vertex, corners[1].vertex, corners[2].vertex, error));
    uint32_t *grown = splat_array_grow(file->of_face, &file->face_capacity, face, sizeof *grown);
    if (!grown) return splat_fail(error, SPLAT_ERROR_MEMORY, "no memory for the materials of an OBJ file");
    file->of_face = grown;
    grown[face] = has_uvs ? file->material : SPLAT_OBJ_NO_MATERIAL;
    if (!has_uvs) return SPLAT_OK;
    SPLAT_TRY(splat_mesh_require_uvs(mesh, error));
    for (size_t k = 0; k < 3; k++) memcpy(mesh->uvs + 6 * face + 2 * k, file->uvs[corners[k].uv], 8);
    return SPLAT_OK;
}

static splat_status read_face(obj_file *file, char *text, splat_error *error)
{
    obj_corner corners[3] = {{0, 0}};
    size_t n = 0;
    for (;; n++) {
        text += strspn(text, " \t\r");
        if (!*text) break;
        char *word = text;
        text += strcspn(text, " \t\r");
        if (*text) *text++ = '\0';
        if (n >= 3) corners[1] = corners[2];
        if (!read_corner(file, word, &corners[n < 2 ? n : 2]))
            return bad(file, "a corner of a face names a vertex that does not exist yet", error);
        if (n >= 2) SPLAT_TRY(add_triangle(file, corners, error));
    }
    return n >= 3 ? SPLAT_OK : bad(file, "a face has fewer than three corners", error);
}

/* The text after a keyword and its blanks; NULL: the line begins otherwise. */
static char *after(char *line, const char *keyword)
{
    size_t n = strlen(keyword);
    if (strncmp(line, keyword, n) != 0 || (line[n] != ' ' && line[n] != '\t')) return NULL;
    return line + n + strspn(line + n, " \t");
}

static splat_status read_line(obj_file *file, char *line, splat_error *error)
{
    char *text;
    if ((text = after(line, "v"))) return read_vertex(file, text, error);
    if ((text = after(line, "vt"))) return read_uv(file, text, error);
    if ((text = after(line, "f"))) return read_face(file, text, error);
    if ((text = after(line, "mtllib"))) return splat_obj_materials_library(&file->materials, text, error);
    if ((text = after(line, "usemtl"))) return splat_obj_materials_use(&file->materials, text, &file->material, error);
    return SPLAT_OK;
}

static splat_status read_lines(obj_file *file, char *text, size_t size, splat_error *error)
{
    for (char *stop = text + size, *next; text < stop; text = next) {
        char *end = memchr(text, '\n', (size_t)(stop - text));
        next = end ? end + 1 : stop;
        if (end) *end = '\0';
        file->line++;
        if (memchr(text, '\0', (size_t)(next - text) - (end ? 1 : 0)))
            return bad(file, "the line holds a NUL byte: this is no OBJ file", error);
        SPLAT_TRY(read_line(file, text + strspn(text, " \t"), error));
    }
    if (file->mesh->n_vertices == 0) return bad(file, "the OBJ file has no line v: no vertex", error);
    return SPLAT_OK;
}

static splat_status read_obj(const char *path, splat_mesh *mesh, splat_error *error)
{
    uint8_t *data;
    size_t size;
    obj_file file = {.path = path, .mesh = mesh, .material = SPLAT_OBJ_NO_MATERIAL};
    memset(mesh, 0, sizeof *mesh);
    SPLAT_TRY(splat_file_read(path, &data, &size, error));
    splat_status status = read_lines(&file, (char *)data, size, error);
    if (status == SPLAT_OK && mesh->uvs)
        status = splat_obj_materials_apply(&file.materials, mesh, path, file.of_face, error);
    splat_obj_materials_free(&file.materials);
    free(file.uvs);
    free(file.of_face);
    free(data);
    if (status != SPLAT_OK) splat_mesh_free(mesh);
    return status;
}

/* Nine digits identify every float; the shortest text (io/number.h) would take several times as long to find. */
static void write_row(FILE *stream, const char *word, const float *values)
{
    fprintf(stream, "%s %.9g %.9g %.9g", word, (double)values[0], (double)values[1], (double)values[2]);
}

static void write_vertices(FILE *stream, const splat_mesh *mesh)
{
    bool has_colors = mesh->colors && mesh->n_pages == 0; /* programs show one of both */
    for (size_t i = 0; i < mesh->n_vertices && !ferror(stream); i++) {
        write_row(stream, "v", mesh->vertices + 3 * i);
        for (size_t c = 0; has_colors && c < 3; c++) fprintf(stream, " %.4f", mesh->colors[4 * i + c] / 255.0);
        fputc('\n', stream);
    }
    for (size_t i = 0; mesh->normals && i < mesh->n_vertices && !ferror(stream); i++) {
        write_row(stream, "vn", mesh->normals + 3 * i);
        fputc('\n', stream);
    }
}

static void write_face(FILE *stream, const splat_mesh *mesh, const splat_mesh_split *split, size_t face)
{
    fputc('f', stream);
    for (size_t k = 0; k < 3; k++) {
        unsigned v = mesh->faces[3 * face + k] + 1;
        fprintf(stream, " %u", v);
        if (split) fprintf(stream, "/%u", split->corners[3 * face + k] + 1);
        if (mesh->normals) fprintf(stream, split ? "/%u" : "//%u", v);
    }
    fputc('\n', stream);
}

/* With a texture the faces stand page by page. */
static void write_lines(FILE *stream, const splat_mesh *mesh, const splat_mesh_split *split, const char *library)
{
    fprintf(stream, "# %zu vertices, %zu faces\n", mesh->n_vertices, mesh->n_faces);
    if (library) fprintf(stream, "mtllib %s\n", library);
    write_vertices(stream, mesh);
    for (size_t i = 0; split && i < split->n && !ferror(stream); i++)
        fprintf(stream, "vt %.9g %.9g\n", (double)split->uvs[i][0], (double)(1.0f - split->uvs[i][1]));
    for (size_t page = 0; page < (mesh->n_pages ? mesh->n_pages : 1) && !ferror(stream); page++) {
        if (mesh->n_pages) fprintf(stream, "usemtl page_%zu\n", page);
        for (size_t i = 0; i < mesh->n_faces && !ferror(stream); i++)
            if (!mesh->n_pages || (mesh->face_pages ? mesh->face_pages[i] : 0) == page)
                write_face(stream, mesh, split, i);
    }
}

/* Pages, materials and mesh are written whole before any of them takes its name, the mesh last. */
static splat_status write_files(const char *path, const splat_mesh *mesh, const splat_mesh_split *split,
                                const splat_mesh_write_options *options, splat_error *error)
{
    splat_save save = {.descriptor = -1}, library = {.descriptor = -1};
    splat_page_saves pages;
    char *library_path = mesh->n_pages ? splat_path_with_ending(path, ".mtl") : NULL;
    if (mesh->n_pages && !library_path) return splat_fail(error, SPLAT_ERROR_MEMORY, "no memory for a path");
    splat_status status = splat_page_saves_open(&pages, path, mesh, options, error);
    if (status == SPLAT_OK && library_path) status = splat_save_open(&library, library_path, error);
    if (status == SPLAT_OK) status = splat_save_open(&save, path, error);
    if (status == SPLAT_OK) {
        if (library_path) splat_obj_materials_write(library.stream, &pages, options);
        write_lines(save.stream, mesh, split, library_path ? splat_basename(library_path) : NULL);
        splat_save *const files[2] = {library_path ? &library : &save, &save};
        status = splat_page_saves_commit(&pages, files, library_path ? 2 : 1, error);
    }
    splat_save_abort(&library); /* harmless after commit */
    splat_save_abort(&save);
    splat_page_saves_close(&pages);
    free(library_path);
    return status;
}

static splat_status write_obj(const char *path, const splat_mesh *mesh, const splat_mesh_write_options *options,
                              splat_error *error)
{
    splat_c_locale locale;
    splat_mesh_split split;
    if (mesh->uvs) SPLAT_TRY(splat_mesh_split_make(mesh, &split, error));
    splat_status status = SPLAT_ERROR_MEMORY;
    if (splat_c_locale_begin(&locale)) {
        status = write_files(path, mesh, mesh->uvs ? &split : NULL, options, error);
        splat_c_locale_end(&locale);
    } else {
        splat_fail(error, SPLAT_ERROR_MEMORY, "no memory for a locale");
    }
    if (mesh->uvs) splat_mesh_split_free(&split);
    return status;
}

const splat_mesh_file_format splat_mesh_format_obj = {
    .name = "OBJ",
    .ending = ".obj",
    .description = "Wavefront text, colours after the coordinates or a texture next to it",
    .read = read_obj,
    .write = write_obj,
};
