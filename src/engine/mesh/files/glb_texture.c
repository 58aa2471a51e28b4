/* Materials, textures and images of a GLB file, as far as base colours go (glTF 2.0, chapters 3.8 and 3.9). */
#include "mesh/files/glb_texture.h"

#include "base/base64.h"
#include "io/json.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* A picture in a data URI: data:image/png;base64,... */
static splat_status read_data_uri(const splat_glb_file *file, splat_page_reader *pages, const char *name,
                                  const char *uri, int *page, splat_error *error)
{
    const char *comma = strchr(uri, ',');
    if (!comma || comma - uri < 7 || strncmp(comma - 7, ";base64", 7) != 0)
        return splat_page_reader_refuse(pages, name, "it is a data URI without base64", error);
    size_t n = strlen(comma + 1), size;
    uint8_t *data = malloc(n / 4 * 3 + 4);
    if (!data)
        return splat_fail_at(error, SPLAT_ERROR_MEMORY, file->path, SPLAT_NO_OFFSET, "no memory for a texture");
    splat_status status;
    if (splat_base64_get(comma + 1, n, data, &size))
        status = splat_page_reader_bytes(pages, name, data, size, page, error);
    else
        status = splat_page_reader_refuse(pages, name, "its data URI is damaged", error);
    free(data);
    return status;
}

/* %20 and the like become the bytes that they stand for. */
static void decode_percent(char *text)
{
    char *out = text;
    for (const char *in = text; *in; in++) {
        unsigned value;
        if (in[0] == '%' && in[1] && in[2] && strspn(in + 1, "0123456789abcdefABCDEF") >= 2 &&
            sscanf(in + 1, "%2x", &value) == 1 && value) {
            *out++ = (char)value;
            in += 2;
        } else {
            *out++ = *in;
        }
    }
    *out = '\0';
}

static splat_status read_image(const splat_glb_file *file, splat_page_reader *pages, size_t number, int *page,
                               splat_error *error)
{
    const json_t *image;
    const char *uri = NULL;
    size_t view = 0, size;
    const uint8_t *data;
    char name[48];
    SPLAT_TRY(splat_glb_item(file, "images", number, &image, error));
    SPLAT_TRY(splat_json_get_string(image, "uri", file->path, &uri, error));
    snprintf(name, sizeof name, "image %zu", number);
    if (uri && strncmp(uri, "data:", 5) == 0) return read_data_uri(file, pages, name, uri, page, error);
    if (uri) {
        char *decoded = splat_format("%s", uri);
        if (!decoded)
            return splat_fail_at(error, SPLAT_ERROR_MEMORY, file->path, SPLAT_NO_OFFSET, "no memory for a texture");
        decode_percent(decoded);
        splat_status status = splat_page_reader_file(pages, decoded, page, error);
        free(decoded);
        return status;
    }
    if (!json_object_get(image, "bufferView")) return splat_page_reader_refuse(pages, name, "it has no data", error);
    SPLAT_TRY(splat_glb_number(file, image, "bufferView", &view, error));
    SPLAT_TRY(splat_glb_view(file, view, &data, &size, error));
    return splat_page_reader_bytes(pages, name, data, size, page, error);
}

/* An array of numbers of an object, which stay as they were where it is absent. */
static void read_numbers(const json_t *object, const char *key, double *values, size_t n)
{
    const json_t *list = json_object_get(object, key);
    for (size_t i = 0; i < n && json_array_size(list) == n; i++) values[i] = json_number_value(json_array_get(list, i));
}

/* KHR_texture_transform: scale, then turn, then offset. Returns the set of coordinates that it names, or -1. */
static int read_transform(const json_t *info, splat_glb_texture *texture)
{
    const json_t *t = json_object_get(json_object_get(info, "extensions"), "KHR_texture_transform");
    const json_t *set = json_object_get(t, "texCoord");
    double scale[2] = {1.0, 1.0}, angle = json_number_value(json_object_get(t, "rotation"));
    read_numbers(t, "scale", scale, 2);
    read_numbers(t, "offset", texture->offset, 2);
    texture->turn[0][0] = cos(angle) * scale[0], texture->turn[0][1] = sin(angle) * scale[1];
    texture->turn[1][0] = -sin(angle) * scale[0], texture->turn[1][1] = cos(angle) * scale[1];
    return json_is_integer(set) && json_integer_value(set) >= 0 && json_integer_value(set) < 1000
               ? (int)json_integer_value(set) : -1;
}

splat_status splat_glb_find_texture(const splat_glb_file *file, splat_page_reader *pages, const json_t *primitive,
                                    size_t n_vertices, splat_glb_texture *texture, splat_error *error)
{
    const json_t *material, *info, *item;
    size_t index = 0, source = 0, set = 0;
    char key[40];
    *texture = (splat_glb_texture){.page = -1, .turn = {{1.0, 0.0}, {0.0, 1.0}}};
    if (!json_object_get(primitive, "material")) return SPLAT_OK;
    SPLAT_TRY(splat_glb_number(file, primitive, "material", &index, error));
    SPLAT_TRY(splat_glb_item(file, "materials", index, &material, error));
    info = json_object_get(json_object_get(material, "pbrMetallicRoughness"), "baseColorTexture");
    if (!info) return SPLAT_OK;
    index = 0;
    SPLAT_TRY(splat_glb_number(file, info, "index", &index, error));
    SPLAT_TRY(splat_glb_number(file, info, "texCoord", &set, error));
    SPLAT_TRY(splat_glb_item(file, "textures", index, &item, error));
    int other = read_transform(info, texture);
    snprintf(key, sizeof key, "TEXCOORD_%zu", other >= 0 ? (size_t)other : set);
    SPLAT_TRY(splat_glb_find(file, json_object_get(primitive, "attributes"), key, &texture->coords, error));
    if (!texture->coords.data) return SPLAT_OK;
    if (texture->coords.channels != 2 || texture->coords.n != n_vertices)
        return splat_fail_at(error, SPLAT_ERROR_FORMAT, file->path, SPLAT_NO_OFFSET,
                             "the GLB file is damaged: texture coordinates have the wrong number");
    if (!json_object_get(item, "source")) {
        snprintf(key, sizeof key, "texture %zu", index);
        return splat_page_reader_refuse(pages, key, "it is of a kind that an extension describes (WebP, KTX2); export "
                                        "PNG or JPEG", error);
    }
    SPLAT_TRY(splat_glb_number(file, item, "source", &source, error));
    return read_image(file, pages, source, &texture->page, error);
}

void splat_glb_texture_coords(const splat_glb_texture *texture, size_t vertex, float uv[2])
{
    double u = splat_glb_value(&texture->coords, vertex, 0), v = splat_glb_value(&texture->coords, vertex, 1);
    for (int c = 0; c < 2; c++) {
        uv[c] = (float)(texture->turn[c][0] * u + texture->turn[c][1] * v + texture->offset[c]);
        if (!isfinite(uv[c])) uv[c] = 0.0f;
    }
}
