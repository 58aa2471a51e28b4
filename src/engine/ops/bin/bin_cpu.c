/* bin on the CPU: a radix sort of the visible by depth, then one stable counting sort of their tiles. Work is cut into
 * contiguous chunks with a histogram each; a stable sort has one result: neither chunks nor threads can change it. */
#include "ops/bin/bin.h"

#include "backend/backend.h"
#include "ops/bin/band.h"
#include "ops/bin/bin_bytes.h"
#include "ops/bin/bin_small.h"
#include "ops/raster/raster_rows.h"
#include "ops/raster/reach.h"

#include <string.h>

#define RADIX_BITS SPLAT_BIN_RADIX_BITS /* 32 key bits in three passes */
#define RADIX_SIZE SPLAT_BIN_RADIX_SIZE

typedef struct chunks {
    uint32_t n; /* elements */
    int count, threads;
} chunks;

static chunks chunks_make(uint32_t n, int threads)
{
    return (chunks){n, (int)splat_bin_chunks(n, (size_t)threads), threads};
}

static uint32_t chunk_begin(chunks c, int index)
{
    return (uint32_t)((uint64_t)c.n * (uint64_t)index / (uint64_t)c.count);
}

/* ---------------------------------------------------------------- depth order */

/* One stable pass by RADIX_BITS of the keys (high halves), from bit `shift`. histograms: [count][RADIX_SIZE]. */
static void radix_pass(chunks c, const uint64_t *from, uint64_t *to, uint32_t shift, uint32_t *histograms)
{
#pragma omp parallel for num_threads(c.threads) schedule(static, 1)
    for (int chunk = 0; chunk < c.count; chunk++) {
        uint32_t *histogram = histograms + (size_t)chunk * RADIX_SIZE;
        memset(histogram, 0, RADIX_SIZE * sizeof *histogram);
        uint32_t end = chunk_begin(c, chunk + 1);
        for (uint32_t i = chunk_begin(c, chunk); i < end; i++) histogram[from[i] >> shift & (RADIX_SIZE - 1)]++;
    }
    uint32_t sum = 0;
    for (uint32_t digit = 0; digit < RADIX_SIZE; digit++)
        for (int chunk = 0; chunk < c.count; chunk++) {
            uint32_t *slot = histograms + (size_t)chunk * RADIX_SIZE + digit, count = *slot;
            *slot = sum;
            sum += count;
        }
#pragma omp parallel for num_threads(c.threads) schedule(static, 1)
    for (int chunk = 0; chunk < c.count; chunk++) {
        uint32_t *next = histograms + (size_t)chunk * RADIX_SIZE;
        uint32_t end = chunk_begin(c, chunk + 1);
        for (uint32_t i = chunk_begin(c, chunk); i < end; i++)
            to[next[from[i] >> shift & (RADIX_SIZE - 1)]++] = from[i];
    }
}

static uint64_t entry_of(const splat_frame *frame, uint32_t v)
{
    uint32_t bits;
    memcpy(&bits, &frame->depth[v], sizeof bits);
    return (uint64_t)bits << 32 | v;
}

/* Entries (depth bits << 32 | visible index) of the visible that may lie in the band; returns their number. */
static uint32_t list_entries(const splat_frame *frame, int threads, uint64_t *entries)
{
    uint32_t n = 0;
    if (frame->row_begin == 0) {
#pragma omp parallel for num_threads(threads) schedule(static)
        for (uint32_t v = 0; v < frame->n_visible; v++) entries[v] = entry_of(frame, v);
        return frame->n_visible;
    }
    for (uint32_t v = 0; v < frame->n_visible; v++)
        if (frame->tile_rect[4 * (size_t)v + 3] > frame->row_begin) entries[n++] = entry_of(frame, v);
    return n;
}

/* Ascending. Visible indices follow the ids, and the sort is stable. a holds the entries, b has room for as many;
 * returns the one with the result. */
static const uint64_t *sort_by_depth(chunks c, uint64_t *a, uint64_t *b, uint32_t *histograms)
{
    for (uint32_t shift = 32; shift < 64; shift += RADIX_BITS) {
        radix_pass(c, a, b, shift, histograms);
        uint64_t *swap = a;
        a = b;
        b = swap;
    }
    return a;
}

/* ---------------------------------------------------------------- tiles of a Gaussian */

/* Values shared by the rows of tiles of one Gaussian. */
typedef struct tile_walk {
    double u, v, a, b, c, form;
    double determinant; /* AC - B^2 */
    double half_height; /* of the ellipse */
    double y_right;     /* dy of its rightmost point; the leftmost lies at -y_right */
    double jitter;      /* positions lie so far from the pixels at most */
    uint32_t x0, y0, x1, y1;
} tile_walk;

/* False: no tile at all. The walk begins at the band's first row. */
static bool walk_begin(const splat_frame *frame, uint32_t v, tile_walk *walk)
{
    const float *conic = frame->conic + 4 * (size_t)v;
    const uint16_t *rect = frame->tile_rect + 4 * (size_t)v;
    uint32_t y0 = rect[1] > frame->row_begin ? rect[1] : frame->row_begin;
    if (rect[2] <= rect[0] || rect[3] <= y0) return false;
    splat_reach reach = splat_reach_of(conic);
    if (reach.form < 0) return false;
    *walk = (tile_walk){.u = frame->mean2d[2 * (size_t)v], .v = frame->mean2d[2 * (size_t)v + 1],
                        .a = conic[0], .b = conic[1], .c = conic[2], .form = reach.form,
                        .jitter = frame->jitter ? 0.5 : 0.0,
                        .x0 = rect[0], .y0 = y0, .x1 = rect[2], .y1 = rect[3]};
    if (walk->form < INFINITY) {
        walk->determinant = walk->a * walk->c - walk->b * walk->b;
        walk->half_height = sqrt(walk->form * walk->a * reach.inverse);
        walk->y_right = -walk->b * sqrt(walk->form * reach.inverse / walk->c);
    }
    return true;
}

static double clamp(double x, double low, double high)
{
    return x < low ? low : x > high ? high : x;
}

/* The tiles x0 <= x < x1 of row ty that the ellipse meets; the return value is their number. Exact: the part of the
 * ellipse inside the strip of the row is convex, so a tile of the row meets it when their ranges of x meet; the range's
 * ends lie where the strip is nearest to the ellipse's rightmost and leftmost points. */
static uint32_t walk_row(const tile_walk *w, const splat_frame *frame, uint32_t ty, uint32_t *x0)
{
    *x0 = w->x0;
    if (!(w->form < INFINITY)) return w->x1 - w->x0;
    double last_x = frame->camera.width - 1 + w->jitter, last_y = frame->camera.height - 1 + w->jitter;
    double top = ty * (double)SPLAT_TILE - w->jitter, bottom = top + 2 * w->jitter + SPLAT_TILE - 1;
    if (bottom > last_y) bottom = last_y;
    top -= w->v;
    bottom -= w->v;
    if (bottom < -w->half_height || top > w->half_height) return 0;

    double y = clamp(w->y_right, top, bottom), root = w->form * w->a - w->determinant * y * y;
    double right = w->u + (-w->b * y + sqrt(root > 0 ? root : 0)) / w->a;
    y = clamp(-w->y_right, top, bottom);
    root = w->form * w->a - w->determinant * y * y;
    double left = w->u + (-w->b * y - sqrt(root > 0 ? root : 0)) / w->a;

    /* A tile's positions are [16 tx - jitter, 16 tx + 15 + jitter], cut at last_x. */
    if (left > last_x) return 0;
    double first = ceil((left - w->jitter - (SPLAT_TILE - 1)) / SPLAT_TILE);
    double end = floor((right + w->jitter) / SPLAT_TILE) + 1.0;
    uint32_t begin = (uint32_t)clamp(first, w->x0, frame->tiles_x - 1);
    uint32_t stop = (uint32_t)clamp(end, 0, w->x1);
    *x0 = begin;
    return stop > begin ? stop - begin : 0;
}

/* ---------------------------------------------------------------- instances */

#define AHEAD 12 /* entries: what is read of them lies anywhere, in the order of their depths */

static void fetch_ahead(const splat_frame *frame, const uint64_t *order, const uint64_t *rows, uint32_t i, uint32_t n)
{
    if (i + AHEAD >= n) return;
    size_t v = (uint32_t)order[i + AHEAD];
    __builtin_prefetch(rows + v);
    __builtin_prefetch(frame->tile_rect + 4 * v);
}

/* The first row of a Gaussian in the band, and its first tile there. */
static uint32_t first_row(const splat_frame *frame, uint32_t v)
{
    uint32_t y0 = frame->tile_rect[4 * (size_t)v + 1];
    return y0 > frame->row_begin ? y0 : frame->row_begin;
}

static size_t first_tile(const splat_frame *frame, uint32_t v)
{
    return (size_t)first_row(frame, v) * frame->tiles_x + frame->tile_rect[4 * (size_t)v];
}

static void count_row(uint32_t *differences, size_t tile, uint32_t n)
{
    differences[tile]++;
    differences[tile + n]--;
}

/* Counts the tiles of each entry that is not small into counts[v], and how many entries of each chunk of the depth
 * order each tile has, as differences along the tiles: a row of tiles costs two additions.
 * tile_counts: [count][n_tiles + 1]. */
static void count_tiles(const splat_frame *frame, chunks c, const uint64_t *order, const uint64_t *rows,
                        uint32_t *counts, uint32_t *tile_counts)
{
    size_t stride = (size_t)frame->tiles_x * frame->tiles_y + 1;
#pragma omp parallel for num_threads(c.threads) schedule(static, 1)
    for (int chunk = 0; chunk < c.count; chunk++) {
        uint32_t *differences = tile_counts + (size_t)chunk * stride;
        memset(differences, 0, stride * sizeof *differences);
        uint32_t end = chunk_begin(c, chunk + 1);
        for (uint32_t i = chunk_begin(c, chunk); i < end; i++) {
            uint32_t v = (uint32_t)order[i];
            fetch_ahead(frame, order, rows, i, c.n);
            if (rows[v] != SPLAT_NOT_SMALL) {
                size_t tile = first_tile(frame, v);
                for (uint64_t packed = rows[v]; packed; packed >>= 8, tile += frame->tiles_x)
                    count_row(differences, tile + (packed >> 4 & 15), packed & 15);
                continue;
            }
            tile_walk walk;
            bool any = walk_begin(frame, v, &walk);
            counts[v] = 0;
            for (uint32_t ty = any ? walk.y0 : 0; any && ty < walk.y1; ty++) {
                uint32_t x0, n = walk_row(&walk, frame, ty, &x0);
                if (n) count_row(differences, (size_t)ty * frame->tiles_x + x0, n);
                counts[v] += n;
            }
        }
        for (size_t tile = 1; tile < stride; tile++) differences[tile] += differences[tile - 1];
    }
}

/* The instances of each row of tiles from row_begin on. */
static void sum_rows(const splat_frame *frame, chunks c, const uint32_t *tile_counts, uint64_t *rows)
{
    size_t tiles_x = frame->tiles_x, stride = tiles_x * frame->tiles_y + 1;
    for (uint32_t row = frame->row_begin; row < frame->tiles_y; row++) {
        rows[row] = 0;
        for (int chunk = 0; chunk < c.count; chunk++)
            for (size_t x = 0; x < tiles_x; x++) rows[row] += tile_counts[(size_t)chunk * stride + row * tiles_x + x];
    }
}

/* Takes the rows from row_end on out of what count_tiles left in rows and counts. */
static void cut_rows(const splat_frame *frame, chunks c, const uint64_t *order, uint64_t *rows, uint32_t *counts)
{
    uint32_t row_end = frame->row_end;
#pragma omp parallel for num_threads(c.threads) schedule(static)
    for (uint32_t i = 0; i < c.n; i++) {
        uint32_t v = (uint32_t)order[i], y0 = first_row(frame, v), count = 0;
        if (rows[v] != SPLAT_NOT_SMALL) {
            if (y0 + SPLAT_SMALL_ROWS > row_end)
                rows[v] &= y0 < row_end ? ((uint64_t)1 << (row_end - y0) * 8) - 1 : 0;
            for (uint64_t packed = rows[v]; packed; packed >>= 8) count += packed & 15;
        } else {
            tile_walk walk;
            walk_begin(frame, v, &walk);
            for (uint32_t ty = walk.y0, x0; ty < walk.y1 && ty < row_end; ty++)
                count += walk_row(&walk, frame, ty, &x0);
        }
        counts[v] = count;
    }
}

/* Counts become the place of the first instance of (tile, chunk); tile_begin is filled. */
static void place_tiles(splat_frame *frame, chunks c, uint32_t *tile_counts)
{
    size_t n_tiles = (size_t)frame->tiles_x * frame->tiles_y, end = (size_t)frame->tiles_x * frame->row_end;
    uint32_t sum = 0;
    for (size_t tile = (size_t)frame->tiles_x * frame->row_begin; tile < end; tile++) {
        frame->tile_begin[tile] = sum;
        for (int chunk = 0; chunk < c.count; chunk++) {
            uint32_t *slot = tile_counts + (size_t)chunk * (n_tiles + 1) + tile, count = *slot;
            *slot = sum;
            sum += count;
        }
    }
    frame->tile_begin[end] = sum;
}

/* Writes v at the places of n tiles; returns the next slot. */
static uint32_t emit_row(splat_frame *frame, uint32_t v, uint32_t *place, uint32_t n, uint32_t slot)
{
    for (uint32_t k = 0; k < n; k++) {
        uint32_t at = place[k]++;
        frame->instances[at] = v;
        frame->instance_slots[at] = slot++;
    }
    return slot;
}

static void emit_instances(splat_frame *frame, chunks c, const uint64_t *order, const uint64_t *rows, uint32_t *places)
{
    size_t stride = (size_t)frame->tiles_x * frame->tiles_y + 1;
#pragma omp parallel for num_threads(c.threads) schedule(static, 1)
    for (int chunk = 0; chunk < c.count; chunk++) {
        uint32_t *next = places + (size_t)chunk * stride;
        uint32_t end = chunk_begin(c, chunk + 1);
        for (uint32_t i = chunk_begin(c, chunk); i < end; i++) {
            uint32_t v = (uint32_t)order[i], slot = frame->slot_begin[v];
            fetch_ahead(frame, order, rows, i, c.n);
            if (rows[v] != SPLAT_NOT_SMALL) {
                uint32_t *place = next + first_tile(frame, v);
                for (uint64_t packed = rows[v]; packed; packed >>= 8, place += frame->tiles_x)
                    slot = emit_row(frame, v, place + (packed >> 4 & 15), packed & 15, slot);
                continue;
            }
            tile_walk walk;
            if (!walk_begin(frame, v, &walk)) continue;
            for (uint32_t ty = walk.y0; ty < walk.y1 && ty < frame->row_end; ty++) {
                uint32_t x0, n = walk_row(&walk, frame, ty, &x0);
                slot = emit_row(frame, v, next + (size_t)ty * frame->tiles_x + x0, n, slot);
            }
        }
    }
}

/* The band's last row, and rows and counts of the band alone; *total: its instances. */
static splat_status choose_band(splat_backend *backend, splat_frame *frame, chunks c, const uint64_t *order,
                                uint64_t *rows, const uint32_t *tile_counts, uint64_t *total, splat_error *error)
{
    uint32_t *counts = frame->slot_begin + 1;
    if (frame->max_instances) {
        void *row_counts;
        SPLAT_TRY(splat_scratch_take(backend, splat_bin_rows_bytes(frame->tiles_y), &row_counts, error));
        sum_rows(frame, c, tile_counts, row_counts);
        SPLAT_TRY(splat_band_choose(frame, row_counts, total, error));
        if (frame->row_end < frame->tiles_y) cut_rows(frame, c, order, rows, counts);
    } else {
        frame->row_end = frame->tiles_y;
        *total = 0;
        for (size_t v = 0; v < frame->n_visible; v++) *total += counts[v];
    }
    if (*total <= UINT32_MAX) return SPLAT_OK;
    return splat_fail(error, SPLAT_ERROR_UNSUPPORTED,
                      "%llu (Gaussian, tile) pairs in one view are more than the 2^32 - 1 that can be rendered; "
                      "use a smaller picture or fewer Gaussians", (unsigned long long)*total);
}

static splat_status take_instances(splat_backend *backend, splat_frame *frame, uint64_t total, splat_error *error)
{
    frame->n_instances = total;
    if (frame->instances && total <= frame->instance_room) return SPLAT_OK;
    uint64_t room = splat_band_is_view(frame) ? total : frame->max_instances;
    void *data;
    frame->instances = NULL;
    SPLAT_TRY(splat_frame_take(backend, frame, splat_bin_list_bytes(room), &data, error));
    frame->instances = data;
    frame->instance_slots = frame->instances + room;
    frame->instance_room = room;
    return SPLAT_OK;
}

#define SIMD_BLOCK 1024u /* Gaussians of a task of the kernels */

static uint32_t block_end(uint32_t begin, uint32_t n)
{
    return n - begin < SIMD_BLOCK ? n : begin + SIMD_BLOCK;
}

static splat_status make_raster_rows(splat_backend *backend, splat_frame *frame, splat_error *error)
{
    SPLAT_RASTER_MAKE_ROWS((*make)) = SPLAT_OF_LEVEL(backend->simd, splat_raster_make_rows);
    const uint32_t n = frame->n_visible;
    size_t bytes = splat_bin_raster_rows_bytes(frame->capacity);
    if (!frame->raster_rows) SPLAT_TRY(splat_frame_take(backend, frame, bytes, (void **)&frame->raster_rows, error));
#pragma omp parallel for num_threads(backend->threads) schedule(static)
    for (uint32_t begin = 0; begin < n; begin += SIMD_BLOCK) make(frame, begin, block_end(begin, n));
    return SPLAT_OK;
}

static void walk_small(const splat_backend *backend, const splat_frame *frame, uint64_t *rows, uint32_t *counts)
{
    SPLAT_BIN_SMALL((*walk)) = SPLAT_OF_LEVEL(backend->simd, splat_bin_small);
    const uint32_t n = frame->n_visible;
#pragma omp parallel for num_threads(backend->threads) schedule(static)
    for (uint32_t begin = 0; begin < n; begin += SIMD_BLOCK) walk(frame, begin, block_end(begin, n), rows, counts);
}

splat_status splat_bin_cpu(splat_backend *backend, const struct splat_bin_args *args, splat_error *error)
{
    splat_frame *frame = args->frame;
    size_t n = frame->n_visible, n_tiles = (size_t)frame->tiles_x * frame->tiles_y;
    void *pairs, *histograms;
    frame->n_instances = 0;
    SPLAT_TRY(splat_scratch_reset(backend, error));
    SPLAT_TRY(splat_scratch_take(backend, splat_bin_pairs_bytes(n), &pairs, error));
    if (!frame->slot_begin)
        SPLAT_TRY(splat_frame_take(backend, frame, splat_bin_slots_bytes(n), (void **)&frame->slot_begin, error));
    if (frame->row_begin == 0 || !frame->raster_rows) SPLAT_TRY(make_raster_rows(backend, frame, error));

    chunks c = chunks_make(list_entries(frame, backend->threads, pairs), backend->threads);
    size_t histogram_bytes = splat_bin_histograms_bytes((size_t)c.count, n_tiles);
    SPLAT_TRY(splat_scratch_take(backend, histogram_bytes, &histograms, error));
    uint64_t *half = (uint64_t *)pairs + n;
    const uint64_t *order = sort_by_depth(c, pairs, half, histograms);
    uint64_t *rows = order == pairs ? half : pairs; /* the half that is free */
    walk_small(backend, frame, rows, frame->slot_begin + 1);
    count_tiles(frame, c, order, rows, frame->slot_begin + 1, histograms);
    uint64_t total = 0;
    SPLAT_TRY(choose_band(backend, frame, c, order, rows, histograms, &total, error));

    frame->slot_begin[0] = 0;
    for (size_t v = 0; v < n; v++) frame->slot_begin[v + 1] += frame->slot_begin[v];
    SPLAT_TRY(take_instances(backend, frame, total, error));
    place_tiles(frame, c, histograms);
    emit_instances(frame, c, order, rows, histograms);
    return splat_scratch_reset(backend, error);
}
