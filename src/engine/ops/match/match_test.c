/* match against the reference in double, on a world of two textured planes whose depth is known. */
#include "ops/match/match.h"

#include "math/camera.h"
#include "ops/project/project_test.h"
#include "ops/ref.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* A wall with a pattern, and a board before it. A plain world has one colour. */
typedef struct world_spec {
    const char *name;
    int width, height;
    uint32_t n_neighbors, stride, n_sweeps;
    bool board, plain;
    double off;   /* first planes: pixels of disparity off the truth, in waves; */
    double gone;  /* and the part of the wall's sites that begin at half the depth */
    double gain;  /* of the neighbours' photos */
    bool unknown; /* the op gets no depth */
    bool guesses; /* the op takes first planes as guesses */
} world_spec;

typedef struct world {
    const world_spec *spec;
    splat_camera cameras[1 + SPLAT_MATCH_NEIGHBORS];
    uint8_t *grey[1 + SPLAT_MATCH_NEIGHBORS];
    float *depth[1 + SPLAT_MATCH_NEIGHBORS];
    int columns, rows, n;
    float (*first)[3], (*planes)[3], *costs;
    uint8_t *verdicts;
    double (*truth)[3];
} world;

static const double planes_of_world[2][4] = {{0.2, -0.1, 1, 4}, {-0.15, 0, 1, 3}}; /* n . X = d */

/* Around the z axis, looking at (0, 0, 4). The neighbours stand 0.3 and more from the reference. */
static splat_camera camera_of(uint32_t number, int width, int height)
{
    splat_camera camera = {.width = width, .height = height};
    double angle = 2.4 * (double)number, radius = number == 0 ? 0 : 0.3 + 0.08 * (double)number;
    const double center[3] = {radius * cos(angle), radius * sin(angle), 0.05 * (double)number};
    double z[3] = {-center[0], -center[1], 4 - center[2]}, length = 0, x[3], y[3], rotation[9], translation[3];
    for (int k = 0; k < 3; k++) length += z[k] * z[k];
    for (int k = 0; k < 3; k++) z[k] /= sqrt(length);
    const double side = hypot(z[0], z[2]);
    x[0] = z[2] / side, x[1] = 0, x[2] = -z[0] / side;
    for (int k = 0; k < 3; k++) y[k] = z[(k + 1) % 3] * x[(k + 2) % 3] - z[(k + 2) % 3] * x[(k + 1) % 3];
    for (int k = 0; k < 3; k++) rotation[k] = x[k], rotation[3 + k] = y[k], rotation[6 + k] = z[k];
    for (int i = 0; i < 3; i++)
        translation[i] = -(rotation[3 * i] * center[0] + rotation[3 * i + 1] * center[1] +
                           rotation[3 * i + 2] * center[2]);
    splat_camera_set_pose(&camera, rotation, translation);
    splat_camera_set_intrinsics(&camera, 1.1 * width, 1.1 * width, 0.5 * width + 0.3, 0.5 * height - 0.2, width, height,
                                width, height);
    return camera;
}

/* Inverse depth of a plane of the world along the ray through the centre of pixel (x, y), and its slopes. */
static void plane_in(const splat_camera *c, int number, double x, double y, double plane[3])
{
    const double *p = planes_of_world[number];
    double distance = p[3], own[3];
    for (int k = 0; k < 3; k++) distance -= p[k] * (double)c->center[k];
    for (int k = 0; k < 3; k++)
        own[k] = ((double)c->rotation[3 * k] * p[0] + (double)c->rotation[3 * k + 1] * p[1] +
                  (double)c->rotation[3 * k + 2] * p[2]) / distance;
    plane[0] = own[0] * (x + 0.5 - (double)c->cx) / (double)c->fx +
               own[1] * (y + 0.5 - (double)c->cy) / (double)c->fy + own[2];
    plane[1] = own[0] / (double)c->fx;
    plane[2] = own[1] / (double)c->fy;
}

static int hit(const world_spec *spec, const splat_camera *c, double x, double y, double plane[3], double at[3])
{
    for (int number = spec->board; number >= 0; number--) {
        plane_in(c, number, x, y, plane);
        const double own[3] = {(x + 0.5 - (double)c->cx) / (double)c->fx / plane[0],
                               (y + 0.5 - (double)c->cy) / (double)c->fy / plane[0], 1 / plane[0]};
        for (int k = 0; k < 3; k++)
            at[k] = (double)c->center[k] + (double)c->rotation[k] * own[0] + (double)c->rotation[3 + k] * own[1] +
                    (double)c->rotation[6 + k] * own[2];
        if (number == 0 || (fabs(at[0] - 0.3) < 0.35 && fabs(at[1]) < 0.4)) return number;
    }
    return 0;
}

/* Levels of 50 to 200, with waves of 4 and more pixels of a picture of 96. */
static double level_of(const world_spec *spec, int number, const double at[3])
{
    double scale = 22 * (1 + 0.3 * number);
    if (spec->plain) return 120;
    return 125 + 25 * sin(scale * at[0] + 2 * sin(3 * at[1])) + 25 * sin(scale * 1.3 * at[1] + 1 + sin(5 * at[0])) +
           25 * sin(scale * 0.7 * (at[0] - at[1]) + 2 * number);
}

static world world_make(const world_spec *spec)
{
    world w = {.spec = spec};
    size_t n_pixels = (size_t)spec->width * (size_t)spec->height;
    for (uint32_t v = 0; v <= spec->n_neighbors; v++) {
        w.cameras[v] = camera_of(v, spec->width, spec->height);
        w.grey[v] = malloc(n_pixels);
        w.depth[v] = malloc(n_pixels * sizeof(float));
        for (size_t i = 0; i < n_pixels; i++) {
            double plane[3], at[3];
            int number = hit(spec, &w.cameras[v], (double)(i % (size_t)spec->width), (double)(i / (size_t)spec->width),
                             plane, at);
            w.grey[v][i] = (uint8_t)(level_of(spec, number, at) * (v ? spec->gain : 1) + 0.5);
            w.depth[v][i] = (float)(1 / plane[0]);
        }
    }
    w.columns = (int)splat_match_sites(spec->width, spec->stride);
    w.rows = (int)splat_match_sites(spec->height, spec->stride);
    w.n = w.columns * w.rows;
    w.first = calloc((size_t)w.n + 1, sizeof *w.first);
    w.planes = calloc((size_t)w.n + 1, sizeof *w.planes);
    w.truth = calloc((size_t)w.n + 1, sizeof *w.truth);
    w.costs = calloc((size_t)w.n + 1, sizeof *w.costs);
    w.verdicts = calloc((size_t)w.n + 1, 1);
    for (int i = 0; i < w.n; i++) {
        int stride = (int)spec->stride;
        int x = i % w.columns * stride + stride / 2, y = i / w.columns * stride + stride / 2;
        double at[3], wave = sin(0.03 * x + 0.2) * cos(0.025 * y), per_pixel = 1 / (0.5 * 1.1 * spec->width);
        int number = hit(spec, &w.cameras[0], x, y, w.truth[i], at);
        for (int k = 0; k < 3; k++) w.first[i][k] = (float)w.truth[i][k];
        w.first[i][0] += (float)(spec->off * wave * per_pixel);
        if (number == 0 && fabs(wave - 0.5) < spec->gone) w.first[i][0] *= 2;
        w.depth[0][y * spec->width + x] = 1 / w.first[i][0];
    }
    return w;
}

static void world_free(world *w)
{
    for (uint32_t v = 0; v <= w->spec->n_neighbors; v++) {
        free(w->grey[v]);
        free(w->depth[v]);
    }
    free(w->first);
    free(w->planes);
    free(w->truth);
    free(w->costs);
    free(w->verdicts);
}

/* Fills w->planes, costs and verdicts. */
static int run(splat_backend *backend, world *w)
{
    int failures = 0;
    splat_error error;
    const world_spec *spec = w->spec;
    size_t n_pixels = (size_t)spec->width * (size_t)spec->height, n = (size_t)w->n;
    splat_block photos[1 + SPLAT_MATCH_NEIGHBORS] = {{0}}, depths[1 + SPLAT_MATCH_NEIGHBORS] = {{0}}, out[3] = {{0}};
    struct splat_match_args args = {.n_neighbors = spec->n_neighbors, .noise = 0.5f, .stride = spec->stride,
                                    .n_sweeps = spec->n_sweeps, .are_guesses = spec->guesses};
    for (uint32_t v = 0; v <= spec->n_neighbors; v++) {
        splat_match_view *view = v ? &args.neighbors[v - 1] : &args.reference;
        view->camera = &w->cameras[v];
        view->grey = test_upload(backend, &photos[v], w->grey[v], n_pixels);
        if (!spec->unknown) view->depth = test_upload(backend, &depths[v], w->depth[v], n_pixels * sizeof(float));
    }
    memset(w->costs, 0x7f, n * sizeof *w->costs); /* all are overwritten */
    memset(w->verdicts, 0x7f, n);
    args.planes = test_upload(backend, &out[0], w->first, n * sizeof *w->first);
    args.costs = test_upload(backend, &out[1], w->costs, n * sizeof *w->costs);
    args.verdicts = test_upload(backend, &out[2], w->verdicts, n);
    TEST_CHECK(failures, splat_op_match(backend, &args, &error) == SPLAT_OK, "%s: %s", spec->name, error.message);
    size_t stated = splat_match_scratch_bytes(n_pixels * spec->n_neighbors, n);
    TEST_CHECK(failures, backend->scratch.used <= stated + 512, "%s: %zu bytes of scratch, not %zu", spec->name,
               backend->scratch.used, stated);
    test_download(backend, w->planes, args.planes, n * sizeof *w->planes);
    test_download(backend, w->costs, args.costs, n * sizeof *w->costs);
    test_download(backend, w->verdicts, args.verdicts, n);
    for (uint32_t v = 0; v <= spec->n_neighbors; v++) {
        splat_block_free(backend, &photos[v]);
        splat_block_free(backend, &depths[v]);
    }
    for (int k = 0; k < 3; k++) splat_block_free(backend, &out[k]);
    return failures;
}

/* The answer of the reference for the planes that the op found. */
typedef struct said {
    double *costs, *pixels;
    uint8_t *verdicts;
} said;

static said ask_reference(const world *w)
{
    size_t n = (size_t)w->n;
    ref_match_view_f64 views[1 + SPLAT_MATCH_NEIGHBORS];
    double(*first)[3] = malloc((n + 1) * sizeof *first), (*planes)[3] = malloc((n + 1) * sizeof *planes);
    said s = {malloc((n + 1) * sizeof(double)), malloc((n + 1) * sizeof(double)), malloc(n + 1)};
    for (uint32_t v = 0; v <= w->spec->n_neighbors; v++)
        views[v] = (ref_match_view_f64){ref_camera_from_f64(&w->cameras[v]), w->grey[v],
                                        w->spec->unknown ? NULL : w->depth[v], w->spec->guesses};
    for (size_t i = 0; i < n; i++)
        for (int k = 0; k < 3; k++) {
            first[i][k] = (double)w->first[i][k];
            planes[i][k] = (double)w->planes[i][k];
        }
    ref_match_f64(views, w->spec->n_neighbors, 0.5, (int)w->spec->stride, (const double(*)[3])first,
                  (const double(*)[3])planes, s.costs, s.pixels, s.verdicts);
    free(first);
    free(planes);
    return s;
}

/* Sites that speak, and of these those that match, that are near the truth before and after, and that are silent. */
typedef struct tally { int n, n_matched, n_against, n_near_before, n_near, n_wrong; } tally;

static tally count(const world *w, const said *s)
{
    tally t = {0};
    for (int i = 0; i < w->n; i++) {
        double before = fabs((double)w->first[i][0] - w->truth[i][0]) * s->pixels[i];
        double after = fabs((double)w->planes[i][0] - w->truth[i][0]) * s->pixels[i];
        if (!(s->pixels[i] > 0)) continue;
        t.n++;
        t.n_matched += w->verdicts[i] == SPLAT_MATCH_MATCHED;
        t.n_against += w->verdicts[i] == SPLAT_MATCH_AGAINST;
        t.n_near_before += before < 1;
        t.n_near += after < 1;
        t.n_wrong += w->verdicts[i] == SPLAT_MATCH_MATCHED && after > 1.5;
    }
    return t;
}

/* Costs: positions have an error of 3e-5 pixels (96 pixels in float), levels change by at most 30 a pixel, and the
 * least deviation is 2: 5e-4, and as much for sums. A site whose step, sight or texture is within rounding of its
 * limit may differ, and a verdict within rounding of one of its five: one of 200. */
static int check_spec(splat_backend *backend, const world_spec *spec)
{
    int failures = 0, n_other = 0, n_mute = 0;
    world w = world_make(spec);
    failures += run(backend, &w);
    said s = ask_reference(&w);
    for (int i = 0; i < w.n && failures < 5; i++) {
        n_mute += (s.pixels[i] > 0) != (w.costs[i] < SPLAT_MATCH_DUMB);
        if (!(s.pixels[i] > 0) || !(w.costs[i] < SPLAT_MATCH_DUMB)) continue;
        n_other += fabs((double)w.costs[i] - s.costs[i]) > 1e-3 || w.verdicts[i] != s.verdicts[i];
    }
    TEST_CHECK(failures, 200 * n_other <= w.n, "%s: %d of %d sites differ", spec->name, n_other, w.n);
    TEST_CHECK(failures, 200 * n_mute <= w.n, "%s: %d of %d sites speak elsewhere", spec->name, n_mute, w.n);
    tally t = count(&w, &s);
    if (spec->plain || spec->n_neighbors < 1) {
        TEST_CHECK(failures, t.n == 0 && t.n_matched == 0, "%s: %d sites speak", spec->name, t.n);
    } else {
        TEST_CHECK(failures, 3 * t.n > w.n, "%s: %d of %d sites speak", spec->name, t.n, w.n);
        const int share = spec->guesses ? 50 : 100; /* next to the board: two neighbours count, and no site around */
        TEST_CHECK(failures, share * t.n_wrong <= t.n, "%s: %d of %d match at a wrong depth", spec->name, t.n_wrong,
                   t.n);
    }
    if (t.n && spec->off == 0 && spec->gone == 0) /* the truth stays, to the bit, but next to the board */
        for (int i = 0; i < w.n; i++)
            n_other += memcmp(w.planes[i], w.first[i], sizeof w.planes[i]) != 0;
    TEST_CHECK(failures, 20 * n_other <= w.n, "%s: %d sites left the truth", spec->name, n_other);
    if (t.n && spec->n_sweeps && spec->off + spec->gone > 1) {
        TEST_CHECK(failures, 10 * t.n_near > 8 * t.n && t.n_near > t.n_near_before,
                   "%s: %d of %d sites are near the truth, %d before", spec->name, t.n_near, t.n, t.n_near_before);
        TEST_CHECK(failures, 2 * t.n_matched > t.n, "%s: %d of %d match", spec->name, t.n_matched, t.n);
    }
    if (spec->n_neighbors == 1)
        TEST_CHECK(failures, t.n_against == 0, "%s: %d sites are against", spec->name, t.n_against);
    if (t.n && !spec->n_sweeps && spec->gone > 0)
        TEST_CHECK(failures, t.n_against > 0, "%s: nothing is against", spec->name);
    splat_backend *other = project_other_backend(backend);
    if (other) {
        world again = world_make(spec);
        failures += run(other, &again);
        TEST_CHECK(failures, memcmp(again.planes, w.planes, (size_t)w.n * sizeof *w.planes) == 0 &&
                                 memcmp(again.costs, w.costs, (size_t)w.n * sizeof *w.costs) == 0 &&
                                 memcmp(again.verdicts, w.verdicts, (size_t)w.n) == 0,
                   "%s: other bytes", spec->name);
        world_free(&again);
    }
    splat_backend_destroy(other);
    free(s.costs);
    free(s.pixels);
    free(s.verdicts);
    world_free(&w);
    return failures;
}

/* Planes and depths that are no numbers make no site speak, and leave the others alone. */
static int check_hostile(splat_backend *backend)
{
    static const world_spec spec = {"hostile", 64, 48, 4, 1, 2, true, false, 1, 0, 1, false, false};
    static const float odd[] = {NAN, INFINITY, -INFINITY, -1, 0, 1e30f, 1e-30f, 1e38f};
    int failures = 0, n_matched = 0;
    world w = world_make(&spec);
    for (int i = 0; i < w.n; i += 13) {
        w.first[i][i / 13 % 3] = odd[i % 8];
        w.depth[i % 5][i] = odd[i % 7];
    }
    failures += run(backend, &w);
    for (int i = 0; i < w.n; i++) {
        bool is_odd = i % 13 == 0 && !(w.costs[i] < SPLAT_MATCH_DUMB);
        n_matched += w.verdicts[i] == SPLAT_MATCH_MATCHED;
        TEST_CHECK(failures, w.verdicts[i] <= SPLAT_MATCH_AGAINST && w.costs[i] >= 0 && w.costs[i] <= SPLAT_MATCH_DUMB,
                   "site %d: verdict %d, cost %g", i, w.verdicts[i], (double)w.costs[i]);
        TEST_CHECK(failures, is_odd || (isfinite(w.planes[i][0]) && isfinite(w.planes[i][1])), "site %d: %g", i,
                   (double)w.planes[i][0]);
    }
    TEST_CHECK(failures, 3 * n_matched > w.n, "%d of %d match", n_matched, w.n);
    world_free(&w);
    return failures;
}

static int check_errors(splat_backend *backend)
{
    int failures = 0;
    splat_error error;
    struct splat_match_args args = {.stride = 0};
    TEST_CHECK(failures, splat_op_match(backend, &args, &error) == SPLAT_ERROR_ARGUMENT, "a stride of 0");
    args.stride = 1;
    args.n_neighbors = SPLAT_MATCH_NEIGHBORS + 1;
    TEST_CHECK(failures, splat_op_match(backend, &args, &error) == SPLAT_ERROR_ARGUMENT, "nine neighbours");
    return failures;
}

int test_op_match(splat_backend *backend)
{
    static const world_spec specs[] = {
        {"truth", 96, 64, 8, 1, 1, true, false, 0, 0, 1, false, false},
        {"costs", 96, 64, 8, 1, 0, true, false, 1, 0.1, 0.8, false, false},
        {"near", 96, 64, 5, 1, 3, false, false, 3, 0, 0.7, false, false},
        {"board", 97, 63, 8, 1, 3, true, false, 0.9, 0, 1, false, false},
        {"gone", 96, 64, 6, 1, 3, false, false, 1.5, 0.1, 1.2, false, false},
        {"stride", 131, 77, 4, 3, 3, true, false, 0.9, 0, 1, false, false},
        {"two", 64, 48, 2, 2, 2, false, false, 2, 0, 1, false, false},
        {"one", 33, 17, 1, 1, 2, false, false, 1, 0, 1, false, false},
        {"none", 16, 16, 0, 1, 1, false, false, 1, 0, 1, false, false},
        {"plain", 48, 32, 4, 1, 2, true, true, 1, 0, 1, false, false},
        {"unknown", 96, 64, 8, 1, 4, true, false, 4, 0, 1, true, false},
        {"guesses", 96, 64, 8, 1, 4, true, false, 4, 0, 1, true, true},
        {"pixel", 1, 1, 2, 1, 1, false, true, 0, 0, 1, false, false},
        {"no site", 1, 1, 2, 5, 1, false, true, 0, 0, 1, false, false},
    };
    int failures = check_hostile(backend) + check_errors(backend);
    for (size_t i = 0; i < sizeof specs / sizeof specs[0]; i++) TEST_CASE(failures, check_spec(backend, &specs[i]));
    return failures;
}
