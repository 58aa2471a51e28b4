/* mesh/mesh_support.h: what a reconstruction invents where the points end goes, what points support stays. */
#include "poisson_fixture.h"

#include "base/point_tree.h"
#include "mesh/mesh_support.h"

static uint8_t *find_support(const splat_mesh *mesh, const cloud *c, double cell, int threads)
{
    splat_mesh_support_options options;
    splat_error error = {0};
    uint8_t *is_supported = malloc(mesh->n_vertices + 1);
    assert_non_null(is_supported);
    splat_mesh_support_options_init(&options);
    options.cell = cell;
    options.threads = threads;
    splat_status status = splat_mesh_support(mesh, c->positions, c->n, &options, is_supported, &error);
    if (status != SPLAT_OK) fail_msg("%s", error.message);
    return is_supported;
}

static splat_mesh reconstruct(const cloud *c, int depth, double *cell)
{
    splat_poisson_options options;
    splat_poisson_points points = cloud_points(c);
    splat_poisson_report report;
    splat_mesh mesh;
    splat_error error = {0};
    splat_poisson_options_default(&options);
    options.depth = depth;
    options.threads = 2;
    if (splat_poisson_reconstruct(&points, &options, &mesh, NULL, &report, &error) != SPLAT_OK)
        fail_msg("%s", error.message);
    *cell = report.cell;
    return mesh;
}

/* Half a sphere (radius 2 around 3, -2, 5): the reconstruction closes it by a lid or by walls that leave the cube. */
static void half_a_sphere_leaves_no_bubble(void **state)
{
    (void)state;
    cloud c = sphere_cloud(40000);
    double cell;
    for (size_t i = 0; i < c.n; i++)
        if (c.positions[3 * i + 2] < 5) {
            c.positions[3 * i + 2] = 10 - c.positions[3 * i + 2];
            c.normals[3 * i + 2] = -c.normals[3 * i + 2];
        }
    splat_mesh mesh = reconstruct(&c, 7, &cell);
    uint8_t *kept = find_support(&mesh, &c, cell, 2);
    size_t n_beyond = 0, n_surface = 0, n_lost = 0;
    for (size_t i = 0; i < mesh.n_vertices; i++) {
        const float *p = mesh.vertices + 3 * i;
        double outside = hypot(fmax(5 - p[2], 0), sphere_distance(p)); /* at least: to the half sphere */
        n_beyond += outside > 3 * cell;
        if (kept[i]) assert_true(outside < 2.5 * cell); /* 1.5 spacings, which are about a cell here */
        if (p[2] < 5 || fabs(sphere_distance(p)) > cell) continue;
        n_surface++;
        n_lost += !kept[i];
    }
    assert_true(n_beyond > 300); /* there is something to trim */
    assert_true(n_surface > 10000);
    assert_int_equal(n_lost, 0);
    free(kept);
    splat_mesh_free(&mesh);
    cloud_free(&c);
}

/* One side of the sphere has a hundredth of the points: ten times as far from each other, four cells. */
static void sparse_points_support_as_far_as_they_lie_apart(void **state)
{
    (void)state;
    cloud c = sphere_cloud(60000);
    size_t n = 0, n_far = 0;
    double cell;
    for (size_t i = 0; i < c.n; i++) {
        if (c.normals[3 * i] < 0 && i % 100) continue;
        memmove(c.positions + 3 * n, c.positions + 3 * i, 12);
        memmove(c.normals + 3 * n++, c.normals + 3 * i, 12);
    }
    c.n = n;
    splat_mesh mesh = reconstruct(&c, 7, &cell);
    uint8_t *kept = find_support(&mesh, &c, cell, 2);
    splat_point_tree tree;
    assert_int_equal(splat_point_tree_make(&tree, c.positions, c.n, 1, NULL), SPLAT_OK);
    size_t n_sparse = 0, n_kept = 0;
    for (size_t i = 0; i < mesh.n_vertices; i++) {
        float distance2;
        uint32_t nearest;
        splat_point_tree_nearest(&tree, mesh.vertices + 3 * i, 1, SPLAT_NO_POINT, &distance2, &nearest);
        if (mesh.vertices[3 * i] > 2.5f) continue;
        n_sparse++;
        n_far += sqrt((double)distance2) > 1.5 * cell; /* would go by the cell alone */
        n_kept += kept[i];
    }
    assert_true(n_sparse > 1000 && n_far > n_sparse / 2);
    assert_true(n_kept > 0.99 * (double)n_sparse);
    splat_point_tree_free(&tree);
    free(kept);
    splat_mesh_free(&mesh);
    cloud_free(&c);
}

/* By hand: points 1 apart on a line, so that spacings in the middle are (1 + 1 + 2 + 2 + 3 + 3 + 4 + 4) / 8 = 2.5. */
static void distances_are_compared_as_said(void **state)
{
    (void)state;
    enum { N = 101 };
    static const float heights[] = {0, 3.7f, 3.8f, 9.9f, 10.1f};
    static const uint8_t by_spacing[] = {1, 1, 0, 0, 0}, by_cell[] = {1, 1, 1, 1, 0};
    cloud c = cloud_make(N);
    splat_mesh mesh = {0};
    assert_int_equal(splat_mesh_reserve(&mesh, 5, 0, NULL), SPLAT_OK);
    mesh.n_vertices = 5;
    for (size_t i = 0; i < N; i++) memcpy(c.positions + 3 * i, (float[3]){(float)i, 0, 0}, 12);
    for (size_t i = 0; i < 5; i++) memcpy(mesh.vertices + 3 * i, (float[3]){50, heights[i], 0}, 12);
    for (int k = 0; k < 2; k++) { /* 1.5 * 2.5 = 3.75; 1.5 * 6.67 = 10 */
        uint8_t *kept = find_support(&mesh, &c, k ? 10 / 1.5 : 0.1, 1);
        assert_memory_equal(kept, k ? by_cell : by_spacing, 5);
        free(kept);
    }
    c.n = 1; /* alone: without spacing; 10 cells */
    memcpy(c.positions, (float[3]){50, 0, 0}, 12);
    uint8_t *kept = find_support(&mesh, &c, 10 / 1.5, 1);
    assert_memory_equal(kept, by_cell, 5);
    free(kept);
    c.n = 0;
    kept = find_support(&mesh, &c, 10, 1);
    assert_memory_equal(kept, (uint8_t[5]){0}, 5);
    free(kept);
    splat_mesh_free(&mesh);
    cloud_free(&c);
}

typedef struct watcher { int calls, stop_at; double last; } watcher;

static bool watch(void *user, double fraction)
{
    watcher *w = user;
    assert_true(fraction >= w->last && fraction <= 1);
    w->last = fraction;
    return ++w->calls != w->stop_at;
}

static void threads_change_nothing_and_it_can_stop(void **state)
{
    (void)state;
    enum { N = 600000 };
    cloud c = sphere_cloud(2000);
    splat_mesh mesh = {0};
    splat_error error;
    assert_int_equal(splat_mesh_reserve(&mesh, N, 0, &error), SPLAT_OK);
    mesh.n_vertices = N;
    for (uint32_t i = 0; i < 3 * N; i++)
        mesh.vertices[i] = splat_uniform(splat_random(8, SPLAT_STREAM_TEST, 0, i).x[0]) * 6 - 3 +
                           (i % 3 == 0 ? 3.0f : i % 3 == 1 ? -2.0f : 5.0f);
    uint8_t *one = find_support(&mesh, &c, 0.1, 1), *three = find_support(&mesh, &c, 0.1, 3);
    assert_memory_equal(one, three, N);
    splat_mesh_support_options options;
    splat_mesh_support_options_init(&options);
    watcher w = {.stop_at = 2};
    options.progress = watch;
    options.progress_user = &w;
    assert_int_equal(splat_mesh_support(&mesh, c.positions, c.n, &options, one, &error), SPLAT_ERROR_STOPPED);
    assert_int_equal(w.calls, 2);
    w = (watcher){0};
    assert_int_equal(splat_mesh_support(&mesh, c.positions, c.n, &options, one, &error), SPLAT_OK);
    assert_int_equal(w.calls, 3);
#define REFUSED(field, value, words)                                                                                   \
    splat_mesh_support_options_init(&options);                                                                         \
    options.field = value;                                                                                             \
    assert_int_equal(splat_mesh_support(&mesh, c.positions, c.n, &options, one, &error), SPLAT_ERROR_ARGUMENT);        \
    assert_non_null(strstr(error.message, words));
    REFUSED(reach, 0, "more than 0 cells")
    REFUSED(reach, NAN, "more than 0 cells")
    REFUSED(cell, -1, "-1 wide")
    REFUSED(threads, 0, "needs a thread")
    c.positions[4] = NAN;
    splat_mesh_support_options_init(&options);
    assert_int_equal(splat_mesh_support(&mesh, c.positions, c.n, &options, one, &error), SPLAT_ERROR_ARGUMENT);
    free(one);
    free(three);
    splat_mesh_free(&mesh);
    cloud_free(&c);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(half_a_sphere_leaves_no_bubble),
        cmocka_unit_test(sparse_points_support_as_far_as_they_lie_apart),
        cmocka_unit_test(distances_are_compared_as_said),
        cmocka_unit_test(threads_change_nothing_and_it_can_stop),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
