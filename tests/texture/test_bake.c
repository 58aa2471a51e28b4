/* The parts of a bake on data made by hand: feathers, photos, candidates, outliers, levelling, labels. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include "base/rng.h"
#include "math/color.h"
#include "mesh_fixture.h"
#include "texture/bake_exposure.h"
#include "texture/bake_fill.h"
#include "texture/bake_labels.h"
#include "texture/bake_neighbors.h"
#include "texture/bake_outliers.h"
#include "texture/bake_parts.h"
#include "texture/bake_photo.h"
#include "texture/bake_quality.h"
#include "texture/bake_seams.h"
#include "texture/bake_view.h"

static void feathers_are_distances_to_the_nearest_edge(void **state)
{
    (void)state;
    enum { W = 41, H = 30, REACH = 7 };
    float depth[W * H];
    uint8_t distance[W * H], feather[W * H];
    bool edge[W * H];
    for (int i = 0; i < W * H; i++) depth[i] = i % W < 25 ? 2.0f : 2.1f; /* a step between columns 24 and 25 */
    depth[20 * W + 10] = 0;
    for (int y = 0; y < H; y++)
        for (int x = 0; x < W; x++)
            edge[y * W + x] = x == 0 || y == 0 || x == W - 1 || y == H - 1 || x == 24 || x == 25 ||
                              abs(x - 10) + abs(y - 20) <= 1;
    splat_bake_feather(depth, W, H, REACH, 2, distance, feather);
    for (int y = 0; y < H; y++)
        for (int x = 0; x < W; x++) {
            double best = REACH;
            for (int i = 0; i < W * H; i++)
                if (edge[i]) best = fmin(best, hypot(i % W - x, i / W - y));
            double t = best / REACH;
            assert_int_equal(feather[y * W + x], (int)(255 * t * t * (3 - 2 * t) + 0.5));
        }
}

static void sharpness_and_gradients_are_known(void **state)
{
    (void)state;
    float ramp[64], board[64], step[64];
    for (int i = 0; i < 64; i++) {
        ramp[i] = 0.01f * (float)(i % 8) + 0.03f * (float)(i / 8);
        board[i] = (float)((i + i / 8) % 2);
        step[i] = i % 8 < 4 ? 0 : 1;
    }
    assert_true(splat_bake_sharpness(ramp, 8, 8, 1) < 1e-12);
    assert_float_equal(splat_bake_sharpness(board, 8, 8, 2), 16, 1e-9); /* the Laplacian is 4 or -4 */
    assert_float_equal(splat_bake_gradient(step, 8, 8, 3, 4), 1, 1e-6);
    assert_float_equal(splat_bake_gradient(step, 8, 8, 1, 4), 0, 1e-6);
    assert_float_equal(splat_bake_gradient(ramp, 8, 8, 4, 4), 0.25 * 8 * hypot(0.01, 0.03), 1e-5);
    assert_float_equal(splat_bake_gradient(ramp, 8, 8, 0, 7), 0.25 * 8 * hypot(0.01, 0.03), 1e-5);
}

static void levels_of_a_pyramid_are_means(void **state)
{
    (void)state;
    uint8_t pixels[3 * 200] = {0};
    for (int i = 0; i < 9 * 5; i++)
        for (int c = 0; c < 3; c++) pixels[3 * i + c] = (uint8_t)(i % 9 * 10 + i / 9 + c);
    int n = splat_bake_pyramid(pixels, 9, 5, 2); /* 9x5, 4x2, 2x1, 1x1 */
    assert_int_equal(n, 4);
    const uint8_t *half = pixels + 3 * 45, *last = half + 3 * (8 + 2);
    for (int y = 0; y < 2; y++)
        for (int x = 0; x < 4; x++) {
            double mean = 20 * x + 5 + 2 * y + 0.5 + 1;
            assert_int_equal(half[3 * (y * 4 + x) + 1], (int)(mean + 0.5));
        }
    assert_in_range(last[0], 36, 38); /* (5 + 25 + 45 + 65) / 4 + 1.5, rounded up thrice */
    assert_int_equal(splat_texture_pyramid_pixels(9, 5, 4), 45 + 8 + 2 + 1);
}

static void tables_level_in_linear_light(void **state)
{
    (void)state;
    splat_bake_view view = {.gain = {1, 0.5f, 1.5f}};
    float table[3 * 256];
    splat_bake_table(&view, table);
    for (int i = 0; i < 256; i++) {
        assert_float_equal(table[i], i / 255.0, 1e-5);
        assert_float_equal(splat_srgb_decode((double)table[256 + i]), 0.5 * splat_srgb_decode(i / 255.0), 1e-5);
        double brighter = fmin(1.5 * splat_srgb_decode(i / 255.0), 1);
        assert_float_equal(splat_srgb_decode((double)table[512 + i]), brighter, 1e-5);
    }
}

/* Pixels outside of the mesh, and pixels of a surface behind, are not blurred into the surface in front. */
static void the_low_band_stays_on_the_mesh(void **state)
{
    (void)state;
    enum { W = 64, H = 48, LOW_W = W / 4, LOW_H = H / 4 };
    static uint8_t pixels[3 * W * H * 2];
    static float depth[W * H], low[3 * LOW_W * LOW_H];
    splat_bake_view view = {.gain = {1, 1, 1}};
    float table[3 * 256];
    for (int i = 0; i < W * H; i++) {
        depth[i] = i % W < 32 ? 1 : i / W < 24 ? 0 : 2;
        for (int c = 0; c < 3; c++) pixels[3 * i + c] = (uint8_t)(i % W < 32 ? 100 + 20 * (i / W % 2) : 255);
    }
    splat_bake_table(&view, table);
    splat_bake_pyramid(pixels, W, H, 2);
    splat_bake_low(pixels, table, depth, W, H, 6, 2, low);
    for (int i = 0; i < LOW_W * LOW_H; i++)
        if (i % LOW_W < 8) assert_float_equal(low[i], 110 / 255.0, 1e-5);
}

static void the_best_views_are_kept_in_order(void **state)
{
    (void)state;
    splat_bake_candidate list[SPLAT_TEXTURE_CANDIDATES];
    for (int k = 0; k < SPLAT_TEXTURE_CANDIDATES; k++) list[k] = (splat_bake_candidate){.view = SPLAT_TEXTURE_NO_VIEW};
    for (int v = 0; v < 40; v++) {
        splat_bake_candidate c = {.view = (uint16_t)v, .quality = (uint16_t)(1 + v * 7 % 20)}; /* each value twice */
        splat_bake_offer(list, &c);
        assert_true(list[v < 15 ? v + 1 : 15].view == SPLAT_TEXTURE_NO_VIEW || v >= 15);
    }
    for (int k = 0; k < SPLAT_TEXTURE_CANDIDATES; k++) {
        assert_int_equal(list[k].quality, 20 - k / 2);
        assert_int_equal(1 + list[k].view * 7 % 20, list[k].quality);
        if (k % 2) assert_true(list[k].view > list[k - 1].view);
    }
}

static void outliers_are_found_among_many(void **state)
{
    (void)state;
    uint8_t rgb[12][3];
    bool out[12];
    for (int i = 0; i < 12; i++) {
        rgb[i][0] = (uint8_t)(120 + 11 * i % 7);
        rgb[i][1] = (uint8_t)(100 + 5 * i % 9);
        rgb[i][2] = (uint8_t)(90 + 3 * i % 8);
    }
    splat_bake_find_outliers((const uint8_t(*)[3])rgb, 12, out);
    for (int i = 0; i < 12; i++) assert_false(out[i]);
    rgb[4][0] = 250; /* a red coat walks by */
    rgb[4][1] = 20;
    splat_bake_find_outliers((const uint8_t(*)[3])rgb, 12, out);
    for (int i = 0; i < 12; i++) assert_int_equal(out[i], i == 4);
    splat_bake_find_outliers((const uint8_t(*)[3])rgb + 3, 3, out); /* too few to say who is right */
    for (int i = 0; i < 3; i++) assert_false(out[i]);
}

/* m^2 of a colour: d' C^-1 d, by elimination. */
static double distance2(const double covariance[3][3], const double d[3])
{
    double a[3][4], x[3], m2 = 0;
    for (int i = 0; i < 3; i++)
        for (int j = 0; j < 4; j++) a[i][j] = j < 3 ? covariance[i][j] : d[i];
    for (int i = 0; i < 3; i++)
        for (int r = i + 1; r < 3; r++)
            for (int j = 3; j >= i; j--) a[r][j] -= a[r][i] / a[i][i] * a[i][j];
    for (int i = 2; i >= 0; i--) {
        x[i] = a[i][3];
        for (int j = i + 1; j < 3; j++) x[i] -= a[i][j] * x[j];
        x[i] /= a[i][i];
        m2 += x[i] * d[i];
    }
    return m2;
}

/* A round of docs/method.md 19 (outliers): marks those that the distribution of the others holds for strangers. Returns
 * whether all are clear of the limit. */
static bool mark_strangers(double (*x)[3], int n, double widened, bool *out)
{
    double mean[3] = {0}, covariance[3][3] = {{0}}, count = 0;
    bool is_clear = true;
    for (int i = 0; i < n; i++)
        for (int k = 0; k < 3 && !out[i]; k++) mean[k] += x[i][k], count += k == 0;
    for (int k = 0; k < 3; k++) mean[k] /= count;
    for (int j = 0; j < 3; j++)
        for (int k = 0; k < 3; k++) {
            for (int i = 0; i < n; i++)
                if (!out[i]) covariance[j][k] += (x[i][j] - mean[j]) * (x[i][k] - mean[k]);
            covariance[j][k] = widened * (covariance[j][k] / (count - 1) + (j == k ? 5e-4 : 0));
        }
    for (int i = 0; i < n; i++) {
        const double d[3] = {x[i][0] - mean[0], x[i][1] - mean[1], x[i][2] - mean[2]};
        double density = exp(-0.5 * distance2((const double(*)[3])covariance, d));
        out[i] = density < 0.006;
        is_clear = is_clear && fabs(density - 0.006) > 1e-6;
    }
    return is_clear;
}

static int by_size(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* The rule, written again. False where a colour lies so near the limit that rounding decides. */
static bool find_strangers(const uint8_t (*rgb)[3], int n, bool *out)
{
    double x[16][3], sorted[16], far[16], middle[3];
    bool is_clear = true;
    for (int i = 0; i < n; i++) { /* JFIF */
        double r = rgb[i][0] / 255.0, g = rgb[i][1] / 255.0, b = rgb[i][2] / 255.0;
        x[i][0] = 0.299 * r + 0.587 * g + 0.114 * b;
        x[i][1] = 0.5 + 0.5 * (b - x[i][0]) / (1 - 0.114);
        x[i][2] = 0.5 + 0.5 * (r - x[i][0]) / (1 - 0.299);
        out[i] = false;
    }
    for (int k = 0; k < 3; k++) {
        for (int i = 0; i < n; i++) sorted[i] = x[i][k];
        qsort(sorted, (size_t)n, sizeof *sorted, by_size);
        middle[k] = 0.5 * (sorted[(n - 1) / 2] + sorted[n / 2]);
    }
    for (int i = 0; i < n; i++) {
        far[i] = sorted[i] = pow(x[i][0] - middle[0], 2) + pow(x[i][1] - middle[1], 2) + pow(x[i][2] - middle[2], 2);
    }
    qsort(sorted, (size_t)n, sizeof *sorted, by_size);
    for (int i = 0; i < n; i++) {
        out[i] = far[i] > sorted[n / 2];
        is_clear = is_clear && (far[i] == sorted[n / 2] || fabs(far[i] - sorted[n / 2]) > 1e-6);
    }
    for (int round = 0; round < 10; round++) {
        bool before[16];
        int n_in = 0;
        memcpy(before, out, sizeof before);
        is_clear = mark_strangers(x, n, round ? 1 : 4, out) && is_clear;
        for (int i = 0; i < n; i++) n_in += !out[i];
        if (n_in < 4) memset(out, 0, (size_t)n);
        if (n_in < 4 || memcmp(before, out, (size_t)n) == 0) break;
    }
    return is_clear;
}

/* Noise of many sizes, and now and then a stranger. */
static void outliers_are_those_of_the_rule(void **state)
{
    (void)state;
    int n_sets = 0, n_out = 0;
    for (uint64_t set = 0; set < 3000; set++) {
        splat_random4 r = splat_random(1, SPLAT_STREAM_TEST, 0, set);
        int n = 4 + (int)(r.x[0] % 13), noise = 1 + (int)(r.x[1] % 40), n_strange = (int)(r.x[2] % 4);
        uint8_t rgb[16][3];
        bool found[16], wanted[16] = {false};
        for (int i = 0; i < n; i++) {
            splat_random4 own = splat_random(1, SPLAT_STREAM_TEST, 1 + (uint32_t)i, set);
            for (int c = 0; c < 3; c++) {
                int value = 100 + (int)(own.x[c] % (uint32_t)noise) + (i < n_strange ? (int)(own.x[3] % 120) : 0);
                rgb[i][c] = (uint8_t)value;
            }
        }
        if (!find_strangers((const uint8_t(*)[3])rgb, n, wanted)) continue;
        splat_bake_find_outliers((const uint8_t(*)[3])rgb, n, found);
        for (int i = 0; i < n; i++) {
            if (found[i] != wanted[i]) fail_msg("set %d, colour %d of %d: %d", (int)set, i, n, found[i]);
            n_out += found[i];
        }
        n_sets++;
    }
    assert_true(n_sets > 2500 && n_out > 500);
}

/* A bake of a sphere without views: what the choices need. */
static void open_bake(splat_bake *bake, splat_mesh *mesh, splat_context *context, splat_texture_options *options,
                      size_t n_views)
{
    *mesh = make_sphere(12, 1);
    splat_texture_options_init(options);
    *bake = (splat_bake){.context = context, .options = options, .mesh = mesh, .n_views = n_views};
    bake->views = calloc(n_views, sizeof *bake->views);
    bake->candidates = calloc(mesh->n_faces * SPLAT_TEXTURE_CANDIDATES, sizeof *bake->candidates);
    bake->lists = calloc(mesh->n_faces * SPLAT_TEXTURE_CANDIDATES, sizeof *bake->lists);
    for (size_t i = 0; i < mesh->n_faces * SPLAT_TEXTURE_CANDIDATES; i++)
        bake->candidates[i].view = SPLAT_TEXTURE_NO_VIEW;
}

static void close_bake(splat_bake *bake, splat_mesh *mesh)
{
    free(bake->views);
    free(bake->candidates);
    free(bake->lists);
    free(bake->labels);
    free(bake->vertex_labels);
    splat_mesh_free(mesh);
}

/* Five photos, each brighter by a tenth than the one before: levelled, all show the same. */
static void exposure_is_levelled(void **state)
{
    (void)state;
    enum { N_VIEWS = 6 };
    splat_bake bake;
    splat_mesh mesh;
    splat_context context = {.threads = 2};
    splat_texture_options options;
    splat_error error;
    open_bake(&bake, &mesh, &context, &options, N_VIEWS);
    for (size_t f = 0; f < mesh.n_faces; f++)
        for (size_t k = 0; k < 4; k++) {
            splat_bake_candidate *c = &bake.candidates[SPLAT_TEXTURE_CANDIDATES * f + k];
            c->view = (uint16_t)((f + k) % 5); /* view 5 sees nothing */
            for (size_t i = 0; i < 3; i++) {
                float linear = (0.1f + 0.5f * (float)(f * (i + 3) % 17) / 17) * (1 + 0.1f * (float)c->view);
                c->rgb[i] = (uint8_t)(255 * splat_srgb_encode(linear) + 0.5f);
            }
        }
    ASSERT_OK(splat_bake_level(&bake, &error));
    for (int v = 0; v < 5; v++)
        for (int c = 0; c < 3; c++) {
            double wanted = (double)bake.views[0].gain[c] / (1 + 0.1 * v);
            assert_float_equal(bake.views[v].gain[c], wanted, 0.06); /* what holds gains at 1 gives way that far */
        }
    assert_true(bake.views[0].gain[1] > bake.views[4].gain[1] + 0.25f);
    assert_true(bake.views[5].gain[1] > bake.views[4].gain[1] + 0.1f);
    bake.views[5].shares_photo = true; /* a crop of the photo of view 4 */
    ASSERT_OK(splat_bake_level(&bake, &error));
    for (int c = 0; c < 3; c++) assert_true(bake.views[5].gain[c] == bake.views[4].gain[c]);
    close_bake(&bake, &mesh);
}

/* One face that two photos show is enough to level them, and photos that show nothing keep their part of the mean. */
static void one_face_levels_two_photos(void **state)
{
    (void)state;
    splat_bake bake;
    splat_mesh mesh;
    splat_context context = {.threads = 1};
    splat_texture_options options;
    splat_error error;
    open_bake(&bake, &mesh, &context, &options, 2);
    for (int v = 0; v < 2; v++)
        bake.candidates[v] = (splat_bake_candidate){.view = (uint16_t)v, .rgb = {150, 150, 150}};
    for (int c = 0; c < 3; c++) bake.candidates[1].rgb[c] = 162; /* brighter by a fifth */
    ASSERT_OK(splat_bake_level(&bake, &error));
    for (int c = 0; c < 3; c++) {
        double ratio = (double)bake.views[0].gain[c] / (double)bake.views[1].gain[c];
        assert_true(ratio > 1.1 && ratio < 1.2); /* less by what holds gains at 1 */
        assert_float_equal(bake.views[0].gain[c] * bake.views[1].gain[c], 1, 1e-5);
    }
    close_bake(&bake, &mesh);
}

/* Half of the sphere is better in view 3, half in view 7; specks of view 9 and single outliers go. */
static void labels_are_wide_patches(void **state)
{
    (void)state;
    splat_bake bake;
    splat_mesh mesh;
    splat_context context = {.threads = 2};
    splat_texture_options options;
    splat_error error;
    open_bake(&bake, &mesh, &context, &options, 10);
    for (size_t f = 0; f < mesh.n_faces; f++) {
        bool upper = f < mesh.n_faces / 2, speck = f % 37 == 5;
        const float qualities[3] = {speck ? 0.9f : 0.1f, upper ? 0.8f : 0.5f, upper ? 0.5f : 0.8f};
        const uint16_t views[3] = {9, 3, 7};
        for (int k = 0; k < 3; k++) {
            uint32_t bits;
            memcpy(&bits, &qualities[k], sizeof bits);
            splat_bake_candidate c = {.view = views[k], .quality = (uint16_t)(bits >> 16)};
            splat_bake_offer(bake.candidates + SPLAT_TEXTURE_CANDIDATES * f, &c);
        }
    }
    bake.candidates[SPLAT_TEXTURE_CANDIDATES * 40].is_outlier = 1; /* its best */
    uint16_t refused = bake.candidates[SPLAT_TEXTURE_CANDIDATES * 40].view;
    ASSERT_OK(splat_bake_make_lists(&bake, &error));
    ASSERT_OK(splat_bake_label(&bake, &error));
    size_t n_upper = 0, n_lower = 0;
    for (size_t f = 0; f < mesh.n_faces; f++) {
        assert_true(bake.labels[f] == 3 || bake.labels[f] == 7);
        n_upper += bake.labels[f] == 3 && f < mesh.n_faces / 2;
        n_lower += bake.labels[f] == 7 && f >= mesh.n_faces / 2;
    }
    assert_true(n_upper > 0.4 * (double)mesh.n_faces && n_lower > 0.4 * (double)mesh.n_faces);
    assert_true(bake.labels[40] != refused);
    for (size_t v = 0; v < mesh.n_vertices; v++) {
        const splat_texture_labels *l = &bake.vertex_labels[v];
        int sum = 0;
        for (int k = 0; k < SPLAT_TEXTURE_LABELS; k++) {
            sum += l->share[k];
            if (l->share[k]) assert_true(l->view[k] == 3 || l->view[k] == 7);
        }
        assert_in_range(sum, 254, 256);
    }
    close_bake(&bake, &mesh);
}

/* Two spheres, two faces of the first seen: red and blue spread over it and mix; the other one stays without. */
static void colors_spread_over_what_is_joined(void **state)
{
    (void)state;
    splat_bake bake;
    splat_mesh mesh, other = make_sphere(6, 1);
    splat_context context = {.threads = 2};
    splat_texture_options options;
    splat_error error;
    open_bake(&bake, &mesh, &context, &options, 2);
    size_t n = mesh.n_faces;
    ASSERT_OK(splat_mesh_append(&mesh, &other, &error));
    bake.candidates = realloc(bake.candidates, mesh.n_faces * SPLAT_TEXTURE_CANDIDATES * sizeof *bake.candidates);
    for (size_t i = n * SPLAT_TEXTURE_CANDIDATES; i < mesh.n_faces * SPLAT_TEXTURE_CANDIDATES; i++)
        bake.candidates[i] = (splat_bake_candidate){.view = SPLAT_TEXTURE_NO_VIEW};
    bake.candidates[0] = (splat_bake_candidate){.view = 0, .rgb = {9, 9, 9}, .is_outlier = 1};
    bake.candidates[1] = (splat_bake_candidate){.view = 1, .rgb = {200, 0, 40}};
    bake.candidates[SPLAT_TEXTURE_CANDIDATES * (n - 1)] = (splat_bake_candidate){.view = 1, .rgb = {0, 0, 240}};
    ASSERT_OK(splat_bake_color_faces(&bake, &error));
    size_t n_mixed = 0;
    for (size_t f = 0; f < mesh.n_faces; f++) {
        const uint8_t *c = bake.face_colors + 4 * f;
        assert_int_equal(c[3], f < n);
        if (f >= n) continue;
        assert_true(c[0] <= 200 && c[1] == 0 && c[2] >= 40 && c[2] <= 240);
        n_mixed += c[0] > 0 && c[0] < 200;
    }
    assert_true(bake.face_colors[0] == 200 && bake.face_colors[4 * (n - 1) + 2] == 240 && n_mixed > 0);
    free(bake.face_colors);
    close_bake(&bake, &mesh);
    splat_mesh_free(&other);
}

static void neighbors_are_across_the_sides(void **state)
{
    (void)state;
    splat_error error;
    splat_mesh mesh = make_sheet(3, NULL);
    uint32_t *neighbors = splat_bake_neighbors(&mesh, 2, &error);
    size_t n_open = 0;
    assert_non_null(neighbors);
    for (size_t f = 0; f < mesh.n_faces; f++)
        for (size_t side = 0; side < 3; side++) {
            uint32_t other = neighbors[3 * f + side], a = mesh.faces[3 * f + side];
            uint32_t b = mesh.faces[3 * f + (side + 1) % 3];
            int shared = 0;
            n_open += other == SPLAT_BAKE_NO_FACE;
            if (other == SPLAT_BAKE_NO_FACE) continue;
            for (int k = 0; k < 3; k++) shared += mesh.faces[3 * (size_t)other + (size_t)k] == a ||
                                                  mesh.faces[3 * (size_t)other + (size_t)k] == b;
            assert_int_equal(shared, 2);
            assert_true(other != f);
        }
    assert_int_equal(n_open, 12);
    free(neighbors);
    splat_mesh_free(&mesh);
}

/* Three faces in a row. The first two share their side in the texture, the third lies apart, on texels 60 brighter. */
static void seams_are_sides_that_lie_apart(void **state)
{
    (void)state;
    enum { W = 16, H = 16 };
    uint32_t faces[9] = {0, 1, 2, 2, 1, 3, 2, 3, 4};
    float vertices[15] = {0, 0, 0, 1, 0, 0, 0, 1, 0, 1, 1, 0, 0, 2, 0}, densities[3] = {1, 1, 1};
    float uvs[18] = {0.1f, 0.1f, 0.4f, 0.1f, 0.1f, 0.4f, 0.1f, 0.4f, 0.4f, 0.1f, 0.4f, 0.4f,
                     0.6f, 0.1f, 0.9f, 0.1f, 0.6f, 0.4f};
    uint8_t pixels[3 * W * H];
    for (int i = 0; i < W * H; i++)
        for (int c = 0; c < 3; c++) pixels[3 * i + c] = i % W < W / 2 ? 40 : 100;
    splat_image page = {W, H, 3, pixels};
    splat_mesh mesh = {.n_vertices = 5, .n_faces = 3, .n_pages = 1, .vertices = vertices, .faces = faces, .uvs = uvs};
    splat_context context = {.threads = 2};
    splat_bake bake = {.context = &context, .mesh = &mesh, .densities = densities};
    splat_error error;
    double difference;
    ASSERT_OK(splat_bake_seams(&bake, &page, &difference, &error));
    assert_float_equal(difference, 60, 1e-9);
    densities[2] = 0; /* no view sees the third: no seam is left */
    ASSERT_OK(splat_bake_seams(&bake, &page, &difference, &error));
    assert_float_equal(difference, 0, 1e-9);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(feathers_are_distances_to_the_nearest_edge),
        cmocka_unit_test(sharpness_and_gradients_are_known),
        cmocka_unit_test(levels_of_a_pyramid_are_means),
        cmocka_unit_test(tables_level_in_linear_light),
        cmocka_unit_test(the_low_band_stays_on_the_mesh),
        cmocka_unit_test(the_best_views_are_kept_in_order),
        cmocka_unit_test(outliers_are_found_among_many),
        cmocka_unit_test(outliers_are_those_of_the_rule),
        cmocka_unit_test(exposure_is_levelled),
        cmocka_unit_test(one_face_levels_two_photos),
        cmocka_unit_test(labels_are_wide_patches),
        cmocka_unit_test(colors_spread_over_what_is_joined),
        cmocka_unit_test(neighbors_are_across_the_sides),
        cmocka_unit_test(seams_are_sides_that_lie_apart),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
