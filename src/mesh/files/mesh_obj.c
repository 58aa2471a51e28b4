/* Wavefront OBJ with vertex colours after the coordinates, as most mesh tools read and write them. */
#include "base/c_locale.h"
#include "base/file.h"
#include "io/number.h"
#include "mesh/files/mesh_io.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

typedef struct obj_file {
    const char *path;
    uint64_t line;
    splat_mesh *mesh;
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

/* The vertex of "7", "7/1", "7//2", "7/1/2" or "-1" (the last one so far). */
static bool read_corner(const obj_file *file, char *word, uint32_t *index)
{
    char *end;
    size_t n = file->mesh->n_vertices;
    long long number = strtoll(word, &end, 10); /* saturates, and is then out of range */
    if (end == word || (*end != '\0' && *end != '/')) return false;
    if (number > 0 && (unsigned long long)number <= n) *index = (uint32_t)(number - 1);
    else if (number < 0 && number >= -(long long)n) *index = (uint32_t)((long long)n + number);
    else return false;
    return true;
}

static splat_status read_face(const obj_file *file, char *text, splat_error *error)
{
    uint32_t first = 0, before = 0, index = 0;
    size_t n = 0;
    for (;; n++) {
        text += strspn(text, " \t\r");
        if (!*text) break;
        char *word = text;
        text += strcspn(text, " \t\r");
        if (*text) *text++ = '\0';
        if (!read_corner(file, word, &index))
            return bad(file, "a corner of a face names a vertex that does not exist yet", error);
        if (n == 0) first = index;
        if (n >= 2) SPLAT_TRY(splat_mesh_add_face(file->mesh, first, before, index, error));
        before = index;
    }
    return n >= 3 ? SPLAT_OK : bad(file, "a face has fewer than three corners", error);
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
        text += strspn(text, " \t");
        if (text[0] == 'v' && (text[1] == ' ' || text[1] == '\t')) SPLAT_TRY(read_vertex(file, text + 2, error));
        if (text[0] == 'f' && (text[1] == ' ' || text[1] == '\t')) SPLAT_TRY(read_face(file, text + 2, error));
    }
    if (file->mesh->n_vertices == 0) return bad(file, "the OBJ file has no line v: no vertex", error);
    return SPLAT_OK;
}

static splat_status read_obj(const char *path, splat_mesh *mesh, splat_error *error)
{
    uint8_t *data;
    size_t size;
    obj_file file = {path, 0, mesh};
    memset(mesh, 0, sizeof *mesh);
    SPLAT_TRY(splat_file_read(path, &data, &size, error));
    splat_status status = read_lines(&file, (char *)data, size, error);
    free(data);
    if (status != SPLAT_OK) splat_mesh_free(mesh);
    return status;
}

/* Nine digits identify every float; the shortest text (io/number.h) would take several times as long to find. */
static void write_row(FILE *stream, const char *word, const float *values)
{
    fprintf(stream, "%s %.9g %.9g %.9g", word, (double)values[0], (double)values[1], (double)values[2]);
}

static void write_lines(FILE *stream, const splat_mesh *mesh)
{
    fprintf(stream, "# %zu vertices, %zu faces\n", mesh->n_vertices, mesh->n_faces);
    for (size_t i = 0; i < mesh->n_vertices && !ferror(stream); i++) {
        const uint8_t *color = mesh->colors ? mesh->colors + 4 * i : NULL;
        write_row(stream, "v", mesh->vertices + 3 * i);
        for (int c = 0; color && c < 3; c++)
            fprintf(stream, " %.4f", color[c] / 255.0);
        fputc('\n', stream);
    }
    for (size_t i = 0; mesh->normals && i < mesh->n_vertices && !ferror(stream); i++) {
        write_row(stream, "vn", mesh->normals + 3 * i);
        fputc('\n', stream);
    }
    for (size_t i = 0; i < mesh->n_faces && !ferror(stream); i++) {
        unsigned a = mesh->faces[3 * i] + 1, b = mesh->faces[3 * i + 1] + 1, c = mesh->faces[3 * i + 2] + 1;
        if (mesh->normals) fprintf(stream, "f %u//%u %u//%u %u//%u\n", a, a, b, b, c, c);
        else fprintf(stream, "f %u %u %u\n", a, b, c);
    }
}

static splat_status write_obj(const char *path, const splat_mesh *mesh, splat_error *error)
{
    splat_save save;
    splat_c_locale locale;
    if (!splat_c_locale_begin(&locale)) return splat_fail(error, SPLAT_ERROR_MEMORY, "no memory for a locale");
    splat_status status = splat_save_open(&save, path, error);
    if (status == SPLAT_OK) {
        write_lines(save.stream, mesh);
        status = splat_save_commit(&save, error);
    }
    splat_c_locale_end(&locale);
    return status;
}

const splat_mesh_file_format splat_mesh_format_obj = {
    .name = "OBJ",
    .ending = ".obj",
    .description = "Wavefront text, colours after the coordinates",
    .read = read_obj,
    .write = write_obj,
};
