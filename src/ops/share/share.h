/* share_find, share_pack, share_order, share_unpack, share_colors, share_hide, share_put, share_rows: what goes between
 * ranks that train one scene together (docs/distributed.md): projected Gaussians to the rank that blends a view, or
 * some rows of its tiles, their gradients back, and rows of the model. Ranks exchange packed rows; these ops make them
 * and take them apart. */
#ifndef SPLAT_OPS_SHARE_H
#define SPLAT_OPS_SHARE_H

#include "ops/frame.h"
#include "ops/loss/loss.h"

/* What project leaves of a Gaussian but its colour. */
typedef struct splat_share_row {
    float mean[2], conic[4], depth;
    uint16_t rect[4];
} splat_share_row;

/* share_find: of each view the entries of its frame that some pixel may blend (a tile_rect that is not empty), in
 * ascending order: entries[view][counts[view]], capacity n_visible of the frame, and counts on the host, for which it
 * waits, though not for colours. Scratch is reset. */
struct splat_share_find_args {
    const splat_frame *const *frames;
    uint32_t n_views;
    uint32_t *const *entries;
    uint32_t *counts;     /* [n_views], host memory */
    const uint32_t *rows; /* [n_views + 1], host memory, or NULL. Of view k only what reaches into the rows of tiles
                             rows[k] .. rows[k + 1] - 1 */
};

/* share_pack: rows[k] is entry entries[k] of the frame. */
struct splat_share_pack_args {
    const splat_frame *frame;
    const uint32_t *entries;
    uint32_t n;
    splat_share_row *rows;
    uint32_t *ids;               /* [n] of the Gaussians, or NULL */
    uint32_t row_begin, row_end; /* tile_rect is cut to these rows of tiles; both 0: it stays */
};

/* share_order: ids[k] are lists of n_ranks ranks, one after the other, counts[r] long, each ascending. Gaussian i of
 * rank r is number i n_ranks + r of all; order[v] is the place k of the v-th of them by that number. */
struct splat_share_order_args {
    const uint32_t *ids;
    const uint64_t *counts; /* [n_ranks], host memory; their sum is below 2^32 */
    uint32_t n_ranks;       /* at most SPLAT_SHARE_MAX_RANKS, else UNSUPPORTED */
    uint32_t *order;
};

#define SPLAT_SHARE_MAX_RANKS 512

static inline splat_status splat_share_order_check(const struct splat_share_order_args *args, splat_error *error)
{
    if (args->n_ranks <= SPLAT_SHARE_MAX_RANKS) return SPLAT_OK;
    return splat_fail(error, SPLAT_ERROR_UNSUPPORTED, "a photo can be shared by %d GPUs, not by %u",
                      SPLAT_SHARE_MAX_RANKS, args->n_ranks);
}

/* share_unpack: entry v of the frame becomes rows[v], and ids[v] = v; colours stay. The frame has the capacity for n;
 * its n_visible becomes n. */
struct splat_share_unpack_args {
    const splat_share_row *rows;
    uint32_t n;
    splat_frame *frame;
    const uint32_t *order; /* [n] or NULL: entry v becomes rows[order[v]], and a device goes on counting as visible what
                              project saw */
};

/* share_colors: colors[k] is rgb[entries[k]], rows of as many floats as are said; beside what comes next, as project
 * writes them. */
struct splat_share_colors_args {
    const float *rgb; /* [..][channels] */
    const uint32_t *entries;
    uint32_t n;
    float *colors; /* [n][channels] */
    uint32_t channels; /* 3 of colours, 4 of planes (ops/geometry) */
};

/* share_hide: mean_abs of a visible entry's grad2d becomes NaN where the mask does not keep the pixel under its mean
 * (statistics_mask of project_backward): statistics leave such an entry out, and gradients are as they were. */
struct splat_share_hide_args {
    splat_frame *frame;
    const uint8_t *mask; /* [height][width] */
};

/* share_put: gradients[entries[k]] becomes rows[k]; each entry is named once. */
struct splat_share_put_args {
    const splat_grad2d *rows;
    const uint32_t *entries;
    uint32_t n;
    splat_grad2d *gradients;
    bool adds; /* rows[k] is added */
    const float *depths; /* [n] and, of as many as gradients, dL/dz: likewise; or NULL both */
    float *grad_depth;
};

/* share_rows: row to_first + k to_stride of `to` becomes row from_first + k from_stride of `from`, k below n. Rows are
 * of `words` words of 32 bits; nothing that is written is read, too. */
struct splat_share_rows_args {
    uint32_t *to;
    const uint32_t *from;
    size_t to_first, to_stride, from_first, from_stride;
    uint32_t n, words;
};

#endif
