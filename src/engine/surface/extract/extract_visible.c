/* The part of a mesh that no training view sees is invented, and goes. */
#include "surface/extract/extract_visible.h"

#include "math/camera.h"
#include "mesh/mesh_visibility.h"
#include "model/mesh_drawer.h"
#include "model/model.h"
#include "scene/scene.h"
#include "surface/extract/extraction.h"
#include "surface/extract/surface_views.h"

#include <math.h>
#include <stdlib.h>

#define SEEN_PIXELS 1e6 /* of a picture at most: faces are about as small, and the rim bridges those missed */

/* With more views only every second, third ... is used: neighbours see nearly the same, and the rim bridges the
 * rest. */
#define MOST_VIEWS 128

/* Cameras closer to their surface than this part of the scene's extent see through it. */
#define SEEN_NEAR 0.002f

typedef struct looking_views {
    splat_scene *scene;
    const splat_camera *cameras;
    size_t step; /* camera i is that of training view i step */
} looking_views;

/* A view did not see the surface at its masked pixels: neither the person in front of the wall, nor the wall. */
static splat_status read_kept(void *user, size_t i, uint8_t *kept, bool *all, splat_error *error)
{
    const looking_views *of = user;
    uint32_t view = of->scene->dataset.train[i * of->step];
    *all = !of->scene->dataset.views[view].has_mask;
    if (*all) return SPLAT_OK;
    return splat_scene_read_mask(of->scene, view, of->cameras[i].width, of->cameras[i].height, kept, error);
}

static splat_status draw_on_device(void *user, const splat_camera *camera, float near, uint32_t *faces, float *depth,
                                   splat_error *error)
{
    return splat_mesh_drawer_draw(user, camera, near, faces, depth, NULL, NULL, error);
}

splat_status splat_extract_drop_invisible(const splat_extraction *e, splat_mesh *mesh, size_t *n_faces,
                                          splat_error *error)
{
    const splat_mesh_extract_options *o = e->options;
    size_t n_views = e->scene->dataset.n_train, step = (n_views + MOST_VIEWS - 1) / MOST_VIEWS, n = 0, n_pixels = 1;
    size_t before = mesh->n_faces;
    bool has_rim = o->unseen_rim >= 0 && o->surface != SPLAT_MESH_CLOSED;
    *n_faces = 0;
    if (!(o->least_seen > 0) && !has_rim) return SPLAT_OK;
    SPLAT_TRY(splat_surface_go_on(o, "looking for what no view sees", 0, error));
    splat_camera *cameras = malloc((n_views + 1) * sizeof *cameras);
    if (!cameras) return splat_fail(error, SPLAT_ERROR_MEMORY, "no memory for %zu cameras", n_views);
    for (size_t i = 0; i < n_views; i += step) {
        cameras[n] = splat_surface_camera_within(e->scene, i, SEEN_PIXELS);
        if (splat_camera_pixels(&cameras[n]) > n_pixels) n_pixels = splat_camera_pixels(&cameras[n]);
        n++;
    }
    splat_mesh_visibility_options options;
    splat_mesh_visibility_options_init(&options);
    options.least_share = o->least_seen;
    options.rim = has_rim ? o->unseen_rim : -1;
    options.near = fmaxf(fminf(options.near, SEEN_NEAR * e->scene->dataset.extent), 1e-6f);
    options.threads = e->threads;
    looking_views views = {e->scene, cameras, step};
    options.kept = read_kept;
    options.kept_user = &views;
    splat_mesh_drawer device = {0};
    if (e->model)
        splat_mesh_drawer_open(&device, e->model->backend, mesh->vertices, mesh->n_vertices, mesh->faces, mesh->n_faces,
                               n_pixels);
    options.draw = device.backend ? draw_on_device : NULL;
    options.draw_user = &device;
    splat_status status = splat_mesh_remove_invisible(mesh, cameras, n, &options, NULL, error);
    splat_mesh_drawer_close(&device);
    free(cameras);
    *n_faces = before - mesh->n_faces;
    if (status == SPLAT_OK && mesh->n_faces == 0)
        status = splat_fail(error, SPLAT_ERROR_NUMERIC,
                            "no training view sees anything of the mesh; `least_seen` 0 and `unseen_rim` -1 keep it");
    return status;
}
