/* Cameras of a video, with stand-ins for ffmpeg, ffprobe and colmap; and with the ffmpeg of this machine. */
#include "cameras_fixture.h"
#include "capture/video.h"
#include "io/colmap/colmap_read.h"
#include "io/colmap/colmap_write.h"
#include "io/picture/image_read.h"
#include "io/picture/image_write.h"

#include <math.h>
#include <sys/stat.h>
#include <unistd.h>

#define N_FRAMES 24
/* The output of ffprobe, with more fields of the stream. */
#define PROBE_BEGIN "{\"streams\": [{\"width\": 1920, \"avg_frame_rate\": \"24000/1001\""
#define PROBE_END "}], \"format\": {\"duration\": \"4.000000\"}}"
#define PROBE(rest) PROBE_BEGIN rest PROBE_END

static char path_before[4096];

/* Noise that is new in every frame, and softer in all but every third. */
static void write_candidates(const char *path, int n)
{
    uint8_t gray[64 * 36];
    FILE *out = fopen(path, "wb");
    assert_non_null(out);
    for (int i = 0; i < n; i++) {
        uint32_t random = (uint32_t)i * 2654435761u + 1;
        for (size_t k = 0; k < sizeof gray; k++) {
            random = random * 1664525u + 1013904223u;
            gray[k] = (uint8_t)(random >> (i % 3 == 1 ? 24 : 26));
        }
        fprintf(out, "P5\n64 36\n255\n");
        fwrite(gray, 1, sizeof gray, out);
    }
    assert_int_equal(fclose(out), 0);
}

static void write_file(const char *path, const char *text)
{
    must(splat_file_write(path, text, strlen(text), &search_error), &search_error);
}

/* Models name photos as p001.png; those of frames are 00001.jpg. */
static void make_frame_model(void)
{
    splat_colmap_model model;
    splat_folder_delete("models", NULL);
    make_model("models/0", 1, 8);
    must(splat_colmap_read("models/0", &model, &search_error), &search_error);
    for (size_t i = 0; i < model.n_images; i++) {
        free(model.images[i].name);
        model.images[i].name = splat_format("%05zu.jpg", i + 1);
    }
    must(splat_colmap_write("models/0", &model, &search_error), &search_error);
    splat_colmap_free(&model);
}

static int begin(void **state)
{
    static const char *const names[] = {"FAKE_FFMPEG", "FAKE_ZSCALE", "FAKE_VIDEO_FAULT"};
    uint8_t pixels[32 * 24 * 3] = {0}, *jpeg;
    char path[9000];
    size_t size;
    (void)state;
    make_frame_model();
    for (size_t i = 0; i < 3; i++) unsetenv(names[i]);
    write_file("clip.MP4", "not looked into");
    write_file("probe.json", PROBE(""));
    write_candidates("frames.pgm", N_FRAMES);
    must(splat_jpeg_encode("photo", 32, 24, pixels, 90, &jpeg, &size, &search_error), &search_error);
    must(splat_file_write("photo.jpg", jpeg, size, &search_error), &search_error);
    free(jpeg);
    setenv("FAKE_PROBE", "probe.json", 1);
    setenv("FAKE_FRAMES", "frames.pgm", 1);
    setenv("FAKE_PHOTO", "photo.jpg", 1);
    snprintf(path, sizeof path, "%s/tests/capture/fake_ffmpeg:%s", getenv("SPLATSMITH_SOURCE"), path_before);
    setenv("PATH", path, 1);
    begin_search("clip.MP4");
    return 0;
}

/* Four seconds at two a second: eight photos, each of three candidates, of which the second is the sharpest. */
static void the_sharpest_frames_become_photos(void **state)
{
    (void)state;
    assert_true(splat_cameras_are_needed("clip.MP4", NULL));
    must(find(), &search_error);
    assert_int_equal(info.n_photos, 8);
    assert_int_equal(info.n_registered, 8);
    assert_int_equal(info.matcher, SPLAT_MATCHER_SEQUENTIAL);
    assert_true(called("-vf fps=6,scale=640:-2 -f image2pipe"));
    assert_true(called("fps=6,select='if(lt(n,13),if(lt(n,7),if(lt(n,4),eq(n,1),eq(n,4)),"
                       "if(lt(n,10),eq(n,7),eq(n,10)))"));
    assert_true(called("-fps_mode passthrough -q:v 2"));
    assert_true(called("--SequentialMatching.overlap 10"));
    assert_false(called("matches_importer"));
    assert_true(splat_path_exists("scene/images/00008.jpg"));
    assert_false(splat_path_exists("scene/images/00009.jpg"));
    assert_false(splat_path_exists("scene/images.partial"));
    assert_false(splat_cameras_are_needed("scene", NULL));
}

static double frames_done;

static bool watch_frames(void *user, const char *stage, double fraction)
{
    (void)user;
    if (strcmp(stage, "frames") != 0) return true;
    assert_true(fraction >= frames_done && fraction <= 1);
    frames_done = fraction;
    return true;
}

/* The choice is the first half of the stage, the files of the chosen frames are the second. */
static void frames_progress_to_the_end(void **state)
{
    (void)state;
    frames_done = 0;
    options.progress = watch_frames;
    must(find(), &search_error);
    assert_float_equal(frames_done, 1, 1e-9);
}

static void it_is_not_looked_at_twice(void **state)
{
    (void)state;
    setenv("FAKE_FAULT", "mapper:exit", 1);
    assert_int_equal(find(), SPLAT_ERROR_IO);
    unsetenv("FAKE_FAULT");
    must(find(), &search_error);
    assert_false(called("image2pipe"));
    assert_false(called("feature_extractor --database"));
    assert_true(called("mapper --database"));
    must(find(), &search_error);
    assert_true(info.is_done_before);
    assert_false(splat_path_exists("calls.txt"));
    options.n_frames = 4;
    must(find(), &search_error);
    assert_true(called("fps=3,scale"));
    assert_true(called("feature_extractor --database"));
    write_file("clip.MP4", "another video");
    must(find(), &search_error);
    assert_true(called("image2pipe"));
}

static void photos_of_the_user_stay(void **state)
{
    (void)state;
    must(splat_folder_create("scene/images", &search_error), &search_error);
    write_file("scene/images/mine.jpg", "the only copy");
    expect_error(SPLAT_ERROR_IO, "does not come from a video, and stays");
    assert_true(splat_path_exists("scene/images/mine.jpg"));
    expect_error(SPLAT_ERROR_IO, "does not come from a video, and stays"); /* a second time, too */
    assert_true(splat_path_exists("scene/images/mine.jpg"));
}

/* As many candidates as the video has frames, and no more; of a long one 300. */
static void rates(void **state)
{
    (void)state;
    static const struct {
        double seconds;
        const char *own;
        int n_frames;
        double rate;
        int window;
    } cases[] = {
        {4, "24000/1001", 0, 6, 3},      {4, "5/1", 0, 5, 3},     {4, "2/1", 0, 2, 1},
        {3000, "30/1", 0, 0.3, 3},       {10, "30/1", 300, 30, 1}, {10, "0/0", 50, 15, 3},
    };
    char text[300];
    splat_video video;
    write_file("probe.json", PROBE("") "\n[mov] a complaint, read after the answer\n");
    must(splat_video_open("clip.MP4", 0, NULL, NULL, &video, &search_error), &search_error);
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        snprintf(text, sizeof text,
                 "{\"streams\": [{\"width\": 64, \"avg_frame_rate\": \"%s\", \"duration\": \"%g\"}]}", cases[i].own,
                 cases[i].seconds);
        write_file("probe.json", text);
        must(splat_video_open("clip.MP4", cases[i].n_frames, NULL, NULL, &video, &search_error), &search_error);
        if (fabs(video.rate - cases[i].rate) > 1e-9 || video.window != cases[i].window)
            fail_msg("case %zu: rate %g, window %d", i, video.rate, video.window);
    }
}

static void versions_and_colours(void **state)
{
    (void)state;
    setenv("FAKE_FFMPEG", "old", 1);
    must(find(), &search_error);
    assert_true(called("-vsync 0 -q:v 2"));
    assert_false(called("tonemap"));
    splat_folder_delete("scene", NULL);
    write_file("probe.json", PROBE(", \"color_transfer\": \"smpte2084\""));
    setenv("FAKE_ZSCALE", "yes", 1);
    must(find(), &search_error);
    assert_true(called("zscale=t=linear:npl=100,tonemap=hable"));
    splat_folder_delete("scene", NULL);
    unsetenv("FAKE_ZSCALE");
    must(find(), &search_error);
    assert_false(called("tonemap=hable"));
}

static void faults_are_one_sentence_each(void **state)
{
    (void)state;
    setenv("FAKE_VIDEO_FAULT", "probe", 1);
    expect_error(SPLAT_ERROR_IO, "ffprobe cannot read this video: moov atom not found");
    assert_non_null(strstr(search_error.file, "clip.MP4"));
    setenv("FAKE_VIDEO_FAULT", "silent", 1);
    expect_error(SPLAT_ERROR_IO, "ffprobe cannot read this video: it failed with exit code 9");
    setenv("FAKE_VIDEO_FAULT", "crash", 1);
    expect_error(SPLAT_ERROR_IO, "ffprobe cannot read this video: it was ended by signal 11 (Segmentation fault)");
    setenv("FAKE_VIDEO_FAULT", "decode", 1);
    expect_error(SPLAT_ERROR_IO, "ffmpeg cannot read this video: Invalid data found when processing input");
    setenv("FAKE_VIDEO_FAULT", "empty", 1);
    expect_error(SPLAT_ERROR_FORMAT, "there are no pictures in this video");
    setenv("FAKE_VIDEO_FAULT", "short", 1);
    expect_error(SPLAT_ERROR_IO, "ffmpeg wrote 7 of 8 frames");
    assert_false(splat_path_exists("scene/images"));
    unsetenv("FAKE_VIDEO_FAULT");
    write_candidates("frames.pgm", 5);
    expect_error(SPLAT_ERROR_FORMAT, "only 2 frames of this video (4.0 s) can be used");
    write_file("frames.pgm", "no picture");
    expect_error(SPLAT_ERROR_FORMAT, "frames of this video change their size");
    write_file("probe.json", "{\"streams\": [], \"format\": {\"duration\": \"4\"}}");
    expect_error(SPLAT_ERROR_FORMAT, "there are no pictures in this video");
    write_file("probe.json", "{\"streams\": [{\"width\": 5}], \"format\": {}}");
    expect_error(SPLAT_ERROR_FORMAT, "does not tell how long it is");
    write_file("probe.json", "garbage");
    expect_error(SPLAT_ERROR_FORMAT, "there are no pictures in this video");
    setenv("PATH", "/nowhere", 1);
    assert_int_equal(mkdir("empty", 0777), 0);
    options.folder = "empty";
    expect_error(SPLAT_ERROR_IO, "a video needs ffmpeg, and there is no program ffmpeg; install it");
    assert_int_equal(rmdir("empty"), 0); /* a folder of the user's stays */
    options.folder = "scene";
    write_file("clip.txt", "text");
    options.source = "clip.txt";
    expect_error(SPLAT_ERROR_FORMAT, "neither a folder of photos nor a video");
    options.n_frames = 2;
    expect_error(SPLAT_ERROR_ARGUMENT, "must be from 3 to 100000, or 0, not 2");
}

static bool stop_when_called(void *user, const char *stage, double fraction)
{
    (void)user;
    (void)fraction;
    return strcmp(stage, "frames") != 0 || !called("image2pipe");
}

static void stopped_frames_are_not_taken_for_finished(void **state)
{
    (void)state;
    setenv("FAKE_VIDEO_FAULT", "hang", 1);
    options.progress = stop_when_called;
    expect_error(SPLAT_ERROR_STOPPED, "goes on from here");
    options.progress = NULL;
    unsetenv("FAKE_VIDEO_FAULT");
    must(find(), &search_error);
    assert_true(called("image2pipe"));
    assert_int_equal(info.n_photos, 8);
}

/* ---------------------------------------------------------------- the real one */

/* The file of a photo, and frame n of the video, are the same picture. */
static void expect_frame(const char *photo, size_t n)
{
    char command[300];
    splat_image taken, wanted;
    snprintf(command, sizeof command, "ffmpeg -nostdin -v error -y -i real.mp4 -vf 'select=eq(n\\,%zu)' -frames:v 1 "
             "-q:v 2 one.jpg", n);
    assert_int_equal(system(command), 0);
    must(splat_image_read(photo, &taken, &search_error), &search_error);
    must(splat_image_read("one.jpg", &wanted, &search_error), &search_error);
    assert_int_equal(taken.width, 320);
    assert_int_equal(taken.height, 180);
    assert_memory_equal(taken.pixels, wanted.pixels, (size_t)320 * 180 * 3);
    splat_image_free(&taken);
    splat_image_free(&wanted);
}

/* Six seconds of a moving test picture; the chosen frames are those that were looked at, at full size. */
static void the_ffmpeg_of_this_machine(void **state)
{
    (void)state;
    splat_video video;
    splat_frame_choice choice;
    setenv("PATH", path_before, 1);
    if (system("ffmpeg -version >/dev/null 2>&1 && ffprobe -version >/dev/null 2>&1") != 0) {
        print_message("SKIPPED: frames of a real video: no ffmpeg here (scripts/install_deps.sh --colmap)\n");
        return;
    }
    splat_folder_delete("50% of it", NULL);
    must(splat_folder_create("50% of it", &search_error), &search_error);
    assert_int_equal(system("ffmpeg -nostdin -v error -y -f lavfi -i testsrc2=size=320x180:rate=25:duration=6 "
                            "-c:v mpeg4 -q:v 3 real.mp4"), 0);
    must(splat_video_open("real.mp4", 140, NULL, NULL, &video, &search_error), &search_error);
    assert_true(fabs(video.seconds - 6) < 0.1);
    must(splat_video_choose("real.mp4", &video, NULL, NULL, &choice, &search_error), &search_error);
    assert_in_range(choice.n_seen, 148, 151);
    assert_int_equal(choice.width, 640);
    assert_in_range(choice.n_chosen, 101, 151); /* more than a sum of ffmpeg may have terms */
    must(splat_video_extract("real.mp4", &video, &choice, "50% of it", NULL, NULL, &search_error), &search_error);
    char name[64];
    snprintf(name, sizeof name, "50%% of it/%05zu.jpg", choice.n_chosen);
    expect_frame(name, choice.chosen[choice.n_chosen - 1]); /* all of its frames were candidates */
    expect_frame("50% of it/00050.jpg", choice.chosen[49]);
    snprintf(name, sizeof name, "50%% of it/%05zu.jpg", choice.n_chosen + 1);
    assert_false(splat_path_exists(name));
    splat_frame_choice_free(&choice);

    static const char *const names[] = {"concat:real.mp4", "-real.mp4"}; /* of files, also to ffmpeg */
    for (size_t i = 0; i < 2; i++) {
        assert_int_equal(rename(i == 0 ? "real.mp4" : names[0], names[i]), 0);
        must(splat_video_open(names[i], 3, NULL, NULL, &video, &search_error), &search_error);
        must(splat_video_choose(names[i], &video, NULL, NULL, &choice, &search_error), &search_error);
        splat_folder_delete("file:frames", NULL);
        must(splat_folder_create("file:frames", &search_error), &search_error);
        must(splat_video_extract(names[i], &video, &choice, "file:frames", NULL, NULL, &search_error), &search_error);
        assert_true(splat_path_exists("file:frames/00001.jpg"));
        splat_frame_choice_free(&choice);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(the_sharpest_frames_become_photos, begin),
        cmocka_unit_test_setup(frames_progress_to_the_end, begin),
        cmocka_unit_test_setup(it_is_not_looked_at_twice, begin),
        cmocka_unit_test_setup(photos_of_the_user_stay, begin),
        cmocka_unit_test_setup(rates, begin),
        cmocka_unit_test_setup(versions_and_colours, begin),
        cmocka_unit_test_setup(faults_are_one_sentence_each, begin),
        cmocka_unit_test_setup(stopped_frames_are_not_taken_for_finished, begin),
        cmocka_unit_test_setup(the_ffmpeg_of_this_machine, begin),
    };
    snprintf(path_before, sizeof path_before, "%s", getenv("PATH"));
    return cmocka_run_group_tests(tests, NULL, NULL);
}
