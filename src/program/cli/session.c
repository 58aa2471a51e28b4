/* Opens the inputs of commands, with messages and exit codes. */
#include "cli.h"
#include "progress.h"
#include "scene_points.h"

#include <string.h>

int cli_end(splat_status status, const splat_error *error)
{
    cli_progress_end();
    if (status == SPLAT_OK || status == SPLAT_ERROR_STOPPED) return splat_stop_exit_code(cli_talk()->stop, status);
    return cli_report(error);
}

int cli_context_create(const splat_line *line, splat_context **context)
{
    splat_error error;
    return cli_end(splat_stage_create_context(line, context, &error), &error);
}

int cli_lpips_open(const splat_line *line, splat_context *context, splat_lpips **lpips)
{
    splat_error error;
    return cli_end(splat_stage_open_lpips(line, context, lpips, &error), &error);
}

int cli_lpips_open_training(const splat_line *line, splat_context *context, const splat_scene *scene,
                            splat_lpips **lpips)
{
    splat_error error;
    return cli_end(splat_stage_open_training_lpips(line, context, scene, lpips, &error), &error);
}

int cli_session_open_scene(splat_session *session, const splat_line *line, bool hold_out)
{
    splat_error error;
    return cli_end(splat_session_open_scene(session, line, hold_out, &error), &error);
}

int cli_session_open(splat_session *session, const splat_line *line, bool hold_out)
{
    splat_error error;
    return cli_end(splat_session_open(session, line, hold_out, &error), &error);
}

int cli_session_open_splat(splat_session *session, const splat_line *line)
{
    splat_error error;
    return cli_end(splat_session_open_splat(session, line, &error), &error);
}

int cli_session_open_points(splat_session *session, const splat_line *line)
{
    splat_error error;
    memset(session, 0, sizeof *session);
    int code = cli_context_create(line, &session->context);
    if (code == CLI_OK) code = cli_session_open_scene(session, line, false);
    if (code != CLI_OK) return code;
    if (cli_scene_points_model(session->context, session->scene, &session->model, &error) != SPLAT_OK)
        return cli_report(&error);
    return cli_end(splat_session_set_render_mode(session, line, &error), &error);
}

bool cli_is_any_given(const splat_line *line, const char *const names[], size_t n, const char *without, const char *why)
{
    const char *name = splat_line_first_given(line, names, n);
    if (name) cli_error("%s; --%s goes without %s", why, name, without);
    return name != NULL;
}

bool cli_check_mesh_draw(const splat_line *line)
{
    static const char *const of_meshes[] = {"texture_filter", "supersampling"};
    const char *name = splat_line_first_given(line, of_meshes, sizeof of_meshes / sizeof of_meshes[0]);
    if (line->model->mesh_file || !name) return true;
    cli_error("--%s needs --mesh FILE", name);
    return false;
}

bool cli_check_mesh_options(const splat_line *line)
{
    static const char *const of_splats[] = {"ply",         "iteration", "render_mode",
                                            "kernel_size", "sh_degree", "diffuse_only"};
    const char *name = splat_line_first_given(line, of_splats, sizeof of_splats / sizeof of_splats[0]);
    if (!line->model->mesh_file || !name) return cli_check_mesh_draw(line);
    cli_error("--mesh takes the mesh instead of a splat; --%s goes without it", name);
    return false;
}
