/* The command line and the library have the same ranges: each number of the table of options at both limits, beyond
 * them and at zero, against the library's own check. */
#include <limits.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "line/line.h"
#include "sample/sample_options.h"
#include "scene/scene_options.h"

/* A struct of options in splat_line_parts, and how the library judges it. */
typedef struct group {
    const char *name;
    size_t offset, size;
    splat_status (*check)(const splat_line_parts *parts, splat_error *error);
} group;

#define CHECK(name, type)                                                                                              \
    static splat_status check_##name(const splat_line_parts *parts, splat_error *error)                                \
    {                                                                                                                  \
        return splat_##type##_options_check(&parts->name, error);                                                      \
    }
CHECK(scene, scene)
CHECK(train, train)
CHECK(mesh, mesh_extract)
CHECK(texture, texture)
CHECK(clean, clean)
CHECK(sample, sample)

static splat_status check_cameras(const splat_line_parts *parts, splat_error *error)
{
    splat_cameras_options options = parts->cameras;
    options.source = options.folder = "x";
    return splat_cameras_options_check(&options, error);
}

/* Without a page or a port nothing is opened. */
static splat_status check_viewer(const splat_line_parts *parts, splat_error *error)
{
    splat_viewer_options options = parts->viewer;
    splat_viewer *viewer;
    options.port = options.sibr_port = -1;
    splat_status status = splat_viewer_open(&options, &viewer, error);
    splat_viewer_close(viewer);
    return status;
}

#define GROUP(name)                                                                                                    \
    {                                                                                                                  \
#name, offsetof(splat_line_parts, name), sizeof((splat_line_parts *)0)->name, check_##name                     \
    }
static const group groups[] = {GROUP(scene), GROUP(train), GROUP(mesh), GROUP(texture), GROUP(clean), GROUP(sample),
                               GROUP(cameras), GROUP(viewer)};

/* Options that the library checks against others, too, each 0 or one of a few numbers; and the port of view, which is
 * not -1, as the library's may be: there is a page. */
static const char *const with_rules[] = {"gaussians_per_triangle", "port"};

static const group *find_group(const splat_line_option *option)
{
    for (size_t i = 0; i < sizeof groups / sizeof groups[0]; i++)
        if (option->offset >= groups[i].offset && option->offset < groups[i].offset + groups[i].size)
            return &groups[i];
    return NULL;
}

static bool has_rules(const splat_line_option *option)
{
    for (size_t i = 0; i < sizeof with_rules / sizeof with_rules[0]; i++)
        if (strcmp(option->name, with_rules[i]) == 0) return true;
    return false;
}

static bool is_number(const splat_line_option *option)
{
    switch (option->kind) {
    case SPLAT_LINE_INT:
    case SPLAT_LINE_SIZE:
    case SPLAT_LINE_COUNT:
    case SPLAT_LINE_REAL:
    case SPLAT_LINE_DOUBLE:
    case SPLAT_LINE_GIB: return true;
    default: return false;
    }
}

static bool is_whole(const splat_line_option *option)
{
    return option->kind == SPLAT_LINE_INT || option->kind == SPLAT_LINE_SIZE || option->kind == SPLAT_LINE_COUNT;
}

/* False where the field cannot hold the number. */
static bool set(splat_line_parts *parts, const splat_line_option *option, double number)
{
    void *field = (char *)parts + option->offset;
    if (option->kind == SPLAT_LINE_REAL)
        *(float *)field = (float)number;
    else if (!is_whole(option)) *(double *)field = number;
    else if (option->kind == SPLAT_LINE_COUNT && number >= 0)
        *(size_t *)field = (size_t)number;
    else if (option->kind != SPLAT_LINE_COUNT && number >= INT_MIN && number <= INT_MAX)
        *(int *)field = (int)number;
    else return false;
    return true;
}

static bool takes(const splat_line_option *option, double number)
{
    splat_line_range range = splat_line_option_range(option);
    return (number >= range.low && number <= range.high && !(option->kind == SPLAT_LINE_SIZE && number == 0)) ||
           (range.or_zero && number == 0);
}

static int n_judged, n_differ;

static void compare_at(const group *g, const splat_line_option *option, double number)
{
    static splat_line_parts parts;
    splat_error error = {0};
    splat_scene_options_init(&parts.scene);
    splat_train_options_init(&parts.train);
    splat_mesh_extract_options_init(&parts.mesh);
    splat_texture_options_init(&parts.texture);
    splat_clean_options_init(&parts.clean);
    splat_sample_options_init(&parts.sample);
    splat_cameras_options_init(&parts.cameras);
    splat_viewer_options_init(&parts.viewer);
    if (!set(&parts, option, number)) return;
    bool library = g->check(&parts, &error) != SPLAT_ERROR_ARGUMENT || !strstr(error.message, "must be");
    bool command_line = takes(option, number);
    n_judged++;
    if (library == command_line) return;
    print_message("--%s %.9g: the command line %s it, the library %s it: %s\n", option->name, number,
                  command_line ? "takes" : "refuses", library ? "takes" : "refuses", error.message);
    n_differ++;
}

static void the_library_has_the_ranges_of_the_command_line(void **state)
{
    (void)state;
    for (size_t i = 0; i < splat_line_n_options; i++) {
        const splat_line_option *option = &splat_line_options[i];
        const group *g = is_number(option) ? find_group(option) : NULL;
        if (!g || has_rules(option)) continue;
        splat_line_range range = splat_line_option_range(option);
        double step = is_whole(option) ? 1 : 1e-3 * fmax(1e-3, fabs(range.high));
        double numbers[] = {range.low, range.high, range.low - step, range.high + step, 0};
        for (size_t k = 0; k < sizeof numbers / sizeof numbers[0]; k++) compare_at(g, option, numbers[k]);
    }
    print_message("%d numbers\n", n_judged);
    assert_true(n_judged > 320);
    assert_int_equal(n_differ, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(the_library_has_the_ranges_of_the_command_line)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
