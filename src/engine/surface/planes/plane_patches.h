/* Squares of pixels that have a place and a normal, and the planes that many of them lie on. */
#ifndef SPLAT_SURFACE_PLANE_PATCHES_H
#define SPLAT_SURFACE_PLANE_PATCHES_H

#include "surface/planes/plane_parts.h"

#include "base/error.h"

#define PLANE_PATCH_SIDE 8     /* pixels of a square */
#define PLANE_PATCH_KNOWN 0.5  /* of its pixels: a square with so many known ones has a place */
#define PLANE_PATCH_NEAR 0.005 /* of the depth: a place on a plane */

/* Squares of a view, the last ones smaller where the picture ends. */
typedef struct plane_squares {
    int columns, rows;
} plane_squares;

plane_squares plane_squares_of(const splat_view_map *map);

/* Loops over the pixels of a square. */
#define PLANE_SQUARE_PIXELS(map, column, row, pixel)                                                                   \
    for (int y_ = (row) * PLANE_PATCH_SIDE; y_ < ((row) + 1) * PLANE_PATCH_SIDE && y_ < (map)->camera.height; y_++)    \
        for (size_t pixel = (size_t)y_ * (size_t)(map)->camera.width + (size_t)(column) * PLANE_PATCH_SIDE,            \
                    end_ = (size_t)y_ * (size_t)(map)->camera.width +                                                  \
                           (size_t)((column) * PLANE_PATCH_SIDE + PLANE_PATCH_SIDE < (map)->camera.width               \
                                        ? (column) * PLANE_PATCH_SIDE + PLANE_PATCH_SIDE                               \
                                        : (map)->camera.width);                                                        \
             pixel < end_; pixel++)

/* A square of known pixels with those around it. */
typedef struct plane_patch {
    float position[3];
    double normal[3], depth;
    uint32_t view, n; /* known pixels */
    bool is_taken;
} plane_patch;

/* True if a pixel's depth is known. */
typedef bool (*plane_patch_function)(const void *user, size_t view, size_t pixel);

typedef struct plane_patches {
    const splat_view_maps *maps;
    uint64_t seed;
    int threads;
    plane_patch_function is_known;
    const void *user;
    plane_patch *patches; /* [n], view by view */
    size_t n;
    size_t step;          /* of squares, so that patches do not exceed their number */
} plane_patches;

/* Collects the flat patches of all views; the fields before `patches` are given. The caller frees them, also on
 * failure. Errors: MEMORY. */
splat_status plane_patches_make(plane_patches *patches, splat_error *error);
void plane_patches_free(plane_patches *patches);
/* Finds the plane that most pixels of patches lie on that are not taken, of so many drawn ones, and takes its patches.
 * False: none that enough views show. round: the how many-th call. Does not depend on threads. */
bool plane_patches_next(plane_patches *patches, uint32_t round, plane_fit *best);
/* True if a patch lies within so many times PLANE_PATCH_NEAR of a plane, and has its normal. */
bool plane_patch_is_on(const plane_patch *patch, const plane_fit *fit, double times);

#endif
