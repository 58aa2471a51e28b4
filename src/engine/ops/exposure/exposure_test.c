/* exposure against the reference in double, that against central differences, Adam's step of all gains against the
 * gradient of what holds them, values known on paper, and the same bytes for any number of threads, and in parts. */
#include "ops/exposure/exposure_math.h"

#include "base/rng.h"
#include "ops/project/project_test.h"
#include "ops/ref.h"

#include <stdlib.h>
#include <string.h>

/* A picture, its photo with saturated pixels, and a gradient, on the host. */
typedef struct exposure_case {
    int width, height;
    size_t n; /* 3 width height */
    float center[2], photo_row[3], camera_row[3];
    float *image, *photo, *grad;
    float *sky;     /* NULL: none */
    uint8_t *bytes; /* NULL: the photo is only in float */
} exposure_case;

/* Vignettings: none, one that darkens to 0 and below, one that is clamped at 1 around the centre, one whose mean is
 * below its bound. */
#define N_VIGNETTINGS 4
static const float camera_rows[N_VIGNETTINGS][3] = {{0, 0, 0}, {-1.5f, 0.2f, -3}, {0.5f, -6, 0.3f}, {-9, -1, -2}};

static exposure_case case_make(int width, int height, bool in_bytes, int vignetting, uint64_t seed)
{
    exposure_case c = {.width = width, .height = height, .n = 3 * (size_t)width * (size_t)height,
                       .center = {0.47f * (float)width, 0.55f * (float)height}, .photo_row = {0.4f, -0.1f, 0.2f}};
    size_t plane = c.n / 3;
    memcpy(c.camera_row, camera_rows[vignetting], sizeof c.camera_row);
    c.image = malloc(c.n * sizeof(float));
    c.photo = malloc(c.n * sizeof(float));
    c.grad = malloc(c.n * sizeof(float));
    c.bytes = in_bytes ? malloc(c.n) : NULL;
    for (size_t i = 0; i < c.n; i++) {
        splat_random4 r = splat_random(seed, SPLAT_STREAM_TEST, 0, i);
        uint8_t byte = (uint8_t)(r.x[0] >> 24);
        if (r.x[3] % 4 == 0) byte = (uint8_t)(253 + r.x[3] / 4 % 3); /* on both sides of what is saturated */
        c.image[i] = 1.4f * splat_uniform(r.x[1]);
        c.grad[i] = splat_uniform(r.x[2]) - 0.4f;
        c.photo[i] = (float)byte / 255.0f;
        if (in_bytes) c.bytes[i % plane * 3 + i / plane] = byte;
    }
    return c;
}

static void case_free(exposure_case *c)
{
    free(c->image), free(c->photo), free(c->grad), free(c->sky), free(c->bytes);
}

/* Sky in a part of each pixel, in some pixels all or nothing. */
static void case_add_sky(exposure_case *c)
{
    c->sky = malloc(c->n / 3 * sizeof(float));
    for (size_t i = 0; i < c->n / 3; i++) {
        const float u = 1.4f * splat_uniform(splat_random(9, SPLAT_STREAM_TEST, 3, i).x[0]) - 0.2f;
        c->sky[i] = u < 0 ? 0 : u > 1 ? 1 : u;
    }
}

/* Host results. */
typedef struct exposure_output {
    float *exposed, *grad;
    double *row_sums, sums[SPLAT_EXPOSURE_SUMS];
    size_t n_rows;
} exposure_output;

static exposure_output run(splat_backend *backend, const exposure_case *c, int *failures)
{
    size_t bytes = c->n * sizeof(float);
    exposure_output out = {.exposed = malloc(bytes), .grad = malloc(bytes),
                           .n_rows = (size_t)c->height};
    size_t sums_bytes = splat_exposure_sums_bytes(out.n_rows);
    out.row_sums = malloc(sums_bytes);
    splat_block blocks[9] = {{0}};
    splat_error error = {0};
    struct splat_exposure_backward_args args = {.forward = {.width = c->width, .height = c->height,
                                                            .cx = c->center[0], .cy = c->center[1]}};
    args.forward.photo_row = test_upload(backend, &blocks[0], c->photo_row, sizeof c->photo_row);
    args.forward.camera_row = test_upload(backend, &blocks[1], c->camera_row, sizeof c->camera_row);
    args.forward.image = test_upload(backend, &blocks[2], c->image, bytes);
    if (c->bytes) args.forward.photo_u8 = test_upload(backend, &blocks[3], c->bytes, c->n);
    else args.forward.photo_f32 = test_upload(backend, &blocks[3], c->photo, bytes);
    args.forward.exposed = test_upload(backend, &blocks[4], NULL, bytes);
    args.grad = test_upload(backend, &blocks[5], c->grad, bytes);
    args.sums = test_upload(backend, &blocks[6], NULL, sums_bytes);
    if (c->sky) args.sky = test_upload(backend, &blocks[7], c->sky, bytes / 3);
    TEST_CHECK(*failures, splat_op_exposure(backend, &args.forward, &error) == SPLAT_OK, "%s", error.message);
    TEST_CHECK(*failures, splat_op_exposure_backward(backend, &args, &error) == SPLAT_OK, "%s", error.message);
    test_download(backend, out.exposed, args.forward.exposed, bytes);
    test_download(backend, out.grad, args.grad, bytes);
    test_download(backend, out.row_sums, args.sums, sums_bytes);
    for (size_t y = 0; y < out.n_rows; y++)
        for (size_t k = 0; k < SPLAT_EXPOSURE_SUMS; k++) out.sums[k] += out.row_sums[SPLAT_EXPOSURE_SUMS * y + k];
    for (int i = 0; i < 9; i++) splat_block_free(backend, &blocks[i]);
    return out;
}

static void output_free(exposure_output *out)
{
    free(out->exposed), free(out->grad), free(out->row_sums);
}

static double *doubles_of(const float *values, size_t n)
{
    double *doubles = malloc(n * sizeof *doubles);
    for (size_t i = 0; i < n; i++) doubles[i] = (double)values[i];
    return doubles;
}

/* A picture in double, as the reference wants it. */
typedef struct doubles {
    double center[2], photo_row[3], camera_row[3], *image, *photo, *grad, *sky, *out;
} doubles;

static doubles doubles_make(const exposure_case *c)
{
    doubles d = {.image = doubles_of(c->image, c->n), .photo = doubles_of(c->photo, c->n),
                 .grad = doubles_of(c->grad, c->n), .sky = c->sky ? doubles_of(c->sky, c->n / 3) : NULL,
                 .out = malloc(c->n * sizeof(double))};
    for (int k = 0; k < 3; k++) {
        d.photo_row[k] = (double)c->photo_row[k];
        d.camera_row[k] = (double)c->camera_row[k];
    }
    for (int k = 0; k < 2; k++) d.center[k] = (double)c->center[k];
    return d;
}

static void doubles_free(doubles *d)
{
    free(d->image), free(d->photo), free(d->grad), free(d->sky), free(d->out);
}

/* True if z is within a rounding of a saturated photo, so that float and double may choose differently. */
static bool is_on_edge(double z, double photo)
{
    return photo > 0.99 && fabs(z - photo) < 1e-5;
}

/* A gain has 4 float roundings and an exp2 (2 ulp), the falloff up to 4 of terms up to 6: 2e-6 of values up to 4. Sums
 * of n products of that accuracy, of either sign. Where the mean is at its bound all of it is 16 times as large. */
static int check_case(splat_backend *backend, int width, int height, bool in_bytes, int vignetting, bool has_sky)
{
    int failures = 0;
    const double scale = vignetting == 3 ? 1 / (double)SPLAT_EXPOSURE_LEAST_MEAN : 1, limit = scale * 4e-6;
    exposure_case c = case_make(width, height, in_bytes, vignetting, 7);
    if (has_sky) case_add_sky(&c);
    exposure_output out = run(backend, &c, &failures);
    doubles d = doubles_make(&c);
    double sums[SPLAT_EXPOSURE_SUMS];
    size_t n_saturated = 0;
    ref_exposure_f64(width, height, d.center, d.photo_row, d.camera_row, d.image, d.photo, d.out);
    ref_exposure_backward_f64(width, height, d.center, d.photo_row, d.camera_row, d.image, d.photo, d.sky, d.grad,
                              sums);
    for (size_t i = 0; i < c.n; i++) {
        n_saturated += d.grad[i] == 0;
        if (is_on_edge(d.out[i], d.photo[i])) continue;
        TEST_CHECK(failures, fabs((double)out.exposed[i] - d.out[i]) < limit, "%dx%d, %zu: %.9g, not %.9g",
                   width, height, i, (double)out.exposed[i], d.out[i]);
        TEST_CHECK(failures, fabs((double)out.grad[i] - d.grad[i]) < limit, "%dx%d, %zu: gradient %.9g, not %.9g",
                   width, height, i, (double)out.grad[i], d.grad[i]);
    }
    if (c.n > 300) TEST_CHECK(failures, n_saturated > c.n / 50, "only %zu of %zu are saturated", n_saturated, c.n);
    for (int k = 0; k < SPLAT_EXPOSURE_SUMS; k++)
        TEST_CHECK(failures, fabs(out.sums[k] - sums[k]) < scale * (2e-5 * sqrt((double)c.n) + 1e-5),
                   "%dx%d, sum %d: %.9g, not %.9g", width, height, k, out.sums[k], sums[k]);
    splat_backend *other = project_other_backend(backend);
    exposure_output again = run(other ? other : backend, &c, &failures);
    TEST_CHECK(failures, memcmp(again.exposed, out.exposed, c.n * sizeof(float)) == 0 &&
               memcmp(again.grad, out.grad, c.n * sizeof(float)) == 0 &&
               memcmp(again.row_sums, out.row_sums, splat_exposure_sums_bytes(again.n_rows)) == 0,
               "%dx%d: other bytes", width, height);
    splat_backend_destroy(other);
    output_free(&out), output_free(&again);
    doubles_free(&d);
    case_free(&c);
    return failures;
}

/* Gray at one stop, red half a stop more, green half a stop less. */
static int check_known(splat_backend *backend)
{
    int failures = 0;
    exposure_case c = case_make(1, 1, false, 0, 1);
    const float image[3] = {0.25f, 0.25f, 0.6f}, photo[3] = {0.1f, 0.1f, 1}, row[3] = {1, 0.5f, 0};
    memcpy(c.image, image, sizeof image);
    memcpy(c.photo, photo, sizeof photo);
    memcpy(c.photo_row, row, sizeof row);
    for (int k = 0; k < 3; k++) c.grad[k] = 1;
    exposure_output out = run(backend, &c, &failures);
    const double gains[3] = {sqrt(8), sqrt(2), 2}; /* the last leads beyond a white photo; the weight is a half */
    for (int k = 0; k < 3; k++) {
        double z = k == 2 ? 1 : gains[k] * (double)image[k], gradient = k == 2 ? 0 : gains[k] / 2;
        TEST_CHECK(failures, fabs((double)out.exposed[k] - z) < 1e-6, "%d: %g, not %g", k, (double)out.exposed[k], z);
        TEST_CHECK(failures, fabs((double)out.grad[k] - gradient) < 1e-6, "%d: gradient %g", k, (double)out.grad[k]);
        TEST_CHECK(failures, fabs(out.sums[k] - (k == 2 ? 0 : z)) < 1e-6, "%d: sum %g", k, out.sums[k]);
    }
    output_free(&out);
    case_free(&c);
    return failures;
}

/* A picture in its own place, with no photo: nothing is saturated. */
static int check_without_photo(splat_backend *backend)
{
    int failures = 0;
    exposure_case c = case_make(37, 29, false, 1, 4);
    doubles d = doubles_make(&c);
    for (size_t i = 0; i < c.n; i++) d.photo[i] = 0;
    ref_exposure_f64(c.width, c.height, d.center, d.photo_row, d.camera_row, d.image, d.photo, d.out);
    splat_block blocks[3] = {{0}};
    splat_error error = {0};
    struct splat_exposure_args args = {.width = c.width, .height = c.height, .cx = c.center[0], .cy = c.center[1]};
    args.photo_row = test_upload(backend, &blocks[0], c.photo_row, sizeof c.photo_row);
    args.camera_row = test_upload(backend, &blocks[1], c.camera_row, sizeof c.camera_row);
    args.image = args.exposed = test_upload(backend, &blocks[2], c.image, c.n * sizeof(float));
    TEST_CHECK(failures, splat_op_exposure(backend, &args, &error) == SPLAT_OK, "%s", error.message);
    test_download(backend, c.image, args.image, c.n * sizeof(float));
    for (size_t i = 0; i < c.n; i++)
        TEST_CHECK(failures, fabs((double)c.image[i] - d.out[i]) < 4e-6, "%zu: %.9g, not %.9g", i, (double)c.image[i],
                   d.out[i]);
    for (int i = 0; i < 3; i++) splat_block_free(backend, &blocks[i]);
    doubles_free(&d);
    case_free(&c);
    return failures;
}

/* A gray picture is as bright with vignetting as without, in the mean, wherever its centre lies; corners are darker. */
static int check_brightness(splat_backend *backend)
{
    int failures = 0;
    for (int wide = 0; wide < 2; wide++) {
        exposure_case c = case_make(wide ? 90 : 40, wide ? 40 : 90, false, 0, 2);
        const float camera_row[3] = {-0.3f, -0.1f, -0.05f}, gray = 0.25f;
        double sum = 0;
        memcpy(c.camera_row, camera_row, sizeof camera_row);
        memset(c.photo_row, 0, sizeof c.photo_row);
        memset(c.photo, 0, c.n * sizeof(float)); /* nothing is saturated */
        for (size_t i = 0; i < c.n; i++) c.image[i] = gray;
        exposure_output out = run(backend, &c, &failures);
        for (size_t i = 0; i < c.n; i++) sum += (double)out.exposed[i];
        sum /= (double)c.n;
        TEST_CHECK(failures, fabs(sum - (double)gray) < 1e-7, "wide %d: the mean is %.9g, not %g", wide, sum,
                   (double)gray);
        float middle = out.exposed[c.height / 2 * c.width + c.width / 2];
        TEST_CHECK(failures, out.exposed[0] < 0.95f * gray && middle > 1.02f * gray,
                   "wide %d: %g in a corner, %g in the middle", wide, (double)out.exposed[0], (double)middle);
        output_free(&out);
        case_free(&c);
    }
    return failures;
}

/* sum of w z, which is linear in z. */
static double functional(const exposure_case *c, const doubles *d, const double *w)
{
    double sum = 0;
    ref_exposure_f64(c->width, c->height, d->center, d->photo_row, d->camera_row, d->image, d->photo, d->out);
    for (size_t i = 0; i < c->n; i++) sum += w[i] * d->out[i];
    return sum;
}

static double difference(const exposure_case *c, const doubles *d, const double *w, double *at)
{
    double kept = *at, step = 1e-6;
    *at = kept + step;
    double above = functional(c, d, w);
    *at = kept - step;
    double below = functional(c, d, w);
    *at = kept;
    return (above - below) / (2 * step);
}

/* No pixel lies within a step of what clamps or saturates. A step of 1e-6 leaves 1e-9 of a sum of thousands. */
static int check_differences(int vignetting)
{
    int failures = 0;
    exposure_case c = case_make(23, 31, false, vignetting, 3);
    doubles d = doubles_make(&c);
    double *w = doubles_of(c.grad, c.n), sums[SPLAT_EXPOSURE_SUMS];
    if (vignetting == 0) d.camera_row[0] = -1e-3; /* at 0 exactly the clamp has two derivatives */
    const double weight = exp2(-d.photo_row[0]);  /* of the photo for the picture; held */
    ref_exposure_backward_f64(c.width, c.height, d.center, d.photo_row, d.camera_row, d.image, d.photo, d.sky, d.grad,
                              sums);
    for (int k = 0; k < 3; k++) {
        double numeric = difference(&c, &d, w, &d.photo_row[k]), gradient = splat_exposure_photo_gradient(sums, k);
        TEST_CHECK(failures, fabs(numeric - gradient) < 1e-6, "photo %d: %.9g, difference %.9g", k, gradient, numeric);
        numeric = difference(&c, &d, w, &d.camera_row[k]);
        TEST_CHECK(failures, fabs(numeric - sums[3 + k]) < 1e-6, "camera %d: %.9g, difference %.9g", k, sums[3 + k],
                   numeric);
    }
    for (size_t i = 0; i < c.n; i += 29) {
        double numeric = weight * difference(&c, &d, w, &d.image[i]);
        TEST_CHECK(failures, fabs(numeric - d.grad[i]) < 1e-6, "pixel %zu: %.9g, difference %.9g", i, d.grad[i],
                   numeric);
    }
    free(w);
    doubles_free(&d);
    case_free(&c);
    return failures;
}

/* ---------------------------------------------------------------- the step */

enum { N_PHOTOS = 300, N_CAMERAS = 2, N_VALUES = SPLAT_EXPOSURE_ROW * (N_PHOTOS + N_CAMERAS), N_ROWS = 700 };

/* values, m and v after steps that draw one photo after the other. */
static void run_steps(splat_backend *backend, int n_steps, float values[3][N_VALUES], const double *sums, int *failures)
{
    splat_block blocks[4] = {{0}};
    splat_error error = {0};
    struct splat_exposure_step_args args = {.n_photos = N_PHOTOS, .n_cameras = N_CAMERAS, .camera = 1,
                                            .n_rows = N_ROWS, .lr = 0.002f};
    args.values = test_upload(backend, &blocks[0], values[0], sizeof values[0]);
    args.m = test_upload(backend, &blocks[1], values[1], sizeof values[1]);
    args.v = test_upload(backend, &blocks[2], values[2], sizeof values[2]);
    args.sums = test_upload(backend, &blocks[3], sums, N_ROWS * SPLAT_EXPOSURE_SUMS * sizeof(double));
    for (int t = 1; t <= n_steps; t++) {
        args.photo = (uint32_t)(7 * t) % N_PHOTOS;
        args.correction1 = (float)(1 - pow(0.9, t));
        args.correction2 = (float)(1 - pow(0.999, t));
        TEST_CHECK(*failures, splat_op_exposure_step(backend, &args, &error) == SPLAT_OK, "%s", error.message);
    }
    const void *device[3] = {args.values, args.m, args.v};
    for (int i = 0; i < 3; i++) test_download(backend, values[i], device[i], sizeof values[i]);
    for (int i = 0; i < 4; i++) splat_block_free(backend, &blocks[i]);
}

/* Means on both sides of the smooth L1's widths. */
static void make_values(float values[3][N_VALUES], float e, float balance, uint64_t seed)
{
    memset(values, 0, 3 * sizeof values[0]);
    for (size_t i = 0; i < N_VALUES; i++) {
        float u = splat_uniform(splat_random(seed, SPLAT_STREAM_TEST, 1, i).x[0]) - 0.5f;
        values[0][i] = 0.02f * u + (i >= 3 * N_PHOTOS ? 0 : i % 3 == 0 ? e : balance);
    }
}

/* Adam of the gradient by central differences of what holds the gains, and of the sums. Moments are compared, as a
 * small gradient's step is as large as a large one's: a part in 1e5, for a float gradient summed of a thousand. */
static int check_step(splat_backend *backend, float e, float balance)
{
    static float values[3][N_VALUES], kept[3][N_VALUES];
    static double sums[N_ROWS * SPLAT_EXPOSURE_SUMS], wide[N_VALUES];
    double total[SPLAT_EXPOSURE_SUMS] = {0};
    int failures = 0;
    make_values(values, e, balance, 5);
    memcpy(kept, values, sizeof kept);
    for (size_t i = 0; i < N_ROWS * SPLAT_EXPOSURE_SUMS; i++) {
        sums[i] = (double)splat_uniform(splat_random(6, SPLAT_STREAM_TEST, 2, i).x[0]) / N_ROWS;
        total[i % SPLAT_EXPOSURE_SUMS] += sums[i];
    }
    run_steps(backend, 1, values, sums, &failures);
    for (size_t i = 0; i < N_VALUES; i++) wide[i] = (double)kept[0][i];
    for (size_t i = 0; i < N_VALUES; i++) {
        double at = wide[i], step = 1e-6;
        wide[i] = at + step;
        double above = ref_exposure_gauge_f64(N_PHOTOS, N_CAMERAS, wide);
        wide[i] = at - step;
        double below = ref_exposure_gauge_f64(N_PHOTOS, N_CAMERAS, wide);
        wide[i] = at;
        double gradient = (above - below) / (2 * step);
        if (i / 3 == 7) gradient += splat_exposure_photo_gradient(total, (int)(i % 3));
        if (i / 3 == N_PHOTOS + 1) gradient += total[3 + i % 3];
        TEST_CHECK(failures, fabs(10 * (double)values[1][i] - gradient) < 1e-5 * fabs(gradient) + 1e-8,
                   "%zu: gradient %.9g, difference %.9g", i, 10 * (double)values[1][i], gradient);
        double expected = at - 0.002 * (gradient > 1e-7 ? 1 : gradient < -1e-7 ? -1 : 0); /* the first step's size */
        if (fabs(gradient) > 1e-7)
            TEST_CHECK(failures, fabs((double)values[0][i] - expected) < 1e-6, "%zu: %.9g, not %.9g", i,
                       (double)values[0][i], expected);
    }
    return failures;
}

/* Twenty steps against Adam in double, and the same bytes again. */
static int check_steps(splat_backend *backend)
{
    static float values[3][N_VALUES], again[3][N_VALUES];
    static double sums[N_ROWS * SPLAT_EXPOSURE_SUMS];
    int failures = 0;
    make_values(values, 0.05f, 0.01f, 8);
    memcpy(again, values, sizeof again);
    for (size_t i = 0; i < N_ROWS * SPLAT_EXPOSURE_SUMS; i++) sums[i] = (double)(i % 11) / N_ROWS;
    double m = 0, v = 0, x = (double)values[0][3 * (N_PHOTOS + 1)], sum = 0;
    for (size_t y = 0; y < N_ROWS; y++) sum += sums[SPLAT_EXPOSURE_SUMS * y + 3];
    for (int t = 1; t <= 20; t++) {
        double g = sum + (x > 0 ? 0.01 : 0);
        m = 0.9 * m + 0.1 * g;
        v = 0.999 * v + 0.001 * g * g;
        x -= 0.002 * m / (1 - pow(0.9, t)) / sqrt(v / (1 - pow(0.999, t)));
    }
    run_steps(backend, 20, values, sums, &failures);
    TEST_CHECK(failures, fabs((double)values[0][3 * (N_PHOTOS + 1)] - x) < 1e-6, "after twenty steps %.9g, not %.9g",
               (double)values[0][3 * (N_PHOTOS + 1)], x);
    run_steps(backend, 20, again, sums, &failures);
    TEST_CHECK(failures, memcmp(values, again, sizeof values) == 0, "twenty steps again give other bytes");
    return failures;
}

static int check_refusals(splat_backend *backend)
{
    int failures = 0;
    float floats[3] = {0};
    uint8_t bytes[3] = {0};
    struct splat_exposure_args args = {.width = 0, .height = 1, .photo_u8 = bytes};
    splat_error error = {0};
    TEST_CHECK(failures, splat_op_exposure(backend, &args, &error) == SPLAT_ERROR_ARGUMENT, "an empty picture");
    args = (struct splat_exposure_args){.width = 1, .height = 1, .photo_u8 = bytes, .photo_f32 = floats};
    TEST_CHECK(failures, splat_op_exposure(backend, &args, &error) == SPLAT_ERROR_ARGUMENT, "two photos");
    struct splat_exposure_step_args step = {.n_photos = 2, .n_cameras = 1, .photo = 2};
    TEST_CHECK(failures, splat_op_exposure_step(backend, &step, &error) == SPLAT_ERROR_ARGUMENT, "no such photo");
    step = (struct splat_exposure_step_args){.n_photos = 2, .n_cameras = 1, .camera = 1};
    TEST_CHECK(failures, splat_op_exposure_step(backend, &step, &error) == SPLAT_ERROR_ARGUMENT, "no such camera");
    return failures;
}

int test_op_exposure(splat_backend *backend)
{
    static const int sizes[][2] = {{1, 1}, {1, 7}, {40, 1}, {33, 31}, {32, 32}, {61, 47}, {257, 64}};
    int failures = check_known(backend) + check_without_photo(backend) + check_brightness(backend);
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++)
        for (int vignetting = 0; vignetting < N_VIGNETTINGS; vignetting++)
            for (int in_bytes = 0; in_bytes < 2; in_bytes++)
                failures += check_case(backend, sizes[i][0], sizes[i][1], in_bytes, vignetting, false) +
                            check_case(backend, sizes[i][0], sizes[i][1], in_bytes, vignetting, true);
    return failures + check_refusals(backend);
}

int test_op_exposure_backward(splat_backend *backend)
{
    (void)backend; /* exposure's cases have the gradients, too */
    int failures = 0;
    for (int vignetting = 0; vignetting < N_VIGNETTINGS; vignetting++) failures += check_differences(vignetting);
    return failures;
}

int test_op_exposure_step(splat_backend *backend)
{
    return check_step(backend, 0.03f, 0.004f) + check_step(backend, -0.5f, 0.1f) + check_steps(backend);
}
