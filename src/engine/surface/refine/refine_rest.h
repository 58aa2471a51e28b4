/* Gaussians of a splat that a mesh does not represent: thin parts, far background, transparent parts. */
#ifndef SPLAT_SURFACE_REFINE_REST_H
#define SPLAT_SURFACE_REFINE_REST_H

#include "io/splat/cloud.h"
#include "mesh/mesh.h"
#include "scene/scene.h"
#include "splatsmith/refine.h"

/* Reads input->splat_path and keeps the Gaussians that give a tenth of the light of a pixel of some training view or
 * more, lie in the box, and lie more than three pixels of the finest view from the mesh: at most `most`, those that the
 * most views show, in their order. Their 3D filter is baked. *rest is overwritten and may be empty (splat_cloud_free).
 * Errors: those of splat_model_load; MEMORY, DEVICE. */
splat_status splat_refine_rest_find(splat_context *context, splat_scene *scene, const splat_refine_input *input,
                                    const splat_mesh *mesh, size_t most, splat_cloud *rest, splat_error *error);

#endif
