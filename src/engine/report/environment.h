/* The machine that a figure was measured on. */
#ifndef SPLAT_REPORT_ENVIRONMENT_H
#define SPLAT_REPORT_ENVIRONMENT_H

#include "splatsmith/core.h"

/* The machine and the program, for reports. */
typedef struct splat_environment {
    char host[128], system[256], processor[128];
    int n_cpus;              /* logical ones of the machine */
    char gpu[256];           /* "" when the context has none */
    size_t gpu_bytes;
    int driver_version, runtime_version; /* CUDA, 1000 major + 10 minor; 0: none */
    char date[32];           /* "2026-11-20T08:15:00Z" */
} splat_environment;

/* context = NULL: the host only. */
void splat_environment_read(const splat_context *context, splat_environment *environment);

#endif
