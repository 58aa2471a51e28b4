/* Agreement of views: a surface that one view sees is compared with that of other training views (docs/method.md 16;
 * the test of COLMAP's fusion of depth maps: Schoenberger et al., Pixelwise View Selection for Unstructured
 * Multi-View Stereo, ECCV 2016). */
#ifndef SPLAT_SURFACE_EXTRACT_VIEW_AGREEMENT_H
#define SPLAT_SURFACE_EXTRACT_VIEW_AGREEMENT_H

#include "ops/agree/agree.h"
#include "surface/extract/view_maps.h"

#define SPLAT_AGREEMENT_BATCH SPLAT_AGREE_BATCH /* pixels that are asked about together */

/* Asks the neighbours of maps->views[view] about n <= SPLAT_AGREEMENT_BATCH of its pixels, first + i step (y width +
 * x). Near ones together: what neighbours say of them lies near in memory. Nothing is said where the verdict is
 * SPLAT_AGREE_SILENT, which is 0. */
void splat_view_agreements(const splat_view_maps *maps, size_t view, size_t first, size_t step, size_t n,
                           splat_agreement *agreements, uint8_t *verdicts);

/* The same of one pixel; false: nothing is said, or the view sees it at too flat an angle. */
static inline bool splat_view_agreement(const splat_view_maps *maps, size_t view, size_t pixel,
                                        splat_agreement *agreement)
{
    uint8_t verdict;
    splat_view_agreements(maps, view, pixel, 1, 1, agreement, &verdict);
    return verdict > SPLAT_AGREE_FLAT;
}

/* SILENT and AGREED pixels become AGREED if they are surface, else SILENT. Does not depend on threads. */
void splat_view_maps_mark_agreed(splat_view_maps *maps, int threads);
/* The same of pixels first .. first + n - 1 of one view, from the verdicts of op agree. */
void splat_view_map_mark(splat_view_map *map, size_t first, size_t n, const uint8_t *verdicts, int threads);
/* Drops spots: pixels that agree by chance. Gaussians in the air before a background that few views see have such
 * pixels. An AGREED pixel loses its depth and becomes SILENT if less than 60 % of the pixels around it are AGREED or
 * more. The pixels around it are a grid of 7 x 7, 1/120 of the longer side apart; a pixel whose depth differs by a
 * tenth or more does not count. All views must be marked before the call. */
void splat_view_maps_drop_spots(splat_view_maps *maps, int threads);

#endif
