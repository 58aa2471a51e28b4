/* Tests of project_backward: gradients, statistics and Adam against the reference. */
#include "ops/project/project_test.h"

#include "base/rng.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

float project_normal(uint64_t seed, uint64_t index)
{
    splat_random4 r = splat_random(seed, SPLAT_STREAM_TEST, 50, index / 2);
    float n[2];
    splat_normal2(r.x[0], r.x[1], &n[0], &n[1]);
    return n[index % 2];
}

splat_grad2d *project_random_grads(uint32_t n, uint64_t seed)
{
    splat_grad2d *grads = calloc((size_t)n + 1, sizeof *grads);
    for (uint32_t i = 0; i < n; i++) {
        float w[10];
        for (uint32_t k = 0; k < 10; k++) w[k] = project_normal(seed, 10 * (uint64_t)i + k);
        grads[i] = (splat_grad2d){.mean_x = w[0], .mean_y = w[1], .conic_a = w[3], .conic_b = w[4], .conic_c = w[5],
                                  .opacity = w[6], .channel = {w[7], w[8], w[9], fabsf(w[2])}};
    }
    return grads;
}

float *project_tensor_of(const splat_tensors *tensors, int tensor)
{
    float *const all[SPLAT_N_TENSORS] = {
#define SPLAT_TENSOR(name, ...) tensors->name,
#include "math/gaussians.def"
#undef SPLAT_TENSOR
    };
    return all[tensor];
}

const char *project_tensor_name(int tensor)
{
    static const char *const names[SPLAT_N_TENSORS] = {
#define SPLAT_TENSOR(name, ...) #name,
#include "math/gaussians.def"
#undef SPLAT_TENSOR
    };
    return names[tensor];
}

void backward_state_open(backward_state *state, splat_backend *backend, const splat_gaussians *g,
                         splat_optimizer_storage storage)
{
    memset(state, 0, sizeof *state);
    state->backend = backend;
    state->moments.storage = storage;
    state->adam.moments = &state->moments;
    splat_block *block = state->blocks;
    splat_tensors *sets[4] = {&state->gradients, &state->squares, &state->moments.m, &state->moments.v};
    for (int t = 0; t < SPLAT_N_TENSORS; t++) {
        state->floats[t] = (size_t)g->n * splat_tensor_channels(t, g->sh_degree);
        state->moment_words[t] = (size_t)g->n * splat_quantized_moment_words(t, g->sh_degree);
    }
    for (int k = 0; k < (storage == SPLAT_OPTIMIZER_QUANTIZED ? 2 : 4); k++) {
#define SPLAT_TENSOR(name, ...)                                                                                        \
    block->placement = k < 2 ? SPLAT_ON_DEVICE  : project_placement_of(g, SPLAT_TENSOR_##name);                        \
    sets[k]->name = test_upload(backend, block++, NULL, state->floats[SPLAT_TENSOR_##name] * sizeof(float));
#include "math/gaussians.def"
#undef SPLAT_TENSOR
    }
    for (int t = 0; storage == SPLAT_OPTIMIZER_QUANTIZED && t < SPLAT_N_TENSORS; t++) {
        block->placement = project_placement_of(g, t);
        state->moments.quantized[t] = test_upload(backend, block++, NULL, state->moment_words[t] * sizeof(uint32_t));
    }
    state->statistics.grad = test_upload(backend, block++, NULL, g->n * sizeof(float));
    state->statistics.grad_abs = test_upload(backend, block++, NULL, g->n * sizeof(float));
    state->statistics.count = test_upload(backend, block++, NULL, g->n * sizeof(float));
}

void backward_state_close(backward_state *state)
{
    for (size_t i = 0; i < sizeof state->blocks / sizeof state->blocks[0]; i++)
        splat_block_free(state->backend, &state->blocks[i]);
}

void backward_set_step(splat_adam *adam, int step)
{
    adam->iteration = (uint32_t)step;
    for (int t = 0; t < SPLAT_N_TENSORS; t++) {
        adam->lr[t] = 0.002f * (float)(t + 1);
        adam->correction1[t] = (float)(1.0 - pow(0.9, step));
        adam->correction2[t] = (float)(1.0 - pow(0.999, step));
        adam->update[t] = true;
    }
}

void *project_host_copy(splat_backend *backend, const void *device, size_t n)
{
    void *host = calloc(n + 1, 4);
    test_download(backend, host, device, n * 4);
    return host;
}

/* A loss that is not finite: the view's later ops change nothing. */
static void lose(project_scene *scene, int *failures)
{
    const splat_camera *camera = &scene->frame.camera;
    const size_t n = 3 * (size_t)camera->width * (size_t)camera->height;
    float *nan = malloc(n * sizeof *nan);
    splat_block blocks[2] = {{0}};
    splat_error error = {0};
    for (size_t i = 0; i < n; i++) nan[i] = NAN;
    struct splat_loss_args args = {.width = camera->width,
                                   .height = camera->height,
                                   .image = test_upload(scene->backend, &blocks[0], nan, n * sizeof *nan),
                                   .photo_f32 = test_upload(scene->backend, &blocks[1], NULL, n * sizeof *nan),
                                   .frame = &scene->frame};
    TEST_CHECK(*failures, splat_op_loss(scene->backend, &args, &error) == SPLAT_OK, "loss: %s", error.message);
    splat_backend_synchronize(scene->backend, NULL);
    for (int k = 0; k < 2; k++) splat_block_free(scene->backend, &blocks[k]);
    free(nan);
}

int project_run_backward(project_scene *scene, const splat_grad2d *grads, const splat_adam *adam,
                         const splat_statistics *statistics, const splat_tensors *gradients)
{
    int failures = project_scene_run(scene);
    size_t n = scene->frame.n_visible;
    if (scene->not_finite && splat_backend_result_latency(scene->backend) == 0) return failures; /* seen at once */
    if (scene->not_finite) lose(scene, &failures);
    splat_grad2d *visible = calloc(n + 1, sizeof *visible);
    for (size_t v = 0; v < n; v++) visible[v] = grads[scene->ids[v]];
    splat_error error = {0};
    splat_status status = splat_view_reserve_gradients(scene->backend, &scene->frame, &error);
    TEST_CHECK(failures, status == SPLAT_OK, "gradients: %s", error.message);
    splat_backend_upload(scene->backend, scene->frame.grad2d, visible, n * sizeof *visible, NULL);
    free(visible);
    const struct splat_project_backward_args args = {.gaussians = &scene->gaussians,
                                                     .frame = &scene->frame,
                                                     .source = {.extra = scene->extra_gradients,
                                                                .opacity_pull = scene->opacity_pull,
                                                                .scale_pull = scene->scale_pull},
                                                     .sink = {.step = adam,
                                                              .write = scene->squares ? NULL : gradients,
                                                              .write_seen = scene->write_seen,
                                                              .add = scene->squares ? gradients : NULL,
                                                              .add_squares = scene->squares,
                                                              .rest = &scene->rest,
                                                              .statistics = statistics,
                                                              .statistics_mask = scene->statistics_mask}};
    status = splat_op_project_backward(scene->backend, &args, &error);
    TEST_CHECK(failures, status == SPLAT_OK, "project_backward: %s", error.message);
    splat_backend_synchronize(scene->backend, NULL);
    return failures;
}

/* ------------------------------------------------------------------ the reference against central differences */

typedef struct difference_case {
    ref_gaussians_f64 g;
    ref_camera_f64 camera;
    bool compensate;
    const ref_grad2d_f64 *weights;
    ref_splat2d_f64 *splats; /* room for n */
} difference_case;

/* The share of Gaussian i. */
static double functional(const difference_case *c, uint32_t i)
{
    const ref_splat2d_f64 *s = &c->splats[i];
    const ref_grad2d_f64 *w = &c->weights[i];
    ref_project_f64(&c->g, &c->camera, project_test_kernel(c->compensate), c->compensate, c->splats);
    if (!s->visible) return 0;
    return w->mean_x * s->u + w->mean_y * s->v + w->conic_a * s->a + w->conic_b * s->b + w->conic_c * s->c +
           w->opacity * s->alpha0 + w->rgb[0] * s->rgb[0] + w->rgb[1] * s->rgb[1] + w->rgb[2] * s->rgb[2];
}

/* Each entry of a tensor. With steps of 1e-5 the error of a difference is about 1e-11 third derivatives, plus the
 * rounding of a value near 100 (1e-14) over 2e-5, 1e-9: below 1e-6 of the Gaussian's largest gradient, which counts as
 * at least 1e-2. */
static int check_tensor(difference_case *c, double *parameters, const double *gradients, uint32_t channels,
                        const char *name)
{
    int failures = 0;
    for (uint32_t i = 0; i < c->g.n; i++) {
        double largest = 1e-2;
        for (uint32_t k = 0; k < channels; k++) largest = fmax(largest, fabs(gradients[(size_t)channels * i + k]));
        for (uint32_t k = 0; k < channels; k++) {
            size_t place = (size_t)channels * i + k;
            double kept = parameters[place], step = 1e-5;
            parameters[place] = kept + step;
            double above = functional(c, i);
            parameters[place] = kept - step;
            double below = functional(c, i);
            parameters[place] = kept;
            double difference = (above - below) / (2 * step);
            TEST_CHECK(failures, fabs(difference - gradients[place]) <= 1e-6 * largest,
                       "%s of Gaussian %u, channel %u: gradient %.9g, difference %.9g", name, i, k, gradients[place],
                       difference);
        }
    }
    return failures;
}

/* Sizes, places and colours that reach every branch: the clamp of the Jacobian on either axis, a clamped colour, no 3D
 * filter, and (with compensation) footprints too thin to be compensated. */
static test_gaussians varied_gaussians(const splat_camera *camera)
{
    test_gaussians t = test_gaussians_make(24, 3, 3, 77);
    for (uint32_t i = 0; i < t.g.n; i++) {
        /* Camera space, so that each case is where it should be. */
        float p[3] = {0.4f * project_normal(78, 3 * i), 0.3f * project_normal(78, 3 * i + 1),
                      3.0f + 0.5f * project_normal(78, 3 * i + 2)};
        float size = -2.0f;
        if (i % 6 == 1) p[0] = i % 4 == 1 ? 2.7f : -2.7f, size = -0.2f;
        if (i % 6 == 2) p[1] = i % 4 == 2 ? 2.2f : -2.2f, size = -0.2f;
        for (int k = 0; k < 3; k++) {
            t.g.p.means[3 * i + k] = 0;
            for (int a = 0; a < 3; a++)
                t.g.p.means[3 * i + k] += camera->rotation[3 * a + k] * (p[a] - camera->translation[a]);
            t.g.p.scales[3 * i + k] = size + 0.5f * project_normal(79, 3 * i + k);
        }
        t.g.p.opacities[i] = 0.5f * project_normal(79, 100 + i);
        if (i % 6 == 3) t.g.filter_3d[i] = 0;
        if (i % 6 == 4) {
            t.g.filter_3d[i] = 1e-5f;
            for (int k = 0; k < 3; k++) t.g.p.scales[3 * i + k] = -8.0f;
        }
        if (i % 6 == 5) t.g.filter_3d[i] = 0.1f;
        if (i % 3 == 0) t.g.p.sh_dc[3 * i + i % 2] = -4.0f;
    }
    return t;
}

static int test_differences(void)
{
    int failures = 0;
    splat_camera camera = test_camera_make(64, 48);
    test_gaussians t = varied_gaussians(&camera);
    splat_grad2d *grads = project_random_grads(t.g.n, 4);
    ref_grad2d_f64 *weights = calloc(t.g.n, sizeof *weights);
    for (uint32_t i = 0; i < t.g.n; i++)
        weights[i] = (ref_grad2d_f64){grads[i].mean_x, grads[i].mean_y, grads[i].conic_a, grads[i].conic_b,
                                      grads[i].conic_c, grads[i].opacity,
                                      {grads[i].rgb[0], grads[i].rgb[1], grads[i].rgb[2]}, 0};
    for (int active = 0; active <= 3; active++)
        for (int compensate = 0; compensate < 2; compensate++) {
            difference_case c = {.g = ref_gaussians_from_f64(&t.g), .camera = ref_camera_from_f64(&camera),
                                 .compensate = compensate, .weights = weights,
                                 .splats = calloc(t.g.n, sizeof *c.splats)};
            c.g.active_sh_degree = active;
            ref_tensors_f64 gradients = ref_tensors_make_f64(t.g.n, t.g.sh_degree);
            ref_project_backward_f64(&c.g, &c.camera, project_test_kernel(compensate), compensate, weights, &gradients);
#define SPLAT_TENSOR(name, ...)                                                                                        \
    failures += check_tensor(&c, c.g.p.name, gradients.name, splat_tensor_channels(SPLAT_TENSOR_##name, 3), #name);
#include "math/gaussians.def"
#undef SPLAT_TENSOR
            /* The cases above are really there. */
            int n_x = 0, n_y = 0, n_colour = 0, n_thin = 0, n_seen = 0;
            functional(&c, 0);
            for (uint32_t i = 0; i < t.g.n; i++) {
                const ref_splat2d_f64 *s = &c.splats[i];
                if (!s->visible) continue;
                n_seen++;
                n_x += fabs(s->u - camera.cx + 0.5) > 1.3 * 0.5 * camera.width;
                n_y += fabs(s->v - camera.cy + 0.5) > 1.3 * 0.5 * camera.height;
                n_colour += s->clamped[0] || s->clamped[1] || s->clamped[2];
                n_thin += s->alpha0 == 0;
            }
            TEST_CHECK(failures, n_x > 0 && n_y > 0 && n_colour > 2 && (n_thin > 0) == compensate && n_seen > 18,
                       "%d and %d clamped, %d dark, %d thin of %d", n_x, n_y, n_colour, n_thin, n_seen);
            ref_tensors_free_f64(&gradients);
            ref_gaussians_free_f64(&c.g);
            free(c.splats);
        }
    free(weights);
    free(grads);
    test_gaussians_free(&t);
    return failures;
}

/* ------------------------------------------------------------------ the backend against the reference */

/* Gradients against the float reference. Tolerance 1e-6 (relative error 1e-3 of the root mean square): gradients
 * through the conic of a thin Gaussian multiply the rounding of its determinant, which the reference takes as a
 * difference. */
static int check_gradients(const project_scene *scene, const backward_state *state, const splat_gaussians *host,
                           bool compensate, const splat_grad2d *grads)
{
    int failures = 0;
    ref_gaussians_f32 g = ref_gaussians_from_f32(host);
    ref_camera_f32 camera = ref_camera_from_f32(&scene->frame.camera);
    ref_tensors_f32 want = ref_tensors_make_f32(host->n, host->sh_degree);
    ref_grad2d_f32 *ref_grads = calloc((size_t)host->n + 1, sizeof *ref_grads);
    for (uint32_t i = 0; i < host->n; i++)
        if (scene->entry_of[i] >= 0)
            memcpy(&ref_grads[i], &grads[i], sizeof grads[i]); /* the same floats in the same order */
    ref_project_backward_f32(&g, &camera, project_test_kernel(compensate), compensate, ref_grads, &want);
    float *const references[SPLAT_N_TENSORS] = {
#define SPLAT_TENSOR(name, ...) want.name,
#include "math/gaussians.def"
#undef SPLAT_TENSOR
    };
    for (int t = 0; t < SPLAT_N_TENSORS; t++) {
        float *got = project_host_copy(state->backend, project_tensor_of(&state->gradients, t), state->floats[t]);
        double nmse = test_nmse(got, references[t], state->floats[t]);
        TEST_CHECK(failures, nmse <= 1e-6, "gradient of %s: NMSE %g", project_tensor_name(t), nmse);
        free(got);
    }
    free(ref_grads);
    ref_tensors_free_f32(&want);
    ref_gaussians_free_f32(&g);
    return failures;
}

/* Two views of the same Gaussians: sums, not values. Relative 2e-6: a square root, a square and two additions in
 * float. */
static int check_statistics(const project_scene *scene, const backward_state *state, const splat_grad2d *grads,
                            const uint8_t *mask, int n_views)
{
    int failures = 0;
    const int width = scene->frame.camera.width, height = scene->frame.camera.height;
    const uint32_t n = scene->gaussians.n;
    float *grad = project_host_copy(state->backend, state->statistics.grad, n);
    float *grad_abs = project_host_copy(state->backend, state->statistics.grad_abs, n);
    float *count = project_host_copy(state->backend, state->statistics.count, n);
    for (uint32_t i = 0; i < n; i++) {
        double seen = scene->entry_of[i] >= 0 ? n_views : 0;
        if (mask && scene->entry_of[i] >= 0) {
            const float *mean = scene->mean2d + 2 * scene->entry_of[i];
            long x = lroundf(fminf(fmaxf(mean[0], 0), (float)(width - 1)));
            long y = lroundf(fminf(fmaxf(mean[1], 0), (float)(height - 1)));
            if (mask[y * width + x] < SPLAT_LOSS_KEPT) seen = 0;
        }
        double size = seen * hypot(0.5 * scene->frame.camera.width * grads[i].mean_x,
                                   0.5 * scene->frame.camera.height * grads[i].mean_y);
        double size_abs = seen * grads[i].mean_abs;
        TEST_CHECK(failures, count[i] == seen && fabs(grad[i] - size) <= 2e-6 * size &&
                                 fabs(grad_abs[i] - size_abs) <= 2e-6 * size_abs,
                   "statistics of Gaussian %u: %g %g %g", i, count[i], grad[i], grad_abs[i]);
    }
    free(grad);
    free(grad_abs);
    free(count);
    return failures;
}

/* Gradients of one kind alone: a small share of a sum would hide in the others' size. */
enum { ALL_PARTS, MEAN_PART, CONIC_PART, OPACITY_PART, COLOUR_PART };

static void keep_part(splat_grad2d *grads, uint32_t n, int part)
{
    for (uint32_t i = 0; i < n && part != ALL_PARTS; i++) {
        splat_grad2d *g = &grads[i];
        if (part != MEAN_PART) g->mean_x = g->mean_y = 0;
        if (part != CONIC_PART) g->conic_a = g->conic_b = g->conic_c = 0;
        if (part != OPACITY_PART) g->opacity = 0;
        if (part != COLOUR_PART) g->rgb[0] = g->rgb[1] = g->rgb[2] = 0;
    }
}

static int test_gradients(splat_backend *backend)
{
    static const struct {
        uint32_t n;
        int sh_degree, active, width, height;
        bool compensate;
        int part;
    } cases[] = {
        {0, 3, 3, 64, 48, true, ALL_PARTS},       {1, 0, 0, 40, 40, true, ALL_PARTS},
        {15, 1, 1, 37, 21, true, ALL_PARTS},      {16, 1, 0, 64, 64, false, ALL_PARTS},
        {17, 2, 2, 50, 33, true, ALL_PARTS},      {1000, 3, 3, 130, 70, true, ALL_PARTS},
        {1000, 3, 1, 96, 100, false, ALL_PARTS},  {65, 2, 0, 61, 47, true, ALL_PARTS},
        {150, 1, 1, 80, 60, true, MEAN_PART},     {150, 1, 1, 80, 60, true, CONIC_PART},
        {150, 1, 1, 80, 60, true, OPACITY_PART},  {150, 1, 1, 80, 60, false, OPACITY_PART},
        {150, 3, 3, 80, 60, true, COLOUR_PART},   {150, 3, 2, 80, 60, false, COLOUR_PART},
    };
    int failures = 0;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        if (!test_is_in_part()) continue;
        int before = failures;
        test_gaussians t = test_gaussians_make(cases[i].n, cases[i].sh_degree, cases[i].active, 300 + i);
        splat_camera camera = test_camera_make(cases[i].width, cases[i].height);
        splat_grad2d *grads = project_random_grads(t.g.n, 20 + i);
        keep_part(grads, t.g.n, cases[i].part);
        project_scene scene;
        backward_state state;
        project_scene_open(&scene, backend, &t.g, &camera, cases[i].compensate, false);
        backward_state_open(&state, backend, &t.g, SPLAT_OPTIMIZER_FLOAT32);
        size_t n_pixels = (size_t)camera.width * (size_t)camera.height;
        uint8_t *mask = i % 2 ? malloc(n_pixels) : NULL;
        splat_block mask_block = {0};
        for (size_t k = 0; mask && k < n_pixels; k++) /* all bytes, kept or not in squares of 4 */
            mask[k] = (uint8_t)((k / 4 + k / (4 * (size_t)camera.width)) % 2 ? 128 + k % 128 : k % 128);
        if (mask) scene.statistics_mask = test_upload(backend, &mask_block, mask, n_pixels);
        for (int view = 0; view < 2; view++) /* the second overwrites gradients and adds to statistics */
            failures += project_run_backward(&scene, grads, NULL, &state.statistics, &state.gradients);
        failures += check_gradients(&scene, &state, &t.g, cases[i].compensate, grads);
        failures += check_statistics(&scene, &state, grads, mask, 2);
        splat_block_free(backend, &mask_block);
        free(mask);
        for (int k = 0; k < SPLAT_N_TENSORS; k++) { /* no Adam: parameters stay */
            float *now = project_host_copy(backend, project_tensor_of(&scene.gaussians.p, k), state.floats[k]);
            TEST_CHECK(failures, memcmp(now, project_tensor_of(&t.g.p, k), state.floats[k] * sizeof *now) == 0,
                       "%s changed without Adam", project_tensor_name(k));
            free(now);
        }
        if (failures > before) fprintf(stderr, "  ^ case %zu of gradients, %s\n", i, backend->description);
        backward_state_close(&state);
        project_scene_close(&scene);
        free(grads);
        test_gaussians_free(&t);
    }
    return failures;
}

/* A gradient that is not finite moves nothing and is counted; the neighbours do not notice. */
static int test_bad_gradients(splat_backend *backend)
{
    int failures = 0;
    test_gaussians t = test_gaussians_make(40, 1, 1, 9);
    splat_camera camera = test_camera_make(64, 48);
    splat_grad2d *grads = project_random_grads(t.g.n, 9);
    project_scene scene;
    backward_state state;
    project_scene_open(&scene, backend, &t.g, &camera, true, false);
    backward_state_open(&state, backend, &t.g, SPLAT_OPTIMIZER_FLOAT32);
    failures += project_scene_run(&scene);
    TEST_CHECK(failures, scene.entry_of[0] >= 0 && scene.entry_of[1] >= 0 && scene.entry_of[4] >= 0, "not visible");
    grads[0].mean_x = NAN;
    grads[1].rgb[2] = INFINITY;
    grads[4].conic_b = 1e38f;
    failures += project_run_backward(&scene, grads, NULL, &state.statistics, &state.gradients);
    project_scene_counts(&scene);
    TEST_CHECK(failures, scene.n_degenerate == 3, "%u counted", scene.n_degenerate);
    float *got = project_host_copy(backend, state.gradients.means, state.floats[SPLAT_TENSOR_means]);
    float *sums = project_host_copy(backend, state.statistics.grad, t.g.n);
    for (uint32_t i = 0; i < t.g.n; i++) TEST_CHECK(failures, isfinite(sums[i]), "statistics of Gaussian %u", i);
    free(sums);
    for (int k = 0; k < 3; k++)
        TEST_CHECK(failures, got[k] == 0 && got[3 + k] == 0 && got[12 + k] == 0, "a bad gradient got through");
    TEST_CHECK(failures, got[6] != 0, "a neighbour lost its gradient");
    free(got);
    for (int i = 0; i < 5; i++) memset(&grads[i], 0, sizeof grads[i]);
    failures += project_run_backward(&scene, grads, NULL, NULL, &state.gradients);
    failures += check_gradients(&scene, &state, &t.g, true, grads);
    backward_state_close(&state);
    project_scene_close(&scene);
    free(grads);
    test_gaussians_free(&t);
    return failures;
}

/* The same twice on top of sums, with their squares: those of the unseen, too. */
static int test_added_to_sums(project_scene *scene, const splat_grad2d *grads, backward_state *state,
                              const int tensors[4], float *const plain[4], float *const added[4], size_t bad)
{
    int failures = 0;
    for (int t = 0; t < SPLAT_N_TENSORS; t++)
        for (int k = 0; k < 2; k++)
            splat_backend_zero(state->backend, project_tensor_of(k ? &state->squares : &state->gradients, t),
                               state->floats[t] * sizeof(float), NULL);
    scene->squares = &state->squares;
    for (int view = 0; view < 2; view++)
        failures += project_run_backward(scene, grads, NULL, NULL, &state->gradients);
    scene->squares = NULL;
    for (int k = 0; k < 4; k++) {
        const size_t n = state->floats[tensors[k]], channels = k == 2 ? 4 : k == 3 ? 1 : 3;
        float *sums = project_host_copy(state->backend, project_tensor_of(&state->gradients, tensors[k]), n);
        float *squares = project_host_copy(state->backend, project_tensor_of(&state->squares, tensors[k]), n);
        for (size_t i = 0; i < n; i++) {
            const float g = i / channels == bad ? plain[k][i] : plain[k][i] + added[k][i];
            TEST_CHECK(failures, sums[i] == g + g && fabsf(squares[i] - 2 * g * g) <= 3e-7f * squares[i],
                       "%s[%zu]: sums %g and %g, not of %g", project_tensor_name(tensors[k]), i, (double)sums[i],
                       (double)squares[i], (double)g);
        }
        free(sums);
        free(squares);
    }
    return failures;
}

/* Gradients from elsewhere come on top of the view's, of the unseen too; a row that is not finite adds nothing. Tensors
 * that are not asked for stay away. */
static int test_added(splat_backend *backend)
{
    int failures = 0;
    enum { N = 150, BAD = 7 };
    const int tensors[4] = {SPLAT_TENSOR_means, SPLAT_TENSOR_scales, SPLAT_TENSOR_rotations, SPLAT_TENSOR_opacities};
    test_gaussians t = test_gaussians_make(N, 2, 2, 51);
    splat_camera camera = test_camera_make(64, 48);
    splat_grad2d *grads = project_random_grads(N, 52);
    project_scene scene;
    backward_state state, other;
    float *plain[4], *added[4];
    project_scene_open(&scene, backend, &t.g, &camera, true, false);
    backward_state_open(&state, backend, &t.g, SPLAT_OPTIMIZER_FLOAT32);
    backward_state_open(&other, backend, &t.g, SPLAT_OPTIMIZER_FLOAT32);
    failures += project_run_backward(&scene, grads, NULL, NULL, &state.gradients);
    project_scene_counts(&scene);
    uint32_t n_degenerate = scene.n_degenerate;
    TEST_CHECK(failures, scene.n_visible < N, "all are visible");
    for (int k = 0; k < 4; k++) {
        size_t n = state.floats[tensors[k]];
        plain[k] = project_host_copy(backend, project_tensor_of(&state.gradients, tensors[k]), n);
        added[k] = malloc(n * sizeof(float));
        for (size_t i = 0; i < n; i++) added[k][i] = project_normal(60 + (uint64_t)k, i);
        if (k == 2) added[k][4 * BAD + 1] = NAN;
        splat_backend_upload(backend, project_tensor_of(&other.gradients, tensors[k]), added[k],
                             n * sizeof(float), NULL);
    }
    splat_tensors asked = state.gradients;
    asked.sh_dc = asked.sh_rest = NULL;
    scene.extra_gradients = &other.gradients;
    failures += project_run_backward(&scene, grads, NULL, NULL, &asked);
    project_scene_counts(&scene);
    TEST_CHECK(failures, scene.n_degenerate == n_degenerate + 1, "%u counted", scene.n_degenerate);
    for (int k = 0; k < 4; k++) {
        size_t n = state.floats[tensors[k]], channels = n / N;
        float *got = project_host_copy(backend, project_tensor_of(&asked, tensors[k]), n);
        for (size_t i = 0; i < n; i++) {
            float sum = i / channels == BAD ? plain[k][i] : plain[k][i] + added[k][i];
            TEST_CHECK(failures, got[i] == sum, "%s[%zu]: %g, not %g", project_tensor_name(tensors[k]), i,
                       (double)got[i], (double)sum);
        }
        free(got);
    }
    failures += test_added_to_sums(&scene, grads, &state, tensors, plain, added, BAD);
    for (int k = 0; k < 4; k++) {
        free(plain[k]);
        free(added[k]);
    }
    backward_state_close(&state);
    backward_state_close(&other);
    project_scene_close(&scene);
    free(grads);
    test_gaussians_free(&t);
    return failures;
}

/* One step of the reference Adam on host copies, from the gradients that the backend reports, against the backend's
 * result. Tolerance: m and v are three roundings (1e-13 is a relative error of 3e-7). A step is a few lr at most, and
 * 1 - 0.999^t of the float reference is off by 1.3e-5, half of that after the square root; to this comes the rounding
 * of the parameter itself. */
static int check_adam_step(const project_scene *scene, const backward_state *state, int step, float *parameters[],
                           float *m[], float *v[])
{
    int failures = 0;
    for (int t = 0; t < SPLAT_N_TENSORS; t++) {
        size_t n = state->floats[t];
        float *gradient = project_host_copy(state->backend, project_tensor_of(&state->gradients, t), n);
        float *now = project_host_copy(state->backend, project_tensor_of(&scene->gaussians.p, t), n);
        float *now_m = project_host_copy(state->backend, project_tensor_of(&state->moments.m, t), n);
        float *now_v = project_host_copy(state->backend, project_tensor_of(&state->moments.v, t), n);
        if (state->adam.update[t])
            ref_adam_f32(parameters[t], m[t], v[t], gradient, NULL, n, state->adam.lr[t], step, 1);
        double worst = 0;
        for (size_t i = 0; i < n; i++)
            worst = fmax(worst, fabs((double)now[i] - parameters[t][i]) /
                                    (2e-5 * state->adam.lr[t] + 1.2e-7 * fabs(parameters[t][i])));
        TEST_CHECK(failures, worst <= 1, "step %d: %s is off by %g", step, project_tensor_name(t), worst);
        double nmse_m = test_nmse(now_m, m[t], n), nmse_v = test_nmse(now_v, v[t], n);
        TEST_CHECK(failures, nmse_m <= 1e-13 && nmse_v <= 1e-13, "step %d: moments of %s: NMSE %g, %g", step,
                   project_tensor_name(t), nmse_m, nmse_v);
        if (!state->adam.update[t])
            TEST_CHECK(failures, memcmp(now, parameters[t], n * sizeof *now) == 0 && nmse_m == 0 && nmse_v == 0,
                       "%s changed though its update is off", project_tensor_name(t));
        /* follow the backend, so that errors do not add up */
        memcpy(parameters[t], now, n * sizeof *now);
        memcpy(m[t], now_m, n * sizeof *now_m);
        memcpy(v[t], now_v, n * sizeof *now_v);
        free(gradient);
        free(now);
        free(now_m);
        free(now_v);
    }
    return failures;
}

static int test_adam(splat_backend *backend)
{
    int failures = 0;
    enum { N = 150, STEPS = 6 };
    test_gaussians t = test_gaussians_make(N, 3, 2, 31);
    splat_camera camera = test_camera_make(96, 64);
    project_scene scene;
    backward_state state;
    project_scene_open(&scene, backend, &t.g, &camera, true, false);
    backward_state_open(&state, backend, &t.g, SPLAT_OPTIMIZER_FLOAT32);
    float *parameters[SPLAT_N_TENSORS], *m[SPLAT_N_TENSORS], *v[SPLAT_N_TENSORS];
    for (int k = 0; k < SPLAT_N_TENSORS; k++) {
        parameters[k] = project_host_copy(backend, project_tensor_of(&scene.gaussians.p, k), state.floats[k]);
        m[k] = calloc(state.floats[k] + 1, sizeof(float));
        v[k] = calloc(state.floats[k] + 1, sizeof(float));
    }
    for (int step = 1; step <= STEPS; step++) {
        splat_grad2d *grads = project_random_grads(N, 40 + (uint64_t)step);
        if (step % 2 == 0) /* these move by momentum alone */
            for (uint32_t i = 0; i < N; i += 3) memset(&grads[i], 0, sizeof grads[i]);
        backward_set_step(&state.adam, step);
        if (step == 4) state.adam.update[SPLAT_TENSOR_opacities] = state.adam.update[SPLAT_TENSOR_sh_rest] = false;
        failures += project_run_backward(&scene, grads, &state.adam, NULL, &state.gradients);
        failures += check_adam_step(&scene, &state, step, parameters, m, v);
        free(grads);
    }
    for (int k = 0; k < SPLAT_N_TENSORS; k++) {
        free(parameters[k]);
        free(m[k]);
        free(v[k]);
    }
    backward_state_close(&state);
    project_scene_close(&scene);
    test_gaussians_free(&t);
    return failures;
}

int test_op_project_backward(splat_backend *backend)
{
    int failures = 0;
    /* Needs no backend: once is enough. */
    if (backend->simd == SPLAT_SIMD_C && backend->threads == 1) failures += test_differences();
    failures += test_gradients(backend);
    TEST_CASE(failures, test_bad_gradients(backend));
    TEST_CASE(failures, test_added(backend));
    TEST_CASE(failures, check_project_pulls(backend));
    TEST_CASE(failures, test_adam(backend));
    failures += check_project_storage(backend);
    return failures;
}
