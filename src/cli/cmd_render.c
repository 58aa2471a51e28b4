/* splatsmith render and splatsmith contact-sheet: pictures of a model's views. */
#include "cli.h"
#include "progress.h"

static int render_set(cli_session *session, const char *folder, splat_view_set set)
{
    bool is_test = set == SPLAT_VIEWS_TEST;
    cli_counter c = cli_counter_start(is_test ? "rendering test views" : "rendering train views",
                                      is_test ? session->scene_info.n_test : session->scene_info.n_train);
    splat_error error;
    if (c.total == 0) return CLI_OK;
    splat_status status = splat_render_views(session->context, session->scene, session->model, set, folder,
                                             session->iteration, session->scene_options.resolution,
                                             session->scene_options.white_background, cli_count_view, &c, &error);
    cli_progress_end();
    if (status != SPLAT_OK) return cli_report(&error);
    cli_say("%zu pictures in %s/%s/ours_%d", c.total, folder, is_test ? "test" : "train", session->iteration);
    return CLI_OK;
}

static int render(cli_session *session, const cli_values *values)
{
    const char *folder = values->output ? values->output : values->model_path;
    int code = CLI_OK;
    if (values->skip_train && !values->skip_test && session->scene_info.n_test == 0)
        cli_notice("there are no test views, so nothing is rendered");
    if (!values->skip_train) code = render_set(session, folder, SPLAT_VIEWS_TRAIN);
    if (code == CLI_OK && !values->skip_test) code = render_set(session, folder, SPLAT_VIEWS_TEST);
    return code;
}

int cmd_render(const cli_values *values)
{
    cli_session session;
    if (!values->output && !values->model_path) {
        cli_error("give the model folder with -m, or --ply FILE -s SCENE -o FOLDER");
        return CLI_USAGE;
    }
    int code = cli_session_open(&session, values, false);
    if (code == CLI_OK) code = render(&session, values);
    cli_session_close(&session);
    return code;
}

int cmd_contact_sheet(const cli_values *values)
{
    cli_session session;
    splat_error error;
    if (!values->output) {
        cli_error("give the PNG to write with -o");
        return CLI_USAGE;
    }
    int code = cli_session_open(&session, values, true);
    if (code == CLI_OK) {
        if (splat_write_contact_sheet(session.context, session.scene, session.model, (size_t)values->n_sheet_views,
                                      values->output, session.scene_options.white_background, &error) == SPLAT_OK)
            cli_say("%s", values->output);
        else
            code = cli_report(&error);
    }
    cli_session_close(&session);
    return code;
}
