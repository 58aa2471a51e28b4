/* The figures of a sample by name: columns of the CSV and tags of TensorBoard. */
#include "report/monitor/monitor_csv.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#define ROW_MAX 2048

typedef struct named_figure {
    const char *name;
    size_t offset; /* in splat_monitor_sample */
    double unit;
    int decimals;
} named_figure;

#define FIELD(name) offsetof(splat_monitor_sample, name)

/* After the timestamp the columns that monitoring scripts of the field read, in their order; ours follow. */
static const named_figure columns[] = {
    {"VRAM_GB", FIELD(gpu.memory_used_bytes), SPLAT_GIB, 3},
    {"GPU_Util%", FIELD(gpu.compute_percent), 1, 0},
    {"Mem_Util%", FIELD(gpu.memory_percent), 1, 0},
    {"PCIe_Gen", FIELD(gpu.pcie_generation), 1, 0},
    {"PCIe_Width", FIELD(gpu.pcie_width), 1, 0},
    {"CPU%", FIELD(cpu_percent), 1, 1},
    {"Process_RSS_GB", FIELD(process_rss_bytes), SPLAT_GIB, 3},
    {"Process_VmSize_GB", FIELD(process_virtual_bytes), SPLAT_GIB, 3},
    {"VmSize_Delta_MB", FIELD(process_virtual_delta_bytes), SPLAT_MIB, 2},
    {"System_RAM_GB", FIELD(ram_used_bytes), SPLAT_GIB, 3},
    {"RAM_Used%", FIELD(ram_percent), 1, 1},
    {"Disk_Read_MB/s", FIELD(disk_read_bytes_per_s), SPLAT_MIB, 2},
    {"Disk_Write_MB/s", FIELD(disk_write_bytes_per_s), SPLAT_MIB, 2},
    {"Net_Recv_MB/s", FIELD(net_received_bytes_per_s), SPLAT_MIB, 2},
    {"Net_Send_MB/s", FIELD(net_sent_bytes_per_s), SPLAT_MIB, 2},
    {"VRAM_Total_GB", FIELD(gpu.memory_total_bytes), SPLAT_GIB, 3},
    {"Process_VRAM_GB", FIELD(gpu.process_bytes), SPLAT_GIB, 3},
    {"Power_W", FIELD(gpu.power_w), 1, 1},
    {"Power_Limit_W", FIELD(gpu.power_limit_w), 1, 1},
    {"Temperature_C", FIELD(gpu.temperature_c), 1, 0},
    {"Fan%", FIELD(gpu.fan_percent), 1, 0},
    {"Clock_Graphics_MHz", FIELD(gpu.clock_graphics_mhz), 1, 0},
    {"Clock_SM_MHz", FIELD(gpu.clock_sm_mhz), 1, 0},
    {"Clock_Memory_MHz", FIELD(gpu.clock_memory_mhz), 1, 0},
    {"PState", FIELD(gpu.pstate), 1, 0},
    {"Throttle_HW_Slowdown", FIELD(gpu.throttle_hw_slowdown), 1, 0},
    {"Throttle_Power_Cap", FIELD(gpu.throttle_power_cap), 1, 0},
    {"Throttle_Thermal", FIELD(gpu.throttle_thermal), 1, 0},
    {"Process_CPU%", FIELD(process_cpu_percent), 1, 1},
    {"Process_Swap_GB", FIELD(process_swap_bytes), SPLAT_GIB, 3},
    {"Process_Growth_MB", FIELD(process_growth_bytes), SPLAT_MIB, 2},
    {"Process_Read_MB/s", FIELD(process_read_bytes_per_s), SPLAT_MIB, 2},
    {"Process_Write_MB/s", FIELD(process_write_bytes_per_s), SPLAT_MIB, 2},
    {"Spill_MB", FIELD(spill_bytes), SPLAT_MIB, 2},
};

/* The names of the field, then ours. */
static const named_figure tags[] = {
    {"gpu_compute_percent", FIELD(gpu.compute_percent), 1, 0},
    {"gpu_memory_percent", FIELD(gpu.memory_percent), 1, 0},
    {"gpu_power_watts", FIELD(gpu.power_w), 1, 0},
    {"gpu_power_percent", FIELD(gpu.power_percent), 1, 0},
    {"gpu_temperature_celsius", FIELD(gpu.temperature_c), 1, 0},
    {"fan_speed_percent", FIELD(gpu.fan_percent), 1, 0},
    {"clock_graphics_mhz", FIELD(gpu.clock_graphics_mhz), 1, 0},
    {"clock_sm_mhz", FIELD(gpu.clock_sm_mhz), 1, 0},
    {"clock_memory_mhz", FIELD(gpu.clock_memory_mhz), 1, 0},
    {"pstate", FIELD(gpu.pstate), 1, 0},
    {"throttle_hw_slowdown", FIELD(gpu.throttle_hw_slowdown), 1, 0},
    {"throttle_power_cap", FIELD(gpu.throttle_power_cap), 1, 0},
    {"ram_used_GB", FIELD(ram_used_bytes), SPLAT_GIB, 0},
    {"ram_percent", FIELD(ram_percent), 1, 0},
    {"throttle_thermal", FIELD(gpu.throttle_thermal), 1, 0},
    {"vram_process_GB", FIELD(gpu.process_bytes), SPLAT_GIB, 0},
    {"vram_device_GB", FIELD(gpu.memory_used_bytes), SPLAT_GIB, 0},
    {"cpu_percent", FIELD(cpu_percent), 1, 0},
    {"process_cpu_percent", FIELD(process_cpu_percent), 1, 0},
    {"process_ram_GB", FIELD(process_rss_bytes), SPLAT_GIB, 0},
    {"process_swap_MB", FIELD(process_swap_bytes), SPLAT_MIB, 0},
    {"process_growth_MB", FIELD(process_growth_bytes), SPLAT_MIB, 0},
    {"spill_MB", FIELD(spill_bytes), SPLAT_MIB, 0},
    {"disk_read_MB_per_s", FIELD(disk_read_bytes_per_s), SPLAT_MIB, 0},
    {"disk_write_MB_per_s", FIELD(disk_write_bytes_per_s), SPLAT_MIB, 0},
};

static double value_of(const splat_monitor_sample *sample, const named_figure *figure)
{
    double value;
    memcpy(&value, (const char *)sample + figure->offset, sizeof value);
    return value / figure->unit;
}

void splat_monitor_visit_tags(const splat_monitor_sample *sample, splat_monitor_tag_function visit, void *user)
{
    for (size_t i = 0; i < sizeof tags / sizeof tags[0]; i++) {
        char tag[64];
        double value = value_of(sample, &tags[i]);
        if (!isfinite(value)) continue;
        snprintf(tag, sizeof tag, "4_performance/%s", tags[i].name);
        visit(user, tag, value);
    }
}

/* ---------------------------------------------------------------- rows */

/* Text that is cut when it does not fit; ROW_MAX is several times what a row takes. */
typedef struct row {
    char text[ROW_MAX];
    size_t length;
} row;

static void add(row *r, const char *format, ...) SPLAT_PRINTF(2, 3);
static void add(row *r, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    int n = vsnprintf(r->text + r->length, ROW_MAX - r->length, format, arguments);
    va_end(arguments);
    if (n > 0) r->length += (size_t)n < ROW_MAX - r->length ? (size_t)n : ROW_MAX - r->length - 1;
}

/* printf would write the separator of the program's locale, and columns are separated by commas. */
static void add_number(row *r, double value, int decimals)
{
    static const double powers[] = {1, 10, 100, 1000};
    if (!(fabs(value) < 1e12)) return; /* NaN, too: unknown is empty */
    long long scaled = llround(fabs(value) * powers[decimals]), power = (long long)powers[decimals];
    add(r, "%s%lld", value < 0 && scaled ? "-" : "", scaled / power);
    if (decimals) add(r, ".%0*lld", decimals, scaled % power);
}

static void make_header(row *r)
{
    add(r, "Timestamp");
    for (size_t i = 0; i < sizeof columns / sizeof columns[0]; i++) add(r, ",%s", columns[i].name);
    add(r, "\n");
}

static splat_status write_text(FILE *csv, const char *path, const row *r, splat_error *error)
{
    if (fwrite(r->text, 1, r->length, csv) == r->length && fflush(csv) == 0) return SPLAT_OK;
    return splat_fail_errno(error, path, "write");
}

splat_status splat_monitor_csv_write(FILE *csv, const char *path, const splat_monitor_sample *sample,
                                     splat_error *error)
{
    row r = {.length = 0};
    char stamp[32];
    time_t now = (time_t)sample->wall_time;
    struct tm local;
    localtime_r(&now, &local);
    strftime(stamp, sizeof stamp, "%Y-%m-%d %H:%M:%S", &local);
    add(&r, "%s", stamp);
    for (size_t i = 0; i < sizeof columns / sizeof columns[0]; i++) {
        add(&r, ",");
        add_number(&r, value_of(sample, &columns[i]), columns[i].decimals);
    }
    add(&r, "\n");
    return write_text(csv, path, &r, error);
}

/* *begin: what must be written first, so that the rows to come stand on lines of their own below the right titles. */
static splat_status check_existing(const char *path, row *begin, splat_error *error)
{
    char first[ROW_MAX] = "";
    row header = {.length = 0};
    FILE *file = fopen(path, "re");
    if (!file) return splat_fail_errno(error, path, "read");
    make_header(&header);
    bool same = fgets(first, sizeof first, file) && strcmp(first, header.text) == 0;
    bool cut = fseek(file, -1, SEEK_END) != 0 || getc(file) != '\n';
    fclose(file);
    if (!same)
        return splat_fail_at(error, SPLAT_ERROR_ARGUMENT, path, SPLAT_NO_OFFSET,
                             "the file exists and has other columns than the monitor writes: give another name");
    if (cut) add(begin, "\n"); /* a program that was killed left half a row */
    return SPLAT_OK;
}

splat_status splat_monitor_csv_open(const char *path, FILE **csv, splat_error *error)
{
    row begin = {.length = 0};
    struct stat status;
    *csv = NULL;
    int descriptor = open(path, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC | O_NONBLOCK, 0666);
    if (descriptor < 0 && errno == ENXIO)
        return splat_fail_at(error, SPLAT_ERROR_IO, path, SPLAT_NO_OFFSET,
                             "this is not a regular file, and nothing reads from it; name another file");
    if (descriptor < 0) return splat_fail_errno(error, path, "open");
    fcntl(descriptor, F_SETFL, O_APPEND); /* from here on a write may wait for the reader of a pipe */
    splat_status result = SPLAT_OK;
    if (fstat(descriptor, &status) == 0 && S_ISREG(status.st_mode) && status.st_size > 0)
        result = check_existing(path, &begin, error);
    else
        make_header(&begin);
    FILE *file = result == SPLAT_OK ? fdopen(descriptor, "a") : NULL;
    if (!file) {
        if (result == SPLAT_OK) result = splat_fail_errno(error, path, "open");
        close(descriptor);
        return result;
    }
    result = write_text(file, path, &begin, error);
    if (result != SPLAT_OK) {
        fclose(file);
        return result;
    }
    *csv = file;
    return SPLAT_OK;
}
