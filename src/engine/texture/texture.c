/* A textured mesh and its coarser levels, from the file of a mesh. */
#include "splatsmith/texture.h"

#include "base/file.h"
#include "base/options.h"
#include "base/plural.h"
#include "io/dome_file.h"
#include "mesh/files/mesh_io.h"
#include "texture/lods.h"
#include "texture/paint.h"

#include <stdlib.h>

#define MOST_LODS 8 /* as texture_options.def has it */

/* A texture in work. */
typedef struct texture_work {
    splat_context *context;
    splat_scene *scene;
    splat_texture_options options;
    splat_mesh_write_options format;
    splat_mesh mesh;
    const char *const *paths;
    size_t n_paths;
} texture_work;

/* The path of file i of a level, malloc'd; level 0 has the path that was asked for. NULL: memory is exhausted. */
static char *level_path(const texture_work *w, size_t i, int level)
{
    return level ? splat_lod_path(w->paths[i], level) : splat_format("%s", w->paths[i]);
}

static splat_status check_output(const char *path, splat_error *error)
{
    if (!path) return splat_fail(error, SPLAT_ERROR_MEMORY, "no memory for a path");
    SPLAT_TRY(splat_folder_create_for(path, error));
    return splat_save_check(path, error);
}

/* Before the work, which takes minutes. */
static splat_status check_outputs(const texture_work *w, splat_error *error)
{
    splat_status status = SPLAT_OK;
    for (int level = 0; level <= w->options.lods; level++)
        for (size_t i = 0; i < w->n_paths && status == SPLAT_OK; i++) {
            char *path = level_path(w, i, level);
            status = check_output(path, error);
            free(path);
        }
    return status;
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

static splat_status go_on(const texture_work *w, const char *stage, splat_error *error)
{
    const splat_texture_options *o = &w->options;
    if (!o->progress || o->progress(o->progress_user, stage, 0)) return SPLAT_OK;
    return splat_fail(error, SPLAT_ERROR_STOPPED, "stopped while %s", stage);
}

/* The sky is in level 0 only: engines show all levels at one place, and one sky is enough. */
static splat_status write_level(const texture_work *w, int level, splat_error *error)
{
    splat_status status = go_on(w, "writing", error);
    for (size_t i = 0; i < w->n_paths && status == SPLAT_OK; i++) {
        splat_mesh_write_options format = w->format;
        char *path = level_path(w, i, level), *name = splat_lod_name(w->paths[i], level);
        if (level) format.sky.colors = NULL;
        if (w->options.lods) format.name = name;
        status = path && name ? splat_mesh_write_as(path, &w->mesh, &format, error)
                              : splat_fail(error, SPLAT_ERROR_MEMORY, "no memory for a path");
        if (status == SPLAT_OK) status = write_sky(path, &format.sky, error);
        free(path);
        free(name);
    }
    return status;
}

static splat_status check_memory(const texture_work *w, splat_error *error)
{
    char text[2][32];
    const uint64_t needed = splat_lod_bytes(w->mesh.n_vertices, w->mesh.n_faces), limit = w->options.max_host_bytes;
    if (!w->options.lods || !limit || needed <= limit) return SPLAT_OK;
    return splat_fail(error, SPLAT_ERROR_MEMORY, "coarser levels of a mesh of %zu faces need %s of host memory, and "
                      "the limit is %s; allow more with `max_host_memory`, or leave `lods` out", w->mesh.n_faces,
                      splat_bytes_format(needed, text[0], sizeof text[0]),
                      splat_bytes_format(limit, text[1], sizeof text[1]));
}

/* Paints one level after another, each from the level before, and the photos from the scene's cache. */
static splat_status make_lods(texture_work *w, splat_texture_info *info, splat_error *error)
{
    splat_texture_options options = w->options;
    options.postprocess_mesh = false; /* its faces went before level 0 */
    for (int level = 1; level <= w->options.lods; level++) {
        splat_texture_info own;
        char *why;
        SPLAT_TRY(splat_lod_coarsen(&w->mesh, &options, w->context->threads, &why, error));
        if (why) {
            splat_log(w->context, SPLAT_LOG_NOTICE, "level %d of the mesh and coarser ones are left out: %s", level,
                      why);
            free(why);
            return SPLAT_OK;
        }
        splat_lod_next_options(&options);
        SPLAT_TRY(splat_texture_paint(w->context, w->scene, &w->mesh, NULL, &options, &own, error));
        SPLAT_TRY(write_level(w, level, error));
        splat_log(w->context, SPLAT_LOG_NOTICE, "level %d of the mesh: %zu faces, %zu page%s of %d x %d texels", level,
                  own.n_faces, own.n_pages, splat_plural(own.n_pages), own.width, own.height);
        if (own.host_bytes > info->host_bytes) info->host_bytes = own.host_bytes;
        info->n_lods++;
    }
    return SPLAT_OK;
}

/* Levels of an earlier run do not fit the new mesh. */
static splat_status name_other_levels(const texture_work *w, int n_lods, splat_error *error)
{
    for (int level = n_lods + 1; level <= MOST_LODS; level++)
        for (size_t i = 0; i < w->n_paths; i++) {
            char *path = splat_lod_path(w->paths[i], level);
            if (!path) return splat_fail(error, SPLAT_ERROR_MEMORY, "no memory for a path");
            if (splat_path_exists(path))
                splat_log(w->context, SPLAT_LOG_NOTICE, "%s was there before and is no level of this mesh; delete it",
                          path);
            free(path);
        }
    return SPLAT_OK;
}

static splat_status make(texture_work *w, const char *mesh_path, splat_model *model, splat_texture_info *info,
                         splat_error *error)
{
    SPLAT_TRY(check_outputs(w, error));
    SPLAT_TRY(go_on(w, "reading", error));
    SPLAT_TRY(splat_mesh_read(mesh_path, &w->mesh, error));
    SPLAT_TRY(check_memory(w, error));
    SPLAT_TRY(read_sky(&w->options, &w->format.sky, error));
    SPLAT_TRY(splat_texture_paint(w->context, w->scene, &w->mesh, model, &w->options, info, error));
    SPLAT_TRY(write_level(w, 0, error));
    SPLAT_TRY(make_lods(w, info, error));
    return name_other_levels(w, info->n_lods, error);
}

splat_status splat_texture_make(splat_context *context, splat_scene *scene, const char *mesh_path, splat_model *model,
                                const splat_texture_options *options, const char *const *paths, size_t n_paths,
                                splat_texture_info *info, splat_error *error)
{
    texture_work w = {.context = context, .scene = scene, .paths = paths, .n_paths = n_paths};
    SPLAT_TRY(splat_texture_options_check(options, error));
    splat_texture_options_init(&w.options);
    SPLAT_TRY(splat_options_take(&w.options, options, "splat_texture_options", error));
    splat_mesh_write_options_init(&w.format);
    w.format.jpeg_quality = w.options.jpeg_quality;
    w.format.is_lit = w.options.is_lit;
    splat_scene_up(scene, w.format.up);
    w.format.is_metric = splat_scene_is_metric(scene);
    splat_status status = make(&w, mesh_path, model, info, error);
    splat_mesh_free(&w.mesh);
    free((void *)w.format.sky.colors);
    return status;
}
