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

#define MAX_DEVICES 64

/* A line for each GPU; when there is none, the line of the backend says why. */
static void print_devices(void)
{
    static splat_device_info devices[MAX_DEVICES];
    const double gib = 1073741824.0;
    size_t n;
    if (splat_device_list(devices, MAX_DEVICES, &n, NULL) != SPLAT_OK) return;
    for (size_t i = 0; i < n && i < MAX_DEVICES; i++) {
        const splat_device_info *d = &devices[i];
        cli_say("GPU %-10d%s, %.1f of %.1f GiB free, sm_%d%d, driver for CUDA %d.%d, CUDA runtime %d.%d", d->index,
                d->name, (double)d->free_bytes / gib, (double)d->total_bytes / gib, d->compute_major, d->compute_minor,
                d->driver_version / 1000, d->driver_version % 1000 / 10, d->runtime_version / 1000,
                d->runtime_version % 1000 / 10);
    }
}

int cmd_info(const cli_values *values)
{
    char name[128];
    processor_name(name);
    cli_say("splatsmith    %s", splat_version());
    cli_say("processor     %s, %ld logical CPUs", name, sysconf(_SC_NPROCESSORS_ONLN));
    print_devices();
    print_backend(values, "cpu");
    print_backend(values, "cuda");
    return CLI_OK;
}
