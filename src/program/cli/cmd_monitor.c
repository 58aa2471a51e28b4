/* splatsmith monitor: GPU, machine and a process, live in the terminal. */
#include "cli.h"
#include "progress.h"
#include "signals.h"

#include <math.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

/* "62", "5.9"; "-" when the figure is unknown. Of a few texts in turn, enough for one line. */
static const char *number(double value, int decimals)
{
    static char texts[16][32];
    static unsigned next;
    char *text = texts[next++ % 16];
    if (isnan(value))
        snprintf(text, 32, "-");
    else
        snprintf(text, 32, "%.*f", decimals, value);
    return text;
}

static void print_gpu(const splat_gpu_sample *gpu, const char *end)
{
    const char *held_by = gpu->throttle_hw_slowdown > 0  ? "  slowed down by the hardware"
                          : gpu->throttle_thermal > 0    ? "  slowed down by heat"
                          : gpu->throttle_power_cap > 0  ? "  at the power limit"
                                                         : "";
    printf("GPU      %s  P%s  %s C  %s / %s W  fan %s %%  PCIe %s x%s%s%s", gpu->name, number(gpu->pstate, 0),
           number(gpu->temperature_c, 0), number(gpu->power_w, 0), number(gpu->power_limit_w, 0),
           number(gpu->fan_percent, 0), number(gpu->pcie_generation, 0), number(gpu->pcie_width, 0), held_by, end);
    printf("         busy %s %%  memory bus %s %%  clocks %s graphics, %s SM, %s memory MHz%s",
           number(gpu->compute_percent, 0), number(gpu->memory_percent, 0), number(gpu->clock_graphics_mhz, 0),
           number(gpu->clock_sm_mhz, 0), number(gpu->clock_memory_mhz, 0), end);
    printf("VRAM     %s / %s GiB (%s %%)  by the process %s GiB%s", number(gpu->memory_used_bytes / SPLAT_GIB, 1),
           number(gpu->memory_total_bytes / SPLAT_GIB, 1),
           number(100.0 * gpu->memory_used_bytes / gpu->memory_total_bytes, 0),
           number(gpu->process_bytes / SPLAT_GIB, 2), end);
}

static void print_process(int pid, const splat_monitor_sample *s, const char *end)
{
    printf("Process  %d  CPU %s %%  memory %s GiB  growth %s MiB  swap %s GiB  virtual %s GiB%s", pid,
           number(s->process_cpu_percent, 0), number(s->process_rss_bytes / SPLAT_GIB, 3),
           number(s->process_growth_bytes / SPLAT_MIB, 1), number(s->process_swap_bytes / SPLAT_GIB, 3),
           number(s->process_virtual_bytes / SPLAT_GIB, 1), end);
    printf("         read %s MiB/s  write %s MiB/s", number(s->process_read_bytes_per_s / SPLAT_MIB, 1),
           number(s->process_write_bytes_per_s / SPLAT_MIB, 1));
    if (s->gpu.present) printf("  spilled from VRAM %s MiB", number(s->spill_bytes / SPLAT_MIB, 1));
    printf("%s", end);
}

static void print_machine(const splat_monitor_sample *s, const char *end)
{
    printf("Machine  CPU %s %%  RAM %s / %s GiB (%s %%)%s", number(s->cpu_percent, 0),
           number(s->ram_used_bytes / SPLAT_GIB, 1), number(s->ram_total_bytes / SPLAT_GIB, 1),
           number(s->ram_percent, 0), end);
    printf("         disk read %s, write %s MiB/s  network in %s, out %s MiB/s%s",
           number(s->disk_read_bytes_per_s / SPLAT_MIB, 1), number(s->disk_write_bytes_per_s / SPLAT_MIB, 1),
           number(s->net_received_bytes_per_s / SPLAT_MIB, 1), number(s->net_sent_bytes_per_s / SPLAT_MIB, 1), end);
}

/* On a terminal each sample is drawn over the one before, elsewhere they follow each other. Long lines are cut by the
 * terminal (?7l): wrapped, they would take more lines than are counted here. */
static void print_sample(int pid, const splat_monitor_sample *sample, bool over)
{
    const char *end = over ? "\x1b[K\n" : "\n";
    int n_lines = 2 + (sample->gpu.present ? 3 : 0) + (pid >= 0 ? 2 : 0);
    if (over) printf("\x1b[?7l");
    if (over && sample->number > 1) printf("\x1b[%dA", n_lines);
    if (sample->gpu.present) print_gpu(&sample->gpu, end);
    if (pid >= 0) print_process(pid, sample, end);
    print_machine(sample, end);
    printf(over ? "\x1b[?7h" : "\n");
    fflush(stdout);
}

/* Ends with the signal that ends a monitor, or with the process. */
static void show(splat_monitor *monitor, int pid, double period)
{
    bool over = isatty(STDOUT_FILENO);
    uint64_t shown = 0;
    double wait = fmin(period / 4, 0.1);
    struct timespec pause = {0, (long)(wait * 1e9)};
    while (!cli_stop_is_asked()) {
        splat_monitor_sample sample;
        splat_monitor_get_latest(monitor, &sample);
        if (sample.number != shown) print_sample(pid, &sample, over);
        shown = sample.number;
        if (ferror(stdout)) return;
        if (pid >= 0 && !sample.process_alive) {
            cli_notice("process %d has ended", pid);
            return;
        }
        nanosleep(&pause, NULL);
    }
}

int cmd_monitor(splat_line *line)
{
    splat_monitor_options options;
    splat_monitor *monitor;
    splat_error error;
    char gpu[16];
    splat_monitor_options_init(&options);
    options.pid = line->monitor->pid ? line->monitor->pid : -1;
    options.period_s = (double)line->monitor->interval;
    options.csv_path = line->monitor->csv;
    options.log = cli_log;
    snprintf(gpu, sizeof gpu, "%d", line->machine->context.gpu);
    options.gpu = gpu;
    cli_stop_install(false);
    if (splat_monitor_create(&options, &monitor, &error) != SPLAT_OK) return cli_report(&error);
    show(monitor, options.pid, options.period_s);
    splat_monitor_destroy(monitor);
    return CLI_OK;
}
