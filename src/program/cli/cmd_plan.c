/* splatsmith plan: the memory of a training run, before it begins. */
#include "cli.h"
#include "progress.h"
#include "session.h"
#include "stage/memory.h"

#include <stdlib.h>
#include <string.h>

static void print_rows(const splat_plan *plan)
{
    char bytes[32];
    for (size_t i = 0; i < plan->n_rows; i++)
        cli_say("  %-12s %-40s %10s", plan->rows[i].owner, plan->rows[i].name, splat_bytes(plan->rows[i].bytes, bytes));
    cli_say("  %-12s %-40s %10s", "", "sum, while training", splat_bytes(plan->total_bytes, bytes));
    cli_say("  %-12s %-40s %10s", "", "while evaluating (in the same memory)",
            splat_bytes(plan->evaluation_bytes, bytes));
    cli_say("  %-12s %-40s %10s", "", "afterwards: coarse (SuGaR), its own plan",
            splat_bytes(plan->afterwards_bytes, bytes));
    cli_say("  %-12s %-40s %10s", "", "afterwards: eval and render", splat_bytes(plan->render_bytes, bytes));
    if (plan->host_bytes)
        cli_say("  %-12s %-40s %10s", "host", "pinned, not in the limit", splat_bytes(plan->host_bytes, bytes));
}

static void print_choices(const splat_plan *plan, bool has_limit)
{
    if (!has_limit) {
        cli_say("A training on the CPU has no limit unless --vram_limit names one; nothing is given up.");
        return;
    }
    if (plan->n_choices == 0) cli_say("Everything fits as it is; nothing is given up.");
    else cli_say("To stay below the limit with so many:");
    splat_stage_say_choices(cli_talk(), plan);
    if (!plan->n_steps) return;
    cli_say("Training begins with %zu Gaussians. As they grow, it gives up, each when it needs to:",
            plan->start_gaussians);
    splat_stage_say_steps(cli_talk(), plan);
}

/* " --name value" if the option is given. */
static void add_given(const splat_line *line, const char *name, char *text, size_t size)
{
    char value[64];
    const size_t length = strlen(text);
    if (!splat_line_given(line, name)) return;
    splat_line_value_text(splat_line_find_option(line->command, name), line, value, sizeof value);
    snprintf(text + length, size - length, " --%s %s", name, value);
}

/* The command that trains like this: the run decides for itself what the command line does not. */
static void print_command(const splat_line *line, const splat_train_options *o, const splat_plan *plan, bool has_limit)
{
    static const char *const storages[] = {"data_device", "sh_storage", "optimizer_storage", "sh_offload"};
    char text[2 * CLI_PATH_MAX];
    snprintf(text, sizeof text, "splatsmith train -s %s", line->scene->source_path);
#define ADD(...) snprintf(text + strlen(text), sizeof text - strlen(text), __VA_ARGS__)
    if (line->scene->resolution != -1) ADD(" -r %d", line->scene->resolution);
    if (line->scene->eval) ADD(" --eval");
    add_given(line, "iterations", text, sizeof text);
    if (splat_line_given(line, "strategy")) ADD(" --strategy %s", line->training->strategy);
    add_given(line, "pixels_per_gaussian", text, sizeof text);
    if (o->sh_degree != 3) ADD(" --sh_degree %d", o->sh_degree);
    if (line->machine->gpus) ADD(" --gpus %s", line->machine->gpus);
    if (has_limit) ADD(" --vram_limit %.0fM", (double)plan->limit_bytes / SPLAT_MIB);
    for (size_t i = 0; i < sizeof storages / sizeof storages[0]; i++)
        add_given(line, storages[i], text, sizeof text);
    size_t named = splat_line_given(line, "target_gaussian_count") ? line->train->target_gaussian_count : 0;
    if (!named) named = line->plan->n_gaussians;
    if (named) ADD(" --target_gaussian_count %zu", named < o->target_gaussian_count ? named : o->target_gaussian_count);
#undef ADD
    cli_say("\nRecommended:");
    cli_say("  %s", text);
}

#define USUAL_SHARE 0.95 /* a screen and the driver keep a little of a card */

/* The limit: --vram_limit, else the card named or found. */
static bool find_limit(const splat_line *line, const splat_context *context, splat_plan_options *options)
{
    const splat_line_limit *limit = &line->machine->vram_limit;
    size_t card = (size_t)line->plan->device_memory.value;
    options->for_gpu = card > 0;
    if (card && limit->kind != SPLAT_LINE_LIMIT_BYTES) {
        double share = limit->kind == SPLAT_LINE_LIMIT_SHARE ? limit->value : USUAL_SHARE;
        options->limit_bytes = (size_t)((double)card * share);
        return true;
    }
    const splat_line_limit free_memory = {.kind = SPLAT_LINE_LIMIT_FREE};
    options->limit_bytes = splat_stage_limit_bytes(limit->kind ? limit : &free_memory, context, line);
    if (!card || options->limit_bytes <= card) return true;
    cli_error("--vram_limit %s is more than --device_memory %s", limit->text, line->plan->device_memory.text);
    return false;
}

/* Reads the number of GPUs: *n; 0: one. The machine need not have any. */
static bool read_gpus(const splat_line *line, size_t *n)
{
    char *end;
    *n = 0;
    if (!line->machine->gpus) return true;
    const long count = strtol(line->machine->gpus, &end, 10);
    if (!*end && end != line->machine->gpus && count >= 1 && count <= SPLAT_MAX_RANKS) {
        *n = (size_t)count;
        return true;
    }
    cli_error("plan --gpus takes a number from 1 to %d, not %s", SPLAT_MAX_RANKS, line->machine->gpus);
    return false;
}

static int plan_scene(const splat_line *line, splat_context *context, const splat_scene *scene)
{
    splat_plan_options options;
    splat_train_options chosen, afterwards;
    splat_plan plan;
    splat_error error;
    char bytes[32];
    splat_stage_asked_steps(line, scene, &chosen);
    splat_plan_init(&plan);
    splat_stage_plan_options(line, &options);
    splat_train_options_init_coarse(&afterwards, SPLAT_REGULARIZE_MULTIVIEW);
    options.afterwards = &afterwards;
    if (!read_gpus(line, &options.n_ranks)) return CLI_USAGE;
    /* Named limits are those of cards: without a card found, one like those is planned for. */
    if (!find_limit(line, context, &options)) return CLI_USAGE;
    if (line->machine->vram_limit.kind && !splat_stage_names_cpu(line)) options.for_gpu = true;
    if (splat_plan_make(context, scene, &chosen, &options, &chosen, &plan, &error) != SPLAT_OK)
        return cli_report(&error);
    cli_say("Plan for %zu Gaussians%s below %s on %s", plan.n_gaussians,
            plan.estimated ? " (estimated from the scene's points and photos; --gaussians N names them)" : "",
            splat_bytes(plan.limit_bytes, bytes),
            line->plan->device_memory.kind || options.for_gpu ? "a GPU" : "this machine");
    print_rows(&plan);
    const bool is_shared = options.n_ranks > 1;
    /* Free memory of a machine without a GPU is no reason for a limit while the plan fits. */
    const bool has_limit = options.for_gpu || line->machine->vram_limit.kind || plan.n_choices > 0 ||
                           splat_context_get_pci_bus_id(context)[0];
    if (is_shared) cli_say("Each of %zu GPUs holds so much, below a limit of its own.", options.n_ranks);
    print_choices(&plan, has_limit);
    if (has_limit)
        cli_say("At most %zu rows of Gaussians fit%s, with all of that given up.", chosen.max_gaussians,
                is_shared ? " on all of them" : "");
    print_command(line, &chosen, &plan, has_limit);
    return CLI_OK;
}

int cmd_plan(splat_line *line)
{
    splat_scene_options scene_options = *line->scene;
    splat_context *context = NULL;
    splat_scene *scene = NULL;
    splat_error error;
    if (!line->scene->source_path) {
        cli_error(CLI_NO_SCENE);
        return CLI_USAGE;
    }
    scene_options.seed = line->train->seed;
    splat_line unlimited = *line; /* the limit is that of the planned run */
    splat_line_machine machine = *line->machine;
    machine.vram_limit = (splat_line_limit){.kind = SPLAT_LINE_LIMIT_NONE};
    unlimited.machine = &machine;
    int code = cli_context_create(&unlimited, &context);
    if (code == CLI_OK && splat_scene_open(context, &scene_options, &scene, &error) != SPLAT_OK)
        code = cli_report(&error);
    if (code == CLI_OK) code = plan_scene(line, context, scene);
    splat_scene_close(scene);
    splat_context_destroy(context);
    return code;
}
