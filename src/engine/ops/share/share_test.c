/* Tests of the share ops, against what a loop on the host makes of the same arrays. */
#include "ops/share/share.h"

#include "base/rng.h"
#include "ops/test_ops.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { N = 1000, WIDTH = 60, HEIGHT = 40, N_BLOCKS = 16 };

/* A frame on the backend, and its arrays on the host. */
typedef struct share_frame {
    splat_frame frame;
    uint32_t ids[N];
    float mean2d[2 * N], conic[4 * N], rgb[3 * N], depth[N];
    uint16_t rect[4 * N];
    splat_grad2d grad2d[N];
    splat_block blocks[N_BLOCKS];
} share_frame;

static float number(uint32_t stream, uint32_t i)
{
    return splat_uniform(splat_random(91, SPLAT_STREAM_TEST, stream, i).x[0]);
}

/* False for a Gaussian that nobody saw: its depth is 0, on a backend with rows for all. */
static bool is_seen(const splat_backend *backend, uint32_t v)
{
    return !backend->device_bytes || v % 5 != 2;
}

static share_frame *open_frame(splat_backend *backend, uint32_t n, uint32_t seed)
{
    share_frame *f = calloc(1, sizeof *f);
    for (uint32_t v = 0; v < n; v++) {
        f->ids[v] = 3 * v + seed;
        f->depth[v] = is_seen(backend, v) ? 1 + number(seed, v) : 0;
        for (uint32_t k = 0; k < 2; k++) f->mean2d[2 * v + k] = 70 * number(seed + 1, 2 * v + k) - 5;
        for (uint32_t k = 0; k < 4; k++) f->conic[4 * v + k] = number(seed + 2, 4 * v + k);
        for (uint32_t k = 0; k < 3; k++) f->rgb[3 * v + k] = number(seed + 3, 3 * v + k);
        for (uint32_t k = 0; k < 2; k++) {
            f->rect[4 * v + k] = (uint16_t)(1 + 2 * k);
            f->rect[4 * v + 2 + k] = (uint16_t)(1 + 2 * k + (v + k + seed) % 3); /* of three one is empty */
        }
        if (!is_seen(backend, v)) memset(f->rect + 4 * v, 0, 4 * sizeof *f->rect);
        f->grad2d[v] = (splat_grad2d){.mean_x = number(seed + 4, v), .mean_abs = 1 + number(seed + 5, v)};
    }
    splat_block *block = f->blocks;
    f->frame = (splat_frame){.camera = {.width = WIDTH, .height = HEIGHT}, .n_visible = n, .capacity = n};
    f->frame.ids = test_upload(backend, block++, f->ids, N * sizeof *f->ids);
    f->frame.mean2d = test_upload(backend, block++, f->mean2d, 2 * N * sizeof *f->mean2d);
    f->frame.conic = test_upload(backend, block++, f->conic, 4 * N * sizeof *f->conic);
    f->frame.rgb = test_upload(backend, block++, f->rgb, 3 * N * sizeof *f->rgb);
    f->frame.depth = test_upload(backend, block++, f->depth, N * sizeof *f->depth);
    f->frame.tile_rect = test_upload(backend, block++, f->rect, 4 * N * sizeof *f->rect);
    f->frame.grad2d = test_upload(backend, block++, f->grad2d, N * sizeof *f->grad2d);
    if (backend->view_state_bytes) f->frame.state = test_upload(backend, block++, NULL, backend->view_state_bytes);
    return f;
}

static void close_frame(splat_backend *backend, share_frame *f)
{
    for (int i = 0; i < N_BLOCKS; i++) splat_block_free(backend, &f->blocks[i]);
    free(f);
}

/* Entries of a view, by a loop. */
static uint32_t list_entries(const splat_backend *backend, const share_frame *f, uint32_t n, uint32_t *entries)
{
    uint32_t count = 0;
    for (uint32_t v = 0; v < n; v++) {
        const uint16_t *r = f->rect + 4 * (size_t)v;
        if (is_seen(backend, v) && r[2] > r[0] && r[3] > r[1]) entries[count++] = v;
    }
    return count;
}

static splat_share_row row_of(const share_frame *f, uint32_t v)
{
    splat_share_row row = {.depth = f->depth[v]};
    memcpy(row.mean, f->mean2d + 2 * (size_t)v, sizeof row.mean);
    memcpy(row.conic, f->conic + 4 * (size_t)v, sizeof row.conic);
    memcpy(row.rect, f->rect + 4 * (size_t)v, sizeof row.rect);
    return row;
}

int test_op_share_find(splat_backend *backend)
{
    static const uint32_t sizes[3] = {N, 0, 130};
    int failures = 0;
    share_frame *frames[3];
    const splat_frame *views[3];
    uint32_t *entries[3], counts[3] = {7, 7, 7}, got[N], wanted[N];
    splat_block blocks[3] = {{0}};
    for (uint32_t i = 0; i < 3; i++) {
        frames[i] = open_frame(backend, sizes[i], i);
        views[i] = &frames[i]->frame;
        entries[i] = test_upload(backend, &blocks[i], NULL, N * sizeof(uint32_t));
    }
    splat_error error = {0};
    splat_status status =
        splat_op_share_find(backend, &(struct splat_share_find_args){views, 3, entries, counts}, &error);
    TEST_CHECK(failures, status == SPLAT_OK, "share_find: %s", error.message);
    for (uint32_t i = 0; i < 3; i++) {
        uint32_t n = list_entries(backend, frames[i], sizes[i], wanted);
        TEST_CHECK(failures, counts[i] == n, "view %u has %u, not %u", i, counts[i], n);
        test_download(backend, got, entries[i], N * sizeof *got);
        TEST_CHECK(failures, memcmp(got, wanted, n * sizeof *got) == 0, "view %u lists others", i);
        splat_block_free(backend, &blocks[i]);
        close_frame(backend, frames[i]);
    }
    return failures;
}

int test_op_share_pack(splat_backend *backend)
{
    int failures = 0;
    share_frame *f = open_frame(backend, N, 3);
    uint32_t entries[N], n = list_entries(backend, f, N, entries);
    splat_share_row rows[N];
    splat_block blocks[2] = {{0}};
    splat_error error = {0};
    const uint32_t *list = test_upload(backend, &blocks[0], entries, sizeof entries);
    splat_share_row *packed = test_upload(backend, &blocks[1], NULL, sizeof rows);
    splat_status status =
        splat_op_share_pack(backend, &(struct splat_share_pack_args){.frame = &f->frame,
                                                                     .entries = list,
                                                                     .n = n,
                                                                     .rows = packed}, &error);
    TEST_CHECK(failures, status == SPLAT_OK, "share_pack: %s", error.message);
    test_download(backend, rows, packed, sizeof rows);
    for (uint32_t k = 0; k < N; k++) {
        splat_share_row wanted = k < n ? row_of(f, entries[k]) : (splat_share_row){0};
        TEST_CHECK(failures, memcmp(&rows[k], &wanted, sizeof wanted) == 0, "row %u of %u is another one", k, n);
    }
    for (int i = 0; i < 2; i++) splat_block_free(backend, &blocks[i]);
    close_frame(backend, f);
    return failures;
}

int test_op_share_unpack(splat_backend *backend)
{
    int failures = 0;
    const uint32_t n = 517;
    share_frame *from = open_frame(backend, N, 4), *f = open_frame(backend, N, 5), *got = calloc(1, sizeof *got);
    splat_share_row rows[N];
    splat_block block = {0};
    splat_error error = {0};
    for (uint32_t k = 0; k < N; k++) rows[k] = row_of(from, k);
    const splat_share_row *packed = test_upload(backend, &block, rows, sizeof rows);
    splat_status status =
        splat_op_share_unpack(backend, &(struct splat_share_unpack_args){packed, n, &f->frame}, &error);
    TEST_CHECK(failures, status == SPLAT_OK && f->frame.n_visible == n, "share_unpack: %s", error.message);
    test_download(backend, got->ids, f->frame.ids, sizeof got->ids);
    test_download(backend, got->mean2d, f->frame.mean2d, sizeof got->mean2d);
    test_download(backend, got->conic, f->frame.conic, sizeof got->conic);
    test_download(backend, got->rgb, f->frame.rgb, sizeof got->rgb);
    test_download(backend, got->depth, f->frame.depth, sizeof got->depth);
    test_download(backend, got->rect, f->frame.tile_rect, sizeof got->rect);
    for (uint32_t v = 0; v < N; v++) {
        splat_share_row have = row_of(got, v), wanted = row_of(v < n ? from : f, v);
        TEST_CHECK(failures, memcmp(&have, &wanted, sizeof have) == 0, "entry %u is another one", v);
        TEST_CHECK(failures, got->ids[v] == (v < n ? v : f->ids[v]), "entry %u is of %u", v, got->ids[v]);
    }
    status = splat_op_share_unpack(backend, &(struct splat_share_unpack_args){packed, 0, &f->frame}, &error);
    TEST_CHECK(failures, status == SPLAT_OK && f->frame.n_visible == 0, "nothing was unpacked");
    TEST_CHECK(failures, memcmp(got->rgb, f->rgb, sizeof f->rgb) == 0, "colours changed");
    splat_block_free(backend, &block);
    close_frame(backend, from);
    close_frame(backend, f);
    free(got);
    return failures;
}

/* Rows of so many floats, of an array that has as many. */
static int take_rows(splat_backend *backend, uint32_t channels)
{
    int failures = 0;
    share_frame *f = open_frame(backend, N, 9);
    const float *from = channels == 3 ? f->frame.rgb : f->frame.conic, *all = channels == 3 ? f->rgb : f->conic;
    uint32_t entries[N], n = list_entries(backend, f, N, entries);
    float got[4 * N];
    splat_block blocks[2] = {{0}};
    splat_error error = {0};
    const uint32_t *list = test_upload(backend, &blocks[0], entries, sizeof entries);
    float *colors = test_upload(backend, &blocks[1], NULL, sizeof got);
    const struct splat_share_colors_args args = {from, list, n, colors, channels};
    TEST_CHECK(failures, splat_op_share_colors(backend, &args, &error) == SPLAT_OK, "share_colors: %s", error.message);
    test_download(backend, got, colors, sizeof got);
    for (uint32_t k = 0; k < channels * N; k++) {
        const float wanted = k < channels * n ? all[channels * entries[k / channels] + k % channels] : 0;
        TEST_CHECK(failures, got[k] == wanted, "value %u of %u is %g, not %g", k, channels * n, (double)got[k],
                   (double)wanted);
    }
    for (int i = 0; i < 2; i++) splat_block_free(backend, &blocks[i]);
    close_frame(backend, f);
    return failures;
}

int test_op_share_colors(splat_backend *backend)
{
    return take_rows(backend, 3) + take_rows(backend, 4);
}

int test_op_share_hide(splat_backend *backend)
{
    int failures = 0;
    share_frame *f = open_frame(backend, N, 6);
    uint8_t mask[WIDTH * HEIGHT];
    splat_grad2d got[N];
    splat_block block = {0};
    splat_error error = {0};
    uint32_t n_hidden = 0;
    for (size_t i = 0; i < sizeof mask; i++) mask[i] = (uint8_t)(127 + i / 4 % 2);
    const uint8_t *kept = test_upload(backend, &block, mask, sizeof mask);
    splat_status status = splat_op_share_hide(backend, &(struct splat_share_hide_args){&f->frame, kept}, &error);
    TEST_CHECK(failures, status == SPLAT_OK, "share_hide: %s", error.message);
    test_download(backend, got, f->frame.grad2d, sizeof got);
    for (uint32_t v = 0; v < N; v++) {
        splat_grad2d wanted = f->grad2d[v];
        const bool hides = is_seen(backend, v) &&
                           mask[splat_pixel_under(f->mean2d[2 * v], f->mean2d[2 * v + 1], WIDTH, HEIGHT)] < 128;
        TEST_CHECK(failures, hides ? isnan(got[v].mean_abs) != 0 : got[v].mean_abs == wanted.mean_abs,
                   "mean_abs of entry %u is %g", v, (double)got[v].mean_abs);
        wanted.mean_abs = got[v].mean_abs;
        TEST_CHECK(failures, memcmp(&got[v], &wanted, sizeof wanted) == 0, "entry %u has other gradients", v);
        n_hidden += hides;
    }
    TEST_CHECK(failures, n_hidden > N / 4 && n_hidden < N - N / 4, "%u are hidden", n_hidden);
    splat_block_free(backend, &block);
    close_frame(backend, f);
    return failures;
}

int test_op_share_put(splat_backend *backend)
{
    int failures = 0;
    const uint32_t n = 333;
    share_frame *f = open_frame(backend, N, 7), *from = open_frame(backend, N, 8);
    uint32_t entries[N];
    splat_grad2d wanted[N], got[N];
    float depths[N];
    splat_block block = {0};
    splat_error error = {0};
    memcpy(wanted, f->grad2d, sizeof wanted);
    for (uint32_t k = 0; k < n; k++) wanted[entries[k] = 3 * k + k % 2] = from->grad2d[k];
    const uint32_t *list = test_upload(backend, &block, entries, n * sizeof *entries);
    for (int has_depths = 0; has_depths < 2; has_depths++) {
        const struct splat_share_put_args args = {from->frame.grad2d, list, n, f->frame.grad2d,
                                                  has_depths ? from->frame.conic : NULL,
                                                  has_depths ? f->frame.depth : NULL};
        TEST_CHECK(failures, splat_op_share_put(backend, &args, &error) == SPLAT_OK, "share_put: %s", error.message);
        for (uint32_t k = 0; k < n && has_depths; k++) f->depth[entries[k]] = from->conic[k];
        test_download(backend, got, f->frame.grad2d, sizeof got);
        test_download(backend, depths, f->frame.depth, sizeof depths);
        TEST_CHECK(failures, memcmp(got, wanted, sizeof got) == 0, "other gradients");
        TEST_CHECK(failures, memcmp(depths, f->depth, sizeof depths) == 0, "other depths, has_depths %d", has_depths);
    }
    splat_block_free(backend, &block);
    close_frame(backend, f);
    close_frame(backend, from);
    return failures;
}

int test_op_share_rows(splat_backend *backend)
{
    enum { WORDS = 5, ROWS = 200 };
    int failures = 0;
    uint32_t from[ROWS * WORDS], to[ROWS * WORDS] = {0}, wanted[ROWS * WORDS] = {0};
    splat_block blocks[2] = {{0}};
    splat_error error = {0};
    for (uint32_t i = 0; i < ROWS * WORDS; i++) from[i] = i + 1;
    for (uint32_t k = 0; k < 60; k++) memcpy(wanted + (5 + 3 * k) * WORDS, from + (7 + 2 * k) * WORDS, 4 * WORDS);
    struct splat_share_rows_args args = {.to = test_upload(backend, &blocks[0], to, sizeof to),
                                         .from = test_upload(backend, &blocks[1], from, sizeof from),
                                         .to_first = 5, .to_stride = 3, .from_first = 7, .from_stride = 2,
                                         .n = 60, .words = WORDS};
    TEST_CHECK(failures, splat_op_share_rows(backend, &args, &error) == SPLAT_OK, "share_rows: %s", error.message);
    test_download(backend, to, args.to, sizeof to);
    TEST_CHECK(failures, memcmp(to, wanted, sizeof to) == 0, "other rows");
    for (int i = 0; i < 2; i++) splat_block_free(backend, &blocks[i]);
    return failures;
}
