/* Sky: depth beyond the foreground that views agree on although there is no surface, because the splat invented it. */
#ifndef SPLAT_SURFACE_EXTRACT_SKY_FILTER_H
#define SPLAT_SURFACE_EXTRACT_SKY_FILTER_H

#include "surface/extract/extraction.h"
#include "surface/extract/view_maps.h"

#define SPLAT_SKY_CELLS 32u /* along each side of the background box */

/* True if the render around a pixel has one colour or an even gradient, so that every depth explains it. */
bool splat_sky_is_plain(const splat_view_map *map, size_t pixel);

/* The opinion of the photos about a pixel's depth. */
typedef enum splat_sky_opinion {
    SPLAT_SKY_SILENT,  /* too plain, or no two neighbours far enough to the side */
    SPLAT_SKY_SURFACE, /* they are similar at this depth, more than at infinity */
    SPLAT_SKY_EMPTY
} splat_sky_opinion;

/* Compares the photo around a pixel of maps->views[view] with those of neighbours, by their correlation: at the pixel's
 * depth, and at infinity. Silent without splat_view_map.gray. */
splat_sky_opinion splat_sky_compare_photos(const splat_view_maps *maps, size_t view, size_t pixel);

/* Opinions about the cells of the background box. */
typedef struct splat_sky_cells {
    double low[3], side[3];    /* corner and sides of the cells */
    uint8_t *is_empty;         /* [SPLAT_SKY_CELLS]^3 */
    size_t n_surface, n_empty; /* pixels that said so */
} splat_sky_cells;

/* Asks every 24th pixel both ways that is surface beyond the foreground, neither plain nor on a plane. Where most of
 * those in a cell and the 26 around it say that there is nothing, it is so. Does not depend on threads. *sky is
 * overwritten; the caller frees it. Errors: MEMORY. */
splat_status splat_sky_cells_find(const splat_view_maps *maps, const splat_surface_boxes *boxes, int threads,
                                  splat_sky_cells *sky, splat_error *error);
void splat_sky_cells_free(splat_sky_cells *sky);
/* False outside of the background box, and where nothing was found out. */
bool splat_sky_cells_are_empty_at(const splat_sky_cells *sky, const float position[3]);

#endif
