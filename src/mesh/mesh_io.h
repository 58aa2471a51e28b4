/* Files of meshes: PLY and OBJ in and out, GLB (glTF 2.0) out. Saves are atomic. */
#ifndef SPLAT_MESH_MESH_IO_H
#define SPLAT_MESH_MESH_IO_H

#include "mesh/mesh.h"

/* Reads a PLY (told by its content) or an OBJ (told by its name) into *mesh, which is overwritten and, on failure,
 * empty. Polygons become fans of triangles; a file without faces is a set of points. Errors: IO, FORMAT (damaged, an
 * index that names no vertex, a coordinate that is not finite), UNSUPPORTED (another format), MEMORY. */
splat_status splat_mesh_read(const char *path, splat_mesh *mesh, splat_error *error);
/* x y z, nx ny nz and red green blue [alpha] of element vertex; vertex_indices or vertex_index of element face. Any
 * encoding and number types; normals are taken as they are. */
splat_status splat_mesh_read_ply(const char *path, splat_mesh *mesh, splat_error *error);
/* Lines v (with colours r g b from 0 to 1) and f (with negative indices); all other lines are ignored. */
splat_status splat_mesh_read_obj(const char *path, splat_mesh *mesh, splat_error *error);

/* By the end of the name: .ply, .obj or .glb. Errors: UNSUPPORTED (another one), ARGUMENT (GLB of an empty mesh or one
 * beyond its 4 GiB), IO. */
splat_status splat_mesh_write(const char *path, const splat_mesh *mesh, splat_error *error);
/* Binary little-endian: x y z [nx ny nz] [red green blue alpha], faces as list uchar int vertex_indices. */
splat_status splat_mesh_write_ply(const char *path, const splat_mesh *mesh, splat_error *error);
/* v x y z [r g b], vn, f a//a b//b c//c. Numbers read back as the same floats; colours are to 1/255. */
splat_status splat_mesh_write_obj(const char *path, const splat_mesh *mesh, splat_error *error);
/* One mesh, both sides visible, unlit (KHR_materials_unlit: the light of the photos is in the colours). Colours are
 * made linear, as glTF wants them, in 16 bits. Points when there are no faces. */
splat_status splat_mesh_write_glb(const char *path, const splat_mesh *mesh, splat_error *error);

#endif
