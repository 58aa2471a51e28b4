/* Exposure and white balance on a GPU, compared with the CPU. Without a GPU every test prints that it is skipped.
 * `test_gpu_exposure cpu` runs the same tests with the CPU in the GPU's place. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include "gpu_fixture.h"

#include "train/parts/exposure.h"

#include <math.h>

#define N_STEPS 24

static splat_train_options exposed_options(void)
{
    splat_train_options o = busy_options(80);
    o.exposure = true;
    return o;
}

/* Losses of the steps, and the gains after them. */
static void first_steps(const char *backend, bool resampled, float losses[N_STEPS], splat_exposures *found)
{
    splat_error error;
    place p = open_place(backend, false);
    int late = splat_backend_result_latency(p.context->backend);
    splat_train_options o = exposed_options();
    o.densify_from_iter = 70; /* the same Gaussians on both sides */
    o.ray_jitter = o.resample_gt_image = resampled;
    splat_trainer *trainer = make_trainer(&p, &o);
    for (int i = 0; i < N_STEPS + late; i++) {
        if (i == N_STEPS) must(splat_exposures_get(trainer, found, &error), &error); /* before the step too many */
        float loss = run_steps(trainer, 1).loss;
        if (i >= late) losses[i - late] = loss;
    }
    if (!late) must(splat_exposures_get(trainer, found, &error), &error);
    splat_trainer_destroy(trainer);
    close_place(&p);
}

/* Gains have moved by stops: a wrong term shows in the first digits, rounding in the fourth or later, as Adam divides
 * gradients by their own size. */
static void gains_are_those_of_the_cpu(void **state)
{
    (void)state;
    NEEDS_DEVICE();
    for (int resampled = 0; resampled < 2; resampled++) {
        float wanted[N_STEPS], losses[N_STEPS];
        splat_exposures wanted_gains, gains;
        double most = 0, worst = 0;
        first_steps("cpu", resampled, wanted, &wanted_gains);
        first_steps(device, resampled, losses, &gains);
        for (int i = 0; i < N_STEPS; i++)
            if (!(fabsf(losses[i] - wanted[i]) <= (i < 10 ? 1e-4f : 1e-3f) * fabsf(wanted[i])))
                fail_msg("loss %d is %.8f, on the CPU %.8f", i + 1, (double)losses[i], (double)wanted[i]);
        assert_int_equal(gains.n_photos, wanted_gains.n_photos);
        for (size_t i = 0; i < gains.n_photos; i++) {
            most = fmax(most, fabs(wanted_gains.photos[i].ev));
            worst = fmax(worst, fabs(gains.photos[i].ev - wanted_gains.photos[i].ev));
            for (int c = 0; c < 3; c++)
                worst = fmax(worst, fabs(log2(gains.photos[i].gain[c] / wanted_gains.photos[i].gain[c])));
        }
        for (int k = 0; k < 3; k++) worst = fmax(worst, fabs(gains.cameras[0][k] - wanted_gains.cameras[0][k]));
        print_message("gains up to %.3f stops, at most %.6f from the CPU's\n", most, worst);
        assert_true(most > 0.05 && worst < 0.01 * most);
        splat_exposures_file_free(&gains);
        splat_exposures_file_free(&wanted_gains);
    }
}

static void assert_same_exposures(const splat_trainer *whole, const splat_trainer *resumed)
{
    splat_exposures expected, found;
    splat_error error;
    must(splat_exposures_get(whole, &expected, &error), &error);
    must(splat_exposures_get(resumed, &found, &error), &error);
    for (size_t k = 0; k < expected.n_photos; k++) assert_true(expected.photos[k].ev == found.photos[k].ev);
    splat_exposures_file_free(&expected);
    splat_exposures_file_free(&found);
}

static void a_resumed_run_is_the_same_run(void **state)
{
    (void)state;
    NEEDS_DEVICE();
    static const int stops[] = {0, 7, 29, 50};
    place p = open_place(device, true);
    splat_train_options o = exposed_options();
    assert_resumes(&p, &o, 80, stops, sizeof stops / sizeof stops[0], assert_same_exposures);
    close_place(&p);
}

int main(int argc, char **argv)
{
    find_device(argc, argv, "exposure");
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(gains_are_those_of_the_cpu),
        cmocka_unit_test(a_resumed_run_is_the_same_run),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
