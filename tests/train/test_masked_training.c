/* Training and measuring with masks: what they cover has no influence, a mask that keeps all changes nothing, and views
 * of which nothing is kept are passed over. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include "base/rng.h"
#include "io/picture/image.h"
#include "io/picture/image_read.h"
#include "io/picture/image_write.h"
#include "scene/scene.h"
#include "trainer_fixture.h"
#include "view_job_fixture.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define N_CAMERAS 8
#define LITTLE_W 64
#define LITTLE_H 48

/* A sample with blobs and masks in `folder`. */
static void write_sample(const char *folder, int n_blobs)
{
    splat_context *context = open_cpu(2);
    write_small_sample(context, folder, LITTLE_W, LITTLE_H, N_CAMERAS, 200, n_blobs);
    splat_context_destroy(context);
}

static char *file_of(const char *folder, const char *what, int i, const char *ending)
{
    char *path = splat_format("%s/%s/image_%03d.png%s", folder, what, i, ending);
    assert_non_null(path);
    return path;
}

/* Noise into the photos where their masks are black. */
static void disturb(const char *folder)
{
    splat_error error;
    for (int i = 0; i < N_CAMERAS; i++) {
        splat_image photo, mask;
        char *photo_path = file_of(folder, "images", i, ""), *mask_path = file_of(folder, "masks", i, ".png");
        size_t n_changed = 0;
        must(splat_image_read(photo_path, &photo, &error), &error);
        must(splat_image_read(mask_path, &mask, &error), &error);
        for (size_t p = 0; p < LITTLE_W * LITTLE_H; p++) {
            if (mask.pixels[3 * p]) continue;
            n_changed++;
            for (size_t c = 0; c < 3; c++)
                photo.pixels[3 * p + c] = (uint8_t)splat_random(5, SPLAT_STREAM_TEST, (uint32_t)i, 3 * p + c).x[0];
        }
        assert_true(n_changed > 50);
        must(splat_png_write(photo_path, LITTLE_W, LITTLE_H, 3, 8, photo.pixels, &error), &error);
        splat_image_free(&photo);
        splat_image_free(&mask);
        free(photo_path);
        free(mask_path);
    }
}

static void write_mask(const char *folder, int i, uint8_t value)
{
    splat_error error;
    uint8_t pixels[LITTLE_W * LITTLE_H];
    char *path = file_of(folder, "masks", i, ".png");
    memset(pixels, value, sizeof pixels);
    must(splat_folder_create_for(path, &error), &error);
    must(splat_png_write(path, LITTLE_W, LITTLE_H, 1, 8, pixels, &error), &error);
    free(path);
}

static splat_scene *open_as(splat_context *context, splat_mask_mode mode, bool white)
{
    splat_scene *scene;
    splat_scene_options options;
    splat_error error;
    splat_scene_options_init(&options);
    options.source_path = "discs";
    options.mask_mode = mode;
    options.white_background = white;
    must(splat_scene_open(context, &options, &scene, &error), &error);
    return scene;
}

/* A disc in the middle is kept. */
static bool in_disc(size_t pixel)
{
    double x = (double)(pixel % LITTLE_W) - 0.5 * LITTLE_W, y = (double)(pixel / LITTLE_W) - 0.5 * LITTLE_H;
    return x * x + y * y < 0.16 * LITTLE_H * LITTLE_H;
}

typedef struct renders {
    float *pixels; /* [N_CAMERAS][3][height][width] */
    size_t n;
} renders;

static bool keep_render(void *user, size_t index_in_set, const splat_view_info *view, const float *render,
                        const uint8_t *photo, const splat_metrics *metrics)
{
    renders *r = user;
    size_t n = 3 * LITTLE_W * LITTLE_H;
    (void)view;
    (void)photo;
    (void)metrics;
    memcpy(r->pixels + index_in_set * n, render, n * sizeof(float));
    r->n++;
    return true;
}

/* Mean opacity outside of the discs and in them, after so many steps: 1 - (render on white - render on black). */
static void opacity_after(splat_mask_mode mode, bool random_background, int n_steps, double mean[2])
{
    splat_context *context = open_cpu(2);
    splat_scene *black = open_as(context, mode, false), *white = open_as(context, mode, true);
    splat_train_options o = busy_options(n_steps);
    splat_error error;
    const size_t n = 3 * LITTLE_W * LITTLE_H;
    o.random_background = random_background;
    o.opacity_reset_interval = 1000;
    splat_trainer *trainer = new_trainer(context, black, &o);
    run_steps(trainer, n_steps);
    renders on[2];
    size_t counts[2] = {0};
    mean[0] = mean[1] = 0;
    for (int k = 0; k < 2; k++) {
        splat_metrics metrics;
        on[k] = (renders){calloc(N_CAMERAS * n, sizeof(float)), 0};
        splat_view_job job = job_on(SPLAT_VIEWS_TRAIN, keep_render, &on[k]);
        must(splat_model_evaluate(splat_trainer_get_model(trainer), k ? white : black, &job, &metrics, &error), &error);
        assert_int_equal(on[k].n, N_CAMERAS);
    }
    for (size_t i = 0; i < N_CAMERAS * n; i++) {
        bool kept = in_disc(i % (LITTLE_W * LITTLE_H));
        mean[kept] += 1 - (double)(on[1].pixels[i] - on[0].pixels[i]);
        counts[kept]++;
    }
    for (int k = 0; k < 2; k++) {
        mean[k] /= (double)counts[k];
        free(on[k].pixels);
    }
    splat_scene_close(white);
    close_training(context, black, trainer);
}

/* segment: what is outside goes. alpha: that, and what is inside comes. */
static void masks_ask_for_opacity(void **state)
{
    (void)state;
    splat_error error;
    uint8_t mask[LITTLE_W * LITTLE_H];
    double ignored[2], segmented[2], matted[2], random[2];
    write_sample("discs", 0);
    must(splat_folder_create("discs/masks", &error), &error);
    for (size_t i = 0; i < sizeof mask; i++) mask[i] = in_disc(i) ? 255 : 0;
    for (int i = 0; i < N_CAMERAS; i++) {
        char *path = file_of("discs", "masks", i, ".png");
        must(splat_png_write(path, LITTLE_W, LITTLE_H, 1, 8, mask, &error), &error);
        free(path);
    }
    opacity_after(SPLAT_MASKS_IGNORE, false, 80, ignored);
    opacity_after(SPLAT_MASKS_SEGMENT, false, 80, segmented);
    opacity_after(SPLAT_MASKS_ALPHA, false, 80, matted);
    opacity_after(SPLAT_MASKS_ALPHA, true, 80, random);
    print_message("opacity outside, inside: ignore %.3f %.3f, segment %.3f %.3f, alpha %.3f %.3f, random %.3f %.3f\n",
                  ignored[0], ignored[1], segmented[0], segmented[1], matted[0], matted[1], random[0], random[1]);
    assert_true(segmented[0] < 0.5 * ignored[0] && segmented[1] > 0.5 * ignored[1]);
    assert_true(matted[0] < 0.5 * ignored[0] && matted[1] > matted[0] + 0.3);
    assert_true(random[0] < 0.5 * ignored[0] && random[1] > random[0] + 0.3);
}

static splat_scene *open_with(splat_context *context, const char *folder, const char *masks, bool eval)
{
    splat_scene *scene;
    splat_scene_options options;
    splat_error error;
    splat_scene_options_init(&options);
    options.source_path = folder;
    options.masks = masks;
    options.eval = eval;
    options.llffhold = 4;
    must(splat_scene_open(context, &options, &scene, &error), &error);
    return scene;
}

/* The bytes of the splat after 40 busy steps, the last step's info and the metrics of the views. */
static uint8_t *train(const char *folder, const char *masks, bool resample, size_t *size, splat_step_info *info,
                      splat_metrics *metrics)
{
    splat_context *context = open_cpu(2);
    splat_scene *scene = open_with(context, folder, masks, false);
    splat_train_options o = busy_options(40);
    splat_error error;
    o.ray_jitter = o.resample_gt_image = resample;
    splat_trainer *trainer = new_trainer(context, scene, &o);
    *info = run_steps(trainer, 40);
    must(evaluate_set(splat_trainer_get_model(trainer), scene, SPLAT_VIEWS_TRAIN, false, metrics, &error), &error);
    uint8_t *bytes = model_bytes(splat_trainer_get_model(trainer), "model.ply", size);
    close_training(context, scene, trainer);
    return bytes;
}

static void what_masks_cover_changes_nothing(void **state)
{
    (void)state;
    splat_step_info info, again_info;
    splat_metrics metrics, again_metrics;
    size_t size, again_size;
    for (int resample = 0; resample < 2; resample++) {
        write_sample("blobs", 3);
        uint8_t *first = train("blobs", NULL, resample, &size, &info, &metrics);
        uint8_t *unmasked = train("blobs", "none", resample, &again_size, &again_info, &again_metrics);
        assert_true(size != again_size || memcmp(first, unmasked, size) != 0);
        disturb("blobs");
        uint8_t *second = train("blobs", NULL, resample, &again_size, &again_info, &again_metrics);
        assert_int_equal(size, again_size);
        assert_memory_equal(first, second, size);
        assert_true(info.loss == again_info.loss && info.l1 == again_info.l1 && info.ssim == again_info.ssim);
        assert_true(metrics.psnr == again_metrics.psnr && metrics.ssim == again_metrics.ssim);
        assert_int_equal(metrics.n_masked, N_CAMERAS);
        assert_true(metrics.kept > 0.5 && metrics.kept < 0.99);
        free(first);
        free(second);
        free(unmasked);
    }
}

static void white_masks_change_nothing(void **state)
{
    (void)state;
    splat_step_info info, again_info;
    splat_metrics metrics, again_metrics;
    size_t size, again_size;
    write_sample("plain", 0);
    uint8_t *first = train("plain", NULL, false, &size, &info, &metrics);
    for (int i = 0; i < N_CAMERAS; i++) write_mask("plain", i, 255);
    uint8_t *second = train("plain", NULL, false, &again_size, &again_info, &again_metrics);
    assert_int_equal(size, again_size);
    assert_memory_equal(first, second, size);
    assert_true(info.loss == again_info.loss);
    assert_true(metrics.psnr == again_metrics.psnr && metrics.ssim == again_metrics.ssim && metrics.n_masked == 0);
    assert_int_equal(again_metrics.n_masked, N_CAMERAS);
    assert_true(again_metrics.kept == 1 && again_metrics.psnr == again_metrics.psnr_whole);
    free(first);
    free(second);
}

static void empty_views_are_passed_over(void **state)
{
    (void)state;
    splat_context *context = open_cpu(2);
    splat_train_options o = busy_options(30);
    splat_error error;
    splat_step_info info;
    splat_step_info_init(&info);
    write_sample("plain", 0);
    for (int i = 0; i < N_CAMERAS; i++) write_mask("plain", i, i == 2 || i == 3 || i == N_CAMERAS - 1 ? 0 : 255);
    splat_scene *scene = open_with(context, "plain", NULL, false);
    splat_trainer *trainer = new_trainer(context, scene, &o);
    size_t counts[N_CAMERAS] = {0};
    for (int i = 0; i < 2 * N_CAMERAS; i++) {
        must(splat_trainer_step(trainer, &info, &error), &error);
        counts[info.view_index]++;
    }
    for (int i = 0; i < N_CAMERAS; i++) /* 2, 3 go to 4, and the last to the first */
        assert_int_equal(counts[i], i == 2 || i == 3 || i == N_CAMERAS - 1 ? 0 : i == 4 ? 6 : i == 0 ? 4 : 2);
    splat_metrics metrics;
    must(evaluate_set(splat_trainer_get_model(trainer), scene, SPLAT_VIEWS_TRAIN, false, &metrics, &error), &error);
    assert_int_equal(metrics.n_views, N_CAMERAS - 3);
    assert_true(isfinite(metrics.psnr));
    splat_trainer_destroy(trainer);
    splat_scene_close(scene);
    for (int i = 0; i < N_CAMERAS; i++) write_mask("plain", i, 0);
    scene = open_with(context, "plain", NULL, false);
    trainer = new_trainer(context, scene, &o);
    assert_int_equal(splat_trainer_step(trainer, &info, &error), SPLAT_ERROR_ARGUMENT);
    assert_non_null(strstr(error.message, "the masks keep no pixel of any training photo"));
    close_training(context, scene, trainer);
}

/* PSNR and L1 of a view, over the pixels that its mask file keeps and over all. */
static bool measure_by_hand(void *user, size_t index_in_set, const splat_view_info *view, const float *render,
                            const uint8_t *photo, const splat_metrics *metrics)
{
    size_t *n_views = user, plane = LITTLE_W * LITTLE_H, n = 0;
    double squared[2] = {0}, l1[2] = {0};
    splat_image mask, file;
    splat_error error;
    char *path = splat_format("blobs/masks/%s.png", view->name);
    char *photo_path = splat_format("blobs/images/%s", view->name);
    (void)index_in_set;
    must(splat_image_read(path, &mask, &error), &error);
    must(splat_image_read(photo_path, &file, &error), &error);
    assert_memory_equal(photo, file.pixels, 3 * plane); /* a test view is not filled */
    for (size_t p = 0; p < plane; p++) {
        n += mask.pixels[3 * p] == 255;
        for (size_t c = 0; c < 3; c++) {
            double d = (double)render[c * plane + p] - file.pixels[3 * p + c] / 255.0;
            for (int all = mask.pixels[3 * p] == 0; all < 2; all++) {
                squared[all] += d * d;
                l1[all] += fabs(d);
            }
        }
    }
    assert_true(n > plane / 2 && n < plane);
    assert_float_equal(metrics->kept, (double)n / (double)plane, 1e-12);
    assert_float_equal(metrics->l1, l1[0] / (double)(3 * n), 1e-6);
    assert_float_equal(metrics->l1_whole, l1[1] / (double)(3 * plane), 1e-6);
    assert_float_equal(metrics->psnr, -10 * log10(squared[0] / (double)(3 * n)), 1e-4);
    assert_float_equal(metrics->psnr_whole, -10 * log10(squared[1] / (double)(3 * plane)), 1e-4);
    ++*n_views;
    splat_image_free(&mask);
    splat_image_free(&file);
    free(path);
    free(photo_path);
    return true;
}

/* The figures by their definitions, and the whole ones where masks are not to be respected. */
static void metrics_are_of_kept_pixels(void **state)
{
    (void)state;
    splat_context *context = open_cpu(2);
    splat_error error;
    write_sample("blobs", 3);
    splat_scene *scene = open_with(context, "blobs", NULL, true);
    splat_train_options o = busy_options(30);
    splat_trainer *trainer = new_trainer(context, scene, &o);
    splat_metrics masked, whole, plain;
    size_t n_views = 0;
    splat_view_job job = job_on(SPLAT_VIEWS_TEST, measure_by_hand, &n_views);
    must(splat_model_evaluate(splat_trainer_get_model(trainer), scene, &job, &masked, &error), &error);
    assert_int_equal(n_views, 2);
    must(evaluate_set(splat_trainer_get_model(trainer), scene, SPLAT_VIEWS_TRAIN, false, &masked, &error), &error);
    scene->options.eval_masks = false;
    must(evaluate_set(splat_trainer_get_model(trainer), scene, SPLAT_VIEWS_TRAIN, false, &whole, &error), &error);
    assert_true(whole.n_masked == 0 && whole.psnr == masked.psnr_whole && whole.ssim == masked.ssim_whole);
    assert_true(whole.l1 == masked.l1_whole && whole.psnr != masked.psnr);
    splat_trainer_destroy(trainer);
    splat_scene_close(scene);
    scene = open_with(context, "blobs", "none", true);
    trainer = new_trainer(context, scene, &o);
    must(evaluate_set(splat_trainer_get_model(trainer), scene, SPLAT_VIEWS_TRAIN, false, &plain, &error), &error);
    assert_true(plain.n_masked == 0 && plain.psnr != whole.psnr); /* there the blobs are in the photos */
    close_training(context, scene, trainer);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_masks_cover_changes_nothing),
        cmocka_unit_test(white_masks_change_nothing),
        cmocka_unit_test(empty_views_are_passed_over),
        cmocka_unit_test(metrics_are_of_kept_pixels),
        cmocka_unit_test(masks_ask_for_opacity),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
