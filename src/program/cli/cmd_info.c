/* splatsmith info: what a report of a problem should contain. */
#include "cli.h"
#include "progress.h"
#include "report/environment.h"

static void print_backend(const splat_line *line, const char *backend)
{
    splat_context_options options = line->machine->context;
    splat_context *context = NULL;
    splat_error error;
    char text[sizeof error.message + 64];
    options.backend = backend;
    if (splat_context_create(&options, &context, &error) == SPLAT_OK)
        cli_say("backend %-6s%s", backend, splat_context_get_description(context));
    else
        cli_say("backend %-6snot available: %s", backend, cli_library_text(error.message, text, sizeof text));
    splat_context_destroy(context);
}

#define MAX_DEVICES 64

/* A line for each GPU; when there is none, the line of the backend says why. */
static void print_devices(void)
{
    static splat_device_info devices[MAX_DEVICES];
    size_t n;
    if (splat_device_list(devices, MAX_DEVICES, &n, NULL) != SPLAT_OK) return;
    for (size_t i = 0; i < n && i < MAX_DEVICES; i++) {
        const splat_device_info *d = &devices[i];
        cli_say("GPU %-10d%s, %.1f of %.1f GiB free, sm_%d%d, driver for CUDA %d.%d, CUDA runtime %d.%d", d->index,
                d->name, (double)d->free_bytes / SPLAT_GIB, (double)d->total_bytes / SPLAT_GIB, d->compute_major,
                d->compute_minor, d->driver_version / 1000, d->driver_version % 1000 / 10, d->runtime_version / 1000,
                d->runtime_version % 1000 / 10);
    }
}

int cmd_info(splat_line *line)
{
    splat_environment environment;
    splat_environment_read(NULL, &environment);
    cli_say("splatsmith    %s", splat_version());
    cli_say("processor     %s, %d logical CPUs", environment.processor, environment.n_cpus);
    print_devices();
    print_backend(line, "cpu");
    print_backend(line, "cuda");
    return CLI_OK;
}
