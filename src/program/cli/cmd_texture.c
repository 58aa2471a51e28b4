/* splatsmith texture */
#include "cli.h"
#include "progress.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MAX_PATHS 8

/* What is read and what is written. */
typedef struct texture_paths {
    char mesh[CLI_PATH_MAX], words[CLI_PATH_MAX];
    const char *outputs[MAX_PATHS];
    size_t n;
    bool is_folder; /* -m is one */
} texture_paths;

static bool tell(void *user, const char *stage, double fraction)
{
    cli_counter_show(user, stage, fraction);
    return true;
}

static bool find_mesh(const splat_line *line, texture_paths *paths)
{
    char inside[CLI_PATH_MAX];
    if (!line->model->model_path) {
        cli_error("give the folder that refine wrote, or a mesh, with -m");
        return false;
    }
    if (!cli_path_join(inside, line->model->model_path, ".")) return false;
    paths->is_folder = cli_path_exists(inside);
    if (paths->is_folder) return cli_path_join(paths->mesh, line->model->model_path, "mesh.ply");
    if (snprintf(paths->mesh, sizeof paths->mesh, "%s", line->model->model_path) < (int)sizeof paths->mesh) return true;
    cli_error("the path %.200s... is too long", line->model->model_path);
    return false;
}

/* The words of -o, checked before the work, which takes minutes. */
static bool choose_outputs(const splat_line *line, texture_paths *paths)
{
    splat_error error;
    if (!line->output->path && !paths->is_folder) {
        cli_error("give the file to write with -o (such as mesh.glb; several with commas between)");
        return false;
    }
    if (line->output->path) {
        if (snprintf(paths->words, sizeof paths->words, "%s", line->output->path) >= (int)sizeof paths->words) {
            cli_error("the path %.200s... is too long", line->output->path);
            return false;
        }
    } else if (!cli_path_join(paths->words, line->model->model_path, "textured.glb")) {
        return false;
    }
    for (char *at = strtok(paths->words, ","); at; at = strtok(NULL, ",")) {
        if (paths->n == MAX_PATHS) {
            cli_error("--output takes at most %d files", MAX_PATHS);
            return false;
        }
        if (splat_mesh_check_path(at, &error) != SPLAT_OK) {
            cli_report(&error);
            return false;
        }
        paths->outputs[paths->n++] = at;
    }
    if (paths->n == 0) cli_error("--output names no file");
    return paths->n > 0;
}

/* The bound Gaussians: those of --ply, else of the folder, where there are some. */
static int open_model(cli_session *session, const splat_line *line, const texture_paths *paths)
{
    splat_error error;
    int iteration;
    bool is_needed = line->model->ply || line->texture->bake == SPLAT_BAKE_GAUSSIANS;
    if (!line->model->ply && (!paths->is_folder ||
                         splat_model_find_iteration(line->model->model_path, line->model->iteration, session->ply,
                                                    sizeof session->ply, &iteration, &error) != SPLAT_OK)) {
        if (is_needed) cli_error("--bake gaussians needs the splat that is bound to the mesh; name it with -c");
        return is_needed ? CLI_USAGE : CLI_OK;
    }
    const char *path = line->model->ply ? line->model->ply : session->ply;
    if (splat_model_load(session->context, path, &session->model, &error) != SPLAT_OK) return cli_report(&error);
    return CLI_OK;
}

static void say_texture(const splat_texture_options *options, const splat_texture_info *info,
                        const texture_paths *paths)
{
    cli_say("%zu of %zu faces are seen; %zu chart%s", info->n_faces_seen, info->n_faces, info->n_charts,
            cli_plural(info->n_charts));
    cli_say("%zu page%s of %d x %d texels, %.0f %% of them on faces", info->n_pages, cli_plural(info->n_pages),
            info->width, info->height, 100 * info->used);
    cli_say("texels from photos %.1f %%, from Gaussians %.1f %%, from neighbours %.1f %%", 100 * info->from_photos,
            100 * info->from_gaussians, 100 * info->filled);
    if (options->bake == SPLAT_BAKE_PHOTOS && options->reject_outliers)
        cli_say("%zu of %zu views of faces left out as outliers", info->n_outliers, info->n_candidates);
    if (info->n_rim_faces)
        cli_say("%zu face%s of the rim taken away", info->n_rim_faces, cli_plural(info->n_rim_faces));
    if (info->polish_losses[1] > 0)
        cli_say("polished: the loss went from %.4f to %.4f", info->polish_losses[0], info->polish_losses[1]);
    cli_say("the two sides of seams differ by %.1f of 255", info->seams[1]);
    for (size_t i = 0; i < paths->n; i++) cli_say("  %s", paths->outputs[i]);
}

static int make(cli_session *session, const splat_line *line, const texture_paths *paths)
{
    splat_texture_options options = *line->texture;
    splat_texture_info info;
    splat_error error;
    char time_text[32];
    cli_counter counter = cli_counter_start("texture", 0);
    double begin = cli_seconds();
    options.max_host_bytes = (uint64_t)(line->surface->max_host_memory * SPLAT_GIB);
    options.progress = tell;
    options.progress_user = &counter;
    splat_status status = splat_texture_make(session->context, session->scene, paths->mesh, session->model, &options,
                                             paths->outputs, paths->n, &info, &error);
    cli_progress_end();
    if (status != SPLAT_OK) return cli_report(&error);
    say_texture(&options, &info, paths);
    cli_say("in %s", cli_duration(cli_seconds() - begin, time_text));
    return CLI_OK;
}

int cli_check_texture(const splat_line *line)
{
    splat_error error;
    return splat_texture_options_check(line->texture, &error) == SPLAT_OK ? CLI_OK : cli_report(&error);
}

int cmd_texture(splat_line *line)
{
    static texture_paths paths; /* large for a stack */
    splat_line for_scene = *line;
    splat_line_model model = *line->model;
    cli_session session;
    memset(&session, 0, sizeof session);
    memset(&paths, 0, sizeof paths);
    session.outcome = line->outcome;
    int code = cli_check_texture(line);
    if (code != CLI_OK) return code;
    if (!find_mesh(line, &paths) || !choose_outputs(line, &paths)) return CLI_USAGE;
    if (!paths.is_folder) model.model_path = NULL;
    for_scene.model = &model;
    code = cli_context_create(line, &session.context);
    if (code == CLI_OK) code = cli_session_open_scene(&session, &for_scene, true);
    if (code == CLI_OK) code = open_model(&session, line, &paths);
    if (code == CLI_OK) code = make(&session, line, &paths);
    cli_session_close(&session);
    return code;
}
