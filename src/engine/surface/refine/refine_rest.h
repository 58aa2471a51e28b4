/* Gaussians of a splat that a mesh does not represent: thin parts, far background, transparent parts. */
#ifndef SPLAT_SURFACE_REFINE_REST_H
#define SPLAT_SURFACE_REFINE_REST_H

#include "io/splat/cloud.h"
#include "mesh/mesh.h"
#include "scene/scene.h"
#include "splatsmith/refine.h"

/* Reads input->splat_path and keeps the Gaussians that lie in the box and give a thirtieth of the light or more of a
 * pixel that lacks the mesh in some training view: the pixel shows no mesh, or mesh that lies behind what the splat
 * shows there, by a tenth of its depth. At most `most`, first those that pixels without mesh need in the most views,
 * in their order. Their 3D filter is baked. *rest is overwritten and may be empty (splat_cloud_free). Errors: those of
 * splat_model_load; MEMORY, DEVICE. */
splat_status splat_refine_rest_find(splat_context *context, splat_scene *scene, const splat_refine_input *input,
                                    const splat_mesh *mesh, size_t most, splat_cloud *rest, splat_error *error);

#endif
