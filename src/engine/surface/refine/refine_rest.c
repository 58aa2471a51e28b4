/* Chooses the Gaussians of a splat that stay free. */
#include "surface/refine/refine_rest.h"

#include "base/context.h"
#include "math/camera.h"
#include "mesh/mesh_raster.h"
#include "model/clean.h"
#include "model/files.h"
#include "model/mesh_drawer.h"
#include "model/render.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define LEAST_LIGHT (1 / 30.0f) /* of a pixel */
#define BEHIND 0.1f             /* of the splat's depth: a mesh that lies farther behind shows another thing */
#define NEAR_PART 0.002f        /* of the extent: nearer surface is not drawn */

/* Kinds of pixels that lack the mesh: holes come first. */
typedef enum lack { HOLES, BEHINDS, N_LACKS } lack;

typedef struct candidate {
    uint32_t views[N_LACKS]; /* that need it; zeros: it is no rest */
    uint32_t index;
} candidate;

/* ---------------------------------------------------------------- pixels that lack the mesh */

enum { STAMPS, COUNTS, MASK, N_BLOCKS };

typedef struct lacking {
    splat_scene *scene;
    splat_model *model;
    const splat_mesh *mesh;
    splat_mesh_drawer device; /* closed: the threads draw */
    splat_block blocks[N_BLOCKS];
    uint32_t *faces; /* of a view, as all that follows */
    float *depth, *median;
    uint8_t *mask;
    lack which;
} lacking;

static splat_status draw(lacking *l, const splat_camera *camera, splat_error *error)
{
    const float near = fmaxf(fminf(0.01f, NEAR_PART * l->scene->dataset.extent), 1e-6f);
    const splat_mesh_raster_options raster = {near, l->model->context->threads};
    const splat_mesh_raster_maps maps = {.faces = l->faces, .depth = l->depth};
    if (!l->device.backend) return splat_mesh_rasterize(l->mesh, camera, &raster, &maps, error);
    return splat_mesh_drawer_draw(&l->device, camera, near, l->faces, l->depth, NULL, NULL, error);
}

static splat_status find_median(lacking *l, const splat_camera *camera, splat_error *error)
{
    splat_model_geometry geometry;
    SPLAT_TRY(splat_model_rasterize_geometry(l->model, &l->model->frame, camera, false, false, &geometry, error));
    SPLAT_TRY(splat_backend_download(l->model->backend, l->median, geometry.median,
                                     splat_camera_pixels(camera) * sizeof *l->median, error));
    return splat_backend_synchronize(l->model->backend, error);
}

/* The mask keeps the pixels of the photo that show no mesh, or those with mesh far behind what the splat shows. */
static splat_status mask_view(void *user, size_t i, const uint8_t **mask, splat_error *error)
{
    lacking *l = user;
    const splat_camera *camera = &l->scene->train_cameras[i];
    const uint32_t view = l->scene->dataset.train[i];
    const bool has_mask = l->scene->dataset.views[view].has_mask && l->scene->dataset.mask_mode != SPLAT_MASKS_ALPHA;
    const size_t n = splat_camera_pixels(camera);
    SPLAT_TRY(draw(l, camera, error));
    if (l->which == BEHINDS) SPLAT_TRY(find_median(l, camera, error));
    memset(l->mask, 1, n);
    if (has_mask)
        SPLAT_TRY(splat_scene_read_mask(l->scene, view, camera->width, camera->height, l->mask, error));
#pragma omp parallel for schedule(static) num_threads(l->model->context->threads)
    for (size_t k = 0; k < n; k++) {
        const bool lacks = l->which == HOLES ? !l->faces[k]
                                             : l->median[k] > 0 && l->depth[k] > (1 + BEHIND) * l->median[k];
        l->mask[k] = l->mask[k] && lacks ? UINT8_MAX : 0;
    }
    SPLAT_TRY(splat_backend_upload_and_wait(l->model->backend, l->blocks[MASK].data, l->mask, n, error));
    *mask = l->blocks[MASK].data;
    return SPLAT_OK;
}

static splat_status make_room(lacking *l, size_t n_pixels, splat_error *error)
{
    static const char *const names[N_BLOCKS] = {"stamps", "views", "mask"};
    splat_backend *b = l->model->backend;
    l->faces = malloc(n_pixels * sizeof *l->faces);
    l->depth = malloc(n_pixels * sizeof *l->depth);
    l->median = malloc(n_pixels * sizeof *l->median);
    l->mask = malloc(n_pixels);
    if (!l->faces || !l->depth || !l->median || !l->mask)
        return splat_fail(error, SPLAT_ERROR_MEMORY, "no memory for a view of the mesh");
    for (int i = 0; i < N_BLOCKS; i++)
        SPLAT_TRY(splat_block_resize(b, &l->blocks[i], names[i], SPLAT_OWNER_OTHER,
                                     i == MASK ? n_pixels : l->model->gaussians.n * sizeof(uint32_t), error));
    splat_mesh_drawer_open(&l->device, b, l->mesh->vertices, l->mesh->n_vertices, l->mesh->faces, l->mesh->n_faces,
                           n_pixels);
    return SPLAT_OK;
}

static void free_room(lacking *l)
{
    for (int i = 0; i < N_BLOCKS; i++) splat_block_free(l->model->backend, &l->blocks[i]);
    splat_mesh_drawer_close(&l->device);
    free(l->faces);
    free(l->depth);
    free(l->median);
    free(l->mask);
}

/* counts[n]: the views that need each Gaussian in pixels of that kind. */
static splat_status count_views(lacking *l, lack which, uint32_t *counts, splat_error *error)
{
    splat_model *model = l->model;
    const size_t bytes = model->gaussians.n * sizeof *counts;
    const struct splat_view_count_args args = {
        .weight = LEAST_LIGHT, .stamps = l->blocks[STAMPS].data, .counts = l->blocks[COUNTS].data};
    l->which = which;
    for (int i = STAMPS; i <= COUNTS; i++)
        SPLAT_TRY(splat_backend_zero(model->backend, l->blocks[i].data, bytes, error));
    SPLAT_TRY(splat_model_count_views(model, l->scene->train_cameras, l->scene->dataset.n_train,
                                      splat_model_max_instances(model), args, mask_view, l, error));
    SPLAT_TRY(splat_backend_download(model->backend, counts, l->blocks[COUNTS].data, bytes, error));
    return splat_backend_synchronize(model->backend, error);
}

/* ---------------------------------------------------------------- the choice */

static int compare(const void *a, const void *b)
{
    const candidate *p = a, *q = b;
    for (int k = 0; k < N_LACKS; k++)
        if (p->views[k] != q->views[k]) return p->views[k] > q->views[k] ? -1 : 1;
    return p->index < q->index ? -1 : p->index > q->index;
}

static bool is_inside(const splat_refine_input *input, const float mean[3])
{
    for (int k = 0; k < 3 && input->has_bbox; k++)
        if (!((double)mean[k] >= input->bbox_low[k] && (double)mean[k] <= input->bbox_high[k])) return false;
    return true;
}

/* Fills all[n]. What lies behind is asked only where holes leave room. */
static splat_status ask_views(lacking *l, const splat_refine_input *input, const splat_cloud *cloud, size_t most,
                              uint32_t *counts, candidate *all, splat_error *error)
{
    size_t n_needed = 0;
    for (size_t i = 0; i < cloud->n; i++) all[i] = (candidate){.index = (uint32_t)i};
    for (int which = HOLES; which < N_LACKS && n_needed < most; which++) {
        SPLAT_TRY(count_views(l, which, counts, error));
        n_needed = 0;
        for (size_t i = 0; i < cloud->n; i++) {
            if (is_inside(input, cloud->means + 3 * i)) all[i].views[which] = counts[i];
            n_needed += all[i].views[HOLES] || all[i].views[BEHINDS];
        }
    }
    return SPLAT_OK;
}

/* keep[n]: 1 for those that holes in the most views need, then for those that the most views need. */
static splat_status choose(lacking *l, const splat_refine_input *input, const splat_cloud *cloud, size_t most,
                           uint8_t *keep, splat_error *error)
{
    int width, height;
    uint32_t *counts = malloc(cloud->n * sizeof *counts);
    candidate *all = malloc(cloud->n * sizeof *all);
    splat_scene_largest_view(l->scene, &width, &height);
    splat_status status = counts && all ? make_room(l, (size_t)width * (size_t)height, error)
                                        : splat_fail(error, SPLAT_ERROR_MEMORY, "no memory to look at %zu Gaussians",
                                                     cloud->n);
    if (status == SPLAT_OK) status = ask_views(l, input, cloud, most, counts, all, error);
    if (status == SPLAT_OK) qsort(all, cloud->n, sizeof *all, compare);
    for (size_t i = 0; i < cloud->n && status == SPLAT_OK; i++)
        keep[all[i].index] = i < most && (all[i].views[HOLES] || all[i].views[BEHINDS]);
    free_room(l);
    free(counts);
    free(all);
    return status;
}

static splat_status find(splat_scene *scene, const splat_refine_input *input, splat_model *model,
                         const splat_mesh *mesh, size_t most, splat_cloud *rest, splat_error *error)
{
    splat_cloud cloud;
    lacking l = {.scene = scene, .model = model, .mesh = mesh};
    uint8_t *keep = calloc(model->gaussians.n, 1);
    if (!keep)
        return splat_fail(error, SPLAT_ERROR_MEMORY, "no memory to look at %u Gaussians", model->gaussians.n);
    splat_status status = splat_model_download(model, &cloud, error);
    if (status == SPLAT_OK) {
        status = choose(&l, input, &cloud, most, keep, error);
        splat_cloud_free(&cloud);
    }
    if (status == SPLAT_OK && memchr(keep, 1, model->gaussians.n)) {
        status = splat_model_keep(model, keep, error);
        if (status == SPLAT_OK) status = splat_model_download(model, rest, error);
        if (status == SPLAT_OK) splat_cloud_bake_filter(rest);
    }
    free(keep);
    return status;
}

splat_status splat_refine_rest_find(splat_context *context, splat_scene *scene, const splat_refine_input *input,
                                    const splat_mesh *mesh, size_t most, splat_cloud *rest, splat_error *error)
{
    splat_model *model;
    *rest = (splat_cloud){0};
    SPLAT_TRY(splat_model_load(context, input->splat_path, &model, error));
    splat_status status = model->gaussians.n ? find(scene, input, model, mesh, most, rest, error) : SPLAT_OK;
    splat_model_destroy(model);
    return status;
}
