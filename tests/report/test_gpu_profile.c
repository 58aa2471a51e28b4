/* The memory profile on a GPU: blocks add up to what is reserved, and what is reserved to what the driver counts.
 * Without a GPU it is skipped, loudly; `test_gpu_profile cpu` tries it with the CPU in the GPU's place. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include "base/clock.h"
#include "gpu_fixture.h"
#include "report/profile/profile.h"
#include "report/profile/profile_read.h"
#include "run/memory_profiler.h"

#include <math.h>

static size_t check_rows(const place *p, splat_memory_snapshot *snapshot)
{
    size_t reserved = 0;
    splat_error error;
    must(splat_memory_snapshot_take(snapshot, p->context->backend, &error), &error);
    for (size_t i = 0; i < snapshot->n_rows; i++)
        if (snapshot->rows[i].place == SPLAT_PLACE_DEVICE) reserved += snapshot->rows[i].reserved;
    assert_int_equal(reserved, p->context->backend->memory.device.reserved);
    return reserved;
}

/* The driver's figure against the blocks and the overhead that was measured before they grew. */
static void blocks_match_the_driver(void **state)
{
    (void)state;
    NEEDS_DEVICE();
    place p = open_place(device, false);
    splat_backend *b = p.context->backend;
    splat_memory_snapshot snapshot = {0};
    splat_train_options o = busy_options(60);
    splat_error error;
    splat_trainer *trainer = make_trainer(&p, &o);
    run_steps(trainer, 50); /* every kernel of the run is loaded */
    size_t overhead = splat_backend_overhead(b);
    must(splat_trainer_grow_to(trainer, b->device_bytes ? 2000000 : 20000, &error), &error);
    run_steps(trainer, 5);
    size_t reserved = check_rows(&p, &snapshot), driver = splat_backend_overhead(b) + reserved;
    double difference = fabs((double)driver - (double)(reserved + overhead)) / (double)driver;
    print_message("driver %zu MiB, blocks %zu MiB, overhead before %zu MiB: %.2f %% apart\n", driver >> 20,
                  reserved >> 20, overhead >> 20, 100 * difference);
    assert_true(difference <= 0.02);
    splat_memory_snapshot_free(&snapshot);
    splat_trainer_destroy(trainer);
    close_place(&p);
}

/* Every step profiled: what a sample costs the host, and that the profile stays readable. */
static void a_sample_costs_little(void **state)
{
    (void)state;
    NEEDS_DEVICE();
    place p = open_place(device, false);
    splat_train_options o = busy_options(200);
    splat_memory_profiler_options options = {.interval = 1};
    splat_memory_profiler *profiler;
    splat_profile *profile;
    splat_error error;
    char path[256];
    double seconds = 0;
    splat_trainer *trainer = make_trainer(&p, &o);
    must(splat_folder_delete("profiled", &error), &error);
    must(splat_folder_create("profiled", &error), &error);
    must(splat_memory_profiler_open("profiled", &options, trainer, &profiler, &error), &error);
    for (int i = 0; i < 200; i++) {
        run_steps(trainer, 1);
        double start = splat_clock_seconds();
        profile_step(profiler, trainer, NULL);
        seconds += splat_clock_seconds() - start;
    }
    splat_memory_profiler_close(profiler);
    print_message("%.3f ms a sample\n", seconds / 200 * 1e3);
    must(splat_profile_find("profiled", NULL, path, sizeof path, &error), &error);
    must(splat_profile_read(path, &profile, &error), &error);
    assert_int_equal(profile->n_samples, 200);
    if (p.context->backend->device_bytes) assert_true(profile->samples[199].driver_bytes > 0);
    for (size_t i = 0; i < profile->n_trends; i++)
        if (strcmp(profile->trends[i].what, "allocated on the device") == 0)
            assert_int_equal(profile->trends[i].verdict, SPLAT_PROFILE_FLAT);
    splat_profile_free(profile);
    splat_trainer_destroy(trainer);
    close_place(&p);
}

int main(int argc, char **argv)
{
    find_device(argc, argv, "memory profiles");
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(blocks_match_the_driver),
        cmocka_unit_test(a_sample_costs_little),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
