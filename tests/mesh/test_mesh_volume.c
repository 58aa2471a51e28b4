/* Sparse grids, marching cubes and the fusion of depth maps. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/rng.h"
#include "mesh/marching_cubes.h"
#include "mesh/mesh_bvh.h"
#include "mesh/tsdf.h"
#include "mesh_fixture.h"

typedef double field(const double p[3]);

static const double center[3] = {0.3, -0.2, 0.1};

static double sphere_distance(const double p[3])
{
    return sqrt(pow(p[0] - center[0], 2) + pow(p[1] - center[1], 2) + pow(p[2] - center[2], 2)) - 1;
}

static double torus_field(const double p[3])
{
    return hypot(hypot(p[0], p[1]) - 1, p[2]) - 0.4;
}

static splat_voxel_grid make_grid(double voxel, double low, double high, field *f)
{
    splat_voxel_grid grid;
    splat_error error;
    const double origin[3] = {0.013, 0.007, -0.011}, from[3] = {low, low, low}, to[3] = {high, high, high};
    ASSERT_OK(splat_voxel_grid_init(&grid, origin, voxel, false, SIZE_MAX, &error));
    ASSERT_OK(splat_voxel_grid_touch_box(&grid, from, to, &error));
    ASSERT_OK(splat_voxel_grid_allocate(&grid, &error));
    for (size_t b = 0; f && b < grid.n_blocks; b++)
        for (size_t v = 0; v < SPLAT_BLOCK_VOXELS; v++) {
            double p[3];
            splat_voxel_position(&grid, b, v, p);
            grid.values[b * SPLAT_BLOCK_VOXELS + v] = (float)f(p);
            grid.weights[b * SPLAT_BLOCK_VOXELS + v] = 1;
        }
    return grid;
}

static splat_mesh extract(const splat_voxel_grid *grid, float level, bool below, int threads)
{
    splat_mesh mesh;
    splat_error error;
    const splat_marching_cubes_options options = {level, below, 0, threads};
    ASSERT_OK(splat_marching_cubes(grid, &options, &mesh, &error));
    return mesh;
}

static void test_shapes(void **state)
{
    (void)state;
    double voxel = 0.07;
    splat_voxel_grid grid = make_grid(voxel, -1.5, 1.6, sphere_distance);
    splat_mesh mesh = extract(&grid, 0, true, 2), again = extract(&grid, 0, true, 1);
    assert_memory_equal(mesh.faces, again.faces, 12 * mesh.n_faces);
    assert_memory_equal(mesh.vertices, again.vertices, 12 * mesh.n_vertices);
    assert_closed_manifold(&mesh);
    assert_int_equal(measure(&mesh).euler_characteristic, 2);
    assert_float_equal(splat_mesh_volume(&mesh), 4 * PI / 3, 0.01 * 4); /* outward: positive */
    for (size_t i = 0; i < mesh.n_vertices; i++) { /* linear interpolation: voxel^2 / 8 radius, and the end margin */
        const double p[3] = {(double)mesh.vertices[3 * i], (double)mesh.vertices[3 * i + 1],
                             (double)mesh.vertices[3 * i + 2]};
        assert_true(fabs(sphere_distance(p)) < voxel * voxel / 8 + 1e-3 * voxel);
    }
    splat_mesh_free(&mesh);
    splat_mesh_free(&again);
    for (size_t i = 0; i < grid.n_blocks * SPLAT_BLOCK_VOXELS; i++) grid.values[i] = -grid.values[i];
    mesh = extract(&grid, 0.25f, false, 2); /* a density: more is inside */
    assert_closed_manifold(&mesh);
    assert_float_equal(splat_mesh_volume(&mesh), 4 * PI / 3 * pow(0.75, 3), 0.02);
    splat_mesh_free(&mesh);
    splat_voxel_grid_free(&grid);

    grid = make_grid(0.05, -1.5, 1.5, torus_field);
    mesh = extract(&grid, 0, true, 2);
    assert_closed_manifold(&mesh);
    assert_int_equal(measure(&mesh).euler_characteristic, 0);
    assert_float_equal(splat_mesh_volume(&mesh) / (2 * PI * PI * 0.16), 1, 0.01);
    splat_mesh_free(&mesh);
    splat_voxel_grid_free(&grid);
}

static double distance_to_rim(const double p[3])
{
    return fmax(fmax(fabs(p[0]), fabs(p[1])), fabs(p[2])) - 0.9;
}

/* Noise: all 256 cases, with every neighbour, across blocks. Values of few kinds also meet the level exactly. */
static void test_noise(void **state)
{
    (void)state;
    for (uint64_t seed = 0; seed < 6; seed++) {
        double voxel = 0.08;
        splat_voxel_grid grid = make_grid(voxel, -1, 1, distance_to_rim);
        for (size_t i = 0; i < grid.n_blocks * SPLAT_BLOCK_VOXELS; i++) {
            uint32_t word = splat_random(seed, SPLAT_STREAM_TEST, 3, i).x[0];
            if (grid.values[i] > 0) grid.values[i] = 1; /* outside the rim: nothing */
            else grid.values[i] = seed < 3 ? splat_uniform(word) - 0.5f : (float)(word % 3) - 1.0f;
        }
        splat_mesh mesh = extract(&grid, 0, true, 2);
        assert_true(mesh.n_faces > 20000);
        assert_closed_manifold(&mesh);
        assert_true(splat_mesh_volume(&mesh) > 0);
        for (size_t i = 0; i < mesh.n_faces; i++) assert_true(splat_mesh_face_area(&mesh, i) > 0);
        splat_mesh_free(&mesh);
        splat_voxel_grid_free(&grid);
    }
}

/* Unknown voxels and missing blocks: the surface ends there, and nothing is invented. */
static void test_unknown(void **state)
{
    (void)state;
    splat_voxel_grid grid = make_grid(0.06, -1.5, 1.6, sphere_distance);
    for (size_t b = 0; b < grid.n_blocks; b++)
        for (size_t v = 0; v < SPLAT_BLOCK_VOXELS; v++) {
            double p[3];
            splat_voxel_position(&grid, b, v, p);
            size_t i = b * SPLAT_BLOCK_VOXELS + v;
            if (p[0] > center[0]) grid.weights[i] = 0;
            else if (p[0] > center[0] - 0.5) grid.weights[i] = 0.25f;
            if (p[1] > 1.4) grid.values[i] = NAN; /* beyond the surface */
        }
    splat_mesh mesh = extract(&grid, 0, true, 2);
    splat_mesh_quality q = measure(&mesh);
    assert_int_equal(q.euler_characteristic, 1); /* a disc */
    assert_true(q.n_boundary_edges > 50);
    assert_int_equal(q.n_isolated_vertices, 0);
    assert_true(q.high[0] <= center[0] && q.high[0] > center[0] - 2 * 0.06);
    splat_mesh_free(&mesh);
    splat_error error;
    const splat_marching_cubes_options options = {0, true, 0.5f, 2};
    ASSERT_OK(splat_marching_cubes(&grid, &options, &mesh, &error));
    assert_true(measure(&mesh).high[0] <= center[0] - 0.5);
    splat_mesh_free(&mesh);
    splat_voxel_grid_free(&grid);
}

static void test_grid(void **state)
{
    (void)state;
    splat_voxel_grid grid, other;
    splat_error error;
    const double origin[3] = {0, 0, 0};
    ASSERT_OK(splat_voxel_grid_init(&grid, origin, 0.1, true, SIZE_MAX, &error));
    ASSERT_OK(splat_voxel_grid_init(&other, origin, 0.1, true, SIZE_MAX, &error));
    for (int pass = 0; pass < 2; pass++) /* the second one finds every block there */
        for (int i = 0; i < 2000; i++) {
            const int32_t a[3] = {i % 13 - 6, i % 7 - 3, i - 1000}, k = 1999 - i;
            const int32_t b[3] = {k % 13 - 6, k % 7 - 3, k - 1000};
            ASSERT_OK(splat_voxel_grid_touch(&grid, a, &error));
            ASSERT_OK(splat_voxel_grid_touch(&other, b, &error));
        }
    assert_int_equal(grid.n_blocks, 2000);
    /* 512 voxels of a value, a weight and four 16-bit colours; keys and table */
    assert_int_equal(splat_voxel_grid_bytes(&grid), 2000 * (512 * 16 + 16 + 16));
    ASSERT_OK(splat_voxel_grid_allocate(&grid, &error));
    ASSERT_OK(splat_voxel_grid_allocate(&other, &error));
    assert_memory_equal(grid.keys, other.keys, 2000 * sizeof *grid.keys);
    for (size_t i = 0; i < 2000; i++) {
        int32_t block[3];
        splat_block_coordinates(grid.keys[i], block);
        assert_int_equal(splat_voxel_grid_find(&grid, block), i);
        block[0] += 20;
        assert_int_equal(splat_voxel_grid_find(&grid, block), SPLAT_NO_BLOCK);
    }
    const int32_t far[3] = {0, SPLAT_BLOCK_LIMIT, 0}, late[3] = {5, 5, 5000};
    assert_int_equal(splat_voxel_grid_touch(&grid, far, &error), SPLAT_ERROR_ARGUMENT);
    assert_int_equal(splat_voxel_grid_touch(&grid, late, &error), SPLAT_ERROR_ARGUMENT);
    assert_int_equal(splat_voxel_grid_allocate(&grid, &error), SPLAT_ERROR_ARGUMENT);
    splat_voxel_grid_free(&grid);
    splat_voxel_grid_free(&other);

    const double low[3] = {-1, -1, -1}, high[3] = {1, 1, 1}, nan_box[3] = {NAN, 0, 0};
    assert_int_equal(splat_voxel_grid_init(&grid, origin, 0, false, SIZE_MAX, &error), SPLAT_ERROR_ARGUMENT);
    ASSERT_OK(splat_voxel_grid_init(&grid, origin, 0.01, false, 1000000, &error));
    assert_int_equal(splat_voxel_grid_touch_box(&grid, low, high, &error), SPLAT_ERROR_MEMORY);
    assert_non_null(strstr(error.message, "1000000 bytes"));
    assert_true(splat_voxel_grid_bytes(&grid) <= 1000000);
    assert_int_equal(splat_voxel_grid_touch_box(&grid, nan_box, high, &error), SPLAT_ERROR_ARGUMENT);
    splat_mesh mesh;
    const splat_marching_cubes_options options = {0, true, 0, 1};
    assert_int_equal(splat_marching_cubes(&grid, &options, &mesh, &error), SPLAT_ERROR_ARGUMENT);
    splat_voxel_grid_free(&grid);
    grid = make_grid(1, 0, 1, NULL); /* nothing known: nothing there */
    mesh = extract(&grid, 0, true, 1);
    assert_int_equal(mesh.n_vertices + mesh.n_faces, 0);
    splat_mesh_free(&mesh);
    splat_voxel_grid_free(&grid);
}

/* ---------------------------------------------------------------- depth maps */

/* A ball of 0.5 above a box with its top at z = 0, sides of 2: red and blue. */
static double ball_distance(const double p[3])
{
    return sqrt(p[0] * p[0] + p[1] * p[1] + pow(p[2] - 0.7, 2)) - 0.5;
}

static double box_distance(const double p[3])
{
    const double d[3] = {fabs(p[0]) - 1, fabs(p[1]) - 1, fabs(p[2] + 0.25) - 0.25};
    double out = 0;
    for (int c = 0; c < 3; c++) out += d[c] > 0 ? d[c] * d[c] : 0;
    return sqrt(out) + fmin(fmax(fmax(d[0], d[1]), d[2]), 0);
}

static double scene_distance(const double p[3])
{
    return fmin(ball_distance(p), box_distance(p));
}

enum { WIDTH = 120, HEIGHT = 90, N_VIEWS = 32 };

typedef struct views {
    splat_camera cameras[N_VIEWS];
    float depth[N_VIEWS][WIDTH * HEIGHT];
    uint8_t rgb[N_VIEWS][WIDTH * HEIGHT * 3];
} views;

/* Looks from `from` at the middle of the scene, z up. Focal lengths and centre differ from view to view. */
static splat_camera look(const double from[3], int i)
{
    splat_camera camera = {.width = WIDTH, .height = HEIGHT, .fx = 100 + (float)i, .fy = 103 + (float)i,
                           .cx = WIDTH / 2.0f + (float)(i % 5) - 2, .cy = HEIGHT / 2.0f + (float)(i % 3)};
    double z[3] = {-from[0], -from[1], 0.2 - from[2]}, x[3], y[3];
    double length = sqrt(z[0] * z[0] + z[1] * z[1] + z[2] * z[2]);
    for (int c = 0; c < 3; c++) z[c] /= length;
    double flat = hypot(z[0], z[1]);
    x[0] = z[1] / flat; /* z cross up */
    x[1] = -z[0] / flat;
    x[2] = 0;
    y[0] = z[1] * x[2] - z[2] * x[1];
    y[1] = z[2] * x[0] - z[0] * x[2];
    y[2] = z[0] * x[1] - z[1] * x[0];
    for (int c = 0; c < 3; c++) {
        camera.rotation[c] = (float)x[c];
        camera.rotation[3 + c] = (float)y[c];
        camera.rotation[6 + c] = (float)z[c];
        camera.center[c] = (float)from[c];
    }
    for (int r = 0; r < 3; r++)
        for (int c = 0; c < 3; c++) camera.translation[r] -= camera.rotation[3 * r + c] * camera.center[c];
    return camera;
}

/* Sphere tracing; infinite where the ray leaves. */
static double trace(const splat_camera *camera, size_t pixel, uint8_t *rgb)
{
    double x = ((double)(pixel % WIDTH) + 0.5 - (double)camera->cx) / (double)camera->fx;
    double y = ((double)(pixel / WIDTH) + 0.5 - (double)camera->cy) / (double)camera->fy;
    double length = sqrt(x * x + y * y + 1), t = 0;
    for (int i = 0; i < 300 && t < 20; i++) {
        double p[3];
        for (int c = 0; c < 3; c++)
            p[c] = (double)camera->center[c] + t * ((double)camera->rotation[c] * x +
                   (double)camera->rotation[3 + c] * y + (double)camera->rotation[6 + c]) / length;
        double d = scene_distance(p);
        if (d < 1e-6) {
            bool ball = ball_distance(p) < box_distance(p);
            rgb[0] = ball ? 250 : 10;
            rgb[1] = 60;
            rgb[2] = ball ? 20 : 200;
            return t / length;
        }
        t += d;
    }
    return INFINITY;
}

static views *make_views(void)
{
    views *v = calloc(1, sizeof *v);
    for (int i = 0; i < N_VIEWS; i++) {
        double a = 2 * PI * i * 0.381966, z = -1.5 + 4.0 * i / (N_VIEWS - 1); /* also from below */
        const double from[3] = {3 * cos(a), 3 * sin(a), z};
        v->cameras[i] = look(from, i);
        for (size_t p = 0; p < WIDTH * HEIGHT; p++) {
            v->depth[i][p] = (float)trace(&v->cameras[i], p, v->rgb[i] + 3 * p);
            if (p % 977 == 0) v->depth[i][p] = p % 2 ? NAN : -1; /* holes that must not spoil anything */
        }
    }
    return v;
}

static splat_voxel_grid fuse(const views *v, double voxel, int threads)
{
    splat_voxel_grid grid;
    splat_error error;
    const double origin[3] = {0.1, 0.2, 0.3};
    const splat_tsdf_options options = {4 * voxel, 0, threads};
    ASSERT_OK(splat_voxel_grid_init(&grid, origin, voxel, true, SIZE_MAX, &error));
    for (int pass = 0; pass < 2; pass++) {
        for (int i = 0; i < N_VIEWS; i++) {
            const splat_tsdf_frame frame = {v->cameras[i], v->depth[i], NULL, v->rgb[i]};
            ASSERT_OK(pass ? splat_tsdf_fuse(&grid, &options, &frame, &error)
                           : splat_tsdf_plan(&grid, &options, &frame, &error));
        }
        if (pass == 0) ASSERT_OK(splat_voxel_grid_allocate(&grid, &error));
    }
    return grid;
}

/* True if the depth map of a view has the point p with the normal n. */
static bool sees(const views *v, int view, const double p[3], const double n[3])
{
    const splat_camera *camera = &v->cameras[view];
    double x[3], cosine = 0, length = 0;
    for (int r = 0; r < 3; r++) {
        double to_camera = (double)camera->center[r] - p[r];
        cosine += to_camera * n[r];
        length += to_camera * to_camera;
        x[r] = (double)camera->translation[r];
        for (int c = 0; c < 3; c++) x[r] += (double)camera->rotation[3 * r + c] * p[c];
    }
    double u = (double)camera->fx * x[0] / x[2] + (double)camera->cx;
    double w = (double)camera->fy * x[1] / x[2] + (double)camera->cy;
    if (x[2] <= 0 || u < 1 || w < 1 || u >= WIDTH - 1 || w >= HEIGHT - 1 || cosine < 0.3 * sqrt(length)) return false;
    return fabs((double)v->depth[view][(size_t)w * WIDTH + (size_t)u] - x[2]) < 0.05;
}

static void test_tsdf(void **state)
{
    (void)state;
    splat_error error;
    views *v = make_views();
    double voxel = 0.04;
    splat_voxel_grid grid = fuse(v, voxel, 2), other = fuse(v, voxel, 3);
    assert_int_equal(grid.n_blocks, other.n_blocks);
    assert_memory_equal(grid.keys, other.keys, grid.n_blocks * sizeof *grid.keys);
    assert_memory_equal(grid.values, other.values, grid.n_blocks * 512 * sizeof(float));
    assert_memory_equal(grid.colors, other.colors, grid.n_blocks * 512 * 8);
    splat_voxel_grid_free(&other);

    splat_mesh mesh;
    ASSERT_OK(splat_tsdf_mesh(&grid, 2, 2, &mesh, &error));
    splat_mesh_quality q = measure(&mesh);
    assert_int_equal(q.n_non_manifold_edges, 0);
    assert_true(q.is_winding_consistent);
    double worst = 0, sum = 0;
    size_t n_wrong_color = 0;
    for (size_t i = 0; i < mesh.n_vertices; i++) {
        const float *f = mesh.vertices + 3 * i;
        const double p[3] = {(double)f[0], (double)f[1], (double)f[2]};
        double d = fabs(scene_distance(p));
        worst = fmax(worst, d);
        sum += d;
        bool ball = ball_distance(p) < box_distance(p);
        n_wrong_color += abs(mesh.colors[4 * i] - (ball ? 250 : 10)) > 40;
    }
    print_message("vertices %zu, worst %.4f, mean %.5f, wrong colours %zu, open edges %zu\n", mesh.n_vertices, worst,
                  sum / (double)mesh.n_vertices, n_wrong_color, q.n_boundary_edges);
    assert_true(worst < voxel);
    assert_true(measure(&mesh).volume > 0);
    assert_true(sum / (double)mesh.n_vertices < 0.1 * voxel);
    assert_true(n_wrong_color < mesh.n_vertices / 50);

    /* Every point of the true surface that three cameras see, not from the side, is within a voxel of the mesh. */
    splat_mesh ball = make_sphere(40, 0.5);
    splat_mesh_bvh bvh;
    size_t n_seen = 0;
    ASSERT_OK(splat_mesh_bvh_make(&mesh, 2, &bvh, &error));
    for (size_t i = 0; i < ball.n_vertices; i++) {
        const float *f = ball.vertices + 3 * i;
        const double n[3] = {2 * (double)f[0], 2 * (double)f[1], 2 * (double)f[2]};
        const double p[3] = {(double)f[0], (double)f[1], (double)f[2] + 0.7};
        int n_cameras = 0;
        for (int k = 0; k < N_VIEWS; k++) n_cameras += sees(v, k, p, n);
        if (n_cameras < 3) continue;
        n_seen++;
        assert_true(splat_mesh_bvh_nearest(&bvh, p, NULL) < voxel);
    }
    assert_true(n_seen > ball.n_vertices / 2);
    splat_mesh_bvh_free(&bvh);
    splat_mesh_free(&ball);
    splat_mesh_free(&mesh);
    splat_voxel_grid_free(&grid);
    free(v);
}

/* A wall seen straight on: distances and weights are known in closed form. */
static void test_tsdf_values(void **state)
{
    (void)state;
    splat_error error;
    splat_voxel_grid grid;
    const double origin[3] = {0, 0, 0}, voxel = 0.1, truncation = 0.4;
    const splat_tsdf_options options = {truncation, 5, 1};
    static float depth[2][WIDTH * HEIGHT], weights[WIDTH * HEIGHT];
    static uint8_t rgb[WIDTH * HEIGHT * 3];
    splat_camera camera = {.rotation = {1, 0, 0, 0, 1, 0, 0, 0, 1}, .fx = 100, .fy = 100, .cx = 60, .cy = 45,
                           .width = WIDTH, .height = HEIGHT};
    for (size_t p = 0; p < WIDTH * HEIGHT; p++) {
        depth[0][p] = 2.0f;
        depth[1][p] = 2.2f;
        weights[p] = 0.5f;
        rgb[3 * p] = 200;
    }
    const splat_tsdf_frame first = {camera, depth[0], NULL, rgb}, second = {camera, depth[1], weights, NULL};
    ASSERT_OK(splat_voxel_grid_init(&grid, origin, voxel, true, SIZE_MAX, &error));
    assert_int_equal(splat_tsdf_fuse(&grid, &options, &first, &error), SPLAT_ERROR_ARGUMENT);
    ASSERT_OK(splat_tsdf_plan(&grid, &options, &first, &error));
    ASSERT_OK(splat_tsdf_plan(&grid, &options, &second, &error));
    ASSERT_OK(splat_voxel_grid_allocate(&grid, &error));
    ASSERT_OK(splat_tsdf_fuse(&grid, &options, &first, &error));
    ASSERT_OK(splat_tsdf_fuse(&grid, &options, &second, &error));
    size_t n_checked = 0;
    for (size_t b = 0; b < grid.n_blocks; b++)
        for (size_t k = 0; k < SPLAT_BLOCK_VOXELS; k++) {
            double p[3];
            splat_voxel_position(&grid, b, k, p);
            if (!(p[2] > 0.5) || fabs(p[0] / p[2]) > 0.5 || fabs(p[1] / p[2]) > 0.4) continue;
            double slant = sqrt(p[0] * p[0] + p[1] * p[1] + p[2] * p[2]) / p[2], sum = 0, value = 0;
            for (int i = 0; i < 2; i++) {
                double d = ((i ? 2.2 : 2.0) - p[2]) * slant, w = i ? 0.5 : 1;
                if (d <= -truncation + 1e-5) continue;
                if (d < -voxel) w *= (d + truncation) / (truncation - voxel);
                value += w * fmin(d, truncation);
                sum += w;
            }
            size_t i = b * SPLAT_BLOCK_VOXELS + k;
            assert_float_equal((double)grid.weights[i], sum, 1e-4);
            if (sum > 1e-3) assert_float_equal((double)grid.values[i], value / sum, 1e-4);
            double seen = (2.0 - p[2]) * slant; /* colour: of the first frame, within the truncation */
            if (fabs(seen) < voxel) assert_int_equal(grid.colors[4 * i], 200 * 256);
            n_checked++;
        }
    assert_true(n_checked > 2000);
    splat_voxel_grid_free(&grid);

    /* Planning names every voxel of the cells that the rays pass through within the truncation. */
    const double shifted[3] = {0, 0, 0.07}; /* the ends of the rays, 2.4, are a part of a voxel before a block */
    ASSERT_OK(splat_voxel_grid_init(&grid, shifted, voxel, true, SIZE_MAX, &error));
    ASSERT_OK(splat_tsdf_plan(&grid, &options, &first, &error));
    for (size_t p = 0; p < WIDTH * HEIGHT; p += 7)
        for (int step = 0; step <= 100; step++) {
            double ray[3] = {((double)(p % WIDTH) + 0.5 - 60) / 100, ((double)(p / WIDTH) + 0.5 - 45) / 100, 1};
            double length = sqrt(ray[0] * ray[0] + ray[1] * ray[1] + 1), at = 2 + (step / 50.0 - 1) * 0.3999 / length;
            for (int corner = 0; corner < 8; corner++) {
                int32_t block[3];
                for (int c = 0; c < 3; c++)
                    block[c] = (int32_t)floor((floor((at * ray[c] - shifted[c]) / voxel) + (corner >> c & 1)) /
                                              SPLAT_BLOCK_SIDE);
                assert_int_not_equal(splat_voxel_grid_find(&grid, block), SPLAT_NO_BLOCK);
            }
        }
    splat_voxel_grid_free(&grid);

    const splat_tsdf_options thin = {0.15, 0, 1}, near = {0.4, 1, 1};
    ASSERT_OK(splat_voxel_grid_init(&grid, origin, voxel, false, 100000, &error));
    assert_int_equal(splat_tsdf_plan(&grid, &thin, &first, &error), SPLAT_ERROR_ARGUMENT);
    ASSERT_OK(splat_tsdf_plan(&grid, &near, &first, &error)); /* the wall is beyond the largest depth */
    assert_int_equal(grid.n_blocks, 0);
    assert_int_equal(splat_tsdf_plan(&grid, &options, &first, &error), SPLAT_ERROR_MEMORY);
    splat_voxel_grid_free(&grid);
    depth[0][5] = 1e30f;
    const splat_tsdf_options far = {0.4, 0, 1};
    ASSERT_OK(splat_voxel_grid_init(&grid, origin, voxel, false, SIZE_MAX, &error));
    assert_int_equal(splat_tsdf_plan(&grid, &far, &first, &error), SPLAT_ERROR_ARGUMENT);
    splat_voxel_grid_free(&grid);
}

/* A picture that meets nothing clears all that it sees, whatever lies behind its last row in memory: here a wall. */
static void test_tsdf_last_row(void **state)
{
    (void)state;
    splat_error error;
    splat_voxel_grid grid;
    const double origin[3] = {0, 0, 0};
    const splat_tsdf_options options = {0.4, 0, 1};
    static float depth[2][WIDTH * HEIGHT];
    splat_camera camera = {.rotation = {1, 0, 0, 0, 1, 0, 0, 0, 1}, .fx = 100, .fy = 100, .cx = 60, .cy = 45,
                           .width = WIDTH, .height = HEIGHT};
    for (size_t p = 0; p < WIDTH * HEIGHT; p++) {
        depth[0][p] = INFINITY;
        depth[1][p] = 2;
    }
    const splat_tsdf_frame clear = {camera, depth[0], NULL, NULL}, wall = {camera, depth[1], NULL, NULL};
    ASSERT_OK(splat_voxel_grid_init(&grid, origin, 0.1, false, SIZE_MAX, &error));
    ASSERT_OK(splat_tsdf_plan(&grid, &options, &wall, &error));
    ASSERT_OK(splat_voxel_grid_allocate(&grid, &error));
    ASSERT_OK(splat_tsdf_fuse(&grid, &options, &clear, &error));
    size_t n_last_row = 0;
    for (size_t b = 0; b < grid.n_blocks; b++)
        for (size_t k = 0; k < SPLAT_BLOCK_VOXELS; k++) {
            double p[3];
            splat_voxel_position(&grid, b, k, p);
            double x = 60 + 100 * p[0] / p[2], y = 45 + 100 * p[1] / p[2];
            if (!(p[2] > 0.5 && x > 0.1 && x < WIDTH - 0.1 && y > 0.1 && y < HEIGHT - 0.1)) continue;
            assert_true(grid.weights[b * SPLAT_BLOCK_VOXELS + k] == 1);
            n_last_row += y > HEIGHT - 1;
        }
    assert_true(n_last_row > 20);
    splat_voxel_grid_free(&grid);
}

/* A slanted wall x / 2 + z = 4: between pixels its depth is known exactly. */
static void test_tsdf_slant(void **state)
{
    (void)state;
    splat_error error;
    splat_voxel_grid grid;
    const double origin[3] = {0.03, 0.02, 0.01}, voxel = 0.1;
    const splat_tsdf_options options = {0.4, 0, 2};
    static float depth[WIDTH * HEIGHT];
    splat_camera camera = {.rotation = {1, 0, 0, 0, 1, 0, 0, 0, 1}, .fx = 40, .fy = 40, .cx = 57, .cy = 44,
                           .width = WIDTH, .height = HEIGHT};
    for (size_t p = 0; p < WIDTH * HEIGHT; p++)
        depth[p] = (float)(4 / (1 + 0.5 * ((double)(p % WIDTH) + 0.5 - 57) / 40));
    const splat_tsdf_frame frame = {camera, depth, NULL, NULL};
    ASSERT_OK(splat_voxel_grid_init(&grid, origin, voxel, false, SIZE_MAX, &error));
    ASSERT_OK(splat_tsdf_plan(&grid, &options, &frame, &error));
    ASSERT_OK(splat_voxel_grid_allocate(&grid, &error));
    ASSERT_OK(splat_tsdf_fuse(&grid, &options, &frame, &error));
    size_t n_checked = 0;
    for (size_t b = 0; b < grid.n_blocks; b++)
        for (size_t k = 0; k < SPLAT_BLOCK_VOXELS; k++) {
            double p[3];
            splat_voxel_position(&grid, b, k, p);
            size_t i = b * SPLAT_BLOCK_VOXELS + k;
            if (!(p[2] > 0.5) || fabs(p[0] / p[2]) > 1 || fabs(p[1] / p[2]) > 1) continue;
            double scale = 4 / (0.5 * p[0] + p[2]) - 1; /* of the ray, from the voxel to the wall */
            double distance = scale * sqrt(p[0] * p[0] + p[1] * p[1] + p[2] * p[2]);
            if (distance < -0.39) continue;
            n_checked++;
            assert_true(grid.weights[i] > 0);
            assert_float_equal((double)grid.values[i], fmin(distance, 0.4), 1e-4);
        }
    assert_true(n_checked > 10000);
    splat_voxel_grid_free(&grid);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_shapes), cmocka_unit_test(test_noise), cmocka_unit_test(test_unknown),
        cmocka_unit_test(test_grid),   cmocka_unit_test(test_tsdf),  cmocka_unit_test(test_tsdf_values),
        cmocka_unit_test(test_tsdf_slant), cmocka_unit_test(test_tsdf_last_row),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
