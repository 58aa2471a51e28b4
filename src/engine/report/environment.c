/* The machine and the program, as a report of a measurement or of a problem should name them. */
#include "report/environment.h"

#include "backend/backend.h"
#include "backend/nvml.h"
#include "base/context.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>
#include <time.h>
#include <unistd.h>

/* As Linux tells it; "unknown" elsewhere. */
static void read_processor(char *name, size_t size)
{
    char line[512];
    FILE *file = fopen("/proc/cpuinfo", "re");
    snprintf(name, size, "unknown");
    while (file && fgets(line, sizeof line, file)) {
        const char *value = strchr(line, ':');
        if (strncmp(line, "model name", 10) != 0 || !value) continue;
        value += 1 + strspn(value + 1, " ");
        snprintf(name, size, "%.*s", (int)strcspn(value, "\n"), value);
        break;
    }
    if (file) fclose(file);
}

static void read_gpu(const splat_backend *b, splat_environment *environment)
{
    splat_device_info first;
    splat_nvml *nvml;
    splat_gpu_sample sample;
    size_t n;
    snprintf(environment->gpu, sizeof environment->gpu, "%s", b->description); /* unless the driver says it better */
    environment->gpu_bytes = b->device_bytes;
    if (splat_nvml_open(b->pci_bus_id, &nvml, NULL) == SPLAT_OK) {
        splat_nvml_sample(nvml, &sample);
        if (sample.name[0]) snprintf(environment->gpu, sizeof environment->gpu, "%s", sample.name);
        splat_nvml_close(nvml);
    }
    if (splat_device_list(&first, 1, &n, NULL) != SPLAT_OK || n == 0) return;
    environment->driver_version = first.driver_version; /* one for all GPUs of a machine */
    environment->runtime_version = first.runtime_version;
}

void splat_environment_read(const splat_context *context, splat_environment *environment)
{
    struct utsname system;
    struct tm utc;
    time_t now = time(NULL);
    memset(environment, 0, sizeof *environment);
    if (gethostname(environment->host, sizeof environment->host) != 0) environment->host[0] = '\0';
    environment->host[sizeof environment->host - 1] = '\0';
    if (uname(&system) == 0)
        snprintf(environment->system, sizeof environment->system, "%s %s %s", system.sysname, system.release,
                 system.machine);
    read_processor(environment->processor, sizeof environment->processor);
    environment->n_cpus = (int)sysconf(_SC_NPROCESSORS_ONLN);
    if (gmtime_r(&now, &utc)) strftime(environment->date, sizeof environment->date, "%Y-%m-%dT%H:%M:%SZ", &utc);
    if (context && context->backend->pci_bus_id[0]) read_gpu(context->backend, environment);
}
