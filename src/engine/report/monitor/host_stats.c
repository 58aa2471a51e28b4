/* Reading and parsing /proc. */
#include "report/monitor/host_stats.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define LINE_MAX_BYTES 1024

static FILE *open_proc(const char *root, const char *name)
{
    char path[4096];
    int length = snprintf(path, sizeof path, "%s/%s", root, name);
    return length > 0 && (size_t)length < sizeof path ? fopen(path, "re") : NULL;
}

static FILE *open_process(const char *root, int pid, const char *name)
{
    char path[64];
    snprintf(path, sizeof path, "%d/%s", pid, name);
    return open_proc(root, path);
}

/* A line that is longer than the buffer is cut; the rest of it is skipped. */
static bool next_line(FILE *file, char line[LINE_MAX_BYTES])
{
    if (!fgets(line, LINE_MAX_BYTES, file)) return false;
    if (!strchr(line, '\n'))
        for (int c = getc(file); c != EOF && c != '\n';) c = getc(file);
    return true;
}

/* Lines "name: 123" or "name: 123 kB". */
typedef struct named_number {
    const char *name;
    double *value;
    double scale;
} named_number;

static void read_named(FILE *file, const named_number *numbers, size_t n)
{
    char line[LINE_MAX_BYTES];
    if (!file) return;
    while (next_line(file, line)) {
        char *colon = strchr(line, ':');
        if (!colon) continue;
        *colon = '\0';
        for (size_t i = 0; i < n; i++) {
            char *end;
            if (strcmp(line, numbers[i].name) != 0) continue;
            unsigned long long value = strtoull(colon + 1, &end, 10);
            if (end != colon + 1) *numbers[i].value = (double)value * numbers[i].scale;
        }
    }
    fclose(file);
}

/* The line of /proc/N/stat: pid (name) state ... The name may hold anything, so fields are counted from the last
 * parenthesis: state is the 3rd, utime and stime 14th and 15th, starttime 22nd. */
static void read_process_times(const char *root, int pid, splat_host_counters *c)
{
    char text[4096];
    FILE *file = open_process(root, pid, "stat");
    c->no_memory = !file && errno == ENOMEM;
    if (!file) return;
    size_t size = fread(text, 1, sizeof text - 1, file);
    fclose(file);
    text[size] = '\0';
    const char *after = strrchr(text, ')');
    char state;
    unsigned long long user, system, start;
    if (!after || sscanf(after + 1,
                         " %c %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %llu %llu %*s %*s %*s %*s %*s %*s %llu", &state,
                         &user, &system, &start) != 4)
        return;
    c->process_found = state != 'Z' && state != 'X' && state != 'x';
    c->process_start = (double)start;
    c->process_cpu_s = (double)(user + system) / (double)sysconf(_SC_CLK_TCK);
}

/* Address ranges that are reserved and that nothing can touch, lines "begin-end ---p ..." of /proc/N/maps: those set
 * aside for the GPU and for arrays that may grow are hundreds of gigabytes without memory. 0 for another
 * user's process. */
static double reserved_bytes(const char *root, int pid)
{
    char line[LINE_MAX_BYTES], access[8];
    unsigned long long begin, end, sum = 0;
    FILE *file = open_process(root, pid, "maps");
    if (!file) return 0;
    while (next_line(file, line))
        if (sscanf(line, "%llx-%llx %7s", &begin, &end, access) == 3 && strncmp(access, "---", 3) == 0 && end > begin)
            sum += end - begin;
    fclose(file);
    return (double)sum;
}

static void read_process(const char *root, int pid, splat_host_counters *c)
{
    const named_number sizes[] = {{"VmRSS", &c->process_rss_bytes, 1024},
                                  {"VmSize", &c->process_virtual_bytes, 1024},
                                  {"VmSwap", &c->process_swap_bytes, 1024}};
    const named_number io[] = {{"read_bytes", &c->process_read_bytes, 1}, {"write_bytes", &c->process_write_bytes, 1}};
    read_process_times(root, pid, c);
    if (!c->process_found) return;
    read_named(open_process(root, pid, "status"), sizes, 3);
    c->process_found = !isnan(c->process_rss_bytes); /* else it ends: its memory goes before it is a zombie */
    double reserved = reserved_bytes(root, pid);
    if (reserved <= c->process_virtual_bytes) c->process_virtual_bytes -= reserved; /* NaN stays NaN */
    read_named(open_process(root, pid, "io"), io, 2); /* another user's is refused */
}

/* The first line: cpu user nice system idle iowait irq softirq steal; guest time is counted in user. */
static void read_cpu(const char *root, splat_host_counters *c)
{
    FILE *file = open_proc(root, "stat");
    unsigned long long t[8] = {0}, total = 0;
    if (!file) return;
    int n = fscanf(file, "cpu %llu %llu %llu %llu %llu %llu %llu %llu", &t[0], &t[1], &t[2], &t[3], &t[4], &t[5], &t[6],
                   &t[7]);
    fclose(file);
    if (n < 4) return;
    for (int i = 0; i < 8; i++) total += t[i];
    c->cpu_total = (double)total;
    c->cpu_busy = (double)(total - t[3] - t[4]);
}

/* "sda1" of "sda", "nvme0n1p2" of "nvme0n1": after a digit the number of a partition follows a p. */
static bool is_partition(const char *disk, const char *name)
{
    size_t length = strlen(disk);
    if (length == 0 || strncmp(name, disk, length) != 0) return false;
    const char *number = name + length;
    if (disk[length - 1] >= '0' && disk[length - 1] <= '9' && *number++ != 'p') return false;
    return *number && strspn(number, "0123456789") == strlen(number);
}

/* Devices that stand on others would be counted twice, those in memory are no disks. */
static bool is_stacked(const char *name)
{
    static const char *const prefixes[] = {"loop", "ram", "zram", "dm-", "md"};
    for (size_t i = 0; i < sizeof prefixes / sizeof prefixes[0]; i++)
        if (strncmp(name, prefixes[i], strlen(prefixes[i])) == 0) return true;
    return false;
}

/* Lines: major minor name reads merged sectors ms writes merged sectors ...; sectors of 512 bytes; a disk comes before
 * its partitions. */
static void read_disks(const char *root, splat_host_counters *c)
{
    char line[LINE_MAX_BYTES], name[128], disk[128] = "";
    unsigned long long sectors_read, sectors_written, read = 0, written = 0;
    FILE *file = open_proc(root, "diskstats");
    if (!file) return;
    while (next_line(file, line)) {
        if (sscanf(line, "%*s %*s %127s %*s %*s %llu %*s %*s %*s %llu", name, &sectors_read, &sectors_written) != 3 ||
            is_stacked(name) || is_partition(disk, name))
            continue;
        snprintf(disk, sizeof disk, "%s", name);
        read += sectors_read;
        written += sectors_written;
    }
    fclose(file);
    c->disk_read_bytes = 512.0 * (double)read;
    c->disk_write_bytes = 512.0 * (double)written;
}

/* Lines: name: bytes packets errs drop fifo frame compressed multicast bytes ...; two lines of titles have no colon. */
static void read_network(const char *root, splat_host_counters *c)
{
    char line[LINE_MAX_BYTES];
    unsigned long long received, sent, sum_received = 0, sum_sent = 0;
    FILE *file = open_proc(root, "net/dev");
    if (!file) return;
    while (next_line(file, line)) {
        const char *name = line + strspn(line, " "), *colon = strchr(line, ':');
        if (!colon || strncmp(name, "lo:", 3) == 0 ||
            sscanf(colon + 1, "%llu %*s %*s %*s %*s %*s %*s %*s %llu", &received, &sent) != 2)
            continue;
        sum_received += received;
        sum_sent += sent;
    }
    fclose(file);
    c->net_received_bytes = (double)sum_received;
    c->net_sent_bytes = (double)sum_sent;
}

void splat_host_read(const char *proc_root, int pid, splat_host_counters *c)
{
    *c = (splat_host_counters){
        .process_start = NAN, .process_cpu_s = NAN, .process_rss_bytes = NAN, .process_virtual_bytes = NAN,
        .process_swap_bytes = NAN, .process_read_bytes = NAN, .process_write_bytes = NAN, .cpu_busy = NAN,
        .cpu_total = NAN, .ram_total_bytes = NAN, .ram_available_bytes = NAN, .disk_read_bytes = NAN,
        .disk_write_bytes = NAN, .net_received_bytes = NAN, .net_sent_bytes = NAN};
    const named_number memory[] = {{"MemTotal", &c->ram_total_bytes, 1024},
                                   {"MemAvailable", &c->ram_available_bytes, 1024}};
    if (pid >= 0) read_process(proc_root, pid, c);
    read_cpu(proc_root, c);
    read_named(open_proc(proc_root, "meminfo"), memory, 2);
    read_disks(proc_root, c);
    read_network(proc_root, c);
}

/* Counters go back when a device is removed or a 32-bit one wraps: no rate then. */
static double rate(double before, double now, double span)
{
    return span > 0 && now >= before ? (now - before) / span : NAN;
}

void splat_host_sample(const splat_host_counters *before, const splat_host_counters *now, double seconds,
                       splat_monitor_sample *sample)
{
    if (!before) {
        before = now;
        seconds = 0;
    }
    sample->process_cpu_percent = 100.0 * rate(before->process_cpu_s, now->process_cpu_s, seconds);
    sample->process_rss_bytes = now->process_rss_bytes;
    sample->process_virtual_bytes = now->process_virtual_bytes;
    sample->process_swap_bytes = now->process_swap_bytes;
    sample->process_read_bytes_per_s = rate(before->process_read_bytes, now->process_read_bytes, seconds);
    sample->process_write_bytes_per_s = rate(before->process_write_bytes, now->process_write_bytes, seconds);
    sample->cpu_percent = 100.0 * rate(before->cpu_busy, now->cpu_busy, now->cpu_total - before->cpu_total);
    sample->ram_total_bytes = now->ram_total_bytes;
    sample->ram_used_bytes = now->ram_total_bytes - now->ram_available_bytes;
    sample->ram_percent = 100.0 * sample->ram_used_bytes / sample->ram_total_bytes;
    sample->disk_read_bytes_per_s = rate(before->disk_read_bytes, now->disk_read_bytes, seconds);
    sample->disk_write_bytes_per_s = rate(before->disk_write_bytes, now->disk_write_bytes, seconds);
    sample->net_received_bytes_per_s = rate(before->net_received_bytes, now->net_received_bytes, seconds);
    sample->net_sent_bytes_per_s = rate(before->net_sent_bytes, now->net_sent_bytes, seconds);
}
