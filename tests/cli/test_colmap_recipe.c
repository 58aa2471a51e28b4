/* The README's recipe for photos without cameras, as it is typed there, on ten photos of fox at a quarter of their
 * size: COLMAP finds the cameras, undistorts, and a splat is trained on the result. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#define LIMIT_S 900
#include "base/file.h"
#include "cli_fixture.h"
#include "data_fixture.h"
#include "io/picture/image.h"

#define N_PHOTOS 10
#define SHRINK 4

static void must(splat_status status, const splat_error *error)
{
    if (status != SPLAT_OK) fail_msg("%s (%s)", error->message, error->file);
}

static void write_small(const char *from, const char *to)
{
    splat_image image;
    splat_error error;
    uint8_t *data;
    size_t size;
    must(splat_image_read(from, &image, &error), &error);
    must(splat_image_resize(&image, image.width / SHRINK, image.height / SHRINK, &error), &error);
    must(splat_jpeg_encode(to, image.width, image.height, image.pixels, 95, &data, &size, &error), &error);
    must(splat_file_write(to, data, size, &error), &error);
    free(data);
    splat_image_free(&image);
}

/* Neighbours, of which COLMAP makes one model. */
static void make_photos(const char *fox)
{
    char folder[4200], from[8500], to[300];
    char **names;
    size_t n;
    splat_error error;
    snprintf(folder, sizeof folder, "%s/images", fox);
    must(splat_folder_create("photos", &error), &error);
    must(splat_folder_list(folder, &names, &n, &error), &error);
    assert_true(n >= N_PHOTOS);
    for (size_t i = 0; i < N_PHOTOS; i++) {
        snprintf(from, sizeof from, "%s/%s", folder, names[i]);
        snprintf(to, sizeof to, "photos/%.200s", names[i]);
        write_small(from, to);
    }
    splat_names_free(names, n);
}

/* The indented lines of the README around the first "colmap automatic_reconstructor". */
static void read_recipe(char *recipe, size_t size)
{
    static char text[MAX_OUTPUT];
    char path[4200];
    snprintf(path, sizeof path, "%s/README.md", getenv("SPLATSMITH_SOURCE"));
    read_text(path, text, sizeof text);
    char *at = strstr(text, "\n    colmap automatic_reconstructor");
    assert_non_null(at);
    char *end = strstr(at, "\n\n");
    while (at > text && strncmp(at - 1, "\n\n", 2) != 0) at--;
    assert_true(end && (size_t)(end - at) < size);
    memcpy(recipe, at, (size_t)(end - at));
    recipe[end - at] = '\0';
}

static void the_recipe_leads_to_a_splat(void **state)
{
    (void)state;
    char fox[4096], recipe[2000], script[2300];
    if (system("colmap help >/dev/null 2>&1") != 0) {
        print_message("SKIPPED: the README's recipe for photos: colmap is not installed\n");
        return;
    }
    if (!data_folder("fox", "the README's recipe for photos", fox)) return;
    splat_folder_delete("photos", NULL);
    splat_folder_delete("work", NULL);
    splat_folder_delete("data", NULL);
    splat_folder_delete("out", NULL);
    make_photos(fox);
    read_recipe(recipe, sizeof recipe);
    snprintf(script, sizeof script, "set -e; unset DISPLAY WAYLAND_DISPLAY; %s", recipe);
    char shell[] = "/bin/sh", option[] = "-c";
    char *const words[] = {shell, option, script, NULL};
    expect(__LINE__, finish(start(words)), 0, standard_output, NULL);
    RUN_OUT(0, NULL, "train", "-s", "data/garden", "-m", "out/garden", "--eval", "--iterations", "30",
            "--test_iterations", "30");
    assert_non_null(strstr(standard_output, "PSNR"));
    RUN_OUT(0, "PSNR", "eval", "-m", "out/garden");
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(the_recipe_leads_to_a_splat)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
