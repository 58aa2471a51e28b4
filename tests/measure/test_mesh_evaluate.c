/* Meshes against photos: the figures over all pixels and over the covered ones, counted again from the pictures. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include "io/json.h"
#include "io/picture/image_read.h"
#include "io/picture/image_write.h"
#include "io/splat/cloud.h"
#include "io/splat/formats.h"
#include "measure/mesh_results.h"
#include "measure/mesh_views.h"
#include "measure/sugar_results.h"
#include "mesh_view_group.h"

/* A ball where the cameras look, each vertex with a colour of its own; radius 20: all around the scene. */
static void write_ball(const char *path, double radius)
{
    splat_mesh ball = make_sphere(12, radius);
    splat_error error;
    ASSERT_OK(splat_mesh_require_colors(&ball, &error));
    for (size_t i = 0; i < ball.n_vertices; i++) {
        for (size_t k = 0; k < 3; k++) ball.colors[4 * i + k] = (uint8_t)(60 + 37 * (i * (k + 3)) % 150);
        ball.vertices[3 * i + 1] -= 1.2f;
    }
    ASSERT_OK(splat_mesh_write(path, &ball, &error));
    splat_mesh_free(&ball);
}

typedef struct sums {
    double l1, psnr, per_channel, ssim, coverage, cc_psnr;
    size_t n;
} sums;

static splat_mesh_draw_options plain_options(void)
{
    splat_mesh_draw_options options;
    splat_mesh_draw_options_init(&options);
    options.supersampling = 1; /* every pixel has a depth or none */
    return options;
}

/* Pixels left of this column do not count: the masks of a test hide them. */
static size_t first_column;

/* Squared errors of a channel of all pixels after the line from the photo to the render is undone on the render. */
static double corrected_squares(const uint8_t *render, const uint8_t *photo)
{
    double x = 0, y = 0, xy = 0, yy = 0, squares = 0;
    for (size_t p = 0; p < PIXELS; p++) {
        const double a = render[3 * p] / 255.0, b = photo[3 * p] / 255.0;
        x += a / PIXELS, y += b / PIXELS, xy += a * b / PIXELS, yy += b * b / PIXELS;
    }
    const double slope = (xy - x * y) / (yy - y * y), offset = x - slope * y;
    for (size_t p = 0; p < PIXELS; p++) {
        const double corrected = fmin(fmax((render[3 * p] / 255.0 - offset) / slope, 0), 1);
        squares += pow(corrected - photo[3 * p] / 255.0, 2);
    }
    return squares;
}

/* From the PNG and the PFM that render writes, and the photos. */
static void count(const char *folder, bool covered, sums *mean)
{
    memset(mean, 0, sizeof *mean);
    splat_scene_info info;
    splat_scene_get_info(scene, &info);
    for (size_t v = 0, i = 0; v < info.n_views; v++) {
        static uint8_t photo[3 * PIXELS];
        splat_view_info view;
        splat_image picture;
        splat_error error;
        char path[512];
        static float depths[PIXELS];
        size_t n = 0;
        double squares[3] = {0}, l1 = 0;
        ASSERT_OK(splat_scene_get_view(scene, v, &view, &error));
        if (!view.is_test) continue;
        ASSERT_OK(splat_scene_read_photo(scene, v, photo, &error));
        snprintf(path, sizeof path, "%s/color/%05zu.png", folder, i);
        ASSERT_OK(splat_image_read(path, &picture, &error));
        snprintf(path, sizeof path, "%s/depth/%05zu.pfm", folder, i++);
        read_depths(path, depths);
        for (size_t p = 0; p < PIXELS; p++) {
            if (p % WIDTH < first_column) continue;
            mean->coverage += (depths[p] > 0) / (double)(HEIGHT * (WIDTH - first_column));
            if (covered && depths[p] == 0) continue;
            n++;
            for (size_t c = 0; c < 3; c++) {
                double d = (picture.pixels[3 * p + c] - photo[3 * p + c]) / 255.0;
                squares[c] += d * d;
                l1 += fabs(d);
            }
        }
        mean->n++;
        mean->l1 += l1 / (3.0 * (double)n);
        mean->psnr -= 10 * log10((squares[0] + squares[1] + squares[2]) / (3.0 * (double)n));
        for (int c = 0; c < 3; c++) mean->per_channel -= 10 * log10(squares[c] / (double)n) / 3;
        for (int c = 0; c < 3; c++) squares[c] = corrected_squares(picture.pixels + c, photo + c);
        mean->cc_psnr -= 10 * log10((squares[0] + squares[1] + squares[2]) / (3.0 * PIXELS));
        splat_image_free(&picture);
    }
    mean->l1 /= (double)mean->n;
    mean->psnr /= (double)mean->n;
    mean->per_channel /= (double)mean->n;
    mean->coverage /= (double)mean->n;
    mean->cc_psnr /= (double)mean->n;
}

static void assert_counted(const splat_metrics *metrics, const sums *counted)
{
    assert_int_equal(metrics->n_views, counted->n);
    if (fabs(metrics->l1 - counted->l1) > 1e-6 || fabs(metrics->psnr - counted->psnr) > 1e-4 ||
        fabs(metrics->psnr_per_channel - counted->per_channel) > 1e-4)
        fail_msg("L1 %g, PSNR %g and %g, counted %g, %g and %g", metrics->l1, metrics->psnr, metrics->psnr_per_channel,
                 counted->l1, counted->psnr, counted->per_channel);
}

static splat_mesh_metrics evaluate(const char *mesh)
{
    splat_mesh_metrics mean;
    splat_error error;
    const splat_mesh_draw_options options = plain_options();
    splat_view_job job = job_on(SPLAT_VIEWS_TEST, NULL, NULL);
    job.quantize = true;
    must(splat_mesh_evaluate(scene, mesh, &job, &options, &mean, &error), &error);
    return mean;
}

static void figures_are_those_of_the_pictures(void **state)
{
    splat_error error;
    sums all, covered;
    (void)state;
    write_ball("ball.ply", 0.7);
    const splat_mesh_draw_options options = plain_options();
    const splat_view_job job = job_on(SPLAT_VIEWS_TEST, NULL, NULL);
    must(splat_mesh_views_write(scene, "ball.ply", &job, SPLAT_MESH_VIEW_COLOR | SPLAT_MESH_VIEW_DEPTH, &options,
                                "drawn", &error), &error);
    splat_mesh_metrics mean = evaluate("ball.ply");
    count("drawn/test/mesh_ball", false, &all);
    count("drawn/test/mesh_ball", true, &covered);
    assert_counted(&mean.all, &all);
    assert_counted(&mean.covered, &covered);
    assert_true(fabs(mean.coverage - all.coverage) < 1e-9 && mean.coverage > 0.02 && mean.coverage < 0.6);
    assert_true(mean.all.psnr < mean.covered.psnr); /* the background is black */
    assert_true(mean.covered.ssim > -1 && mean.covered.ssim < 1 && mean.covered.ssim != mean.all.ssim);
    assert_null(mean.all.lpips_net);
    assert_true(mean.all.render_ms > 0);
}

/* The colours of all pixels are corrected, not those of covered ones; the other figures stay. */
static void colours_are_corrected_to_the_photos(void **state)
{
    splat_error error;
    splat_mesh_metrics mean;
    sums counted;
    (void)state;
    write_ball("ball.ply", 0.7);
    const splat_mesh_draw_options options = plain_options();
    splat_view_job job = job_on(SPLAT_VIEWS_TEST, NULL, NULL);
    must(splat_mesh_views_write(scene, "ball.ply", &job, SPLAT_MESH_VIEW_COLOR | SPLAT_MESH_VIEW_DEPTH, &options,
                                "drawn", &error), &error);
    count("drawn/test/mesh_ball", false, &counted);
    job.quantize = job.color_correct = true;
    must(splat_mesh_evaluate(scene, "ball.ply", &job, &options, &mean, &error), &error);
    assert_counted(&mean.all, &counted);
    assert_true(mean.all.is_corrected && !mean.covered.is_corrected);
    assert_float_equal(mean.all.cc_psnr, counted.cc_psnr, 0.05); /* of renders before they are rounded */
    assert_true(fabs(mean.all.cc_psnr - mean.all.psnr) > 0.1 && mean.all.cc_ssim != mean.all.ssim);
    assert_false(evaluate("ball.ply").all.is_corrected);
}

/* SCENE with masks that hide the columns left of first_column, and where `empty` is set all of the first test view. */
static splat_scene *open_masked(bool eval_masks, bool empty)
{
    splat_scene *masked;
    splat_scene_options options;
    splat_error error;
    static uint8_t mask[PIXELS];
    bool is_first = empty;
    splat_scene_info info;
    splat_scene_get_info(scene, &info);
    must(splat_folder_delete(SCENE "/columns", &error), &error);
    must(splat_folder_create(SCENE "/columns", &error), &error);
    for (size_t v = 0; v < info.n_views; v++) {
        splat_view_info view;
        char path[256];
        must(splat_scene_get_view(scene, v, &view, &error), &error);
        for (size_t p = 0; p < PIXELS; p++)
            mask[p] = p % WIDTH < first_column || (is_first && view.is_test) ? 0 : 255;
        is_first = is_first && !view.is_test;
        snprintf(path, sizeof path, SCENE "/columns/%s.png", view.name);
        must(splat_png_write(path, WIDTH, HEIGHT, 1, 8, mask, &error), &error);
    }
    splat_scene_options_init(&options);
    options.source_path = SCENE;
    options.eval = true;
    options.masks = "columns";
    options.eval_masks = eval_masks;
    must(splat_scene_open(context, &options, &masked, &error), &error);
    return masked;
}

static void masked_pixels_do_not_count(void **state)
{
    sums all, covered;
    splat_scene *whole = scene;
    (void)state;
    splat_mesh_metrics unmasked = evaluate("ball.ply");
    first_column = WIDTH / 2;
    scene = open_masked(true, false);
    splat_mesh_metrics mean = evaluate("ball.ply");
    count("drawn/test/mesh_ball", false, &all);
    count("drawn/test/mesh_ball", true, &covered);
    assert_counted(&mean.all, &all);
    assert_counted(&mean.covered, &covered);
    assert_true(fabs(mean.coverage - all.coverage) < 1e-9 && mean.coverage > 0.02);
    assert_true(mean.all.n_masked == all.n && fabs(mean.all.kept - 0.5) < 1e-9);
    assert_true(mean.all.psnr != unmasked.all.psnr && mean.all.psnr_whole == unmasked.all.psnr);
    assert_true(mean.all.ssim_whole == unmasked.all.ssim && mean.all.l1_whole == unmasked.all.l1);
    splat_scene_close(scene);
    scene = whole;
    scene = open_masked(false, false);
    mean = evaluate("ball.ply");
    assert_true(mean.all.psnr == unmasked.all.psnr && mean.covered.psnr == unmasked.covered.psnr &&
                mean.coverage == unmasked.coverage && mean.all.n_masked == 0);
    splat_scene_close(scene);
    scene = whole;
    scene = open_masked(true, true);
    mean = evaluate("ball.ply");
    assert_int_equal(mean.all.n_views, all.n - 1); /* nothing is kept of the first */
    assert_true(mean.all.n_masked == all.n - 1 && mean.covered.n_views == all.n - 1 && isfinite(mean.all.psnr));
    splat_scene_close(scene);
    scene = whole;
    first_column = 0;
}

/* From inside a ball that fills the views, covered is all. */
static void covered_is_all_where_the_mesh_fills_the_view(void **state)
{
    (void)state;
    write_ball("sky.ply", 20);
    splat_mesh_metrics mean = evaluate("sky.ply");
    assert_true(mean.coverage == 1 && mean.all.psnr == mean.covered.psnr && mean.all.ssim == mean.covered.ssim &&
                mean.all.l1 == mean.covered.l1);
    write_text("far.obj", "v 0 500 0\nv 1 500 0\nv 0 501 0\nf 1 2 3\n"); /* no camera sees it */
    mean = evaluate("far.obj");
    assert_true(mean.coverage == 0 && mean.covered.n_views == 0 && mean.all.n_views > 0 && mean.covered.psnr == 0);
}

/* sum: of the PSNRs, of the views so far, and after how many it stops; 0: never. */
static bool remember_metrics(void *user, size_t index_in_set, const splat_view_info *view, const float *render,
                             const uint8_t *photo, const splat_metrics *metrics)
{
    double *sum = user;
    (void)view;
    assert_non_null(photo);
    sum[0] += metrics->psnr;
    sum[1] = (double)index_in_set + 1;
    for (size_t i = 0; i < 3 * PIXELS; i++) assert_true(render[i] >= 0 && render[i] <= 1);
    return sum[2] == 0 || (double)index_in_set + 1 < sum[2];
}

static void visitors_see_each_view_and_may_stop(void **state)
{
    splat_error error;
    splat_mesh_metrics mean;
    double sum[3] = {0};
    (void)state;
    splat_view_job job = job_on(SPLAT_VIEWS_TEST, remember_metrics, sum);
    must(splat_mesh_evaluate(scene, "ball.ply", &job, NULL, &mean, &error), &error);
    assert_true(fabs(sum[0] / sum[1] - mean.all.psnr) < 1e-9 && sum[1] == (double)mean.all.n_views);
    sum[2] = 1;
    must(splat_mesh_evaluate(scene, "ball.ply", &job, NULL, &mean, &error), &error);
    assert_int_equal(mean.all.n_views, 1);
    must(splat_folder_delete("stopped", &error), &error);
    must(splat_folder_create("stopped", &error), &error);
    assert_int_equal(splat_mesh_results_write(scene, "ball.ply", &job, NULL, "stopped", NULL, &mean, &error),
                     SPLAT_ERROR_STOPPED);
    assert_false(splat_path_exists("stopped/results.json"));
}

/* ---------------------------------------------------------------- the command */

static double number_in(json_t *root, const char *method, const char *key)
{
    json_t *value = json_object_get(json_object_get(root, method), key);
    if (!json_is_number(value)) fail_msg("no number %s of %s", key, method);
    return json_number_value(value);
}

static void the_command_writes_results(void **state)
{
    splat_error error;
    json_t *root;
    (void)state;
    must(splat_folder_delete("model", &error), &error);
    must(splat_folder_create("model", &error), &error);
    write_text("model/results.json", "{\"ours_7\": {\"PSNR\": 5}}");
    RUN_OUT(0, "the mesh covers", "eval", "--mesh", "ball.ply", "-m", "model", "-s", SCENE, "--eval",
            "--supersampling", "1", "--enable_lpips", "False");
    splat_mesh_metrics mean = evaluate("ball.ply");
    must(splat_json_read("model/results.json", &root, &error), &error);
    assert_true(number_in(root, "ours_7", "PSNR") == 5);
    assert_true(fabs(number_in(root, "mesh_ball", "PSNR") - mean.all.psnr) < 1e-9);
    assert_true(fabs(number_in(root, "mesh_ball", "SSIM_covered") - mean.covered.ssim) < 1e-9);
    assert_true(fabs(number_in(root, "mesh_ball", "coverage") - mean.coverage) < 1e-9);
    assert_true(number_in(root, "mesh_ball", "cc_psnr") > 0);
    assert_null(json_object_get(json_object_get(root, "mesh_ball"), "cc_psnr_covered"));
    assert_null(json_object_get(json_object_get(root, "mesh_ball"), "LPIPS"));
    json_decref(root);
    must(splat_json_read("model/per_view.json", &root, &error), &error);
    json_t *columns = json_object_get(root, "mesh_ball");
    assert_true(json_is_real(json_object_get(json_object_get(columns, "PSNR_covered"), "00001.png")));
    assert_true(json_is_real(json_object_get(json_object_get(columns, "coverage"), "00000.png")));
    json_decref(root);
    RUN_OUT(0, "covered", "eval", "--mesh", "ball.ply", "-s", SCENE, "--enable_lpips", "False"); /* no folder */
    RUN_OUT(0, "0.00 %", "eval", "--mesh", "far.obj", "-m", "model", "-s", SCENE, "--eval", "--enable_lpips", "False");
    must(splat_json_read("model/per_view.json", &root, &error), &error);
    columns = json_object_get(root, "mesh_far");
    assert_true(json_is_null(json_object_get(json_object_get(columns, "PSNR_covered"), "00000.png")));
    json_decref(root);
}

/* ---------------------------------------------------------------- SuGaR's files */

static json_t *read_sugar(const char *file, const char *key)
{
    json_t *root;
    splat_error error;
    must(splat_json_read(file, &root, &error), &error);
    json_t *found = json_incref(json_object_get(json_object_get(root, SCENE), key));
    json_decref(root);
    if (!found) fail_msg("no %s in %s", key, file);
    return found;
}

static void assert_sugar(const char *file, const char *key, double psnr)
{
    json_t *entry = read_sugar(file, key);
    assert_true(fabs(json_number_value(json_object_get(entry, "psnr")) - psnr) < 1e-9);
    assert_true(json_is_real(json_object_get(entry, "ssim")) && !json_object_get(entry, "lpips"));
    json_decref(entry);
}

static void names_of_sugar_choose_the_file(void **state)
{
    static const struct {
        const char *name, *variant, *file, *key; /* file NULL: not one of SuGaR's names */
    } cases[] = {
        {"a/sugarmesh_3Dgs7000_densityestim02_sdfnorm02_level03_decim1000000.ply", NULL,
         "results_density02_normal02.json", "sugar_03_1000000_15000"},
        {"sugarmesh_3Dgs7000_dnconsistencyestim005_sdfnorm02_level05_decim200000.glb", "uvtexture",
         "results_dnconsistency005_normal02_uvtexture.json", "sugar_05_200000_15000"},
        {"sugarmesh_3Dgs7000_multiviewestim00_sdfnorm00_level03_decim1000000.ply", NULL,
         "results_multiview00_normal00.json", "sugar_03_1000000_15000"},
        {"b/sugarfine_3Dgs700_sdfestim02_sdfnorm01_level03_decim9_normalconsistency01_gaussperface1//", "diffuseonly",
         "results_sdf02_normal01_diffuseonly.json", "sugar_03_9_15000"},
        {"sugarmesh_3Dgs7000_densityestim02_sdfnorm02_poissoncenters_decim10.ply", NULL,
         "results_density02_normal02_poissoncenter.json", "sugar_0_10_15000"},
        {"sugarmesh_3Dgs7000_densityestim02_sdfnorm02_marchingcubes_level03_decim10.ply", NULL,
         "results_density02_normal02_marchingcubes.json", "sugar_03_10_15000"},
        {"sugarmesh_3Dgs7000_level03_decim1000000.ply", NULL, NULL, NULL}, /* without coarse training */
        {"sugarcoarse_3Dgs7000_densityestim02_sdfnorm02", NULL, NULL, NULL},
        {"densityestim02_sdfnorm02_level03_decim10.ply", NULL, NULL, NULL},
        {"sugarmesh_3Dgs7000_densityestim0212345678901234567_sdfnorm02_level03_decim10.ply", NULL, NULL, NULL},
        {"mesh.ply", NULL, NULL, NULL}};
    splat_metrics metrics = {.ssim = 0.5, .n_views = 3};
    splat_error error;
    bool written;
    (void)state;
    must(splat_folder_delete("sugar", &error), &error);
    must(splat_folder_create("sugar", &error), &error);
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        char path[256];
        metrics.psnr = 20 + (double)i;
        must(splat_sugar_results_write("sugar", cases[i].name, cases[i].variant, "data/" SCENE "/", 15000, &metrics,
                                       &written, &error), &error);
        if (written != (cases[i].file != NULL)) fail_msg("%s", cases[i].name);
        if (!written) continue;
        snprintf(path, sizeof path, "sugar/%s", cases[i].file);
        assert_sugar(path, cases[i].key, metrics.psnr);
    }
    metrics.lpips_net = "vgg"; /* another scene */
    metrics.lpips = 0.25;
    must(splat_sugar_results_write("sugar", cases[0].name, NULL, "data/garden", 0, &metrics, &written, &error), &error);
    assert_sugar("sugar/results_density02_normal02.json", "sugar_03_1000000_15000", 20);
    assert_true(file_contains("sugar/results_density02_normal02.json", "\"lpips\": 0.25"));
    write_text("sugar/results_density02_normal02.json", "[]");
    assert_int_equal(splat_sugar_results_write("sugar", cases[0].name, NULL, "x", 0, &metrics, &written, &error),
                     SPLAT_ERROR_FORMAT);
    assert_false(written);
}

#define SUGAR "3Dgs7000_densityestim02_sdfnorm02_level03_decim1000"

static void the_command_writes_sugars_file(void **state)
{
    splat_error error;
    (void)state;
    write_ball("sugarmesh_" SUGAR ".ply", 0.7);
    RUN_OUT(0, "covered", "eval", "--mesh", "sugarmesh_" SUGAR ".ply", "-m", "model", "-s", SCENE, "--eval",
            "--supersampling", "1", "--enable_lpips", "False");
    assert_sugar("model/results_density02_normal02.json", "sugar_03_1000_0", evaluate("ball.ply").all.psnr);
    must(splat_folder_delete("sugarfine_" SUGAR, &error), &error);
    must(splat_folder_create("sugarfine_" SUGAR "/point_cloud/iteration_70", &error), &error);
    write_text("sugarfine_" SUGAR "/point_cloud/iteration_70/point_cloud.ply", "never read");
    RUN_OUT(0, "covered", "eval", "--mesh", "ball.ply", "-m", "sugarfine_" SUGAR "/", "-s", SCENE, "--eval",
            "--supersampling", "1", "--enable_lpips", "False");
    assert_sugar("sugarfine_" SUGAR "/results_density02_normal02.json", "sugar_03_1000_70",
                 evaluate("ball.ply").all.psnr);
}

/* A few large Gaussians whose colour depends on where they are seen from. */
static void write_splat(const char *path)
{
    splat_cloud cloud;
    splat_save_options options;
    splat_save_options_init(&options);
    splat_error error;
    must(splat_cloud_make(&cloud, 30, 2, false, &error), &error);
    for (size_t i = 0; i < 30; i++) {
        for (size_t k = 0; k < 3; k++) {
            cloud.means[3 * i + k] = (float)(i * (k + 2) % 7) / 7 - 0.5f;
            cloud.scales[3 * i + k] = -1.5f;
            cloud.sh_dc[3 * i + k] = (float)(i * (k + 1) % 5) / 5;
        }
        cloud.rotations[4 * i] = 1;
        cloud.opacities[i] = 1;
        for (size_t k = 0; k < 24; k++) cloud.sh_rest[24 * i + k] = (float)(i * (k + 3) % 11) / 11 - 0.5f;
    }
    must(splat_folder_create_for(path, &error), &error);
    must(splat_cloud_write(path, &cloud, &options, &error), &error);
    splat_cloud_free(&cloud);
}

static void diffuse_colours_are_those_of_degree_zero(void **state)
{
    splat_error error;
    splat_model *model;
    splat_metrics full, diffuse;
    json_t *root;
    const char *folder = "sugarfine_" SUGAR, *path = "sugarfine_" SUGAR "/point_cloud/iteration_70/point_cloud.ply";
    (void)state;
    write_splat(path);
    RUN_OUT(0, "PSNR", "eval", "-m", folder, "-s", SCENE, "--eval", "--enable_lpips", "False");
    RUN_OUT(0, "PSNR", "eval", "-m", folder, "-s", SCENE, "--eval", "--enable_lpips", "False", "--diffuse_only");
    must(splat_model_load(context, path, &model, &error), &error);
    must(evaluate_set(model, scene, SPLAT_VIEWS_TEST, true, &full, &error), &error);
    must(splat_model_reduce_sh(model, 0, &error), &error);
    must(evaluate_set(model, scene, SPLAT_VIEWS_TEST, true, &diffuse, &error), &error);
    splat_model_destroy(model);
    assert_true(fabs(full.psnr - diffuse.psnr) > 0.01);
    must(splat_json_read("sugarfine_" SUGAR "/results.json", &root, &error), &error);
    assert_true(fabs(number_in(root, "ours_70", "PSNR") - full.psnr) < 1e-9);
    assert_true(fabs(number_in(root, "ours_70_diffuseonly", "PSNR") - diffuse.psnr) < 1e-9);
    json_decref(root);
    assert_sugar("sugarfine_" SUGAR "/results_density02_normal02.json", "sugar_03_1000_70", full.psnr);
    assert_sugar("sugarfine_" SUGAR "/results_density02_normal02_diffuseonly.json", "sugar_03_1000_70", diffuse.psnr);
}

/* ---------------------------------------------------------------- contact sheets */

enum { GAP = 6, LINE = 13 + 4, /* the font has 13 rows */ ZOOM = 240 / (WIDTH > HEIGHT ? WIDTH : HEIGHT) };

/* The pixel of a sheet that shows x, y of a picture: the upper left one of ZOOM x ZOOM, which are the same. */
static const uint8_t *sheet_pixel(const splat_image *sheet, int column, int x, int y)
{
    const int left = GAP + column * (ZOOM * WIDTH + GAP) + ZOOM * x, top = GAP + LINE + ZOOM * y;
    const uint8_t *first = sheet->pixels + 3 * (top * sheet->width + left);
    for (int i = 0; i < ZOOM * ZOOM; i++)
        assert_memory_equal(first, first + 3 * (i / ZOOM * sheet->width + i % ZOOM), 3);
    return first;
}

/* Checks that a cell of a sheet of one row is this picture, [HEIGHT][WIDTH][3]. */
static void assert_cell(const splat_image *sheet, int column, const uint8_t *picture)
{
    for (int i = 0; i < PIXELS; i++)
        assert_memory_equal(sheet_pixel(sheet, column, i % WIDTH, i / WIDTH), picture + 3 * i, 3);
}

static void a_sheet_shows_photo_mesh_and_splat(void **state)
{
    splat_error error;
    splat_image sheet, mesh;
    splat_view_info view = {0};
    static uint8_t photo[3 * PIXELS], errors[3 * PIXELS];
    size_t n_tests = 0;
    (void)state;
    RUN_OUT(0, "sheet.png", "contact-sheet", "--mesh", "ball.ply", "-s", SCENE, "-o", "sheet.png", "--views", "1",
            "--supersampling", "1");
    must(splat_image_read("sheet.png", &sheet, &error), &error);
    must(splat_image_read("drawn/test/mesh_ball/color/00001.png", &mesh, &error), &error); /* the middle one of three */
    assert_true(ZOOM > 1); /* a small view is enlarged */
    assert_int_equal(sheet.width, GAP + 3 * (ZOOM * WIDTH + GAP));
    assert_int_equal(sheet.height, GAP + LINE + ZOOM * HEIGHT + LINE + GAP);
    for (size_t v = 0; n_tests < 2; v++) {
        must(splat_scene_get_view(scene, v, &view, &error), &error);
        must(splat_scene_read_photo(scene, v, photo, &error), &error);
        n_tests += view.is_test;
    }
    for (size_t i = 0; i < 3 * PIXELS; i++) {
        int difference = photo[i] - mesh.pixels[i];
        errors[i] = sheet_pixel(&sheet, 2, (int)(i / 3 % WIDTH), (int)(i / 3 / WIDTH))[i % 3];
        /* the mesh itself is not rounded to bytes */
        assert_true(abs(errors[i] - (abs(difference) > 63 ? 255 : 4 * abs(difference))) <= 3);
    }
    assert_cell(&sheet, 0, photo);
    assert_cell(&sheet, 1, mesh.pixels);
    splat_image_free(&sheet);

    write_splat("model/point_cloud/iteration_3/point_cloud.ply");
    RUN_OUT(0, "both.png", "contact-sheet", "--mesh", "ball.ply", "-m", "model", "-s", SCENE, "--eval", "-o",
            "both.png", "--views", "1", "--supersampling", "1");
    RUN_OUT(0, "pictures", "render", "-m", "model", "-s", SCENE, "--eval", "--skip_train");
    splat_image_free(&mesh);
    must(splat_image_read("both.png", &sheet, &error), &error);
    must(splat_image_read("model/test/ours_3/test_preds_-1/00001.png", &mesh, &error), &error);
    assert_cell(&sheet, 0, photo);
    assert_cell(&sheet, 2, mesh.pixels);
    splat_image_free(&sheet);
    splat_image_free(&mesh);
    RUN_OUT(0, "both.JPG", "contact-sheet", "--mesh", "ball.ply", "-m", "model", "-s", SCENE, "--eval", "-o",
            "both.JPG", "--views", "1", "--supersampling", "1");
    uint8_t *data;
    size_t size, worst = 0;
    must(splat_image_read("both.png", &sheet, &error), &error);
    must(splat_image_read("both.JPG", &mesh, &error), &error);
    must(splat_file_read("both.JPG", &data, &size, &error), &error);
    assert_true(size > 3 && data[0] == 0xFF && data[1] == 0xD8 && mesh.width == sheet.width);
    for (size_t i = 0; i < 3 * (size_t)sheet.width * (size_t)sheet.height; i++)
        worst += (size_t)abs(sheet.pixels[i] - mesh.pixels[i]);
    assert_true(worst < 5 * 3 * (size_t)sheet.width * (size_t)sheet.height); /* 5 of 255 on average */
    free(data);
    splat_image_free(&sheet);
    splat_image_free(&mesh);
    RUN_ERR(2, "--supersampling needs --mesh", "contact-sheet", "-m", "model", "-o", "x.png", "--supersampling", "2");
    RUN_ERR(1, "No such file", "contact-sheet", "--mesh", "absent.ply", "-s", SCENE, "-o", "x.png");
    assert_false(exists("x.png"));
}

static void the_command_tells_mistakes(void **state)
{
    (void)state;
    RUN_ERR(2, "--iteration goes without it", "eval", "--mesh", "ball.ply", "-s", SCENE, "--iteration", "3");
    RUN_ERR(2, "--texture_filter needs --mesh", "eval", "-m", "model", "--texture_filter", "nearest");
    RUN_ERR(2, "no test views", "eval", "--mesh", "ball.ply", "-s", SCENE, "--eval", "False");
    RUN_ERR(2, "one too many", "eval", "--mesh", "ball.ply", "-m", "model", "other");
    RUN_ERR(1, "No such file", "eval", "--mesh", "absent.glb", "-s", SCENE);
    write_text("points.obj", "v 0 0 0\nv 1 0 0\n");
    RUN_ERR(2, "no faces", "eval", "--mesh", "points.obj", "-s", SCENE);
}

static void random_views_show_the_mesh(void **state)
{
    splat_error error;
    splat_image picture;
    size_t n_bright = 0;
    (void)state;
    must(splat_folder_delete("novel", &error), &error);
    RUN_OUT(0, "3 pictures in novel/images", "render", "--mesh", "sky.ply", "-s", SCENE, "--random_views", "3", "-o",
            "novel");
    ASSERT_OK(splat_image_read("novel/images/000002.png", &picture, &error));
    for (size_t i = 0; i < 3 * PIXELS; i++) n_bright += picture.pixels[i] >= 60; /* the darkest colour of the ball */
    assert_int_equal(n_bright, 3 * PIXELS);
    assert_true(exists("novel/transforms.json") && exists("novel/sparse/0/images.bin"));
    splat_image_free(&picture);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(figures_are_those_of_the_pictures), /* makes the files of the others */
        cmocka_unit_test(colours_are_corrected_to_the_photos),
        cmocka_unit_test(masked_pixels_do_not_count),
        cmocka_unit_test(covered_is_all_where_the_mesh_fills_the_view),
        cmocka_unit_test(visitors_see_each_view_and_may_stop), cmocka_unit_test(the_command_writes_results),
        cmocka_unit_test(names_of_sugar_choose_the_file), cmocka_unit_test(the_command_writes_sugars_file),
        cmocka_unit_test(diffuse_colours_are_those_of_degree_zero),
        cmocka_unit_test(a_sheet_shows_photo_mesh_and_splat),
        cmocka_unit_test(the_command_tells_mistakes), cmocka_unit_test(random_views_show_the_mesh)};
    return cmocka_run_group_tests_name("meshes against photos", tests, open_scene_group, close_group);
}
