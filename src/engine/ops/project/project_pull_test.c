/* project_backward's gradients of opacity_pull sum o and scale_pull sum s, against central differences. */
#include "ops/project/project_test.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { N = 300, BROKEN = 11 };

static double opacity_sum(double logit)
{
    return 1 / (1 + exp(-logit));
}

static double difference(double (*f)(double), double x)
{
    return (f(x + 1e-4) - f(x - 1e-4)) / 2e-4;
}

/* The contribution of the pulls to a tensor. */
static int check_tensor(project_scene *scene, const backward_state *plain, const backward_state *pulled, int tensor,
                        double (*loss)(double), double weight)
{
    int failures = 0;
    size_t n = plain->floats[tensor], channels = n / N;
    float *without = project_host_copy(scene->backend, project_tensor_of(&plain->gradients, tensor), n);
    float *with = project_host_copy(scene->backend, project_tensor_of(&pulled->gradients, tensor), n);
    float *x = project_host_copy(scene->backend, project_tensor_of(&scene->gaussians.p, tensor), n);
    for (size_t i = 0; i < n; i++) {
        bool broken = !isfinite(x[i]);
        double expected = broken || !loss ? 0 : weight * difference(loss, (double)x[i]);
        double got = (double)with[i] - (double)without[i];
        /* central differences are right to 1e-8 of the loss; the sum with the view's gradient is rounded once */
        double tolerance = loss ? 1e-6 * fabs(expected) + 1e-10 * weight + 2e-7 * fabs((double)with[i]) : 0;
        TEST_CHECK(failures, fabs(got - expected) <= tolerance, "%s[%zu of %zu]: %.9g, not %.9g",
                   project_tensor_name(tensor), i, channels, got, expected);
    }
    free(without), free(with), free(x);
    return failures;
}

int check_project_pulls(splat_backend *backend)
{
    int failures = 0;
    test_gaussians t = test_gaussians_make(N, 1, 1, 71);
    splat_camera camera = test_camera_make(64, 48);
    splat_grad2d *grads = project_random_grads(N, 72);
    project_scene scene;
    backward_state plain, pulled;
    t.g.p.opacities[BROKEN] = NAN, t.g.p.scales[3 * BROKEN + 1] = INFINITY;
    project_scene_open(&scene, backend, &t.g, &camera, true, false);
    backward_state_open(&plain, backend, &t.g, SPLAT_OPTIMIZER_FLOAT32);
    backward_state_open(&pulled, backend, &t.g, SPLAT_OPTIMIZER_FLOAT32);
    failures += project_run_backward(&scene, grads, NULL, NULL, &plain.gradients);
    TEST_CHECK(failures, scene.n_visible < N - 20, "all are visible");
    scene.opacity_pull = 0.5f;
    scene.scale_pull = 0.25f;
    failures += project_run_backward(&scene, grads, NULL, NULL, &pulled.gradients);
    for (int tensor = 0; tensor < SPLAT_N_TENSORS; tensor++) {
        bool opacities = tensor == SPLAT_TENSOR_opacities, scales = tensor == SPLAT_TENSOR_scales;
        failures += check_tensor(&scene, &plain, &pulled, tensor, opacities ? opacity_sum : scales ? exp : NULL,
                                 opacities ? 0.5 : 0.25);
    }
    backward_state_close(&plain);
    backward_state_close(&pulled);
    project_scene_close(&scene);
    free(grads);
    test_gaussians_free(&t);
    return failures;
}
