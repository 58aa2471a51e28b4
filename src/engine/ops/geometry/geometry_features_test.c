/* geometry_features and geometry_features_backward against the references; then the whole way from Gaussians to the
 * depth-normal loss and back, against central differences in double. */
#include "ops/geometry/geometry.h"

#include "ops/bin/bin.h"
#include "ops/depth_normal/depth_normal.h"
#include "ops/project/project_test.h"
#include "ops/raster/raster_scene_test.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { CHANNELS = SPLAT_GEOMETRY_CHANNELS };

/* ---------------------------------------------------------------- features */

/* The fast version rounds in another order than the reference: seen 3e-7 of a normal, 1e-6 of a distance near 3; of a
 * span, which is e^scale long, as much again. */
static int compare_features(const project_scene *scene, const splat_gaussians *host, bool world, bool centers,
                            const float *features,
                            const float *spans)
{
    int failures = 0;
    const splat_camera *camera = &scene->frame.camera;
    ref_gaussians_f32 g = ref_gaussians_from_f32(host);
    ref_camera_f32 c = ref_camera_from_f32(camera);
    float *wanted = calloc(host->n + 1, CHANNELS * sizeof *wanted);
    float *wanted_spans = calloc(host->n + 1, 2 * sizeof *wanted_spans);
    ref_geometry_features_f32(&g, &c, world, centers, wanted, wanted_spans);
    for (uint32_t i = 0; i < host->n && failures < 5; i++) {
        float facing = 0;
        if (scene->entry_of[i] < 0) continue;
        const float *got = features + CHANNELS * scene->entry_of[i];
        for (size_t k = 0; k < CHANNELS; k++)
            TEST_CHECK(failures, fabsf(got[k] - wanted[CHANNELS * i + k]) < 5e-6f,
                       "Gaussian %u, feature %zu: %g, not %g", i, k, (double)got[k], (double)wanted[CHANNELS * i + k]);
        for (size_t k = 0; k < 2; k++) {
            float span = spans[2 * (size_t)scene->entry_of[i] + k], right = wanted_spans[2 * i + k];
            TEST_CHECK(failures, fabsf(span - right) <= 5e-6f * (1 + fabsf(right)), "Gaussian %u, end %zu: %g, not %g",
                       i, k, (double)span, (double)right);
        }
        for (int k = 0; k < 3 && world; k++) facing += got[1 + k] * (camera->center[k] - host->p.means[3 * i + k]);
        TEST_CHECK(failures, facing >= -1e-5f, "Gaussian %u looks away: %g", i, (double)facing);
    }
    free(wanted);
    free(wanted_spans);
    ref_gaussians_free_f32(&g);
    return failures;
}

static int check_features(splat_backend *backend, uint32_t n, bool world, bool centers)
{
    int failures = 0;
    test_gaussians t = test_gaussians_make(n, 0, 0, 91);
    for (uint32_t i = 0; i < n; i += 5) /* ties: the first axis counts */
        for (int k = 0; k < 3; k++) t.g.p.scales[3 * i + k] = i % 2 ? t.g.p.scales[3 * i] : -2.0f + (float)(k == 0);
    splat_camera camera = test_camera_make(90, 70);
    project_scene scene;
    splat_block block = {0}, span_block = {0};
    splat_error error = {0};
    project_scene_open(&scene, backend, &t.g, &camera, true, false);
    failures += project_scene_run(&scene);
    size_t n_values = CHANNELS * (size_t)scene.frame.n_visible;
    size_t n_ends = 2 * (size_t)scene.frame.n_visible;
    float *device = test_upload(backend, &block, NULL, n_values * sizeof(float));
    float *device_spans = test_upload(backend, &span_block, NULL, n_ends * sizeof(float));
    struct splat_geometry_features_args args = {&scene.gaussians, &scene.frame, world, centers, device, device_spans};
    splat_status status = splat_op_geometry_features(backend, &args, &error);
    TEST_CHECK(failures, status == SPLAT_OK, "%s", error.message);
    float *features = project_host_copy(backend, device, n_values);
    float *spans = project_host_copy(backend, device_spans, n_ends);
    failures += compare_features(&scene, &t.g, world, centers, features, spans);
    free(features);
    free(spans);
    splat_block_free(backend, &block);
    splat_block_free(backend, &span_block);
    project_scene_close(&scene);
    test_gaussians_free(&t);
    return failures;
}

int test_op_geometry_features(splat_backend *backend)
{
    static const uint32_t counts[] = {0, 1, 37, 1000};
    int failures = 0;
    for (size_t i = 0; i < sizeof counts / sizeof counts[0]; i++)
        for (int k = 0; k < 4; k++) failures += check_features(backend, counts[i], k % 2, k / 2);
    return failures;
}

/* ---------------------------------------------------------------- the whole way */

enum { N = 7, WIDTH = 20, HEIGHT = 16, PIXELS = WIDTH * HEIGHT };

/* Wide Gaussians one behind another, of which every pixel blends every one: no step of a difference crosses a
 * threshold. */
static test_gaussians smooth_gaussians(const splat_camera *camera)
{
    test_gaussians t = test_gaussians_make(N, 0, 0, 17);
    for (uint32_t i = 0; i < N; i++) {
        float p[3] = {0.3f * project_normal(18, 3 * i), 0.2f * project_normal(18, 3 * i + 1), 2.6f + 0.1f * (float)i};
        for (int k = 0; k < 3; k++) {
            t.g.p.means[3 * i + k] = 0;
            for (int a = 0; a < 3; a++)
                t.g.p.means[3 * i + k] += camera->rotation[3 * a + k] * (p[a] - camera->translation[a]);
        }
        for (uint32_t k = 0; k < 3; k++)
            t.g.p.scales[3 * i + k] = 0.4f + 0.1f * (float)((i + k) % 3) + 0.01f * (float)i;
        t.g.p.opacities[i] = -0.2f + 0.1f * (float)i;
        t.g.filter_3d[i] = 0.05f;
    }
    return t;
}

/* The functional: weights of the maps and of alpha, and the depth-normal loss times `weight`. */
typedef struct chain {
    ref_gaussians_f64 g;
    ref_camera_f64 camera;
    bool compensate, world, centers;
    double weights[5 * PIXELS], weight; /* weight is 0 in world space and with centers */
    ref_splat2d_f64 splats[N];
    double features[CHANNELS * N], maps[CHANNELS * PIXELS], transmittance[PIXELS];
    double grad_maps[CHANNELS * PIXELS], grad_alpha[PIXELS];
} chain;

/* Also dL/dmaps, dL/dalpha. */
static double chain_value(void *of)
{
    chain *c = of;
    uint32_t n_pixels;
    ref_project_f64(&c->g, &c->camera, project_test_kernel(c->compensate), c->compensate, c->splats);
    ref_geometry_features_f64(&c->g, &c->camera, c->world, c->centers, c->features, NULL);
    ref_geometry_f64(N, c->splats, c->features, WIDTH, HEIGHT, NULL, c->maps, c->transmittance, NULL);
    double sum = c->weight * ref_depth_normal_f64(&c->camera, c->maps, c->transmittance, NULL, c->weight, c->grad_maps,
                                                  &n_pixels);
    for (size_t i = 0; i < CHANNELS * PIXELS; i++) {
        sum += c->weights[i] * c->maps[i];
        c->grad_maps[i] += c->weights[i];
    }
    for (size_t i = 0; i < PIXELS; i++) {
        sum += c->weights[CHANNELS * PIXELS + i] * (1 - c->transmittance[i]);
        c->grad_alpha[i] = c->weights[CHANNELS * PIXELS + i];
    }
    return sum;
}

static void chain_gradient(chain *c, ref_tensors_f64 *gradients)
{
    ref_grad2d_f64 grads[N];
    double grad_features[CHANNELS * N];
    chain_value(c);
    ref_geometry_backward_f64(N, c->splats, c->features, WIDTH, HEIGHT, NULL, c->grad_maps, c->grad_alpha, grads,
                              grad_features);
    ref_project_backward_f64(&c->g, &c->camera, project_test_kernel(c->compensate), c->compensate, grads, gradients);
    ref_geometry_features_backward_f64(&c->g, &c->camera, c->world, c->centers, c->splats, grad_features, gradients);
}

static int check_smooth(const chain *c)
{
    int failures = 0;
    for (size_t i = 0; i < PIXELS && failures < 3; i++) {
        TEST_CHECK(failures, c->transmittance[i] > 2e-4, "pixel %zu ends early: %g", i, c->transmittance[i]);
        TEST_CHECK(failures, fabs(c->transmittance[i] - 0.5) > 1e-3, "pixel %zu is at the mask's limit", i);
    }
    return failures;
}

/* ---------------------------------------------------------------- the ops in a row */

typedef struct device_blocks {
    splat_block features, maps, grad_maps, grad_alpha, gradients, result;
} device_blocks;

/* dL/dmaps and dL/dalpha: the weights, and the loss's on top. */
static splat_status device_losses(project_scene *scene, const chain *c, device_blocks *b, splat_error *error)
{
    splat_backend *backend = scene->backend;
    float grad[5 * PIXELS] = {0};
    struct splat_depth_normal_args args = {&scene->frame.camera, b->maps.data, scene->frame.transmittance, NULL,
                                           (float)c->weight, b->grad_maps.data, b->result.data};
    SPLAT_TRY(splat_op_depth_normal(backend, &args, error));
    test_download(backend, grad, b->grad_maps.data, CHANNELS * PIXELS * sizeof *grad);
    for (size_t i = 0; i < 5 * PIXELS; i++) grad[i] += (float)c->weights[i];
    splat_backend_upload(backend, b->grad_maps.data, grad, CHANNELS * PIXELS * sizeof *grad, NULL);
    splat_backend_upload(backend, b->grad_alpha.data, grad + CHANNELS * PIXELS, PIXELS * sizeof *grad, NULL);
    return SPLAT_OK;
}

static splat_status device_chain(project_scene *scene, const chain *c, device_blocks *b, const splat_tensors *features,
                                 const splat_tensors *screen, splat_error *error)
{
    splat_backend *backend = scene->backend;
    splat_frame *frame = &scene->frame;
    struct splat_geometry_features_args describe = {.gaussians = &scene->gaussians, .frame = frame, .world = c->world,
                                                    .centers = c->centers, .features = b->features.data};
    struct splat_geometry_args maps = {.frame = frame, .features = b->features.data, .maps = b->maps.data};
    struct splat_geometry_backward_args back = {frame, b->features.data, b->grad_maps.data, b->grad_alpha.data,
                                                b->gradients.data};
    struct splat_geometry_features_backward_args describe_back = {&scene->gaussians, frame, c->world, c->centers,
                                                                  b->gradients.data, features};
    struct splat_project_backward_args project_back = {.gaussians = &scene->gaussians, .frame = frame,
                                                       .sink = {.write = screen}};
    SPLAT_TRY(splat_op_geometry_features(backend, &describe, error));
    SPLAT_TRY(splat_view_forward(backend, frame, &(splat_view_blend){.geometry = &maps}, error));
    SPLAT_TRY(device_losses(scene, c, b, error));
    SPLAT_TRY(splat_view_backward(backend, frame, &(splat_view_gradients){.geometry = &back}, error));
    SPLAT_TRY(splat_op_geometry_features_backward(backend, &describe_back, error));
    SPLAT_TRY(splat_op_project_backward(backend, &project_back, error));
    return splat_backend_synchronize(backend, error);
}

/* NMSE 1e-8: floats with sums of 320 pixels that partly cancel (seen: 3e-13). */
static int compare_tensor(splat_backend *backend, const float *features, const float *screen, const double *wanted,
                          size_t n, const char *name)
{
    int failures = 0;
    float *a = project_host_copy(backend, features, n), *b = project_host_copy(backend, screen, n);
    float *w = calloc(n, sizeof *w);
    for (size_t i = 0; i < n; i++) {
        a[i] += b[i];
        w[i] = (float)wanted[i];
    }
    double nmse = test_nmse(a, w, n);
    TEST_CHECK(failures, nmse <= 1e-8, "NMSE %g of %s", nmse, name);
    free(a);
    free(b);
    free(w);
    return failures;
}

static int check_device(splat_backend *backend, const test_gaussians *t, const splat_camera *camera, const chain *c,
                        const ref_tensors_f64 *wanted)
{
    int failures = 0;
    project_scene scene;
    backward_state features, screen;
    device_blocks b = {0};
    splat_error error = {0};
    project_scene_open(&scene, backend, &t->g, camera, c->compensate, false);
    backward_state_open(&features, backend, &t->g, SPLAT_OPTIMIZER_FLOAT32);
    backward_state_open(&screen, backend, &t->g, SPLAT_OPTIMIZER_FLOAT32);
    failures += project_scene_run(&scene);
    test_upload(backend, &b.features, NULL, CHANNELS * N * sizeof(float));
    test_upload(backend, &b.maps, NULL, CHANNELS * PIXELS * sizeof(float));
    test_upload(backend, &b.grad_maps, NULL, CHANNELS * PIXELS * sizeof(float));
    test_upload(backend, &b.grad_alpha, NULL, PIXELS * sizeof(float));
    test_upload(backend, &b.gradients, NULL, N * sizeof(splat_grad2d));
    test_upload(backend, &b.result, NULL, 2 * sizeof(double));
    splat_status status = device_chain(&scene, c, &b, &features.gradients, &screen.gradients, &error);
    TEST_CHECK(failures, status == SPLAT_OK, "%s", error.message);
#define COMPARE(name, n)                                                                                               \
    failures += compare_tensor(backend, features.gradients.name, screen.gradients.name, wanted->name, n, #name)
    COMPARE(means, 3 * N);
    COMPARE(scales, 3 * N);
    COMPARE(rotations, 4 * N);
    COMPARE(opacities, N);
#undef COMPARE
    splat_block *all[] = {&b.features, &b.maps, &b.grad_maps, &b.grad_alpha, &b.gradients, &b.result};
    for (size_t i = 0; i < sizeof all / sizeof all[0]; i++) splat_block_free(backend, all[i]);
    backward_state_close(&features);
    backward_state_close(&screen);
    project_scene_close(&scene);
    return failures;
}

static int check_chain(splat_backend *backend, bool compensate, bool world, bool centers)
{
    int failures = 0;
    splat_camera camera = test_camera_make(WIDTH, HEIGHT);
    test_gaussians t = smooth_gaussians(&camera);
    chain *c = calloc(1, sizeof *c);
    c->g = ref_gaussians_from_f64(&t.g);
    c->camera = ref_camera_from_f64(&camera);
    c->compensate = compensate;
    c->world = world;
    c->centers = centers;
    c->weight = world || centers ? 0 : 1000; /* such that the loss depends on more than the weights */
    for (uint32_t i = 0; i < 5 * PIXELS; i++) c->weights[i] = 2 * test_scene_random(33, i) - 1;
    ref_tensors_f64 gradients = ref_tensors_make_f64(N, 0);
    chain_gradient(c, &gradients);
    failures += check_smooth(c);
    failures += test_tensor_gradient(chain_value, c, c->g.p.means, gradients.means, 3 * N, "mean");
    failures += test_tensor_gradient(chain_value, c, c->g.p.scales, gradients.scales, 3 * N, "scale");
    failures += test_tensor_gradient(chain_value, c, c->g.p.rotations, gradients.rotations, 4 * N, "rotation");
    failures += test_tensor_gradient(chain_value, c, c->g.p.opacities, gradients.opacities, N, "opacity");
    failures += check_device(backend, &t, &camera, c, &gradients);
    ref_tensors_free_f64(&gradients);
    ref_gaussians_free_f64(&c->g);
    free(c);
    test_gaussians_free(&t);
    return failures;
}

int test_op_geometry_features_backward(splat_backend *backend)
{
    return check_chain(backend, true, false, false) + check_chain(backend, false, false, false) +
           check_chain(backend, true, true, false) + check_chain(backend, true, false, true);
}
