/* Cameras of Metashape: files as it writes them, with poses and lenses that are known. */
#include "poses_fixture.h"

#include "scene/dataset_open.h"
#include "splatsmith/capture.h"

#define SCALE 2.5

/* The component's transform: a rotation about z by 90 degrees, a scale, a translation. */
static const double placed[9] = {0, -1, 0, 1, 0, 0, 0, 0, 1};

static void to_component(const double t[3], const double world[3], double inside[3])
{
    for (int k = 0; k < 3; k++) {
        inside[k] = 0;
        for (int r = 0; r < 3; r++) inside[k] += placed[3 * r + k] * (world[r] - t[r]);
    }
}

static void write_camera(char *text, size_t size, int id, const char *label, const char *more, const truth *t,
                         const double shift[3])
{
    const double zero[3] = {0, 0, 0};
    double axes[3][3], center[3];
    to_component(zero, t->right, axes[0]);
    to_component(zero, t->down, axes[1]);
    to_component(zero, t->forward, axes[2]);
    to_component(shift, t->center, center);
    size_t n = strlen(text);
    n += (size_t)snprintf(text + n, size - n, "<camera id=\"%d\" %s label=\"%s\">\n<transform>", id, more, label);
    for (int r = 0; r < 3; r++)
        n += (size_t)snprintf(text + n, size - n, "%.16e %.16e %.16e %.16e ", axes[0][r], axes[1][r], axes[2][r],
                              center[r] / SCALE);
    snprintf(text + n, size - n, "0 0 0 1</transform>\n<orientation>1</orientation><reference x=\"1\" y=\"2\" z=\"3\" "
             "enabled=\"true\"/></camera>\n");
}

#define FRAME_VALUES                                                                                                   \
    "<f>45.5</f><cx>0.75</cx><cy>-0.5</cy><b1>0.25</b1><b2>0.01</b2><k1>-0.1</k1><k2>0.02</k2><k3>-0.003</k3>"         \
    "<k4>0.0004</k4><p1>0.011</p1><p2>-0.007</p2>"
#define SENSORS                                                                                                        \
    "<sensors next_id=\"3\">\n"                                                                                        \
    "<sensor id=\"0\" label=\"tall\" type=\"frame\"><resolution width=\"24\" height=\"36\"/>"                          \
    "<property name=\"pixel_width\" value=\"0.0012\"/><bands><band label=\"Red\"/></bands>"                            \
    "<calibration type=\"frame\" class=\"initial\"><resolution width=\"24\" height=\"36\"/><f>99</f><k1>0.5</k1>"      \
    "</calibration><calibration type=\"frame\" class=\"adjusted\"><resolution width=\"24\" height=\"36\"/>"            \
    FRAME_VALUES "</calibration><covariance><params>f cx</params><coeffs>1 2 3 4</coeffs></covariance></sensor>\n"     \
    "<sensor id=\"1\" label=\"round\" type=\"fisheye\"><resolution width=\"36\" height=\"24\"/>"                       \
    "<calibration type=\"fisheye\" class=\"adjusted\"><resolution width=\"36\" height=\"24\"/>" FRAME_VALUES           \
    "</calibration></sensor>\n"                                                                                        \
    "<sensor id=\"2\" label=\"all around\" type=\"spherical\"><resolution width=\"48\" height=\"24\"/></sensor>"       \
    "</sensors>\n"

/* p00.png is a panorama, p02.png a fisheye's, other even ones too; odd ones are tall. One is in a group, one has no
 * pose, one is switched off. */
static void write_cameras(const truth *cameras, const double shift[3], bool has_component)
{
    static char text[32768];
    char transform[512];
    snprintf(transform, sizeof transform,
             "<transform><rotation locked=\"true\">0 -1 0 1 0 0 0 0 1</rotation><translation locked=\"true\">%.4f %.4f "
             "%.4f</translation><scale locked=\"true\">%g</scale></transform>", shift[0], shift[1], shift[2], SCALE);
    snprintf(text, sizeof text, "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<document version=\"2.0.0\">\n"
             "<chunk label=\"Chunk 1\" enabled=\"true\">\n" SENSORS "%s%s%s<cameras next_id=\"14\">\n",
             has_component ? "<components next_id=\"4\" active_id=\"3\"><component id=\"3\" label=\"One\">" : "",
             has_component ? transform : "",
             has_component ? "<partition><camera_ids>0 1 2</camera_ids></partition></component></components>\n" : "");
    for (int i = 0; i < N_CAMERAS; i++) {
        char label[32], more[64];
        snprintf(label, sizeof label, i == 4 ? "80m/card01/p%02d.png" : i == 5 ? "p%02d" : "p%02d.png", i);
        snprintf(more, sizeof more, "sensor_id=\"%d\" %s", i == 0 ? 2 : i % 2 ? 0 : 1,
                 has_component ? "component_id=\"3\"" : "");
        if (i == 7) strcat(text, "<group id=\"0\" label=\"some\">\n");
        write_camera(text, sizeof text, i, label, more, &cameras[i], shift);
        if (i == 7) strcat(text, "</group>\n");
    }
    strcat(text, "<camera id=\"12\" sensor_id=\"0\" label=\"lost.png\"><orientation>1</orientation></camera>\n");
    write_camera(text, sizeof text, 13, "off.png", "sensor_id=\"0\" enabled=\"false\"", &cameras[0], shift);
    strcat(text, "</cameras>\n");
    if (!has_component) strcat(text, transform);
    strcat(text, "<region><center>0 0 0</center><size>1 1 1</size></region></chunk></document>\n");
    fixture_text("capture/cameras.xml", text);
}

/* A test of a build without expat: one sentence, and nothing else to look at. */
static bool is_built_without(void)
{
    splat_error error;
    splat_dataset d;
    splat_scene_options options = options_of("capture");
    fixture_folder("capture");
    fixture_text("capture/cameras.xml", "<document><chunk></chunk></document>");
    splat_status status = open_dataset(&options, &d, &error);
    if (status != SPLAT_ERROR_UNSUPPORTED) return false;
    assert_non_null(strstr(error.message, "built without expat"));
    print_message("SKIPPED: this build has no expat\n");
    return true;
}

/* The manual's formulas. */
static void see(const double at[2], double pixel[2])
{
    double x = at[0], y = at[1], r2 = x * x + y * y;
    double radial = 1 - 0.1 * r2 + 0.02 * r2 * r2 - 0.003 * r2 * r2 * r2 + 0.0004 * r2 * r2 * r2 * r2;
    double dx = x * radial + 0.011 * (r2 + 2 * x * x) + 2 * -0.007 * x * y;
    double dy = y * radial + -0.007 * (r2 + 2 * y * y) + 2 * 0.011 * x * y;
    pixel[0] = 0.75 + dx * 45.5 + dx * 0.25; /* from the middle of the photo; b2 is left out */
    pixel[1] = -0.5 + dy * 45.5;
}

static void expect_projection(const splat_lens *lens, bool is_fisheye)
{
    for (int i = 0; i < 9; i++) {
        double at[2] = {0.15 * (i % 3 - 1), 0.2 * (i / 3 - 1)}, pixel[2], expected[2], r = hypot(at[0], at[1]);
        double factor = is_fisheye && r > 0 ? sin(r) / r : 1; /* at: on the plane, or at the distance of the angle */
        const double ray[3] = {factor * at[0], factor * at[1], is_fisheye ? cos(r) : 1};
        see(at, expected);
        assert_true(splat_lens_project(lens, ray, pixel));
        assert_float_equal(pixel[0], (expected[0] + 0.5 * lens->width), 1e-9);
        assert_float_equal(pixel[1], (expected[1] + 0.5 * lens->height), 1e-9);
    }
}

static void check(const double shift[3], bool has_component)
{
    splat_error error;
    splat_dataset d;
    truth cameras[N_CAMERAS];
    double origin[3] = {0};
    splat_scene_options options = options_of("capture");
    for (uint32_t i = 0; i < N_CAMERAS; i++) cameras[i] = draw_truth(i, shift);
    write_cameras(cameras, shift, has_component);
    ASSERT_OK(open_dataset(&options, &d, &error));
    assert_string_equal(d.format, "metashape");
    assert_non_null(strstr(log_text, "2 cameras without a pose, or switched off, are left out: lost.png, off.png"));
    if (shift[0] > 0) take_origin(origin);
    assert_int_equal(d.n_photos, N_CAMERAS);
    assert_int_equal(d.n_views, N_CAMERAS + 5); /* six faces of the panorama */
    for (size_t i = 0; i < d.n_views; i++)
        if (d.views[i].crop == 0) expect_camera(&d.views[i].camera, &cameras[d.views[i].photo], origin);
    assert_int_equal(d.views[0].lens.model, SPLAT_LENS_EQUIRECTANGULAR);
    assert_int_equal(d.views[6].lens.model, SPLAT_LENS_NERFSTUDIO);
    assert_int_equal(d.views[7].lens.model, SPLAT_LENS_THIN_PRISM_FISHEYE);
    expect_projection(&d.views[6].lens, false);
    expect_projection(&d.views[7].lens, true);
    assert_non_null(strstr(d.views[9].path, "p04.png"));
    splat_dataset_free(&d);
}

static void exports_give_the_cameras(void **state)
{
    (void)state;
    if (is_built_without()) return;
    fixture_folder("capture/images");
    make_posed_photos("capture/images");
    make_png("capture/images/p00.png", 48, 24);
    fixture_text("capture/a.xml", "<x>another file</x>"); /* passed over */
    for (int has_component = 0; has_component <= 1; has_component++) { /* older files have the chunk's alone */
        check((double[3]){0, 0, 0}, has_component);
        check((double[3]){486123.25, 5421987.5, 312.125}, has_component);
    }
    assert_false(splat_cameras_are_needed("capture", NULL));
}

static void points_lie_beside(void **state)
{
    (void)state;
    splat_error error;
    splat_dataset d;
    truth cameras[N_CAMERAS];
    splat_scene_options options = options_of("capture");
    if (is_built_without()) return;
    fixture_folder("capture/images");
    make_posed_photos("capture/images");
    make_png("capture/images/p00.png", 48, 24);
    for (uint32_t i = 0; i < N_CAMERAS; i++) cameras[i] = draw_truth(i, (double[3]){0, 0, 0});
    write_cameras(cameras, (double[3]){0, 0, 0}, true);
    write_far_points("capture/dense.ply", (double[3]){0, 0, 0});
    ASSERT_OK(open_dataset(&options, &d, &error));
    assert_true(d.n_points == 2 && !d.random_points);
    splat_dataset_free(&d);
    assert_int_equal(unlink("capture/images/p06.png"), 0);
    options.strict = true;
    assert_failure(open_dataset(&options, &d, &error), SPLAT_ERROR_IO, &error, "\"p06.png\" is neither");
}

/* ---------------------------------------------------------------- what is wrong */

#define POSE "1 0 0 1 0 1 0 2 0 0 1 3 0 0 0 1"
#define SENSOR(type, size, values)                                                                                     \
    "<sensors><sensor id=\"0\" type=\"" type "\">" size "<calibration type=\"" type "\" class=\"adjusted\">" values    \
    "</calibration></sensor></sensors>"
#define SIZE "<resolution width=\"36\" height=\"24\"/>"
#define CAMERAS(pose) "<cameras><camera id=\"0\" sensor_id=\"0\" label=\"a\">" pose "</camera></cameras>"
#define CHUNK(sensors, cameras) "<document><chunk>" sensors cameras "</chunk></document>"
#define GOOD_SENSOR SENSOR("frame", SIZE, "<f>40</f>")
#define GOOD_CAMERA CAMERAS("<transform>" POSE "</transform>")

static void exports_that_are_wrong(void **state)
{
    (void)state;
    static const struct { const char *text; splat_status status; const char *words; } cases[] = {
        {CHUNK(GOOD_SENSOR, GOOD_CAMERA), SPLAT_OK, ""},
        {CHUNK("", GOOD_CAMERA), SPLAT_ERROR_FORMAT, "camera \"a\": its sensor is not in the file"},
        {CHUNK(GOOD_SENSOR, CAMERAS("")), SPLAT_ERROR_FORMAT, "none of the 1 cameras in the file has a pose"},
        {CHUNK(GOOD_SENSOR, ""), SPLAT_ERROR_FORMAT, "none of the 0 cameras"},
        {CHUNK(SENSOR("frame", "", "<f>40</f>"), GOOD_CAMERA), SPLAT_ERROR_FORMAT, "sensor 0 has no <resolution>"},
        {CHUNK(SENSOR("frame", "<resolution width=\"0\" height=\"24\"/>", "<f>40</f>"), GOOD_CAMERA),
         SPLAT_ERROR_FORMAT, "no <resolution>"},
        {CHUNK(SENSOR("frame", "<resolution width=\"-1\" height=\"24\"/>", "<f>40</f>"), GOOD_CAMERA),
         SPLAT_ERROR_FORMAT, "no whole number"},
        {CHUNK(SENSOR("frame", "<resolution width=\"2000000000\" height=\"24\"/>", "<f>40</f>"), GOOD_CAMERA),
         SPLAT_ERROR_FORMAT, "too large"},
        {CHUNK(SENSOR("cylindrical", SIZE, "<f>40</f>"), GOOD_CAMERA), SPLAT_ERROR_UNSUPPORTED, "type cylindrical"},
        {CHUNK(SENSOR("spherical", SIZE, ""), GOOD_CAMERA), SPLAT_ERROR_UNSUPPORTED,
         "a panorama of 36 x 24 pixels is not twice"},
        {CHUNK(SENSOR("frame", SIZE, ""), GOOD_CAMERA), SPLAT_ERROR_FORMAT, "a focal length above zero"},
        {CHUNK(SENSOR("frame", SIZE, "<f>-40</f>"), GOOD_CAMERA), SPLAT_ERROR_FORMAT, "a focal length above zero"},
        {CHUNK(SENSOR("frame", SIZE, "<f>40</f><b1>-50</b1>"), GOOD_CAMERA), SPLAT_ERROR_FORMAT, "above zero"},
        {CHUNK(SENSOR("frame", SIZE, "<f>nan</f>"), GOOD_CAMERA), SPLAT_ERROR_FORMAT, "<f> is not 1 finite number"},
        {CHUNK(SENSOR("frame", SIZE, "<f>40</f><k1>1e300</k1>"), GOOD_CAMERA), SPLAT_ERROR_FORMAT, "<k1> is not"},
        {CHUNK(SENSOR("frame", SIZE, "<f>40</f><b2>1.7</b2>"), GOOD_CAMERA), SPLAT_ERROR_UNSUPPORTED, "a skew (b2)"},
        {CHUNK(SENSOR("frame", SIZE, "<f>40</f><p3>0.1</p3>"), GOOD_CAMERA), SPLAT_ERROR_UNSUPPORTED, "p3 or p4"},
        {CHUNK(GOOD_SENSOR, CAMERAS("<transform>1 0 0 1 0 1 0 2 0 0 nan 3 0 0 0 1</transform>")), SPLAT_ERROR_FORMAT,
         "<transform> is not 16 finite numbers"},
        {CHUNK(GOOD_SENSOR, CAMERAS("<transform>1 0 0</transform>")), SPLAT_ERROR_FORMAT, "not 16 finite numbers"},
        {CHUNK(GOOD_SENSOR, CAMERAS("<transform>" POSE " 7</transform>")), SPLAT_ERROR_FORMAT, "more text"},
        {CHUNK(GOOD_SENSOR, CAMERAS("<transform>1 0 0 1 0 1 0 2 0 0 -1 3 0 0 0 1</transform>")), SPLAT_ERROR_FORMAT,
         "camera \"a\": its transform"}, /* it mirrors */
        {CHUNK(GOOD_SENSOR, CAMERAS("<transform>0 0 0 1 0 0 0 2 0 0 0 3 0 0 0 1</transform>")), SPLAT_ERROR_FORMAT,
         "camera \"a\": its transform"},
        {CHUNK("<transform><scale>0</scale></transform>" GOOD_SENSOR, GOOD_CAMERA), SPLAT_ERROR_FORMAT, "<scale>"},
        {"<document><chunk/><chunk/></document>", SPLAT_ERROR_FORMAT, "several chunks"},
        {"<a><document><chunk/></document></a>", SPLAT_ERROR_FORMAT, "its first element is not <document>"},
        {"<document><chunk><sensors></chunk></document>", SPLAT_ERROR_FORMAT, "no valid XML: mismatched tag"},
        {"<document><chunk>", SPLAT_ERROR_FORMAT, "no valid XML"},
        {"<!DOCTYPE d [<!ENTITY a \"aaaa\"><!ENTITY b \"&a;&a;&a;\">]><document><chunk>&b;</chunk></document>",
         SPLAT_ERROR_FORMAT, "document type"},
        {"<document><chunk><a><a><a><a><a><a><a><a><a><a><a><a><a><a><a><a><a>", SPLAT_ERROR_FORMAT, "too deeply"},
    };
    splat_error error;
    splat_dataset d;
    splat_scene_options options = options_of("capture");
    if (is_built_without()) return;
    make_png("capture/a.png", 36, 24);
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        fixture_text("capture/cameras.xml", cases[i].text);
        splat_status status = open_dataset(&options, &d, &error);
        if (cases[i].status == SPLAT_OK) {
            ASSERT_OK(status);
            assert_true(d.n_views == 1 && !d.views[0].is_distorted && d.views[0].full_fx == 40);
            splat_dataset_free(&d);
        } else {
            assert_failure(status, cases[i].status, &error, cases[i].words);
        }
    }
}

/* Text that is longer than any number: what an element before has left is not taken for its end. */
static void text_that_is_too_long(void **state)
{
    (void)state;
    splat_error error;
    splat_dataset d;
    splat_scene_options options = options_of("capture");
    char text[8192], spaces[5000];
    if (is_built_without()) return;
    make_png("capture/a.png", 36, 24);
    memset(spaces, ' ', sizeof spaces);
    snprintf(text, sizeof text, CHUNK(SENSOR("frame", SIZE, "<cx>1.5</cx><f>40\n%.*s7</f>"), GOOD_CAMERA),
             (int)sizeof spaces, spaces);
    fixture_text("capture/cameras.xml", text);
    assert_failure(open_dataset(&options, &d, &error), SPLAT_ERROR_FORMAT, &error, "more text in an element than");
}

static void open_damaged_export(const uint8_t *data, size_t size, bool is_prefix)
{
    (void)is_prefix;
    open_damaged("capture/cameras.xml", data, size);
}

static void damaged_exports_are_survived(void **state)
{
    (void)state;
    const char text[] = CHUNK(GOOD_SENSOR, GOOD_CAMERA);
    if (is_built_without()) return;
    make_png("capture/a.png", 36, 24);
    write_far_points("capture/points.ply", (double[3]){0, 0, 0}); /* no random ones, which take time */
    fixture_sweep((const uint8_t *)text, sizeof text - 1, open_damaged_export, 1000);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(exports_give_the_cameras), cmocka_unit_test(points_lie_beside),
        cmocka_unit_test(exports_that_are_wrong), cmocka_unit_test(text_that_is_too_long),
        cmocka_unit_test(damaged_exports_are_survived),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
