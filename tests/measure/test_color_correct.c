/* Figures with corrected colours: a render that is the photo but for gains and offsets has none left; what the picture
 * was comes back; and results.json has them where they were measured. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include "backend/backend.h"
#include "base/context.h"
#include "base/rng.h"
#include "io/json.h"
#include "measure/picture_metrics.h"
#include "measure/results_json.h"
#include "trainer_fixture.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { N_COLUMNS = 61, N_ROWS = 43, N_PIXELS = N_COLUMNS * N_ROWS };

static float uniform(uint64_t i)
{
    return splat_uniform(splat_random(1, SPLAT_STREAM_TEST, 5, i).x[0]);
}

/* The photo, away from black and white so that no render of it is clamped. */
static void make_photo(uint8_t *photo)
{
    for (int i = 0; i < 3 * N_PIXELS; i++) photo[i] = (uint8_t)(60 + (int)(100 * uniform((uint64_t)i)));
}

static splat_metrics measure(splat_context *context, const float *render, const uint8_t *photo, bool correct)
{
    splat_block blocks[2] = {{0}};
    splat_camera camera = {.width = N_COLUMNS, .height = N_ROWS};
    static float after[3 * N_PIXELS];
    splat_backend *b = context->backend;
    splat_lpips *lpips = NULL;
    splat_metrics metrics;
    splat_error error;
    must(splat_block_resize(b, &blocks[0], "render", SPLAT_OWNER_OTHER, sizeof after, &error), &error);
    must(splat_block_resize(b, &blocks[1], "photo", SPLAT_OWNER_OTHER, 3 * N_PIXELS, &error), &error);
    must(splat_backend_upload(b, blocks[0].data, render, sizeof after, &error), &error);
    must(splat_backend_upload(b, blocks[1].data, photo, 3 * N_PIXELS, &error), &error);
    const splat_measured_picture picture = {.camera = &camera, .image = blocks[0].data, .photo = blocks[1].data,
                                            .share = 1, .color_correct = correct};
    must(splat_picture_measure(context, &picture, &lpips, &metrics, &error), &error);
    must(splat_backend_download(b, after, blocks[0].data, sizeof after, &error), &error);
    for (int i = 0; i < 3 * N_PIXELS; i++) assert_true(after[i] == fminf(fmaxf(render[i], 0), 1));
    for (int i = 0; i < 2; i++) splat_block_free(b, &blocks[i]);
    return metrics;
}

static void gains_and_offsets_are_taken_away(void **state)
{
    (void)state;
    static uint8_t photo[3 * N_PIXELS];
    static float render[3 * N_PIXELS], noisy[3 * N_PIXELS];
    splat_context *context = open_cpu(2);
    make_photo(photo);
    static const float slopes[3] = {0.5f, 1.2f, 0.9f}, offsets[3] = {0.2f, 0, 0.05f};
    for (int c = 0; c < 3; c++)
        for (int i = 0; i < N_PIXELS; i++) {
            int at = c * N_PIXELS + i;
            float y = (float)photo[3 * i + c] / 255.0f, noise = 0.02f * (uniform(90000 + (uint64_t)at) - 0.5f);
            render[at] = slopes[c] * y + offsets[c];
            noisy[at] = y + noise;
        }
    splat_metrics m = measure(context, render, photo, true);
    assert_true(m.is_corrected && m.cc_psnr > 90 && m.cc_ssim > 0.9999); /* floats: an error of 1e-6 would be 120 dB */
    assert_true(m.psnr < 25);
    /* With colours that agree there is nothing to correct: noise of the variance s^2 stays, divided by a slope of
     * nearly 1 (4 s^2/var(y) below it). */
    m = measure(context, noisy, photo, true);
    assert_true(fabs(m.cc_psnr - m.psnr) < 0.02 && fabs(m.cc_ssim - m.ssim) < 1e-3);
    m = measure(context, noisy, photo, false);
    assert_true(!m.is_corrected && m.cc_psnr == 0);
    splat_context_destroy(context);
}

/* A picture that is twice as bright as the photo, and above white where the photo is above gray, has its colours. */
static void what_is_above_white_is_not_lost(void **state)
{
    (void)state;
    static uint8_t photo[3 * N_PIXELS];
    static float render[3 * N_PIXELS];
    splat_context *context = open_cpu(2);
    make_photo(photo);
    for (int i = 0; i < 3 * N_PIXELS; i++) render[i] = 2.2f * (float)photo[i % N_PIXELS * 3 + i / N_PIXELS] / 255.0f;
    splat_metrics m = measure(context, render, photo, true);
    assert_true(m.cc_psnr > 90 && m.cc_ssim > 0.9999);
    assert_true(m.psnr < 12);
    splat_context_destroy(context);
}

/* A photo of twice the exposure is white where the render is above gray: there it says nothing of the gain. */
static void what_is_saturated_has_no_say(void **state)
{
    (void)state;
    static uint8_t photo[3 * N_PIXELS];
    static float render[3 * N_PIXELS];
    splat_context *context = open_cpu(2);
    for (int i = 0; i < 3 * N_PIXELS; i++) {
        const int level = 20 + (int)(200 * uniform((uint64_t)i));
        photo[i] = (uint8_t)(2 * level < 255 ? 2 * level : 255);
        render[i % 3 * N_PIXELS + i / 3] = (float)level / 255.0f;
    }
    splat_metrics m = measure(context, render, photo, true);
    assert_true(m.cc_psnr > 60 && m.cc_ssim > 0.9999);
    memset(photo, 255, sizeof photo); /* all of it */
    m = measure(context, render, photo, true);
    assert_true(isfinite(m.cc_psnr) && isfinite(m.cc_ssim));
    splat_context_destroy(context);
}

/* A photo of one colour tells no contrast. The render must not become infinite. */
static void flat_photos_have_finite_figures(void **state)
{
    (void)state;
    static uint8_t photo[3 * N_PIXELS];
    static float render[3 * N_PIXELS];
    splat_context *context = open_cpu(1);
    memset(photo, 128, sizeof photo);
    for (int i = 0; i < 3 * N_PIXELS; i++) render[i] = 0.3f + 0.1f * uniform((uint64_t)i);
    splat_metrics m = measure(context, render, photo, true);
    assert_true(isfinite(m.cc_psnr) && isfinite(m.cc_ssim));
    splat_context_destroy(context);
}

static double number(const char *path, const char *key)
{
    json_t *root;
    splat_error error;
    must(splat_json_read(path, &root, &error), &error);
    const json_t *value = json_object_get(json_object_get(root, "m"), key);
    double found = json_is_number(value) ? json_number_value(value) : json_is_object(value) ? 1 : -1;
    json_decref(root);
    return found;
}

/* Whole pictures have four figures; what nobody measured of them is no column, nor a zero. */
static void assert_whole_figures(void)
{
    assert_true(number("results.json", "PSNR_whole") == 18 && number("results.json", "SSIM_whole") == 0.25);
    assert_true(number("results.json", "LPIPS_whole") == -1 && number("results.json", "cc_psnr_whole") == -1);
    assert_true(number("results.json", "cc_ssim_whole") == -1 && number("results.json", "cc_lpips_whole") == -1);
    assert_true(number("results.json", "exposed_psnr_whole") == -1);
}

static void results_have_what_was_measured(void **state)
{
    (void)state;
    splat_error error;
    const char *names[1] = {"00000.png"};
    splat_metrics one = {.psnr = 20, .ssim = 0.5, .n_views = 1};
    must(splat_results_json_write(".", "m", &one, &one, names, 1, &error), &error);
    assert_true(number("results.json", "cc_psnr") == -1 && number("per_view.json", "cc_ssim") == -1);
    one.is_corrected = true;
    one.cc_psnr = 25;
    one.cc_ssim = 0.75;
    must(splat_results_json_write(".", "m", &one, &one, names, 1, &error), &error);
    assert_true(number("results.json", "cc_psnr") == 25 && number("results.json", "cc_ssim") == 0.75);
    assert_true(number("results.json", "PSNR") == 20 && number("results.json", "cc_lpips") == -1);
    assert_true(number("per_view.json", "cc_ssim") == 1);
    one.lpips_net = "vgg";
    one.cc_lpips = 0.125;
    must(splat_results_json_write(".", "m", &one, &one, names, 1, &error), &error);
    assert_true(number("results.json", "cc_lpips") == 0.125 && number("results.json", "LPIPS") == 0);
    assert_true(number("results.json", "exposed_psnr") == -1 && number("per_view.json", "exposed_ssim") == -1);
    one.is_exposed = true;
    one.exposed_psnr = 22;
    one.exposed_ssim = 0.625;
    must(splat_results_json_write(".", "m", &one, &one, names, 1, &error), &error);
    assert_true(number("results.json", "exposed_psnr") == 22 && number("results.json", "exposed_ssim") == 0.625);
    assert_true(number("per_view.json", "exposed_psnr") == 1 && number("results.json", "cc_psnr") == 25);
    assert_true(number("results.json", "exif_psnr") == -1 && number("per_view.json", "exif_ssim") == -1);
    one.is_exif_exposed = true;
    one.exif_psnr = 23;
    one.exif_ssim = 0.875;
    must(splat_results_json_write(".", "m", &one, &one, names, 1, &error), &error);
    assert_true(number("results.json", "exif_psnr") == 23 && number("results.json", "exif_ssim") == 0.875);
    assert_true(number("per_view.json", "exif_psnr") == 1 && number("results.json", "exposed_psnr") == 22);
    one.n_masked = 1;
    one.psnr_whole = 18;
    one.ssim_whole = 0.25;
    must(splat_results_json_write(".", "m", &one, &one, names, 1, &error), &error);
    assert_whole_figures();
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(gains_and_offsets_are_taken_away),
                                       cmocka_unit_test(what_is_above_white_is_not_lost),
        cmocka_unit_test(what_is_saturated_has_no_say),
                                       cmocka_unit_test(flat_photos_have_finite_figures),
                                       cmocka_unit_test(results_have_what_was_measured)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
