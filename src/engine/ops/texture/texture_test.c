/* texture_gather against the formulas in double on a plane half behind a screen, and texture_blend against colours
 * worked out by hand. */
#include "ops/test_ops.h"

#include "base/rng.h"
#include "math/camera.h"
#include "ops/texture/texture.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { WIDTH = 48, HEIGHT = 36, GRID = 5, N_FACES = 2 * GRID * GRID, N_VERTICES = (GRID + 1) * (GRID + 1),
       N_TEXELS = 700, N_VIEWS = 12, N_LEVELS = 3 };
#define LOW_PIXELS ((WIDTH / 4) * (HEIGHT / 4))

static double random_unit(uint32_t stream, uint64_t i)
{
    return (double)splat_random(11, SPLAT_STREAM_TEST, stream, i).x[0] / 4294967296.0;
}

/* A grid on the plane z = 0, seen from above; its normals lean. */
typedef struct plane {
    float vertices[N_VERTICES][3], normals[N_VERTICES][3], size[N_FACES], weights[N_TEXELS][2];
    uint32_t faces[N_FACES][3], face[N_TEXELS];
    uint16_t candidates[N_FACES][SPLAT_TEXTURE_CANDIDATES];
} plane;

static void make_plane(plane *p)
{
    for (uint32_t i = 0; i < N_VERTICES; i++) {
        p->vertices[i][0] = (float)(i % (GRID + 1)) / GRID * 2 - 1;
        p->vertices[i][1] = (float)(i / (GRID + 1)) / GRID * 2 - 1;
        p->vertices[i][2] = 0;
        p->normals[i][0] = (float)random_unit(1, i) * 0.4f - 0.2f;
        p->normals[i][1] = (float)random_unit(2, i) * 0.4f - 0.2f;
        p->normals[i][2] = 0.9f;
    }
    for (uint32_t f = 0; f < N_FACES; f++) {
        uint32_t a = f / 2 % GRID + f / 2 / GRID * (GRID + 1);
        const uint32_t even[3] = {a, a + 1, a + GRID + 2}, odd[3] = {a, a + GRID + 2, a + GRID + 1};
        memcpy(p->faces[f], f % 2 ? odd : even, sizeof even);
        p->size[f] = 0.02f + 0.2f * (float)random_unit(3, f); /* below a pixel, and several */
        for (uint32_t k = 0; k < SPLAT_TEXTURE_CANDIDATES; k++)
            p->candidates[f][k] = k < 7 ? (uint16_t)((f + 5 * k) % N_VIEWS) : SPLAT_TEXTURE_NO_VIEW;
    }
    for (uint32_t i = 0; i < N_TEXELS; i++) {
        float a = (float)random_unit(4, i), b = (float)random_unit(5, i);
        p->face[i] = (uint32_t)(random_unit(6, i) * N_FACES);
        p->weights[i][0] = a + b > 1 ? 1 - a : a;
        p->weights[i][1] = a + b > 1 ? 1 - b : b;
    }
}

/* A photo of noise, and depth of the plane; a screen nearer by a tenth covers the left quarter. */
typedef struct photo {
    splat_texture_view view;
    uint8_t pyramid[3 * (WIDTH * HEIGHT + WIDTH * HEIGHT / 4 + WIDTH * HEIGHT / 16)], feather[WIDTH * HEIGHT];
    float table[3 * 256], low[3 * LOW_PIXELS], depth[WIDTH * HEIGHT];
} photo;

static void make_photo(photo *p, uint32_t number)
{
    double angle = number * 2.399, tilt = (number < 10 ? 0.03 : 0.12) * number, s = sin(tilt), c = cos(tilt);
    const double t[3] = {0, 0, 3 + 0.1 * number};
    const double turn[9] = {cos(angle), sin(angle), 0, -sin(angle), cos(angle), 0, 0, 0, 1};
    /* looks down -z: y and z turn over, then the camera tilts */
    const double down[9] = {1, 0, 0, 0, -c, -s, 0, s, -c};
    double r[9];
    for (int i = 0; i < 9; i++)
        r[i] = down[i / 3 * 3] * turn[i % 3] + down[i / 3 * 3 + 1] * turn[3 + i % 3] +
               down[i / 3 * 3 + 2] * turn[6 + i % 3];
    memset(p, 0, sizeof *p);
    p->view.number = number;
    p->view.n_levels = N_LEVELS;
    p->view.sharpness = 0.5f + 0.05f * (float)number;
    p->view.camera = (splat_camera){.fx = 50, .fy = 52, .cx = 23.5f, .cy = 18.2f, .width = WIDTH, .height = HEIGHT};
    splat_camera_set_pose(&p->view.camera, r, t);
    for (size_t i = 0; i < sizeof p->pyramid; i++) p->pyramid[i] = (uint8_t)(random_unit(10 + number, i) * 256);
    for (size_t i = 0; i < 3 * 256; i++) p->table[i] = (float)(i % 256) / 255.0f * 1.1f - 0.02f * (float)(i / 256);
    for (size_t i = 0; i < 3 * LOW_PIXELS; i++) p->low[i] = (float)random_unit(40 + number, i);
    for (size_t i = 0; i < WIDTH * HEIGHT; i++) {
        double ray[3] = {((double)(i % WIDTH) + 0.5 - 23.5) / 50, ((double)(i / WIDTH) + 0.5 - (double)18.2f) / 52,
                         1};
        double towards = r[2] * ray[0] + r[5] * ray[1] + r[8] * ray[2], center_z = (double)p->view.camera.center[2];
        p->depth[i] = (float)(-center_z / towards * (i % WIDTH < WIDTH / 4 ? 0.9 : 1));
        p->feather[i] = (uint8_t)(random_unit(70 + number, i) * 256);
    }
}

typedef struct seen {
    double x, y, footprint, weight, margin; /* margin: how near to another answer */
} seen;

/* The contract, in double. */
static seen see(const plane *p, const photo *q, size_t i)
{
    const splat_camera *c = &q->view.camera;
    const uint32_t *corner = p->faces[p->face[i]];
    double b[3] = {(double)p->weights[i][0], (double)p->weights[i][1], 0}, at[3] = {0}, n[3] = {0}, to[3], cam[3];
    seen s = {.margin = 1};
    b[2] = 1 - b[0] - b[1];
    for (int k = 0; k < 3; k++) {
        for (int j = 0; j < 3; j++) {
            at[k] += b[j] * (double)p->vertices[corner[j]][k];
            n[k] += b[j] * (double)p->normals[corner[j]][k];
        }
        to[k] = (double)c->center[k] - at[k];
    }
    for (int k = 0; k < 3; k++) {
        const float *row = c->rotation + 3 * k;
        cam[k] = (double)row[0] * at[0] + (double)row[1] * at[1] + (double)row[2] * at[2] + (double)c->translation[k];
    }
    double distance = sqrt(to[0] * to[0] + to[1] * to[1] + to[2] * to[2]);
    double cosine = to[2] / distance, least = cos(75 * acos(-1.0) / 180);
    double leaning = (n[0] * to[0] + n[1] * to[1] + n[2] * to[2]) / distance /
                     sqrt(n[0] * n[0] + n[1] * n[1] + n[2] * n[2]);
    s.x = 50 * cam[0] / cam[2] + 23.5;
    s.y = 52 * cam[1] / cam[2] + (double)c->cy;
    double inside = fmin(fmin(s.x - 2, WIDTH - 2 - s.x), fmin(s.y - 2, HEIGHT - 2 - s.y));
    s.margin = fmin(fabs(cosine - least), fabs(inside));
    if (cosine < least || inside < 0) return s;
    int x0 = (int)floor(s.x - 0.5), y0 = (int)floor(s.y - 0.5);
    double low = 1e9, high = 0;
    for (int k = 0; k < 4; k++) {
        double d = (double)q->depth[(y0 + k / 2) * WIDTH + x0 + k % 2];
        low = fmin(low, d);
        high = fmax(high, d);
    }
    s.margin = fmin(s.margin, fmin(fabs(high / low - 1.02), fabs(cam[2] / high - 1.005)));
    s.margin = fmin(s.margin, fmin(fabs(s.x - floor(s.x + 0.5)), fabs(s.y - floor(s.y + 0.5))));
    if (high > 1.02 * low || cam[2] > 1.005 * high) return s;
    double feather = fmax(q->feather[(int)s.y * WIDTH + (int)s.x] / 255.0, 0.01), density = 51 / cam[2];
    s.footprint = (double)p->size[p->face[i]] * density;
    for (int k = 0; k < 2; k++) s.margin = fmin(s.margin, fabs(s.footprint / (sqrt(2) * (1 << k)) - 1));
    leaning = fmax(leaning, least);
    s.weight = feather * leaning * leaning * density * density * (double)q->view.sharpness;
    return s;
}

static double bilinear(const double *plane_values, int width, int height, double x, double y)
{
    x = fmin(fmax(x - 0.5, 0), width - 1);
    y = fmin(fmax(y - 0.5, 0), height - 1);
    int x0 = (int)x, y0 = (int)y, x1 = x0 + (x0 < width - 1), y1 = y0 + (y0 < height - 1);
    double a = x - x0, b = y - y0;
    return (1 - b) * ((1 - a) * plane_values[y0 * width + x0] + a * plane_values[y0 * width + x1]) +
           b * ((1 - a) * plane_values[y1 * width + x0] + a * plane_values[y1 * width + x1]);
}

static void colors(const photo *q, const seen *s, double color[3], double low[3])
{
    int level = s->footprint > 2 * sqrt(2) ? 2 : s->footprint > sqrt(2) ? 1 : 0;
    size_t first = 0;
    for (int k = 0; k < level; k++) first += 3 * (size_t)(WIDTH >> k) * (size_t)(HEIGHT >> k);
    int width = WIDTH >> level, height = HEIGHT >> level;
    double values[WIDTH * HEIGHT];
    for (int c = 0; c < 3; c++) {
        for (int i = 0; i < width * height; i++)
            values[i] = (double)q->table[256 * c + q->pyramid[first + 3 * (size_t)i + (size_t)c]];
        color[c] = bilinear(values, width, height, s->x / (1 << level), s->y / (1 << level));
        for (int i = 0; i < LOW_PIXELS; i++) values[i] = (double)q->low[c * LOW_PIXELS + i];
        low[c] = bilinear(values, WIDTH / 4, HEIGHT / 4, s->x / 4, s->y / 4);
    }
}

typedef struct device {
    splat_backend *backend;
    splat_block blocks[16];
    int n;
} device;

static void *put(device *d, const void *host, size_t bytes)
{
    return test_upload(d->backend, &d->blocks[d->n++], host, bytes);
}

static void close_device(device *d, int first)
{
    while (d->n > first) splat_block_free(d->backend, &d->blocks[--d->n]);
}

static splat_texture_points put_plane(device *d, const plane *p, bool candidates)
{
    return (splat_texture_points){.n = N_TEXELS,
                                  .face = put(d, p->face, sizeof p->face),
                                  .weights = put(d, p->weights, sizeof p->weights),
                                  .vertices = put(d, p->vertices, sizeof p->vertices),
                                  .normals = put(d, p->normals, sizeof p->normals),
                                  .faces = put(d, p->faces, sizeof p->faces),
                                  .size = put(d, p->size, sizeof p->size),
                                  .candidates = candidates ? put(d, p->candidates, sizeof p->candidates) : NULL};
}

static splat_texture_view put_photo(device *d, const photo *q)
{
    splat_texture_view v = q->view;
    v.pyramid = put(d, q->pyramid, sizeof q->pyramid);
    v.table = put(d, q->table, sizeof q->table);
    v.low = put(d, q->low, sizeof q->low);
    v.depth = put(d, q->depth, sizeof q->depth);
    v.feather = put(d, q->feather, sizeof q->feather);
    return v;
}

static double weight_of(uint16_t code)
{
    uint32_t bits = (uint32_t)code << 16;
    float value;
    memcpy(&value, &bits, sizeof value);
    return (double)value;
}

static double value_of(uint16_t code)
{
    return code * 2 / 65535.0 - 0.5;
}

/* Texels of which all views are kept: as many samples as the formulas say, each with its weight and colours. */
static int test_samples(splat_backend *backend)
{
    int failures = 0;
    static plane p;
    static photo q[N_VIEWS];
    device d = {.backend = backend};
    splat_error error = {0};
    make_plane(&p);
    splat_texture_points points = put_plane(&d, &p, true);
    static splat_texture_sample samples[N_TEXELS][SPLAT_TEXTURE_SAMPLES];
    struct splat_texture_gather_args args = {.points = points};
    args.samples = put(&d, NULL, sizeof samples);
    int kept = d.n;
    for (uint32_t v = 0; v < N_VIEWS; v++) {
        make_photo(&q[v], v);
        args.view = put_photo(&d, &q[v]);
        TEST_CHECK(failures, splat_op_texture_gather(backend, &args, &error) == SPLAT_OK, "%s", error.message);
        splat_backend_synchronize(backend, NULL);
        close_device(&d, kept);
    }
    test_download(backend, samples, args.samples, sizeof samples);
    size_t n_seen = 0, n_hidden = 0;
    for (size_t i = 0; i < N_TEXELS; i++) {
        const splat_texture_sample *own[SPLAT_TEXTURE_CANDIDATES] = {NULL};
        for (int k = 0; k < SPLAT_TEXTURE_SAMPLES; k++)
            if (samples[i][k].weight && samples[i][k].rank < 7) own[samples[i][k].rank] = &samples[i][k];
        for (int rank = 0; rank < 7; rank++) {
            const photo *shot = &q[p.candidates[p.face[i]][rank]];
            seen s = see(&p, shot, i);
            double color[3], low[3];
            if (s.margin < 1e-3) continue; /* single precision may answer otherwise */
            s.weight > 0 ? n_seen++ : n_hidden++;
            TEST_CHECK(failures, (s.weight > 0) == (own[rank] != NULL), "texel %zu, rank %d: weight %g", i, rank,
                       s.weight);
            if (!own[rank] || !(s.weight > 0)) continue;
            /* eight bits of the weight's fraction are kept, cut off */
            double weight = weight_of(own[rank]->weight);
            TEST_CHECK(failures, weight <= s.weight * 1.00001 && weight > s.weight * 0.992,
                       "texel %zu: weight %g, not %g", i, weight, s.weight);
            colors(shot, &s, color, low);
            for (int c = 0; c < 3; c++) { /* 16 bits; the place is exact to 1e-5 pixel */
                TEST_CHECK(failures, fabs(value_of(own[rank]->color[c]) - color[c]) < 1e-4, "texel %zu: %g, not %g", i,
                           value_of(own[rank]->color[c]), color[c]);
                TEST_CHECK(failures, fabs(value_of(own[rank]->low[c]) - low[c]) < 1e-4, "texel %zu: low %g, not %g", i,
                           value_of(own[rank]->low[c]), low[c]);
            }
        }
    }
    TEST_CHECK(failures, n_seen > 1000 && n_hidden > 300, "%zu seen, %zu hidden", n_seen, n_hidden);
    close_device(&d, 0);
    return failures;
}

/* Without candidates every view counts: sums hold their mean, samples the heaviest eight. */
static int test_heaviest(splat_backend *backend)
{
    int failures = 0;
    static plane p;
    static photo q[N_VIEWS];
    device d = {.backend = backend};
    splat_error error = {0};
    make_plane(&p);
    splat_texture_points points = put_plane(&d, &p, false);
    static splat_texture_sample samples[N_TEXELS][SPLAT_TEXTURE_SAMPLES];
    static float sums[N_TEXELS][4];
    struct splat_texture_gather_args args = {.points = points}, sum_args = {.points = points};
    args.samples = put(&d, NULL, sizeof samples);
    sum_args.sums = put(&d, NULL, sizeof sums);
    int kept = d.n;
    for (uint32_t v = 0; v < N_VIEWS; v++) {
        make_photo(&q[v], v);
        sum_args.view = args.view = put_photo(&d, &q[v]);
        TEST_CHECK(failures, splat_op_texture_gather(backend, &args, &error) == SPLAT_OK, "%s", error.message);
        TEST_CHECK(failures, splat_op_texture_gather(backend, &sum_args, &error) == SPLAT_OK, "%s", error.message);
        splat_backend_synchronize(backend, NULL);
        close_device(&d, kept);
    }
    test_download(backend, samples, args.samples, sizeof samples);
    test_download(backend, sums, sum_args.sums, sizeof sums);
    size_t n_full = 0;
    for (size_t i = 0; i < N_TEXELS; i++) {
        double weights[N_VIEWS], sum[4] = {0}, lightest = 1e30, margin = 1;
        int n = 0;
        for (int v = 0; v < N_VIEWS; v++) {
            seen s = see(&p, &q[v], i);
            double color[3], low[3];
            margin = fmin(margin, s.margin);
            if (!(s.weight > 0)) continue;
            colors(&q[v], &s, color, low);
            for (int c = 0; c < 3; c++) sum[c] += color[c];
            sum[3]++;
            weights[n++] = s.weight;
        }
        if (margin < 1e-3) continue;
        for (int c = 0; c < 4; c++)
            TEST_CHECK(failures, fabs((double)sums[i][c] - sum[c]) < 1e-3, "texel %zu: sum %g, not %g", i,
                       (double)sums[i][c], sum[c]);
        if (n <= SPLAT_TEXTURE_SAMPLES) continue;
        n_full++;
        for (int k = 0; k < SPLAT_TEXTURE_SAMPLES; k++) lightest = fmin(lightest, weight_of(samples[i][k].weight));
        int heavier = 0;
        for (int k = 0; k < n; k++) heavier += weights[k] > lightest * 1.01;
        TEST_CHECK(failures, heavier < SPLAT_TEXTURE_SAMPLES, "texel %zu keeps %g, and %d weigh more", i, lightest,
                   heavier);
    }
    TEST_CHECK(failures, n_full > 30, "%zu texels with more views than are kept", n_full);
    close_device(&d, 0);
    return failures;
}

static splat_texture_sample sample_of(double color, double low, float weight, uint16_t rank)
{
    splat_texture_sample s = {.rank = rank};
    uint32_t bits;
    memcpy(&bits, &weight, sizeof bits);
    s.weight = (uint16_t)(bits >> 16);
    for (int c = 0; c < 3; c++) {
        s.color[c] = (uint16_t)(65535 * (color + 0.05 * c + 0.5) / 2 + 0.5);
        s.low[c] = (uint16_t)(65535 * (low + 0.05 * c + 0.5) / 2 + 0.5);
    }
    return s;
}

/* One face; blue is a tenth more than red everywhere. */
static int blend(splat_backend *backend, const splat_texture_sample samples[SPLAT_TEXTURE_SAMPLES],
                 const splat_texture_labels labels[3], float rgb[4])
{
    int failures = 0;
    device d = {.backend = backend};
    splat_error error = {0};
    const uint32_t face = 0, faces[3] = {0, 1, 2};
    const float weights[2] = {0.5f, 0.25f};
    uint16_t candidates[SPLAT_TEXTURE_CANDIDATES];
    for (uint16_t k = 0; k < SPLAT_TEXTURE_CANDIDATES; k++) candidates[k] = (uint16_t)(100 + k);
    struct splat_texture_blend_args args = {.points = {.n = 1}};
    args.points.face = put(&d, &face, sizeof face);
    args.points.weights = put(&d, weights, sizeof weights);
    args.points.faces = put(&d, faces, sizeof faces);
    args.points.candidates = put(&d, candidates, sizeof candidates);
    args.samples = put(&d, samples, SPLAT_TEXTURE_SAMPLES * sizeof *samples);
    args.labels = labels ? put(&d, labels, 3 * sizeof *labels) : NULL;
    args.rgb = put(&d, NULL, 4 * sizeof *rgb);
    TEST_CHECK(failures, splat_op_texture_blend(backend, &args, &error) == SPLAT_OK, "%s", error.message);
    test_download(backend, rgb, args.rgb, 4 * sizeof *rgb);
    close_device(&d, 0);
    return failures;
}

static int expect(const char *what, const float rgb[4], double red, double count)
{
    int failures = 0;
    TEST_CHECK(failures, fabs((double)rgb[0] - red) < 1e-4 && fabs((double)rgb[2] - red - 0.1) < 1e-4 &&
                   (double)rgb[3] == count, "%s: %g %g %g %g, not %g", what, (double)rgb[0], (double)rgb[1],
               (double)rgb[2], (double)rgb[3], red);
    return failures;
}

static int test_blend(splat_backend *backend)
{
    int failures = 0;
    float rgb[4];
    splat_texture_sample samples[SPLAT_TEXTURE_SAMPLES] = {{{0}, {0}, 0, 0}};
    failures += blend(backend, samples, NULL, rgb);
    TEST_CHECK(failures, rgb[0] == 0 && rgb[3] == 0, "nothing seen: %g %g", (double)rgb[0], (double)rgb[3]);
    samples[3] = sample_of(0.4, 0.3, 2.0f, 0);
    failures += blend(backend, samples, NULL, rgb) + expect("one", rgb, 0.4, 1);
    samples[5] = sample_of(0.8, 0.5, 1.0f, 1);
    failures += blend(backend, samples, NULL, rgb) + expect("two by weight", rgb, (2 * 0.4 + 0.8) / 3, 2);
    /* deviations 0.01, 0, 0.4: the third is clamped to 0.4 + 3 x 1.4826 x 0.01 */
    samples[5] = sample_of(0.41, 0.5, 2.0f, 1);
    samples[6] = sample_of(0.81, 0.5, 4.0f, 2);
    failures += blend(backend, samples, NULL, rgb) +
                expect("an outlier", rgb, (2 * 0.4 + 2 * 0.41 + 4 * (0.41 + 3 * 1.4826 * 0.01)) / 8, 3);

    /* Bands: low by weight, high from the view that the labels name. */
    splat_texture_labels labels[3];
    for (int k = 0; k < 3; k++)
        labels[k] = (splat_texture_labels){{101, SPLAT_TEXTURE_NO_VIEW, SPLAT_TEXTURE_NO_VIEW, SPLAT_TEXTURE_NO_VIEW},
                                           {255, 0, 0, 0}};
    memset(samples, 0, sizeof samples);
    samples[0] = sample_of(0.45, 0.3, 1.0f, 0);
    samples[1] = sample_of(0.30, 0.5, 1.0f, 1);
    double high = (1e-3 * 0.15 + 1.001 * -0.2) / 1.002;
    failures += blend(backend, samples, labels, rgb) + expect("details of a label", rgb, 0.4 + high, 2);
    /* The first corner, half of the texel, names the other view. */
    labels[0].view[2] = 100;
    labels[0].share[2] = 255;
    labels[0].share[0] = 0;
    failures += blend(backend, samples, labels, rgb) + expect("between labels", rgb, 0.4 + (0.15 - 0.2) / 2, 2);
    samples[0] = sample_of(1.39, 1.35, 1.0f, 0); /* with 0.1 more of blue the most that a sample holds is 1.5 */
    samples[1] = sample_of(1.39, 1.35, 1.0f, 1);
    failures += blend(backend, samples, labels, rgb);
    TEST_CHECK(failures, rgb[0] == 1.0f, "%g is not clamped", (double)rgb[0]);
    return failures;
}

int test_op_texture_gather(splat_backend *backend)
{
    int failures = 0;
    splat_error error = {0};
    struct splat_texture_gather_args args = {.view = {.n_levels = 1, .camera = {.width = 0, .height = 2}}};
    TEST_CHECK(failures, splat_op_texture_gather(backend, &args, &error) == SPLAT_ERROR_ARGUMENT, "an empty photo");
    args.view.camera.width = 2;
    TEST_CHECK(failures, splat_op_texture_gather(backend, &args, &error) == SPLAT_ERROR_ARGUMENT, "nothing to fill");
    failures += test_samples(backend);
    failures += test_heaviest(backend);
    return failures;
}

int test_op_texture_blend(splat_backend *backend)
{
    return test_blend(backend);
}
