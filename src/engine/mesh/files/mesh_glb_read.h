/* Reading GLB files. */
#ifndef SPLAT_MESH_MESH_GLB_READ_H
#define SPLAT_MESH_MESH_GLB_READ_H

#include "mesh/files/mesh_io.h"

/* Triangles and points of the scene of a GLB, placed by its nodes; colours as sRGB. */
splat_status splat_mesh_read_glb(const char *path, splat_mesh *mesh, splat_error *error);

#endif
