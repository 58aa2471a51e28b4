/* Opening what a command works on: the context, and a model folder or PLY with its scene. */
#include "cli.h"
#include "progress.h"
#include "scene_points.h"
#include "vram.h"
#include "pipeline/results.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

bool cli_names_cpu(const splat_line *line)
{
    return line->machine->context.backend && strcmp(line->machine->context.backend, "cpu") == 0;
}

splat_context_options cli_context_options(const splat_line *line)
{
    splat_context_options options = line->machine->context;
    options.log = cli_log;
    options.fragmentation = strcmp(line->machine->fragmentation, "aggressive") == 0 ? SPLAT_FRAGMENTATION_AGGRESSIVE
                            : strcmp(line->machine->fragmentation, "minimal") == 0  ? SPLAT_FRAGMENTATION_MINIMAL
                                                                             : SPLAT_FRAGMENTATION_NORMAL;
    return options;
}

int cli_context_create(const splat_line *line, splat_context **context)
{
    const splat_context_options options = cli_context_options(line);
    splat_error error;
    if (splat_context_create(&options, context, &error) != SPLAT_OK) return cli_report(&error);
    if (!splat_context_get_pci_bus_id(*context)[0]) cli_tell_unused(line, "gpu", ": running on the CPU");
    return cli_limit_memory(line, *context);
}

/* The N of ".../iteration_N/..." or of "chkpntN.splatsmith" in a path, 0 when there is none. */
static int iteration_in_path(const char *path)
{
    static const char mark[] = "iteration_";
    const char *slash = strrchr(path, '/');
    int found = 0, length = 0;
    if (sscanf(slash ? slash + 1 : path, "chkpnt%9d.splatsmith%n", &found, &length) == 1 && length) return found;
    found = 0;
    for (const char *at = strstr(path, mark); at; at = strstr(at + 1, mark)) {
        char *end;
        if (!isdigit((unsigned char)at[sizeof mark - 1])) continue;
        long number = strtol(at + sizeof mark - 1, &end, 10);
        if (*end == '/' && number <= 1000000000) found = (int)number;
    }
    return found;
}

bool cli_is_model_folder(const char *folder)
{
    static const char *const names[] = {"cfg_args", "point_cloud"};
    char path[CLI_PATH_MAX];
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
        if (cli_path_join(path, folder, names[i]) && cli_path_exists(path)) return true;
    return splat_checkpoint_newest(folder) >= 0;
}

/* A folder without a splat may have a checkpoint, of a run that was asked to write no PLY or was killed. */
static bool find_checkpoint(cli_session *session, const splat_line *line)
{
    int newest = line->model->iteration < 0 ? splat_checkpoint_newest(line->model->model_path) : -1;
    int length = newest < 0 ? -1 : snprintf(session->ply, sizeof session->ply, "%s/chkpnt%d.splatsmith",
                                            line->model->model_path, newest);
    if (length < 0 || length >= (int)sizeof session->ply) return false;
    session->iteration = newest;
    return true;
}

int cli_session_find_ply(cli_session *session, const splat_line *line)
{
    splat_error error;
    if (line->model->ply) {
        if (snprintf(session->ply, sizeof session->ply, "%s", line->model->ply) >= (int)sizeof session->ply) {
            cli_error("the path %.200s... is too long", line->model->ply);
            return CLI_USAGE;
        }
        session->iteration = line->model->iteration >= 0 ? line->model->iteration : iteration_in_path(line->model->ply);
        return CLI_OK;
    }
    if (!line->model->model_path) {
        cli_error("give the model folder with -m, or a PLY file with --ply");
        return CLI_USAGE;
    }
    if (splat_model_find_iteration(line->model->model_path, line->model->iteration, session->ply, sizeof session->ply,
                                   &session->iteration, &error) != SPLAT_OK &&
        !find_checkpoint(session, line))
        return cli_report(&error);
    return CLI_OK;
}

/* The scene options of the training run, unless the command line says something else. */
static void apply_config(cli_session *session, const splat_line *line)
{
    const splat_scene_options *config = &session->config.scene;
    splat_scene_options *options = &session->scene_options;
#define TAKEN_NOWHERE false
#define TAKEN_CHECKPOINT false
#define TAKEN_NOTE false
#define TAKEN_CFG_ARGS true
#define TAKEN_PUBLISHED true
#define SPLAT_OPTION(field, kind, start, range, saved)                                                                 \
    if (TAKEN_##saved) options->field = config->field;
#include "splatsmith/scene_options.def"
    splat_line_put_given(line, line->scene, sizeof *line->scene, options);
}

/* A folder of another trainer may lack cfg_args; with -s that is no obstacle. */
static int read_config(cli_session *session, const splat_line *line)
{
    splat_error error;
    char path[CLI_PATH_MAX];
    if (!cli_path_join(path, line->model->model_path, "cfg_args")) return CLI_USAGE;
    if (!cli_path_exists(path) && line->scene->source_path) {
        cli_notice("%s does not exist: the scene's options are the defaults", path);
        return CLI_OK;
    }
    if (splat_model_config_read(line->model->model_path, &session->config, &error) != SPLAT_OK)
        return cli_report(&error);
    apply_config(session, line);
    const char *source = session->config.scene.source_path;
    if (!line->scene->source_path && source && !cli_path_exists(source)) {
        cli_error("the scene %s, which %s names, does not exist; give its folder with -s", source, path);
        return CLI_FAILED;
    }
    return CLI_OK;
}

bool cli_session_find_exposures(const cli_session *session, const splat_line *line, char path[CLI_PATH_MAX])
{
    static const char name[] = "exposure.json";
    char folder[CLI_PATH_MAX];
    const char *slash = strrchr(session->ply, '/');
    snprintf(folder, sizeof folder, "%.*s", slash ? (int)(slash - session->ply) : 1, slash ? session->ply : ".");
    if (cli_path_join(path, folder, name) && cli_path_exists(path)) return true;
    return line->model->model_path && cli_path_join(path, line->model->model_path, name) && cli_path_exists(path);
}

int cli_session_open_scene(cli_session *session, const splat_line *line, bool hold_out)
{
    splat_scene_options *options = &session->scene_options;
    splat_error error;
    *options = *line->scene;
    if (line->model->model_path) {
        int code = read_config(session, line);
        if (code != CLI_OK) return code;
        if (!cli_path_join(session->split_file, line->model->model_path, "split.json")) return CLI_USAGE;
        if (cli_path_exists(session->split_file)) options->split_file = session->split_file;
    } else {
        options->eval = hold_out;
        splat_line_put_given(line, &line->scene->eval, sizeof hold_out, &options->eval);
    }
    if (!options->source_path) {
        cli_error(CLI_NO_SCENE);
        return CLI_USAGE;
    }
    if (splat_scene_open(session->context, options, &session->scene, &error) != SPLAT_OK) return cli_report(&error);
    splat_scene_get_info(session->scene, &session->scene_info);
    return CLI_OK;
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

/* --render_mode and --kernel_size; a Mip model takes the kernel size it was trained with. */
static int set_render_mode(cli_session *session, const splat_line *line)
{
    splat_error error;
    splat_model_info info;
    splat_render_mode mode;
    splat_model_get_info(session->model, &info);
    if (strcmp(line->model->render_mode, "auto") == 0)
        mode = info.render_mode;
    else
        mode = strcmp(line->model->render_mode, "mip") == 0 ? SPLAT_RENDER_MIP : SPLAT_RENDER_CLASSIC;
    float kernel_size = 0; /* the mode's default */
    if (mode == SPLAT_RENDER_MIP && info.render_mode == mode) kernel_size = info.kernel_size; /* a checkpoint's own */
    if (mode == SPLAT_RENDER_MIP && session->config.kernel_size > 0) kernel_size = session->config.kernel_size;
    splat_line_put_given(line, &line->train->kernel_size, sizeof kernel_size, &kernel_size);
    if (splat_model_set_render_mode(session->model, mode, kernel_size, &error) != SPLAT_OK) return cli_report(&error);
    return CLI_OK;
}

/* session->ply, with what the command line says of it. */
static int load_splat(cli_session *session, const splat_line *line)
{
    splat_error error;
    if (splat_model_load(session->context, session->ply, &session->model, &error) != SPLAT_OK ||
        (line->model->reduce_sh_degree >= 0 &&
         splat_model_reduce_sh(session->model, line->model->reduce_sh_degree, &error) != SPLAT_OK))
        return cli_report(&error);
    return set_render_mode(session, line);
}

static int start_session(cli_session *session, const splat_line *line)
{
    memset(session, 0, sizeof *session);
    session->outcome = line->outcome;
    int code = cli_session_find_ply(session, line);
    return code == CLI_OK ? cli_context_create(line, &session->context) : code;
}

int cli_session_open(cli_session *session, const splat_line *line, bool hold_out)
{
    splat_error error;
    int code = start_session(session, line);
    if (code == CLI_OK) code = cli_session_open_scene(session, line, hold_out);
    if (code != CLI_OK) return code;
    if (splat_scene_check_splat(session->scene, session->ply, &error) != SPLAT_OK) return cli_report(&error);
    return load_splat(session, line);
}

int cli_session_open_splat(cli_session *session, const splat_line *line)
{
    int code = start_session(session, line);
    return code == CLI_OK ? load_splat(session, line) : code;
}

int cli_session_open_points(cli_session *session, const splat_line *line)
{
    splat_error error;
    memset(session, 0, sizeof *session);
    int code = cli_context_create(line, &session->context);
    if (code == CLI_OK) code = cli_session_open_scene(session, line, false);
    if (code != CLI_OK) return code;
    if (cli_scene_points_model(session->context, session->scene, &session->model, &error) != SPLAT_OK)
        return cli_report(&error);
    return set_render_mode(session, line);
}

static bool asks_for_lpips(const splat_line *line)
{
    static const char *const of_lpips[] = {"enable_lpips", "lpips_net", "lpips_weights"};
    return splat_line_first_given(line, of_lpips, 3);
}

/* How to get weights is said once: not again by this command, nor where `eval` has been before; and only to who asks
 * for LPIPS or a measurement, not with every training. */
static void tell_no_lpips(const splat_line *line, bool in_full, const splat_error *error)
{
    static bool told;
    char text[sizeof error->message + 64], results[CLI_PATH_MAX];
    snprintf(results, sizeof results, "%.4000s/results.json", line->model->model_path ? line->model->model_path : "");
    if (told || !in_full || (line->model->model_path && cli_path_exists(results)))
        cli_notice("LPIPS is not measured: it has no weights (docs/files.md)");
    else
        cli_notice("%s", cli_library_text(error->message, text, sizeof text));
    told = true;
}

static int open_lpips(const splat_line *line, splat_context *context, bool on, bool in_full, splat_lpips **lpips)
{
    const splat_lpips_options *options = &line->lpips->options;
    splat_error error;
    bool is_on = on || asks_for_lpips(line);
    *lpips = NULL;
    splat_line_put_given(line, &line->lpips->enable, sizeof is_on, &is_on);
    if (!is_on) return CLI_OK;
    splat_status status = splat_lpips_create(context, options, lpips, &error);
    if (status == SPLAT_OK) return CLI_OK;
    if (status != SPLAT_ERROR_IO || options->weights) return cli_report(&error);
    tell_no_lpips(line, in_full, &error); /* everything but LPIPS is measured */
    return CLI_OK;
}

int cli_lpips_open(const splat_line *line, splat_context *context, splat_lpips **lpips)
{
    return open_lpips(line, context, true, true, lpips);
}

int cli_lpips_open_training(const splat_line *line, splat_context *context, const splat_scene *scene,
                            splat_lpips **lpips)
{
    splat_scene_info info;
    splat_scene_get_info(scene, &info);
    const bool is_asked = asks_for_lpips(line), is_limited = splat_line_given(line, "vram_limit");
    if (info.n_test && is_limited && !is_asked)
        cli_notice("LPIPS is not measured: its weights would take memory that --vram_limit grants the training; "
                   "--enable_lpips measures it all the same");
    return open_lpips(line, context, info.n_test && !is_limited, is_asked, lpips);
}

void cli_note_memory(cli_outcome *outcome, const splat_context *context)
{
    splat_memory_info memory;
    if (!outcome || !context) return;
    splat_context_get_memory(context, &memory);
    outcome->peak_bytes = memory.peak_bytes + memory.overhead_bytes;
}

void cli_session_close(cli_session *session)
{
    cli_note_memory(session->outcome, session->context);
    splat_model_destroy(session->model);
    splat_lpips_destroy(session->lpips);
    splat_scene_close(session->scene);
    splat_context_destroy(session->context);
    splat_model_config_free(&session->config);
}
