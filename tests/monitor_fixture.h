/* What the tests of NVML and of the monitor share: the stand-in for the driver (fake_nvml.c) and its answers. */
#ifndef SPLAT_TESTS_MONITOR_FIXTURE_H
#define SPLAT_TESTS_MONITOR_FIXTURE_H

#include "backend/nvml.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define NOBODY 2000000000 /* beyond the largest pid of Linux, 2^22 */

/* At once for a reader in another thread; splat_file_write would wait for the disk each time. */
static inline void write_file(const char *path, const char *text)
{
    FILE *file = fopen("new.txt", "w");
    assert_non_null(file);
    assert_true(fputs(text, file) >= 0);
    assert_int_equal(fclose(file), 0);
    assert_int_equal(rename("new.txt", path), 0);
}

static inline void use_driver(const char *variable)
{
    const char *path = getenv(variable);
    if (!path) fail_msg("%s is not set: run this test with ctest", variable);
    setenv("SPLATSMITH_NVML", path, 1);
    setenv("FAKE_NVML_STATE", "state.txt", 1);
    unlink("state.txt");
}

static inline splat_nvml *open_fake(const char *variable)
{
    splat_nvml *nvml;
    splat_error error = {0};
    use_driver(variable);
    if (splat_nvml_open("0000:3b:00.0", &nvml, &error) != SPLAT_OK) fail_msg("%s", error.message);
    return nvml;
}

static inline void assert_near(double value, double wanted)
{
    if (!(fabs(value - wanted) <= 1e-9 * fabs(wanted))) fail_msg("%.17g, not %.17g", value, wanted);
}

#endif
