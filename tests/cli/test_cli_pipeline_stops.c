/* splatsmith pipeline from outside: runs that were killed, stopped or failed go on to the same bytes. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "pipeline_fixture.h"

/* Starts, waits for a file like that, sends the signal. Returns the exit code. */
static int interrupt(const char *out, const char *pattern, int number, ...)
{
    va_list more;
    va_start(more, number);
    pid_t child = begin_pipeline(out, more);
    va_end(more);
    for (int i = 0; i < 30000 && !exists_like(pattern); i++) usleep(2000);
    assert_int_equal(kill(child, number), 0);
    return finish(child);
}

#define INTERVAL "--checkpoint_interval", "20", (char *)NULL

static void killed_and_stopped(void **state)
{
    (void)state;
    make_base();
    assert_int_equal(interrupt("stopped", "stopped/train/chkpnt*.splatsmith", SIGKILL, INTERVAL), 128 + SIGKILL);
    assert_true(file_contains("stopped/train/stage.json", "\"complete\": false"));
    assert_int_equal(interrupt("stopped", "stopped/coarse/chkpnt*.splatsmith", SIGINT, INTERVAL), 128 + SIGINT);
    SAID("[1/5] train: goes on from its last checkpoint");
    NOT_SAID("Trained 400 steps");
    SAID("waiting");
    assert_true(file_contains("stopped/pipeline.json", "\"stopped\""));
    assert_true(file_contains("stopped/coarse/stage.json", "\"complete\": false"));
    PIPELINE(0, "stopped");
    SAID("[1/5] train: done before");
    SAID("[2/5] coarse: goes on from its last checkpoint");
    NOT_SAID("Trained 90 steps");
    NOT_NOTED("runs again");
    assert_same_file("base" TRAIN_PLY, "stopped" TRAIN_PLY);
    assert_same_file("base" COARSE_PLY, "stopped" COARSE_PLY);
    assert_same_file("base" MESH_PLY, "stopped" MESH_PLY);
    assert_true(exists_like("stopped/train/chkpnt*"));   /* asked for by the run that ended this stage */
    assert_false(exists_like("stopped/coarse/chkpnt*")); /* not asked for */
    assert_same_file("base/refined.ply", "stopped/refined.ply");
    assert_same_file("base/refined_mesh.ply", "stopped/refined_mesh.ply");
    assert_same_file("base/textured.glb", "stopped/textured.glb");
}

/* Killed in the refinement, and stopped between stages: the same bytes. */
static void killed_in_the_last_stages(void **state)
{
    (void)state;
    copy_base("late");
    sh_ok("rm -rf late/refine late/texture late/refined* late/textured*");
    assert_int_equal(interrupt("late", "late/refine/chkpnt*.splatsmith", SIGKILL, "--checkpoint_interval", "10",
                               (char *)NULL), 128 + SIGKILL);
    assert_false(exists("late/refined.ply"));
    assert_int_equal(interrupt("late", "late/refined.ply", SIGKILL, (char *)NULL), 128 + SIGKILL);
    SAID("[4/5] refine: goes on from its last checkpoint");
    PIPELINE(0, "late");
    SAID("[4/5] refine: done before");
    NOT_NOTED("refine runs again");
    assert_same_file("base/refined.ply", "late/refined.ply");
    assert_same_file("base/refined_mesh.ply", "late/refined_mesh.ply");
    assert_same_file("base/textured.glb", "late/textured.glb");
    assert_false(exists_like("late/*.tmp") || exists_like("late/*.previous"));
}

static pid_t begin_loop(const char *out, ...)
{
    va_list more;
    va_start(more, out);
    pid_t child = begin_pipeline(out, more);
    va_end(more);
    return child;
}

/* Killed again and again, wherever it is: in stages, between them, while files are written. */
static void killed_at_any_time(void **state)
{
    (void)state;
    int n_killed = 0;
    make_base();
    for (int i = 0; i < 14; i++) {
        pid_t child = begin_loop("any", "--checkpoint_interval", "10", (char *)NULL);
        usleep((useconds_t)(10000 + 37000 * (i % 7 + i / 2)));
        kill(child, SIGKILL);
        n_killed += finish(child) == 128 + SIGKILL;
    }
    print_message("%d runs were killed\n", n_killed);
    assert_true(n_killed >= 3); /* a fast machine is done early */
    PIPELINE(0, "any", "--checkpoint_interval", "10");
    NOT_NOTED("has changed");
    assert_same_file("base" TRAIN_PLY, "any" TRAIN_PLY);
    assert_same_file("base" COARSE_PLY, "any" COARSE_PLY);
    assert_same_file("base/refined.ply", "any/refined.ply");
    assert_same_file("base/refined_mesh.ply", "any/refined_mesh.ply");
    assert_same_file("base/textured.glb", "any/textured.glb");
}

/* A disk with no room for the last file, for which a limit on the size of files stands: all before it stays, the
 * earlier file too, and the same command goes on. */
static void a_full_disk_at_the_last_file(void **state)
{
    (void)state;
    copy_base("full");
    sh_ok("for b in 8 16; do (trap '' XFSZ; ulimit -f $b; \"$SPLATSMITH_BINARY\" pipeline "
          "-s scene -o full $(cat small.txt) --texture_size 256 > stdout.txt 2> stderr.txt); test $? = 1 || exit 1; "
          "grep -q 'File too large' stderr.txt || exit 1; done");
    assert_same_file("base/textured.glb", "full/textured.glb");
    assert_same_file("base" GLB, "full" GLB); /* it came back */
    assert_false(exists_like("full/*.tmp") || exists_like("full/*/*.tmp") || exists_like("full/*.previous"));
    PIPELINE(0, "full", "--texture_size", "256");
    SAID("[4/5] refine: done before");
    assert_different_file("base/textured.glb", "full/textured.glb");
}

/* A checkpoint of other settings is not gone on from. */
static void stopped_then_changed(void **state)
{
    (void)state;
    copy_base("turned");
    sh_ok("rm -rf turned/coarse turned/mesh");
    assert_int_equal(interrupt("turned", "turned/coarse/chkpnt706*.splatsmith", SIGKILL, "-r", "sdf", INTERVAL),
                     128 + SIGKILL); /* well after --regularize_after */
    PIPELINE(0, "turned");
    NOTED("coarse runs again: --regularization_type was sdf, is multiview");
    assert_same_file("base" COARSE_PLY, "turned" COARSE_PLY);
}

static void a_failing_stage(void **state)
{
    (void)state;
    copy_base("failed");
    PIPELINE(1, "failed", "--bboxmin", "1000,1000,1000", "--bboxmax", "1001,1001,1001");
    NOTED("mesh runs again: --bboxmin was");
    assert_true(file_contains("failed/pipeline.json", "\"failed\""));
    SAID("failed");
    assert_same_file("base" MESH_PLY, "failed" MESH_PLY); /* the earlier mesh is back */
    PIPELINE(0, "failed");
    SAID("[3/5] mesh: done before");

    sh_ok("rm -rf failed/mesh && mkdir failed/mesh.previous && cp base/mesh/* failed/mesh.previous"); /* killed then */
    PIPELINE(0, "failed");
    SAID("[3/5] mesh: done before");
    assert_false(exists("failed/mesh.previous"));

    PIPELINE(1, "failed2", "-c", "base/train", "--entropy_factor", "0", "--prune_opacity", "1"); /* all are pruned */
    NOTED("error");
    SAID("waiting");
    assert_true(file_contains("failed2/pipeline.json", "\"failed\""));
    assert_false(exists("failed2/mesh"));
}

int main(void)
{
    sh_ok("rm -rf base scene stopped late any full turned failed*");
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(killed_and_stopped),
        cmocka_unit_test(killed_in_the_last_stages),
        cmocka_unit_test(killed_at_any_time),
        cmocka_unit_test(a_full_disk_at_the_last_file),
        cmocka_unit_test(stopped_then_changed),
        cmocka_unit_test(a_failing_stage),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
