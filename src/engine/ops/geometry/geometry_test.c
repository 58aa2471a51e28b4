/* geometry and geometry_backward against the float reference, and the reference against central differences. */
#include "ops/geometry/geometry.h"

#include "ops/bin/bin.h"
#include "ops/geometry/plane_depth.h"
#include "ops/raster/raster.h"
#include "ops/raster/raster_scene_test.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static const test_scene_spec specs[] = {
    {"no Gaussians", TEST_SCENE_MIXED, 0, 20, 20, false, {0}},
    {"one pixel", TEST_SCENE_SOFT, 40, 1, 1, false, {0}},
    {"one Gaussian", TEST_SCENE_SOFT, 1, 40, 23, true, {0}},
    {"whole tiles", TEST_SCENE_MIXED, 300, 64, 48, false, {0}},
    {"edge tiles", TEST_SCENE_MIXED, 700, 101, 67, false, {0}},
    {"edge tiles, jitter", TEST_SCENE_MIXED, 700, 101, 67, true, {0}},
    {"one row", TEST_SCENE_MIXED, 200, 130, 1, true, {0}},
    {"one column", TEST_SCENE_MIXED, 200, 1, 130, false, {0}},
    {"opaque", TEST_SCENE_OPAQUE, 200, 50, 40, false, {0}},
    {"transparent", TEST_SCENE_TRANSPARENT, 200, 50, 40, false, {0}},
    {"10000 on a tile", TEST_SCENE_STACKED, 10000, 20, 18, true, {0}},
};
enum { N_SPECS = sizeof specs / sizeof specs[0], CHANNELS = SPLAT_GEOMETRY_CHANNELS, N_VALUES = 10 };

/* Planes of a scene's Gaussians: a unit vector that faces the camera more or less, sometimes the plane edge on, and the
 * distance with which the middle of the picture meets the plane at the Gaussian's depth. */
static float *make_features(const test_scene *scene)
{
    float *features = calloc(scene->spec.n + 1, CHANNELS * sizeof *features);
    for (uint32_t v = 0; v < scene->spec.n; v++) {
        float n[3], length = 0, *feature = features + CHANNELS * v;
        for (uint32_t k = 0; k < 3; k++) n[k] = 2 * test_scene_random(50 + k, v) - 1 + 1e-3f;
        n[2] = v % 9 == 4 ? 0.1f * n[2] : -fabsf(n[2]) - 0.5f;
        for (int k = 0; k < 3; k++) length += n[k] * n[k];
        for (int k = 0; k < 3; k++) feature[1 + k] = n[k] / sqrtf(length);
        feature[0] = scene->splats[v].depth * fabsf(feature[3]);
    }
    return features;
}

/* Half a unit before to a quarter behind the depth. */
static float *make_spans(const test_scene *scene)
{
    float *spans = calloc(scene->spec.n + 1, 2 * sizeof *spans);
    for (uint32_t v = 0; v < scene->spec.n; v++) {
        spans[2 * v] = scene->splats[v].depth - 0.5f;
        spans[2 * v + 1] = scene->splats[v].depth + 0.25f;
    }
    return spans;
}

/* The ray through the sampling position of a pixel. */
static void ray_of(const test_scene *scene, size_t pixel, float ray[3])
{
    ref_camera_f32 camera = ref_camera_from_f32(&scene->frame.camera);
    float x = (float)(pixel % (size_t)scene->spec.width), y = (float)(pixel / (size_t)scene->spec.width);
    if (scene->jitter) x += scene->jitter[pixel], y += scene->jitter[scene->n_pixels + pixel];
    ref_plane_ray_f32(&camera, false, x, y, ray);
}

static double *widen(const float *values, size_t n)
{
    double *wide = calloc(n + 1, sizeof *wide);
    for (size_t i = 0; i < n; i++) wide[i] = values[i];
    return wide;
}

/* ---------------------------------------------------------------- a run on a backend */

typedef struct run_result {
    float *maps, *median, *transmittance, *gradients;
    uint32_t *last;
    size_t n_pixels, n_values;
} run_result;

static void result_free(run_result *r)
{
    free(r->maps);
    free(r->median);
    free(r->transmittance);
    free(r->gradients);
    free(r->last);
}

typedef struct run_blocks {
    splat_block features, spans, maps, median, grad_maps, grad_alpha, gradients;
} run_blocks;

static splat_status run_bands(splat_backend *backend, test_scene *scene, bool normalize, uint64_t max_instances,
                              run_blocks *b, splat_error *error)
{
    splat_frame *frame = &scene->frame;
    struct splat_geometry_args forward = {frame, b->features.data, normalize, b->maps.data, b->median.data,
                                          b->spans.data, false};
    struct splat_geometry_backward_args backward = {frame, b->features.data, b->grad_maps.data, b->grad_alpha.data,
                                                    b->gradients.data};
    splat_view_blend blend = {.max_instances = max_instances, .geometry = &forward};
    SPLAT_TRY(splat_view_forward(backend, frame, &blend, error));
    SPLAT_TRY(splat_view_backward(backend, frame, &(splat_view_gradients){.geometry = &backward}, error));
    return splat_backend_synchronize(backend, error);
}

static void *fetch(splat_backend *backend, const void *device, size_t n)
{
    void *host = calloc(n + 1, 4);
    test_download(backend, host, device, 4 * n);
    return host;
}

/* grad: [5][n_pixels], the last for alpha. max_instances: 0, or the bound of bands. */
static run_result run(splat_backend *backend, test_scene *scene, bool normalize, const float *grad,
                      uint64_t max_instances, int *failures)
{
    run_blocks b = {0};
    splat_error error = {0};
    size_t n = scene->n_pixels, plane = n * sizeof(float);
    run_result r = {.n_pixels = n, .n_values = N_VALUES * (size_t)scene->spec.n};
    float *features = make_features(scene), *spans = make_spans(scene);
    test_upload(backend, &b.features, features, CHANNELS * scene->spec.n * sizeof *features);
    test_upload(backend, &b.spans, spans, 2 * scene->spec.n * sizeof *spans);
    test_upload(backend, &b.maps, NULL, CHANNELS * plane);
    test_upload(backend, &b.median, NULL, plane);
    test_upload(backend, &b.grad_maps, grad, CHANNELS * plane);
    test_upload(backend, &b.grad_alpha, grad + CHANNELS * n, plane);
    test_upload(backend, &b.gradients, NULL, r.n_values * sizeof(float));
    TEST_CHECK(*failures, run_bands(backend, scene, normalize, max_instances, &b, &error) == SPLAT_OK, "%s",
               error.message);
    r.maps = fetch(backend, b.maps.data, CHANNELS * n);
    r.median = fetch(backend, b.median.data, n);
    r.transmittance = fetch(backend, scene->frame.transmittance, n);
    r.last = fetch(backend, scene->frame.last, n);
    r.gradients = fetch(backend, b.gradients.data, r.n_values);
    splat_block *all[] = {&b.features, &b.spans, &b.maps, &b.median, &b.grad_maps, &b.grad_alpha, &b.gradients};
    for (size_t i = 0; i < sizeof all / sizeof all[0]; i++) splat_block_free(backend, all[i]);
    free(features);
    free(spans);
    return r;
}

/* Random in [-1, 1), zero in the band. */
static float *make_gradient(const test_scene *scene)
{
    float *grad = calloc(5 * scene->n_pixels, sizeof *grad);
    for (uint32_t i = 0; i < 5 * scene->n_pixels; i++)
        if (!scene->band[i % scene->n_pixels]) grad[i] = 2 * test_scene_random(31, i) - 1;
    return grad;
}

/* ---------------------------------------------------------------- forward */

static double nmse_outside_band(const test_scene *scene, const float *got, const float *wanted)
{
    size_t n = 0;
    float *a = calloc(scene->n_pixels, sizeof *a), *b = calloc(scene->n_pixels, sizeof *b);
    for (size_t pixel = 0; pixel < scene->n_pixels; pixel++) {
        if (scene->band[pixel]) continue;
        a[n] = got[pixel];
        b[n++] = wanted[pixel];
    }
    double nmse = test_nmse(a, b, n);
    free(a);
    free(b);
    return nmse;
}

/* If T comes within rounding of 1/2, either neighbour may be the median (seen: 0 of 6767); otherwise the rounding of a
 * plane seen at a cosine of 0.02 remains, 3e-6. */
static int check_median(const test_scene *scene, const float *features, const run_result *r, const uint32_t *middle)
{
    int failures = 0;
    float *spans = make_spans(scene);
    size_t n_wrong = 0, n_set = 0, n_between = 0;
    for (size_t pixel = 0; pixel < scene->n_pixels; pixel++) {
        float ray[3], wanted = 0;
        uint32_t v = middle[pixel];
        if (scene->band[pixel]) continue;
        ray_of(scene, pixel, ray);
        if (v < scene->spec.n) wanted = ref_plane_median_f32(features + CHANNELS * v, spans + 2 * v, ray);
        n_wrong += !(fabsf(r->median[pixel] - wanted) <= 1e-5f * wanted);
        n_set += wanted > 0;
        n_between += v < scene->spec.n && wanted > spans[2 * v] && wanted < spans[2 * v + 1];
    }
    free(spans);
    TEST_CHECK(failures, n_set < 100 || (n_between > n_set / 10 && n_between < n_set), "%s: %zu of %zu medians between",
               scene->spec.name, n_between, n_set);
    TEST_CHECK(failures, n_wrong <= scene->n_pixels / 1000, "%s: %zu medians differ", scene->spec.name, n_wrong);
    TEST_CHECK(failures, n_set > 0 || scene->spec.n < 2 || scene->spec.kind == TEST_SCENE_TRANSPARENT,
               "%s: no median to compare", scene->spec.name);
    return failures;
}

/* NMSE 1e-7 as for raster: the decisions are the same, so only roundings are left (seen: 4e-15). */
static int check_maps(const test_scene *scene, const run_result *r)
{
    int failures = 0;
    size_t n = scene->n_pixels;
    float *features = make_features(scene), *maps = calloc(CHANNELS * n, sizeof *maps);
    float *t = calloc(n, sizeof *t);
    uint32_t *middle = calloc(n, sizeof *middle);
    ref_geometry_f32(scene->spec.n, scene->splats, features, scene->spec.width, scene->spec.height, scene->jitter, maps,
                     t, middle);
    for (size_t ch = 0; ch < CHANNELS; ch++) {
        double nmse = nmse_outside_band(scene, r->maps + ch * n, maps + ch * n);
        TEST_CHECK(failures, nmse <= 1e-7, "%s: NMSE %g of map %zu", scene->spec.name, nmse, ch);
    }
    double nmse = nmse_outside_band(scene, r->transmittance, t);
    TEST_CHECK(failures, nmse <= 1e-7, "%s: NMSE %g of transmittance", scene->spec.name, nmse);
    failures += check_median(scene, features, r, middle);
    free(features);
    free(maps);
    free(t);
    free(middle);
    return failures;
}

/* From the plain maps to the normalized ones; both come from the same sums. */
static int check_normalized(const test_scene *scene, const run_result *plain, const run_result *normalized)
{
    int failures = 0;
    size_t n = scene->n_pixels, n_deep = 0;
    for (size_t pixel = 0; pixel < n && failures < 5; pixel++) {
        double length = 0, found = 0;
        float alpha = 1 - plain->transmittance[pixel], maps[4], ray[3], wanted;
        splat_plane_read(plain->maps, n, pixel, maps);
        ray_of(scene, pixel, ray);
        n_deep += ref_plane_depth_f32(maps, alpha, ray, &wanted, NULL);
        for (size_t k = 1; k < CHANNELS; k++) length += pow((double)plain->maps[k * n + pixel], 2);
        for (size_t k = 1; k < CHANNELS; k++) found += pow((double)normalized->maps[k * n + pixel], 2);
        float got = normalized->maps[pixel];
        /* three products of size 1 in the divisor, of 0.02 and more; one that is at 0.02 itself could be 0 or not */
        TEST_CHECK(failures, fabsf(got - wanted) <= 1e-5f * wanted, "%s: pixel %zu: depth %.9g, not %.9g",
                   scene->spec.name, pixel, (double)got, (double)wanted);
        TEST_CHECK(failures, length > 0 ? fabs(found - 1) < 1e-6 : found == 0, "%s: pixel %zu: a normal of %g",
                   scene->spec.name, pixel, sqrt(found));
    }
    TEST_CHECK(failures, n_deep > 0 || scene->spec.n < 2 || scene->spec.kind == TEST_SCENE_TRANSPARENT, "%s: no depth",
               scene->spec.name);
    return failures;
}

/* Transmittance and last as raster writes them: the same bits on the CPU. */
static int check_like_raster(splat_backend *backend, test_scene *scene, const run_result *r)
{
    int failures = 0;
    splat_error error = {0};
    scene->frame.max_instances = 0;
    TEST_CHECK(failures, test_scene_run(backend, scene, NULL, &error) == SPLAT_OK, "%s", error.message);
    test_result wanted = test_result_make(backend, scene);
    bool exact = strcmp(splat_backend_name(backend), "cpu") == 0;
    for (size_t pixel = 0; pixel < scene->n_pixels && failures < 5; pixel++) {
        if (!exact && scene->band[pixel]) continue;
        double difference = fabs((double)r->transmittance[pixel] - (double)wanted.transmittance[pixel]);
        TEST_CHECK(failures, exact ? difference == 0 : difference < 1e-5, "%s: transmittance of pixel %zu: %g, not %g",
                   scene->spec.name, pixel, (double)r->transmittance[pixel], (double)wanted.transmittance[pixel]);
        TEST_CHECK(failures, r->last[pixel] == wanted.last[pixel], "%s: last of pixel %zu", scene->spec.name, pixel);
    }
    test_result_free(&wanted);
    return failures;
}

int test_op_geometry(splat_backend *backend)
{
    int failures = 0;
    for (size_t i = 0; i < N_SPECS; i++) {
        test_scene scene;
        test_scene_make(backend, &specs[i], 1e-5, &scene);
        float *grad = make_gradient(&scene);
        run_result plain = run(backend, &scene, false, grad, 0, &failures);
        run_result normalized = run(backend, &scene, true, grad, 0, &failures);
        failures += check_maps(&scene, &plain);
        failures += check_normalized(&scene, &plain, &normalized);
        failures += check_like_raster(backend, &scene, &plain);
        result_free(&plain);
        result_free(&normalized);
        free(grad);
        test_scene_free(backend, &scene);
    }
    return failures;
}

/* ---------------------------------------------------------------- backward */

static const char *const value_names[N_VALUES] = {"mean_x",  "mean_y", "conic_a",  "conic_b",  "conic_c",
                                                  "opacity", "distance", "normal_x", "normal_y", "normal_z"};

/* The reference's gradients in the order of splat_grad2d. */
static float value_of(const ref_grad2d_f32 *g, const float *feature, size_t k)
{
    const float values[N_VALUES] = {g->mean_x,  g->mean_y,  g->conic_a, g->conic_b, g->conic_c,
                                    g->opacity, feature[0], feature[1], feature[2], feature[3]};
    return values[k];
}

/* Pixels of the band have no gradient. NMSE 1e-6 as for raster_backward, for the same reasons. */
static int check_gradients(const test_scene *scene, const float *grad, const run_result *r)
{
    int failures = 0;
    uint32_t n = scene->spec.n;
    float *features = make_features(scene), *grad_features = calloc(n + 1, CHANNELS * sizeof *grad_features);
    ref_grad2d_f32 *grads = calloc(n + 1, sizeof *grads);
    ref_geometry_backward_f32(n, scene->splats, features, scene->spec.width, scene->spec.height, scene->jitter, grad,
                              grad + CHANNELS * scene->n_pixels, grads, grad_features);
    float *a = calloc(n + 1, sizeof *a), *b = calloc(n + 1, sizeof *b);
    for (size_t k = 0; k < N_VALUES; k++) {
        for (size_t v = 0; v < n; v++) {
            a[v] = r->gradients[N_VALUES * v + k];
            b[v] = value_of(&grads[v], grad_features + CHANNELS * v, k);
        }
        double nmse = test_nmse(a, b, n);
        TEST_CHECK(failures, nmse <= 1e-6, "%s: NMSE %g of %s", scene->spec.name, nmse, value_names[k]);
    }
    free(a);
    free(b);
    free(grads);
    free(features);
    free(grad_features);
    return failures;
}

/* In as many bands as can be: the maps bit by bit, the gradients up to the order of sums (raster_bands_test.c). */
static int check_bands(splat_backend *backend, const test_scene_spec *spec, const float *grad, const run_result *whole)
{
    int failures = 0;
    test_scene scene;
    test_scene_make(backend, spec, -1, &scene);
    splat_error error = {0};
    TEST_CHECK(failures, test_scene_run(backend, &scene, NULL, &error) == SPLAT_OK, "%s", error.message);
    test_result lists = test_result_make(backend, &scene);
    uint64_t bound = 1;
    for (uint32_t row = 0, x = scene.frame.tiles_x; row < scene.frame.tiles_y; row++) {
        uint64_t count = lists.tile_begin[(row + 1) * x] - lists.tile_begin[row * x];
        bound = count > bound ? count : bound;
    }
    test_result_free(&lists);
    test_scene_free(backend, &scene);
    test_scene_make(backend, spec, -1, &scene);
    run_result r = run(backend, &scene, false, grad, bound, &failures);
    TEST_CHECK(failures, !memcmp(r.maps, whole->maps, CHANNELS * r.n_pixels * sizeof(float)), "maps in bands");
    TEST_CHECK(failures, !memcmp(r.median, whole->median, r.n_pixels * sizeof(float)), "median in bands");
    TEST_CHECK(failures, test_nmse(r.gradients, whole->gradients, r.n_values) <= 1e-9, "gradients in bands: NMSE %g",
               test_nmse(r.gradients, whole->gradients, r.n_values));
    result_free(&r);
    test_scene_free(backend, &scene);
    return failures;
}

/* The same bytes at every SIMD level and number of threads. */
static int check_everywhere(splat_backend *backend, const test_scene_spec *spec, const float *grad,
                            const run_result *wanted)
{
    static const char *const levels[] = {"c", "avx2", "avx512"};
    int failures = 0;
    if (strcmp(splat_backend_name(backend), "cpu") != 0) return 0;
    for (int level = 0; level < 3; level++) {
        splat_backend *other;
        if (splat_backend_cpu_create(2 + level, levels[level], &other, NULL) != SPLAT_OK) continue;
        test_scene scene;
        test_scene_make(other, spec, -1, &scene);
        run_result r = run(other, &scene, false, grad, 0, &failures);
        TEST_CHECK(failures, !memcmp(r.maps, wanted->maps, CHANNELS * r.n_pixels * sizeof(float)) &&
                                 !memcmp(r.median, wanted->median, r.n_pixels * sizeof(float)) &&
                                 !memcmp(r.gradients, wanted->gradients, r.n_values * sizeof(float)),
                   "%s differs on %s", spec->name, other->description);
        result_free(&r);
        test_scene_free(other, &scene);
        splat_backend_destroy(other);
    }
    return failures;
}

/* ---------------------------------------------------------------- the reference */

typedef struct objective {
    const test_scene *scene;
    ref_splat2d_f64 *splats; /* changed by the differences, as the features */
    double *features, *grad, *maps, *transmittance;
} objective;

static double evaluate(objective *o)
{
    const test_scene_spec *spec = &o->scene->spec;
    size_t n = o->scene->n_pixels;
    double sum = 0;
    ref_geometry_f64(spec->n, o->splats, o->features, spec->width, spec->height, o->scene->jitter_f64, o->maps,
                     o->transmittance, NULL);
    for (size_t i = 0; i < CHANNELS * n; i++) sum += o->grad[i] * o->maps[i];
    for (size_t i = 0; i < n; i++) sum += o->grad[CHANNELS * n + i] * (1 - o->transmittance[i]);
    return sum;
}

static int check_difference(objective *o, double *parameter, double step, double analytic, const char *name)
{
    int failures = 0;
    double saved = *parameter;
    *parameter = saved + step;
    double above = evaluate(o);
    *parameter = saved - step;
    double below = evaluate(o), numeric = (above - below) / (2 * step);
    *parameter = saved;
    /* As in raster_backward_test.c: truncation and rounding near 1e-9 of the value, depths of up to 8 in the sums. */
    TEST_CHECK(failures, fabs(numeric - analytic) <= 1e-6 * fabs(numeric) + 1e-5, "%s: %.12g, difference %.12g", name,
               analytic, numeric);
    return failures;
}

static int check_reference(splat_backend *backend, bool jitter)
{
    int failures = 0;
    test_scene_spec spec = {"differences", TEST_SCENE_SOFT, 12, 23, 19, jitter, {0}};
    test_scene scene;
    test_scene_make(backend, &spec, 1e-3, &scene); /* as in raster_backward_test.c: no step crosses a threshold */
    float *features = make_features(&scene), *grad = make_gradient(&scene);
    size_t n = scene.n_pixels;
    objective o = {&scene, scene.splats_f64, widen(features, CHANNELS * spec.n), widen(grad, 5 * n),
                   calloc(CHANNELS * n, sizeof(double)), calloc(n, sizeof(double))};
    ref_grad2d_f64 *grads = calloc(spec.n, sizeof *grads);
    double *grad_features = calloc(spec.n, CHANNELS * sizeof *grad_features);
    ref_geometry_backward_f64(spec.n, o.splats, o.features, spec.width, spec.height, scene.jitter_f64, o.grad,
                              o.grad + CHANNELS * n, grads, grad_features);
    for (uint32_t v = 0; v < spec.n; v++) {
        ref_splat2d_f64 *s = &o.splats[v];
        failures += check_difference(&o, &s->u, 1e-6, grads[v].mean_x, "u");
        failures += check_difference(&o, &s->v, 1e-6, grads[v].mean_y, "v");
        failures += check_difference(&o, &s->a, 1e-7, grads[v].conic_a, "a");
        failures += check_difference(&o, &s->b, 1e-7, grads[v].conic_b, "b");
        failures += check_difference(&o, &s->c, 1e-7, grads[v].conic_c, "c");
        failures += check_difference(&o, &s->alpha0, 1e-6, grads[v].opacity, "alpha0");
        for (size_t k = 0; k < CHANNELS; k++)
            failures += check_difference(&o, &o.features[CHANNELS * v + k], 1e-6, grad_features[CHANNELS * v + k],
                                         "a feature");
    }
    free(grads);
    free(grad_features);
    free(features);
    free(grad);
    free(o.features);
    free(o.grad);
    free(o.maps);
    free(o.transmittance);
    test_scene_free(backend, &scene);
    return failures;
}

int test_op_geometry_backward(splat_backend *backend)
{
    int failures = check_reference(backend, false) + check_reference(backend, true);
    for (size_t i = 0; i < N_SPECS; i++) {
        test_scene scene;
        test_scene_make(backend, &specs[i], 1e-5, &scene);
        float *grad = make_gradient(&scene);
        run_result r = run(backend, &scene, false, grad, 0, &failures);
        failures += check_gradients(&scene, grad, &r);
        if (specs[i].n && specs[i].kind == TEST_SCENE_MIXED) failures += check_bands(backend, &specs[i], grad, &r);
        failures += check_everywhere(backend, &specs[i], grad, &r);
        result_free(&r);
        free(grad);
        test_scene_free(backend, &scene);
    }
    return failures;
}
