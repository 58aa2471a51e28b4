/* Opening what a command works on: the context, and a model folder or PLY with its scene. */
#include "stage/session.h"

#include "base/file.h"
#include "scene/sky_keep.h"
#include "stage/checkpoints.h"
#include "stage/folder.h"
#include "stage/memory.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

bool splat_stage_names_cpu(const splat_line *line)
{
    return line->machine->context.backend && strcmp(line->machine->context.backend, "cpu") == 0;
}

splat_context_options splat_stage_context_options(const splat_line *line)
{
    splat_context_options options = line->machine->context;
    options.log = splat_talk_log;
    options.log_user = line->talk;
    options.fragmentation = strcmp(line->machine->fragmentation, "aggressive") == 0 ? SPLAT_FRAGMENTATION_AGGRESSIVE
                            : strcmp(line->machine->fragmentation, "minimal") == 0  ? SPLAT_FRAGMENTATION_MINIMAL
                                                                                    : SPLAT_FRAGMENTATION_NORMAL;
    return options;
}

splat_status splat_stage_create_context(const splat_line *line, splat_context **context, splat_error *error)
{
    const splat_context_options options = splat_stage_context_options(line);
    SPLAT_TRY(splat_context_create(&options, context, error));
    if (!splat_context_get_pci_bus_id(*context)[0]) splat_stage_tell_unused(line, "gpu", ": running on the CPU");
    return splat_stage_limit_memory(line, *context, error);
}

void splat_stage_tell_unused(const splat_line *line, const char *name, const char *why)
{
    if (splat_line_given(line, name)) splat_notice(line->talk, "`%s` has no effect%s", name, why);
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

bool splat_stage_is_model_folder(const char *folder)
{
    static const char *const names[] = {"cfg_args", "point_cloud"};
    char path[SPLAT_STAGE_PATH];
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
        if (splat_stage_join(path, folder, names[i], NULL) == SPLAT_OK && splat_path_exists(path)) return true;
    return splat_checkpoint_newest(folder) >= 0;
}

/* A folder without a splat may have a checkpoint, of a run that was asked to write no PLY or was killed. */
static bool find_checkpoint(splat_session *session, const splat_line *line)
{
    int newest = line->model->iteration < 0 ? splat_checkpoint_newest(line->model->model_path) : -1;
    int length = newest < 0 ? -1
                            : snprintf(session->ply, sizeof session->ply, "%s/chkpnt%d.splatsmith",
                                       line->model->model_path, newest);
    if (length < 0 || length >= (int)sizeof session->ply) return false;
    session->iteration = newest;
    return true;
}

splat_status splat_session_find_ply(splat_session *session, const splat_line *line, splat_error *error)
{
    if (line->model->ply) {
        if (snprintf(session->ply, sizeof session->ply, "%s", line->model->ply) >= (int)sizeof session->ply)
            return splat_fail(error, SPLAT_ERROR_ARGUMENT, "the path %.200s... is too long", line->model->ply);
        session->iteration = line->model->iteration >= 0 ? line->model->iteration : iteration_in_path(line->model->ply);
        return SPLAT_OK;
    }
    if (!line->model->model_path)
        return splat_fail(error, SPLAT_ERROR_ARGUMENT, "give the model folder with -m, or a PLY file with `ply`");
    splat_status status = splat_model_find_iteration(line->model->model_path, line->model->iteration, session->ply,
                                                     sizeof session->ply, &session->iteration, error);
    return status == SPLAT_OK || find_checkpoint(session, line) ? SPLAT_OK : status;
}

/* The scene options of the training run, unless the command line says something else. */
static void apply_config(splat_session *session, const splat_line *line)
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
static splat_status read_config(splat_session *session, const splat_line *line, splat_error *error)
{
    char path[SPLAT_STAGE_PATH];
    SPLAT_TRY(splat_stage_join(path, line->model->model_path, "cfg_args", error));
    if (!splat_path_exists(path) && line->scene->source_path) {
        splat_notice(line->talk, "%s does not exist: the scene's options are the defaults", path);
        return SPLAT_OK;
    }
    SPLAT_TRY(splat_model_config_read(line->model->model_path, &session->config, error));
    apply_config(session, line);
    const char *source = session->config.scene.source_path;
    if (line->scene->source_path || !source || splat_path_exists(source)) return SPLAT_OK;
    return splat_fail(error, SPLAT_ERROR_IO, "the scene %s, which %s names, does not exist; give its folder with -s",
                      source, path);
}

/* True if folder/name exists; its path. */
static bool has_file(const char *folder, const char *name, char path[SPLAT_STAGE_PATH])
{
    return splat_stage_join(path, folder, name, NULL) == SPLAT_OK && splat_path_exists(path);
}

/* A file next to the splat that was found, else in the model folder. */
static bool find_next_to(const splat_session *session, const splat_line *line, const char *name,
                         char path[SPLAT_STAGE_PATH])
{
    char folder[SPLAT_STAGE_PATH];
    const char *slash = strrchr(session->ply, '/');
    snprintf(folder, sizeof folder, "%.*s", slash ? (int)(slash - session->ply) : 1, slash ? session->ply : ".");
    if (session->ply[0] && has_file(folder, name, path)) return true;
    return line->model->model_path && has_file(line->model->model_path, name, path);
}

bool splat_session_find_exposures(const splat_session *session, const splat_line *line, char path[SPLAT_STAGE_PATH])
{
    return find_next_to(session, line, "exposure.json", path);
}

bool splat_session_find_sky(const splat_session *session, const splat_line *line, char path[SPLAT_STAGE_PATH])
{
    const char *sky = session->scene_options.sky;
    return (!sky || strcmp(sky, "none") != 0) && find_next_to(session, line, "sky.safetensors", path);
}

splat_status splat_session_open_scene_of(splat_session *session, const splat_line *line,
                                         const splat_scene_options *options, splat_error *error)
{
    SPLAT_TRY(splat_scene_open(session->context, options, &session->scene, error));
    session->kept_sky = line->kept_sky;
    splat_scene_use_sky(session->scene, session->kept_sky);
    return SPLAT_OK;
}

splat_status splat_session_open_scene(splat_session *session, const splat_line *line, bool hold_out, splat_error *error)
{
    splat_scene_options *options = &session->scene_options;
    *options = *line->scene;
    if (line->model->model_path) {
        SPLAT_TRY(read_config(session, line, error));
        SPLAT_TRY(splat_stage_join(session->split_file, line->model->model_path, "split.json", error));
        if (splat_path_exists(session->split_file)) options->split_file = session->split_file;
    } else {
        options->eval = hold_out;
        splat_line_put_given(line, &line->scene->eval, sizeof hold_out, &options->eval);
    }
    if (!options->source_path) return splat_fail(error, SPLAT_ERROR_ARGUMENT, SPLAT_STAGE_NO_SCENE);
    SPLAT_TRY(splat_session_open_scene_of(session, line, options, error));
    splat_scene_get_info(session->scene, &session->scene_info);
    return SPLAT_OK;
}

splat_status splat_session_set_render_mode(splat_session *session, const splat_line *line, splat_error *error)
{
    splat_model_info info;
    splat_render_mode mode;
    splat_model_get_info(session->model, &info);
    if (strcmp(line->model->render_mode, "auto") == 0)
        mode = info.render_mode;
    else
        mode = strcmp(line->model->render_mode, "mip") == 0 ? SPLAT_RENDER_MIP : SPLAT_RENDER_CLASSIC;
    float kernel_size = 0;                                                                    /* the mode's default */
    if (mode == SPLAT_RENDER_MIP && info.render_mode == mode) kernel_size = info.kernel_size; /* a checkpoint's own */
    if (mode == SPLAT_RENDER_MIP && session->config.kernel_size > 0) kernel_size = session->config.kernel_size;
    splat_line_put_given(line, &line->train->kernel_size, sizeof kernel_size, &kernel_size);
    return splat_model_set_render_mode(session->model, mode, kernel_size, error);
}

/* session->ply, with what the line says of it. */
static splat_status load_splat(splat_session *session, const splat_line *line, splat_error *error)
{
    SPLAT_TRY(splat_model_load(session->context, session->ply, &session->model, error));
    if (line->model->reduce_sh_degree >= 0)
        SPLAT_TRY(splat_model_reduce_sh(session->model, line->model->reduce_sh_degree, error));
    return splat_session_set_render_mode(session, line, error);
}

static splat_status start_session(splat_session *session, const splat_line *line, splat_error *error)
{
    memset(session, 0, sizeof *session);
    session->outcome = line->outcome;
    SPLAT_TRY(splat_session_find_ply(session, line, error));
    return splat_stage_create_context(line, &session->context, error);
}

splat_status splat_session_open(splat_session *session, const splat_line *line, bool hold_out, splat_error *error)
{
    SPLAT_TRY(start_session(session, line, error));
    SPLAT_TRY(splat_session_open_scene(session, line, hold_out, error));
    SPLAT_TRY(splat_scene_check_splat(session->scene, session->ply, error));
    return load_splat(session, line, error);
}

splat_status splat_session_open_splat(splat_session *session, const splat_line *line, splat_error *error)
{
    SPLAT_TRY(start_session(session, line, error));
    return load_splat(session, line, error);
}

static bool asks_for_lpips(const splat_line *line)
{
    static const char *const of_lpips[] = {"enable_lpips", "lpips_net", "lpips_weights"};
    return splat_line_first_given(line, of_lpips, 3);
}

/* How to get weights is said once: not again by this run, nor where results have been measured before; and only to who
 * asks for LPIPS or a measurement, not with every training. */
static void tell_no_lpips(const splat_line *line, bool in_full, const splat_error *error)
{
    char results[SPLAT_STAGE_PATH];
    const bool has_results = line->model->model_path && has_file(line->model->model_path, "results.json", results);
    if (has_results || !in_full || (line->talk && line->talk->has_named_lpips))
        splat_notice(line->talk, "LPIPS is not measured: it has no weights (docs/files.md)");
    else
        splat_notice(line->talk, "%s", error->message);
    if (line->talk) line->talk->has_named_lpips = true;
}

static splat_status open_lpips(const splat_line *line, splat_context *context, bool on, bool in_full,
                               splat_lpips **lpips, splat_error *error)
{
    const splat_lpips_options *options = &line->lpips->options;
    bool is_on = on || asks_for_lpips(line);
    splat_error own;
    *lpips = NULL;
    splat_line_put_given(line, &line->lpips->enable, sizeof is_on, &is_on);
    if (!is_on) return SPLAT_OK;
    splat_status status = splat_lpips_create(context, options, lpips, &own);
    if (status == SPLAT_ERROR_IO && !options->weights) { /* everything but LPIPS is measured */
        tell_no_lpips(line, in_full, &own);
        return SPLAT_OK;
    }
    if (status != SPLAT_OK && error) *error = own;
    return status;
}

splat_status splat_stage_open_lpips(const splat_line *line, splat_context *context, splat_lpips **lpips,
                                    splat_error *error)
{
    return open_lpips(line, context, true, true, lpips, error);
}

splat_status splat_stage_open_training_lpips(const splat_line *line, splat_context *context, const splat_scene *scene,
                                             splat_lpips **lpips, splat_error *error)
{
    splat_scene_info info;
    splat_scene_get_info(scene, &info);
    const bool is_asked = asks_for_lpips(line), is_limited = splat_line_given(line, "vram_limit");
    if (info.n_test && is_limited && !is_asked)
        splat_notice(line->talk,
                     "LPIPS is not measured: its weights would take memory that `vram_limit` grants the training; "
                     "`enable_lpips` measures it all the same");
    return open_lpips(line, context, info.n_test && !is_limited, is_asked, lpips, error);
}

void splat_stage_note_memory(splat_line_outcome *outcome, const splat_context *context)
{
    splat_memory_info memory;
    if (!outcome || !context) return;
    splat_context_get_memory(context, &memory);
    outcome->peak_bytes = memory.peak_bytes + memory.overhead_bytes;
}

void splat_session_close(splat_session *session)
{
    splat_stage_note_memory(session->outcome, session->context);
    splat_model_destroy(session->model);
    splat_lpips_destroy(session->lpips);
    splat_scene_keep_sky(session->scene, session->kept_sky);
    splat_scene_close(session->scene);
    splat_context_destroy(session->context);
    splat_model_config_free(&session->config);
}
