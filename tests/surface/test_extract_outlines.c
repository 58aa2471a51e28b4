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

#define SIZE 0.045f /* about 1.25 pixels of the sphere */

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

static void follow_with(splat_scene *scene, splat_model *model, const splat_free_space *space, float size, int threads,
                        splat_mesh *mesh)
{
    splat_mesh_extract_options options;
    splat_error error;
    float *sizes = malloc(mesh->n_vertices * sizeof *sizes);
    for (size_t i = 0; i < mesh->n_vertices; i++) sizes[i] = size;
    splat_mesh_extract_options_init(&options);
    const splat_extraction e = {.options = &options, .scene = scene, .model = model, .space = space,
                                .threads = threads};
    ASSERT_OK(splat_extract_outlines(&e, sizes, mesh, &error));
    free(sizes);
}

static splat_mesh follow(splat_scene *scene, splat_model *model, const splat_free_space *space, double radius,
                         int threads)
{
    splat_mesh mesh = make_ball(radius);
    follow_with(scene, model, space, SIZE, threads, &mesh);
    return mesh;
}

typedef struct work {
    splat_context *context;
    splat_scene *scene;
    splat_model *model;
} work;

static void open_work(const char *splat, work *w)
{
    splat_error error;
    w->context = open_cpu(2);
    w->scene = open_scene(w->context);
    ASSERT_OK(splat_model_load(w->context, splat, &w->model, &error));
}

static void close_work(work *w)
{
    splat_model_destroy(w->model);
    splat_scene_close(w->scene);
    splat_context_destroy(w->context);
}

static void outlines_follow_the_splat(void **state)
{
    (void)state;
    static const double radii[] = {0.97 * RADIUS, RADIUS, 1.03 * RADIUS};
    work w;
    double after[3];
    write_sphere("sphere.ply", 6);
    open_work("sphere.ply", &w);
    for (int i = 0; i < 3; i++) {
        splat_mesh one = follow(w.scene, w.model, &nothing_known, radii[i], 1);
        splat_mesh other = follow(w.scene, w.model, &nothing_known, radii[i], 3);
        assert_memory_equal(one.vertices, other.vertices, 3 * one.n_vertices * sizeof *one.vertices);
        after[i] = mean_radius(&one);
        print_message("radius %.4f: %.4f after it\n", radii[i], after[i]);
        splat_mesh_free(&one);
        splat_mesh_free(&other);
    }
    for (int i = 0; i < 3; i += 2) assert_true(fabs(after[i] - after[1]) < 0.5 * fabs(radii[i] - radii[1]));
    assert_true(fabs(after[1] - RADIUS) < 0.02); /* discs stand 0.01 off, half opaque farther out */
    splat_mesh still = follow(w.scene, w.model, &no_view_used, radii[0], 1);
    assert_true(fabs(mean_radius(&still) - radii[0]) < 1e-6);
    splat_mesh_free(&still);
    close_work(&w);
}

/* Views whose pixels are larger than the surface is fine move nothing. */
static void coarse_views_move_nothing(void **state)
{
    (void)state;
    work w;
    write_sphere("sphere.ply", 6);
    open_work("sphere.ply", &w);
    splat_mesh mesh = make_ball(0.97 * RADIUS);
    follow_with(w.scene, w.model, &nothing_known, 0.3f * SIZE, 2, &mesh);
    assert_true(fabs(mean_radius(&mesh) - 0.97 * RADIUS) < 1e-6);
    splat_mesh_free(&mesh);
    close_work(&w);
}

#define SIDE 60 /* discs, and quads of the mesh, along a side of the floor */
#define GAP 10  /* quads from the middle of the floor to the sides of its hole */
#define QUAD 0.04f

static float floor_place(int i)
{
    return QUAD * (float)(i - SIDE / 2);
}

#define FLOOR_Y 0.0 /* the cameras look down on it */

/* Discs on a floor. */
static void write_floor(const char *path)
{
    splat_error error;
    const size_t n = (size_t)SIDE * SIDE;
    splat_cloud g = {.n = n, .sh_degree = 0, .render_mode = SPLAT_RENDER_MIP};
    g.means = calloc(3 * n, sizeof(float));
    g.sh_dc = calloc(3 * n, sizeof(float));
    g.opacities = calloc(n, sizeof(float));
    g.scales = calloc(3 * n, sizeof(float));
    g.rotations = calloc(4 * n, sizeof(float));
    for (size_t i = 0; i < n; i++) {
        g.means[3 * i] = floor_place((int)(i % SIDE));
        g.means[3 * i + 1] = (float)FLOOR_Y;
        g.means[3 * i + 2] = floor_place((int)(i / SIDE));
        for (int k = 0; k < 3; k++) g.scales[3 * i + (size_t)k] = logf(k == 1 ? 0.001f : 0.7f * QUAD);
        g.opacities[i] = 6;
        g.rotations[4 * i] = 1;
    }
    must(splat_cloud_write(path, &g, NULL, &error), &error);
    splat_cloud_free(&g);
}

/* The same floor as a mesh, with a square hole in its middle. */
static splat_mesh make_holed_floor(void)
{
    splat_mesh mesh = {0};
    for (int j = 0; j < SIDE; j++)
        for (int i = 0; i < SIDE; i++) put_vertex(&mesh, (double)floor_place(i), FLOOR_Y, (double)floor_place(j));
    for (int j = 0; j + 1 < SIDE; j++)
        for (int i = 0; i + 1 < SIDE; i++) {
            const uint32_t v = (uint32_t)(j * SIDE + i);
            if (abs(i - SIDE / 2) < GAP && abs(j - SIDE / 2) < GAP) continue;
            put_face(&mesh, v, v + 1, v + SIDE);
            put_face(&mesh, v + 1, v + SIDE + 1, v + SIDE);
        }
    return mesh;
}

/* The splat goes on over the hole, so its rim is no outline. */
static void a_hole_does_not_lift_its_rim(void **state)
{
    (void)state;
    work w;
    write_floor("floor.ply");
    open_work("floor.ply", &w);
    splat_mesh mesh = make_holed_floor();
    follow_with(w.scene, w.model, &nothing_known, SIZE, 2, &mesh);
    double sum = 0, most = 0;
    size_t n = 0;
    for (int j = 0; j < SIDE; j++)
        for (int i = 0; i < SIDE; i++) {
            const double up = fabs((double)mesh.vertices[3 * (j * SIDE + i) + 1] - FLOOR_Y);
            if (abs(i - SIDE / 2) > GAP + 2 || abs(j - SIDE / 2) > GAP + 2) continue;
            sum += up;
            most = fmax(most, up);
            n++;
        }
    print_message("around the hole: %.4f, %.4f at most\n", sum / (double)n, most);
    assert_true(sum < 0.002 * (double)n && most < 0.01);
    splat_mesh_free(&mesh);
    close_work(&w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(outlines_follow_the_splat),
        cmocka_unit_test(coarse_views_move_nothing),
        cmocka_unit_test(a_hole_does_not_lift_its_rim),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
