/* Tests of batch_step, and of project_backward adding views to its gradients. */
#include "ops/project/project_test.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { N = 333, SH_DEGREE = 2 };

static test_gaussians many(void)
{
    return test_gaussians_make(N, SH_DEGREE, SH_DEGREE, 81);
}

/* Gradients of a view whose camera is moved a little to each side. squares: adds; NULL: overwrites. */
static int view_gradients(splat_backend *backend, const splat_gaussians *host, int side, const splat_grad2d *grads,
                          const splat_tensors *gradients, const splat_tensors *squares, uint32_t *n_visible)
{
    splat_camera camera = test_camera_make(64, 48);
    project_scene scene;
    camera.translation[0] += 0.5f * (float)side;
    project_scene_open(&scene, backend, host, &camera, true, false);
    scene.squares = squares;
    int failures = project_run_backward(&scene, grads, NULL, NULL, gradients);
    *n_visible = scene.n_visible;
    project_scene_close(&scene);
    return failures;
}

/* The sums over two views are those of each view alone, added, and those of the squares; rows that a view does not see
 * keep what they had. */
static int check_sums(splat_backend *backend)
{
    int failures = 0;
    uint32_t n_visible;
    test_gaussians t = many();
    splat_grad2d *grads = project_random_grads(N, 82);
    backward_state alone[2], sums;
    backward_state_open(&sums, backend, &t.g, SPLAT_OPTIMIZER_FLOAT32);
    for (int view = 0; view < 2; view++) {
        backward_state_open(&alone[view], backend, &t.g, SPLAT_OPTIMIZER_FLOAT32);
        failures += view_gradients(backend, &t.g, 2 * view - 1, grads, &alone[view].gradients, NULL, &n_visible);
        TEST_CHECK(failures, n_visible > N / 4 && n_visible < N - 20, "%u of %d are visible", n_visible, N);
        failures += view_gradients(backend, &t.g, 2 * view - 1, grads, &sums.gradients, &sums.squares,
                                   &n_visible);
    }
    for (int k = 0; k < SPLAT_N_TENSORS; k++) {
        float *a = project_host_copy(backend, project_tensor_of(&alone[0].gradients, k), sums.floats[k]);
        float *b = project_host_copy(backend, project_tensor_of(&alone[1].gradients, k), sums.floats[k]);
        float *sum = project_host_copy(backend, project_tensor_of(&sums.gradients, k), sums.floats[k]);
        float *square = project_host_copy(backend, project_tensor_of(&sums.squares, k), sums.floats[k]);
        for (size_t i = 0; i < sums.floats[k]; i++) {
            const double want = (double)a[i] * (double)a[i] + (double)b[i] * (double)b[i];
            TEST_CHECK(failures, sum[i] == a[i] + b[i], "%s[%zu]: %g, not %g + %g", project_tensor_name(k), i,
                       (double)sum[i], (double)a[i], (double)b[i]);
            TEST_CHECK(failures, fabs((double)square[i] - want) <= 2e-7 * want, "squares of %s[%zu]: %g, not %g",
                       project_tensor_name(k), i, (double)square[i], want);
        }
        free(a), free(b), free(sum), free(square);
    }
    for (int view = 0; view < 2; view++) backward_state_close(&alone[view]);
    backward_state_close(&sums);
    free(grads);
    test_gaussians_free(&t);
    return failures;
}

/* The pull of a value on itself. */
static double pull_of(int tensor, double parameter, const struct splat_batch_step_args *a)
{
    const double o = 1 / (1 + exp(-parameter));
    if (tensor == SPLAT_TENSOR_opacities) return (double)a->opacity_pull * o * (1 - o);
    return tensor == SPLAT_TENSOR_scales ? (double)a->scale_pull * exp(parameter) : 0;
}

/* Tolerances as those of project_backward's Adam: a step is a few lr at most, correct to 2e-5 of it. */
static int compare_tensor(const project_scene *scene, const backward_state *state,
                          const struct splat_batch_step_args *a, int tensor, int step, const float *before[3])
{
    int failures = 0;
    splat_backend *b = scene->backend;
    const size_t n = state->floats[tensor];
    const splat_adam *adam = a->adam;
    float *sum = project_host_copy(b, project_tensor_of(&state->gradients, tensor), n);
    float *sum_of_squares = project_host_copy(b, project_tensor_of(&state->squares, tensor), n);
    float *p = project_host_copy(b, project_tensor_of(&scene->gaussians.p, tensor), n);
    float *m = project_host_copy(b, project_tensor_of(&state->moments.m, tensor), n);
    float *v = project_host_copy(b, project_tensor_of(&state->moments.v, tensor), n);
    for (size_t i = 0; i < n; i++) {
        double want = (double)before[0][i], want_m = (double)before[1][i], want_v = (double)before[2][i];
        const double pull = pull_of(tensor, want, a), mean = (double)sum[i] / a->n_views;
        const double g = mean + pull, square = (double)sum_of_squares[i] / a->n_views + pull * (2 * mean + pull);
        if (adam->update[tensor])
            ref_adam_f64(&want, &want_m, &want_v, &g, &square, 1, (double)adam->lr[tensor], step, (int)a->n_views);
        double room = 2e-5 * (double)adam->lr[tensor] + 1.2e-7 * fabs(want);
        TEST_CHECK(failures, fabs((double)p[i] - want) <= room, "%s[%zu] after step %d: %.9g, not %.9g",
                   project_tensor_name(tensor), i, step, (double)p[i], want);
        TEST_CHECK(failures, fabs((double)m[i] - want_m) <= 1e-5 * fabs(want_m) + 1e-9, "m of %s[%zu]: %g, not %g",
                   project_tensor_name(tensor), i, (double)m[i], want_m);
        TEST_CHECK(failures, fabs((double)v[i] - want_v) <= 1e-4 * fabs(want_v) + 1e-12, "v of %s[%zu]: %g, not %g",
                   project_tensor_name(tensor), i, (double)v[i], want_v);
    }
    free(sum), free(sum_of_squares), free(p), free(m), free(v);
    return failures;
}

/* Three steps of n_views, one or two of which see something, against the reference, one tensor staying away. */
static int check_steps(splat_backend *backend, uint32_t n_views, float opacity_pull, float scale_pull)
{
    int failures = 0;
    uint32_t n_visible;
    splat_error error = {0};
    test_gaussians t = many();
    splat_grad2d *grads = project_random_grads(N, 83);
    splat_camera camera = test_camera_make(64, 48);
    project_scene scene;
    backward_state state;
    project_scene_open(&scene, backend, &t.g, &camera, true, false);
    backward_state_open(&state, backend, &t.g, SPLAT_OPTIMIZER_FLOAT32);
    for (int view = 0; view < (n_views > 1 ? 2 : 1); view++)
        failures += view_gradients(backend, &t.g, view, grads, &state.gradients, &state.squares, &n_visible);
    for (int step = 1; step <= 3; step++) {
        float *before[SPLAT_N_TENSORS][3];
        struct splat_batch_step_args args = {.gaussians = &scene.gaussians,
                                             .adam = &state.adam,
                                             .gradients = &state.gradients,
                                             .squares = &state.squares,
                                             .n_views = n_views,
                                             .opacity_pull = opacity_pull,
                                             .scale_pull = scale_pull};
        backward_set_step(&state.adam, step * (int)n_views);
        state.adam.update[SPLAT_TENSOR_rotations] = step != 2;
        for (int k = 0; k < SPLAT_N_TENSORS; k++) {
            before[k][0] = project_host_copy(backend, project_tensor_of(&scene.gaussians.p, k), state.floats[k]);
            before[k][1] = project_host_copy(backend, project_tensor_of(&state.moments.m, k), state.floats[k]);
            before[k][2] = project_host_copy(backend, project_tensor_of(&state.moments.v, k), state.floats[k]);
        }
        TEST_CHECK(failures, splat_op_batch_step(backend, &args, &error) == SPLAT_OK, "batch_step: %s", error.message);
        splat_backend_synchronize(backend, NULL);
        for (int k = 0; k < SPLAT_N_TENSORS; k++) {
            failures += compare_tensor(&scene, &state, &args, k, step, (const float **)before[k]);
            for (int i = 0; i < 3; i++) free(before[k][i]);
        }
    }
    backward_state_close(&state);
    project_scene_close(&scene);
    free(grads);
    test_gaussians_free(&t);
    return failures;
}

/* A batch of one view is the step that project_backward makes with the same gradients; on the CPU bit for bit, in every
 * storage. */
static int check_single(splat_backend *backend, splat_optimizer_storage storage, bool half)
{
    int failures = 0;
    uint32_t n_visible;
    splat_error error = {0};
    test_gaussians t = many();
    splat_grad2d *grads = project_random_grads(N, 84);
    splat_camera camera = test_camera_make(64, 48);
    project_scene fused, apart;
    backward_state state, other, gradients;
    backward_state_open(&gradients, backend, &t.g, SPLAT_OPTIMIZER_FLOAT32);
    if (half) test_gaussians_to_half(&t.g);
    failures += view_gradients(backend, &t.g, 0, grads, &gradients.gradients, &gradients.squares, &n_visible);
    project_scene_open(&fused, backend, &t.g, &camera, true, false);
    project_scene_open(&apart, backend, &t.g, &camera, true, false);
    backward_state_open(&state, backend, &t.g, storage);
    backward_state_open(&other, backend, &t.g, storage);
    backward_set_step(&state.adam, 1);
    backward_set_step(&other.adam, 1);
    failures += project_run_backward(&fused, grads, &state.adam, NULL, NULL);
    struct splat_batch_step_args args = {
        .gaussians = &apart.gaussians, .adam = &other.adam, .gradients = &gradients.gradients,
        .squares = &gradients.squares, .n_views = 1};
    TEST_CHECK(failures, splat_op_batch_step(backend, &args, &error) == SPLAT_OK, "batch_step: %s", error.message);
    splat_backend_synchronize(backend, NULL);
    for (int k = 0; k < SPLAT_N_TENSORS; k++) {
        const bool is_half = half && k == SPLAT_TENSOR_sh_rest;
        const size_t half_words = (size_t)N * splat_half_row(splat_tensor_channels(k, SH_DEGREE)) / 2;
        const size_t n = is_half ? half_words : state.floats[k];
        const void *one = is_half ? (void *)fused.gaussians.sh_rest_half : project_tensor_of(&fused.gaussians.p, k);
        const void *two = is_half ? (void *)apart.gaussians.sh_rest_half : project_tensor_of(&apart.gaussians.p, k);
        float *a = project_host_copy(backend, one, n), *b = project_host_copy(backend, two, n);
        TEST_CHECK(failures, memcmp(a, b, n * sizeof *a) == 0, "%s is another one", project_tensor_name(k));
        free(a), free(b);
    }
    backward_state_close(&state);
    backward_state_close(&other);
    backward_state_close(&gradients);
    project_scene_close(&fused);
    project_scene_close(&apart);
    free(grads);
    test_gaussians_free(&t);
    return failures;
}

int test_op_batch_step(splat_backend *backend)
{
    const bool is_cpu = strcmp(splat_backend_name(backend), "cpu") == 0;
    int failures = check_sums(backend);
    failures += check_steps(backend, 1, 0, 0);
    failures += check_steps(backend, 4, 0, 0);
    failures += check_steps(backend, 7, 0.02f, 0.01f);
    failures += check_batch_storage(backend);
    if (!is_cpu) return failures;
    failures += check_single(backend, SPLAT_OPTIMIZER_FLOAT32, false);
    failures += check_single(backend, SPLAT_OPTIMIZER_QUANTIZED, false);
    failures += check_single(backend, SPLAT_OPTIMIZER_QUANTIZED, true);
    return failures;
}
