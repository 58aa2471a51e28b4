/* Outlines of the mesh follow those of the splat: where a surface ends before nothing, or before the sky. */
#ifndef SPLAT_SURFACE_EXTRACT_OUTLINES_H
#define SPLAT_SURFACE_EXTRACT_OUTLINES_H

#include "mesh/mesh.h"
#include "surface/extract/extraction.h"

/* Moves vertices at outlines until mesh and splat cover the same part of the training views (docs/method.md 16).
 * sizes[n_vertices]: of the surface that a pixel shows there, times 1.25; scene units. A scene whose views show surface
 * everywhere keeps its mesh. The result does not depend on the number of threads. Normals are not computed again.
 * Errors: those of rendering, drawing and decoding masks, MEMORY; then the mesh may have moved in part. */
splat_status splat_extract_outlines(const splat_extraction *extraction, const float *sizes, splat_mesh *mesh,
                                    splat_error *error);

#endif
