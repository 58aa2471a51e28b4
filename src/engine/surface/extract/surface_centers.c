/* The centres of a splat's opaque Gaussians as points: SuGaR's comparison without level sets. */
#include "surface/extract/surface_centers.h"

#include "io/picture/image_write.h"
#include "scene/scene.h"
#include "surface/extract/extraction.h"
#include "surface/extract/surface_levels.h"
#include "surface/extract/surface_views.h"

#include "math/camera.h"
#include "math/density.h"
#include "math/sh.h"
#include "ops/visibility_buffer/visibility_buffer.h"

#include <math.h>
#include <stdlib.h>

typedef struct center_work {
    splat_model *model;
    const splat_surface_gaussians *opaque;
    float *means, *scales, *rotations; /* theirs, on the host */
    float *colors;      /* all of the model's */
    float *facing;      /* [n] sum over the pixels that show the Gaussian: cosine of its shortest axis and the camera */
    uint32_t *host_ids; /* of a view */
    splat_block ids, depth;
} center_work;

static void close_work(center_work *w)
{
    splat_block_free(w->model->backend, &w->ids);
    splat_block_free(w->model->backend, &w->depth);
    free(w->means);
    free(w->scales);
    free(w->rotations);
    free(w->colors);
    free(w->facing);
    free(w->host_ids);
}

static splat_status open_work(center_work *w, size_t n_pixels, splat_error *error)
{
    const splat_gaussians *g = &w->opaque->g;
    splat_backend *b = w->model->backend;
    size_t n = g->n, vector = 3 * n * sizeof(float), color_bytes = 3 * w->model->gaussians.n * sizeof(float);
    size_t map = n_pixels * sizeof(uint32_t);
    w->means = malloc(vector);
    w->scales = malloc(vector);
    w->rotations = malloc(4 * n * sizeof(float));
    w->colors = malloc(color_bytes);
    w->facing = calloc(n, sizeof(float));
    w->host_ids = malloc(map);
    if (!w->means || !w->scales || !w->rotations || !w->colors || !w->facing || !w->host_ids)
        return splat_fail(error, SPLAT_ERROR_MEMORY, "no memory for the centres of %zu Gaussians", n);
    SPLAT_TRY(splat_backend_download(b, w->means, g->p.means, vector, error));
    SPLAT_TRY(splat_backend_download(b, w->scales, g->p.scales, vector, error));
    SPLAT_TRY(splat_backend_download(b, w->rotations, g->p.rotations, 4 * n * sizeof(float), error));
    SPLAT_TRY(splat_backend_download(b, w->colors, w->model->gaussians.p.sh_dc, color_bytes, error));
    SPLAT_TRY(splat_block_resize(b, &w->ids, "front ids", SPLAT_OWNER_OTHER, map, error));
    return splat_block_resize(b, &w->depth, "front depth", SPLAT_OWNER_OTHER, map, error);
}

static void axis_of(const center_work *w, size_t i, float axis[3])
{
    splat_density_kernel g = splat_density_kernel_make(w->means + 3 * i, w->scales + 3 * i, w->rotations + 4 * i, 0);
    for (int k = 0; k < 3; k++) axis[k] = g.axes[3 * splat_density_short_axis(&g) + k];
}

/* Every pixel votes for the side from which it sees its Gaussian. */
static splat_status look(center_work *w, splat_scene *scene, uint32_t view, const splat_camera *camera,
                         splat_error *error)
{
    splat_backend *b = w->model->backend;
    size_t n = splat_camera_pixels(camera);
    struct splat_visibility_buffer_args front = {&w->opaque->g, camera, w->ids.data, w->depth.data};
    SPLAT_TRY(splat_op_visibility_buffer(b, &front, error));
    SPLAT_TRY(splat_backend_download(b, w->host_ids, w->ids.data, n * sizeof *w->host_ids, error));
    SPLAT_TRY(splat_surface_hide_masked(scene, view, camera, w->host_ids, error));
    for (size_t i = 0; i < n; i++) {
        float axis[3], along = 0, length2 = 0;
        if (!w->host_ids[i]) continue;
        size_t id = w->host_ids[i] - 1;
        axis_of(w, id, axis);
        for (int k = 0; k < 3; k++) {
            float d = camera->center[k] - w->means[3 * id + (size_t)k];
            along += axis[k] * d;
            length2 += d * d;
        }
        w->facing[id] += along / sqrtf(length2);
    }
    return SPLAT_OK;
}

static void add_points(const center_work *w, splat_surface_points *points)
{
    for (size_t i = 0; i < w->opaque->g.n; i++) {
        float normal[3];
        uint8_t color[3];
        if (!(w->facing[i] != 0)) continue; /* no pixel shows it */
        axis_of(w, i, normal);
        for (int k = 0; k < 3; k++) {
            if (w->facing[i] < 0) normal[k] = -normal[k];
            color[k] = splat_image_byte(0.5f + SPLAT_SH_C0 * w->colors[3 * (size_t)w->opaque->index[i] + (size_t)k]);
        }
        splat_surface_points_add(points, w->means + 3 * i, normal, color);
    }
}

static splat_status collect(center_work *w, splat_scene *scene, const splat_mesh_extract_options *options,
                            splat_surface_points *points, splat_error *error)
{
    SPLAT_TRY(open_work(w, splat_surface_pixels(scene, options->resolution_factor), error));
    for (size_t i = 0, n = scene->dataset.n_train; i < n; i++) {
        splat_camera camera = splat_surface_camera(scene, i, options->resolution_factor);
        SPLAT_TRY(splat_surface_go_on(options, "looking at the centres", (double)i / (double)n, error));
        SPLAT_TRY(look(w, scene, scene->dataset.train[i], &camera, error));
    }
    add_points(w, points);
    if (points->n > 0) return SPLAT_OK;
    return splat_fail(error, SPLAT_ERROR_NUMERIC,
                      "no training view sees one of the splat's %u opaque Gaussians; is it a splat of this scene?",
                      w->opaque->g.n);
}

splat_status splat_surface_centers(splat_scene *scene, splat_model *model, const splat_surface_gaussians *opaque,
                                   const splat_mesh_extract_options *options, splat_surface_points *points,
                                   splat_error *error)
{
    center_work w = {.model = model, .opaque = opaque};
    splat_status status = collect(&w, scene, options, points, error);
    close_work(&w);
    return status;
}
