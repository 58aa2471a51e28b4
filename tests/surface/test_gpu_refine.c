/* Refinement on a GPU, compared with the CPU. Without a GPU every test prints that it is skipped. `test_gpu_refine cpu`
 * runs the same tests with the CPU in the GPU's place, to try the tests. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include "gpu_fixture.h"
#include "refine_fixture.h"
#include "view_job_fixture.h"

#define MESH "world.ply"

static splat_trainer *start(const place *p, const splat_train_options *o)
{
    splat_error error;
    splat_refine_input input;
    make_world(MESH);
    splat_refine_input_init(&input);
    input.mesh_path = MESH;
    splat_trainer *t = make_trainer(p, o);
    must(splat_trainer_start_refine(t, &input, &error), &error);
    return t;
}

static double psnr_of(const place *p, splat_trainer *t)
{
    splat_error error;
    splat_metrics mean;
    must(evaluate_set(splat_trainer_get_model(t), p->scene, SPLAT_VIEWS_TEST, false, &mean, &error), &error);
    return mean.psnr;
}

#define N_LOSSES 10

/* The photo's losses, and the consistency of normals after these steps. A GPU tells a photo's loss a step later. */
static void first_losses(const char *backend, int per_face, double losses[N_LOSSES + 1])
{
    splat_error error;
    splat_loss list[SPLAT_MAX_LOSSES];
    size_t n;
    place p = open_place(backend, false);
    int late = splat_backend_result_latency(p.context->backend);
    splat_train_options o = short_options(80);
    o.refine.gaussians_per_triangle = per_face;
    splat_trainer *t = start(&p, &o);
    for (int i = 0; i < N_LOSSES + late; i++) {
        float loss = run_steps(t, 1).loss;
        if (i >= late) losses[i - late] = (double)loss;
        if (i + 1 != N_LOSSES) continue;
        must(splat_trainer_get_losses(t, list, &n, &error), &error);
        losses[N_LOSSES] = list[0].value;
    }
    splat_trainer_destroy(t);
    close_place(&p);
}

static void first_losses_are_those_of_the_cpu(void **state)
{
    (void)state;
    NEEDS_DEVICE();
    for (int per_face = 1; per_face <= 3; per_face += 2) {
        double wanted[N_LOSSES + 1], losses[N_LOSSES + 1];
        first_losses("cpu", per_face, wanted);
        first_losses(device, per_face, losses);
        for (int i = 0; i <= N_LOSSES; i++) {
            print_message("%d: %.7f, on the CPU %.7f\n", i, losses[i], wanted[i]);
            assert_true(wanted[i] > 1e-4 && fabs(losses[i] - wanted[i]) <= 1e-3 * wanted[i]); /* Adam turns rounding
                                                             of tiny gradients into whole steps; a wrong term shows */
        }
    }
}

/* Whole, in parts, and twice: one run, with --deterministic. */
static void deterministic_runs_and_their_parts_are_the_same(void **state)
{
    (void)state;
    NEEDS_DEVICE();
    splat_error error;
    splat_train_options o = short_options(20);
    place p = open_place(device, true);
    splat_trainer *whole = start(&p, &o), *other = start(&p, &o);
    run_steps(whole, 20);
    run_steps(other, 10);
    must(splat_trainer_save_checkpoint(other, "part.splatsmith", &error), &error);
    splat_trainer_destroy(other);
    other = make_trainer(&p, &o);
    must(splat_trainer_load_checkpoint(other, "part.splatsmith", &error), &error);
    run_steps(other, 10);
    assert_true(same_models(splat_trainer_get_model(whole), splat_trainer_get_model(other)));
    splat_trainer_destroy(whole);
    splat_trainer_destroy(other);
    close_place(&p);
}

/* A checkpoint of the device goes on on the CPU. */
static void the_cpu_goes_on(void **state)
{
    (void)state;
    NEEDS_DEVICE();
    splat_error error;
    splat_train_options o = short_options(40);
    place p = open_place(device, false), q = open_place("cpu", false);
    splat_trainer *t = start(&p, &o), *on_cpu = make_trainer(&q, &o);
    run_steps(t, 20);
    must(splat_trainer_save_checkpoint(t, "device.splatsmith", &error), &error);
    must(splat_trainer_load_checkpoint(on_cpu, "device.splatsmith", &error), &error);
    double before = psnr_of(&p, t), same = psnr_of(&q, on_cpu);
    run_steps(on_cpu, 20);
    double after = psnr_of(&q, on_cpu);
    print_message("%.3f dB on the device, %.3f on the CPU, then %.3f\n", before, same, after);
    assert_true(fabs(before - same) < 0.01 && after > before);
    splat_trainer_destroy(t);
    splat_trainer_destroy(on_cpu);
    close_place(&p);
    close_place(&q);
}

/* Under the limit that a plan says, no step is left out; and training makes something of it. */
static void it_stays_below_a_limit(void **state)
{
    (void)state;
    NEEDS_DEVICE();
    splat_error error;
    splat_plan plan;
    splat_memory_info held;
    place p = open_place(device, false);
    splat_train_options o = short_options(300);
    splat_plan_options wanted = world_plan_options(MESH);
    splat_plan_init(&plan);
    must(splat_plan_make(p.context, p.scene, &o, &wanted, NULL, &plan, &error), &error);
    wanted.limit_bytes = plan.total_bytes;
    must(splat_plan_make(p.context, p.scene, &o, &wanted, &o, &plan, &error), &error);
    must(splat_context_set_memory_limit(p.context, plan.total_bytes, &error), &error);
    splat_trainer *t = start(&p, &o);
    double before = psnr_of(&p, t);
    run_steps(t, 300);
    double after = psnr_of(&p, t);
    splat_context_get_memory(p.context, &held);
    print_message("planned %zu, held %zu and the driver's %zu; %.2f -> %.2f dB\n", plan.total_bytes, held.peak_bytes,
                  held.overhead_bytes, before, after);
    assert_int_equal(t->n_left_out, 0);
    assert_true(held.peak_bytes + held.overhead_bytes <= plan.total_bytes);
    assert_true(after > before + 3);
    splat_trainer_destroy(t);
    must(splat_context_set_memory_limit(p.context, 0, &error), &error);
    close_place(&p);
}

int main(int argc, char **argv)
{
    find_device(argc, argv, "refinement");
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(first_losses_are_those_of_the_cpu),
        cmocka_unit_test(deterministic_runs_and_their_parts_are_the_same),
        cmocka_unit_test(the_cpu_goes_on),
        cmocka_unit_test(it_stays_below_a_limit),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
