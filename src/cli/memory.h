/* What the commands that deal with memory share. */
#ifndef SPLAT_CLI_MEMORY_H
#define SPLAT_CLI_MEMORY_H

#include "cli.h"

/* "8G", "8GiB", "500M"; a plain number is GiB. Prints what is wrong. */
bool cli_read_bytes(const char *option, const char *text, size_t *bytes);
/* --vram_limit in bytes: a size, a percentage of the device, or max. */
bool cli_memory_limit(const cli_values *values, const splat_context *context, size_t *bytes);
/* What the command line asks of a training, before any plan. */
void cli_asked_options(const cli_values *values, splat_train_options *options);
/* Under --vram_limit: a plan's choices in the options, told; the context gets the limit. n_gaussians: to plan for, 0:
 * what the command line says. Returns an exit code. */
int cli_plan_training(const cli_values *values, splat_context *context, const splat_scene *scene, size_t n_gaussians,
                      splat_train_options *options);
/* Which choices are the user's, and the count to plan for. */
void cli_plan_options(const cli_values *values, splat_plan_options *options);

#endif
