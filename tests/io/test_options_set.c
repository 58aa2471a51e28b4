/* Options by their names: every line of every table, through splat_options_set, at its limits and beyond, with each of
 * its words and with texts that are none. */
#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "check.h"
#include "splatsmith.h"

/* A struct of options as large as the largest. */
typedef union any_options {
    size_t size;
    splat_scene_options scene;
    splat_sample_options sample;
    splat_cameras_options cameras;
    splat_clean_options clean;
    splat_train_options train;
    splat_mesh_extract_options mesh;
    splat_texture_options texture;
    splat_viewer_options viewer;
} any_options;

typedef enum kind { INT, SIZE, FLAG, REAL, DOUBLE, GIB, COUNT, U64, WORD, TEXT } kind;

/* A line of a table. */
typedef struct line {
    const char *name;
    kind kind;
    size_t offset;
    double start, low, high;
    bool or_zero;
    const char *words;
} line;

#define LIMITS_RANGE(low, high) (double)(low), (double)(high), false
#define LIMITS_OR_ZERO(low, high) (double)(low), (double)(high), true
#define LIMITS_FREE 0, 0, false
#define KIND_FOLDER TEXT, NULL
#define KIND_FOLDER_OR_NONE TEXT, NULL
#define KIND_SKY TEXT, NULL
#define KIND_FILE TEXT, NULL
#define KIND_MODEL TEXT, NULL
#define KIND_PROGRAM TEXT, NULL
#define KIND_ADDRESS TEXT, NULL
#define KIND_TITLE TEXT, NULL
#define KIND_INT INT, NULL
#define KIND_SIZE SIZE, NULL
#define KIND_FLAG FLAG, NULL
#define KIND_REAL REAL, NULL
#define KIND_DOUBLE DOUBLE, NULL
#define KIND_GIB GIB, NULL
#define KIND_COUNT COUNT, NULL
#define KIND_U64 U64, NULL
#define KIND_MASK_MODE WORD, SPLAT_WORDS_MASK_MODE
#define KIND_SPLIT_RULE WORD, SPLAT_WORDS_SPLIT_RULE
#define KIND_UNDISTORT WORD, SPLAT_WORDS_UNDISTORT
#define KIND_SAMPLE_SCENE WORD, SPLAT_WORDS_SAMPLE_SCENE
#define KIND_SAMPLE_DISTORTION WORD, SPLAT_WORDS_SAMPLE_DISTORTION
#define KIND_SH_STORAGE WORD, SPLAT_WORDS_SH_STORAGE
#define KIND_OPTIMIZER_STORAGE WORD, SPLAT_WORDS_OPTIMIZER_STORAGE
#define KIND_REGULARIZATION WORD, SPLAT_WORDS_REGULARIZATION
#define KIND_MESH_METHOD WORD, SPLAT_WORDS_MESH_METHOD
#define KIND_MESH_POINT_SOURCE WORD, SPLAT_WORDS_MESH_POINT_SOURCE
#define KIND_MESH_SURFACE WORD, SPLAT_WORDS_MESH_SURFACE
#define KIND_TEXTURE_BAKE WORD, SPLAT_WORDS_TEXTURE_BAKE
#define KIND_MATCHER WORD, SPLAT_WORDS_MATCHER
#define KIND_MAPPER WORD, SPLAT_WORDS_MAPPER
#define KIND_CAMERA_QUALITY WORD, SPLAT_WORDS_CAMERA_QUALITY
#define ROW(name, kind_words, at, start, ...) ROW_(name, kind_words, at, start, __VA_ARGS__)
#define ROW_(name, kind, words, at, start, ...) {name, kind, at, (double)(start), __VA_ARGS__, words},

/* The lines of a struct, and its functions. */
typedef struct table {
    const char *name;
    const line *lines;
    size_t n;
    void (*init)(any_options *options);
    splat_status (*set)(any_options *options, const char *name, const char *text, splat_error *error);
} table;

#define FUNCTIONS(part, type)                                                                                          \
    static void init_##part(any_options *options)                                                                      \
    {                                                                                                                  \
        splat_##type##_options_init(&options->part);                                                                   \
    }                                                                                                                  \
    static splat_status set_##part(any_options *options, const char *name, const char *text, splat_error *error)       \
    {                                                                                                                  \
        return splat_options_set(&options->part, name, text, error);                                                   \
    }
FUNCTIONS(scene, scene)
FUNCTIONS(sample, sample)
FUNCTIONS(cameras, cameras)
FUNCTIONS(clean, clean)
FUNCTIONS(train, train)
FUNCTIONS(mesh, mesh_extract)
FUNCTIONS(texture, texture)
FUNCTIONS(viewer, viewer)

static const line scene_lines[] = {
#define SPLAT_OPTION(field, kind, start, range, saved)                                                                 \
    ROW(#field, KIND_##kind, offsetof(splat_scene_options, field), start, LIMITS_##range)
#include "splatsmith/scene_options.def"
};
static const line sample_lines[] = {
#define SPLAT_OPTION(field, kind, start, other, range)                                                                 \
    ROW(#field, KIND_##kind, offsetof(splat_sample_options, field), start, LIMITS_##range)
#include "splatsmith/sample_options.def"
};
static const line train_lines[] = {
#define SPLAT_TRAIN_OPTION(row, name, field, kind, start, low, high, effect, other)                                    \
    ROW(#name, KIND_##kind, offsetof(splat_train_options, field), start, LIMITS_RANGE(low, high))
#include "splatsmith/train_options.def"
};
static const line cameras_lines[] = {
#define SPLAT_OPTION(field, kind, start, range)                                                                        \
    ROW(#field, KIND_##kind, offsetof(splat_cameras_options, field), start, LIMITS_##range)
#include "splatsmith/cameras_options.def"
};
static const line clean_lines[] = {
#define SPLAT_OPTION(field, kind, start, range)                                                                        \
    ROW(#field, KIND_##kind, offsetof(splat_clean_options, field), start, LIMITS_##range)
#include "splatsmith/clean_options.def"
};
static const line mesh_lines[] = {
#define SPLAT_OPTION(field, kind, start, range)                                                                        \
    ROW(#field, KIND_##kind, offsetof(splat_mesh_extract_options, field), start, LIMITS_##range)
#include "splatsmith/mesh_options.def"
};
static const line texture_lines[] = {
#define SPLAT_OPTION(field, kind, start, range)                                                                        \
    ROW(#field, KIND_##kind, offsetof(splat_texture_options, field), start, LIMITS_##range)
#include "splatsmith/texture_options.def"
};
static const line viewer_lines[] = {
#define SPLAT_OPTION(field, kind, start, range)                                                                        \
    ROW(#field, KIND_##kind, offsetof(splat_viewer_options, field), start, LIMITS_##range)
#include "splatsmith/viewer_options.def"
};

#define TABLE(part) {#part, part##_lines, sizeof part##_lines / sizeof part##_lines[0], init_##part, set_##part}
static const table tables[] = {TABLE(scene), TABLE(sample), TABLE(train), TABLE(cameras),
                               TABLE(clean), TABLE(mesh), TABLE(texture), TABLE(viewer)};
#define N_TABLES (sizeof tables / sizeof tables[0])

static double value_of(const line *l, const any_options *options)
{
    const void *at = (const char *)options + l->offset;
    switch (l->kind) {
    case INT:
    case SIZE:
    case WORD: return *(const int *)at;
    case FLAG: return *(const bool *)at;
    case REAL: return (double)*(const float *)at;
    case DOUBLE:
    case GIB: return *(const double *)at;
    case COUNT: return (double)*(const size_t *)at;
    case U64: return (double)*(const uint64_t *)at;
    case TEXT: return *(const char *const *)at != NULL;
    }
    return NAN;
}

static double rounded(const line *l, double value)
{
    return l->kind == REAL ? (double)(float)value : value;
}

static bool is_number(const line *l)
{
    return l->kind != FLAG && l->kind != WORD && l->kind != TEXT;
}

static bool is_whole(const line *l)
{
    return l->kind == INT || l->kind == SIZE || l->kind == COUNT || l->kind == U64;
}

static const char *number_text(const line *l, double number, char text[64])
{
    snprintf(text, 64, is_whole(l) ? "%.0f" : l->kind == GIB ? "%.17gG" : "%.17g", number);
    return text;
}

/* The struct after init is as the lines say. */
static void defaults_are_those_of_the_lines(void **state)
{
    (void)state;
    for (size_t t = 0; t < N_TABLES; t++) {
        any_options options;
        tables[t].init(&options);
        for (size_t i = 0; i < tables[t].n; i++) {
            const line *l = &tables[t].lines[i];
            if (value_of(l, &options) == rounded(l, l->start)) continue;
            fail_msg("%s.%s is %g after init, and its line says %g", tables[t].name, l->name, value_of(l, &options),
                     l->start);
        }
    }
}

/* The option takes the text and holds the value, and nothing else changes. */
static void takes(const table *t, const line *l, const char *text, double value)
{
    any_options options;
    splat_error error;
    t->init(&options);
    if (t->set(&options, l->name, text, &error) != SPLAT_OK)
        fail_msg("%s.%s refuses '%s': %s", t->name, l->name, text, error.message);
    if (value_of(l, &options) != rounded(l, value))
        fail_msg("%s.%s is %.17g after '%s'", t->name, l->name, value_of(l, &options), text);
    for (size_t i = 0; i < t->n; i++) {
        const line *other = &t->lines[i];
        if (other->offset != l->offset && value_of(other, &options) != rounded(other, other->start))
            fail_msg("%s.%s changes %s, too", t->name, l->name, other->name);
    }
}

/* One sentence that names the option and the text; the struct is as it was. */
static void refuses(const table *t, const line *l, const char *text)
{
    any_options options;
    splat_error error;
    char name[128];
    t->init(&options);
    if (t->set(&options, l->name, text, &error) != SPLAT_ERROR_ARGUMENT)
        fail_msg("%s.%s takes '%s'", t->name, l->name, text);
    snprintf(name, sizeof name, "`%s` %s", l->name, text[0] ? "takes " : "must not be empty");
    assert_says(&error, name);
    assert_says(&error, text);
    if (value_of(l, &options) != rounded(l, l->start)) fail_msg("%s.%s changed all the same", t->name, l->name);
}

static void at_limits(const table *t, const line *l)
{
    char text[64];
    double step = is_whole(l) ? 1 : 1e-3 * fmax(1e-3, fabs(l->high));
    double most = fmin(l->high, 0x1p63);
    bool n_lost = most > 0x1p53; /* doubles are farther apart there */
    if (l->low < l->high) {
        takes(t, l, number_text(l, l->low, text), l->low);
        takes(t, l, number_text(l, most, text), most);
        if (l->low - step != 0 || !(l->or_zero || l->kind == SIZE)) refuses(t, l, number_text(l, l->low - step, text));
        if (!n_lost && l->high < INT_MAX) refuses(t, l, number_text(l, l->high + step, text));
    }
    if (l->or_zero) takes(t, l, "0", 0);
    if (l->kind == SIZE) refuses(t, l, "0");
}

static void every_number_has_its_range(void **state)
{
    static const char *const none[] = {"", "x", " 1", "1 ", "0x7", "nan", "inf", "1e", ".", "+", "-", "1,5", "1e999",
                                       "999999999999999999999999"};
    size_t n = 0;
    (void)state;
    for (size_t t = 0; t < N_TABLES; t++) {
        for (size_t i = 0; i < tables[t].n; i++) {
            const line *l = &tables[t].lines[i];
            if (!is_number(l)) continue;
            at_limits(&tables[t], l);
            bool is_free = !(l->low < l->high);
            for (size_t k = 0; k < sizeof none / sizeof none[0]; k++) {
                bool may_be_large = k >= 12 && !is_whole(l) && (is_free || l->high > 1e24);
                any_options options;
                splat_error error;
                tables[t].init(&options);
                if (may_be_large || tables[t].set(&options, l->name, none[k], &error) == SPLAT_ERROR_ARGUMENT) continue;
                fail_msg("%s.%s takes '%s'", tables[t].name, l->name, none[k]);
            }
            if (is_whole(l)) refuses(&tables[t], l, "1.5");
            n++;
        }
    }
    print_message("%zu numbers\n", n);
    assert_true(n > 110);
}

static void every_word_is_its_value(void **state)
{
    size_t n = 0;
    (void)state;
    for (size_t t = 0; t < N_TABLES; t++) {
        for (size_t i = 0; i < tables[t].n; i++) {
            const line *l = &tables[t].lines[i];
            char words[1024], *rest = NULL;
            int number = 0;
            if (l->kind != WORD) continue;
            snprintf(words, sizeof words, "%s", l->words);
            for (char *word = strtok_r(words, "|", &rest); word; word = strtok_r(NULL, "|", &rest))
                takes(&tables[t], l, word, number++);
            assert_true(number >= 2);
            refuses(&tables[t], l, "none of them");
            refuses(&tables[t], l, l->words);
            refuses(&tables[t], l, "1");
            n++;
        }
    }
    assert_true(n >= 11);
}

static void flags_and_texts(void **state)
{
    static const char *const yes[] = {"true", "True", "yes", "ON", "1"}, *const no[] = {"false", "No", "off", "0"};
    (void)state;
    for (size_t t = 0; t < N_TABLES; t++) {
        for (size_t i = 0; i < tables[t].n; i++) {
            const line *l = &tables[t].lines[i];
            for (size_t k = 0; l->kind == FLAG && k < 5; k++) takes(&tables[t], l, yes[k], 1);
            for (size_t k = 0; l->kind == FLAG && k < 4; k++) takes(&tables[t], l, no[k], 0);
            if (l->kind == FLAG) refuses(&tables[t], l, "maybe");
            if (l->kind == TEXT) takes(&tables[t], l, "a text", 1);
            if (l->kind == TEXT) refuses(&tables[t], l, "");
        }
    }
}

static void a_program_sets_what_it_read_from_a_file(void **state)
{
    static const char folder[] = "garden";
    splat_train_options train;
    splat_scene_options scene;
    splat_error error;
    (void)state;
    splat_train_options_init(&train);
    splat_scene_options_init(&scene);
    ASSERT_OK(splat_options_set(&train, "target_gaussian_count", "1.5M", &error));
    ASSERT_OK(splat_options_set(&train, "seed", "18446744073709551615", &error));
    ASSERT_OK(splat_options_set(&train, "regularize_after", "8000", &error)); /* of its part `coarse` */
    ASSERT_OK(splat_train_options_set(&train, "init_opacity", "0.001", &error)); /* the limit, as a float */
    ASSERT_OK(splat_options_set(&scene, "image_cache_gb", "512M", &error));
    ASSERT_OK(splat_options_set(&scene, "images", folder, &error));
    assert_int_equal(train.target_gaussian_count, 1500000);
    assert_true(train.seed == UINT64_MAX);
    assert_int_equal(train.coarse.regularize_after, 8000);
    assert_true(scene.image_cache_gb == 0.5);
    assert_ptr_equal(scene.images, folder); /* borrowed */
    assert_failure(splat_options_set(&train, "iteratoins", "5", &error), SPLAT_ERROR_ARGUMENT, &error,
                   "splat_train_options has no option 'iteratoins'; did you mean 'iterations'?");
    assert_failure(splat_options_set(&train, "strategy", "mcmc", &error), SPLAT_ERROR_ARGUMENT, &error,
                   "splat_train_options has no option 'strategy' that a text can set");
    assert_failure(splat_options_set(&train, "sh_degree", "7", &error), SPLAT_ERROR_ARGUMENT, &error,
                   "`sh_degree` takes a whole number from 0 to 3, not '7'");
    assert_failure(splat_options_set(&scene, "resolution", "0", &error), SPLAT_ERROR_ARGUMENT, &error,
                   "`resolution` takes -1 or a whole number of at least 1, not '0'");
    assert_int_equal(splat_options_set(&scene, "resolution", "0", NULL), SPLAT_ERROR_ARGUMENT);
}

/* A struct of an older header ends before the newest fields; nothing is written beyond it. */
static void a_struct_of_an_older_header(void **state)
{
    const size_t short_size = offsetof(splat_train_options, pixels_per_gaussian);
    splat_train_options o;
    splat_error error;
    (void)state;
    memset(&o, 0x5a, sizeof o);
    splat_train_options_init_sized(&o, short_size);
    ASSERT_OK(splat_options_set(&o, "sfm_depth_weight", "0.5", &error));
    assert_failure(splat_options_set(&o, "pixels_per_gaussian", "7", &error), SPLAT_ERROR_ARGUMENT, &error,
                   "`pixels_per_gaussian` is newer than the header");
    for (size_t i = short_size; i < sizeof o; i++) assert_int_equal(((unsigned char *)&o)[i], 0x5a);
    o.size = 0;
    assert_failure(splat_options_set(&o, "iterations", "7", &error), SPLAT_ERROR_ARGUMENT, &error,
                   "begin with splat_train_options_init");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(defaults_are_those_of_the_lines),
        cmocka_unit_test(every_number_has_its_range),
        cmocka_unit_test(every_word_is_its_value),
        cmocka_unit_test(flags_and_texts),
        cmocka_unit_test(a_program_sets_what_it_read_from_a_file),
        cmocka_unit_test(a_struct_of_an_older_header),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
