/* report.html and history.jsonl: what they say of a run, of one that was stopped and went on; what a browser shows. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include "io/json.h"
#include "io/picture/image.h"
#include "io/picture/image_read.h"
#include "report/profile/memory_profile.h"
#include "text_fixture.h"
#include "train/state.h"
#include "trainer_fixture.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define STEPS 60
#define COMMAND "splatsmith train -s \"a <b> & c\""

static splat_trainer *running;
static int stop_after;

static void on_event(void *user, const splat_event *event)
{
    (void)user;
    if (event->kind == SPLAT_EVENT_STEP && event->step->iteration == stop_after) splat_trainer_request_stop(running);
}

/* stop: the step to stop after, 0: none. */
static splat_status run(const char *folder, bool goes_on, int stop, splat_error *error)
{
    static const int tests[] = {30}, checkpoints[] = {STEPS};
    splat_train_options options = busy_options(STEPS);
    splat_context *context = open_cpu(2);
    splat_scene *scene = open_scene(context);
    splat_trainer *trainer = new_trainer(context, scene, &options);
    splat_run_options run_options;
    splat_run_options_init(&run_options);
    run_options.model_path = folder;
    run_options.test_iterations = tests;
    run_options.n_test_iterations = 1;
    run_options.checkpoint_iterations = checkpoints;
    run_options.n_checkpoint_iterations = 1;
    run_options.report = true;
    run_options.command = COMMAND;
    run_options.start_checkpoint = goes_on ? "latest" : NULL;
    run_options.event = on_event;
    running = trainer;
    stop_after = stop;
    splat_status status = splat_trainer_run(trainer, &run_options, error);
    close_training(context, scene, trainer);
    return status;
}

static void run_whole(const char *folder)
{
    splat_error error;
    must(splat_folder_delete(folder, &error), &error);
    must(run(folder, false, 0, &error), &error);
}

static char *text_of(const char *folder, const char *name)
{
    uint8_t *data;
    size_t size;
    splat_error error;
    char *path = splat_format("%s/%s", folder, name);
    must(splat_file_read(path, &data, &size, &error), &error);
    free(path);
    char *text = malloc(size + 1);
    memcpy(text, data, size);
    text[size] = '\0';
    assert_int_equal(strlen(text), size);
    free(data);
    return text;
}

/* ---------------------------------------------------------------- the history */

typedef struct history {
    json_t *lines[64];
    int n;
} history;

static history read_history(const char *folder)
{
    history h = {.n = 0};
    char *text = text_of(folder, "history.jsonl"), *rest = text;
    for (char *line; (line = strsep(&rest, "\n")) && *line; h.n++) {
        assert_true(h.n < 64);
        h.lines[h.n] = json_loads(line, 0, NULL);
        assert_non_null(h.lines[h.n]);
    }
    free(text);
    return h;
}

static void free_history(history *h)
{
    for (int i = 0; i < h->n; i++) json_decref(h->lines[i]);
}

static double number(const json_t *object, const char *key)
{
    const json_t *value = json_object_get(object, key);
    assert_true(json_is_number(value));
    return json_number_value(value);
}

static void check_point(const json_t *line, int iteration)
{
    double sum = 0;
    const json_t *memory = json_object_get(line, "memory");
    assert_int_equal((int)number(line, "iteration"), iteration);
    assert_true(number(line, "loss") > 0 && number(line, "loss") < 1);
    assert_true(number(line, "l1") > 0 && number(line, "step_ms") > 0 && number(line, "seconds") > 0);
    assert_true(number(line, "gaussians") >= 300);
    for (int i = 0; i < SPLAT_N_MEMORY_CATEGORIES; i++)
        sum += number(memory, splat_memory_category_name((splat_memory_category)i));
    assert_true(sum > 400 * 59 * 4.0); /* the parameters alone */
    assert_true(sum >= number(memory, "parameters") + number(memory, "optimizer"));
}

/* Points after 10, 20, ...; test and training views at 30 and at the end. */
static void check_history(const char *folder)
{
    history h = read_history(folder);
    int iteration = 0, n_evaluations = 0;
    double seconds = 0;
    assert_int_equal(h.n, STEPS / 10 + 4);
    for (int i = 0; i < h.n; i++) {
        if (!json_object_get(h.lines[i], "set")) {
            check_point(h.lines[i], iteration += 10);
            assert_true(number(h.lines[i], "seconds") > seconds);
            seconds = number(h.lines[i], "seconds");
            continue;
        }
        assert_int_equal((int)number(h.lines[i], "iteration"), n_evaluations < 2 ? 30 : STEPS);
        const char *set = json_string_value(json_object_get(h.lines[i], "set"));
        assert_string_equal(set, n_evaluations++ % 2 ? "train" : "test");
        assert_true(number(h.lines[i], "psnr") > 5 && number(h.lines[i], "ssim") > 0);
    }
    free_history(&h);
}

/* ---------------------------------------------------------------- the page */

static uint32_t digit(char c)
{
    const char *digits = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/", *at = strchr(digits, c);
    assert_true(c && (at || c == '='));
    return at ? (uint32_t)(at - digits) : 0;
}

/* The picture of a data URI whose digits begin at `text`. */
static splat_image decode(const char *text)
{
    splat_image image;
    splat_error error;
    size_t length = strcspn(text, "\""), n = 0;
    uint8_t *data = malloc(length);
    assert_true(length % 4 == 0);
    for (size_t i = 0; i < length; i += 4) {
        uint32_t bits = digit(text[i]) << 18 | digit(text[i + 1]) << 12 | digit(text[i + 2]) << 6 | digit(text[i + 3]);
        for (int shift = 16; shift >= 0; shift -= 8) data[n++] = (uint8_t)(bits >> shift);
    }
    n -= text[length - 1] == '=';
    n -= text[length - 2] == '=';
    must(splat_image_decode("data URI", data, n, &image, &error), &error);
    free(data);
    return image;
}

/* True if the page has the word outside of the base64 of pictures, which may have any letters. */
static bool says(const char *page, const char *word)
{
    for (const char *at = strstr(page, word); at; at = strstr(at + 1, word)) {
        const char *quote = at;
        while (quote > page && *quote != '"') quote--;
        if (strncmp(quote, "\"data:", 6) != 0) return true;
    }
    return false;
}

/* The first photo, through a JPEG of quality 88: four steps off, as it has much detail; another photo is tens off. */
static void check_pictures(const char *page)
{
    static const char start[] = "src=\"data:image/jpeg;base64,";
    splat_image photo, read;
    splat_error error;
    const char *at = strstr(page, start);
    double sum = 0;
    photo = decode(at + sizeof start - 1);
    assert_true(photo.width == WIDTH && photo.height == HEIGHT);
    must(splat_image_read(SCENE "/images/image_000.png", &read, &error), &error); /* the first test view */
    for (size_t i = 0; i < 3 * WIDTH * HEIGHT; i++) sum += fabs((double)photo.pixels[i] - read.pixels[i]);
    if (sum / (3 * WIDTH * HEIGHT) > 6) fail_msg("the photo is %g steps off", sum / (3 * WIDTH * HEIGHT));
    splat_image_free(&photo);
    splat_image_free(&read);
    for (at = page; (at = strstr(at, start)); at++) {
        photo = decode(at + sizeof start - 1);
        assert_true(photo.width == WIDTH && photo.height == HEIGHT);
        splat_image_free(&photo);
    }
}

static void a_run_has_a_page(void **state)
{
    (void)state;
    run_whole("whole");
    check_history("whole");
    history h = read_history("whole");
    assert_true(number(json_object_get(h.lines[6], "stages_ms"), "raster_backward") > 0); /* after 50 */
    free_history(&h);
    char *page = text_of("whole", "report.html");
    assert_non_null(strstr(page, "<h1>test_run_page/whole</h1>")); /* the folder that this test runs in */
    assert_non_null(strstr(page, "finished: 60 iterations"));
    assert_non_null(strstr(page, "a &lt;b&gt; &amp; c"));
    assert_non_null(strstr(page, "Test views at iteration 60"));
    assert_non_null(strstr(page, "<td>densify_grad_threshold</td><td>0.0001</td>"));
    assert_non_null(strstr(page, "<td>splatsmith</td><td>" SPLATSMITH_VERSION));
    assert_int_equal(text_count(page, "<img"), 4 * 3); /* three test views; a photo is also under its render */
    assert_int_equal(text_count(page, "<svg"), 6);     /* loss, PSNR, SSIM, Gaussians, memory, step */
    assert_int_equal(text_count(page, "Stages of a step"), 0); /* measured once: no line, but a table */
    assert_int_equal(text_count(page, "<tr><td>raster_backward</td>"), 1);
    assert_int_equal(text_count(page, "<div class=\"portraits\">"), 0);
    assert_int_equal(text_count(page, "src="), text_count(page, "src=\"data:"));
    /* self-contained */
    assert_int_equal(text_count(page, "http"), text_count(page, "xmlns=\"http://www.w3.org/2000/svg\""));
    assert_int_equal(text_count(page, "url("), 0);
    assert_false(says(page, "nan"));
    check_pictures(page);
    free(page);
}

static void a_run_that_goes_on_has_one_history(void **state)
{
    (void)state;
    splat_error error;
    must(splat_folder_delete("parts", &error), &error);
    assert_int_equal(run("parts", false, 35, &error), SPLAT_ERROR_STOPPED);
    char *page = text_of("parts", "report.html");
    assert_non_null(strstr(page, "<p class=\"bad\">stopped after iteration 35 of 60"));
    assert_non_null(strstr(page, "saved, and <code>--start_checkpoint latest</code> goes on</p>"));
    free(page);
    FILE *file = fopen("parts/history.jsonl", "a"); /* what a later, killed run left, and the line it was writing */
    fputs("{\"iteration\":40,\"seconds\":9e9,\"loss\":0.5}\n[]\n{\"iteration\":", file);
    fclose(file);
    must(run("parts", true, 0, &error), &error);
    check_history("parts");
    history whole = read_history("whole"), parts = read_history("parts");
    for (int i = 0; i < whole.n; i++) {
        if (json_object_get(whole.lines[i], "set"))
            assert_true(number(whole.lines[i], "psnr") == number(parts.lines[i], "psnr"));
        else if (number(whole.lines[i], "iteration") != 40) /* of steps 36 to 40 here */
            assert_true(number(whole.lines[i], "loss") == number(parts.lines[i], "loss"));
    }
    free_history(&whole);
    free_history(&parts);
    page = text_of("parts", "report.html");
    must(run("parts", true, 0, &error), &error); /* nothing is left to do */
    char *again = text_of("parts", "report.html");
    assert_string_equal(page, again);
    free(page);
    free(again);
}

static void what_cannot_be_written(void **state)
{
    (void)state;
    splat_error error;
    must(splat_folder_delete("taken", &error), &error);
    must(splat_folder_create("taken/report.html", &error), &error);
    must(run("taken", false, 0, &error), &error); /* hours of training do not fail for a page */
    assert_true(splat_path_exists("taken/point_cloud/iteration_60/point_cloud.ply"));
    must(splat_folder_delete("taken", &error), &error);
    must(splat_folder_create("taken/history.jsonl", &error), &error);
    assert_int_equal(run("taken", false, 0, &error), SPLAT_ERROR_IO); /* before the first step */
    assert_non_null(strstr(error.file, "history.jsonl"));
}

/* ---------------------------------------------------------------- what a browser shows */

/* Its path; empty if there is none. */
static void find_browser(char *path, size_t size)
{
    FILE *script = popen("\"$SPLATSMITH_SOURCE/tests/find_browser.sh\"", "r");
    assert_non_null(script);
    if (!fgets(path, (int)size, script)) path[0] = '\0';
    assert_int_equal(pclose(script), 0);
    path[strcspn(path, "\n")] = '\0';
}

/* A screenshot of the top of whole/<page>; skips when no browser starts. */
static splat_image screenshot(const char *page)
{
    splat_image image;
    splat_error error;
    char browser[1024], here[2048];
    find_browser(browser, sizeof browser);
    if (!browser[0]) {
        print_message("SKIPPED: no Chromium here to look at report.html with\n");
        skip();
    }
    assert_non_null(getcwd(here, sizeof here));
    char *command = splat_format("timeout 120 '%s' --headless --no-sandbox --disable-gpu --hide-scrollbars "
                                 "--no-first-run --disable-background-networking --disable-component-update "
                                 "--disable-sync --user-data-dir='%s/browser' --window-size=1200,4600 "
                                 "--screenshot='%s/page.png' 'file://%s/whole/%s' >browser.log 2>&1",
                                 browser, here, here, here, page);
    remove("page.png");
    int result = system(command);
    free(command);
    if (result != 0 || !splat_path_exists("page.png")) fail_msg("%s ends with %d, see browser.log", browser, result);
    must(splat_image_read("page.png", &image, &error), &error);
    assert_true(image.width == 1200 && image.height == 4600);
    return image;
}

/* Different colours of 5 bits a channel; and how many pixels have exactly the colour `rgb`. */
static int colors_of(const splat_image *image, uint32_t rgb, int *n_equal)
{
    static uint8_t seen[32768];
    int n = 0;
    memset(seen, 0, sizeof seen);
    *n_equal = 0;
    for (size_t i = 0; i < (size_t)image->width * (size_t)image->height; i++) {
        const uint8_t *p = image->pixels + (size_t)image->channels * i;
        uint8_t *bin = &seen[p[0] >> 3 << 10 | p[1] >> 3 << 5 | p[2] >> 3];
        n += !*bin;
        *bin = 1;
        *n_equal += ((uint32_t)p[0] << 16 | (uint32_t)p[1] << 8 | p[2]) == rgb;
    }
    return n;
}

/* The photos bring hundreds of colours that neither text nor charts have, and the areas of the charts have theirs. */
static void a_browser_shows_pictures_and_charts(void **state)
{
    (void)state;
    int n_parameters, n_gaussians, n_plain;
    splat_image image = screenshot("report.html");
    int n_colors = colors_of(&image, 0x332288, &n_parameters);
    colors_of(&image, 0x88ccee, &n_gaussians);
    splat_image_free(&image);
    char *page = text_of("whole", "report.html"); /* the same without its pictures */
    splat_error error;
    for (char *at = page; (at = strstr(at, "data:image")); at++) memcpy(at, "none", 4);
    must(splat_file_write("whole/plain.html", page, strlen(page), &error), &error);
    free(page);
    image = screenshot("plain.html");
    int n_without = colors_of(&image, 0, &n_plain);
    splat_image_free(&image);
    print_message("%d colours, %d without the pictures\n", n_colors, n_without);
    assert_true(n_colors > 3 * n_without && n_colors > 500);
    assert_true(n_parameters > 5000); /* an area of the memory chart, hundreds of pixels wide */
    assert_true(n_gaussians > 50000);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_run_has_a_page),
        cmocka_unit_test(a_run_that_goes_on_has_one_history), /* compares with the first one */
        cmocka_unit_test(what_cannot_be_written),
        cmocka_unit_test(a_browser_shows_pictures_and_charts), /* looks at the first one */
    };
    return cmocka_run_group_tests_name("run page", tests, NULL, NULL);
}
