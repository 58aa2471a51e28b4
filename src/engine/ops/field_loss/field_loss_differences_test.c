/* The scenes of the tests of field_loss, and its reference against central differences. */
#include "ops/field_loss/field_loss_test.h"

#include "base/rng.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

float field_random(uint32_t k, uint32_t i)
{
    return splat_uniform(splat_random(91, SPLAT_STREAM_TEST, k / 4, i).x[k % 4]);
}

/* Camera space to world. */
static void to_world(const splat_camera *c, const float p[3], float *world)
{
    for (int a = 0; a < 3; a++) {
        world[a] = 0;
        for (int k = 0; k < 3; k++) world[a] += c->rotation[3 * k + a] * (p[k] - c->translation[k]);
    }
}

static void shape(field_scene_kind kind, const splat_gaussians *g, uint32_t i)
{
    uint32_t flat = i % 3;
    for (uint32_t k = 0; k < 3; k++)
        g->p.scales[3 * i + k] = (k == flat ? -3.8f : -2.6f) + 0.6f * field_random(4 + k, i);
    for (uint32_t k = 0; k < 4; k++) g->p.rotations[4 * i + k] = 2 * field_random(8 + k, i) - 1;
    g->p.opacities[i] = 6 * field_random(3, i) - 2;
    if (kind == FIELD_FAINT) g->p.opacities[i] = -50;
    for (uint32_t k = 0; k < 3 && kind == FIELD_TINY; k++) { /* at z = 0, so that points have digits across the disc */
        g->p.means[3 * i + k] = k < 2 ? 0.5f * (float)(k ? i / 8 : i / 2 % 4) - 0.5f : 0;
        g->p.scales[3 * i + k] = k == 2 ? -19.0f - 0.1f * (float)(i % 7) : -5.0f;
        g->p.rotations[4 * i + k + 1] = 0;
    }
    if (kind == FIELD_NEEDLES)
        for (uint32_t k = 0; k < 3; k++) g->p.scales[3 * i + k] = -20 + 22 * field_random(4 + k, i);
}

void field_scene_connect(field_scene *scene)
{
    uint32_t n = scene->t.g.n;
    if (n > SPLAT_NEIGHBORS) ref_knn_f32(n, scene->t.g.p.means, SPLAT_NEIGHBORS, NULL, scene->neighbors);
}

/* The depth map is smooth, so that a derivative says nearly the same on both sides of a pixel's centre. */
field_scene field_scene_make(field_scene_kind kind, uint32_t n, int width, int height)
{
    field_scene s = {.t = test_gaussians_make(n, 0, 0, 3), .camera = test_camera_make(width, height),
                     .n_pixels = (size_t)width * (size_t)height};
    s.neighbors = calloc(SPLAT_NEIGHBORS * (size_t)n + 1, sizeof *s.neighbors);
    s.maps = calloc(s.n_pixels, sizeof *s.maps);
    s.transmittance = calloc(s.n_pixels, sizeof *s.transmittance);
    for (uint32_t i = 0; i < n; i++) {
        float x = 4 * field_random(0, i) - 2, y = 4 * field_random(1, i) - 2;
        float p[3] = {x, y, 3 + 0.2f * sinf(2 * x) + 0.1f * cosf(3 * y) + 0.1f * field_random(2, i)};
        to_world(&s.camera, p, s.t.g.p.means + 3 * (size_t)i);
        shape(kind, &s.t.g, i);
        s.t.g.filter_3d[i] = 0;
    }
    for (size_t i = 0; i < s.n_pixels; i++) {
        float x = (float)(i % (size_t)width) / (float)width, y = (float)(i / (size_t)width) / (float)height;
        s.transmittance[i] = 0.02f + 0.02f * cosf(4 * x + y);
        s.maps[i] = (1 - s.transmittance[i]) * (3.05f + 0.1f * sinf(5 * x) + 0.05f * cosf(4 * y));
    }
    field_scene_connect(&s);
    return s;
}

void field_scene_free(field_scene *scene)
{
    test_gaussians_free(&scene->t);
    free(scene->neighbors);
    free(scene->maps);
    free(scene->transmittance);
}

/* ---------------------------------------------------------------- central differences */

enum { N = 40, M = 60, WIDTH = 14, HEIGHT = 11, PIXELS = WIDTH * HEIGHT };

typedef struct problem {
    ref_gaussians_f64 g, fixed;
    const uint32_t *neighbors;
    uint32_t generators[M];
    double xi[3 * M], maps[PIXELS], transmittance[PIXELS], n_counting;
    ref_camera_f64 camera;
    ref_field_surface_f64 surface;
    bool sdf;
} problem;

#define FIELD_WEIGHT 3.0
#define NORMAL_WEIGHT 2.0

static double value_of(problem *p)
{
    double r[3];
    ref_field_loss_f64(&p->g, &p->fixed, p->neighbors, M, p->generators, p->xi, p->sdf ? &p->surface : NULL,
                       FIELD_WEIGHT, NORMAL_WEIGHT, r, NULL, NULL, NULL);
    p->n_counting = r[2];
    return FIELD_WEIGHT * r[0] + NORMAL_WEIGHT * r[1];
}

static double difference(problem *p, double *parameter)
{
    double kept = *parameter, step = 1e-6;
    *parameter = kept + step;
    double above = value_of(p);
    *parameter = kept - step;
    double below = value_of(p);
    *parameter = kept;
    return (above - below) / (2 * step);
}

/* The value is near 3 and its third derivatives below 1e6 (the scales are 0.02 and more): a step of 1e-6 leaves 1e-6 of
 * truncation and 1e-9 of rounding. */
static int compare(problem *p, const char *name, double *parameters, const double *gradient, size_t n, double sign)
{
    int failures = 0;
    double largest = 0;
    for (size_t i = 0; i < n; i++) {
        double numeric = sign * difference(p, &parameters[i]);
        largest = fmax(largest, fabs(numeric));
        TEST_CHECK(failures, fabs(numeric - gradient[i]) <= 1e-6 + 1e-6 * fabs(numeric),
                   "%s %s %zu: %.9g, difference %.9g", p->sdf ? "SDF" : "density", name, i, gradient[i], numeric);
    }
    TEST_CHECK(failures, largest > 1e-3, "%s has no gradient", name);
    return failures;
}

static int check_mode(const field_scene *s, bool sdf, double extent, double range)
{
    int failures = 0;
    problem p = {.g = ref_gaussians_from_f64(&s->t.g), .fixed = ref_gaussians_from_f64(&s->t.g), .sdf = sdf};
    ref_tensors_f64 gradients = ref_tensors_make_f64(N, 0);
    double grad_maps[PIXELS] = {0}, grad_alpha[PIXELS] = {0}, r[3];
    p.neighbors = s->neighbors;
    p.camera = ref_camera_from_f64(&s->camera);
    p.surface = (ref_field_surface_f64){&p.camera, p.maps, p.transmittance, extent, range};
    for (size_t i = 0; i < PIXELS; i++) p.maps[i] = s->maps[i], p.transmittance[i] = s->transmittance[i];
    for (uint32_t i = 0; i < M; i++) {
        p.generators[i] = i * 7 % N;
        for (uint32_t k = 0; k < 3; k++) p.xi[3 * i + k] = 3 * ((double)field_random(20 + k, i) - 0.5);
    }
    ref_field_loss_f64(&p.g, &p.fixed, p.neighbors, M, p.generators, p.xi, sdf ? &p.surface : NULL, FIELD_WEIGHT,
                       NORMAL_WEIGHT, r, &gradients, grad_maps, grad_alpha);
    bool all = !sdf || range > 1000;
    TEST_CHECK(failures, all ? r[2] == M : r[2] > M / 3 && r[2] < M, "%g samples count", r[2]);
    double n_counting = r[2]; /* no step moves a sample over the limit */
    failures += compare(&p, "mean", p.g.p.means, gradients.means, 3 * N, 1);
    failures += compare(&p, "scale", p.g.p.scales, gradients.scales, 3 * N, 1);
    failures += compare(&p, "rotation", p.g.p.rotations, gradients.rotations, 4 * N, 1);
    failures += compare(&p, "opacity", p.g.p.opacities, gradients.opacities, N, 1);
    if (sdf) failures += compare(&p, "map", p.maps, grad_maps, PIXELS, 1);
    if (sdf) failures += compare(&p, "alpha", p.transmittance, grad_alpha, PIXELS, -1);
    TEST_CHECK(failures, p.n_counting == n_counting, "%g samples count, then %g", n_counting, p.n_counting);
    ref_tensors_free_f64(&gradients);
    ref_gaussians_free_f64(&p.g);
    ref_gaussians_free_f64(&p.fixed);
    return failures;
}

int check_field_differences(void)
{
    /* With E = 0.3 some samples are beyond 10 E, most are not; and with a range of 5 deviations some beyond that. */
    field_scene s = field_scene_make(FIELD_DISCS, N, WIDTH, HEIGHT);
    int failures = check_mode(&s, false, 0, 0) + check_mode(&s, true, 2, 1e9);
    failures += check_mode(&s, true, 0.3, 1e9) + check_mode(&s, true, 2, 5);
    field_scene_free(&s);
    return failures;
}
