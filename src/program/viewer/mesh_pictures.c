/* Pictures of a mesh. */
#include "viewer/mesh_pictures.h"

#include "base/context.h"
#include "io/picture/colormap.h"
#include "math/camera.h"
#include "mesh/files/mesh_io.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---------------------------------------------------------------- open and close */

static splat_status open_mesh(splat_viewer_mesh *m, const char *path, splat_error *error)
{
    splat_mesh_draw_options options;
    splat_mesh_draw_options_init(&options);
    SPLAT_TRY(splat_mesh_read(path, &m->mesh, error));
    if (m->mesh.notice) splat_log(m->context, SPLAT_LOG_NOTICE, "%s", m->mesh.notice);
    if (m->mesh.n_faces == 0)
        return splat_fail_at(error, SPLAT_ERROR_ARGUMENT, path, SPLAT_NO_OFFSET,
                             "the file has no faces, so there is nothing to draw");
    return splat_mesh_painter_open(&m->painter, &m->mesh, &options, SPLAT_VIEWER_PIXELS_MAX, m->context->threads,
                                   error);
}

splat_status splat_viewer_mesh_open(const splat_context *context, const char *path, splat_viewer_mesh **mesh,
                                    splat_error *error)
{
    splat_viewer_mesh *m = calloc(1, sizeof *m);
    *mesh = NULL;
    if (!m) return splat_fail(error, SPLAT_ERROR_MEMORY, "no memory for a mesh");
    m->context = context;
    splat_status status = open_mesh(m, path, error);
    if (status == SPLAT_OK)
        *mesh = m;
    else
        splat_viewer_mesh_close(m);
    return status;
}

void splat_viewer_mesh_close(splat_viewer_mesh *mesh)
{
    if (!mesh) return;
    splat_mesh_painter_close(&mesh->painter);
    free(mesh->shown.faces);
    splat_mesh_free(&mesh->mesh);
    free(mesh);
}

bool splat_viewer_mesh_has(splat_viewer_kind kind)
{
    return kind != SPLAT_VIEWER_ALPHA && kind != SPLAT_VIEWER_DENSITY;
}

/* ---------------------------------------------------------------- the box */

static bool is_inside(const splat_mesh *mesh, size_t face, const splat_viewer_box *box)
{
    for (size_t k = 0; k < 3; k++) {
        double sum = 0;
        for (size_t corner = 0; corner < 3; corner++)
            sum += (double)mesh->vertices[3 * (size_t)mesh->faces[3 * face + corner] + k];
        if (sum < 3 * box->low[k] || sum > 3 * box->high[k]) return false;
    }
    return true;
}

/* The mesh as the wish's box leaves it; kept until another box is wished. */
static splat_status choose_mesh(splat_viewer_mesh *m, const splat_viewer_wish *wish, const splat_mesh **mesh,
                                splat_error *error)
{
    const size_t n = m->mesh.n_faces;
    *mesh = &m->mesh;
    if (!wish->has_box) return SPLAT_OK;
    *mesh = &m->shown;
    if (m->shown.faces && memcmp(&m->box, &wish->box, sizeof m->box) == 0) return SPLAT_OK;
    uint32_t *faces = m->shown.faces ? m->shown.faces : malloc(3 * n * sizeof *faces);
    if (!faces) return splat_fail(error, SPLAT_ERROR_MEMORY, "no memory for a box around %zu faces", n);
    m->shown = m->mesh;
    m->shown.faces = faces;
    m->box = wish->box;
#pragma omp parallel for schedule(static) num_threads(m->context->threads)
    for (size_t i = 0; i < n; i++) {
        if (is_inside(&m->mesh, i, &m->box))
            memcpy(faces + 3 * i, m->mesh.faces + 3 * i, 3 * sizeof *faces);
        else
            faces[3 * i] = faces[3 * i + 1] = faces[3 * i + 2] = m->mesh.faces[3 * i];
    }
    return SPLAT_OK;
}

/* ---------------------------------------------------------------- pictures */

splat_status splat_viewer_mesh_colors(splat_viewer_mesh *m, const splat_viewer_wish *wish, const splat_camera *camera,
                                      const float background[3], float *image, splat_error *error)
{
    SPLAT_TRY(choose_mesh(m, wish, &m->painter.mesh, error));
    m->painter.options.supersampling = wish->moving ? 1 : 2;
    return splat_mesh_painter_draw(&m->painter, camera, background, image, NULL, error);
}

static uint8_t byte_of(double value)
{
    return (uint8_t)fmin(fmax(value + 0.5, 0), 255);
}

/* Normals of faces in the world as the splat's have it, on the side that is seen; or grey in the light of a lamp at the
 * camera, backs in red. */
static void fill_faces(const splat_viewer_mesh *m, const splat_camera *camera, splat_viewer_kind kind,
                       const float background[3], uint8_t *rgb)
{
    const size_t n = splat_camera_pixels(camera), width = (size_t)camera->width;
    const splat_mesh_raster_maps *maps = &m->painter.maps;
#pragma omp parallel for schedule(static) num_threads(m->context->threads)
    for (size_t i = 0; i < n; i++) {
        double normal[3];
        for (size_t k = 0; k < 3; k++)
            rgb[3 * i + k] = kind == SPLAT_VIEWER_SHADED ? byte_of(255 * (double)background[k]) : 128;
        if (!maps->faces[i]) continue;
        splat_mesh_face_normal(&m->mesh, maps->faces[i] - 1, normal);
        const bool is_front = maps->front[i];
        const double shade = splat_mesh_shade(camera, (double)(i % width), (double)(i / width), normal);
        for (size_t k = 0; k < 3; k++)
            rgb[3 * i + k] = kind == SPLAT_VIEWER_SHADED ? byte_of(is_front || k == 0 ? shade : shade / 4)
                                                         : byte_of(127.5 * (1 + (is_front ? normal[k] : -normal[k])));
    }
}

splat_status splat_viewer_mesh_map(splat_viewer_mesh *m, const splat_viewer_wish *wish, const splat_camera *camera,
                                   const float background[3], float *buffer, uint8_t *rgb, splat_error *error)
{
    const splat_mesh *mesh;
    SPLAT_TRY(choose_mesh(m, wish, &mesh, error));
    splat_mesh_raster_maps *maps = &m->painter.maps;
    maps->front = (uint8_t *)buffer;
    splat_status status = splat_mesh_rasterize(mesh, camera, &m->painter.raster, maps, error);
    if (status == SPLAT_OK && wish->kind == SPLAT_VIEWER_DEPTH)
        splat_depth_heatmap(splat_camera_pixels(camera), maps->depth, rgb);
    else if (status == SPLAT_OK)
        fill_faces(m, camera, wish->kind, background, rgb);
    maps->front = NULL;
    return status;
}
