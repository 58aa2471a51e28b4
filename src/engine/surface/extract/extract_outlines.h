/* Outlines of the mesh follow the outlines of the splat: where a surface ends before the sky, before nothing, or
 * before a surface that lies clearly farther away. */
#ifndef SPLAT_SURFACE_EXTRACT_OUTLINES_H
#define SPLAT_SURFACE_EXTRACT_OUTLINES_H

#include "mesh/mesh.h"
#include "surface/extract/extraction.h"

/* Moves vertices at outlines until mesh and splat cover the same part of the training views (docs/method.md 16).
 * sizes[n_vertices]: 1.25 times the side of a pixel on the surface there, scene units; a vertex goes no farther than
 * two of them. The result does not depend on the number of threads. Normals are not computed again. Errors: those of
 * rendering, drawing and decoding masks, MEMORY; then the mesh may have moved in part. */
splat_status splat_extract_outlines(const splat_extraction *extraction, const float *sizes, splat_mesh *mesh,
                                    splat_error *error);

#endif
