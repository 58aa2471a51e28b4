/* The host memory of a mesh, before the work begins. */
#ifndef SPLAT_SURFACE_EXTRACT_MEMORY_H
#define SPLAT_SURFACE_EXTRACT_MEMORY_H

#include "splatsmith/mesh.h"

/* Tells the host memory that the mesh will need, and refuses what passes max_host_bytes. *octree_bytes: what the
 * reconstruction may take of it; 0: no limit. */
splat_status splat_surface_check_memory(const splat_scene *scene, const splat_model *model,
                                        const splat_mesh_extract_options *options, uint64_t *octree_bytes,
                                        int *most_depth, splat_error *error);

#endif
