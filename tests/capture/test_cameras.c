/* Finding cameras with a stand-in for colmap: the arguments for every version, faults and their messages, resuming.
 * tests/cli/test_colmap_recipe.c runs the real one. */
#include "cameras_fixture.h"
#include "capture/colmap_stages.h"
#include "io/picture/image_write.h"

#include "base/clock.h"

#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

static char last_stage[64];
static double last_fraction;

static bool watch(void *user, const char *stage, double fraction)
{
    (void)user;
    assert_true(fraction >= 0 && fraction <= 1);
    snprintf(last_stage, sizeof last_stage, "%s", stage);
    last_fraction = fraction;
    return true;
}

/* Photos p001.png to p012.png, and a model of all of them. */
static int begin(void **state)
{
    (void)state;
    begin_with_photos();
    make_photos("photos", 12);
    options.progress = watch;
    return 0;
}

/* ---------------------------------------------------------------- versions */

static void expect_found(void)
{
    must(find(), &search_error);
    assert_int_equal(info.n_photos, 12);
    assert_int_equal(info.n_registered, 12);
    assert_int_equal(info.n_points, 40);
    assert_int_equal(info.n_models, 1);
    assert_string_equal(info.camera_model, "SIMPLE_RADIAL");
    assert_int_equal(info.matcher, SPLAT_MATCHER_EXHAUSTIVE);
    assert_false(info.is_done_before);
    assert_string_equal(search_log, "");
    assert_string_equal(last_stage, "mapping");
    assert_true(splat_path_exists("scene/images/p007.png"));
    assert_true(splat_path_exists("scene/sparse/0/images.bin"));
    assert_false(splat_path_exists("scene/sparse.partial"));
    assert_true(file_has("scene/colmap.log", "Processed file [12/12]"));
    assert_true(file_has("scene/colmap.log", "Matching block [3/3, 3/3]"));
}

static void version_3_8(void **state)
{
    (void)state;
    expect_found();
    assert_true(called("feature_extractor --database_path"));
    assert_true(called("--ImageReader.camera_model SIMPLE_RADIAL --ImageReader.single_camera 1 "
                       "--SiftExtraction.use_gpu 0 --SiftExtraction.max_image_size 1600"));
    assert_true(called("--SiftMatching.use_gpu 0"));
    assert_true(called("--Mapper.ba_global_function_tolerance 1e-6"));
    assert_false(called("min_model_size"));
    assert_false(called("existing_camera_id"));
}

static void version_3_13(void **state)
{
    (void)state;
    setenv("FAKE_DIALECT", "3.13", 1);
    expect_found();
    assert_true(called("--FeatureExtraction.use_gpu 0 --SiftExtraction.max_image_size 1600"));
    assert_true(called("--FeatureMatching.use_gpu 0"));
}

static void version_4_1(void **state)
{
    (void)state;
    setenv("FAKE_DIALECT", "4.1", 1);
    expect_found();
    assert_true(called("--FeatureExtraction.use_gpu 0 --FeatureExtraction.max_image_size 1600"));
    assert_true(file_has("scene/cameras.json", "\"colmap\": \"4.1.1\""));
}

static void a_gpu_is_used_when_it_is_built_in_and_given_up_when_it_fails(void **state)
{
    (void)state;
    setenv("FAKE_CUDA", "with", 1);
    must(find(), &search_error);
    assert_true(called("--SiftExtraction.use_gpu 1 --SiftExtraction.max_image_size 2400 "
                       "--SiftExtraction.max_num_features 8192"));
    assert_true(called("--SiftMatching.use_gpu 1"));
    splat_folder_delete("scene", NULL);
    setenv("FAKE_FAULT", "feature_extractor:gpu", 1);
    must(find(), &search_error);
    expect_said("is tried without");
    assert_true(called("--SiftExtraction.use_gpu 0"));
    assert_true(called("--SiftMatching.use_gpu 0"));
}

/* ---------------------------------------------------------------- what is chosen */

static void photos_of_one_size_from_twenty_on_get_opencv(void **state)
{
    (void)state;
    make_photos("photos", 20);
    options.threads = 3;
    must(find(), &search_error);
    assert_true(called("--ImageReader.camera_model OPENCV --ImageReader.single_camera 1"));
    assert_true(called("--SiftExtraction.num_threads 3"));
    assert_true(called("--Mapper.num_threads 3"));
    expect_said("12 of 20 photos have cameras; there are none for p013.png, p014.png");
    options.camera_model = "opencv_fisheye";
    must(find(), &search_error);
    assert_true(called("--ImageReader.camera_model OPENCV_FISHEYE"));
    expect_said("the camera model is another");
}

static void photos_of_several_sizes_have_cameras_of_their_own(void **state)
{
    (void)state;
    make_photo("photos/p013.png", 24, 32, 1);
    must(find(), &search_error);
    assert_true(called("--ImageReader.camera_model SIMPLE_RADIAL --ImageReader.single_camera 0 --Sift"));
}

/* A JPEG whose EXIF says a focal length, in whole millimetres. */
static void make_zoomed(const char *path, int focal_mm)
{
    uint8_t pixels[32 * 24 * 3] = {0}, *jpeg, *file;
    uint8_t exif[] = "\xff\xe1\0\x48" "Exif\0\0" "MM\0*\0\0\0\10" "\0\1" "\x87\x69\0\4\0\0\0\1\0\0\0\x1a" "\0\0\0\0"
                     "\0\1" "\x92\x0a\0\5\0\0\0\1\0\0\0\x2c" "\0\0\0\0" "\0\0\0\0\0\0\0\1" "............";
    size_t size, n = 74;
    assert_int_equal(sizeof exif, n + 1);
    exif[10 + 0x2c + 3] = (uint8_t)focal_mm;
    must(splat_jpeg_encode(path, 32, 24, pixels, 90, &jpeg, &size, &search_error), &search_error);
    file = malloc(size + n);
    assert_non_null(file);
    memcpy(file, jpeg, 2);
    memcpy(file + 2, exif, n);
    memcpy(file + 2 + n, jpeg + 2, size - 2);
    must(splat_file_write(path, file, size + n, &search_error), &search_error);
    free(jpeg);
    free(file);
}

static void photos_of_several_zooms_have_cameras_of_their_own(void **state)
{
    (void)state;
    char path[100];
    splat_folder_delete("photos", NULL);
    must(splat_folder_create("photos", &search_error), &search_error);
    for (int i = 0; i < 20; i++) {
        snprintf(path, sizeof path, "photos/%02d.jpg", i);
        make_zoomed(path, 24);
    }
    must(find(), &search_error);
    assert_true(called("--ImageReader.camera_model OPENCV --ImageReader.single_camera 1"));
    make_zoomed("photos/07.jpg", 70);
    must(find(), &search_error);
    assert_true(called("--ImageReader.camera_model SIMPLE_RADIAL --ImageReader.single_camera 0"));
}

static void folders_of_one_size_each_share_a_camera(void **state)
{
    (void)state;
    splat_folder_delete("rigs", NULL);
    for (int i = 0; i < 4; i++) {
        char path[100];
        snprintf(path, sizeof path, "rigs/images/left/%d.png", i);
        make_photo(path, 24, 32, i);
        snprintf(path, sizeof path, "rigs/images/right/%d.png", i);
        make_photo(path, 32, 24, i);
    }
    options.source = "rigs";
    must(find(), &search_error);
    assert_true(called("--ImageReader.single_camera 0 --ImageReader.single_camera_per_folder 1"));
    assert_true(file_has("scene/photos.txt", "left/0.png\nleft/1.png"));
    assert_true(splat_path_exists("scene/images/right/3.png"));
    make_photo("rigs/images/left/9.png", 32, 24, 9);
    must(find(), &search_error);
    assert_false(called("single_camera_per_folder"));
}

static void few_photos_ask_for_smaller_models(void **state)
{
    (void)state;
    splat_folder_delete("photos", NULL);
    make_photos("photos", 9);
    must(find(), &search_error);
    assert_true(called("--Mapper.min_model_size 3"));
}

static void many_photos_are_compared_with_neighbours(void **state)
{
    (void)state;
    make_photos("photos", 151);
    must(find(), &search_error);
    assert_int_equal(info.matcher, SPLAT_MATCHER_SEQUENTIAL);
    assert_true(called("sequential_matcher"));
    assert_true(called("--SequentialMatching.overlap 20"));
    assert_true(called("matches_importer"));
    assert_true(file_has("scene/pairs.txt", "p001.png p011.png\n"));
    assert_true(file_has("scene/pairs.txt", "p141.png p151.png\n"));
    assert_int_equal(count_in_file("scene/pairs.txt", "\n"), 16 * 15 / 2);
    expect_said("only 12 of 151 photos have cameras");
    expect_said("and 127 more");
    options.matcher = SPLAT_MATCHER_EXHAUSTIVE;
    must(find(), &search_error);
    assert_int_equal(info.matcher, SPLAT_MATCHER_EXHAUSTIVE);
    assert_true(called("exhaustive_matcher"));
    assert_true(called("--ExhaustiveMatching.block_size 18"));
    assert_true(called("mapper --database"));
    assert_false(called("feature_extractor --database")); /* they are there */
}

/* COLMAP gets a list of photos with a line each. */
static void names_with_newlines_are_left_out(void **state)
{
    (void)state;
    must(splat_file_write("photos/two\nlines.png", "", 0, &search_error), &search_error);
    must(splat_file_write("photos/two\nlines.txt", "", 0, &search_error), &search_error);
    must(find(), &search_error);
    assert_int_equal(info.n_photos, 12);
    expect_said("warning: 1 name of photos or folders has a newline, which COLMAP cannot read, and is left out: "
                "two\\nlines.png; rename what should take part");
    make_photos("photos/of\nday", 1);
    must(splat_folder_create("scene_of", &search_error), &search_error);
    splat_folder_delete("nested", NULL);
    must(splat_folder_create("nested", &search_error), &search_error);
    assert_int_equal(rename("photos", "nested/images"), 0);
    options.source = "nested";
    options.folder = "scene_of";
    must(find(), &search_error);
    assert_int_equal(info.n_photos, 12);
    expect_said("warning: 2 names of photos or folders have a newline, which COLMAP cannot read, and are left out: "
                "of\\nday is the first");
}

static void what_cannot_be_read_is_left_out(void **state)
{
    (void)state;
    must(splat_file_write("photos/p000.jpg", "no jpeg", 7, &search_error), &search_error);
    must(splat_file_write("photos/IMG_1.HEIC", "heic", 4, &search_error), &search_error);
    must(splat_file_write("photos/notes.txt", "text", 4, &search_error), &search_error);
    must(find(), &search_error);
    assert_int_equal(info.n_photos, 12);
    expect_said("warning: 1 photo cannot be read and is left out: p000.jpg");
    expect_said("warning: 1 picture of other formats is left out (IMG_1.HEIC); convert");
    assert_false(file_has("scene/photos.txt", "p000"));
    assert_false(file_has("scene/photos.txt", "notes"));
}

static void the_quality_of_features_is_an_option(void **state)
{
    (void)state;
    must(find(), &search_error);
    assert_true(called("--SiftExtraction.max_image_size 1600 --SiftExtraction.max_num_features 4096"));
    options.quality = SPLAT_CAMERA_QUALITY_MEDIUM; /* another word for the same */
    must(find(), &search_error);
    assert_true(info.is_done_before);
    options.quality = SPLAT_CAMERA_QUALITY_LOW; /* the same folder: the features are others now */
    must(find(), &search_error);
    expect_said("the quality of features is another");
    assert_false(info.is_done_before);
    assert_true(called("--SiftExtraction.max_image_size 1000 --SiftExtraction.max_num_features 2048"));
    must(find(), &search_error);
    assert_true(info.is_done_before);
    options.quality = SPLAT_CAMERA_QUALITY_HIGH;
    must(find(), &search_error);
    assert_true(called("--SiftExtraction.max_image_size 2400 --SiftExtraction.max_num_features 8192"));
    options.quality = (splat_camera_quality)4;
    expect_error(SPLAT_ERROR_ARGUMENT, "`quality` must be one of auto|low|medium|high, not the number 4");
}

static void numbered_photos_suggest_their_neighbours(void **state)
{
    (void)state;
    make_photos("photos", 100);
    options.threads = 1;
    must(find(), &search_error);
    expect_said("notice: comparing all pairs of 100 photos may take 14 minutes; the names are numbered in order, so "
                "`matcher sequential`, which compares neighbours, is faster");
    options.threads = 2; /* half the time */
    splat_folder_delete("scene", NULL);
    must(find(), &search_error);
    assert_null(strstr(search_log, "may take"));
    options.threads = 1;
    splat_folder_delete("scene", NULL);
    make_photo("photos/extra.png", 32, 24, 1);
    must(find(), &search_error);
    assert_null(strstr(search_log, "may take"));
}

static void sequences_are_known_by_their_names(void **state)
{
    (void)state;
    static char *const good[] = {"a/IMG_0098.JPG", "a/IMG_0099.JPG", "a/IMG_0101.JPG", "a/IMG_0102.JPG"};
    static char *const gaps[] = {"1001.png", "1005.png", "1009.png"};
    static char *const order[] = {"f1.png", "f10.png", "f2.png"};
    static char *const folders[] = {"a/1.png", "b/2.png"};
    static char *const words[] = {"door.png", "lamp.png"};
    assert_true(splat_names_are_sequence(good, 4));
    assert_false(splat_names_are_sequence(gaps, 3));
    assert_false(splat_names_are_sequence(order, 3));
    assert_false(splat_names_are_sequence(folders, 2));
    assert_false(splat_names_are_sequence(words, 2));
    assert_false(splat_names_are_sequence(good, 1));
}

/* ---------------------------------------------------------------- what comes of it */

static void the_largest_of_several_models_counts(void **state)
{
    (void)state;
    splat_folder_delete("models", NULL);
    make_model("models/0", 1, 3);
    make_model("models/1", 4, 11);
    make_model("models/2", 4, 5);
    must(find(), &search_error);
    assert_int_equal(info.n_models, 3);
    assert_int_equal(info.n_registered, 8);
    expect_said("notice: 8 of 12 photos have cameras; there are none for p001.png, p002.png, p003.png, p012.png\n");
    expect_said("COLMAP made 3 models");
    assert_true(file_has("scene/cameras.json", "\"p012.png\""));
}

static void too_few_cameras_are_a_warning(void **state)
{
    (void)state;
    splat_folder_delete("models", NULL);
    make_model("models/0", 1, 7);
    must(find(), &search_error);
    expect_said("warning: only 7 of 12 photos have cameras; there are none for p008.png");
    expect_said("take more photos between those");
    must(find(), &search_error);
    assert_true(info.is_done_before);
    assert_string_equal(search_log, ""); /* once is enough */
    options.folder = "other"; /* 60 % are enough */
    splat_folder_delete("other", NULL);
    splat_folder_delete("models", NULL);
    make_model("models/0", 1, 8);
    must(find(), &search_error);
    assert_null(strstr(search_log, "warning"));
}

/* ---------------------------------------------------------------- faults */

static void no_colmap_says_what_to_install(void **state)
{
    (void)state;
    options.colmap = "colmap-that-is-nowhere";
    expect_error(SPLAT_ERROR_IO, "apt-get install colmap");
    assert_false(splat_path_exists("scene")); /* it was not there before */
    options.colmap = "/bin/true";
    expect_error(SPLAT_ERROR_IO, "/bin/true does not say that it is COLMAP");
    options.colmap = fake_colmap();
    setenv("FAKE_FAULT", "illegal", 1);
    expect_error(SPLAT_ERROR_IO, "fake_colmap.sh help\", which asks for its version, was ended by signal 4 (Illegal "
                 "instruction); run the command by hand");
}

static void every_fault_is_one_sentence_with_advice(void **state)
{
    (void)state;
    static const struct {
        const char *fault;
        splat_status status;
        const char *says;
    } cases[] = {
        {"feature_extractor:exit", SPLAT_ERROR_IO, "feature_extractor failed with exit code 3: its log says why"},
        {"feature_extractor:memory", SPLAT_ERROR_IO, "was ended by signal 9 (Killed): memory is exhausted"},
        {"exhaustive_matcher:crash", SPLAT_ERROR_IO, "exhaustive_matcher was ended by signal 11 (Segmentation fault)"},
        {"exhaustive_matcher:disk", SPLAT_ERROR_IO, "make room on the disk"},
        {"mapper:matches", SPLAT_ERROR_FORMAT, "no two photos match"},
        {"mapper:never", SPLAT_ERROR_FORMAT, "no pair of photos is good to begin with: walk around"},
        {"mapper:nothing", SPLAT_ERROR_FORMAT, "mapper found nothing: no pair of photos"},
        {"mapper:half", SPLAT_ERROR_IO, "mapper failed with exit code 1"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        splat_folder_delete("scene", NULL);
        setenv("FAKE_FAULT", cases[i].fault, 1);
        expect_error(cases[i].status, cases[i].says);
        assert_non_null(strstr(search_error.file, "scene/colmap.log"));
        assert_false(splat_path_exists("scene/sparse"));
        if (cases[i].status == SPLAT_ERROR_IO) expect_said("the last lines of");
    }
    splat_folder_delete("scene", NULL);
    setenv("FAKE_FAULT", "feature_extractor:exit", 1);
    expect_error(SPLAT_ERROR_IO, "exit code 3");
    expect_said("\n  E20261121 something that nobody knows");
}

/* A pose file that cannot be read is named, with the reason, before COLMAP takes its place; none of them blocks. */
static void refused_pose_files_are_named(void **state)
{
    (void)state;
    static const char cut[] = "<?xml version=\"1.0\"?>\n<docum";
    must(splat_file_write("photos/cameras.xml", cut, sizeof cut - 1, &search_error), &search_error);
    must(splat_file_write("photos/registration.csv", "name,x,y\n", 9, &search_error), &search_error);
    must(splat_file_write("photos/poses.json", "{}", 2, &search_error), &search_error);
    assert_int_equal(mkfifo("photos/fifo.xml", 0600), 0);
    options.colmap = "colmap-that-is-nowhere";
    expect_error(SPLAT_ERROR_IO, "apt-get install colmap");
    expect_said("warning: no poses are read from photos/cameras.xml: its first 4 KiB do not have the elements "
                "<document and <chunk of Metashape. If it holds the poses of the photos, export it again; COLMAP");
    expect_said("photos/fifo.xml: this is not a regular file. If");
    expect_said("photos/registration.csv: its first 4 KiB have no line that begins with #name");
    expect_said("photos/poses.json: poses are read from transforms.json, ");
    options.colmap = fake_colmap();
    for (int i = 0; i < 9; i++) {
        char path[64];
        snprintf(path, sizeof path, "photos/p%03d.png.json", i);
        must(splat_file_write(path, "{}", 2, &search_error), &search_error);
    }
    must(find(), &search_error);
    expect_said("warning: 8 more .xml, .csv and .json files of photos hold no poses");
    must(find(), &search_error);
    assert_string_equal(search_log, ""); /* COLMAP does not begin again */
}

/* The files of a killed run are deleted when its stages are found complete. */
static void leftovers_of_complete_stages_go(void **state)
{
    (void)state;
    must(find(), &search_error);
    must(splat_folder_create("scene/sparse.partial/0", &search_error), &search_error);
    must(splat_folder_create("scene/images.partial", &search_error), &search_error);
    must(splat_file_write("scene/cameras.json.tmp-aB3xYz", "{", 1, &search_error), &search_error);
    must(find(), &search_error);
    assert_true(info.is_done_before);
    assert_false(splat_path_exists("scene/sparse.partial"));
    assert_false(splat_path_exists("scene/images.partial"));
    assert_false(splat_path_exists("scene/cameras.json.tmp-aB3xYz"));
}

/* A finished COLMAP is finished, also when what it left goes on to write. */
static void a_talking_child_of_colmap_does_not_hold_us(void **state)
{
    (void)state;
    setenv("FAKE_FAULT", "feature_extractor:talk", 1);
    double begin = splat_clock_seconds();
    expect_found();
    assert_true(splat_clock_seconds() - begin < 20);
    assert_true(file_has("scene/colmap.log", "chatter"));
}

/* COLMAP ends well on a full disk; a model that is cut must not take the place of one. */
static void a_damaged_model_does_not_block_the_folder(void **state)
{
    (void)state;
    setenv("FAKE_FAULT", "mapper:cut", 1);
    expect_error(SPLAT_ERROR_IO, "colmap mapper ended well, but its model is damaged (");
    expect_error(SPLAT_ERROR_IO, "). The disk may be full: make room and run the same command again");
    assert_non_null(strstr(search_error.file, "sparse.partial/0/images.bin"));
    assert_false(splat_path_exists("scene/sparse"));
    unsetenv("FAKE_FAULT");
    expect_found();
    assert_false(called("feature_extractor --database")); /* the mapper alone runs again */
}

static void the_mapper_is_asked_again_with_lower_demands(void **state)
{
    (void)state;
    setenv("FAKE_FAULT", "mapper:start", 1);
    must(find(), &search_error);
    expect_said("trying again with 50 inliers and 4 degrees");
    assert_int_equal(count_in_file("calls.txt", "mapper --database"), 2);
    splat_folder_delete("scene", NULL);
    setenv("FAKE_FAULT", "mapper:never", 1);
    assert_int_equal(find(), SPLAT_ERROR_FORMAT);
    assert_int_equal(count_in_file("calls.txt", "mapper --database"), 3);
    assert_true(called("--Mapper.init_min_num_inliers 50 --Mapper.init_min_tri_angle 2 "
                       "--Mapper.init_max_forward_motion 1 --Mapper.tri_min_angle 0.5 "
                       "--Mapper.filter_min_tri_angle 0.5"));
    splat_folder_delete("scene", NULL);
    setenv("FAKE_FAULT", "mapper:matches", 1); /* less cannot help */
    assert_int_equal(find(), SPLAT_ERROR_FORMAT);
    assert_int_equal(count_in_file("calls.txt", "mapper --database"), 1);
}

/* Once; the larger model stays. */
static void photos_without_cameras_are_tried_with_lower_demands(void **state)
{
    (void)state;
    splat_folder_delete("models", NULL);
    make_model("models/0", 1, 7);
    make_model("weak/0", 1, 11);
    setenv("FAKE_WEAK_MODELS", "weak", 1);
    must(find(), &search_error);
    expect_said("7 of 12 photos have cameras; trying again with 50 inliers and 4 degrees");
    assert_int_equal(count_in_file("calls.txt", "mapper --database"), 2);
    assert_int_equal(info.n_registered, 11);

    splat_folder_delete("scene", NULL);
    splat_folder_delete("weak", NULL);
    make_model("weak/0", 1, 5);
    must(find(), &search_error);
    assert_int_equal(count_in_file("calls.txt", "mapper --database"), 2);
    assert_int_equal(info.n_registered, 7);
    assert_false(splat_path_exists("scene/sparse.partial"));

    splat_folder_delete("scene", NULL);
    setenv("FAKE_FAULT", "mapper:weak", 1);
    must(find(), &search_error);
    assert_int_equal(count_in_file("calls.txt", "mapper --database"), 2);
    assert_int_equal(info.n_registered, 7);
    unsetenv("FAKE_WEAK_MODELS");
}

static void sources_and_folders_that_cannot_be(void **state)
{
    (void)state;
    options.source = "nowhere";
    expect_error(SPLAT_ERROR_IO, "there is no such file or folder; name a folder of photos or a video");
    options.source = "nope.mp4";
    expect_error(SPLAT_ERROR_IO, "there is no such file or folder");
    splat_folder_delete("bare", NULL);
    must(splat_folder_create("bare", &search_error), &search_error);
    options.source = "bare";
    expect_error(SPLAT_ERROR_FORMAT, "there are no photos");
    assert_false(splat_path_exists("scene"));
    make_photos("bare/DCIM/100CANON", 4);
    expect_error(SPLAT_ERROR_FORMAT, "the photos lie in folders here, such as DCIM/100CANON; name that folder, or "
                                     "move all of them into a folder images");
    splat_folder_delete("two", NULL);
    must(splat_folder_create("two", &search_error), &search_error);
    must(splat_file_write("two/IMG_1.HEIC", "heic", 4, &search_error), &search_error);
    options.source = "two";
    expect_error(SPLAT_ERROR_FORMAT, "the pictures here (IMG_1.HEIC) are of a format that is not read");
    splat_folder_delete("two", NULL);
    make_photos("two", 2);
    options.source = "two";
    expect_error(SPLAT_ERROR_FORMAT, "2 photos that can be read are too few");
    options.source = "photos";
    options.folder = "photos/scene";
    expect_error(SPLAT_ERROR_ARGUMENT, "cannot be written among the photos");
    options.folder = "taken";
    must(splat_folder_create("taken/sparse/0", &search_error), &search_error);
    expect_error(SPLAT_ERROR_IO, "it has sparse and no cameras.json");
    assert_true(splat_path_exists("taken/sparse/0"));
    options.folder = "scene";
    options.camera_model = "NO_SUCH";
    expect_error(SPLAT_ERROR_ARGUMENT, "not 'NO_SUCH'");
    options.camera_model = NULL;
    options.source = "";
    expect_error(SPLAT_ERROR_ARGUMENT, "no photos were named");
}

/* ---------------------------------------------------------------- again */

static void what_is_done_is_not_done_again(void **state)
{
    (void)state;
    must(find(), &search_error);
    options.colmap = "not-even-installed-any-more";
    must(find(), &search_error);
    assert_true(info.is_done_before);
    assert_int_equal(info.n_registered, 12);
    assert_false(splat_path_exists("calls.txt"));
    make_photo("photos/p005.png", 32, 24, 77); /* another photo */
    expect_error(SPLAT_ERROR_IO, "apt-get install colmap");
    options.colmap = fake_colmap();
    must(find(), &search_error);
    assert_false(info.is_done_before);
    assert_true(called("feature_extractor --database"));
    setenv("FAKE_DIALECT", "3.13", 1); /* another version, but nothing to do */
    must(find(), &search_error);
    assert_true(info.is_done_before);
}

static void a_failed_stage_is_where_it_goes_on(void **state)
{
    (void)state;
    setenv("FAKE_FAULT", "exhaustive_matcher:exit", 1);
    assert_int_equal(find(), SPLAT_ERROR_IO);
    setenv("FAKE_FAULT", "mapper:half", 1);
    assert_int_equal(find(), SPLAT_ERROR_IO);
    assert_false(called("feature_extractor --database"));
    assert_true(called("exhaustive_matcher --database"));
    assert_true(splat_path_exists("scene/sparse.partial/0/cameras.bin"));
    assert_false(splat_path_exists("scene/sparse"));
    unsetenv("FAKE_FAULT");
    must(find(), &search_error);
    assert_false(called("exhaustive_matcher --database"));
    assert_true(called("mapper --database"));
    assert_false(splat_path_exists("scene/sparse.partial"));
    assert_int_equal(info.n_registered, 12);
    splat_folder_delete("scene/sparse", NULL); /* a result that is gone is made again, and that alone */
    must(find(), &search_error);
    assert_false(called("exhaustive_matcher --database"));
    assert_true(called("mapper --database"));
}

static void another_version_begins_anew(void **state)
{
    (void)state;
    setenv("FAKE_FAULT", "mapper:exit", 1);
    assert_int_equal(find(), SPLAT_ERROR_IO);
    setenv("FAKE_DIALECT", "3.13", 1);
    unsetenv("FAKE_FAULT");
    must(find(), &search_error);
    expect_said("COLMAP is another version");
    assert_true(called("feature_extractor --database"));
    assert_int_equal(count_in_file("scene/database.db", "features"), 1);
}

static bool stop_in_features(void *user, const char *stage, double fraction)
{
    (void)user;
    (void)fraction;
    return strcmp(stage, "features") != 0 || !splat_path_exists("scene/database.db");
}

static void stopped_features_go_on_with_their_camera(void **state)
{
    (void)state;
    setenv("FAKE_FAULT", "feature_extractor:hang", 1);
    options.progress = stop_in_features;
    expect_error(SPLAT_ERROR_STOPPED, "goes on from here");
    uint8_t *pids;
    size_t size;
    int first, second;
    must(splat_file_read("calls.txt.pids", &pids, &size, &search_error), &search_error);
    assert_int_equal(sscanf((const char *)pids, "%d %d", &first, &second), 2);
    free(pids);
    assert_int_not_equal(kill(first, 0), 0);
    for (int i = 0; i < 100 && kill(second, 0) == 0; i++) usleep(10000);
    assert_int_not_equal(kill(second, 0), 0);
    options.progress = watch;
    unsetenv("FAKE_FAULT");
    must(find(), &search_error);
    assert_true(called("--ImageReader.existing_camera_id 1"));
    assert_true(file_has("scene/database.db", "begun\nfeatures"));
}

/* After a stop before the first photo the database has no camera: the run begins again. */
static void a_database_that_cannot_go_on_begins_anew(void **state)
{
    (void)state;
    setenv("FAKE_FAULT", "feature_extractor:hang", 1);
    options.progress = stop_in_features;
    assert_int_equal(find(), SPLAT_ERROR_STOPPED);
    options.progress = watch;
    setenv("FAKE_FAULT", "feature_extractor:once", 1);
    must(find(), &search_error);
    assert_int_equal(count_in_file("calls.txt", "feature_extractor --database"), 2);
    assert_false(file_has("scene/database.db", "begun"));
}

static void damaged_notes_begin_anew(void **state)
{
    (void)state;
    must(find(), &search_error);
    must(splat_file_write("scene/cameras.json", "{\"format\": \"spl", 15, &search_error), &search_error);
    must(find(), &search_error);
    assert_true(called("feature_extractor --database"));
    assert_int_equal(info.n_registered, 12);
}

static void what_needs_cameras(void **state)
{
    (void)state;
    assert_true(splat_cameras_are_needed("photos", NULL));
    assert_false(splat_cameras_are_needed("nowhere", NULL));
    assert_false(splat_cameras_are_needed("models", NULL));
    must(find(), &search_error);
    assert_false(splat_cameras_are_needed("scene", NULL));
    splat_folder_delete("inside", NULL);
    make_photos("inside/images", 3);
    assert_true(splat_cameras_are_needed("inside", NULL));
    assert_true(splat_cameras_are_needed("inside", "images"));
    assert_false(splat_cameras_are_needed("inside", "images_2"));
    must(splat_file_write("inside/transforms.json", "{}", 2, &search_error), &search_error);
    assert_false(splat_cameras_are_needed("inside", NULL));
}

#define TEST(function) cmocka_unit_test_setup(function, begin)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(version_3_8),
        TEST(version_3_13),
        TEST(version_4_1),
        TEST(a_gpu_is_used_when_it_is_built_in_and_given_up_when_it_fails),
        TEST(photos_of_one_size_from_twenty_on_get_opencv),
        TEST(photos_of_several_sizes_have_cameras_of_their_own),
        TEST(photos_of_several_zooms_have_cameras_of_their_own),
        TEST(folders_of_one_size_each_share_a_camera),
        TEST(few_photos_ask_for_smaller_models),
        TEST(many_photos_are_compared_with_neighbours),
        TEST(names_with_newlines_are_left_out),
        TEST(what_cannot_be_read_is_left_out),
        TEST(the_largest_of_several_models_counts),
        TEST(too_few_cameras_are_a_warning),
        TEST(no_colmap_says_what_to_install),
        TEST(every_fault_is_one_sentence_with_advice),
        TEST(the_quality_of_features_is_an_option),
        TEST(numbered_photos_suggest_their_neighbours),
        TEST(sequences_are_known_by_their_names),
        TEST(refused_pose_files_are_named),
        TEST(leftovers_of_complete_stages_go),
        TEST(a_talking_child_of_colmap_does_not_hold_us),
        TEST(a_damaged_model_does_not_block_the_folder),
        TEST(the_mapper_is_asked_again_with_lower_demands),
        TEST(photos_without_cameras_are_tried_with_lower_demands),
        TEST(sources_and_folders_that_cannot_be),
        TEST(what_is_done_is_not_done_again),
        TEST(a_failed_stage_is_where_it_goes_on),
        TEST(another_version_begins_anew),
        TEST(stopped_features_go_on_with_their_camera),
        TEST(a_database_that_cannot_go_on_begins_anew),
        TEST(damaged_notes_begin_anew),
        TEST(what_needs_cameras),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
