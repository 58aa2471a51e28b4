/* bin against brute force: every (Gaussian, tile) is asked, at every sampling position, whether it can blend. */
#include "ops/bin/bin.h"

#include "ops/raster/raster.h"
#include "ops/raster/raster_scene_test.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static const test_scene_spec specs[] = {
    {"no Gaussians", TEST_SCENE_MIXED, 0, 20, 20, false, {0}},
    {"one pixel", TEST_SCENE_MIXED, 40, 1, 1, false, {0}},
    {"one Gaussian", TEST_SCENE_MIXED, 1, 40, 23, false, {0}},
    {"mixed", TEST_SCENE_MIXED, 900, 101, 67, false, {0}},
    {"mixed, jitter", TEST_SCENE_MIXED, 900, 101, 67, true, {0}},
    {"one row of tiles", TEST_SCENE_MIXED, 200, 130, 1, true, {0}},
    {"large rectangles", TEST_SCENE_MIXED, 150, 300, 200, true, {0}},
    {"transparent", TEST_SCENE_TRANSPARENT, 100, 64, 48, false, {0}},
    {"several chunks", TEST_SCENE_MIXED, 15000, 40, 40, false, {0}},
    {"many tiles", TEST_SCENE_MIXED, 300, 1600, 1460, false, {0}}, /* more than a device's block counts at a time */
};

/* Lengths of a tile's list: around those at which a device sorts in another way. */
static const uint32_t lengths[] = {1,    2,    31,   127,  128,  129,  256,  257,  384,  385,   640,   641,  896,
                                   897,  1280, 1281, 1536, 1537, 1792, 1793, 2560, 2561, 4096,  4097,  8191, 8192,
                                   8193, 12288, 12289, 16385, 40001};

/* alpha as raster computes it, in float. */
static float alpha_at(const ref_splat2d_f32 *s, float x, float y)
{
    float dx = s->u - x, dy = s->v - y;
    float power = -0.5f * (s->a * dx * dx + s->c * dy * dy) - s->b * dx * dy;
    return power > 0 ? 0 : s->alpha0 * expf(power);
}

static bool tile_blends(const test_scene *scene, const ref_splat2d_f32 *s, int tx, int ty)
{
    int width = scene->spec.width, height = scene->spec.height;
    for (int j = 16 * ty; j < 16 * ty + 16 && j < height; j++)
        for (int i = 16 * tx; i < 16 * tx + 16 && i < width; i++) {
            size_t pixel = (size_t)j * (size_t)width + (size_t)i;
            float x = (float)i, y = (float)j;
            if (scene->jitter) {
                x += scene->jitter[pixel];
                y += scene->jitter[scene->n_pixels + pixel];
            }
            if (alpha_at(s, x, y) >= SPLAT_ALPHA_MIN) return true;
        }
    return false;
}

/* True if a position of a fine grid over the tile (all positions that jitter can reach) has alpha > 0.99 / 255. */
static bool tile_reached(const test_scene *scene, const ref_splat2d_f32 *s, int tx, int ty)
{
    const int fine = 8;
    double margin = scene->jitter ? 0.5 : 0.0;
    double x0 = 16 * tx - margin, y0 = 16 * ty - margin;
    double x1 = fmin(16 * tx + 15, scene->spec.width - 1) + margin;
    double y1 = fmin(16 * ty + 15, scene->spec.height - 1) + margin;
    for (double y = y0; y <= y1; y += 1.0 / fine)
        for (double x = x0; x <= x1; x += 1.0 / fine)
            if (alpha_at(s, (float)x, (float)y) >= 0.99f * SPLAT_ALPHA_MIN) return true;
    return false;
}

/* Order, slots, membership; listed[v * n_tiles + tile] is set. Returns failures. */
static int check_structure(const test_scene *scene, const test_result *r, bool *listed)
{
    int failures = 0;
    bool *used = calloc(r->n_instances + 1, sizeof *used);
    int tiles_x = (scene->spec.width + 15) / 16;
    TEST_CHECK(failures, r->tile_begin[0] == 0 && r->tile_begin[r->n_tiles] == r->n_instances, "tile_begin");
    if (r->slot_begin)
        TEST_CHECK(failures, r->slot_begin[0] == 0 && r->slot_begin[r->n_visible] == r->n_instances, "slot_begin");
    for (size_t tile = 0; tile < r->n_tiles && failures < 10; tile++) {
        TEST_CHECK(failures, r->tile_begin[tile] <= r->tile_begin[tile + 1], "tile %zu", tile);
        for (uint32_t i = r->tile_begin[tile]; i < r->tile_begin[tile + 1] && failures < 10; i++) {
            uint32_t v = r->instances[i];
            TEST_CHECK(failures, v < r->n_visible, "instance %u", i);
            if (v >= r->n_visible) break;
            if (r->instance_slots) {
                uint32_t slot = r->instance_slots[i];
                TEST_CHECK(failures, !r->slot_begin || (slot >= r->slot_begin[v] && slot < r->slot_begin[v + 1]),
                           "slot %u of %u", slot, v);
                TEST_CHECK(failures, slot < r->n_instances && !used[slot], "slot %u twice or too large", slot);
                if (slot < r->n_instances) used[slot] = true;
            }
            TEST_CHECK(failures, !listed[v * r->n_tiles + tile], "%u twice in tile %zu", v, tile);
            listed[v * r->n_tiles + tile] = true;
            const uint16_t *rect = scene->tile_rect + 4 * v;
            int tx = (int)tile % tiles_x, ty = (int)tile / tiles_x;
            TEST_CHECK(failures, tx >= rect[0] && tx < rect[2] && ty >= rect[1] && ty < rect[3],
                       "%u in tile %zu, outside its tile_rect", v, tile);
            if (i == r->tile_begin[tile]) continue;
            uint32_t w = r->instances[i - 1]; /* ids ascend with v */
            float before = scene->splats[w].depth, depth = scene->splats[v].depth;
            TEST_CHECK(failures, before < depth || (before == depth && w < v), "tile %zu: %u before %u", tile, w, v);
        }
    }
    free(used);
    return failures;
}

static int check_scene(splat_backend *backend, const test_scene_spec *spec)
{
    int failures = 0;
    splat_error error = {0};
    test_scene scene;
    test_scene_make(backend, spec, -1, &scene);
    TEST_CHECK(failures, test_scene_run(backend, &scene, NULL, &error) == SPLAT_OK, "%s", error.message);
    test_result r = test_result_make(backend, &scene);
    bool *listed = calloc(r.n_visible * r.n_tiles + 1, sizeof *listed);
    failures += check_structure(&scene, &r, listed);

    size_t n_reached = 0, n_rect = 0;
    int tiles_x = (spec->width + 15) / 16;
    for (size_t v = 0; v < r.n_visible && failures < 10; v++) {
        const uint16_t *rect = scene.tile_rect + 4 * v;
        for (int ty = rect[1]; ty < rect[3]; ty++)
            for (int tx = rect[0]; tx < rect[2]; tx++) {
                bool in = listed[v * r.n_tiles + (size_t)(ty * tiles_x + tx)];
                n_rect++;
                TEST_CHECK(failures, in || !tile_blends(&scene, &scene.splats[v], tx, ty),
                           "%s: Gaussian %zu blends in tile (%d, %d), which does not list it", spec->name, v, tx, ty);
                if (in && spec->n >= 900) n_reached += tile_reached(&scene, &scene.splats[v], tx, ty);
            }
    }
    /* bin is exact up to its margin, and the grid of tile_reached misses corners that are cut by less than an eighth of
     * a pixel: nearly every listed tile is reached, while whole rectangles list half as many again. */
    if (spec->kind == TEST_SCENE_MIXED && spec->n >= 900) {
        TEST_CHECK(failures, (double)(r.n_instances - n_reached) <= 0.01 * (double)r.n_instances,
                   "%s: %zu of %zu instances are not reached", spec->name, r.n_instances - n_reached, r.n_instances);
        TEST_CHECK(failures, n_rect > r.n_instances, "%s: the rectangles have %zu tiles", spec->name, n_rect);
    }
    if (spec->kind == TEST_SCENE_TRANSPARENT)
        TEST_CHECK(failures, r.n_instances == 0, "%zu instances of transparent Gaussians", r.n_instances);
    free(listed);
    test_result_free(&r);
    test_scene_free(backend, &scene);
    return failures;
}

/* 2^32 instances are refused before they are allocated: 1025 Gaussians that cover 2048 x 2048 tiles. */
static int check_too_many(splat_backend *backend)
{
    int failures = 0;
    enum { N = 1025, TILES = 2048 };
    test_scene scene;
    test_scene_make(backend, &(test_scene_spec){"too many", TEST_SCENE_SOFT, N, 8, 8, false, {0}}, -1, &scene);
    splat_frame *frame = &scene.frame;
    float *conic = calloc(N, 4 * sizeof *conic);
    uint16_t *rect = calloc(N, 4 * sizeof *rect);
    for (int i = 0; i < N; i++) {
        conic[4 * i] = conic[4 * i + 2] = 1e-12f;
        conic[4 * i + 3] = 0.5f;
        rect[4 * i + 2] = rect[4 * i + 3] = TILES;
    }
    splat_backend_upload(backend, frame->conic, conic, N * 4 * sizeof *conic, NULL);
    splat_backend_upload(backend, frame->tile_rect, rect, N * 4 * sizeof *rect, NULL);
    frame->camera.width = frame->camera.height = TILES * SPLAT_TILE;
    frame->tiles_x = frame->tiles_y = TILES;
    splat_error error = {0};
    void *tile_begin, *tile_order;
    size_t bytes = ((size_t)TILES * TILES + 1) * sizeof(uint32_t);
    TEST_CHECK(failures, splat_frame_take(backend, frame, bytes, &tile_begin, &error) == SPLAT_OK, "%s", error.message);
    TEST_CHECK(failures, splat_frame_take(backend, frame, bytes, &tile_order, &error) == SPLAT_OK, "%s", error.message);
    frame->tile_begin = tile_begin;
    frame->tile_order = tile_order;
    splat_status status = splat_op_bin(backend, &(struct splat_bin_args){frame}, &error);
    TEST_CHECK(failures, status == SPLAT_ERROR_UNSUPPORTED, "status %d", (int)status);
    bool cpu = strcmp(splat_backend_name(backend), "cpu") == 0; /* which counts to the end */
    TEST_CHECK(failures, !cpu || strstr(error.message, "4299161600"), "message: %s", error.message);
    TEST_CHECK(failures, frame->n_instances == 0, "a refused frame has instances");
    free(conic);
    free(rect);
    test_scene_free(backend, &scene);
    return failures;
}

typedef struct listed {
    float depth;
    uint32_t v;
    bool in_both; /* tiles */
} listed;

static int compare_listed(const void *a, const void *b)
{
    const listed *x = a, *y = b;
    if (x->depth != y->depth) return x->depth < y->depth ? -1 : 1;
    return x->v < y->v ? -1 : x->v > y->v;
}

/* A list of n in the first tile of two, and of n / 2 in the second: every second Gaussian reaches it. n_each: one in so
 * many Gaussians has a tile at all. */
static int check_length(splat_backend *backend, uint32_t n, uint32_t n_each)
{
    int failures = 0;
    splat_error error = {0};
    test_scene scene;
    const uint32_t n_all = n * n_each;
    test_scene_make(backend, &(test_scene_spec){"length", TEST_SCENE_SOFT, n_all, 32, 8, false, {0}}, -1, &scene);
    float *conic = calloc(n_all, 4 * sizeof *conic), *depth = calloc(n_all, sizeof *depth);
    uint16_t *rect = calloc(n_all, 4 * sizeof *rect);
    listed *wanted = calloc(n, sizeof *wanted);
    for (uint32_t i = 0; i < n; i++) {
        uint32_t v = i * n_each + n_each / 2;
        memcpy(conic + 4 * v, (float[]){1e-8f, 0, 1e-8f, 0.5f}, 4 * sizeof *conic); /* wider than the picture */
        memcpy(rect + 4 * v, (uint16_t[]){0, 0, 1 + i % 2, 1}, 4 * sizeof *rect);
        depth[v] = 1.0f + floorf(test_scene_random(31, v) * (float)(n / 2 + 1)); /* with ties */
        wanted[i] = (listed){depth[v], v, i % 2 == 1};
    }
    qsort(wanted, n, sizeof *wanted, compare_listed);
    splat_backend_upload(backend, scene.frame.conic, conic, n_all * 4 * sizeof *conic, NULL);
    splat_backend_upload(backend, scene.frame.tile_rect, rect, n_all * 4 * sizeof *rect, NULL);
    splat_backend_upload(backend, scene.frame.depth, depth, n_all * sizeof *depth, NULL);
    TEST_CHECK(failures, splat_op_bin(backend, &(struct splat_bin_args){&scene.frame}, &error) == SPLAT_OK, "%s",
               error.message);
    test_result r = test_result_make(backend, &scene);
    TEST_CHECK(failures, r.n_instances == n + n / 2 && r.tile_begin[1] == n && r.tile_begin[2] == n + n / 2,
               "lists of %u and %u", r.tile_begin[1], r.tile_begin[2] - r.tile_begin[1]);
    for (uint32_t i = 0, second = n; i < n && !failures; i++) {
        TEST_CHECK(failures, r.instances[i] == wanted[i].v, "%u of a list of %u: %u, not %u", i, n, r.instances[i],
                   wanted[i].v);
        if (!wanted[i].in_both) continue;
        TEST_CHECK(failures, r.instances[second] == wanted[i].v, "%u of a list of %u: %u, not %u", second - n, n / 2,
                   r.instances[second], wanted[i].v);
        second++;
    }
    test_result_free(&r);
    free(conic);
    free(depth);
    free(rect);
    free(wanted);
    test_scene_free(backend, &scene);
    return failures;
}

int test_op_bin(splat_backend *backend)
{
    int failures = 0;
    for (size_t i = 0; i < sizeof specs / sizeof specs[0]; i++) {
        int before = failures;
        TEST_CASE(failures, check_scene(backend, &specs[i]));
        if (failures > before) fprintf(stderr, "bin: scene '%s' failed\n", specs[i].name);
    }
    for (size_t i = 0; i < sizeof lengths / sizeof lengths[0]; i++)
        TEST_CASE(failures, check_length(backend, lengths[i], 1));
    TEST_CASE(failures, check_length(backend, 20011, 61)); /* so many that a device's warp comes to Gaussians again */
    TEST_CASE(failures, check_too_many(backend));
    TEST_CASE(failures, test_bands_lists(backend));
    return failures;
}
