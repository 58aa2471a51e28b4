/* splatsmith mesh */
#include "cli.h"
#include "progress.h"

#include <stdlib.h>
#include <string.h>

static bool tell(void *user, const char *stage, double fraction)
{
    cli_counter_show(user, stage, fraction);
    return true;
}

/* "x,y,z" or "(x,y,z)", as SuGaR takes its boxes. */
static bool read_corner(const char *option, const char *text, double corner[3])
{
    const char *at = text + (*text == '(');
    for (int k = 0; k < 3; k++) {
        char *end;
        corner[k] = strtod(at, &end);
        bool ends = k == 2 ? *end == 0 || strcmp(end, ")") == 0 : *end == ',';
        if (end == at || !ends) {
            cli_error("--%s takes three numbers such as -1,-1,-0.5, not '%s'", option, text);
            return false;
        }
        at = end + 1;
    }
    return true;
}

static bool fill_options(const cli_values *values, splat_mesh_extract_options *options)
{
    *options = values->mesh;
    options->method = strcmp(values->mesh_method, "tsdf") == 0 ? SPLAT_MESH_TSDF : SPLAT_MESH_POISSON;
    if (!values->bbox_min != !values->bbox_max) {
        cli_error("give --bboxmin and --bboxmax, or neither");
        return false;
    }
    options->has_bbox = values->bbox_min != NULL;
    return !options->has_bbox || (read_corner("bboxmin", values->bbox_min, options->bbox_low) &&
                                  read_corner("bboxmax", values->bbox_max, options->bbox_high));
}

/* The words of -o, with commas between; mesh.ply in the model folder without it. */
#define MAX_PATHS 8
typedef struct mesh_paths {
    char text[CLI_PATH_MAX];
    const char *path[MAX_PATHS];
    size_t n;
} mesh_paths;

static bool choose_paths(const cli_values *values, const cli_session *session, mesh_paths *paths)
{
    if (values->output)
        snprintf(paths->text, sizeof paths->text, "%s", values->output);
    else if (values->model_path)
        snprintf(paths->text, sizeof paths->text, "%s/mesh/iteration_%d/mesh.ply", values->model_path,
                 session->iteration);
    else {
        cli_error("give the file to write with -o (mesh.ply, mesh.obj or mesh.glb; several with commas between)");
        return false;
    }
    for (char *at = strtok(paths->text, ","); at && paths->n < MAX_PATHS; at = strtok(NULL, ","))
        paths->path[paths->n++] = at;
    return true;
}

static int extract(cli_session *session, const cli_values *values)
{
    splat_mesh_extract_options options;
    splat_mesh_extract_info info;
    splat_error error;
    mesh_paths paths = {.n = 0};
    char time_text[32];
    cli_counter counter = cli_counter_start("mesh", 0);
    double begin = cli_seconds();
    if (!fill_options(values, &options) || !choose_paths(values, session, &paths)) return CLI_USAGE;
    options.progress = tell;
    options.progress_user = &counter;
    splat_status status = splat_mesh_extract(session->context, session->scene, session->model, &options, paths.path,
                                             paths.n, &info, &error);
    cli_progress_end();
    if (status != SPLAT_OK) return cli_report(&error);
    if (info.n_points) cli_say("%zu surface points", info.n_points);
    cli_say("%zu vertices and %zu faces (%zu and %zu before cleaning and simplifying) in %s", info.n_vertices,
            info.n_faces, info.n_vertices_first, info.n_faces_first, cli_duration(cli_seconds() - begin, time_text));
    for (size_t i = 0; i < paths.n; i++) cli_say("  %s", paths.path[i]);
    return CLI_OK;
}

int cmd_mesh(const cli_values *values)
{
    cli_session session;
    int code = cli_session_open(&session, values, true);
    if (code == CLI_OK) code = extract(&session, values);
    cli_session_close(&session);
    return code;
}
