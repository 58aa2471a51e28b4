/* Exposures and known depth of a capture, trained by ranks on GPUs. Needs two GPUs. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "captured_run_fixture.h"
#include "gpu_ranks_fixture.h"

static void exposures_of_batches(void **state)
{
    (void)state;
    NEEDS_GPUS();
    batches_are_those_of_the_cpu(exposed_run(120, 40));
    shared_run run = on_gpus(exposed_run(120, 48));
    parts_are_the_whole(&run, 2, 24);
}

static void depth_of_batches(void **state)
{
    (void)state;
    NEEDS_GPUS();
    for (int what = MAPS; what <= (MAPS | POINTS); what++) batches_are_those_of_the_cpu(known_run(what, 120, 40));
    shared_run run = on_gpus(known_run(MAPS | POINTS, 120, 48));
    parts_are_the_whole(&run, 2, 24);
}

/* In every storage, where all bands of SH are active. */
static void all_of_it_late(void **state)
{
    (void)state;
    NEEDS_GPUS();
    for (int which = 0; which < N_STORAGES; which++) {
        shared_run run = known_run(MAPS | POINTS, LATE + 100, 40);
        run.options.exposure = true;
        set_storages(&run.options, which);
        run.spoil = start_late;
        run = on_gpus(run);
        parts_are_the_whole(&run, 2, 20);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(exposures_of_batches),
        cmocka_unit_test(depth_of_batches),
        cmocka_unit_test(all_of_it_late),
    };
    return cmocka_run_group_tests(tests, count_gpus, NULL);
}
