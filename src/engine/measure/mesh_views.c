/* Pictures of a mesh from the cameras of a scene: what people look at to judge a surface. */
#include "measure/mesh_views.h"

#include "io/picture/image_write.h"

#include "base/file.h"
#include "base/options.h"
#include "io/picture/map_files.h"
#include "math/camera.h"
#include "measure/measured_mesh.h"
#include "model/view_job.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static const char *const kind_names[SPLAT_N_MESH_VIEW_KINDS] = {"color", "normal", "depth", "shaded"};

typedef struct view_writer {
    unsigned kinds;
    char *folders[SPLAT_N_MESH_VIEW_KINDS]; /* NULL: not asked for */
    splat_measured_mesh measured;
    splat_mesh_raster_maps maps; /* at the centres of pixels; NULL: only colours are asked for */
    float *planar;               /* [3][height][width], colours or normals; NULL: neither is asked for */
    uint8_t *pixels;             /* of a PNG: room for three bytes a pixel */
    uint8_t background;
} view_writer;

static void fill_normals(const view_writer *w, size_t n)
{
#pragma omp parallel for schedule(static) num_threads(w->measured.painter.raster.threads)
    for (size_t i = 0; i < n; i++) {
        double normal[3] = {0, 0, 0};
        if (w->maps.faces[i]) splat_mesh_face_normal(&w->measured.mesh, w->maps.faces[i] - 1, normal);
        for (size_t k = 0; k < 3; k++) w->planar[k * n + i] = (float)normal[k];
    }
}

/* Gray from 30, seen from the side, to 230; backs in red. */
static void fill_shades(const view_writer *w, const splat_camera *camera, size_t n)
{
    size_t width = (size_t)camera->width;
#pragma omp parallel for schedule(static) num_threads(w->measured.painter.raster.threads)
    for (size_t i = 0; i < n; i++) {
        uint8_t *rgb = w->pixels + 3 * i;
        double normal[3];
        memset(rgb, w->background, 3);
        if (!w->maps.faces[i]) continue;
        splat_mesh_face_normal(&w->measured.mesh, w->maps.faces[i] - 1, normal);
        double shade = splat_mesh_shade(camera, (double)(i % width), (double)(i / width), normal);
        uint8_t gray = (uint8_t)fmin(shade + 0.5, 230);
        rgb[0] = gray;
        rgb[1] = rgb[2] = w->maps.front[i] ? gray : gray / 4;
    }
}

/* All but the colours. */
static splat_status write_maps(const view_writer *w, const splat_dataset_view *view, size_t index, splat_error *error)
{
    const splat_camera *c = &view->camera;
    size_t n = splat_camera_pixels(c);
    SPLAT_TRY(splat_mesh_rasterize(&w->measured.mesh, c, &w->measured.painter.raster, &w->maps, error));
    if (w->folders[1]) {
        fill_normals(w, n);
        SPLAT_TRY(splat_normal_files_write(w->folders[1], index, c, w->planar, w->pixels, error));
    }
    if (w->folders[2])
        SPLAT_TRY(splat_depth_files_write(w->folders[2], index, "mesh", view->name, c, w->maps.depth, w->pixels,
                                          error));
    if (!w->folders[3]) return SPLAT_OK;
    fill_shades(w, c, n);
    return splat_map_png_write(w->folders[3], index, c, 3, 8, w->pixels, error);
}

static splat_status write_view(const view_writer *w, const splat_dataset_view *view, size_t index, splat_error *error)
{
    const splat_camera *c = &view->camera;
    if (w->folders[0]) {
        SPLAT_TRY(splat_mesh_painter_draw(&w->measured.painter, c, w->measured.background, w->planar, NULL, error));
        splat_image_from_planar(w->planar, c->width, c->height, w->pixels);
        SPLAT_TRY(splat_map_png_write(w->folders[0], index, c, 3, 8, w->pixels, error));
    }
    return w->maps.faces ? write_maps(w, view, index, error) : SPLAT_OK;
}

static void writer_close(view_writer *w)
{
    for (int k = 0; k < SPLAT_N_MESH_VIEW_KINDS; k++) free(w->folders[k]);
    splat_measured_mesh_close(&w->measured);
    free(w->maps.faces);
    free(w->maps.depth);
    free(w->maps.front);
    free(w->planar);
    free(w->pixels);
}

/* <folder>/<set>/mesh_<name>/<kind>, for the kinds that are wanted. */
static splat_status make_folders(view_writer *w, const char *folder, const char *set, splat_error *error)
{
    for (int k = 0; k < SPLAT_N_MESH_VIEW_KINDS; k++) {
        if (!(w->kinds & 1u << k)) continue;
        w->folders[k] = splat_format("%s/%s/%s/%s", folder, set, w->measured.name, kind_names[k]);
        if (!w->folders[k]) return splat_fail(error, SPLAT_ERROR_MEMORY, "no memory for a path");
        SPLAT_TRY(splat_folder_create(w->folders[k], error));
    }
    return SPLAT_OK;
}

/* The mesh, and room for the largest view. Close it in either case. */
static splat_status writer_open(view_writer *w, const splat_scene *scene, const char *mesh_path,
                                const splat_mesh_draw_options *options, splat_error *error)
{
    int width, height;
    splat_scene_largest_view(scene, &width, &height);
    size_t n = (size_t)width * (size_t)height;
    SPLAT_TRY(splat_measured_mesh_open(&w->measured, scene, mesh_path, options, error));
    w->pixels = malloc(3 * n);
    bool good = w->pixels != NULL;
    if (w->kinds & (SPLAT_MESH_VIEW_COLOR | SPLAT_MESH_VIEW_NORMAL))
        good = good && (w->planar = malloc(3 * n * sizeof *w->planar));
    if (w->kinds & ~(unsigned)SPLAT_MESH_VIEW_COLOR)
        good = good && (w->maps.faces = malloc(n * sizeof *w->maps.faces)) &&
               (w->maps.depth = malloc(n * sizeof *w->maps.depth));
    if (w->kinds & SPLAT_MESH_VIEW_SHADED) good = good && (w->maps.front = malloc(n));
    if (!good) return splat_fail(error, SPLAT_ERROR_MEMORY, "no memory for pictures of %d x %d", width, height);
    return SPLAT_OK;
}

splat_status splat_mesh_views_write(splat_scene *scene, const char *mesh_path, const splat_view_job *job,
                                    unsigned kinds, const splat_mesh_draw_options *options, const char *folder,
                                    splat_error *error)
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
    splat_status status = writer_open(&w, scene, mesh_path, options, error);
    if (status == SPLAT_OK) status = make_folders(&w, folder, splat_view_set_name(job->set), error);
    for (size_t i = 0; i < n && status == SPLAT_OK; i++) {
        const splat_dataset_view *view = &scene->dataset.views[indices[i]];
        const splat_view_info info = {view->name, view->is_test, view->camera};
        status = write_view(&w, view, i, error);
        if (status == SPLAT_OK) status = splat_view_job_show(job, &info, i, n, error);
    }
    writer_close(&w);
    return status;
}
