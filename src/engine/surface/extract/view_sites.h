/* Planes at every third pixel of all views, which photos are asked about: views are asked one after the other, each on
 * its own, and then places count that a neighbour confirms. */
#ifndef SPLAT_SURFACE_EXTRACT_VIEW_SITES_H
#define SPLAT_SURFACE_EXTRACT_VIEW_SITES_H

#include "stereo/photo_matcher.h"
#include "surface/extract/match_bytes.h"
#include "surface/extract/view_maps.h"

/* A view and its sites; planes as of op match. */
typedef struct splat_site_view {
    int columns, rows;
    float (*planes)[3]; /* [rows][columns], at first where they begin, then what photos say; q = 0: none */
    bool *is_confirmed; /* [rows][columns] */
} splat_site_view;

typedef struct splat_view_sites {
    splat_view_maps *maps;
    splat_photo_matcher *photos;
    splat_site_view *views; /* [maps->n] */
    int threads;
    bool corrects; /* planes are those of trusted pixels: a neighbour's count next to its depth */
    splat_status (*go_on)(void *user, double fraction, splat_error *error); /* before every view; NULL: none */
    void *user;
} splat_view_sites;

/* The pixels of a site: those to which it is the nearest. */
typedef struct splat_site_block {
    int left, right, top, bottom; /* right and bottom are not of it */
    int x, y;                     /* the site's own */
} splat_site_block;

/* Fills views, without any plane, of sites whose other fields are set. Errors: MEMORY; the caller frees them in any
 * case. */
splat_status splat_view_sites_make(splat_view_sites *sites, splat_error *error);
void splat_view_sites_free(splat_view_sites *sites);

/* Asks photos about the planes of a view: the matcher's best and judged have the answer, and planes stay. *is_any:
 * false if it has no plane; then nothing is asked. Errors: MEMORY, DEVICE. */
splat_status splat_view_sites_ask(splat_view_sites *sites, size_t view, uint32_t n_sweeps, bool *is_any,
                                  splat_error *error);

/* Sets is_confirmed of sites with a plane: true if a neighbour trusts the place, or, where it trusts none or
 * with `corrects`, has a plane there, to the part `same` of its depth. */
void splat_view_sites_confirm(splat_view_sites *sites, float same);

/* True if a pixel takes the plane of its site. own: inverse depth at the pixel on the plane that the map had at the
 * site; 0: the map had none. */
typedef bool (*splat_site_takes)(const splat_view_map *map, size_t pixel, float own);
/* Gives the planes of confirmed sites to pixels that take them: depth, normal and `state`. Returns the number of these
 * pixels. */
uint64_t splat_view_sites_apply(const splat_view_sites *sites, splat_site_takes takes, splat_pixel_state state);

splat_site_block splat_view_sites_block(const splat_view_sites *sites, size_t view, size_t site);

static inline size_t splat_site_count(const splat_site_view *view)
{
    return (size_t)view->columns * (size_t)view->rows;
}

/* The pixel of a site. */
static inline size_t splat_view_sites_pixel(const splat_view_sites *sites, size_t view, size_t site)
{
    return splat_match_site_pixel(sites->maps->views[view].camera.width, SPLAT_VIEW_SITE_STRIDE,
                                  (size_t)sites->views[view].columns, site);
}

/* Inverse depth of a site's plane at a pixel. */
static inline float splat_site_inverse_depth(const float plane[3], const splat_site_block *block, int x, int y)
{
    return plane[0] + plane[1] * (float)(x - block->x) + plane[2] * (float)(y - block->y);
}

/* True if the pixel has depth that more than the splat supports. */
static inline bool splat_view_map_is_place(const splat_view_map *map, size_t pixel)
{
    return map->state[pixel] != SPLAT_PIXEL_SKY && splat_view_map_trusted(map, pixel);
}

#endif
