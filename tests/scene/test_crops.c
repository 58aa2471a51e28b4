/* Wide photos as crops: their pictures against what the cameras of the crops see, names, split, masks, the cache that
 * decodes a photo once, and the options that choose. */
#include "dataset_fixture.h"
#include "failing_malloc.h"

#include "io/picture/image_read.h"
#include "io/picture/image_write.h"
#include "math/camera.h"
#include "sample/sample_scene.h"
#include "scene/dataset_open.h"
#include "scene/image_cache.h"
#include "scene/mask.h"
#include "scene/photo.h"
#include "scene/photo_undistort.h"

#define N_PHOTOS 6
#define PI 3.14159265358979323846

/* The scene in a direction of the world, in [0,255]. */
static double scenery(const double d[3], int channel)
{
    return 127.5 + 70 * sin(5 * d[0] + channel) * cos(4 * d[1] - channel) + 50 * sin(3 * d[2] + 2 * d[0]);
}

static void photograph(const char *path, const splat_lens *lens, int width, int height)
{
    uint8_t *pixels = malloc((size_t)width * (size_t)height * 3);
    splat_error error;
    for (int y = 0; y < height; y++)
        for (int x = 0; x < width; x++) {
            const double pixel[2] = {(x + 0.5) * lens->width / width, (y + 0.5) * lens->height / height};
            double ray[3] = {0};
            bool is_seen = splat_lens_unproject(lens, pixel, ray);
            for (int c = 0; c < 3; c++)
                pixels[3 * (y * width + x) + c] = is_seen ? (uint8_t)(scenery(ray, c) + 0.5) : 0;
        }
    ASSERT_OK(splat_png_write(path, width, height, 3, 8, pixels, &error));
    free(pixels);
}

/* Photos 0.png to 5.png, half as large as their camera, at six places, all turned as the world is. */
static void make_scene(splat_lens_model model, int width, int height, const double *parameters)
{
    splat_lens lens = {.width = width, .height = height};
    char line[512], images[1024] = "", path[64];
    int length = sprintf(line, "1 %s %d %d", splat_lens_form_get(model)->name, width, height);
    splat_lens_set(&lens, model, parameters);
    fixture_folder("s");
    fixture_folder("s/images");
    fixture_folder("s/sparse");
    fixture_folder("s/sparse/0");
    for (int k = 0; k < splat_lens_n_parameters(splat_lens_form_get(model)); k++)
        length += sprintf(line + length, " %.17g", parameters[k]);
    fixture_text("s/sparse/0/cameras.txt", line);
    for (int i = 0; i < N_PHOTOS; i++) {
        sprintf(images + strlen(images), "%d 1 0 0 0 %d 0 0 1 %d.png\n\n", i + 1, i, i);
        sprintf(path, "s/images/%d.png", i);
        photograph(path, &lens, width / 2, height / 2);
    }
    fixture_text("s/sparse/0/images.txt", images);
    fixture_text("s/sparse/0/points3D.txt", "1 0 0 3 1 2 3 0\n2 1 0 3 1 2 3 0\n");
}

static const double panorama[2] = {800, 400}, fisheye[4] = {250, 250, 400, 400}; /* 92 degrees to the sides */

static void make_panoramas(void)
{
    make_scene(SPLAT_LENS_EQUIRECTANGULAR, 800, 400, panorama);
}

static void make_fisheyes(void)
{
    make_scene(SPLAT_LENS_FISHEYE, 800, 800, fisheye);
}

/* ---------------------------------------------------------------- pictures */

/* Root mean square and largest difference of what is kept to what the view's camera sees. */
static void compare(const splat_dataset_view *view, const uint8_t *photo, double *rms, double *largest, double *kept)
{
    const splat_camera *c = &view->camera;
    const uint8_t *mask = splat_view_mask(view, photo);
    double sum = 0;
    long n = 0;
    *largest = 0;
    for (int y = 0; y < c->height; y++)
        for (int x = 0; x < c->width; x++) {
            size_t pixel = (size_t)y * (size_t)c->width + (size_t)x;
            if (mask && !mask[pixel]) continue;
            const double at[2] = {(x + 0.5 - (double)c->cx) / (double)c->fx,
                                  (y + 0.5 - (double)c->cy) / (double)c->fy};
            double d[3], length = sqrt(at[0] * at[0] + at[1] * at[1] + 1);
            for (int k = 0; k < 3; k++) /* rows of the rotation are the camera's axes in the world */
                d[k] = (c->rotation[k] * at[0] + c->rotation[3 + k] * at[1] + c->rotation[6 + k]) / length;
            n++;
            for (int channel = 0; channel < 3; channel++) {
                double difference = fabs(photo[3 * pixel + (size_t)channel] - scenery(d, channel));
                sum += difference * difference;
                *largest = fmax(*largest, difference);
            }
        }
    *rms = sqrt(sum / (3.0 * (double)n));
    *kept = (double)n / (double)splat_camera_pixels(c);
}

/* Through the seam behind a panorama, its poles, the rim of a fisheye; at the size of the crops and half of it. */
static void crops_are_what_their_cameras_see(void **state)
{
    (void)state;
    splat_error error;
    splat_dataset d;
    splat_scene_options options = options_of("s");
    for (int is_fisheye = 0; is_fisheye <= 1; is_fisheye++) {
        if (is_fisheye) make_fisheyes(); else make_panoramas();
        for (int divisor = 1; divisor <= 2; divisor++) {
            int n_crops = is_fisheye ? 5 : 6;
            options.resolution = divisor;
            ASSERT_OK(open_dataset(&options, &d, &error));
            assert_int_equal(d.n_photos, N_PHOTOS);
            assert_int_equal(d.n_views, N_PHOTOS * n_crops);
            for (int i = 0; i < n_crops; i++) {
                const splat_dataset_view *view = &d.views[2 * n_crops + i];
                double rms, largest, kept;
                uint8_t *photo;
                ASSERT_OK(splat_photo_load(&d, (size_t)(2 * n_crops + i), &photo, &error));
                compare(view, photo, &rms, &largest, &kept);
                free(photo);
                /* 0.29 is rounding to bytes; interpolation adds the rest, most at the border, which goes on a pixel */
                if (!(rms < 0.7 && largest < 6)) fail_msg("fisheye %d, crop %d: rms %g, largest %g", is_fisheye, i, rms,
                                                          largest);
                assert_true(kept > (is_fisheye && i ? 0.5 : 0.999));
                assert_true(view->has_mask == (is_fisheye && i > 0));
                assert_float_equal(view->camera.center[0], -2, 1e-5); /* all at the photo's place */
                assert_float_equal(view->camera.center[1], 0, 1e-5);
            }
            splat_dataset_free(&d);
        }
    }
}

/* The last column is the neighbour of the first: between them lies their mean. */
static void panoramas_have_no_seam(void **state)
{
    (void)state;
    splat_lens lens = {.width = 400, .height = 200};
    splat_lens_crop crops[SPLAT_LENS_CROPS];
    splat_error error;
    splat_image photo = {400, 200, 3, malloc(400 * 200 * 3)}, cut;
    for (int i = 0; i < 400 * 200; i++)
        memset(photo.pixels + 3 * i, i % 400 == 0 ? 0 : i % 400 == 399 ? 250 : 60, 3);
    splat_lens_set(&lens, SPLAT_LENS_EQUIRECTANGULAR, (const double[]){400, 200});
    assert_int_equal(splat_lens_make_crops(&lens, crops), 6);
    const splat_lens_frame *f = &crops[5].frame;
    assert_int_equal(f->width % 2, 1); /* the middle of a pixel looks back */
    /* the pixel to the left is between the last column and the one before; the cubic has -1, 9, 9, -1 sixteenths */
    static const int expected[2][3] = {{155, 125, 30}, {171, 133, 14}};
    for (int sharp = 0; sharp <= 1; sharp++) {
        ASSERT_OK(splat_photo_undistort(&lens, f, crops[5].turn, f->width, f->height, sharp, &photo, &cut, &error));
        const uint8_t *middle = cut.pixels + 3 * (f->height / 2 * f->width + f->width / 2);
        for (int k = 0; k < 3; k++) assert_in_range(middle[3 * k - 3], expected[sharp][k] - 3, expected[sharp][k] + 3);
        splat_image_free(&cut);
    }
    splat_image_free(&photo);
}

/* Bilinear ones are softer than their photo. */
static void crops_are_cubic(void **state)
{
    (void)state;
    splat_error error;
    splat_dataset d;
    splat_scene_options options = options_of("s");
    make_panoramas();
    ASSERT_OK(open_dataset(&options, &d, &error));
    for (size_t i = 0; i < 6; i++) {
        const splat_dataset_view *view = &d.views[i];
        uint8_t *loaded;
        splat_image photo, cut[2];
        ASSERT_OK(splat_photo_load(&d, i, &loaded, &error));
        ASSERT_OK(splat_image_read(view->path, &photo, &error));
        for (int sharp = 0; sharp <= 1; sharp++)
            ASSERT_OK(splat_photo_undistort(&view->lens, &view->frame, view->turn, view->camera.width,
                                            view->camera.height, sharp, &photo, &cut[sharp], &error));
        assert_memory_equal(loaded, cut[1].pixels, splat_view_photo_bytes(view));
        /* the scenery tells them apart */
        assert_true(memcmp(loaded, cut[0].pixels, splat_view_photo_bytes(view)) != 0);
        free(loaded);
        splat_image_free(&photo);
        for (int sharp = 0; sharp <= 1; sharp++) splat_image_free(&cut[sharp]);
    }
    splat_dataset_free(&d);
}

/* ---------------------------------------------------------------- names and sides */

static void crops_have_names(void **state)
{
    (void)state;
    splat_error error;
    splat_dataset d;
    splat_scene_options options = options_of("s");
    make_panoramas();
    ASSERT_OK(open_dataset(&options, &d, &error));
    assert_non_null(strstr(log_text, "cutting 6 wide photos of 1 camera (EQUIRECTANGULAR, 800 x 400) into 36 views, "
                                     "the first of 273 x 273 pixels; a step trains on one view"));
    for (size_t i = 0; i < d.n_views; i++) {
        char name[32];
        snprintf(name, sizeof name, "%zu.png#%zu", i / 6, i % 6);
        assert_string_equal(d.views[i].name, name);
        assert_memory_equal(d.views[i].photo_name, name, 5);
        assert_int_equal(strlen(d.views[i].photo_name), 5);
        assert_int_equal(d.views[i].photo, i / 6);
    }
    splat_dataset_free(&d);
}

/* Rules choose photos, and lists name them. */
static void crops_are_on_the_side_of_their_photo(void **state)
{
    (void)state;
    splat_error error;
    splat_dataset d;
    splat_scene_options options = options_of("s");
    make_panoramas();
    options.eval = true;
    options.llffhold = 4;
    expect_split(&options, "0 1 2 3 4 5 24 25 26 27 28 29");
    options.test_camera_count = 2;
    expect_split(&options, "0 1 2 3 4 5 30 31 32 33 34 35");
    fixture_text("s/list_test.txt", "3\n");
    expect_split(&options, "18 19 20 21 22 23");
    write_split("\"0.png\", \"1.png\", \"2.png\", \"4.png\"", "\"5.png\"");
    options.split_file = "model/split.json";
    ASSERT_OK(open_dataset(&options, &d, &error));
    assert_int_equal(d.n_train, 24);
    assert_int_equal(d.n_test, 6);
    assert_non_null(strstr(log_text, "1 photo is not in model/split.json"));
    splat_dataset_free(&d);
}

/* ---------------------------------------------------------------- masks */

/* The tripod below a panorama: black in the lowest quarter. */
static void masks_are_cut_with_their_photos(void **state)
{
    (void)state;
    splat_error error;
    splat_dataset d;
    splat_scene_options options = options_of("s");
    make_panoramas();
    fixture_folder("s/masks");
    uint8_t *mask = malloc(400 * 200);
    memset(mask, 255, 400 * 150);
    memset(mask + 400 * 150, 0, 400 * 50);
    ASSERT_OK(splat_png_write("s/masks/1.png", 400, 200, 1, 8, mask, &error));
    free(mask);
    ASSERT_OK(open_dataset(&options, &d, &error));
    assert_non_null(strstr(log_text, "masks: 1 of 6 photos"));
    assert_int_equal(d.n_masked, 6);
    /* of the sides but a strip; below, all around the disc of 45 degrees in the square of 47 */
    static const double shares[6] = {0.98, 0.98, 0.98, 0.317, 1, 0.98};
    for (size_t i = 0; i < 6; i++) {
        uint8_t *photo;
        ASSERT_OK(splat_photo_load(&d, 6 + i, &photo, &error));
        const splat_dataset_view *view = &d.views[6 + i];
        double kept = splat_mask_share(splat_view_mask(view, photo), splat_camera_pixels(&view->camera));
        assert_float_equal(kept, shares[i], 0.02);
        free(photo);
    }
    splat_dataset_free(&d);
}

/* ---------------------------------------------------------------- the cache */

static splat_host_memory host_memory;

static void use(splat_image_cache *cache, const splat_dataset *d, size_t view)
{
    const uint8_t *rgb;
    uint8_t *expected;
    splat_error error;
    ASSERT_OK(splat_image_cache_acquire(cache, view, &rgb, &error));
    ASSERT_OK(splat_photo_load(d, view, &expected, &error));
    assert_memory_equal(rgb, expected, splat_view_photo_bytes(&d->views[view]));
    free(expected);
    splat_image_cache_release(cache, view);
}

static void a_photo_is_decoded_once(void **state)
{
    (void)state;
    splat_error error;
    splat_dataset d;
    splat_image_cache *cache;
    splat_image_cache_info info;
    splat_scene_options options = options_of("s");
    make_panoramas();
    ASSERT_OK(open_dataset(&options, &d, &error));
    size_t bytes = splat_view_photo_bytes(&d.views[0]);
    ASSERT_OK(splat_image_cache_create(&d, 8 * bytes, 0, &host_memory, &cache, &error));
    use(cache, &d, 2);
    splat_image_cache_get_info(cache, &info);
    assert_true(info.bytes == 6 * bytes && info.n_misses == 1);
    for (size_t i = 0; i < 6; i++) use(cache, &d, i);
    splat_image_cache_get_info(cache, &info);
    assert_true(info.n_misses == 1 && info.n_hits == 6);
    use(cache, &d, 7); /* room for two more: nothing goes for those that nobody has asked for */
    splat_image_cache_get_info(cache, &info);
    assert_true(info.bytes == 8 * bytes && info.n_evicted == 0 && info.n_misses == 2);
    use(cache, &d, 6);
    use(cache, &d, 8);
    splat_image_cache_get_info(cache, &info);
    assert_true(info.bytes == 8 * bytes && info.n_evicted == 1 && info.n_misses == 3);
    splat_image_cache_destroy(cache);
    /* with workers, asked in any order; then a photo that is none any more */
    ASSERT_OK(splat_image_cache_create(&d, 100 * bytes, 2, &host_memory, &cache, &error));
    for (size_t i = 0; i < d.n_views; i++) splat_image_cache_prefetch(cache, (7 * i) % d.n_views);
    for (size_t i = 0; i < d.n_views; i++) use(cache, &d, (11 * i) % d.n_views);
    splat_image_cache_destroy(cache);
    assert_int_equal(rename("s/images/3.png", "good.png"), 0);
    fixture_text("s/images/3.png", "not a picture");
    ASSERT_OK(splat_image_cache_create(&d, 100 * bytes, 0, &host_memory, &cache, &error));
    const uint8_t *rgb;
    for (size_t i = 18; i < 24; i++)
        assert_true(splat_image_cache_acquire(cache, i, &rgb, &error) != SPLAT_OK && strstr(error.file, "3.png"));
    use(cache, &d, 17);
    splat_image_cache_get_info(cache, &info);
    assert_int_equal(info.bytes, 6 * bytes);
    assert_true(splat_image_cache_acquire(cache, 18, &rgb, &error) != SPLAT_OK);
    assert_int_equal(rename("good.png", "s/images/3.png"), 0); /* crops that nobody asked for have no error */
    for (size_t i = 19; i < 24; i++) use(cache, &d, i);
    splat_image_cache_destroy(cache);
    splat_dataset_free(&d);
}

/* Wherever memory is short once: the wanted crop is made alone. */
static void a_shortage_leaves_the_wanted_crop(void **state)
{
    (void)state;
    splat_error error;
    splat_dataset d;
    splat_image_cache *cache;
    splat_image_cache_info info;
    splat_scene_options options = options_of("s");
    uint8_t *expected;
    size_t n_alone = 0;
    bool reached = true;
    make_panoramas();
    ASSERT_OK(open_dataset(&options, &d, &error));
    size_t bytes = splat_view_photo_bytes(&d.views[0]);
    ASSERT_OK(splat_photo_load(&d, 2, &expected, &error));
    for (long k = 1; reached; k++) {
        const uint8_t *rgb;
        ASSERT_OK(splat_image_cache_create(&d, 100 * bytes, 0, &host_memory, &cache, &error));
        failing_malloc_arm(k, false);
        splat_status status = splat_image_cache_acquire(cache, 2, &rgb, &error);
        reached = failing_malloc_disarm();
        ASSERT_OK(status);
        assert_memory_equal(rgb, expected, bytes);
        splat_image_cache_get_info(cache, &info);
        n_alone += info.bytes == bytes;
        assert_true(info.bytes == bytes || info.bytes == 6 * bytes);
        splat_image_cache_destroy(cache);
    }
    assert_true(n_alone > 6);
    free(expected);
    splat_dataset_free(&d);
}

/* ---------------------------------------------------------------- options, other files */

static void options_choose(void **state)
{
    (void)state;
    splat_error error;
    splat_dataset d;
    splat_scene_options options = options_of("s");
    make_panoramas();
    options.undistort = SPLAT_UNDISTORT_OFF;
    assert_failure(open_dataset(&options, &d, &error), SPLAT_ERROR_ARGUMENT, &error, "is a panorama (EQUIRECTANGULAR)");
    make_fisheyes();
    ASSERT_OK(open_dataset(&options, &d, &error)); /* as they are */
    assert_true(d.n_views == N_PHOTOS && !d.views[0].is_distorted && d.views[0].full_fx == 250);
    splat_dataset_free(&d);
    options.undistort = SPLAT_UNDISTORT_ALL;
    options.fisheye_degrees = 100; /* one view, to 50 degrees */
    ASSERT_OK(open_dataset(&options, &d, &error));
    assert_true(d.n_views == N_PHOTOS && d.views[0].has_mask && d.views[0].n_crops == 1);
    assert_string_equal(d.views[0].name, "0.png#0");
    splat_dataset_free(&d);
    static const float wrong[] = {-1, 200.5f, NAN};
    for (int i = 0; i < 3; i++) {
        options.fisheye_degrees = wrong[i];
        assert_failure(open_dataset(&options, &d, &error), SPLAT_ERROR_ARGUMENT, &error, "fisheye_degrees");
    }
    options = options_of("s");
    options.undistort = (splat_undistort)7;
    assert_failure(open_dataset(&options, &d, &error), SPLAT_ERROR_ARGUMENT, &error, "undistort");
    /* narrow lenses: COLMAP's frames with and without blank pixels */
    static const double opencv[8] = {812.5, 809.25, 507.5, 371.25, -0.28, 0.09, 0.0011, -0.0007};
    static const struct { splat_undistort how; int width, height; bool is_masked; } frames[] = {
        {SPLAT_UNDISTORT_AUTO, 1126, 799, false}, {SPLAT_UNDISTORT_CROP, 1126, 799, false},
        {SPLAT_UNDISTORT_ALL, 1213, 912, true},   {SPLAT_UNDISTORT_OFF, 1000, 750, false}};
    make_scene(SPLAT_LENS_OPENCV, 1000, 750, opencv);
    for (size_t i = 0; i < 4; i++) {
        options.undistort = frames[i].how;
        ASSERT_OK(open_dataset(&options, &d, &error));
        assert_int_equal(d.views[0].full_width, frames[i].width);
        assert_int_equal(d.views[0].full_height, frames[i].height);
        assert_true(d.views[0].has_mask == frames[i].is_masked && d.views[0].n_crops == 0);
        splat_dataset_free(&d);
    }
}

/* The panoramas of Nerfstudio, whose focal lengths mean nothing; photos of both kinds in one scene. */
static void panoramas_of_transforms(void **state)
{
    (void)state;
    splat_error error;
    splat_dataset d;
    splat_scene_options options = options_of("t");
    make_panoramas();
    fixture_folder("t");
    fixture_folder("t/images");
    assert_int_equal(rename("s/images/0.png", "t/images/a.png"), 0);
    assert_int_equal(rename("s/images/1.png", "t/images/b.png"), 0);
    fixture_text("t/transforms.json",
                 "{\"frames\": [{\"file_path\": \"images/a.png\", \"camera_model\": \"EQUIRECTANGULAR\", "
                 "\"transform_matrix\": [[1,0,0,0],[0,-1,0,0],[0,0,-1,0],[0,0,0,1]]}, "
                 "{\"file_path\": \"images/b.png\", \"fl_x\": 400, "
                 "\"transform_matrix\": [[1,0,0,2],[0,-1,0,0],[0,0,-1,0],[0,0,0,1]]}]}");
    ASSERT_OK(open_dataset(&options, &d, &error));
    assert_int_equal(d.n_views, 7);
    assert_int_equal(d.n_photos, 2);
    assert_string_equal(d.views[5].name, "a.png#5");
    assert_string_equal(d.views[6].name, "b.png");
    assert_int_equal(d.views[6].photo, 1);
    for (size_t i = 0; i < 6; i++) { /* that matrix is a camera that stands as the world does */
        double rms, largest, kept;
        uint8_t *photo;
        ASSERT_OK(splat_photo_load(&d, i, &photo, &error));
        compare(&d.views[i], photo, &rms, &largest, &kept);
        free(photo);
        assert_true(rms < 0.7 && largest < 4);
    }
    splat_dataset_free(&d);
}

/* ---------------------------------------------------------------- the sample scene */

/* The ray tracer's panorama, cut, against its own pinhole camera of the same place, which looks along the same axis. */
static void samples_are_panoramas(void **state)
{
    (void)state;
    static const splat_sample_distortion kinds[] = {SPLAT_SAMPLE_DISTORTION_EQUIRECTANGULAR,
                                                    SPLAT_SAMPLE_DISTORTION_WIDE_FISHEYE};
    splat_error error;
    splat_dataset flat, d;
    splat_sample_options sample;
    splat_scene_options options = options_of("flat");
    splat_sample_options_init(&sample);
    sample.width = 120;
    sample.height = 90;
    sample.n_cameras = 3;
    sample.n_points = 50;
    sample.n_truth = 10;
    ASSERT_OK(splat_folder_delete("flat", &error));
    ASSERT_OK(splat_sample_scene_write("flat", &sample, 2, &error));
    ASSERT_OK(open_dataset(&options, &flat, &error));
    const splat_camera *truth = &flat.views[1].camera;
    uint8_t *expected, *rgb;
    ASSERT_OK(splat_photo_load(&flat, 1, &expected, &error));
    for (int kind = 0; kind < 2; kind++) {
        sample.distortion = kinds[kind];
        sample.width = kind ? 480 : 800;
        sample.height = kind ? 360 : 400;
        ASSERT_OK(splat_folder_delete("wide", &error));
        ASSERT_OK(splat_sample_scene_write("wide", &sample, 2, &error));
        options.source_path = "wide";
        ASSERT_OK(open_dataset(&options, &d, &error));
        size_t front = (size_t)d.views[0].n_crops;
        const splat_camera *c = &d.views[front].camera;
        for (int k = 0; k < 9; k++) assert_float_equal(c->rotation[k], truth->rotation[k], 1e-5);
        ASSERT_OK(splat_photo_load(&d, front, &rgb, &error));
        double sum = 0;
        long n = 0;
        for (int y = 0; y < c->height; y++)
            for (int x = 0; x < c->width; x++) { /* the finer picture of the pinhole, by the crop's rays */
                double u = (x + 0.5 - (double)c->cx) / (double)c->fx * (double)truth->fx + (double)truth->cx;
                double v = (y + 0.5 - (double)c->cy) / (double)c->fy * (double)truth->fy + (double)truth->cy;
                if (u < 0 || v < 0 || u >= truth->width || v >= truth->height) continue;
                for (int k = 0; k < 3; k++) {
                    double difference = (rgb[3 * (y * c->width + x) + k] -
                                         expected[3 * ((int)v * truth->width + (int)u) + k]) / 255.0;
                    sum += difference * difference;
                }
                n++;
            }
        double psnr = -10 * log10(sum / (3 * (double)n));
        print_message("%s: %.1f dB of %ld pixels\n", kind ? "wide_fisheye" : "equirectangular", psnr, n);
        assert_true(n > 1000 && psnr > 24);
        free(rgb);
        splat_dataset_free(&d);
    }
    free(expected);
    splat_dataset_free(&flat);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(crops_are_what_their_cameras_see), cmocka_unit_test(panoramas_have_no_seam),
        cmocka_unit_test(crops_are_cubic), cmocka_unit_test(crops_have_names),
        cmocka_unit_test(crops_are_on_the_side_of_their_photo), cmocka_unit_test(masks_are_cut_with_their_photos),
        cmocka_unit_test(a_photo_is_decoded_once), cmocka_unit_test(a_shortage_leaves_the_wanted_crop),
        cmocka_unit_test(options_choose),
        cmocka_unit_test(panoramas_of_transforms), cmocka_unit_test(samples_are_panoramas),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
