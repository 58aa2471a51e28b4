/* NVML: every figure, old drivers, process lists and refusals, against a stand-in library. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "monitor_fixture.h"

static void test_nvml_figures(void **state)
{
    splat_gpu_sample s;
    splat_nvml *nvml = open_fake("SPLATSMITH_FAKE_NVML");
    (void)state;
    splat_nvml_sample(nvml, &s);
    assert_true(s.present);
    assert_string_equal(s.name, "Fake GPU 1");
    assert_near(s.memory_used_bytes, 6e9);
    assert_near(s.memory_total_bytes, 16e9);
    assert_near(s.compute_percent, 87);
    assert_near(s.memory_percent, 41);
    assert_near(s.power_w, 312.5);
    assert_near(s.power_limit_w, 625);
    assert_near(s.power_percent, 50);
    assert_near(s.temperature_c, 62);
    assert_near(s.fan_percent, 35);
    assert_near(s.clock_graphics_mhz, 1980);
    assert_near(s.clock_sm_mhz, 1965);
    assert_near(s.clock_memory_mhz, 3201);
    assert_near(s.pstate, 2);
    assert_near(s.throttle_power_cap, 1);
    assert_near(s.throttle_hw_slowdown, 0);
    assert_near(s.throttle_thermal, 0);
    assert_near(s.pcie_generation, 5);
    assert_near(s.pcie_width, 16);
    write_file("state.txt", "fail 1\n"); /* a GPU that fell off the bus */
    splat_nvml_sample(nvml, &s);
    assert_true(isnan(s.memory_used_bytes) && isnan(s.compute_percent) && isnan(s.power_w) && isnan(s.pcie_width) &&
                isnan(s.throttle_power_cap) && isnan(s.clock_sm_mhz) && isnan(s.power_percent));
    splat_nvml_close(nvml);
    assert_int_equal(splat_nvml_open("1", &nvml, NULL), SPLAT_OK); /* the same GPU by its index */
    unlink("state.txt");
    splat_nvml_sample(nvml, &s);
    assert_near(s.temperature_c, 62);
    splat_nvml_close(nvml);
}

static void test_nvml_old_driver(void **state)
{
    splat_gpu_sample s;
    uint64_t bytes;
    char text[128];
    splat_nvml *nvml = open_fake("SPLATSMITH_FAKE_NVML_OLD");
    (void)state;
    splat_nvml_sample(nvml, &s);
    assert_near(s.memory_total_bytes, 16e9);
    assert_near(s.power_w, 312.5);
    assert_true(isnan(s.power_limit_w) && isnan(s.power_percent) && isnan(s.compute_percent) && isnan(s.fan_percent) &&
                isnan(s.clock_sm_mhz) && isnan(s.pcie_generation));
    assert_true(isnan(s.pstate)); /* "unknown" */
    assert_near(s.throttle_hw_slowdown, 1);
    assert_near(s.throttle_thermal, 1);
    assert_near(s.throttle_power_cap, 0);
    snprintf(text, sizeof text, "process 1 111\nprocess %d 222\nprocess 2 333\n", (int)getpid());
    write_file("state.txt", text);
    assert_true(splat_nvml_process_bytes(nvml, 0, &bytes));
    assert_int_equal(bytes, 222);
    splat_nvml_close(nvml);
}

static void test_nvml_process_bytes(void **state)
{
    uint64_t bytes;
    char text[4096];
    splat_nvml *nvml = open_fake("SPLATSMITH_FAKE_NVML");
    (void)state;
    assert_false(splat_nvml_process_bytes(nvml, 0, &bytes)); /* nobody is listed */

    size_t length = 0; /* more than the first buffer holds; two MIG instances of this process at the end */
    for (int i = 0; i < 40; i++) length += (size_t)sprintf(text + length, "process %d %d\n", NOBODY + i, 1000 + i);
    sprintf(text + length, "process %d 5000000000\nprocess %d 7\n", (int)getpid(), (int)getpid());
    write_file("state.txt", text);
    assert_true(splat_nvml_process_bytes(nvml, 0, &bytes));
    assert_int_equal(bytes, 5000000007);
    assert_true(splat_nvml_process_bytes(nvml, NOBODY + 17, &bytes));
    assert_int_equal(bytes, 1017);
    assert_false(splat_nvml_process_bytes(nvml, (int)getppid(), &bytes));

    sprintf(text, "process %d 18446744073709551615\n", (int)getpid()); /* NVML_VALUE_NOT_AVAILABLE */
    write_file("state.txt", text);
    assert_false(splat_nvml_process_bytes(nvml, 0, &bytes));

    sprintf(text, "process %d 4711\n", NOBODY); /* a pid of the host, seen from a container */
    write_file("state.txt", text);
    assert_true(splat_nvml_process_bytes(nvml, 0, &bytes));
    assert_int_equal(bytes, 4711);
    assert_true(splat_nvml_process_bytes(nvml, (int)getpid(), &bytes));
    assert_false(splat_nvml_process_bytes(nvml, (int)getppid(), &bytes)); /* only this process is taken for it */

    sprintf(text, "process %d 1\nprocess %d 2\n", NOBODY, NOBODY + 1); /* which one is unknown */
    write_file("state.txt", text);
    assert_false(splat_nvml_process_bytes(nvml, 0, &bytes));
    sprintf(text, "process %d 1\n", (int)getppid()); /* no pid of the host: somebody else here */
    write_file("state.txt", text);
    assert_false(splat_nvml_process_bytes(nvml, 0, &bytes));
    splat_nvml_close(nvml);
}

static void assert_refused(const char *gpu, const char *words)
{
    splat_nvml *nvml;
    splat_error error = {0};
    assert_int_equal(splat_nvml_open(gpu, &nvml, &error), SPLAT_ERROR_DEVICE);
    assert_null(nvml);
    if (!strstr(error.message, words)) fail_msg("'%s' does not say '%s'", error.message, words);
}

static void test_nvml_refusals(void **state)
{
    (void)state;
    use_driver("SPLATSMITH_FAKE_NVML");
    assert_refused("0000:99:00.0", "does not give access to GPU 0000:99:00.0: Not Found");
    assert_refused("7", "does not give access to GPU 7: Not Found");
    assert_refused("first", "neither a PCI bus id");
    assert_refused("-1", "neither a PCI bus id");
    setenv("FAKE_NVML_NO_DRIVER", "1", 1);
    assert_refused("0", "cannot start: Driver Not Loaded");
    unsetenv("FAKE_NVML_NO_DRIVER");
    setenv("SPLATSMITH_NVML", "/no/such/libnvidia-ml.so", 1);
    assert_refused("0", "/no/such/libnvidia-ml.so");
    setenv("SPLATSMITH_NVML", "libm.so.6", 1);
    assert_refused("0", "not NVML");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_nvml_figures),
        cmocka_unit_test(test_nvml_old_driver),
        cmocka_unit_test(test_nvml_process_bytes),
        cmocka_unit_test(test_nvml_refusals),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
