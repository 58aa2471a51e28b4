/* The monitor: /proc against folders with known content, the CSV, the thread; a stand-in library is its driver. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/clock.h"
#include "base/file.h"
#include "monitor_fixture.h"
#include "report/monitor/host_stats.h"
#include "report/monitor/monitor.h"
#include "report/monitor/monitor_csv.h"

#include <signal.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#define GIB 1073741824.0

/* ---------------------------------------------------------------- helpers */

static char *read_text(const char *path)
{
    size_t size = 1 << 20;
    char *text = calloc(1, size);
    FILE *file = fopen(path, "r");
    assert_true(text && file);
    assert_true(fread(text, 1, size - 1, file) > 0);
    fclose(file);
    return text;
}

/* ---------------------------------------------------------------- /proc */

/* A process 77 whose name tries to be the fields after it. */
static void write_proc(const char *state_letter, long rss_kb, long ticks)
{
    char text[512];
    splat_folder_create("proc/77", NULL);
    splat_folder_create("proc/net", NULL);
    snprintf(text, sizeof text,
             "77 (a) S 1) (b\n) %s 1 77 77 0 -1 4194304 101 0 0 0 %ld 20 9 9 20 0 1 0 1081108 2998272 395 0\n",
             state_letter, ticks);
    write_file("proc/77/stat", text);
    snprintf(text, sizeof text,
             "Name:\tx\nVmPeak:\t99999 kB\nVmSize:\t 5000 kB\nVmRSS:\t %ld kB\nVmSwap:\t 8 kB\nThreads:\t1\n", rss_kb);
    write_file("proc/77/status", text);
    write_file("proc/77/maps", /* 1,000 KiB that nothing can touch; the rest is in use */
               "00400000-00500000 r-xp 00000000 08:01 1 /bin/x\n"
               "100000000-1000f8000 ---p 00000000 00:00 0\n"
               "1000f8000-100100000 rw-p 00000000 00:00 0\n"
               "100100000-100102000 ---s 00000000 00:00 0 a name with ---p in it\n"
               "damaged\n");
    write_file("proc/77/io", "rchar: 1\nwchar: 2\nread_bytes: 4096\nwrite_bytes: 8192\ncancelled_write_bytes: 0\n");
    write_file("proc/stat", "cpu  100 10 40 800 50 1 4 5 7 7\ncpu0 100 10 40 800 50 1 4 5 7 7\nintr 1 2 3\n");
    write_file("proc/meminfo", "MemTotal:       16000 kB\nMemFree:  10 kB\nMemAvailable:   4000 kB\n");
    write_file("proc/diskstats",
               "   7       0 loop0 1 0 1000 0 1 0 1000 0 0 0 0\n"
               "   8       0 sda 10 0 100 0 10 0 200 0 0 0 0\n"
               "   8       1 sda1 10 0 100 0 10 0 200 0 0 0 0\n"
               "   8      16 sdaa 10 0 1 0 10 0 2 0 0 0 0\n"
               " 259       0 nvme0n1 10 0 10 0 10 0 20 0 0 0 0 0 0 0 0 0 0\n"
               " 259       1 nvme0n1p2 10 0 10 0 10 0 20 0 0 0 0\n"
               " 259       2 nvme0n10 10 0 1000 0 10 0 2000 0 0 0 0\n"
               " 253       0 dm-0 10 0 77 0 10 0 77 0 0 0 0\n"
               " 999       0 short 1 2\n");
    write_file("proc/net/dev", "Inter-|   Receive |  Transmit\n face |bytes    packets|bytes\n"
                               "    lo: 500 1 0 0 0 0 0 0 500 1 0 0 0 0 0 0\n"
                               "  eth0: 3000 1 0 0 0 0 0 0 700 1 0 0 0 0 0 0\n"
                               "eth1:40 1 0 0 0 0 0 0 5 1 0 0 0 0 0 0\n");
}

static void test_proc_files(void **state)
{
    splat_host_counters c;
    double tick = (double)sysconf(_SC_CLK_TCK);
    (void)state;
    write_proc("R", 3000, 230);
    splat_host_read("proc", 77, &c);
    assert_true(c.process_found);
    assert_near(c.process_start, 1081108);
    assert_near(c.process_cpu_s, 250 / tick);
    assert_near(c.process_rss_bytes, 3000 * 1024);
    assert_near(c.process_virtual_bytes, (5000 - 992 - 8) * 1024);
    assert_near(c.process_swap_bytes, 8 * 1024);
    assert_near(c.process_read_bytes, 4096);
    assert_near(c.process_write_bytes, 8192);
    assert_near(c.cpu_total, 1010);
    assert_near(c.cpu_busy, 160);
    assert_near(c.ram_total_bytes, 16000 * 1024);
    assert_near(c.ram_available_bytes, 4000 * 1024);
    assert_near(c.disk_read_bytes, 512 * (100 + 1 + 10 + 1000));
    assert_near(c.disk_write_bytes, 512 * (200 + 2 + 20 + 2000));
    assert_near(c.net_received_bytes, 3040);
    assert_near(c.net_sent_bytes, 705);

    splat_host_read("proc", 78, &c);
    assert_false(c.process_found);
    assert_true(isnan(c.process_rss_bytes));
    assert_near(c.cpu_total, 1010);
    write_proc("Z", 0, 1); /* ended, not yet waited for */
    splat_host_read("proc", 77, &c);
    assert_false(c.process_found);
    write_proc("R", 3000, 1); /* ends: its memory is gone already */
    write_file("proc/77/status", "Name:\tx\nThreads:\t1\n");
    splat_host_read("proc", 77, &c);
    assert_false(c.process_found);
}

static void test_proc_damaged(void **state)
{
    static const char *const names[] = {"77/stat", "77/status", "77/io", "stat", "meminfo", "diskstats", "net/dev"};
    static const char *const contents[] = {"", "\n", ")", "77 (", "cpu", "a:b:c", ":::::\n\n::", "VmRSS: kB\nVmRSS"};
    splat_host_counters c;
    char path[64], *longer = malloc(100001);
    (void)state;
    assert_non_null(longer);
    memset(longer, 'x', 100000);
    longer[100000] = '\0';
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        snprintf(path, sizeof path, "proc/%s", names[i]);
        for (size_t k = 0; k <= sizeof contents / sizeof contents[0]; k++) {
            write_proc("S", 1, 1);
            write_file(path, k < sizeof contents / sizeof contents[0] ? contents[k] : longer);
            splat_host_read("proc", 77, &c);
            if (i == 0) assert_false(c.process_found);
            if (i == 1) assert_true(isnan(c.process_rss_bytes));
            if (i == 3) assert_true(isnan(c.cpu_total));
            if (i == 4) assert_true(isnan(c.ram_total_bytes));
        }
    }
    free(longer);
    splat_host_read("no/such/folder", 77, &c);
    assert_false(c.process_found);
    assert_true(isnan(c.cpu_total) && isnan(c.disk_read_bytes) && isnan(c.net_sent_bytes));
}

static void test_rates(void **state)
{
    splat_host_counters before, now;
    splat_monitor_sample s = {0};
    (void)state;
    write_proc("R", 3000, 230);
    splat_host_read("proc", 77, &before);
    splat_host_sample(NULL, &before, 0, &s);
    assert_true(isnan(s.cpu_percent) && isnan(s.process_cpu_percent) && isnan(s.disk_read_bytes_per_s));
    assert_near(s.ram_used_bytes, 12000 * 1024);
    assert_near(s.ram_percent, 75);
    now = before;
    now.process_cpu_s += 3;
    now.cpu_total += 200;
    now.cpu_busy += 50;
    now.disk_write_bytes += 1000;
    now.net_received_bytes += 10;
    now.net_sent_bytes -= 1; /* an interface was removed */
    splat_host_sample(&before, &now, 2, &s);
    assert_near(s.process_cpu_percent, 150);
    assert_near(s.cpu_percent, 25);
    assert_near(s.disk_write_bytes_per_s, 500);
    assert_near(s.disk_read_bytes_per_s, 0);
    assert_near(s.net_received_bytes_per_s, 5);
    assert_true(isnan(s.net_sent_bytes_per_s));
}

/* Once a second, so 1 ms is a thousandth of one CPU. */
static void test_cost(void **state)
{
    double best = 1e9;
    (void)state;
    for (int batch = 0; batch < 10; batch++) { /* the quickest: the machine may be busy with something else */
        splat_host_counters c;
        splat_monitor_sample s;
        double start = splat_clock_seconds();
        for (int i = 0; i < 20; i++) {
            splat_host_read("/proc", (int)getpid(), &c);
            splat_host_sample(NULL, &c, 0, &s);
        }
        best = fmin(best, (splat_clock_seconds() - start) / 20);
    }
    print_message("a sample of the host takes %.3f ms\n", 1e3 * best);
    assert_true(best < 1e-3);
}

/* ---------------------------------------------------------------- names of the figures */

/* The first columns, with the names that monitoring scripts of the field read. */
#define KNOWN_COLUMNS                                                                                                  \
    "Timestamp,VRAM_GB,GPU_Util%,Mem_Util%,PCIe_Gen,PCIe_Width,CPU%,Process_RSS_GB,Process_VmSize_GB,VmSize_Delta_MB," \
    "System_RAM_GB,RAM_Used%,Disk_Read_MB/s,Disk_Write_MB/s,Net_Recv_MB/s,Net_Send_MB/s,"

static splat_monitor_sample known_sample(void)
{
    splat_monitor_sample s = {.wall_time = 1e9, .number = 1};
    splat_nvml *nvml = open_fake("SPLATSMITH_FAKE_NVML");
    splat_nvml_sample(nvml, &s.gpu);
    splat_nvml_close(nvml);
    s.gpu.memory_used_bytes = 2.5 * GIB;
    s.gpu.process_bytes = NAN;
    s.cpu_percent = 11.25;
    s.process_rss_bytes = 1.5 * GIB;
    s.process_virtual_bytes = 100 * GIB;
    s.process_virtual_delta_bytes = -1048576.0 / 4;
    s.ram_used_bytes = 15.3 * GIB;
    s.ram_total_bytes = 25 * GIB;
    s.ram_percent = 61.2;
    s.disk_read_bytes_per_s = 2 * 1048576.0;
    s.net_sent_bytes_per_s = NAN;
    s.process_growth_bytes = INFINITY;
    return s;
}

static size_t count(const char *text, char c)
{
    size_t n = 0;
    for (; *text; text++) n += *text == c;
    return n;
}

static FILE *open_csv(const char *path)
{
    FILE *csv;
    splat_error error = {0};
    if (splat_monitor_csv_open(path, &csv, &error) != SPLAT_OK) fail_msg("%s", error.message);
    return csv;
}

static void test_csv(void **state)
{
    splat_monitor_sample s = known_sample();
    (void)state;
    setenv("TZ", "UTC", 1);
    tzset();
    unlink("m.csv");
    for (int run = 0; run < 2; run++) { /* the second run appends */
        FILE *csv = open_csv("m.csv");
        assert_int_equal(splat_monitor_csv_write(csv, "m.csv", &s, NULL), SPLAT_OK);
        char *now = read_text("m.csv"); /* flushed: it can be read while the file is open */
        assert_int_equal(count(now, '\n'), 2 + run);
        free(now);
        fclose(csv);
    }
    char *text = read_text("m.csv"), *row = strchr(text, '\n') + 1;
    assert_int_equal(strncmp(text, KNOWN_COLUMNS, strlen(KNOWN_COLUMNS)), 0);
    const char *wanted = "2001-09-09 01:46:40,2.500,87,41,5,16,11.3,1.500,100.000,-0.25,15.300,61.2,2.00,0.00,0.00,,";
    if (strncmp(row, wanted, strlen(wanted)) != 0) fail_msg("%.140s", row);
    assert_non_null(strstr(row, ",312.5,625.0,62,35,1980,1965,3201,2,0,1,0,"));
    assert_null(strstr(text, "nan"));
    assert_null(strstr(text, "inf"));
    char *second = strchr(row, '\n') + 1;
    second[-1] = '\0';
    assert_int_equal(count(row, ','), count(second, ','));
    row[-1] = '\0';
    assert_int_equal(count(row, ','), count(text, ','));
    free(text);
}

static void test_csv_existing_files(void **state)
{
    splat_error error = {0};
    FILE *csv;
    (void)state;
    write_file("m.csv", "Time,Value\n1,2\n");
    assert_int_equal(splat_monitor_csv_open("m.csv", &csv, &error), SPLAT_ERROR_ARGUMENT);
    assert_non_null(strstr(error.message, "other columns"));
    char *text = read_text("m.csv");
    assert_string_equal(text, "Time,Value\n1,2\n"); /* untouched */
    free(text);
    assert_int_equal(splat_monitor_csv_open("no/such/m.csv", &csv, &error), SPLAT_ERROR_IO);
    assert_string_equal(error.file, "no/such/m.csv");
    assert_int_equal(splat_monitor_csv_open("/dev/full", &csv, &error), SPLAT_ERROR_IO);

    unlink("m.csv");
    fclose(open_csv("m.csv"));
    FILE *cut = fopen("m.csv", "a"); /* a program was killed in the middle of a row */
    assert_non_null(cut);
    fputs("2001-09-09 01", cut);
    fclose(cut);
    splat_monitor_sample s = known_sample();
    csv = open_csv("m.csv");
    assert_int_equal(splat_monitor_csv_write(csv, "m.csv", &s, NULL), SPLAT_OK);
    fclose(csv);
    text = read_text("m.csv");
    assert_non_null(strstr(text, "\n2001-09-09 01\n2001-09-09 01:46:40,"));
    free(text);
}

typedef struct found_tags {
    int n;
    double power_percent, ram_gb, sm;
    bool has_vram_process;
} found_tags;

static void find_tag(void *user, const char *tag, double value)
{
    found_tags *f = user;
    f->n++;
    assert_true(isfinite(value));
    assert_int_equal(strncmp(tag, "4_performance/", 14), 0);
    if (strcmp(tag, "4_performance/gpu_power_percent") == 0) f->power_percent = value;
    if (strcmp(tag, "4_performance/ram_used_GB") == 0) f->ram_gb = value;
    if (strcmp(tag, "4_performance/clock_sm_mhz") == 0) f->sm = value;
    if (strcmp(tag, "4_performance/vram_process_GB") == 0) f->has_vram_process = true;
}

static void test_tags(void **state)
{
    splat_monitor_sample s = known_sample();
    found_tags f = {0};
    (void)state;
    splat_monitor_visit_tags(&s, find_tag, &f);
    assert_near(f.power_percent, 50);
    assert_near(f.ram_gb, 15.3);
    assert_near(f.sm, 1965);
    assert_false(f.has_vram_process); /* unknown */
    assert_int_equal(f.n, 25 - 2);    /* and growth, which is infinite here */
}

/* ---------------------------------------------------------------- the thread */

typedef struct messages {
    int n_notices, n_warnings;
    char last[1024];
} messages;

static void keep_message(void *user, splat_log_level level, const char *message)
{
    messages *m = user;
    m->n_notices += level == SPLAT_LOG_NOTICE;
    m->n_warnings += level == SPLAT_LOG_WARNING;
    snprintf(m->last, sizeof m->last, "%s", message);
}

static splat_monitor_options quick_options(messages *m)
{
    splat_monitor_options options;
    splat_monitor_options_init(&options);
    assert_near(options.period_s, 1);
    options.period_s = 0.01;
    options.gpu = "0000:3b:00.0";
    options.log = keep_message;
    options.log_user = m;
    return options;
}

static splat_monitor *start(const splat_monitor_options *options)
{
    splat_monitor *monitor;
    splat_error error = {0};
    if (splat_monitor_create(options, &monitor, &error) != SPLAT_OK) fail_msg("%s", error.message);
    return monitor;
}

/* The first sample with this number or a later one. */
static splat_monitor_sample wait_for(splat_monitor *monitor, uint64_t sample_number)
{
    splat_monitor_sample s;
    double start_time = splat_clock_seconds();
    do {
        if (splat_clock_seconds() - start_time > 20) fail_msg("no sample %d", (int)sample_number);
        usleep(1000);
        splat_monitor_get_latest(monitor, &s);
    } while (s.number < sample_number);
    return s;
}

static splat_monitor_sample next_but_one(splat_monitor *monitor)
{
    splat_monitor_sample s;
    splat_monitor_get_latest(monitor, &s);
    return wait_for(monitor, s.number + 2); /* a sample that began after this call */
}

static void test_thread(void **state)
{
    messages m = {0};
    splat_monitor_options options = quick_options(&m);
    splat_monitor_sample s;
    char text[64];
    (void)state;
    use_driver("SPLATSMITH_FAKE_NVML");
    snprintf(text, sizeof text, "process %d 123456\n", (int)getpid());
    write_file("state.txt", text);
    unlink("m.csv");
    options.csv_path = "m.csv";
    splat_monitor *monitor = start(&options);
    splat_monitor_get_latest(monitor, &s); /* the first exists at once */
    assert_true(s.number >= 1);
    s = wait_for(monitor, 5);
    assert_true(s.process_alive && s.process_rss_bytes > 0 && s.ram_percent > 0 && s.seconds > 0.03);
    assert_near(s.gpu.process_bytes, 123456);
    assert_near(s.gpu.temperature_c, 62);
    assert_near(s.spill_bytes, 0);
    assert_true(s.process_cpu_percent >= 0 && s.process_virtual_delta_bytes < GIB);
    splat_monitor_destroy(monitor);
    char *rows = read_text("m.csv");
    assert_true(count(rows, '\n') >= 6);
    free(rows);
    assert_int_equal(m.n_notices + m.n_warnings, 0);

    options.period_s = 3600; /* the end does not wait for the next sample */
    double begin = splat_clock_seconds();
    monitor = start(&options);
    usleep(50000); /* it sleeps by now */
    splat_monitor_destroy(monitor);
    assert_true(splat_clock_seconds() - begin < 5);
    splat_monitor_destroy(NULL);
}

static void test_without_driver(void **state)
{
    messages m = {0};
    splat_monitor_options options = quick_options(&m);
    (void)state;
    setenv("SPLATSMITH_NVML", "/no/such/driver.so", 1);
    splat_monitor *monitor = start(&options);
    splat_monitor_sample s = wait_for(monitor, 4);
    assert_false(s.gpu.present);
    assert_true(isnan(s.gpu.memory_used_bytes) && isnan(s.gpu.pcie_width) && isnan(s.spill_bytes));
    assert_true(s.process_rss_bytes > 0);
    splat_monitor_destroy(monitor);
    assert_int_equal(m.n_notices, 1);
    assert_non_null(strstr(m.last, "/no/such/driver.so"));
    options.gpu = ""; /* nobody asked for one: nothing to say */
    splat_monitor_destroy(start(&options));
    assert_int_equal(m.n_notices, 1);
    options.pid = -1;
    monitor = start(&options);
    s = wait_for(monitor, 3);
    assert_true(!s.process_alive && isnan(s.process_rss_bytes) && s.ram_percent > 0);
    splat_monitor_destroy(monitor);
}

static void test_refusals(void **state)
{
    static const double periods[] = {0, -1, 0.001, 1e9, NAN};
    messages m = {0};
    splat_monitor_options options = quick_options(&m);
    splat_monitor *monitor;
    splat_error error = {0};
    (void)state;
    options.gpu = "";
    for (size_t i = 0; i < sizeof periods / sizeof periods[0]; i++) {
        options.period_s = periods[i];
        assert_int_equal(splat_monitor_create(&options, &monitor, &error), SPLAT_ERROR_ARGUMENT);
        assert_null(monitor);
    }
    options.period_s = 1;
    options.pid = NOBODY;
    assert_int_equal(splat_monitor_create(&options, &monitor, &error), SPLAT_ERROR_ARGUMENT);
    assert_non_null(strstr(error.message, "there is no process 2000000000"));
    options.pid = -2;
    assert_int_equal(splat_monitor_create(&options, &monitor, &error), SPLAT_ERROR_ARGUMENT);
    options.pid = 0;
    options.csv_path = "no/such/folder/m.csv";
    assert_int_equal(splat_monitor_create(&options, &monitor, &error), SPLAT_ERROR_IO);
}

static void test_process_that_ends(void **state)
{
    messages m = {0};
    splat_monitor_options options = quick_options(&m);
    splat_monitor_sample s;
    (void)state;
    pid_t child = fork();
    if (child == 0) {
        alarm(60);
        pause();
        _exit(0);
    }
    options.gpu = "";
    options.pid = (int)child;
    splat_monitor *monitor = start(&options);
    assert_true(wait_for(monitor, 3).process_alive);
    kill(child, SIGKILL);
    double begin = splat_clock_seconds();
    do {
        usleep(1000);
        splat_monitor_get_latest(monitor, &s);
    } while (s.process_alive && splat_clock_seconds() - begin < 20);
    assert_false(s.process_alive); /* although nobody has waited for it yet */
    assert_true(s.process_rss_bytes > 0);
    waitpid(child, NULL, 0);
    splat_monitor_destroy(monitor);
}

/* Memory of the GPU fills up, and what grows from then on is kept by the host. */
static void test_spill(void **state)
{
    messages m = {0};
    splat_monitor_options options = quick_options(&m);
    (void)state;
    use_driver("SPLATSMITH_FAKE_NVML");
    write_proc("R", 1000, 1);
    options.proc_root = "proc";
    options.pid = 77;
    splat_monitor *monitor = start(&options);
    write_proc("R", 3000, 1);
    splat_monitor_sample s = next_but_one(monitor);
    assert_near(s.process_growth_bytes, 2000 * 1024);
    assert_near(s.spill_bytes, 0); /* there is room on the GPU */
    write_file("state.txt", "used 15900000000\n");
    assert_near(next_but_one(monitor).spill_bytes, 0);
    write_proc("R", 8000, 1);
    assert_near(next_but_one(monitor).spill_bytes, 5000 * 1024);
    write_file("state.txt", "used 1000000000\n");
    assert_near(next_but_one(monitor).spill_bytes, 0);
    splat_monitor_destroy(monitor);
}

/* A disk that becomes full: said once, and the monitor goes on. */
static void test_failed_write(void **state)
{
    messages m = {0};
    splat_monitor_options options = quick_options(&m);
    struct rlimit kept, limit;
    (void)state;
    unlink("m.csv");
    options.gpu = "";
    options.csv_path = "m.csv";
    signal(SIGXFSZ, SIG_IGN);
    getrlimit(RLIMIT_FSIZE, &kept);
    limit = kept;
    limit.rlim_cur = 2000; /* the titles and a few rows */
    setrlimit(RLIMIT_FSIZE, &limit);
    splat_monitor *monitor = start(&options);
    wait_for(monitor, 60);
    splat_monitor_destroy(monitor);
    setrlimit(RLIMIT_FSIZE, &kept);
    signal(SIGXFSZ, SIG_DFL);
    assert_int_equal(m.n_warnings, 1);
    assert_non_null(strstr(m.last, "m.csv"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_proc_files),
        cmocka_unit_test(test_proc_damaged),
        cmocka_unit_test(test_rates),
        cmocka_unit_test(test_cost),
        cmocka_unit_test(test_csv),
        cmocka_unit_test(test_csv_existing_files),
        cmocka_unit_test(test_tags),
        cmocka_unit_test(test_thread),
        cmocka_unit_test(test_without_driver),
        cmocka_unit_test(test_refusals),
        cmocka_unit_test(test_process_that_ends),
        cmocka_unit_test(test_spill),
        cmocka_unit_test(test_failed_write),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
