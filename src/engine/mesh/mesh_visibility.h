/* Finds the faces of a mesh that its cameras see, and removes the others: surface that no camera saw is invented. */
#ifndef SPLAT_MESH_MESH_VISIBILITY_H
#define SPLAT_MESH_MESH_VISIBILITY_H

#include "mesh/mesh.h"

/* Which pixels of camera i look at all: kept[height][width] receives 1, else 0; *all = true: every pixel, kept is as it
 * was. Called by several threads at a time. */
typedef splat_status (*splat_mesh_kept_function)(void *user, size_t i, uint8_t *kept, bool *all, splat_error *error);

/* Draws the mesh as splat_mesh_rasterize does, the maps faces and depth. Called by several threads at a time. */
typedef splat_status (*splat_mesh_draw_function)(void *user, const splat_camera *camera, float near, uint32_t *faces,
                                                 float *depth, splat_error *error);

typedef struct splat_mesh_visibility_options {
    double least_share;   /* 0.001: pieces (faces joined by vertices) with a smaller share of seen faces go; 0: none */
    double rim;           /* 8; faces not seen and more than so many pixels away from a seen one go; below 0: none */
    float near;           /* 0.01: nearer surface hides nothing and is not seen, scene units along the camera's axis */
    int threads;          /* >= 1; the result does not depend on it */
    splat_mesh_kept_function kept; /* NULL: all pixels look */
    void *kept_user;
    splat_mesh_draw_function draw; /* NULL: splat_mesh_rasterize */
    void *draw_user;
} splat_mesh_visibility_options;

typedef struct splat_mesh_visibility_info {
    size_t n_seen;                     /* faces that a camera sees */
    size_t n_pieces, n_piece_faces;    /* pieces that went for least_share */
    size_t n_invisible_faces;          /* faces that went for the rim */
    size_t peak_bytes;                 /* working memory in addition to the mesh, at most */
} splat_mesh_visibility_info;

void splat_mesh_visibility_options_init(splat_mesh_visibility_options *options);

/* widths[n_faces]: for every face, front or back, that is nearest at the centre of a pixel of one of the cameras
 * (splat_mesh_rasterize) that looks, the least width that such a pixel has there (depth over focal length, scene
 * units); 0: no camera sees it. One camera a thread at a time: 8 bytes a pixel (9 with `kept`), 12 a vertex, 4 a face
 * and those of the list that splat_mesh_rasterize makes. The mesh must be valid. Errors: ARGUMENT (a camera; near,
 * threads), MEMORY, those of `kept`. */
splat_status splat_mesh_find_visible(const splat_mesh *mesh, const splat_camera *cameras, size_t n_cameras,
                                     const splat_mesh_visibility_options *options, float *widths, splat_error *error);

/* Removes what the cameras do not see, as the options say, and vertices that no face uses any more. The rim is
 * measured along edges, from the corners of seen faces to the middle of the unseen one, in the width of a pixel at the
 * seen face. Where nothing is seen at all, everything goes but with least_share 0 and a rim below 0. info may be NULL.
 * Errors: as above; then the mesh is as it was. */
splat_status splat_mesh_remove_invisible(splat_mesh *mesh, const splat_camera *cameras, size_t n_cameras,
                                         const splat_mesh_visibility_options *options, splat_mesh_visibility_info *info,
                                         splat_error *error);

#endif
