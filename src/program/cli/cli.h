/* Declarations shared by the files of the command line: exit codes, messages, the commands, an opened model folder. */
#ifndef SPLAT_CLI_CLI_H
#define SPLAT_CLI_CLI_H

#include "options.h"
#include "stage/session.h"

#define CLI_OK 0
#define CLI_FAILED 1 /* the work could not be done */
#define CLI_USAGE 2  /* the command line must be changed */
#define CLI_CHECKPOINT 3 /* checkpoints could not be written; the splat was saved where possible */
#define CLI_PASSED 4 /* bench compare: a threshold was passed */
/* After a signal: 128 + its number, as shells report it (130 for Ctrl-C). */

#define CLI_PATH_MAX SPLAT_STAGE_PATH
#define CLI_NO_SCENE SPLAT_STAGE_NO_SCENE

/* The exit code of work that ended so; prints the error, but nothing of a stop. */
int cli_end(splat_status status, const splat_error *error);

#define COMMAND(bit, function, name, traits, usage, operand, summary, details) int cmd_##function(splat_line *line);
#include "line/commands.def"
/* The function of a command. Returns its exit code. */
int cli_run(const splat_line_command *command, splat_line *line);
/* The commands after the first word of bench. */
int cmd_bench_compare(const splat_line *line);
int cmd_bench_report(const splat_line *line);

/* Returns a hint for a command or option of other programs, spelled with underscores, or for a value that an option
 * takes elsewhere; NULL: unknown. */
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

/* The help of one command, with the options that people need first or with all; NULL: the list of commands. */
void cli_print_help(FILE *out, const splat_line_command *command, splat_line_help help);

/* splat_stage_create_context. Prints on failure; returns an exit code. */
int cli_context_create(const splat_line *line, splat_context **context);

/* The words of a command line as a shell takes them; the caller frees. NULL when memory is exhausted. */
char *cli_command_text(char **words);
/* splat_stage_open_lpips and splat_stage_open_training_lpips. Print on failure; return an exit code. */
int cli_lpips_open(const splat_line *line, splat_context *context, splat_lpips **lpips);
int cli_lpips_open_training(const splat_line *line, splat_context *context, const splat_scene *scene,
                            splat_lpips **lpips);
/* splat_session_open and its like. Print on failure; return an exit code. Close the session in either case. */
int cli_session_open_scene(splat_session *session, const splat_line *line, bool hold_out);
int cli_session_open(splat_session *session, const splat_line *line, bool hold_out);
int cli_session_open_splat(splat_session *session, const splat_line *line);
/* Opens a scene, and as its splat the one that a training starts from: its points. */
int cli_session_open_points(splat_session *session, const splat_line *line);
/* Cameras for the photos of a source, written as a scene; Ctrl-C ends the search. Returns an exit code. */
int cli_find_cameras(const splat_line *line, const char *source, const char *folder, splat_cameras_info *info);
/* Reports the first of the named options that is given, which `without` does not take, as `why` says. */
bool cli_is_any_given(const splat_line *line, const char *const names[], size_t n, const char *without,
                      const char *why);
/* False, with a message, when an option of drawing meshes stands without --mesh. */
bool cli_check_mesh_draw(const splat_line *line);
/* For render and eval: false, with a message, if --mesh comes with an option of splats, or an option of meshes comes
 * without it. */
bool cli_check_mesh_options(const splat_line *line);
/* Builds "folder/name" in path; false, with a message, when it is too long. */
bool cli_path_join(char path[CLI_PATH_MAX], const char *folder, const char *name);
bool cli_path_exists(const char *path);
/* True if the name has the ending of another format. A name without an extension is good; another extension would be
 * wrong. */
bool cli_is_other_format(const char *path, const char *extension);

#endif
