/* Whether a mesh belongs to the scene: how much of the training views it fills. */
#include "math/camera.h"
#include "mesh/mesh_raster.h"
#include "scene/scene.h"
#include "surface/refine/refine_parts.h"

#include <stdlib.h>

#define VIEWS 24       /* evenly over the training views; all of them when these see nothing */
#define SIDE 160       /* pixels of a view's longer side */
#define FEW 0.03       /* of the pixels */

typedef struct coverage {
    const splat_trainer *t;
    const splat_mesh *mesh;
    splat_mesh_raster_options options;
    splat_mesh_raster_maps maps;
    size_t n_pixels, n_covered;
} coverage;

static splat_status add_view(coverage *c, size_t number, splat_error *error)
{
    const splat_dataset *dataset = &c->t->scene->dataset;
    splat_camera camera = dataset->views[dataset->train[number]].camera;
    int longer = camera.width > camera.height ? camera.width : camera.height;
    int width = camera.width * SIDE / longer, height = camera.height * SIDE / longer;
    if (longer > SIDE) camera = splat_camera_resized(&camera, width > 0 ? width : 1, height > 0 ? height : 1);
    SPLAT_TRY(splat_mesh_rasterize(c->mesh, &camera, &c->options, &c->maps, error));
    size_t n = splat_camera_pixels(&camera);
    c->n_pixels += n;
    for (size_t i = 0; i < n; i++) c->n_covered += c->maps.faces[i] != 0;
    return SPLAT_OK;
}

static splat_status add_views(coverage *c, size_t n_views, splat_error *error)
{
    size_t n_train = c->t->scene->dataset.n_train;
    for (size_t i = 0; i < n_views; i++) SPLAT_TRY(add_view(c, i * n_train / n_views, error));
    if (c->n_covered > 0 || n_views == n_train) return SPLAT_OK;
    return add_views(c, n_train, error);
}

static splat_status judge(const coverage *c, const char *path, splat_error *error)
{
    const char *scene = c->t->scene->options.source_path;
    double share = (double)c->n_covered / (double)c->n_pixels;
    if (c->n_covered == 0)
        return splat_fail_at(error, SPLAT_ERROR_FORMAT, path, SPLAT_NO_OFFSET,
                             "no training view of %s sees this mesh; was it made from this scene?", scene);
    if (share < FEW)
        splat_log(c->t->context, SPLAT_LOG_WARNING,
                  "the mesh fills %.1f %% of the training views of %s; was it made from this scene?", 100 * share,
                  scene);
    return SPLAT_OK;
}

splat_status splat_refine_check_coverage(const splat_trainer *t, const splat_mesh *mesh, const char *path,
                                         splat_error *error)
{
    coverage c = {.t = t, .mesh = mesh};
    size_t n_train = t->scene->dataset.n_train;
    splat_mesh_raster_options_init(&c.options);
    c.options.threads = t->context->threads;
    c.maps = (splat_mesh_raster_maps){.faces = malloc((size_t)SIDE * SIDE * sizeof *c.maps.faces),
                                      .depth = malloc((size_t)SIDE * SIDE * sizeof *c.maps.depth)};
    splat_status status = c.maps.faces && c.maps.depth
                              ? add_views(&c, n_train < VIEWS ? n_train : VIEWS, error)
                              : splat_fail(error, SPLAT_ERROR_MEMORY, "no memory for a view of the mesh");
    if (status == SPLAT_OK) status = judge(&c, path, error);
    free(c.maps.faces);
    free(c.maps.depth);
    return status;
}
