/* A round surface from two places to what the photos support. */
#ifndef SPLAT_SURFACE_PLANE_ROUND_SHAPE_H
#define SPLAT_SURFACE_PLANE_ROUND_SHAPE_H

#include "surface/planes/plane_round_fit.h"

/* False: memory is exhausted. The caller frees it in either case. */
bool plane_round_fitter_make(plane_round_fitter *f, const plane_round_places *places);
void plane_round_fitter_free(plane_round_fitter *f);
/* True if a place may tell f->round. Places of cylinders tell the ball between them, too. A vault takes places of the
 * apse behind it, and these tell the apse as well if they lie half as far from it as from the vault, or less. */
bool plane_round_is_free(const plane_round_fitter *f, uint32_t place);
/* Fits f->round to its places and their rims. Returns the part of these that lies on it; 0: it has too few places. */
double plane_round_shape(plane_round_fitter *f);
/* Takes the rims that f->round is compared with: those of the segments of its places, as far as they are near to it.
 * Rims that planes tell are exact: where they say where a cylinder between walls is, others do not count. */
void plane_round_look_at_rims(plane_round_fitter *f);
/* The number of rims that lie on it; 0: too small a part of them does. */
double plane_round_worth(const plane_round_fitter *f);
/* Rims of a short part of a cylinder say little of its axis. Axes often have the directions of planes'
 * normals, or of the lines in which planes meet: the axis becomes that of the largest planes to which the rims do not
 * object. A long cylinder turns as its rims say. */
void plane_round_straighten(plane_round_fitter *f);
/* True if the rims on the surface lie in one plane: other balls, and oblique cylinders, pass through them, too. */
bool plane_round_is_loose(const plane_round_fitter *f);
/* False if the photos already say that a surface is somewhere else. */
bool plane_round_is_likely(plane_round_fitter *f);
/* True if f->seeds tell where a surface stands along its walls. Seeds suffice where fewer than an eighth as many lie a
 * tenth of the radius away from the surface; else shading must agree, as columns before a wall have rims, too.
 * residual: of the surface, levels. */
bool plane_round_is_told_by_rims(const plane_round_fitter *f, double residual);
/* Fits f->round and gives it its box: to the shading, or to rims alone where it touches two walls and the shading tells
 * no place. A ball between cylinders stays as it is. True if the photos support it. */
bool plane_round_is_supported(plane_round_fitter *f);

#endif
