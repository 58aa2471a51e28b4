/* The text files of a model folder, as Python scripts of the field read and write them. */
#include "base/file.h"
#include "check.h"
#include "io/json.h"
#include "io/model_folder.h"
#include "io/number.h"
#include "measure/results_json.h"
#include "run/cfg_args.h"
#include "scene/scene_options.h"
#include "scene_fixture.h"

#include <locale.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

static char *read_text(const char *path)
{
    splat_error error;
    uint8_t *data;
    size_t size;
    ASSERT_OK(splat_file_read(path, &data, &size, &error));
    return (char *)data;
}

/* ---------------------------------------------------------------- cfg_args */

static void test_cfg_args_text(void **state)
{
    (void)state;
    splat_error error;
    splat_model_config config = {.model_path = "out/garden", .sh_degree = 3, .kernel_size = 0.1f};
    splat_scene_options_init(&config.scene);
    config.scene.source_path = "data/garden";
    config.scene.images = "images_4";
    config.scene.eval = true;
    ASSERT_OK(splat_cfg_args_write(".", &config, &(splat_train_options){.resample_gt_image = true}, &error));
    char *text = read_text("cfg_args");
    assert_string_equal(text, "Namespace(sh_degree=3, source_path='data/garden', model_path='out/garden', "
                              "images='images_4', resolution=-1, white_background=False, data_device='cuda', "
                              "eval=True, kernel_size=0.1, ray_jitter=False, resample_gt_image=True, "
                              "load_allres=False, sample_more_highres=False)");
    free(text);
}

/* Quotes, escapes, control characters, UTF-8, a byte that is not UTF-8. */
static const char *const strings[] = {
    "plain", "", "it's", "say \"hi\"", "both ' and \"", "back\\slash\\", "tab\tnew\nline\r\x01\x7f",
    "gr\xc3\xbc\xc3\x9f \xe2\x82\xac \xf0\x9f\x98\x80", "latin-1 \xff\xfe and \xc3", "\xc2\x85\xc2\xad",
};
enum { N_STRINGS = sizeof strings / sizeof strings[0] };

static void test_cfg_args_round_trip(void **state)
{
    (void)state;
    splat_error error;
    for (int i = 0; i < N_STRINGS; i++) {
        splat_model_config back, config = {.scene.source_path = (char *)strings[i],
                                           .model_path = (char *)strings[(i + 1) % N_STRINGS],
                                           .scene.images = (char *)strings[(i + 2) % N_STRINGS],
                                           .sh_degree = i % 4,
                                           .scene.resolution = i - 2,
                                           .scene.white_background = i & 1,
                                           .scene.eval = i & 2,
                                           .scene.load_allres = i & 4,
                                           .kernel_size = 0.3f / (float)(i + 1),
                                           .scene.masks = i % 3 ? (char *)strings[(i + 3) % N_STRINGS] : NULL,
                                           .scene.invert_masks = i & 2,
                                           .scene.mask_mode = (splat_mask_mode)(i % 3)};
        ASSERT_OK(splat_cfg_args_write(".", &config, &(splat_train_options){0}, &error));
        ASSERT_OK(splat_cfg_args_read(".", &back, &error));
        assert_string_equal(back.scene.source_path, config.scene.source_path);
        assert_string_equal(back.model_path, config.model_path);
        assert_string_equal(back.scene.images, config.scene.images);
        assert_int_equal(back.sh_degree, config.sh_degree);
        assert_int_equal(back.scene.resolution, config.scene.resolution);
        assert_int_equal(back.scene.white_background, config.scene.white_background);
        assert_int_equal(back.scene.eval, config.scene.eval);
        assert_int_equal(back.scene.load_allres, config.scene.load_allres);
        assert_true(back.kernel_size == config.kernel_size);
        assert_true(!back.scene.masks == !config.scene.masks);
        if (back.scene.masks) assert_string_equal(back.scene.masks, config.scene.masks);
        assert_int_equal(back.scene.invert_masks, config.scene.invert_masks);
        assert_int_equal(back.scene.mask_mode, config.scene.mask_mode);
        splat_model_config_free(&back);
    }
}

/* Another value of an option than its default. */
static void set_other(const splat_option *option, splat_scene_options *scene)
{
    if (option->row.kind == SPLAT_OPTION_TEXT) *splat_option_text(&option->row, scene) = (char *)"other";
    else if (option->row.kind == SPLAT_OPTION_FLAG) splat_option_set(&option->row, scene, option->start == 0);
    else splat_option_set(&option->row, scene, option->start + (option->start < 0 ? 5 : 1)); /* no 0 */
}

/* Each option of a scene that cfg_args keeps comes back as it was; the others are not written. */
static void test_cfg_args_options(void **state)
{
    (void)state;
    splat_error error;
    int n_kept = 0;
    for (size_t i = 0; i < splat_scene_options_table.n; i++) {
        const splat_option *option = &splat_scene_options_table.rows[i];
        splat_model_config back, config = {.model_path = "."};
        splat_scene_options_init(&config.scene);
        set_other(option, &config.scene);
        assert_false(splat_option_is_default(option, &config.scene));
        ASSERT_OK(splat_cfg_args_write(".", &config, &(splat_train_options){0}, &error));
        ASSERT_OK(splat_cfg_args_read(".", &back, &error));
        bool is_kept = option->saved >= SPLAT_SAVED_CFG_ARGS;
        if (!is_kept) {
            assert_true(splat_option_is_default(option, &back.scene));
        } else if (option->row.kind == SPLAT_OPTION_TEXT) {
            assert_non_null(*splat_option_text(&option->row, &back.scene));
            assert_string_equal(*splat_option_text(&option->row, &back.scene), "other");
        } else {
            assert_true(splat_option_get(&option->row, &back.scene) == splat_option_get(&option->row, &config.scene));
        }
        n_kept += is_kept;
        splat_model_config_free(&back);
    }
    assert_true(n_kept >= 12);
}

static void test_cfg_args_python(void **state)
{
    (void)state;
    splat_error error;
    if (system("python3 -c 'import argparse' > /dev/null 2>&1") != 0) {
        fprintf(stderr, "SKIPPED: python3 is absent, cfg_args was not evaluated by Python\n");
        skip();
    }
    for (int i = 0; i < N_STRINGS; i++) {
        splat_model_config config = {.model_path = ".", .sh_degree = 2, .kernel_size = 0.05f,
                                     .scene = {.source_path = strings[i], .images = "images", .resolution = 4,
                                               .white_background = true, .load_allres = true}};
        ASSERT_OK(splat_cfg_args_write(".", &config,
                                   &(splat_train_options){.ray_jitter = true, .sample_more_highres = true}, &error));
        FILE *stream = fopen("wanted", "wb");
        fputs(strings[i], stream);
        fclose(stream);
        fixture_text("check.py",
                   "import argparse, os\n"
                   "text = open('cfg_args', encoding='utf-8', newline='').read()\n"
                   "n = eval(text, {'Namespace': argparse.Namespace})\n"
                   "assert os.fsencode(n.source_path) == open('wanted', 'rb').read(), n.source_path\n"
                   "assert (n.sh_degree, n.resolution, n.white_background, n.eval, n.load_allres) == "
                   "(2, 4, True, False, True)\n"
                   "assert (n.kernel_size, n.ray_jitter, n.resample_gt_image, n.sample_more_highres) == "
                   "(0.05, True, False, True)\n"
                   "assert n.data_device == 'cuda' and n.images == 'images' and n.model_path == '.'\n"
                   "assert '\\n' not in text and 'source_path=' + repr(n.source_path) + ',' in text\n"
                   /* and back: what Python itself prints, with more keys and stranger values */
                   "n.extra = ['a)', (1, {'b': \"it's\"})]; n.path = None; n.f = -1e-07\n"
                   "open('python/cfg_args', 'w', encoding='utf-8').write(repr(n))\n");
        ASSERT_OK(splat_folder_create("python", &error));
        assert_int_equal(system("PYTHONUTF8=1 python3 check.py"), 0);
        splat_model_config back;
        ASSERT_OK(splat_cfg_args_read("python", &back, &error));
        assert_string_equal(back.scene.source_path, strings[i]);
        assert_int_equal(back.sh_degree, 2);
        assert_true(back.kernel_size == 0.05f);
        splat_model_config_free(&back);
    }
}

static void test_cfg_args_foreign(void **state)
{
    (void)state;
    splat_error error;
    splat_model_config config;
    fixture_text("cfg_args", " argparse.Namespace( images = u\"im\\x61ges\\u00e9\\101\\q\" , eval=1,\n"
                           "source_path=r'C:\\new', test_iterations=[7000, (30_000, ')'), {'a': \"]\"}],\n"
                           "resolution=2.0, path=PosixPath('/x'), f=1.5-2, lam=lambda x: x+1, model_path=None,"
                           "white_background=None, kernel_size=3,) \n");
    ASSERT_OK(splat_cfg_args_read(".", &config, &error));
    assert_string_equal(config.scene.images, "images\xc3\xa9" "A\\q");
    assert_string_equal(config.scene.source_path, "C:\\new");
    assert_string_equal(config.model_path, "."); /* None: the default, the folder that is read */
    assert_true(config.scene.eval && !config.scene.white_background && config.scene.resolution == 2);
    assert_int_equal(config.sh_degree, 3);
    assert_true(config.kernel_size == 3.0f);
    splat_model_config_free(&config);
    fixture_text("cfg_args", "Namespace()");
    ASSERT_OK(splat_cfg_args_read(".", &config, &error));
    assert_string_equal(config.scene.source_path, "");
    assert_string_equal(config.scene.images, "images");
    assert_true(config.scene.resolution == -1 && config.kernel_size == 0.1f);
    splat_model_config_free(&config);
}

static void test_cfg_args_refused(void **state)
{
    (void)state;
    static const struct { const char *text, *says; uint64_t offset; } cases[] = {
        {"", "begins with something else", 0},
        {"{'a': 1}", "begins with something else", 0},
        {"Namespaces(a=1)", "begins with something else", 0},
        {"Namespace a=1)", "opening parenthesis", 10},
        {"Namespace(a=1", "has no end", 12},
        {"Namespace(a=1) b", "follows its end", 15},
        {"Namespace(a=1 b=2)Namespace()", "follows its end", 18},
        {"Namespace(=1)", "key=value", 10},
        {"Namespace(a)", "key=value", 10},
        {"Namespace(a=)", "value is missing", 12},
        {"Namespace(a=1,,b=2)", "key=value", 14},
        {"Namespace(a='x)", "no closing quote", 12},
        {"Namespace(a='\\x4')", "bad escape", 16},
        {"Namespace(a='\\U00110000')", "bad escape", 23},
        {"Namespace(a='\\0')", "bad escape", 15},
        {"Namespace(a=[1,2)", "has no end", 12},
        {"Namespace(a=1])", "never opened", 13},
        {"Namespace(images=5)", "images of cfg_args is not a string", 17},
        {"Namespace(resolution='x')", "resolution of cfg_args is not a whole number", 21},
        {"Namespace(resolution=1.5)", "resolution of cfg_args is not a whole number", 21},
        {"Namespace(resolution=1e99)", "resolution of cfg_args is not a whole number", 21},
        {"Namespace(eval='yes')", "eval of cfg_args is not True or False", 15},
        {"Namespace(kernel_size=[])", "kernel_size of cfg_args is not a number", 22},
        {"Namespace(sh_degree=4)", "sh_degree=4", SPLAT_NO_OFFSET},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        splat_error error;
        splat_model_config config;
        fixture_text("cfg_args", cases[i].text);
        if (splat_cfg_args_read(".", &config, &error) != SPLAT_ERROR_FORMAT) fail_msg("accepted: %s", cases[i].text);
        if (!strstr(error.message, cases[i].says) || error.offset != cases[i].offset)
            fail_msg("%s: \"%s\" at %d", cases[i].text, error.message, (int)error.offset);
        assert_null(config.scene.images);
    }
    splat_error error;
    splat_model_config config;
    assert_int_equal(splat_cfg_args_read("absent", &config, &error), SPLAT_ERROR_IO);
    assert_non_null(strstr(error.file, "cfg_args"));
}

/* No prefix and no changed byte makes the reader misbehave (the sanitizers watch). */
static void test_cfg_args_damage(void **state)
{
    (void)state;
    static const char text[] =
        "Namespace(images='i\\x6d\\u0061\\'', eval=True, a=[1, {'b)': (2,)}], resolution=-1, s=1e5)";
    for (size_t i = 0; i < sizeof text - 1; i++) {
        for (int k = 0; k < 12; k++) {
            splat_error error;
            splat_model_config config;
            char copy[sizeof text];
            memcpy(copy, text, sizeof text);
            copy[i] = "\0'\"\\([{}]),="[k];
            fixture_text("cfg_args", copy);
            splat_status status = splat_cfg_args_read(".", &config, &error);
            if (status == SPLAT_OK) splat_model_config_free(&config);
            if (k == 0) assert_int_equal(status, SPLAT_ERROR_FORMAT);
        }
    }
}

static void test_numbers(void **state)
{
    (void)state;
    char text[32], *end;
    static const struct { float value; const char *text; } cases[] = {
        {0.1f, "0.1"}, {0.3f, "0.3"}, {1.0f, "1"}, {-2.5f, "-2.5"}, {1e-5f, "1e-05"}, {16777216.0f, "16777216"},
        {0.333333343f, "0.33333334"}, {INFINITY, "inf"}, {NAN, "nan"},
    };
    static const char *const locales[] = {"C", "de_DE.UTF-8", "fr_FR.UTF-8", "de_DE"};
    for (size_t l = 0; l < sizeof locales / sizeof locales[0]; l++) {
        if (!setlocale(LC_ALL, locales[l])) continue;
        for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++)
            assert_string_equal(splat_number_format(text, cases[i].value), cases[i].text);
        assert_true(splat_number_parse("0.25,", &end) == 0.25 && *end == ',');
    }
    setlocale(LC_ALL, "C");
}

/* ---------------------------------------------------------------- JSON */

static void test_cameras(void **state)
{
    (void)state;
    splat_error error;
    json_t *root;
    splat_camera_entry entries[2] = {
        {"DSC_1", 640, 480, 500.25, 501.0, {0, 1, 2, 3, 4, 5, 6, 7, 8}, {0.1f, -2, 3}},
        {"caf\xc3\xa9 \"x\"", 10, 20, 1, 2, {0}, {0}},
    };
    ASSERT_OK(splat_cameras_json_write(".", entries, 2, &error));
    char *text = read_text("cameras.json");
    static const char begin[] =
        "[{\"id\": 0, \"img_name\": \"DSC_1\", \"width\": 640, \"height\": 480, \"position\": [";
    assert_memory_equal(text, begin, sizeof begin - 1); /* the order of 3DGS */
    free(text);
    ASSERT_OK(splat_json_read("cameras.json", &root, &error));
    const char *name;
    int id;
    assert_int_equal(json_array_size(root), 2);
    const json_t *camera = json_array_get(root, 0), *rotation = json_object_get(camera, "rotation");
    double p0 = json_real_value(json_array_get(json_object_get(camera, "position"), 0));
    double r01 = json_real_value(json_array_get(json_array_get(rotation, 0), 1));
    double r10 = json_real_value(json_array_get(json_array_get(rotation, 1), 0));
    double r22 = json_real_value(json_array_get(json_array_get(rotation, 2), 2));
    assert_true((float)p0 == 0.1f && r01 == 3.0 && r10 == 1.0 && r22 == 8.0);
    assert_true(json_real_value(json_object_get(camera, "fx")) == 500.25);
    assert_true(json_real_value(json_object_get(camera, "fy")) == 501.0);
    assert_int_equal(json_unpack(json_array_get(root, 1), "{s:i, s:s}", "id", &id, "img_name", &name), 0);
    assert_int_equal(id, 1);
    assert_string_equal(name, entries[1].name);
    json_decref(root);
    entries[1].fx = NAN;
    assert_int_equal(splat_cameras_json_write(".", entries, 2, &error), SPLAT_ERROR_ARGUMENT);
    entries[1].fx = 1.0;
    assert_int_equal(splat_cameras_json_write("absent", entries, 1, &error), SPLAT_ERROR_IO);
}

static void test_first_camera(void **state)
{
    (void)state;
    splat_error error;
    splat_camera camera;
    const splat_camera_entry entry = {"a", 640, 480, 500.25, 501.0, {0, 1, 0, 0, 0, 1, 1, 0, 0}, {0.5f, -2, 3}};
    ASSERT_OK(splat_cameras_json_write(".", &entry, 1, &error));
    ASSERT_OK(splat_cameras_json_first("cameras.json", &camera, &error));
    for (int i = 0; i < 9; i++) assert_true(camera.rotation[i] == entry.rotation[i]);
    for (int i = 0; i < 3; i++) assert_true(camera.center[i] == entry.center[i]);
    assert_true(camera.width == 640 && camera.height == 480 && camera.fx == 500.25f && camera.fy == 501.0f);
    static const char *const damaged[] = {"[]", "{}", "[1]", "[{\"width\": 1}]",
        "[{\"width\": 9, \"height\": 9, \"fx\": 9, \"fy\": 9, \"position\": [0, 0, 0],"
        " \"rotation\": [[1, 0], [0], []]}]",
        "[{\"width\": 9, \"height\": 9, \"fx\": 0, \"fy\": 9, \"position\": [0, 0, 0],"
        " \"rotation\": [[1, 0, 0], [0, 1, 0], [0, 0, 1]]}]"};
    for (size_t i = 0; i < sizeof damaged / sizeof damaged[0]; i++) {
        fixture_text("damaged.json", damaged[i]);
        assert_int_equal(splat_cameras_json_first("damaged.json", &camera, &error), SPLAT_ERROR_FORMAT);
    }
    assert_int_equal(splat_cameras_json_first("absent.json", &camera, &error), SPLAT_ERROR_IO);
}

static void test_split(void **state)
{
    (void)state;
    splat_error error;
    char *train[] = {"b.jpg", "c d.png", "\xc3\xa9.png"}, *test[] = {"a.jpg"};
    splat_split back, split = {train, test, 3, 1};
    ASSERT_OK(splat_split_write(".", &split, &error));
    ASSERT_OK(splat_split_read("split.json", &back, &error));
    assert_true(back.n_train == 3 && back.n_test == 1);
    for (int i = 0; i < 3; i++) assert_string_equal(back.train[i], train[i]);
    assert_string_equal(back.test[0], "a.jpg");
    splat_split_free(&back);
    split.n_train = split.n_test = 0;
    ASSERT_OK(splat_split_write(".", &split, &error));
    ASSERT_OK(splat_split_read("split.json", &back, &error));
    assert_true(back.n_train == 0 && back.n_test == 0);
    splat_split_free(&back);
    test[0] = "\xe9\x80.jpg"; /* no UTF-8: taken for Latin-1 */
    split.n_test = 1;
    ASSERT_OK(splat_split_write(".", &split, &error));
    ASSERT_OK(splat_split_read("split.json", &back, &error));
    assert_string_equal(back.test[0], "\xc3\xa9\xc2\x80.jpg");
    splat_split_free(&back);
    static const struct { const char *text; splat_status status; } cases[] = {
        {"", SPLAT_ERROR_FORMAT},
        {"[]", SPLAT_ERROR_FORMAT},
        {"{\"train\": [], \"test\": []}", SPLAT_ERROR_UNSUPPORTED},
        {"{\"version\": 2, \"train\": [], \"test\": []}", SPLAT_ERROR_UNSUPPORTED},
        {"{\"version\": 1, \"train\": []}", SPLAT_ERROR_FORMAT},
        {"{\"version\": 1, \"train\": [\"a\", 1], \"test\": []}", SPLAT_ERROR_FORMAT},
        {"{\"version\": 1, \"train\": {}, \"test\": []}", SPLAT_ERROR_FORMAT},
        {"{\"version\": 1, \"train\": [\"a\"], \"test\": [\"b\"", SPLAT_ERROR_FORMAT},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        fixture_text("split.json", cases[i].text);
        assert_int_equal(splat_split_read("split.json", &back, &error), cases[i].status);
        assert_string_equal(error.file, "split.json");
        assert_null(back.train);
    }
}

static double result(const char *path, const char *method, const char *key, const char *view)
{
    splat_error error;
    json_t *root;
    ASSERT_OK(splat_json_read(path, &root, &error));
    json_t *value = json_object_get(json_object_get(root, method), key);
    if (view) value = json_object_get(value, view);
    double number = json_is_number(value) ? json_number_value(value) : json_is_null(value) ? -1.0 : -2.0;
    json_decref(root);
    return number;
}

static void test_results(void **state)
{
    (void)state;
    splat_error error;
    const char *names[2] = {"00000.png", "00001.png"};
    splat_metrics views[2] = {
        {.l1 = 0.01, .psnr = 30.5, .psnr_per_channel = 30.75, .ssim = 0.9, .n_views = 1},
        {.l1 = 0.02, .psnr = INFINITY, .psnr_per_channel = INFINITY, .ssim = 1.0 / 3.0, .n_views = 1}};
    splat_metrics mean = {.l1 = 0.015, .psnr = 0.1 + 0.2, .psnr_per_channel = 31, .ssim = 0.8, .n_views = 2};
    remove("results.json");
    fixture_text("per_view.json", "{\"other\": {\"PSNR\": {\"x\": 12.5}}, \"ours_7\": {\"LPIPS\": {\"old\": 1}}}");
    ASSERT_OK(splat_results_json_write(".", "ours_7", &mean, views, names, 2, &error));
    ASSERT_OK(splat_results_json_write(".", "ours_30", &mean, views, names, 1, &error));
    char *text = read_text("results.json");
    static const char begin[] = "{\n \"ours_7\": {\n  \"SSIM\": 0.8"; /* indent 1 */
    assert_memory_equal(text, begin, sizeof begin - 1);
    free(text);
    assert_true(result("results.json", "ours_7", "PSNR", NULL) == 0.1 + 0.2); /* every digit */
    assert_true(result("results.json", "ours_30", "PSNR_per_channel", NULL) == 31.0);
    assert_true(result("results.json", "ours_30", "L1", NULL) == 0.015);
    assert_true(result("per_view.json", "other", "PSNR", "x") == 12.5);
    assert_true(result("per_view.json", "ours_7", "LPIPS", "old") == -2.0); /* of an older run: gone */
    assert_true(result("per_view.json", "ours_7", "SSIM", "00001.png") == 1.0 / 3.0);
    assert_true(result("per_view.json", "ours_7", "PSNR", "00001.png") == -1.0); /* JSON has no infinity: null */
    assert_true(result("per_view.json", "ours_30", "PSNR_per_channel", "00000.png") == 30.75);
    assert_true(result("per_view.json", "ours_30", "L1", "00001.png") == -2.0);
    assert_true(result("results.json", "ours_30", "masked", NULL) == -2.0);
    assert_true(result("results.json", "ours_30", "PSNR_whole", NULL) == -2.0);
    mean.n_masked = 1;
    mean.kept = 0.75;
    mean.psnr_whole = 21.5;
    mean.l1_whole = 0.25;
    ASSERT_OK(splat_results_json_write(".", "masks", &mean, views, names, 2, &error));
    assert_true(result("results.json", "masks", "kept", NULL) == 0.75);
    assert_true(result("results.json", "masks", "PSNR_whole", NULL) == 21.5);
    assert_true(result("results.json", "masks", "L1_whole", NULL) == 0.25);
    assert_true(result("results.json", "masks", "PSNR", NULL) == 0.1 + 0.2);
    text = read_text("results.json");
    assert_non_null(strstr(text, "\"masked\": true"));
    free(text);
    fixture_text("results.json", "[1]"); /* not ours: refused, and left as it is */
    assert_int_equal(splat_results_json_write(".", "ours_7", &mean, views, names, 2, &error), SPLAT_ERROR_FORMAT);
    fixture_text("results.json", "{\"a\":");
    assert_int_equal(splat_results_json_write(".", "ours_7", &mean, views, names, 2, &error), SPLAT_ERROR_FORMAT);
    text = read_text("results.json");
    assert_string_equal(text, "{\"a\":");
    free(text);
    remove("results.json");
}

/* ---------------------------------------------------------------- iterations */

static void test_find_iteration(void **state)
{
    (void)state;
    splat_error error;
    char path[256];
    int found;
    static const char *const folders[] = {"iteration_7000", "iteration_30000", "iteration_40000", "iteration_x",
                                          "iteration_", "iteration_99999999999", "iteration_050000", "60000"};
    ASSERT_OK(splat_folder_delete("m", &error));
    assert_int_equal(splat_find_iteration("m", -1, path, sizeof path, &found, &error), SPLAT_ERROR_IO);
    for (size_t i = 0; i < sizeof folders / sizeof folders[0]; i++) {
        char *name = splat_format("m/point_cloud/%s", folders[i]), *ply = splat_format("%s/point_cloud.ply", name);
        ASSERT_OK(splat_folder_create(name, &error));
        if (strcmp(folders[i], "iteration_40000") != 0) fixture_text(ply, "ply"); /* 40000 was cut short */
        free(name);
        free(ply);
    }
    ASSERT_OK(splat_find_iteration("m", -1, path, sizeof path, &found, &error));
    assert_int_equal(found, 30000);
    assert_string_equal(path, "m/point_cloud/iteration_30000/point_cloud.ply");
    ASSERT_OK(splat_find_iteration("m", 7000, path, sizeof path, &found, &error));
    assert_int_equal(found, 7000);
    assert_int_equal(splat_find_iteration("m", 40000, path, sizeof path, &found, &error), SPLAT_ERROR_IO);
    assert_non_null(strstr(error.message, "iteration_40000"));
    assert_int_equal(splat_find_iteration("m", -1, path, 20, &found, &error), SPLAT_ERROR_ARGUMENT);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_cfg_args_text),    cmocka_unit_test(test_cfg_args_round_trip),
        cmocka_unit_test(test_cfg_args_options),
        cmocka_unit_test(test_cfg_args_python),  cmocka_unit_test(test_cfg_args_foreign),
        cmocka_unit_test(test_cfg_args_refused), cmocka_unit_test(test_cfg_args_damage),
        cmocka_unit_test(test_numbers),          cmocka_unit_test(test_cameras),
        cmocka_unit_test(test_split),            cmocka_unit_test(test_results),
        cmocka_unit_test(test_find_iteration),   cmocka_unit_test(test_first_camera),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
