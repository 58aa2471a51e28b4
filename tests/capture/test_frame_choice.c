/* The choice of frames, on pictures whose sharpness and motion are known; and the stream that they come in. */
#include "capture/frame_choice.h"
#include "capture/video.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define WIDTH 40
#define HEIGHT 30

static uint8_t frame[WIDTH * HEIGHT];

/* Stripes that are `contrast` high and lie `shift` pixels on. */
static const uint8_t *stripes(int contrast, int shift)
{
    for (int y = 0; y < HEIGHT; y++)
        for (int x = 0; x < WIDTH; x++) frame[y * WIDTH + x] = (uint8_t)(100 + ((x + shift) / 4 % 2 ? contrast : 0));
    return frame;
}

static splat_frame_choice choice;

static void begin(int window)
{
    splat_frame_choice_free(&choice);
    choice.window = window;
}

static void add(int contrast, int shift)
{
    assert_true(splat_frame_choice_add(&choice, stripes(contrast, shift), WIDTH, HEIGHT));
}

static void expect_chosen(const char *wanted)
{
    char text[500] = "";
    assert_true(splat_frame_choice_end(&choice));
    for (size_t i = 0; i < choice.n_chosen; i++)
        snprintf(text + strlen(text), sizeof text - strlen(text), i ? " %zu" : "%zu", choice.chosen[i]);
    assert_string_equal(text, wanted);
}

/* One bright pixel of height 10 on black: its Laplacian is 40 there, -10 at four neighbours, else 0. */
static void sharpness_is_the_variance_of_the_laplacian(void **state)
{
    (void)state;
    uint8_t gray[7 * 6] = {0};
    gray[3 * 7 + 3] = 10;
    double n = 5 * 4, squares = 40.0 * 40 + 4 * 100.0; /* the sum is 0 */
    assert_true(splat_frame_sharpness(gray, 7, 6) == squares / n);
    for (int i = 0; i < 42; i++) gray[i] = (uint8_t)(3 * (i % 7) + 5 * (i / 7)); /* a ramp is not sharp */
    assert_true(splat_frame_sharpness(gray, 7, 6) == 0);
    assert_true(splat_frame_sharpness(gray, 2, 20) == 0);
}

static void difference_is_a_part_of_255(void **state)
{
    (void)state;
    uint8_t a[4] = {0, 255, 10, 10}, b[4] = {255, 0, 10, 10};
    assert_true(splat_frame_difference(a, b, 2, 2) == 0.5);
    assert_true(splat_frame_difference(a, a, 2, 2) == 0);
}

static void the_sharpest_of_each_window_is_taken(void **state)
{
    (void)state;
    static const int contrast[] = {50, 60, 55, 70, 60, 60, 40, 50, 60, 65};
    begin(3);
    for (int i = 0; i < 10; i++) add(contrast[i], i);
    expect_chosen("1 3 8 9"); /* the last window has one frame */
    assert_int_equal(choice.n_seen, 10);
}

static void of_equal_frames_the_first_is_taken(void **state)
{
    (void)state;
    begin(2);
    for (int i = 0; i < 4; i++) add(60, 8 * i + 2 * (i / 2)); /* similar pairs */
    expect_chosen("0 2");
}

/* Sharpness goes with the square of the contrast: 60 % of it are 36 %, 65 % are 42 % of the sharpness. */
static void blurred_windows_are_left_out(void **state)
{
    (void)state;
    begin(1);
    for (int i = 0; i < 12; i++) add(i == 5 ? 60 : i == 8 ? 65 : 100, i);
    expect_chosen("0 1 2 3 4 6 7 8 9 10 11");
    assert_int_equal(choice.n_blurred, 1);
}

/* The median is that of the windows around, so a video that grows dark is not all blurred. */
static void the_median_runs(void **state)
{
    (void)state;
    begin(1);
    for (int i = 0; i < 100; i++) add(150 - i, i);
    assert_true(splat_frame_choice_end(&choice));
    assert_int_equal(choice.n_blurred, 0);
    assert_int_equal(choice.n_chosen, 100);
    begin(1);
    for (int i = 0; i < 60; i++) add(i < 30 ? 150 : 40, i);
    assert_true(splat_frame_choice_end(&choice));
    assert_true(choice.n_blurred > 10 && choice.n_blurred < 30); /* until most of the last 31 are of the second kind */
    assert_int_equal(choice.chosen[choice.n_chosen - 1], 59);
}

static void standing_still_gives_one_frame(void **state)
{
    (void)state;
    begin(1);
    for (int i = 0; i < 16; i++) add(60, i < 12 ? 0 : i);
    expect_chosen("0 12 13 14 15");
    assert_int_equal(choice.n_still, 11);
}

/* Slow motion adds up: differences are to the frame that was chosen last, not to the one before. */
static void slow_motion_is_motion(void **state)
{
    (void)state;
    uint8_t gray[WIDTH * HEIGHT];
    begin(1);
    for (int i = 0; i < 10; i++) { /* 0.4 % brighter each: from the first to the fourth 1.2 % */
        memcpy(gray, stripes(60, 0), sizeof gray);
        for (size_t k = 0; k < sizeof gray; k++) gray[k] = (uint8_t)(gray[k] + i);
        assert_true(splat_frame_choice_add(&choice, gray, WIDTH, HEIGHT));
    }
    expect_chosen("0 3 6 9");
}

static void another_size_is_refused(void **state)
{
    (void)state;
    begin(3);
    add(60, 0);
    assert_false(splat_frame_choice_add(&choice, frame, WIDTH / 2, HEIGHT));
    splat_frame_choice_free(&choice);
}

/* ---------------------------------------------------------------- the stream */

static int n_pictures, sum_of_pixels, last_width;

static bool take(void *user, const uint8_t *gray, int width, int height)
{
    (void)user;
    n_pictures++;
    last_width = width;
    for (int i = 0; i < width * height; i++) sum_of_pixels += gray[i];
    return true;
}

static bool feed(const char *bytes, size_t n, size_t piece)
{
    splat_pgm_stream stream = {0};
    bool good = true;
    n_pictures = sum_of_pixels = 0;
    for (size_t at = 0; at < n && good; at += piece)
        good = splat_pgm_stream_add(&stream, bytes + at, n - at < piece ? n - at : piece, take, NULL);
    splat_pgm_stream_free(&stream);
    return good;
}

static void pictures_come_in_pieces(void **state)
{
    (void)state;
    static const char bytes[] = "P5\n3 2\n255\n\1\2\3\4\5\6P5\n1 1\n255\n\12P5 12 1 255\nabcdefghijkl";
    const int sum = 21 + 10 + 12 * 'a' + 66;
    for (size_t piece = 1; piece < sizeof bytes; piece++) {
        assert_true(feed(bytes, sizeof bytes - 1, piece));
        assert_int_equal(n_pictures, 3);
        assert_int_equal(sum_of_pixels, sum);
        assert_int_equal(last_width, 12);
    }
    for (size_t n = 0; n < sizeof bytes - 1; n++) { /* cut anywhere: what is whole, and no error */
        assert_true(feed(bytes, n, 7));
        assert_in_range(n_pictures, 0, 2);
    }
}

static void what_is_no_picture_is_refused(void **state)
{
    (void)state;
    static const char *const bad[] = {"P6\n1 1\n255\n...", "GIF89a", "P5\n0 1\n255\nx", "P5\n1 1\n65535\nxx",
                                      "P5\n-1 1\n255\nx", "P5\n70000 1\n255\nx", "P5\n1 1\n25\nx"};
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        if (feed(bad[i], strlen(bad[i]), 1)) fail_msg("taken: %s", bad[i]);
        assert_false(feed(bad[i], strlen(bad[i]), 100));
        assert_int_equal(n_pictures, 0);
    }
    char endless[200];
    memset(endless, ' ', sizeof endless);
    memcpy(endless, "P5", 2);
    assert_false(feed(endless, sizeof endless, 10));
}

static void names_of_videos(void **state)
{
    (void)state;
    assert_true(splat_is_video_name("a/clip.MP4"));
    assert_true(splat_is_video_name("x.webm"));
    assert_false(splat_is_video_name("mp4"));
    assert_false(splat_is_video_name("a.mp4/photo.jpg"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sharpness_is_the_variance_of_the_laplacian),
        cmocka_unit_test(difference_is_a_part_of_255),
        cmocka_unit_test(the_sharpest_of_each_window_is_taken),
        cmocka_unit_test(of_equal_frames_the_first_is_taken),
        cmocka_unit_test(blurred_windows_are_left_out),
        cmocka_unit_test(the_median_runs),
        cmocka_unit_test(standing_still_gives_one_frame),
        cmocka_unit_test(slow_motion_is_motion),
        cmocka_unit_test(another_size_is_refused),
        cmocka_unit_test(pictures_come_in_pieces),
        cmocka_unit_test(what_is_no_picture_is_refused),
        cmocka_unit_test(names_of_videos),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
