/* Sessions and contexts that commands open, with messages and exit codes. */
#ifndef SPLAT_CLI_SESSION_H
#define SPLAT_CLI_SESSION_H

#include "cli.h"

/* The exit code of work that ended so; prints the error, but nothing of a stop. */
int cli_end(splat_status status, const splat_error *error);

/* splat_stage_create_context. Prints on failure; returns an exit code. */
int cli_context_create(const splat_line *line, splat_context **context);
/* The same on the CPU, for work that uses no GPU, whatever the line says. */
int cli_context_create_on_cpu(const splat_line *line, splat_context **context);
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
/* Reports the first of the named options that is given, which `without` does not take, as `why` says. */
bool cli_is_any_given(const splat_line *line, const char *const names[], size_t n, const char *without,
                      const char *why);
/* False, with a message, when an option of drawing meshes stands without --mesh. */
bool cli_check_mesh_draw(const splat_line *line);
/* For render and eval: false, with a message, if --mesh comes with an option of splats, or an option of meshes comes
 * without it. */
bool cli_check_mesh_options(const splat_line *line);

#endif
