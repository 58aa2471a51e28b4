/* One training view: the mesh as it sees it, what its mask hides, and how far from an edge its pixels lie. */
#ifndef SPLAT_TEXTURE_BAKE_VIEW_H
#define SPLAT_TEXTURE_BAKE_VIEW_H

#include "model/mesh_drawer.h"
#include "texture/bake_parts.h"

/* STOPPED when the caller's progress function says so. */
splat_status splat_bake_go_on(const splat_bake *bake, const char *stage, double fraction, splat_error *error);

/* The mesh and the photo of one view at a time: room for the largest. */
typedef struct splat_bake_room {
    size_t n_pixels;
    uint32_t *faces;      /* [height][width] face + 1; 0: none, or masked */
    float *depth;
    uint8_t *front;
    uint8_t *feather;     /* 255: far from silhouettes, masks and the border */
    uint8_t *distance;    /* distances of the feather, row by row */
    uint8_t *photo;       /* [height][width][3], and the smaller levels after it */
    float *low;           /* [3] of level SPLAT_TEXTURE_LOW_LEVEL */
    float *luma;          /* [height][width] of the photo */
    float *render;        /* [3][height][width]; NULL unless Gaussians are baked */
    splat_mesh_drawer drawer; /* closed: views are drawn on the host */
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

#endif
