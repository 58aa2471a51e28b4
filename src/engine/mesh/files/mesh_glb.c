/* GLB, the binary file of glTF 2.0 (Khronos, "glTF 2.0 Specification", chapter 4): a header, a JSON chunk and a binary
 * chunk, each padded to 4 bytes. One mesh, both sides visible, unlit (KHR_materials_unlit: the light of the photos is
 * in the colours) or a standard material. Colours of vertices are made linear, as glTF wants them, in 16 bits. A
 * texture lies inside, with a primitive for each page; vertices are split at its seams. Points when there are no
 * faces. Coordinates are those of the scene. A node turns +Y up, and readers here leave its turn out, so that what is
 * read back fits its cameras. The scene's extras say what the units are and whether up is known. */
#include "base/reader.h" /* refuses big-endian hosts: arrays are written as they stand in memory */
#include "io/json.h"
#include "math/color.h"
#include "io/glb/glb_file.h"
#include "mesh/files/mesh_glb_read.h"
#include "mesh/files/mesh_glb_sky.h"
#include "mesh/files/mesh_split.h"
#include "mesh/files/texture_files.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { ARRAY_BUFFER = 34962, ELEMENT_ARRAY_BUFFER = 34963 };
enum { LINEAR = 9729, LINEAR_MIPMAP_LINEAR = 9987, CLAMP_TO_EDGE = 33071 };

/* One array of the binary chunk: an attribute, the indices of a page, or its picture; or an array of the sky, whose
 * picture follows those of the pages. */
typedef enum part_kind { PART_ATTRIBUTE, PART_INDICES, PART_SKY, PART_PICTURE } part_kind;

typedef struct glb_part {
    part_kind kind;
    const char *name, *type; /* of an attribute */
    int component;
    size_t page;             /* of indices and pictures */
    size_t n, size, offset;  /* rows; bytes, without what pads them to 4 */
} glb_part;

typedef struct glb_writer {
    const splat_mesh *mesh;
    const char *path;
    const splat_mesh_write_options *options;
    bool has_uvs;            /* faces with texture coordinates */
    splat_mesh_split split;  /* then */
    size_t n_vertices;
    splat_glb_sky sky;       /* with options->sky */
    size_t first_sky;        /* number of its first part; 0: none */
    glb_part parts[9 + 2 * SPLAT_MESH_MAX_PAGES];
    size_t n_parts, size;
    uint8_t *pictures[SPLAT_MESH_MAX_PAGES];
} glb_writer;

static size_t padded(size_t size)
{
    return (size + 3) / 4 * 4;
}

static void add_part(glb_writer *w, glb_part part)
{
    part.offset = w->size;
    w->parts[w->n_parts++] = part;
    w->size += padded(part.size);
}

static void add_attribute(glb_writer *w, const char *name, const char *type, int component, size_t row_size)
{
    add_part(w, (glb_part){.kind = PART_ATTRIBUTE, .name = name, .type = type, .component = component,
                           .n = w->n_vertices, .size = w->n_vertices * row_size});
}

static size_t page_of(const splat_mesh *mesh, size_t face)
{
    return mesh->n_pages && mesh->face_pages ? mesh->face_pages[face] : 0;
}

/* The vertex of the mesh that a vertex of the file is. */
static size_t vertex_of(const glb_writer *w, size_t i)
{
    return w->has_uvs ? w->split.vertices[i] : i;
}

static splat_status add_sky(glb_writer *w, splat_error *error)
{
    SPLAT_TRY(splat_glb_sky_make(&w->options->sky, w->mesh, &w->sky, error));
    w->first_sky = w->n_parts;
    add_part(w, (glb_part){.kind = PART_SKY, .name = "POSITION", .type = "VEC3", .component = SPLAT_GLB_FLOAT,
                           .n = SPLAT_GLB_SKY_VERTICES, .size = sizeof w->sky.positions});
    add_part(w, (glb_part){.kind = PART_SKY, .name = "TEXCOORD_0", .type = "VEC2", .component = SPLAT_GLB_FLOAT,
                           .n = SPLAT_GLB_SKY_VERTICES, .size = sizeof w->sky.uvs});
    add_part(w, (glb_part){.kind = PART_SKY, .name = "indices", .type = "SCALAR", .component = SPLAT_GLB_UINT32,
                           .n = SPLAT_GLB_SKY_INDICES, .size = sizeof w->sky.indices});
    return SPLAT_OK;
}

/* Pictures are encoded here, so that their sizes are known. */
static splat_status lay_out(glb_writer *w, splat_error *error)
{
    const splat_mesh *mesh = w->mesh;
    size_t counts[SPLAT_MESH_MAX_PAGES] = {0};
    if (w->has_uvs) SPLAT_TRY(splat_mesh_split_make(mesh, &w->split, error));
    w->n_vertices = w->has_uvs ? w->split.n : mesh->n_vertices;
    add_attribute(w, "POSITION", "VEC3", SPLAT_GLB_FLOAT, 12);
    if (mesh->normals) add_attribute(w, "NORMAL", "VEC3", SPLAT_GLB_FLOAT, 12);
    if (mesh->colors) add_attribute(w, "COLOR_0", "VEC4", SPLAT_GLB_UINT16, 8);
    if (w->has_uvs) add_attribute(w, "TEXCOORD_0", "VEC2", SPLAT_GLB_FLOAT, 8);
    for (size_t f = 0; f < mesh->n_faces; f++) counts[page_of(mesh, f)]++;
    for (size_t page = 0; page < SPLAT_MESH_MAX_PAGES; page++)
        if (counts[page])
            add_part(w, (glb_part){.kind = PART_INDICES, .type = "SCALAR", .component = SPLAT_GLB_UINT32, .page = page,
                                   .n = 3 * counts[page], .size = 12 * counts[page]});
    if (w->options->sky.colors) SPLAT_TRY(add_sky(w, error));
    for (size_t page = 0; page < mesh->n_pages; page++) {
        size_t size;
        SPLAT_TRY(splat_page_encode(mesh, page, w->options, &w->pictures[page], &size, error));
        add_part(w, (glb_part){.kind = PART_PICTURE, .page = page, .size = size});
    }
    if (w->first_sky) add_part(w, (glb_part){.kind = PART_PICTURE, .page = mesh->n_pages, .size = w->sky.picture_size});
    return SPLAT_OK;
}

/* ---------------------------------------------------------------- description */

static json_t *bounds_json(const float bounds[3])
{
    return json_pack("[f, f, f]", (double)bounds[0], (double)bounds[1], (double)bounds[2]);
}

static json_t *accessor_json(const glb_writer *w, const glb_part *part, size_t view)
{
    json_t *accessor = json_pack("{s:I, s:i, s:I, s:s}", "bufferView", (json_int_t)view, "componentType",
                                 part->component, "count", (json_int_t)part->n, "type", part->type);
    if (part->component == SPLAT_GLB_UINT16) splat_json_set(&accessor, "normalized", json_true());
    if (part->kind == PART_SKY && strcmp(part->name, "POSITION") == 0) {
        const float (*at)[3] = w->sky.positions;
        float low[3] = {HUGE_VALF, HUGE_VALF, HUGE_VALF}, high[3] = {-HUGE_VALF, -HUGE_VALF, -HUGE_VALF};
        for (size_t c = 0; c < 3; c++) {
            for (size_t i = 0; i < SPLAT_GLB_SKY_VERTICES; i++) {
                low[c] = fminf(low[c], at[i][c]);
                high[c] = fmaxf(high[c], at[i][c]);
            }
        }
        splat_json_set(&accessor, "min", bounds_json(low));
        splat_json_set(&accessor, "max", bounds_json(high));
    }
    if (part->kind == PART_ATTRIBUTE && strcmp(part->name, "POSITION") == 0) {
        float low[3] = {HUGE_VALF, HUGE_VALF, HUGE_VALF}, high[3] = {-HUGE_VALF, -HUGE_VALF, -HUGE_VALF};
        for (size_t i = 0; i < w->n_vertices; i++)
            for (size_t c = 0; c < 3; c++) {
                float x = w->mesh->vertices[3 * vertex_of(w, i) + c];
                low[c] = fminf(low[c], x);
                high[c] = fmaxf(high[c], x);
            }
        splat_json_set(&accessor, "min", bounds_json(low));
        splat_json_set(&accessor, "max", bounds_json(high));
    }
    return accessor;
}

static json_t *material_json(const glb_writer *w, size_t page)
{
    json_t *reflection = json_pack("{s:f, s:f}", "metallicFactor", 0.0, "roughnessFactor", 1.0);
    if (w->mesh->n_pages)
        splat_json_set(&reflection, "baseColorTexture", json_pack("{s:I, s:i}", "index", (json_int_t)page, "texCoord",
                                                                  0));
    json_t *material = json_pack("{s:b, s:o}", "doubleSided", 1, "pbrMetallicRoughness", reflection);
    if (!w->options->is_lit)
        splat_json_set(&material, "extensions", json_pack("{s:{}}", "KHR_materials_unlit"));
    return material;
}

/* Seen from inside alone, and never lit. */
static json_t *sky_material_json(const glb_writer *w)
{
    json_t *texture = json_pack("{s:I, s:i}", "index", (json_int_t)w->mesh->n_pages, "texCoord", 0);
    json_t *reflection = json_pack("{s:f, s:f, s:o}", "metallicFactor", 0.0, "roughnessFactor", 1.0,
                                   "baseColorTexture", texture);
    return json_pack("{s:s, s:o, s:{s:{}}}", "name", "sky", "pbrMetallicRoughness", reflection, "extensions",
                     "KHR_materials_unlit");
}

/* Images, textures and materials, a page each, then the sky's; without pages one material. */
static void add_materials(const glb_writer *w, json_t **root)
{
    json_t *materials = json_array(), *textures = json_array(), *images = json_array();
    size_t n = w->mesh->n_pages;
    for (size_t page = 0; page < (n ? n : 1); page++) splat_json_append(&materials, material_json(w, page));
    if (w->first_sky) splat_json_append(&materials, sky_material_json(w));
    for (size_t i = 0; i < w->n_parts; i++) {
        const glb_part *part = &w->parts[i];
        if (part->kind != PART_PICTURE) continue;
        splat_json_append(&images, json_pack("{s:I, s:s}", "bufferView", (json_int_t)i, "mimeType",
                                             w->options->jpeg_quality && part->page < n ? "image/jpeg" : "image/png"));
        splat_json_append(&textures, json_pack("{s:i, s:I}", "sampler", part->page < n ? 0 : 1, "source",
                                               (json_int_t)part->page));
    }
    splat_json_set(root, "materials", materials);
    if (n || w->first_sky) {
        json_t *samplers = json_pack("[{s:i, s:i, s:i, s:i}]", "magFilter", LINEAR, "minFilter", LINEAR_MIPMAP_LINEAR,
                                     "wrapS", CLAMP_TO_EDGE, "wrapT", CLAMP_TO_EDGE);
        if (w->first_sky) /* mip maps would mix its faces */
            splat_json_append(&samplers, json_pack("{s:i, s:i, s:i, s:i}", "magFilter", LINEAR, "minFilter", LINEAR,
                                                   "wrapS", CLAMP_TO_EDGE, "wrapT", CLAMP_TO_EDGE));
        splat_json_set(root, "images", images);
        splat_json_set(root, "textures", textures);
        splat_json_set(root, "samplers", samplers);
    } else {
        json_decref(images);
        json_decref(textures);
    }
    if (!w->options->is_lit || w->first_sky)
        splat_json_set(root, "extensionsUsed", json_pack("[s]", "KHR_materials_unlit"));
}

/* A primitive for the indices of each page, or for points. */
static json_t *primitives_json(const glb_writer *w)
{
    json_t *primitives = json_array();
    size_t first = 0;
    while (first < w->n_parts && w->parts[first].kind == PART_ATTRIBUTE) first++;
    for (size_t i = first; i < w->n_parts || i == first; i++) {
        bool has_indices = i < w->n_parts && w->parts[i].kind == PART_INDICES;
        if (i > first && !has_indices) break;
        json_t *attributes = json_object(), *primitive = json_object();
        for (size_t k = 0; k < first; k++)
            splat_json_set(&attributes, w->parts[k].name, json_integer((json_int_t)k));
        splat_json_set(&primitive, "attributes", attributes);
        if (has_indices) splat_json_set(&primitive, "indices", json_integer((json_int_t)i));
        splat_json_set(&primitive, "material", json_integer(has_indices ? (json_int_t)w->parts[i].page : 0));
        splat_json_set(&primitive, "mode", json_integer(has_indices ? SPLAT_GLB_TRIANGLES : SPLAT_GLB_POINTS));
        splat_json_append(&primitives, primitive);
    }
    return primitives;
}

static double up_length(const glb_writer *w)
{
    const float *up = w->options->up;
    double x = (double)up[0], y = (double)up[1], z = (double)up[2], length = sqrt(x * x + y * y + z * z);
    return isfinite(length) ? length : 0;
}

/* Tools show the extras of a scene (Blender as custom properties, three.js as userData), those of the asset seldom. */
static json_t *scene_extras_json(const glb_writer *w)
{
    return json_pack("{s:s, s:s}", SPLAT_GLB_UNITS, w->options->is_metric ? "metre" : "arbitrary", SPLAT_GLB_UP,
                     up_length(w) > 0 ? "+Y" : "unknown");
}

/* The file's name without its ending, unless the options name the mesh. */
static json_t *name_json(const glb_writer *w)
{
    if (w->options->name) return splat_json_text(w->options->name);
    char *name = splat_path_with_ending(splat_basename(w->path), "");
    json_t *text = name ? splat_json_text(name) : NULL;
    free(name);
    return text;
}

/* The mesh, turned so that `up` becomes +Y: around X until `up` has no Z, then around Z. So X stays to the right. The
 * shortest turn would leave to the noise of `up` where X goes, as it is about half a turn: photos' y points down. */
static json_t *node_json(const glb_writer *w)
{
    const double x = (double)w->options->up[0], y = (double)w->options->up[1], z = (double)w->options->up[2];
    json_t *node = json_pack("{s:i}", "mesh", 0);
    if (!(up_length(w) > 0)) return node;
    const double around_x = atan2(-z, y) / 2, around_z = atan2(x, hypot(y, z)) / 2;
    splat_json_set(&node, "rotation", json_pack("[f, f, f, f]", cos(around_z) * sin(around_x),
                                                sin(around_z) * sin(around_x), sin(around_z) * cos(around_x),
                                                cos(around_z) * cos(around_x)));
    splat_json_set(&node, "extras", json_pack("{s:b}", SPLAT_GLB_SCENE_COORDINATES, 1));
    return node;
}

static json_t *mesh_node_json(const glb_writer *w)
{
    json_t *node = node_json(w);
    splat_json_set(&node, "name", name_json(w));
    return node;
}

/* The mesh of the sky: its three parts, and its material after those of the pages. */
static json_t *sky_mesh_json(const glb_writer *w)
{
    const json_int_t first = (json_int_t)w->first_sky, n = (json_int_t)w->mesh->n_pages;
    return json_pack("{s:s, s:[{s:{s:I, s:I}, s:I, s:I, s:i}]}", "name", "sky", "primitives", "attributes", "POSITION",
                     first, "TEXCOORD_0", first + 1, "indices", first + 2, "material", n ? n : (json_int_t)1, "mode",
                     SPLAT_GLB_TRIANGLES);
}

/* Turned as the mesh is. */
static void add_sky_node(const glb_writer *w, json_t **root)
{
    json_t *node = node_json(w), *extras = json_object_get(node, "extras");
    if (!extras) splat_json_set(&node, "extras", json_object());
    extras = json_object_get(node, "extras");
    splat_json_set(&node, "name", json_string("sky"));
    splat_json_set(&node, "mesh", json_integer(1));
    if (!extras || json_object_set_new(extras, SPLAT_GLB_SKY, json_true()) != 0 ||
        json_array_append_new(json_object_get(*root, "nodes"), node) != 0 ||
        json_array_append_new(json_object_get(*root, "meshes"), sky_mesh_json(w)) != 0 ||
        json_array_append_new(json_object_get(json_array_get(json_object_get(*root, "scenes"), 0), "nodes"),
                              json_integer(1)) != 0) {
        json_decref(*root);
        *root = NULL;
    }
}

/* NULL when memory is exhausted. jansson takes NULL for a value and then fails as a whole. */
static json_t *scene_json(const glb_writer *w)
{
    json_t *views = json_array(), *accessors = json_array();
    for (size_t i = 0; i < w->n_parts; i++) {
        const glb_part *part = &w->parts[i];
        json_t *view = json_pack("{s:i, s:I, s:I}", "buffer", 0, "byteOffset", (json_int_t)part->offset, "byteLength",
                                 (json_int_t)part->size);
        if (part->kind != PART_PICTURE) {
            splat_json_set(&view, "target",
                           json_integer(part->type[0] == 'V' ? ARRAY_BUFFER : ELEMENT_ARRAY_BUFFER));
            splat_json_append(&accessors, accessor_json(w, part, i)); /* pictures come last: numbers agree */
        }
        splat_json_append(&views, view);
    }
    json_t *root = json_pack("{s:{s:s, s:s}, s:i, s:[{s:[i], s:o}], s:[o], s:[{s:o, s:o}], s:o, s:o, s:[{s:I}]}",
                             "asset", "version", "2.0", "generator", SPLAT_GLB_GENERATOR, "scene", 0, "scenes",
                             "nodes", 0, "extras", scene_extras_json(w), "nodes", mesh_node_json(w), "meshes", "name",
                             name_json(w), "primitives", primitives_json(w), "accessors", accessors, "bufferViews",
                             views, "buffers", "byteLength", (json_int_t)w->size);
    add_materials(w, &root);
    if (w->first_sky && root) add_sky_node(w, &root);
    return root;
}

/* ---------------------------------------------------------------- bytes */

static void write_u32(FILE *stream, size_t value)
{
    uint32_t word = (uint32_t)value;
    fwrite(&word, 4, 1, stream);
}

/* sRGB to linear, 16 bits. */
static void write_colors(FILE *stream, const glb_writer *w)
{
    uint16_t linear[256];
    for (int i = 0; i < 256; i++)
        linear[i] = (uint16_t)(65535.0 * splat_srgb_decode(i / 255.0) + 0.5);
    for (size_t i = 0; i < w->n_vertices && !ferror(stream); i++) {
        const uint8_t *color = w->mesh->colors + 4 * vertex_of(w, i);
        const uint16_t row[4] = {linear[color[0]], linear[color[1]], linear[color[2]], (uint16_t)(257 * color[3])};
        fwrite(row, sizeof row, 1, stream);
    }
}

static void write_vectors(FILE *stream, const glb_writer *w, const float *rows)
{
    for (size_t i = 0; i < w->n_vertices && !ferror(stream); i++) fwrite(rows + 3 * vertex_of(w, i), 12, 1, stream);
}

static void write_part(FILE *stream, const glb_writer *w, const glb_part *part)
{
    const splat_mesh *mesh = w->mesh;
    if (part->kind == PART_PICTURE) {
        fwrite(part->page < mesh->n_pages ? w->pictures[part->page] : w->sky.picture, 1, part->size, stream);
    } else if (part->kind == PART_SKY) {
        const void *const arrays[] = {w->sky.positions, w->sky.uvs, w->sky.indices};
        fwrite(arrays[part - w->parts - (ptrdiff_t)w->first_sky], 1, part->size, stream);
    } else if (part->kind == PART_INDICES) {
        for (size_t f = 0; f < mesh->n_faces && !ferror(stream); f++)
            if (page_of(mesh, f) == part->page)
                fwrite((w->has_uvs ? w->split.corners : mesh->faces) + 3 * f, 12, 1, stream);
    } else if (strcmp(part->name, "COLOR_0") == 0) {
        write_colors(stream, w);
    } else if (strcmp(part->name, "TEXCOORD_0") == 0) {
        fwrite(w->split.uvs, sizeof *w->split.uvs, w->n_vertices, stream);
    } else {
        write_vectors(stream, w, strcmp(part->name, "NORMAL") == 0 ? mesh->normals : mesh->vertices);
    }
    fwrite("\0\0\0", 1, padded(part->size) - part->size, stream);
}

static splat_status write_chunks(const char *path, const glb_writer *w, const char *json, splat_error *error)
{
    splat_save save;
    size_t length = strlen(json), total = 12 + 8 + padded(length) + 8 + w->size;
    if (total > UINT32_MAX)
        return splat_fail(error, SPLAT_ERROR_ARGUMENT, "a GLB file holds 4 GiB and the mesh needs %zu bytes; simplify "
                          "it or write a PLY", total);
    SPLAT_TRY(splat_disk_check(path, total, error));
    SPLAT_TRY(splat_save_open(&save, path, error));
    fwrite("glTF", 4, 1, save.stream);
    write_u32(save.stream, 2);
    write_u32(save.stream, total);
    write_u32(save.stream, padded(length));
    fwrite("JSON", 4, 1, save.stream);
    fwrite(json, length, 1, save.stream);
    fwrite("   ", 1, padded(length) - length, save.stream);
    write_u32(save.stream, w->size);
    fwrite("BIN", 4, 1, save.stream);
    for (size_t i = 0; i < w->n_parts && !ferror(save.stream); i++) write_part(save.stream, w, &w->parts[i]);
    return splat_save_commit(&save, error);
}

static splat_status write_laid_out(const char *path, glb_writer *w, splat_error *error)
{
    SPLAT_TRY(lay_out(w, error));
    if (w->n_vertices == 0)
        return splat_fail(error, SPLAT_ERROR_ARGUMENT, "a mesh without vertices cannot be a GLB file");
    json_t *root = scene_json(w);
    char *json = splat_json_print(root, JSON_COMPACT | JSON_REAL_PRECISION(9));
    json_decref(root);
    if (!json) return splat_fail(error, SPLAT_ERROR_MEMORY, "no memory for the description of a GLB file");
    splat_status status = write_chunks(path, w, json, error);
    free(json);
    return status;
}

static splat_status write_glb(const char *path, const splat_mesh *mesh, const splat_mesh_write_options *options,
                              splat_error *error)
{
    glb_writer *w = calloc(1, sizeof *w);
    if (!w) return splat_fail(error, SPLAT_ERROR_MEMORY, "no memory for the description of a GLB file");
    w->mesh = mesh;
    w->path = path;
    w->options = options;
    w->has_uvs = mesh->uvs && mesh->n_faces > 0;
    splat_status status = write_laid_out(path, w, error);
    splat_mesh_split_free(&w->split);
    for (size_t i = 0; i < mesh->n_pages; i++) free(w->pictures[i]);
    free(w->sky.picture);
    free(w);
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
