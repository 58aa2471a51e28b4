/* multi_view against the reference, the reference against central differences, and a plane whose answers are known. */
#include "ops/multi_view/multi_view.h"

#include "math/camera.h"
#include "ops/raster/raster_scene_test.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* A made-up pair: a plane with a pattern on it, three units away. Maps are bent by `bend` (relative, smooth), and have
 * alpha between 0.7 and 1, and with holes also less. */
typedef struct side {
    splat_camera camera, photo_camera;
    size_t n, n_photo;
    float *maps, *transmittance;
    uint8_t *photo;
} side;

typedef struct pair { side sides[2]; } pair;

typedef struct scene_spec {
    int width, height, photo_width, photo_height;
    float bend, scale; /* scale: of Dist, of both views */
    bool holes, inverted, flat;
} scene_spec;

/* The reference camera is that of test_camera_make; the neighbour is next to it, turned by `turn` radians. */
static splat_camera camera_of(int number, int width, int height)
{
    splat_camera c = test_camera_make(width, height);
    if (number == 0) return c;
    const double turn = 0.06, cosine = cos(turn), sine = sin(turn);
    double rotation[9], center[3], translation[3];
    for (int k = 0; k < 3; k++) {
        rotation[k] = cosine * (double)c.rotation[k] + sine * (double)c.rotation[6 + k];
        rotation[3 + k] = (double)c.rotation[3 + k];
        rotation[6 + k] = -sine * (double)c.rotation[k] + cosine * (double)c.rotation[6 + k];
        center[k] = (double)c.center[k] + 0.25 * (double)c.rotation[k] + 0.1 * (double)c.rotation[3 + k];
    }
    for (int k = 0; k < 3; k++)
        translation[k] = -(rotation[3 * k] * center[0] + rotation[3 * k + 1] * center[1] +
                           rotation[3 * k + 2] * center[2]);
    splat_camera_set_pose(&c, rotation, translation);
    return c;
}

/* The plane of the world, n.X + d = 0, as a camera sees it: its normal, and its distance. */
static void plane_of(const splat_camera *c, double n[3], double *d)
{
    const double world[3] = {0.25, -0.15, -0.95};
    const double length = sqrt(0.25 * 0.25 + 0.15 * 0.15 + 0.95 * 0.95);
    *d = 0;
    for (int k = 0; k < 3; k++) {
        n[k] = 0;
        for (int i = 0; i < 3; i++) n[k] += (double)c->rotation[3 * k + i] * world[i] / length;
        *d += world[k] / length * (double)c->center[k]; /* the plane goes through the origin */
    }
}

/* The pattern in the view of a camera. */
static double pattern(const splat_camera *c, double x, double y)
{
    double n[3], d, ray[3] = {(x - (double)c->cx) / (double)c->fx, (y - (double)c->cy) / (double)c->fy, 1};
    plane_of(c, n, &d);
    double depth = -d / (n[0] * ray[0] + n[1] * ray[1] + n[2] * ray[2]), world[3];
    for (int k = 0; k < 3; k++) {
        world[k] = (double)c->center[k];
        for (int i = 0; i < 3; i++) world[k] += (double)c->rotation[3 * i + k] * depth * ray[i];
    }
    double of_pixels = (double)c->width / 60; /* as fine at every size */
    return 0.5 + 0.2 * sin(17 * of_pixels * world[0] + 3 * world[1]) + 0.2 * cos(14 * of_pixels * world[1] + world[0]);
}

static side side_make(int number, const scene_spec *spec)
{
    int width = spec->width, height = spec->height;
    side s = {.photo_camera = camera_of(number, spec->photo_width, spec->photo_height)};
    s.camera = splat_camera_resized(&s.photo_camera, width, height);
    s.n = (size_t)width * (size_t)height;
    s.n_photo = splat_camera_pixels(&s.photo_camera);
    s.maps = calloc(4 * s.n, sizeof *s.maps);
    s.transmittance = calloc(s.n, sizeof *s.transmittance);
    s.photo = calloc(3 * s.n_photo, 1);
    double n[3], d;
    plane_of(&s.camera, n, &d);
    for (size_t i = 0; i < s.n; i++) {
        double x = (double)(i % (size_t)width) / width, y = (double)(i / (size_t)width) / height;
        double bent = 1 + (double)spec->bend * sin(9 * x + 2 * number) * cos(7 * y + number);
        float r = test_scene_random(70 + (uint32_t)number, (uint32_t)i);
        float alpha = spec->holes ? 0.45f + 0.55f * r : 0.7f + 0.3f * r;
        if (spec->holes && i % 37 == 5) alpha = 0;
        s.transmittance[i] = 1 - alpha;
        s.maps[i] = alpha * (float)(spec->scale * d * bent);
        for (size_t k = 0; k < 3; k++)
            s.maps[(1 + k) * s.n + i] =
                alpha * (float)(n[k] + 0.3 * (double)spec->bend * cos(5 * x + 6 * y + (double)k));
    }
    for (size_t i = 0; i < s.n_photo; i++) {
        size_t w = (size_t)spec->photo_width;
        double value = pattern(&s.photo_camera, (double)(i % w) + 0.5, (double)(i / w) + 0.5);
        if (spec->inverted && number) value = 1 - value;
        if (spec->flat) value = 0.5 + 0.01 * (value - 0.5);
        for (size_t k = 0; k < 3; k++) s.photo[3 * i + k] = (uint8_t)(255 * value + 0.4 * (double)k);
    }
    return s;
}

static pair pair_make(const scene_spec *spec)
{
    return (pair){{side_make(0, spec), side_make(1, spec)}};
}

static void pair_free(pair *p)
{
    for (int i = 0; i < 2; i++) {
        free(p->sides[i].maps);
        free(p->sides[i].transmittance);
        free(p->sides[i].photo);
    }
}

typedef struct result {
    double losses[SPLAT_MULTI_VIEW_RESULTS];
    float *grad_maps; /* without what was there before */
} result;

typedef struct weights {
    float geometric, photometric;
    uint32_t n_patches;
    uint64_t seed;
    uint32_t step;
} weights;

static result run(splat_backend *backend, const pair *p, const weights *w, int *failures)
{
    splat_block blocks[8] = {{0}};
    splat_error error = {0};
    size_t n = 4 * p->sides[0].n;
    result r = {.grad_maps = malloc(n * sizeof(float))};
    struct splat_multi_view_args args = {.geometric_weight = w->geometric, .photometric_weight = w->photometric,
                                         .n_patches = w->n_patches, .seed = w->seed, .step = w->step};
    splat_multi_view_side *sides[2] = {&args.reference, &args.neighbor};
    for (int i = 0; i < 2; i++) {
        const side *s = &p->sides[i];
        *sides[i] = (splat_multi_view_side){
            &s->camera, &s->photo_camera, test_upload(backend, &blocks[3 * i], s->maps, 4 * s->n * sizeof(float)),
            test_upload(backend, &blocks[3 * i + 1], s->transmittance, s->n * sizeof(float)),
            w->n_patches ? test_upload(backend, &blocks[3 * i + 2], s->photo, 3 * s->n_photo) : NULL};
    }
    for (size_t i = 0; i < n; i++) r.grad_maps[i] = 0.5f; /* added to, not overwritten */
    args.grad_maps = test_upload(backend, &blocks[6], r.grad_maps, n * sizeof(float));
    memset(r.losses, 0x7f, sizeof r.losses);
    args.result = test_upload(backend, &blocks[7], r.losses, sizeof r.losses);
    splat_status status = splat_op_multi_view(backend, &args, &error);
    TEST_CHECK(*failures, status == SPLAT_OK, "%s", error.message);
    test_download(backend, r.grad_maps, args.grad_maps, n * sizeof(float));
    test_download(backend, r.losses, args.result, sizeof r.losses);
    for (size_t i = 0; i < n; i++) r.grad_maps[i] -= 0.5f;
    for (int i = 0; i < 8; i++) splat_block_free(backend, &blocks[i]);
    return r;
}

static ref_multi_view_side_f32 reference_of(const side *s)
{
    return (ref_multi_view_side_f32){ref_camera_from_f32(&s->camera), ref_camera_from_f32(&s->photo_camera), s->maps,
                                     s->transmittance, s->photo};
}

/* Thresholds (phi < 1, e < 0.9, borders, alpha) may fall differently by rounding: half a percent of the pixels and two
 * more may differ. The others agree to 2e-3 of the largest gradient: phi is a difference of places of up to 100 pixels,
 * whose rounding is 1e-5 of a pixel, and gradients are added to 0.5 here (6e-8). */
static int check_parity(splat_backend *backend, const scene_spec *spec, const weights *w)
{
    int failures = 0;
    pair p = pair_make(spec);
    size_t n = p.sides[0].n, n_wrong = 0;
    float *grad = calloc(4 * n, sizeof *grad), *pixel_weights = calloc(n, sizeof *pixel_weights), losses[4];
    ref_multi_view_side_f32 r = reference_of(&p.sides[0]), s = reference_of(&p.sides[1]);
    ref_multi_view_f32(&r, &s, w->geometric, w->photometric, w->n_patches, w->seed, w->step, NULL, pixel_weights,
                       losses, grad);
    result got = run(backend, &p, w, &failures);
    double largest = 1e-6;
    for (size_t i = 0; i < 4 * n; i++) largest = fmax(largest, fabs((double)grad[i]));
    for (size_t at = 0; at < n; at++) {
        bool wrong = false;
        for (size_t k = 0; k < 4; k++)
            wrong |= !(fabs((double)got.grad_maps[k * n + at] - (double)grad[k * n + at]) <= 2e-3 * largest);
        n_wrong += wrong;
    }
    const char *name = spec->holes ? "holes" : "whole";
    TEST_CHECK(failures, (double)n_wrong <= 0.005 * (double)n + 2, "%dx%d %s: %zu gradients differ", spec->width,
               spec->height, name, n_wrong);
    for (int k = 0; k < 4; k += 2) {
        double count = (double)losses[k + 1], tolerance = 0.005 * count + 2;
        TEST_CHECK(failures, fabs(got.losses[k + 1] - count) <= tolerance, "%dx%d %s: %g count in %d, not %g",
                   spec->width, spec->height, name, got.losses[k + 1], k, count);
        TEST_CHECK(failures, fabs(got.losses[k] - (double)losses[k]) <= 1e-3 + 2 / (count + 1),
                   "%dx%d %s: loss %d is %g, not %g", spec->width, spec->height, name, k, got.losses[k],
                   (double)losses[k]);
    }
    TEST_CHECK(failures, spec->width < 60 || (losses[1] > 100 && (w->n_patches < 50 || losses[3] > 20)),
               "%dx%d %s: only %g pixels and %g patches count", spec->width, spec->height, name, (double)losses[1],
               (double)losses[3]);
    free(got.grad_maps);
    free(grad);
    free(pixel_weights);
    pair_free(&p);
    return failures;
}

/* Every value of the reference view's maps. Both losses are means of a few hundred terms with third derivatives up to
 * 1e4: steps of 1e-6 leave 1e-8; the rounding is 1e-10. Patches see photos between whose pixels there are corners:
 * a step of 1e-6 moves them by 1e-4 pixels and meets one seldom, which is a difference of up to 1e-4. */
static int check_differences(void)
{
    enum { WIDTH = 22, HEIGHT = 17, N = WIDTH * HEIGHT };
    int failures = 0;
    size_t n_corners = 0;
    const scene_spec spec = {WIDTH, HEIGHT, 2 * WIDTH + 1, 2 * HEIGHT, 0.1f, 1, true, false, false};
    pair p = pair_make(&spec);
    ref_multi_view_side_f64 sides[2];
    double maps[2][4 * N], t[2][N], grad[4 * N] = {0}, fixed[N], pixel_weights[N], first[4], above[4], below[4];
    for (int i = 0; i < 2; i++) {
        const side *s = &p.sides[i];
        for (size_t k = 0; k < 4 * N; k++) maps[i][k] = s->maps[k];
        for (size_t k = 0; k < N; k++) t[i][k] = s->transmittance[k];
        sides[i] = (ref_multi_view_side_f64){ref_camera_from_f64(&s->camera), ref_camera_from_f64(&s->photo_camera),
                                             maps[i], t[i], s->photo};
    }
    const double geometric = 0.7, photometric = 1.3;
    ref_multi_view_f64(&sides[0], &sides[1], geometric, photometric, 120, 3, 4, NULL, fixed, first, grad);
    TEST_CHECK(failures, first[1] > 60 && first[1] < N && first[3] > 20 && first[0] > 0.01 && first[2] > 0.01,
               "%g pixels, %g patches, losses %g, %g", first[1], first[3], first[0], first[2]);
    for (size_t i = 0; i < 4 * N; i++) {
        const double kept = maps[0][i], step = 1e-6;
        maps[0][i] = kept + step;
        ref_multi_view_f64(&sides[0], &sides[1], 0, 0, 120, 3, 4, fixed, pixel_weights, above, NULL);
        maps[0][i] = kept - step;
        ref_multi_view_f64(&sides[0], &sides[1], 0, 0, 120, 3, 4, fixed, pixel_weights, below, NULL);
        maps[0][i] = kept;
        if (above[1] != first[1] || below[1] != first[1] || above[3] != first[3] || below[3] != first[3]) continue;
        double numeric = (geometric * (above[0] - below[0]) + photometric * (above[2] - below[2])) / (2 * step);
        bool corner = fabs(numeric - grad[i]) > 1e-7 && fabs(numeric - grad[i]) < 1e-4;
        n_corners += corner;
        TEST_CHECK(failures, corner || fabs(numeric - grad[i]) <= 1e-7, "value %zu: %.9g, difference %.9g", i, grad[i],
                   numeric);
    }
    TEST_CHECK(failures, n_corners < 8, "%zu values meet corners of the photo", n_corners);
    pair_free(&p);
    return failures;
}

static double sum_of(const float *values, size_t n)
{
    double sum = 0;
    for (size_t i = 0; i < n; i++) sum += (double)values[i];
    return sum;
}

/* The true plane agrees with itself; where both views have it too far or too near, they agree, too, but the photos ask
 * for less or more. */
static int check_plane(splat_backend *backend)
{
    int failures = 0;
    static const float scales[3] = {1, 1.03f, 0.97f};
    const weights w = {1, 1, 4000, 5, 6};
    for (int i = 0; i < 3; i++) {
        const scene_spec spec = {90, 70, 180, 140, 0, scales[i], false, false, false};
        pair p = pair_make(&spec);
        result r = run(backend, &p, &w, &failures);
        double asked = sum_of(r.grad_maps, p.sides[0].n);
        TEST_CHECK(failures, r.losses[1] > 3000, "scale %g: %g pixels count", (double)scales[i], r.losses[1]);
        TEST_CHECK(failures, i || (r.losses[0] < 1e-3 && r.losses[2] < 0.02 && r.losses[3] > 1500),
                   "the plane: phi %g, error %g of %g patches", r.losses[0], r.losses[2], r.losses[3]);
        TEST_CHECK(failures, i == 0 || (r.losses[2] > 0.03 && (i == 1 ? asked > 0.05 : asked < -0.05)),
                   "scale %g: error %g, gradient %g", (double)scales[i], r.losses[2], asked);
        free(r.grad_maps);
        pair_free(&p);
    }
    return failures;
}

/* Nothing to see: photos whose contrast is turned around, and photos with hardly any (a step of their 256). */
static int check_nothing(splat_backend *backend)
{
    int failures = 0;
    const weights w = {0, 1, 4000, 5, 6};
    for (int i = 0; i < 2; i++) {
        const scene_spec spec = {60, 50, 60, 50, 0, 1, false, i == 0, i == 1};
        pair p = pair_make(&spec);
        result r = run(backend, &p, &w, &failures);
        double largest = 0;
        for (size_t k = 0; k < 4 * p.sides[0].n; k++) largest = fmax(largest, fabs((double)r.grad_maps[k]));
        TEST_CHECK(failures, r.losses[1] > 500 && r.losses[3] == 0 && r.losses[2] == 0 && largest == 0,
                   "%s: %g patches, gradient %g", i ? "flat" : "inverted", r.losses[3], largest);
        free(r.grad_maps);
        pair_free(&p);
    }
    return failures;
}

/* Numbers that no view has: everything that comes out is finite. */
static int check_hostile(splat_backend *backend)
{
    static const float bad[] = {NAN, INFINITY, -INFINITY, 0, -1, 1e30f, 1e-30f, 3e38f};
    int failures = 0;
    const weights w = {1, 1, 4000, 5, 6};
    for (int kind = 0; kind < 5; kind++) {
        const scene_spec spec = {60, 50, 121, 99, 0.05f, 1, kind < 4, false, false};
        pair p = pair_make(&spec);
        for (int i = 0; i < 2; i++) {
            side *s = &p.sides[i];
            for (size_t k = 0; k < s->n; k++) {
                uint32_t word = (uint32_t)(1e6f * test_scene_random(80 + (uint32_t)i, (uint32_t)k));
                if (kind < 3 && word % 5 == 0) s->maps[(word / 5 % 4) * s->n + k] = bad[word / 20 % 8];
                if (kind == 1 && word % 7 == 0) s->transmittance[k] = bad[word / 7 % 8];
            }
        }
        for (int i = 0; i < 2 && (kind == 2 || kind == 4); i++) { /* the same place; a step ahead */
            splat_camera *c = i ? &p.sides[1].photo_camera : &p.sides[1].camera;
            *c = i ? p.sides[0].photo_camera : p.sides[0].camera;
            if (kind == 4) c->translation[2] -= 1;
        }
        for (size_t k = 0; k < p.sides[1].n && kind == 4; k++) p.sides[1].maps[k] *= -0.01f; /* a surface behind it */
        if (kind == 3) /* the neighbour looks the other way */
            for (int k = 0; k < 9; k++) {
                float sign = k < 3 || k > 5 ? -1 : 1;
                p.sides[1].camera.rotation[k] *= sign;
                p.sides[1].photo_camera.rotation[k] *= sign;
                if (k < 3 && k != 1) p.sides[1].camera.translation[k] = -p.sides[1].camera.translation[k];
            }
        result r = run(backend, &p, &w, &failures);
        size_t n_broken = 0;
        for (size_t k = 0; k < 4 * p.sides[0].n; k++) n_broken += !isfinite(r.grad_maps[k]);
        for (int k = 0; k < 4; k++) n_broken += !isfinite(r.losses[k]);
        TEST_CHECK(failures, n_broken == 0, "kind %d: %zu numbers are not finite", kind, n_broken);
        TEST_CHECK(failures, (kind >= 3) == (r.losses[1] == 0), "kind %d: %g pixels count", kind, r.losses[1]);
        free(r.grad_maps);
        pair_free(&p);
    }
    return failures;
}

int test_op_multi_view(splat_backend *backend)
{
    static const scene_spec specs[] = {
        {1, 1, 1, 1, 0.1f, 1, false, false, false},       {2, 9, 4, 18, 0.1f, 1, false, false, false},
        {9, 2, 9, 2, 0.1f, 1, false, false, false},       {33, 17, 33, 17, 0.1f, 1, true, false, false},
        {101, 67, 101, 67, 0.05f, 1, false, false, false}, {101, 67, 203, 134, 0.05f, 1, true, false, false},
        {64, 40, 128, 80, 0.02f, 1.02f, false, false, false}, {220, 150, 441, 301, 0.01f, 1.01f, true, false, false},
    };
    static const weights several[] = {{1, 0, 0, 0, 0}, {0, 1, 1, 1, 2}, {0.03f, 0.15f, 500, 7, 8},
                                      {0.03f, 0.15f, 1000000, 9, 10}};
    int failures = check_differences();
    for (size_t i = 0; i < sizeof specs / sizeof specs[0]; i++)
        for (size_t k = 0; k < sizeof several / sizeof several[0]; k++)
            failures += check_parity(backend, &specs[i], &several[k]);
    return failures + check_plane(backend) + check_nothing(backend) + check_hostile(backend);
}
