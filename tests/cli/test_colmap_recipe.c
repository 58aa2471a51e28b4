/* The README's recipe for photos without cameras, as it is typed there, with the COLMAP of this machine, on twelve
 * photos of fox at a quarter of their size; and the same from train. */
#include "base/file.h"
#include "check.h"
#include "cli_fixture.h"
#include "data_fixture.h"
#include "io/picture/image.h"
#include "io/picture/image_read.h"
#include "io/picture/image_resize.h"
#include "io/picture/image_write.h"

#define N_PHOTOS 12
#define SHRINK 4

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

/* The line of the README that begins so, as far as its comment. */
static void read_line(const char *beginning, char *line, size_t size)
{
    static char text[MAX_OUTPUT];
    char path[4200], wanted[100];
    snprintf(path, sizeof path, "%s/README.md", getenv("SPLATSMITH_SOURCE"));
    snprintf(wanted, sizeof wanted, "\n    %s", beginning);
    read_text(path, text, sizeof text);
    char *at = strstr(text, wanted);
    assert_non_null(at);
    at += strlen("\n    ");
    size_t length = strcspn(at, "#\n");
    assert_true(length < size);
    memcpy(line, at, length);
    line[length] = '\0';
}

/* A line in a shell that finds the program under test by its name, on a machine without a display. */
static void type(const char *line)
{
    char script[9000], folder[4200];
    snprintf(folder, sizeof folder, "%s", getenv("SPLATSMITH_BINARY"));
    *strrchr(folder, '/') = '\0';
    snprintf(script, sizeof script, "unset DISPLAY WAYLAND_DISPLAY; PATH='%s':$PATH; %s", folder, line);
    char shell[] = "/bin/sh", option[] = "-c";
    char *const words[] = {shell, option, script, NULL};
    expect(__LINE__, finish(start(words)), 0, standard_output, NULL);
}

static bool can_run(char fox[4096])
{
    if (system("colmap help >/dev/null 2>&1") == 0) return data_folder("fox", "the README's recipe for photos", fox);
    print_message("SKIPPED: the README's recipe for photos: no colmap here (scripts/install_deps.sh --colmap)\n");
    return false;
}

static void the_recipe_leads_to_a_splat(void **state)
{
    (void)state;
    static const char *const folders[] = {"photos", "data", "out"};
    char fox[4096], line[2000];
    if (!can_run(fox)) return;
    for (size_t i = 0; i < sizeof folders / sizeof folders[0]; i++) splat_folder_delete(folders[i], NULL);
    make_photos(fox);
    read_line("splatsmith cameras photos", line, sizeof line);
    type(line);
    assert_non_null(strstr(standard_output, "12 of 12 photos have them"));
    type(line);
    assert_non_null(strstr(standard_output, "found before for 12 of 12 photos"));
    RUN_OUT(0, NULL, "train", "-s", "data/garden", "-m", "out/garden", "--eval", "--iterations", "30",
            "--test_iterations", "30");
    assert_non_null(strstr(standard_output, "PSNR"));
    RUN_OUT(0, "PSNR", "eval", "-m", "out/garden");
    RUN_OUT(0, "12 of 12 photos have them", "train", "-s", "photos", "-m", "out/photos", "--iterations", "3",
            "--camera_model", "simple_pinhole");
}

int main(void)
{
    run_limit_s = 900;
    const struct CMUnitTest tests[] = {cmocka_unit_test(the_recipe_leads_to_a_splat)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
