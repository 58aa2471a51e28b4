/* Poses of other programs: scenes with cameras that are known are written as those programs do, by formulas of
 * their own, and opened. */
#include "poses_fixture.h"

#include "scene/dataset_open.h"
#include "splatsmith/capture.h"

/* ---------------------------------------------------------------- RealityCapture */

#define HEADER "#name,x,y,alt,heading,pitch,roll,f,px,py,k1,k2,k3,k4,t1,t2\n"
#define ROW "a.png,1,2,3,40,50,60,18,0.01,-0.02,0,0,0,0,0,0\n"

/* The heading is the bearing of the photo's top from north, the pitch is its rise, and the roll is the slope of the
 * photo's right side. */
static void write_registration(const char *path, const truth *cameras)
{
    char text[8192] = "\xEF\xBB\xBF#cameras 12\r\n#name,x,y,alt,heading,pitch,roll,f,px,py,k1,k2,k3,k4,t1,t2\r\n";
    for (int i = 0; i < N_CAMERAS; i++) {
        const truth *t = &cameras[i];
        double heading = atan2(-t->down[0], -t->down[1]), pitch = asin(-t->down[2]);
        double roll = atan2(-t->right[2], -t->forward[2]);
        snprintf(text + strlen(text), sizeof text - strlen(text),
                 "p%02d.png,%.9f,%.9f,%.9f,%.12f,%.12f,%.12f,%g,0.01,-0.02,%s\r\n", i, t->center[0], t->center[1],
                 t->center[2], heading * DEGREES, pitch * DEGREES, roll * DEGREES, 40.0 + i,
                 i == 0 ? "-0.1,0.02,-0.003,0.0004,0.001,-0.002" : "0,0,0,0,0,0");
    }
    fixture_text(path, text);
}

static void make_capture(const double origin[3], truth cameras[N_CAMERAS])
{
    fixture_folder("capture");
    fixture_folder("capture/images");
    make_posed_photos("capture/images");
    for (uint32_t i = 0; i < N_CAMERAS; i++) cameras[i] = draw_truth(i, origin);
    write_registration("capture/export.csv", cameras);
}

static void registrations_give_the_cameras(void **state)
{
    (void)state;
    splat_error error;
    splat_dataset d;
    truth cameras[N_CAMERAS];
    splat_scene_options options = options_of("capture");
    const double zero[3] = {0};
    make_capture(zero, cameras);
    fixture_text("capture/a.csv", "year,sales\n2020,3\n"); /* another table is passed over */
    ASSERT_OK(open_dataset(&options, &d, &error));
    assert_string_equal(d.format, "realitycapture");
    assert_true(d.n_views == N_CAMERAS && d.random_points && !d.composite_truncates);
    assert_null(strstr(log_text, "subtracted"));
    for (int i = 0; i < N_CAMERAS; i++) {
        const splat_camera *c = &d.views[i].camera;
        expect_camera(c, &cameras[i], zero);
        if (i == 0) continue; /* below */
        double w = i % 2 ? 24 : 36, h = i % 2 ? 36 : 24;
        assert_float_equal(c->fx, 40.0 + i, 1e-4); /* the longer side has 36 pixels: one a millimetre */
        assert_float_equal(c->fy, 40.0 + i, 1e-4);
        assert_float_equal(c->cx, w / 2 + 0.36, 1e-5);
        assert_float_equal(c->cy, h / 2 - 0.72, 1e-5);
    }
    const splat_lens *lens = &d.views[0].lens;
    const double coefficients[6] = {-0.1, 0.02, -0.003, 0.0004, 0.001, -0.002};
    assert_true(d.views[0].is_distorted && lens->model == SPLAT_LENS_NERFSTUDIO);
    assert_float_equal(lens->fx, 40, 1e-9);
    assert_float_equal(lens->cx, 18.36, 1e-9);
    assert_float_equal(lens->cy, 11.28, 1e-9);
    for (int k = 0; k < 6; k++) assert_float_equal(lens->coefficients[k], coefficients[k], 1e-12);
    splat_dataset_free(&d);
}

static void photos_may_lie_elsewhere(void **state)
{
    (void)state;
    splat_error error;
    splat_dataset d;
    truth cameras[N_CAMERAS];
    char folder[4096];
    splat_scene_options options = options_of("capture");
    make_capture((double[3]){0, 0, 0}, cameras);
    assert_false(splat_cameras_are_needed("capture", NULL)); /* training does not look for cameras first */
    ASSERT_OK(splat_folder_delete("elsewhere", &error));
    assert_int_equal(rename("capture/images", "elsewhere"), 0);
    assert_failure(open_dataset(&options, &d, &error), SPLAT_ERROR_IO, &error, "\"p00.png\" is neither");
    assert_non_null(getcwd(folder, sizeof folder - 16));
    strcat(folder, "/elsewhere");
    options.images = folder;
    ASSERT_OK(open_dataset(&options, &d, &error));
    assert_true(d.n_views == N_CAMERAS && strncmp(d.views[1].path, folder, strlen(folder)) == 0);
    assert_string_equal(d.views[1].name, "p01.png");
    splat_dataset_free(&d);
}

/* Names that are not the only ones have their sub-folders, below an absolute folder of photos as well. */
static void photos_elsewhere_keep_their_sub_folders(void **state)
{
    (void)state;
    splat_error error;
    splat_dataset d;
    char folder[4096];
    splat_scene_options options = options_of("capture");
    fixture_folder("capture");
    fixture_folder("elsewhere");
    fixture_folder("elsewhere/left");
    fixture_folder("elsewhere/right");
    make_png("elsewhere/left/a.png", 36, 24);
    make_png("elsewhere/right/a.png", 36, 24);
    fixture_text("capture/export.csv", HEADER "left/" ROW "right/" ROW);
    assert_non_null(getcwd(folder, sizeof folder - 16));
    strcat(folder, "/elsewhere");
    for (int i = 0; i < 2; i++) {
        options.images = folder;
        ASSERT_OK(open_dataset(&options, &d, &error));
        assert_int_equal(d.n_views, 2);
        assert_string_equal(d.views[0].name, "left/a.png");
        assert_string_equal(d.views[1].name, "right/a.png");
        splat_dataset_free(&d);
        strcat(folder, "/");
    }
}

/* The meaning of the angles, without a formula. */
static void attitudes_are_those_of_a_compass(void **state)
{
    (void)state;
    static const struct { const char *angles; float forward[3], down[3]; } cases[] = {
        {"0,0,0", {0, 0, -1}, {0, -1, 0}},    /* straight down, the photo's top is north */
        {"90,0,0", {0, 0, -1}, {-1, 0, 0}},   /* its top is east */
        {"0,90,0", {0, 1, 0}, {0, 0, -1}},    /* level, to the north */
        {"90,90,0", {1, 0, 0}, {0, 0, -1}},   /* level, to the east */
        {"180,90,0", {0, -1, 0}, {0, 0, -1}}, /* level, to the south */
        {"0,0,90", {-1, 0, 0}, {0, -1, 0}},   /* rolled over the photo's upward axis: to the west, its top is north */
    };
    splat_error error;
    splat_dataset d;
    splat_scene_options options = options_of("capture");
    fixture_folder("capture");
    make_png("capture/a.png", 36, 24); /* photos next to the file work as well */
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        char text[256];
        snprintf(text, sizeof text, "#name,x,y,alt,heading,pitch,roll,f\nC:\\photos\\a,1,2,3,%s,18\n", cases[i].angles);
        fixture_text("capture/export.csv", text);
        ASSERT_OK(open_dataset(&options, &d, &error));
        const splat_camera *c = &d.views[0].camera;
        for (int k = 0; k < 3; k++) {
            assert_float_equal(c->rotation[6 + k], cases[i].forward[k], 1e-6);
            assert_float_equal(c->rotation[3 + k], cases[i].down[k], 1e-6);
            assert_float_equal(c->center[k], 1 + k, 1e-6);
        }
        splat_dataset_free(&d);
    }
}

static void far_coordinates_keep_their_decimals(void **state)
{
    (void)state;
    splat_error error;
    splat_dataset d;
    truth cameras[N_CAMERAS];
    splat_scene_options options = options_of("capture");
    const double utm[3] = {486123.25, 5421987.5, 312.125};
    double origin[3], mean[3] = {0};
    make_capture(utm, cameras);
    write_far_points("capture/cloud.ply", utm);
    ASSERT_OK(open_dataset(&options, &d, &error));
    take_origin(origin);
    for (int i = 0; i < N_CAMERAS; i++)
        for (int k = 0; k < 3; k++) mean[k] += cameras[i].center[k] / N_CAMERAS;
    for (int k = 0; k < 3; k++) assert_float_equal(origin[k], mean[k], 0.5 + 1e-6);
    for (int i = 0; i < N_CAMERAS; i++) expect_camera(&d.views[i].camera, &cameras[i], origin);
    assert_true(d.n_points == 2 && !d.random_points);
    assert_float_equal(d.points[0].position[0], (utm[0] + 0.1234 - origin[0]), 1e-5);
    assert_float_equal(d.points[1].position[1], (utm[1] + 0.5678 - origin[1]), 1e-5);
    assert_float_equal(d.points[1].position[2], (utm[2] - 1 - origin[2]), 1e-5);
    splat_dataset_free(&d);
    write_far_points("capture/second.ply", utm); /* which one? */
    assert_failure(open_dataset(&options, &d, &error), SPLAT_ERROR_FORMAT, &error, "export.ply");
    write_far_points("capture/export.ply", utm);
    ASSERT_OK(open_dataset(&options, &d, &error));
    splat_dataset_free(&d);
}

static void registrations_that_are_wrong(void **state)
{
    (void)state;
    static const struct { const char *text; splat_status status; const char *words; } cases[] = {
        {"#name,x,y,alt,heading,pitch,f\na.png,1,2,3,4,5,6\n", SPLAT_ERROR_FORMAT, "the column \"roll\" is missing"},
        {HEADER, SPLAT_ERROR_FORMAT, "names no photo"},
        {HEADER "a.png,1,2,3\n", SPLAT_ERROR_FORMAT, "has 4 values"},
        {HEADER "a.png,nan,2,3,40,50,60,18,0,0,0,0,0,0,0,0\n", SPLAT_ERROR_FORMAT, "\"x\" is \"nan\""},
        {HEADER ROW "a.png,1,1e39,3,40,50,60,18,0,0,0,0,0,0,0,0\n", SPLAT_ERROR_FORMAT, "line 3"},
        {HEADER "a.png,1,2,3,4O,50,60,18,0,0,0,0,0,0,0,0\n", SPLAT_ERROR_FORMAT, "\"heading\" is \"4O\""},
        {HEADER "a.png,1,2,3,,50,60,18,0,0,0,0,0,0,0,0\n", SPLAT_ERROR_FORMAT, "no finite number"},
        {HEADER "a.png,1,2,3,40,50,60,-18,0,0,0,0,0,0,0,0\n", SPLAT_ERROR_FORMAT, "focal length -18"},
        {HEADER "a.png,1,2,3,40,50,60,18,3e38,0,0,0,0,0,0,0\n", SPLAT_ERROR_FORMAT, "out of range"},
        {HEADER "b.png,1,2,3,40,50,60,18,0,0,0,0,0,0,0,0\n", SPLAT_ERROR_IO, "\"b.png\" is neither in the folder"},
        {HEADER "../out.png,1,2,3,40,50,60,18,0,0,0,0,0,0,0,0\n", SPLAT_ERROR_IO, "\"../out.png\""},
        {HEADER ROW ROW, SPLAT_ERROR_FORMAT, "\"a.png\" has a camera in line 2 already"},
        {HEADER "no" ROW "no" ROW, SPLAT_ERROR_FORMAT, "\"noa.png\" has a camera in line 2"}, /* found unopened */
        {HEADER "images/" ROW ROW, SPLAT_ERROR_FORMAT, "two cameras"},
    };
    splat_error error;
    splat_dataset d;
    splat_scene_options options = options_of("capture");
    fixture_folder("capture");
    make_png("capture/a.png", 36, 24);
    make_png("out.png", 36, 24);
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        fixture_text("capture/export.csv", cases[i].text);
        assert_failure(open_dataset(&options, &d, &error), cases[i].status, &error, cases[i].words);
    }
    fixture_text("capture/export.csv", "name;x\n"); /* no registration: what was looked for */
    assert_failure(open_dataset(&options, &d, &error), SPLAT_ERROR_FORMAT, &error, "RealityCapture");
}

static void open_damaged_registration(const uint8_t *data, size_t size, bool is_prefix)
{
    (void)is_prefix;
    open_damaged("capture/export.csv", data, size);
}

static void damaged_registrations_are_survived(void **state)
{
    (void)state;
    const char text[] = HEADER ROW;
    fixture_folder("capture");
    make_png("capture/a.png", 36, 24);
    write_far_points("capture/points.ply", (double[3]){0, 0, 0}); /* no random ones, which take time */
    fixture_sweep((const uint8_t *)text, sizeof text - 1, open_damaged_registration, 1000);
}

/* ---------------------------------------------------------------- OpenSfM */

/* The rotation vector, world to camera: from the matrix's trace and its skew part. */
static void rotation_vector(const truth *t, double vector[3])
{
    const double *m[3] = {t->right, t->down, t->forward};
    double angle = acos(0.5 * (m[0][0] + m[1][1] + m[2][2] - 1)), scale = angle / (2 * sin(angle));
    vector[0] = scale * (m[2][1] - m[1][2]);
    vector[1] = scale * (m[0][2] - m[2][0]);
    vector[2] = scale * (m[1][0] - m[0][1]);
}

/* Photos 0, 2, ... are 36 x 24; their camera was made at ten times that. */
static void write_reconstruction(const char *path, const truth *cameras, const double origin[3])
{
    char text[8192];
    snprintf(text, sizeof text,
             "[{\"cameras\": {}, \"shots\": {}}, {\"cameras\": {"
             "\"wide\": {\"projection_type\": \"perspective\", \"width\": 360, \"height\": 240, \"focal\": 0.75, "
             "\"k1\": 0, \"k2\": 0}, "
             "\"tall\": {\"projection_type\": \"brown\", \"width\": 24, \"height\": 36, \"focal_x\": 1.25, "
             "\"focal_y\": 1.5, \"c_x\": 0.01, \"c_y\": -0.02, \"k1\": -0.1, \"k2\": 0.02, \"p1\": 0.001, "
             "\"p2\": -0.002, \"k3\": -0.003}, "
             "\"fish\": {\"projection_type\": \"fisheye\", \"width\": 36, \"height\": 24, \"focal\": 1.5, \"k1\": "
             "0.03, \"k2\": -0.01}}, \"points\": {\"7\": {\"color\": [1.0, 2.0, 3.0], \"coordinates\": [%.4f, %.4f, "
             "%.4f]}}, \"shots\": {", origin[0] + 0.1234, origin[1], origin[2]);
    for (int i = 0; i < N_CAMERAS; i++) {
        const truth *t = &cameras[i];
        double v[3];
        rotation_vector(t, v);
        snprintf(text + strlen(text), sizeof text - strlen(text),
                 "%s\"p%02d.png\": {\"rotation\": [%.12f, %.12f, %.12f], "
                 "\"translation\": [%.9f, %.9f, %.9f], "
                 "\"camera\": \"%s\"}", i ? ", " : "", i, v[0], v[1], v[2], -dot(t->right, t->center),
                 -dot(t->down, t->center), -dot(t->forward, t->center), i % 2 ? "tall" : i == 2 ? "fish" : "wide");
    }
    strcat(text, "}}]");
    fixture_text(path, text);
}

static void expect_lens(const splat_lens *lens, splat_lens_model model, const double expected[10])
{
    const double values[4] = {lens->fx, lens->fy, lens->cx, lens->cy};
    assert_int_equal(lens->model, model);
    for (int k = 0; k < 4; k++) assert_float_equal(values[k], expected[k], 1e-5);
    for (int k = 0; k < 6; k++) assert_float_equal(lens->coefficients[k], expected[4 + k], 1e-12);
}

static void check_reconstruction(const char *path, const double origin[3])
{
    splat_error error;
    splat_dataset d;
    truth cameras[N_CAMERAS];
    double moved[3] = {0};
    splat_scene_options options = options_of("drone");
    for (uint32_t i = 0; i < N_CAMERAS; i++) cameras[i] = draw_truth(i, origin);
    write_reconstruction(path, cameras, origin);
    ASSERT_OK(open_dataset(&options, &d, &error));
    assert_string_equal(d.format, "opensfm");
    assert_non_null(strstr(log_text, "of 2 reconstructions"));
    if (origin[0] > 0) take_origin(moved);
    else assert_null(strstr(log_text, "subtracted"));
    assert_true(d.n_views == N_CAMERAS && d.n_points == 1 && !d.random_points && !d.composite_truncates);
    for (int i = 0; i < N_CAMERAS; i++) expect_camera(&d.views[i].camera, &cameras[i], moved);
    const splat_camera *c = &d.views[0].camera; /* 0.75 of the longer side, centred */
    assert_float_equal(c->fx, 27, 1e-5);
    assert_float_equal(c->fy, 27, 1e-5);
    assert_true(c->cx == 18 && c->cy == 12 && !d.views[0].is_distorted);
    expect_lens(&d.views[1].lens, SPLAT_LENS_NERFSTUDIO,
                (double[10]){45, 54, 12.36, 17.28, -0.1, 0.02, -0.003, 0, 0.001, -0.002});
    expect_lens(&d.views[2].lens, SPLAT_LENS_OPENCV_FISHEYE, (double[10]){54, 54, 18, 12, 0.03, -0.01});
    assert_float_equal(d.points[0].position[0], (origin[0] + 0.1234 - moved[0]), 1e-5);
    assert_float_equal(d.points[0].position[2], (origin[2] - moved[2]), 1e-5);
    assert_true(d.points[0].color[0] == 1 && d.points[0].color[2] == 3);
    splat_dataset_free(&d);
}

static void reconstructions_give_the_cameras(void **state)
{
    (void)state;
    fixture_folder("drone");
    fixture_folder("drone/images");
    fixture_folder("drone/opensfm");
    make_posed_photos("drone/images");
    check_reconstruction("drone/opensfm/reconstruction.json", (double[3]){0, 0, 0}); /* OpenDroneMap's place */
    assert_false(splat_cameras_are_needed("drone", NULL));
    check_reconstruction("drone/reconstruction.json", (double[3]){486123.25, 5421987.5, 312.125});
}

#define CAMERA "\"projection_type\": \"perspective\", \"width\": 36, \"height\": 24, \"focal\": 0.75"
#define SHOT "\"rotation\": [0, 0, 0], \"translation\": [1, 2, 3], \"camera\": \"c\""
#define MODEL(camera, shot, points)                                                                                    \
    "[{\"cameras\": {\"c\": {" camera "}}, \"shots\": {\"a.png\": {" shot "}}, \"points\": {" points "}}]"

static void reconstructions_that_are_wrong(void **state)
{
    (void)state;
    static const struct { const char *text; splat_status status; const char *words; } cases[] = {
        {"{}", SPLAT_ERROR_FORMAT, "no list of reconstructions"},
        {"[]", SPLAT_ERROR_FORMAT, "no list of reconstructions"},
        {"[{\"shots\": {}}]", SPLAT_ERROR_FORMAT, "no list of reconstructions"},
        {"[{\"shots\": {\"a.png\": ", SPLAT_ERROR_FORMAT, "not valid JSON"},
        {MODEL(CAMERA, "\"rotation\": [0, 0], \"translation\": [1, 2, 3], \"camera\": \"c\"", ""), SPLAT_ERROR_FORMAT,
         "shot \"a.png\": \"rotation\" is not 3 finite"},
        {MODEL(CAMERA, "\"rotation\": [0, 0, 0], \"translation\": [1, 2, 1e39], \"camera\": \"c\"", ""),
         SPLAT_ERROR_FORMAT, "\"translation\" is not 3 finite"},
        {MODEL(CAMERA, "\"rotation\": [0, 0, 0], \"translation\": [1, 2, 3], \"camera\": \"b\"", ""),
         SPLAT_ERROR_FORMAT, "its camera \"b\" is not there"},
        {MODEL("\"projection_type\": \"dual\"", SHOT, ""), SPLAT_ERROR_UNSUPPORTED, "dual"},
        {MODEL("\"projection_type\": \"spherical\"", SHOT, ""), SPLAT_ERROR_FORMAT, "width"},
        {MODEL("\"projection_type\": \"spherical\", \"width\": 36, \"height\": 24", SHOT, ""),
         SPLAT_ERROR_UNSUPPORTED, "shot \"a.png\": a panorama of 36 x 24 pixels is not twice"},
        {MODEL("\"projection_type\": \"equirectangular\", \"width\": 36, \"height\": 17", SHOT, ""),
         SPLAT_ERROR_UNSUPPORTED, "36 x 17"},
        {MODEL("\"width\": 36", SHOT, ""), SPLAT_ERROR_UNSUPPORTED, "missing"},
        {MODEL("\"projection_type\": \"perspective\", \"focal\": 0.75", SHOT, ""), SPLAT_ERROR_FORMAT, "width"},
        {MODEL(CAMERA ", \"k1\": 1e300", SHOT, ""), SPLAT_ERROR_FORMAT, "out of range"},
        {MODEL(CAMERA, SHOT, "\"1\": {\"coordinates\": [1, 2]}"), SPLAT_ERROR_FORMAT, "\"coordinates\""},
        {MODEL(CAMERA, "\"rotation\": [0, 0, 0], \"translation\": [-3e38, 0, 0], \"camera\": \"c\"",
               "\"1\": {\"coordinates\": [-3e38, 0, 0]}"), SPLAT_ERROR_FORMAT, "too far from the cameras"},
        {"[{\"shots\": {\"b.png\": {}}}]", SPLAT_ERROR_FORMAT, "\"rotation\""},
        {"[{\"shots\": {\"b.png\": {" SHOT "}}, \"cameras\": {\"c\": {" CAMERA "}}}]", SPLAT_ERROR_IO,
         "\"b.png\" is neither in the folder"},
    };
    splat_error error;
    splat_dataset d;
    splat_scene_options options = options_of("capture");
    fixture_folder("capture");
    make_png("capture/a.png", 36, 24);
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        fixture_text("capture/reconstruction.json", cases[i].text);
        assert_failure(open_dataset(&options, &d, &error), cases[i].status, &error, cases[i].words);
    }
}

/* A panorama that stands at (-1, -2, -3), turned half around its upright axis. */
static void spherical_cameras_are_panoramas(void **state)
{
    (void)state;
    static const char *const names[] = {"spherical", "equirectangular"};
    splat_error error;
    splat_dataset d;
    splat_scene_options options = options_of("capture");
    fixture_folder("capture");
    make_png("capture/a.png", 80, 40);
    for (int i = 0; i < 2; i++) {
        char text[512];
        snprintf(text, sizeof text, MODEL("\"projection_type\": \"%s\", \"width\": 160, \"height\": 80",
                 "\"rotation\": [0, 3.14159265358979, 0], \"translation\": [-1, 2, -3], \"camera\": \"c\"", ""),
                 names[i]);
        fixture_text("capture/reconstruction.json", text);
        ASSERT_OK(open_dataset(&options, &d, &error));
        assert_true(d.n_views == 6 && d.n_photos == 1);
        const truth front = {{-1, 0, 0}, {0, 1, 0}, {0, 0, -1}, {-1, -2, -3}};
        const truth right = {{0, 0, 1}, {0, 1, 0}, {-1, 0, 0}, {-1, -2, -3}};
        expect_camera(&d.views[0].camera, &front, (double[3]){0, 0, 0});
        expect_camera(&d.views[1].camera, &right, (double[3]){0, 0, 0});
        splat_dataset_free(&d);
    }
}

static void open_damaged_reconstruction(const uint8_t *data, size_t size, bool is_prefix)
{
    (void)is_prefix;
    open_damaged("capture/reconstruction.json", data, size);
}

static void damaged_reconstructions_are_survived(void **state)
{
    (void)state;
    const char text[] = MODEL(CAMERA ", \"k1\": 0", SHOT, "\"1\": {\"coordinates\": [1, 2, 3], \"color\": [1, 2, 3]}");
    fixture_folder("capture");
    make_png("capture/a.png", 36, 24);
    fixture_sweep((const uint8_t *)text, sizeof text - 1, open_damaged_reconstruction, 1000);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(registrations_give_the_cameras),
        cmocka_unit_test(photos_may_lie_elsewhere),
        cmocka_unit_test(photos_elsewhere_keep_their_sub_folders),
        cmocka_unit_test(attitudes_are_those_of_a_compass),
        cmocka_unit_test(far_coordinates_keep_their_decimals),
        cmocka_unit_test(registrations_that_are_wrong),
        cmocka_unit_test(damaged_registrations_are_survived),
        cmocka_unit_test(reconstructions_give_the_cameras),
        cmocka_unit_test(reconstructions_that_are_wrong), cmocka_unit_test(spherical_cameras_are_panoramas),
        cmocka_unit_test(damaged_reconstructions_are_survived),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
