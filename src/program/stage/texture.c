/* The textured mesh. */
#include "stage/texture.h"

#include "base/file.h"
#include "base/plural.h"
#include "stage/folder.h"
#include "stage/part_times.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MAX_PATHS 8

/* The paths that are read and written. */
typedef struct texture_paths {
    char mesh[SPLAT_STAGE_PATH], words[SPLAT_STAGE_PATH];
    const char *outputs[MAX_PATHS];
    size_t n;
    bool is_folder; /* -m is one */
} texture_paths;

static splat_status find_mesh(const splat_line *line, texture_paths *paths, splat_error *error)
{
    const char *path = line->model->model_path;
    if (!path) return splat_fail(error, SPLAT_ERROR_ARGUMENT, "give the folder that refine wrote, or a mesh, with -m");
    paths->is_folder = splat_path_is_folder(path);
    if (paths->is_folder) return splat_stage_join(paths->mesh, path, "mesh.ply", error);
    if (snprintf(paths->mesh, sizeof paths->mesh, "%s", path) < (int)sizeof paths->mesh) return SPLAT_OK;
    return splat_fail(error, SPLAT_ERROR_ARGUMENT, "the path %.200s... is too long", path);
}

/* The words of `output`, checked before the work, which takes minutes. */
static splat_status choose_outputs(const splat_line *line, texture_paths *paths, splat_error *error)
{
    const char *output = line->output->path;
    char *rest = NULL;
    if (!output && !paths->is_folder)
        return splat_fail(error, SPLAT_ERROR_ARGUMENT,
                          "give the file to write with -o (such as mesh.glb; several with commas between)");
    if (!output) SPLAT_TRY(splat_stage_join(paths->words, line->model->model_path, "textured.glb", error));
    if (output && snprintf(paths->words, sizeof paths->words, "%s", output) >= (int)sizeof paths->words)
        return splat_fail(error, SPLAT_ERROR_ARGUMENT, "the path %.200s... is too long", output);
    for (char *at = strtok_r(paths->words, ",", &rest); at; at = strtok_r(NULL, ",", &rest)) {
        if (paths->n == MAX_PATHS)
            return splat_fail(error, SPLAT_ERROR_ARGUMENT, "`output` takes at most %d files", MAX_PATHS);
        SPLAT_TRY(splat_mesh_check_path(at, error));
        paths->outputs[paths->n++] = at;
    }
    return paths->n > 0 ? SPLAT_OK : splat_fail(error, SPLAT_ERROR_ARGUMENT, "`output` names no file");
}

/* The bound Gaussians: those of `ply`, else of the folder, where there are some. */
static splat_status open_model(splat_session *session, const splat_line *line, const texture_paths *paths,
                               splat_error *error)
{
    int iteration;
    const bool is_needed = line->model->ply || line->texture->bake == SPLAT_BAKE_GAUSSIANS;
    const bool is_there = line->model->ply ||
                          (paths->is_folder &&
                           splat_model_find_iteration(line->model->model_path, line->model->iteration, session->ply,
                                                      sizeof session->ply, &iteration, NULL) == SPLAT_OK);
    if (!is_there && !is_needed) return SPLAT_OK;
    if (!is_there)
        return splat_fail(error, SPLAT_ERROR_ARGUMENT,
                          "`bake gaussians` needs the splat that is bound to the mesh; name it with -c");
    return splat_model_load(session->context, line->model->ply ? line->model->ply : session->ply, &session->model,
                            error);
}

static void say_texture(const splat_talk *talk, const splat_texture_options *options, const splat_texture_info *info,
                        const texture_paths *paths)
{
    splat_say(talk, "%zu of %zu faces are seen; %zu chart%s", info->n_faces_seen, info->n_faces, info->n_charts,
              splat_plural(info->n_charts));
    splat_say(talk, "%zu page%s of %d x %d texels, %.0f %% of them on faces", info->n_pages,
              splat_plural(info->n_pages), info->width, info->height, 100 * info->used);
    splat_say(talk, "texels from photos %.1f %%, from Gaussians %.1f %%, from neighbours %.1f %%",
              100 * info->from_photos, 100 * info->from_gaussians, 100 * info->filled);
    if (options->bake == SPLAT_BAKE_PHOTOS && options->reject_outliers)
        splat_say(talk, "%zu of %zu views of faces left out as outliers", info->n_outliers, info->n_candidates);
    if (info->n_rim_faces)
        splat_say(talk, "%zu face%s of the rim taken away", info->n_rim_faces, splat_plural(info->n_rim_faces));
    if (info->polish_losses[1] > 0)
        splat_say(talk, "polished: the loss went from %.4f to %.4f", info->polish_losses[0], info->polish_losses[1]);
    splat_say(talk, "the two sides of seams differ by %.1f of 255", info->seams[1]);
    for (size_t i = 0; i < paths->n; i++) splat_say(talk, "  %s", paths->outputs[i]);
}

/* The sky of the mesh: next to it, or next to its splat. False: there is none. */
static bool find_sky(const splat_session *session, const char *mesh, char path[SPLAT_STAGE_PATH])
{
    const char *const files[] = {mesh, session->ply};
    for (int i = 0; i < 2; i++) {
        const char *slash = strrchr(files[i], '/');
        const int n = snprintf(path, SPLAT_STAGE_PATH, "%.*ssky.safetensors", (int)(slash ? slash + 1 - files[i] : 0),
                               files[i]);
        if (files[i][0] && n < SPLAT_STAGE_PATH && splat_path_exists(path)) return true;
    }
    return false;
}

static splat_status make(splat_session *session, const splat_line *line, const texture_paths *paths, splat_error *error)
{
    splat_texture_options options = *line->texture;
    splat_texture_info info;
    char time_text[32], parts_text[512], sky[SPLAT_STAGE_PATH];
    splat_part_times times = splat_part_times_start(line->talk, "texture");
    double begin = splat_seconds();
    options.max_host_bytes = (uint64_t)(line->surface->max_host_memory * SPLAT_GIB);
    if (find_sky(session, paths->mesh, sky)) options.sky = sky;
    options.progress = splat_part_times_tell;
    options.progress_user = &times;
    SPLAT_TRY(splat_texture_make(session->context, session->scene, paths->mesh, session->model, &options,
                                 paths->outputs, paths->n, &info, error));
    say_texture(line->talk, &options, &info, paths);
    splat_part_times_write(&times, parts_text, sizeof parts_text);
    splat_say(line->talk, "in %s%s", splat_duration(splat_seconds() - begin, time_text), parts_text);
    return SPLAT_OK;
}

splat_status splat_stage_check_texture(const splat_line *line, splat_error *error)
{
    return splat_texture_options_check(line->texture, error);
}

/* With the paths chosen. */
static splat_status open_and_make(splat_session *session, const splat_line *line, const texture_paths *paths,
                                  splat_error *error)
{
    splat_line for_scene = *line;
    splat_line_model model = *line->model;
    if (!paths->is_folder) model.model_path = NULL;
    for_scene.model = &model;
    SPLAT_TRY(splat_stage_create_context(line, &session->context, error));
    SPLAT_TRY(splat_session_open_scene(session, &for_scene, true, error));
    SPLAT_TRY(open_model(session, line, paths, error));
    return make(session, line, paths, error);
}

splat_status splat_stage_texture(const splat_line *line, splat_error *error)
{
    splat_session session;
    SPLAT_TRY(splat_stage_check_texture(line, error));
    texture_paths *paths = calloc(1, sizeof *paths);
    if (!paths) return splat_fail(error, SPLAT_ERROR_MEMORY, "memory is exhausted");
    memset(&session, 0, sizeof session);
    session.outcome = line->outcome;
    splat_status status = find_mesh(line, paths, error);
    if (status == SPLAT_OK) status = choose_outputs(line, paths, error);
    if (status == SPLAT_OK) status = open_and_make(&session, line, paths, error);
    splat_session_close(&session);
    free(paths);
    return status;
}
