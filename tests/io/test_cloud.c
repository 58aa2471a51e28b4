/* Splats in host memory, and the table of their formats. */
#include "base/file.h"
#include "base/rng.h"
#include "check.h"
#include "io/file_format.h"
#include "io/splat/formats.h"
#include "splatsmith/model.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

/* Values from -1 to 1; filters from 0 to 1. */
static splat_cloud random_cloud(size_t n, int sh_degree, bool has_filter)
{
    splat_cloud c;
    splat_error error;
    ASSERT_OK(splat_cloud_make(&c, n, sh_degree, has_filter, &error));
#define SPLAT_TENSOR(name, ...)                                                                                   \
    for (size_t i = 0; i < n * splat_tensor_channels(SPLAT_TENSOR_##name, sh_degree); i++)                             \
        c.name[i] = 2 * splat_uniform(splat_random(1, SPLAT_STREAM_TEST, SPLAT_TENSOR_##name, i).x[0]) - 1;
#include "math/gaussians.def"
#undef SPLAT_TENSOR
    for (size_t i = 0; has_filter && i < n; i++)
        c.filter_3d[i] = splat_uniform(splat_random(1, SPLAT_STREAM_TEST, SPLAT_N_TENSORS, i).x[0]);
    return c;
}

/* ---------------------------------------------------------------- the cloud */

static void a_cloud_is_made_of_zeros_and_counts_its_bytes(void **state)
{
    (void)state;
    splat_error error;
    splat_cloud c;
    ASSERT_OK(splat_cloud_make(&c, 7, 2, true, &error));
    for (size_t i = 0; i < 7 * 24; i++) assert_true(c.sh_rest[i] == 0);
    for (size_t i = 0; i < 7; i++) assert_true(c.filter_3d[i] == 0 && c.opacities[i] == 0);
    assert_int_equal(splat_cloud_bytes(7, 2, true), 7 * 4 * (3 + 3 + 24 + 1 + 3 + 4 + 1));
    assert_int_equal(splat_cloud_bytes(7, 0, false), 7 * 4 * 14);
    splat_cloud_free(&c);
    assert_true(c.n == 0 && !c.means && !c.filter_3d);
    ASSERT_OK(splat_cloud_make(&c, 0, 0, false, &error));
    assert_true(c.means && c.sh_rest && !c.filter_3d);
    splat_cloud_free(&c);
    assert_int_equal(splat_cloud_make(&c, 1, 4, false, &error), SPLAT_ERROR_ARGUMENT);
    assert_int_equal(splat_cloud_make(&c, 1, -1, false, &error), SPLAT_ERROR_ARGUMENT);
    assert_int_equal(splat_cloud_make(&c, SIZE_MAX / 2, 3, true, &error), SPLAT_ERROR_MEMORY);
    assert_true(c.n == 0 && !c.means && !c.filter_3d);
}

static void bands_are_cut_off_and_added_as_zeros(void **state)
{
    (void)state;
    splat_error error;
    splat_cloud all = random_cloud(5, 3, false), c = random_cloud(5, 3, false);
    ASSERT_OK(splat_cloud_set_degree(&c, 1, &error));
    assert_int_equal(c.sh_degree, 1);
    for (size_t i = 0; i < 5; i++) assert_memory_equal(c.sh_rest + 9 * i, all.sh_rest + 45 * i, 9 * sizeof(float));
    ASSERT_OK(splat_cloud_set_degree(&c, 2, &error));
    for (size_t i = 0; i < 5; i++) {
        assert_memory_equal(c.sh_rest + 24 * i, all.sh_rest + 45 * i, 9 * sizeof(float));
        for (size_t k = 9; k < 24; k++) assert_true(c.sh_rest[24 * i + k] == 0);
    }
    ASSERT_OK(splat_cloud_set_degree(&c, 0, &error));
    ASSERT_OK(splat_cloud_set_degree(&c, 1, &error));
    for (size_t k = 0; k < 45; k++) assert_true(c.sh_rest[k] == 0);
    splat_cloud_free(&c);
    splat_cloud_free(&all);
}

static void a_baked_filter_widens_and_fades(void **state)
{
    (void)state;
    /* s = (0.3, 0.03, 0.4), f = 0.4: s~ = (0.5, sqrt(0.1609), 0.4 sqrt 2); o = 0.8; c3 = product of the ratios.
     * Gaussian 1 has f = 0 and stays bit for bit; 2 is opaque beyond double precision; 3 is nearly nothing. */
    static const float opacities[4] = {1.3862943611f, 3.21f, 60.0f, -90.0f}, filter[4] = {0.4f, 0.0f, 1e-12f, 0.5f};
    const float scales[12] = {logf(0.3f), logf(0.03f), logf(0.4f), 0.1f, 0.2f, 0.3f, -1, -1, -1, -300, -300, -300};
    splat_error error;
    splat_cloud c;
    ASSERT_OK(splat_cloud_make(&c, 4, 0, true, &error));
    memcpy(c.scales, scales, sizeof scales);
    memcpy(c.opacities, opacities, sizeof opacities);
    memcpy(c.filter_3d, filter, sizeof filter);
    splat_cloud_bake_filter(&c);
    assert_null(c.filter_3d);
    assert_int_equal(c.render_mode, SPLAT_RENDER_MIP);
    /* float inputs and outputs: a few units in the last place of values around 1 */
    double s1 = sqrt(0.1609), c3 = 0.3 / 0.5 * 0.03 / s1 / sqrt(2.0), o = 0.8 * c3;
    assert_true(fabs((double)c.scales[0] - log(0.5)) < 1e-6);
    assert_true(fabs((double)c.scales[1] - log(s1)) < 1e-6);
    assert_true(fabs((double)c.scales[2] - log(0.4 * sqrt(2.0))) < 1e-6);
    assert_true(fabs((double)c.opacities[0] - log(o / (1.0 - o))) < 1e-6);
    assert_memory_equal(c.scales + 3, scales + 3, 3 * sizeof(float));
    assert_memory_equal(c.opacities + 1, opacities + 1, sizeof(float));
    assert_true(fabsf(c.scales[6] + 1.0f) < 1e-6f);
    /* 1 - c3 = 1.5 (f / s)^2 = 1.5e-24 e^2 is above e^-60 = 8.8e-27: logit = -ln(1.5e-24 e^2 + e^-60) */
    assert_true(fabs((double)c.opacities[2] + log(1.5e-24 * exp(2.0) + exp(-60.0))) < 1e-4);
    assert_true(fabs((double)c.scales[9] - log(0.5)) < 1e-6);
    assert_true(c.opacities[3] == -100.0f); /* guarded: finite, and still nothing */
    splat_cloud_free(&c);
}

static void a_mark_is_neither_invented_nor_lost(void **state)
{
    (void)state;
    static const struct { bool has_filter, fused; splat_render_mode mode, after; } cases[] = {
        {false, false, SPLAT_RENDER_AUTO, SPLAT_RENDER_AUTO}, {false, true, SPLAT_RENDER_AUTO, SPLAT_RENDER_AUTO},
        {false, false, SPLAT_RENDER_MIP, SPLAT_RENDER_MIP},   {true, false, SPLAT_RENDER_AUTO, SPLAT_RENDER_AUTO},
        {true, true, SPLAT_RENDER_AUTO, SPLAT_RENDER_MIP},    {true, true, SPLAT_RENDER_CLASSIC, SPLAT_RENDER_CLASSIC},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        splat_error error;
        splat_cloud c = random_cloud(3, 0, cases[i].has_filter), back;
        splat_save_options options;
        splat_save_options_init(&options);
        options.fused = cases[i].fused;
        c.render_mode = cases[i].mode;
        ASSERT_OK(splat_cloud_write("mark.ply", &c, &options, &error));
        ASSERT_OK(splat_cloud_read("mark.ply", &back, &error));
        assert_int_equal(back.render_mode, cases[i].after);
        assert_int_equal(back.filter_3d != NULL, cases[i].has_filter && !cases[i].fused);
        splat_cloud_free(&c);
        splat_cloud_free(&back);
    }
}

/* ---------------------------------------------------------------- the table */

/* A format needs its own ending, words, both ways of reading, and a row of docs/files.md. */
static void every_format_is_described(void **state)
{
    (void)state;
    splat_error error;
    uint8_t *text;
    size_t size, n = 0;
    const char *source = getenv("SPLATSMITH_SOURCE");
    char *path = splat_format("%s/docs/files.md", source ? source : ".");
    ASSERT_OK(splat_file_read(path, &text, &size, &error));
    free(path);
    for (const splat_cloud_format *row; (row = splat_cloud_format_at(n)); n++) {
        splat_file_format format;
        assert_true(splat_model_get_format(n, &format));
        assert_true(row->ending[0] == '.' && row->name[0] && row->description[0]);
        assert_true(!row->read == !row->describe && (row->read || row->write));
        assert_true(format.reads == (row->read != NULL) && format.writes == (row->write != NULL));
        assert_string_equal(format.ending, row->ending);
        for (size_t k = 0; k < n; k++) assert_string_not_equal(splat_cloud_format_at(k)->ending, row->ending);
        char *line = splat_format("| %s | `%s` | %s | %s |", row->name, row->ending,
                                  row->read && row->write ? "yes | yes" : row->read ? "yes | no" : "no | yes",
                                  row->description);
        if (!strstr((const char *)text, line)) fail_msg("docs/files.md lacks the row \"%s\"", line);
        free(line);
    }
    free(text);
    assert_true(n >= 2);
    assert_false(splat_model_get_format(n, &(splat_file_format){0}));
}

/* Every format that is both written and read, in every SH degree, with a filter and without, also cut and fused. */
static void every_format_gives_back_what_it_was_given(void **state)
{
    (void)state;
    size_t n_tried = 0;
    for (size_t f = 0; splat_cloud_format_at(f); f++) {
        const splat_cloud_format *row = splat_cloud_format_at(f);
        for (int i = 0; row->write && row->read && i < 16; i++, n_tried++) {
            int degree = i % 4, asked = i < 8 ? degree : degree / 2;
            int kept = asked < row->max_sh_degree ? asked : row->max_sh_degree;
            bool has_filter = i / 4 % 2, fused = i >= 8;
            splat_error error;
            splat_cloud c = random_cloud(9, degree, has_filter), back;
            splat_save_options options = {.fused = fused, .sh_degree = asked, .spz_version = 3};
            splat_cloud_shape shape;
            char *path = splat_format("each%s", row->ending);
            splat_status status = splat_cloud_write(path, &c, &options, &error);
            if (status == SPLAT_ERROR_UNSUPPORTED) { /* built without a library */
                print_message("SKIPPED: %s\n", error.message);
                free(path);
                splat_cloud_free(&c);
                break;
            }
            ASSERT_OK(status);
            ASSERT_OK(splat_cloud_describe(path, &shape, &error));
            ASSERT_OK(splat_cloud_read(path, &back, &error));
            assert_int_equal(back.n, 9);
            assert_int_equal(back.sh_degree, kept);
            assert_int_equal(back.filter_3d != NULL, has_filter && !fused && row->holds_filter);
            assert_true(shape.n == 9 && shape.sh_degree == kept);
            assert_int_equal(shape.has_filter, back.filter_3d != NULL);
            assert_int_equal(shape.render_mode, back.render_mode);
            free(path);
            splat_cloud_free(&c);
            splat_cloud_free(&back);
        }
    }
    assert_true(n_tried >= 16);
}

static void content_then_name_choose_the_reader(void **state)
{
    (void)state;
    splat_error error;
    splat_cloud c = random_cloud(2, 0, false), back;
    uint8_t *data;
    size_t size;
    ASSERT_OK(splat_cloud_write("right.PLY", &c, NULL, &error));
    ASSERT_OK(splat_file_read("right.PLY", &data, &size, &error));
    static const char *const names[] = {"wrong.splatsmith", "wrong.txt", "without_ending"};
    for (int i = 0; i < 3; i++) {
        ASSERT_OK(splat_file_write(names[i], data, size, &error));
        ASSERT_OK(splat_cloud_read(names[i], &back, &error));
        assert_int_equal(back.n, 2);
        splat_cloud_free(&back);
    }
    ASSERT_OK(splat_cloud_write("written_without_ending", &c, NULL, &error)); /* a PLY */
    ASSERT_OK(splat_cloud_read("written_without_ending", &back, &error));
    splat_cloud_free(&back);
    splat_cloud_free(&c);
    free(data);

    ASSERT_OK(splat_file_write("garbage.ply", "nothing", 7, &error)); /* its reader says what is wrong */
    assert_int_equal(splat_cloud_read("garbage.ply", &back, &error), SPLAT_ERROR_FORMAT);
    assert_says(&error, "PLY");
    ASSERT_OK(splat_file_write("garbage.splatsmith", "nothing", 7, &error));
    assert_int_equal(splat_cloud_read("garbage.splatsmith", &back, &error), SPLAT_ERROR_FORMAT);
    assert_says(&error, "checkpoint");
    ASSERT_OK(splat_file_write("garbage.txt", "nothing", 7, &error));
    assert_int_equal(splat_cloud_read("garbage.txt", &back, &error), SPLAT_ERROR_UNSUPPORTED);
    assert_says(&error, ".ply (PLY), ");
    assert_says(&error, ".splatsmith (checkpoint), .pth (chkpntN.pth) or .pt (SuGaR N.pt)");
    splat_cloud_shape shape;
    assert_int_equal(splat_cloud_describe("garbage.txt", &shape, &error), SPLAT_ERROR_UNSUPPORTED);
    assert_int_equal(splat_cloud_read("absent.ply", &back, &error), SPLAT_ERROR_IO);
    remove("pipe.ply");
    assert_int_equal(mkfifo("pipe.ply", 0600), 0);
    assert_int_equal(splat_cloud_read("pipe.ply", &back, &error), SPLAT_ERROR_IO);
    assert_says(&error, "regular file");
}

static void an_unknown_ending_names_those_that_exist(void **state)
{
    (void)state;
    splat_error error;
    splat_cloud c = random_cloud(2, 0, false);
    static const char *const names[] = {"splat.foo", "folder.ply/splat.splatsmith", ".ply", "splat.ply.gz"};
    for (int i = 0; i < 4; i++) {
        assert_int_equal(splat_cloud_write(names[i], &c, NULL, &error), SPLAT_ERROR_ARGUMENT);
        assert_says(&error, ".ply (PLY)");
        assert_null(strstr(error.message, ".splatsmith")); /* is only read */
        assert_int_equal(splat_model_check_path(names[i], &error), SPLAT_ERROR_ARGUMENT);
    }
    ASSERT_OK(splat_model_check_path("folder.foo/splat", &error));
    ASSERT_OK(splat_model_check_path("splat.PLY", &error));
    splat_save_options options = {.sh_degree = -1};
    assert_int_equal(splat_cloud_write("splat.ply", &c, &options, &error), SPLAT_ERROR_ARGUMENT);
    splat_cloud_free(&c);
}

/* As tables will have them: an ending inside another, one kind of container for several formats, one without a mark. */
static void the_longest_ending_and_the_fitting_row_win(void **state)
{
    (void)state;
    enum { PLY, PACKED, ZIP, OTHER_ZIP, BARE, N };
    splat_file_formats formats = {"a test", true, N, {{"PLY", ".ply", "", true, true},
                                                {"packed PLY", ".compressed.ply", "", true, true},
                                                {"zip", ".sog", "", true, true},
                                                {"other zip", ".usdz", "", true, false},
                                                {"bare", ".splat", "", true, true}}};
    static const struct { const char *path; bool writing, fits[N]; size_t row; } cases[] = {
        {"a.ply", true, {0}, PLY},
        {"a.compressed.ply", true, {0}, PACKED},
        {"a.Splat", true, {0}, BARE},
        {"a.ply", false, {1, 1, 0, 0, 0}, PLY},            /* several fit: the name decides */
        {"a.compressed.ply", false, {1, 1, 0, 0, 0}, PACKED},
        {"a.usdz", false, {0, 0, 1, 1, 0}, OTHER_ZIP},
        {"a.zip", false, {0, 0, 1, 1, 0}, ZIP},            /* and without a name the first */
        {"a.splat", false, {0}, BARE},
        {"a.splat", false, {1, 0, 0, 0, 0}, PLY},          /* content goes before the name */
    };
    splat_error error;
    size_t row;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        ASSERT_OK(cases[i].writing
                      ? splat_file_format_to_write(&formats, cases[i].path, &row, &error)
                      : splat_file_format_to_read(&formats, cases[i].fits, cases[i].path, &row, &error));
        if (row != cases[i].row) fail_msg("%s: row %zu instead of %zu", cases[i].path, row, cases[i].row);
    }
    assert_int_equal(splat_file_format_to_write(&formats, "a.usdz", &row, &error), SPLAT_ERROR_ARGUMENT);
    assert_int_equal(splat_file_format_to_write(&formats, "a", &row, &error), SPLAT_ERROR_ARGUMENT);
}

/* The ending is searched in the name of the file, not in its folder's name, and begins with any dot. */
static void a_name_without_an_ending_means_the_first_row(void **state)
{
    (void)state;
    const splat_file_formats formats = {"a test", false, 2, {{"PLY", ".ply", "", true, true},
                                                          {"bare", ".splat", "", true, true}}};
    static const char *const other[] = {"a.b", "folder/a.b", "folder/.hidden", "folder/a."};
    splat_error error;
    size_t row = 9;
    ASSERT_OK(splat_file_format_to_write(&formats, "folder.b/a", &row, &error));
    assert_int_equal(row, 0);
    ASSERT_OK(splat_file_format_to_write(&formats, "a", &row, &error));
    for (size_t i = 0; i < sizeof other / sizeof other[0]; i++)
        assert_failure(splat_file_format_to_write(&formats, other[i], &row, &error), SPLAT_ERROR_ARGUMENT, &error,
                       ".ply (PLY) or .splat (bare)");
}

/* ---------------------------------------------------------------- files of PyTorch */

static char *golden(const char *name)
{
    const char *source = getenv("SPLATSMITH_SOURCE");
    char *path = splat_format("%s/tests/golden/%s", source ? source : ".", name);
    assert_non_null(path);
    return path;
}

/* tests/golden/make_torch_golden.py: ramps of step 0.25, whose first numbers tell the tensors apart. */
static void assert_ramps(const char *name, size_t n, int sh_degree, splat_render_mode mode)
{
    splat_error error;
    splat_cloud c;
    splat_cloud_shape shape;
    char *path = golden(name);
    ASSERT_OK(splat_cloud_describe(path, &shape, &error));
    ASSERT_OK(splat_cloud_read(path, &c, &error));
    assert_true(shape.n == n && shape.sh_degree == sh_degree && shape.render_mode == mode && !shape.has_filter);
    assert_true(c.n == n && c.sh_degree == sh_degree && c.render_mode == mode && !c.filter_3d);
    const struct { const float *values; size_t n; float first; } ramps[] = {
        {c.means, 3, 1}, {c.sh_dc, 3, 2}, {c.sh_rest, splat_tensor_channels(SPLAT_TENSOR_sh_rest, sh_degree), 3},
        {c.scales, 3, 4}, {c.rotations, 4, 5}, {c.opacities, 1, 6}};
    for (size_t k = 0; k < sizeof ramps / sizeof ramps[0]; k++)
        for (size_t i = 0; i < n * ramps[k].n; i++)
            assert_true(ramps[k].values[i] == ramps[k].first + 0.25f * (float)i);
    splat_cloud_free(&c);
    free(path);
}

static void checkpoints_of_published_trainers_are_read(void **state)
{
    (void)state;
    assert_ramps("torch_checkpoint.pth", 2, 1, SPLAT_RENDER_AUTO);
    assert_ramps("torch_sugar.pt", 2, 3, SPLAT_RENDER_CLASSIC);
}

static void other_files_of_torch_are_no_splats(void **state)
{
    (void)state;
    splat_error error;
    splat_cloud c;
    char *refined = golden("torch_sugar_refined.pt"), *trainer = golden("torch_checkpoint.pth");
    assert_int_equal(splat_cloud_read(refined, &c, &error), SPLAT_ERROR_UNSUPPORTED);
    assert_says(&error, "bound to a mesh");
    uint8_t *data;
    size_t size;
    ASSERT_OK(splat_file_read(trainer, &data, &size, &error)); /* under SuGaR's name */
    ASSERT_OK(splat_file_write("renamed.pt", data, size, &error));
    assert_int_equal(splat_cloud_read("renamed.pt", &c, &error), SPLAT_ERROR_FORMAT);
    assert_says(&error, "it has no state_dict");
    for (size_t cut = 0; cut < size; cut += 97) { /* no prefix of a file is read, and none crashes */
        ASSERT_OK(splat_file_write("renamed.pt", data, cut, &error));
        assert_int_not_equal(splat_cloud_read("renamed.pt", &c, &error), SPLAT_OK);
    }
    free(data);
    free(refined);
    free(trainer);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_cloud_is_made_of_zeros_and_counts_its_bytes),
        cmocka_unit_test(bands_are_cut_off_and_added_as_zeros),
        cmocka_unit_test(a_baked_filter_widens_and_fades),
        cmocka_unit_test(a_mark_is_neither_invented_nor_lost),
        cmocka_unit_test(every_format_is_described),
        cmocka_unit_test(every_format_gives_back_what_it_was_given),
        cmocka_unit_test(content_then_name_choose_the_reader),
        cmocka_unit_test(an_unknown_ending_names_those_that_exist),
        cmocka_unit_test(the_longest_ending_and_the_fitting_row_win),
        cmocka_unit_test(a_name_without_an_ending_means_the_first_row),
        cmocka_unit_test(checkpoints_of_published_trainers_are_read),
        cmocka_unit_test(other_files_of_torch_are_no_splats),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
