/* Photos that are deleted or cut off after their cameras were found: a few are left out, many are an error. */
#include "capture_fixture.h"
#include "dataset_fixture.h"
#include "io/picture/image_write.h"
#include "scene/dataset_open.h"

#include <unistd.h>

static splat_error error;
static splat_scene_options options;
static splat_dataset dataset;

/* A COLMAP scene of the photos p001.png to p020.png. */
static int begin(void **state)
{
    (void)state;
    splat_folder_delete("scene", NULL);
    make_photos("scene/images", 20);
    make_model("scene/sparse/0", 1, 20);
    options = options_of("scene");
    return 0;
}

static void expect_opened(size_t n_views, const char *words)
{
    ASSERT_OK(open_dataset(&options, &dataset, &error));
    assert_int_equal(dataset.n_views, n_views);
    if (!strstr(log_text, words)) fail_msg("\"%s\" is not in: %s", words, log_text);
    splat_dataset_free(&dataset);
}

static void a_tenth_may_be_absent(void **state)
{
    (void)state;
    expect_opened(20, "");
    assert_null(strstr(log_text, "left out"));
    assert_int_equal(unlink("scene/images/p003.png") | unlink("scene/images/p017.png"), 0);
    expect_opened(18, "2 of 20 photos are absent or damaged and left out: p003.png, p017.png; `strict` makes "
                      "this an error");
    options.strict = true;
    assert_failure(open_dataset(&options, &dataset, &error), SPLAT_ERROR_IO, &error,
                   "\"p003.png\" is not in the folder scene/images; put it there or name the right folder with "
                   "`images`; 2 of 20 photos are absent or damaged, and `strict` allows none");
    options.strict = false;
    assert_int_equal(unlink("scene/images/p020.png"), 0);
    assert_failure(open_dataset(&options, &dataset, &error), SPLAT_ERROR_IO, &error, "; 3 of 20 photos are "
                   "absent or damaged, and at most 10 % may be left out");
}

/* The photo as a JPEG, with so many bytes of it, or with more at its end. */
static void write_jpeg(const char *path, long change)
{
    uint8_t pixels[32 * 24 * 3], *jpeg;
    size_t size;
    for (size_t i = 0; i < sizeof pixels; i++) pixels[i] = (uint8_t)(i * i >> 3);
    ASSERT_OK(splat_jpeg_encode(path, 32, 24, pixels, 95, &jpeg, &size, &error));
    uint8_t *file = calloc(size + 100, 1);
    assert_non_null(file);
    memcpy(file, jpeg, size);
    ASSERT_OK(splat_file_write(path, file, (size_t)((long)size + change), &error));
    free(file);
    free(jpeg);
}

static void pictures_that_are_cut_off_are_left_out(void **state)
{
    (void)state;
    uint8_t *png;
    size_t size;
    write_jpeg("scene/images/p005.png", 0);
    write_jpeg("scene/images/p006.png", 64); /* cameras put more behind the picture */
    expect_opened(20, "");
    assert_null(strstr(log_text, "left out"));
    write_jpeg("scene/images/p005.png", -200); /* the header is sound, and the upper part can be seen */
    expect_opened(19, "1 of 20 photos is absent or damaged and left out: p005.png; ");
    ASSERT_OK(splat_file_read("scene/images/p009.png", &png, &size, &error));
    ASSERT_OK(splat_file_write("scene/images/p009.png", png, size - 30, &error));
    free(png);
    expect_opened(18, "2 of 20 photos are absent or damaged and left out: p005.png, p009.png; ");
    options.strict = true;
    assert_failure(open_dataset(&options, &dataset, &error), SPLAT_ERROR_FORMAT, &error,
                   "2 of 20 photos are absent or damaged, and `strict` allows none");
    assert_non_null(strstr(error.file, "p005.png"));
    options.strict = false;
    assert_int_equal(unlink("scene/images/p001.png"), 0);
    assert_failure(open_dataset(&options, &dataset, &error), SPLAT_ERROR_IO, &error, "; 3 of 20 photos are absent or "
                   "damaged, and at most 10 % may be left out");
}

static void transforms_lose_photos_too(void **state)
{
    (void)state;
    char *text = NULL;
    size_t size;
    splat_folder_delete("scene/sparse", NULL);
    FILE *out = open_memstream(&text, &size);
    assert_non_null(out);
    fputs("{\"fl_x\": 30, \"w\": 32, \"h\": 24, \"frames\": [", out);
    for (int i = 1; i <= 20; i++)
        fprintf(out, "%s{\"file_path\": \"images/p%03d.png\", \"transform_matrix\": [[1,0,0,%d],[0,1,0,0],[0,0,1,4],"
                "[0,0,0,1]]}", i > 1 ? "," : "", i, i);
    fputs("]}", out);
    fclose(out);
    fixture_text("scene/transforms.json", text);
    free(text);
    expect_opened(20, "");
    assert_int_equal(unlink("scene/images/p011.png"), 0);
    expect_opened(19, "1 of 20 photos is absent or damaged and left out: images/p011.png; ");
    options.strict = true;
    assert_failure(open_dataset(&options, &dataset, &error), SPLAT_ERROR_IO, &error, "frame 10: the photo");
}

/* split.json of a model folder was written when all photos were there. */
static void a_split_may_name_what_was_lost(void **state)
{
    (void)state;
    write_split("\"p001.png\", \"p002.png\", \"p004.png\"", "\"p003.png\"");
    options.split_file = "model/split.json";
    ASSERT_OK(open_dataset(&options, &dataset, &error));
    splat_dataset_free(&dataset);
    assert_int_equal(unlink("scene/images/p004.png"), 0);
    ASSERT_OK(open_dataset(&options, &dataset, &error));
    assert_int_equal(dataset.n_test, 1);
    splat_dataset_free(&dataset);
    write_split("\"p001.png\", \"other.png\"", "\"p003.png\"");
    assert_failure(open_dataset(&options, &dataset, &error), SPLAT_ERROR_FORMAT, &error,
                   "which is no photo of the scene");
}

#define TEST(function) cmocka_unit_test_setup(function, begin)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(a_tenth_may_be_absent),
        TEST(pictures_that_are_cut_off_are_left_out),
        TEST(transforms_lose_photos_too),
        TEST(a_split_may_name_what_was_lost),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
