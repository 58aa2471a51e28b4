/* Pictures of a mesh from the cameras of a scene: a box whose sides have colours of their own; and the command. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include "io/picture/image_read.h"
#include "measure/mesh_views.h"
#include "mesh_view_group.h"
#include "scene/scene.h"

#define HALF 0.5 /* of a side of the box; its middle is where all cameras look */

static const double middle[3] = {0, -1.2, 0};
static const uint8_t side_colors[6][3] = {{200, 10, 20}, {10, 180, 30}, {20, 40, 220}, {250, 240, 30}, {9, 200, 190},
                                          {120, 60, 30}}; /* low x, high x, low y, ... */
static void write_box(const char *path, bool flipped, bool colored)
{
    splat_mesh box = make_cube(2); /* side after side, nine vertices each */
    splat_error error;
    if (colored) must(splat_mesh_require_colors(&box, &error), &error);
    for (size_t i = 0; i < box.n_vertices; i++) {
        for (size_t k = 0; k < 3; k++)
            box.vertices[3 * i + k] = (float)(middle[k] + HALF * (2 * (double)box.vertices[3 * i + k] - 1));
        if (colored) memcpy(box.colors + 4 * i, side_colors[i / 9], 3);
    }
    if (flipped) splat_mesh_flip(&box);
    must(splat_mesh_write(path, &box, &error), &error);
    splat_mesh_free(&box);
}

/* The side that the ray of a place in the picture meets first, -1: none; and where along the camera's axis. */
static int side_at(const splat_camera *c, double x, double y, double *z)
{
    const double ray[3] = {(x - (double)c->cx) / (double)c->fx, (y - (double)c->cy) / (double)c->fy, 1};
    double enter = 0, leave = 1e30;
    int side = -1;
    for (int k = 0; k < 3; k++) {
        double d = 0, from = (double)c->center[k] - middle[k];
        for (int j = 0; j < 3; j++) d += (double)c->rotation[3 * j + k] * ray[j];
        double a = (-HALF - from) / d, b = (HALF - from) / d, near = fmin(a, b), far = fmax(a, b);
        if (near > enter) {
            enter = near;
            side = 2 * k + (d < 0);
        }
        leave = fmin(leave, far);
    }
    *z = enter;
    return enter < leave ? side : -1;
}

/* The side in the middle of a pixel when all of the pixel sees it; else -2. */
static int clear_side(const splat_camera *c, size_t i, double *z)
{
    double x = (double)(i % WIDTH), y = (double)(i / WIDTH), unused;
    int side = side_at(c, x + 0.5, y + 0.5, z);
    for (int k = 0; k < 4; k++)
        if (side_at(c, x + (k & 1), y + (k >> 1), &unused) != side) return -2;
    return side;
}

static splat_image read_picture(const char *path)
{
    splat_image image;
    splat_error error;
    must(splat_image_read(path, &image, &error), &error);
    assert_true(image.width == WIDTH && image.height == HEIGHT && image.channels == 3);
    return image;
}

#define FOLDER "views/test/mesh_box/"

/* Into views/test. */
static void draw(const char *mesh, unsigned kinds)
{
    splat_error error;
    const splat_view_job job = job_on(SPLAT_VIEWS_TEST, NULL, NULL);
    must(splat_mesh_views_write(scene, mesh, &job, kinds, NULL, "views", &error), &error);
}

static void a_box_shows_its_sides(void **state)
{
    splat_error error;
    unsigned all = (1u << SPLAT_N_MESH_VIEW_KINDS) - 1;
    (void)state;
    write_box("box.ply", false, true);
    must(splat_folder_delete("views", &error), &error);
    draw("box.ply", all);
    const splat_camera *c = &scene->dataset.views[scene->dataset.test[1]].camera;
    splat_image color = read_picture(FOLDER "color/00001.png"), normal = read_picture(FOLDER "normal/00001.png"),
                shaded = read_picture(FOLDER "shaded/00001.png");
    static float depths[PIXELS];
    size_t seen[6] = {0}, n_sides = 0;
    read_depths(FOLDER "depth/00001.pfm", depths);
    for (size_t i = 0; i < PIXELS; i++) {
        double z;
        float depth = depths[i];
        int side = clear_side(c, i, &z);
        const uint8_t *rgb = color.pixels + 3 * i, *n = normal.pixels + 3 * i, *gray = shaded.pixels + 3 * i;
        if (side == -2) continue;
        if (side == -1) {
            assert_true(rgb[0] == 0 && rgb[1] == 0 && rgb[2] == 0 && depth == 0 && gray[0] == 0 && n[0] == 128);
            continue;
        }
        seen[side]++;
        assert_memory_equal(rgb, side_colors[side], 3);
        for (int k = 0; k < 3; k++) assert_int_equal(n[k], k != side / 2 ? 128 : side % 2 ? 255 : 0);
        assert_true(fabs((double)depth - z) < 1e-3); /* a 2048th of a pixel on a slanted side */
        assert_true(gray[0] == gray[1] && gray[1] == gray[2] && gray[0] >= 30 && gray[0] <= 230);
    }
    for (int k = 0; k < 6; k++) n_sides += seen[k] > 20;
    assert_true(n_sides >= 2); /* the test looks at something */
    assert_true(file_contains(FOLDER "depth/00001.json", "\"depth\": \"mesh\""));
    splat_image_free(&color);
    splat_image_free(&normal);
    splat_image_free(&shaded);
}

/* A side that is turned to the camera is bright, one seen from the side is dark. */
static void the_lamp_is_at_the_camera(void **state)
{
    (void)state;
    splat_image shaded = read_picture(FOLDER "shaded/00001.png");
    const splat_camera *c = &scene->dataset.views[scene->dataset.test[1]].camera;
    for (size_t i = 0; i < PIXELS; i++) {
        double z, x = ((double)(i % WIDTH) + 0.5 - (double)c->cx) / (double)c->fx,
                  y = ((double)(i / WIDTH) + 0.5 - (double)c->cy) / (double)c->fy;
        int side = clear_side(c, i, &z);
        if (side < 0) continue;
        const float *r = c->rotation + side / 2;
        double cosine = fabs((double)r[0] * x + (double)r[3] * y + (double)r[6]) / sqrt(x * x + y * y + 1);
        assert_true(fabs((double)shaded.pixels[3 * i] - 30 - 200 * cosine) < 1);
    }
    splat_image_free(&shaded);
}

/* Colours that are linear in the position stay so, in perspective too. */
static void colors_are_interpolated(void **state)
{
    splat_mesh box;
    splat_error error;
    size_t n = 0;
    (void)state;
    must(splat_mesh_read("box.ply", &box, &error), &error);
    for (size_t i = 0; i < box.n_vertices; i++)
        for (size_t k = 0; k < 3; k++)
            box.colors[4 * i + k] = (uint8_t)(127 + 200 * ((double)box.vertices[3 * i + k] - middle[k]) + 0.5);
    must(splat_mesh_write("rainbow.ply", &box, &error), &error);
    splat_mesh_free(&box);
    draw("rainbow.ply", SPLAT_MESH_VIEW_COLOR);
    splat_image color = read_picture("views/test/mesh_rainbow/color/00001.png");
    const splat_camera *c = &scene->dataset.views[scene->dataset.test[1]].camera;
    for (size_t i = 0; i < PIXELS; i++) {
        double z;
        if (clear_side(c, i, &z) < 0) continue;
        const double at[3] = {((double)(i % WIDTH) + 0.5 - (double)c->cx) / (double)c->fx * z,
                              ((double)(i / WIDTH) + 0.5 - (double)c->cy) / (double)c->fy * z, z};
        for (size_t k = 0; k < 3; k++) {
            double place = (double)c->center[k];
            for (size_t j = 0; j < 3; j++) place += (double)c->rotation[3 * j + k] * at[j];
            /* both ends and the pixel are rounded to bytes; a 2048th of a pixel on a slanted side is less than 1 */
            assert_true(fabs((double)color.pixels[3 * i + k] - 127 - 200 * (place - middle[k])) < 2);
        }
        n++;
    }
    assert_true(n > 100);
    splat_image_free(&color);
}

static void flipped_faces_are_red(void **state)
{
    size_t n_red = 0;
    double z;
    (void)state;
    write_box("flipped.glb", true, true); /* GLB and OBJ as well */
    draw("./flipped.glb", SPLAT_MESH_VIEW_SHADED);
    assert_true(splat_path_exists("views/test/mesh_flipped/shaded/00000.png"));
    write_box("flipped.obj", true, true);
    scene->options.white_background = true;
    draw("./flipped.obj", SPLAT_MESH_VIEW_SHADED);
    scene->options.white_background = false;
    assert_false(splat_path_exists("views/test/mesh_flipped/color"));
    splat_image shaded = read_picture("views/test/mesh_flipped/shaded/00001.png");
    const splat_camera *c = &scene->dataset.views[scene->dataset.test[1]].camera;
    for (size_t i = 0; i < PIXELS; i++) {
        const uint8_t *rgb = shaded.pixels + 3 * i;
        int side = clear_side(c, i, &z);
        if (side == -1) assert_true(rgb[0] == 255 && rgb[1] == 255 && rgb[2] == 255);
        if (side >= 0) assert_true(rgb[0] >= 30 && rgb[1] == rgb[0] / 4 && rgb[2] == rgb[1]);
        n_red += side >= 0;
    }
    assert_true(n_red > 100);
    splat_image_free(&shaded);
}

static void fails(const char *mesh, unsigned kinds, const char *folder, splat_status wanted, const char *words)
{
    splat_error error;
    const splat_view_job job = job_on(SPLAT_VIEWS_TEST, NULL, NULL);
    splat_status status = splat_mesh_views_write(scene, mesh, &job, kinds, NULL, folder, &error);
    if (status != wanted || !strstr(error.message, words)) fail_msg("%s: %d, %s", mesh, status, error.message);
}

static void errors_are_told(void **state)
{
    splat_error error;
    stop_after stop = {.last = 2};
    const splat_view_job job = job_on(SPLAT_VIEWS_TRAIN, stop_after_view, &stop);
    (void)state;
    assert_int_equal(splat_mesh_views_write(scene, "box.ply", &job, SPLAT_MESH_VIEW_DEPTH, NULL, "views", &error),
                     SPLAT_ERROR_STOPPED);
    assert_true(stop.n_done == 2 && strstr(error.message, "after 2 of"));
    assert_true(splat_path_exists("views/train/mesh_box/depth/00001.json"));
    fails("box.ply", 0, "views", SPLAT_ERROR_ARGUMENT, "unknown kinds");
    fails("box.ply", 16, "views", SPLAT_ERROR_ARGUMENT, "unknown kinds");
    fails("absent.ply", SPLAT_MESH_VIEW_DEPTH, "views", SPLAT_ERROR_IO, "No such file");
    write_box("gray.ply", false, false);
    write_text("points.obj", "v 0 0 0\nv 1 0 0\n");
    fails("points.obj", SPLAT_MESH_VIEW_SHADED, "views", SPLAT_ERROR_ARGUMENT, "no faces");
    write_text("plain", "x");
    fails("box.ply", SPLAT_MESH_VIEW_SHADED, "plain", SPLAT_ERROR_IO, "a file is where");
}

/* ---------------------------------------------------------------- the command */

#define FROM "-m", "model", "-s", SCENE

static void the_command_writes_the_files(void **state)
{
    splat_error error;
    (void)state;
    must(splat_folder_delete("model", &error), &error);
    must(splat_folder_delete("out", &error), &error);
    must(splat_folder_create("model", &error), &error);
    RUN_OUT(0, "views in model/train", "render", "--mesh", "box.ply", FROM, "--eval", "--what",
            "rgb,normal,depth,shaded");
    assert_true(exists("model/train/mesh_box/color/00000.png") && exists("model/test/mesh_box/color/00001.png"));
    assert_true(exists("model/test/mesh_box/normal/00000.pfm") && exists("model/test/mesh_box/depth/00000.json"));
    assert_true(exists("model/train/mesh_box/shaded/00013.png"));
    RUN_OUT(0, "views in out/train", "render", "--mesh", "box.ply", "-s", SCENE, "-o", "out", "--white_background");
    splat_image color = read_picture("out/train/mesh_box/color/00000.png"); /* rgb is the default */
    assert_int_equal(color.pixels[0], 255);
    assert_false(exists("out/train/mesh_box/shaded"));
    splat_image_free(&color);
}

static void the_command_tells_mistakes(void **state)
{
    (void)state;
    RUN_ERR(2, "rgb, depth, normal and shaded of a mesh", "render", "--mesh", "box.ply", FROM, "--what", "alpha");
    RUN_ERR(2, "median, normal, alpha and density", "render", FROM, "--what", "shaded");
    RUN_ERR(2, "writes colours only", "render", "--mesh", "box.ply", FROM, "--random_views", "3", "--what", "depth");
    RUN_ERR(2, "drawn on the CPU; --backend", "render", "--mesh", "box.ply", FROM, "--backend", "cpu");
    RUN_ERR(2, "--supersampling needs --mesh", "render", FROM, "--supersampling", "2");
    RUN_ERR(2, "trilinear", "render", "--mesh", "box.ply", FROM, "--texture_filter", "cubic");
    RUN_ERR(2, "--ply goes without it", "render", "--mesh", "box.ply", FROM, "--ply", "x.ply");
    RUN_ERR(2, "--seed need --random_views", "render", "--mesh", "box.ply", FROM, "--seed", "3");
    RUN_ERR(2, "a folder for the pictures", "render", "--mesh", "box.ply", "-s", SCENE);
    RUN_ERR(1, "No such file", "render", "--mesh", "absent.ply", FROM);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_box_shows_its_sides), /* makes the files of the others */
        cmocka_unit_test(the_lamp_is_at_the_camera), cmocka_unit_test(colors_are_interpolated),
        cmocka_unit_test(flipped_faces_are_red),
        cmocka_unit_test(errors_are_told), cmocka_unit_test(the_command_writes_the_files),
        cmocka_unit_test(the_command_tells_mistakes)};
    return cmocka_run_group_tests_name("pictures of meshes", tests, open_scene_group, close_group);
}
