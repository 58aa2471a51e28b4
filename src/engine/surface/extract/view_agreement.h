/* Agreement of views: a surface that one view sees is compared with that of other training views (docs/method.md 16;
 * the test of COLMAP's fusion of depth maps: Schoenberger et al., Pixelwise View Selection for Unstructured
 * Multi-View Stereo, ECCV 2016). */
#ifndef SPLAT_SURFACE_EXTRACT_VIEW_AGREEMENT_H
#define SPLAT_SURFACE_EXTRACT_VIEW_AGREEMENT_H

#include "surface/extract/view_maps.h"

/* A pixel of a view with what its neighbours say of it. The means are over the view and those that agree. */
typedef struct splat_agreement {
    float position[3]; /* world */
    float normal[3];   /* unit */
    float color[3];    /* 0 to 255 */
    float cosine;      /* between the view's normal and the direction to it */
    float baseline;    /* the largest distance of the centre of a view that agrees from the view's ray; 0: none does */
    uint32_t n_agree;  /* neighbours that see the surface there, by less than a pixel and 1 % of the distance */
    uint32_t n_against; /* neighbours that look through it, into the sky or at what is more than 2 % farther */
} splat_agreement;

#define SPLAT_AGREEMENT_BATCH 64 /* pixels that are asked about together */

/* Asks the neighbours of maps->views[view] about n <= SPLAT_AGREEMENT_BATCH of its pixels, first + i step (y width +
 * x). Near ones together: what neighbours say of them lies near in memory. is_said[n]: 0, and nothing said, where the
 * view has no depth or normal or sees it at a flatter angle than a cosine of 0.17. */
void splat_view_agreements(const splat_view_maps *maps, size_t view, size_t first, size_t step, size_t n,
                           splat_agreement *agreements, uint8_t *is_said);

/* The same of one pixel. */
static inline bool splat_view_agreement(const splat_view_maps *maps, size_t view, size_t pixel,
                                        splat_agreement *agreement)
{
    uint8_t is_said;
    splat_view_agreements(maps, view, pixel, 1, 1, agreement, &is_said);
    return is_said;
}

/* True if a pixel is surface: at least two neighbours agree (one, if the view has only one), and no more contradict. */
static inline bool splat_agreement_holds(const splat_agreement *a, uint32_t n_neighbors)
{
    uint32_t least = n_neighbors < 2 ? 1 : 2;
    return a->n_agree >= least && a->n_against <= a->n_agree;
}

/* SILENT and AGREED pixels become AGREED if they are surface, else SILENT. Does not depend on threads. */
void splat_view_maps_mark_agreed(splat_view_maps *maps, int threads);

#endif
