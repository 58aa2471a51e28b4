/* Pictures of a mesh from the cameras of a scene: what people look at to judge a surface. */
#include "base/file.h"
#include "base/options.h"
#include "io/picture/map_files.h"
#include "math/camera.h"
#include "mesh/files/mesh_io.h"
#include "mesh/mesh_raster.h"
#include "model/view_job.h"
#include "scene/scene.h"
#include "splatsmith/observe.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define NEAR 0.01f /* scene units, as the published renderers have it */

static const char *const kind_names[SPLAT_N_MESH_VIEW_KINDS] = {"color", "normal", "depth", "shaded"};

typedef struct view_writer {
    unsigned kinds;
    char *folders[SPLAT_N_MESH_VIEW_KINDS]; /* NULL: not asked for */
    splat_mesh mesh;
    splat_mesh_raster_options options;
    splat_mesh_raster_maps maps;
    float *normal;     /* [3][height][width]; NULL: not asked for */
    uint8_t *pixels;   /* of a PNG: room for three bytes a pixel */
    uint8_t background;
} view_writer;

/* The normal of a face in the world, zero when it has no area. */
static void face_normal(const splat_mesh *mesh, size_t face, double normal[3])
{
    splat_mesh_face_cross(mesh, face, normal);
    double length = sqrt(normal[0] * normal[0] + normal[1] * normal[1] + normal[2] * normal[2]);
    for (int k = 0; k < 3; k++) normal[k] = length > 0 ? normal[k] / length : 0;
}

static void fill_colors(const view_writer *w, size_t n)
{
    const splat_mesh *mesh = &w->mesh;
#pragma omp parallel for schedule(static) num_threads(w->options.threads)
    for (size_t i = 0; i < n; i++) {
        const float *b = w->maps.weights[i];
        const float weights[3] = {b[0], b[1], 1.0f - b[0] - b[1]};
        if (!w->maps.faces[i]) {
            memset(w->pixels + 3 * i, w->background, 3);
            continue;
        }
        const uint32_t *face = mesh->faces + 3 * (size_t)(w->maps.faces[i] - 1);
        for (size_t c = 0; c < 3; c++) {
            float value = 0.5f;
            for (size_t k = 0; k < 3; k++) value += weights[k] * (float)mesh->colors[4 * (size_t)face[k] + c];
            w->pixels[3 * i + c] = (uint8_t)fminf(fmaxf(value, 0.0f), 255.0f);
        }
    }
}

static void fill_normals(const view_writer *w, size_t n)
{
#pragma omp parallel for schedule(static) num_threads(w->options.threads)
    for (size_t i = 0; i < n; i++) {
        double normal[3] = {0, 0, 0};
        if (w->maps.faces[i]) face_normal(&w->mesh, w->maps.faces[i] - 1, normal);
        for (size_t k = 0; k < 3; k++) w->normal[k * n + i] = (float)normal[k];
    }
}

/* Cosine between a face's normal and the way to the camera, without its sign: a lamp at the camera. */
static double facing(const splat_camera *c, size_t i, const double normal[3])
{
    size_t width = (size_t)c->width;
    const double ray[3] = {((double)(i % width) + 0.5 - (double)c->cx) / (double)c->fx,
                           ((double)(i / width) + 0.5 - (double)c->cy) / (double)c->fy, 1};
    double length = sqrt(ray[0] * ray[0] + ray[1] * ray[1] + 1), cosine = 0;
    for (int k = 0; k < 3; k++) {
        const float *row = c->rotation + 3 * k;
        cosine += ray[k] * ((double)row[0] * normal[0] + (double)row[1] * normal[1] + (double)row[2] * normal[2]);
    }
    return fabs(cosine) / length;
}

/* Gray from 30, seen from the side, to 230; backs in red. */
static void fill_shades(const view_writer *w, const splat_camera *camera, size_t n)
{
#pragma omp parallel for schedule(static) num_threads(w->options.threads)
    for (size_t i = 0; i < n; i++) {
        uint8_t *rgb = w->pixels + 3 * i;
        double normal[3];
        memset(rgb, w->background, 3);
        if (!w->maps.faces[i]) continue;
        face_normal(&w->mesh, w->maps.faces[i] - 1, normal);
        uint8_t gray = (uint8_t)fmin(30 + 200 * facing(camera, i, normal) + 0.5, 230);
        rgb[0] = gray;
        rgb[1] = rgb[2] = w->maps.front[i] ? gray : gray / 4;
    }
}

static splat_status write_view(const view_writer *w, const splat_dataset_view *view, size_t index, splat_error *error)
{
    const splat_camera *c = &view->camera;
    size_t n = splat_camera_pixels(c);
    SPLAT_TRY(splat_mesh_rasterize(&w->mesh, c, &w->options, &w->maps, error));
    if (w->folders[0]) {
        fill_colors(w, n);
        SPLAT_TRY(splat_map_png_write(w->folders[0], index, c, 3, 8, w->pixels, error));
    }
    if (w->folders[1]) {
        fill_normals(w, n);
        SPLAT_TRY(splat_normal_files_write(w->folders[1], index, c, w->normal, w->pixels, error));
    }
    if (w->folders[2])
        SPLAT_TRY(splat_depth_files_write(w->folders[2], index, "mesh", view->name, c, w->maps.depth, w->pixels,
                                          error));
    if (!w->folders[3]) return SPLAT_OK;
    fill_shades(w, c, n);
    return splat_map_png_write(w->folders[3], index, c, 3, 8, w->pixels, error);
}

static void writer_close(view_writer *w)
{
    for (int k = 0; k < SPLAT_N_MESH_VIEW_KINDS; k++) free(w->folders[k]);
    splat_mesh_free(&w->mesh);
    free(w->maps.faces);
    free(w->maps.depth);
    free(w->maps.weights);
    free(w->maps.front);
    free(w->normal);
    free(w->pixels);
}

/* <folder>/<set>/mesh_<name of the file without its end>/<kind>, for the kinds that are wanted. */
static splat_status make_folders(view_writer *w, const char *mesh_path, const char *folder, const char *set,
                                 splat_error *error)
{
    const char *name = splat_basename(mesh_path), *end = strrchr(name, '.');
    int length = (int)(end && end > name ? (size_t)(end - name) : strlen(name));
    for (int k = 0; k < SPLAT_N_MESH_VIEW_KINDS; k++) {
        if (!(w->kinds & 1u << k)) continue;
        w->folders[k] = splat_format("%s/%s/mesh_%.*s/%s", folder, set, length, name, kind_names[k]);
        if (!w->folders[k]) return splat_fail(error, SPLAT_ERROR_MEMORY, "no memory for a path");
        SPLAT_TRY(splat_folder_create(w->folders[k], error));
    }
    return SPLAT_OK;
}

/* The mesh, and room for the largest view. Close it in either case. */
static splat_status writer_open(view_writer *w, const splat_scene *scene, const char *mesh_path, splat_error *error)
{
    int width, height;
    splat_scene_largest_view(scene, &width, &height);
    size_t n = (size_t)width * (size_t)height;
    SPLAT_TRY(splat_mesh_read(mesh_path, &w->mesh, error));
    if (w->mesh.n_faces == 0)
        return splat_fail_at(error, SPLAT_ERROR_ARGUMENT, mesh_path, SPLAT_NO_OFFSET,
                             "the file has no faces, so there is nothing to draw");
    if (w->kinds & SPLAT_MESH_VIEW_COLOR && !w->mesh.colors)
        return splat_fail_at(error, SPLAT_ERROR_ARGUMENT, mesh_path, SPLAT_NO_OFFSET,
                             "the mesh has no vertex colours; shaded, normal and depth show it without");
    splat_mesh_raster_options_init(&w->options);
    w->options.near = NEAR;
    w->options.threads = scene->context->threads;
    w->maps.faces = malloc(n * sizeof *w->maps.faces);
    w->maps.depth = malloc(n * sizeof *w->maps.depth);
    w->pixels = malloc(3 * n);
    bool good = w->maps.faces && w->maps.depth && w->pixels;
    if (w->kinds & SPLAT_MESH_VIEW_COLOR) good = good && (w->maps.weights = malloc(n * sizeof *w->maps.weights));
    if (w->kinds & SPLAT_MESH_VIEW_NORMAL) good = good && (w->normal = malloc(3 * n * sizeof *w->normal));
    if (w->kinds & SPLAT_MESH_VIEW_SHADED) good = good && (w->maps.front = malloc(n));
    if (!good) return splat_fail(error, SPLAT_ERROR_MEMORY, "no memory for pictures of %d x %d", width, height);
    return SPLAT_OK;
}

splat_status splat_mesh_views_write(splat_scene *scene, const char *mesh_path, const splat_view_job *job,
                                    unsigned kinds, const char *folder, splat_error *error)
{
    splat_view_job own;
    splat_view_job_init(&own);
    SPLAT_TRY(splat_options_take(&own, job, "splat_view_job", error));
    job = &own;
    view_writer w = {.kinds = kinds, .background = scene->options.white_background ? 255 : 0};
    uint32_t storage[5];
    const uint32_t *indices;
    size_t n = splat_scene_view_set(scene, job->set, &indices, storage);
    if (kinds == 0 || kinds >> SPLAT_N_MESH_VIEW_KINDS)
        return splat_fail(error, SPLAT_ERROR_ARGUMENT, "unknown kinds of pictures of a mesh: %u", kinds);
    splat_status status = writer_open(&w, scene, mesh_path, error);
    if (status == SPLAT_OK) status = make_folders(&w, mesh_path, folder, splat_view_set_name(job->set), error);
    for (size_t i = 0; i < n && status == SPLAT_OK; i++) {
        const splat_dataset_view *view = &scene->dataset.views[indices[i]];
        const splat_view_info info = {view->name, view->is_test, view->camera};
        status = write_view(&w, view, i, error);
        if (status == SPLAT_OK) status = splat_view_job_show(job, &info, i, n, error);
    }
    writer_close(&w);
    return status;
}
