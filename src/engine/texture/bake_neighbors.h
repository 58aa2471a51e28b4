/* Which faces share an edge. */
#ifndef SPLAT_TEXTURE_BAKE_NEIGHBORS_H
#define SPLAT_TEXTURE_BAKE_NEIGHBORS_H

#include "mesh/mesh.h"

/* [n_faces][3] the face across each side, SPLAT_BAKE_NO_FACE where there is none; of edges of more than two faces the
 * nearest in number. The result is the same for any number of
 * threads. NULL: no memory. The caller frees. */
#define SPLAT_BAKE_NO_FACE UINT32_MAX
uint32_t *splat_bake_neighbors(const splat_mesh *mesh, int threads, splat_error *error);

#endif
