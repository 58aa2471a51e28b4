/* A texture from views: what the parts of the bake share. bake.c runs them in this order: quality (which views see
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

/* STOPPED when the caller's progress function says so. */
splat_status splat_bake_go_on(const splat_bake *bake, const char *stage, double fraction, splat_error *error);

/* ---------------------------------------------------------------- one view (bake_view.c) */

/* The mesh and the photo of one view at a time: room for the largest. */
typedef struct splat_bake_room {
    size_t n_pixels;
    uint32_t *faces;      /* [height][width] face + 1; 0: none, or masked */
    float *depth;
    uint8_t *front;
    uint8_t *feather;     /* 255: far from silhouettes, masks and the border */
    uint8_t *distance;    /* of the feather, by row */
    uint8_t *photo;       /* [height][width][3], and the smaller levels after it */
    float *low;           /* [3] of level SPLAT_TEXTURE_LOW_LEVEL */
    float *luma;          /* [height][width] of the photo */
    float *render;        /* [3][height][width]; NULL unless Gaussians are baked */
} splat_bake_room;

splat_status splat_bake_room_make(const splat_bake *bake, splat_bake_room *room, splat_error *error);
void splat_bake_room_free(splat_bake_room *room);
/* Bytes that it takes. */
uint64_t splat_bake_room_bytes(const splat_bake *bake);

/* The camera of a training view. */
const splat_camera *splat_bake_camera(const splat_bake *bake, size_t number);
/* Faces, depth, front and feather of a training view, and the weights of the corners (NULL: not wanted). Where the
 * photo has alpha below 1/2 there is no face. */
splat_status splat_bake_draw(const splat_bake *bake, size_t number, splat_bake_room *room, float (*weights)[2],
                             splat_error *error);
/* The photo of a training view, or the picture that the Gaussians' colours of degree 0 give of it over black. */
splat_status splat_bake_read_photo(const splat_bake *bake, size_t number, splat_bake_room *room, splat_error *error);

/* Pixels from which a weight is full, and the width of the Gaussian between the bands, at this camera's size. */
int splat_bake_feather_pixels(const splat_camera *camera);
float splat_bake_band_sigma(const splat_camera *camera);
/* 255 smoothstep(distance to the nearest pixel of an edge / reach); distance and feather are [height][width]. */
void splat_bake_feather(const float *depth, int width, int height, int reach, int threads, uint8_t *distance,
                        uint8_t *feather);

/* ---------------------------------------------------------------- photos (bake_photo.c) */

/* (299 r + 587 g + 114 b) / 1000, in [0, 1]. */
void splat_bake_luma(const uint8_t *rgb, size_t n, int threads, float *luma);
/* Variance of the 4-neighbour Laplacian; 0 without inner pixels. The same for any number of threads. */
double splat_bake_sharpness(const float *luma, int width, int height);
/* |Sobel| of a pixel over 4, border pixels as their neighbours inside: 1 is a step from black to white. */
float splat_bake_gradient(const float *luma, int width, int height, int x, int y);
/* The smaller levels after the photo: means of 2 x 2 pixels. Returns how many levels there are. */
int splat_bake_pyramid(uint8_t *photo, int width, int height);
/* sRGB-encoded values of the bytes of each channel, levelled: [3][256]. */
void splat_bake_table(const splat_bake_view *view, float table[3 * 256]);
/* The low band: levelled level SPLAT_TEXTURE_LOW_LEVEL, blurred over pixels of the same surface, that is within a step
 * of depth. sigma: pixels of the photo. */
void splat_bake_low(const uint8_t *pyramid, const float *table, const float *depth, int width, int height,
                    float sigma, int threads, float *low);

/* ---------------------------------------------------------------- choices */

/* bake_quality.c: sharpness of the views, candidates and densities of the faces. Errors: ARGUMENT when no view sees a
 * face of the mesh, UNSUPPORTED (more views than numbers), those of reading photos. */
splat_status splat_bake_quality(splat_bake *bake, splat_bake_room *room, splat_error *error);
/* Puts a view into a face's list, best first, of equal quality the earlier; the last falls out of a full list. */
void splat_bake_offer(splat_bake_candidate list[SPLAT_TEXTURE_CANDIDATES], const splat_bake_candidate *candidate);
float splat_bake_quality_value(uint16_t code);

/* bake_outliers.c: marks candidates whose colour of a face is not that of its others: people, shadows, wrong
 * geometry. */
void splat_bake_reject(splat_bake *bake);
/* Which of n <= SPLAT_TEXTURE_CANDIDATES colours are outliers of the rest. */
void splat_bake_find_outliers(const uint8_t (*rgb)[3], int n, bool *is_outlier);
/* bake->lists: the candidates that are outliers neither of the face nor of one that shares an edge with it; where none
 * is left, those that are none of the face. Errors: MEMORY. */
splat_status splat_bake_make_lists(splat_bake *bake, splat_error *error);

/* bake_fill.c: colours of all faces that are joined to some that a view sees, into face_colors, allocated here. Errors:
 * MEMORY. */
splat_status splat_bake_color_faces(splat_bake *bake, splat_error *error);

/* bake_exposure.c: gains of every view, from faces that several see. Errors: MEMORY, STOPPED. */
splat_status splat_bake_level(splat_bake *bake, splat_error *error);

/* bake_labels.c: the view that each face takes its details from, alike over wide parts of the surface; labels and
 * vertex_labels are allocated and filled. Errors: MEMORY. */
splat_status splat_bake_label(splat_bake *bake, splat_error *error);
/* bake_neighbors.c: [n_faces][3] the face across each side, SPLAT_BAKE_NO_FACE where there is none; of edges of more
 * than two faces the nearest in number. NULL: no memory. The caller frees. */
#define SPLAT_BAKE_NO_FACE UINT32_MAX
uint32_t *splat_bake_neighbors(const splat_mesh *mesh, splat_error *error);

/* ---------------------------------------------------------------- bound Gaussians (bake_gaussians.c) */

#define SPLAT_BAKE_GAUSSIAN_BYTES 52 /* of host memory, each, and as many again while they are read */

/* wanted: as many for each face; 0: whatever the counts say. Errors: ARGUMENT (the splat is not bound to the mesh; the
 * sentence says why), MEMORY. Free it in either case. */
splat_status splat_bake_gaussians_open(const splat_model *model, const splat_mesh *mesh, int wanted,
                                       splat_bake_gaussians *gaussians, splat_error *error);
void splat_bake_gaussians_free(splat_bake_gaussians *gaussians);
/* Density at a point of a face: the sum over its Gaussians of opacity exp(-m^2 / 2), m in the plane; and their colours
 * there, weighted by that, or by nothing where all of it is 0. rgb may be NULL. */
double splat_bake_gaussians_at(const splat_bake_gaussians *gaussians, size_t face, const float point[3], float rgb[3]);
/* bake_rim.c: SuGaR's post-processing. In each of so many rounds all faces with a side that no other kept face shares
 * go; of those that went the ones whose density at the centroid is above the threshold come back. *n_removed faces are
 * gone from the mesh, and gaussians->source says which are left. Errors: MEMORY, ARGUMENT (none is left). */
splat_status splat_bake_remove_rim(splat_mesh *mesh, splat_bake_gaussians *gaussians, int rounds, double threshold,
                                   size_t *n_removed, splat_error *error);

/* ---------------------------------------------------------------- pages (bake_pages.c) */

/* Where colours of texels came from. */
typedef struct splat_bake_counts {
    size_t n_texels, n_from_views, n_from_gaussians;
} splat_bake_counts;

/* Paints the pages of an atlas, pages[atlas->n_pages]: RGB, allocated here as valid[atlas->n_pages] is, which is not 0
 * for texels that have a colour of their own; free them in either case. band_texels: how many are in work at a time. */
splat_status splat_bake_pages(const splat_bake *bake, const splat_atlas *atlas, splat_bake_room *room,
                              size_t band_texels, splat_image *pages, uint8_t **valid, splat_bake_counts *counts,
                              splat_error *error);

/* bake_polish.c: steps of Adam on the texels, such that the mesh looks like the levelled photos of training views. The
 * gutters are filled anew. losses[2]: the mean of the first and of the last tenth of the steps. Errors: MEMORY,
 * UNSUPPORTED (2^32 texels and more), those of reading photos, STOPPED. */
splat_status splat_bake_polish(const splat_bake *bake, const splat_atlas *atlas, splat_bake_room *room,
                               splat_image *pages, uint8_t *const *valid, double losses[2], splat_error *error);
/* bake_seams.c: the mean |left - right| of the texture, in bytes, along edges between faces that views see and that lie
 * in different places of it. Errors: MEMORY. */
splat_status splat_bake_seams(const splat_bake *bake, const splat_image *pages, double *difference,
                              splat_error *error);
/* Bytes of the device for a texel and a pixel of a polish. */
#define SPLAT_BAKE_POLISH_TEXEL_BYTES (12 + 24 + 12 + 1)
#define SPLAT_BAKE_POLISH_PIXEL_BYTES (16 + 12 + 12 + 12)

#endif
