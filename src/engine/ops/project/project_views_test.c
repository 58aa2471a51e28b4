/* Tests of project_views: the frames of project, view by view; where steps of several views are put off, the same as if
 * none had been; and in small storages where their gradients wait in slots, the same as if these were added up. */
#include "ops/project/project_test.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { N = 500, VIEWS = 3, STEPS = 150, FEWER_VIEWS = 60, NO_UPDATE = 97, ALL_BANDS = 40 };

typedef struct several {
    project_scene scene; /* its Gaussians; its frame is not used */
    backward_state state;
    splat_frame frames[VIEWS];
    bool clears; /* gradients, by the step */
    splat_deferred_rest rest;
    splat_block blocks[4];
} several;

static void several_open(several *s, splat_backend *backend, const splat_gaussians *host,
                         splat_optimizer_storage storage, bool puts_off, bool clears)
{
    const splat_camera camera = test_camera_make(96, 64);
    memset(s, 0, sizeof *s);
    s->clears = clears;
    project_scene_open(&s->scene, backend, host, &camera, true, false);
    backward_state_open(&s->state, backend, host, storage);
    if (!puts_off) return;
    s->rest.n_slots = VIEWS;
    s->rest.at_once = host->sh_rest_half || storage == SPLAT_OPTIMIZER_QUANTIZED;
    s->rest.gradient = test_upload(backend, &s->blocks[0], NULL, (size_t)N * VIEWS * 4 * sizeof(float));
    s->rest.direction = test_upload(backend, &s->blocks[1], NULL, (size_t)N * VIEWS * 3 * sizeof(float));
    s->rest.steps = test_upload(backend, &s->blocks[2], NULL, SPLAT_MAX_DEFERRED * 2 * sizeof(float));
    s->rest.made = test_upload(backend, &s->blocks[3], NULL, (size_t)N * sizeof(uint32_t));
    s->scene.rest.deferred = &s->rest;
}

static void several_close(several *s)
{
    splat_backend *backend = s->scene.backend;
    for (int k = 0; k < VIEWS; k++) splat_frame_free(backend, &s->frames[k]);
    for (int k = 0; k < 4; k++) splat_block_free(backend, &s->blocks[k]);
    backward_state_close(&s->state);
    project_scene_close(&s->scene);
}

/* Views to all sides, others in every step. */
static splat_camera camera_of(int step, int view)
{
    splat_camera camera = test_camera_make(96, 64);
    const int k = (step * step / 3 + view) % 4;
    camera.cx += (float)(k % 2 ? 30 : -30);
    camera.cy += (float)(k / 2 ? 20 : -20);
    return camera;
}

static int begin(several *s, int step, uint32_t n_views, bool one_by_one)
{
    int failures = 0;
    splat_error error = {0};
    splat_backend *backend = s->scene.backend;
    splat_frame *frames[VIEWS];
    for (uint32_t k = 0; k < n_views; k++) {
        const splat_camera camera = camera_of(step, (int)k);
        frames[k] = &s->frames[k];
        TEST_CHECK(failures, splat_view_begin_projection(backend, frames[k], N, &camera, &error) == SPLAT_OK, "%s",
                   error.message);
        frames[k]->filter = s->scene.frame.filter;
        const struct splat_project_args one = {&s->scene.gaussians, frames[k], NULL};
        if (one_by_one) TEST_CHECK(failures, splat_op_project(backend, &one, &error) == SPLAT_OK, "%s", error.message);
    }
    const struct splat_project_views_args all = {&s->scene.gaussians, frames, n_views, &s->scene.rest};
    if (!one_by_one)
        TEST_CHECK(failures, splat_op_project_views(backend, &all, &error) == SPLAT_OK, "%s", error.message);
    return failures;
}

/* Random gradients of a view's Gaussians, whichever are visible. */
static int backward(several *s, int step, uint32_t view)
{
    int failures = 0;
    splat_error error = {0};
    splat_backend *backend = s->scene.backend;
    splat_frame *frame = &s->frames[view];
    splat_grad2d *all = project_random_grads(N, 900 + (uint64_t)(step * VIEWS) + view);
    const size_t n = frame->n_visible;
    uint32_t *ids = project_host_copy(backend, frame->ids, n);
    splat_grad2d *visible = calloc(n + 1, sizeof *visible);
    for (size_t v = 0; v < n; v++) visible[v] = all[ids[v]];
    TEST_CHECK(failures, splat_view_reserve_gradients(backend, frame, &error) == SPLAT_OK, "%s", error.message);
    splat_backend_upload(backend, frame->grad2d, visible, n * sizeof *visible, NULL);
    const struct splat_project_backward_args args = {.gaussians = &s->scene.gaussians,
                                                     .frame = frame,
                                                     .sink = {.add = &s->state.gradients,
                                                              .add_squares = &s->state.squares,
                                                              .rest = &s->scene.rest,
                                                              .slot = view}};
    TEST_CHECK(failures, splat_op_project_backward(backend, &args, &error) == SPLAT_OK, "%s", error.message);
    free(all), free(ids), free(visible);
    return failures;
}

static void clear_sums(several *s, int tensor)
{
    const size_t bytes = s->state.floats[tensor] * sizeof(float);
    splat_backend_zero(s->scene.backend, project_tensor_of(&s->state.gradients, tensor), bytes, NULL);
    splat_backend_zero(s->scene.backend, project_tensor_of(&s->state.squares, tensor), bytes, NULL);
}

static int make_step(several *s, int step)
{
    int failures = 0;
    splat_error error = {0};
    const uint32_t n_views = step == FEWER_VIEWS ? VIEWS - 1 : VIEWS;
    s->scene.gaussians.active_sh_degree = step < ALL_BANDS ? 1 : s->scene.gaussians.sh_degree;
    backward_set_step(&s->state.adam, step * VIEWS);
    s->state.adam.lr[SPLAT_TENSOR_sh_rest] = 0.002f / (float)step;
    s->state.adam.update[SPLAT_TENSOR_means] = false; /* the same are seen, whatever the last bits */
    s->state.adam.update[SPLAT_TENSOR_sh_rest] = step != NO_UPDATE;
    failures += begin(s, step, n_views, false);
    for (int t = 0; t < SPLAT_N_TENSORS && (!s->clears || step == 1 || step == NO_UPDATE + 1); t++)
        clear_sums(s, t);
    for (uint32_t k = 0; k < n_views; k++) failures += backward(s, step, k);
    const struct splat_batch_step_args args = {.gaussians = &s->scene.gaussians,
                                               .rest = &s->scene.rest,
                                               .adam = &s->state.adam,
                                               .gradients = &s->state.gradients,
                                               .squares = &s->state.squares,
                                               .n_views = n_views,
                                               .opacity_pull = 1e-3f,
                                               .scale_pull = 2e-3f,
                                               .clears = s->clears};
    TEST_CHECK(failures, splat_op_batch_step(s->scene.backend, &args, &error) == SPLAT_OK, "%s", error.message);
    return failures;
}

/* Rounding differs: sums over views are made in another order. */
static int check_near(const float *a, const float *b, size_t n, const char *what, int degree)
{
    int failures = 0;
    double worst = 0, largest = 0;
    for (size_t k = 0; k < n; k++) {
        worst = fmax(worst, isfinite(a[k]) ? fabs((double)a[k] - (double)b[k]) : INFINITY);
        largest = fmax(largest, fabs((double)b[k]));
    }
    TEST_CHECK(failures, largest > 0 && worst <= 5e-6 * largest, "%s of degree %d: off by %g of %g", what, degree,
               worst, largest);
    return failures;
}

static int compare_arrays(splat_backend *backend, const float *a, const float *b, size_t n, const char *what,
                          int degree)
{
    float *x = project_host_copy(backend, a, n), *y = project_host_copy(backend, b, n);
    const int failures = check_near(x, y, n, what, degree);
    free(x), free(y);
    return failures;
}

/* Colours of what a view sees; other entries are of the past. */
static int compare_colours(several *a, several *b, int degree)
{
    int failures = 0;
    splat_backend *backend = a->scene.backend;
    for (int view = 0; view < VIEWS; view++) {
        const size_t n = a->frames[view].n_visible;
        TEST_CHECK(failures, n == b->frames[view].n_visible, "%zu entries", n);
        float *x = project_host_copy(backend, a->frames[view].rgb, 3 * n);
        float *y = project_host_copy(backend, b->frames[view].rgb, 3 * n);
        float *depth = project_host_copy(backend, a->frames[view].depth, n);
        size_t n_seen = 0;
        for (size_t k = 0; k < n; k++) {
            const bool seen = depth[k] > 0;
            n_seen += seen;
            for (size_t c = 0; c < 3 && !seen; c++) x[3 * k + c] = y[3 * k + c] = 0;
        }
        TEST_CHECK(failures, n_seen > N / 8 && n_seen < N, "%zu seen", n_seen);
        failures += check_near(x, y, 3 * n, "colours", degree);
        free(x), free(y), free(depth);
    }
    return failures;
}

/* late: with steps put off, where the backend can and it is asked for. */
static int compare_with_dense(splat_backend *backend, int degree, bool puts_off, bool clears)
{
    int failures = 0;
    test_gaussians t = test_gaussians_make(N, degree, 1, 21);
    several dense, late;
    several_open(&dense, backend, &t.g, SPLAT_OPTIMIZER_FLOAT32, false, false);
    several_open(&late, backend, &t.g, SPLAT_OPTIMIZER_FLOAT32, puts_off && backend->defers_rest, clears);
    for (int step = 1; step <= STEPS; step++) failures += make_step(&dense, step) + make_step(&late, step);
    const int after = STEPS + 1;
    failures += begin(&dense, after, VIEWS, true) + begin(&late, after, VIEWS, false);
    failures += compare_colours(&late, &dense, degree);
    splat_error error = {0};
    const struct splat_settle_rest_args settle = {&late.scene.gaussians, &late.scene.rest};
    TEST_CHECK(failures, splat_op_settle_rest(backend, &settle, &error) == SPLAT_OK, "%s", error.message);
    const splat_tensors *const a[] = {&late.scene.gaussians.p, &late.state.moments.m, &late.state.moments.v};
    const splat_tensors *const b[] = {&dense.scene.gaussians.p, &dense.state.moments.m, &dense.state.moments.v};
    for (int k = 0; k < SPLAT_N_TENSORS; k++)
        for (int i = 0; i < (k == SPLAT_TENSOR_means ? 1 : 3); i++)
            failures += compare_arrays(backend, project_tensor_of(a[i], k), project_tensor_of(b[i], k),
                                       late.state.floats[k], project_tensor_name(k), degree);
    several_close(&dense);
    several_close(&late);
    test_gaussians_free(&t);
    return failures;
}

static float *rest_values(const several *s)
{
    const splat_gaussians *g = &s->scene.gaussians;
    const uint32_t channels = splat_sh_rest_floats(g->sh_degree), row = splat_half_row(channels);
    splat_backend *backend = s->scene.backend;
    if (!g->sh_rest_half) return project_host_copy(backend, g->p.sh_rest, (size_t)N * channels);
    uint16_t *halves = project_host_copy(backend, g->sh_rest_half, (size_t)N * row / 2);
    float *values = calloc((size_t)N * channels, sizeof *values);
    for (size_t k = 0; k < (size_t)N * channels; k++)
        values[k] = splat_half_decode(halves[k / channels * row + k % channels]);
    free(halves);
    return values;
}

/* Sums in another order round the other way now and then: by a step of 16 bits (2^-10 of a value) or of 8 (which moves
 * a later step by some percent). One in a hundred may, after a dozen steps; each then moves by its own rate at most. */
static int compare_small(splat_backend *backend, int degree, bool half, splat_optimizer_storage storage)
{
    int failures = 0;
    test_gaussians t = test_gaussians_make(N, degree, 1, 22);
    several dense, late;
    if (half) test_gaussians_to_half(&t.g);
    several_open(&dense, backend, &t.g, storage, false, false);
    several_open(&late, backend, &t.g, storage, backend->defers_rest, true);
    const int first = ALL_BANDS - 4, last = ALL_BANDS + 8;
    const size_t n = (size_t)N * splat_sh_rest_floats(degree);
    float *start = rest_values(&dense);
    for (int k = 0; k < SPLAT_N_TENSORS; k++) clear_sums(&late, k);
    for (int step = first; step <= last; step++) failures += make_step(&dense, step) + make_step(&late, step);
    float *a = rest_values(&late), *b = rest_values(&dense);
    size_t n_moved = 0, n_others = 0;
    double worst = 0;
    for (size_t k = 0; k < n; k++) {
        const double off = fabs((double)a[k] - (double)b[k]);
        n_moved += start[k] != b[k];
        n_others += !(off <= 1e-5 * fabs((double)b[k]) + 1e-9);
        worst = fmax(worst, isfinite(a[k]) ? off : INFINITY);
    }
    TEST_CHECK(failures, n_moved > n / 8, "%zu of %zu values moved", n_moved, n);
    TEST_CHECK(failures, n_others <= n / 100 && worst <= 0.01,
               "degree %d, half %d, optimizer %d: %zu of %zu differ, by %g", degree, half, storage, n_others, n, worst);
    free(start), free(a), free(b);
    several_close(&dense);
    several_close(&late);
    test_gaussians_free(&t);
    return failures;
}

int test_op_project_views(splat_backend *backend)
{
    int failures = 0;
    for (int degree = 1; degree <= 3; degree++) {
        TEST_CASE(failures, compare_small(backend, degree, true, SPLAT_OPTIMIZER_FLOAT32));
        TEST_CASE(failures, compare_small(backend, degree, false, SPLAT_OPTIMIZER_QUANTIZED));
        TEST_CASE(failures, compare_small(backend, degree, true, SPLAT_OPTIMIZER_QUANTIZED));
    }
    for (int degree = 1; degree <= 3; degree++)
        for (int k = 1; k < 4; k++) TEST_CASE(failures, compare_with_dense(backend, degree, k & 1, k & 2));
    return failures;
}
