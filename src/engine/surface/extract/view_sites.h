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
    float *costs;           /* [sites of the largest view] */
    int threads;
    splat_status (*go_on)(void *user, double fraction, splat_error *error); /* before every view; NULL: none */
    void *user;
} splat_view_sites;

/* Fills views, without any plane, of sites whose other fields are set. Errors: MEMORY; the caller frees them in any
 * case. */
splat_status splat_view_sites_make(splat_view_sites *sites, splat_error *error);
void splat_view_sites_free(splat_view_sites *sites);

/* True if the best plane of a site that the matcher has just compared counts. */
typedef bool (*splat_site_is_good)(const splat_photo_matcher *photos, size_t site);
/* True if a pixel takes the plane of its site. own: inverse depth at the pixel on the plane that the map had at the
 * site; 0: the map had none. */
typedef bool (*splat_site_takes)(const splat_view_map *map, size_t pixel, float own);

/* A question about the planes of all sites, and what becomes of the answers. */
typedef struct splat_site_pass {
    uint32_t n_sweeps;
    float most_cost; /* planes that cost so much or more do not count; INFINITY: costs do not matter */
    splat_site_is_good is_good;
    float same;      /* of the depth: a neighbour has the same place */
    bool corrects;   /* planes are those of trusted pixels: a neighbour's count next to its depth */
    splat_site_takes takes;
    splat_pixel_state state; /* of pixels that take a plane */
} splat_site_pass;

/* Asks photos about the planes of one view after the other; these become the best ones, where they count. Planes that a
 * neighbour confirms enter the maps: a neighbour trusts the place, or, where it trusts none or with `corrects`, has a
 * plane there. *n_changed grows by the pixels that took one. go_on hears the parts `from` to `to` of the work. Errors:
 * MEMORY, DEVICE, those of go_on. */
splat_status splat_view_sites_pass(splat_view_sites *sites, const splat_site_pass *pass, double from, double to,
                                   uint64_t *n_changed, splat_error *error);

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

/* True if the pixel has depth that more than the splat supports. */
static inline bool splat_view_map_is_place(const splat_view_map *map, size_t pixel)
{
    return map->state[pixel] != SPLAT_PIXEL_SKY && splat_view_map_trusted(map, pixel);
}

#endif
