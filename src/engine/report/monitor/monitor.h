/* The monitor (public API in splatsmith.h) as TensorBoard and the CSV see it. */
#ifndef SPLAT_OBSERVE_MONITOR_H
#define SPLAT_OBSERVE_MONITOR_H

#include "base/error.h"
#include "base/monitor_sample.h"

#include <stdio.h>

typedef struct splat_monitor splat_monitor;

typedef struct splat_monitor_options {
    size_t size;
    int pid;                 /* the process to watch; 0 (default): the calling one; -1: the machine only */
    double period_s;         /* between two samples; 0.01 to 86400, default 1 */
    const char *gpu;         /* PCI bus id (splat_context_get_pci_bus_id) or index in the order of nvidia-smi; NULL: the
                              * first one; "": none */
    const char *csv_path;    /* rows are appended here; NULL: none */
    const char *proc_root;   /* NULL: "/proc" */
    splat_log_function log;  /* NULL: silence */
    void *log_user;
} splat_monitor_options;

void splat_monitor_options_init_sized(splat_monitor_options *options, size_t size);

#define splat_monitor_options_init(options) splat_monitor_options_init_sized(options, sizeof *(options))

/* Takes the first sample and starts a thread that takes the others. Where the driver cannot be asked, a notice is
 * logged once and the host is watched alone. Owned by the caller. Errors: ARGUMENT (no such process, a CSV with other
 * columns), IO, MEMORY. */
splat_status splat_monitor_create(const splat_monitor_options *options, splat_monitor **monitor, splat_error *error);
/* The latest sample; quick, and may be called from any thread. After a failed write of the CSV, which is given up
 * then, the first call logs a warning. */
void splat_monitor_get_latest(splat_monitor *monitor, splat_monitor_sample *sample);
/* Stops the thread. NULL is allowed. */
void splat_monitor_destroy(splat_monitor *monitor);

#endif
