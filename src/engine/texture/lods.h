/* Coarser levels of a textured mesh, for engines that show them from afar: level k of NAME.glb is NAME_LODk.glb. A
 * level has a quarter of the faces of the level before, and half of its texels a unit of length: on a screen where the
 * mesh is half as large, faces and texels are as large as before. */
#ifndef SPLAT_TEXTURE_LODS_H
#define SPLAT_TEXTURE_LODS_H

#include "mesh/mesh.h"
#include "splatsmith/texture.h"

#define SPLAT_LOD_LEAST_FACES 64 /* of a level: a closed shape of fewer is hardly one */

/* The path of a level, malloc'd: "dir/garden_LOD2.glb" for level 2 of "dir/garden.glb". NULL: memory is exhausted. */
char *splat_lod_path(const char *path, int level);
/* The name of a level without folder and ending, malloc'd: "garden_LOD2". NULL: memory is exhausted. */
char *splat_lod_name(const char *path, int level);

/* Options of the texture of the next level: half of the texels a unit, or half of the sides. */
void splat_lod_next_options(splat_texture_options *options);

/* Most host memory, bytes, of making level 1 of a mesh, the mesh included. */
uint64_t splat_lod_bytes(size_t n_vertices, size_t n_faces);

/* Simplifies a textured mesh for the next level and takes its texture away. Holes of at most 16 texels of this level
 * are closed, as every hole needs faces around it. Triangles stay small where texels are.
 * *why: NULL, or a malloc'd sentence that says why there is no such level: the mesh has too few faces, or its shape
 * (8 texels of this level), pieces and holes, which stay, need more than half of them. Errors: MEMORY, STOPPED. */
splat_status splat_lod_coarsen(splat_mesh *mesh, const splat_texture_options *options, int threads, char **why,
                               splat_error *error);

#endif
