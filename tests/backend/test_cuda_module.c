/* The CUDA backend as a module: where it is found, what is said when it cannot be used, against stand-ins. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "splatsmith.h"

#include "cli_fixture.h"

static char logged[2048];

static void keep_log(void *user, splat_log_level level, const char *message)
{
    (void)user;
    (void)level;
    snprintf(logged, sizeof logged, "%s", message);
}

/* The status of opening `backend` with the module that a variable of the test's environment names; NULL: none. */
static splat_status open_with(const char *variable, const char *backend, splat_error *error)
{
    splat_context_options options;
    splat_context *context = NULL;
    if (variable)
        assert_int_equal(setenv("SPLATSMITH_CUDA_MODULE", getenv(variable), 1), 0);
    else
        unsetenv("SPLATSMITH_CUDA_MODULE");
    splat_context_options_init(&options);
    options.backend = backend;
    options.gpu = 3;
    options.deterministic = true;
    options.threads = 1;
    options.log = keep_log;
    logged[0] = '\0';
    splat_status status = splat_context_create(&options, &context, error);
    splat_context_destroy(context);
    return status;
}

static void test_module_is_called(void **state)
{
    splat_error error;
    splat_device_info device;
    size_t n;
    (void)state;
    assert_int_equal(open_with("FAKE_CUDA", "cuda", &error), SPLAT_ERROR_DEVICE);
    assert_string_equal(error.message, "the stand-in's GPU 3, deterministic, is asleep");
    assert_int_equal(splat_device_list(&device, 1, &n, &error), SPLAT_OK);
    assert_int_equal(n, 1);
    assert_string_equal(device.name, "Stand-in");
    assert_int_equal(open_with("FAKE_CUDA", "auto", &error), SPLAT_OK);
    assert_string_equal(logged, "running on the CPU: the stand-in's GPU 3, deterministic, is asleep");
}

/* One sentence that says what is wrong; with auto it is a notice. */
static void refused(const char *variable, const char *words)
{
    splat_error error;
    size_t n = 7;
    assert_int_equal(open_with(variable, "cuda", &error), SPLAT_ERROR_DEVICE);
    assert_non_null(strstr(error.message, words));
    assert_int_equal(open_with(variable, "auto", &error), SPLAT_OK);
    assert_non_null(strstr(logged, words));
    assert_int_equal(splat_device_list(NULL, 0, &n, &error), SPLAT_ERROR_DEVICE);
    assert_non_null(strstr(error.message, words));
    assert_int_equal(n, 0);
}

static void test_other_modules_are_refused(void **state)
{
    (void)state;
    refused("FAKE_CUDA_OLD", "is of version 0.0.9 and the library of " SPLATSMITH_VERSION ";");
    refused("FAKE_CUDA_OTHER", "of different sources");
    refused("FAKE_CUDA_NONE", "holds no CUDA backend");
    setenv("FAKE_CUDA_ABSENT", "/nowhere/fake.so", 1);
    refused("FAKE_CUDA_ABSENT", "cannot be opened: /nowhere/fake.so");
}

/* ---------------------------------------------------------------- where it is looked for */

static void copy(const char *from, const char *to)
{
    char command[4096];
    snprintf(command, sizeof command, "mkdir -p \"$(dirname '%s')\" && cp '%s' '%s'", to, from, to);
    assert_int_equal(system(command), 0);
}

/* Prints `info` about the GPUs, with the module at `place` of an installation that has the program in bin/. */
static void installed(const char *place)
{
    static const char *const words[] = {"installed/bin/splatsmith", "info", NULL};
    assert_int_equal(system("rm -rf installed"), 0);
    copy(getenv("SPLATSMITH_BINARY"), words[0]);
    if (place) copy(getenv("FAKE_CUDA"), place);
    assert_int_equal(finish(start((char *const *)(uintptr_t)words)), 0);
}

static void test_places(void **state)
{
    (void)state;
    unsetenv("SPLATSMITH_CUDA_MODULE");
    static const char *const places[] = {"installed/bin/libsplatsmith-cuda.so",
                                         "installed/bin/lib/splatsmith/libsplatsmith-cuda.so",
                                         "installed/lib/splatsmith/libsplatsmith-cuda.so",
                                         "installed/" LIBDIR "/splatsmith/libsplatsmith-cuda.so"};
    for (size_t i = 0; i < sizeof places / sizeof places[0]; i++) {
        installed(places[i]);
        assert_non_null(strstr(standard_output, "Stand-in"));
    }
    installed("installed/elsewhere/libsplatsmith-cuda.so");
    assert_null(strstr(standard_output, "Stand-in"));
    installed(NULL);
    assert_non_null(strstr(standard_output, "there is no libsplatsmith-cuda.so next to the program or in "
                                            "lib/splatsmith; install the CUDA backend"));
    assert_int_equal(system("rm -rf installed"), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_module_is_called),
                                       cmocka_unit_test(test_other_modules_are_refused), cmocka_unit_test(test_places)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
