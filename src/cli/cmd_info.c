/* splatsmith info: what a report of a problem should contain. */
#include "cli.h"
#include "progress.h"

#include <string.h>
#include <unistd.h>

/* The name of the processor, as Linux tells it; "unknown" elsewhere. */
static void processor_name(char name[128])
{
    char line[512];
    FILE *file = fopen("/proc/cpuinfo", "r");
    snprintf(name, 128, "unknown");
    while (file && fgets(line, sizeof line, file)) {
        const char *value = strchr(line, ':');
        if (strncmp(line, "model name", 10) != 0 || !value) continue;
        value += 1 + strspn(value + 1, " ");
        snprintf(name, 128, "%.*s", (int)strcspn(value, "\n"), value);
        break;
    }
    if (file) fclose(file);
}

static void print_backend(const cli_values *values, const char *backend)
{
    splat_context_options options = values->context;
    splat_context *context = NULL;
    splat_error error;
    options.backend = backend;
    if (splat_context_create(&options, &context, &error) == SPLAT_OK)
        cli_say("backend %-6s%s", backend, splat_context_description(context));
    else
        cli_say("backend %-6snot available: %s", backend, error.message);
    splat_context_destroy(context);
}

int cmd_info(const cli_values *values)
{
    char name[128];
    processor_name(name);
    cli_say("splatsmith    %s", splat_version());
    cli_say("processor     %s, %ld logical CPUs", name, sysconf(_SC_NPROCESSORS_ONLN));
    print_backend(values, "cpu");
    print_backend(values, "cuda");
    return CLI_OK;
}
