/* The picture that a primitive of a GLB file shows: the base colour of its material. */
#ifndef SPLAT_MESH_GLB_TEXTURE_H
#define SPLAT_MESH_GLB_TEXTURE_H

#include "io/glb/glb_file.h"
#include "mesh/files/texture_files.h"

typedef struct splat_glb_texture {
    int page;                  /* page of the mesh; -1: none */
    splat_glb_accessor coords; /* coordinates of its vertices; data NULL: none */
    double turn[2][2], offset[2]; /* uv' = turn uv + offset (KHR_texture_transform) */
} splat_glb_texture;

/* Finds the textures of a primitive: pictures in the file, in data URIs, or next to it. Pictures of other formats and
 * damaged ones are left out, with a notice. n_vertices: of the primitive. Errors: FORMAT (a reference to a missing
 * part, a wrong number of coordinates), those of accessors, MEMORY. */
splat_status splat_glb_find_texture(const splat_glb_file *file, splat_page_reader *pages, const json_t *primitive,
                                    size_t n_vertices, splat_glb_texture *texture, splat_error *error);
/* Texture coordinates of a vertex; 0 where they are not finite. */
void splat_glb_texture_coords(const splat_glb_texture *texture, size_t vertex, float uv[2]);

#endif
