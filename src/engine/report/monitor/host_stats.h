/* Figures of the machine and of one process, from Linux's /proc. */
#ifndef SPLAT_OBSERVE_HOST_STATS_H
#define SPLAT_OBSERVE_HOST_STATS_H

#include "base/error.h"
#include "base/monitor_sample.h"

/* Sums since the machine or the process started, and present sizes; NaN where the system does not tell. Plain counts:
 * a double holds them exactly up to 2^53. */
typedef struct splat_host_counters {
    bool process_found;                            /* it exists and has not ended */
    bool no_memory;                                /* it was not found because of this */
    double process_start;                          /* clock ticks after boot: tells a reused pid */
    double process_cpu_s;                          /* user and system */
    double process_rss_bytes, process_virtual_bytes, process_swap_bytes;
    double process_read_bytes, process_write_bytes; /* bytes from and to storage */
    double cpu_busy, cpu_total;                    /* ticks of all CPUs */
    double ram_total_bytes, ram_available_bytes;
    double disk_read_bytes, disk_write_bytes;      /* whole disks; none twice */
    double net_received_bytes, net_sent_bytes;     /* all interfaces but the loopback */
} splat_host_counters;

/* proc_root: "/proc", or a folder that looks like it. pid < 0: the machine only. */
void splat_host_read(const char *proc_root, int pid, splat_host_counters *counters);

/* Sizes of `now`, and rates between two readings `seconds` apart; before = NULL: no rates (NaN). Fills the fields of
 * the host and of the process but process_growth_bytes, process_virtual_delta_bytes and the spill. */
void splat_host_sample(const splat_host_counters *before, const splat_host_counters *now, double seconds,
                       splat_monitor_sample *sample);

#endif
