/* The mesh for physics next to a mesh: coarse, closed, and before the surface rather than behind it. */
#ifndef SPLAT_SURFACE_EXTRACT_COLLIDER_H
#define SPLAT_SURFACE_EXTRACT_COLLIDER_H

#include "mesh/mesh.h"
#include "surface/extract/extraction.h"
#include "surface/extract/surface_points.h"

#define SPLAT_COLLIDER_LEVELS 3 /* that its octree lacks */

/* Makes the collider (splat_mesh_extract) of a finished mesh, from the points of that mesh, whose octree had `depth`
 * levels: a closed surface of an octree of SPLAT_COLLIDER_LEVELS fewer, at least SPLAT_POISSON_MIN_DEPTH, simplified to
 * about collider_faces and moved outward by half a cell. A vertex that lies one to four cells inside the mesh goes in
 * front of it. Overwrites *collider, without colours. Errors: those of the reconstruction, of splat_mesh_simplify and
 * splat_extract_drop_free. */
splat_status splat_extract_collider(const splat_extraction *extraction, const splat_surface_points *points, int depth,
                                    const splat_mesh *mesh, splat_mesh *collider, splat_error *error);

#endif
