/* A textured mesh from the file of a mesh. */
#include "splatsmith/texture.h"

#include "base/file.h"
#include "base/options.h"
#include "io/dome_file.h"
#include "mesh/files/mesh_io.h"
#include "texture/paint.h"

#include <stdlib.h>

/* Before the work, which takes minutes. */
static splat_status check_outputs(const char *const *paths, size_t n, splat_error *error)
{
    for (size_t i = 0; i < n; i++) {
        SPLAT_TRY(splat_folder_create_for(paths[i], error));
        SPLAT_TRY(splat_save_check(paths[i], error));
    }
    return SPLAT_OK;
}

/* The sky for a file of the mesh; dome->colors is NULL without one. */
static splat_status read_sky(const splat_texture_options *options, splat_dome *dome, splat_error *error)
{
    *dome = (splat_dome){.colors = NULL};
    return options->sky && !options->no_sky ? splat_dome_read(options->sky, dome, error) : SPLAT_OK;
}

static splat_status write_sky(const char *mesh_path, const splat_dome *dome, splat_error *error)
{
    if (!dome->colors) return SPLAT_OK;
    char *path = splat_dome_path_next_to(mesh_path);
    splat_status status = path ? splat_dome_write(path, dome, error)
                               : splat_fail(error, SPLAT_ERROR_MEMORY, "no memory for a path");
    free(path);
    return status;
}

splat_status splat_texture_make(splat_context *context, splat_scene *scene, const char *mesh_path, splat_model *model,
                                const splat_texture_options *options, const char *const *paths, size_t n_paths,
                                splat_texture_info *info, splat_error *error)
{
    splat_mesh mesh = {0};
    splat_texture_options own;
    splat_mesh_write_options format;
    SPLAT_TRY(splat_texture_options_check(options, error));
    splat_texture_options_init(&own);
    SPLAT_TRY(splat_options_take(&own, options, "splat_texture_options", error));
    splat_mesh_write_options_init(&format);
    format.jpeg_quality = own.jpeg_quality;
    format.is_lit = own.is_lit;
    splat_scene_up(scene, format.up);
    format.is_metric = splat_scene_is_metric(scene);
    SPLAT_TRY(check_outputs(paths, n_paths, error));
    SPLAT_TRY(splat_mesh_read(mesh_path, &mesh, error));
    splat_status status = read_sky(&own, &format.sky, error);
    if (status == SPLAT_OK) status = splat_texture_paint(context, scene, &mesh, model, options, info, error);
    for (size_t i = 0; i < n_paths && status == SPLAT_OK; i++) {
        status = splat_mesh_write_as(paths[i], &mesh, &format, error);
        if (status == SPLAT_OK) status = write_sky(paths[i], &format.sky, error);
    }
    splat_mesh_free(&mesh);
    free((void *)format.sky.colors);
    return status;
}
