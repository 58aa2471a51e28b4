/* splatsmith view: a splat in a browser. */
#include "cli.h"
#include "progress.h"
#include "stop.h"
#include "viewer.h"

#include <string.h>
#include <sys/stat.h>

static int show(cli_session *session, const cli_values *values, const char *title)
{
    splat_viewer *viewer;
    splat_error error;
    char exposures[CLI_PATH_MAX];
    const float background[3] = {values->scene.white_background, values->scene.white_background,
                                 values->scene.white_background};
    int code = cli_viewer_open(values, values->viewer.port, title, &viewer);
    if (code != CLI_OK) return code;
    splat_status status = splat_viewer_set_scene(viewer, session->model, session->scene, &error);
    if (status == SPLAT_OK)
        status = splat_viewer_offer(viewer, session->ply, session->iteration, session->model, background, &error);
    if (status == SPLAT_OK && session->scene && cli_session_find_exposures(session, values, exposures))
        status = splat_viewer_load_exposures(viewer, exposures, &error);
    if (status == SPLAT_OK) {
        cli_stop_install(true); /* the second one ends a render that takes long */
        cli_viewer_tell(values, viewer);
        cli_notice("Ctrl-C ends it");
    }
    while (status == SPLAT_OK && !cli_stop_is_asked())
        status = splat_viewer_serve(viewer, session->model, background, 0.1, NULL, &error);
    splat_viewer_close(viewer);
    return status == SPLAT_OK ? CLI_OK : cli_report(&error);
}

int cmd_view(const cli_values *values)
{
    cli_values own = *values;
    cli_session session;
    struct stat about;
    if (values->operand && (values->model_path || values->ply)) {
        cli_error("the splat is named twice: give a folder, a file, -m or --ply");
        return CLI_USAGE;
    }
    if (values->operand && stat(values->operand, &about) == 0 && S_ISDIR(about.st_mode))
        own.model_path = values->operand;
    else if (values->operand)
        own.ply = values->operand;
    bool has_scene = own.model_path || own.scene.source_path;
    int code = has_scene ? cli_session_open(&session, &own, false) : cli_session_open_splat(&session, &own);
    if (code == CLI_OK) {
        own.scene.white_background = has_scene ? session.scene_options.white_background : own.scene.white_background;
        const char *slash = strrchr(session.ply, '/');
        code = show(&session, &own, own.model_path ? own.model_path : slash ? slash + 1 : session.ply);
    }
    cli_session_close(&session);
    return code;
}
