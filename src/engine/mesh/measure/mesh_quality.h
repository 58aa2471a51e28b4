/* The figures of a mesh report: of the mesh alone, and against a reference. */
#ifndef SPLAT_MESH_MESH_QUALITY_H
#define SPLAT_MESH_MESH_QUALITY_H

#include "mesh/measure/reference_points.h"

/* Everything but file_bytes. The mesh must be valid (splat_mesh_check). Errors: MEMORY. */
splat_status splat_mesh_measure(const splat_mesh *mesh, splat_mesh_quality *quality, splat_error *error);

#endif
