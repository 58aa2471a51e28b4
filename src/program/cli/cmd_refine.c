/* splatsmith refine */
#include "training.h"
#include "vram.h"
#include "report/number_name.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

static bool is_folder(const char *path)
{
    struct stat status;
    return path && stat(path, &status) == 0 && S_ISDIR(status.st_mode);
}

static int gaussians_per_triangle(const splat_line *line)
{
    return line->refine->gaussians_per_triangle ? atoi(line->refine->gaussians_per_triangle) : 1;
}

/* SuGaR's three lengths, or the number; a time that is given wins, as there. */
static int iterations_of(const splat_line *line)
{
    const char *time = line->refine->time;
    if (time) return strcmp(time, "short") == 0 ? 2000 : strcmp(time, "medium") == 0 ? 7000 : 15000;
    return line->refine->iterations ? line->refine->iterations : 15000;
}

/* ---------------------------------------------------------------- options */

/* What the command line alone says. */
static int begin_train_options(const splat_line *line, splat_train_options *options)
{
    splat_train_options refine;
    double low[3], high[3], square = 0;
    bool has_box;
    splat_train_options_init_refine(&refine);
    cli_asked_options(line, options);
    cli_apply_preset(line, &refine, options);
    options->regularizer = refine.regularizer;
    options->binding = refine.binding;
    options->iterations = iterations_of(line);
    options->refine.gaussians_per_triangle = gaussians_per_triangle(line);
    if (!cli_read_box(line, &has_box, low, high)) return CLI_USAGE;
    for (int k = 0; k < 3 && has_box; k++) square += (high[k] - low[k]) * (high[k] - low[k]);
    options->refine.foreground_radius = (float)(0.5 * sqrt(square));
    return CLI_OK;
}

static int check_words(const splat_line *line)
{
    if (!line->model->mesh_file) {
        cli_error(line->refine->deform ? "give the folder of the refinement with -m" : "give the mesh with -m");
        return CLI_USAGE;
    }
    if (line->refine->time && line->refine->iterations)
        cli_notice("--refinement_time %s wins over --refinement_iterations", line->refine->time);
    if (strcmp(line->model->render_mode, "mip") != 0)
        cli_tell_unused(line, "kernel_size", " without --render_mode mip");
    return CLI_OK;
}

int cli_check_refine(const splat_line *line)
{
    splat_train_options options;
    splat_error error;
    int code = begin_train_options(line, &options);
    if (code != CLI_OK) return code;
    return splat_train_options_check(&options, &error) == SPLAT_OK ? CLI_OK : cli_report(&error);
}

/* ---------------------------------------------------------------- folders */

/* The name of a file without its folder, its end, and what SuGaR puts before it. */
static void stem_of(const char *path, char stem[128])
{
    const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path;
    if (strncmp(name, "sugarmesh_", 10) == 0) name += 10;
    const char *end = strrchr(name, '.');
    snprintf(stem, 128, "%.*s", (int)(end ? (size_t)(end - name) : strlen(name)), name);
}

/* -o, or SuGaR's name: sugarfine_<mesh>_normalconsistency01_gaussperface1. */
static bool choose_folder(const splat_line *line, char path[CLI_PATH_MAX])
{
    char stem[128], factor[32], name[256];
    bool has_model = is_folder(line->model->gs_output_dir);
    const char *beside = has_model ? line->model->gs_output_dir : line->scene->source_path;
    if (!line->output->path && !beside) {
        cli_error("give the folder to write with -o");
        return false;
    }
    stem_of(line->model->mesh_file, stem);
    snprintf(name, sizeof name, "sugarfine_%s_normalconsistency%s_gaussperface%d", stem,
             splat_number_name(factor, line->train->refine.normal_consistency_factor),
             gaussians_per_triangle(line));
    return cli_choose_folder(path, line->output->path, beside, has_model ? "_mesh" : "_output",
                             line->output->experiment_name ? line->output->experiment_name : name);
}

/* The result is a model of its own: in the splat's folder the two would be one run to every later command; and what
 * lies in the folder of a run that begins anew is set aside, the mesh with it. */
static int check_folder(const splat_line *line, const char *folder)
{
    const char *inside = NULL;
    if (is_folder(line->model->gs_output_dir) && cli_lies_in(line->model->gs_output_dir, folder) &&
        cli_lies_in(folder, line->model->gs_output_dir))
        inside = "the splat";
    char mesh[CLI_PATH_MAX];
    if (!cli_path_join(mesh, folder, "mesh.ply")) return CLI_USAGE;
    if (cli_lies_in(line->model->mesh_file, mesh)) inside = "the mesh to begin with";
    if (!inside) return CLI_OK;
    cli_error("%s lies in %s; name another folder for the result with -o", inside, folder);
    return CLI_USAGE;
}

/* ---------------------------------------------------------------- training */

/* The scene, by the model of -c or by -s; session->ply: a splat for colours, "" without. */
static int open_scene(cli_session *session, const splat_line *line)
{
    splat_error error;
    splat_line own = *line;
    splat_line_model model = *line->model;
    bool has_model = is_folder(line->model->gs_output_dir);
    model.model_path = has_model ? line->model->gs_output_dir : NULL;
    own.model = &model;
    model.ply = has_model ? NULL : line->model->gs_output_dir;
    int code = has_model || model.ply ? cli_session_find_ply(session, &own) : CLI_OK;
    if (code == CLI_OK) code = cli_context_create(line, &session->context);
    if (code == CLI_OK) code = cli_session_open_scene(session, &own, true);
    if (code != CLI_OK || !session->ply[0]) return code;
    return splat_scene_check_splat(session->scene, session->ply, &error) == SPLAT_OK ? CLI_OK : cli_report(&error);
}

static int start(cli_training *t, const cli_session *session, const splat_line *line)
{
    splat_error error;
    splat_refine_input input;
    splat_refine_input_init(&input);
    input.mesh_path = line->model->mesh_file;
    input.splat_path = session->ply[0] ? session->ply : NULL;
    input.render_mode = strcmp(line->model->render_mode, "mip") == 0 ? SPLAT_RENDER_MIP : SPLAT_RENDER_CLASSIC;
    if (splat_trainer_create(session->context, session->scene, &t->train_options, &t->trainer, &error) != SPLAT_OK)
        return cli_report(&error);
    if (!line->run->start_checkpoint && splat_trainer_start_refine(t->trainer, &input, &error) != SPLAT_OK)
        return cli_report(&error);
    return CLI_OK;
}

static int prepare(cli_training *t, cli_session *session, const splat_line *line)
{
    splat_error error;
    splat_refine_info mesh;
    int code = cli_check_refine(line);
    if (code == CLI_OK && !choose_folder(line, t->model_path)) code = CLI_USAGE;
    if (code == CLI_OK) code = check_folder(line, t->model_path);
    if (code != CLI_OK) return code;
    if (splat_refine_describe(line->model->mesh_file, gaussians_per_triangle(line), &mesh, &error) != SPLAT_OK)
        return cli_report(&error);
    code = open_scene(session, line);
    if (code != CLI_OK) return code;
    begin_train_options(line, &t->train_options);
    t->scene_options = session->scene_options;
    code = cli_plan_bound(line, session->context, session->scene, mesh.n_gaussians, mesh.n_vertices,
                          &t->train_options);
    if (code == CLI_OK) code = start(t, session, line);
    if (code == CLI_OK)
        cli_say("Mesh: %s, %zu vertices, %zu triangles, %zu Gaussians", line->model->mesh_file, mesh.n_vertices,
                mesh.n_faces, mesh.n_gaussians);
    return code;
}

static void tell_mesh(const cli_training *t)
{
    if (t->report.saved[0]) cli_say("  mesh         %s/mesh.ply", t->model_path);
}

/* ---------------------------------------------------------------- editing */

/* The mesh that was saved with a splat lies beside it. */
static bool mesh_beside(const char *splat, char path[CLI_PATH_MAX])
{
    char folder[CLI_PATH_MAX];
    const char *slash = strrchr(splat, '/');
    snprintf(folder, sizeof folder, "%.*s", (int)(slash ? slash - splat : 1), slash ? splat : ".");
    return cli_path_join(path, folder, "mesh.ply");
}

static int deform(const splat_line *line)
{
    char splat[CLI_PATH_MAX], mesh[CLI_PATH_MAX];
    int iteration;
    splat_error error;
    if (!line->output->path) {
        cli_error("give the splat to write with -o");
        return CLI_USAGE;
    }
    if (splat_model_check_path(line->output->path, &error) != SPLAT_OK ||
        splat_model_find_iteration(line->model->mesh_file, line->model->iteration, splat, sizeof splat, &iteration,
                                   &error) != SPLAT_OK)
        return cli_report(&error);
    if (!mesh_beside(splat, mesh)) return CLI_USAGE;
    if (!cli_path_exists(mesh)) {
        cli_error("%s does not exist: %s is no folder of a refinement", mesh, line->model->mesh_file);
        return CLI_FAILED;
    }
    if (splat_refine_deform(splat, mesh, line->refine->deform, line->output->path, NULL, &error) != SPLAT_OK)
        return cli_report(&error);
    cli_say("The Gaussians of %s on %s: %s", splat, line->refine->deform, line->output->path);
    return CLI_OK;
}

int cmd_refine(splat_line *line)
{
    int code = check_words(line);
    if (code != CLI_OK) return code;
    return line->refine->deform ? deform(line) : cli_training_of_session(line, prepare, tell_mesh);
}
