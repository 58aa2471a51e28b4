/* MESHES_FOLDER=FOLDER make_meshes: colored.glb and textured.glb, a box in the middle of the built-in scene, for other
 * programs to read. Its six sides are charts of their own, three on each of two pages, with gutters; soft colours, and
 * squares that have edges. box.glb is the textured one, in metres, with (0.2, -0.9, 0.3) up, under a sky. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include "mesh/files/mesh_io.h"
#include "mesh_fixture.h"

#include <stdio.h>

enum { SIDES = 6, SQUARES = 4, CHART = 96, GUTTER = 16, CELL = CHART + 2 * GUTTER };

static const double middle[3] = {0, -0.6, 0}; /* where the cameras look */

/* The colour of side `side` at (s, t), which continue beyond 0 and 1 in gutters. */
static void color_at(int side, double s, double t, bool squares, uint8_t rgb[3])
{
    int square = squares && ((int)floor(s * 6 + 600) + (int)floor(t * 6 + 600)) % 2;
    for (int c = 0; c < 3; c++) {
        double wave = sin(1.7 * side + 2.1 * c + 3 * s) * cos(0.9 * side + 1.3 * c + 3 * t);
        rgb[c] = (uint8_t)(130 + 75 * wave + (square ? 45 : 0));
    }
}

static splat_image make_page(int first)
{
    splat_image page = {3 * CELL, CELL, 3, malloc(3 * (size_t)(3 * CELL) * CELL)};
    assert_non_null(page.pixels);
    for (int y = 0; y < CELL; y++)
        for (int x = 0; x < 3 * CELL; x++)
            color_at(first + x / CELL, (x % CELL + 0.5 - GUTTER) / CHART, (y + 0.5 - GUTTER) / CHART, true,
                     page.pixels + 3 * (y * 3 * CELL + x));
    return page;
}

/* Vertex i of make_cube: its side, and where on it. */
static int place_of(size_t vertex, double *s, double *t)
{
    size_t n = SQUARES + 1, on_side = vertex % (n * n);
    *s = (double)(on_side % n) / SQUARES;
    *t = (double)(on_side / n) / SQUARES;
    return (int)(vertex / (n * n));
}

/* A vertex of the unit cube, so turned that cameras see three sides. */
static void turn(float *p)
{
    static const double axes[3][3] = {{0.8, -0.36, 0.48}, {0, 0.8, 0.6}, {-0.6, -0.48, 0.64}};
    const double from[3] = {(double)p[0] - 0.5, (double)p[1] - 0.5, (double)p[2] - 0.5};
    for (int k = 0; k < 3; k++)
        p[k] = (float)(middle[k] + 1.6 * (axes[k][0] * from[0] + axes[k][1] * from[1] + axes[k][2] * from[2]));
}

static void put_texture(splat_mesh *mesh)
{
    splat_error error;
    ASSERT_OK(splat_mesh_require_uvs(mesh, &error));
    ASSERT_OK(splat_mesh_require_face_pages(mesh, &error));
    for (size_t i = 0; i < 3 * mesh->n_faces; i++) {
        double s, t;
        int side = place_of(mesh->faces[i], &s, &t);
        mesh->uvs[2 * i] = (float)((side % 3 * CELL + GUTTER + s * CHART) / (3.0 * CELL));
        mesh->uvs[2 * i + 1] = (float)((GUTTER + t * CHART) / CELL);
        mesh->face_pages[i / 3] = (uint8_t)(side / 3);
    }
    for (int k = 0; k < 2; k++) {
        splat_image page = make_page(3 * k);
        ASSERT_OK(splat_mesh_add_page(mesh, &page, &error));
    }
}

/* The colour of a direction d is (127 + 100 d) / 255. */
static splat_dome make_dome(void)
{
    static float colors[SPLAT_DOME_NODES][3];
    for (size_t i = 0; i < SPLAT_DOME_NODES; i++) {
        float d[3];
        splat_dome_node_direction(i, d);
        const float length = sqrtf(d[0] * d[0] + d[1] * d[1] + d[2] * d[2]);
        for (int k = 0; k < 3; k++) colors[i][k] = (127 + 100 * d[k] / length) / 255;
    }
    return (splat_dome){.colors = colors[0], .center = {1, 2, 3}, .radius = 5};
}

static void write_mesh(const char *folder, const char *name, bool textured, const splat_mesh_write_options *options)
{
    char path[4096];
    splat_error error;
    splat_mesh mesh = make_cube(SQUARES);
    if (!textured) ASSERT_OK(splat_mesh_require_colors(&mesh, &error));
    for (size_t i = 0; i < mesh.n_vertices; i++) {
        double s, t;
        int side = place_of(i, &s, &t);
        if (!textured) color_at(side, s, t, false, mesh.colors + 4 * i);
        turn(mesh.vertices + 3 * i);
    }
    if (textured) put_texture(&mesh);
    snprintf(path, sizeof path, "%s/%s", folder, name);
    ASSERT_OK(splat_mesh_write_as(path, &mesh, options, &error));
    splat_mesh_free(&mesh);
}

static const char *target;

static void make(void **state)
{
    (void)state;
    splat_mesh_write_options options;
    splat_mesh_write_options_init(&options);
    write_mesh(target, "colored.glb", false, &options);
    write_mesh(target, "textured.glb", true, &options);
    options = (splat_mesh_write_options){.up = {0.2f, -0.9f, 0.3f}, .is_metric = true, .sky = make_dome()};
    write_mesh(target, "box.glb", true, &options);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(make)};
    target = getenv("MESHES_FOLDER");
    if (!target) return 2;
    return cmocka_run_group_tests_name("meshes for other programs", tests, NULL, NULL);
}
