/* Chooses the Gaussians of a splat that stay free. */
#include "surface/refine/refine_rest.h"

#include "base/context.h"
#include "math/camera.h"
#include "mesh/mesh_bvh.h"
#include "model/clean.h"
#include "model/files.h"
#include "model/render.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define LEAST_LIGHT 0.1f /* of a pixel */
#define FAR 3.0          /* pixels from the mesh */

typedef struct candidate {
    uint32_t views; /* that show it; 0: it is no rest */
    uint32_t index;
} candidate;

static splat_status count_views(splat_scene *scene, splat_model *model, uint32_t *counts, splat_error *error)
{
    const size_t bytes = model->gaussians.n * sizeof *counts;
    splat_block blocks[2] = {{0}};
    splat_status status = SPLAT_OK;
    for (int i = 0; i < 2 && status == SPLAT_OK; i++) {
        status = splat_block_resize(model->backend, &blocks[i], i ? "views" : "stamps", SPLAT_OWNER_OTHER, bytes,
                                    error);
        if (status == SPLAT_OK) status = splat_backend_zero(model->backend, blocks[i].data, bytes, error);
    }
    const struct splat_view_count_args args = {
        .weight = LEAST_LIGHT, .stamps = blocks[0].data, .counts = blocks[1].data};
    if (status == SPLAT_OK)
        status = splat_model_count_views(model, scene->train_cameras, scene->dataset.n_train,
                                         splat_model_max_instances(model), args, NULL, NULL, error);
    if (status == SPLAT_OK) status = splat_backend_download(model->backend, counts, blocks[1].data, bytes, error);
    for (int i = 0; i < 2; i++) splat_block_free(model->backend, &blocks[i]);
    return status;
}

/* The width of a pixel at a place, in the training view where it is least; INFINITY if no view contains the place. */
static double pixel_at(const splat_scene *scene, const float place[3])
{
    double least = INFINITY;
    for (size_t i = 0; i < scene->dataset.n_train; i++) {
        const splat_camera *c = &scene->train_cameras[i];
        double p[3];
        for (int k = 0; k < 3; k++)
            p[k] = (double)c->rotation[3 * k] * (double)place[0] + (double)c->rotation[3 * k + 1] * (double)place[1] +
                   (double)c->rotation[3 * k + 2] * (double)place[2] + (double)c->translation[k];
        if (!(p[2] > 0)) continue;
        const double x = (double)c->fx * p[0] / p[2] + (double)c->cx, y = (double)c->fy * p[1] / p[2] + (double)c->cy;
        if (x >= 0 && y >= 0 && x < c->width && y < c->height) least = fmin(least, p[2] / (double)fmaxf(c->fx, c->fy));
    }
    return least;
}

static int compare(const void *a, const void *b)
{
    const candidate *p = a, *q = b;
    if (p->views != q->views) return p->views > q->views ? -1 : 1;
    return p->index < q->index ? -1 : p->index > q->index;
}

static splat_status choose(splat_scene *scene, const splat_cloud *cloud, const splat_mesh *mesh, int threads,
                           const uint32_t *counts, size_t most, uint8_t *keep, splat_error *error)
{
    splat_mesh_bvh bvh;
    const int64_t n = (int64_t)cloud->n;
    candidate *all = malloc(cloud->n * sizeof *all + 1);
    if (!all) return splat_fail(error, SPLAT_ERROR_MEMORY, "no memory to look at %zu Gaussians", cloud->n);
    splat_status status = splat_mesh_bvh_make(mesh, &bvh, error);
    if (status != SPLAT_OK) {
        free(all);
        return status;
    }
#pragma omp parallel for num_threads(threads) schedule(dynamic, 256)
    for (int64_t i = 0; i < n; i++) {
        const float *m = cloud->means + 3 * i;
        const double place[3] = {(double)m[0], (double)m[1], (double)m[2]};
        const bool is_rest =
            counts[i] > 0 && splat_mesh_bvh_nearest(&bvh, place, NULL) > FAR * pixel_at(scene, m);
        all[i] = (candidate){is_rest ? counts[i] : 0, (uint32_t)i};
    }
    splat_mesh_bvh_free(&bvh);
    qsort(all, cloud->n, sizeof *all, compare);
    for (size_t i = 0; i < cloud->n; i++) keep[all[i].index] = i < most && all[i].views > 0;
    free(all);
    return SPLAT_OK;
}

static bool is_inside(const splat_refine_input *input, const float mean[3])
{
    for (int k = 0; k < 3 && input->has_bbox; k++)
        if (!((double)mean[k] >= input->bbox_low[k] && (double)mean[k] <= input->bbox_high[k])) return false;
    return true;
}

static splat_status find(splat_context *context, splat_scene *scene, const splat_refine_input *input,
                         splat_model *model, const splat_mesh *mesh, size_t most, splat_cloud *rest,
                         splat_error *error)
{
    splat_cloud cloud;
    const size_t n = model->gaussians.n;
    SPLAT_TRY(splat_model_download(model, &cloud, error));
    uint32_t *counts = malloc(n * sizeof *counts + 1);
    uint8_t *keep = malloc(n + 1);
    splat_status status = counts && keep
                              ? count_views(scene, model, counts, error)
                              : splat_fail(error, SPLAT_ERROR_MEMORY, "no memory to look at %zu Gaussians", n);
    for (size_t i = 0; i < n && status == SPLAT_OK; i++)
        if (!is_inside(input, cloud.means + 3 * i)) counts[i] = 0;
    if (status == SPLAT_OK) status = choose(scene, &cloud, mesh, context->threads, counts, most, keep, error);
    splat_cloud_free(&cloud);
    if (status == SPLAT_OK && memchr(keep, 1, n)) {
        status = splat_model_keep(model, keep, error);
        if (status == SPLAT_OK) status = splat_model_download(model, rest, error);
        if (status == SPLAT_OK) splat_cloud_bake_filter(rest);
    }
    free(counts);
    free(keep);
    return status;
}

splat_status splat_refine_rest_find(splat_context *context, splat_scene *scene, const splat_refine_input *input,
                                    const splat_mesh *mesh, size_t most, splat_cloud *rest, splat_error *error)
{
    splat_model *model;
    *rest = (splat_cloud){0};
    SPLAT_TRY(splat_model_load(context, input->splat_path, &model, error));
    splat_status status = model->gaussians.n ? find(context, scene, input, model, mesh, most, rest, error) : SPLAT_OK;
    splat_model_destroy(model);
    return status;
}
