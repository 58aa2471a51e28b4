/* visibility_buffer against every ray and every rhombus in double, and against pictures known by heart. */
#include "ops/visibility_buffer/visibility_buffer.h"

#include "math/camera.h"
#include "ops/visibility_buffer/visibility_buffer_math.h"
#include "ops/project/project_test.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

typedef struct hits {
    uint32_t *ids;
    float *depth;
    size_t n_pixels;
} hits;

static void hits_free(hits *h)
{
    free(h->ids);
    free(h->depth);
}

static hits run(splat_backend *backend, const splat_gaussians *host, const splat_camera *camera, int *failures)
{
    hits h = {.n_pixels = splat_camera_pixels(camera)};
    project_scene scene;
    splat_block ids = {0}, depth = {0};
    splat_error error = {0};
    project_scene_open(&scene, backend, host, camera, true, false);
    struct splat_visibility_buffer_args args = {&scene.gaussians, camera,
                                                test_upload(backend, &ids, NULL, h.n_pixels * sizeof(uint32_t)),
                                                test_upload(backend, &depth, NULL, h.n_pixels * sizeof(float))};
    splat_status status = splat_op_visibility_buffer(backend, &args, &error);
    TEST_CHECK(*failures, status == SPLAT_OK, "%s", error.message);
    h.ids = project_host_copy(backend, args.ids, h.n_pixels);
    h.depth = project_host_copy(backend, args.depth, h.n_pixels);
    splat_block_free(backend, &ids);
    splat_block_free(backend, &depth);
    project_scene_close(&scene);
    return h;
}

/* Rounding moves edges by about 1e-5 of the rhombus (seen; needles most) and depths by 3e-7: a pixel must show what it
 * shows with rhombi a ten thousandth larger or smaller, or something as near. */
#define EDGE 1e-4
#define NEAR_TIE 2e-6

static int check_reference(splat_backend *backend, uint32_t n, int width, int height)
{
    int failures = 0;
    test_gaussians t = test_gaussians_make(n, 0, 0, 57);
    splat_camera camera = test_camera_make(width, height);
    for (uint32_t i = 0; i < n; i++) t.g.filter_3d[i] = 0;
    if (n > 20) { /* what cannot be drawn */
        t.g.p.means[3] = NAN;
        t.g.p.scales[7] = INFINITY;
        for (int k = 0; k < 4; k++) t.g.p.rotations[4 * 4 + k] = 0;
    }
    hits h = run(backend, &t.g, &camera, &failures), wanted[3];
    ref_gaussians_f64 g = ref_gaussians_from_f64(&t.g);
    ref_camera_f64 c = ref_camera_from_f64(&camera);
    double *depth[3];
    for (int k = 0; k < 3; k++) {
        wanted[k].ids = malloc(h.n_pixels * sizeof(uint32_t));
        depth[k] = malloc(h.n_pixels * sizeof(double));
        ref_visibility_buffer_f64(&g, &c, (double)SPLAT_DIAMOND_SIZE * (1 + EDGE * (k - 1)), wanted[k].ids, depth[k]);
    }
    size_t n_hits = 0, n_unsure = 0;
    for (size_t i = 0; i < h.n_pixels && failures < 5; i++) {
        bool found = false;
        for (int k = 0; k < 3; k++)
            found |= h.ids[i] == wanted[k].ids[i] || (h.ids[i] && wanted[k].ids[i] &&
                                                      fabs((double)h.depth[i] - depth[k][i]) < NEAR_TIE * depth[k][i]);
        TEST_CHECK(failures, found, "pixel %zu of %d x %d shows %u, not %u", i, width, height, h.ids[i],
                   wanted[1].ids[i]);
        n_hits += h.ids[i] != 0;
        n_unsure += h.ids[i] != wanted[1].ids[i];
        if (h.ids[i] == wanted[1].ids[i])
            TEST_CHECK(failures, fabs((double)h.depth[i] - depth[1][i]) <= NEAR_TIE * depth[1][i],
                       "pixel %zu: depth %.9g, not %.9g", i, (double)h.depth[i], depth[1][i]);
    }
    TEST_CHECK(failures, n < 100 || n_hits > h.n_pixels / 4, "%zu of %zu pixels are hit", n_hits, h.n_pixels);
    TEST_CHECK(failures, n_unsure * 500 <= h.n_pixels, "%zu pixels differ", n_unsure);
    for (int k = 0; k < 3; k++) {
        free(wanted[k].ids);
        free(depth[k]);
    }
    splat_backend *other = project_other_backend(backend);
    if (other) { /* the same bits with other threads */
        hits again = run(other, &t.g, &camera, &failures);
        TEST_CHECK(failures, memcmp(again.ids, h.ids, h.n_pixels * sizeof *h.ids) == 0, "ids change with threads");
        TEST_CHECK(failures, memcmp(again.depth, h.depth, h.n_pixels * sizeof *h.depth) == 0,
                   "depths change with threads");
        hits_free(&again);
        splat_backend_destroy(other);
    }
    ref_gaussians_free_f64(&g);
    hits_free(&h);
    test_gaussians_free(&t);
    return failures;
}

/* ---------------------------------------------------------------- pictures known by heart */

enum { WIDTH = 61, HEIGHT = 41 };

/* At the origin of the world, looking along z; pixel (30, 20) looks along the axis, and at z = 2 a pixel is 1/30. */
static splat_camera plain_camera(void)
{
    return (splat_camera){.rotation = {1, 0, 0, 0, 1, 0, 0, 0, 1}, .fx = 60, .fy = 60, .cx = 30.5f, .cy = 20.5f,
                          .width = WIDTH, .height = HEIGHT};
}

static void set(splat_gaussians *g, uint32_t i, float x, float y, float z, float sx, float sy, float sz)
{
    const float mean[3] = {x, y, z}, scale[3] = {sx, sy, sz}, rotation[4] = {1, 0, 0, 0};
    memcpy(g->p.means + 3 * i, mean, sizeof mean);
    for (int k = 0; k < 3; k++) g->p.scales[3 * i + k] = logf(scale[k]);
    memcpy(g->p.rotations + 4 * i, rotation, sizeof rotation);
    g->filter_3d[i] = 0;
}

/* A disc that faces the camera: |dx| / 12.3 + |dy| / 6.3 <= 1 in pixels, flat depth on the axis. */
static int check_diamond(splat_backend *backend)
{
    int failures = 0;
    test_gaussians t = test_gaussians_make(1, 0, 0, 1);
    splat_camera camera = plain_camera();
    set(&t.g, 0, 0, 0, 2, 12.3f / 60, 6.3f / 60, 0.001f);
    hits h = run(backend, &t.g, &camera, &failures);
    for (int j = 0; j < HEIGHT; j++)
        for (int i = 0; i < WIDTH; i++) {
            bool inside = fabs(i - 30.0) / 12.3 + fabs(j - 20.0) / 6.3 <= 1;
            size_t at = (size_t)(j * WIDTH + i);
            TEST_CHECK(failures, h.ids[at] == inside, "pixel (%d, %d) shows %u", i, j, h.ids[at]);
            TEST_CHECK(failures, !inside || fabsf(h.depth[at] - 2) < 1e-5f, "depth %g", (double)h.depth[at]);
        }
    hits_free(&h);
    test_gaussians_free(&t);
    return failures;
}

/* The nearer one wins whatever the order, and of two at the same place the first. A dot far smaller than a pixel and
 * a needle that the Mip filter makes transparent count where a pixel's centre meets them. One whose vertices pass the
 * camera is left out; one behind it and one that is too near too. */
static int check_order(splat_backend *backend)
{
    int failures = 0;
    test_gaussians t = test_gaussians_make(9, 0, 0, 1);
    splat_camera camera = plain_camera();
    set(&t.g, 0, 0, 0, 3, 0.2f, 0.2f, 0.001f);
    set(&t.g, 1, 0, 0, 2, 0.05f, 0.05f, 0.001f);
    set(&t.g, 2, 0, 0, 2, 0.05f, 0.05f, 0.001f);
    set(&t.g, 3, 20 / 30.0f, 0, 2, 1e-4f, 1e-4f, 1e-5f);       /* 0.003 pixels, at (50, 20) */
    set(&t.g, 4, 0, 15 / 30.0f, 2, 0.1f, 1e-6f, 1e-5f);        /* a line through (30, 35) */
    set(&t.g, 5, 0, 0, 1, 0.0001f, 0.1f, 5);                   /* 2 s > distance along the line of sight */
    set(&t.g, 6, 0, 0, -1, 1, 1, 0.1f);
    set(&t.g, 7, 0, 0, 0.19f, 1, 1, 0.01f);
    set(&t.g, 8, 0, 0, 0.5f, 0.0f, 0.0f, 0.0f);                /* nothing is left of it */
    hits h = run(backend, &t.g, &camera, &failures);
    const struct { int i, j; uint32_t id; } wanted[] = {{30, 20, 2}, {30, 26, 1}, {32, 20, 2}, {50, 20, 4}, {49, 20, 0},
                                                        {30, 35, 5}, {33, 35, 5}, {30, 34, 0}, {30, 5, 0}};
    for (size_t k = 0; k < sizeof wanted / sizeof wanted[0]; k++) {
        uint32_t got = h.ids[wanted[k].j * WIDTH + wanted[k].i];
        TEST_CHECK(failures, got == wanted[k].id, "pixel (%d, %d) shows %u, not %u", wanted[k].i, wanted[k].j, got,
                   wanted[k].id);
    }
    hits_free(&h);
    test_gaussians_free(&t);
    return failures;
}

int test_op_visibility_buffer(splat_backend *backend)
{
    static const struct { uint32_t n; int width, height; } specs[] = {
        {0, 5, 3}, {1, 1, 1}, {37, 90, 70}, {1000, 90, 70}, {3000, 17, 200}, {200, 300, 220}};
    int failures = check_diamond(backend) + check_order(backend);
    for (size_t i = 0; i < sizeof specs / sizeof specs[0]; i++)
        failures += check_reference(backend, specs[i].n, specs[i].width, specs[i].height);
    return failures;
}
