/* --vram_limit and what follows from it. */
#ifndef SPLAT_CLI_VRAM_H
#define SPLAT_CLI_VRAM_H

#include "cli.h"

/* What a limit is on the context's device, or on the host for the CPU backend. The driver is asked for percentages and
 * max only. */
size_t cli_limit_bytes(const splat_line_limit *limit, const splat_context *context, const splat_line *line);
/* Gives the context the limit of --vram_limit, if there is one. Returns an exit code. */
int cli_limit_memory(const splat_line *line, splat_context *context);
/* What the command line asks of a training, before any plan. */
void cli_asked_options(const splat_line *line, splat_train_options *options);
/* Of these, what is neither on the command line nor set becomes that of a preset: a strategy, a regularization. */
void cli_apply_preset(const splat_line *line, const splat_train_options *preset, splat_train_options *options);
/* The same of a training from points: with its strategy, whose defaults those options have that are not given. */
void cli_asked_steps(const splat_line *line, splat_train_options *options);
/* Which choices are the user's, and the count to plan for. */
void cli_plan_options(const splat_line *line, splat_plan_options *options);
/* Under --vram_limit: how the run begins, in the options, and what it will give up, reported. n_gaussians: to plan for,
 * 0: what the command line says. Returns an exit code. */
int cli_plan_training(const splat_line *line, const splat_context *context, const splat_scene *scene,
                      size_t n_gaussians, splat_train_options *options);
/* The same for Gaussians that are bound to a mesh with so many vertices. */
int cli_plan_bound(const splat_line *line, const splat_context *context, const splat_scene *scene, size_t n_gaussians,
                   size_t n_vertices, splat_train_options *options);
/* The lines "--option saves N; cost: ...". */
void cli_print_choices(const splat_plan *plan);
/* The lines "beyond N  --option; cost: ...". */
void cli_print_steps(const splat_plan *plan);

#endif
