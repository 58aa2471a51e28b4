/* Pictures of depth, normals, alpha and density, for people and for programs. */
#include "measure/map_pictures.h"

#include "io/picture/image_write.h"

#include "base/file.h"
#include "base/options.h"
#include "io/picture/colormap.h"
#include "io/picture/map_files.h"
#include "math/camera.h"
#include "model/model.h"
#include "model/view_job.h"
#include "scene/scene.h"

#include <stdlib.h>

static const char *const kind_names[SPLAT_N_MAP_KINDS] = {"depth", "median", "normal", "alpha", "density"};

typedef struct map_writer {
    unsigned kinds;
    char *folders[SPLAT_N_MAP_KINDS]; /* NULL: not asked for */
    splat_geometry_maps maps;
    void *pixels;                     /* of a PNG: room for three bytes a pixel */
} map_writer;

static splat_status write_depth(const map_writer *w, int kind, size_t index, const splat_dataset_view *view,
                                const float *depth, splat_error *error)
{
    return splat_depth_files_write(w->folders[kind], index, kind == 0 ? "expected" : "median", view->name,
                                   &view->camera, depth, w->pixels, error);
}

static splat_status write_alpha(map_writer *w, size_t index, const splat_camera *c, splat_error *error)
{
    size_t n = splat_camera_pixels(c);
    uint8_t *gray = w->pixels;
    for (size_t i = 0; i < n; i++) gray[i] = splat_image_byte(w->maps.alpha[i]);
    SPLAT_TRY(splat_map_png_write(w->folders[3], index, c, 1, 8, gray, error));
    return splat_map_pfm_write(w->folders[3], index, c, 1, w->maps.alpha, error);
}

static splat_status write_view(map_writer *w, splat_model *model, const splat_dataset_view *view, size_t index,
                               splat_error *error)
{
    const splat_camera *c = &view->camera;
    SPLAT_TRY(splat_model_render_geometry(model, c, &w->maps, error));
    if (w->kinds & SPLAT_MAP_DEPTH) SPLAT_TRY(write_depth(w, 0, index, view, w->maps.depth, error));
    if (w->kinds & SPLAT_MAP_MEDIAN) SPLAT_TRY(write_depth(w, 1, index, view, w->maps.median, error));
    if (w->kinds & SPLAT_MAP_NORMAL)
        SPLAT_TRY(splat_normal_files_write(w->folders[2], index, c, w->maps.normal, w->pixels, error));
    if (w->kinds & SPLAT_MAP_ALPHA) SPLAT_TRY(write_alpha(w, index, c, error));
    if (!(w->kinds & SPLAT_MAP_DENSITY)) return SPLAT_OK;
    splat_density_heatmap(c->width, c->height, w->maps.blended, w->pixels);
    return splat_map_png_write(w->folders[4], index, c, 3, 8, w->pixels, error);
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
                                const char *set, int iteration, splat_error *error)
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
        w->folders[k] = splat_format("%s/%s/ours_%d/%s_%d", folder, set, iteration, kind_names[k],
                                     scene->options.resolution);
        if (!w->folders[k]) return splat_fail(error, SPLAT_ERROR_MEMORY, "no memory for a path");
        SPLAT_TRY(splat_folder_create(w->folders[k], error));
    }
    return SPLAT_OK;
}

splat_status splat_maps_write(splat_model *model, splat_scene *scene, const splat_view_job *job, unsigned kinds,
                              const char *folder, int iteration, splat_error *error)
{
    splat_view_job own;
    splat_view_job_init(&own);
    SPLAT_TRY(splat_options_take(&own, job, "splat_view_job", error));
    job = &own;
    map_writer w;
    uint32_t storage[5];
    const uint32_t *indices;
    size_t n = splat_scene_view_set(scene, job->set, &indices, storage);
    if (kinds == 0 || kinds >> SPLAT_N_MAP_KINDS)
        return splat_fail(error, SPLAT_ERROR_ARGUMENT, "unknown kinds of maps: %u", kinds);
    splat_status status = writer_open(&w, scene, kinds, folder, splat_view_set_name(job->set), iteration, error);
    for (size_t i = 0; i < n && status == SPLAT_OK; i++) {
        const splat_dataset_view *view = &scene->dataset.views[indices[i]];
        const splat_view_info info = {view->name, view->is_test, view->camera};
        status = write_view(&w, model, view, i, error);
        if (status == SPLAT_OK) status = splat_view_job_show(job, &info, i, n, error);
    }
    writer_close(&w);
    return status;
}
