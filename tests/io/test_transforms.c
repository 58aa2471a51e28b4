/* Scenes as JSON: NeRF-synthetic, multi-scale Blender, Nerfstudio and instant-ngp; and damaged files. */
#include "scene_fixture.h"

#include "io/transforms.h"

#include <math.h>

#define POSE "[[1,0,0,1],[0,1,0,2],[0,0,1,3],[0,0,0,1]]"

/* The first frame of the lego scene, and the inverse of its matrix after the change of axes (numpy). */
#define LEGO_POSE                                                                                                      \
    "[[-0.9999021887779236,0.004192245192825794,-0.013345719315111637,-0.05379832163453102],"                          \
    "[-0.013988681137561798,-0.2996590733528137,0.95394366979599,3.845470428466797],"                                  \
    "[-4.656612873077393e-10,0.9540371894836426,0.29968830943107605,1.2080823183059692],[0.0,0.0,0.0,1.0]]"
static const double lego_world_to_camera[12] = {
    -9.99902118e-01, -1.39886803e-02, -1.19264271e-10, 6.33068104e-10,  -4.19224401e-03, 2.99659014e-01,
    -9.54037109e-01, -5.15363602e-08, 1.33457230e-02,  -9.53943931e-01, -2.99688425e-01, 4.03112944e+00};

/* The file's numbers were float32, columns of length 1 to 1.4e-7: the inverse (numpy) and our rotation differ by that
 * much, times four units of distance in the translation. */
#define LEGO_TOLERANCE 1e-6

/* A scene folder with empty files as photos: their content is not read here. */
static void make_scene(const char *const *photos, size_t n)
{
    fixture_folder("scene");
    fixture_folder("scene/train");
    fixture_folder("scene/test");
    for (size_t i = 0; i < n; i++) {
        char path[128];
        snprintf(path, sizeof path, "scene/%s", photos[i]);
        fixture_text(path, "");
    }
}

static splat_status read_scene(splat_transforms *transforms, splat_error *error)
{
    memset(error, 0, sizeof *error);
    return splat_transforms_read("scene", transforms, error);
}

static void assert_matrix(const double *a, const double *b, double tolerance)
{
    for (int k = 0; k < 12; k++)
        if (!(fabs(a[k] - b[k]) <= tolerance)) fail_msg("element %d is %.9g, not %.9g", k, a[k], b[k]);
}

static void test_nerf_synthetic(void **state)
{
    (void)state;
    splat_error error;
    splat_transforms t;
    make_scene((const char *[]){"train/r_0.png", "train/r_1.jpg", "test/r_0.png"}, 3);
    fixture_text("scene/transforms_train.json", "\xEF\xBB\xBF{\"camera_angle_x\": 0.6911112070083618, \"frames\": "
                                                "[{\"file_path\": \"./train/r_0\", \"rotation\": "
                                                "0.01, \"transform_matrix\": " LEGO_POSE
                                                "}, {\"file_path\": \"train/r_1\", \"transform_matrix\": " POSE "}]}");
    ASSERT_OK(read_scene(&t, &error));
    assert_string_equal(t.format, "nerf-synthetic");
    assert_int_equal(t.n_frames, 2);
    assert_false(t.has_split); /* no transforms_test.json */
    assert_null(t.point_cloud);
    assert_string_equal(t.frames[0].path, "train/r_0.png");
    assert_string_equal(t.frames[1].path, "train/r_1.jpg");
    assert_true(t.frames[0].fx == 0 && t.frames[0].fov_x == 0.6911112070083618 && t.frames[0].width == 0);
    assert_matrix(t.frames[0].world_to_camera, lego_world_to_camera, LEGO_TOLERANCE);
    /* no rotation in OpenGL axes at (1, 2, 3): x stays, y and z turn round */
    assert_matrix(t.frames[1].world_to_camera, (double[12]){1, 0, 0, -1, 0, -1, 0, 2, 0, 0, -1, 3}, 0);
    splat_transforms_free(&t);

    fixture_text("scene/transforms_test.json", "{\"camera_angle_x\": 0.6, \"frames\": [{\"file_path\": \"./test/r_0\", "
                                               "\"transform_matrix\": " POSE "}]}");
    fixture_text("scene/points3d.ply", "");
    ASSERT_OK(read_scene(&t, &error));
    assert_int_equal(t.n_frames, 3);
    assert_true(t.has_split);
    assert_true(!t.frames[1].is_test && t.frames[2].is_test);
    assert_true(t.frames[2].fov_x == 0.6);
    assert_string_equal(t.point_cloud, "points3d.ply");
    splat_transforms_free(&t);
}

static void test_multiscale(void **state)
{
    (void)state;
    splat_error error;
    splat_transforms t;
    make_scene((const char *[]){"train/r_0_d0.png", "train/r_0_d1.png", "test/r_0_d0.png", "test/r_0_d3.png"}, 4);
    const char *metadata =
        "{\"train\": {\"file_path\": [\"train/r_0_d0.png\", \"train/r_0_d1.png\"], \"cam2world\": ["
        POSE ", " LEGO_POSE "],"
        " \"width\": [800, 400], \"height\": [600.0, 300], \"focal\": [1111.1, 555.55], \"lossmult\": [1, 4]},"
        " \"test\": {\"file_path\": [\"test/r_0_d0.png\", \"test/r_0_d3.png\"], \"cam2world\": [" POSE ", " POSE "],"
        " \"width\": [800, 100], \"height\": [600, 75], \"focal\": [1111.1, 138.9]}}";
    fixture_text("scene/metadata.json", metadata);
    ASSERT_OK(read_scene(&t, &error));
    assert_string_equal(t.format, "multiscale-blender");
    assert_int_equal(t.n_frames, 4);
    assert_true(t.has_split);
    assert_true(!t.frames[0].is_lower_scale && t.frames[1].is_lower_scale);
    assert_true(!t.frames[2].is_lower_scale && t.frames[3].is_lower_scale);
    assert_true(!t.frames[1].is_test && t.frames[2].is_test && t.frames[3].is_test);
    assert_true(t.frames[0].width == 800 && t.frames[0].height == 600);
    assert_true(t.frames[1].fx == 555.55 && t.frames[1].fy == 555.55);
    assert_matrix(t.frames[1].world_to_camera, lego_world_to_camera, LEGO_TOLERANCE);
    splat_transforms_free(&t);
    static const struct { const char *content, *words; } bad[] = {
        {"[]", "\"train\" has no file_path entries"},
        {"{\"train\": {\"file_path\": [\"train/r_0_d0.png\"]}}",
         "frame 0: file_path, width, height or focal is missing"},
        {"{\"train\": {\"file_path\": [\"train/r_0_d0.png\"], \"width\": [1], \"height\": [1], \"focal\": [0]}}",
         "not positive"},
        {"{\"train\": {\"file_path\": [\"train/r_0_d0.png\"], \"width\": [1], \"height\": [1], \"focal\": [1]}}",
         "matrix"},
        {"{\"train\": {\"file_path\": [\"../r_0_d0.png\"], \"width\": [1], \"height\": [1], \"focal\": [1], "
         "\"cam2world\": [" POSE "]}}",
         "leaves the scene's folder"},
    };
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        fixture_text("scene/metadata.json", bad[i].content);
        assert_failure(read_scene(&t, &error), SPLAT_ERROR_FORMAT, &error, bad[i].words);
    }
    fixture_text("scene/metadata.json",
                 "{\"train\": {\"file_path\": [\"train/r_0_d0.png\", \"train/r_9_d0.png\"], \"cam2world\": [" POSE ", "
                 POSE "], \"width\": [8, 8], \"height\": [6, 6], \"focal\": [9, 9]}}");
    ASSERT_OK(read_scene(&t, &error));
    assert_null(t.frames[0].absent);
    assert_non_null(t.frames[1].absent);
    assert_failure(t.frames[1].absent->status, SPLAT_ERROR_IO, t.frames[1].absent, "frame 1: the photo");
    splat_transforms_free(&t);
}

/* ---------------------------------------------------------------- transforms.json */

static void write_transforms(const char *shared, const char *frame)
{
    char text[4096];
    snprintf(text, sizeof text,
             "{%s%s\n \"frames\": [\n  {\"file_path\": \"train/a.png\", \"transform_matrix\": %s%s%s}]}", shared,
             *shared ? "," : "", POSE, *frame ? ", " : "", frame);
    fixture_text("scene/transforms.json", text);
}

static void expect_camera(const char *shared, const char *frame, splat_transforms_frame wanted)
{
    splat_error error;
    splat_transforms t;
    write_transforms(shared, frame);
    ASSERT_OK(read_scene(&t, &error));
    const splat_transforms_frame *f = &t.frames[0];
    if (f->fx != wanted.fx || f->fy != wanted.fy || f->cx != wanted.cx || f->cy != wanted.cy ||
        f->width != wanted.width || f->height != wanted.height || f->fov_x != wanted.fov_x || f->fov_y != wanted.fov_y)
        fail_msg("%s | %s: got fx %g fy %g cx %g cy %g %d x %d fov %g %g", shared, frame, f->fx, f->fy, f->cx, f->cy,
                 f->width, f->height, f->fov_x, f->fov_y);
    splat_transforms_free(&t);
}

static void test_intrinsics(void **state)
{
    (void)state;
    typedef splat_transforms_frame frame;
    make_scene((const char *[]){"train/a.png"}, 1);
    expect_camera("\"fl_x\": 500, \"fl_y\": 501.5, \"cx\": 320, \"cy\": 240, \"w\": 640, \"h\": 480", "",
                  (frame){.fx = 500, .fy = 501.5, .cx = 320, .cy = 240, .width = 640, .height = 480});
    expect_camera("", "\"fl_x\": 500, \"w\": 640.0, \"h\": 480",
                  (frame){.fx = 500, .fy = 500, .width = 640, .height = 480});
    expect_camera("\"fl_x\": 500", "", (frame){.fx = 500, .fy = 500});
    expect_camera("\"camera_angle_x\": 0.5", "", (frame){.fov_x = 0.5});
    expect_camera("\"camera_angle_x\": 0.5, \"camera_angle_y\": 0.4, \"w\": 640, \"h\": 480", "",
                  (frame){.fov_x = 0.5, .fov_y = 0.4, .width = 640, .height = 480});
    expect_camera("\"camera_angle_x\": 0.5, \"fl_x\": 500, \"fl_y\": null", "", (frame){.fx = 500, .fy = 500});
    /* a frame's own values replace the shared ones, and its fl_x is not paired with the shared fl_y */
    expect_camera("\"fl_x\": 500, \"fl_y\": 501, \"cx\": 1", "\"fl_x\": 600, \"cx\": 2",
                  (frame){.fx = 600, .fy = 600, .cx = 2});
    expect_camera("\"fl_x\": 500, \"fl_y\": 501", "\"camera_angle_x\": 0.7", (frame){.fov_x = 0.7});
    expect_camera("\"camera_angle_x\": 0.7, \"camera_angle_y\": 0.6", "\"camera_angle_x\": 0.5", (frame){.fov_x = 0.5});
    /* distortion of zero, in all its forms */
    expect_camera(
        "\"fl_x\": 500, \"camera_model\": \"OPENCV\", \"k1\": 0, \"k2\": 0.0, \"k3\": 0, \"k4\": -0.0, \"p1\": 0,"
        " \"p2\": 0, \"distortion_params\": [0, 0.0, 0, 0, 0, 0], \"is_fisheye\": false, \"aabb_scale\": 16",
        "", (frame){.fx = 500, .fy = 500});
}

static void expect_lens(const char *shared, const char *frame, splat_lens_model model, const double coefficients[8])
{
    splat_error error;
    splat_transforms t;
    write_transforms(shared, frame);
    ASSERT_OK(read_scene(&t, &error));
    assert_int_equal(t.frames[0].model, model);
    for (int k = 0; k < SPLAT_LENS_COEFFICIENTS; k++)
        assert_true(t.frames[0].coefficients[k] == (k < 8 ? coefficients[k] : 0));
    splat_transforms_free(&t);
}

static void test_lenses(void **state)
{
    (void)state;
    make_scene((const char *[]){"train/a.png"}, 1);
    const double *none = (const double[8]){0}, *k1 = (const double[8]){0.01};
    const double *six = (const double[8]){1, 2, 3, 4, 5, 6};
    expect_lens("\"fl_x\": 500", "", SPLAT_LENS_NERFSTUDIO, none);
    expect_lens("\"fl_x\": 500, \"k1\": 0.01", "", SPLAT_LENS_NERFSTUDIO, k1);
    expect_lens("\"fl_x\": 500, \"camera_model\": \"opencv\"", "\"k1\": 0.01", SPLAT_LENS_NERFSTUDIO, k1);
    expect_lens("\"fl_x\": 500, \"k1\": 7, \"k3\": 3, \"k4\": 4, \"p1\": 5, \"p2\": 6", "\"k1\": 1, \"k2\": 2",
                SPLAT_LENS_NERFSTUDIO, six); /* a frame's own values win */
    expect_lens("\"fl_x\": 500", "\"distortion_params\": [1, 2, 3, 4, 5, 6]", SPLAT_LENS_NERFSTUDIO, six);
    expect_lens("\"fl_x\": 500, \"camera_model\": \"FULL_OPENCV\", \"k1\": 1, \"k2\": 2, \"p1\": 3, \"p2\": 4, "
                "\"k3\": 5, \"k4\": 6, \"k5\": 7, \"k6\": 8", "", SPLAT_LENS_FULL_OPENCV,
                (const double[8]){1, 2, 3, 4, 5, 6, 7, 8});
    expect_lens("\"fl_x\": 500, \"camera_model\": \"OPENCV_FISHEYE\", \"k1\": 1, \"k2\": 2, \"k3\": 3, \"k4\": 4", "",
                SPLAT_LENS_OPENCV_FISHEYE, (const double[8]){1, 2, 3, 4});
    expect_lens("\"fl_x\": 500, \"is_fisheye\": true", "", SPLAT_LENS_OPENCV_FISHEYE, none);
    expect_lens("\"fl_x\": 500, \"w\": 40, \"h\": 20, \"camera_model\": \"EQUIRECTANGULAR\"", "",
                SPLAT_LENS_EQUIRECTANGULAR, (const double[8]){40, 20});
}

static void expect_refused(const char *shared, const char *frame, splat_status wanted, const char *words)
{
    splat_error error;
    splat_transforms t;
    write_transforms(shared, frame);
    assert_failure(read_scene(&t, &error), wanted, &error, words);
    assert_int_equal(t.n_frames, 0);
    assert_null(t.frames);
}

static void test_cameras_refused(void **state)
{
    (void)state;
    make_scene((const char *[]){"train/a.png"}, 1);
    static const char *const distorted[][2] = {
        {"\"fl_x\": 500, \"k5\": 0.01", "k5 or k6"},
        {"\"fl_x\": 500, \"is_fisheye\": true, \"p2\": -1e-9", "p1 or p2"},
        {"\"fl_x\": 500, \"distortion_params\": [0, 0, 0.5, 0, 0, 0, 0]", "distortion_params"},
        {"\"fl_x\": 500, \"camera_model\": \"FISHEYE624\"", "FISHEYE624"},
        {"\"fl_x\": 500, \"camera_model\": \"ORTHOPHOTO\"", "ORTHOPHOTO"},
    };
    for (size_t i = 0; i < sizeof distorted / sizeof distorted[0]; i++) {
        expect_refused(distorted[i][0], "", SPLAT_ERROR_UNSUPPORTED, distorted[i][1]);
        expect_refused(distorted[i][0], "", SPLAT_ERROR_UNSUPPORTED, "undistort");
        expect_refused("\"fl_x\": 1", distorted[i][0], SPLAT_ERROR_UNSUPPORTED, distorted[i][1]); /* in the frame */
    }
    static const char *const bad[][2] = {
        {"", "frame 0: the focal length is missing"},
        {"\"fl_x\": 1, \"k2\": 1e300", "k2 is out of range"},
        {"\"fl_x\": 1, \"distortion_params\": [\"x\"]", "not a number"},
        {"\"fl_x\": 0", "the focal lengths 0, 0 are not positive"},
        {"\"fl_x\": 1e300", "are not positive"},
        {"\"fl_x\": \"500\"", "\"fl_x\" is not a number"},
        {"\"fl_x\": 500, \"w\": 640.5", "\"w\" is 640.5, but must be a whole number from 0 to 1000000"},
        {"\"fl_x\": 500, \"h\": -1", "\"h\" is -1, but must be"},
        {"\"fl_x\": 500, \"w\": 1e9", "\"w\" is 1e+09"},
        {"\"fl_x\": 500, \"cx\": 1e200", "principal point"},
        {"\"camera_angle_x\": 3.2", "radians"},
        {"\"camera_angle_x\": 0.5, \"camera_angle_y\": -1", "radians"},
        {"\"fl_x\": 500, \"fl_x\": 501", "valid JSON: duplicate object key"},
        {"\"fl_x\": NaN", "(scene/transforms.json, line 1)"},
        {"\"ply_file_path\": \"../p.ply\", \"fl_x\": 5", "ply_file_path \"../p.ply\" leaves"},
        {"\"ply_file_path\": 5, \"fl_x\": 5", "\"ply_file_path\" is not a text"},
    };
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++)
        expect_refused(bad[i][0], "", SPLAT_ERROR_FORMAT, bad[i][1]);
}

static void expect_frames(const char *frames, splat_status wanted, const char *words)
{
    splat_error error;
    splat_transforms t;
    char text[4096];
    snprintf(text, sizeof text, "{\"fl_x\": 500, \"frames\": %s}", frames);
    fixture_text("scene/transforms.json", text);
    splat_status status = read_scene(&t, &error);
    if (wanted == SPLAT_OK) {
        ASSERT_OK(status);
        splat_transforms_free(&t);
    } else {
        assert_failure(status, wanted, &error, words);
    }
}

/* The second of two photos is not there; the scene decides about it. */
static void expect_absent(const char *frames, const char *words)
{
    splat_error error;
    splat_transforms t;
    char text[4096];
    snprintf(text, sizeof text, "{\"fl_x\": 500, \"frames\": %s}", frames);
    fixture_text("scene/transforms.json", text);
    ASSERT_OK(read_scene(&t, &error));
    assert_int_equal(t.n_frames, 2);
    assert_null(t.frames[0].absent);
    assert_non_null(t.frames[1].absent);
    assert_failure(t.frames[1].absent->status, SPLAT_ERROR_IO, t.frames[1].absent, words);
    splat_transforms_free(&t);
}

#define FRAME(name, pose) "{\"file_path\": \"" name "\", \"transform_matrix\": " pose "}"

static void test_frames(void **state)
{
    (void)state;
    make_scene((const char *[]){"train/a.png", "train/b.v2.jpeg"}, 2);
    expect_frames("[" FRAME("train/a", POSE) "]", SPLAT_OK, "");
    expect_frames("[" FRAME("././train/b.v2", POSE) "]", SPLAT_OK, "");
    expect_frames("[" FRAME("train/a", "[[2,0,0,1],[0,2,0,2],[0,0,2,3]]") "]", SPLAT_OK, ""); /* a scale, three rows */
    expect_frames("[]", SPLAT_ERROR_FORMAT, "no \"frames\"");
    expect_frames("{}", SPLAT_ERROR_FORMAT, "\"frames\" is not an array");
    expect_frames("[1]", SPLAT_ERROR_FORMAT, "frame 0: \"file_path\", the name of the photo, is missing");
    expect_absent("[" FRAME("train/a", POSE) "," FRAME("train/c", POSE) "]",
                  "frame 1: the photo \"train/c\" is not in the scene's folder");
    expect_absent("[" FRAME("train/a", POSE) "," FRAME("train", POSE) "]", /* a folder */
                  "is not in the scene's folder");
    expect_frames("[" FRAME("../scene/train/a.png", POSE) "]", SPLAT_ERROR_FORMAT, "leaves the scene's folder");
    expect_frames("[" FRAME("/etc/passwd", POSE) "]", SPLAT_ERROR_FORMAT, "leaves the scene's folder");
    expect_frames("[" FRAME("", POSE) "]", SPLAT_ERROR_FORMAT, "leaves the scene's folder");
    expect_frames("[" FRAME("train/a", "[[1,0,0,1],[0,1,0,2]]") "]", SPLAT_ERROR_FORMAT, "not 4 rows");
    expect_frames("[" FRAME("train/a", "[[1,0,0],[0,1,0],[0,0,1]]") "]", SPLAT_ERROR_FORMAT, "row 0 of the");
    expect_frames("[" FRAME("train/a", "[[1,0,0,\"x\"],[0,1,0,0],[0,0,1,0]]") "]", SPLAT_ERROR_FORMAT,
                  "row 0, column 3");
    expect_frames("[" FRAME("train/a", "[[1,0,0,1e39],[0,1,0,0],[0,0,1,0]]") "]", SPLAT_ERROR_FORMAT,
                  "row 0, column 3");
    expect_frames("[" FRAME("train/a", "[[1,0.1,0,0],[0,1,0,0],[0,0,1,0]]") "]", SPLAT_ERROR_FORMAT, "not orthogonal");
    expect_frames("[" FRAME("train/a", "[[1,0,0,0],[0,1.1,0,0],[0,0,1,0]]") "]", SPLAT_ERROR_FORMAT, "not orthogonal");
    expect_frames("[" FRAME("train/a", "[[1,0,0,0],[0,1,0,0],[0,0,-1,0]]") "]", SPLAT_ERROR_FORMAT, "mirrors");
    expect_frames("[" FRAME("train/a", "[[0,0,0,0],[0,0,0,0],[0,0,0,0]]") "]", SPLAT_ERROR_FORMAT, "not a rotation");
}

static void test_scaled_pose(void **state)
{
    (void)state;
    splat_error error;
    splat_transforms t;
    make_scene((const char *[]){"train/a.png"}, 1);
    expect_frames("[" FRAME("train/a", "[[3,0,0,1],[0,3,0,2],[0,0,3,3],[0,0,0,1]]") "]", SPLAT_OK, "");
    ASSERT_OK(read_scene(&t, &error));
    /* the scale leaves the rotation; the position is kept */
    assert_matrix(t.frames[0].world_to_camera, (double[12]){1, 0, 0, -1, 0, -1, 0, 2, 0, 0, -1, 3}, 1e-15);
    splat_transforms_free(&t);
}

static void test_splits(void **state)
{
    (void)state;
    splat_error error;
    splat_transforms t;
    make_scene((const char *[]){"train/a.png", "train/b.png", "train/c.png", "train/d.png", "points.ply"}, 5);
#define FRAMES                                                                                                         \
    "\"fl_x\": 5, \"frames\": [" FRAME("train/a.png", POSE) "," FRAME("./train/b", POSE) ","                           \
    FRAME("train/c.png", POSE) "," FRAME("train/d.png", POSE) "]"
    fixture_text("scene/transforms.json",
                 "{" FRAMES
                 ", \"applied_transform\": [[0,1,0,0],[1,0,0,0],[0,0,-1,0]], \"ply_file_path\": \"./points.ply\","
                 "\"train_filenames\": [\"train/a.png\"], \"val_filenames\": [\"train/b\"], \"test_filenames\": "
                 "[\"./train/c.png\"]}");
    ASSERT_OK(read_scene(&t, &error));
    assert_string_equal(t.format, "transforms");
    assert_string_equal(t.point_cloud, "points.ply");
    assert_true(t.has_split);
    assert_true(!t.frames[0].is_test && t.frames[1].is_test && t.frames[2].is_test && !t.frames[3].is_test);
    /* applied_transform has been applied already */
    assert_matrix(t.frames[0].world_to_camera, (double[12]){1, 0, 0, -1, 0, -1, 0, 2, 0, 0, -1, 3}, 0);
    splat_transforms_free(&t);
    fixture_text("scene/transforms.json",
                 "{" FRAMES ", \"train_filenames\": [\"train/a.png\"], \"test_filenames\": []}");
    ASSERT_OK(read_scene(&t, &error));
    assert_false(t.has_split);
    splat_transforms_free(&t);
    fixture_text("scene/transforms.json", "{" FRAMES ", \"test_filenames\": [\"train/x.png\"]}");
    assert_failure(read_scene(&t, &error), SPLAT_ERROR_FORMAT, &error, "test_filenames lists \"train/x.png\"");
    fixture_text("scene/transforms.json", "{" FRAMES ", \"test_filenames\": [3]}");
    assert_failure(read_scene(&t, &error), SPLAT_ERROR_FORMAT, &error, "test_filenames lists");
}

static void test_nothing(void **state)
{
    (void)state;
    splat_error error;
    splat_transforms t;
    make_scene(NULL, 0);
    assert_failure(read_scene(&t, &error), SPLAT_ERROR_FORMAT, &error, "no scene was found");
    fixture_text("scene/transforms.json", "{\n \"frames\": [\n");
    assert_failure(read_scene(&t, &error), SPLAT_ERROR_FORMAT, &error, "(scene/transforms.json, line 3)");
}

/* ---------------------------------------------------------------- sweeps */

static const char *sweep_path;

static void check_damaged(const uint8_t *data, size_t size, bool is_prefix)
{
    splat_error error;
    splat_transforms t;
    fixture_bytes(sweep_path, data, size);
    splat_status status = read_scene(&t, &error);
    if (is_prefix) assert_failure(status, SPLAT_ERROR_FORMAT, &error, "line ");
    if (status == SPLAT_OK) {
        splat_transforms_free(&t);
        return;
    }
    assert_true(status == SPLAT_ERROR_FORMAT || status == SPLAT_ERROR_UNSUPPORTED || status == SPLAT_ERROR_IO);
    assert_true(error.message[0] && error.file[0]);
}

static void test_damage(void **state)
{
    (void)state;
    static const char *const names[] = {"scene/transforms_train.json", "scene/metadata.json", "scene/transforms.json"};
    static const char *const texts[] = {
        "{\"camera_angle_x\": 0.69, \"frames\": [" FRAME("./train/a", LEGO_POSE) "]}",
        "{\"train\": {\"file_path\": [\"train/a.png\"], \"cam2world\": [" POSE
        "], \"width\": [800], \"height\": [600], "
        "\"focal\": [1111.1]}, \"test\": {\"file_path\": [\"train/b.png\"], \"cam2world\": [" POSE
        "], \"width\": [80], "
        "\"height\": [60], \"focal\": [111]}}",
        "{\"w\": 640, \"h\": 480, \"k1\": 0, \"ply_file_path\": \"p.ply\", \"train_filenames\": [\"train/a.png\"], "
        "\"test_filenames\": [\"train/b.png\"], " FRAMES "}"};
    for (int i = 0; i < 3; i++) {
        make_scene((const char *[]){"train/a.png", "train/b.png", "train/c.png", "train/d.png"}, 4);
        sweep_path = names[i];
        fixture_sweep((const uint8_t *)texts[i], strlen(texts[i]), check_damaged, 5000);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_nerf_synthetic), cmocka_unit_test(test_multiscale), cmocka_unit_test(test_intrinsics),
        cmocka_unit_test(test_lenses),          cmocka_unit_test(test_cameras_refused),
        cmocka_unit_test(test_frames),          cmocka_unit_test(test_scaled_pose),
        cmocka_unit_test(test_splits),          cmocka_unit_test(test_nothing),   cmocka_unit_test(test_damage),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
