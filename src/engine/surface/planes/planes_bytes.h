/* Host memory that finding planes takes, for plans. */
#ifndef SPLAT_SURFACE_PLANES_BYTES_H
#define SPLAT_SURFACE_PLANES_BYTES_H

#include <stdint.h>

#define PLANE_MAX_PLANES 192 /* most planes of a scene */
#define PLANE_CELLS 64       /* along the longer side of a plane's rectangle */
#define PLANE_WORK_PIXEL_BYTES 24u
#define PLANE_POOL_SEEDS 262144u /* most seeds of all views in the segments of one plane */
#define PLANE_POOL_BYTES (36u * PLANE_POOL_SEEDS)
#define PLANE_SHADE_BYTES 655360u /* of a view: its small photo, smooth surfaces, places with residuals */
#define PLANE_VIEW_PLACES 512u     /* most places of a view that tell the noise */
#define PLANE_MOST_PLACES 65536u   /* about, of all views, that tell gains */
#define PLANE_PLACES_BYTES (512u * PLANE_MOST_PLACES) /* levels of all of them, and their weights */
#define PLANE_ROUND_BYTES 8388608u /* of places on round surfaces, pairs of them, and fits */
#define PLANE_CHOOSE_BYTES 2097152u /* of the cells of a segment, and their costs at all depths */
#define PLANE_ANCHOR_BYTES 40u      /* a place on a plane, found and kept */
#define PLANE_VIEW_ANCHORS 16384u   /* most places of a view on planes, about */
#define PLANE_RIM_SUMS_BYTES (104u * PLANE_MAX_PLANES) /* of a view's rims */
#define PLANE_REFINE_BYTES (128u * PLANE_MAX_PLANES * PLANE_MAX_PLANES) /* of two planes 9 unknowns' products, a pair */

/* At most, for maps with n_pixels in all and `largest` in one: labels, and seeds, of which rims have one for 30 pixels
 * at most, an edge and their own place; depths that others are asked for (plane_seen); then what a thread needs for a
 * view, the cells that views vote on, refining, and choosing. */
static inline uint64_t splat_planes_bytes(uint64_t n_views, uint64_t n_pixels, uint64_t largest, int threads)
{
    uint64_t cells = (uint64_t)PLANE_MAX_PLANES * (PLANE_CELLS + 1) * (PLANE_CELLS + 1);
    uint64_t anchors = n_views * PLANE_ANCHOR_BYTES * (largest < PLANE_VIEW_ANCHORS ? largest : PLANE_VIEW_ANCHORS);
    return n_pixels * 8 + n_pixels / 4 + n_views * (65536 + PLANE_SHADE_BYTES + PLANE_RIM_SUMS_BYTES) + 4 * cells +
           anchors + PLANE_REFINE_BYTES + PLANE_PLACES_BYTES + PLANE_ROUND_BYTES +
           (uint64_t)threads * (largest * PLANE_WORK_PIXEL_BYTES + cells + PLANE_POOL_BYTES + PLANE_CHOOSE_BYTES);
}

#endif
