/* Limits of memory, and the options of a training. */
#include "stage/memory.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

size_t splat_stage_limit_bytes(const splat_line_limit *limit, const splat_context *context, const splat_line *line)
{
    splat_device_info devices[64];
    splat_memory_info memory;
    size_t n = 0, gpu = (size_t)line->machine->context.gpu;
    if (limit->kind == SPLAT_LINE_LIMIT_NONE) return 0;
    if (limit->kind == SPLAT_LINE_LIMIT_BYTES) return (size_t)limit->value;
    splat_context_get_memory(context, &memory);
    size_t page = (size_t)sysconf(_SC_PAGESIZE), total = page * (size_t)sysconf(_SC_PHYS_PAGES);
    size_t available = page * (size_t)sysconf(_SC_AVPHYS_PAGES); /* what is free or already ours */
    if (memory.overhead_bytes && splat_device_list(devices, 64, &n, NULL) == SPLAT_OK && gpu < n) {
        total = devices[gpu].total_bytes;
        available = devices[gpu].free_bytes + memory.bytes + memory.overhead_bytes;
    }
    if (available > total) available = total;
    return limit->kind == SPLAT_LINE_LIMIT_FREE ? available : (size_t)((double)total * limit->value);
}

splat_status splat_stage_limit_memory(const splat_line *line, splat_context *context, splat_error *error)
{
    size_t bytes = splat_stage_limit_bytes(&line->machine->vram_limit, context, line);
    return splat_context_set_memory_limit(context, bytes, error);
}

void splat_stage_asked_options(const splat_line *line, splat_train_options *options)
{
    *options = *line->train;
    options->photos_on_host = strcmp(line->training->data_device, "cpu") == 0;
}

void splat_stage_apply_preset(const splat_line *line, const splat_train_options *preset, splat_train_options *options)
{
    splat_train_options usual;
    splat_train_options_init(&usual);
#define SPLAT_TRAIN_LINE(name, field, ...)                                                                             \
    if (preset->field != usual.field && options->field == usual.field && !splat_line_given(line, #name))               \
        options->field = preset->field;
#include "splatsmith/train_options.def"
}

bool splat_stage_names_steps(const splat_line *line)
{
    splat_train_options usual;
    splat_train_options_init(&usual);
    return splat_line_given(line, "iterations") || line->train->iterations != usual.iterations;
}

/* scene: NULL leaves the strategy's own number of steps. */
static void asked_with(const splat_line *line, const splat_strategy *strategy, const splat_scene *scene,
                       splat_train_options *options)
{
    splat_train_options of_strategy;
    splat_scene_info info;
    splat_train_options_init_strategy(&of_strategy, strategy);
    splat_stage_asked_options(line, options);
    options->strategy = of_strategy.strategy;
    const bool is_named = splat_stage_names_steps(line);
    if (is_named) splat_train_options_set_steps(&of_strategy, options->iterations);
    if (scene) {
        splat_scene_get_info(scene, &info);
        if (!is_named) splat_train_options_fit_photos(&of_strategy, info.n_train);
        splat_train_options_fit_rates(&of_strategy, info.n_train);
    }
    splat_stage_apply_preset(line, &of_strategy, options);
    if (splat_line_given(line, "target_gaussian_count") || line->plan->n_gaussians) {
        options->pixels_per_gaussian = 0; /* a named count is meant */
        splat_line_put_given(line, &line->train->pixels_per_gaussian, sizeof(float), &options->pixels_per_gaussian);
    }
}

void splat_stage_asked_steps(const splat_line *line, const splat_scene *scene, splat_train_options *options)
{
    asked_with(line, splat_strategy_find(line->training->strategy), scene, options);
}

void splat_stage_asked_run(const splat_line *line, const splat_scene *scene, const splat_run_options *run,
                           splat_train_options *options)
{
    const splat_run_begun begun = splat_run_find_begun(run);
    const bool goes_on = begun.strategy && !splat_line_given(line, "strategy");
    asked_with(line, goes_on ? begun.strategy : splat_strategy_find(line->training->strategy), scene, options);
    if (begun.exposure && !splat_line_given(line, "exposure")) options->exposure = true;
    if (begun.dome) options->dome = true;
    if (begun.strategy && !splat_line_given(line, "dense_start")) options->dense_start = begun.dense_start;
    options->begins_later = run->start_checkpoint != NULL;
}

void splat_stage_plan_options(const splat_line *line, splat_plan_options *options)
{
    splat_plan_options_init(options);
    options->n_gaussians = line->plan->n_gaussians;
    const struct {
        const char *name;
        bool *keep;
    } kept[] = {{"data_device", &options->keep_photos},
                {"sh_storage", &options->keep_sh_storage},
                {"optimizer_storage", &options->keep_optimizer_storage},
                {"sh_offload", &options->keep_sh_offload}};
    for (size_t i = 0; i < sizeof kept / sizeof kept[0]; i++) *kept[i].keep = splat_line_given(line, kept[i].name);
}

void splat_stage_say_choices(const splat_talk *talk, const splat_plan *plan)
{
    char bytes[32], saved[64];
    for (size_t i = 0; i < plan->n_choices; i++) {
        const splat_plan_choice *choice = &plan->choices[i];
        saved[0] = '\0';
        if (choice->saved_bytes) snprintf(saved, sizeof saved, "saves %10s; ", splat_bytes(choice->saved_bytes, bytes));
        splat_say(talk, "  %-30s %scost: %s", choice->option, saved, choice->cost);
    }
}

void splat_stage_say_steps(const splat_talk *talk, const splat_plan *plan)
{
    for (size_t i = 0; i < plan->n_steps; i++) {
        const splat_plan_step *step = &plan->steps[i];
        splat_say(talk, "  beyond %10zu  %-30s cost: %s", step->n_gaussians, step->option, step->cost);
    }
}

splat_status splat_stage_plan(const splat_line *line, const splat_context *context, const splat_scene *scene,
                              size_t n_gaussians, size_t n_vertices, splat_train_options *options, splat_error *error)
{
    splat_plan_options plan_options;
    splat_plan plan;
    char limit[32], total[32], each[64] = "";
    if (!line->machine->vram_limit.kind) return SPLAT_OK;
    splat_stage_plan_options(line, &plan_options);
    splat_plan_init(&plan);
    if (n_gaussians) plan_options.n_gaussians = n_gaussians;
    if (line->n_gpus > 1) plan_options.n_ranks = (size_t)line->n_gpus;
    if (options->ranks) plan_options.n_ranks = (size_t)splat_comm_get_size(options->ranks);
    plan_options.n_vertices = n_vertices;
    SPLAT_TRY(splat_plan_make(context, scene, options, &plan_options, options, &plan, error));
    if (plan.start_gaussians) { /* it grows */
        if (plan_options.n_ranks > 1) snprintf(each, sizeof each, " on each of %zu ranks", plan_options.n_ranks);
        splat_say(line->talk,
                  "Memory: limit %s%s; %zu Gaussians at the start take %s. What growth gives up, when it needs to:",
                  splat_bytes(plan.limit_bytes, limit), each, plan.start_gaussians,
                  splat_bytes(plan.start_bytes, total));
        splat_stage_say_steps(line->talk, &plan);
        return SPLAT_OK;
    }
    splat_say(line->talk, "Memory: limit %s; planned %s for %zu Gaussians", splat_bytes(plan.limit_bytes, limit),
              splat_bytes(plan.total_bytes, total), plan.n_gaussians);
    splat_stage_say_choices(line->talk, &plan);
    return SPLAT_OK;
}
