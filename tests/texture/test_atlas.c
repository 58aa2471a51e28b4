/* Chart atlases and squares: charts lie side by side, are well used, and every texel finds its face. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <time.h>

#include <cmocka.h>

#include "extracted_fixture.h"
#include "mesh/mesh_simplify.h"
#include "texture/atlas.h"
#include "texture/squares.h"
#include "texture/texels.h"

static splat_atlas make_atlas(splat_mesh *mesh, const splat_atlas_options *options, const float *densities)
{
    splat_atlas atlas;
    splat_error error;
    ASSERT_OK(splat_atlas_charts(mesh, options, densities, &atlas, &error));
    ASSERT_OK(splat_mesh_check(mesh, &error));
    return atlas;
}

static splat_atlas_options options_of(double density, int texture_size)
{
    splat_atlas_options options;
    splat_atlas_options_init(&options);
    options.texel_density = density;
    options.texture_size = texture_size;
    options.threads = 2;
    return options;
}

/* ---------------------------------------------------------------- what must hold for every atlas */

static void corners_in_texels(const splat_mesh *mesh, const splat_atlas *atlas, size_t f, double corners[3][2])
{
    size_t page = mesh->face_pages ? mesh->face_pages[f] : 0;
    for (size_t k = 0; k < 3; k++) {
        corners[k][0] = (double)mesh->uvs[6 * f + 2 * k] * atlas->pages[page].width;
        corners[k][1] = (double)mesh->uvs[6 * f + 2 * k + 1] * atlas->pages[page].height;
    }
}

/* How far inside of the face a point lies, in texels: its distance to the nearest edge; below 0 outside. */
static double depth_inside(const double c[3][2], double x, double y)
{
    double area = (c[1][0] - c[0][0]) * (c[2][1] - c[0][1]) - (c[1][1] - c[0][1]) * (c[2][0] - c[0][0]), least = 1e9;
    if (area == 0) return -1;
    for (int k = 0; k < 3; k++) {
        const double *a = c[(k + 1) % 3], *b = c[(k + 2) % 3];
        double cross = (b[0] - a[0]) * (y - a[1]) - (b[1] - a[1]) * (x - a[0]);
        least = fmin(least, (area > 0 ? cross : -cross) / hypot(b[0] - a[0], b[1] - a[1]));
    }
    return least;
}

/* The number of each face's chart: joined where neighbours have the same coordinates along their edge. */
static uint32_t *find_charts(const splat_mesh *mesh, size_t *n_charts)
{
    splat_mesh_edges edges;
    splat_error error;
    ASSERT_OK(splat_mesh_edges_make(mesh, 1, &edges, &error));
    uint32_t *chart = malloc(mesh->n_faces * sizeof *chart);
    for (uint32_t f = 0; f < mesh->n_faces; f++) chart[f] = f;
    for (size_t v = 0; v < mesh->n_vertices; v++)
        for (size_t i = edges.starts[v], end; i < edges.starts[v + 1]; i = end) {
            end = splat_mesh_edges_run(&edges, i, edges.starts[v + 1]);
            if (end - i != 2) continue;
            size_t a = edges.uses[i].half_edge, b = edges.uses[i + 1].half_edge;
            size_t a2 = a % 3 == 2 ? a - 2 : a + 1, b2 = b % 3 == 2 ? b - 2 : b + 1;
            const float *uv = mesh->uvs;
            if (memcmp(uv + 2 * a, uv + 2 * b2, 8) || memcmp(uv + 2 * a2, uv + 2 * b, 8)) continue;
            if (mesh->face_pages && mesh->face_pages[a / 3] != mesh->face_pages[b / 3]) continue;
            uint32_t x = (uint32_t)(a / 3), y = (uint32_t)(b / 3);
            while (chart[x] != x) x = chart[x] = chart[chart[x]];
            while (chart[y] != y) y = chart[y] = chart[chart[y]];
            if (x < y) chart[y] = x;
            else chart[x] = y;
        }
    *n_charts = 0;
    for (uint32_t f = 0; f < mesh->n_faces; f++) {
        uint32_t root = f;
        while (chart[root] != root) root = chart[root];
        chart[f] = root;
        *n_charts += root == f;
    }
    splat_mesh_edges_free(&edges);
    return chart;
}

typedef struct maps {
    uint32_t *faces, *inside;
    float (*weights)[2];
} maps;

static maps make_maps(const splat_mesh *mesh, const splat_atlas *atlas, size_t page)
{
    splat_error error;
    splat_atlas_texels *texels;
    int width = atlas->pages[page].width, height = atlas->pages[page].height;
    size_t n = (size_t)width * (size_t)height;
    maps m = {malloc(4 * n), malloc(4 * n), malloc(8 * n)};
    ASSERT_OK(splat_atlas_texels_make(mesh, atlas, &texels, &error));
    ASSERT_OK(splat_atlas_texels_inside(texels, page, 0, height, 2, m.inside, m.weights, &error));
    ASSERT_OK(splat_atlas_texels_rows(texels, page, 0, height, 2, m.faces, m.weights, &error));
    splat_atlas_texels_free(texels);
    return m;
}

static void free_maps(maps *m)
{
    free(m->faces);
    free(m->inside);
    free(m->weights);
}

/* Counts, for each texel, the faces that hold its centre by more than rounding: one at most. What the iterator says of
 * inside texels is what that finds, and its weights lead back to the texel. */
static void check_texels(const splat_mesh *mesh, const splat_atlas *atlas, size_t page, const maps *m)
{
    int width = atlas->pages[page].width, height = atlas->pages[page].height;
    size_t n = (size_t)width * (size_t)height, n_inside = 0, n_missing = 0, n_double = 0, n_wrong = 0;
    uint8_t *counts = calloc(n, 1);
    uint32_t *owner = calloc(n, 4);
    for (size_t f = 0; f < mesh->n_faces; f++) {
        double c[3][2], low[2] = {1e9, 1e9}, high[2] = {0, 0};
        if (mesh->face_pages && mesh->face_pages[f] != page) continue;
        corners_in_texels(mesh, atlas, f, c);
        for (int k = 0; k < 3; k++)
            for (int a = 0; a < 2; a++) {
                low[a] = fmin(low[a], c[k][a]);
                high[a] = fmax(high[a], c[k][a]);
            }
        assert_true(low[0] >= 0 && low[1] >= 0 && high[0] <= width && high[1] <= height);
        for (int y = (int)low[1]; y <= (int)high[1] && y < height; y++)
            for (int x = (int)low[0]; x <= (int)high[0] && x < width; x++) {
                if (depth_inside((const double(*)[2])c, x + 0.5, y + 0.5) < 1 / 256.0) continue; /* of rounding */
                size_t at = (size_t)y * (size_t)width + (size_t)x;
                counts[at]++;
                owner[at] = (uint32_t)f + 1;
            }
    }
    for (size_t i = 0; i < n; i++) {
        n_double += counts[i] > 1;
        n_missing += counts[i] && !m->inside[i];
        n_wrong += counts[i] == 1 && m->inside[i] != owner[i];
        n_inside += m->inside[i] != 0;
        if (m->inside[i]) assert_int_equal(m->inside[i], m->faces[i]);
        if (!m->faces[i]) continue;
        double c[3][2], b0 = (double)m->weights[i][0], b1 = (double)m->weights[i][1], b2 = 1 - b0 - b1;
        assert_true(b0 >= 0 && b1 >= 0 && b2 > -1e-6);
        corners_in_texels(mesh, atlas, m->faces[i] - 1, c);
        double dx = b0 * c[0][0] + b1 * c[1][0] + b2 * c[2][0] - (double)(i % (size_t)width) - 0.5;
        double dy = b0 * c[0][1] + b1 * c[1][1] + b2 * c[2][1] - (double)(i / (size_t)width) - 0.5;
        if (m->inside[i]) assert_true(dx * dx + dy * dy < 0.02 * 0.02); /* corners are rounded to 1/256 texel */
        else assert_true(hypot(dx, dy) < (atlas->n_charts ? 2.2 * atlas->gutter + 2 : sqrt(2) + 0.02));
    }
    assert_int_equal(n_double, 0);
    assert_int_equal(n_missing, 0);
    assert_int_equal(n_wrong, 0);
    if (atlas->n_pages == 1) assert_float_equal((double)n_inside / (double)n, atlas->used, 0.01);
    free(counts);
    free(owner);
}

/* At points of faces, every texel that a bilinear lookup reads, on mip levels 0 to `levels` (texels of level 2 are
 * blocks of 4 x 4), holds texels of the face's own chart and of no other. */
static void check_lookups(const splat_mesh *mesh, const splat_atlas *atlas, const maps *m, int levels)
{
    size_t n_charts, n_foreign = 0, n_empty = 0;
    uint32_t *chart = find_charts(mesh, &n_charts);
    int width = atlas->pages[0].width, height = atlas->pages[0].height;
    assert_int_equal(n_charts, atlas->n_charts);
    for (size_t i = 0; i < 40000; i++) {
        splat_random4 r = splat_random(9, SPLAT_STREAM_TEST, 7, i);
        size_t f = r.x[0] % mesh->n_faces;
        double c[3][2], u = splat_uniform(r.x[1]), v = splat_uniform(r.x[2]), a[3];
        if (mesh->face_pages && mesh->face_pages[f] != 0) continue;
        if (i % 3 == 0) u = 1; /* on an edge */
        a[0] = 1 - sqrt(u), a[1] = sqrt(u) * (1 - v), a[2] = sqrt(u) * v;
        corners_in_texels(mesh, atlas, f, c);
        double x = a[0] * c[0][0] + a[1] * c[1][0] + a[2] * c[2][0];
        double y = a[0] * c[0][1] + a[1] * c[1][1] + a[2] * c[2][1];
        for (int level = 0; level <= levels; level++) {
            int side = 1 << level, bx = (int)floor(x / side - 0.5), by = (int)floor(y / side - 0.5);
            for (int k = 0; k < 4; k++) {
                size_t n_own = 0;
                double wx = x / side - 0.5 - bx, wy = y / side - 0.5 - by;
                if ((k % 2 ? wx : 1 - wx) * (k / 2 ? wy : 1 - wy) < 1e-3) continue;
                for (int py = (by + k / 2) * side; py < (by + k / 2 + 1) * side; py++)
                    for (int px = (bx + k % 2) * side; px < (bx + k % 2 + 1) * side; px++) {
                        if (px < 0 || py < 0 || px >= width || py >= height) continue;
                        uint32_t owner = m->faces[(size_t)py * (size_t)width + (size_t)px];
                        n_own += owner && chart[owner - 1] == chart[f];
                        n_foreign += owner && chart[owner - 1] != chart[f];
                    }
                n_empty += n_own == 0;
            }
        }
    }
    assert_int_equal(n_foreign, 0);
    assert_int_equal(n_empty, 0);
    free(chart);
}

static void check_atlas(const splat_mesh *mesh, const splat_atlas *atlas, int levels)
{
    maps m = make_maps(mesh, atlas, 0);
    check_texels(mesh, atlas, 0, &m);
    check_lookups(mesh, atlas, &m, levels);
    free_maps(&m);
}

/* ---------------------------------------------------------------- tests */

static void test_sphere(void **state)
{
    (void)state;
    splat_mesh sphere = make_sphere(60, 1.5);
    splat_atlas_options options = options_of(100, 0);
    splat_atlas atlas = make_atlas(&sphere, &options, NULL);
    print_message("sphere: %d x %d, %zu charts, %.1f %% used\n", atlas.pages[0].width, atlas.pages[0].height,
                  atlas.n_charts, 100 * atlas.used);
    assert_int_equal(atlas.n_pages, 1);
    assert_true(atlas.used > 0.55);
    assert_true(atlas.texel_density > 80 && atlas.texel_density <= 100); /* tilted faces have less */
    check_atlas(&sphere, &atlas, 2);
    for (int levels = 0; levels < 5; levels += 3) {
        options.mip_levels = levels;
        atlas = make_atlas(&sphere, &options, NULL);
        assert_int_equal(atlas.gutter, 1 << levels);
        check_atlas(&sphere, &atlas, levels);
    }
    splat_mesh_free(&sphere);
}

static void test_extracted(void **state)
{
    (void)state;
    splat_mesh mesh = make_extracted(20000, 0.03);
    splat_atlas_options options = options_of(1, 2048);
    splat_atlas atlas = make_atlas(&mesh, &options, NULL);
    print_message("extracted, %zu faces: %d x %d, %zu charts, %.1f %% used\n", mesh.n_faces, atlas.pages[0].width,
                  atlas.pages[0].height, atlas.n_charts, 100 * atlas.used);
    assert_true(atlas.n_pages == 1 && atlas.pages[0].width == 2048 && atlas.pages[0].height == 2048);
    check_atlas(&mesh, &atlas, 2);
    assert_true(atlas.used > 0.55);
    splat_mesh_free(&mesh);
}

/* The bands that are asked for and the number of threads show nowhere. */
static void test_bands(void **state)
{
    (void)state;
    splat_error error;
    splat_mesh mesh = make_extracted(4000, 0.08), copy;
    splat_atlas_options options = options_of(60, 0);
    options.max_texture = 256; /* several pages */
    ASSERT_OK(splat_mesh_copy(&mesh, &copy, &error));
    splat_atlas atlas = make_atlas(&mesh, &options, NULL), other;
    options.threads = 1;
    other = make_atlas(&copy, &options, NULL);
    assert_true(atlas.n_pages > 2);
    assert_memory_equal(&atlas, &other, sizeof atlas);
    assert_memory_equal(mesh.uvs, copy.uvs, 24 * mesh.n_faces);
    assert_memory_equal(mesh.face_pages, copy.face_pages, mesh.n_faces);
    splat_atlas_texels *texels;
    ASSERT_OK(splat_atlas_texels_make(&mesh, &atlas, &texels, &error));
    for (size_t page = 0; page < atlas.n_pages; page++) {
        maps m = make_maps(&mesh, &atlas, page);
        check_texels(&mesh, &atlas, page, &m);
        size_t width = (size_t)atlas.pages[page].width;
        uint32_t *faces = malloc(4 * 100 * width);
        float(*weights)[2] = malloc(8 * 100 * width);
        for (int row = 0, n = 1; row < atlas.pages[page].height; row += n, n = n * 5 % 97) {
            if (n > atlas.pages[page].height - row) n = atlas.pages[page].height - row;
            ASSERT_OK(splat_atlas_texels_rows(texels, page, row, n, 1 + n % 3, faces, weights, &error));
            assert_memory_equal(faces, m.faces + (size_t)row * width, 4 * (size_t)n * width);
            assert_memory_equal(weights, m.weights + (size_t)row * width, 8 * (size_t)n * width);
        }
        free(faces);
        free(weights);
        free_maps(&m);
    }
    uint32_t none[1];
    assert_int_equal(splat_atlas_texels_rows(texels, atlas.n_pages, 0, 1, 1, none, NULL, &error),
                     SPLAT_ERROR_ARGUMENT);
    assert_int_equal(splat_atlas_texels_rows(texels, 0, 10, 1000, 1, none, NULL, &error), SPLAT_ERROR_ARGUMENT);
    splat_atlas_texels_free(texels);
    splat_mesh_free(&mesh);
    splat_mesh_free(&copy);
}

/* Six squares, of which four fill a page: the others are found on the second. */
static void test_two_pages(void **state)
{
    (void)state;
    splat_mesh mesh = {0};
    for (size_t i = 0; i < 6; i++) {
        for (size_t k = 0; k < 4; k++)
            put_vertex(&mesh, 60.0 * (double)i + 50.0 * (double)(k % 2), 50.0 * (double)(k / 2), 0);
        put_face(&mesh, 4 * i, 4 * i + 1, 4 * i + 3);
        put_face(&mesh, 4 * i, 4 * i + 3, 4 * i + 2);
    }
    splat_atlas_options options = options_of(1, 0);
    options.max_texture = 128;
    splat_atlas atlas = make_atlas(&mesh, &options, NULL);
    assert_int_equal(atlas.n_pages, 2);
    check_atlas(&mesh, &atlas, 2);
    splat_mesh_free(&mesh);
}

/* A ramp that turns around an axis twice: its normals agree, and its projection lies on itself. */
static void test_spiral(void **state)
{
    (void)state;
    splat_mesh mesh = {0};
    for (size_t i = 0; i <= 160; i++) {
        double a = 4 * PI * (double)i / 160;
        put_vertex(&mesh, cos(a), sin(a), 0.1 * a);
        put_vertex(&mesh, 3 * cos(a), 3 * sin(a), 0.1 * a);
        if (i == 0) continue;
        put_face(&mesh, 2 * i - 2, 2 * i - 1, 2 * i + 1);
        put_face(&mesh, 2 * i - 2, 2 * i + 1, 2 * i);
    }
    splat_atlas_options options = options_of(40, 0);
    splat_atlas atlas = make_atlas(&mesh, &options, NULL);
    assert_true(atlas.n_charts >= 2 && atlas.n_charts < 6);
    check_atlas(&mesh, &atlas, 2);
    splat_mesh_free(&mesh);
}

/* A face without area lies on the edge of a square, and its number is the lowest. It gets no texel of the gutter. */
static void test_flat_face(void **state)
{
    (void)state;
    splat_mesh mesh = {0};
    for (size_t k = 0; k < 4; k++) put_vertex(&mesh, (double)(k % 2), (double)(k / 2), 0);
    put_vertex(&mesh, 0.5, 0, 0);
    put_face(&mesh, 0, 4, 1);
    put_face(&mesh, 0, 1, 3);
    put_face(&mesh, 0, 3, 2);
    splat_atlas_options options = options_of(30, 0);
    splat_atlas atlas = make_atlas(&mesh, &options, NULL);
    maps m = make_maps(&mesh, &atlas, 0);
    size_t n_of[4] = {0};
    for (size_t i = 0; i < (size_t)atlas.pages[0].width * (size_t)atlas.pages[0].height; i++) n_of[m.faces[i]]++;
    assert_int_equal(n_of[1], 0);
    assert_true(n_of[2] > 450 && n_of[3] > 450);
    check_texels(&mesh, &atlas, 0, &m);
    free_maps(&m);
    splat_mesh_free(&mesh);
}

static double texels_of_face(const splat_mesh *mesh, const splat_atlas *atlas, size_t f)
{
    double c[3][2];
    corners_in_texels(mesh, atlas, f, c);
    return 0.5 * fabs((c[1][0] - c[0][0]) * (c[2][1] - c[0][1]) - (c[1][1] - c[0][1]) * (c[2][0] - c[0][0]));
}

/* Asserts that faces have half of their texels and more, but for a share of the area: faces folded flat, and those that
 * rounding to 1/256 texel makes smaller. The flat ones own no texel. */
static void check_unfolded(const splat_mesh *mesh, const splat_atlas *atlas, double density)
{
    double area = 0, flat = 0, small = 0;
    uint8_t *is_flat = calloc(mesh->n_faces, 1);
    maps m = make_maps(mesh, atlas, 0);
    for (size_t f = 0; f < mesh->n_faces; f++) {
        double a = splat_mesh_face_area(mesh, f), texels = texels_of_face(mesh, atlas, f);
        area += a;
        is_flat[f] = texels < 1e-6;
        if (is_flat[f]) flat += a;
        else if (texels < 0.5 * a * density * density) small += a;
    }
    print_message("folded flat: %.2f %% of the area\n", 100 * flat / area);
    assert_true(flat < 0.02 * area);
    assert_true(small < 0.001 * area);
    for (size_t i = 0; i < (size_t)atlas->pages[0].width * (size_t)atlas->pages[0].height; i++)
        assert_false(m.faces[i] && is_flat[m.faces[i] - 1]);
    free_maps(&m);
    free(is_flat);
}

/* 39,600 faces of a third of a texel each, with sharp edges. A chart for each piece would use 11 % of the texels. */
static void test_small_pieces(void **state)
{
    (void)state;
    splat_mesh mesh = make_crumpled_sphere(100, 1);
    splat_atlas_options options = options_of(30, 0);
    splat_atlas atlas = make_atlas(&mesh, &options, NULL);
    print_message("small pieces: %d x %d, %zu charts, %.1f %% used\n", atlas.pages[0].width, atlas.pages[0].height,
                  atlas.n_charts, 100 * atlas.used);
    assert_true(atlas.used > 0.35);
    assert_true(atlas.texel_density >= 30 && atlas.texel_density < 30 * sqrt(2));
    check_unfolded(&mesh, &atlas, 30);
    check_atlas(&mesh, &atlas, 2);
    splat_mesh_free(&mesh);
}

/* A triangle as wide as the page next to small pieces, which raise the density: the triangle still fits, and the
 * sentence about a larger one leads to an atlas. */
static void test_small_pieces_and_a_large_face(void **state)
{
    (void)state;
    splat_error error;
    splat_mesh mesh = make_crumpled_sphere(100, 1);
    size_t n = mesh.n_vertices, large = mesh.n_faces;
    put_vertex(&mesh, 10, 0, 0);
    put_vertex(&mesh, 20, 0, 0);
    put_vertex(&mesh, 15, 2, 0);
    put_face(&mesh, n, n + 1, n + 2);
    splat_atlas_options options = options_of(12.5, 0);
    splat_atlas atlas = make_atlas(&mesh, &options, NULL);
    assert_true(texels_of_face(&mesh, &atlas, large) > 1.1 * 125 * 25 / 2);
    options.max_texture = 132;
    atlas = make_atlas(&mesh, &options, NULL);
    assert_float_equal(texels_of_face(&mesh, &atlas, large), 125 * 25 / 2, 1);
    options.texel_density = 20;
    assert_int_equal(splat_atlas_charts(&mesh, &options, NULL, &atlas, &error), SPLAT_ERROR_ARGUMENT);
    assert_non_null(strstr(error.message, "lower `texel_density` to"));
    options.texel_density = strtod(strstr(error.message, "lower `texel_density` to") + 25, NULL);
    assert_float_equal(options.texel_density, 12.8, 0.01);
    atlas = make_atlas(&mesh, &options, NULL);
    splat_mesh_free(&mesh);
}

/* Densities are followed within [1/4, 4] of their median; a face without one gets the least. */
static void test_densities(void **state)
{
    (void)state;
    splat_mesh mesh = {0};
    const float wanted[5] = {10, 20, 1000, 1, 0}, got[5] = {10, 20, 80, 5, 5}; /* known: 1, 10, 20, 1000: median 20 */
    float densities[5][2];
    for (size_t i = 0; i < 5; i++) {
        for (size_t k = 0; k < 4; k++)
            put_vertex(&mesh, 10.0 * (double)i + (double)(k % 2) * 2, (double)(k / 2) * 2, 0);
        put_face(&mesh, 4 * i, 4 * i + 1, 4 * i + 3);
        put_face(&mesh, 4 * i, 4 * i + 3, 4 * i + 2);
        densities[i][0] = densities[i][1] = wanted[i];
    }
    densities[4][1] = NAN;
    splat_atlas_options options = options_of(2, 0);
    splat_atlas atlas = make_atlas(&mesh, &options, densities[0]);
    for (size_t f = 0; f < mesh.n_faces; f++) {
        double c[3][2];
        corners_in_texels(&mesh, &atlas, f, c);
        double area = 0.5 * fabs((c[1][0] - c[0][0]) * (c[2][1] - c[0][1]) - (c[1][1] - c[0][1]) * (c[2][0] - c[0][0]));
        assert_float_equal(sqrt(area / 2), 2 * got[f / 2], 0.02);
    }
    check_atlas(&mesh, &atlas, 2);
    splat_mesh_free(&mesh);
}

/* Not mirrored: seen from outside, texel columns run to the right where rows run down. Faces as long as the page are
 * refused with the density that fits, and so are atlases of too many pages. */
static void test_refusals(void **state)
{
    (void)state;
    splat_error error;
    splat_atlas atlas;
    splat_mesh cube = make_cube(1), empty = {0};
    splat_atlas_options options = options_of(100, 0);
    atlas = make_atlas(&cube, &options, NULL);
    for (size_t f = 0; f < cube.n_faces; f++) {
        double c[3][2];
        corners_in_texels(&cube, &atlas, f, c);
        assert_true((c[1][0] - c[0][0]) * (c[2][1] - c[0][1]) - (c[1][1] - c[0][1]) * (c[2][0] - c[0][0]) < 0);
    }
    options.max_texture = 64;
    assert_int_equal(splat_atlas_charts(&cube, &options, NULL, &atlas, &error), SPLAT_ERROR_ARGUMENT);
    assert_non_null(strstr(error.message, "lower `texel_density` to"));
    assert_null(cube.uvs);
    options.texel_density = strtod(strstr(error.message, "lower `texel_density` to") + 25, NULL);
    assert_true(options.texel_density > 40 && options.texel_density < 70);
    make_atlas(&cube, &options, NULL);
    assert_int_equal(splat_atlas_charts(&empty, &options, NULL, &atlas, &error), SPLAT_ERROR_ARGUMENT);
    options.texel_density = 0;
    assert_int_equal(splat_atlas_charts(&cube, &options, NULL, &atlas, &error), SPLAT_ERROR_ARGUMENT);
    options = options_of(1, 63);
    assert_int_equal(splat_atlas_charts(&cube, &options, NULL, &atlas, &error), SPLAT_ERROR_ARGUMENT);
    splat_mesh_free(&cube);

    splat_mesh ball = make_sphere(40, 1); /* 6,240 faces on 8 x 8 blocks */
    options = options_of(1, 64);
    atlas = make_atlas(&ball, &options, NULL);
    assert_true(atlas.n_pages == 1 && atlas.pages[0].width == 64);
    check_atlas(&ball, &atlas, 2);
    options = options_of(400, 0);
    options.max_texture = 64;
    assert_int_equal(splat_atlas_charts(&ball, &options, NULL, &atlas, &error), SPLAT_ERROR_ARGUMENT);
    assert_non_null(strstr(error.message, "pages"));
    options.texel_density = strtod(strstr(error.message, "lower `texel_density` to") + 25, NULL);
    atlas = make_atlas(&ball, &options, NULL);
    assert_true(atlas.n_pages > 100);
    splat_mesh_free(&ball);
}

/* The published corners: pair k of faces in square (k / n, k % n), v upward. */
static void test_squares(void **state)
{
    (void)state;
    splat_error error;
    splat_atlas atlas;
    splat_mesh mesh = make_sphere(10, 1); /* 360 faces: 181 squares, 14 along */
    const int q = 10, side = 140, bottom[3][2] = {{8, 1}, {2, 1}, {8, 7}}, top[3][2] = {{1, 9}, {1, 3}, {7, 9}};
    ASSERT_OK(splat_atlas_squares(&mesh, q, 8192, &atlas, &error));
    assert_true(atlas.n_pages == 1 && atlas.pages[0].width == side && atlas.pages[0].height == side);
    assert_int_equal(mesh.n_faces, 360);
    for (size_t f = 0; f < mesh.n_faces; f++)
        for (size_t k = 0; k < 3; k++) {
            const int *corner = f % 2 ? top[k] : bottom[k];
            double u = ((double)(f / 2 / 14) * q + corner[0]) / side, v = ((double)(f / 2 % 14) * q + corner[1]) / side;
            assert_float_equal(mesh.uvs[6 * f + 2 * k], u, 1e-6);
            assert_float_equal(mesh.uvs[6 * f + 2 * k + 1], 1 - v, 1e-6);
        }
    assert_float_equal(atlas.used, 360 * 18.0 / (side * side), 1e-6);
    maps m = make_maps(&mesh, &atlas, 0);
    check_texels(&mesh, &atlas, 0, &m);
    free_maps(&m);

    ASSERT_OK(splat_atlas_squares(&mesh, q, 64, &atlas, &error)); /* 36 squares a page */
    assert_true(atlas.n_pages == 6 && atlas.pages[5].width == 60);
    assert_int_equal(mesh.face_pages[71], 0);
    assert_int_equal(mesh.face_pages[72], 1);
    ASSERT_OK(splat_mesh_check(&mesh, &error));
    for (size_t page = 0; page < 6; page++) {
        m = make_maps(&mesh, &atlas, page);
        check_texels(&mesh, &atlas, page, &m);
        free_maps(&m);
    }
    assert_int_equal(splat_atlas_squares(&mesh, 4, 8192, &atlas, &error), SPLAT_ERROR_ARGUMENT);
    splat_mesh large = make_sphere(60, 1); /* 14,160 faces: 7,081 squares */
    assert_int_equal(splat_atlas_squares(&large, 30, 64, &atlas, &error), SPLAT_ERROR_ARGUMENT);
    assert_non_null(strstr(error.message, "; 10 fits")); /* 36 a page; 11: 25 a page, 284 pages */
    ASSERT_OK(splat_atlas_squares(&large, 10, 64, &atlas, &error));
    splat_mesh_free(&large);
    splat_mesh_free(&mesh);
}

/* A million faces in long runs; a tenth of them, and of the time, in others. */
static void test_many(void **state)
{
    (void)state;
#ifdef SPLATSMITH_SANITIZED
    skip(); /* it would take minutes */
#endif
    const bool is_long = tests_are_long();
    splat_mesh mesh = make_extracted(100000, is_long ? 0.0118 : 0.0373);
    splat_atlas_options options = options_of(1, is_long ? 8192 : 2590);
    clock_t start = clock();
    splat_atlas atlas = make_atlas(&mesh, &options, NULL);
    double seconds = (double)(clock() - start) / CLOCKS_PER_SEC; /* of this process: machines that test are shared */
    print_message("%zu faces: %.1f s, %zu charts, %.1f %% used\n", mesh.n_faces, seconds, atlas.n_charts,
                  100 * atlas.used);
    assert_true(mesh.n_faces > (is_long ? 900000 : 90000) && atlas.used > 0.55);
    assert_true(seconds < (is_long ? 30 : 3));
    splat_mesh_free(&mesh);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_sphere),    cmocka_unit_test(test_extracted), cmocka_unit_test(test_bands),
        cmocka_unit_test(test_two_pages), cmocka_unit_test(test_spiral),    cmocka_unit_test(test_densities),
        cmocka_unit_test(test_refusals),
        cmocka_unit_test(test_squares),   cmocka_unit_test(test_many),   cmocka_unit_test(test_flat_face),
        cmocka_unit_test(test_small_pieces), cmocka_unit_test(test_small_pieces_and_a_large_face),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
