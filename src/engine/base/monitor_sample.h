/* The figures that a monitor reads of the machine, as plain data for all rooms. */
#ifndef SPLAT_BASE_MONITOR_SAMPLE_H
#define SPLAT_BASE_MONITOR_SAMPLE_H

#include "splatsmith/core.h"

/* The driver's (NVML's) figures of a GPU. NaN: unknown. */
typedef struct splat_gpu_sample {
    bool present;            /* false: no GPU is watched, and every number is NaN */
    char name[96];
    double memory_used_bytes, memory_total_bytes; /* memory of all processes and of the driver */
    double process_bytes;    /* GPU memory of the watched process */
    double compute_percent;  /* share of the time in which a kernel ran */
    double memory_percent;   /* share of the time in which memory was read or written */
    double power_w, power_limit_w, power_percent, temperature_c, fan_percent;
    double clock_graphics_mhz, clock_sm_mhz, clock_memory_mhz;
    double pstate;           /* 0, the fastest, to 15 */
    double throttle_hw_slowdown, throttle_power_cap, throttle_thermal; /* 1: clocks are held down by it now; else 0 */
    double pcie_generation, pcie_width; /* state of the link now; an idle link has a lower generation */
} splat_gpu_sample;

/* One look at the machine. NaN: unknown; rates are unknown in the first sample. */
typedef struct splat_monitor_sample {
    uint64_t number;         /* 1 is the first */
    double seconds;          /* since the monitor was created */
    double wall_time;        /* seconds since 1970 */
    splat_gpu_sample gpu;
    bool process_alive;      /* false: the watched process has ended, or none is watched */
    double process_cpu_percent;         /* 100 is one CPU */
    double process_rss_bytes, process_virtual_bytes, process_swap_bytes;
    double process_growth_bytes;        /* growth of memory and swap since the first sample */
    double process_virtual_delta_bytes; /* growth of virtual memory since the sample before */
    double process_read_bytes_per_s, process_write_bytes_per_s; /* storage; NaN for another user's process */
    double spill_bytes;      /* growth of the process's memory and swap since the GPU's memory became full, 0 while it
                                is not: what no longer fits there is being kept on the host */
    double cpu_percent;      /* load of all CPUs of the machine */
    double ram_used_bytes, ram_total_bytes, ram_percent; /* memory of the machine; used: not available to programs */
    double disk_read_bytes_per_s, disk_write_bytes_per_s, net_received_bytes_per_s, net_sent_bytes_per_s;
} splat_monitor_sample;

#endif
