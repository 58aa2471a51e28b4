/* Smooth surfaces of plain segments that follow the shading. */
#ifndef SPLAT_SURFACE_PLANE_FOLLOW_H
#define SPLAT_SURFACE_PLANE_FOLLOW_H

#include "surface/planes/plane_smooth.h"

#define PLANE_CANDIDATES 8         /* planes of a segment: first those that it is labelled with */
#define PLANE_FAIR 2.5f            /* noises: a plane with less is right */
#define PLANE_SUPPORTED 0.3f       /* levels, and at least: */
#define PLANE_SUPPORTED_NOISE 3.0f /* noises */

/* A place of a segment in each cell between the nodes of the smooth surface, and what photos say of it. */
typedef struct plane_follow_cell {
    plane_site site;
    uint32_t pixel;    /* UINT32_MAX: none of the segment */
    int slot;          /* labelled; -1 */
    bool is_before;    /* the splat's depth lies before its plane; work of plane_choose.c */
    bool is_off;       /* its plane takes what stands before it */
    bool is_found;     /* by shading */
    float planes[PLANE_CANDIDATES], smooth, raw; /* residuals */
    plane_known known; /* by shading; sigma 0: not known */
    float found;       /* of a mean: part of the cells that shading found */
} plane_follow_cell;

/* A segment of a view under work. */
typedef struct plane_chooser {
    const plane_shade *shade;
    const plane_global *planes;
    const splat_view_map *map;
    const plane_view *view;
    const plane_segment *segment;
    float noise, least, most; /* noise: levels; least, most: inverse depths that are looked at */
    uint32_t number, segment_number;
    plane_follow_cell *cells;
    size_t n_cells, columns;
    plane_known *known;
    size_t n_known, n_scene;    /* n_scene: planes of the scene */
    uint16_t candidates[PLANE_CANDIDATES];
    int n_candidates, n_own;
    bool is_raw_wrong; /* the splat's depth, where shading found another */
    plane_smooth smooth;
    bool is_large;    /* enough for a smooth surface */
} plane_chooser;

/* Fits o->smooth to what is known of the segment and to the depths at which photos agree, near the surface that all
 * depths together tell first (plane_sweep.h). Sets `known` and `is_found` of the cells. *is_fitted: false where too
 * little is known. o->cells have their places and the residuals of planes. */
splat_status plane_follow(plane_chooser *o, bool *is_fitted, splat_error *error);

#endif
