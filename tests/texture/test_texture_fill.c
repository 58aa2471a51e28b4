/* Gutters: nothing of another chart, or of what nobody painted, is seen on mip levels. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "extracted_fixture.h"
#include "io/picture/image_read.h"
#include "texture/atlas.h"
#include "texture/fill.h"
#include "texture/texels.h"

/* The mean of each block of 2 x 2. */
static splat_image halve(const splat_image *image)
{
    splat_image out = black_page(image->width / 2, image->height / 2);
    for (size_t y = 0; y < (size_t)out.height; y++)
        for (size_t x = 0; x < (size_t)out.width; x++)
            for (size_t c = 0; c < 3; c++) {
                unsigned sum = 2;
                for (size_t k = 0; k < 4; k++)
                    sum += image->pixels[3 * ((2 * y + k / 2) * (size_t)image->width + 2 * x + k % 2) + c];
                out.pixels[3 * (y * (size_t)out.width + x) + c] = (uint8_t)(sum / 4);
            }
    return out;
}

static double sample(const splat_image *image, double u, double v, size_t c)
{
    double x = u * image->width - 0.5, y = v * image->height - 0.5, sum = 0;
    for (int k = 0; k < 4; k++) {
        int px = (int)floor(x) + k % 2, py = (int)floor(y) + k / 2;
        double w = (k % 2 ? x - floor(x) : 1 - (x - floor(x))) * (k / 2 ? y - floor(y) : 1 - (y - floor(y)));
        px = px < 0 ? 0 : px >= image->width ? image->width - 1 : px;
        py = py < 0 ? 0 : py >= image->height ? image->height - 1 : py;
        sum += w * image->pixels[3 * ((size_t)py * (size_t)image->width + (size_t)px) + c];
    }
    return sum;
}

/* An atlas of two separate meshes, one painted red, the other blue, on black: no lookup on mip levels 0 to 2 sees
 * anything but the own colour, also where textures were filled. */
static void test_two_colors(void **state)
{
    (void)state;
    splat_error error;
    splat_atlas atlas;
    splat_atlas_options options;
    splat_atlas_texels *texels;
    splat_mesh mesh = make_extracted(8000, 0.06), sphere = make_sphere(50, 0.5);
    size_t n_red = mesh.n_faces;
    ASSERT_OK(splat_mesh_append(&mesh, &sphere, &error));
    splat_atlas_options_init(&options);
    options.texture_size = 512;
    ASSERT_OK(splat_atlas_charts(&mesh, &options, NULL, &atlas, &error));
    ASSERT_OK(splat_atlas_texels_make(&mesh, &atlas, &texels, &error));
    size_t n = 512 * 512;
    uint32_t *faces = malloc(4 * n);
    float(*weights)[2] = malloc(8 * n);
    uint8_t *valid = calloc(n, 1);
    splat_image levels[3] = {black_page(512, 512)};
    ASSERT_OK(splat_atlas_texels_rows(texels, 0, 0, 512, 2, faces, weights, &error));
    for (size_t i = 0; i < n; i++)
        if (faces[i]) levels[0].pixels[3 * i + (faces[i] > n_red ? 2 : 0)] = valid[i] = 255;
    ASSERT_OK(splat_texture_fill(&levels[0], valid, 2, &error));
    for (size_t i = 0; i < n; i++) /* what was painted stays, and black is nowhere */
        assert_true(faces[i] ? levels[0].pixels[3 * i + (faces[i] > n_red ? 2 : 0)] == 255
                             : levels[0].pixels[3 * i] + levels[0].pixels[3 * i + 2] > 200);
    for (int k = 1; k < 3; k++) levels[k] = halve(&levels[k - 1]);
    for (size_t i = 0; i < 100000; i++) {
        splat_random4 r = splat_random(4, SPLAT_STREAM_TEST, 0, i);
        size_t f = r.x[0] % mesh.n_faces;
        double a = splat_uniform(r.x[1]), b = splat_uniform(r.x[2]), u = 0, v = 0;
        if (a + b > 1) a = 1 - a, b = 1 - b;
        if (i % 2) a = 1 - b; /* on an edge */
        const double w[3] = {1 - a - b, a, b};
        for (size_t k = 0; k < 3; k++) {
            u += w[k] * (double)mesh.uvs[6 * f + 2 * k];
            v += w[k] * (double)mesh.uvs[6 * f + 2 * k + 1];
        }
        for (int k = 0; k < 3; k++) {
            assert_true(sample(&levels[k], u, v, f >= n_red ? 2 : 0) > 254.9);
            assert_true(sample(&levels[k], u, v, f >= n_red ? 0 : 2) < 0.1);
        }
    }
    for (int k = 0; k < 3; k++) splat_image_free(&levels[k]);
    splat_atlas_texels_free(texels);
    free(faces);
    free(weights);
    free(valid);
    splat_mesh_free(&mesh);
    splat_mesh_free(&sphere);
}

static void test_fill(void **state)
{
    (void)state;
    splat_error error;
    static const int sizes[5][2] = {{1, 1}, {7, 1}, {1, 9}, {13, 6}, {64, 33}};
    for (int i = 0; i < 5; i++) {
        splat_image page = black_page(sizes[i][0], sizes[i][1]), one = black_page(sizes[i][0], sizes[i][1]);
        size_t n = (size_t)page.width * (size_t)page.height;
        uint8_t *valid = calloc(n, 1);
        ASSERT_OK(splat_texture_fill(&page, valid, 2, &error));
        for (size_t k = 0; k < 3 * n; k++) assert_int_equal(page.pixels[k], 128); /* nothing is valid */
        valid[n / 2] = 1;
        memcpy(page.pixels + 3 * (n / 2), "\x0a\x14\x1e", 3);
        ASSERT_OK(splat_texture_fill(&page, valid, 2, &error));
        for (size_t k = 0; k < n; k++) assert_memory_equal(page.pixels + 3 * k, "\x0a\x14\x1e", 3);
        for (size_t k = 0; k < n; k++) { /* a ramp: what is filled lies between what is there */
            valid[k] = k % 3 == 0;
            one.pixels[3 * k] = page.pixels[3 * k] = valid[k] ? (uint8_t)(100 + 100 * k / n) : 0;
        }
        ASSERT_OK(splat_texture_fill(&page, valid, 2, &error));
        ASSERT_OK(splat_texture_fill(&one, valid, 1, &error));
        for (size_t k = 0; k < n; k++) {
            assert_in_range(page.pixels[3 * k], 100, 200);
            if (valid[k]) assert_int_equal(page.pixels[3 * k], 100 + 100 * k / n);
            assert_int_equal(page.pixels[3 * k], one.pixels[3 * k]);
        }
        splat_image_free(&page);
        splat_image_free(&one);
        free(valid);
    }
}

/* A hole has the mean of its block, to the nearest byte: none of them darkens the gutter. */
static void means_are_rounded_to_the_nearest(void **state)
{
    (void)state;
    static const struct { uint8_t valid[3], mean; } cases[] = {
        {{10, 10, 11}, 10}, {{10, 11, 11}, 11}, {{0, 0, 2}, 1}, {{255, 255, 254}, 255}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        splat_error error;
        splat_image page = black_page(2, 2);
        const uint8_t valid[4] = {1, 1, 1, 0};
        for (size_t k = 0; k < 3; k++) memset(page.pixels + 3 * k, cases[i].valid[k], 3);
        ASSERT_OK(splat_texture_fill(&page, valid, 1, &error));
        for (size_t c = 0; c < 3; c++) assert_int_equal(page.pixels[9 + c], cases[i].mean);
        splat_image_free(&page);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_two_colors), cmocka_unit_test(test_fill),
                                       cmocka_unit_test(means_are_rounded_to_the_nearest)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
