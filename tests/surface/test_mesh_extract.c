/* Meshes from splats: a sphere of flat, opaque Gaussians, seen by the cameras of the sample scene, comes back as one.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include "mesh/files/mesh_io.h"
#include "mesh/mesh.h"
#include "poisson_fixture.h"
#include "report/number_name.h"
#include "scene/scene.h"
#include "scene_fixture.h"
#include "sphere_fixture.h"
#include "surface/extract/extract_poisson.h"

#include <stdio.h>
#include <string.h>

/* Sources of a mesh. */
static const struct { splat_mesh_method method; splat_mesh_point_source points; const char *path; } ways[] = {
    {SPLAT_MESH_POISSON, SPLAT_MESH_POINTS_LEVEL, "out/level.ply"},
    {SPLAT_MESH_POISSON, SPLAT_MESH_POINTS_DEPTH, "out/depth.ply"},
    {SPLAT_MESH_POISSON, SPLAT_MESH_POINTS_CENTERS, "out/centers.ply"},
    {SPLAT_MESH_POISSON, SPLAT_MESH_POINTS_VIEWS, "out/views.ply"},
    {SPLAT_MESH_TSDF, SPLAT_MESH_POINTS_LEVEL, "out/tsdf.ply"}};
enum { N_WAYS = sizeof ways / sizeof ways[0] };

static splat_mesh_extract_options small_options(int way)
{
    splat_mesh_extract_options o;
    splat_mesh_extract_options_init(&o);
    o.method = ways[way].method;
    o.points = ways[way].points;
    o.n_points = 20000;
    o.poisson_depth = 7;
    o.density_quantile = 0;
    o.has_bbox = true;
    for (int k = 0; k < 3; k++) {
        o.bbox_low[k] = center[k] - 1.2;
        o.bbox_high[k] = center[k] + 1.2;
    }
    o.voxel_size = 0.04;
    o.target_vertices = 3000;
    return o;
}

/* extent: of the scene, half of the side of the cube around the cameras; 0: the scene's own. */
static splat_status extract_within(splat_context *context, float extent, const char *ply,
                                   const splat_mesh_extract_options *o, const char *path,
                                   splat_mesh_extract_info *info, splat_error *error)
{
    splat_scene *scene = open_scene(context);
    splat_model *model;
    if (extent > 0) scene->dataset.extent = extent;
    must(splat_model_load(context, ply, &model, error), error);
    splat_status status = splat_mesh_extract(context, scene, model, o, &path, 1, info, error);
    splat_model_destroy(model);
    splat_scene_close(scene);
    return status;
}

static splat_status extract(splat_context *context, const char *ply, const splat_mesh_extract_options *o,
                            const char *path, splat_mesh_extract_info *info, splat_error *error)
{
    return extract_within(context, 0, ply, o, path, info, error);
}

#define NARROW 1.3f /* a cube around the cameras' mean, 1 above the sphere's centre: its lower face cuts the sphere */
#define CUT 0.3     /* of that face, below the sphere's centre */

/* Distances from the sphere, and how many faces point outward. */
static void measure(const splat_mesh *mesh, double *mean, double *outward)
{
    double sum = 0;
    size_t n_out = 0;
    for (size_t i = 0; i < mesh->n_vertices; i++) {
        double d2 = 0;
        for (int k = 0; k < 3; k++) d2 += pow((double)mesh->vertices[3 * i + k] - center[k], 2);
        sum += fabs(sqrt(d2) - RADIUS);
    }
    for (size_t f = 0; f < mesh->n_faces; f++) {
        double cross[3], dot = 0;
        splat_mesh_face_cross(mesh, f, cross);
        for (int k = 0; k < 3; k++)
            dot += cross[k] * ((double)mesh->vertices[3 * (size_t)mesh->faces[3 * f] + k] - center[k]);
        n_out += dot > 0;
    }
    *mean = sum / (double)mesh->n_vertices;
    *outward = (double)n_out / (double)mesh->n_faces;
}

static void a_sphere_comes_back(void **state)
{
    (void)state;
    splat_context *context = open_cpu(2);
    write_sphere("sphere.ply", 6);
    for (int way = 0; way < N_WAYS; way++) {
        const char *path = ways[way].path;
        splat_mesh_extract_options o = small_options(way);
        splat_mesh_extract_info info;
        splat_mesh mesh;
        splat_error error;
        double mean, outward;
        must(extract(context, "sphere.ply", &o, path, &info, &error), &error);
        must(splat_mesh_read(path, &mesh, &error), &error);
        assert_int_equal(mesh.n_vertices, info.n_vertices);
        assert_int_equal(mesh.n_faces, info.n_faces);
        measure(&mesh, &mean, &outward);
        print_message("%s: %zu vertices (%zu before), %.4f from the sphere in the mean, %.1f %% outward\n", path,
                      info.n_vertices, info.n_vertices_first, mean, 100 * outward);
        assert_true(mean < 0.02); /* half a voxel, a cell of Poisson; the discs stand 0.01 off at their rims */
        assert_true(outward > 0.98);
        assert_true(info.n_vertices > 800 && info.n_vertices <= 3300);
        assert_true(info.n_covered > 10000 && info.n_back * 50 < info.n_covered);
        assert_true((info.n_trusted > 1000) == (ways[way].points == SPLAT_MESH_POINTS_VIEWS));
        assert_true(info.n_violated * 50 <= info.n_trusted && info.n_missing * 20 <= info.n_trusted);
        size_t n_red = 0;
        for (size_t i = 0; i < mesh.n_vertices; i++)
            n_red += mesh.colors[4 * i] > 200 && mesh.colors[4 * i + 1] < 60 && mesh.colors[4 * i + 3] == 255;
        assert_true((double)n_red > 0.97 * (double)mesh.n_vertices);
        assert_non_null(mesh.normals);
        splat_mesh_free(&mesh);
    }
    splat_context_destroy(context);
}

/* A sheet of discs is a shell for marching cubes: an outer and an inner side. No view sees the inner one, and it is
 * removed by default. */
static void density_makes_a_shell(void **state)
{
    (void)state;
    splat_context *context = open_cpu(2);
    splat_mesh_extract_options o = small_options(0);
    splat_mesh_extract_info info[2];
    splat_scene *scene = open_scene(context);
    splat_model *model;
    splat_mesh mesh;
    splat_error error;
    double mean, outward;
    const char *const paths[2] = {"out/mc_low.ply", "out/mc_high.ply"};
    write_sphere("sphere.ply", 6);
    must(splat_model_load(context, "sphere.ply", &model, &error), &error);
    o.method = SPLAT_MESH_MARCHING_CUBES;
    o.n_levels = 2;
    o.levels[1] = 0.6f;
    o.target_vertices = 0;
    assert_int_equal(splat_mesh_extract_count(&o), 2);
    must(splat_mesh_extract(context, scene, model, &o, paths, 1, info, &error), &error);
    size_t n_outer = info[0].n_faces;
    assert_true(info[0].n_faces_unseen > n_outer / 2);
    assert_int_equal(info[0].n_faces + info[0].n_faces_unseen, info[0].n_faces_first);
    must(splat_mesh_read(paths[0], &mesh, &error), &error);
    measure(&mesh, &mean, &outward);
    assert_true(outward > 0.999);
    splat_mesh_free(&mesh);
    o.least_seen = 0;
    o.unseen_rim = -1;
    must(splat_mesh_extract(context, scene, model, &o, paths, 1, info, &error), &error);
    double area[2];
    for (int i = 0; i < 2; i++) {
        must(splat_mesh_read(paths[i], &mesh, &error), &error);
        measure(&mesh, &mean, &outward);
        print_message("level %g: %zu vertices, %.4f from the sphere, %.1f %% outward\n", (double)o.levels[i],
                      mesh.n_vertices, mean, 100 * outward);
        assert_true(mean < 0.05 && outward > 0.45 && outward < 0.6);
        assert_int_equal(info[i].n_gaussians, N_DISCS);
        assert_true(mesh.colors[0] > 200 && mesh.colors[1] < 60);
        area[i] = mean;
        splat_mesh_free(&mesh);
    }
    assert_true(area[1] < area[0]); /* a higher level lies deeper, nearer to the discs */
    o.max_host_bytes = 1 << 19;
    assert_failure(splat_mesh_extract(context, scene, model, &o, paths, 1, info, &error), SPLAT_ERROR_MEMORY, &error,
                   "use larger voxels");
    splat_model_destroy(model);
    splat_scene_close(scene);
    splat_context_destroy(context);
}

/* A cube around the cameras that cuts the sphere: levels of voxels around it bring the rest, and voxels grow until they
 * fit. A box of the user ends the mesh. */
static void fusion_reaches_beyond_the_box(void **state)
{
    (void)state;
    splat_context *context = open_cpu(2);
    splat_mesh_extract_options o = small_options(N_WAYS - 1);
    splat_mesh_extract_info info[3];
    splat_error error;
    write_sphere("sphere.ply", 6);
    o.target_vertices = 0;
    o.voxel_size = 0;
    o.bbox_high[1] = center[1] + CUT;
    for (int i = 0; i < 3; i++) {
        splat_mesh mesh;
        double mean, outward;
        o.has_bbox = i == 0;
        o.max_host_bytes = i == 2 ? 5 << 20 : 0;
        must(extract_within(context, i ? NARROW : 0, "sphere.ply", &o, "out/levels.ply", &info[i], &error), &error);
        must(splat_mesh_read("out/levels.ply", &mesh, &error), &error);
        measure(&mesh, &mean, &outward);
        double down = 0, area = splat_mesh_area(&mesh) / (4 * 3.14159265 * RADIUS * RADIUS);
        for (size_t v = 0; v < mesh.n_vertices; v++) /* y points down */
            down = fmax(down, (double)mesh.vertices[3 * v + 1] - center[1]);
        print_message("%d: %zu vertices, %.4f from the sphere, down to %.3f, area %.3f\n", i, mesh.n_vertices, mean,
                      down, area);
        assert_true(mean < 0.03 && outward > 0.95);
        assert_true(i ? down > CUT + 0.1 : down < CUT + 0.01);
        splat_mesh_free(&mesh);
    }
        assert_true(info[2].n_vertices < info[1].n_vertices * 3 / 4);
    o.voxel_size = 0.01;
    assert_failure(extract_within(context, NARROW, "sphere.ply", &o, "out/levels.ply", info, &error),
                   SPLAT_ERROR_MEMORY, &error, "use larger");
    splat_context_destroy(context);
}

/* The density's levels go on around a cube that cuts the sphere, but not around a box of the user. */
static void density_reaches_beyond_the_box(void **state)
{
    (void)state;
    splat_context *context = open_cpu(2);
    splat_mesh_extract_options o = small_options(0);
    splat_mesh_extract_info info;
    splat_error error;
    write_sphere("sphere.ply", 6);
    o.method = SPLAT_MESH_MARCHING_CUBES;
    o.target_vertices = 0;
    o.bbox_high[1] = center[1] + CUT;
    for (int around = 0; around < 2; around++) {
        splat_mesh mesh;
        double down = 0;
        size_t n_below = 0;
        o.has_bbox = !around;
        must(extract_within(context, NARROW, "sphere.ply", &o, "out/density.ply", &info, &error), &error);
        must(splat_mesh_read("out/density.ply", &mesh, &error), &error);
        for (size_t v = 0; v < mesh.n_vertices; v++) {
            double at = (double)mesh.vertices[3 * v + 1] - center[1];
            down = fmax(down, at);
            n_below += at > CUT + 0.08; /* two voxels of the box */
        }
        print_message("%zu vertices, %zu beyond, down to %.3f\n", mesh.n_vertices, n_below, down);
        if (around) /* the next level has voxels of 0.08, and Gaussians half as thick */
            assert_true(down > CUT + 0.2 && down < 1.2 * RADIUS && n_below > 100 && 2 * n_below < mesh.n_vertices);
        else
            assert_true(n_below == 0);
        splat_mesh_free(&mesh);
    }
    splat_context_destroy(context);
}

/* Outliers go when they are asked to, and projection moves the vertices. */
static void points_are_thinned_and_met(void **state)
{
    (void)state;
    splat_context *context = open_cpu(2);
    splat_mesh_extract_options o = small_options(0);
    splat_mesh_extract_info all, usual, few, met;
    splat_mesh plain, projected;
    splat_error error;
    double mean, outward;
    write_sphere("sphere.ply", 6);
    o.outlier_neighbors = 0;
    must(extract(context, "sphere.ply", &o, "out/all.ply", &all, &error), &error);
    o.outlier_neighbors = 20;
    must(extract(context, "sphere.ply", &o, "out/usual.ply", &usual, &error), &error);
    o.outlier_std = 1;
    must(extract(context, "sphere.ply", &o, "out/few.ply", &few, &error), &error);
    print_message("%zu points, %zu, %zu\n", all.n_points, usual.n_points, few.n_points);
    assert_true(few.n_points < usual.n_points && usual.n_points <= all.n_points);
    assert_true(few.n_points > all.n_points / 2);
    o.outlier_std = 20;
    o.project = true;
    must(extract(context, "sphere.ply", &o, "out/met.ply", &met, &error), &error);
    must(splat_mesh_read("out/usual.ply", &plain, &error), &error);
    must(splat_mesh_read("out/met.ply", &projected, &error), &error);
    assert_int_equal(plain.n_vertices, projected.n_vertices);
    assert_memory_not_equal(plain.vertices, projected.vertices, 3 * plain.n_vertices * sizeof(float));
    assert_memory_equal(plain.faces, projected.faces, 3 * plain.n_faces * sizeof *plain.faces);
    measure(&projected, &mean, &outward);
    assert_true(mean < 0.02 && outward > 0.98);
    splat_mesh_free(&plain);
    splat_mesh_free(&projected);
    o.outlier_neighbors = 1;
    assert_failure(extract(context, "sphere.ply", &o, "out/met.ply", &met, &error), SPLAT_ERROR_ARGUMENT, &error,
                   "outlier_neighbors");
    splat_context_destroy(context);
}

/* Vertices too far from the sphere's points go: with less reach more, without any none. */
static void unsupported_surface_is_trimmed(void **state)
{
    (void)state;
    static const double reach[] = {0, 1000, 1.5, 0.2};
    splat_context *context = open_cpu(2);
    splat_mesh_extract_options o = small_options(0);
    splat_mesh_extract_info info[4];
    splat_error error;
    write_sphere("sphere.ply", 6);
    o.target_vertices = 0;
    o.min_component_faces = 0;
    for (int i = 0; i < 4; i++) {
        o.support_trim = reach[i];
        must(extract(context, "sphere.ply", &o, "out/trimmed.ply", &info[i], &error), &error);
    }
    print_message("vertices: %zu, within 1.5 %zu, within 0.2 %zu\n", info[0].n_vertices, info[2].n_vertices,
                  info[3].n_vertices);
    assert_int_equal(info[1].n_vertices, info[0].n_vertices);
    assert_true(info[2].n_vertices <= info[0].n_vertices && 10 * info[2].n_vertices > 9 * info[0].n_vertices);
    assert_true(info[3].n_vertices < info[2].n_vertices && info[3].n_vertices > 0);
    splat_context_destroy(context);
}

/* Nobody sees the sphere from below, so that the usual mesh is open there. */
static void closed_meshes_are_watertight(void **state)
{
    (void)state;
    splat_context *context = open_cpu(2);
    write_sphere("sphere.ply", 6);
    for (int way = 0; way < 4; way++)
        for (int simplifies = 0; simplifies < 2; simplifies++) {
            splat_mesh_extract_options o = small_options(way);
            splat_mesh_extract_info info;
            splat_mesh open, closed;
            splat_error error;
            double mean, outward;
            if (way > 0 && !simplifies) continue; /* what closes a mesh does not know where its points are from */
            o.target_vertices = simplifies ? 2000 : 0;
            if (!simplifies) must(extract(context, "sphere.ply", &o, "out/open.ply", &info, &error), &error);
            must(splat_mesh_read(simplifies ? ways[way].path : "out/open.ply", &open, &error), &error);
            o.surface = SPLAT_MESH_CLOSED;
            must(extract(context, "sphere.ply", &o, "out/closed.ply", &info, &error), &error);
            must(splat_mesh_read("out/closed.ply", &closed, &error), &error);
            assert_true(mesh_examine(&open, NULL).n_borders > 0);
            assert_closed(&closed, 2, 1);
            assert_true(!simplifies || closed.n_vertices <= 2000);
            measure(&closed, &mean, &outward);
            assert_true(mean < 0.05 && outward > 0.98 && splat_mesh_volume(&closed) > 1.7);
            splat_mesh_free(&open);
            splat_mesh_free(&closed);
        }
    splat_context_destroy(context);
}

/* Half a cell before the sphere, by an octree of 6 levels in a cube around it. */
static void colliders_are_closed_and_before_the_surface(void **state)
{
    (void)state;
    splat_context *context = open_cpu(2);
    splat_mesh_extract_options o = small_options(3);
    splat_mesh_extract_info info;
    splat_mesh collider, mesh;
    splat_error error;
    const double cell = 1.21 * 2 * RADIUS / 64;
    double sum = 0, least = 1;
    size_t n = 0;
    o.collider_faces = 300;
    must(extract(context, "sphere.ply", &o, "out/plain.ply", &info, &error), &error);
    must(splat_mesh_read("out/plain_collider.ply", &collider, &error), &error);
    must(splat_mesh_read("out/plain.ply", &mesh, &error), &error);
    assert_closed(&collider, 2, 1);
    assert_int_equal(collider.n_faces, info.n_collider_faces);
    assert_true(collider.n_faces <= 300 && collider.n_faces > 280);
    assert_null(collider.colors);
    assert_int_equal(mesh.n_vertices, info.n_vertices);
    for (size_t i = 0; i < collider.n_vertices; i++) {
        double square = 0;
        if ((double)collider.vertices[3 * i + 1] > center[1]) continue; /* +y is down, and there nothing is seen */
        for (int k = 0; k < 3; k++) square += pow((double)collider.vertices[3 * i + (size_t)k] - center[k], 2);
        least = fmin(least, sqrt(square) - RADIUS);
        sum += sqrt(square) - RADIUS;
        n++;
    }
    print_message("the upper half of the collider: %.2f cells before the sphere, at least %.2f\n",
                  sum / (double)n / cell, least / cell);
    assert_true(n > 50 && sum > 0.3 * cell * (double)n && sum < 1.2 * cell * (double)n && least > -1 * cell);
    splat_mesh_free(&mesh);
    splat_mesh_free(&collider);
    splat_context_destroy(context);
}

static void colliders_have_names_of_their_own(void **state)
{
    (void)state;
    char text[32];
    splat_error error;
    must(splat_mesh_collider_path("a.b/mesh.ply", text, sizeof text, &error), &error);
    assert_string_equal(text, "a.b/mesh_collider.ply");
    must(splat_mesh_collider_path("a.b/mesh", text, sizeof text, &error), &error);
    assert_string_equal(text, "a.b/mesh_collider");
    assert_failure(splat_mesh_collider_path("a/long/way/to/the/mesh.glb", text, sizeof text, &error),
                   SPLAT_ERROR_ARGUMENT, &error, "too long");
}

static void threads_do_not_change_a_byte(void **state)
{
    (void)state;
    for (int way = 0; way < N_WAYS; way++) {
        uint8_t *files[2];
        size_t sizes[2];
        splat_context *context = open_cpu(way % 2 ? 1 : 3); /* the mesh of the first test was made by two */
        splat_mesh_extract_options o = small_options(way);
        splat_mesh_extract_info info;
        splat_error error;
        must(extract(context, "sphere.ply", &o, "out/threads.ply", &info, &error), &error);
        must(splat_file_read("out/threads.ply", &files[0], &sizes[0], &error), &error);
        must(splat_file_read(ways[way].path, &files[1], &sizes[1], &error), &error);
        splat_context_destroy(context);
        assert_int_equal(sizes[0], sizes[1]);
        assert_memory_equal(files[0], files[1], sizes[0]);
        free(files[0]);
        free(files[1]);
    }
}

/* The depth for n x n points in a square, and the first 100 of them once more; size of each, 0: not known. */
static int depth_of_grid(int n, float size, int most)
{
    int depth = -1;
    size_t n_grid = (size_t)n * (size_t)n, n_points = n_grid + 100;
    splat_surface_points points = {.n = n_points, .positions = calloc(n_points, 3 * sizeof(float)),
                                   .sizes = size > 0 ? malloc(n_points * sizeof(float)) : NULL};
    for (size_t i = 0; i < n_points; i++) {
        size_t k = i % n_grid;
        points.positions[3 * i] = (float)(k % (size_t)n) / (float)(n - 1);
        points.positions[3 * i + 2] = (float)(k / (size_t)n) / (float)(n - 1);
        if (points.sizes) points.sizes[i] = i % 7 == 3 ? size : 4 * size;
    }
    splat_error error;
    must(splat_extract_depth(&points, most, 2, &depth, &error), &error);
    splat_surface_points_free(&points);
    return depth;
}

/* By spacing floor(log2(1.1 (n - 1))), by the smallest size ceil(log2(1.1 / size)), between 6 and the most. A distance
 * of 0 says nothing. */
static void points_choose_the_depth(void **state)
{
    (void)state;
    assert_int_equal(depth_of_grid(21, 0, 10), 6); /* 4 */
    assert_int_equal(depth_of_grid(101, 0, 10), 6);
    assert_int_equal(depth_of_grid(129, 0, 10), 7);
    assert_int_equal(depth_of_grid(257, 0, 10), 8);
    assert_int_equal(depth_of_grid(257, 0, 7), 7);
    assert_int_equal(depth_of_grid(513, 0, 10), 9);
    assert_int_equal(depth_of_grid(21, 0.01f, 14), 7);
    assert_int_equal(depth_of_grid(21, 0.001f, 14), 11);
    assert_int_equal(depth_of_grid(21, 0.0001f, 14), 14);
    assert_int_equal(depth_of_grid(21, 0.0001f, 9), 9);
    float positions[6] = {1, 2, 3, 1, 2, 3};
    const splat_surface_points alone = {.n = 2, .positions = positions};
    int depth;
    splat_error error;
    must(splat_extract_depth(&alone, 9, 1, &depth, &error), &error);
    assert_int_equal(depth, 9);
}

/* Two levels give two meshes of the same rays, the fainter one outside. */
static void each_level_has_its_mesh(void **state)
{
    (void)state;
    static const char *const paths[] = {"out/level01.ply", "out/level01.obj", "out/level06.ply", "out/level06.obj"};
    splat_context *context = open_cpu(2);
    splat_scene *scene = open_scene(context);
    splat_mesh_extract_options o = small_options(0);
    splat_mesh_extract_info info[2];
    splat_model *model;
    splat_mesh mesh;
    splat_error error;
    double volumes[2];
    o.levels[0] = 0.1f;
    o.levels[1] = 0.6f;
    o.n_levels = 2;
    must(splat_model_load(context, "sphere.ply", &model, &error), &error);
    must(splat_mesh_extract(context, scene, model, &o, paths, 2, info, &error), &error);
    for (int i = 0; i < 2; i++)
        for (int k = 0; k < 2; k++) {
            must(splat_mesh_read(paths[2 * i + k], &mesh, &error), &error);
            assert_int_equal(mesh.n_vertices, info[i].n_vertices);
            volumes[i] = splat_mesh_volume(&mesh);
            splat_mesh_free(&mesh);
        }
    print_message("volumes %.4f and %.4f, the sphere's %.4f\n", volumes[0], volumes[1],
                  4 / 3.0 * 3.14159265358979 * RADIUS * RADIUS * RADIUS);
    assert_true(volumes[0] > volumes[1] && volumes[1] > 1.9); /* wound outward; nobody sees the bottom */
    splat_model_destroy(model);
    close_training(context, scene, NULL);
}

static void bad_options_are_told(void **state)
{
    (void)state;
    splat_context *context = open_cpu(2);
    splat_mesh_extract_info info[SPLAT_MESH_LEVELS];
    splat_error error;
    static const struct { float levels[2]; size_t n; } wrong[] = {{{0.3f}, 0}, {{0.3f}, 9}, {{0}, 1}, {{1}, 1},
                                                                  {{NAN}, 1}, {{0.3f, 0.3f}, 2}};
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
        splat_mesh_extract_options o = small_options(0);
        memcpy(o.levels, wrong[i].levels, sizeof wrong[i].levels);
        o.n_levels = wrong[i].n;
        assert_int_equal(extract(context, "sphere.ply", &o, "out/no.ply", info, &error), SPLAT_ERROR_ARGUMENT);
        assert_non_null(strstr(error.message, "level"));
    }
    splat_mesh_extract_options o = small_options(0);
    o.resolution_factor = 0;
    assert_int_equal(extract(context, "sphere.ply", &o, "out/no.ply", info, &error), SPLAT_ERROR_ARGUMENT);
    o = small_options(0);
    o.least_seen = 2;
    assert_int_equal(extract(context, "sphere.ply", &o, "out/no.ply", info, &error), SPLAT_ERROR_ARGUMENT);
    assert_non_null(strstr(error.message, "least_seen"));
    o = small_options(0);
    o.points = (splat_mesh_point_source)4;
    assert_int_equal(extract(context, "sphere.ply", &o, "out/no.ply", info, &error), SPLAT_ERROR_ARGUMENT);
    for (int way = 0; way < N_WAYS; way++) {
        o = small_options(way);
        if (o.method == SPLAT_MESH_POISSON) continue;
        o.surface = SPLAT_MESH_CLOSED;
        assert_failure(extract(context, "sphere.ply", &o, "out/no.ply", info, &error), SPLAT_ERROR_ARGUMENT, &error,
                       "`surface` closed needs `method` poisson; a mesh of tsdf");
        o = small_options(way);
        o.collider_faces = 1000;
        assert_failure(extract(context, "sphere.ply", &o, "out/no.ply", info, &error), SPLAT_ERROR_ARGUMENT, &error,
                       "`collider` needs `method` poisson");
    }
    write_discs("empty.ply", 0, center, 0, 0);
    o = small_options(0);
    assert_int_equal(extract(context, "empty.ply", &o, "out/no.ply", info, &error), SPLAT_ERROR_FORMAT);
    splat_scene *scene = open_scene(context);
    splat_model *model;
    const char *path = "out/no.ply";
    size_t n_train = scene->dataset.n_train;
    must(splat_model_load(context, "sphere.ply", &model, &error), &error);
    scene->dataset.n_train = 1;
    assert_int_equal(splat_mesh_extract(context, scene, model, &o, &path, 1, info, &error), SPLAT_ERROR_FORMAT);
    assert_non_null(strstr(error.message, "two training views"));
    scene->dataset.n_train = n_train;
    splat_model_destroy(model);
    close_training(context, scene, NULL);
}

/* The host memory that a mesh needs, from the message that refuses it. */
static double refused_mib(splat_context *context, const splat_mesh_extract_options *o)
{
    splat_mesh_extract_info info[2];
    splat_scene *scene = open_scene(context);
    splat_model *model;
    splat_error error;
    const char *const paths[2] = {"out/no.ply", "out/no_more.ply"};
    double mib;
    must(splat_model_load(context, "sphere.ply", &model, &error), &error);
    assert_int_equal(splat_mesh_extract(context, scene, model, o, paths, 1, info, &error), SPLAT_ERROR_MEMORY);
    assert_int_equal(sscanf(error.message, "this mesh may need %lf MiB", &mib), 1);
    splat_model_destroy(model);
    splat_scene_close(scene);
    return mib;
}

/* Each mesh has points of its own, of six floats at least, and all are held at the same time. */
static void two_levels_need_twice_the_points(void **state)
{
    (void)state;
    splat_context *context = open_cpu(2);
    splat_mesh_extract_options o = small_options(0);
    write_sphere("sphere.ply", 6);
    o.n_points = 4000000;
    o.max_host_bytes = 10000;
    double one = refused_mib(context, &o);
    o.levels[1] = 0.6f;
    o.n_levels = 2;
    double two = refused_mib(context, &o);
    print_message("%.1f MiB for one level, %.1f for two\n", one, two);
    assert_true(two > one + 4e6 * 6 * sizeof(float) / 1048576);
    splat_context_destroy(context);
}

static void names_have_numbers_without_a_point(void **state)
{
    (void)state;
    static const struct { float value; const char *name; } wanted[] = {
        {0.3f, "03"}, {0.25f, "025"}, {0.05f, "005"}, {1, "10"}, {0.5f, "05"}, {12, "120"}, {1e-5f, "1e-05"}};
    char text[32];
    for (size_t i = 0; i < sizeof wanted / sizeof wanted[0]; i++)
        assert_string_equal(splat_number_name(text, wanted[i].value), wanted[i].name);
}

static bool stop_at_once(void *user, const char *stage, double fraction)
{
    (void)stage;
    (void)fraction;
    ++*(int *)user;
    return false;
}

static void bad_input_is_told(void **state)
{
    (void)state;
    splat_context *context = open_cpu(2);
    splat_mesh_extract_options o = small_options(0);
    splat_mesh_extract_info info;
    splat_error error;
    write_sphere("faint.ply", -9);
    remove("out/no.ply"); /* of a run that failed */
    for (int way = 0; way < N_WAYS; way++) {
        o = small_options(way);
        assert_int_equal(extract(context, "faint.ply", &o, "out/no.ply", &info, &error),
                         o.method == SPLAT_MESH_TSDF || o.points == SPLAT_MESH_POINTS_DEPTH ||
                                 o.points == SPLAT_MESH_POINTS_VIEWS
                             ? SPLAT_ERROR_NUMERIC
                             : SPLAT_ERROR_FORMAT);
        for (int k = 0; k < 3; k++) { /* far away from everything */
            o.bbox_low[k] = 1000;
            o.bbox_high[k] = 1001;
        }
        assert_int_equal(extract(context, "sphere.ply", &o, "out/no.ply", &info, &error), SPLAT_ERROR_NUMERIC);
        assert_non_null(strstr(error.message, "bboxmin"));
        o = small_options(way);
        int n_calls = 0;
        o.progress = stop_at_once;
        o.progress_user = &n_calls;
        assert_int_equal(extract(context, "sphere.ply", &o, "out/no.ply", &info, &error), SPLAT_ERROR_STOPPED);
        assert_int_equal(n_calls, 1);
        o = small_options(way);
        o.max_host_bytes = 10000;
        assert_int_equal(extract(context, "sphere.ply", &o, "out/no.ply", &info, &error), SPLAT_ERROR_MEMORY);
        assert_non_null(strstr(error.message, "`max_host_memory`"));
    }
    o = small_options(0);
    o.bbox_high[1] = o.bbox_low[1];
    assert_int_equal(extract(context, "sphere.ply", &o, "out/no.ply", &info, &error), SPLAT_ERROR_ARGUMENT);
    o = small_options(0);
    o.density_quantile = 1;
    assert_int_equal(extract(context, "sphere.ply", &o, "out/no.ply", &info, &error), SPLAT_ERROR_ARGUMENT);
    o = small_options(0);
    o.support_trim = -1;
    assert_int_equal(extract(context, "sphere.ply", &o, "out/no.ply", &info, &error), SPLAT_ERROR_ARGUMENT);
    assert_non_null(strstr(error.message, "support_trim"));
    o = small_options(0);
    assert_int_equal(extract(context, "sphere.ply", &o, "out/no.stl", &info, &error), SPLAT_ERROR_ARGUMENT);
    assert_false(splat_path_exists("out/no.ply"));
    splat_context_destroy(context);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_sphere_comes_back),
        cmocka_unit_test(density_makes_a_shell),
        cmocka_unit_test(fusion_reaches_beyond_the_box),
        cmocka_unit_test(density_reaches_beyond_the_box),
        cmocka_unit_test(points_are_thinned_and_met),
        cmocka_unit_test(unsupported_surface_is_trimmed),
        cmocka_unit_test(closed_meshes_are_watertight),
        cmocka_unit_test(colliders_are_closed_and_before_the_surface),
        cmocka_unit_test(colliders_have_names_of_their_own),
        cmocka_unit_test(threads_do_not_change_a_byte), /* it and the closed meshes read what the first one wrote */
        cmocka_unit_test(points_choose_the_depth),
        cmocka_unit_test(each_level_has_its_mesh),
        cmocka_unit_test(bad_input_is_told),
        cmocka_unit_test(bad_options_are_told),
        cmocka_unit_test(two_levels_need_twice_the_points),
        cmocka_unit_test(names_have_numbers_without_a_point),
    };
    return cmocka_run_group_tests_name("mesh extraction", tests, NULL, NULL);
}
