/* The sky behind a mesh: the cube of a GLB file, which readers leave out, and the background of pictures. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include "base/rng.h"
#include "io/picture/image_read.h"
#include "mesh/files/mesh_glb_sky.h"
#include "mesh/files/mesh_io.h"
#include "mesh/mesh_draw.h"
#include "mesh_fixture.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static float colors[SPLAT_DOME_NODES][3];

static double uniform(uint64_t i)
{
    return (double)splat_uniform(splat_random(5, SPLAT_STREAM_TEST, 1, i).x[0]);
}

/* Whole numbers of 255, which a picture holds exactly, smooth over directions. */
static splat_dome make_dome(float x, float y, float z, float radius)
{
    for (size_t i = 0; i < SPLAT_DOME_NODES; i++) {
        float d[3];
        splat_dome_node_direction(i, d);
        const float length = sqrtf(d[0] * d[0] + d[1] * d[1] + d[2] * d[2]);
        for (int k = 0; k < 3; k++) colors[i][k] = roundf(127 + 100 * d[k] / length) / 255;
    }
    return (splat_dome){.colors = colors[0], .center = {x, y, z}, .radius = radius};
}

/* The bilinear sample of the picture at texture coordinates. */
static void sample(const splat_image *image, const double uv[2], double rgb[3])
{
    double x = uv[0] * image->width - 0.5, y = uv[1] * image->height - 0.5;
    size_t i = (size_t)x, j = (size_t)y;
    x -= (double)i, y -= (double)j;
    for (size_t c = 0; c < 3; c++) {
        rgb[c] = 0;
        for (size_t k = 0; k < 4; k++) {
            size_t column = i + k % 2 < (size_t)image->width ? i + k % 2 : i;
            size_t row = j + k / 2 < (size_t)image->height ? j + k / 2 : j;
            double weight = (k % 2 ? x : 1 - x) * (k / 2 ? y : 1 - y);
            rgb[c] += weight * image->pixels[3 * (row * (size_t)image->width + column) + c] / 255;
        }
    }
}

/* Each place of the cube has the colour of its direction, and shows its front to the middle. */
static void the_cube_is_the_dome(void **state)
{
    (void)state;
    const splat_dome dome = make_dome(1, -2, 3, 0);
    splat_mesh mesh = {0};
    splat_glb_sky sky;
    splat_image image;
    splat_error error;
    float far[9] = {1, -2, 13, 1, -2, 3, 2, -2, 3};
    mesh.vertices = far;
    mesh.n_vertices = 3;
    ASSERT_OK(splat_glb_sky_make(&dome, &mesh, &sky, &error));
    ASSERT_OK(splat_image_decode("sky", sky.picture, sky.picture_size, &image, &error));
    assert_int_equal(image.width, 6 * 64);
    assert_int_equal(image.height, 64);
    double worst = 0;
    for (uint64_t n = 0; n < 2000; n++) {
        const uint32_t *corners = sky.indices + 3 * (n % 12);
        double a = uniform(2 * n), b = (1 - a) * uniform(2 * n + 1), weights[3] = {a, b, 1 - a - b};
        double at[3] = {0}, uv[2] = {0}, rgb[3];
        for (int k = 0; k < 3; k++) {
            for (int c = 0; c < 3; c++) at[c] += weights[k] * (double)sky.positions[corners[k]][c];
            for (int c = 0; c < 2; c++) uv[c] += weights[k] * (double)sky.uvs[corners[k]][c];
        }
        const float d[3] = {(float)at[0] - 1, (float)at[1] + 2, (float)at[2] - 3};
        float wanted[3];
        assert_true(fabsf(fmaxf(fmaxf(fabsf(d[0]), fabsf(d[1])), fabsf(d[2])) - 20) < 1e-3f);
        const splat_dome_place place = splat_dome_place_of(d);
        splat_dome_color(dome.colors, &place, wanted);
        sample(&image, uv, rgb);
        for (int c = 0; c < 3; c++) worst = fmax(worst, fabs(rgb[c] - (double)wanted[c]));
    }
    print_message("colours differ by %g at most\n", worst);
    assert_true(worst < 1e-4);
    for (size_t t = 0; t < 12; t++) {
        const float *p[3];
        float u[3], v[3], inwards = 0;
        for (int k = 0; k < 3; k++) p[k] = sky.positions[sky.indices[3 * t + (size_t)k]];
        for (int c = 0; c < 3; c++) u[c] = p[1][c] - p[0][c], v[c] = p[2][c] - p[0][c];
        for (int c = 0; c < 3; c++)
            inwards += (u[(c + 1) % 3] * v[(c + 2) % 3] - u[(c + 2) % 3] * v[(c + 1) % 3]) * (dome.center[c] - p[0][c]);
        assert_true(inwards > 0);
    }
    splat_image_free(&image);
    free(sky.picture);
}

/* With the sky the file has a node more; what is read is the mesh alone. */
static void readers_leave_the_sky_out(void **state)
{
    (void)state;
    splat_mesh mesh = {0}, read;
    splat_mesh_write_options options;
    splat_error error;
    float vertices[12] = {0, 0, 0, 1, 0, 0, 0, 1, 0, 0, 0, 1};
    uint32_t faces[6] = {0, 1, 2, 0, 1, 3};
    mesh.vertices = vertices;
    mesh.faces = faces;
    mesh.n_vertices = 4;
    mesh.n_faces = 2;
    splat_mesh_write_options_init(&options);
    assert_null(options.sky.colors);
    options.sky = make_dome(0, 0, 0, 0);
    for (int k = 0; k < 4; k++) {
        options.up[1] = k % 2 ? -1 : 0;
        options.is_lit = k / 2;
        ASSERT_OK(splat_mesh_write_as("sky.glb", &mesh, &options, &error));
        assert_int_equal(system("grep -aq '\"name\":\"sky\"' sky.glb && grep -aq KHR_materials_unlit sky.glb"), 0);
        ASSERT_OK(splat_mesh_read("sky.glb", &read, &error));
        assert_int_equal(read.n_vertices, 4);
        assert_int_equal(read.n_faces, 2);
        assert_memory_equal(read.vertices, vertices, sizeof vertices);
        splat_mesh_free(&read);
    }
}

/* A pixel without the mesh shows the dome in its direction; the mesh covers what it covered. */
static void pictures_show_the_sky(void **state)
{
    (void)state;
    enum { W = 40, H = 30, N = W * H };
    static float image[3 * N], coverage[N];
    splat_mesh mesh = {0};
    splat_mesh_draw_options options;
    splat_mesh_painter painter;
    splat_error error;
    float vertices[9] = {0, 0, 5, 1, 0, 5, 0, 1, 5};
    uint32_t faces[3] = {0, 1, 2};
    const float background[3] = {1, 0, 0};
    splat_camera camera = {.width = W, .height = H, .fx = 30, .fy = 30, .cx = W / 2.0f, .cy = H / 2.0f,
                           .rotation = {1, 0, 0, 0, 1, 0, 0, 0, 1}};
    mesh.vertices = vertices;
    mesh.faces = faces;
    mesh.n_vertices = 3;
    mesh.n_faces = 1;
    splat_mesh_draw_options_init(&options);
    ASSERT_OK(splat_mesh_painter_open(&painter, &mesh, &options, N, 2, &error));
    painter.dome = make_dome(0, 0, 0, 4);
    ASSERT_OK(splat_mesh_painter_draw(&painter, &camera, background, image, coverage, &error));
    size_t n_covered = 0, n_free = 0;
    for (size_t i = 0; i < N; i++) {
        const double x = ((double)(i % W) + 0.5 - W / 2.0) / 30, y = ((double)(i / W) + 0.5 - H / 2.0) / 30;
        const double length = sqrt(x * x + y * y + 1), d[3] = {x / length, y / length, 1 / length};
        n_covered += coverage[i] >= 1;
        if (coverage[i] > 0) continue;
        n_free++;
        for (size_t k = 0; k < 3; k++) /* rounded to 1/255, and a mean of four places within the pixel */
            assert_true(fabs((double)image[k * N + i] - (127 + 100 * d[k]) / 255) < 0.004);
    }
    assert_true(n_covered > 5 && n_free > N / 2);
    splat_mesh_painter_close(&painter);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(the_cube_is_the_dome),
                                       cmocka_unit_test(readers_leave_the_sky_out),
                                       cmocka_unit_test(pictures_show_the_sky)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
