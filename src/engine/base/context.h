/* The part of a context that every handle shares: the backend and the receiver of log lines. */
#ifndef SPLAT_BASE_CONTEXT_H
#define SPLAT_BASE_CONTEXT_H

#include "base/error.h"
#include "base/host_memory.h"

struct splat_backend;

struct splat_context {
    struct splat_backend *backend;
    splat_host_memory host_memory;
    splat_log_function log; /* never NULL */
    void *log_user;
    int threads;
};

/* One formatted line to the context's log. */
void splat_log(const splat_context *context, splat_log_level level, const char *format, ...) SPLAT_PRINTF(3, 4);

#endif
