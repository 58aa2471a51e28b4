/* GLB, the binary file of glTF 2.0 (Khronos, "glTF 2.0 Specification", chapter 4): a header, a JSON chunk and a binary
 * chunk, each padded to 4 bytes. One mesh, both sides visible, unlit (KHR_materials_unlit: the light of the photos is
 * in the colours). Colours are made linear, as glTF wants them, in 16 bits. Points when there are no faces. */
#include "base/file.h"
#include "base/reader.h" /* refuses big-endian hosts: arrays are written as they stand in memory */
#include "io/json.h"
#include "mesh/files/glb_file.h"
#include "mesh/files/mesh_io.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { ARRAY_BUFFER = 34962, ELEMENT_ARRAY_BUFFER = 34963 };

/* One array of the binary chunk. */
typedef struct glb_part {
    const char *attribute; /* NULL: the indices */
    const char *type;
    int component;
    size_t n, row_size, offset;
} glb_part;

typedef struct glb_layout {
    glb_part parts[4];
    size_t n_parts, size;
} glb_layout;

static void add_part(glb_layout *layout, const char *attribute, const char *type, int component, size_t n,
                     size_t row_size)
{
    layout->parts[layout->n_parts++] = (glb_part){attribute, type, component, n, row_size, layout->size};
    layout->size += n * row_size; /* rows are multiples of 4: no padding between parts */
}

static json_t *accessor_json(const splat_mesh *mesh, const glb_part *part, size_t view)
{
    size_t n = part->attribute ? part->n : 3 * part->n; /* indices are scalars */
    json_t *accessor = json_pack("{s:I, s:i, s:I, s:s}", "bufferView", (json_int_t)view, "componentType",
                                 part->component, "count", (json_int_t)n, "type", part->type);
    if (part->component == SPLAT_GLB_UINT16) splat_json_set(&accessor, "normalized", json_true());
    if (part->attribute && strcmp(part->attribute, "POSITION") == 0) {
        float low[3], high[3];
        splat_mesh_bounds(mesh, low, high);
        splat_json_set(&accessor, "min", json_pack("[f, f, f]", (double)low[0], (double)low[1], (double)low[2]));
        splat_json_set(&accessor, "max", json_pack("[f, f, f]", (double)high[0], (double)high[1], (double)high[2]));
    }
    return accessor;
}

/* NULL when memory is exhausted. jansson takes NULL for a value and then fails as a whole. */
static json_t *scene_json(const splat_mesh *mesh, const glb_layout *layout)
{
    json_t *views = json_array(), *accessors = json_array(), *attributes = json_object(), *primitive = json_object();
    for (size_t i = 0; i < layout->n_parts; i++) {
        const glb_part *part = &layout->parts[i];
        splat_json_append(&views, json_pack("{s:i, s:I, s:I, s:i}", "buffer", 0, "byteOffset", (json_int_t)part->offset,
                                            "byteLength", (json_int_t)(part->n * part->row_size), "target",
                                            part->attribute ? ARRAY_BUFFER : ELEMENT_ARRAY_BUFFER));
        splat_json_append(&accessors, accessor_json(mesh, part, i));
        splat_json_set(part->attribute ? &attributes : &primitive, part->attribute ? part->attribute : "indices",
                       json_integer((json_int_t)i));
    }
    splat_json_set(&primitive, "attributes", attributes);
    splat_json_set(&primitive, "material", json_integer(0));
    splat_json_set(&primitive, "mode", json_integer(mesh->n_faces ? SPLAT_GLB_TRIANGLES : SPLAT_GLB_POINTS));
    return json_pack("{s:{s:s, s:s}, s:[s], s:i, s:[{s:[i]}], s:[{s:i}], s:[{s:[o]}], "
                     "s:[{s:b, s:{s:f, s:f}, s:{s:{}}}], s:o, s:o, s:[{s:I}]}",
                     "asset", "version", "2.0", "generator", "splatsmith",
                     "extensionsUsed", "KHR_materials_unlit", "scene", 0, "scenes", "nodes", 0, "nodes", "mesh", 0,
                     "meshes", "primitives", primitive,
                     "materials", "doubleSided", 1, "pbrMetallicRoughness", "metallicFactor", 0.0, "roughnessFactor",
                     1.0, "extensions", "KHR_materials_unlit",
                     "accessors", accessors, "bufferViews", views, "buffers", "byteLength", (json_int_t)layout->size);
}

static void write_u32(FILE *stream, size_t value)
{
    uint32_t word = (uint32_t)value;
    fwrite(&word, 4, 1, stream);
}

/* sRGB (IEC 61966-2-1) to linear, 16 bits. */
static void write_colors(FILE *stream, const splat_mesh *mesh)
{
    uint16_t linear[256];
    for (int i = 0; i < 256; i++) {
        double x = i / 255.0;
        x = x <= 0.04045 ? x / 12.92 : pow((x + 0.055) / 1.055, 2.4);
        linear[i] = (uint16_t)(65535.0 * x + 0.5);
    }
    for (size_t i = 0; i < mesh->n_vertices && !ferror(stream); i++) {
        const uint8_t *color = mesh->colors + 4 * i;
        const uint16_t row[4] = {linear[color[0]], linear[color[1]], linear[color[2]], (uint16_t)(257 * color[3])};
        fwrite(row, sizeof row, 1, stream);
    }
}

static splat_status write_chunks(const char *path, const splat_mesh *mesh, const glb_layout *layout, const char *json,
                                 splat_error *error)
{
    splat_save save;
    size_t length = strlen(json), padded = (length + 3) / 4 * 4;
    size_t total = 12 + 8 + padded + 8 + layout->size;
    if (total > UINT32_MAX)
        return splat_fail(error, SPLAT_ERROR_ARGUMENT, "a GLB file holds 4 GiB and the mesh needs %zu bytes; simplify "
                          "it or write a PLY", total);
    SPLAT_TRY(splat_disk_check(path, total, error));
    SPLAT_TRY(splat_save_open(&save, path, error));
    fwrite("glTF", 4, 1, save.stream);
    write_u32(save.stream, 2);
    write_u32(save.stream, total);
    write_u32(save.stream, padded);
    fwrite("JSON", 4, 1, save.stream);
    fwrite(json, length, 1, save.stream);
    fwrite("   ", padded - length, 1, save.stream);
    write_u32(save.stream, layout->size);
    fwrite("BIN", 4, 1, save.stream);
    fwrite(mesh->vertices, 12, mesh->n_vertices, save.stream);
    if (mesh->normals) fwrite(mesh->normals, 12, mesh->n_vertices, save.stream);
    if (mesh->colors) write_colors(save.stream, mesh);
    if (mesh->n_faces) fwrite(mesh->faces, 12, mesh->n_faces, save.stream);
    return splat_save_commit(&save, error);
}

static splat_status write_glb(const char *path, const splat_mesh *mesh, splat_error *error)
{
    glb_layout layout = {0};
    if (mesh->n_vertices == 0)
        return splat_fail(error, SPLAT_ERROR_ARGUMENT, "a mesh without vertices cannot be a GLB file");
    add_part(&layout, "POSITION", "VEC3", SPLAT_GLB_FLOAT, mesh->n_vertices, 12);
    if (mesh->normals) add_part(&layout, "NORMAL", "VEC3", SPLAT_GLB_FLOAT, mesh->n_vertices, 12);
    if (mesh->colors) add_part(&layout, "COLOR_0", "VEC4", SPLAT_GLB_UINT16, mesh->n_vertices, 8);
    if (mesh->n_faces) add_part(&layout, NULL, "SCALAR", SPLAT_GLB_UINT32, mesh->n_faces, 12);
    json_t *root = scene_json(mesh, &layout);
    char *json = splat_json_print(root, JSON_COMPACT | JSON_REAL_PRECISION(9));
    json_decref(root);
    if (!json) return splat_fail(error, SPLAT_ERROR_MEMORY, "no memory for the description of a GLB file");
    splat_status status = write_chunks(path, mesh, &layout, json, error);
    free(json);
    return status;
}

static bool begins_as_glb(const uint8_t *head, size_t n)
{
    return n >= 4 && memcmp(head, "glTF", 4) == 0;
}

const splat_mesh_file_format splat_mesh_format_glb = {
    .name = "GLB",
    .ending = ".glb",
    .description = "glTF 2.0 in one binary file, for web pages and engines",
    .begins = begins_as_glb,
    .read = splat_mesh_read_glb,
    .write = write_glb,
};
