/* splatsmith plan: the memory of a training run, before it begins. */
#include "cli.h"
#include "memory.h"
#include "progress.h"

#include <stdlib.h>
#include <string.h>

static void print_rows(const splat_plan *plan)
{
    char bytes[32];
    for (size_t i = 0; i < plan->n_rows; i++)
        cli_say("  %-12s %-38s %10s", plan->rows[i].owner, plan->rows[i].name, cli_bytes(plan->rows[i].bytes, bytes));
    cli_say("  %-12s %-38s %10s", "", "sum, while training", cli_bytes(plan->total_bytes, bytes));
    cli_say("  %-12s %-38s %10s", "", "while evaluating (in the same memory)",
            cli_bytes(plan->evaluation_bytes, bytes));
    cli_say("  %-12s %-38s %10s", "", "afterwards: coarse (SuGaR)", cli_bytes(plan->coarse_bytes, bytes));
    cli_say("  %-12s %-38s %10s", "", "afterwards: eval and render", cli_bytes(plan->render_bytes, bytes));
    if (plan->host_bytes)
        cli_say("  %-12s %-38s %10s", "host", "pinned, beside the limit", cli_bytes(plan->host_bytes, bytes));
}

static void print_choices(const splat_plan *plan)
{
    char bytes[32];
    if (plan->n_choices == 0) cli_say("Everything fits as it is; nothing is given up.");
    else cli_say("To stay below the limit:");
    for (size_t i = 0; i < plan->n_choices; i++)
        cli_say("  %-30s saves %10s; cost: %s", plan->choices[i].option, cli_bytes(plan->choices[i].saved_bytes, bytes),
                plan->choices[i].cost);
}

/* The command that trains like this. */
static void print_command(const cli_values *values, const splat_plan *plan)
{
    char line[2 * CLI_PATH_MAX];
    const splat_train_options *o = &plan->options;
    size_t n = (size_t)snprintf(line, sizeof line, "splatsmith train -s %s", values->scene.source_path);
#define ADD(...) if (n < sizeof line) n += (size_t)snprintf(line + n, sizeof line - n, __VA_ARGS__)
    if (values->scene.resolution != -1) ADD(" -r %d", values->scene.resolution);
    if (values->scene.eval) ADD(" --eval");
    if (values->train.iterations != 30000) ADD(" --iterations %d", values->train.iterations);
    if (o->sh_degree != 3) ADD(" --sh_degree %d", o->sh_degree);
    ADD(" --vram_limit %.0fM", (double)plan->limit_bytes / 1048576);
    if (o->photos_on_host) ADD(" --data_device cpu");
    if (o->sh_storage == SPLAT_SH_FLOAT16) ADD(" --sh_storage float16");
    if (o->optimizer_storage == SPLAT_OPTIMIZER_QUANTIZED) ADD(" --optimizer_storage quantized");
    if (o->sh_offload) ADD(" --sh_offload");
    size_t cap = o->target_gaussian_count < plan->n_gaussians ? o->target_gaussian_count : plan->n_gaussians;
    ADD(" --target_gaussian_count %zu", cap);
#undef ADD
    cli_say("\nRecommended:\n  %s", line);
}

/* The limit: --vram_limit, else the card named or found. */
static bool find_limit(const cli_values *values, const splat_context *context, splat_plan_options *options)
{
    size_t card = 0;
    options->for_gpu = values->device_memory != NULL;
    if (values->device_memory && !cli_read_bytes("device_memory", values->device_memory, &card)) return false;
    size_t length = values->vram_limit ? strlen(values->vram_limit) : 0;
    bool of_card = !length || values->vram_limit[length - 1] == '%' || strcmp(values->vram_limit, "max") == 0;
    if (card && of_card) { /* a screen and the driver keep a little of a card */
        double share = length && values->vram_limit[length - 1] == '%' ? atof(values->vram_limit) / 100 : 0.95;
        if (!(share > 0 && share <= 1)) {
            cli_error("--vram_limit takes a percentage from 0 to 100, not '%s'", values->vram_limit);
            return false;
        }
        options->limit_bytes = (size_t)((double)card * share);
        return true;
    }
    cli_values asked = *values;
    if (!length) asked.vram_limit = "max";
    if (!cli_memory_limit(&asked, context, &options->limit_bytes)) return false;
    if (!card || options->limit_bytes <= card) return true;
    cli_error("--vram_limit %s is more than --device_memory %s", values->vram_limit, values->device_memory);
    return false;
}

static int plan_scene(const cli_values *values, splat_context *context, const splat_scene *scene)
{
    splat_plan_options options;
    splat_train_options wanted;
    splat_plan plan;
    splat_error error;
    char bytes[32];
    cli_asked_options(values, &wanted);
    cli_plan_options(values, &options);
    /* Named limits are those of cards: without a card found, one like those is planned for. */
    if (!find_limit(values, context, &options)) return CLI_USAGE;
    if (cli_given(values, "vram_limit") && !(values->context.backend && strcmp(values->context.backend, "cpu") == 0))
        options.for_gpu = true;
    if (splat_plan_make(context, scene, &wanted, &options, &plan, &error) != SPLAT_OK) return cli_report(&error);
    cli_say("Plan for %zu Gaussians%s below %s on %s", plan.n_gaussians,
            plan.estimated ? " (estimated from the scene's points; --gaussians N names them)" : "",
            cli_bytes(plan.limit_bytes, bytes), values->device_memory || options.for_gpu ? "a GPU" : "this machine");
    print_rows(&plan);
    print_choices(&plan);
    cli_say("At most %zu Gaussians fit like this.", plan.options.target_gaussian_count > plan.n_gaussians
                                                        ? plan.options.target_gaussian_count
                                                        : (size_t)((double)plan.options.max_gaussians));
    print_command(values, &plan);
    return CLI_OK;
}

int cmd_plan(const cli_values *values)
{
    splat_scene_options scene_options = values->scene;
    splat_context *context = NULL;
    splat_scene *scene = NULL;
    splat_error error;
    if (!values->scene.source_path) {
        cli_error("give the scene's folder with -s");
        return CLI_USAGE;
    }
    scene_options.seed = values->train.seed;
    int code = cli_context_create(values, &context);
    if (code == CLI_OK && splat_scene_open(context, &scene_options, &scene, &error) != SPLAT_OK)
        code = cli_report(&error);
    if (code == CLI_OK) code = plan_scene(values, context, scene);
    splat_scene_close(scene);
    splat_context_destroy(context);
    return code;
}
