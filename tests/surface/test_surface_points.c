/* Surface points of a splat whose surface is known; and the splat as it is made ready for them. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include "model/transform.h"
#include "scene/scene.h"
#include "sphere_fixture.h"
#include "surface/extract/surface_collect.h"
#include "surface/extract/surface_gaussians.h"
#include "surface/extract/surface_points.h"

#include <string.h>

static splat_mesh_extract_options make_options(splat_mesh_point_source source)
{
    splat_mesh_extract_options o;
    splat_mesh_extract_options_init(&o);
    o.points = source;
    o.n_points = 4000;
    return o;
}

static splat_status collect(splat_context *context, const char *ply, const splat_mesh_extract_options *o,
                            splat_surface_points *points, splat_error *error)
{
    splat_scene *scene = open_scene(context);
    splat_model *model;
    size_t n_opaque;
    splat_free_space space;
    must(splat_model_load(context, ply, &model, error), error);
    splat_status status = splat_surface_points_collect(scene, model, o, points, &space, &n_opaque, error);
    splat_free_space_free(&space);
    splat_model_destroy(model);
    splat_scene_close(scene);
    return status;
}

/* Means over the points. */
typedef struct figures {
    double radius, off, cosine; /* distance from the centre, its distance from RADIUS; normal with the radius */
    double inward, red; /* parts */
} figures;

static figures measure(const splat_surface_points *points)
{
    figures f = {0};
    double n = (double)points->n;
    for (size_t i = 0; i < points->n; i++) {
        double radius = 0, dot = 0;
        for (size_t k = 0; k < 3; k++) {
            double d = (double)points->positions[3 * i + k] - center[k];
            radius += d * d;
            dot += d * (double)points->normals[3 * i + k];
        }
        radius = sqrt(radius);
        f.radius += radius / n;
        f.off += fabs(radius - RADIUS) / n;
        f.cosine += dot / radius / n;
        f.inward += (dot <= 0) / n;
        const uint8_t *color = points->colors + 4 * i;
        f.red += (color[0] > 200 && color[1] < 60 && color[3] == 255) / n;
    }
    return f;
}

/* The discs' planes stand out of the sphere by (3 * 0.026)^2 / 2 / 0.8 = 0.0037 at three deviations, where the sum of a
 * few still passes the level 0.1, and levels lie up to three deviations of 0.0007 before a disc. */
static void points_lie_on_the_sphere(void **state)
{
    (void)state;
    splat_context *context = open_cpu(2);
    double of_level[2] = {0, 0};
    write_sphere("sphere.ply", 6);
    for (int source = 0; source < 3; source++) {
        splat_mesh_extract_options o = make_options((splat_mesh_point_source)source);
        splat_surface_points points[SPLAT_MESH_LEVELS];
        splat_error error;
        o.levels[0] = 0.1f;
        o.levels[1] = 0.6f;
        o.n_levels = 2;
        must(collect(context, "sphere.ply", &o, points, &error), &error);
        for (size_t i = 0; i < splat_mesh_extract_count(&o); i++) {
            figures f = measure(&points[i]);
            print_message("source %d: %zu points, radius %.5f, %.5f off, normals %.4f, %.2f %% inward\n", source,
                          points[i].n, f.radius, f.off, f.cosine, 100 * f.inward);
            assert_true(f.off < (source == SPLAT_MESH_POINTS_DEPTH ? 0.01 : 0.006));
            assert_true(f.cosine > 0.97);
            assert_true(f.inward < 0.002);
            assert_true(f.red > 0.99);
            if (source == SPLAT_MESH_POINTS_LEVEL) assert_int_equal(points[i].n, o.n_points);
            if (source == SPLAT_MESH_POINTS_LEVEL) of_level[i] = f.radius;
            splat_surface_points_free(&points[i]);
        }
    }
    assert_true(of_level[0] > of_level[1] + 0.0002); /* the fainter level is outside */
    splat_context_destroy(context);
}

/* With more wanted than there are, every pixel is examined: four times as many at twice the size. */
static void pictures_are_scaled(void **state)
{
    (void)state;
    splat_context *context = open_cpu(2);
    size_t n[2];
    for (int i = 0; i < 2; i++) {
        splat_mesh_extract_options o = make_options(SPLAT_MESH_POINTS_LEVEL);
        splat_surface_points points;
        splat_error error;
        o.n_points = 1000000;
        o.resolution_factor = (float)(1 + i);
        must(collect(context, "sphere.ply", &o, &points, &error), &error);
        n[i] = points.n;
        assert_true(measure(&points).off < 0.004);
        splat_surface_points_free(&points);
    }
    print_message("%zu points, %zu at twice the size\n", n[0], n[1]);
    assert_true((double)n[1] > 3.8 * (double)n[0] && (double)n[1] < 4.2 * (double)n[0]);
    splat_context_destroy(context);
}

static void threads_do_not_change_a_point(void **state)
{
    (void)state;
    splat_surface_points points[2];
    for (int i = 0; i < 2; i++) {
        splat_context *context = open_cpu(1 + 2 * i);
        splat_mesh_extract_options o = make_options(SPLAT_MESH_POINTS_LEVEL);
        splat_error error;
        must(collect(context, "sphere.ply", &o, &points[i], &error), &error);
        splat_context_destroy(context);
    }
    assert_int_equal(points[0].n, points[1].n);
    assert_memory_equal(points[0].positions, points[1].positions, 12 * points[0].n);
    assert_memory_equal(points[0].normals, points[1].normals, 12 * points[0].n);
    assert_memory_equal(points[0].colors, points[1].colors, 4 * points[0].n);
    for (int i = 0; i < 2; i++) splat_surface_points_free(&points[i]);
}

static void bad_splats_are_told(void **state)
{
    (void)state;
    static const double elsewhere[3] = {0, 5000, 0};
    splat_context *context = open_cpu(2);
    splat_surface_points points;
    splat_error error;
    write_sphere("faint.ply", -1);
    write_discs("few.ply", 15, center, 6, 0);
    write_discs("elsewhere.ply", 100, elsewhere, 6, 0);
    for (int source = 0; source < 3; source += 2) {
        splat_mesh_extract_options o = make_options((splat_mesh_point_source)source);
        assert_int_equal(collect(context, "faint.ply", &o, &points, &error), SPLAT_ERROR_FORMAT);
        assert_non_null(strstr(error.message, "0 of the splat's 6000"));
        assert_int_equal(collect(context, "few.ply", &o, &points, &error), SPLAT_ERROR_FORMAT);
        assert_non_null(strstr(error.message, "15 of the splat's 15"));
        assert_int_equal(collect(context, "elsewhere.ply", &o, &points, &error), SPLAT_ERROR_NUMERIC);
        assert_non_null(strstr(error.message, "of this scene"));
    }
    splat_mesh_extract_options o = make_options(SPLAT_MESH_POINTS_LEVEL);
    write_discs("thin.ply", N_DISCS, center, 0.1f, 0.5f); /* the filter takes most of their opacity */
    assert_int_equal(collect(context, "thin.ply", &o, &points, &error), SPLAT_ERROR_NUMERIC);
    assert_non_null(strstr(error.message, "0.3"));
    splat_context_destroy(context);
}

/* ---------------------------------------------------------------- the 3D filter */

/* Rounding of scales, logits and exponentials in float: a picture's bytes would not change. */
static void a_fused_filter_renders_the_same(void **state)
{
    (void)state;
    enum { PIXELS = WIDTH * HEIGHT };
    static float pictures[2][3 * PIXELS], unfiltered[3 * PIXELS];
    const float background[3] = {0.1f, 0.2f, 0.3f};
    splat_context *context = open_cpu(2);
    splat_scene *scene = open_scene(context);
    const splat_camera *camera = &scene->dataset.views[scene->dataset.train[0]].camera;
    splat_model *model;
    splat_error error;
    double most = 0, filtered = 0;
    write_discs("filtered.ply", N_DISCS, center, 1, 0.5f);
    must(splat_model_load(context, "filtered.ply", &model, &error), &error);
    assert_true(model->has_filter_3d);
    for (int i = 0; i < 2; i++) {
        must(splat_model_render(model, camera, background, pictures[i], &error), &error);
        must(splat_model_fuse_filter(model, &error), &error);
        assert_false(model->has_filter_3d);
    }
    assert_int_equal(model->render_mode, SPLAT_RENDER_MIP);
    splat_model_destroy(model);
    write_discs("unfiltered.ply", N_DISCS, center, 1, 0);
    must(splat_model_load(context, "unfiltered.ply", &model, &error), &error);
    must(splat_model_render(model, camera, background, unfiltered, &error), &error);
    for (size_t i = 0; i < 3 * PIXELS; i++) {
        most = fmax(most, fabs((double)pictures[0][i] - (double)pictures[1][i]));
        filtered = fmax(filtered, fabs((double)pictures[0][i] - (double)unfiltered[i]));
    }
    print_message("fusing changes %.2g, the filter %.2g\n", most, filtered);
    assert_true(most < 1e-4);
    assert_true(filtered > 0.01); /* or the comparison says nothing */
    splat_model_destroy(model);
    close_training(context, scene, NULL);
}

/* Half of them are faint, one is not finite, and the rest lose most of their opacity to the filter. */
static void opaque_ones_are_copied(void **state)
{
    (void)state;
    enum { N = 70000 }; /* more than a piece */
    splat_context *context = open_cpu(2);
    splat_surface_gaussians opaque;
    splat_model *model;
    splat_error error;
    write_discs("many.ply", N, center, 0.1f, 0.5f);
    must(splat_model_load(context, "many.ply", &model, &error), &error);
    float *p = model->gaussians.p.means; /* device memory of the CPU */
    for (size_t i = 0; i < N; i += 2) model->gaussians.p.opacities[i] = -0.01f;
    p[3 * 65541 + 1] = NAN;
    must(splat_surface_gaussians_make(model, &opaque, &error), &error);
    assert_int_equal(opaque.g.n, N / 2 - 1);
    for (size_t i = 0; i < opaque.g.n; i++) {
        size_t from = opaque.index[i];
        float scale = model->gaussians.p.scales[3 * from], filter = model->gaussians.filter_3d[from];
        assert_int_equal(from, 2 * i + 1 + (2 * i + 1 >= 65541 ? 2 : 0));
        assert_memory_equal(opaque.g.p.means + 3 * i, p + 3 * from, 12);
        assert_memory_equal(opaque.g.p.rotations + 4 * i, model->gaussians.p.rotations + 4 * from, 16);
        assert_float_equal(opaque.g.p.scales[3 * i], 0.5f * logf(expf(2 * scale) + filter * filter), 1e-5f);
        assert_true(opaque.g.p.opacities[i] < -3);
    }
    splat_surface_gaussians_free(context->backend, &opaque);
    splat_model_destroy(model);
    splat_context_destroy(context);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(points_lie_on_the_sphere), cmocka_unit_test(pictures_are_scaled), /* reads sphere.ply */
        cmocka_unit_test(threads_do_not_change_a_point), cmocka_unit_test(bad_splats_are_told),
        cmocka_unit_test(a_fused_filter_renders_the_same), cmocka_unit_test(opaque_ones_are_copied),
    };
    return cmocka_run_group_tests_name("surface points", tests, NULL, NULL);
}
