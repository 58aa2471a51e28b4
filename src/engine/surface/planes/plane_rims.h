/* The edges around a plane's segments fall onto each other in all photos where the plane is right. */
#ifndef SPLAT_SURFACE_PLANE_RIMS_H
#define SPLAT_SURFACE_PLANE_RIMS_H

#include "surface/planes/plane_parts.h"

/* Sums over the rims of a plane: the normal equations of two tilts about its axes, radians, and a shift, as
 * plane_creases.c has them; units: independent edges of a deviation of one pixel that agree. n_asked: places of rims in
 * other photos that must show an edge; n_met: those that do. */
typedef struct plane_rim_sums {
    double matrix[3][3], vector[3], units;
    uint64_t n_asked, n_met;
} plane_rim_sums;

typedef struct plane_rims plane_rims;

/* Takes the rims of all views whose pixels have a plane and whose camera stands on the segment's side of the edge. NULL
 * without memory; plane_rims_free. maps and views are borrowed. */
plane_rims *plane_rims_make(const splat_view_maps *maps, const plane_view *views, const plane_global *planes, size_t n,
                            int threads);

/* Compares the rims of each view, mapped over their planes, with those of others. cut: pixels, where Tukey's weight
 * ends. sums[n]: of each plane. False without memory. */
bool plane_rims_measure(const plane_rims *rims, const plane_global *planes, double cut, plane_rim_sums *sums);

void plane_rims_free(plane_rims *rims);

#endif
