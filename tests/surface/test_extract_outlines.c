/* Outlines of a mesh go to those of the splat in the views that the mesh is made from, the same with any number of
 * threads. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include "base/context.h"
#include "mesh_fixture.h"
#include "model/model.h"
#include "scene/scene.h"
#include "scene_fixture.h"
#include "sphere_fixture.h"
#include "surface/extract/extract_outlines.h"
#include "surface/extract/free_space.h"

#include <string.h>

#define SIZE 0.02f /* about 1.25 pixels of the sphere */

/* The sphere around which the cameras stand. */
static splat_mesh make_ball(double radius)
{
    splat_mesh mesh = make_sphere(80, radius);
    for (size_t i = 0; i < mesh.n_vertices; i++)
        for (size_t k = 0; k < 3; k++) mesh.vertices[3 * i + k] += (float)center[k];
    return mesh;
}

/* The mean distance from the centre. */
static double mean_radius(const splat_mesh *mesh)
{
    double sum = 0;
    for (size_t i = 0; i < mesh->n_vertices; i++) {
        double d2 = 0;
        for (int k = 0; k < 3; k++) d2 += pow((double)mesh->vertices[3 * i + (size_t)k] - center[k], 2);
        sum += sqrt(d2);
    }
    return sum / (double)mesh->n_vertices;
}

static const splat_free_space nothing_known = {0}, no_view_used = {.knows_surface = true};

static splat_mesh follow(splat_scene *scene, splat_model *model, const splat_free_space *space, double radius,
                         int threads)
{
    splat_mesh_extract_options options;
    splat_error error;
    splat_mesh mesh = make_ball(radius);
    float *sizes = malloc(mesh.n_vertices * sizeof *sizes);
    for (size_t i = 0; i < mesh.n_vertices; i++) sizes[i] = SIZE;
    splat_mesh_extract_options_init(&options);
    const splat_extraction e = {.options = &options, .scene = scene, .model = model, .space = space,
                                .threads = threads};
    ASSERT_OK(splat_extract_outlines(&e, sizes, &mesh, &error));
    free(sizes);
    return mesh;
}

static void outlines_follow_the_splat(void **state)
{
    (void)state;
    static const double radii[] = {0.97 * RADIUS, RADIUS, 1.03 * RADIUS};
    splat_context *context = open_cpu(2);
    splat_scene *scene = open_scene(context);
    splat_model *model;
    splat_error error;
    double after[3];
    write_sphere("sphere.ply", 6);
    ASSERT_OK(splat_model_load(context, "sphere.ply", &model, &error));
    for (int i = 0; i < 3; i++) {
        splat_mesh one = follow(scene, model, &nothing_known, radii[i], 1);
        splat_mesh other = follow(scene, model, &nothing_known, radii[i], 3);
        assert_memory_equal(one.vertices, other.vertices, 3 * one.n_vertices * sizeof *one.vertices);
        after[i] = mean_radius(&one);
        print_message("radius %.4f: %.4f after it\n", radii[i], after[i]);
        splat_mesh_free(&one);
        splat_mesh_free(&other);
    }
    for (int i = 0; i < 3; i += 2) assert_true(fabs(after[i] - after[1]) < 0.5 * fabs(radii[i] - radii[1]));
    assert_true(fabs(after[1] - RADIUS) < 0.02); /* discs stand 0.01 off, half opaque farther out */
    splat_mesh still = follow(scene, model, &no_view_used, radii[0], 1);
    assert_true(fabs(mean_radius(&still) - radii[0]) < 1e-6);
    splat_mesh_free(&still);
    splat_model_destroy(model);
    splat_scene_close(scene);
    splat_context_destroy(context);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(outlines_follow_the_splat)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
