/* level_points against the reference in double, and a disc whose crossing is known. */
#include "ops/level_points/level_points.h"

#include "math/camera.h"
#include "ops/visibility_buffer/visibility_buffer.h"
#include "ops/knn/knn.h"
#include "ops/project/project_test.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { LEVELS = 3 };
static const float usual_levels[LEVELS] = {0.1f, 0.3f, 0.5f};

typedef struct result {
    uint32_t n, *pixels, *ids, *neighbors;
    float *depth, *points, *normals;
    uint8_t *valid;
} result;

static void result_free(result *r)
{
    free(r->pixels);
    free(r->ids);
    free(r->neighbors);
    free(r->depth);
    free(r->points);
    free(r->normals);
    free(r->valid);
}

/* Hits by visibility_buffer, which has tests of its own, neighbours by knn, and every pixel that is hit. */
static result run(splat_backend *backend, const splat_gaussians *host, const splat_camera *camera,
                  const float levels[LEVELS], int *failures)
{
    result r = {0};
    size_t n_pixels = splat_camera_pixels(camera);
    project_scene scene;
    splat_block blocks[7] = {0};
    splat_error error = {0};
    project_scene_open(&scene, backend, host, camera, true, false);
    uint32_t *ids = test_upload(backend, &blocks[0], NULL, n_pixels * 4);
    float *depth = test_upload(backend, &blocks[1], NULL, n_pixels * 4);
    uint32_t *neighbors = test_upload(backend, &blocks[2], NULL, (size_t)host->n * SPLAT_NEIGHBORS * 4);
    struct splat_knn_args knn = {host->n, scene.gaussians.p.means, SPLAT_NEIGHBORS, NULL, neighbors};
    TEST_CHECK(*failures, splat_op_knn(backend, &knn, &error) == SPLAT_OK, "%s", error.message);
    struct splat_visibility_buffer_args visibility = {&scene.gaussians, camera, ids, depth};
    TEST_CHECK(*failures, splat_op_visibility_buffer(backend, &visibility, &error) == SPLAT_OK, "%s", error.message);
    r.ids = project_host_copy(backend, ids, n_pixels);
    r.depth = project_host_copy(backend, depth, n_pixels);
    r.neighbors = project_host_copy(backend, neighbors, (size_t)host->n * SPLAT_NEIGHBORS);
    r.pixels = malloc((n_pixels + 1) * sizeof *r.pixels);
    for (size_t i = n_pixels; i-- > 0;) /* any order will do */
        if (r.ids[i]) r.pixels[r.n++] = (uint32_t)i;
    size_t n = (size_t)LEVELS * r.n, n_words = (n + 3) / 4;
    struct splat_level_points_args args = {.gaussians = &scene.gaussians, .neighbors = neighbors, .camera = camera,
                                           .ids = ids, .depth = depth, .n = r.n, .n_levels = LEVELS};
    memcpy(args.levels, levels, LEVELS * sizeof *levels);
    args.pixels = test_upload(backend, &blocks[3], r.pixels, r.n * sizeof *r.pixels);
    args.points = test_upload(backend, &blocks[4], NULL, 3 * n * 4);
    args.normals = test_upload(backend, &blocks[5], NULL, 3 * n * 4);
    args.valid = test_upload(backend, &blocks[6], NULL, 4 * n_words);
    TEST_CHECK(*failures, splat_op_level_points(backend, &args, &error) == SPLAT_OK, "%s", error.message);
    r.points = project_host_copy(backend, args.points, 3 * n);
    r.normals = project_host_copy(backend, args.normals, 3 * n);
    r.valid = project_host_copy(backend, args.valid, n_words);
    for (int k = 0; k < 2; k++) { /* too few and too many levels */
        args.n_levels = k ? SPLAT_MESH_LEVELS + 1 : 0;
        TEST_CHECK(*failures, splat_op_level_points(backend, &args, &error) == SPLAT_ERROR_ARGUMENT, "%d levels",
                   args.n_levels);
    }
    for (size_t i = 0; i < sizeof blocks / sizeof blocks[0]; i++) splat_block_free(backend, &blocks[i]);
    project_scene_close(&scene);
    return r;
}

/* Gaussians that are neither tiny nor needles: floats of the size of the scene are then fine to a thousandth of a
 * standard deviation. */
static test_gaussians make_gaussians(uint32_t n)
{
    test_gaussians t = test_gaussians_make(n, 0, 0, 58);
    for (uint32_t i = 0; i < n; i++) {
        t.g.filter_3d[i] = 0;
        t.g.p.opacities[i] = fabsf(t.g.p.opacities[i]);
        for (int k = 0; k < 3; k++) t.g.p.scales[3 * i + k] = fmaxf(t.g.p.scales[3 * i + k], -4.5f);
    }
    return t;
}

static double distance(const double a[3], const double b[3])
{
    return sqrt(pow(a[0] - b[0], 2) + pow(a[1] - b[1], 2) + pow(a[2] - b[2], 2));
}

/* A point may move as far as it moves when the level changes by a thousandth, and normals turn as much; where that
 * changes whether there is a point, either is right. */
static int check_reference(splat_backend *backend, uint32_t n)
{
    int failures = 0;
    test_gaussians t = make_gaussians(n);
    splat_camera camera = test_camera_make(90, 70);
    result r = run(backend, &t.g, &camera, usual_levels, &failures);
    ref_gaussians_f64 g = ref_gaussians_from_f64(&t.g);
    ref_camera_f64 c = ref_camera_from_f64(&camera);
    size_t n_points = 0, n_unsure = 0, n_all = (size_t)LEVELS * r.n;
    for (size_t at = 0; at < n_all && failures < 5; at++) {
        double p[3][3], m[3][3];
        bool found[3];
        uint32_t pixel = r.pixels[at % r.n];
        for (int k = 0; k < 3; k++)
            found[k] = ref_level_point_f64(&g, r.neighbors, &c, pixel, r.ids[pixel] - 1, (double)r.depth[pixel],
                                           (double)usual_levels[at / r.n] * (1 + 1e-3 * (k - 1)), p[k], m[k]);
        bool unsure = found[0] != found[1] || found[2] != found[1] || distance(p[0], p[2]) > 0.01;
        n_unsure += unsure;
        TEST_CHECK(failures, unsure || r.valid[at] == found[1], "entry %zu: %d", at, r.valid[at]);
        if (unsure || !found[1] || !r.valid[at]) continue;
        n_points++;
        double point[3], normal[3], length = 0;
        for (size_t k = 0; k < 3; k++) {
            point[k] = (double)r.points[3 * at + k];
            normal[k] = (double)r.normals[3 * at + k];
            length += normal[k] * normal[k];
        }
        TEST_CHECK(failures, distance(point, p[1]) < distance(p[0], p[2]) + 1e-5, "entry %zu: %g away, %g allowed", at,
                   distance(point, p[1]), distance(p[0], p[2]));
        TEST_CHECK(failures, distance(normal, m[1]) < distance(m[0], m[2]) + 1e-3, "entry %zu: normal %g away", at,
                   distance(normal, m[1]));
        TEST_CHECK(failures, fabs(length - 1) < 1e-5, "entry %zu: a normal of length %g", at, sqrt(length));
    }
    TEST_CHECK(failures, n_points > n_all / 8, "%zu of %zu have a point", n_points, n_all);
    TEST_CHECK(failures, n_unsure < n_all / 20, "%zu of %zu are not sure", n_unsure, n_all);
    splat_backend *other = project_other_backend(backend);
    if (other) { /* the same bits with other threads; what is not valid is zero on the CPU's fresh memory */
        result again = run(other, &t.g, &camera, usual_levels, &failures);
        TEST_CHECK(failures, memcmp(again.points, r.points, 12 * n_all) == 0, "points change with threads");
        TEST_CHECK(failures, memcmp(again.normals, r.normals, 12 * n_all) == 0, "normals change with threads");
        TEST_CHECK(failures, memcmp(again.valid, r.valid, n_all) == 0, "what is valid changes with threads");
        result_free(&again);
        splat_backend_destroy(other);
    }
    ref_gaussians_free_f64(&g);
    result_free(&r);
    test_gaussians_free(&t);
    return failures;
}

/* Discs of opacity 0.9 that face a camera at the origin: all of them at z = 2, or the first one there and the rest far
 * away. */
static result run_discs(splat_backend *backend, bool stacked, float s, const float wanted[LEVELS], int *failures)
{
    test_gaussians t = test_gaussians_make(SPLAT_NEIGHBORS + 1, 0, 0, 1);
    splat_camera camera = {.rotation = {1, 0, 0, 0, 1, 0, 0, 0, 1}, .fx = 60, .fy = 60, .cx = 30.5f, .cy = 20.5f,
                           .width = 61, .height = 41};
    for (uint32_t i = 0; i < t.g.n; i++) {
        const float mean[3] = {0, 0, i && !stacked ? 1000.0f : 2}, rotation[4] = {1, 0, 0, 0};
        memcpy(t.g.p.means + 3 * i, mean, sizeof mean);
        memcpy(t.g.p.rotations + 4 * i, rotation, sizeof rotation);
        for (int k = 0; k < 3; k++) t.g.p.scales[3 * i + k] = logf(k == 2 ? s : 0.2f);
        t.g.p.opacities[i] = logf(0.9f / 0.1f);
        t.g.filter_3d[i] = 0;
    }
    result r = run(backend, &t.g, &camera, wanted, failures);
    test_gaussians_free(&t);
    return r;
}

/* The entry of the pixel that looks along the axis. */
static size_t on_axis(const result *r, size_t level)
{
    for (uint32_t i = 0; i < r->n; i++)
        if (r->pixels[i] == 20 * 61 + 30) return level * r->n + i;
    fprintf(stderr, "nothing is hit on the axis\n");
    exit(2);
}

/* The density along the axis is 0.9 e^(-t^2 / 2 s^2), so the level is passed sqrt(2 ln(0.9 / level)) s before the disc;
 * linear interpolation over 0.3 s costs up to 0.3^2 / 8 s of the second derivative over the slope, 0.01 s here. */
static int check_disc(splat_backend *backend)
{
    int failures = 0;
    const float s = 0.02f;
    result r = run_discs(backend, false, s, usual_levels, &failures);
    TEST_CHECK(failures, r.n > 100, "%u pixels are hit", r.n);
    for (size_t l = 0; l < LEVELS; l++) {
        size_t at = on_axis(&r, l);
        float wanted = 2 - s * sqrtf(2 * logf(0.9f / usual_levels[l]));
        const float *p = r.points + 3 * at, *m = r.normals + 3 * at;
        TEST_CHECK(failures, r.valid[at], "level %g is not passed", (double)usual_levels[l]);
        TEST_CHECK(failures, p[0] == 0 && p[1] == 0 && fabsf(p[2] - wanted) < 0.012f * s, "z %g, not %g",
                   (double)p[2], (double)wanted);
        TEST_CHECK(failures, fabsf(m[0]) < 1e-6f && fabsf(m[1]) < 1e-6f && fabsf(m[2] + 1) < 1e-6f,
                   "normal %g %g %g", (double)m[0], (double)m[1], (double)m[2]);
    }
    result_free(&r);
    return failures;
}

/* Sixteen in one place: 14.4 e^(-t^2 / 2 s^2), 0.8083 at t = -2.4 s and capped at 1 at t = -2.1 s; at -3 s it is 0.16,
 * so that the level 0.1 is passed before there is a sample. */
static int check_stack(splat_backend *backend)
{
    int failures = 0;
    static const float stack_levels[LEVELS] = {0.1f, 0.3f, 0.9f};
    const double s = 0.02, before = 14.4 * exp(-0.5 * 2.4 * 2.4);
    const double z = 2 - s * (2.4 - 0.3 * (0.9 - before) / (1 - before));
    result r = run_discs(backend, true, (float)s, stack_levels, &failures);
    size_t at = on_axis(&r, 2);
    TEST_CHECK(failures, !r.valid[on_axis(&r, 0)] && r.valid[on_axis(&r, 1)] && r.valid[at], "%d %d %d",
               r.valid[on_axis(&r, 0)], r.valid[on_axis(&r, 1)], r.valid[at]);
    /* rounding of z, and of the densities' steep interpolation */
    TEST_CHECK(failures, fabs((double)r.points[3 * at + 2] - z) < 1e-5, "z %.7g, not %.7g",
               (double)r.points[3 * at + 2], z);
    result_free(&r);
    return failures;
}

int test_op_level_points(splat_backend *backend)
{
    return check_disc(backend) + check_stack(backend) + check_reference(backend, 40) + check_reference(backend, 600);
}
