/* The dome: picture and gradients against the double reference, its gradients against central differences, its step
 * against Adam in double, and the same bytes for any number of threads. */
#include "ops/test_ops.h"

#include "base/rng.h"
#include "ops/dome/dome.h"
#include "ops/project/project_test.h"
#include "ops/ref.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { N_COLORS = 3 * SPLAT_DOME_NODES };

static float uniform(uint32_t step, uint64_t index)
{
    return splat_uniform(splat_random(31, SPLAT_STREAM_TEST, step, index).x[0]);
}

/* ---------------------------------------------------------------- a view */

typedef struct dome_case {
    splat_frame frame; /* pointers are of the host */
    size_t n;          /* pixels */
    float *colors, *jitter, *transmittance, *image, *grad_image, *grad_alpha;
    bool *sky_of_pixel;
    uint32_t *sky;
    int sky_width, sky_height;
    ref_dome_view_f64 view;
    double *doubles;   /* memory of view's planes */
} dome_case;

/* Any rotation: that of a quaternion. */
static void turn(splat_camera *camera, uint32_t seed)
{
    double q[4], length = 0;
    for (int k = 0; k < 4; k++) {
        q[k] = (double)uniform(seed, (uint64_t)k) - 0.5;
        length += q[k] * q[k];
    }
    for (int k = 0; k < 4; k++) q[k] /= sqrt(length);
    const double w = q[0], x = q[1], y = q[2], z = q[3];
    const double r[9] = {1 - 2 * (y * y + z * z), 2 * (x * y - w * z), 2 * (x * z + w * y),
                         2 * (x * y + w * z), 1 - 2 * (x * x + z * z), 2 * (y * z - w * x),
                         2 * (x * z - w * y), 2 * (y * z + w * x), 1 - 2 * (x * x + y * y)};
    for (int k = 0; k < 9; k++) camera->rotation[k] = (float)r[k];
}

static float *plane(size_t n, uint32_t step, float low, float high)
{
    float *values = malloc(n * sizeof *values);
    for (size_t i = 0; i < n; i++) values[i] = low + (high - low) * uniform(step, i);
    return values;
}

static dome_case case_make(int width, int height, uint32_t seed, bool jitter, float radius, bool sky)
{
    dome_case c = {.n = (size_t)width * (size_t)height, .sky_width = 17, .sky_height = 11};
    c.frame.camera = test_camera_make(width, height);
    turn(&c.frame.camera, seed);
    c.frame.dome.radius = radius;
    c.colors = plane(N_COLORS, seed + 1, 0, 1);
    c.transmittance = plane(c.n, seed + 2, 0, 1);
    c.image = plane(3 * c.n, seed + 3, 0, 1);
    c.grad_image = plane(3 * c.n, seed + 4, -1, 1);
    c.grad_alpha = plane(c.n, seed + 5, -1, 1);
    if (jitter) c.jitter = plane(2 * c.n, seed + 6, -0.5f, 0.5f);
    for (int k = 0; k < 3; k++) {
        c.frame.camera.center[k] = uniform(seed + 7, (uint64_t)k) - 0.5f;
        c.frame.dome.center[k] = uniform(seed + 8, (uint64_t)k) - 0.5f;
        c.frame.background[k] = uniform(seed + 9, (uint64_t)k);
    }
    for (size_t i = 0; i < c.n; i += 5) c.transmittance[i] = i % 2 ? 1.0f : 0.002f * uniform(seed + 10, i);
    for (size_t i = 0; i < 3 * c.n; i++) c.grad_image[i] /= 3.0f * (float)c.n;
    c.sky_of_pixel = calloc(c.n, 1);
    const size_t n_bits = (size_t)c.sky_width * (size_t)c.sky_height;
    if (sky) c.sky = calloc(n_bits / 32 + 1, sizeof *c.sky);
    for (size_t i = 0; sky && i < n_bits; i++)
        if (uniform(seed + 11, i) < 0.5f) c.sky[i / 32] |= 1u << i % 32;
    for (size_t i = 0; sky && i < c.n; i++) { /* the bit under the pixel's middle */
        size_t x = (size_t)(((double)(i % (size_t)width) + 0.5) * c.sky_width / width);
        size_t y = (size_t)(((double)(i / (size_t)width) + 0.5) * c.sky_height / height);
        size_t bit = y * (size_t)c.sky_width + x;
        c.sky_of_pixel[i] = c.sky[bit / 32] >> bit % 32 & 1;
    }
    c.doubles = malloc(3 * c.n * sizeof *c.doubles);
    c.view = (ref_dome_view_f64){.camera = ref_camera_from_f64(&c.frame.camera), .radius = (double)radius};
    for (int k = 0; k < 3; k++) {
        c.view.center[k] = (double)c.frame.dome.center[k];
        c.view.background[k] = (double)c.frame.background[k];
    }
    for (size_t i = 0; i < c.n; i++) c.doubles[i] = (double)c.transmittance[i];
    for (size_t i = 0; jitter && i < 2 * c.n; i++) c.doubles[c.n + i] = (double)c.jitter[i];
    c.view.transmittance = c.doubles;
    c.view.jitter = jitter ? c.doubles + c.n : NULL;
    return c;
}

static void case_free(dome_case *c)
{
    free(c->colors);
    free(c->jitter);
    free(c->transmittance);
    free(c->image);
    free(c->grad_image);
    free(c->grad_alpha);
    free(c->sky_of_pixel);
    free(c->sky);
    free(c->doubles);
}

static double *doubles_of(const float *values, size_t n)
{
    double *doubles = malloc(n * sizeof *doubles);
    for (size_t i = 0; i < n; i++) doubles[i] = (double)values[i];
    return doubles;
}

/* ---------------------------------------------------------------- runs */

typedef struct dome_output {
    float *image, *grad_alpha;
    int64_t *sums;
} dome_output;

#define SKY_WEIGHT 0.3f

static dome_output run(splat_backend *backend, const dome_case *c, int *failures)
{
    dome_output out = {malloc(3 * c->n * sizeof(float)), malloc(c->n * sizeof(float)), malloc(SPLAT_DOME_SUMS_BYTES)};
    splat_block blocks[8] = {{0}};
    splat_error error = {0};
    splat_frame frame = c->frame;
    const size_t plane_bytes = c->n * sizeof(float);
    const size_t sky_bytes = ((size_t)c->sky_width * (size_t)c->sky_height / 32 + 1) * sizeof(uint32_t);
    frame.dome.colors = test_upload(backend, &blocks[0], c->colors, SPLAT_DOME_BYTES);
    frame.transmittance = test_upload(backend, &blocks[1], c->transmittance, plane_bytes);
    frame.image = test_upload(backend, &blocks[2], c->image, 3 * plane_bytes);
    if (c->jitter) frame.jitter = test_upload(backend, &blocks[3], c->jitter, 2 * plane_bytes);
    struct splat_dome_backward_args backward = {.frame = &frame, .sky_width = c->sky_width,
                                                .sky_height = c->sky_height, .weight = SKY_WEIGHT};
    backward.grad_image = test_upload(backend, &blocks[4], c->grad_image, 3 * plane_bytes);
    backward.grad_alpha = test_upload(backend, &blocks[5], c->grad_alpha, plane_bytes);
    backward.sums = test_upload(backend, &blocks[6], NULL, SPLAT_DOME_SUMS_BYTES);
    if (c->sky) backward.sky = test_upload(backend, &blocks[7], c->sky, sky_bytes);
    TEST_CHECK(*failures, splat_op_dome(backend, &(struct splat_dome_args){&frame}, &error) == SPLAT_OK, "%s",
               error.message);
    TEST_CHECK(*failures, splat_op_dome_backward(backend, &backward, &error) == SPLAT_OK, "%s", error.message);
    test_download(backend, out.image, frame.image, 3 * plane_bytes);
    test_download(backend, out.grad_alpha, backward.grad_alpha, plane_bytes);
    test_download(backend, out.sums, backward.sums, SPLAT_DOME_SUMS_BYTES);
    for (int i = 0; i < 8; i++) splat_block_free(backend, &blocks[i]);
    return out;
}

static void output_free(dome_output *out)
{
    free(out->image);
    free(out->grad_alpha);
    free(out->sums);
}

/* A direction is right to a few 1e-7 and 1 lies 31.5 nodes from the middle, so a place is right to 1e-5 and colours,
 * which differ by up to 1 between nodes, to 2e-5; cameras within the ball lengthen the error of a place a little. */
#define COLOR_LIMIT 5e-5

static int check_case(splat_backend *backend, int width, int height, uint32_t seed, bool jitter, float radius, bool sky)
{
    int failures = 0;
    dome_case c = case_make(width, height, seed, jitter, radius, sky);
    double *colors = doubles_of(c.colors, N_COLORS), *image = doubles_of(c.image, 3 * c.n), margin;
    double *grad_image = doubles_of(c.grad_image, 3 * c.n), *grad_alpha = doubles_of(c.grad_alpha, c.n);
    double *grad_colors = calloc(N_COLORS, sizeof *grad_colors);
    dome_output out = run(backend, &c, &failures);
    ref_dome_f64(&c.view, colors, image, &margin);
    ref_dome_backward_f64(&c.view, colors, grad_image, c.sky ? c.sky_of_pixel : NULL, (double)SKY_WEIGHT, grad_alpha,
                          grad_colors);
    TEST_CHECK(failures, margin > 3e-6, "a pixel of %dx%d lies between two faces: choose another seed", width, height);
    for (size_t i = 0; i < 3 * c.n; i++)
        TEST_CHECK(failures, fabs((double)out.image[i] - image[i]) < COLOR_LIMIT, "%dx%d, value %zu: %.9g, not %.9g",
                   width, height, i, (double)out.image[i], image[i]);
    for (size_t i = 0; i < c.n; i++)
        TEST_CHECK(failures, fabs((double)out.grad_alpha[i] - grad_alpha[i]) < COLOR_LIMIT,
                   "%dx%d, pixel %zu: %.9g, not %.9g", width, height, i, (double)out.grad_alpha[i], grad_alpha[i]);
    double worst = 0;
    size_t n_used = 0;
    for (size_t i = 0; i < N_COLORS; i++) {
        const double sum = (double)out.sums[i] / (double)SPLAT_DOME_UNIT / (3 * (double)c.n);
        worst = fmax(worst, fabs(sum - grad_colors[i]));
        n_used += out.sums[i] != 0;
    }
    /* a pixel's part is right to COLOR_LIMIT of at most 1/3N; fewer than 100 pixels share a node */
    TEST_CHECK(failures, worst < 100 * COLOR_LIMIT / (3 * (double)c.n), "%dx%d: a sum is off by %g", width, height,
               worst);
    TEST_CHECK(failures, n_used > 0 || c.n == 1, "%dx%d: no sums", width, height);
    splat_backend *other = project_other_backend(backend);
    dome_output again = run(other ? other : backend, &c, &failures);
    TEST_CHECK(failures, memcmp(again.image, out.image, 3 * c.n * sizeof(float)) == 0 &&
               memcmp(again.grad_alpha, out.grad_alpha, c.n * sizeof(float)) == 0 &&
               memcmp(again.sums, out.sums, SPLAT_DOME_SUMS_BYTES) == 0, "%dx%d: other bytes", width, height);
    splat_backend_destroy(other);
    output_free(&out);
    output_free(&again);
    free(colors);
    free(image);
    free(grad_image);
    free(grad_alpha);
    free(grad_colors);
    case_free(&c);
    return failures;
}

/* Looking along each axis both ways the picture shows that face; rows of the cube map follow the next axis, columns the
 * one after it. */
static int check_faces(splat_backend *backend)
{
    int failures = 0;
    for (int face = 0; face < 6; face++) {
        dome_case c = case_make(1, 1, 300, false, 0, false);
        const int axis = face / 2, sign = face % 2 ? -1 : 1;
        splat_camera *camera = &c.frame.camera;
        memset(camera->rotation, 0, sizeof camera->rotation);
        camera->rotation[3 + (axis + 1) % 3] = 1; /* y of the camera is the next axis */
        camera->rotation[6 + axis] = (float)sign;
        camera->rotation[(axis + 2) % 3] = (float)-sign;
        camera->fx = camera->fy = 1;
        camera->cx = 0.5f;
        camera->cy = 0.5f - 0.75f; /* 0.75 along y */
        for (size_t i = 0; i < N_COLORS; i++) {
            const size_t node = i / 3, row = node / SPLAT_DOME_SIDE % SPLAT_DOME_SIDE, column = node % SPLAT_DOME_SIDE;
            c.colors[i] = i % 3 == 0 ? (float)(node / SPLAT_DOME_SIDE / SPLAT_DOME_SIDE) : i % 3 == 1 ? (float)row
                                                                                                     : (float)column;
        }
        c.transmittance[0] = 1;
        memset(c.frame.background, 0, sizeof c.frame.background);
        memset(c.image, 0, 3 * sizeof *c.image);
        dome_output out = run(backend, &c, &failures);
        const float want[3] = {(float)face, 1.75f * 31.5f, 31.5f};
        for (int k = 0; k < 3; k++)
            TEST_CHECK(failures, fabsf(out.image[k] - want[k]) < 1e-4f, "face %d, %d: %g, not %g", face, k,
                       (double)out.image[k], (double)want[k]);
        output_free(&out);
        case_free(&c);
    }
    return failures;
}

/* From another place the middle of the ball's dome lies elsewhere: 45 degrees, one radius from the centre. */
static int check_radius(splat_backend *backend)
{
    int failures = 0;
    dome_case c = case_make(1, 1, 320, false, 2, false);
    splat_camera *camera = &c.frame.camera;
    const float rotation[9] = {1, 0, 0, 0, 1, 0, 0, 0, 1};
    memcpy(camera->rotation, rotation, sizeof rotation);
    for (int k = 0; k < 3; k++) camera->center[k] = c.frame.dome.center[k] = 1;
    camera->center[0] += sqrtf(2) - 0.01f; /* straight ahead z reaches the ball at (1, 0, 1) sqrt 2, just before it */
    camera->cx = camera->cy = 0.5f;
    for (size_t i = 0; i < N_COLORS; i++) c.colors[i] = i % 3 == 2 ? (float)(i / 3 % SPLAT_DOME_SIDE) : 0.0f;
    for (size_t i = 0; i < N_COLORS; i++)
        if (i % 3 == 1) c.colors[i] = (float)(i / 3 / SPLAT_DOME_SIDE % SPLAT_DOME_SIDE);
    c.transmittance[0] = 1;
    memset(c.frame.background, 0, sizeof c.frame.background);
    memset(c.image, 0, 3 * sizeof *c.image);
    dome_output out = run(backend, &c, &failures);
    const double x = sqrt(2) - 0.01, z = sqrt(4 - x * x), row = 31.5 + 31.5 * x / z; /* face z: rows x, columns y */
    TEST_CHECK(failures, fabs((double)out.image[1] - row) < 1e-3, "row %g, not %g", (double)out.image[1], row);
    TEST_CHECK(failures, fabsf(out.image[2] - 31.5f) < 1e-3f, "column %g", (double)out.image[2]);
    output_free(&out);
    case_free(&c);
    return failures;
}

/* Values that are not finite are in no sum; a pixel without light asks nothing. */
static int check_hostile(splat_backend *backend)
{
    int failures = 0;
    dome_case c = case_make(8, 8, 340, false, 0, false);
    for (size_t i = 0; i < 3 * c.n; i++) c.grad_image[i] = INFINITY;
    for (size_t i = 0; i < c.n; i++) c.transmittance[i] = i < 32 ? 0.0039f : 1.0f; /* 1/255 is 0.00392 */
    for (size_t i = 0; i < c.n; i++) c.grad_image[i] = i < 32 ? 1e30f : NAN;
    dome_output out = run(backend, &c, &failures);
    int64_t most = 0;
    for (size_t i = 0; i < N_COLORS; i++) most = out.sums[i] > most ? out.sums[i] : most;
    const double limit = 64 * (double)SPLAT_DOME_UNIT * (double)SPLAT_DOME_LARGEST;
    TEST_CHECK(failures, most > 0 && (double)most <= limit, "the largest sum is %lld", (long long)most);
    for (size_t i = 0; i < N_COLORS; i += 3)
        TEST_CHECK(failures, out.sums[i] == 0, "sum %zu is %lld", i, (long long)out.sums[i]);
    output_free(&out);
    case_free(&c);
    splat_frame frame = {.background = {0}};
    splat_error error = {0};
    TEST_CHECK(failures, splat_op_dome(backend, &(struct splat_dome_args){&frame}, &error) == SPLAT_ERROR_ARGUMENT,
               "a frame without a dome");
    return failures;
}

int test_op_dome(splat_backend *backend)
{
    int failures = check_faces(backend) + check_radius(backend) + check_hostile(backend);
    failures += check_case(backend, 1, 1, 100, false, 0, true) + check_case(backend, 61, 47, 120, false, 0, false);
    failures += check_case(backend, 67, 31, 140, true, 0, true) + check_case(backend, 33, 70, 160, true, 2.5f, true);
    failures += check_case(backend, 257, 64, 180, false, 5, true);
    return failures;
}

/* ---------------------------------------------------------------- differences */

static double functional(const dome_case *c, const double *colors, const double *w)
{
    double *image = calloc(3 * c->n, sizeof *image), sum = 0;
    ref_dome_f64(&c->view, colors, image, NULL);
    for (size_t i = 0; i < 3 * c->n; i++) sum += w[i] * image[i];
    for (size_t i = 0; i < c->n; i++)
        sum += c->sky_of_pixel[i] ? (double)SKY_WEIGHT / (double)c->n * (1 - c->view.transmittance[i]) : 0;
    free(image);
    return sum;
}

static double difference(const dome_case *c, const double *colors, const double *w, double *at)
{
    const double kept = *at, step = 1e-5; /* the functional is linear: only rounding is left, 1e-16 / 1e-5 */
    *at = kept + step;
    const double above = functional(c, colors, w);
    *at = kept - step;
    const double below = functional(c, colors, w);
    *at = kept;
    return (above - below) / (2 * step);
}

static int check_differences(float radius)
{
    int failures = 0;
    dome_case c = case_make(19, 13, 200, true, radius, true);
    for (size_t i = 0; i < c.n; i++) c.doubles[i] = 0.05 + 0.9 * c.doubles[i]; /* above LEAST_LIGHT */
    double *colors = doubles_of(c.colors, N_COLORS), *w = doubles_of(c.grad_image, 3 * c.n);
    double *grad_colors = calloc(N_COLORS, sizeof *grad_colors), *grad_alpha = calloc(c.n, sizeof *grad_alpha);
    ref_dome_backward_f64(&c.view, colors, w, c.sky_of_pixel, (double)SKY_WEIGHT, grad_alpha, grad_colors);
    size_t n_checked = 0;
    for (size_t i = 0; i < N_COLORS; i++) {
        if (grad_colors[i] == 0 && i % 997) continue;
        n_checked += grad_colors[i] != 0;
        const double numeric = difference(&c, colors, w, &colors[i]);
        TEST_CHECK(failures, fabs(numeric - grad_colors[i]) < 1e-9, "colour %zu: %.12g, difference %.12g", i,
                   grad_colors[i], numeric);
    }
    TEST_CHECK(failures, n_checked > 100, "only %zu colours have a gradient", n_checked);
    for (size_t i = 0; i < c.n; i++) { /* A = 1 - T */
        const double numeric = -difference(&c, colors, w, &c.doubles[i]);
        TEST_CHECK(failures, fabs(numeric - grad_alpha[i]) < 1e-9, "pixel %zu: %.12g, difference %.12g", i,
                   grad_alpha[i], numeric);
    }
    free(colors);
    free(w);
    free(grad_colors);
    free(grad_alpha);
    case_free(&c);
    return failures;
}

int test_op_dome_backward(splat_backend *backend)
{
    (void)backend; /* dome's cases have the gradients, too */
    return check_differences(0) + check_differences(3);
}

/* ---------------------------------------------------------------- the step */

int test_op_dome_step(splat_backend *backend)
{
    enum { STEPS = 12, N_PIXELS = 5000 };
    int failures = 0;
    float *state[3] = {plane(N_COLORS, 400, 0, 1), calloc(N_COLORS, sizeof(float)), calloc(N_COLORS, sizeof(float))};
    double *x = doubles_of(state[0], N_COLORS), *m = calloc(N_COLORS, sizeof *m), *v = calloc(N_COLORS, sizeof *v);
    int64_t *sums = calloc(N_COLORS, sizeof *sums);
    splat_block blocks[4] = {{0}};
    splat_error error = {0};
    struct splat_dome_step_args args = {.n_pixels = N_PIXELS, .lr = 0.002f};
    args.colors = test_upload(backend, &blocks[0], state[0], SPLAT_DOME_BYTES);
    args.m = test_upload(backend, &blocks[1], NULL, SPLAT_DOME_BYTES);
    args.v = test_upload(backend, &blocks[2], NULL, SPLAT_DOME_BYTES);
    for (int t = 1; t <= STEPS; t++) {
        for (size_t i = 0; i < N_COLORS; i++) /* the first face has none, ever */
            sums[i] = i < N_COLORS / 6 ? 0 : (int64_t)((i % 2 ? 1e9f : 3e6f) * (uniform(410 + (uint32_t)t, i) - 0.3f));
        args.sums = test_upload(backend, &blocks[3], sums, SPLAT_DOME_SUMS_BYTES);
        args.correction1 = (float)(1 - pow((double)0.9f, t));
        args.correction2 = (float)(1 - pow((double)0.999f, t));
        TEST_CHECK(failures, splat_op_dome_step(backend, &args, &error) == SPLAT_OK, "%s", error.message);
        splat_block_free(backend, &blocks[3]);
        for (size_t i = 0; i < N_COLORS; i++) {
            const double g = (double)sums[i] / (double)SPLAT_DOME_UNIT / (3.0 * N_PIXELS);
            m[i] = (double)0.9f * m[i] + (1 - (double)0.9f) * g;
            v[i] = (double)0.999f * v[i] + (1 - (double)0.999f) * g * g;
            const double root = sqrt(v[i] / (1 - pow((double)0.999f, t))) + 8 / (3.0 * N_PIXELS);
            x[i] -= 0.002 * (m[i] / (1 - pow((double)0.9f, t))) / root;
        }
    }
    test_download(backend, state[0], args.colors, SPLAT_DOME_BYTES);
    for (size_t i = 0; i < N_COLORS; i++) /* twelve steps of at most 0.002, each right to 1e-5 of it */
        TEST_CHECK(failures, fabs((double)state[0][i] - x[i]) < 2e-6, "%zu: %.9g, not %.9g", i, (double)state[0][i],
                   x[i]);
    for (int i = 0; i < 3; i++) {
        splat_block_free(backend, &blocks[i]);
        free(state[i]);
    }
    free(x);
    free(m);
    free(v);
    free(sums);
    return failures;
}
