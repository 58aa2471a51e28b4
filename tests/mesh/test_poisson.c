/* mesh/poisson.h: shapes that are known, topology, weights, colours, and its parts. */
#include "mesh/poisson/poisson_envelope.h"
#include "mesh/poisson/poisson_field.h"
#include "mesh/poisson/poisson_octree.h"
#include "mesh/poisson/poisson_points.h"
#include "mesh/poisson/poisson_solve.h"
#include "mesh/poisson/poisson_surface.h"
#include "poisson_fixture.h"


/* ---------------------------------------------------------------- shapes */

/* Points without noise. Trilinear pieces of a smooth function miss a curved surface by about (cell / radius) / 8 cells,
 * and few points a cell leave unevenness: Open3D 0.16 has 0.07 cells at most on such a torus, we have 0.13. */
static void sphere_is_round(void **state)
{
    (void)state;
    cloud c = sphere_cloud(40000);
    outcome out = reconstruct_cloud(&c, 7);
    distances d = mesh_distances(&out.mesh, sphere_distance);
    double volume = 4.0 / 3 * 3.14159265 * 8;
    assert_closed(&out.mesh, 2, 1);
    assert_true(d.rms < 0.04 * out.report.cell);
    assert_true(d.max < 0.25 * out.report.cell);
    assert_true(fabs(splat_mesh_volume(&out.mesh) - volume) < 1e-3 * volume); /* positive: normals point outward */
    assert_true(fabs(out.report.area - 50.265) < 0.05 * 50.265); /* counts of few points scatter upward */
    assert_true(fabs(out.report.iso_value) < 0.02);
    assert_true(fabs(out.report.cell - 1.1 * 4 / 128) < 1e-3); /* points miss the poles by little */
    outcome_free(&out);
    cloud_free(&c);
}

static void torus_has_a_hole(void **state)
{
    (void)state;
    cloud c = torus_cloud(40000);
    outcome out = reconstruct_cloud(&c, 8); /* more cells than points ask for: leaves of several sizes */
    distances d = mesh_distances(&out.mesh, torus_distance);
    double volume = 2 * 3.14159265 * 3.14159265 * 0.16;
    assert_closed(&out.mesh, 0, 1);
    assert_true(d.rms < 0.08 * out.report.cell);
    assert_true(d.max < 0.5 * out.report.cell);
    assert_true(fabs(splat_mesh_volume(&out.mesh) - volume) < 2e-3 * volume);
    outcome_free(&out);
    cloud_free(&c);
}

/* Noise of half a cell; the average of the points of a cell and its neighbours has less. Sharp edges are rounded off
 * within a cell or two. */
static void noisy_box_is_smooth(void **state)
{
    (void)state;
    float noise = 0.5f * 2.2f / 128;
    cloud c = box_cloud(100000, noise);
    outcome out = reconstruct_cloud(&c, 7);
    distances d = mesh_distances(&out.mesh, box_distance);
    assert_closed(&out.mesh, 2, 1);
    assert_true(d.rms < 0.5 * noise);
    assert_true(d.max < 2 * out.report.cell);
    assert_true(fabs(splat_mesh_volume(&out.mesh) - 8) < 0.02 * 8);
    outcome_free(&out);
    cloud_free(&c);
}

static int compare_floats(const void *a, const void *b)
{
    float x = *(const float *)a, y = *(const float *)b;
    return (x > y) - (x < y);
}

/* Half a sphere: the reconstruction closes it with a lid that no point supports and the density tells. */
static void open_hemisphere_is_trimmed_by_density(void **state)
{
    (void)state;
    cloud c = sphere_cloud(40000);
    for (size_t i = 0; i < c.n; i++)
        if (c.positions[3 * i + 2] < 5) {
            c.positions[3 * i + 2] = 10 - c.positions[3 * i + 2];
            c.normals[3 * i + 2] = -c.normals[3 * i + 2];
        }
    outcome out = reconstruct_cloud(&c, 7);
    size_t n = out.mesh.n_vertices, n_kept = 0, n_far = 0, n_far_kept = 0, n_near = 0, n_near_kept = 0;
    float *sorted = malloc(4 * n);
    assert_non_null(sorted);
    memcpy(sorted, out.density, 4 * n);
    qsort(sorted, n, 4, compare_floats);
    float median = sorted[n / 2]; /* less than half of the surface is lid */
    for (size_t i = 0; i < n; i++) {
        const float *p = out.mesh.vertices + 3 * i;
        bool near = fabs(sphere_distance(p)) < out.report.cell && p[2] > 5, kept = out.density[i] > median - 1.5f;
        /* the density is counted in cells four times as wide, over two of them */
        bool far = fabs(sphere_distance(p)) > 10 * out.report.cell || p[2] < 5 - 10 * out.report.cell;
        assert_true(isfinite(out.density[i]));
        n_kept += kept;
        n_near += near;
        n_near_kept += near && kept;
        n_far += far;
        n_far_kept += far && kept;
    }
    assert_true(n_far > 300);        /* there is a lid or a skirt, of cells four times as wide */
    assert_int_equal(n_far_kept, 0); /* and nothing of it is dense */
    assert_true(n_near_kept > 0.999 * (double)n_near);
    assert_true(n_kept < n);
    free(sorted);
    outcome_free(&out);
    cloud_free(&c);
}

static void densities_count_points(void **state)
{
    (void)state;
    double mean[2];
    for (int k = 0; k < 2; k++) {
        cloud c = sphere_cloud(k ? 40000 : 10000);
        outcome out = reconstruct_cloud(&c, 7);
        double sum = 0;
        for (size_t i = 0; i < out.mesh.n_vertices; i++) sum += out.density[i];
        mean[k] = sum / (double)out.mesh.n_vertices;
        outcome_free(&out);
        cloud_free(&c);
    }
    /* 40000 points on area 50.27 in a cube of side 4.4: 1.5 a square of side 4.4 / 2^6.67 */
    assert_true(fabs(mean[1] - 6.67) < 0.15);
    /* four times as many points: a level more; the mean of logarithms of few points is a little low */
    assert_true(fabs(mean[1] - mean[0] - 1) < 0.1);
}

static void two_objects_stay_two(void **state)
{
    (void)state;
    cloud c = sphere_cloud(40000);
    for (size_t i = 1; i < c.n; i += 2) /* a smaller one, half a unit away */
        for (size_t a = 0; a < 3; a++) {
            float center = a == 0 ? 3 : a == 1 ? -2 : 5;
            c.positions[3 * i + a] = center + 0.5f * (c.positions[3 * i + a] - center) + (a == 0 ? 3.5f : 0);
        }
    outcome out = reconstruct_cloud(&c, 7);
    double volume = 4.0 / 3 * 3.14159265 * (8 + 1);
    assert_closed(&out.mesh, 4, 2);
    assert_true(fabs(splat_mesh_volume(&out.mesh) - volume) < 2e-3 * volume);
    outcome_free(&out);
    cloud_free(&c);
}

/* A hundred times as many points on one side: the surface crosses cells of four sizes without a crack. */
static void uneven_points_make_no_cracks(void **state)
{
    (void)state;
    cloud c = sphere_cloud(60000);
    size_t n = 0;
    for (size_t i = 0; i < c.n; i++) {
        float t = (c.normals[3 * i] + 1) / 2; /* 0 .. 1 */
        if (splat_uniform(splat_random(5, SPLAT_STREAM_TEST, 7, i).x[0]) > 0.01f + t * t * t) continue;
        memmove(c.positions + 3 * n, c.positions + 3 * i, 12);
        memmove(c.normals + 3 * n++, c.normals + 3 * i, 12);
    }
    c.n = n;
    outcome out = reconstruct_cloud(&c, 8);
    int n_levels = 0;
    for (int d = 0; d <= SPLAT_POISSON_MAX_DEPTH; d++) n_levels += out.report.iterations[d] > 0;
    distances d = mesh_distances(&out.mesh, sphere_distance);
    assert_int_equal(n_levels, 9);
    assert_closed(&out.mesh, 2, 1);
    assert_true(d.max < 0.05); /* a cell of the sparse side is 0.14 wide */
    outcome_free(&out);
    cloud_free(&c);
}

static void normals_decide_what_is_outside(void **state)
{
    (void)state;
    cloud c = sphere_cloud(5000);
    for (size_t i = 0; i < 3 * c.n; i++) c.normals[i] *= -7; /* their length does not count */
    outcome out = reconstruct_cloud(&c, 6);
    assert_closed(&out.mesh, 2, 1);
    assert_true(splat_mesh_volume(&out.mesh) < -33);
    outcome_free(&out);
    cloud_free(&c);
}

static double cube_low[3], cube_high[3];

static bool is_on_cube(const float *p, const float *q)
{
    for (int a = 0; a < 3; a++) {
        double margin = 1e-4 * (cube_high[a] - cube_low[a]);
        if ((fabs(p[a] - cube_low[a]) < margin && fabs(q[a] - cube_low[a]) < margin) ||
            (fabs(p[a] - cube_high[a]) < margin && fabs(q[a] - cube_high[a]) < margin))
            return true;
    }
    return false;
}

enum { N_STRANGE = 7 };

static cloud strange_cloud(int kind)
{
    cloud c = cloud_make(kind == 5 ? 4 : 3000);
    for (size_t i = 0; i < c.n; i++) {
        splat_random4 r = splat_random(21, SPLAT_STREAM_TEST, (uint32_t)kind, i);
        float *p = c.positions + 3 * i, *normal = c.normals + 3 * i;
        random_direction(9, i, normal);
        for (int a = 0; a < 3; a++) p[a] = splat_uniform(r.x[a]);                 /* 0: a volume of noise */
        if (kind == 1) normal[0] = normal[1] = 0, normal[2] = 1, p[2] = 0.5f;     /* a sheet */
        if (kind == 2) p[1] = p[2] = 0.25f;                                       /* a line */
        if (kind == 3) p[0] = p[1] = p[2] = (float)(i % 3);                       /* three places */
        if (kind == 4) p[0] = i ? 1e-3f * p[0] : 1;                               /* one far away */
        if (kind == 6) {                                                          /* a rough slope, dense at a rim */
            p[0] = p[0] * p[0] * p[0];
            p[2] = 0.5f * p[0] + 0.05f * p[2];
        }
    }
    return c;
}

/* Whatever the points are, edges have two faces but on the cube's sides. */
static void strange_points_make_sound_meshes(void **state)
{
    (void)state;
    for (int kind = 0; kind < N_STRANGE; kind++) {
        cloud c = strange_cloud(kind);
        for (int a = 0; a < 3; a++) {
            double low = 1e9, high = -1e9;
            for (size_t i = 0; i < c.n; i++) {
                low = fmin(low, c.positions[3 * i + (size_t)a]);
                high = fmax(high, c.positions[3 * i + (size_t)a]);
            }
            cube_low[a] = cube_high[a] = (low + high) / 2;
        }
        outcome out = reconstruct_cloud(&c, 7);
        for (int a = 0; a < 3; a++) {
            cube_low[a] -= out.report.cell * 64;
            cube_high[a] += out.report.cell * 64;
        }
        mesh_shape shape = mesh_examine(&out.mesh, is_on_cube);
        assert_int_equal(shape.n_bad, 0);
        assert_int_equal(shape.n_unused, 0);
        assert_true(out.mesh.n_faces > 0);
        if (kind == 1) assert_true(shape.n_borders > 0 && shape.n_parts == 1);
        outcome_free(&out);
        cloud_free(&c);
    }
}

/* Lids close every mesh, also where cells of several sizes meet the cube's sides. Its first part is the mesh
 * without lids. */
static void lids_close_the_sides_of_the_cube(void **state)
{
    (void)state;
    size_t n_lids = 0;
    for (int kind = 0; kind < 2 * N_STRANGE; kind++) {
        cloud c = strange_cloud(kind / 2);
        splat_poisson_options options = poisson_options_of(7, 2);
        options.scale = kind & 1 ? 1.01 : 1.1;
        options.samples_per_node = 0.5;
        outcome open = reconstruct_with(&c, &options);
        options.close_sides = true;
        outcome closed = reconstruct_with(&c, &options);
        mesh_shape shape = mesh_examine(&closed.mesh, NULL), before = mesh_examine(&open.mesh, NULL);
        assert_int_equal(shape.n_bad, 0);
        assert_int_equal(shape.n_borders, 0);
        assert_int_equal(shape.n_unused, 0);
        assert_true((before.n_borders > 0) == (closed.mesh.n_faces > open.mesh.n_faces));
        assert_memory_equal(closed.mesh.vertices, open.mesh.vertices, 3 * sizeof(float) * open.mesh.n_vertices);
        assert_memory_equal(closed.mesh.faces, open.mesh.faces, 3 * sizeof(uint32_t) * open.mesh.n_faces);
        n_lids += before.n_borders > 0;
        if (kind == 2) { /* a sheet across the cube: half of its volume is inside */
            double side = closed.report.cell * 128, volume = splat_mesh_volume(&closed.mesh);
            assert_int_equal(shape.n_parts, 1);
            assert_int_equal(shape.euler, 2);
            assert_true(fabs(volume - 0.5 * side * side * side) < 0.01 * side * side * side);
        }
        outcome_free(&open);
        outcome_free(&closed);
        cloud_free(&c);
    }
    assert_true(n_lids >= 6);
}

/* A room: the solid around it fills the cube to its sides, where nothing is to be closed. */
static void a_room_has_no_lids(void **state)
{
    (void)state;
    cloud c = box_cloud(20000, 0);
    for (size_t i = 0; i < 3 * c.n; i++) c.normals[i] = -c.normals[i];
    splat_poisson_options options = poisson_options_of(6, 2);
    options.close_sides = true;
    outcome out = reconstruct_with(&c, &options);
    assert_closed(&out.mesh, 2, 1);
    assert_true(fabs(splat_mesh_volume(&out.mesh) + 8) < 0.2);
    outcome_free(&out);
    cloud_free(&c);
}

/* ---------------------------------------------------------------- empty space */

/* Below a height. */
static void find_below(void *user, const float *positions, size_t n, uint8_t *is_empty)
{
    for (size_t i = 0; i < n; i++) is_empty[i] = positions[3 * i + 2] < *(const float *)user;
}

/* Any place, at random, but the same one again. */
static void find_anything(void *user, const float *positions, size_t n, uint8_t *is_empty)
{
    for (size_t i = 0; i < n; i++) {
        uint32_t bits[3];
        memcpy(bits, positions + 3 * i, sizeof bits);
        is_empty[i] = (splat_random(3, SPLAT_STREAM_TEST, bits[0], bits[1] ^ bits[2]).x[0] & 15) != 0;
        ++*(size_t *)user;
    }
}

/* The bottom of a sphere without points there. */
static float lowest(const splat_mesh *mesh)
{
    float low = INFINITY;
    for (size_t i = 0; i < mesh->n_vertices; i++) low = fminf(low, mesh->vertices[3 * i + 2]);
    return low;
}

static void the_surface_enters_no_empty_space(void **state)
{
    (void)state;
    cloud c = sphere_cloud(40000);
    size_t n = 0;
    for (size_t i = 0; i < c.n; i++) {
        if (c.positions[3 * i + 2] < 4.5f) continue; /* 0.5 below the middle */
        memmove(c.positions + 3 * n, c.positions + 3 * i, 12);
        memmove(c.normals + 3 * n++, c.normals + 3 * i, 12);
    }
    c.n = n;
    float limit = 4.3f;
    splat_poisson_options options = poisson_options_of(8, 2);
    outcome plain = reconstruct_with(&c, &options);
    options.find_empty = find_below;
    options.empty_user = &limit;
    outcome out = reconstruct_with(&c, &options);
    options.threads = 1;
    outcome again = reconstruct_with(&c, &options);
    print_message("bottom at %.3f, with empty space below 4.3 at %.3f\n", lowest(&plain.mesh), lowest(&out.mesh));
    assert_closed(&out.mesh, 2, 1);
    assert_true(lowest(&plain.mesh) < 4.1f);
    assert_true(lowest(&out.mesh) > limit - 4.0f / 32);
    size_t n_same = 0; /* the other half of the sphere hardly notices */
    for (size_t i = 0; i < out.mesh.n_vertices; i++)
        n_same += out.mesh.vertices[3 * i + 2] > 5 && fabs(sphere_distance(out.mesh.vertices + 3 * i)) < 0.02;
    assert_true(n_same > out.mesh.n_vertices / 3);
    assert_int_equal(again.mesh.n_vertices, out.mesh.n_vertices);
    assert_memory_equal(again.mesh.vertices, out.mesh.vertices, 3 * sizeof(float) * out.mesh.n_vertices);
    outcome_free(&plain);
    outcome_free(&out);
    outcome_free(&again);
    cloud_free(&c);
}

/* Whatever is empty: no crack, no edge of three faces. */
static void any_empty_space_makes_sound_meshes(void **state)
{
    (void)state;
    for (int kind = 0; kind < N_STRANGE; kind++) {
        cloud c = strange_cloud(kind);
        size_t n_asked = 0;
        splat_poisson_options options = poisson_options_of(8, 1);
        options.close_sides = true;
        options.samples_per_node = 0.5;
        options.find_empty = find_anything;
        options.empty_user = &n_asked;
        outcome out = reconstruct_with(&c, &options);
        mesh_shape shape = mesh_examine(&out.mesh, NULL);
        assert_int_equal(shape.n_bad, 0);
        assert_int_equal(shape.n_borders, 0);
        assert_true(n_asked > 1000);
        outcome_free(&out);
        cloud_free(&c);
    }
}

/* ---------------------------------------------------------------- weights */

/* Mean height of the surface above the middle of a sheet, in cells. */
static double sheet_height(const cloud *c)
{
    outcome out = reconstruct_cloud(c, 7);
    double sum = 0;
    size_t n = 0;
    for (size_t i = 0; i < out.mesh.n_vertices; i++) {
        const float *p = out.mesh.vertices + 3 * i;
        if (fabsf(p[0]) > 0.7f || fabsf(p[1]) > 0.7f) continue;
        sum += p[2] / out.report.cell;
        n++;
    }
    assert_true(n > 1000);
    outcome_free(&out);
    return sum / (double)n;
}

/* A ball of 0.2 next to a plate of 100 x 100: at 14 levels a cell is 0.0067 wide, and the ball is as round as one that
 * fills the cube. */
static double small_ball_distance(const float *p)
{
    return sqrt((double)p[0] * p[0] + (double)p[1] * p[1] + ((double)p[2] - 5) * ((double)p[2] - 5)) - 0.2;
}

static void small_things_in_a_large_scene_keep_their_shape(void **state)
{
    (void)state;
    enum { PLATE = 20000, BALL = 20000 };
    cloud c = cloud_make(PLATE + BALL);
    for (size_t i = 0; i < c.n; i++) {
        splat_random4 r = splat_random(23, SPLAT_STREAM_TEST, 0, i);
        float normal[3] = {0, 0, 1}, x = 100 * splat_uniform(r.x[0]) - 50, y = 100 * splat_uniform(r.x[1]) - 50;
        if (i >= PLATE) random_direction(1, i, normal);
        memcpy(c.normals + 3 * i, normal, 12);
        memcpy(c.positions + 3 * i, (float[3]){x, y, 0}, 12);
        if (i >= PLATE)
            memcpy(c.positions + 3 * i, (float[3]){0.2f * normal[0], 0.2f * normal[1], 5 + 0.2f * normal[2]}, 12);
    }
    outcome out = reconstruct_cloud(&c, SPLAT_POISSON_MAX_DEPTH);
    double sum = 0, worst = 0;
    size_t n = 0;
    for (size_t i = 0; i < out.mesh.n_vertices; i++) {
        double d = small_ball_distance(out.mesh.vertices + 3 * i) / out.report.cell;
        if (d * out.report.cell > 1) continue; /* of the plate */
        sum += d * d;
        worst = fmax(worst, fabs(d));
        n++;
    }
    print_message("%zu vertices of the ball, %.3f cells of %.4f off, at worst %.3f\n", n, sqrt(sum / (double)n),
                  out.report.cell, worst);
    assert_int_equal(out.report.depth, SPLAT_POISSON_MAX_DEPTH);
    assert_true(n > 5000);
    assert_true(sqrt(sum / (double)n) < 0.2 && worst < 1);
    outcome_free(&out);
    cloud_free(&c);
}

/* As many bad points as good ones, one to two cells above the plane: it rises by 3/4 cell when all count the same, and
 * by a hundredth of that when the bad ones have a hundredth of the weight. Where there are none but bad ones they count
 * as any: it is the share that matters. */
static void bad_points_of_low_weight_do_not_move_a_plane(void **state)
{
    (void)state;
    cloud c = cloud_make(60000);
    c.weights = malloc(4 * c.n);
    assert_non_null(c.weights);
    const float cell = 2.2f / 128;
    for (size_t i = 0; i < c.n; i++) {
        splat_random4 r = splat_random(17, SPLAT_STREAM_TEST, 0, i);
        float height = i & 1 ? (1 + splat_uniform(r.x[2])) * cell : 0;
        float x = 2 * splat_uniform(r.x[0]) - 1, y = 2 * splat_uniform(r.x[1]) - 1;
        memcpy(c.positions + 3 * i, (float[3]){x, y, height}, 12);
        memcpy(c.normals + 3 * i, (float[3]){0, 0, 1}, 12);
        c.weights[i] = i & 1 ? 0.01f : 1;
    }
    double weighted = sheet_height(&c);
    for (size_t i = 1; i < c.n; i += 2) c.weights[i] = 1;
    double equal = sheet_height(&c);
    for (size_t i = 0; i < c.n; i++) c.weights[i] = c.positions[3 * i] < 0 ? 0.01f : 1;
    double sides = sheet_height(&c);
    print_message("height in cells: %.3f, all equal %.3f, one side trusted less %.3f\n", weighted, equal, sides);
    assert_true(fabs(equal - 0.75) < 0.1);
    assert_true(fabs(weighted) < 0.05);
    assert_true(fabs(sides - equal) < 0.02);
    cloud_free(&c);
}

static void a_factor_of_all_weights_changes_no_byte(void **state)
{
    (void)state;
    cloud c = box_cloud(20000, 0.01f);
    cloud_color(&c);
    outcome none = reconstruct_cloud(&c, 7);
    c.weights = malloc(4 * c.n);
    assert_non_null(c.weights);
    for (size_t i = 0; i < c.n; i++) c.weights[i] = 0.25f; /* exact */
    outcome quarter = reconstruct_cloud(&c, 7);
    assert_int_equal(quarter.mesh.n_vertices, none.mesh.n_vertices);
    assert_memory_equal(quarter.mesh.vertices, none.mesh.vertices, 12 * none.mesh.n_vertices);
    assert_memory_equal(quarter.mesh.faces, none.mesh.faces, 12 * none.mesh.n_faces);
    assert_memory_equal(quarter.mesh.colors, none.mesh.colors, 4 * none.mesh.n_vertices);
    assert_memory_equal(quarter.density, none.density, 4 * none.mesh.n_vertices);
    outcome_free(&none);
    outcome_free(&quarter);
    cloud_free(&c);
}

/* ---------------------------------------------------------------- colours */

static void colors_come_from_near_points(void **state)
{
    (void)state;
    cloud c = sphere_cloud(20000);
    c.colors = malloc(4 * c.n);
    assert_non_null(c.colors);
    for (size_t i = 0; i < c.n; i++) {
        bool up = c.normals[3 * i + 2] > 0;
        memcpy(c.colors + 4 * i, up ? "\xff\x20\x10\x00" : "\x00\x40\xf0\x00", 4);
    }
    outcome out = reconstruct_cloud(&c, 7);
    assert_non_null(out.mesh.colors);
    size_t n_checked = 0;
    for (size_t i = 0; i < out.mesh.n_vertices; i++) {
        float z = out.mesh.vertices[3 * i + 2] - 5;
        const uint8_t *color = out.mesh.colors + 4 * i;
        assert_int_equal(color[3], 255);
        if (fabsf(z) < 0.4f) continue;
        /* what lies 10 cells away has a weight of 1 / 32^2 at most */
        assert_in_range(color[0], z > 0 ? 254 : 0, z > 0 ? 255 : 1);
        assert_in_range(color[2], z > 0 ? 16 : 239, z > 0 ? 17 : 240);
        n_checked++;
    }
    assert_true(n_checked > out.mesh.n_vertices / 2);
    outcome_free(&out);
    cloud_free(&c);
}

/* ---------------------------------------------------------------- parts */

/* The function between places `cells` cells inside and outside of the unit sphere, over 200 directions. */
static double mean_step(const poisson_job *job, const poisson_octree *tree, float *const *values, double cells)
{
    double sum = 0;
    for (int k = 0; k < 400; k++) {
        uint32_t around[POISSON_MAX_LEVELS];
        float direction[3], p[3], weights[8];
        random_direction(5, (uint64_t)k / 2, direction);
        double radius = 2 + (k & 1 ? -1 : 1) * cells * job->side / 128;
        for (int a = 0; a < 3; a++) {
            double center = a == 0 ? 3 : a == 1 ? -2 : 5;
            p[a] = (float)((center + radius * direction[a] - job->origin[a]) / job->side);
        }
        int d = poisson_descend(tree, p, around);
        poisson_weights(&tree->level[d], d, around[d], p, weights);
        sum += (k & 1 ? 1 : -1) * poisson_interpolate(&tree->level[d], around[d], weights, values[d]);
    }
    return sum / 200;
}

/* Without screening the function is the solid's indicator, smoothed over two cells or so: 1 more inside than outside,
 * close to the surface (the deepest level's work) and far from it (that of the top). Every level's share of the
 * normals must count on every level for that. */
static void function_steps_by_one(void **state)
{
    (void)state;
    cloud c = sphere_cloud(40000);
    splat_error error;
    splat_poisson_options options = poisson_options_of(7, 2);
    splat_poisson_points points = cloud_points(&c);
    splat_poisson_report report;
    options.screening = 0;
    poisson_job job = {.input = &points, .options = &options, .error = &error};
    poisson_samples samples;
    poisson_density density;
    poisson_octree tree;
    poisson_field field;
    poisson_envelope envelope = {{NULL}};
    float *values[POISSON_MAX_LEVELS] = {NULL};
    assert_int_equal(poisson_samples_make(&job, &samples), SPLAT_OK);
    assert_int_equal(poisson_density_make(&job, &density, &samples), SPLAT_OK);
    assert_int_equal(poisson_octree_build(&job, &tree, &samples, samples.depth, 7, 5, true), SPLAT_OK);
    assert_int_equal(poisson_field_make(&job, &field, &tree, &samples), SPLAT_OK);
    assert_int_equal(poisson_solve(&job, values, &tree, &field, &envelope, &report), SPLAT_OK);
    /* areas are 3 % high; the places lie in the smoothed zone's foot */
    double near = mean_step(&job, &tree, values, 3), far = mean_step(&job, &tree, values, 8);
    double steep = mean_step(&job, &tree, values, 1);
    print_message("step within 1 cell %.3f, 3 cells %.3f, 8 %.3f\n", steep, near, far);
    assert_true(fabs(steep - 0.79) < 0.06); /* 0.68 when the deepest level sees its own share alone */
    assert_true(fabs(near - 1) < 0.04);
    assert_true(fabs(far - 1) < 0.06);
    for (int d = 0; d < POISSON_MAX_LEVELS; d++) poisson_free(&job, values[d]);
    poisson_field_free(&job, &field);
    poisson_octree_free(&job, &tree);
    poisson_density_free(&job, &density);
    poisson_samples_free(&job, &samples);
    assert_int_equal(job.used_bytes, 0); /* all was counted, all was freed */
    cloud_free(&c);
}

static void polygons_have_no_chords_in_sides(void **state)
{
    (void)state;
    const float square[4][3] = {{0, 0, 0}, {2, 0, 0}, {2, 1, 0}, {0, 1, 0.5f}};
    uint8_t triangles[POISSON_MAX_POLYGON][3], sides[4] = {1, 2, 4, 8};
    assert_int_equal(poisson_triangulate(4, square, sides, triangles), 2);
    sides[0] = sides[2] = 1; /* 0 - 2 lies in a side */
    assert_int_equal(poisson_triangulate(4, square, sides, triangles), 2);
    for (int i = 0; i < 2; i++) {
        bool has_0 = false, has_2 = false;
        for (int k = 0; k < 3; k++) {
            has_0 |= triangles[i][k] == 0;
            has_2 |= triangles[i][k] == 2;
        }
        assert_false(has_0 && has_2);
    }
    sides[1] = sides[3] = 2; /* and so does the other */
    assert_int_equal(poisson_triangulate(4, square, sides, triangles), 0);
    assert_int_equal(poisson_triangulate(3, square, sides, triangles), 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sphere_is_round),
        cmocka_unit_test(torus_has_a_hole),
        cmocka_unit_test(noisy_box_is_smooth),
        cmocka_unit_test(open_hemisphere_is_trimmed_by_density),
        cmocka_unit_test(densities_count_points),
        cmocka_unit_test(two_objects_stay_two),
        cmocka_unit_test(uneven_points_make_no_cracks),
        cmocka_unit_test(normals_decide_what_is_outside),
        cmocka_unit_test(strange_points_make_sound_meshes),
        cmocka_unit_test(lids_close_the_sides_of_the_cube),
        cmocka_unit_test(a_room_has_no_lids),
        cmocka_unit_test(the_surface_enters_no_empty_space),
        cmocka_unit_test(any_empty_space_makes_sound_meshes),
        cmocka_unit_test(small_things_in_a_large_scene_keep_their_shape),
        cmocka_unit_test(bad_points_of_low_weight_do_not_move_a_plane),
        cmocka_unit_test(a_factor_of_all_weights_changes_no_byte),
        cmocka_unit_test(colors_come_from_near_points),
        cmocka_unit_test(function_steps_by_one),
        cmocka_unit_test(polygons_have_no_chords_in_sides),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
