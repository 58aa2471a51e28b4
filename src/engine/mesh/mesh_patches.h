/* Patches of surface that have no support of their own, but whose rim has: they close holes. */
#ifndef SPLAT_MESH_MESH_PATCHES_H
#define SPLAT_MESH_MESH_PATCHES_H

#include "mesh/mesh.h"

typedef struct splat_mesh_patch_options {
    double roundness;     /* above 0: most area of a patch, in areas of circles as long as the loops of its rim */
    double most_radius;   /* above 0: of a circle with their area, part of the distance to the nearest camera */
    const float *centers; /* [n_centers][3], of cameras */
    size_t n_centers;
} splat_mesh_patch_options;

/* keep: [n_vertices]. Vertices whose keep is 0 and that edges join are a patch, with the faces around them; its rim is
 * the edges of these faces between vertices that stay. The keep of a patch becomes 1 if it is a lid over a small hole:
 * the mesh does not end in it, it is no bubble (roundness), and every camera is far away (most_radius). *n_patches: how
 * many become 1. Errors: MEMORY. */
splat_status splat_mesh_keep_patches(const splat_mesh *mesh, const splat_mesh_patch_options *options, uint8_t *keep,
                                     size_t *n_patches, splat_error *error);

#endif
