/* share_find, share_pack, share_unpack, share_colors, share_hide, share_put, share_rows: data that ranks exchange while
 * they train one scene together (docs/distributed.md): projected Gaussians go to the rank that blends a view, their
 * gradients return, and rows of the model move. Ranks exchange packed rows; these ops pack and unpack them. */
#ifndef SPLAT_OPS_SHARE_H
#define SPLAT_OPS_SHARE_H

#include "ops/frame.h"
#include "ops/loss/loss.h" /* SPLAT_LOSS_KEPT */

/* The output of project for a Gaussian, without its colour. */
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
    uint32_t *counts; /* [n_views], host memory */
};

/* share_pack: rows[k] is entry entries[k] of the frame. */
struct splat_share_pack_args {
    const splat_frame *frame;
    const uint32_t *entries;
    uint32_t n;
    splat_share_row *rows;
};

/* share_unpack: entry v of the frame becomes rows[v], and ids[v] = v; colours stay. The frame has the capacity for n;
 * its n_visible becomes n. */
struct splat_share_unpack_args {
    const splat_share_row *rows;
    uint32_t n;
    splat_frame *frame;
};

/* share_colors: colors[k] is rgb[entries[k]], rows of as many floats as stated; overlaps with the next work, as the
 * colours of project do. */
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
    const float *depths; /* [n] dL/dz, which goes to grad_depth[entries[k]]; or NULL both */
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
