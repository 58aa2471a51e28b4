/* Simplification: distances to the shape, topology, boundaries, determinism, hostile input. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/large_pages.h"
#include "base/rng.h"
#include "mesh/measure/mesh_distance.h"
#include "mesh/measure/mesh_report.h"
#include "mesh/mesh_clean.h"
#include "mesh/mesh_clean_vertices.h"
#include "mesh/mesh_simplify.h"
#include "mesh/mesh_simplify_edges.h"
#include "mesh/mesh_simplify_update.h"
#include "mesh_fixture.h"

static splat_mesh_simplify_info simplify(splat_mesh *mesh, size_t target_faces, int threads)
{
    splat_error error;
    splat_mesh_simplify_options options;
    splat_mesh_simplify_info info;
    splat_mesh_simplify_options_init(&options);
    options.target_faces = target_faces;
    options.threads = threads;
    ASSERT_OK(splat_mesh_simplify(mesh, &options, &info, &error));
    return info;
}

static double torus_distance(const float *p, double ring, double tube)
{
    return fabs(hypot(hypot((double)p[0], (double)p[1]) - ring, (double)p[2]) - tube);
}

static void test_torus(void **state)
{
    (void)state;
    splat_error error;
    splat_mesh torus = make_torus(200, 100, 1, 0.4), copy, original;
    splat_mesh_distances distances;
    splat_mesh_report_options options;
    splat_mesh_report_options_init(&options);
    options.n_samples = 20000;
    ASSERT_OK(splat_mesh_require_colors(&torus, &error));
    for (size_t i = 0; i < torus.n_vertices; i++) /* red is the height: mixing must keep it */
        torus.colors[4 * i] = (uint8_t)(127.5 + 300 * (double)torus.vertices[3 * i + 2]);
    ASSERT_OK(splat_mesh_compute_normals(&torus, 1, &error));
    ASSERT_OK(splat_mesh_copy(&torus, &copy, &error));
    ASSERT_OK(splat_mesh_copy(&torus, &original, &error));
    simplify(&torus, 2000, 1);
    simplify(&copy, 2000, 3);
    assert_int_equal(torus.n_faces, 2000);
    assert_int_equal(torus.n_vertices, 1000);
    assert_memory_equal(torus.faces, copy.faces, 12 * torus.n_faces);
    assert_memory_equal(torus.vertices, copy.vertices, 12 * torus.n_vertices);
    assert_memory_equal(torus.colors, copy.colors, 4 * torus.n_vertices);
    assert_closed_manifold(&torus);
    assert_int_equal(measure(&torus).euler_characteristic, 0);
    /* 2000 equal triangles on an area of 15.8 have sides of about 0.135; on a tube of 0.4 their middles lie 0.135^2 /
     * (6 0.4) = 0.0076 deep, and quadrics put the vertices about as far outside */
    ASSERT_OK(splat_mesh_compare(&torus, &original, NULL, &options, 2, &distances, &error));
    assert_true(distances.to_reference_max < 0.016);
    assert_true(distances.to_mesh_max < 0.016);
    assert_true(distances.chamfer < 0.004);
    assert_true(measure(&torus).aspect.mean > 0.7);
    assert_float_equal(splat_mesh_volume(&torus), splat_mesh_volume(&original), 0.01 * splat_mesh_volume(&original));
    for (size_t i = 0; i < torus.n_vertices; i++) {
        const float *p = torus.vertices + 3 * i, *n = torus.normals + 3 * i;
        double along = 1 - 1 / hypot((double)p[0], (double)p[1]); /* the true normal is (x along, y along, z) / tube */
        double cosine = (n[0] * p[0] * along + n[1] * p[1] * along + n[2] * p[2]) / 0.4;
        assert_true(torus_distance(p, 1, 0.4) < 0.01);
        assert_true(cosine > 0.9);
        /* a step of colour each collapse at most, and the surface between colours bends */
        assert_true(fabs(127.5 + 300 * (double)p[2] - torus.colors[4 * i]) < 16);
    }
    splat_mesh_free(&torus);
    splat_mesh_free(&copy);
    splat_mesh_free(&original);
}

/* Vertices that the surface needs stay, for any target. */
static void test_to_the_end(void **state)
{
    (void)state;
    splat_mesh torus = make_torus(40, 20, 1, 0.4), sphere = make_sphere(16, 1);
    simplify(&torus, 0, 2);
    simplify(&sphere, 0, 2);
    assert_closed_manifold(&torus);
    assert_closed_manifold(&sphere);
    assert_int_equal(measure(&torus).euler_characteristic, 0);
    assert_int_equal(measure(&sphere).euler_characteristic, 2);
    assert_true(torus.n_faces >= 14 && torus.n_faces < 200); /* no torus has fewer than 14 triangles */
    assert_true(sphere.n_faces >= 4 && sphere.n_faces < 60);
    splat_mesh_free(&torus);
    splat_mesh_free(&sphere);
}

/* Small shapes with noise, to the end: every way in which a collapse could break a surface comes up. */
static void test_small(void **state)
{
    (void)state;
    for (uint64_t seed = 0; seed < 60; seed++) {
        splat_mesh mesh = seed % 2 ? make_sphere(4 + seed / 4, 1) : make_torus(6 + seed / 2, 5 + seed / 6, 1, 0.4);
        int64_t euler = measure(&mesh).euler_characteristic;
        for (size_t i = 0; i < 3 * mesh.n_vertices; i++)
            mesh.vertices[i] += 0.1f * splat_uniform(splat_random(seed, SPLAT_STREAM_TEST, 4, i).x[0]);
        simplify(&mesh, 0, 1);
        assert_closed_manifold(&mesh);
        assert_int_equal(measure(&mesh).euler_characteristic, euler);
        splat_mesh_free(&mesh);
    }
}

/* A flat sheet with uneven squares and a colour that rises with x: no face turns over, and colours stay in place. */
static void test_flat(void **state)
{
    (void)state;
    splat_error error;
    size_t n = 50;
    splat_mesh sheet = make_sheet(n, NULL);
    for (size_t i = 0; i < sheet.n_vertices; i++) {
        splat_random4 r = splat_random(1, SPLAT_STREAM_TEST, 5, i);
        size_t x = i % (n + 1), y = i / (n + 1);
        if (x == 0 || y == 0 || x == n || y == n) continue;
        sheet.vertices[3 * i] += 0.4f * (splat_uniform(r.x[0]) - 0.5f) / (float)n;
        sheet.vertices[3 * i + 1] += 0.4f * (splat_uniform(r.x[1]) - 0.5f) / (float)n;
        sheet.vertices[3 * i + 2] = 1e-3f * splat_uniform(r.x[2]); /* slopes of 5 %, for costs to be uneven */
    }
    ASSERT_OK(splat_mesh_require_colors(&sheet, &error));
    for (size_t i = 0; i < sheet.n_vertices; i++)
        sheet.colors[4 * i + 1] = (uint8_t)(255 * sheet.vertices[3 * i] + 0.5f);
    simplify(&sheet, 300, 2);
    for (size_t i = 0; i < sheet.n_faces; i++) {
        double normal[3];
        splat_mesh_face_cross(&sheet, i, normal);
        assert_true(normal[2] > 0);
    }
    double worst = 0;
    for (size_t i = 0; i < sheet.n_vertices; i++)
        worst = fmax(worst, fabs(255 * (double)sheet.vertices[3 * i] - sheet.colors[4 * i + 1]));
    assert_true(worst < 5); /* rounding at each collapse, and vertices that leave the line between two others */
    splat_mesh_free(&sheet);
}

/* Waves of one height all over; where the size is a quarter, more vertices stay. */
static double waves(double x, double y)
{
    return 0.01 * sin(60 * x) * sin(60 * y);
}

static void test_sizes(void **state)
{
    (void)state;
    size_t n_near[2] = {0}, n_left[2];
    for (int sized = 0; sized < 2; sized++) {
        splat_mesh sheet = make_sheet(100, waves);
        splat_mesh_simplify_options options;
        splat_mesh_simplify_info info;
        splat_error error;
        float *sizes = malloc(sheet.n_vertices * sizeof *sizes);
        for (size_t i = 0; i < sheet.n_vertices; i++) sizes[i] = sheet.vertices[3 * i] < 0.5f ? 0.05f : 0.2f;
        splat_mesh_simplify_options_init(&options);
        options.target_vertices = 3000;
        options.threads = 2;
        options.sizes = sized ? sizes : NULL;
        ASSERT_OK(splat_mesh_simplify(&sheet, &options, &info, &error));
        for (size_t i = 0; i < sheet.n_vertices; i++) n_near[sized] += sheet.vertices[3 * i] < 0.5f;
        n_left[sized] = sheet.n_vertices;
        assert_true(info.error > 0 && info.error < 0.02); /* a distance, whatever the sizes */
        free(sizes);
        splat_mesh_free(&sheet);
    }
    print_message("%zu of %zu vertices, with sizes %zu of %zu\n", n_near[0], n_left[0], n_near[1], n_left[1]);
    assert_true(5 * n_near[0] > 2 * n_left[0] && 5 * n_near[0] < 3 * n_left[0]);
    assert_true(10 * n_near[1] > 7 * n_left[1]);
}

/* The limit is a number of sizes: where they are small, less may change, however many faces are wanted. */
static void test_most_sizes(void **state)
{
    (void)state;
    size_t n_near = 0, n_far = 0;
    splat_mesh sheet = make_sheet(100, waves);
    splat_mesh_simplify_options options;
    splat_mesh_simplify_info info;
    splat_error error;
    float *sizes = malloc(sheet.n_vertices * sizeof *sizes);
    for (size_t i = 0; i < sheet.n_vertices; i++) sizes[i] = sheet.vertices[3 * i] < 0.5f ? 1e-4f : 1;
    splat_mesh_simplify_options_init(&options);
    options.target_faces = 10;
    options.sizes = sizes;
    options.max_sizes = 2;
    ASSERT_OK(splat_mesh_simplify(&sheet, &options, &info, &error));
    for (size_t i = 0; i < sheet.n_vertices; i++) n_near += sheet.vertices[3 * i] < 0.45f;
    for (size_t i = 0; i < sheet.n_vertices; i++) n_far += sheet.vertices[3 * i] > 0.55f;
    assert_true(info.error <= 2);
    print_message("%zu and %zu vertices stay\n", n_near, n_far);
    assert_true(n_near > 2000 && n_far < 200);
    options.max_error = 1;
    assert_int_equal(splat_mesh_simplify(&sheet, &options, &info, &error), SPLAT_ERROR_ARGUMENT);
    options.max_error = 0;
    options.sizes = NULL;
    assert_int_equal(splat_mesh_simplify(&sheet, &options, &info, &error), SPLAT_ERROR_ARGUMENT);
    free(sizes);
    splat_mesh_free(&sheet);
}

/* A flat star around one vertex: moving that onto most points of the outline would turn triangles over. */
static void test_star(void **state)
{
    (void)state;
    splat_error error;
    splat_mesh star = {0};
    splat_mesh_simplify_options options;
    splat_mesh_simplify_options_init(&options);
    options.max_error = 0.02; /* the outline itself stays */
    put_vertex(&star, 0, 0, 0);
    for (size_t i = 0; i < 20; i++) {
        double a = 2 * PI * (double)i / 20, r = i % 2 ? 0.3 : 1;
        put_vertex(&star, r * cos(a), r * sin(a), 0);
        put_face(&star, 0, 1 + i, 1 + (i + 1) % 20);
    }
    double area = splat_mesh_area(&star);
    ASSERT_OK(splat_mesh_simplify(&star, &options, NULL, &error));
    assert_float_equal(splat_mesh_area(&star), area, 1e-6);
    for (size_t i = 0; i < star.n_faces; i++) {
        double normal[3];
        splat_mesh_face_cross(&star, i, normal);
        assert_true(normal[2] > 0);
    }
    splat_mesh_free(&star);
}

/* A ring of one row of squares: its inner edges join the two boundaries, and must not be collapsed. */
static void test_ring(void **state)
{
    (void)state;
    splat_mesh ring = {0};
    splat_mesh_edges edges;
    size_t n = 24;
    for (size_t i = 0; i < n; i++)
        for (int z = 0; z < 2; z++)
            put_vertex(&ring, cos(2 * PI * (double)i / (double)n), sin(2 * PI * (double)i / (double)n), 0.02 * z);
    for (size_t i = 0; i < n; i++) {
        size_t a = 2 * i, b = 2 * ((i + 1) % n);
        put_face(&ring, a, b, b + 1);
        put_face(&ring, a, b + 1, a + 1);
    }
    splat_mesh_simplify_options options;
    splat_error error;
    splat_mesh_simplify_options_init(&options);
    options.target_faces = 20;
    options.boundary_weight = 0; /* else moving a boundary costs too much to be tried */
    ASSERT_OK(splat_mesh_simplify(&ring, &options, NULL, &error));
    assert_true(ring.n_faces <= 20 && ring.n_faces >= 6);
    uint32_t *n_open = calloc(ring.n_vertices, sizeof *n_open);
    assert_int_equal(splat_mesh_edges_make(&ring, 1, &edges, NULL), SPLAT_OK);
    for (size_t v = 0; v < ring.n_vertices; v++)
        for (size_t i = edges.starts[v], end; i < edges.starts[v + 1]; i = end) {
            end = splat_mesh_edges_run(&edges, i, edges.starts[v + 1]);
            if (end - i > 1) continue;
            n_open[v]++;
            n_open[edges.uses[i].high]++;
        }
    for (size_t v = 0; v < ring.n_vertices; v++) assert_int_equal(n_open[v], 2); /* 4 where it is pinched */
    free(n_open);
    splat_mesh_edges_free(&edges);
    splat_mesh_free(&ring);
}

static void test_cube(void **state)
{
    (void)state;
    splat_error error;
    splat_mesh cube = make_cube(12);
    splat_mesh_clean_options options;
    splat_mesh_clean_options_init(&options);
    ASSERT_OK(splat_mesh_clean(&cube, &options, NULL, &error));
    simplify(&cube, 100, 2);
    assert_int_equal(cube.n_faces, 100);
    assert_closed_manifold(&cube);
    /* planes are kept to the pull of the points: a percent of the part of a side that a vertex stands for */
    assert_float_equal(splat_mesh_volume(&cube), 1, 2e-3);
    for (int corner = 0; corner < 8; corner++) {
        double nearest = 1;
        for (size_t i = 0; i < cube.n_vertices; i++) {
            double d2 = 0;
            for (size_t c = 0; c < 3; c++) d2 += pow((double)cube.vertices[3 * i + c] - (corner >> c & 1), 2);
            nearest = fmin(nearest, sqrt(d2));
        }
        assert_true(nearest < 5e-3);
    }
    splat_mesh_free(&cube);
}

static double wave(double x, double y)
{
    return 0.05 * sin(9 * x) * cos(7 * y);
}

/* An open sheet with a square hole: boundaries stay where they are. */
static void test_boundary(void **state)
{
    (void)state;
    splat_error error;
    size_t n = 60;
    for (int flat = 0; flat < 2; flat++) {
        splat_mesh sheet = make_sheet(n, flat ? NULL : wave);
        uint8_t *keep = malloc(sheet.n_faces);
        for (size_t i = 0; i < sheet.n_faces; i++) {
            size_t x = i / 2 % n, y = i / 2 / n;
            keep[i] = !(x >= 20 && x < 40 && y >= 20 && y < 40);
        }
        splat_mesh_keep_faces(&sheet, keep, 2);
        double area = splat_mesh_area(&sheet);
        simplify(&sheet, 400, 2);
        assert_int_equal(splat_mesh_check(&sheet, &error), SPLAT_OK);
        assert_true(sheet.n_faces <= 400 && sheet.n_faces > 390);
        splat_mesh_quality q = measure(&sheet);
        assert_int_equal(q.euler_characteristic, 0); /* a ring */
        assert_int_equal(q.n_non_manifold_edges, 0);
        assert_true(q.is_winding_consistent);
        assert_int_equal(q.n_flipped_normals, 0);
        /* each of some 60 boundary vertices may have moved inward by the pull of its points */
        assert_float_equal(splat_mesh_area(&sheet), area, flat ? 2e-3 : 1e-2);
        if (flat)
            for (size_t i = 0; i < sheet.n_vertices; i++) assert_true(sheet.vertices[3 * i + 2] == 0);
        assert_float_equal(q.high[0] - q.low[0], 1, 2e-3);
        assert_float_equal(q.high[1] - q.low[1], 1, 2e-3);
        free(keep);
        splat_mesh_free(&sheet);
    }
}

/* Three sheets at one line: its vertices stay where they are. */
static void test_non_manifold(void **state)
{
    (void)state;
    splat_error error;
    splat_mesh book = {0};
    size_t n = 10, merged = 0;
    for (int page = 0; page < 3; page++) {
        splat_mesh sheet = make_sheet(n, NULL);
        for (size_t i = 0; i < sheet.n_vertices; i++) {
            float x = sheet.vertices[3 * i];
            sheet.vertices[3 * i] = x * cosf((float)page);
            sheet.vertices[3 * i + 2] = x * sinf((float)page);
        }
        ASSERT_OK(splat_mesh_append(&book, &sheet, &error));
        splat_mesh_free(&sheet);
    }
    ASSERT_OK(splat_mesh_merge_vertices(&book, 1e-6, 1, &merged, &error));
    assert_int_equal(merged, 2 * (n + 1));
    simplify(&book, 60, 2);
    size_t on_spine = 0;
    for (size_t i = 0; i < book.n_vertices; i++) {
        const float *p = book.vertices + 3 * i;
        if (fabsf(p[0]) > 1e-6f || fabsf(p[2]) > 1e-6f) continue;
        on_spine++;
        assert_float_equal((double)p[1] * (double)n, round((double)p[1] * (double)n), 1e-5);
    }
    assert_int_equal(on_spine, n + 1);
    assert_int_equal(measure(&book).n_non_manifold_edges, n);
    splat_mesh_free(&book);
}

static void test_limits(void **state)
{
    (void)state;
    splat_error error;
    splat_mesh torus = make_torus(120, 60, 1, 0.4);
    splat_mesh_simplify_options options;
    splat_mesh_simplify_info info;
    splat_mesh_simplify_options_init(&options);
    options.target_vertices = 1500;
    ASSERT_OK(splat_mesh_simplify(&torus, &options, &info, &error));
    assert_int_equal(torus.n_vertices, 1500);
    options.target_vertices = 0;
    options.max_error = 0.004;
    ASSERT_OK(splat_mesh_simplify(&torus, &options, &info, &error));
    assert_true(info.error > 0.003 && info.error <= 0.004);
    assert_true(torus.n_faces > 100 && torus.n_faces < 2900);
    options.threads = 0;
    assert_int_equal(splat_mesh_simplify(&torus, &options, &info, &error), SPLAT_ERROR_ARGUMENT);
    splat_mesh_free(&torus);
}

/* A noisy torus as a pass finds it. */
static simplifier start_pass(splat_mesh *mesh, int threads)
{
    splat_error error;
    size_t n = mesh->n_vertices + 2, n_half = 3 * mesh->n_faces;
    simplifier s = {.mesh = mesh, .threads = threads, .boundary_weight = 10};
    s.quadrics = calloc(n, sizeof *s.quadrics);
    s.kinds = malloc(n);
    s.touched = malloc(n);
    s.starts = malloc(n * sizeof *s.starts);
    s.chains = malloc(n * sizeof *s.chains);
    s.face_counts = malloc(n * sizeof *s.face_counts);
    s.ring_starts = malloc(n * sizeof *s.ring_starts);
    s.ring_sizes = malloc(n * sizeof *s.ring_sizes);
    s.least = malloc(n * sizeof *s.least);
    s.around = malloc(n_half * sizeof *s.around);
    s.rings = malloc(2 * n_half * sizeof *s.rings);
    s.costs = malloc(2 * n_half * sizeof *s.costs);
    s.blocks = malloc((n_half / SIMPLIFY_BLOCK + 2) * sizeof *s.blocks);
    s.ring_ends = malloc((n / SIMPLIFY_BLOCK + 1) * sizeof *s.ring_ends);
    simplify_collect_faces(&s, true);
    ASSERT_OK(simplify_collect_edges(&s, true, &error));
    return s;
}

static void end_pass(simplifier *s)
{
    void *all[] = {s->quadrics, s->kinds, s->touched, s->starts, s->chains, s->face_counts, s->ring_starts,
                   s->ring_sizes, s->least, s->around, s->rings, s->costs, s->blocks, s->ring_ends};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) free(all[i]);
    splat_zeroed_free(s->edges, s->edge_bytes);
}

static int compare_ranks(const void *a, const void *b)
{
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return (x > y) - (x < y);
}

/* A torus whose vertices leave its surface a little. */
static splat_mesh make_noisy_torus(void)
{
    splat_mesh torus = make_torus(160, 80, 1, 0.4);
    for (size_t i = 0; i < 3 * torus.n_vertices; i++)
        torus.vertices[i] += 0.01f * splat_uniform(splat_random(3, SPLAT_STREAM_TEST, 6, i).x[0]);
    return torus;
}

/* The rounds of all threads choose what one thread chooses that goes through the edges from the cheapest on. */
static void test_rounds(void **state)
{
    (void)state;
    splat_mesh torus = make_noisy_torus();
    simplifier s = start_pass(&torus, 3);
    assert_int_equal(s.n_edges, 3 * torus.n_vertices);
    simplify_choose(&s);
    size_t n = s.n_candidates, limit = (size_t)(0.3 * (double)s.n_edges) + 16, n_greedy = 0;
    assert_in_range(n, limit, limit + 16); /* more where costs are equal */
    uint64_t *ranks = malloc(n * sizeof *ranks);
    uint8_t *touched = calloc(torus.n_vertices, 1), *greedy = calloc(n, 1);
    for (size_t i = 0; i < n; i++) ranks[i] = simplify_rank(&s, (uint32_t)i);
    qsort(ranks, n, sizeof *ranks, compare_ranks);
    assert_true(n == limit || ranks[n - 1] >> 32 == ranks[limit - 1] >> 32);
    for (size_t i = 0; i < n; i++) {
        simplify_edge edge = s.edges[(uint32_t)ranks[i]];
        if (touched[edge.a] || touched[edge.b] || !simplify_may_collapse(&s, edge)) continue;
        for (size_t h = 0; h < 3 * torus.n_faces; h += 3) {
            const uint32_t *f = torus.faces + h;
            bool meets = false;
            for (int k = 0; k < 3; k++) meets = meets || f[k] == edge.a || f[k] == edge.b;
            for (int k = 0; meets && k < 3; k++) touched[f[k]] = 1;
        }
        greedy[(uint32_t)ranks[i]] = 1;
        n_greedy++;
    }
    assert_true(n_greedy > 1000);
    assert_int_equal(s.n_chosen, n_greedy);
    for (size_t i = 0; i < s.n_chosen; i++) assert_int_equal(greedy[s.chosen[i]], 1);
    free(ranks);
    free(touched);
    free(greedy);
    end_pass(&s);
    splat_mesh_free(&torus);
}

static void assert_same_surroundings(const simplifier *s, const simplifier *t)
{
    assert_int_equal(s->n_used, t->n_used);
    assert_int_equal(s->n_edges, t->n_edges);
    assert_int_equal(s->n_faces, t->n_faces);
    for (size_t v = 0; v < s->mesh->n_vertices; v++) {
        if (s->touched[v] & SIMPLIFY_GONE) continue;
        assert_int_equal(s->kinds[v], t->kinds[v]);
        assert_int_equal(s->face_counts[v], t->face_counts[v]);
        assert_int_equal(s->ring_sizes[v], t->ring_sizes[v]);
        size_t bytes = s->ring_sizes[v] * sizeof(uint32_t);
        assert_memory_equal(simplify_ring(s, v), simplify_ring(t, v), bytes);
        assert_memory_equal(s->costs + s->ring_starts[v], t->costs + t->ring_starts[v], bytes);
    }
}

/* After a pass the updated surroundings are those that the faces give, also where pieces touch at a vertex. */
static void test_update(void **state)
{
    (void)state;
    for (size_t share = 2; share < 12; share += 9) { /* of the faces, those that are not there */
        splat_mesh torus = make_noisy_torus();
        splat_error error;
        size_t n = 0, ignored = 0;
        for (size_t i = 0; i < torus.n_faces; i++)
            if (splat_random(3, SPLAT_STREAM_TEST, 7, i).x[0] % share) splat_mesh_move_face(&torus, n++, i);
        torus.n_faces = n;
        simplifier s = start_pass(&torus, 2);
        simplify_losses losses = {0};
        simplify_choose(&s);
        assert_true(s.n_chosen > 100);
        for (size_t i = 0; i < s.n_chosen; i++) simplify_collapse(&s, s.edges[s.chosen[i]], &losses);
        s.n_used -= losses.n_vertices;
        s.n_edges -= losses.n_edges;
        s.n_faces -= losses.n_faces;
        simplify_update(&s);
        assert_false(s.stale);
        ASSERT_OK(splat_mesh_remove_degenerate(&torus, -1.0, 1, &ignored, &error));
        simplifier t = start_pass(&torus, 1);
        memcpy(t.quadrics, s.quadrics, torus.n_vertices * sizeof *s.quadrics);
        ASSERT_OK(simplify_collect_edges(&t, false, &error));
        assert_same_surroundings(&s, &t);
        end_pass(&t);
        end_pass(&s);
        splat_mesh_free(&torus);
    }
}

/* Passes drop vertices that no face uses; the others keep their order and what is known of them. */
static void test_unused(void **state)
{
    (void)state;
    splat_mesh_simplify_options options;
    splat_mesh_simplify_info info, padded_info;
    splat_error error;
    splat_mesh torus = make_torus(80, 40, 1, 0.4), padded = make_torus(80, 80, 1, 0.4);
    assert_int_equal(padded.n_vertices, 2 * torus.n_vertices);
    assert_int_equal(padded.n_faces, 2 * torus.n_faces);
    padded.n_faces = torus.n_faces;
    for (size_t i = 0; i < torus.n_vertices; i++) {
        for (size_t c = 0; c < 3; c++)
            torus.vertices[3 * i + c] += 0.01f * splat_uniform(splat_random(3, SPLAT_STREAM_TEST, 7, 3 * i + c).x[0]);
        for (size_t k = 0; k < 2; k++) memcpy(padded.vertices + 3 * (2 * i + k), torus.vertices + 3 * i, 12);
    }
    for (size_t i = 0; i < 3 * torus.n_faces; i++) padded.faces[i] = 2 * torus.faces[i] + 1;
    splat_mesh_simplify_options_init(&options);
    options.target_faces = 300;
    ASSERT_OK(splat_mesh_simplify(&torus, &options, &info, &error));
    ASSERT_OK(splat_mesh_simplify(&padded, &options, &padded_info, &error));
    assert_true(info.n_passes > 5);
    assert_int_equal(padded_info.n_passes, info.n_passes);
    assert_true(padded_info.error == info.error);
    assert_int_equal(padded.n_vertices, torus.n_vertices);
    assert_int_equal(padded.n_faces, torus.n_faces);
    assert_memory_equal(padded.vertices, torus.vertices, 12 * torus.n_vertices);
    assert_memory_equal(padded.faces, torus.faces, 12 * torus.n_faces);
    splat_mesh_free(&torus);
    splat_mesh_free(&padded);
}

typedef struct listener { double last; size_t n_calls, stop_at; } listener;

static bool listen(void *user, const char *stage, double fraction)
{
    listener *l = user;
    assert_string_equal(stage, "simplifying");
    assert_true(fraction >= l->last && fraction <= 1);
    l->last = fraction;
    return ++l->n_calls != l->stop_at;
}

/* Progress rises to 1, and the callback may stop the work: the result then is a mesh. */
static void test_progress(void **state)
{
    (void)state;
    splat_error error;
    for (size_t stop_at = 0; stop_at < 4; stop_at += 3) {
        splat_mesh torus = make_torus(60, 30, 1, 0.4);
        size_t n_before = torus.n_faces;
        listener l = {.stop_at = stop_at};
        splat_mesh_simplify_options options;
        splat_mesh_simplify_options_init(&options);
        options.target_faces = 400;
        options.progress = listen;
        options.progress_user = &l;
        splat_status status = splat_mesh_simplify(&torus, &options, NULL, &error);
        assert_int_equal(status, stop_at ? SPLAT_ERROR_STOPPED : SPLAT_OK);
        assert_true(l.n_calls > 2);
        if (!stop_at) assert_true(l.last == 1);
        if (stop_at) assert_true(l.n_calls == 3 && torus.n_faces > 400 && torus.n_faces < n_before);
        assert_closed_manifold(&torus);
        splat_mesh_free(&torus);
    }
}

/* Two hubs of many faces on one edge, and threads: long rings, and the same mesh. */
static void test_hubs(void **state)
{
    (void)state;
    splat_mesh ball = {0}, copy;
    splat_error error;
    size_t n = 500;
    put_vertex(&ball, 0, 0, 1);
    put_vertex(&ball, 0, 0, -1);
    for (size_t i = 0; i < n; i++)
        put_vertex(&ball, cos(2 * PI * (double)i / (double)n), sin(2 * PI * (double)i / (double)n), 0);
    for (size_t i = 0; i < n; i++) {
        put_face(&ball, 0, 2 + i, 2 + (i + 1) % n);
        put_face(&ball, 1, 2 + (i + 1) % n, 2 + i);
    }
    ASSERT_OK(splat_mesh_copy(&ball, &copy, &error));
    simplify(&ball, 60, 1);
    simplify(&copy, 60, 4);
    assert_closed_manifold(&ball);
    assert_true(ball.n_faces <= 60);
    assert_int_equal(ball.n_faces, copy.n_faces);
    assert_memory_equal(ball.faces, copy.faces, 12 * ball.n_faces);
    assert_memory_equal(ball.vertices, copy.vertices, 12 * ball.n_vertices);
    splat_mesh_free(&ball);
    splat_mesh_free(&copy);
}

/* A hub whose faces come in no order: each neighbour is in its ring once, in ascending order. */
static void test_long_rings(void **state)
{
    (void)state;
    enum { N = 101 };
    splat_mesh fan = {0};
    put_vertex(&fan, 0, 0, 1);
    for (size_t i = 0; i < N; i++)
        put_vertex(&fan, cos(2 * PI * (double)i / N), sin(2 * PI * (double)i / N), 0);
    for (size_t i = 0; i < N; i++) {
        size_t at = 37 * i % N;
        put_face(&fan, 0, 1 + at, 1 + (at + 1) % N);
    }
    simplifier s = start_pass(&fan, 1);
    assert_int_equal(s.kinds[0], SIMPLIFY_INNER);
    assert_int_equal(s.ring_sizes[0], N);
    for (uint32_t i = 0; i < N; i++) assert_int_equal(s.rings[2 * (size_t)s.starts[0] + i], i + 1);
    end_pass(&s);
    splat_mesh_free(&fan);
}

/* Faces at random, with every defect: no crash, no index out of range, and never more faces. */
static void test_soup(void **state)
{
    (void)state;
    splat_error error;
    for (uint32_t seed = 0; seed < 5; seed++) {
        splat_mesh soup = {0};
        for (uint64_t i = 0; i < 300; i++) {
            splat_random4 r = splat_random(seed, SPLAT_STREAM_TEST, 1, i);
            put_vertex(&soup, splat_uniform(r.x[0]), splat_uniform(r.x[1]), seed == 4 ? 0 : splat_uniform(r.x[2]));
        }
        for (uint64_t i = 0; i < 2000; i++) {
            splat_random4 r = splat_random(seed, SPLAT_STREAM_TEST, 2, i);
            put_face(&soup, r.x[0] % 300, (r.x[0] + r.x[1] % 9) % 300, (r.x[0] + r.x[2] % 9) % 300);
        }
        simplify(&soup, 100, 2);
        assert_true(soup.n_faces <= 2000);
        ASSERT_OK(splat_mesh_check(&soup, &error));
        splat_mesh_free(&soup);
    }
    splat_mesh empty = {0};
    simplify(&empty, 0, 1);
    splat_mesh_free(&empty);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_torus),    cmocka_unit_test(test_to_the_end),   cmocka_unit_test(test_cube),
        cmocka_unit_test(test_boundary), cmocka_unit_test(test_non_manifold), cmocka_unit_test(test_limits),
        cmocka_unit_test(test_small),    cmocka_unit_test(test_flat),         cmocka_unit_test(test_star),
        cmocka_unit_test(test_ring),     cmocka_unit_test(test_rounds),       cmocka_unit_test(test_update),
        cmocka_unit_test(test_progress), cmocka_unit_test(test_hubs),         cmocka_unit_test(test_long_rings),
        cmocka_unit_test(test_unused),   cmocka_unit_test(test_soup),         cmocka_unit_test(test_sizes),
        cmocka_unit_test(test_most_sizes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
