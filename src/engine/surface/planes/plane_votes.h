/* Votes of the views about the cells of planes. */
#ifndef SPLAT_SURFACE_PLANE_VOTES_H
#define SPLAT_SURFACE_PLANE_VOTES_H

#include "surface/planes/plane_parts.h"

/* Views that see a cell as surface, and views that see through it to something behind. */
typedef struct plane_votes {
    size_t n;            /* cells of all planes */
    uint16_t *is, *through; /* [n] */
} plane_votes;

/* stride: of every so many pixels both ways one votes. */
splat_status plane_votes_make(const splat_view_maps *maps, const plane_view *views, plane_global *planes,
                              size_t n_planes, int stride, int threads, plane_votes *votes, splat_error *error);
void plane_votes_free(plane_votes *votes);
/* Cuts the rectangle of a plane, a tenth wider each way, into cells from number `first` on; returns the next number. */
size_t plane_lay_cells(plane_global *plane, size_t first);
/* The cell of a place of a plane, or SIZE_MAX outside of its rectangle. */
size_t plane_cell(const plane_global *plane, const float position[3]);
/* Candidates for segments whose own seeds name none: the surfaces that most of their pixels meet first. */
void plane_adopt(const splat_view_map *map, plane_view *view, const plane_global *planes, size_t n_planes,
                 const plane_votes *votes);
/* Settles what is undecided by the first surface on the ray, and drops what views see through. */
void plane_settle(const splat_view_map *map, plane_view *view, const plane_global *planes, const plane_votes *votes);

#endif
