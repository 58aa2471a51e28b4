/* raster_backward against the float reference, and the reference against central differences in double. */
#include "ops/raster/raster.h"

#include "ops/raster/raster_scene_test.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static const test_scene_spec specs[] = {
    {"no Gaussians", TEST_SCENE_MIXED, 0, 20, 20, false, {0.2f, 0.4f, 0.6f}},
    {"one pixel", TEST_SCENE_SOFT, 40, 1, 1, false, {0.2f, 0.4f, 0.6f}},
    {"one Gaussian", TEST_SCENE_SOFT, 1, 40, 23, true, {1, 0, 0}},
    {"edge tiles", TEST_SCENE_MIXED, 700, 101, 67, false, {0.2f, 0.4f, 0.6f}},
    {"edge tiles, jitter", TEST_SCENE_MIXED, 700, 101, 67, true, {0.2f, 0.4f, 0.6f}},
    {"one column", TEST_SCENE_MIXED, 200, 1, 130, false, {0}},
    {"opaque", TEST_SCENE_OPAQUE, 200, 50, 40, false, {1, 0, 1}},
    {"clamped", TEST_SCENE_FLAT, 1, 50, 40, false, {1, 0, 1}},
    {"clamped, jitter", TEST_SCENE_FLAT, 1, 50, 40, true, {1, 0, 1}},
    {"transparent", TEST_SCENE_TRANSPARENT, 200, 50, 40, false, {0.2f, 0.4f, 0.6f}},
    {"10000 on a tile", TEST_SCENE_STACKED, 10000, 20, 18, true, {0.2f, 0.4f, 0.6f}},
};
enum { N_VALUES = 10 }; /* floats of splat_grad2d, in the order of ref_grad2d */
static const char *const value_names[N_VALUES + 1] = {"mean_x",  "mean_y", "conic_a", "conic_b", "conic_c",
                                                  "opacity", "r",      "g",       "b",       "mean_abs", "depth"};

/* NMSE 1e-6 of each value: T is rebuilt by divisions (one rounding an entry), and the mean's gradient follows from
 * moments whose parts cancel. Gaussians without any gradient have none. */
static int check_gradients(const test_scene_spec *spec, const float *grad2d, const ref_grad2d_f32 *wanted)
{
    int failures = 0;
    float *a = calloc(spec->n + 1, sizeof *a), *b = calloc(spec->n + 1, sizeof *b);
    for (size_t k = 0; k < N_VALUES; k++) {
        for (size_t v = 0; v < spec->n; v++) {
            a[v] = grad2d[N_VALUES * v + k];
            b[v] = ((const float *)&wanted[v])[k];
        }
        double nmse = test_nmse(a, b, spec->n);
        TEST_CHECK(failures, nmse <= 1e-6, "%s: NMSE %g of %s", spec->name, nmse, value_names[k]);
    }
    static const ref_grad2d_f32 zero;
    for (size_t v = 0; v < spec->n && failures < 5; v++)
        for (size_t k = 0; k < N_VALUES && memcmp(&wanted[v], &zero, sizeof zero) == 0; k++)
            TEST_CHECK(failures, grad2d[N_VALUES * v + k] == 0, "%s: unseen Gaussian %zu has %s", spec->name, v,
                       value_names[k]);
    free(a);
    free(b);
    return failures;
}

/* Checks dL/dz, as the others are checked. */
static int check_depth_gradients(const test_scene *scene, const float *got, const float *wanted, float factor)
{
    int failures = 0;
    float *scaled = calloc(scene->spec.n + 1, sizeof *scaled);
    for (size_t v = 0; v < scene->spec.n; v++) scaled[v] = factor * wanted[v];
    if (!scene->with_depth) got = scaled;
    double nmse = test_nmse(got, scaled, scene->spec.n);
    TEST_CHECK(failures, nmse <= 1e-6, "%s: NMSE %g of depth", scene->spec.name, nmse);
    for (size_t v = 0; v < scene->spec.n && failures < 5; v++)
        TEST_CHECK(failures, wanted[v] != 0 || got[v] == 0, "%s: Gaussian %zu has depth", scene->spec.name, v);
    free(scaled);
    return failures;
}

/* The same pass without mean_abs, which stays zero. */
static int check_without_mean_abs(splat_backend *backend, test_scene *scene, const float *grad, ref_grad2d_f32 *wanted,
                                  const float *depth)
{
    int failures = 0;
    splat_error error = {0};
    scene->without_mean_abs = true;
    TEST_CHECK(failures, test_scene_run(backend, scene, grad, &error) == SPLAT_OK, "%s", error.message);
    test_result r = test_result_make(backend, scene);
    for (size_t v = 0; v < scene->spec.n; v++) wanted[v].mean_abs = 0;
    failures += check_gradients(&scene->spec, r.grad2d, wanted);
    failures += check_depth_gradients(scene, r.grad_depth, depth, 1);
    for (size_t v = 0; v < scene->spec.n && failures < 5; v++)
        TEST_CHECK(failures, r.grad2d[N_VALUES * v + 9] == 0, "%s: mean_abs of %zu was summed", scene->spec.name, v);
    test_result_free(&r);
    return failures;
}

/* Random, of the size of the colours' gradients, and zero in the band. */
static float *opacity_gradient(const test_scene *scene)
{
    float *grad = calloc(scene->n_pixels, sizeof *grad);
    for (uint32_t i = 0; i < scene->n_pixels; i++)
        if (!scene->band[i]) grad[i] = 2 * test_scene_random(31, i) - 1;
    return grad;
}

/* The gradients of a loss that is as small or as large as this are so, too: a device that sums in fixed point chooses
 * its units by them. wanted: the gradients of the loss as it is. */
static int check_loss_times(splat_backend *backend, test_scene *scene, float factor, const float *grad,
                            const float *alpha, const ref_grad2d_f32 *wanted, const float *depth)
{
    int failures = 0;
    splat_error error = {0};
    const size_t n_pixels = scene->n_pixels, n = scene->spec.n;
    float *scaled = calloc(4 * n_pixels, sizeof *scaled);
    ref_grad2d_f32 *expected = calloc(n + 1, sizeof *expected);
    for (size_t i = 0; i < 3 * n_pixels; i++) scaled[i] = factor * grad[i];
    for (size_t i = 0; i < n_pixels && alpha; i++) scaled[3 * n_pixels + i] = factor * alpha[i];
    for (size_t v = 0; v < n; v++)
        for (size_t k = 0; k < N_VALUES; k++) ((float *)&expected[v])[k] = factor * ((const float *)&wanted[v])[k];
    const float *kept = scene->grad_alpha;
    for (size_t i = 0; i < n_pixels && scene->with_depth; i++) {
        scene->grad_along[i] *= factor;
        scene->grad_inverse[i] *= factor;
    }
    if (alpha) scene->grad_alpha = scaled + 3 * n_pixels;
    TEST_CHECK(failures, test_scene_run(backend, scene, scaled, &error) == SPLAT_OK, "%s", error.message);
    test_result r = test_result_make(backend, scene);
    failures += check_gradients(&scene->spec, r.grad2d, expected);
    failures += check_depth_gradients(scene, r.grad_depth, depth, factor);
    scene->grad_alpha = kept;
    for (size_t i = 0; i < n_pixels && scene->with_depth; i++) {
        scene->grad_along[i] /= factor;
        scene->grad_inverse[i] /= factor;
    }
    test_result_free(&r);
    free(scaled);
    free(expected);
    return failures;
}

/* Pixels of the band have no gradient (test_scene_gradient), so all others are compared. */
static int check_scene(splat_backend *backend, const test_scene_spec *spec, bool with_alpha, bool with_depth)
{
    int failures = 0;
    splat_error error = {0};
    test_scene scene;
    test_scene_make(backend, spec, 1e-5, &scene);
    float *grad = test_scene_gradient(&scene);
    ref_grad2d_f32 *wanted = calloc(spec->n + 1, sizeof *wanted);
    float *alpha = with_alpha ? opacity_gradient(&scene) : NULL;
    float *depth = calloc(spec->n + 1, sizeof *depth);
    scene.grad_alpha = alpha;
    if (with_depth) test_scene_ask_depth(&scene);
    /* An earlier frame's content of the buffers must not show. */
    TEST_CHECK(failures, test_scene_run(backend, &scene, grad, &error) == SPLAT_OK, "%s", error.message);
    if (strcmp(splat_backend_name(backend), "cpu") == 0) {
        splat_scratch_reset(backend, NULL);
        memset(backend->scratch.block.data, 0x7f, backend->scratch.block.bytes);
    }
    TEST_CHECK(failures, test_scene_run(backend, &scene, grad, &error) == SPLAT_OK, "%s", error.message);
    test_result r = test_result_make(backend, &scene);
    const ref_depth_gradients_f32 of_depth = {scene.grad_along, scene.grad_inverse, depth};
    ref_raster_depth_backward_f32(spec->n, scene.splats, spec->width, spec->height, spec->background, scene.jitter,
                                  grad, alpha, with_depth ? &of_depth : NULL, wanted);
    failures += check_gradients(spec, r.grad2d, wanted);
    failures += check_depth_gradients(&scene, r.grad_depth, depth, 1);
    failures += check_loss_times(backend, &scene, 0x1p-40f, grad, alpha, wanted, depth);
    failures += check_loss_times(backend, &scene, 0x1p30f, grad, alpha, wanted, depth);
    failures += check_without_mean_abs(backend, &scene, grad, wanted, depth);
    free(depth);
    free(grad);
    free(alpha);
    free(wanted);
    test_result_free(&r);
    test_scene_free(backend, &scene);
    return failures;
}

/* ---------------------------------------------------------------- the reference */

typedef struct objective {
    const test_scene *scene;
    ref_splat2d_f64 *splats; /* changed by the differences */
    double *image, *transmittance, *grad, *grad_alpha;
    double *along, *inverse, *grad_along, *grad_inverse;
    double background[3];
} objective;

static double evaluate(objective *o)
{
    const test_scene_spec *spec = &o->scene->spec;
    double sum = 0;
    ref_raster_f64(spec->n, o->splats, spec->width, spec->height, o->background, o->scene->jitter_f64, o->image,
                   o->transmittance, NULL);
    for (size_t i = 0; i < 3 * o->scene->n_pixels; i++) sum += o->grad[i] * o->image[i];
    for (size_t i = 0; i < o->scene->n_pixels; i++) sum += o->grad_alpha[i] * (1 - o->transmittance[i]);
    ref_raster_depth_f64(spec->n, o->splats, spec->width, spec->height, o->scene->jitter_f64, o->along, o->inverse);
    for (size_t i = 0; i < o->scene->n_pixels; i++)
        sum += o->grad_along[i] * o->along[i] + o->grad_inverse[i] * o->inverse[i];
    return sum;
}

static double difference(objective *o, double *parameter, double step)
{
    double saved = *parameter;
    *parameter = saved + step;
    double above = evaluate(o);
    *parameter = saved - step;
    double below = evaluate(o);
    *parameter = saved;
    return (above - below) / (2 * step);
}

static int check_differences(const test_scene *scene, objective *o, const ref_grad2d_f64 *grads, const double *depth)
{
    int failures = 0;
    for (uint32_t v = 0; v < scene->spec.n; v++) {
        ref_splat2d_f64 *s = &o->splats[v];
        const ref_grad2d_f64 *g = &grads[v];
        const struct {
            double *parameter, analytic;
            size_t name;
        } checks[] = {{&s->u, g->mean_x, 0},       {&s->v, g->mean_y, 1},       {&s->a, g->conic_a, 2},
                      {&s->b, g->conic_b, 3},      {&s->c, g->conic_c, 4},      {&s->alpha0, g->opacity, 5},
                      {&s->rgb[0], g->rgb[0], 6},  {&s->rgb[1], g->rgb[1], 7},  {&s->rgb[2], g->rgb[2], 8},
                      {&s->depth, depth[v], N_VALUES}};
        for (size_t k = 0; k < sizeof checks / sizeof checks[0]; k++) {
            /* Steps of 1e-6 (conic: 1e-7, it is small): truncation and rounding are both near 1e-9 of the value, or
             * 1e-8 absolute where values nearly cancel. */
            double step = k >= 2 && k <= 4 ? 1e-7 : 1e-6, numeric = difference(o, checks[k].parameter, step);
            double error = fabs(numeric - checks[k].analytic);
            TEST_CHECK(failures, error <= 1e-6 * fabs(numeric) + 1e-6, "Gaussian %u, %s: %.12g, difference %.12g", v,
                       value_names[checks[k].name], checks[k].analytic, numeric);
        }
    }
    return failures;
}

/* mean_abs is the sum of the absolute gradients of the pixels taken alone. */
static int check_absolute(const test_scene *scene, objective *o, const ref_grad2d_f64 *grads)
{
    int failures = 0;
    const test_scene_spec *spec = &scene->spec;
    const size_t n_pixels = scene->n_pixels;
    double *sums = calloc(spec->n, sizeof *sums), *alone = calloc(6 * n_pixels, sizeof *alone);
    double *alone_alpha = alone + 3 * n_pixels, *depth = calloc(spec->n, sizeof *depth);
    const ref_depth_gradients_f64 of_depth = {alone + 4 * n_pixels, alone + 5 * n_pixels, depth};
    ref_grad2d_f64 *one = calloc(spec->n, sizeof *one);
    for (size_t pixel = 0; pixel < scene->n_pixels; pixel++) {
        for (size_t ch = 0; ch < 3; ch++) alone[ch * scene->n_pixels + pixel] = o->grad[ch * scene->n_pixels + pixel];
        alone_alpha[pixel] = o->grad_alpha[pixel];
        alone[4 * n_pixels + pixel] = o->grad_along[pixel];
        alone[5 * n_pixels + pixel] = o->grad_inverse[pixel];
        ref_raster_depth_backward_f64(spec->n, o->splats, spec->width, spec->height, o->background, scene->jitter_f64,
                                      alone, alone_alpha, &of_depth, one);
        alone_alpha[pixel] = alone[4 * n_pixels + pixel] = alone[5 * n_pixels + pixel] = 0;
        for (size_t ch = 0; ch < 3; ch++) alone[ch * scene->n_pixels + pixel] = 0;
        for (uint32_t v = 0; v < spec->n; v++)
            sums[v] += fabs(0.5 * spec->width * one[v].mean_x) + fabs(0.5 * spec->height * one[v].mean_y);
    }
    for (uint32_t v = 0; v < spec->n; v++)
        TEST_CHECK(failures, fabs(sums[v] - grads[v].mean_abs) <= 1e-12 * sums[v], "Gaussian %u: %g, by pixels %g", v,
                   grads[v].mean_abs, sums[v]);
    free(sums);
    free(depth);
    free(alone);
    free(one);
    return failures;
}

static int check_reference(splat_backend *backend, bool jitter, bool with_alpha, bool with_depth)
{
    int failures = 0;
    test_scene_spec spec = {"differences", TEST_SCENE_SOFT, 12, 23, 19, jitter, {0.3f, 0.9f, 0.1f}};
    /* Pixels within 1e-3 of a threshold have no weight, so that no step crosses one. */
    test_scene scene;
    test_scene_make(backend, &spec, 1e-3, &scene);
    TEST_CHECK(failures, scene.n_band <= scene.n_pixels / 20, "%zu pixels in the band", scene.n_band);
    const size_t n_pixels = scene.n_pixels;
    double *room = calloc(12 * n_pixels, sizeof *room), depth[12];
    objective o = {&scene, scene.splats_f64, room, room + 3 * n_pixels, room + 4 * n_pixels, room + 7 * n_pixels,
                   room + 8 * n_pixels, room + 9 * n_pixels, room + 10 * n_pixels, room + 11 * n_pixels, {0}};
    const ref_depth_gradients_f64 of_depth = {o.grad_along, o.grad_inverse, depth};
    float *alpha = opacity_gradient(&scene);
    for (size_t i = 0; with_alpha && i < scene.n_pixels; i++) o.grad_alpha[i] = alpha[i];
    float *grad = test_scene_gradient(&scene);
    for (size_t i = 0; i < 3 * scene.n_pixels; i++) o.grad[i] = grad[i];
    for (int ch = 0; ch < 3; ch++) o.background[ch] = spec.background[ch];
    if (with_depth) test_scene_ask_depth(&scene);
    for (size_t i = 0; i < n_pixels && with_depth; i++) {
        o.grad_along[i] = scene.grad_along[i];
        o.grad_inverse[i] = scene.grad_inverse[i];
    }
    ref_grad2d_f64 *grads = calloc(spec.n, sizeof *grads);
    ref_raster_depth_backward_f64(spec.n, o.splats, spec.width, spec.height, o.background, scene.jitter_f64, o.grad,
                                  with_alpha ? o.grad_alpha : NULL, &of_depth, grads);
    failures += check_differences(&scene, &o, grads, depth);
    failures += check_absolute(&scene, &o, grads);
    free(grads);
    free(grad);
    free(room);
    free(alpha);
    test_scene_free(backend, &scene);
    return failures;
}

int test_op_raster_backward(splat_backend *backend)
{
    int failures = 0;
    for (int options = 0; options < 4; options++) /* each with those before */
        TEST_CASE(failures, check_reference(backend, options > 0, options > 1, options > 2));
    for (size_t i = 0; i < 4 * sizeof specs / sizeof specs[0]; i++)
        TEST_CASE(failures, check_scene(backend, &specs[i / 4], i % 2 == 1, i / 2 % 2 == 1));
    TEST_CASE(failures, test_bands_gradient(backend));
    return failures;
}
