/* splatsmith view: a splat, the points of a scene or a mesh in a browser. */
#include "cli.h"
#include "progress.h"
#include "session.h"
#include "signals.h"
#include "stage/viewer.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>

#define HEAD_BYTES 65536 /* headers of PLY files are shorter */

/* ---------------------------------------------------------------- showing */

/* Sets the subject of the page: a mesh; the session's splat, which is in a file; or points, which are not. */
static splat_status fill_viewer(splat_viewer *viewer, const splat_session *session, const splat_line *line,
                                const char *mesh, const float background[3], splat_error *error)
{
    if (mesh) return splat_viewer_set_mesh(viewer, session->context, mesh, session->scene, error);
    char exposures[CLI_PATH_MAX];
    if (!session->ply[0]) return splat_viewer_set_points(viewer, session->model, session->scene, error);
    splat_status status = splat_viewer_set_scene(viewer, session->model, session->scene, error);
    if (status != SPLAT_OK) return status;
    if (session->scene && splat_session_find_exposures(session, line, exposures))
        status = splat_viewer_load_exposures(viewer, exposures, error);
    if (status != SPLAT_OK) return status;
    return splat_viewer_offer(viewer, session->ply, session->iteration, session->model, background, error);
}

static int show(splat_session *session, const splat_line *line, const char *mesh, const char *path)
{
    splat_viewer *viewer;
    splat_error error;
    const float white = session->scene ? session->scene_options.white_background : line->scene->white_background;
    const float background[3] = {white, white, white};
    int code = cli_end(
        splat_stage_open_viewer(line, line->viewer->port, splat_line_given(line, "port"), path, &viewer, &error),
        &error);
    if (code != CLI_OK) return code;
    splat_status status = fill_viewer(viewer, session, line, mesh, background, &error);
    if (status == SPLAT_OK) {
        cli_stop_install(true); /* the second one ends a render that takes long */
        splat_stage_tell_viewer(line, viewer);
        cli_notice("Ctrl-C ends it");
    }
    while (status == SPLAT_OK && !cli_stop_is_asked())
        status = splat_viewer_serve(viewer, session->model, background, 0.1, NULL, &error);
    splat_viewer_close(viewer);
    return status == SPLAT_OK ? CLI_OK : cli_report(&error);
}

/* ---------------------------------------------------------------- what is to be shown */

#define TAKES "view takes a model folder, the folder of a scene, a splat or a mesh"

static bool ends_with(const char *path, const char *ending)
{
    const size_t n = strlen(path), m = strlen(ending);
    return n >= m && strcasecmp(path + n - m, ending) == 0;
}

/* True if the header of a PLY has faces. */
static bool has_faces(const char *head)
{
    const char *end = strstr(head, "end_header"), *faces = strstr(head, "element face ");
    return strncmp(head, "ply", 3) == 0 && faces && (!end || faces < end);
}

/* A mesh, by its content; what cannot be read is none. A GLB may hold a splat. */
static bool is_mesh(const char *path)
{
    splat_model_info info;
    splat_error error;
    bool is = ends_with(path, ".obj");
    struct stat status;
    if (stat(path, &status) != 0 || !S_ISREG(status.st_mode)) return false; /* a FIFO would wait for its writer */
    char *head = malloc(HEAD_BYTES);
    FILE *stream = head ? fopen(path, "rb") : NULL;
    if (stream) {
        const size_t n = fread(head, 1, HEAD_BYTES - 1, stream);
        head[n] = '\0';
        fclose(stream);
        is = is || has_faces(head) ||
             (strncmp(head, "glTF", 4) == 0 && splat_model_describe(path, &info, &error) != SPLAT_OK);
    }
    free(head);
    return is;
}

/* True if a file could be a splat, by its ending or else its content; a damaged one may be. */
static bool may_be_splat(const char *path)
{
    splat_model_info info;
    splat_file_format format;
    splat_error error;
    for (size_t i = 0; splat_model_get_format(i, &format); i++)
        if (ends_with(path, format.ending)) return true;
    return splat_model_describe(path, &info, &error) == SPLAT_OK;
}

static int show_mesh(splat_line *line)
{
    static const char *const of_splats[] = {"iteration", "render_mode", "kernel_size", "sh_degree",
                                            "backend",   "gpu",         "vram_limit",  "deterministic"};
    splat_session session = {0};
    if (cli_is_any_given(line, of_splats, sizeof of_splats / sizeof of_splats[0], "it", "a mesh is drawn on the CPU"))
        return CLI_USAGE;
    line->machine->context.backend = "cpu";
    int code = cli_context_create(line, &session.context);
    if (code == CLI_OK && line->scene->source_path) code = cli_session_open_scene(&session, line, false);
    if (code == CLI_OK) code = show(&session, line, line->operand, line->operand);
    splat_session_close(&session);
    return code;
}

static int show_scene(const splat_line *line)
{
    static const char *const of_splats[] = {"iteration", "sh_degree"};
    splat_session session;
    if (cli_is_any_given(line, of_splats, sizeof of_splats / sizeof of_splats[0], "them",
                         "the points of a scene are shown"))
        return CLI_USAGE;
    int code = cli_session_open_points(&session, line);
    if (line->operand && !session.scene)
        cli_notice("%s is no model folder, so it is read as a scene; " TAKES, line->operand);
    if (code == CLI_OK) code = show(&session, line, NULL, line->scene->source_path);
    splat_session_close(&session);
    return code;
}

static int show_splat(const splat_line *line)
{
    splat_session session;
    const bool has_scene = line->model->model_path || line->scene->source_path;
    int code = has_scene ? cli_session_open(&session, line, false) : cli_session_open_splat(&session, line);
    if (code == CLI_OK)
        code = show(&session, line, NULL, line->model->model_path ? line->model->model_path : session.ply);
    splat_session_close(&session);
    return code;
}

int cmd_view(splat_line *line)
{
    struct stat about;
    const bool is_folder = line->operand && stat(line->operand, &about) == 0 && S_ISDIR(about.st_mode);
    if (line->operand && (line->model->model_path || line->model->ply)) {
        cli_error("what to show is named twice: give a folder, a file, -m or --ply");
        return CLI_USAGE;
    }
    if (line->operand && stat(line->operand, &about) != 0) {
        cli_error("cannot open %s: %s; " TAKES, line->operand, strerror(errno));
        return CLI_FAILED;
    }
    if (!line->operand && line->scene->source_path && !line->model->model_path && !line->model->ply)
        return show_scene(line);
    if (!line->operand) return show_splat(line);
    if (!is_folder && is_mesh(line->operand)) return show_mesh(line);
    if (!is_folder && !may_be_splat(line->operand)) {
        cli_error("%s is a file of an unknown type; " TAKES, line->operand);
        return CLI_FAILED;
    }
    if (!is_folder) {
        line->model->ply = line->operand;
        return show_splat(line);
    }
    if (splat_stage_is_model_folder(line->operand)) {
        line->model->model_path = line->operand;
        return show_splat(line);
    }
    if (line->scene->source_path) {
        cli_error("%s is no model folder: it has no cfg_args, point_cloud or checkpoints; and a scene is named by -s "
                  "already", line->operand);
        return CLI_USAGE;
    }
    line->scene->source_path = line->operand;
    return show_scene(line);
}
