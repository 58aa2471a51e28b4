/* The limit of memory, the options of a training, and its plan under the limit. */
#ifndef SPLAT_STAGE_MEMORY_H
#define SPLAT_STAGE_MEMORY_H

#include "line/line.h"
#include "stage/talk.h"

/* The bytes of a limit on the context's device, or on the host for the CPU backend. The driver is asked for percentages
 * and max only. */
size_t splat_stage_limit_bytes(const splat_line_limit *limit, const splat_context *context, const splat_line *line);
/* Gives the context the limit of `vram_limit`, if there is one. Errors: those of splat_context_set_memory_limit. */
splat_status splat_stage_limit_memory(const splat_line *line, splat_context *context, splat_error *error);
/* True if somebody names the number of steps, on the line or for a pipeline; else the photos set it. */
bool splat_stage_names_steps(const splat_line *line);
/* The options of a training on the line, before any plan. */
void splat_stage_asked_options(const splat_line *line, splat_train_options *options);
/* Takes from a preset (a strategy, a regularization) the options that neither the line nor others set. */
void splat_stage_apply_preset(const splat_line *line, const splat_train_options *preset, splat_train_options *options);
/* The same of a training from points: with its strategy, whose defaults those options have that are not set. scene: for
 * `strategy auto`; NULL before it is open. */
void splat_stage_asked_steps(const splat_line *line, const splat_scene *scene, splat_train_options *options);
/* The same; what goes on from a checkpoint has its strategy, unless the line names one. */
void splat_stage_asked_run(const splat_line *line, const splat_scene *scene, const splat_run_options *run,
                           splat_train_options *options);
/* Which choices are the user's, and the count to plan for. */
void splat_stage_plan_options(const splat_line *line, splat_plan_options *options);
/* Under `vram_limit`: how the run begins, in the options, and what it will give up, as a message. n_gaussians: to plan
 * for, 0: what the line says. n_vertices: of the mesh that the Gaussians are bound to; 0: none. Errors: those of
 * splat_plan_make. */
splat_status splat_stage_plan(const splat_line *line, const splat_context *context, const splat_scene *scene,
                              size_t n_gaussians, size_t n_vertices, splat_train_options *options, splat_error *error);
/* The lines "option saves N; cost: ...". */
void splat_stage_say_choices(const splat_talk *talk, const splat_plan *plan);
/* The lines "beyond N  option; cost: ...". */
void splat_stage_say_steps(const splat_talk *talk, const splat_plan *plan);

#endif
