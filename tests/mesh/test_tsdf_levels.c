/* Levels of fused depth: a room much larger than the innermost box comes back whole, in bounded memory. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "mesh/mesh_clean.h"
#include "mesh/tsdf_levels.h"
#include "mesh_fixture.h"

enum { WIDTH = 96, HEIGHT = 96, N_VIEWS = 18, BINS = 40 };
#define HALF 10.0 /* of the room, a cube around the origin; the innermost box is a tenth of it */

static const double low[3] = {-1, -1, -1}, high[3] = {1, 1, 1};
static const double voxel = 0.05;

/* View i looks along one of the axes, from a place near the middle. */
static splat_camera camera_of(size_t i)
{
    splat_camera c = {.width = WIDTH, .height = HEIGHT, .fx = 40, .fy = 40, .cx = WIDTH / 2, .cy = HEIGHT / 2};
    size_t axis = i % 3;
    float sign = i / 3 % 2 ? -1 : 1;
    const double places[3][3] = {{0.1, -0.2, 0.05}, {-0.4, 0.3, -0.2}, {0.3, 0.1, 0.4}};
    c.rotation[6 + axis] = sign; /* rows: right, down, ahead; down x ahead = right */
    c.rotation[3 + (axis + 1) % 3] = 1;
    c.rotation[(axis + 2) % 3] = -sign;
    for (size_t k = 0; k < 3; k++) c.center[k] = (float)places[i / 6 % 3][k];
    for (size_t k = 0; k < 3; k++)
        for (size_t a = 0; a < 3; a++) c.translation[k] -= c.rotation[3 * k + a] * c.center[a];
    return c;
}

/* Depth of the room's walls; with `ball` of a ball of radius 0.5 at (0, 1.4, 0), too, across the innermost border. */
static void draw(const splat_camera *c, bool ball, float *depth)
{
    for (size_t p = 0; p < WIDTH * HEIGHT; p++) {
        double x = ((double)(p % WIDTH) + 0.5 - (double)c->cx) / (double)c->fx;
        double y = ((double)(p / WIDTH) + 0.5 - (double)c->cy) / (double)c->fy, nearest = 1e9, d[3];
        const double ball_at[3] = {0, 1.4, 0};
        double dd = 0, od = 0, oo = -0.25;
        for (int k = 0; k < 3; k++) {
            double o = (double)c->center[k];
            d[k] = (double)c->rotation[k] * x + (double)c->rotation[3 + k] * y + (double)c->rotation[6 + k];
            if (d[k] != 0) nearest = fmin(nearest, ((d[k] > 0 ? HALF : -HALF) - o) / d[k]);
            dd += d[k] * d[k], od += d[k] * (o - ball_at[k]), oo += (o - ball_at[k]) * (o - ball_at[k]);
        }
        double root = od * od - dd * oo;
        if (ball && root > 0 && -od - sqrt(root) > 0) nearest = fmin(nearest, (-od - sqrt(root)) / dd);
        depth[p] = (float)nearest;
    }
}

static splat_status fuse_room(splat_tsdf_levels *levels, bool ball, size_t max_bytes, int threads, splat_mesh *mesh,
                              splat_error *error)
{
    float *depth = malloc(sizeof *depth * WIDTH * HEIGHT);
    splat_status status = splat_tsdf_levels_init(levels, low, high, voxel, SPLAT_TSDF_LEVELS, max_bytes, 0, threads,
                                                 error);
    for (int pass = 0; pass < 2 && status == SPLAT_OK; pass++) {
        for (size_t i = 0; i < N_VIEWS && status == SPLAT_OK; i++) {
            splat_tsdf_frame frame = {.camera = camera_of(i), .depth = depth};
            draw(&frame.camera, ball, depth);
            status = pass ? splat_tsdf_levels_fuse(levels, &frame, error)
                          : splat_tsdf_levels_plan(levels, &frame, error);
        }
        if (!pass && status == SPLAT_OK) status = splat_tsdf_levels_allocate(levels, 0.999, error);
    }
    if (status == SPLAT_OK) status = splat_tsdf_levels_mesh(levels, 0.1f, mesh, error);
    free(depth);
    return status;
}

/* Every wall, cut into 40 x 40 squares, has surface within a voxel of the wall's level. */
static void test_room(void **state)
{
    (void)state;
    splat_error error;
    splat_tsdf_levels levels;
    splat_mesh mesh, other;
    uint8_t *found = calloc(6 * BINS * BINS, 1);
    ASSERT_OK(fuse_room(&levels, true, SIZE_MAX, 1, &mesh, &error));
    assert_int_equal(levels.n, 5); /* 1, 2, 4, 8, 16 */
    assert_int_equal(levels.n_pixels[3], 0);
    double wall_voxel = levels.grids[4].voxel_size, size;
    assert_float_equal(wall_voxel, 16 * voxel, 1e-12);
    assert_true(splat_tsdf_levels_bytes(&levels) < 60 << 20); /* 400^3 voxels of 16 bytes would be 1 GB */
    size_t n_ball = 0, n_crossing = 0, n_off = 0;
    for (size_t i = 0; i < mesh.n_vertices; i++) {
        const float *v = mesh.vertices + 3 * i;
        double ball = fabs(sqrt(pow((double)v[0], 2) + pow((double)v[1] - 1.4, 2) + pow((double)v[2], 2)) - 0.5);
        size = 0;
        for (int k = 0; k < 3; k++) size = fmax(size, fabs((double)v[k]));
        bool near_wall = fabs(size - HALF) < wall_voxel;
        if (size < 2.1) n_ball++;
        n_crossing += size < 2.1 && v[1] > 1;
        n_off += size < 2.1 ? ball > 0.1 : !near_wall; /* a voxel of the second level */
        for (int k = 0; k < 3; k++) {
            if (fabs(fabs((double)v[k]) - HALF) >= wall_voxel) continue;
            int a = (int)(((double)v[(k + 1) % 3] + HALF) * BINS / 20);
            int b = (int)(((double)v[(k + 2) % 3] + HALF) * BINS / 20);
            for (int da = -1; da <= 1; da++)
                for (int db = -1; db <= 1; db++) /* vertices are 0.8 apart, squares 0.5 */
                    if (a + da >= 0 && a + da < BINS && b + db >= 0 && b + db < BINS)
                        found[((2 * k + (v[k] > 0)) * BINS + a + da) * BINS + b + db] = 1;
        }
    }
    size_t n_found = 0;
    for (size_t i = 0; i < 6 * BINS * BINS; i++) n_found += found[i];
    print_message("%zu of %d squares, %zu vertices of the ball, %zu beyond the first box, %zu of %zu off\n", n_found,
                  6 * BINS * BINS, n_ball, n_crossing, n_off, mesh.n_vertices);
    assert_true((double)n_found > 0.95 * 6 * BINS * BINS);
    assert_true(n_ball > 100 && n_crossing > 30 && n_crossing + 30 < n_ball);
    assert_true(n_off * 100 < mesh.n_vertices); /* behind the ball's outline */
    splat_tsdf_levels_free(&levels);
    ASSERT_OK(fuse_room(&levels, true, SIZE_MAX, 3, &other, &error));
    assert_int_equal(mesh.n_faces, other.n_faces);
    assert_memory_equal(mesh.vertices, other.vertices, 12 * mesh.n_vertices);
    assert_memory_equal(mesh.faces, other.faces, 12 * mesh.n_faces);
    splat_tsdf_levels_free(&levels);
    splat_mesh_free(&mesh);
    splat_mesh_free(&other);
    free(found);
}

/* All levels together keep the limit; a share of pixels decides how far they reach. */
static void test_limits(void **state)
{
    (void)state;
    splat_error error;
    splat_tsdf_levels levels;
    splat_mesh mesh = {0};
    ASSERT_OK(fuse_room(&levels, true, SIZE_MAX, 2, &mesh, &error));
    size_t bytes = splat_tsdf_levels_bytes(&levels), finest = splat_voxel_grid_bytes(&levels.grids[0]);
    assert_true(finest < bytes);
    splat_tsdf_levels_free(&levels);
    splat_mesh_free(&mesh);
    ASSERT_OK(fuse_room(&levels, true, bytes, 2, &mesh, &error));
    splat_tsdf_levels_free(&levels);
    splat_mesh_free(&mesh);
    assert_int_equal(fuse_room(&levels, true, bytes - 1, 2, &mesh, &error), SPLAT_ERROR_MEMORY);
    splat_tsdf_levels_free(&levels);
    ASSERT_OK(splat_tsdf_levels_init(&levels, low, high, voxel, 8, SIZE_MAX, 0, 1, &error));
    float *depth = malloc(sizeof *depth * WIDTH * HEIGHT);
    splat_tsdf_frame frame = {.camera = camera_of(0), .depth = depth};
    for (size_t p = 0; p < WIDTH * HEIGHT; p++) depth[p] = p < 90 ? 30.0f : 0.5f;
    depth[100] = INFINITY;
    depth[101] = NAN;
    depth[102] = 1000; /* beyond all */
    ASSERT_OK(splat_tsdf_levels_plan(&levels, &frame, &error));
    assert_int_equal(levels.n_pixels[8], 1);
    size_t far = levels.n_pixels[5] + levels.n_pixels[6], all = WIDTH * HEIGHT - 2;
    assert_int_equal(far, 90);
    ASSERT_OK(splat_tsdf_levels_allocate(&levels, 1 - 92.0 / (double)all, &error));
    assert_int_equal(levels.n, 1);
    splat_tsdf_levels_free(&levels);
    assert_int_equal(splat_tsdf_levels_init(&levels, low, high, voxel, 0, SIZE_MAX, 0, 1, &error),
                     SPLAT_ERROR_ARGUMENT);
    assert_int_equal(splat_tsdf_levels_init(&levels, high, low, voxel, 1, SIZE_MAX, 0, 1, &error),
                     SPLAT_ERROR_ARGUMENT);
    assert_int_equal(splat_tsdf_levels_init(&levels, low, high, 0, 1, SIZE_MAX, 0, 1, &error), SPLAT_ERROR_ARGUMENT);
    ASSERT_OK(splat_tsdf_levels_init(&levels, low, high, voxel, 2, SIZE_MAX, 0, 1, &error));
    frame.depth = NULL;
    assert_int_equal(splat_tsdf_levels_plan(&levels, &frame, &error), SPLAT_ERROR_ARGUMENT);
    splat_tsdf_levels_free(&levels);
    free(depth);
}

/* Levels of places, and meshes cut to their shells: faces across a border stay on both sides of it. */
static void test_boxes(void **state)
{
    (void)state;
    const double from[3] = {0, -2, 0}, to[3] = {2, 2, 1};
    const double places[4][3] = {{1, 0, 0.5}, {2.5, 0, 0.5}, {1, 0, 3}, {9, 0, 0}};
    const size_t expected[4] = {0, 1, 3, 3};
    splat_nested_boxes boxes = splat_nested_boxes_make(from, to);
    double inner[3], outer[3];
    for (int i = 0; i < 4; i++) assert_int_equal(splat_nested_level(&boxes, places[i], 3), expected[i]);
    splat_nested_box(&boxes, 1, 0.5, inner, outer);
    assert_true(inner[0] == -1.5 && inner[1] == -4.5 && outer[2] == 2);
    splat_mesh sheet = make_sheet(40, NULL), copy;
    splat_error error;
    for (size_t i = 0; i < sheet.n_vertices; i++) /* along x from 0.05 to 8.05, 0.2 apart */
        sheet.vertices[3 * i] = 8 * sheet.vertices[3 * i] + 0.05f, sheet.vertices[3 * i + 2] = 0.5f;
    ASSERT_OK(splat_mesh_copy(&sheet, &copy, &error));
    splat_nested_crop(&boxes, 0, &sheet);
    splat_nested_crop(&boxes, 1, &copy);
    assert_int_equal(sheet.n_faces, 80 * 10); /* cells from 0.05, ... 1.85, which reaches over 2 */
    assert_int_equal(copy.n_faces, 80 * 6);   /* from 1.85, ... 2.85, which reaches over 3 */
    splat_mesh_free(&sheet);
    splat_mesh_free(&copy);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_room),
        cmocka_unit_test(test_limits),
        cmocka_unit_test(test_boxes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
