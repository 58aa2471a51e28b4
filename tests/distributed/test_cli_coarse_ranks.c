/* splatsmith coarse with --gpus and under mpirun: threads and processes write the same files; refusals;
 * a pipeline whose stages train with several. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "cli_ranks_fixture.h"

#define COARSE                                                                                                         \
    "coarse -s scene -c splat --backend cpu --eval --report False --coarse_iterations 7090 "                           \
    "--regularize_after 7040 --n_samples 2000 --test_iterations 7090 --checkpoint_iterations 7060"
#define RESULT "point_cloud/iteration_7090/point_cloud.ply"

static int make_splat(void **state)
{
    int code = make_scene(state);
    if (code == 0 && !exists("splat"))
        code = shell("%% train -s scene --backend cpu --eval --tensorboard False --report False -m splat -n 400 "
                     "--densify_from_iter 100 --densify_until_iter 300");
    return code;
}

static void runs(const char *folder, const char *launcher, const char *more)
{
    if (shell("rm -rf %s; %s %% " COARSE " -o %s %s", folder, launcher, folder, more) != 0)
        fail_msg("%s: %s", folder, standard_error);
}

/* A photo each: threads and processes give the same, also from a checkpoint; curves have the spreads of all
 * Gaussians. */
static void each_has_a_view_of_its_own(void **state)
{
    (void)state;
    runs("batches", "", "--gpus 3");
    assert_int_equal(n_times(standard_output, " instances a step, "), 3);
    assert_int_equal(shell("grep -q Stats/points_std batches/*tfevents* batches/*/*tfevents*"), 0);
    if (!mpirun_command(3)) skip();
    runs("launched", mpirun_command(3), "--tensorboard False");
    must_be_same_file("batches/" RESULT, "launched/" RESULT);
    if (shell("rm -r launched/point_cloud && %s %% " COARSE " -o launched --tensorboard False "
              "--start_checkpoint launched/chkpnt706?.splatsmith", mpirun_command(3)) != 0)
        fail_msg("%s", standard_error);
    must_be_same_file("batches/" RESULT, "launched/" RESULT);
}

static void what_cannot_be_done_is_said_once(void **state)
{
    (void)state;
    static const struct {
        int code;
        const char *options, *said;
    } cases[] = {{2, "--gpus 0", "--gpus is a number from 1"},
                 {1, "--gpus 2 --vram_limit 2G",
                  "several ranks cannot train with a memory limit (--vram_limit) and the losses of coarse training"}};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        assert_int_equal(shell("%% " COARSE " -o out %s", cases[i].options), cases[i].code);
        if (!strstr(standard_error, cases[i].said)) fail_msg("%s: %s", cases[i].options, standard_error);
    }
    if (!mpirun_command(2)) skip();
    assert_true(shell("%s %% pipeline -s scene -o out", mpirun_command(2)) != 0);
    assert_int_equal(n_times(standard_error, "pipeline is one process"), 1);
    assert_true(shell("%s %% " COARSE " -c nowhere -o out", mpirun_command(2)) != 0);
    assert_int_equal(n_times(standard_error, "nowhere"), 1);
    assert_false(exists("out"));
}

/* Its stages train and coarse take --gpus, the others are as ever; a number is no reason to make a stage again. */
static void a_pipeline_passes_it_on(void **state)
{
    (void)state;
    static const char *const options =
        "--backend cpu --eval --iterations 300 --densify_from_iter 100 --densify_until_iter 250 "
        "--coarse_iterations 7060 --regularize_after 7030 --prune_opacity 0.05 --n_samples 2000 --surface_points 5000 "
        "--poisson_depth 6 --min_component_faces 0 --refinement_iterations 10 --texture_size 128 --tensorboard False";
    assert_int_equal(shell("rm -rf pipe; %% pipeline -s scene -o pipe %s --gpus 0", options), 2);
    assert_false(exists("pipe"));
    if (shell("%% pipeline -s scene -o pipe %s --gpus 2", options) != 0) fail_msg("%s", standard_error);
    assert_int_equal(n_times(standard_output, "  rank 0 "), 2);
    assert_int_equal(n_times(standard_output, "  rank 1 "), 2);
    assert_true(exists("pipe/texture/textured.glb"));
    assert_int_equal(shell("%% pipeline -s scene -o pipe %s --gpus 3", options), 0);
    assert_int_equal(n_times(standard_output, ": done before, in"), 5);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_has_a_view_of_its_own),
        cmocka_unit_test(what_cannot_be_done_is_said_once),
        cmocka_unit_test(a_pipeline_passes_it_on),
    };
    return cmocka_run_group_tests(tests, make_splat, NULL);
}
