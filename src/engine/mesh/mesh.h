/* Triangle meshes in host memory: plain arrays. Faces are counter-clockwise seen from outside: their normal
 * (b - a) x (c - a) points outward. */
#ifndef SPLAT_MESH_MESH_H
#define SPLAT_MESH_MESH_H

#include "base/error.h"
#include "io/picture/image.h"

#define SPLAT_MESH_MAX_PAGES 256 /* pages of a texture: face_pages are bytes */

/* Arrays are malloc'd and owned by the mesh; a zeroed struct is the empty mesh. Counts fit uint32_t. Lengths are in
 * scene units. */
typedef struct splat_mesh {
    size_t n_vertices, n_faces;
    size_t n_pages;
    size_t vertex_capacity, face_capacity; /* rows that fit into the arrays */
    float *vertices;  /* [n_vertices][3] */
    float *normals;   /* [n_vertices][3], unit or zero; NULL: none */
    uint8_t *colors;  /* [n_vertices][4], RGBA, sRGB-encoded as photos are; NULL: none */
    uint32_t *faces;  /* [n_faces][3], each below n_vertices */
    float *uvs;       /* [n_faces][3][2], texture coordinates of the faces' corners: u to the right, v DOWN, both 0 .. 1
                       * over the page (as glTF; OBJ and PLY count v upward); NULL: no texture */
    uint8_t *face_pages; /* [n_faces], each below n_pages; NULL: all on page 0 */
    splat_image *pages;  /* [n_pages], at most SPLAT_MESH_MAX_PAGES; RGB, sRGB-encoded, row 0 on top. The texture
                          * multiplies the vertices' colours where both are there. NULL with uvs: not painted yet, or
                          * not found */
    char *notice;     /* for people: a sentence on what a file's reader left out (a texture that is not there), to be
                       * shown once; NULL: nothing. Copies have none */
} splat_mesh;

/* Frees the arrays and makes the mesh empty. NULL arrays are fine. */
void splat_mesh_free(splat_mesh *mesh);
/* Room for at least so many rows; contents stay. Arrays of vertices and faces that are there grow. Errors: MEMORY (also
 * when a count passes 2^32 - 1); then nothing is lost. */
splat_status splat_mesh_reserve(splat_mesh *mesh, size_t n_vertices, size_t n_faces, splat_error *error);
/* One more vertex or face, growing by doubling; the colour may be NULL (opaque white where the mesh has colours); a
 * normal that exists is zero, texture coordinates that exist are zero on page 0. */
splat_status splat_mesh_add_vertex(splat_mesh *mesh, const float position[3], const uint8_t color[4],
                                   splat_error *error);
splat_status splat_mesh_add_face(splat_mesh *mesh, uint32_t a, uint32_t b, uint32_t c, splat_error *error);
/* Allocates normals (zeros) or colours (opaque white) when they are absent. Errors: MEMORY. */
splat_status splat_mesh_require_normals(splat_mesh *mesh, splat_error *error);
splat_status splat_mesh_require_colors(splat_mesh *mesh, splat_error *error);
/* Allocates texture coordinates (zeros), or the pages of faces (zeros), when they are absent. Errors: MEMORY. */
splat_status splat_mesh_require_uvs(splat_mesh *mesh, splat_error *error);
splat_status splat_mesh_require_face_pages(splat_mesh *mesh, splat_error *error);
/* Takes the pixels of a picture (RGB) over as a new last page; on failure they stay the caller's. Errors: ARGUMENT
 * (not RGB, or more than SPLAT_MESH_MAX_PAGES), MEMORY. */
splat_status splat_mesh_add_page(splat_mesh *mesh, splat_image *page, splat_error *error);
/* Frees texture coordinates and pages, if any. */
void splat_mesh_drop_texture(splat_mesh *mesh);
/* Face `to` becomes face `from`, with its texture; and the two directions of a face change places. */
void splat_mesh_move_face(splat_mesh *mesh, size_t to, size_t from);
void splat_mesh_turn_face(splat_mesh *mesh, size_t face);
/* Appends `other` without stitching. Normals and colours that only one has are filled in. The pages of `other` follow
 * those of the mesh; where only one has pages, the other's faces lie on one more page, a single white texel. Errors:
 * MEMORY, ARGUMENT (more than SPLAT_MESH_MAX_PAGES). */
splat_status splat_mesh_append(splat_mesh *mesh, const splat_mesh *other, splat_error *error);
/* A deep copy into *copy, which is overwritten. Errors: MEMORY. */
splat_status splat_mesh_copy(const splat_mesh *mesh, splat_mesh *copy, splat_error *error);

/* ARGUMENT when a face names a vertex or a page that does not exist, or a page is no picture of RGB; NUMERIC when a
 * coordinate is not finite. */
splat_status splat_mesh_check(const splat_mesh *mesh, splat_error *error);
/* Zeros for a mesh without vertices. */
void splat_mesh_bounds(const splat_mesh *mesh, float low[3], float high[3]);
/* (b - a) x (c - a): twice the area long. */
void splat_mesh_face_cross(const splat_mesh *mesh, size_t face, double cross[3]);
double splat_mesh_face_area(const splat_mesh *mesh, size_t face);
double splat_mesh_area(const splat_mesh *mesh);
/* The signed volume of a closed mesh; positive when its normals point outward. */
double splat_mesh_volume(const splat_mesh *mesh);
/* Normals of the vertices: the sum of the face normals around, weighted by area. Zero where there is none. */
splat_status splat_mesh_compute_normals(splat_mesh *mesh, int threads, splat_error *error);
/* Turns every face, and normals if any, around. */
void splat_mesh_flip(splat_mesh *mesh);

#endif
