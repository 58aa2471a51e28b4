/* Meshes in their colours: mip maps by the areas that texels cover, and pictures against a renderer that casts a ray
 * through each pixel, samples by the textbook and takes its derivatives numerically. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include "base/rng.h"
#include "io/picture/image_read.h"
#include "math/camera.h"
#include "mesh/mesh_draw.h"
#include "mesh_draw_reference.h"
#include "mesh_fixture.h"

enum { W = 64, H = 48, N = W * H };

typedef struct picture {
    float image[3 * N], coverage[N];
} picture;

static void draw_with(const splat_mesh *mesh, const splat_camera *camera, splat_mesh_filter filter, int supersampling,
                      int threads, picture *p)
{
    const float background[3] = {0, 0.5f, 1};
    splat_mesh_draw_options options;
    splat_mesh_painter painter;
    splat_error error;
    splat_mesh_draw_options_init(&options);
    options.filter = filter;
    options.supersampling = supersampling;
    memset(p, 0xA5, sizeof *p);
    ASSERT_OK(splat_mesh_painter_open(&painter, mesh, &options, N, threads, &error));
    ASSERT_OK(splat_mesh_painter_draw(&painter, camera, background, p->image, p->coverage, &error));
    splat_mesh_painter_close(&painter);
}

static void draw(const splat_mesh *mesh, const splat_camera *camera, picture *p)
{
    draw_with(mesh, camera, SPLAT_MESH_FILTER_TRILINEAR, 1, 2, p);
}

static bool is_covered(const picture *p, size_t i)
{
    return p->coverage[i] >= 1;
}

/* 0 to 255. */
static double shown(const picture *p, size_t i, size_t c)
{
    return 255 * (double)p->image[c * N + i];
}

/* ---------------------------------------------------------------- meshes and pages */

/* Noise: the tests would see every texel in a wrong place. */
static splat_image make_noise(int width, int height, uint64_t seed)
{
    splat_image page = black_page(width, height);
    for (size_t i = 0; i < 3 * (size_t)width * (size_t)height; i++)
        page.pixels[i] = (uint8_t)(splat_random(seed, SPLAT_STREAM_TEST, 0, i).x[0] >> 24);
    return page;
}

/* A rectangle by its corners (left top, right top, right bottom, left bottom) as the page lies on it, in two faces. */
static splat_mesh make_quad(const double corners[4][3], splat_image page)
{
    static const float uvs[2][3][2] = {{{0, 0}, {0, 1}, {1, 1}}, {{0, 0}, {1, 1}, {1, 0}}};
    splat_mesh mesh = {0};
    splat_error error;
    for (int k = 0; k < 4; k++) put_vertex(&mesh, corners[k][0], corners[k][1], corners[k][2]);
    put_face(&mesh, 0, 3, 2);
    put_face(&mesh, 0, 2, 1);
    ASSERT_OK(splat_mesh_require_uvs(&mesh, &error));
    memcpy(mesh.uvs, uvs, sizeof uvs);
    ASSERT_OK(splat_mesh_add_page(&mesh, &page, &error));
    return mesh;
}

/* Turned to plain_camera at z = 1, so wide that it reaches from pixel `left` to `right` and from `top` to `bottom`. */
static splat_mesh make_flat(double focal, double left, double top, double right, double bottom, splat_image page)
{
    double x0 = (left - W / 2.0) / focal, x1 = (right - W / 2.0) / focal;
    double y0 = (top - H / 2.0) / focal, y1 = (bottom - H / 2.0) / focal;
    const double corners[4][3] = {{x0, y0, 1}, {x1, y0, 1}, {x1, y1, 1}, {x0, y1, 1}};
    return make_quad(corners, page);
}

/* ---------------------------------------------------------------- mip maps */

static void levels_are_means_of_areas(void **state)
{
    static const int sizes[][2] = {{1, 1}, {2, 1}, {1, 7}, {8, 8}, {13, 6}, {31, 17}, {3, 64}};
    (void)state;
    for (size_t s = 0; s < sizeof sizes / sizeof sizes[0]; s++) {
        splat_image page = make_noise(sizes[s][0], sizes[s][1], s);
        splat_mesh mesh = {.pages = &page, .n_pages = 1};
        ref_level levels[SPLAT_MESH_MAX_LEVELS];
        splat_mesh_mips mips;
        splat_error error;
        int n = ref_levels(&page, levels);
        ASSERT_OK(splat_mesh_mips_make(&mesh, 2, &mips, &error));
        assert_int_equal(mips.pages[0].n_levels, n);
        for (int k = 0; k < n; k++) {
            const splat_mip_level *level = &mips.pages[0].levels[k];
            assert_true(level->width == levels[k].width && level->height == levels[k].height);
            for (int i = 0; i < 3 * level->width * level->height; i++)
                assert_int_equal(level->rgb[i], (int)levels[k].rgb[i]);
        }
        splat_mesh_mips_free(&mips);
        splat_image_free(&page);
        free_levels(levels, n);
    }
}

/* ---------------------------------------------------------------- known pictures */

/* A texel a pixel: the picture is the page, u to the right and v down, each texel at its centre. */
static void a_texel_a_pixel_is_the_page(void **state)
{
    picture p;
    (void)state;
    for (int filter = 0; filter < 3; filter++) {
        splat_mesh mesh = make_flat(64, 8, 4, 40, 44, make_noise(32, 40, 1));
        const splat_camera camera = plain_camera(W, H, 64);
        draw_with(&mesh, &camera, (splat_mesh_filter)filter, 1, 2, &p);
        for (size_t y = 0; y < H; y++)
            for (size_t x = 0; x < W; x++) {
                bool inside = x >= 8 && x < 40 && y >= 4 && y < 44;
                assert_int_equal(is_covered(&p, y * W + x), inside);
                for (size_t c = 0; c < 3; c++) {
                    double wanted = inside ? mesh.pages[0].pixels[3 * ((y - 4) * 32 + x - 8) + c] : 127.5 * (double)c;
                    if (fabs(shown(&p, y * W + x, c) - wanted) > 1e-3) fail_msg("pixel %zu %zu: %g", x, y, wanted);
                }
            }
        splat_mesh_free(&mesh);
    }
}

/* A checkerboard of single texels, at whole levels and between: at level 1 it is grey (127.5 is rounded up), and
 * halfway to it by the logarithm half of the contrast is left. Two samples a side are like twice as many pixels. */
static void a_checkerboard_fades_by_its_level(void **state)
{
    static const struct {
        int side, supersampling;
        double level;
    } cases[] = {{32, 1, 0}, {64, 1, 1}, {128, 1, 2}, {64, 2, 0}, {128, 2, 1}};
    picture p;
    (void)state;
    for (size_t k = 0; k < sizeof cases / sizeof cases[0]; k++) {
        splat_image page = black_page(cases[k].side, cases[k].side);
        for (int y = 0; y < page.height; y++)
            for (int x = 0; x < page.width; x++)
                memset(page.pixels + 3 * (y * page.width + x), (x + y) % 2 ? 255 : 0, 3);
        splat_mesh mesh = make_flat(64, 8, 8, 40, 40, page); /* 32 x 32 pixels */
        const splat_camera camera = plain_camera(W, H, 64);
        draw_with(&mesh, &camera, SPLAT_MESH_FILTER_TRILINEAR, cases[k].supersampling, 2, &p);
        for (size_t y = 8; y < 40; y++)
            for (size_t x = 8; x < 40; x++) {
                double wanted = cases[k].level > 0 ? 128 : cases[k].supersampling == 2 ? 127.5 : (x + y) % 2 ? 255 : 0;
                assert_true(fabs(shown(&p, y * W + x, 1) - wanted) < 1e-3);
            }
        splat_mesh_free(&mesh);
    }
    splat_image page = black_page(32, 32); /* at a level of 1/2: the quad is 32 / sqrt 2 pixels wide */
    for (size_t i = 0; i < 32 * 32; i++) memset(page.pixels + 3 * i, (i + i / 32) % 2 ? 255 : 0, 3);
    splat_mip_level levels[2] = {{32, 32, page.pixels}, {1, 1, (const uint8_t[3]){128, 128, 128}}};
    splat_mip_page mips = {.n_levels = 2, .levels = {levels[0], levels[1]}};
    splat_texture_place place = {.u = 4.5 / 32, .v = 7.5 / 32, .level = 0.5};
    float rgb[3];
    splat_mip_page_sample(&mips, &place, rgb);
    assert_true(fabs((double)rgb[0] - (255 + 128) / 2.0) < 1e-3);
    splat_image_free(&page);
}

/* A quad that leans away, from a turned camera: against the rays. The corners are rounded to 1/1024 pixel: up to 0.006
 * texels here and a noise of 255 a texel. Linear interpolation on the screen would be wrong by many texels. */
static void perspective_is_that_of_rays(void **state)
{
    static const double corners[4][3] = {{-1, -0.8, 3.2}, {0.92, -0.8, 2.64}, {0.92, 0.8, 2.64}, {-1, 0.8, 3.2}};
    picture p;
    (void)state;
    for (int k = 0; k < 6; k++) {
        int side = 16 << (k / 2 * 2), samples = k % 2 ? 2 : 1; /* from enlarged to far reduced */
        splat_image page = make_noise(side, side - 3, 5);
        ref_level levels[SPLAT_MESH_MAX_LEVELS];
        int n = ref_levels(&page, levels);
        const splat_image seen = {page.width, page.height, 3, NULL};
        splat_mesh mesh = make_quad(corners, page);
        splat_camera camera = plain_camera(W, H, 70);
        double rotation[9], translation[3] = {0.1, -0.05, -0.9}, worst = 0, least = 99, most = -99;
        size_t n_seen = 0;
        splat_quaternion_to_rotation((const double[4]){0.95, 0.1, -0.2, 0.1}, rotation);
        splat_camera_set_pose(&camera, rotation, translation);
        draw_with(&mesh, &camera, SPLAT_MESH_FILTER_TRILINEAR, samples, 2, &p);
        for (size_t i = 0; i < N; i++) {
            double wanted[3] = {0};
            if (!is_covered(&p, i)) continue;
            n_seen++;
            for (int s = 0; s < samples * samples; s++) {
                double x = (double)(i % W) + ((double)(s % samples) + 0.5) / samples;
                double y = (double)(i / W) + ((double)(s / samples) + 0.5) / samples, uv[2];
                ref_place(&camera, corners, x, y, uv);
                double lod = ref_lod(&camera, corners, &seen, x, y, samples);
                least = fmin(least, lod);
                most = fmax(most, lod);
                for (int c = 0; c < 3; c++)
                    wanted[c] += ref_trilinear(levels, n, uv[0], uv[1], lod, c) / (samples * samples);
            }
            for (size_t c = 0; c < 3; c++) worst = fmax(worst, fabs(shown(&p, i, c) - wanted[c]));
        }
        if (worst > 1.5 || n_seen < 600) fail_msg("side %d: wrong by %g of 255, %zu pixels", side, worst, n_seen);
        if (k < 2 && most > 0) fail_msg("side %d: not enlarged everywhere: level %g", side, most);
        if (k >= 4 && (most < 1 || most - least < 0.2)) fail_msg("side %d: levels from %g to %g", side, least, most);
        splat_mesh_free(&mesh);
        free_levels(levels, n);
    }
}

/* The texel in which the ray's place lies, wherever it is not on a border between two. */
static void nearest_takes_the_texel(void **state)
{
    static const double corners[4][3] = {{-1, -0.8, 3.2}, {0.92, -0.8, 2.64}, {0.92, 0.8, 2.64}, {-1, 0.8, 3.2}};
    picture p;
    size_t n_seen = 0;
    (void)state;
    splat_mesh mesh = make_quad(corners, make_noise(100, 70, 2));
    const splat_camera camera = plain_camera(W, H, 90);
    draw_with(&mesh, &camera, SPLAT_MESH_FILTER_NEAREST, 1, 2, &p);
    for (size_t i = 0; i < N; i++) {
        double uv[2];
        if (!is_covered(&p, i)) continue;
        ref_place(&camera, corners, (double)(i % W) + 0.5, (double)(i / W) + 0.5, uv);
        double x = uv[0] * 100, y = uv[1] * 70;
        if (fabs(x - round(x)) < 0.02 || fabs(y - round(y)) < 0.02) continue;
        n_seen++;
        for (size_t c = 0; c < 3; c++)
            assert_true(fabs(shown(&p, i, c) - mesh.pages[0].pixels[3 * ((size_t)y * 100 + (size_t)x) + c]) < 1e-3);
    }
    assert_true(n_seen > 600);
    splat_mesh_free(&mesh);
}

/* Lines that run into the distance on a plane seen at a flat angle: where trilinear samples have lost them, anisotropic
 * ones still tell black from white. Seen from straight above both are the same. */
static void anisotropic_samples_keep_lines(void **state)
{
    static const double floor_corners[4][3] = {{-1, 0.2, 6}, {1, 0.2, 6}, {1, 0.2, 0.5}, {-1, 0.2, 0.5}};
    picture one, other;
    double contrast[2] = {0};
    (void)state;
    splat_image page = black_page(64, 512);
    for (size_t i = 0; i < 64 * 512; i++) memset(page.pixels + 3 * i, i % 64 / 4 % 2 ? 255 : 0, 3);
    splat_mesh mesh = make_quad(floor_corners, page);
    splat_camera camera = plain_camera(W, H, 60);
    draw(&mesh, &camera, &one);
    draw_with(&mesh, &camera, SPLAT_MESH_FILTER_ANISOTROPIC, 1, 2, &other);
    size_t row = 34; /* 6.5 pixels a line there, at best 39 a pixel; 10 texels from this row to the next */
    for (size_t x = 20; x < 44; x++) {
        contrast[0] += fabs(shown(&one, row * W + x, 0) - shown(&one, row * W + x + 1, 0)) / 24;
        contrast[1] += fabs(shown(&other, row * W + x, 0) - shown(&other, row * W + x + 1, 0)) / 24;
    }
    if (contrast[0] > 5 || contrast[1] < 30) fail_msg("%g trilinear, %g anisotropic", contrast[0], contrast[1]);
    splat_mesh_free(&mesh);
    mesh = make_quad(floor_corners, make_noise(64, 512, 8)); /* 64 samples a pixel tell what it should be */
    static picture truth;
    double errors[2] = {0};
    draw(&mesh, &camera, &one);
    draw_with(&mesh, &camera, SPLAT_MESH_FILTER_ANISOTROPIC, 1, 2, &other);
    draw_with(&mesh, &camera, SPLAT_MESH_FILTER_TRILINEAR, 8, 2, &truth);
    for (size_t i = 32 * W; i < 44 * W; i++) {
        errors[0] += pow(shown(&one, i, 0) - shown(&truth, i, 0), 2);
        errors[1] += pow(shown(&other, i, 0) - shown(&truth, i, 0), 2);
    }
    if (errors[1] > 0.2 * errors[0]) fail_msg("%g of the error of trilinear samples", errors[1] / errors[0]);
    splat_mesh_free(&mesh);
    mesh = make_flat(64, 8, 8, 40, 40, make_noise(100, 100, 3));
    camera = plain_camera(W, H, 64);
    draw(&mesh, &camera, &one);
    draw_with(&mesh, &camera, SPLAT_MESH_FILTER_ANISOTROPIC, 1, 2, &other);
    for (size_t i = 0; i < 3 * N; i++) assert_true(fabsf(one.image[i] - other.image[i]) < 1e-4f);
    splat_mesh_free(&mesh);
}

/* ---------------------------------------------------------------- faces, pages, colours */

/* A ball in pieces: every face has a place of its own, on one of several pages that are all of one colour around it. No
 * pixel inside shows the background, nor a colour of another page. */
static void faces_meet_without_seams_on_several_pages(void **state)
{
    picture p;
    splat_error error;
    size_t n_seen = 0, n_of[3] = {0};
    (void)state;
    splat_mesh mesh = make_sphere(20, 1);
    ASSERT_OK(splat_mesh_require_uvs(&mesh, &error));
    ASSERT_OK(splat_mesh_require_face_pages(&mesh, &error));
    for (uint8_t k = 0; k < 3; k++) {
        splat_image page = black_page(7 + k, 5);
        memset(page.pixels, 50 + 70 * k, 3 * (size_t)page.width * (size_t)page.height);
        ASSERT_OK(splat_mesh_add_page(&mesh, &page, &error));
    }
    for (size_t i = 0; i < mesh.n_faces; i++) {
        mesh.face_pages[i] = (uint8_t)(i % 3);
        for (size_t k = 0; k < 6; k++)
            mesh.uvs[6 * i + k] = (float)splat_uniform(splat_random(3, SPLAT_STREAM_TEST, 0, 6 * i + k).x[0]);
    }
    splat_camera camera = plain_camera(W, H, 60);
    const double rotation[9] = {1, 0, 0, 0, 1, 0, 0, 0, 1}, translation[3] = {0, 0, 3.5};
    splat_camera_set_pose(&camera, rotation, translation);
    draw(&mesh, &camera, &p);
    for (size_t i = 0; i < N; i++) {
        double value = shown(&p, i, 0), x = (double)(i % W) + 0.5 - W / 2.0, y = (double)(i / W) + 0.5 - H / 2.0;
        if (hypot(x, y) < 16) assert_true(is_covered(&p, i));
        if (!is_covered(&p, i)) continue;
        n_seen++;
        size_t page = (size_t)((value - 50) / 70 + 0.5);
        assert_true(page < 3 && fabs(value - 50 - 70 * (double)page) < 1e-3);
        n_of[page]++;
    }
    assert_true(n_seen > 800 && n_of[0] > 100 && n_of[1] > 100 && n_of[2] > 100);
    splat_mesh_free(&mesh);
}

/* Two halves of a ramp lie far from each other on the page, each with a gutter; their edge in space cannot be seen. */
static void a_seam_between_charts_cannot_be_seen(void **state)
{
    picture p;
    (void)state;
    splat_image page = black_page(96, 40); /* columns 4 .. 36 have the left half, 60 .. 92 the right one */
    for (int y = 0; y < 40; y++)
        for (int x = 0; x < 96; x++) {
            int place = x < 48 ? x - 4 : x - 60 + 32; /* texels along the ramp; goes on in the gutters */
            memset(page.pixels + 3 * (y * 96 + x), 60 + 2 * place, 3);
        }
    splat_mesh mesh = make_flat(64, 4, 8, 36, 40, page);
    splat_mesh right = make_flat(64, 36, 8, 68, 40, black_page(1, 1));
    splat_error error;
    splat_mesh_drop_texture(&right);
    ASSERT_OK(splat_mesh_require_uvs(&right, &error));
    for (size_t i = 0; i < 6; i++) {
        const float corner[2] = {i == 0 || i == 1 || i == 3 ? 0.0f : 1.0f, i == 0 || i == 3 || i == 5 ? 0.0f : 1.0f};
        mesh.uvs[2 * i] = (4 + 32 * corner[0]) / 96;
        right.uvs[2 * i] = (60 + 32 * corner[0]) / 96;
        mesh.uvs[2 * i + 1] = right.uvs[2 * i + 1] = (4 + 32 * corner[1]) / 40;
    }
    size_t n = mesh.n_vertices; /* one mesh, one page */
    for (size_t i = 0; i < n; i++) put_vertex(&mesh, right.vertices[3 * i], right.vertices[3 * i + 1], 1);
    for (size_t i = 0; i < 2; i++) {
        const uint32_t *face = right.faces + 3 * i;
        put_face(&mesh, n + face[0], n + face[1], n + face[2]);
    }
    memcpy(mesh.uvs + 12, right.uvs, 12 * sizeof *mesh.uvs);
    const splat_camera camera = plain_camera(W, H, 64);
    draw(&mesh, &camera, &p);
    for (size_t y = 8; y < 40; y++)
        for (size_t x = 4; x < 64; x++)
            assert_true(fabs(shown(&p, y * W + x, 2) - 60 - 2 * ((double)x - 4)) < 1e-2);
    splat_mesh_free(&mesh);
    splat_mesh_free(&right);
}

static void colours_of_vertices_tint_the_page(void **state)
{
    picture p;
    splat_error error;
    (void)state;
    splat_image page = black_page(4, 4);
    memset(page.pixels, 200, 48);
    splat_mesh mesh = make_flat(64, 8, 8, 40, 40, page);
    const splat_camera camera = plain_camera(W, H, 64);
    ASSERT_OK(splat_mesh_require_colors(&mesh, &error));
    for (size_t i = 0; i < 4; i++) mesh.colors[4 * i + 1] = i == 1 || i == 2 ? 255 : 0; /* green grows to the right */
    draw(&mesh, &camera, &p);
    for (size_t x = 8; x < 40; x++) {
        size_t i = 20 * W + x;
        double part = ((double)x + 0.5 - 8) / 32;
        assert_true(fabs(shown(&p, i, 0) - 200) < 1e-3 && fabs(shown(&p, i, 1) - 200 * part) < 0.02);
    }
    splat_mesh_drop_texture(&mesh);
    draw(&mesh, &camera, &p);
    assert_true(fabs(shown(&p, 20 * W + 16, 1) - 255 * 8.5 / 32) < 0.02 && shown(&p, 20 * W + 16, 0) > 254.9);
    free(mesh.colors);
    mesh.colors = NULL;
    draw(&mesh, &camera, &p);
    double x = (16.5 - W / 2.0) / 64, y = (20.5 - H / 2.0) / 64; /* its normal is the camera's axis */
    for (size_t c = 0; c < 3; c++)
        assert_true(fabs(shown(&p, 20 * W + 16, c) - 30 - 200 / sqrt(x * x + y * y + 1)) < 1e-3);
    splat_mesh_free(&mesh);
}

/* Coordinates beyond the page repeat it, as glTF and OBJ say; within it, opposite borders do not mix. */
static void pages_repeat_where_coordinates_leave_them(void **state)
{
    picture p;
    (void)state;
    splat_mesh mesh = make_flat(64, 0, 0, 64, 48, make_noise(32, 24, 4));
    const splat_camera camera = plain_camera(W, H, 64);
    draw(&mesh, &camera, &p); /* enlarged twice: the first pixel lies beyond the centre of the first texel */
    assert_true(fabs(shown(&p, 0, 0) - mesh.pages[0].pixels[0]) < 1e-3);
    for (size_t i = 0; i < 12; i++) mesh.uvs[i] = 2 * mesh.uvs[i] - 1;
    draw(&mesh, &camera, &p); /* two by two, a texel a pixel */
    for (size_t i = 0; i < N; i++)
        for (size_t c = 0; c < 3; c++)
            assert_true(fabs(shown(&p, i, c) - mesh.pages[0].pixels[3 * (i / W % 24 * 32 + i % W % 32) + c]) < 1e-3);
    splat_mesh_free(&mesh);
}

/* A border between pixels at quarters: four samples a side tell how much of a pixel is covered, and mix. */
static void supersampling_mixes_with_the_background(void **state)
{
    picture p;
    (void)state;
    splat_image page = black_page(1, 1);
    memset(page.pixels, 255, 3);
    splat_mesh mesh = make_flat(64, 8.25, 8, 40.5, 40, page);
    const splat_camera camera = plain_camera(W, H, 64);
    draw_with(&mesh, &camera, SPLAT_MESH_FILTER_TRILINEAR, 4, 2, &p);
    size_t left = 20 * W + 8, right = 20 * W + 40;
    assert_true(p.coverage[left] == 0.75f && p.coverage[right] == 0.5f && p.coverage[left + 1] == 1);
    assert_true(fabs(shown(&p, left, 0) - 0.75 * 255) < 1e-3 && fabs(shown(&p, right, 1) - 0.75 * 255) < 1e-3);
    splat_mesh_free(&mesh);
}

static void threads_change_no_bit(void **state)
{
    static picture one, three;
    splat_error error;
    (void)state;
    splat_mesh mesh = make_torus(40, 20, 1, 0.4);
    splat_image page = make_noise(301, 203, 9);
    ASSERT_OK(splat_mesh_require_uvs(&mesh, &error));
    ASSERT_OK(splat_mesh_add_page(&mesh, &page, &error));
    for (size_t i = 0; i < 6 * mesh.n_faces; i++)
        mesh.uvs[i] = (float)splat_uniform(splat_random(1, SPLAT_STREAM_TEST, 0, i).x[0]);
    splat_camera camera = plain_camera(W, H, 70);
    const double rotation[9] = {1, 0, 0, 0, 0.8, -0.6, 0, 0.6, 0.8}, translation[3] = {0, 0, 3};
    splat_camera_set_pose(&camera, rotation, translation);
    for (int filter = 0; filter < 3; filter++) {
        draw_with(&mesh, &camera, (splat_mesh_filter)filter, 3, 1, &one);
        draw_with(&mesh, &camera, (splat_mesh_filter)filter, 3, 3, &three);
        assert_memory_equal(&one, &three, sizeof one);
    }
    splat_mesh_free(&mesh);
}

static void options_are_checked(void **state)
{
    splat_mesh mesh = make_cube(1);
    splat_mesh_draw_options options;
    splat_mesh_painter painter;
    splat_error error;
    (void)state;
    for (int k = 0; k < 3; k++) {
        splat_mesh_draw_options_init(&options);
        if (k == 2)
            options.filter = (splat_mesh_filter)3;
        else
            options.supersampling = k ? 9 : 0;
        assert_int_equal(splat_mesh_painter_open(&painter, &mesh, &options, N, 1, &error), SPLAT_ERROR_ARGUMENT);
        assert_non_null(strstr(error.message, k == 2 ? "`texture_filter`" : "`supersampling`"));
        splat_mesh_painter_close(&painter);
    }
    splat_mesh_free(&mesh);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(levels_are_means_of_areas), cmocka_unit_test(a_texel_a_pixel_is_the_page),
        cmocka_unit_test(a_checkerboard_fades_by_its_level), cmocka_unit_test(perspective_is_that_of_rays),
        cmocka_unit_test(nearest_takes_the_texel), cmocka_unit_test(anisotropic_samples_keep_lines),
        cmocka_unit_test(faces_meet_without_seams_on_several_pages),
        cmocka_unit_test(a_seam_between_charts_cannot_be_seen), cmocka_unit_test(colours_of_vertices_tint_the_page),
        cmocka_unit_test(pages_repeat_where_coordinates_leave_them),
        cmocka_unit_test(supersampling_mixes_with_the_background), cmocka_unit_test(threads_change_no_bit),
        cmocka_unit_test(options_are_checked)};
    return cmocka_run_group_tests_name("drawing textured meshes", tests, NULL, NULL);
}
