/* Reading a mesh, and the painter of it. */
#include "measure/measured_mesh.h"

#include "base/file.h"
#include "base/options.h"
#include "io/dome_file.h"
#include "mesh/files/mesh_io.h"

#include <stdlib.h>
#include <string.h>

char *splat_measured_mesh_name(const char *mesh_path)
{
    const char *name = splat_basename(mesh_path), *end = strrchr(name, '.');
    int length = (int)(end && end > name ? (size_t)(end - name) : strlen(name));
    return splat_format("mesh_%.*s", length, name);
}

static splat_status read_sky(splat_measured_mesh *measured, const char *mesh_path, splat_error *error)
{
    char *path = splat_dome_path_next_to(mesh_path);
    splat_status status = path ? SPLAT_OK : splat_fail(error, SPLAT_ERROR_MEMORY, "no memory for a path");
    if (status == SPLAT_OK && splat_path_exists(path)) status = splat_dome_read(path, &measured->painter.dome, error);
    free(path);
    return status;
}

splat_status splat_measured_mesh_open_for(splat_measured_mesh *measured, const splat_context *context,
                                          const char *mesh_path, const splat_mesh_draw_options *options,
                                          size_t n_pixels, splat_error *error)
{
    splat_mesh_draw_options own;
    memset(measured, 0, sizeof *measured);
    splat_mesh_draw_options_init(&own);
    if (options) SPLAT_TRY(splat_options_take(&own, options, "splat_mesh_draw_options", error));
    SPLAT_TRY(splat_mesh_draw_options_check(&own, error));
    measured->name = splat_measured_mesh_name(mesh_path);
    if (!measured->name) return splat_fail(error, SPLAT_ERROR_MEMORY, "no memory for a name");
    SPLAT_TRY(splat_mesh_read(mesh_path, &measured->mesh, error));
    if (measured->mesh.notice) splat_log(context, SPLAT_LOG_NOTICE, "%s", measured->mesh.notice);
    if (measured->mesh.n_faces == 0)
        return splat_fail_at(error, SPLAT_ERROR_ARGUMENT, mesh_path, SPLAT_NO_OFFSET,
                             "the file has no faces, so there is nothing to draw");
    SPLAT_TRY(splat_mesh_painter_open(&measured->painter, &measured->mesh, &own, n_pixels, context->threads, error));
    return read_sky(measured, mesh_path, error);
}

splat_status splat_measured_mesh_open(splat_measured_mesh *measured, const splat_scene *scene, const char *mesh_path,
                                      const splat_mesh_draw_options *options, splat_error *error)
{
    int width, height;
    splat_scene_largest_view(scene, &width, &height);
    splat_status status = splat_measured_mesh_open_for(measured, scene->context, mesh_path, options,
                                                       (size_t)width * (size_t)height, error);
    splat_scene_background(scene, measured->background);
    return status;
}

void splat_measured_mesh_close(splat_measured_mesh *measured)
{
    splat_mesh_painter_close(&measured->painter);
    free((void *)measured->painter.dome.colors);
    splat_mesh_free(&measured->mesh);
    free(measured->name);
}
