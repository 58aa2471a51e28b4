/* Undistortion: a picture seen through a lens comes back as the pinhole camera sees it, at every size, and scenes with
 * distorted cameras open with the camera that COLMAP's undistorter chooses. */
#include "dataset_fixture.h"

#include "io/picture/image_read.h"
#include "io/picture/image_write.h"
#include "sample/sample_scene.h"
#include "scene/dataset_open.h"
#include "scene/photo.h"
#include "scene/photo_undistort.h"

#include <math.h>

/* A smooth picture on the plane z = 1, in [0,255]. */
static double scenery(double x, double y, int channel)
{
    return 127.5 + 80 * sin(7 * x + channel) * cos(6 * y - channel) + 40 * sin(3 * (x + y));
}

/* The photo of it by a lens, in a file of another size than the camera's. */
static splat_image photograph(const splat_lens *lens, int width, int height)
{
    splat_image image = {width, height, 3, malloc((size_t)width * (size_t)height * 3)};
    for (int y = 0; y < height; y++)
        for (int x = 0; x < width; x++)
            for (int c = 0; c < 3; c++) {
                const double pixel[2] = {(x + 0.5) * lens->width / width, (y + 0.5) * lens->height / height};
                double ray[3] = {0, 0, 0};
                bool is_seen = splat_lens_unproject(lens, pixel, ray) && ray[2] > 0.05;
                double value = is_seen ? scenery(ray[0] / ray[2], ray[1] / ray[2], c) : 0;
                image.pixels[3 * (y * width + x) + c] = (uint8_t)(value + 0.5);
            }
    return image;
}

/* Root mean square and largest difference to what a pinhole camera sees. */
static void compare(const splat_image *image, const splat_lens_frame *frame, double *rms, double *largest)
{
    double sum = 0;
    *largest = 0;
    for (int y = 0; y < image->height; y++)
        for (int x = 0; x < image->width; x++)
            for (int c = 0; c < 3; c++) {
                double u = ((x + 0.5) * frame->width / image->width - frame->cx) / frame->fx;
                double v = ((y + 0.5) * frame->height / image->height - frame->cy) / frame->fy;
                double difference = fabs(image->pixels[3 * (y * image->width + x) + c] - scenery(u, v, c));
                sum += difference * difference;
                *largest = fmax(*largest, difference);
            }
    *rms = sqrt(sum / (3.0 * image->width * image->height));
}

static void undistort(const splat_lens *lens, const splat_lens_frame *frame, int width, int height, splat_image *image)
{
    splat_error error;
    splat_image result;
    ASSERT_OK(splat_photo_undistort(lens, frame, NULL, width, height, false, image, &result, &error));
    splat_image_free(image);
    *image = result;
}

static void pictures_come_back(void **state)
{
    (void)state;
    static const struct { splat_lens_model model; double parameters[8]; } cases[] = {
        {SPLAT_LENS_OPENCV, {325, 324, 203, 148, -0.28, 0.09, 0.0011, -0.0007}},
        {SPLAT_LENS_RADIAL, {280, 200, 150, 0.15, 0.02}},
        {SPLAT_LENS_FOV, {240, 242, 200, 150, 0.9}},
        {SPLAT_LENS_OPENCV_FISHEYE, {270, 271, 202, 148, 0.03, -0.01, 0.002, -0.0005}},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        splat_lens lens = {.width = 400, .height = 300};
        splat_lens_frame frame;
        splat_lens_set(&lens, cases[i].model, cases[i].parameters);
        assert_true(splat_lens_undistorted_frame(&lens, 0, 70, &frame, NULL));
        for (int scale = 1; scale <= 2; scale++) { /* the photo as large as its camera, and twice that */
            splat_image image = photograph(&lens, scale * 400, scale * 300);
            int width = (int)(0.8 * scale * frame.width), height = (int)(0.8 * scale * frame.height);
            undistort(&lens, &frame, width, height, &image);
            assert_true(image.width == width && image.height == height);
            double rms, largest;
            compare(&image, &frame, &rms, &largest);
            if (!(rms < 0.6 && largest < 3)) /* 0.29 is rounding to bytes; interpolation and the border add the rest */
                fail_msg("case %zu, scale %d: rms %g, largest %g", i, scale, rms, largest);
            splat_image_free(&image);
        }
    }
}

/* How far a turned crop is from the exact places in the photo, in pixels of the photo: a ramp tells its place. The
 * grid's own error is at most 0.05 along an axis at the sides of a cell, and rounding to bytes takes 0.5 / 6. */
static void crops_are_exact_to_a_fraction_of_a_pixel(void **state)
{
    (void)state;
    enum { SLOPE = 6, PERIOD = 40, WIDTH = 1200, HEIGHT = 600, SIDE = 256 };
    splat_error error;
    splat_lens lens = {.width = WIDTH, .height = HEIGHT};
    const splat_lens_frame frame = {SIDE, SIDE, SIDE / 2.0, SIDE / 2.0, SIDE / 2.0, SIDE / 2.0};
    const double c = sqrt(0.5), up[9] = {1, 0, 0, 0, c, c, 0, -c, c}; /* half way to a pole */
    splat_image image = {WIDTH, HEIGHT, 1, malloc((size_t)WIDTH * HEIGHT)}, crop;
    splat_lens_set(&lens, SPLAT_LENS_EQUIRECTANGULAR, (const double[]){WIDTH, HEIGHT});
    for (int i = 0; i < WIDTH * HEIGHT; i++) image.pixels[i] = (uint8_t)(SLOPE * (i % WIDTH % PERIOD));
    ASSERT_OK(splat_photo_undistort(&lens, &frame, up, SIDE, SIDE, false, &image, &crop, &error));
    double largest = 0;
    int n = 0;
    for (int y = 0; y < SIDE; y++)
        for (int x = 0; x < SIDE; x++) {
            const double at[3] = {(x + 0.5 - frame.cx) / frame.fx, (y + 0.5 - frame.cy) / frame.fy, 1};
            double ray[3], pixel[2];
            for (int k = 0; k < 3; k++) ray[k] = up[k] * at[0] + up[3 + k] * at[1] + up[6 + k] * at[2];
            assert_true(splat_lens_project(&lens, ray, pixel));
            double place = fmod(pixel[0] - 0.5, PERIOD);
            if (place < 1 || place > PERIOD - 2) continue; /* where the ramp begins again */
            largest = fmax(largest, fabs(crop.pixels[SIDE * y + x] / (double)SLOPE - place));
            n++;
        }
    assert_true(n > SIDE * SIDE / 2);
    if (!(largest < 0.05 + 0.1)) fail_msg("a pixel is off by %g", largest);
    splat_image_free(&image);
    splat_image_free(&crop);
}

/* Rays that the lens does not see are black, not mirrored content of the photo. */
static void folds_are_black(void **state)
{
    (void)state;
    splat_lens lens = {.width = 200, .height = 200};
    const splat_lens_frame frame = {200, 200, 100, 100, 100, 100};
    splat_lens_set(&lens, SPLAT_LENS_SIMPLE_RADIAL, (const double[]){100, 100, 100, -0.5});
    splat_image image = {200, 200, 3, malloc(200 * 200 * 3)};
    memset(image.pixels, 200, 200 * 200 * 3);
    undistort(&lens, &frame, 200, 200, &image);
    for (int y = 0; y < 200; y++)
        for (int x = 0; x < 200; x++) {
            double r = hypot(x + 0.5 - 100, y + 0.5 - 100) / 100;
            assert_int_equal(image.pixels[3 * (200 * y + x)], r < sqrt(2.0 / 3) ? 200 : 0);
        }
    splat_image_free(&image);
}

/* OPENCV; COLMAP 3.8 makes it 1126 x 799. */
static const double opencv[8] = {812.5, 809.25, 507.5, 371.25, -0.28, 0.09, 0.0011, -0.0007};

/* A scene of two photos, half as large as their camera of 1000 x height pixels. */
static void make_scene(splat_lens_model model, int height, const double *parameters)
{
    splat_lens lens = {.width = 1000, .height = height};
    char line[512];
    splat_error error;
    int length = sprintf(line, "1 %s 1000 %d", splat_lens_form_get(model)->name, height);
    splat_lens_set(&lens, model, parameters);
    fixture_folder("lens");
    fixture_folder("lens/images");
    fixture_folder("lens/sparse");
    fixture_folder("lens/sparse/0");
    for (int k = 0; k < splat_lens_n_parameters(splat_lens_form_get(model)); k++)
        length += sprintf(line + length, " %.17g", parameters[k]);
    fixture_text("lens/sparse/0/cameras.txt", line);
    fixture_text("lens/sparse/0/images.txt", "1 1 0 0 0 0 0 0 1 a.png\n\n2 1 0 0 0 1 0 0 1 b.png\n\n");
    fixture_text("lens/sparse/0/points3D.txt", "1 0 0 3 1 2 3 0\n2 1 0 3 1 2 3 0\n");
    splat_image image = photograph(&lens, 500, height / 2);
    ASSERT_OK(splat_png_write("lens/images/a.png", 500, height / 2, 3, 8, image.pixels, &error));
    ASSERT_OK(splat_png_write("lens/images/b.png", 500, height / 2, 3, 8, image.pixels, &error));
    splat_image_free(&image);
}

static void scenes_open_undistorted(void **state)
{
    (void)state;
    splat_error error;
    splat_dataset d;
    splat_scene_options options = options_of("lens");
    make_scene(SPLAT_LENS_OPENCV, 750, opencv);
    for (int divisor = 1; divisor <= 2; divisor++) {
        options.resolution = divisor;
        ASSERT_OK(open_dataset(&options, &d, &error));
        assert_non_null(strstr(log_text, "undistorting 2 photos of 1 camera (OPENCV, 1000 x 750 -> 1126 x 799)"));
        const splat_dataset_view *view = &d.views[0];
        assert_true(view->is_distorted && view->full_width == 1126 && view->full_height == 799);
        assert_true(view->full_fx == 812.5 && view->full_fy == 809.25);
        /* 1126 x 799 at half the camera's size is 563 x 400 (399.5) */
        assert_int_equal(view->camera.width, divisor == 1 ? 563 : 282);
        assert_int_equal(view->camera.height, divisor == 1 ? 400 : 200);
        assert_float_equal(view->camera.cx, 571.445 * view->camera.width / 1126, 1e-3);
        assert_float_equal(view->camera.fy, 809.25 * view->camera.height / 799, 1e-3);
        splat_image image = {view->camera.width, view->camera.height, 3, NULL};
        double rms, largest;
        ASSERT_OK(splat_photo_load(&d, 1, &image.pixels, &error));
        compare(&image, &view->frame, &rms, &largest);
        assert_true(rms < 0.6 && largest < 4);
        splat_image_free(&image);
        splat_dataset_free(&d);
    }
}

static void folded_lenses_are_refused(void **state)
{
    (void)state;
    splat_error error;
    splat_dataset d;
    splat_scene_options options = options_of("lens");
    make_scene(SPLAT_LENS_SIMPLE_RADIAL, 750, (const double[]){300, 500, 375, -0.5});
    assert_failure(open_dataset(&options, &d, &error), SPLAT_ERROR_UNSUPPORTED, &error, "folds over");
    make_scene(SPLAT_LENS_FISHEYE, 200, (const double[]){430, 430, 500, 100}); /* 68 degrees: cut at 61 */
    ASSERT_OK(open_dataset(&options, &d, &error));
    assert_int_equal(d.views[0].frame.width, 1548);
    assert_float_equal(d.views[0].frame.cx, 774, 1e-9);
    splat_dataset_free(&d);
}

static void write_sample(const char *folder, splat_sample_distortion distortion)
{
    splat_sample_options options;
    splat_error error;
    splat_sample_options_init(&options);
    options.width = 160;
    options.height = 120;
    options.n_cameras = 3;
    options.n_points = 50;
    options.n_truth = 10;
    options.distortion = distortion;
    ASSERT_OK(splat_folder_delete(folder, &error));
    ASSERT_OK(splat_sample_scene_write(folder, &options, 2, &error));
}

/* The PSNR over the common part of both pictures. */
static double psnr(const uint8_t *rgb, const splat_camera *camera, const uint8_t *other, const splat_camera *reference)
{
    double sum = 0;
    long n = 0;
    for (int y = 0; y < camera->height; y++)
        for (int x = 0; x < camera->width; x++) {
            float u = ((float)x + 0.5f - camera->cx) * reference->fx / camera->fx + reference->cx - 0.5f;
            float v = ((float)y + 0.5f - camera->cy) * reference->fy / camera->fy + reference->cy - 0.5f;
            if (u < 0 || v < 0 || u >= (float)(reference->width - 1) || v >= (float)(reference->height - 1)) continue;
            int x0 = (int)u, y0 = (int)v;
            float a = u - (float)x0, b = v - (float)y0;
            const uint8_t *p = other + 3 * (y0 * reference->width + x0), *q = p + 3 * reference->width;
            for (int c = 0; c < 3; c++) {
                float value = (1 - b) * ((1 - a) * p[c] + a * p[3 + c]) + b * ((1 - a) * q[c] + a * q[3 + c]);
                double difference = (rgb[3 * (y * camera->width + x) + c] - (double)value) / 255;
                sum += difference * difference;
                n++;
            }
        }
    assert_true(n > 3L * 120 * 90);
    return -10 * log10(sum / (double)n);
}

/* The pinhole camera's corners and the middles of its sides are in the lens's photo, and near a side of it: splats of
 * both are compared on the pinhole camera's photos. */
static void check_field(const splat_lens *lens, const splat_camera *pinhole)
{
    double least = lens->width;
    for (int i = 0; i < 9; i++) {
        const double ray[3] = {((i % 3) * 0.5 * pinhole->width - pinhole->cx) / pinhole->fx,
                               ((i / 3) * 0.5 * pinhole->height - pinhole->cy) / pinhole->fy, 1};
        double at[2];
        assert_true(splat_lens_project(lens, ray, at));
        double inside = fmin(fmin(at[0], lens->width - at[0]), fmin(at[1], lens->height - at[1]));
        assert_true(inside >= -1e-6);
        least = fmin(least, inside);
    }
    assert_true(least < 0.05 * lens->width);
}

/* The ray tracer looks through the lens, the reader through its inverse. */
static void samples_of_every_lens(void **state)
{
    (void)state;
    splat_error error;
    splat_dataset flat, d;
    splat_scene_options options = options_of("flat");
    uint8_t *expected, *rgb;
    write_sample("flat", SPLAT_SAMPLE_DISTORTION_NONE);
    ASSERT_OK(open_dataset(&options, &flat, &error));
    ASSERT_OK(splat_photo_load(&flat, 1, &expected, &error));
    options.source_path = "bent";
    for (int i = SPLAT_SAMPLE_DISTORTION_SIMPLE_RADIAL; i <= SPLAT_SAMPLE_DISTORTION_EUCM; i++) {
        write_sample("bent", (splat_sample_distortion)i);
        ASSERT_OK(open_dataset(&options, &d, &error));
        const splat_dataset_view *view = &d.views[1];
        assert_true(view->is_distorted && view->lens.model == SPLAT_LENS_SIMPLE_RADIAL + (unsigned)i - 1);
        check_field(&view->lens, &flat.views[1].camera);
        ASSERT_OK(splat_photo_load(&d, 1, &rgb, &error));
        double undistorted = psnr(rgb, &view->camera, expected, &flat.views[1].camera);
        free(rgb);
        splat_image raw;
        ASSERT_OK(splat_image_read(view->path, &raw, &error));
        splat_camera as_is = flat.views[1].camera;
        as_is.cx = (float)view->lens.cx;
        as_is.cy = (float)view->lens.cy;
        as_is.fx = (float)view->lens.fx;
        as_is.fy = (float)view->lens.fy;
        double distorted = psnr(raw.pixels, &as_is, expected, &flat.views[1].camera);
        splat_image_free(&raw);
        print_message("%s: %.1f dB, as it is %.1f dB\n", splat_lens_form_get((int)view->lens.model)->name, undistorted,
                      distorted);
        assert_true(undistorted > 30 && undistorted > distorted + 4);
        splat_dataset_free(&d);
    }
    free(expected);
    splat_dataset_free(&flat);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(pictures_come_back), cmocka_unit_test(folds_are_black),
        cmocka_unit_test(crops_are_exact_to_a_fraction_of_a_pixel),
        cmocka_unit_test(scenes_open_undistorted), cmocka_unit_test(folded_lenses_are_refused),
        cmocka_unit_test(samples_of_every_lens),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
