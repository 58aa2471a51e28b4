/* Memory on the command line: --vram_limit and what follows from it. */
#include "cli.h"
#include "memory.h"
#include "progress.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

bool cli_read_bytes(const char *option, const char *text, size_t *bytes)
{
    char *end;
    double number = strtod(text, &end), unit = 1073741824.0;
    static const char suffixes[] = "KMGT";
    if (end != text && *end) {
        const char *suffix = strchr(suffixes, *end >= 'a' ? *end - 'a' + 'A' : *end);
        if (suffix && *suffix) {
            for (unit = 1024; suffix > suffixes; suffix--) unit *= 1024;
            end++;
            if (strcmp(end, "B") == 0 || strcmp(end, "iB") == 0) end = strchr(end, 0);
        }
    }
    if (end != text && !*end && number > 0 && number * unit < 1e18) {
        *bytes = (size_t)(number * unit);
        return true;
    }
    cli_error("--%s takes a size such as 8G or 500M, not '%s'", option, text);
    return false;
}

/* All memory of the device, and what is free or already ours; the host's for the CPU backend. */
static void device_memory(const splat_context *context, const cli_values *values, size_t *total, size_t *available)
{
    splat_device_info devices[64];
    splat_memory_info memory;
    size_t n = 0, gpu = (size_t)values->context.gpu;
    splat_context_memory(context, &memory);
    *total = (size_t)sysconf(_SC_PHYS_PAGES) * (size_t)sysconf(_SC_PAGESIZE);
    *available = (size_t)sysconf(_SC_AVPHYS_PAGES) * (size_t)sysconf(_SC_PAGESIZE);
    if (memory.overhead_bytes == 0 || splat_device_list(devices, 64, &n, NULL) != SPLAT_OK || gpu >= n) return;
    *total = devices[gpu].total_bytes;
    *available = devices[gpu].free_bytes + memory.bytes + memory.overhead_bytes;
    if (*available > *total) *available = *total;
}

bool cli_memory_limit(const cli_values *values, const splat_context *context, size_t *bytes)
{
    const char *text = values->vram_limit;
    size_t total, available, length = strlen(text);
    char *end;
    device_memory(context, values, &total, &available);
    if (strcmp(text, "max") == 0) {
        *bytes = available;
        return true;
    }
    if (length && text[length - 1] == '%') {
        double percent = strtod(text, &end);
        if (end == text + length - 1 && percent > 0 && percent <= 100) {
            *bytes = (size_t)((double)total * percent / 100);
            return true;
        }
    }
    return cli_read_bytes("vram_limit", text, bytes);
}

int cli_limit_memory(const cli_values *values, splat_context *context)
{
    size_t bytes;
    splat_error error;
    if (!values->vram_limit) return CLI_OK;
    if (!cli_memory_limit(values, context, &bytes)) return CLI_USAGE;
    return splat_context_set_memory_limit(context, bytes, &error) == SPLAT_OK ? CLI_OK : cli_report(&error);
}

void cli_asked_options(const cli_values *values, splat_train_options *options)
{
    *options = values->train;
    options->white_background = values->scene.white_background;
    options->photos_on_host = strcmp(values->data_device, "cpu") == 0;
    if (values->optimize_memory || strcmp(values->sh_storage, "float16") == 0) options->sh_storage = SPLAT_SH_FLOAT16;
    if (strcmp(values->optimizer_storage, "quantized") == 0)
        options->optimizer_storage = SPLAT_OPTIMIZER_QUANTIZED;
}

void cli_plan_options(const cli_values *values, splat_plan_options *options)
{
    splat_plan_options_init(options);
    options->n_gaussians = values->n_gaussians;
    options->keep_photos = cli_given(values, "data_device");
    options->keep_sh_storage = cli_given(values, "sh_storage") || cli_given(values, "optimize_memory");
    options->keep_optimizer_storage = cli_given(values, "optimizer_storage");
    options->keep_sh_offload = cli_given(values, "sh_offload");
}

int cli_plan_training(const cli_values *values, splat_context *context, const splat_scene *scene, size_t n_gaussians,
                      splat_train_options *options)
{
    splat_plan_options plan_options;
    splat_plan plan;
    splat_error error;
    char saved[32], limit[32], total[32];
    if (!values->vram_limit) return CLI_OK;
    cli_plan_options(values, &plan_options);
    if (n_gaussians) plan_options.n_gaussians = n_gaussians;
    if (!cli_memory_limit(values, context, &plan_options.limit_bytes)) return CLI_USAGE;
    if (splat_plan_make(context, scene, options, &plan_options, &plan, &error) != SPLAT_OK) return cli_report(&error);
    *options = plan.options;
    int code = cli_limit_memory(values, context);
    if (code != CLI_OK) return code;
    char most[48] = ""; /* coarse training does not grow */
    if (options->target_gaussian_count) snprintf(most, sizeof most, ", at most %zu", options->target_gaussian_count);
    cli_say("Memory: limit %s; planned %s for %zu Gaussians%s", cli_bytes(plan.limit_bytes, limit),
            cli_bytes(plan.total_bytes, total), plan.n_gaussians < options->max_gaussians ? plan.n_gaussians
                                                                                          : options->max_gaussians,
            most);
    for (size_t i = 0; i < plan.n_choices; i++)
        cli_say("  %-30s saves %8s; cost: %s", plan.choices[i].option, cli_bytes(plan.choices[i].saved_bytes, saved),
                plan.choices[i].cost);
    return CLI_OK;
}
