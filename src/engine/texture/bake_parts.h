/* A texture from views: what the parts of the bake share. paint.c runs them in this order: quality (which views see
 * which face how well), outliers, exposure, labels, then the pages, band by band. */
#ifndef SPLAT_TEXTURE_BAKE_PARTS_H
#define SPLAT_TEXTURE_BAKE_PARTS_H

#include "mesh/mesh.h"
#include "model/model.h"
#include "ops/texture/texture.h"
#include "scene/scene.h"
#include "splatsmith/texture.h"
#include "texture/atlas.h"

/* The Gaussians that are bound to a mesh, in host memory: those of face f are f per_face to (f + 1) per_face - 1. */
typedef struct splat_bake_gaussians {
    int per_face;
    uint32_t *source; /* [n_faces] the face of the mesh that they are bound to, where faces have gone; NULL: the same */
    float *means;     /* [n][3] */
    float *axes;      /* [n][2][3] those in the plane, over their deviations */
    float *opacities; /* [n] 0 to 1 */
    float *colors;    /* [n][3] of degree 0 */
} splat_bake_gaussians;

/* A view that sees a face. */
typedef struct splat_bake_candidate {
    uint16_t view;      /* number among the training views; SPLAT_TEXTURE_NO_VIEW after the last */
    uint16_t quality;   /* the upper half of a float */
    uint8_t rgb[3];     /* mean of the face's pixels, as the photo has them */
    uint8_t is_outlier; /* its colour is not that of the other views */
} splat_bake_candidate;

/* All that is known of a training view. levelled = gain x, by channel, in linear light. */
typedef struct splat_bake_view {
    float sharpness; /* variance of the photo's Laplacian over the median of all photos', 1/4 to 1 */
    float gain[3];
    bool shares_photo; /* a crop of the photo that the view before is one of */
} splat_bake_view;

typedef struct splat_bake {
    splat_context *context;
    splat_backend *backend;
    splat_scene *scene;
    splat_model *model;     /* the bound Gaussians; NULL: none */
    splat_bake_gaussians *gaussians; /* the same on the host; NULL: none */
    const splat_texture_options *options;
    const splat_mesh *mesh;
    size_t n_views;
    splat_bake_view *views; /* [n_views] */
    splat_bake_candidate *candidates; /* [n_faces][SPLAT_TEXTURE_CANDIDATES], best first */
    float *densities;       /* [n_faces] pixels a scene unit in the best view; 0: no view sees it */
    uint16_t *lists;        /* [n_faces][SPLAT_TEXTURE_CANDIDATES]: the candidates that are kept */
    uint16_t *labels;       /* [n_faces] the view that details come from; SPLAT_TEXTURE_NO_VIEW: none */
    uint8_t *face_colors;   /* [n_faces][4] for those that no view sees; the fourth is 1: there is one; NULL: none */
    splat_texture_labels *vertex_labels; /* [n_vertices]; NULL: one band */
} splat_bake;

#endif
