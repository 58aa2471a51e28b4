/* The pages, painted in bands of rows. */
#ifndef SPLAT_TEXTURE_BAKE_PAGES_H
#define SPLAT_TEXTURE_BAKE_PAGES_H

#include "texture/bake_parts.h"
#include "texture/bake_view.h"

/* Counts of texels by the source of their colours. */
typedef struct splat_bake_counts {
    size_t n_texels, n_from_views, n_from_gaussians;
} splat_bake_counts;

/* Paints the pages of an atlas, pages[atlas->n_pages]: RGB, allocated here as valid[atlas->n_pages] is, which is not 0
 * for texels that have a colour of their own; free them in either case. band_texels: how many are in work at a time. */
splat_status splat_bake_pages(const splat_bake *bake, const splat_atlas *atlas, splat_bake_room *room,
                              size_t band_texels, splat_image *pages, uint8_t **valid, splat_bake_counts *counts,
                              splat_error *error);

#endif
