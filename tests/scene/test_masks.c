/* Masks of photos: which file belongs to which photo, what its bytes mean, and that a decoded photo holds nothing of
 * what its mask covers. */
#include "dataset_fixture.h"

#include "io/picture/image_read.h"
#include "io/picture/image_write.h"
#include "scene/dataset_open.h"
#include "scene/mask.h"
#include "scene/photo.h"
#include "scene/photo_undistort.h"

#define W 24
#define H 16

/* A scene of the named photos (up to 4), W x H, with an image in each. */
static void make_scene(const char *const *names, int n)
{
    char images[1024] = "";
    splat_error error;
    fixture_folder("s");
    fixture_folder("s/images");
    fixture_folder("s/sparse");
    fixture_folder("s/sparse/0");
    fixture_text("s/sparse/0/cameras.txt", "1 PINHOLE 24 16 20 20 12 8\n");
    for (int i = 0; i < n; i++) {
        char path[256];
        snprintf(images + strlen(images), sizeof images - strlen(images), "%d 1 0 0 0 %d 0 0 1 %s\n\n", i + 1, i,
                 names[i]);
        snprintf(path, sizeof path, "s/images/%s", names[i]);
        ASSERT_OK(splat_folder_create_for(path, &error));
        make_png(path, W, H);
    }
    fixture_text("s/sparse/0/images.txt", images);
    fixture_text("s/sparse/0/points3D.txt", "1 0 0 3 1 2 3 0\n2 1 0 3 1 2 3 0\n");
}

static void write_gray(const char *path, int width, int height, uint8_t value)
{
    splat_error error;
    uint8_t *pixels = malloc((size_t)width * (size_t)height);
    memset(pixels, value, (size_t)width * (size_t)height);
    ASSERT_OK(splat_folder_create_for(path, &error));
    ASSERT_OK(splat_png_write(path, width, height, 1, 8, pixels, &error));
    free(pixels);
}

static void every_custom_of_naming_is_found(void **state)
{
    (void)state;
    static const char *const names[] = {"a.b.png"};
    static const char *const masks[] = {
        "masks/a.b.png.png", "masks/a.b.png.mask.png", "masks/a.b.mask.png", "masks/a.b_mask.png", "masks/a.b.png",
        "mask/A.B.PNG.png",  "masks/a.B.Mask.PNG"};
    splat_error error;
    splat_dataset d;
    splat_scene_options options = options_of("s");
    for (size_t i = 0; i < sizeof masks / sizeof masks[0]; i++) {
        char path[64];
        make_scene(names, 1);
        snprintf(path, sizeof path, "s/%s", masks[i]);
        write_gray(path, W, H, 255);
        ASSERT_OK(open_dataset(&options, &d, &error));
        if (!d.views[0].mask_path) fail_msg("%s is not found", masks[i]);
        assert_string_equal(d.views[0].mask_path, path);
        assert_true(d.views[0].has_mask && d.n_masked == 1);
        assert_non_null(strstr(log_text, "masks: 1 of 1 photos"));
        splat_dataset_free(&d);
        options.masks = "none";
        ASSERT_OK(open_dataset(&options, &d, &error));
        assert_true(!d.views[0].has_mask && d.n_masked == 0);
        splat_dataset_free(&d);
        options.masks = NULL;
    }
}

static void the_order_of_names_and_folders(void **state)
{
    (void)state;
    static const char *const names[] = {"x/a.png", "y/a.png", "z.png"};
    splat_error error;
    splat_dataset d;
    splat_scene_options options = options_of("s");
    make_scene(names, 3);
    write_gray("s/masks/x/a.png", W, H, 255);
    write_gray("s/masks/x/a.png.png", W, H, 255); /* before the plain name */
    write_gray("s/masks/Y/a_mask.png", W, H, 255);
    write_gray("s/masks/a.png", W, H, 255); /* of no photo */
    write_gray("s/mask/z.png", W, H, 255);  /* masks comes first */
    ASSERT_OK(open_dataset(&options, &d, &error));
    assert_string_equal(d.views[0].mask_path, "s/masks/x/a.png.png");
    assert_string_equal(d.views[1].mask_path, "s/masks/Y/a_mask.png");
    assert_null(d.views[2].mask_path);
    assert_non_null(strstr(log_text, "masks: 2 of 3 photos"));
    splat_dataset_free(&d);
    options.masks = "mask";
    ASSERT_OK(open_dataset(&options, &d, &error));
    assert_null(d.views[0].mask_path);
    assert_string_equal(d.views[2].mask_path, "s/mask/z.png");
    splat_dataset_free(&d);
    options.masks = "images"; /* masks in the photos' folder, which are no masks of themselves */
    write_gray("s/images/z_mask.png", W, H, 255);
    ASSERT_OK(open_dataset(&options, &d, &error));
    assert_null(d.views[0].mask_path);
    assert_string_equal(d.views[2].mask_path, "s/images/z_mask.png");
    splat_dataset_free(&d);
}

static void transforms_name_masks(void **state)
{
    (void)state;
    splat_error error;
    splat_dataset d;
    splat_scene_options options = options_of("j");
    fixture_folder("j");
    write_gray("j/images/a.png", W, H, 9);
    write_gray("j/images/b.png", W, H, 9);
    write_gray("j/images/c.png", W, H, 9);
    write_gray("j/elsewhere/m.png", W, H, 255);
    write_gray("j/masks/b.png", W, H, 255);
    write_gray("j/masks/images/c.png", W, H, 255);
#define FRAME(name, more, x)                                                                                           \
    "{\"file_path\": \"images/" name "\"," more "\"transform_matrix\": [[1,0,0," x "],[0,1,0,0],[0,0,1,0],[0,0,0,1]]}"
#define HEAD "{\"fl_x\": 20, \"fl_y\": 20, \"frames\": ["
    fixture_text("j/transforms.json", HEAD FRAME("a.png", "\"mask_path\": \"./elsewhere/m.png\",", "0") ","
                 FRAME("b.png", "", "1") "," FRAME("c.png", "", "2") "]}");
    ASSERT_OK(open_dataset(&options, &d, &error));
    assert_string_equal(d.views[0].mask_path, "j/elsewhere/m.png");
    assert_string_equal(d.views[1].mask_path, "j/masks/b.png");
    assert_string_equal(d.views[2].mask_path, "j/masks/images/c.png");
    splat_dataset_free(&d);
    fixture_text("j/transforms.json", HEAD FRAME("a.png", "\"mask_path\": \"gone.png\",", "0") "]}");
    assert_failure(open_dataset(&options, &d, &error), SPLAT_ERROR_IO, &error, "the mask that transforms.json names");
    fixture_text("j/transforms.json", HEAD FRAME("a.png", "\"mask_path\": \"../m.png\",", "0") "]}");
    assert_failure(open_dataset(&options, &d, &error), SPLAT_ERROR_FORMAT, &error, "leaves the scene's folder");
}

static void hostile_masks_are_refused(void **state)
{
    (void)state;
    static const char *const names[] = {"a.png", "b.png"};
    splat_error error;
    splat_dataset d;
    splat_scene_options options = options_of("s");
    make_scene(names, 2);
    options.masks = "absent";
    assert_failure(open_dataset(&options, &d, &error), SPLAT_ERROR_IO, &error,
                   "the folder of the masks does not exist");
    options.masks = NULL;
    fixture_folder("s/masks");
    assert_failure(open_dataset(&options, &d, &error), SPLAT_ERROR_FORMAT, &error, "the folder of the masks is empty");
    write_gray("s/masks/other.png", W, H, 255);
    assert_failure(open_dataset(&options, &d, &error), SPLAT_ERROR_FORMAT, &error, "the first file is \"other.png\"");
    write_gray("s/masks/b.png", W, W, 255);
    assert_failure(open_dataset(&options, &d, &error), SPLAT_ERROR_FORMAT, &error,
                   "24 x 24 pixels, and its photo 24 x 16");
    fixture_text("s/masks/b.png", "no picture");
    assert_failure(open_dataset(&options, &d, &error), SPLAT_ERROR_UNSUPPORTED, &error, "masks/b.png");
    fixture_text("s/masks/b.png", "");
    assert_failure(open_dataset(&options, &d, &error), SPLAT_ERROR_UNSUPPORTED, &error, "masks/b.png");
    write_gray("s/masks/b.png", W, H, 0); /* inverted? */
    ASSERT_OK(open_dataset(&options, &d, &error));
    assert_non_null(strstr(log_text, "the masks keep 0.0 % of their photos (median); white keeps"));
    splat_dataset_free(&d);
    options.invert_masks = true;
    ASSERT_OK(open_dataset(&options, &d, &error));
    assert_null(strstr(log_text, "median"));
    splat_dataset_free(&d);
}

/* The value of the one pixel of a mask file of one pixel. */
static int read_one(int channels, int depth, const void *pixel, bool invert)
{
    splat_error error;
    splat_image mask;
    ASSERT_OK(splat_png_write("one.png", 1, 1, channels, depth, pixel, &error));
    ASSERT_OK(splat_mask_read("one.png", 1, 1, invert, &mask, &error));
    int value = mask.pixels[0];
    splat_image_free(&mask);
    return value;
}

static void channels_and_depths(void **state)
{
    (void)state;
    for (int v = 0; v < 256; v++) { /* gray stays what it is, and alpha of 255 is none */
        const uint8_t gray[] = {(uint8_t)v, (uint8_t)v, (uint8_t)v, 255};
        const uint16_t deep = (uint16_t)(v * 256 + 255 - v);
        assert_int_equal(read_one(1, 8, gray, false), v);
        assert_int_equal(read_one(3, 8, gray, false), v);
        assert_int_equal(read_one(4, 8, gray, false), v);
        assert_int_equal(read_one(1, 16, &deep, false), v);
        assert_int_equal(read_one(1, 8, gray, true), 255 - v);
    }
    assert_int_equal(read_one(4, 8, (const uint8_t[]){255, 255, 255, 7}, false), 7);
    assert_int_equal(read_one(3, 8, (const uint8_t[]){0, 255, 0}, false), 149); /* 0.587 x 255 */
}

static void masks_are_resized_by_area(void **state)
{
    (void)state;
    splat_error error;
    uint8_t *pixels = malloc(6);
    memcpy(pixels, (const uint8_t[]){0, 100, 200, 40, 80, 120}, 6);
    splat_image mask = {6, 1, 1, pixels};
    ASSERT_OK(splat_mask_resize(&mask, 4, 1, &error)); /* 1.5 pixels each */
    const uint8_t four[] = {33, 167, 53, 107};         /* (0 + 50) / 1.5, (50 + 200) / 1.5, ... */
    assert_memory_equal(mask.pixels, four, 4);
    ASSERT_OK(splat_mask_resize(&mask, 8, 2, &error)); /* each stands twice */
    for (int i = 0; i < 16; i++) assert_int_equal(mask.pixels[i], four[i % 8 / 2]);
    splat_image_free(&mask);
}

/* ---------------------------------------------------------------- decoded photos */

/* Noise: `outside` where the disc in the middle is not, else `inside`. */
static void write_noise(const char *path, int channels, uint32_t outside, uint32_t inside)
{
    uint8_t pixels[4 * W * H];
    splat_error error;
    for (int i = 0; i < W * H; i++) {
        int x = i % W - 12, y = i / W - 8;
        uint32_t seed = x * x + y * y < 25 ? inside : outside;
        for (int c = 0; c < channels; c++)
            pixels[channels * i + c] = (uint8_t)splat_random(seed, SPLAT_STREAM_TEST, (uint32_t)c, (uint64_t)i).x[0];
    }
    ASSERT_OK(splat_png_write(path, W, H, channels, 8, pixels, &error));
}

static void write_disc(const char *path)
{
    uint8_t pixels[W * H];
    splat_error error;
    for (int i = 0; i < W * H; i++) {
        int x = i % W - 12, y = i / W - 8;
        pixels[i] = x * x + y * y < 25 ? 0 : 255;
    }
    ASSERT_OK(splat_folder_create_for(path, &error));
    ASSERT_OK(splat_png_write(path, W, H, 1, 8, pixels, &error));
}

static uint8_t *load(const splat_scene_options *options, size_t *bytes)
{
    splat_error error;
    splat_dataset d;
    uint8_t *rgb;
    ASSERT_OK(open_dataset(options, &d, &error));
    ASSERT_OK(splat_photo_load(&d, 0, &rgb, &error));
    *bytes = splat_view_photo_bytes(&d.views[0]);
    splat_dataset_free(&d);
    return rgb;
}

/* As large, reduced, and undistorted: what lies under the mask is not in the result, and the rest is the photo. */
static void nothing_of_what_a_mask_covers_is_left(void **state)
{
    (void)state;
    static const char *const names[] = {"a.png"};
    splat_scene_options options = options_of("s");
    size_t bytes, other_bytes;
    for (int k = 0; k < 4; k++) {
        make_scene(names, 1);
        if (k >= 2) fixture_text("s/sparse/0/cameras.txt", "1 SIMPLE_RADIAL 24 16 20 12 8 -0.2\n");
        write_disc("s/masks/a.png");
        options.resolution = k % 2 ? 2 : 1;
        write_noise("s/images/a.png", 3, 1, 2);
        uint8_t *first = load(&options, &bytes);
        write_noise("s/images/a.png", 3, 1, 3);
        uint8_t *second = load(&options, &other_bytes);
        write_noise("s/images/a.png", 3, 4, 3);
        uint8_t *third = load(&options, &other_bytes);
        assert_int_equal(bytes, other_bytes);
        assert_memory_equal(first, second, bytes);
        assert_memory_not_equal(first, third, bytes);
        size_t n = bytes / 4, n_kept = 0;
        for (size_t i = 0; i < n; i++) {
            assert_true(first[3 * n + i] == 0 || first[3 * n + i] == 255);
            n_kept += first[3 * n + i] == 255;
        }
        assert_true(n_kept > n / 2 && n_kept < n);
        if (k == 0) { /* the kept pixels are the file's */
            splat_image file;
            splat_error error;
            write_noise("s/images/a.png", 3, 1, 2);
            ASSERT_OK(splat_image_read("s/images/a.png", &file, &error));
            for (size_t i = 0; i < n; i++)
                if (first[3 * n + i]) assert_memory_equal(first + 3 * i, file.pixels + 3 * i, 3);
            splat_image_free(&file);
        }
        free(first);
        free(second);
        free(third);
    }
}

static void a_white_mask_leaves_the_photo(void **state)
{
    (void)state;
    static const char *const names[] = {"a.png"};
    splat_scene_options options = options_of("s");
    size_t bytes, plain_bytes;
    for (int k = 0; k < 4; k++) {
        make_scene(names, 1);
        if (k >= 2) fixture_text("s/sparse/0/cameras.txt", "1 SIMPLE_RADIAL 24 16 20 12 8 -0.2\n");
        write_noise("s/images/a.png", 3, 1, 2);
        write_gray("s/masks/a.png", W / 2, H / 2, 255);
        options.resolution = k % 2 ? 2 : 1;
        options.masks = "none";
        uint8_t *plain = load(&options, &plain_bytes);
        options.masks = NULL;
        uint8_t *masked = load(&options, &bytes);
        assert_int_equal(bytes, plain_bytes / 3 * 4);
        assert_memory_equal(plain, masked, plain_bytes);
        for (size_t i = plain_bytes; i < bytes; i++) assert_int_equal(masked[i], 255);
        free(plain);
        free(masked);
    }
}

/* A fill is smooth: of one colour where all around it has one, and between those of its sides. */
static void fills_are_smooth(void **state)
{
    (void)state;
    enum { SIDE = 37 };
    uint8_t rgb[3 * SIDE * SIDE], known[SIDE * SIDE];
    splat_error error;
    splat_image photo = {SIDE, SIDE, 3, rgb}, mask = {SIDE, SIDE, 1, known};
    for (int i = 0; i < SIDE * SIDE; i++) {
        int x = i % SIDE;
        known[i] = x > 8 && x < 28 ? 0 : 255;
        rgb[3 * i] = known[i] ? 77 : 255;
        rgb[3 * i + 1] = (uint8_t)(known[i] ? 4 * x : 255);
        rgb[3 * i + 2] = 0;
    }
    ASSERT_OK(splat_mask_fill(&mask, &photo, &error));
    for (int i = 0; i < SIDE * SIDE; i++) {
        int x = i % SIDE;
        assert_int_equal(rgb[3 * i], 77);
        if (known[i]) assert_int_equal(rgb[3 * i + 1], 4 * x);
        assert_true(known[i] || (rgb[3 * i + 1] >= 4 && rgb[3 * i + 1] <= 4 * 36));
        if (!known[i]) assert_in_range(abs(rgb[3 * i + 1] - rgb[3 * i - 2]), 0, 30);
    }
    memset(known, 0, sizeof known);
    ASSERT_OK(splat_mask_fill(&mask, &photo, &error));
    for (size_t i = 0; i < sizeof rgb; i++) assert_int_equal(rgb[i], 0);
}

/* COLMAP's frame is filled, but for corners that a lens does not see because it folds over before them. */
static void what_undistortion_leaves_blank_is_masked(void **state)
{
    (void)state;
    static const char *const names[] = {"a.png"};
    splat_scene_options options = options_of("s");
    splat_lens_frame frame;
    splat_lens lens = {.model = SPLAT_LENS_RADIAL, .width = 240, .height = 160, .fx = 200, .fy = 200,
                       .cx = 120, .cy = 80, .coefficients = {0.4, 0.1}};
    double degrees;
    size_t bytes;
    splat_lens_prepare(&lens);
    assert_true(splat_lens_undistorted_frame(&lens, 0, 70, &frame, &degrees));
    assert_false(splat_photo_leaves_blank(&lens, &frame, 240, 160));
    assert_true(splat_lens_undistorted_frame(&lens, 1, 70, &frame, &degrees));
    assert_true(splat_photo_leaves_blank(&lens, &frame, 240, 160));
    make_scene(names, 1);
    make_png("s/images/a.png", 240, 160);
    fixture_text("s/sparse/0/cameras.txt", "1 SIMPLE_RADIAL 240 160 220 120 80 -0.5\n");
    uint8_t *photo = load(&options, &bytes);
    size_t n = bytes / 4, n_blank = 0;
    if (bytes % 4 == 0)
        for (size_t i = 0; i < n; i++) n_blank += photo[3 * n + i] == 0;
    print_message("%zu of %zu pixels are blank\n", n_blank, n);
    assert_true(n_blank > 0 && n_blank < n / 2);
    free(photo);
}

/* Photos with alpha are composited as ever, and their alpha is a mask where it is asked for. */
static void alpha_of_photos(void **state)
{
    (void)state;
    static const char *const names[] = {"a.png"};
    splat_scene_options options = options_of("s");
    size_t plain_bytes, bytes;
    make_scene(names, 1);
    write_noise("s/images/a.png", 4, 1, 2);
    uint8_t *plain = load(&options, &plain_bytes);
    assert_int_equal(plain_bytes, 3 * W * H);
    options.mask_mode = SPLAT_MASKS_ALPHA;
    uint8_t *soft = load(&options, &bytes);
    assert_int_equal(bytes, 4 * W * H);
    assert_memory_equal(soft, plain, plain_bytes);
    options.mask_mode = SPLAT_MASKS_SEGMENT;
    uint8_t *hard = load(&options, &bytes);
    assert_int_equal(bytes, 4 * W * H);
    splat_image file;
    splat_error error;
    ASSERT_OK(splat_image_read("s/images/a.png", &file, &error));
    for (int i = 0; i < W * H; i++) {
        int alpha = file.pixels[4 * i + 3];
        assert_int_equal(soft[3 * W * H + i], alpha);
        assert_int_equal(hard[3 * W * H + i], alpha >= 128 ? 255 : 0);
        if (alpha >= 128) assert_memory_equal(hard + 3 * i, plain + 3 * i, 3);
    }
    splat_image_free(&file);
    free(plain);
    free(soft);
    free(hard);
}

/* Which points are left of a model whose tracks are known: their x, in their order. */
static void expect_points(const splat_scene_options *options, const float *x, size_t n)
{
    splat_error error;
    splat_dataset d;
    ASSERT_OK(open_dataset(options, &d, &error));
    assert_int_equal(d.n_points, n);
    for (size_t i = 0; i < n; i++)
        if (d.points[i].position[0] != x[i]) fail_msg("point %zu: %g", i, (double)d.points[i].position[0]);
    splat_dataset_free(&d);
}

/* Three cameras in a row, at x = 0, -1, -2: a point (x, 0, 4) lies at 20 (x + i)/4 + 12. The right halves of
 * the first two photos, from 12 on, are masked; the third has no mask. */
static void points_on_what_masks_cover_are_left_out(void **state)
{
    (void)state;
    static const char *const names[] = {"a.png", "b.png", "c.png"};
    static const float all[] = {0.4f, -1.6f, -0.8f, -0.4f, 0.45f, 0.35f}, kept[] = {-1.6f, -0.8f, -0.4f, 0.45f};
    splat_error error;
    splat_dataset d;
    uint8_t half[W * H];
    splat_scene_options options = options_of("s");
    make_scene(names, 3);
    fixture_text("s/sparse/0/points3D.txt", "1 0.4 0 4 1 2 3 1 1 0 2 0\n"     /* both hide it */
                                            "2 -1.6 0 4 1 2 3 1 1 0 2 0\n"    /* none does */
                                            "3 -0.8 0 4 1 2 3 1 1 0 2 0\n"    /* one of two: no more than half */
                                            "4 -0.4 0 4 1 2 3 1 1 0 2 0 3 0\n" /* one of three */
                                            "5 0.45 0 4 1 2 3 1\n"            /* no track */
                                            "6 0.35 0 4 1 2 3 1 1 0 2 0 3 0 99 0\n"); /* two of four: stays */
    for (int i = 0; i < W * H; i++) half[i] = i % W < W / 2 ? 255 : 0;
    ASSERT_OK(splat_folder_create("s/masks", &error));
    ASSERT_OK(splat_png_write("s/masks/a.png.png", W, H, 1, 8, half, &error));
    ASSERT_OK(splat_png_write("s/masks/b.png.png", W, H, 1, 8, half, &error));
    static const float five[] = {-1.6f, -0.8f, -0.4f, 0.45f, 0.35f};
    expect_points(&options, five, 5);
    assert_non_null(strstr(log_text, "masks: 1 of 6 points are left out"));
    fixture_text("s/sparse/0/points3D.txt", "1 0.4 0 4 1 2 3 1 1 0 2 0\n2 -1.6 0 4 1 2 3 1 1 0 2 0\n"
                                            "3 -0.8 0 4 1 2 3 1 1 0 2 0\n4 -0.4 0 4 1 2 3 1 1 0 2 0 3 0\n"
                                            "5 0.45 0 4 1 2 3 1\n6 0.35 0 4 1 2 3 1 1 0 2 0 3 0\n");
    expect_points(&options, kept, 4);
    options.invert_masks = true; /* the left halves: of the second both */
    static const float inverted[] = {0.4f, -0.8f, -0.4f, 0.45f, 0.35f};
    expect_points(&options, inverted, 5);
    options.invert_masks = false;
    options.mask_mode = SPLAT_MASKS_SEGMENT;
    expect_points(&options, all, 6);
    options.mask_mode = SPLAT_MASKS_IGNORE;
    options.masks = "none";
    expect_points(&options, all, 6);
    options.masks = NULL; /* where none would be left, all are */
    fixture_text("s/sparse/0/points3D.txt", "1 0.4 0 4 1 2 3 1 1 0 2 0\n2 0.35 0 4 1 2 3 1 1 0 2 0\n");
    ASSERT_OK(open_dataset(&options, &d, &error));
    assert_int_equal(d.n_points, 2);
    splat_dataset_free(&d);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_custom_of_naming_is_found),
        cmocka_unit_test(the_order_of_names_and_folders),
        cmocka_unit_test(transforms_name_masks),
        cmocka_unit_test(hostile_masks_are_refused),
        cmocka_unit_test(channels_and_depths),
        cmocka_unit_test(masks_are_resized_by_area),
        cmocka_unit_test(nothing_of_what_a_mask_covers_is_left),
        cmocka_unit_test(a_white_mask_leaves_the_photo),
        cmocka_unit_test(fills_are_smooth),
        cmocka_unit_test(what_undistortion_leaves_blank_is_masked),
        cmocka_unit_test(alpha_of_photos),
        cmocka_unit_test(points_on_what_masks_cover_are_left_out),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
