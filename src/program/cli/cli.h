/* What the files of the command line share: exit codes, messages, the commands, an opened model folder. */
#ifndef SPLAT_CLI_CLI_H
#define SPLAT_CLI_CLI_H

#include "options.h"

#define CLI_OK 0
#define CLI_FAILED 1 /* the work could not be done */
#define CLI_USAGE 2  /* the command line must be changed */
#define CLI_CHECKPOINT 3 /* checkpoints could not be written; the splat was saved where possible */
#define CLI_PASSED 4 /* bench compare: a threshold was passed */
/* After a signal: 128 + its number, as shells report it (130 for Ctrl-C). */

#define CLI_PATH_MAX 4096
/* The sentence about a scene that was not named. */
#define CLI_NO_SCENE                                                                                                   \
    "give the scene's folder with -s; without photos of your own, 'splatsmith sample FOLDER' writes a scene to try"

#define COMMAND(bit, function, name, traits, usage, operand, summary, details) int cmd_##function(splat_line *line);
#include "line/commands.def"
/* The function of a command. Returns its exit code. */
int cli_run(const splat_line_command *command, splat_line *line);
/* What the first word of bench asks for. */
int cmd_bench_compare(const splat_line *line);
int cmd_bench_report(const splat_line *line);

/* Whether a command would take this line: all that can be said before anything is opened. `loaded`: the iteration of
 * the splat that coarse training begins with, -1 when it is not known. Print the reason; return an exit code. */
int cli_check_train(const splat_line *line);
int cli_check_coarse(const splat_line *line, int loaded);
int cli_check_mesh(const splat_line *line);
int cli_check_refine(const splat_line *line);
int cli_check_texture(const splat_line *line);

/* What a command that works on a splat leaves to whoever called it: splat_line.outcome. */
typedef struct cli_outcome {
    size_t peak_bytes;  /* of the context's memory, with the driver's overhead */
    double psnr;        /* of the last evaluation of the test views */
    int psnr_iteration; /* 0: there was none */
} cli_outcome;

/* Notes the memory of a context that is about to be closed. NULL outcome or context: nothing to note. */
void cli_note_memory(cli_outcome *outcome, const splat_context *context);

/* What is to be said of a command or option of other programs, spelled with underscores, or of a value that an option
 * takes elsewhere; NULL: nothing is known. */
const char *cli_command_hint(const char *name);
const char *cli_option_hint(const splat_line_command *command, const char *name);
const char *cli_value_hint(const splat_line_option *option, const char *value);
/* The command to type instead of a path that stands where a command belongs; NULL: it looks like no path. */
const char *cli_path_hint(const char *path, char *text, size_t size);
/* -r before a whole number is the resolution, as in 3DGS, also where SuGaR's -r is a regularization: returns the option
 * that is meant. value: NULL when there is none. */
const splat_line_option *cli_number_option(const splat_line_command *command, const splat_line_option *option,
                                           const char *value);
/* The option that a word without one was probably meant for: "-s" before the folder of a scene; NULL: unknown. */
const char *cli_word_hint(const splat_line_command *command, const char *word);

/* --bboxmin and --bboxmax, in the world; false, with a message, when they are wrong. */
bool cli_read_box(const splat_line *line, bool *has_box, double low[3], double high[3]);

/* The help of one command, with the options that people need first or with all; NULL: the list of commands. */
void cli_print_help(FILE *out, const splat_line_command *command, splat_line_help help);

/* Whether --backend names the CPU. */
bool cli_names_cpu(const splat_line *line);
/* What --backend, --gpu, --threads, --simd and the like ask for. */
splat_context_options cli_context_options(const splat_line *line);
/* The context of these, under --vram_limit. Prints on failure; returns an exit code. */
int cli_context_create(const splat_line *line, splat_context **context);

/* The words of a command line as a shell takes them; the caller frees. NULL when memory is exhausted. */
char *cli_command_text(char **words);
/* LPIPS for the evaluations of a context, unless --enable_lpips says otherwise. Missing weights are a notice, and
 * *lpips stays NULL. Destroy it before the context. Returns an exit code. */
int cli_lpips_open(const splat_line *line, splat_context *context, splat_lpips **lpips);
/* The same for a training, whose memory it shares: if it is asked for, or if the scene has test views and no
 * --vram_limit was given. */
int cli_lpips_open_training(const splat_line *line, splat_context *context, const splat_scene *scene,
                            splat_lpips **lpips);
/* A model with the scene it belongs to, as eval, render and contact-sheet need them. */
typedef struct cli_session {
    splat_context *context;
    splat_scene *scene;
    splat_model *model;
    splat_lpips *lpips;             /* NULL: not measured */
    splat_model_config config;      /* of the model folder; zero without one */
    splat_scene_options scene_options;
    splat_scene_info scene_info;
    char ply[CLI_PATH_MAX];
    char split_file[CLI_PATH_MAX];
    int iteration;                  /* of the PLY; 0 when its path does not tell */
    cli_outcome *outcome;           /* NULL: nobody asks */
} cli_session;

/* The exposure.json of the splat that was found: beside it, else in the model folder. False: it has none. */
bool cli_session_find_exposures(const cli_session *session, const splat_line *line, char path[CLI_PATH_MAX]);
/* Finds the PLY by -m and --iteration, or by --ply; in a folder without one the newest checkpoint. Fills ply and
 * iteration only. Returns an exit code. */
int cli_session_find_ply(cli_session *session, const splat_line *line);
/* Opens the scene alone, as -s or the model folder says; session->context must be there, the rest zero. hold_out as
 * below. */
int cli_session_open_scene(cli_session *session, const splat_line *line, bool hold_out);
/* Reports the first of the named options that is given, which `without` does not take, as `why` says. */
bool cli_is_any_given(const splat_line *line, const char *const names[], size_t n, const char *without,
                      const char *why);
/* False, with a message, when an option of drawing meshes stands without --mesh. */
bool cli_check_mesh_draw(const splat_line *line);
/* Of render and eval: false, with a message, when --mesh stands with an option of splats, or one of meshes alone. */
bool cli_check_mesh_options(const splat_line *line);
/* Opens everything. hold_out: without a model folder test views are held out unless --eval says otherwise. Returns an
 * exit code; close the session in either case. */
int cli_session_open(cli_session *session, const splat_line *line, bool hold_out);
/* Opens the splat alone: of -m or --ply, without its scene. Else as cli_session_open. */
int cli_session_open_splat(cli_session *session, const splat_line *line);
/* Opens a scene, and as its splat the one that a training starts from: its points. */
int cli_session_open_points(cli_session *session, const splat_line *line);
/* Whether a folder has, or is about to have, what train writes: cfg_args, splats or checkpoints. */
bool cli_is_model_folder(const char *folder);
/* Takes the floaters from the session's splat and says how many. options: NULL for the line's. */
int cli_remove_floaters(cli_session *session, const splat_line *line, const splat_mesh_extract_options *options);
void cli_session_close(cli_session *session);

/* Builds "folder/name" in path; false, with a message, when it is too long. */
bool cli_path_join(char path[CLI_PATH_MAX], const char *folder, const char *name);
bool cli_path_exists(const char *path);
/* Whether the name ends as another format does. One without an extension is as good as any; another extension would
 * be a lie. */
bool cli_is_other_format(const char *path, const char *extension);

/* The folder to write: `given`, or, when that is NULL, `name` in a folder beside `beside`, called like it with `suffix`
 * at its end. False, with a message, when it is too long. */
bool cli_choose_folder(char path[CLI_PATH_MAX], const char *given, const char *beside, const char *suffix,
                       const char *name);
/* Whether `path` is `folder` or in it, links followed. Absent ones (NULL path too) are not. */
bool cli_lies_in(const char *path, const char *folder);
/* --delete_first: tells why `folder` must not be deleted (message printed, exit code), or CLI_OK. */
int cli_check_deletable(const char *folder, const char *source_path, const char *start_checkpoint);
/* rm -r that follows no link and stays on its file system. Absent is fine. Returns an exit code. */
int cli_delete_folder(const char *folder);

#endif
