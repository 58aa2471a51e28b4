/* Places on surfaces, and how bright each photo shows them. */
#ifndef SPLAT_SURFACE_PLANE_PLACES_H
#define SPLAT_SURFACE_PLANE_PLACES_H

#include "surface/planes/plane_shade.h"

/* A place, and the logarithms of its levels in the photos of the views that see it. */
typedef struct plane_place {
    uint32_t n, views[PLANE_SHADE_VIEWS];
    float logs[3][PLANE_SHADE_VIEWS];
    bool is_guessed; /* in a plain region, by the splat's depth alone, which may be wrong there */
} plane_place;

typedef struct plane_places {
    plane_place *all; /* [n] */
    size_t n, n_views;
    size_t *first;     /* [n_views + 1] into `entries`: the levels of a view */
    uint32_t *entries; /* place * PLANE_SHADE_VIEWS + number in it */
} plane_places;

/* Takes places of all views: on what the photos chose (plane_choose), where that was asked, on planes, and else on the
 * splat's depth. They lie on a grid in each picture, PLANE_MOST_PLACES of them in all at most. Does not depend on
 * threads. The caller frees them; not after an error. */
splat_status plane_places_take(const plane_shade *shade, const plane_global *planes, int threads, plane_places *places,
                               splat_error *error);
void plane_places_free(plane_places *places);
/* Appends to `residuals` those of a view's grid of places that lie on planes; returns how many. residuals has room for
 * PLANE_VIEW_PLACES. After plane_shade_even. */
uint32_t plane_places_residuals(const plane_shade *shade, const plane_global *planes, uint32_t view, float *residuals);

/* Pixels of the small photos between places of a grid in every picture: `least`, or more, so that all grids together
 * have about `most` places. */
int plane_places_step(const plane_shade *shade, int least, size_t most);
/* Room for the places of one view's grid. */
size_t plane_places_grid(const plane_shade *shade, size_t v, int step);

#endif
