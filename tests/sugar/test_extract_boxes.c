/* Whether points are reconstructed in one box or as foreground and background, and the border that the first lacks. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include "mesh/mesh.h"
#include "poisson_fixture.h"
#include "sugar/extract/extract_parts.h"
#include "trainer_fixture.h"

enum { N_POINTS = 100000 };

/* Around cameras in a room whose walls are those of box_cloud: the floor crosses the border of the box. */
static const splat_surface_boxes room = {.low = {-0.7, -0.7, -1.3}, .high = {0.7, 0.7, 0.5},
                                         .outer_low = {-2.8, -2.8, -4}, .outer_high = {2.8, 2.8, 3.2}};

static void a_share_of_points_decides(void **state)
{
    (void)state;
    cloud c = box_cloud(10000, 0);
    splat_surface_boxes boxes = room;
    for (size_t i = 0; i < 150; i++) c.positions[3 * i] = 2.5F; /* outdoors: beyond 1.4 */
    assert_false(splat_surface_boxes_join(&boxes, c.positions, c.n));
    assert_memory_equal(&boxes, &room, sizeof room);
    assert_false(splat_surface_boxes_join(&boxes, c.positions, 0));
    for (size_t i = 0; i < 100; i++) c.positions[3 * i] = 1;
    assert_true(splat_surface_boxes_join(&boxes, c.positions, c.n));
    static const double low[3] = {-1.4, -1.4, -2.2}, high[3] = {1.4, 1.4, 1.4};
    for (int k = 0; k < 3; k++) {
        assert_float_equal(boxes.low[k], low[k], 1e-12);
        assert_float_equal(boxes.high[k], high[k], 1e-12);
        assert_true(boxes.outer_low[k] == boxes.low[k] && boxes.outer_high[k] == boxes.high[k]);
    }
    cloud_free(&c);
}

/* The room's mesh. Points are used up. */
static mesh_shape reconstruct(const splat_mesh_extract_options *o)
{
    splat_context *context = open_cpu(2);
    splat_model model = {.context = context};
    splat_extraction e = {.options = o, .model = &model, .boxes = room, .threads = 2, .most_depth = o->poisson_depth};
    splat_surface_points points;
    splat_mesh mesh = {0};
    splat_error error;
    cloud c = box_cloud(N_POINTS, 0);
    must(splat_surface_points_make(&points, N_POINTS, &error), &error);
    for (size_t i = 0; i < c.n; i++)
        splat_surface_points_add(&points, c.positions + 3 * i, c.normals + 3 * i, (uint8_t[3]){200, 100, 50});
    must(splat_extract_poisson(&e, &points, &mesh, &error), &error);
    mesh_shape shape = mesh_examine(&mesh, NULL);
    double farthest = 0;
    for (size_t i = 0; i < mesh.n_vertices; i++) farthest = fmax(farthest, fabs(box_distance(mesh.vertices + 3 * i)));
    print_message("%zu vertices, %zu open edges, %zu parts, up to %.4f from the walls\n", mesh.n_vertices,
                  shape.n_borders, shape.n_parts, farthest);
    assert_true(farthest < (o->has_bbox ? 0.1 : 0.02)); /* the border swells when it closes itself */
    splat_mesh_free(&mesh);
    splat_surface_points_free(&points);
    cloud_free(&c);
    splat_context_destroy(context);
    return shape;
}

static void a_room_has_no_border(void **state)
{
    (void)state;
    splat_mesh_extract_options o;
    splat_mesh_extract_options_init(&o);
    o.poisson_depth = 6;
    o.support_trim = 3; /* random points leave small gaps */
    mesh_shape one = reconstruct(&o);
    assert_int_equal(one.n_borders, 0);
    assert_int_equal(one.n_parts, 1);
    o.has_bbox = true; /* the user's box stays the foreground, with a border */
    mesh_shape two = reconstruct(&o);
    assert_true(two.n_borders > 100);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_share_of_points_decides),
        cmocka_unit_test(a_room_has_no_border),
    };
    return cmocka_run_group_tests_name("boxes of an extraction", tests, NULL, NULL);
}
