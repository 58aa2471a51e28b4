/* Faces of a mesh before the sky. */
#ifndef SPLAT_SURFACE_EXTRACT_SKY_H
#define SPLAT_SURFACE_EXTRACT_SKY_H

#include "mesh/mesh.h"
#include "surface/extract/extraction.h"

/* Removes faces that the training views see before trusted sky (scene/sky.h): at four pixels or more, in two views or
 * more, and at more pixels than not before the sky; and faces around them that no view sees elsewhere. A second round
 * does the same with the faces behind. *n_faces: removed. Without sky it does nothing. Errors: those of
 * splat_mesh_rasterize and of decoding, MEMORY, STOPPED. */
splat_status splat_extract_drop_before_sky(const splat_extraction *extraction, splat_mesh *mesh, size_t *n_faces,
                                           splat_error *error);
/* Counts the pixels of trusted sky of all training views, in pictures of 250,000 pixels at most, and those of them that
 * the mesh covers. Both are 0 without sky. Errors as above. */
splat_status splat_extract_measure_sky(const splat_extraction *extraction, const splat_mesh *mesh, uint64_t *n_sky,
                                       uint64_t *n_covered, splat_error *error);

#endif
