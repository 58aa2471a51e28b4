/* Cameras of many photos, against a stand-in for colmap: vocabulary trees, and the mapper of all cameras at once. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include "base/file.h"
#include "cameras_fixture.h"
#include "exif_fixture.h"
#include "io/picture/image_write.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static int begin(void **state)
{
    (void)state;
    begin_with_photos();
    return 0;
}

/* ---------------------------------------------------------------- vocabulary trees */

static void many_photos_are_compared_by_a_tree(void **state)
{
    (void)state;
    make_photos("photos", 151);
    must(splat_file_write("tree.bin", "tree", 4, &search_error), &search_error);
    options.vocab_tree = "tree.bin";
    must(find(), &search_error);
    assert_int_equal(info.matcher, SPLAT_MATCHER_VOCAB_TREE);
    assert_true(called("vocab_tree_matcher --database"));
    assert_true(called("--VocabTreeMatching.vocab_tree_path tree.bin"));
    assert_false(called("sequential_matcher --database"));
    must(find(), &search_error);
    assert_true(info.is_done_before && info.matcher == SPLAT_MATCHER_VOCAB_TREE);
    must(splat_file_write("other.bin", "tree", 4, &search_error), &search_error);
    options.vocab_tree = "other.bin"; /* other pairs, the same features */
    must(find(), &search_error);
    assert_true(called("--VocabTreeMatching.vocab_tree_path other.bin"));
    assert_false(called("feature_extractor --database"));
    options.vocab_tree = NULL;
    must(find(), &search_error);
    assert_int_equal(info.matcher, SPLAT_MATCHER_SEQUENTIAL);
    expect_said("`vocab_tree`");
}

static void few_photos_need_no_tree_unless_it_is_asked_for(void **state)
{
    (void)state;
    make_photos("photos", 12);
    must(splat_file_write("tree.bin", "tree", 4, &search_error), &search_error);
    options.vocab_tree = "tree.bin";
    must(find(), &search_error);
    assert_int_equal(info.matcher, SPLAT_MATCHER_EXHAUSTIVE);
    options.matcher = SPLAT_MATCHER_VOCAB_TREE;
    must(find(), &search_error);
    assert_true(called("vocab_tree_matcher --database"));
}

static void a_tree_must_be_there(void **state)
{
    (void)state;
    make_photos("photos", 12);
    options.matcher = SPLAT_MATCHER_VOCAB_TREE;
    expect_error(SPLAT_ERROR_ARGUMENT, "FLANN for COLMAP up to 3.11");
    options.vocab_tree = "absent.bin";
    expect_error(SPLAT_ERROR_IO, "no such vocabulary tree");
    assert_false(splat_path_exists("scene"));
    must(splat_file_write("tree.bin", "tree", 4, &search_error), &search_error);
    options.vocab_tree = "tree.bin";
    setenv("FAKE_DIALECT", "3.13", 1); /* here without the option: nothing may be downloaded in its place */
    expect_error(SPLAT_ERROR_IO, "takes no vocabulary tree");
    assert_false(called("vocab_tree_matcher --database"));
    unsetenv("FAKE_DIALECT");
}

/* ---------------------------------------------------------------- the mapper */

static bool was_mapped(bool globally, bool one_by_one)
{
    int n_global = count_in_file("calls.txt", "global_mapper --database");
    int n_one = count_in_file("calls.txt", "mapper --database") - n_global;
    return n_global == globally && (n_one > 0) == one_by_one; /* twice where many photos are left, as here */
}

static void a_mapper_can_be_asked_for(void **state)
{
    (void)state;
    make_photos("photos", 12);
    setenv("FAKE_DIALECT", "4.1", 1);
    must(find(), &search_error);
    assert_true(was_mapped(false, true));
    options.mapper = SPLAT_MAPPER_GLOBAL; /* nothing else is done again */
    must(find(), &search_error);
    assert_true(was_mapped(true, false));
    assert_false(called("exhaustive_matcher --database"));
    assert_int_equal(info.n_registered, 12);
    must(find(), &search_error);
    assert_true(info.is_done_before);
    options.mapper = SPLAT_MAPPER_INCREMENTAL;
    must(find(), &search_error);
    assert_true(was_mapped(false, true));
    options.mapper = SPLAT_MAPPER_GLOBAL;
    setenv("FAKE_FAULT", "global_mapper:exit", 1);
    expect_error(SPLAT_ERROR_IO, "global_mapper failed with exit code 3");
    assert_true(was_mapped(true, false));
    unsetenv("FAKE_FAULT");
    setenv("FAKE_DIALECT", "3.8", 1);
    expect_error(SPLAT_ERROR_IO, "which came with 4.0");
    unsetenv("FAKE_DIALECT");
}

static void make_photo_with(int number, exif_writer segment)
{
    static const uint8_t pixels[32 * 24 * 3];
    char path[64];
    uint8_t *jpeg;
    size_t size;
    snprintf(path, sizeof path, "photos/%03d.jpg", number);
    must(splat_jpeg_encode(path, 32, 24, pixels, 90, &jpeg, &size, &search_error), &search_error);
    uint8_t *file = malloc(size + segment.n);
    assert_non_null(file);
    memcpy(file, jpeg, 2);
    memcpy(file + 2, segment.bytes, segment.n);
    memcpy(file + 2 + segment.n, jpeg + 2, size - 2);
    must(splat_file_write(path, file, size + segment.n, &search_error), &search_error);
    free(jpeg);
    free(file);
}

/* A photo whose EXIF tells its focal length, or nothing. */
static void make_photo_with_focal(int number, bool told)
{
    const exif_field field = {37386, 5, 24, 1};
    make_photo_with(number, exif_segment(&field, told, 0));
}

static void make_photo_with_place(int number, bool told)
{
    make_photo_with(number, exif_gps_segment(told ? 48 : 0, told ? 11 : 0, number % 2));
}

static void many_photos_with_places_are_compared_by_them(void **state)
{
    (void)state;
    must(splat_folder_create("photos", &search_error), &search_error);
    for (int i = 0; i < 151; i++) make_photo_with_place(i, i < 121); /* four fifths are 120.8 */
    must(find(), &search_error);
    assert_int_equal(info.matcher, SPLAT_MATCHER_SEQUENTIAL);
    assert_true(called("sequential_matcher --database") && called("spatial_matcher --database"));
    must(find(), &search_error);
    assert_true(info.is_done_before);
    splat_folder_delete("scene", NULL);
    setenv("FAKE_DIALECT", "3.13", 1); /* here without the matcher */
    must(find(), &search_error);
    expect_said("has no spatial_matcher");
    assert_false(called("spatial_matcher --database"));
    unsetenv("FAKE_DIALECT");
    splat_folder_delete("scene", NULL);
    setenv("FAKE_FAULT", "spatial_matcher:exit", 1);
    must(find(), &search_error);
    expect_said("did not compare photos by where they were taken");
    unsetenv("FAKE_FAULT");
    options.matcher = SPLAT_MATCHER_SEQUENTIAL; /* just that */
    must(find(), &search_error);
    assert_true(called("sequential_matcher --database") && !called("spatial_matcher"));
    options.matcher = SPLAT_MATCHER_AUTO;
    make_photo_with_place(120, false);
    must(find(), &search_error);
    expect_said("`vocab_tree`");
    assert_true(called("sequential_matcher --database") && !called("spatial_matcher"));
}

static void many_photos_with_focal_lengths_are_mapped_at_once(void **state)
{
    (void)state;
    must(splat_folder_create("photos", &search_error), &search_error);
    for (int i = 0; i < 300; i++) make_photo_with_focal(i, true);
    setenv("FAKE_DIALECT", "4.1", 1);
    must(find(), &search_error);
    assert_true(was_mapped(false, true)); /* not that many */
    make_photo_with_focal(300, true);
    must(find(), &search_error);
    assert_true(was_mapped(true, false));
    splat_folder_delete("scene", NULL);
    setenv("FAKE_FAULT", "global_mapper:exit", 1);
    must(find(), &search_error);
    expect_said("the global mapper found no cameras");
    assert_true(was_mapped(true, true));
    unsetenv("FAKE_FAULT");
    splat_folder_delete("scene", NULL);
    setenv("FAKE_DIALECT", "3.8", 1);
    must(find(), &search_error);
    assert_true(was_mapped(false, true));
    setenv("FAKE_DIALECT", "4.1", 1);
    make_photo_with_focal(7, false);
    must(find(), &search_error);
    assert_true(was_mapped(false, true));
    unsetenv("FAKE_DIALECT");
}

#define TEST(function) cmocka_unit_test_setup(function, begin)

int main(void)
{
    const struct CMUnitTest tests[] = {TEST(many_photos_are_compared_by_a_tree),
                                       TEST(few_photos_need_no_tree_unless_it_is_asked_for),
                                       TEST(a_tree_must_be_there), TEST(a_mapper_can_be_asked_for),
                                       TEST(many_photos_with_places_are_compared_by_them),
                                       TEST(many_photos_with_focal_lengths_are_mapped_at_once)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
