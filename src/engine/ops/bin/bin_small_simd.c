/* Sixteen walks of bin_cpu.c side by side, with the same decisions: loops over lanes, which the compiler turns into
 * vectors. */
#include "ops/bin/bin_small.h"
#include "ops/raster/reach.h"
#include "ops/simd.h"

#define LANES SPLAT_LANES

typedef struct walks {
    double u[LANES], v[LANES], a[LANES], b[LANES], c[LANES]; /* in */
    float power_min[LANES];
    int32_t x0[LANES], y0[LANES], x1[LANES], y1[LANES];      /* in: tiles; y1 <= y0: none */
    double form_a[LANES], determinant[LANES], half_height[LANES], y_right[LANES];
    int32_t known[LANES];                                    /* true if the form is finite */
    uint64_t rows[LANES];                                    /* out */
    int32_t count[LANES];
} walks;

/* The picture in which they walk. */
typedef struct walk_bounds {
    double jitter, last_x, last_y;
    double last_tile; /* of a row */
} walk_bounds;

SPLAT_FORCE_INLINE void SIMD(walks_begin)(walks *restrict w)
{
    for (int l = 0; l < LANES; l++) {
        double a = w->a[l], b = w->b[l], c = w->c[l];
        splat_reach reach = splat_reach_at(a, b, c, w->power_min[l]);
        w->known[l] = reach.form < INFINITY;
        w->form_a[l] = reach.form * a;
        w->determinant[l] = a * c - b * b;
        w->half_height[l] = sqrt(reach.form * a * reach.inverse);
        w->y_right[l] = -b * sqrt(reach.form * reach.inverse / c);
        w->rows[l] = 0;
        w->count[l] = 0;
    }
}

/* NaN: low. */
SPLAT_FORCE_INLINE double clamp_within(double x, double low, double high)
{
    x = x > low ? x : low;
    return x < high ? x : high;
}

/* The k-th row of tiles of each. */
SPLAT_FORCE_INLINE void SIMD(walks_row)(const walk_bounds *bounds, int32_t k, walks *restrict w)
{
    for (int l = 0; l < LANES; l++) {
        double u = w->u[l], v = w->v[l], a = w->a[l], b = w->b[l], half = w->half_height[l];
        double top = (w->y0[l] + k) * (double)SPLAT_TILE - bounds->jitter;
        double bottom = top + 2 * bounds->jitter + SPLAT_TILE - 1;
        bottom = bottom < bounds->last_y ? bottom : bounds->last_y;
        top -= v;
        bottom -= v;
        int32_t outside = (bottom < -half) | (top > half);

        double y = clamp_within(w->y_right[l], top, bottom), root = w->form_a[l] - w->determinant[l] * y * y;
        double right = u + (-b * y + sqrt(root > 0 ? root : 0)) / a;
        y = clamp_within(-w->y_right[l], top, bottom);
        root = w->form_a[l] - w->determinant[l] * y * y;
        double left = u + (-b * y - sqrt(root > 0 ? root : 0)) / a;
        outside |= left > bounds->last_x;

        double first = ceil((left - bounds->jitter - (SPLAT_TILE - 1)) / SPLAT_TILE);
        double end = floor((right + bounds->jitter) / SPLAT_TILE) + 1.0;
        int32_t x0 = w->x0[l], x1 = w->x1[l];
        int32_t from = (int32_t)clamp_within(first, x0, bounds->last_tile), to = (int32_t)clamp_within(end, 0, x1);
        int32_t any = -((w->y0[l] + k < w->y1[l]) & !outside & (to > from)), known = -w->known[l];
        int32_t all = -(w->y0[l] + k < w->y1[l]);
        int32_t n = (known & any & (to - from)) | (~known & all & (x1 - x0));
        int32_t skipped = known & any & (from - x0);
        w->count[l] += n;
        w->rows[l] |= (uint64_t)(uint32_t)(skipped << 4 | n) << 8 * k;
    }
}

SPLAT_BIN_SMALL(SIMD(splat_bin_small))
{
    const double jitter = frame->jitter ? 0.5 : 0.0;
    const walk_bounds bounds = {.jitter = jitter,
                                .last_x = frame->camera.width - 1 + jitter,
                                .last_y = frame->camera.height - 1 + jitter,
                                .last_tile = (double)frame->tiles_x - 1};
    for (uint32_t first = begin; first < end; first += LANES) {
        uint32_t n = end - first < LANES ? end - first : LANES;
        int32_t most = 0, small[LANES];
        walks w = {0};
        for (uint32_t l = 0; l < n; l++) {
            const splat_raster_row *row = frame->raster_rows + first + l;
            const uint16_t *rect = frame->tile_rect + 4 * (size_t)(first + l);
            int32_t y0 = rect[1] > frame->row_begin ? rect[1] : (int32_t)frame->row_begin;
            bool any = rect[2] > rect[0] && rect[3] > y0 && row->alpha0 * 255.0f >= 1.0f - SPLAT_REACH_SLACK;
            int32_t height = any ? rect[3] - y0 : 0;
            small[l] = height <= SPLAT_SMALL_ROWS && (!any || rect[2] - rect[0] <= SPLAT_SMALL_COLUMNS);
            if (!small[l]) height = 0;
            most = height > most ? height : most;
            w.u[l] = row->u;
            w.v[l] = row->v;
            w.a[l] = row->a;
            w.b[l] = row->b;
            w.c[l] = row->c;
            w.power_min[l] = row->power_min;
            w.x0[l] = rect[0];
            w.y0[l] = y0;
            w.x1[l] = rect[2];
            w.y1[l] = y0 + height;
        }
        SIMD(walks_begin)(&w);
        for (int32_t k = 0; k < most; k++) SIMD(walks_row)(&bounds, k, &w);
        for (uint32_t l = 0; l < n; l++) {
            rows[first + l] = small[l] ? w.rows[l] : SPLAT_NOT_SMALL;
            counts[first + l] = (uint32_t)w.count[l];
        }
    }
}
