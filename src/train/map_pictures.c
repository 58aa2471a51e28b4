/* Pictures of depth, normals, alpha and density, for people and for programs. */
#include "base/file.h"
#include "io/image.h"
#include "io/json.h"
#include "model/model.h"
#include "scene/scene.h"
#include "train/colormap.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static const char *const kind_names[SPLAT_N_MAP_KINDS] = {"depth", "median", "normal", "alpha", "density"};

typedef struct map_writer {
    unsigned kinds;
    char *folders[SPLAT_N_MAP_KINDS]; /* NULL: not asked for */
    splat_geometry_maps maps;
    void *pixels;                     /* of a PNG: room for three bytes a pixel */
} map_writer;

static splat_status write_png(const map_writer *w, int kind, size_t index, const splat_camera *c, int channels,
                              int bits, splat_error *error)
{
    char *path = splat_format("%s/%05zu.png", w->folders[kind], index);
    if (!path) return splat_fail(error, SPLAT_ERROR_MEMORY, "no memory for a path");
    splat_status status = splat_png_write(path, c->width, c->height, channels, bits, w->pixels, error);
    free(path);
    return status;
}

static splat_status write_pfm(const map_writer *w, int kind, size_t index, const splat_camera *c, int channels,
                              const float *planar, splat_error *error)
{
    char *path = splat_format("%s/%05zu.pfm", w->folders[kind], index);
    if (!path) return splat_fail(error, SPLAT_ERROR_MEMORY, "no memory for a path");
    splat_status status = splat_pfm_write(path, c->width, c->height, channels, planar, error);
    free(path);
    return status;
}

/* What a program needs to make points of a depth picture. */
static splat_status write_depth_json(const map_writer *w, int kind, size_t index, const splat_dataset_view *view,
                                     double scale, splat_error *error)
{
    const splat_camera *c = &view->camera;
    char *path = splat_format("%s/%05zu.json", w->folders[kind], index);
    json_t *pose = json_array();
    for (int i = 0; pose && i < 12; i++)
        json_array_append_new(pose, json_real(i % 4 < 3 ? c->rotation[i / 4 * 3 + i % 4] : c->translation[i / 4]));
    json_t *name = json_string(view->name);
    if (!name) name = json_null(); /* not UTF-8: JSON cannot say it */
    json_t *root = json_pack("{s:o, s:s, s:f, s:i, s:i, s:f, s:f, s:f, s:f, s:o}", "view", name, "depth",
                             kind == 0 ? "expected" : "median", "png_scale", scale, "width", c->width, "height",
                             c->height, "fx", (double)c->fx, "fy", (double)c->fy, "cx", (double)c->cx, "cy",
                             (double)c->cy, "world_to_camera", pose);
    char *text = root ? json_dumps(root, JSON_INDENT(1)) : NULL;
    splat_status status = path && text ? splat_file_write(path, text, strlen(text), error)
                                       : splat_fail(error, SPLAT_ERROR_MEMORY, "no memory for a depth picture's JSON");
    json_decref(root);
    free(text);
    free(path);
    return status;
}

/* 65535 is the picture's largest depth, 0 is no depth. */
static splat_status write_depth(map_writer *w, int kind, size_t index, const splat_dataset_view *view,
                                const float *depth, splat_error *error)
{
    size_t n = (size_t)view->camera.width * (size_t)view->camera.height;
    uint16_t *steps = w->pixels;
    double most = 0;
    for (size_t i = 0; i < n; i++) most = (double)depth[i] > most ? (double)depth[i] : most;
    double scale = most > 0 ? most / 65535 : 1;
    for (size_t i = 0; i < n; i++) {
        double step = floor((double)depth[i] / scale + 0.5);
        steps[i] = depth[i] > 0 ? (uint16_t)(step < 1 ? 1 : step) : 0;
    }
    SPLAT_TRY(write_png(w, kind, index, &view->camera, 1, 16, error));
    SPLAT_TRY(write_pfm(w, kind, index, &view->camera, 1, depth, error));
    return write_depth_json(w, kind, index, view, scale, error);
}

static splat_status write_normal(map_writer *w, size_t index, const splat_camera *c, splat_error *error)
{
    size_t n = (size_t)c->width * (size_t)c->height;
    uint8_t *rgb = w->pixels;
    for (size_t i = 0; i < n; i++)
        for (size_t k = 0; k < 3; k++)
            rgb[3 * i + k] = (uint8_t)floorf(127.5f * (w->maps.normal[k * n + i] + 1.0f) + 0.5f);
    SPLAT_TRY(write_png(w, 2, index, c, 3, 8, error));
    return write_pfm(w, 2, index, c, 3, w->maps.normal, error);
}

static splat_status write_alpha(map_writer *w, size_t index, const splat_camera *c, splat_error *error)
{
    size_t n = (size_t)c->width * (size_t)c->height;
    uint8_t *gray = w->pixels;
    for (size_t i = 0; i < n; i++) gray[i] = splat_image_byte(w->maps.alpha[i]);
    SPLAT_TRY(write_png(w, 3, index, c, 1, 8, error));
    return write_pfm(w, 3, index, c, 1, w->maps.alpha, error);
}

static splat_status write_view(map_writer *w, splat_model *model, const splat_dataset_view *view, size_t index,
                               splat_error *error)
{
    const splat_camera *c = &view->camera;
    SPLAT_TRY(splat_model_render_geometry(model, c, &w->maps, error));
    if (w->kinds & SPLAT_MAP_DEPTH) SPLAT_TRY(write_depth(w, 0, index, view, w->maps.depth, error));
    if (w->kinds & SPLAT_MAP_MEDIAN) SPLAT_TRY(write_depth(w, 1, index, view, w->maps.median, error));
    if (w->kinds & SPLAT_MAP_NORMAL) SPLAT_TRY(write_normal(w, index, c, error));
    if (w->kinds & SPLAT_MAP_ALPHA) SPLAT_TRY(write_alpha(w, index, c, error));
    if (!(w->kinds & SPLAT_MAP_DENSITY)) return SPLAT_OK;
    splat_density_heatmap(c->width, c->height, w->maps.blended, w->pixels);
    return write_png(w, 4, index, c, 3, 8, error);
}

static void writer_close(map_writer *w)
{
    for (int k = 0; k < SPLAT_N_MAP_KINDS; k++) free(w->folders[k]);
    free(w->maps.depth);
    free(w->maps.median);
    free(w->maps.normal);
    free(w->maps.alpha);
    free(w->maps.blended);
    free(w->pixels);
}

/* Folders, and room for the largest view. Close it in either case. */
static splat_status writer_open(map_writer *w, const splat_scene *scene, unsigned kinds, const char *folder,
                                const char *set, int iteration, int resolution, splat_error *error)
{
    int width, height;
    splat_scene_largest_view(scene, &width, &height);
    size_t n = (size_t)width * (size_t)height;
    bool good = true;
    *w = (map_writer){.kinds = kinds, .pixels = malloc(3 * n + 1)};
    if (kinds & SPLAT_MAP_DEPTH) good = good && (w->maps.depth = malloc(n * sizeof(float)));
    if (kinds & SPLAT_MAP_MEDIAN) good = good && (w->maps.median = malloc(n * sizeof(float)));
    if (kinds & SPLAT_MAP_NORMAL) good = good && (w->maps.normal = malloc(3 * n * sizeof(float)));
    if (kinds & SPLAT_MAP_ALPHA) good = good && (w->maps.alpha = malloc(n * sizeof(float)));
    if (kinds & SPLAT_MAP_DENSITY) good = good && (w->maps.blended = malloc(n * sizeof(uint32_t)));
    if (!good || !w->pixels)
        return splat_fail(error, SPLAT_ERROR_MEMORY, "no memory for pictures of %d x %d", width, height);
    for (int k = 0; k < SPLAT_N_MAP_KINDS; k++) {
        if (!(kinds & 1u << k)) continue;
        w->folders[k] = splat_format("%s/%s/ours_%d/%s_%d", folder, set, iteration, kind_names[k], resolution);
        if (!w->folders[k]) return splat_fail(error, SPLAT_ERROR_MEMORY, "no memory for a path");
        SPLAT_TRY(splat_folder_create(w->folders[k], error));
    }
    return SPLAT_OK;
}

splat_status splat_write_maps(splat_scene *scene, splat_model *model, splat_view_set set, unsigned kinds,
                              const char *folder, int iteration, int resolution,
                              bool (*visit)(void *user, size_t n_done), void *user, splat_error *error)
{
    map_writer w;
    uint32_t storage[5];
    const uint32_t *indices;
    size_t n = splat_scene_view_set(scene, set, &indices, storage);
    if (kinds == 0 || kinds >> SPLAT_N_MAP_KINDS)
        return splat_fail(error, SPLAT_ERROR_ARGUMENT, "unknown kinds of maps: %u", kinds);
    splat_status status = writer_open(&w, scene, kinds, folder, set == SPLAT_VIEWS_TEST ? "test" : "train", iteration,
                                      resolution, error);
    for (size_t i = 0; i < n && status == SPLAT_OK; i++) {
        status = write_view(&w, model, &scene->dataset.views[indices[i]], i, error);
        if (status == SPLAT_OK && visit && !visit(user, i + 1) && i + 1 < n)
            status = splat_fail(error, SPLAT_ERROR_STOPPED, "stopped after %zu of %zu views", i + 1, n);
    }
    writer_close(&w);
    return status;
}
