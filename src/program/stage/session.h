/* The inputs of a command: the context, and a splat with its scene. */
#ifndef SPLAT_STAGE_SESSION_H
#define SPLAT_STAGE_SESSION_H

#include "line/line.h"
#include "stage/talk.h"

/* The sentence about a scene that was not named. */
#define SPLAT_STAGE_NO_SCENE                                                                                           \
    "give the scene's folder with -s; without photos of your own, 'splatsmith sample FOLDER' writes a scene to try"

/* A splat with the scene it belongs to. Zero, then opened; closed in any case. */
typedef struct splat_session {
    splat_context *context;
    splat_scene *scene;
    splat_model *model;
    splat_lpips *lpips;        /* NULL: not measured */
    splat_model_config config; /* settings of the model folder; zero without one */
    splat_scene_options scene_options;
    splat_scene_info scene_info;
    char ply[SPLAT_STAGE_PATH];
    char split_file[SPLAT_STAGE_PATH];
    int iteration;               /* iteration of the PLY; 0 if its path has none */
    splat_line_outcome *outcome; /* NULL: nobody asks */
    struct splat_kept_sky *kept_sky; /* takes the scene's sky at the end; NULL: nobody does */
} splat_session;

/* True if `backend` names the CPU. */
bool splat_stage_names_cpu(const splat_line *line);
/* The options of `backend`, `gpu`, `threads`, `simd` and the like; the log goes to line->talk. */
splat_context_options splat_stage_context_options(const splat_line *line);
/* The context of these, under `vram_limit`. Errors: those of splat_context_create; MEMORY. */
splat_status splat_stage_create_context(const splat_line *line, splat_context **context, splat_error *error);
/* The notice "`name` has no effect<why>" if the option is set. */
void splat_stage_tell_unused(const splat_line *line, const char *name, const char *why);
/* LPIPS for the evaluations of a context, unless `enable_lpips` says otherwise. Missing weights are a notice, and
 * *lpips stays NULL. Destroy it before the context. Errors: those of splat_lpips_create. */
splat_status splat_stage_open_lpips(const splat_line *line, splat_context *context, splat_lpips **lpips,
                                    splat_error *error);
/* The same for a training, whose memory it shares: if it is asked for, or if the scene has test views and no
 * `vram_limit` is set. */
splat_status splat_stage_open_training_lpips(const splat_line *line, splat_context *context, const splat_scene *scene,
                                             splat_lpips **lpips, splat_error *error);
/* Notes the memory of a context that is about to be closed. NULL outcome or context: nothing to note. */
void splat_stage_note_memory(splat_line_outcome *outcome, const splat_context *context);
/* True if a folder has, or is about to have, the files of train: cfg_args, splats or checkpoints. */
bool splat_stage_is_model_folder(const char *folder);

/* Finds the PLY by model_path and `iteration`, or by `ply`; in a folder without one the newest checkpoint. Fills ply
 * and iteration only. Errors: ARGUMENT, IO. */
splat_status splat_session_find_ply(splat_session *session, const splat_line *line, splat_error *error);
/* The exposure.json of the splat that was found: next to it, else in the model folder. False: it has none. */
bool splat_session_find_exposures(const splat_session *session, const splat_line *line, char path[SPLAT_STAGE_PATH]);
/* The sky.safetensors of the splat, in the same places. False: it has none, or `sky` is none. The scene is open. */
bool splat_session_find_sky(const splat_session *session, const splat_line *line, char path[SPLAT_STAGE_PATH]);
/* Opens a scene by its options, with the sky that a stage before it has found. Errors: those of splat_scene_open. */
splat_status splat_session_open_scene_of(splat_session *session, const splat_line *line,
                                         const splat_scene_options *options, splat_error *error);
/* Opens the scene alone, as source_path or the model folder says; session->context must be there, the rest zero.
 * hold_out: without a model folder test views are held out unless `eval` says otherwise. Errors: those of
 * splat_scene_open and splat_model_config_read. */
splat_status splat_session_open_scene(splat_session *session, const splat_line *line, bool hold_out,
                                      splat_error *error);
/* Opens everything. Errors: those of the functions above, of splat_model_load and splat_scene_check_splat. */
splat_status splat_session_open(splat_session *session, const splat_line *line, bool hold_out, splat_error *error);
/* Opens the splat alone: of model_path or `ply`, without its scene. */
splat_status splat_session_open_splat(splat_session *session, const splat_line *line, splat_error *error);
/* `render_mode` and `kernel_size`; a Mip model takes the kernel size it was trained with. */
splat_status splat_session_set_render_mode(splat_session *session, const splat_line *line, splat_error *error);
void splat_session_close(splat_session *session);

#endif
