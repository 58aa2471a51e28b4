/* The part of a mesh that no training view sees is invented, and goes. */
#ifndef SPLAT_SURFACE_EXTRACT_VISIBLE_H
#define SPLAT_SURFACE_EXTRACT_VISIBLE_H

#include "mesh/mesh.h"
#include "surface/extract/extraction.h"

/* Removes what no training view sees, as the options say; *n_faces of them. Errors: NUMERIC (nothing is left), MEMORY,
 * STOPPED. */
splat_status splat_extract_drop_invisible(const splat_extraction *extraction, splat_mesh *mesh, size_t *n_faces,
                                          splat_error *error);

#endif
