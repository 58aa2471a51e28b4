/* Splats of GLB files: the one primitive with KHR_gaussian_splatting. Its accessors may hold floats or integers. */
#include "io/json.h"
#include "io/splat/cloud_glb_write.h"
#include "io/splat/packed.h"

#include <math.h>
#include <string.h>

enum { MAX_DEPTH = 32 };

static splat_status bad(const splat_glb_file *file, const char *what, splat_error *error)
{
    return splat_fail_at(error, SPLAT_ERROR_FORMAT, file->path, SPLAT_NO_OFFSET, "the GLB file is damaged: %s", what);
}

static splat_status refuse(const splat_glb_file *file, const char *what, splat_error *error)
{
    return splat_fail_at(error, SPLAT_ERROR_UNSUPPORTED, file->path, SPLAT_NO_OFFSET, "%s", what);
}

/* ---------------------------------------------------------------- the primitive */

static const json_t *extension_of(const json_t *primitive)
{
    return json_object_get(json_object_get(primitive, "extensions"), SPLAT_GLB_EXTENSION);
}

/* The primitive with a splat, and its mesh. */
static splat_status find_primitive(const splat_glb_file *file, const json_t **found, size_t *mesh_index,
                                   splat_error *error)
{
    const json_t *meshes = json_object_get(file->root, "meshes");
    *found = NULL;
    for (size_t m = 0; m < json_array_size(meshes); m++) {
        const json_t *primitives = json_object_get(json_array_get(meshes, m), "primitives");
        for (size_t p = 0; p < json_array_size(primitives); p++) {
            const json_t *primitive = json_array_get(primitives, p);
            if (!extension_of(primitive)) continue;
            if (*found) return refuse(file, "the file has several splats; one is read", error);
            *found = primitive;
            *mesh_index = m;
        }
    }
    if (*found) return SPLAT_OK;
    return refuse(file, "the GLB file has no splat in it (no primitive with KHR_gaussian_splatting)", error);
}

/* The first node whose `key` is, or whose list has, this number; the number of nodes when there is none. */
static size_t find_node(const json_t *nodes, const char *key, size_t number)
{
    for (size_t i = 0; i < json_array_size(nodes); i++) {
        const json_t *value = json_object_get(json_array_get(nodes, i), key);
        if (json_is_integer(value) && json_integer_value(value) == (json_int_t)number) return i;
        for (size_t k = 0; k < json_array_size(value); k++)
            if (json_integer_value(json_array_get(value, k)) == (json_int_t)number) return i;
    }
    return json_array_size(nodes);
}

/* Checks that no node moves the splat. */
static splat_status check_nodes(const splat_glb_file *file, size_t mesh_index, splat_error *error)
{
    static const char *const keys[] = {"matrix", "translation", "rotation", "scale"};
    const json_t *nodes = json_object_get(file->root, "nodes");
    size_t node = find_node(nodes, "mesh", mesh_index), n = json_array_size(nodes);
    for (int depth = 0; node < n; depth++, node = find_node(nodes, "children", node))
        for (size_t k = 0; k < sizeof keys / sizeof keys[0]; k++)
            if (depth > MAX_DEPTH || json_object_get(json_array_get(nodes, node), keys[k]))
                return refuse(file, "a node of the file moves or turns its splat; apply that, and export it again",
                              error);
    return SPLAT_OK;
}

/* An attribute with as many rows as there are Gaussians. */
static splat_status find_attribute(const splat_glb_file *file, const json_t *primitive, const char *name, int channels,
                                   size_t n, splat_glb_accessor *a, splat_error *error)
{
    SPLAT_TRY(splat_glb_find(file, json_object_get(primitive, "attributes"), name, a, error));
    if (a->data && a->channels == channels && a->n == n) return SPLAT_OK;
    return splat_fail_at(error, SPLAT_ERROR_FORMAT, file->path, SPLAT_NO_OFFSET,
                         "the GLB file is damaged: its splat lacks %s, or has another number of it", name);
}

typedef struct splat_primitive {
    const json_t *json;
    size_t n;
    int sh_degree;
} splat_primitive;

static splat_status open_primitive(const splat_glb_file *file, splat_primitive *p, splat_error *error)
{
    splat_glb_accessor position;
    size_t mesh_index = 0;
    SPLAT_TRY(find_primitive(file, &p->json, &mesh_index, error));
    SPLAT_TRY(check_nodes(file, mesh_index, error));
    const json_t *attributes = json_object_get(p->json, "attributes");
    const char *kernel = json_string_value(json_object_get(extension_of(p->json), "kernel"));
    const char *space = json_string_value(json_object_get(extension_of(p->json), "colorSpace"));
    if (!kernel || strcmp(kernel, "ellipse") != 0)
        return refuse(file, "the splat of the file has another kernel than ellipses", error);
    if (!space || strcmp(space, "srgb_rec709_display") != 0)
        return refuse(file, "the colours of the splat are not srgb_rec709_display", error);
    SPLAT_TRY(splat_glb_find(file, attributes, "POSITION", &position, error));
    if (!position.data || position.channels != 3) return bad(file, "its splat has no positions", error);
    p->n = position.n;
    p->sh_degree = 0;
    while (p->sh_degree < SPLAT_MAX_SH_DEGREE) {
        char name[64];
        splat_glb_harmonic((p->sh_degree + 1) * (p->sh_degree + 1), name);
        if (!json_object_get(attributes, name)) break;
        p->sh_degree++;
    }
    return SPLAT_OK;
}

static splat_render_mode mode_of(const splat_primitive *p)
{
    const char *mode = json_string_value(json_object_get(json_object_get(p->json, "extras"), SPLAT_GLB_RENDER_MODE));
    return mode && strcmp(mode, "mip") == 0 ? SPLAT_RENDER_MIP : SPLAT_RENDER_AUTO;
}

/* ---------------------------------------------------------------- reading */

/* splat-transform 1.9 to 2.6 store the logarithms of the scales; later versions store the scales, as the extension
 * says. */
static bool has_logarithms(const splat_glb_file *file)
{
    int major, minor;
    const char *generator = json_string_value(json_object_get(json_object_get(file->root, "asset"), "generator"));
    if (!generator || sscanf(generator, "splat-transform %2d.%3d.", &major, &minor) != 2) return false;
    return major < 2 || (major == 2 && minor < 7);
}

static splat_status read_scales(const splat_glb_file *file, const splat_primitive *p, splat_cloud *c,
                                splat_error *error)
{
    splat_glb_accessor scale;
    SPLAT_TRY(find_attribute(file, p->json, SPLAT_GLB_SCALE, 3, p->n, &scale, error));
    bool is_logarithm = has_logarithms(file);
    for (size_t i = 0; i < 3 * p->n; i++) {
        double value = splat_glb_value(&scale, i / 3, (int)(i % 3));
        if (!is_logarithm && value < 0)
            return splat_fail_at(error, SPLAT_ERROR_FORMAT, file->path, SPLAT_NO_OFFSET,
                                 "Gaussian %zu has a negative scale (%g): the file holds logarithms of scales, or is "
                                 "damaged; export it again with a newer version of the program that wrote it", i / 3,
                                 value);
        c->scales[i] = is_logarithm ? (float)value : splat_packed_log_scale(value);
    }
    return SPLAT_OK;
}

static splat_status read_shapes(const splat_glb_file *file, const splat_primitive *p, splat_cloud *c,
                                splat_error *error)
{
    splat_glb_accessor position, rotation, opacity;
    SPLAT_TRY(find_attribute(file, p->json, "POSITION", 3, p->n, &position, error));
    SPLAT_TRY(find_attribute(file, p->json, SPLAT_GLB_ROTATION, 4, p->n, &rotation, error));
    SPLAT_TRY(find_attribute(file, p->json, SPLAT_GLB_OPACITY, 1, p->n, &opacity, error));
    for (size_t i = 0; i < p->n; i++) {
        for (int k = 0; k < 3; k++)
            c->means[3 * i + k] = splat_packed_axis_signs[k] * (float)splat_glb_value(&position, i, k);
        for (int k = 0; k < 4; k++)
            c->rotations[4 * i + k] = splat_packed_rotation_signs[k] *
                                      (float)splat_glb_value(&rotation, i, (k + 3) % 4);
        c->opacities[i] = splat_packed_logit(splat_glb_value(&opacity, i, 0)); /* NaN stays NaN */
    }
    return SPLAT_OK;
}

static splat_status read_colors(const splat_glb_file *file, const splat_primitive *p, splat_cloud *c,
                                splat_error *error)
{
    size_t n_rest = splat_sh_rest_floats(p->sh_degree);
    for (int k = 0; k < (p->sh_degree + 1) * (p->sh_degree + 1); k++) {
        splat_glb_accessor harmonic;
        char name[64];
        splat_glb_harmonic(k, name);
        SPLAT_TRY(find_attribute(file, p->json, name, 3, p->n, &harmonic, error));
        for (size_t i = 0; i < p->n; i++)
            for (int j = 0; j < 3; j++) {
                float value = (float)splat_glb_value(&harmonic, i, j);
                if (k == 0)
                    c->sh_dc[3 * i + (size_t)j] = value;
                else
                    c->sh_rest[n_rest * i + 3 * (size_t)(k - 1) + (size_t)j] = splat_packed_sh_signs[k - 1] * value;
            }
    }
    return SPLAT_OK;
}

static splat_status read_open(const splat_glb_file *file, splat_cloud *cloud, splat_error *error)
{
    splat_primitive p;
    splat_glb_accessor rotation;
    SPLAT_TRY(open_primitive(file, &p, error));
    SPLAT_TRY(find_attribute(file, p.json, SPLAT_GLB_ROTATION, 4, p.n, &rotation, error)); /* as many as there are */
    SPLAT_TRY(splat_cloud_make(cloud, p.n, p.sh_degree, false, error));
    cloud->render_mode = mode_of(&p);
    splat_status status = read_scales(file, &p, cloud, error);
    if (status == SPLAT_OK) status = read_shapes(file, &p, cloud, error);
    if (status == SPLAT_OK) status = read_colors(file, &p, cloud, error);
    if (status != SPLAT_OK) splat_cloud_free(cloud);
    return status;
}

static splat_status read_glb(const char *path, splat_cloud *cloud, splat_error *error)
{
    splat_glb_file file;
    memset(cloud, 0, sizeof *cloud);
    SPLAT_TRY(splat_glb_open(&file, path, error));
    splat_status status = read_open(&file, cloud, error);
    splat_glb_close(&file);
    return status;
}

static splat_status describe_glb(const char *path, splat_cloud_shape *shape, splat_error *error)
{
    splat_glb_file file;
    splat_primitive p;
    SPLAT_TRY(splat_glb_open(&file, path, error));
    splat_status status = open_primitive(&file, &p, error);
    if (status == SPLAT_OK)
        *shape = (splat_cloud_shape){.n = p.n, .sh_degree = p.sh_degree, .render_mode = mode_of(&p)};
    splat_glb_close(&file);
    return status;
}

static bool begins_as_glb(const uint8_t *head, size_t n)
{
    return n >= 4 && memcmp(head, "glTF", 4) == 0;
}

const splat_cloud_format splat_cloud_format_glb = {
    .name = "glTF splat",
    .ending = ".glb",
    .description = "GLB with KHR_gaussian_splatting: floats, nothing is lost; Cesium, Babylon.js, PlayCanvas read it",
    .is_packed = true,
    .max_sh_degree = SPLAT_MAX_SH_DEGREE,
    .begins = begins_as_glb,
    .describe = describe_glb,
    .read = read_glb,
    .write = splat_glb_splat_write,
};
