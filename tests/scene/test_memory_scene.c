/* Scenes of photos in memory: the same photos, cameras, splits and training as of the files that they came from, and
 * one sentence for what cannot be one. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include "io/colmap/colmap.h"
#include "io/colmap/colmap_parse.h"
#include "io/colmap/colmap_read.h"
#include "io/picture/image.h"
#include "io/picture/image_read.h"
#include "math/camera.h"
#include "scene/mask.h"
#include "scene/scene.h"
#include "trainer_fixture.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { MOST = 20 };

/* The data of a program: the photos of a scene in files, decoded, with their cameras and points from COLMAP. */
typedef struct held {
    splat_colmap_model model;
    splat_scene_photo photos[MOST];
    splat_image pictures[MOST], masks[MOST];
    float *points;
    uint8_t *colors;
    splat_scene_arrays arrays;
} held;

static void hold_photo(held *h, size_t i, const char *folder)
{
    char path[256];
    splat_error error;
    const splat_colmap_image *image = &h->model.images[i];
    const splat_colmap_camera *camera = splat_colmap_find_camera(&h->model, image->camera_id);
    const splat_lens_form *form = splat_lens_form_get(camera->model_id);
    splat_scene_photo *photo = &h->photos[i];
    snprintf(path, sizeof path, "%s/images/%s", folder, image->name);
    must(splat_image_read(path, &h->pictures[i], &error), &error);
    snprintf(path, sizeof path, "%s/masks/%s.png", folder, image->name);
    const splat_image *picture = &h->pictures[i];
    if (splat_path_exists(path))
        must(splat_mask_read(path, picture->width, picture->height, false, &h->masks[i], &error), &error);
    splat_scene_photo_init(photo);
    photo->name = image->name;
    photo->pixels = picture->pixels;
    photo->width = picture->width;
    photo->height = picture->height;
    photo->channels = picture->channels;
    photo->mask = h->masks[i].pixels;
    photo->camera_model = form->name;
    photo->camera_width = (int)camera->width;
    photo->camera_height = (int)camera->height;
    const double intrinsics[4] = {camera->fx, camera->fy, camera->cx, camera->cy};
    const int skipped = form->n_focals == 1; /* one focal length is both */
    memcpy(photo->parameters, intrinsics + skipped, (size_t)(4 - skipped) * sizeof *intrinsics);
    memcpy(photo->parameters + 4 - skipped, camera->coefficients, (size_t)form->n_coefficients * sizeof(double));
    splat_quaternion_to_rotation(image->rotation, photo->rotation);
    memcpy(photo->translation, image->translation, sizeof photo->translation);
}

/* The points that the opened scene starts from. */
static void hold_points(held *h, const splat_scene *scene)
{
    size_t n = scene->dataset.n_points;
    h->points = malloc(3 * n * sizeof *h->points);
    h->colors = malloc(3 * n);
    splat_scene_get_points(scene, h->points, NULL);
    splat_scene_get_points(scene, NULL, h->colors);
    splat_scene_arrays_init(&h->arrays);
    h->arrays.photos = h->photos;
    h->arrays.n_photos = h->model.n_images;
    h->arrays.points = h->points;
    h->arrays.colors = h->colors;
    h->arrays.n_points = n;
}

static void hold(held *h, const char *folder, const splat_scene *scene)
{
    char path[256];
    splat_error error;
    memset(h, 0, sizeof *h);
    snprintf(path, sizeof path, "%s/sparse/0", folder);
    must(splat_colmap_read(path, &h->model, &error), &error);
    assert_in_range(h->model.n_images, 1, MOST);
    for (size_t i = 0; i < h->model.n_images; i++) hold_photo(h, i, folder);
    hold_points(h, scene);
}

static void let_go(held *h)
{
    for (size_t i = 0; i < MOST; i++) {
        splat_image_free(&h->pictures[i]);
        splat_image_free(&h->masks[i]);
    }
    free(h->points);
    free(h->colors);
    splat_colmap_free(&h->model);
}

static void write_sample(splat_context *context, const char *folder, splat_sample_distortion distortion, int n_blobs)
{
    splat_sample_options sample;
    splat_error error;
    splat_sample_options_init(&sample);
    sample.width = WIDTH;
    sample.height = HEIGHT;
    sample.n_cameras = 9;
    sample.n_points = 300;
    sample.n_truth = 10;
    sample.supersample = 1;
    sample.distortion = distortion;
    sample.n_blobs = n_blobs;
    must(splat_folder_delete(folder, &error), &error);
    must(splat_sample_write(context, folder, &sample, &error), &error);
}

static void assert_same_views(splat_scene *files, splat_scene *memory)
{
    const splat_dataset *a = &files->dataset, *b = &memory->dataset;
    splat_error error;
    assert_int_equal(a->n_views, b->n_views);
    assert_int_equal(a->n_train, b->n_train);
    assert_int_equal(a->n_test, b->n_test);
    assert_int_equal(a->n_masked, b->n_masked);
    assert_true(a->extent == b->extent);
    for (size_t i = 0; i < a->n_views; i++) {
        const uint8_t *first, *second;
        assert_string_equal(a->views[i].name, b->views[i].name);
        assert_int_equal(a->views[i].is_test, b->views[i].is_test);
        assert_memory_equal(&a->views[i].camera, &b->views[i].camera, sizeof a->views[i].camera);
        must(splat_image_cache_acquire(files->cache, i, &first, &error), &error);
        must(splat_image_cache_acquire(memory->cache, i, &second, &error), &error);
        assert_memory_equal(first, second, splat_view_decoded_bytes(&a->views[i])); /* masks, too */
        splat_image_cache_release(files->cache, i);
        splat_image_cache_release(memory->cache, i);
    }
}

static uint8_t *trained_bytes(splat_context *context, splat_scene *scene, const char *path, size_t *size)
{
    splat_train_options options = busy_options(30);
    splat_trainer *trainer = new_trainer(context, scene, &options);
    run_steps(trainer, 30);
    uint8_t *bytes = model_bytes(splat_trainer_get_model(trainer), path, size);
    splat_trainer_destroy(trainer);
    return bytes;
}

/* Opens the folder with the options, and the same from memory. */
static void open_both(splat_context *context, const char *folder, splat_scene_options options, held *h,
                      splat_scene **files, splat_scene **memory)
{
    splat_error error;
    options.source_path = folder;
    must(splat_scene_open(context, &options, files, &error), &error);
    hold(h, folder, *files);
    options.source_path = NULL;
    must(splat_scene_create(context, &h->arrays, &options, memory, &error), &error);
}

static void memory_is_the_same_scene_as_files(void **state)
{
    static const struct {
        splat_sample_distortion distortion;
        int n_blobs, resolution;
        splat_mask_mode mode;
    } cases[] = {
        {SPLAT_SAMPLE_DISTORTION_NONE, 0, 2, SPLAT_MASKS_IGNORE},
        {SPLAT_SAMPLE_DISTORTION_OPENCV, 3, -1, SPLAT_MASKS_IGNORE},
        {SPLAT_SAMPLE_DISTORTION_SIMPLE_RADIAL, 3, -1, SPLAT_MASKS_ALPHA},
        {SPLAT_SAMPLE_DISTORTION_EQUIRECTANGULAR, 0, -1, SPLAT_MASKS_IGNORE}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        held h;
        splat_scene *files, *memory;
        splat_scene_options options;
        splat_scene_options_init(&options);
        options.eval = true;
        options.resolution = cases[i].resolution;
        options.mask_mode = cases[i].mode;
        write_sample(*state, "of_files", cases[i].distortion, cases[i].n_blobs);
        open_both(*state, "of_files", options, &h, &files, &memory);
        assert_same_views(files, memory);
        if (i == 0) {
            size_t n, n_memory;
            uint8_t *bytes = trained_bytes(*state, files, "a.ply", &n);
            uint8_t *memory_bytes = trained_bytes(*state, memory, "b.ply", &n_memory);
            assert_int_equal(n, n_memory);
            assert_memory_equal(bytes, memory_bytes, n);
            free(bytes);
            free(memory_bytes);
        }
        splat_scene_close(files);
        splat_scene_close(memory);
        let_go(&h);
    }
}

/* A photo of four channels, as it is decoded from memory: over white, with straight alpha. */
static void alpha_is_composited(void **state)
{
    static const uint8_t pixels[2][4] = {{200, 100, 0, 255}, {200, 100, 0, 0}};
    splat_scene_photo photo;
    splat_scene_arrays arrays;
    splat_scene_options options;
    splat_scene *scene;
    splat_scene_info info;
    splat_error error;
    uint8_t rgb[2][3];
    splat_scene_photo_init(&photo);
    photo.name = "a.png";
    photo.pixels = pixels[0];
    photo.width = 2;
    photo.height = 1;
    photo.channels = 4;
    memcpy(photo.parameters, (const double[]){2, 2, 1, 0.5}, 4 * sizeof(double));
    splat_scene_arrays_init(&arrays);
    arrays.photos = &photo;
    arrays.n_photos = 1;
    splat_scene_options_init(&options);
    options.white_background = true;
    must(splat_scene_create(*state, &arrays, &options, &scene, &error), &error);
    must(splat_scene_read_photo(scene, 0, rgb[0], &error), &error);
    assert_memory_equal(rgb, ((const uint8_t[]){200, 100, 0, 255, 255, 255}), 6);
    splat_scene_get_info(scene, &info);
    assert_string_equal(info.format, "memory");
    assert_true(info.random_points);
    splat_scene_close(scene);
}

/* The program's own test photos win over the rules, where `eval` asks for any. */
static void given_tests_are_held_out(void **state)
{
    held h;
    splat_scene *files, *memory;
    splat_error error;
    splat_scene_options options;
    splat_scene_options_init(&options);
    write_sample(*state, "of_tests", SPLAT_SAMPLE_DISTORTION_NONE, 0);
    open_both(*state, "of_tests", options, &h, &files, &memory);
    splat_scene_close(memory);
    h.photos[4].is_test = true;
    for (int eval = 0; eval < 2; eval++) {
        splat_scene_info info;
        options.eval = eval;
        must(splat_scene_create(*state, &h.arrays, &options, &memory, &error), &error);
        splat_scene_get_info(memory, &info);
        assert_int_equal(info.n_test, eval);
        for (size_t i = 0; i < info.n_views; i++) {
            splat_view_info view;
            must(splat_scene_get_view(memory, i, &view, &error), &error);
            assert_int_equal(view.is_test, eval && strcmp(view.name, h.photos[4].name) == 0);
        }
        splat_scene_close(memory);
    }
    splat_scene_close(files);
    let_go(&h);
}

static void expect_refusal(splat_context *context, const splat_scene_arrays *arrays, const splat_scene_options *options,
                           const char *words)
{
    splat_error error = {0};
    splat_scene *scene;
    assert_int_equal(splat_scene_create(context, arrays, options, &scene, &error), SPLAT_ERROR_ARGUMENT);
    if (!strstr(error.message, words)) fail_msg("expected \"%s\", got \"%s\"", words, error.message);
    assert_null(scene);
}

/* Each fault alone, in a photo that is good without it. */
static void what_cannot_be_a_photo_is_refused(void **state)
{
    static const uint8_t pixels[4 * 4 * 3];
    splat_scene_photo good, photos[2];
    splat_scene_arrays arrays;
    splat_scene_options options;
    splat_scene_photo_init(&good);
    good.name = "a.png";
    good.pixels = pixels;
    good.width = good.height = 4;
    memcpy(good.parameters, (const double[]){4, 4, 2, 2}, 4 * sizeof(double));
    splat_scene_arrays_init(&arrays);
    arrays.photos = photos;
    arrays.n_photos = 1;
#define REFUSED(words, ...)                                                                                            \
    do {                                                                                                               \
        photos[0] = photos[1] = good;                                                                                  \
        splat_scene_options_init(&options);                                                                            \
        __VA_ARGS__;                                                                                                   \
        expect_refusal(*state, &arrays, &options, words);                                                              \
    } while (0)
    REFUSED("has the name", photos[0].name = "../a.png");
    REFUSED("has the name", photos[0].name = NULL);
    REFUSED("no pixels", photos[0].pixels = NULL);
    REFUSED("0 x 4 pixels", photos[0].width = 0);
    REFUSED("1 channels", photos[0].channels = 1);
    REFUSED("give both sides", photos[0].camera_width = 4);
    REFUSED("its determinant must be 1", photos[0].rotation[8] = -1);
    REFUSED("its determinant must be 1", photos[0].rotation[0] = 1.01);
    REFUSED("not finite", photos[0].translation[1] = 1e300);
    REFUSED("none of COLMAP's models", photos[0].camera_model = "pinhole");
    REFUSED("parameter 1 of the camera", photos[0].parameters[1] = 0);
    REFUSED("begin with splat_scene_photo_init", photos[0].size = 0);
    REFUSED("`source_path` is of scenes in files", options.source_path = "x");
    REFUSED("`masks` is of scenes in files", options.masks = "masks");
    REFUSED("`sfm_depth` is of scenes in files", options.sfm_depth = true);
    REFUSED("points is NULL", arrays.n_points = 3);
    static const float points[9] = {0, 0, 0, 0, INFINITY};
    REFUSED("point 1 of the scene is not finite", arrays.points = points);
    arrays.n_points = 0;
    arrays.n_photos = 2;
    REFUSED("another size than the first", photos[1].size = sizeof *photos + 8);
    arrays.n_photos = 0;
    REFUSED("there are none", (void)0);
    splat_error error;
    splat_scene *scene;
    arrays.n_photos = 2;
    photos[1].name = "a.png";
    assert_int_equal(splat_scene_create(*state, &arrays, NULL, &scene, &error), SPLAT_ERROR_FORMAT);
    assert_non_null(strstr(error.message, "two cameras of the scene use this photo"));
}

/* Cameras that exchange the axes in a circle are turned; those that exchange two axes are mirrored, and refused. */
static void exchanges_of_axes_are_turns_or_mirrors(void **state)
{
    static const uint8_t pixels[4 * 4 * 3];
    static const struct { int axes[3]; bool is_turn; } cases[] = {
        {{0, 1, 2}, true}, {{1, 2, 0}, true}, {{2, 0, 1}, true},
        {{1, 0, 2}, false}, {{2, 1, 0}, false}, {{0, 2, 1}, false}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        splat_scene_photo photo;
        splat_scene_arrays arrays;
        splat_scene *scene = NULL;
        splat_error error;
        splat_scene_photo_init(&photo);
        photo.name = "a.png";
        photo.pixels = pixels;
        photo.width = photo.height = 4;
        memcpy(photo.parameters, (const double[]){4, 4, 2, 2}, 4 * sizeof(double));
        memset(photo.rotation, 0, sizeof photo.rotation);
        for (int k = 0; k < 3; k++) photo.rotation[3 * k + cases[i].axes[k]] = 1;
        splat_scene_arrays_init(&arrays);
        arrays.photos = &photo;
        arrays.n_photos = 1;
        splat_status status = splat_scene_create(*state, &arrays, NULL, &scene, &error);
        bool is_mirror = status == SPLAT_ERROR_ARGUMENT && strstr(error.message, "its determinant must be 1");
        if (is_mirror == cases[i].is_turn) fail_msg("case %zu: status %d", i, (int)status);
        splat_scene_close(scene);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(memory_is_the_same_scene_as_files),
                                       cmocka_unit_test(alpha_is_composited),
                                       cmocka_unit_test(given_tests_are_held_out),
                                       cmocka_unit_test(what_cannot_be_a_photo_is_refused),
                                       cmocka_unit_test(exchanges_of_axes_are_turns_or_mirrors)};
    return cmocka_run_group_tests(tests, open_context_group, close_context_group);
}
