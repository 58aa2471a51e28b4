/* The ops of known depth against the references, and the whole way from Gaussians to both losses and back against
 * central differences in double. */
#include "ops/depth_prior/depth_prior.h"

#include "ops/geometry/geometry.h"
#include "ops/project/project_test.h"
#include "ops/raster/raster_scene_test.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { CHANNELS = SPLAT_GEOMETRY_CHANNELS };

/* ---------------------------------------------------------------- features */

/* z is project's own sum: two roundings of 3 apart. */
static int check_features(splat_backend *backend, uint32_t n)
{
    int failures = 0;
    test_gaussians t = test_gaussians_make(n, 0, 0, 91);
    splat_camera camera = test_camera_make(90, 70);
    project_scene scene;
    splat_block block = {0};
    splat_error error = {0};
    project_scene_open(&scene, backend, &t.g, &camera, true, false);
    failures += project_scene_run(&scene);
    size_t n_values = CHANNELS * (size_t)scene.frame.n_visible;
    float *device = test_upload(backend, &block, NULL, n_values * sizeof(float));
    struct splat_depth_features_args args = {&scene.frame, device};
    splat_status status = splat_op_depth_features(backend, &args, &error);
    TEST_CHECK(failures, status == SPLAT_OK, "%s", error.message);
    float *features = project_host_copy(backend, device, n_values), *wanted = calloc(n + 1, CHANNELS * sizeof *wanted);
    ref_gaussians_f32 g = ref_gaussians_from_f32(&t.g);
    ref_camera_f32 c = ref_camera_from_f32(&camera);
    ref_depth_features_f32(&g, &c, wanted);
    for (uint32_t i = 0; i < n && failures < 5; i++)
        for (size_t k = 0; k < CHANNELS && scene.entry_of[i] >= 0; k++) {
            float got = features[CHANNELS * scene.entry_of[i] + k], right = wanted[CHANNELS * i + k];
            TEST_CHECK(failures, fabsf(got - right) <= 2e-6f * (1 + fabsf(right)),
                       "Gaussian %u, feature %zu: %g, not %g", i, k, (double)got, (double)right);
        }
    free(features);
    free(wanted);
    ref_gaussians_free_f32(&g);
    splat_block_free(backend, &block);
    project_scene_close(&scene);
    test_gaussians_free(&t);
    return failures;
}

int test_op_depth_features(splat_backend *backend)
{
    static const uint32_t counts[] = {0, 1, 37, 1000};
    int failures = 0;
    for (size_t i = 0; i < sizeof counts / sizeof counts[0]; i++) failures += check_features(backend, counts[i]);
    return failures;
}

/* ---------------------------------------------------------------- a map of inverse depths */

typedef struct known_map {
    int width, height;
    size_t n;
    float *inverse, scale, offset;
    uint16_t *target;
    uint8_t *mask;
} known_map;

/* Some targets below zero after scale and offset, some equal to what is seen. */
static known_map known_map_make(int width, int height)
{
    known_map m = {.width = width, .height = height, .n = (size_t)width * (size_t)height, .scale = 0.5f,
                   .offset = -0.05f};
    m.inverse = calloc(m.n, sizeof *m.inverse);
    m.target = calloc(m.n, sizeof *m.target);
    m.mask = calloc(m.n, 1);
    for (uint32_t i = 0; i < m.n; i++) {
        m.target[i] = (uint16_t)(65536 * test_scene_random(70, i));
        m.inverse[i] = i % 11 == 3 ? 0 : 0.5f * test_scene_random(71, i);
        m.mask[i] = (uint8_t)(256 * test_scene_random(72, i));
    }
    return m;
}

static void known_map_free(known_map *m)
{
    free(m->inverse);
    free(m->target);
    free(m->mask);
}

/* The sum's order is another: 1e-6 of floats. A sign may differ where Q and q are the same but for rounding. */
static int check_map(splat_backend *backend, int width, int height, bool masked)
{
    int failures = 0;
    known_map m = known_map_make(width, height);
    splat_block blocks[5] = {{0}};
    splat_error error = {0};
    double loss;
    float *wanted = calloc(m.n, sizeof *wanted), *junk = malloc(m.n * sizeof *junk);
    memset(junk, 0x7f, m.n * sizeof *junk); /* overwritten */
    struct splat_depth_map_args args = {.width = width, .height = height, .scale = m.scale, .offset = m.offset,
                                        .weight = 3};
    args.inverse = test_upload(backend, &blocks[0], m.inverse, m.n * sizeof *m.inverse);
    args.target = test_upload(backend, &blocks[1], m.target, m.n * sizeof *m.target);
    if (masked) args.mask = test_upload(backend, &blocks[2], m.mask, m.n);
    args.gradient = test_upload(backend, &blocks[3], junk, m.n * sizeof(float));
    args.result = test_upload(backend, &blocks[4], NULL, sizeof loss);
    splat_status status = splat_op_depth_map(backend, &args, &error);
    TEST_CHECK(failures, status == SPLAT_OK, "%s", error.message);
    float *got = project_host_copy(backend, args.gradient, m.n);
    test_download(backend, &loss, args.result, sizeof loss);
    float right = ref_depth_map_f32(width, height, m.inverse, m.target, m.scale, m.offset, masked ? m.mask : NULL, 3,
                                    wanted);
    TEST_CHECK(failures, fabs(loss - (double)right) <= 1e-5 * (double)right, "%dx%d: loss %g, not %g", width, height,
               loss, (double)right);
    size_t n_other = 0;
    for (size_t i = 0; i < m.n; i++) n_other += fabsf(got[i] - wanted[i]) > 1e-6f * fabsf(wanted[i]);
    TEST_CHECK(failures, n_other <= m.n / 10000, "%dx%d: %zu gradients differ", width, height, n_other);
    for (int i = 0; i < 5; i++) splat_block_free(backend, &blocks[i]);
    free(got);
    free(wanted);
    free(junk);
    known_map_free(&m);
    return failures;
}

int test_op_depth_map(splat_backend *backend)
{
    static const int sizes[][2] = {{1, 1}, {1, 300}, {300, 1}, {33, 17}, {256, 1}, {301, 203}};
    int failures = 0;
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++)
        for (int masked = 0; masked < 2; masked++) failures += check_map(backend, sizes[i][0], sizes[i][1], masked);
    struct splat_depth_map_args none = {.width = 0, .height = 5};
    TEST_CHECK(failures, splat_op_depth_map(backend, &none, NULL) == SPLAT_ERROR_ARGUMENT, "no pixel is an error");
    return failures;
}

/* ---------------------------------------------------------------- points */

/* One in each square of 3 x 3 pixels, so that none shares a pixel; in its corner at whole pixels, and at the far
 * border. Returns how many. */
static uint32_t points_make(int width, int height, splat_depth_point *points)
{
    uint32_t n = 0;
    for (int y = 0; y < height; y += 3)
        for (int x = 0; x < width; x += 3, n++) {
            float u = n % 7 == 2 ? 0 : test_scene_random(80, n), v = n % 5 == 1 ? 0 : test_scene_random(81, n);
            points[n].x = fminf((float)x + u, (float)(width - 1));
            points[n].y = fminf((float)y + v, (float)(height - 1));
            points[n].inverse = 0.2f + test_scene_random(82, n);
            points[n].weight = 0.5f + test_scene_random(83, n);
        }
    return n;
}

/* Depths near those of the points, so that some stand in the middle of the Huber loss. */
static void maps_make(int width, int height, uint32_t n, const splat_depth_point *points, float *along, float *t)
{
    for (uint32_t i = 0; i < (uint32_t)(width * height); i++) {
        t[i] = i % 13 == 4 ? 1 : test_scene_random(84, i);
        along[i] = 0;
    }
    for (uint32_t i = 0; i < n; i++)
        for (int k = 0; k < 4; k++) {
            int x = (int)points[i].x + k % 2, y = (int)points[i].y + k / 2;
            if (x >= width || y >= height) continue;
            float by = i % 3 ? 0.02f : 0.8f; /* nearly right, or not at all */
            float depth = (1 + by * (test_scene_random(85, i) - 0.5f)) / points[i].inverse;
            along[y * width + x] = (1 - t[y * width + x]) * depth;
        }
}

/* NMSE 1e-8 (seen 1e-13): e is a difference of numbers near 1, 1e-7 of 0.01. */
static int check_points(splat_backend *backend, int width, int height, bool masked)
{
    int failures = 0;
    size_t plane = (size_t)width * (size_t)height, bytes = plane * sizeof(float);
    splat_depth_point *points = calloc(plane, sizeof *points);
    float *along = malloc(bytes), *t = malloc(bytes), *wanted[2] = {malloc(bytes), malloc(bytes)};
    uint8_t *mask = malloc(plane);
    uint32_t n = points_make(width, height, points), n_counted;
    maps_make(width, height, n, points, along, t);
    for (uint32_t i = 0; i < plane; i++) mask[i] = test_scene_random(86, i) < 0.7f ? 255 : 0;
    for (size_t i = 0; i < plane; i++) wanted[0][i] = wanted[1][i] = 0.25f; /* added to */
    splat_block blocks[7] = {{0}};
    splat_error error = {0};
    double result[2];
    struct splat_depth_points_args args = {.width = width, .height = height, .n = n, .weight = 2};
    args.along = test_upload(backend, &blocks[0], along, bytes);
    args.transmittance = test_upload(backend, &blocks[1], t, bytes);
    if (masked) args.mask = test_upload(backend, &blocks[2], mask, plane);
    args.points = test_upload(backend, &blocks[3], points, n * sizeof *points);
    args.grad_along = test_upload(backend, &blocks[4], wanted[0], bytes);
    args.grad_alpha = test_upload(backend, &blocks[5], wanted[1], bytes);
    args.result = test_upload(backend, &blocks[6], NULL, sizeof result);
    splat_status status = splat_op_depth_points(backend, &args, &error);
    TEST_CHECK(failures, status == SPLAT_OK, "%s", error.message);
    test_download(backend, result, args.result, sizeof result);
    float loss = ref_depth_points_f32(width, height, along, t, masked ? mask : NULL, n, points, 2, &n_counted,
                                      wanted[0], wanted[1]);
    TEST_CHECK(failures, fabs(result[0] - (double)loss) <= 1e-4 * (double)loss, "%dx%d: loss %g, not %g", width, height,
               result[0], (double)loss);
    TEST_CHECK(failures, result[1] == n_counted, "%dx%d: %g points, not %u", width, height, result[1], n_counted);
    for (int k = 0; k < 2; k++) {
        float *got = project_host_copy(backend, k ? args.grad_alpha : args.grad_along, plane);
        double nmse = test_nmse(got, wanted[k], plane);
        TEST_CHECK(failures, nmse <= 1e-8, "%dx%d: NMSE %g of gradient %d", width, height, nmse, k);
        free(got);
        free(wanted[k]);
    }
    for (int i = 0; i < 7; i++) splat_block_free(backend, &blocks[i]);
    free(points);
    free(along);
    free(t);
    free(mask);
    return failures;
}

/* Every value around the points; the loss's kinks are at |e| = 0.01, which no value is near, and at the least alpha. */
static int check_point_differences(void)
{
    enum { W = 13, H = 8 };
    int failures = 0;
    splat_depth_point points[W * H];
    float along[W * H], t[W * H];
    double values[2][W * H], grads[2][W * H] = {{0}};
    uint32_t n = points_make(W, H, points), n_counted, n_moved;
    maps_make(W, H, n, points, along, t);
    for (size_t i = 0; i < (size_t)W * H; i++) {
        values[0][i] = along[i];
        values[1][i] = t[i];
    }
    ref_depth_points_f64(W, H, values[0], values[1], NULL, n, points, 1, &n_counted, grads[0], grads[1]);
    TEST_CHECK(failures, n_counted > 8, "%u points count", n_counted);
    for (size_t i = 0; i < 2 * (size_t)W * H; i++) {
        double *value = &values[i / (W * H)][i % (W * H)], kept = *value, step = 1e-7;
        double analytic = i < (size_t)W * H ? grads[0][i] : -grads[1][i - (size_t)W * H]; /* A = 1 - T */
        *value = kept + step;
        double above = ref_depth_points_f64(W, H, values[0], values[1], NULL, n, points, 1, &n_moved, NULL, NULL);
        *value = kept - step;
        double below = ref_depth_points_f64(W, H, values[0], values[1], NULL, n, points, 1, &n_moved, NULL, NULL);
        *value = kept;
        double numeric = (above - below) / (2 * step);
        TEST_CHECK(failures, n_moved == n_counted && fabs(numeric - analytic) <= 1e-6 * (1 + fabs(analytic)),
                   "value %zu: %.9g, difference %.9g", i, analytic, numeric);
    }
    return failures;
}

int test_op_depth_points(splat_backend *backend)
{
    static const int sizes[][2] = {{1, 1}, {1, 40}, {40, 1}, {2, 2}, {33, 17}, {101, 67}};
    int failures = check_point_differences();
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++)
        for (int masked = 0; masked < 2; masked++) failures += check_points(backend, sizes[i][0], sizes[i][1], masked);
    return failures;
}

/* ---------------------------------------------------------------- the whole way */

enum { N = 7, WIDTH = 20, HEIGHT = 16, PIXELS = WIDTH * HEIGHT };

typedef struct chain {
    ref_gaussians_f64 g;
    ref_camera_f64 camera;
    bool compensate;
    uint16_t target[PIXELS];
    splat_depth_point points[PIXELS];
    uint32_t n_points;
    ref_splat2d_f64 splats[N];
    double features[CHANNELS * N], maps[CHANNELS * PIXELS], transmittance[PIXELS];
    double grad_maps[CHANNELS * PIXELS], grad_alpha[PIXELS];
} chain;

#define SCALE 0.4
#define OFFSET 0.02
#define MAP_WEIGHT 300.0
#define POINT_WEIGHT 2.0

/* Wide Gaussians one behind another, of which every pixel blends every one: no step of a difference crosses a
 * threshold. */
static test_gaussians smooth_gaussians(const splat_camera *camera)
{
    test_gaussians t = test_gaussians_make(N, 0, 0, 17);
    for (uint32_t i = 0; i < N; i++) {
        float p[3] = {0.3f * project_normal(18, 3 * i), 0.2f * project_normal(18, 3 * i + 1), 2.2f + 0.3f * (float)i};
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

/* Also dL/dmaps, dL/dalpha. */
static double chain_value(chain *c)
{
    uint32_t n_counted;
    ref_project_f64(&c->g, &c->camera, project_test_kernel(c->compensate), c->compensate, c->splats);
    ref_depth_features_f64(&c->g, &c->camera, c->features);
    ref_geometry_f64(N, c->splats, c->features, WIDTH, HEIGHT, NULL, c->maps, c->transmittance, NULL);
    memset(c->grad_maps, 0, sizeof c->grad_maps);
    memset(c->grad_alpha, 0, sizeof c->grad_alpha);
    return MAP_WEIGHT * ref_depth_map_f64(WIDTH, HEIGHT, c->maps, c->target, SCALE, OFFSET, NULL, MAP_WEIGHT,
                                          c->grad_maps) +
           POINT_WEIGHT * ref_depth_points_f64(WIDTH, HEIGHT, c->maps + PIXELS, c->transmittance, NULL, c->n_points,
                                               c->points, POINT_WEIGHT, &n_counted, c->grad_maps + PIXELS,
                                               c->grad_alpha);
}

static void chain_gradient(chain *c, ref_tensors_f64 *gradients)
{
    ref_grad2d_f64 grads[N];
    double grad_features[CHANNELS * N];
    chain_value(c);
    ref_geometry_backward_f64(N, c->splats, c->features, WIDTH, HEIGHT, NULL, c->grad_maps, c->grad_alpha, grads,
                              grad_features);
    ref_project_backward_f64(&c->g, &c->camera, project_test_kernel(c->compensate), c->compensate, grads, gradients);
    ref_depth_features_backward_f64(&c->g, &c->camera, c->splats, grad_features, gradients->means);
}

/* As in the test of geometry: steps of 1e-5 of sums near 100 leave 1e-9 of rounding. */
static int check_tensor(chain *c, double *parameters, const double *gradients, uint32_t n, const char *name)
{
    int failures = 0;
    double largest = 0;
    for (uint32_t i = 0; i < n; i++) largest = fmax(largest, fabs(gradients[i]));
    TEST_CHECK(failures, largest > 1e-3, "%s has no gradient to check", name);
    for (uint32_t i = 0; i < n; i++) {
        double kept = parameters[i], step = 1e-5;
        parameters[i] = kept + step;
        double above = chain_value(c);
        parameters[i] = kept - step;
        double below = chain_value(c), numeric = (above - below) / (2 * step);
        parameters[i] = kept;
        TEST_CHECK(failures, fabs(numeric - gradients[i]) <= 1e-6 * largest, "%s %u: %.9g, difference %.9g", name, i,
                   gradients[i], numeric);
    }
    return failures;
}

typedef struct device_blocks {
    splat_block features, maps, grad_maps, grad_alpha, gradients, target, points, results;
} device_blocks;

static splat_status device_chain(project_scene *scene, const chain *c, device_blocks *b, float *grad_means,
                                 const splat_tensors *screen, splat_error *error)
{
    splat_backend *backend = scene->backend;
    splat_frame *frame = &scene->frame;
    float *maps = b->maps.data, *grad_maps = b->grad_maps.data;
    double *results = b->results.data;
    struct splat_geometry_args geometry = {.frame = frame, .features = b->features.data, .maps = maps};
    struct splat_depth_map_args map = {.width = WIDTH, .height = HEIGHT, .inverse = maps, .target = b->target.data,
                                       .scale = (float)SCALE, .offset = (float)OFFSET, .weight = (float)MAP_WEIGHT,
                                       .gradient = grad_maps, .result = results};
    struct splat_depth_points_args points = {.width = WIDTH, .height = HEIGHT, .along = maps + PIXELS,
                                             .transmittance = frame->transmittance, .points = b->points.data,
                                             .n = c->n_points, .weight = (float)POINT_WEIGHT,
                                             .grad_along = grad_maps + PIXELS, .grad_alpha = b->grad_alpha.data,
                                             .result = results + 1};
    struct splat_geometry_backward_args back = {frame, b->features.data, grad_maps, b->grad_alpha.data,
                                                b->gradients.data};
    struct splat_project_backward_args project = {.gaussians = &scene->gaussians, .frame = frame, .gradients = screen};
    SPLAT_TRY(splat_op_depth_features(backend, &(struct splat_depth_features_args){frame, b->features.data}, error));
    SPLAT_TRY(splat_view_forward(backend, frame, &(splat_view_blend){.geometry = &geometry}, error));
    SPLAT_TRY(splat_op_depth_map(backend, &map, error));
    SPLAT_TRY(splat_op_depth_points(backend, &points, error));
    SPLAT_TRY(splat_view_backward(backend, frame, &(splat_view_gradients){.geometry = &back}, error));
    SPLAT_TRY(splat_op_depth_features_backward(
        backend, &(struct splat_depth_features_backward_args){frame, b->gradients.data, grad_means}, error));
    SPLAT_TRY(splat_op_project_backward(backend, &project, error));
    return splat_backend_synchronize(backend, error);
}

/* NMSE 1e-8: floats with sums of 320 pixels that partly cancel. */
static int compare_tensor(splat_backend *backend, const float *direct, const float *screen, const double *wanted,
                          size_t n, const char *name)
{
    int failures = 0;
    float *a = direct ? project_host_copy(backend, direct, n) : calloc(n, sizeof *a);
    float *b = project_host_copy(backend, screen, n), *w = calloc(n, sizeof *w);
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
    backward_state screen, direct;
    device_blocks b = {0};
    splat_error error = {0};
    project_scene_open(&scene, backend, &t->g, camera, c->compensate, false);
    backward_state_open(&direct, backend, &t->g, SPLAT_OPTIMIZER_FLOAT32);
    backward_state_open(&screen, backend, &t->g, SPLAT_OPTIMIZER_FLOAT32);
    failures += project_scene_run(&scene);
    test_upload(backend, &b.features, NULL, CHANNELS * N * sizeof(float));
    test_upload(backend, &b.maps, NULL, CHANNELS * PIXELS * sizeof(float));
    test_upload(backend, &b.grad_maps, NULL, CHANNELS * PIXELS * sizeof(float));
    test_upload(backend, &b.grad_alpha, NULL, PIXELS * sizeof(float));
    test_upload(backend, &b.gradients, NULL, N * sizeof(splat_grad2d));
    test_upload(backend, &b.target, c->target, sizeof c->target);
    test_upload(backend, &b.points, c->points, c->n_points * sizeof *c->points);
    test_upload(backend, &b.results, NULL, 3 * sizeof(double));
    splat_status status = device_chain(&scene, c, &b, direct.gradients.means, &screen.gradients, &error);
    TEST_CHECK(failures, status == SPLAT_OK, "%s", error.message);
    failures += compare_tensor(backend, direct.gradients.means, screen.gradients.means, wanted->means, 3 * N, "means");
    failures += compare_tensor(backend, NULL, screen.gradients.scales, wanted->scales, 3 * N, "scales");
    failures += compare_tensor(backend, NULL, screen.gradients.rotations, wanted->rotations, 4 * N, "rotations");
    failures += compare_tensor(backend, NULL, screen.gradients.opacities, wanted->opacities, N, "opacities");
    splat_block *all[] = {&b.features, &b.maps, &b.grad_maps, &b.grad_alpha, &b.gradients, &b.target, &b.points,
                          &b.results};
    for (size_t i = 0; i < sizeof all / sizeof all[0]; i++) splat_block_free(backend, all[i]);
    backward_state_close(&direct);
    backward_state_close(&screen);
    project_scene_close(&scene);
    return failures;
}

static int check_chain(splat_backend *backend, bool compensate)
{
    int failures = 0;
    splat_camera camera = test_camera_make(WIDTH, HEIGHT);
    test_gaussians t = smooth_gaussians(&camera);
    chain *c = calloc(1, sizeof *c);
    c->g = ref_gaussians_from_f64(&t.g);
    c->camera = ref_camera_from_f64(&camera);
    c->compensate = compensate;
    for (uint32_t i = 0; i < PIXELS; i++) c->target[i] = (uint16_t)(65536 * test_scene_random(90, i));
    c->n_points = points_make(WIDTH, HEIGHT, c->points); /* depths of 0.8 to 5, where Gaussians stand at 2.2 to 4 */
    ref_tensors_f64 gradients = ref_tensors_make_f64(N, 0);
    chain_gradient(c, &gradients);
    for (size_t i = 0; i < PIXELS && failures < 3; i++)
        TEST_CHECK(failures, c->transmittance[i] > 2e-4, "pixel %zu ends early: %g", i, c->transmittance[i]);
    failures += check_tensor(c, c->g.p.means, gradients.means, 3 * N, "mean");
    failures += check_tensor(c, c->g.p.scales, gradients.scales, 3 * N, "scale");
    failures += check_tensor(c, c->g.p.rotations, gradients.rotations, 4 * N, "rotation");
    failures += check_tensor(c, c->g.p.opacities, gradients.opacities, N, "opacity");
    failures += check_device(backend, &t, &camera, c, &gradients);
    ref_tensors_free_f64(&gradients);
    ref_gaussians_free_f64(&c->g);
    free(c);
    test_gaussians_free(&t);
    return failures;
}

int test_op_depth_features_backward(splat_backend *backend)
{
    return check_chain(backend, true) + check_chain(backend, false);
}
