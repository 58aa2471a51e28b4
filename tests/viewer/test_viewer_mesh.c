/* Meshes in the viewer: what each kind of picture shows. */
#include "io/json.h"
#include "io/picture/image_write.h"
#include "math/camera.h"
#include "scene_fixture.h"
#include "trainer_fixture.h"
#include "viewer/mesh_pictures.h"
#include "viewer/pictures.h"

enum { W = 64, H = 48 };

static const float blue[3] = {0, 0, 1};

/* A square of 2 x 2 at z = 2, before a camera at the origin that looks along z, and one of 20 x 20 at z = 6: with
 * colours the near one is red and the far one green. Their fronts face the camera, but with `turned`. */
static void write_squares(const char *path, bool colored, bool turned)
{
    char text[2048];
    int n = snprintf(text, sizeof text, "ply\nformat ascii 1.0\nelement vertex 8\nproperty float x\nproperty float y\n"
                     "property float z\n%selement face 2\nproperty list uchar int vertex_indices\nend_header\n",
                     colored ? "property uchar red\nproperty uchar green\nproperty uchar blue\n" : "");
    for (int square = 0; square < 2; square++)
        for (int k = 0; k < 4; k++) {
            const int side = square ? 10 : 1;
            n += snprintf(text + n, sizeof text - (size_t)n, "%d %d %d%s\n", k == 0 || k == 3 ? -side : side,
                          k < 2 ? -side : side, square ? 6 : 2, !colored ? "" : square ? " 0 255 0" : " 255 0 0");
        }
    snprintf(text + n, sizeof text - (size_t)n, turned ? "4 0 1 2 3\n4 4 5 6 7\n" : "4 3 2 1 0\n4 7 6 5 4\n");
    fixture_text(path, text);
}

static int setup(void **state)
{
    open_context_group(state);
    write_squares("squares.ply", true, false);
    write_squares("grey.ply", false, false);
    write_squares("turned.ply", false, true);
    return 0;
}

static splat_viewer_wish wish_of(splat_viewer_kind kind)
{
    const double position[3] = {0, 0, 0}, q[4] = {1, 0, 0, 0};
    splat_viewer_wish wish = {.kind = kind, .view = -1};
    splat_camera_look(&wish.camera, position, q, 60, W, H);
    return wish;
}

typedef struct picture {
    uint8_t rgb[H][W][3];
} picture;

static picture draw(splat_viewer_mesh *mesh, const splat_viewer_wish *wish)
{
    picture p;
    splat_error error;
    static float buffer[3 * W * H];
    if (wish->kind != SPLAT_VIEWER_COLOR) {
        ASSERT_OK(splat_viewer_mesh_map(mesh, wish, &wish->camera, blue, buffer, p.rgb[0][0], &error));
        return p;
    }
    ASSERT_OK(splat_viewer_mesh_colors(mesh, wish, &wish->camera, blue, buffer, &error));
    splat_image_from_planar(buffer, W, H, p.rgb[0][0]);
    return p;
}

static splat_viewer_mesh *open_mesh(void **state, const char *path)
{
    splat_viewer_mesh *mesh;
    splat_error error;
    ASSERT_OK(splat_viewer_mesh_open(*state, path, &mesh, &error));
    return mesh;
}

static void assert_color(const uint8_t rgb[3], int r, int g, int b)
{
    if (abs(rgb[0] - r) > 1 || abs(rgb[1] - g) > 1 || abs(rgb[2] - b) > 1)
        fail_msg("(%d, %d, %d), not (%d, %d, %d)", rgb[0], rgb[1], rgb[2], r, g, b);
}

static void test_colors_of_vertices(void **state)
{
    splat_viewer_mesh *mesh = open_mesh(state, "squares.ply");
    for (int moving = 0; moving < 2; moving++) {
        splat_viewer_wish wish = wish_of(SPLAT_VIEWER_COLOR);
        wish.moving = moving;
        const picture p = draw(mesh, &wish);
        assert_color(p.rgb[H / 2][W / 2], 255, 0, 0);
        assert_color(p.rgb[2][2], 0, 255, 0);
    }
    splat_viewer_mesh_close(mesh);
}

/* Faces with their centre outside are gone: the near square, then both. */
static void test_a_box_hides_faces(void **state)
{
    splat_viewer_mesh *mesh = open_mesh(state, "squares.ply");
    splat_viewer_wish wish = wish_of(SPLAT_VIEWER_COLOR);
    wish.has_box = true;
    wish.box = (splat_viewer_box){{-5, -5, 3}, {5, 5, 8}};
    picture p = draw(mesh, &wish);
    assert_color(p.rgb[H / 2][W / 2], 0, 255, 0);
    wish.box.low[2] = 7;
    p = draw(mesh, &wish);
    assert_color(p.rgb[H / 2][W / 2], 0, 0, 255);
    wish.kind = SPLAT_VIEWER_DEPTH;
    p = draw(mesh, &wish);
    assert_color(p.rgb[H / 2][W / 2], 0, 0, 0);
    wish.has_box = false;
    wish.kind = SPLAT_VIEWER_COLOR;
    p = draw(mesh, &wish);
    assert_color(p.rgb[H / 2][W / 2], 255, 0, 0);
    splat_viewer_mesh_close(mesh);
}

static void test_depths_normals_and_shades(void **state)
{
    splat_viewer_mesh *mesh = open_mesh(state, "squares.ply");
    splat_viewer_wish wish = wish_of(SPLAT_VIEWER_DEPTH);
    picture p = draw(mesh, &wish);
    assert_color(p.rgb[H / 2][W / 2], 0xfd, 0xe7, 0x25); /* the ends of viridis: nearest, */
    assert_color(p.rgb[2][2], 0x44, 0x01, 0x54);         /* and farthest */
    wish.kind = SPLAT_VIEWER_NORMAL;
    p = draw(mesh, &wish);
    assert_color(p.rgb[H / 2][W / 2], 128, 128, 0); /* (0, 0, -1) */
    wish.kind = SPLAT_VIEWER_SHADED;
    p = draw(mesh, &wish);
    assert_color(p.rgb[H / 2][W / 2], 230, 230, 230);
    splat_viewer_mesh_close(mesh);
}

/* Without colours faces are grey in colours, too; the side that is seen is a normal's, and backs are red in shades. */
static void test_grey_faces_and_their_backs(void **state)
{
    splat_viewer_mesh *grey = open_mesh(state, "grey.ply"), *turned = open_mesh(state, "turned.ply");
    splat_viewer_wish wish = wish_of(SPLAT_VIEWER_COLOR);
    picture p = draw(grey, &wish);
    assert_color(p.rgb[H / 2][W / 2], 230, 230, 230);
    wish.kind = SPLAT_VIEWER_NORMAL;
    p = draw(turned, &wish);
    assert_color(p.rgb[H / 2][W / 2], 128, 128, 0);
    wish.kind = SPLAT_VIEWER_SHADED;
    p = draw(turned, &wish);
    assert_color(p.rgb[H / 2][W / 2], 230, 58, 58);
    splat_viewer_mesh_close(grey);
    splat_viewer_mesh_close(turned);
}

static void test_what_cannot_be_shown(void **state)
{
    splat_viewer_mesh *mesh;
    splat_error error;
    fixture_text("empty.ply", "ply\nformat ascii 1.0\nelement vertex 1\nproperty float x\nproperty float y\n"
                              "property float z\nelement face 0\nproperty list uchar int vertex_indices\nend_header\n"
                              "0 0 0\n");
    assert_int_equal(splat_viewer_mesh_open(*state, "empty.ply", &mesh, &error), SPLAT_ERROR_ARGUMENT);
    assert_non_null(strstr(error.message, "no faces"));
    assert_null(mesh);
    assert_int_equal(splat_viewer_mesh_open(*state, "none.obj", &mesh, &error), SPLAT_ERROR_IO);
    for (int kind = 0; kind < SPLAT_VIEWER_N_KINDS; kind++)
        assert_int_equal(splat_viewer_mesh_has((splat_viewer_kind)kind),
                         kind != SPLAT_VIEWER_ALPHA && kind != SPLAT_VIEWER_DENSITY);
}

static void test_the_page_is_told_of_faces(void **state)
{
    splat_viewer_options options;
    splat_viewer *viewer;
    splat_error error;
    bool rendered;
    splat_viewer_options_init(&options);
    options.port = 0;
    splat_status status = splat_viewer_open(&options, &viewer, &error);
    if (status == SPLAT_ERROR_UNSUPPORTED) {
        printf("SKIPPED: the viewer's page of a mesh: built without civetweb\n");
        skip();
    }
    ASSERT_OK(status);
    assert_int_equal(splat_viewer_serve(viewer, NULL, blue, 0, &rendered, &error), SPLAT_ERROR_ARGUMENT);
    ASSERT_OK(splat_viewer_set_mesh(viewer, *state, "squares.ply", NULL, &error));
    ASSERT_OK(splat_viewer_serve(viewer, NULL, blue, 0, &rendered, &error));
    assert_false(rendered); /* nobody looks */
    assert_non_null(strstr(viewer->scene_json, "\"faces\":4,\"kinds\":[\"color\",\"depth\",\"normal\",\"shaded\"]"));
    assert_null(strstr(viewer->scene_json, "gaussians"));
    assert_non_null(strstr(viewer->scene_json, "\"center\":[1.0,1.0,6.0]"));
    splat_viewer_close(viewer);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_colors_of_vertices),
        cmocka_unit_test(test_a_box_hides_faces),
        cmocka_unit_test(test_depths_normals_and_shades),
        cmocka_unit_test(test_grey_faces_and_their_backs),
        cmocka_unit_test(test_what_cannot_be_shown),
        cmocka_unit_test(test_the_page_is_told_of_faces),
    };
    return cmocka_run_group_tests(tests, setup, close_context_group);
}
