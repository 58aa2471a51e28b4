/* Refinement: where it begins, what training makes of mesh and Gaussians, that a run that was stopped is the same run,
 * what is refused, and Gaussians that follow an edited mesh. The gradients are tested with their ops. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include "io/splat/formats.h"
#include "math/camera.h"
#include "mesh/mesh_raster.h"
#include "model/files.h"
#include "model/render.h"
#include "option_effects.h"
#include "refine_fixture.h"
#include "scene_fixture.h"
#include "surface/refine/refine.h"
#include "surface/refine/refine_save.h"
#include "train/schedule.h"
#include "train/train_options.h"
#include "view_job_fixture.h"

#include <math.h>

#define MESH "world.ply"

/* ---------------------------------------------------------------- beginning */

static splat_trainer *start_with(const tiny_place *p, const splat_train_options *o, const char *mesh)
{
    splat_error error;
    splat_refine_input input;
    splat_refine_input_init(&input);
    input.mesh_path = mesh;
    splat_trainer *t = tiny_trainer(p, o);
    must(splat_trainer_start_refine(t, &input, &error), &error);
    return t;
}

static splat_trainer *start(const tiny_place *p, const splat_train_options *o)
{
    make_world(MESH);
    return start_with(p, o, MESH);
}

/* ---------------------------------------------------------------- the options */

static void the_options(void **state)
{
    (void)state;
    splat_error error;
    splat_train_options o = short_options(15000);
    assert_int_equal(o.densify_until_iter, 0);
    assert_true(o.random_background);
    must(splat_train_options_check(&o, &error), &error);
    assert_int_equal(splat_schedule_sh_degree(&o, 1), 3); /* short runs need all bands as well */
    assert_int_equal(splat_schedule_sh_degree(&o, 15000), 3);
    assert_false(splat_schedule_filters_after(&o, 500));
    o.refine.gaussians_per_triangle = 2;
    assert_failure(splat_train_options_check(&o, &error), SPLAT_ERROR_ARGUMENT, &error, "1, 3, 4 or 6, not 2");
    o = short_options(100);
    o.densify_until_iter = 50;
    assert_failure(splat_train_options_check(&o, &error), SPLAT_ERROR_ARGUMENT, &error, "densify_until_iter");
    o = short_options(100);
    o.binding = NULL;
    assert_failure(splat_train_options_check(&o, &error), SPLAT_ERROR_ARGUMENT, &error, "init_refine");
}

static uint8_t *early_result(const tiny_place *p, const splat_train_options *o, size_t *size)
{
    splat_trainer *t = start(p, o);
    run_steps(t, 3);
    uint8_t *bytes = model_bytes(splat_trainer_get_model(t), "result.ply", size);
    splat_trainer_destroy(t);
    return bytes;
}

/* The lines of train_options.def whose effect is REFINE. */
static void every_option_does_what_its_line_says(void **state)
{
    (void)state;
    tiny_place p = open_tiny(2);
    splat_train_options usual = short_options(10);
    assert_int_equal(check_option_effects(&p, &usual, SPLAT_CHANGES_REFINE, early_result), 3);
    close_tiny(&p);
}

/* ---------------------------------------------------------------- training */

static float mean_alpha(const tiny_place *p, splat_model *model, const splat_mesh *mesh)
{
    const splat_dataset *dataset = &p->scene->dataset;
    splat_error error;
    splat_mesh_raster_options options;
    double sum = 0;
    size_t n_covered = 0;
    splat_mesh_raster_options_init(&options);
    for (size_t i = 0; i < dataset->n_train; i++) {
        const splat_camera *camera = &dataset->views[dataset->train[i]].camera;
        size_t n = splat_camera_pixels(camera);
        float *alpha = malloc(n * sizeof *alpha), *depth = malloc(n * sizeof *depth);
        uint32_t *faces = malloc(n * sizeof *faces);
        const float black[3] = {0, 0, 0};
        splat_mesh_raster_maps maps = {.faces = faces, .depth = depth};
        must(splat_mesh_rasterize(mesh, camera, &options, &maps, &error), &error);
        must(splat_model_rasterize(model, &model->frame, camera, black, false, &error), &error);
        memcpy(alpha, model->frame.transmittance, n * sizeof *alpha);
        for (size_t k = 0; k < n; k++) {
            sum += faces[k] ? 1 - (double)alpha[k] : 0;
            n_covered += faces[k] != 0;
        }
        free(alpha);
        free(depth);
        free(faces);
    }
    assert_true(n_covered > 1000);
    return (float)(sum / (double)n_covered);
}

/* PSNR rises well, the surface becomes opaque where the mesh is, and the mesh stays one. */
static void training_makes_a_textured_surface(void **state)
{
    (void)state;
    splat_error error;
    splat_loss losses[SPLAT_MAX_LOSSES];
    size_t n;
    tiny_place p = open_tiny(2);
    const int n_steps = tests_are_long() ? 1200 : 600;
    splat_train_options o = short_options(n_steps);
    splat_trainer *t = start(&p, &o);
    splat_model *model = splat_trainer_get_model(t);
    assert_int_equal(model->render_mode, SPLAT_RENDER_CLASSIC);
    double before = psnr_of(&p, model);
    must(splat_trainer_get_losses(t, losses, &n, &error), &error);
    assert_int_equal(n, 1);
    assert_true(isnan(losses[0].value));
    run_steps(t, n_steps);
    double after = psnr_of(&p, model);
    must(splat_trainer_get_losses(t, losses, &n, &error), &error);
    assert_string_equal(losses[0].label, "normal consistency");
    assert_true(losses[0].value > 0 && losses[0].value < 0.5);

    splat_mesh first, refined;
    must(splat_refine_save(t, ".", &error), &error);
    must(splat_mesh_read(MESH, &first, &error), &error);
    must(splat_mesh_read("mesh.ply", &refined, &error), &error);
    must(splat_mesh_check(&refined, &error), &error);
    assert_int_equal(refined.n_vertices, first.n_vertices);
    assert_memory_equal(refined.faces, first.faces, 3 * first.n_faces * sizeof *first.faces);
    assert_true(memcmp(refined.vertices, first.vertices, 3 * first.n_vertices * sizeof *first.vertices) != 0);
    float alpha = mean_alpha(&p, model, &refined);
    print_message("PSNR %.2f -> %.2f dB, mean alpha %.5f\n", before, after, (double)alpha);
    assert_true(after > before + (tests_are_long() ? 10 : 9) && after > (tests_are_long() ? 21 : 20));
    assert_true(alpha > (tests_are_long() ? 0.995f : 0.98f));
    assert_non_null(refined.colors);
    splat_mesh_free(&first);
    splat_mesh_free(&refined);
    splat_trainer_destroy(t);
    close_tiny(&p);
}

/* Any number of threads, and parts, make the same bytes. */
static void a_resumed_run_is_the_same_run(void **state)
{
    (void)state;
    splat_error error;
    splat_train_options o = short_options(20);
    o.refine.gaussians_per_triangle = 3;
    for (int threads = 1; threads <= 3; threads += 2) {
        tiny_place p = open_tiny(threads);
        splat_trainer *t = start(&p, &o);
        run_steps(t, 20);
        save_as(t, threads == 1 ? "whole.splatsmith" : "other.splatsmith", threads == 1 ? "whole.ply" : "other.ply");
        must(splat_folder_create("whole", &error), &error);
        if (threads == 1) must(splat_refine_save(t, "whole", &error), &error);
        splat_trainer_destroy(t);
        close_tiny(&p);
    }
    assert_true(same_checkpoints("whole.splatsmith", "other.splatsmith"));
    assert_true(same_files("whole.ply", "other.ply"));
    tiny_place p = open_tiny(2);
    splat_trainer *t = start(&p, &o);
    run_steps(t, 10);
    must(splat_trainer_save_checkpoint(t, "part.splatsmith", &error), &error);
    splat_trainer_destroy(t);
    t = tiny_trainer(&p, &o); /* the checkpoint is all it needs */
    must(splat_trainer_load_checkpoint(t, "part.splatsmith", &error), &error);
    assert_int_equal(t->model->render_mode, SPLAT_RENDER_CLASSIC);
    run_steps(t, 10);
    save_as(t, "part.splatsmith", "part.ply");
    must(splat_folder_create("part", &error), &error);
    must(splat_refine_save(t, "part", &error), &error);
    assert_parts_are_the_whole();
    assert_true(same_files("whole/mesh.ply", "part/mesh.ply"));
    splat_trainer_destroy(t);
    o.refine.gaussians_per_triangle = 1;
    t = tiny_trainer(&p, &o);
    assert_failure(splat_trainer_load_checkpoint(t, "part.splatsmith", &error), SPLAT_ERROR_ARGUMENT, &error,
                   "which is not `gaussians_per_triangle 1`");
    splat_trainer_destroy(t);
    close_tiny(&p);
}

/* Under a limit that fits, steps go on, and the plan tells what the named blocks hold. */
static void memory_is_planned(void **state)
{
    (void)state;
    splat_error error;
    splat_plan plan;
    splat_memory_info held;
    tiny_place p = open_tiny(2);
    splat_train_options o = short_options(20);
    splat_plan_options wanted = world_plan_options(MESH);
    splat_plan_init(&plan);
    must(splat_plan_make(p.context, p.scene, &o, &wanted, NULL, &plan, &error), &error);
    must(splat_context_set_memory_limit(p.context, plan.total_bytes, &error), &error);
    splat_trainer *t = start(&p, &o);
    run_steps(t, 5);
    splat_context_get_memory(p.context, &held);
    print_message("planned %zu, held at most %zu\n", plan.total_bytes, held.peak_bytes);
    assert_int_equal(t->n_left_out, 0);
    assert_true(held.peak_bytes <= plan.total_bytes && 2 * held.peak_bytes > plan.total_bytes);
    assert_int_equal(t->moment_blocks[0].blocks[SPLAT_TENSOR_means].bytes, 0);
    assert_int_equal(t->bound.m[SPLAT_BOUND_vertices].bytes, 12 * wanted.n_vertices);
    splat_trainer_destroy(t);
    /* a million vertices, on a GPU, with everything: 3 GB */
    must(splat_context_set_memory_limit(p.context, 0, &error), &error);
    wanted.for_gpu = true;
    wanted.n_gaussians = 2000000;
    wanted.n_vertices = 1000000;
    must(splat_plan_make(p.context, p.scene, &o, &wanted, NULL, &plan, &error), &error);
    print_message("2 M Gaussians: %zu\n", plan.total_bytes);
    assert_true(plan.total_bytes < 3000000000u);
    close_tiny(&p);
}

/* ---------------------------------------------------------------- colours */

static void colors_come_from_the_mesh_or_a_splat(void **state)
{
    (void)state;
    splat_error error;
    splat_cloud cloud;
    tiny_place p = open_tiny(2);
    splat_train_options o = short_options(10);
    splat_trainer *t = start(&p, &o);
    assert_non_null(strstr(p.log->text, "begins grey"));
    for (uint32_t i = 0; i < 30; i++) assert_true(fabsf(t->model->gaussians.p.sh_dc[i]) < 0.01f);
    splat_trainer_destroy(t);

    must(splat_cloud_make(&cloud, 3, 1, false, &error), &error); /* red on the left, a faint green, blue on the right */
    for (int i = 0; i < 3; i++) {
        cloud.means[3 * i] = (float)(20 * (i - 1));
        cloud.opacities[i] = i == 1 ? -1 : 1;
        cloud.rotations[4 * i] = 1;
        for (int c = 0; c < 3; c++) cloud.sh_dc[3 * i + c] = c == i ? 1.6f : -1.6f;
        for (int k = 0; k < 9; k++) cloud.sh_rest[9 * i + k] = (float)(k + 1 - 10 * i) / 100;
    }
    splat_save_options options;
    splat_save_options_init(&options);
    must(splat_cloud_write("colors.ply", &cloud, &options, &error), &error);
    splat_cloud_free(&cloud);
    splat_refine_input input;
    splat_refine_input_init(&input);
    input.mesh_path = MESH;
    input.splat_path = "colors.ply";
    t = tiny_trainer(&p, &o);
    must(splat_trainer_start_refine(t, &input, &error), &error);
    const splat_gaussians *g = &t->model->gaussians;
    for (uint32_t i = 0; i < g->n; i++) {
        bool is_left = g->p.means[3 * i] < -2, is_right = g->p.means[3 * i] > 2;
        if (is_left) assert_true(g->p.sh_dc[3 * i] > 0.9f && g->p.sh_dc[3 * i + 2] < -0.9f);
        if (is_right) assert_true(g->p.sh_dc[3 * i] < -0.9f && g->p.sh_dc[3 * i + 2] > 0.9f);
        assert_true(g->p.sh_dc[3 * i + 1] < -0.9f);
    }
    assert_int_equal(g->active_sh_degree, 3);
    must(splat_model_make_cloud(t->model, g->n, &cloud, &error), &error);
    must(splat_model_download(t->model, &cloud, &error), &error);
    for (size_t i = 0; i < cloud.n; i++) { /* the bands of the nearest, and zeros above */
        const int from = cloud.means[3 * i] < 0 ? 0 : 2;
        const size_t channels = 45;
        if (fabsf(cloud.means[3 * i]) < 2) continue;
        for (size_t k = 0; k < channels; k++) {
            const float wanted = k < 9 ? (float)((int)k + 1 - 10 * from) / 100 : 0;
            assert_float_equal(cloud.sh_rest[channels * i + k], wanted, 1e-6f);
        }
    }
    splat_cloud_free(&cloud);
    splat_trainer_destroy(t);
    close_tiny(&p);
}

/* ---------------------------------------------------------------- Gaussians that stay free */

#define N_FREE 5

/* Opaque Gaussians in the air, and among them one in the ground, one faint one, one that no view contains, and one that
 * the ground hides. */
static void write_air(const char *path)
{
    splat_cloud cloud;
    splat_error error;
    splat_save_options options;
    splat_save_options_init(&options);
    must(splat_cloud_make(&cloud, N_FREE + 4, 1, false, &error), &error);
    for (size_t i = 0; i < cloud.n; i++) {
        const bool is_ground = i == 1, is_faint = i == 2, is_away = i == 3, is_hidden = i == 4;
        cloud.means[3 * i] = 0.3f * (float)i;
        cloud.means[3 * i + 1] = is_ground ? 0.001f : is_away ? -1000 : is_hidden ? 1 : -1.6f;
        for (size_t k = 0; k < 3; k++) cloud.scales[3 * i + k] = logf(0.06f);
        cloud.rotations[4 * i] = 1;
        cloud.opacities[i] = is_faint ? -4 : 3;
        cloud.sh_rest[9 * i] = 0.01f * (float)i;
    }
    must(splat_cloud_write(path, &cloud, &options, &error), &error);
    splat_cloud_free(&cloud);
}

/* least_x: of the box in which they may lie; 0: no box. */
static splat_trainer *start_with_air(const tiny_place *p, const splat_train_options *o, double least_x)
{
    splat_error error;
    splat_refine_input input;
    splat_trainer *t = tiny_trainer(p, o);
    splat_refine_input_init(&input);
    input.mesh_path = MESH;
    input.splat_path = "air.ply";
    input.keep_rest = true;
    input.has_bbox = least_x > 0;
    for (int k = 0; k < 3; k++) {
        input.bbox_low[k] = k ? -10 : least_x;
        input.bbox_high[k] = 10;
    }
    must(splat_trainer_start_refine(t, &input, &error), &error);
    return t;
}

/* They keep their places and shapes, in new colours; a resumed run has them, and they stay when the mesh is edited. */
static void what_the_mesh_lacks_stays_free(void **state)
{
    (void)state;
    splat_error error;
    splat_cloud air, trained, moved;
    splat_mesh mesh;
    tiny_place p = open_tiny(2);
    splat_train_options o = short_options(20);
    o.refine.gaussians_per_triangle = 3;
    write_air("air.ply");
    splat_trainer *t = start_with_air(&p, &o, 9);
    assert_non_null(strstr(p.log->text, "0 Gaussians of the splat stay free"));
    splat_trainer_destroy(t);
    t = start_with_air(&p, &o, 2); /* of 1.5, 1.8, 2.1 and 2.4 two */
    assert_non_null(strstr(p.log->text, "2 Gaussians of the splat stay free"));
    splat_trainer_destroy(t);
    t = start_with_air(&p, &o, 0);
    assert_non_null(strstr(p.log->text, "5 Gaussians of the splat stay free"));
    run_steps(t, 20);
    save_as(t, "whole.splatsmith", "whole.ply");
    must(splat_folder_create("whole", &error), &error);
    must(splat_refine_save(t, "whole", &error), &error);
    splat_trainer_destroy(t);
    t = start_with_air(&p, &o, 0);
    run_steps(t, 10);
    must(splat_trainer_save_checkpoint(t, "part.splatsmith", &error), &error);
    splat_trainer_destroy(t);
    t = tiny_trainer(&p, &o);
    must(splat_trainer_load_checkpoint(t, "part.splatsmith", &error), &error);
    run_steps(t, 10);
    save_as(t, "part.splatsmith", "part.ply");
    splat_trainer_destroy(t);
    assert_parts_are_the_whole();

    must(splat_cloud_read("air.ply", &air, &error), &error);
    must(splat_cloud_read("whole.ply", &trained, &error), &error);
    must(splat_mesh_read(MESH, &mesh, &error), &error);
    assert_int_equal(trained.n, 3 * mesh.n_faces + N_FREE);
    must(splat_refine_deform("whole.ply", "whole/mesh.ply", MESH, "moved.ply", NULL, &error), &error);
    must(splat_cloud_read("moved.ply", &moved, &error), &error);
    assert_int_equal(moved.n, trained.n);
    for (size_t i = 0, from = 0; i < N_FREE; i++, from += from == 0 ? 5 : 1) {
        const size_t at = 3 * mesh.n_faces + i;
        assert_memory_equal(trained.means + 3 * at, air.means + 3 * from, 3 * sizeof(float));
        assert_memory_equal(trained.scales + 3 * at, air.scales + 3 * from, 3 * sizeof(float));
        assert_memory_equal(moved.means + 3 * at, air.means + 3 * from, 3 * sizeof(float));
        assert_memory_equal(moved.scales + 3 * at, air.scales + 3 * from, 3 * sizeof(float));
        assert_true(trained.sh_dc[3 * at] != air.sh_dc[3 * from]);
        assert_true(trained.opacities[at] != air.opacities[from] && moved.opacities[at] == trained.opacities[at]);
        assert_float_equal(trained.sh_rest[45 * at], 0.01f * (float)from, 0.02f);
    }
    splat_mesh_free(&mesh);
    splat_cloud_free(&air);
    splat_cloud_free(&trained);
    splat_cloud_free(&moved);
    close_tiny(&p);
}

/* ---------------------------------------------------------------- what is refused */

static void refused(const tiny_place *p, const char *path, splat_status wanted, const char *words)
{
    splat_error error;
    splat_refine_input input;
    splat_train_options o = short_options(10);
    splat_refine_input_init(&input);
    input.mesh_path = path;
    splat_trainer *t = tiny_trainer(p, &o);
    assert_failure(splat_trainer_start_refine(t, &input, &error), wanted, &error, words);
    splat_trainer_destroy(t);
}

static void what_is_refused(void **state)
{
    (void)state;
    splat_error error;
    splat_mesh mesh = {0};
    splat_refine_info info;
    tiny_place p = open_tiny(2);
    make_world(MESH);
    fixture_text("empty.ply", "ply\nformat ascii 1.0\nelement vertex 0\nproperty float x\nproperty float y\n"
                              "property float z\nelement face 0\nproperty list uchar int vertex_indices\nend_header\n");
    refused(&p, "empty.ply", SPLAT_ERROR_FORMAT, "the mesh is empty");
    fixture_text("points.obj", "v 0 0 0\nv 1 0 0\nv 0 1 0\n");
    refused(&p, "points.obj", SPLAT_ERROR_FORMAT, "points but no triangles");
    fixture_text("nan.obj", "v 0 0 0\nv 1 nan 0\nv 0 1 0\nf 1 2 3\n");
    assert_true(splat_refine_describe("nan.obj", 1, &info, &error) != SPLAT_OK);
    refused(&p, "absent.ply", SPLAT_ERROR_IO, "");
    refused(&p, NULL, SPLAT_ERROR_ARGUMENT, "needs a mesh");
    assert_failure(splat_refine_describe(MESH, 5, &info, &error), SPLAT_ERROR_ARGUMENT, &error, "1, 3, 4 or 6, not 5");
    put_part(&mesh, make_sphere(8, 0.5), (double[]){1, 1, 1}, 0, (double[]){0, 5000, 0});
    must(splat_mesh_write("far.ply", &mesh, &error), &error);
    refused(&p, "far.ply", SPLAT_ERROR_FORMAT, "no training view of " TINY_SCENE " sees this mesh");
    splat_mesh_free(&mesh);
    put_part(&mesh, make_sphere(8, 0.15), (double[]){1, 1, 1}, 0, (double[]){0, -0.5, 0});
    must(splat_mesh_write("small.ply", &mesh, &error), &error);
    splat_mesh_free(&mesh);
    splat_train_options o = short_options(10);
    splat_trainer_destroy(start_with(&p, &o, "small.ply"));
    assert_non_null(strstr(p.log->text, "% of the training views of " TINY_SCENE));
    size_t device = p.context->backend->device_bytes;
    p.context->backend->device_bytes = 1 << 20;
    refused(&p, MESH, SPLAT_ERROR_MEMORY, "simplify the mesh");
    p.context->backend->device_bytes = device;

    splat_trainer *t = tiny_trainer(&p, &o); /* without a mesh */
    assert_failure(splat_trainer_step(t, NULL, &error), SPLAT_ERROR_ARGUMENT, &error, "begins with a mesh");
    splat_trainer_destroy(t);
    o = tiny_options(10);
    t = tiny_trainer(&p, &o);
    splat_refine_input input;
    splat_refine_input_init(&input);
    input.mesh_path = MESH;
    assert_failure(splat_trainer_start_refine(t, &input, &error), SPLAT_ERROR_ARGUMENT, &error, "without options");
    splat_trainer_destroy(t);
    close_tiny(&p);
}

/* A triangle that lost its area hides its Gaussian, in pictures as in files. */
static void degenerate_triangles_do_not_show(void **state)
{
    (void)state;
    splat_error error;
    splat_mesh mesh = make_sheet(2, NULL);
    splat_cloud cloud;
    tiny_place p = open_tiny(2);
    splat_train_options o = short_options(10);
    put_face(&mesh, 0, 0, 4);
    must(splat_mesh_write("degenerate.ply", &mesh, &error), &error);
    splat_trainer *t = start_with(&p, &o, "degenerate.ply");
    run_steps(t, 3);
    must(splat_model_save(t->model, "hidden.ply", NULL, &error), &error);
    must(splat_cloud_read("hidden.ply", &cloud, &error), &error);
    assert_int_equal(cloud.n, mesh.n_faces);
    for (size_t i = 0; i < cloud.n; i++)
        assert_true(i + 1 == cloud.n ? cloud.opacities[i] == SPLAT_HIDDEN_OPACITY : cloud.opacities[i] > -3);
    splat_cloud_free(&cloud);
    splat_mesh_free(&mesh);
    splat_trainer_destroy(t);
    close_tiny(&p);
}

/* ---------------------------------------------------------------- editing */

static double cylinder(double x, double y) /* of radius 1/2, over the sheet's x */
{
    (void)y;
    return 0.5 * cos(x - 0.5) - 0.5;
}

/* A sheet of coloured stripes and blobs, in the middle of the scene. */
static void write_sheet(const char *path, const double scale[3], double turn, bool bent)
{
    splat_error error;
    splat_mesh sheet = make_sheet(48, NULL), mesh = {0};
    must(splat_mesh_require_colors(&sheet, &error), &error);
    for (size_t v = 0; v < sheet.n_vertices; v++) {
        float *q = sheet.vertices + 3 * v;
        double x = (double)q[0], y = (double)q[1];
        for (size_t c = 0; c < 3; c++)
            sheet.colors[4 * v + c] = (uint8_t)(128 + 100 * sin(9 * x + 2 * (double)c) * cos(7 * y - (double)c));
        q[0] = (float)(bent ? sin(x - 0.5) * 0.9 : x - 0.5); /* length along the arc is kept, but for a tenth */
        q[2] = (float)(bent ? cylinder(x, y) : 0);
        q[1] -= 0.5f;
    }
    put_part(&mesh, sheet, scale, turn, (double[]){0, -0.6, 0});
    must(splat_mesh_write(path, &mesh, &error), &error);
    splat_mesh_free(&mesh);
}

/* Makes the refinement of a mesh, untrained but opaque, as a splat with wide Gaussians that leave no gaps. */
static void bind_sheet(const tiny_place *p, const char *mesh, const char *splat)
{
    splat_error error;
    splat_train_options o = short_options(10);
    splat_trainer *t = start_with(p, &o, mesh);
    float *scales = splat_refine_tensors(t).plane_scales;
    for (uint32_t i = 0; i < t->model->gaussians.n; i++) {
        t->model->gaussians.p.opacities[i] = 4;
        scales[2 * i] += 0.5f;
        scales[2 * i + 1] += 0.2f;
    }
    must(splat_refine_follow(t, &error), &error);
    must(splat_model_save(t->model, splat, NULL, &error), &error);
    splat_trainer_destroy(t);
}

/* Between the pictures that the training views show of two splats. */
static double psnr_between(const tiny_place *p, const char *a, const char *b)
{
    const splat_dataset *dataset = &p->scene->dataset;
    const float gray[3] = {0.5f, 0.5f, 0.5f};
    splat_model *models[2];
    splat_error error;
    double square = 0;
    size_t n_values = 0;
    must(splat_model_load(p->context, a, &models[0], &error), &error);
    must(splat_model_load(p->context, b, &models[1], &error), &error);
    for (size_t i = 0; i < dataset->n_train; i++) {
        splat_camera camera = dataset->views[dataset->train[i]].camera;
        size_t n = 3 * splat_camera_pixels(&camera);
        float *pictures[2];
        for (int k = 0; k < 2; k++) {
            pictures[k] = malloc(n * sizeof **pictures);
            must(splat_model_render(models[k], &camera, gray, pictures[k], &error), &error);
        }
        for (size_t j = 0; j < n; j++) {
            double d = (double)pictures[0][j] - (double)pictures[1][j];
            bool shows = fabs((double)pictures[1][j] - 0.5) > 1e-6; /* the sheet is a part of the picture only */
            square += shows ? d * d : 0;
            n_values += shows;
        }
        free(pictures[0]);
        free(pictures[1]);
    }
    splat_model_destroy(models[0]);
    splat_model_destroy(models[1]);
    assert_true(n_values > 3000);
    return 10 * log10((double)n_values / fmax(square, 1e-12));
}

/* Against Gaussians that were bound to the edited mesh to begin with: turned and twice as large there is no difference;
 * bent, there is little; and where the sheet is stretched, the Gaussians are, too. */
static void gaussians_follow_an_edited_mesh(void **state)
{
    (void)state;
    static const struct {
        const char *name;
        double scale[3], turn;
        bool bent;
        double psnr;
    } edits[] = {{"large", {3, 3, 3}, 0.7, false, 60}, {"bent", {1.5, 1.5, 1.5}, 0, true, 35},
                 {"long", {3, 1.5, 1.5}, 0, false, 0}};
    splat_error error;
    splat_cloud first, followed;
    tiny_place p = open_tiny(2);
    write_sheet("sheet.ply", (double[]){1.5, 1.5, 1.5}, 0, false);
    bind_sheet(&p, "sheet.ply", "sheet_splat.ply");
    for (size_t i = 0; i < sizeof edits / sizeof edits[0]; i++) {
        write_sheet("edited.ply", edits[i].scale, edits[i].turn, edits[i].bent);
        bind_sheet(&p, "edited.ply", "truth.ply");
        must(splat_refine_deform("sheet_splat.ply", "sheet.ply", "edited.ply", "followed.ply", NULL, &error), &error);
        double psnr = psnr_between(&p, "followed.ply", "truth.ply");
        double still = psnr_between(&p, "sheet_splat.ply", "truth.ply");
        print_message("%s: %.1f dB, not followed %.1f dB\n", edits[i].name, psnr, still);
        assert_true(psnr > edits[i].psnr && psnr > still + 6);
    }
    must(splat_cloud_read("sheet_splat.ply", &first, &error), &error);
    must(splat_cloud_read("followed.ply", &followed, &error), &error);
    assert_true(followed.render_mode == first.render_mode && followed.n == first.n);
    double grown = 0;
    for (size_t i = 0; i < first.n; i++) /* the area of each, by which the sheet grew */
        grown += exp((double)(followed.scales[3 * i + 1] + followed.scales[3 * i + 2] - first.scales[3 * i + 1] -
                              first.scales[3 * i + 2])) / (double)first.n;
    assert_true(fabs(grown - 2) < 1e-3);
    splat_cloud_free(&first);
    splat_cloud_free(&followed);
    close_tiny(&p);
}

static void what_an_edit_must_keep(void **state)
{
    (void)state;
    splat_error error;
    tiny_place p = open_tiny(2);
    splat_mesh other = make_sheet(47, NULL);
    write_sheet("sheet.ply", (double[]){1.5, 1.5, 1.5}, 0, false);
    bind_sheet(&p, "sheet.ply", "sheet_splat.ply");
    must(splat_mesh_write("other.ply", &other, &error), &error);
    assert_failure(splat_refine_deform("sheet_splat.ply", "sheet.ply", "other.ply", "no.ply", NULL, &error),
                   SPLAT_ERROR_FORMAT, &error, "without adding, removing or merging");
    assert_failure(splat_refine_deform("sheet_splat.ply", "other.ply", "sheet.ply", "no.ply", NULL, &error),
                   SPLAT_ERROR_FORMAT, &error, "no files of one refinement");
    assert_false(splat_path_exists("no.ply"));
    splat_mesh_free(&other);
    close_tiny(&p);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_options),
        cmocka_unit_test(every_option_does_what_its_line_says),
        cmocka_unit_test(training_makes_a_textured_surface),
        cmocka_unit_test(a_resumed_run_is_the_same_run),
        cmocka_unit_test(memory_is_planned),
        cmocka_unit_test(colors_come_from_the_mesh_or_a_splat),
        cmocka_unit_test(what_the_mesh_lacks_stays_free),
        cmocka_unit_test(what_is_refused),
        cmocka_unit_test(degenerate_triangles_do_not_show),
        cmocka_unit_test(gaussians_follow_an_edited_mesh),
        cmocka_unit_test(what_an_edit_must_keep),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
