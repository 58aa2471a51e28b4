/* SuGaR's post-processing of a mesh, by faces: its thin rim goes. */
#ifndef SPLAT_TEXTURE_BAKE_RIM_H
#define SPLAT_TEXTURE_BAKE_RIM_H

#include "texture/bake_parts.h"

/* SuGaR's post-processing. In each of so many rounds all faces with a side that no other kept face shares go; of those
 * that went the ones whose density at the centroid is above the threshold come back. *n_removed faces are gone from the
 * mesh, and gaussians->source says which are left. Errors: MEMORY, ARGUMENT (none is left). */
splat_status splat_bake_remove_rim(splat_mesh *mesh, splat_bake_gaussians *gaussians, int rounds, double threshold,
                                   size_t *n_removed, splat_error *error);

#endif
