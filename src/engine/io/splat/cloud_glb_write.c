/* A splat as GLB: glTF 2.0 with KHR_gaussian_splatting, all numbers as floats. glTF's y points up: positions, rotations
 * and harmonics are turned. COLOR_0 is for readers that know no splats; glTF wants it linear. */
#include "io/splat/cloud_glb_write.h"

#include "base/file.h"
#include "base/reader.h" /* refuses big-endian hosts: arrays are written as they stand in memory */
#include "io/json.h"
#include "io/splat/packed.h"
#include "math/color.h"
#include "math/sh.h"

#include <float.h>
#include <stdlib.h>
#include <string.h>

enum { POSITION, ROTATION, SCALE, OPACITY, COLOR, HARMONIC, MAX_ATTRIBUTES = HARMONIC + 16 };
enum { ARRAY_BUFFER = 34962, CHUNK_HEAD = 8, FILE_HEAD = 12 };

typedef struct attribute {
    char name[64];
    int kind, k; /* k: of a harmonic, b_k */
    int channels;
    size_t offset;
} attribute;

typedef struct glb_splat {
    const splat_cloud *cloud;
    attribute attributes[MAX_ATTRIBUTES];
    size_t n_attributes, size;
} glb_splat;

static size_t row_size(const attribute *a)
{
    return (size_t)a->channels * (a->kind == COLOR ? sizeof(uint16_t) : sizeof(float));
}

static void add_attribute(glb_splat *g, const char *name, int kind, int k, int channels)
{
    attribute *a = &g->attributes[g->n_attributes++];
    *a = (attribute){.kind = kind, .k = k, .channels = channels, .offset = g->size};
    snprintf(a->name, sizeof a->name, "%s", name);
    g->size += g->cloud->n * row_size(a); /* every row is a multiple of 4 */
}

static void lay_out(glb_splat *g)
{
    int n = (g->cloud->sh_degree + 1) * (g->cloud->sh_degree + 1);
    add_attribute(g, "POSITION", POSITION, 0, 3);
    add_attribute(g, SPLAT_GLB_ROTATION, ROTATION, 0, 4);
    add_attribute(g, SPLAT_GLB_SCALE, SCALE, 0, 3);
    add_attribute(g, SPLAT_GLB_OPACITY, OPACITY, 0, 1);
    add_attribute(g, "COLOR_0", COLOR, 0, 4);
    for (int k = 0; k < n; k++) {
        char name[64];
        splat_glb_harmonic(k, name);
        add_attribute(g, name, HARMONIC, k, 3);
    }
}

/* ---------------------------------------------------------------- numbers */

static void fill_color(const splat_cloud *c, size_t i, uint16_t row[4])
{
    for (int k = 0; k < 3; k++) {
        double color = 0.5 + (double)SPLAT_SH_C0 * (double)c->sh_dc[3 * i + k];
        color = color > 0 ? color < 1 ? color : 1 : 0;
        row[k] = (uint16_t)splat_packed_round(65535 * splat_srgb_decode(color), 65535);
    }
    row[3] = (uint16_t)splat_packed_round(65535 * splat_packed_opacity(c->opacities[i]), 65535);
}

static void fill_row(const splat_cloud *c, const attribute *a, size_t i, float row[4])
{
    size_t n_rest = splat_sh_rest_floats(c->sh_degree);
    double q[4];
    switch (a->kind) {
    case POSITION:
        for (int k = 0; k < 3; k++) row[k] = splat_packed_axis_signs[k] * c->means[3 * i + k];
        break;
    case ROTATION: /* x y z w */
        splat_packed_quaternion(c->rotations + 4 * i, q);
        for (int k = 0; k < 4; k++) row[(k + 3) % 4] = splat_packed_rotation_signs[k] * (float)q[k];
        break;
    case SCALE:
        for (int k = 0; k < 3; k++) row[k] = fminf(expf(c->scales[3 * i + k]), FLT_MAX);
        break;
    case OPACITY: row[0] = (float)splat_packed_opacity(c->opacities[i]); break;
    default:
        for (size_t k = 0; k < 3; k++)
            row[k] = a->k == 0 ? c->sh_dc[3 * i + k]
                               : splat_packed_sh_signs[a->k - 1] *
                                     c->sh_rest[n_rest * i + 3 * (size_t)(a->k - 1) + k];
    }
}

static void write_attribute(FILE *stream, const splat_cloud *c, const attribute *a)
{
    for (size_t i = 0; i < c->n && !ferror(stream); i++) {
        float row[4];
        uint16_t color[4];
        if (a->kind == COLOR)
            fill_color(c, i, color);
        else
            fill_row(c, a, i, row);
        fwrite(a->kind == COLOR ? (const void *)color : row, 1, row_size(a), stream);
    }
}

/* ---------------------------------------------------------------- description */

static json_t *bounds_json(const splat_cloud *c, bool highest)
{
    json_t *list = json_array();
    for (size_t k = 0; k < 3; k++) {
        float bound = 0;
        for (size_t i = 0; i < c->n; i++) {
            float x = splat_packed_axis_signs[k] * c->means[3 * i + k];
            bound = i == 0 ? x : highest ? fmaxf(bound, x) : fminf(bound, x);
        }
        splat_json_append(&list, json_real((double)bound));
    }
    return list;
}

static json_t *accessor_json(const glb_splat *g, size_t i)
{
    static const char *const types[] = {"SCALAR", "VEC2", "VEC3", "VEC4"};
    const attribute *a = &g->attributes[i];
    json_t *accessor = json_pack("{s:I, s:i, s:I, s:s}", "bufferView", (json_int_t)i, "componentType",
                                 a->kind == COLOR ? SPLAT_GLB_UINT16 : SPLAT_GLB_FLOAT, "count",
                                 (json_int_t)g->cloud->n, "type", types[a->channels - 1]);
    if (a->kind == COLOR) splat_json_set(&accessor, "normalized", json_true());
    if (a->kind == POSITION) {
        splat_json_set(&accessor, "min", bounds_json(g->cloud, false));
        splat_json_set(&accessor, "max", bounds_json(g->cloud, true));
    }
    return accessor;
}

static json_t *primitive_json(const glb_splat *g)
{
    json_t *attributes = json_object();
    for (size_t i = 0; i < g->n_attributes; i++)
        splat_json_set(&attributes, g->attributes[i].name, json_integer((json_int_t)i));
    json_t *primitive = json_pack("{s:i, s:o, s:{s:{s:s, s:s, s:s, s:s}}}", "mode", SPLAT_GLB_POINTS, "attributes",
                                  attributes, "extensions", SPLAT_GLB_EXTENSION, "kernel", "ellipse", "colorSpace",
                                  "srgb_rec709_display", "projection", "perspective", "sortingMethod",
                                  "cameraDistance");
    if (g->cloud->render_mode == SPLAT_RENDER_MIP)
        splat_json_set(&primitive, "extras", json_pack("{s:s}", SPLAT_GLB_RENDER_MODE, "mip"));
    return primitive;
}

/* NULL when memory is exhausted. */
static char *describe(const glb_splat *g)
{
    json_t *views = json_array(), *accessors = json_array();
    for (size_t i = 0; i < g->n_attributes; i++) {
        const attribute *a = &g->attributes[i];
        splat_json_append(&views, json_pack("{s:i, s:I, s:I, s:i}", "buffer", 0, "byteOffset", (json_int_t)a->offset,
                                            "byteLength", (json_int_t)(g->cloud->n * row_size(a)), "target",
                                            ARRAY_BUFFER));
        splat_json_append(&accessors, accessor_json(g, i));
    }
    json_t *root = json_pack("{s:{s:s, s:s}, s:[s], s:i, s:[{s:[i], s:{s:s, s:s}}], s:[{s:i}], s:[{s:[o]}], s:o, s:o, "
                             "s:[{s:I}]}", "asset", "version", "2.0", "generator", SPLAT_GLB_GENERATOR,
                             "extensionsUsed", SPLAT_GLB_EXTENSION, "scene", 0, "scenes", "nodes", 0, "extras",
                             SPLAT_GLB_UNITS, "arbitrary", SPLAT_GLB_UP, "unknown", "nodes", "mesh", 0, "meshes",
                             "primitives", primitive_json(g), "accessors", accessors, "bufferViews", views, "buffers",
                             "byteLength", (json_int_t)g->size);
    char *text = splat_json_print(root, JSON_COMPACT | JSON_REAL_PRECISION(9));
    json_decref(root);
    return text;
}

/* ---------------------------------------------------------------- the file */

static void write_words(FILE *stream, uint32_t a, uint32_t b)
{
    const uint32_t words[2] = {a, b};
    fwrite(words, sizeof words, 1, stream);
}

splat_status splat_glb_splat_write(const char *path, const splat_cloud *cloud, const splat_save_options *options,
                                   splat_error *error)
{
    splat_save save;
    glb_splat g = {.cloud = cloud};
    (void)options; /* it has no choices */
    if (cloud->n == 0) /* an accessor has at least one row */
        return splat_fail_at(error, SPLAT_ERROR_ARGUMENT, path, SPLAT_NO_OFFSET, "glTF has no splat without Gaussians");
    lay_out(&g);
    if (g.size > UINT32_MAX - 65536)
        return splat_fail_at(error, SPLAT_ERROR_ARGUMENT, path, SPLAT_NO_OFFSET,
                             "%zu Gaussians would pass the 4 GiB of a GLB file", cloud->n);
    char *text = describe(&g);
    if (!text) return splat_fail(error, SPLAT_ERROR_MEMORY, "no memory for the description of a GLB file");
    size_t length = strlen(text), padded = (length + 3) / 4 * 4;
    splat_status status = splat_save_open(&save, path, error);
    if (status == SPLAT_OK) {
        write_words(save.stream, 0x46546C67u, 2);
        write_words(save.stream, (uint32_t)(FILE_HEAD + 2 * CHUNK_HEAD + padded + g.size), (uint32_t)padded);
        fputs("JSON", save.stream);
        fprintf(save.stream, "%s%*s", text, (int)(padded - length), "");
        write_words(save.stream, (uint32_t)g.size, 0x004E4942u);
        for (size_t i = 0; i < g.n_attributes; i++) write_attribute(save.stream, cloud, &g.attributes[i]);
        status = splat_save_commit(&save, error);
    }
    free(text);
    return status;
}
