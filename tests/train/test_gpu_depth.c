/* Training on known depth on a GPU, compared with the CPU. Without a GPU every test prints that it is skipped.
 * `test_gpu_depth cpu` runs the same tests with the CPU in the GPU's place. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include "gpu_fixture.h"

#include "train/parts/depths.h"

#include <math.h>

#define KNOWN "known"
#define N_STEPS 20

static place open_known(const char *backend, bool deterministic)
{
    place p;
    splat_error error;
    splat_memory_info memory;
    splat_scene_options options;
    must(open_context(backend, deterministic, &p.context, &error), &error);
    splat_context_get_memory(p.context, &memory);
    p.bytes = memory.bytes;
    if (!splat_path_exists(KNOWN)) {
        splat_sample_options sample;
        splat_sample_options_init(&sample);
        sample.width = 101; /* odd: maps stand on even bytes */
        sample.height = 71;
        sample.n_cameras = 9;
        sample.n_points = 500;
        sample.n_truth = 10;
        sample.supersample = 1;
        sample.n_blobs = 2;
        sample.tracks = sample.depths = true;
        must(splat_sample_write(p.context, KNOWN, &sample, &error), &error);
    }
    splat_scene_options_init(&options);
    options.source_path = KNOWN;
    options.depths = "depths";
    options.sfm_depth = true;
    must(splat_scene_open(p.context, &options, &p.scene, &error), &error);
    return p;
}

static splat_train_options known_options(void)
{
    splat_train_options o = busy_options(60);
    o.sfm_depth_weight = 0.1f;
    return o;
}

typedef struct step_losses {
    double photo, maps, points;
} step_losses;

/* Losses of the steps; those of depth of the last that looked. */
static void first_steps(const char *backend, uint64_t max_instances, step_losses losses[N_STEPS])
{
    splat_error error;
    splat_loss list[SPLAT_MAX_LOSSES];
    size_t n;
    place p = open_known(backend, false);
    int late = splat_backend_result_latency(p.context->backend);
    splat_train_options o = known_options();
    o.densify_from_iter = 50; /* the same Gaussians on both sides */
    o.opacity_reset_interval = 1000;
    o.max_instances = max_instances;
    splat_trainer *trainer = make_trainer(&p, &o);
    for (int i = 0; i < N_STEPS + late; i++) {
        float photo = run_steps(trainer, 1).loss;
        if (i >= late) losses[i - late].photo = (double)photo;
        if (i == N_STEPS) break;
        must(splat_trainer_get_losses(trainer, list, &n, &error), &error);
        assert_int_equal(n, 2);
        losses[i].maps = list[0].value;
        losses[i].points = list[1].value;
    }
    splat_trainer_destroy(trainer);
    close_place(&p);
}

static void check_near(const char *what, int step, double got, double wanted)
{
    if (isnan(got) && isnan(wanted) && step < SPLAT_DEPTH_STEPS) return; /* no step has looked yet */
    /* Adam steps as far for a gradient of rounding as for any other: 2e-4 were seen of points on an H200. */
    if (!(fabs(got - wanted) <= (step < 10 ? 5e-4 : 3e-3) * fabs(wanted)))
        fail_msg("step %d: the loss of %s is %.8f, on the CPU %.8f", step + 1, what, got, wanted);
}

/* A wrong term of a gradient shows in the losses of the next steps: weights are such that depth tells there. */
static void losses_are_those_of_the_cpu(void **state)
{
    (void)state;
    NEEDS_DEVICE();
    step_losses wanted[N_STEPS], losses[N_STEPS];
    first_steps("cpu", 0, wanted);
    for (int bands = 0; bands < 2; bands++) {
        first_steps(device, bands ? 3000 : 0, losses);
        for (int i = 0; i < N_STEPS; i++) {
            check_near("the photo", i, losses[i].photo, wanted[i].photo);
            check_near("maps", i, losses[i].maps, wanted[i].maps);
            check_near("points", i, losses[i].points, wanted[i].points);
        }
    }
    assert_true(losses[N_STEPS - 1].maps > 0 && losses[N_STEPS - 1].points > 0);
}

static void a_resumed_run_is_the_same_run(void **state)
{
    (void)state;
    NEEDS_DEVICE();
    static const int stops[] = {0, 7, 29, 50};
    place p = open_known(device, true);
    splat_train_options o = known_options();
    o.exposure = true;
    assert_resumes(&p, &o, 60, stops, sizeof stops / sizeof stops[0], NULL);
    close_place(&p);
}

/* Streamed photos bring their maps. */
static void photos_on_the_host_are_the_same(void **state)
{
    (void)state;
    NEEDS_DEVICE();
    place p = open_known(device, true);
    splat_train_options o = known_options();
    splat_trainer *resident = make_trainer(&p, &o);
    o.photos_on_host = true;
    splat_trainer *streamed = make_trainer(&p, &o);
    run_steps(resident, 40);
    run_steps(streamed, 40);
    assert_true(same_models(splat_trainer_get_model(resident), splat_trainer_get_model(streamed)));
    splat_trainer_destroy(resident);
    splat_trainer_destroy(streamed);
    close_place(&p);
}

int main(int argc, char **argv)
{
    splat_error error;
    find_device(argc, argv, "known depth");
    splat_folder_delete(KNOWN, &error);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(losses_are_those_of_the_cpu),
        cmocka_unit_test(a_resumed_run_is_the_same_run),
        cmocka_unit_test(photos_on_the_host_are_the_same),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
