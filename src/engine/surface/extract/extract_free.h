/* Faces of a mesh that training views look through, or see from behind. */
#ifndef SPLAT_SURFACE_EXTRACT_FREE_H
#define SPLAT_SURFACE_EXTRACT_FREE_H

#include "mesh/mesh.h"
#include "surface/extract/extraction.h"

/* Removes faces that are not there. Drawn in all training views, a pixel of a face is wrong where the view looks
 * through the face (free_space.h) or where it shows the face's back: a solid's back is never seen first. Backs count
 * where the view says anything, and at all pixels of faces that no pixel shows right. A face goes if four pixels or
 * more are wrong, and more than are right; and so do faces around it that no pixel shows right. A second round does the
 * same with what stood behind. Where only sky is known, backs do not count, and two views must look through a face. A
 * closed mesh loses whole pieces, by the pixels of all their faces.
 * *n_faces: removed. Errors: those of splat_mesh_rasterize and of decoding masks, MEMORY, STOPPED, NUMERIC (nothing
 * would remain). */
splat_status splat_extract_drop_free(const splat_extraction *extraction, splat_mesh *mesh, size_t *n_faces,
                                     splat_error *error);

#endif
