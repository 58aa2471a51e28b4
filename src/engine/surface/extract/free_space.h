/* Free space: no surface stands where a trusted pixel of a training view looks through (docs/method.md 16). */
#ifndef SPLAT_SURFACE_EXTRACT_FREE_SPACE_H
#define SPLAT_SURFACE_EXTRACT_FREE_SPACE_H

#include "scene/scene.h"
#include "scene/sky.h"
#include "surface/extract/surface_points.h"
#include "surface/extract/view_maps.h"

/* The pixels of one training view. */
typedef struct splat_free_view {
    uint32_t number;     /* among the training views */
    splat_camera camera; /* at the size of the codes, not of the photo */
    uint16_t *codes;     /* [height][width] of splat_free_depth: how far the space is free; 0: the view does not say */
    float error;         /* three pixels of disparity: as a part of the depth, for every unit of depth */
    bool has_sky;        /* a code is that of the sky */
} splat_free_view;

/* The space between two cameras that stood next to each other. */
typedef struct splat_camera_tube {
    float ends[2][3], radius;
} splat_camera_tube;

typedef struct splat_free_space {
    size_t n, n_tubes;        /* n 0: nothing is known to be free */
    splat_free_view *views;   /* [n], in the order of the training views, which may be more */
    splat_camera_tube *tubes; /* [n_tubes] */
    bool knows_surface;       /* false: the views know their sky alone */
} splat_free_space;

/* Keeps the depth of maps as the splat has it, before planes are found. *space is overwritten; the caller frees it.
 * Errors: MEMORY; on failure there is nothing to free. */
splat_status splat_free_space_begin(const splat_view_maps *maps, int threads, splat_free_space *space,
                                    splat_error *error);
/* Finds the space before pixels of the same maps that are trusted (splat_view_map_trusted). Depth counts where all of
 * the 3 x 3 pixels around are trusted, and is the least of theirs; sky needs no others. Where the splat had something
 * nearer, a twentieth or more, the view does not look through: a plane takes the place of what stands before it.
 * Errors: MEMORY; the caller frees the space in either case. */
splat_status splat_free_space_finish(const splat_view_maps *maps, int threads, splat_free_space *space,
                                     splat_error *error);
/* The space before the trusted sky of the training photos alone; without sky nothing is free. Otherwise as above. */
splat_status splat_free_space_from_sky(const splat_scene *scene, const splat_sky *sky, splat_free_space *space,
                                       splat_error *error);
void splat_free_space_free(splat_free_space *space);
/* The view with this number among the training views; NULL: the space is made without it. */
const splat_free_view *splat_free_space_view(const splat_free_space *space, size_t number);
/* Host memory of a pixel. */
#define SPLAT_FREE_PIXEL_BYTES 2u

/* Whose word makes a place free. */
typedef enum splat_free_witness { SPLAT_FREE_BY_SKY, SPLAT_FREE_BY_ALL } splat_free_witness;

/* Writes keep[n]: 0 for positions[n][3] that stand in free space, else 1; *n_found: the zeros. A view of depth D looks
 * through a place of depth z if z < (1 - e) D, and at it if |z - D| <= e D, with e the larger of `tolerance` and three
 * pixels of disparity. A place is free
 *   - if two views or more see it before the sky, and a quarter or more of those from which nothing hides it;
 *   - not with BY_SKY, nor where only sky is known: if F >= 2 and F > A; if F >= 1, A = 0 and z < D / 2; or if
 *     A = 0 and it lies in a tube between cameras. F and A count the views that look through and at, those within 5
 *     degrees of each other once.
 * Does not depend on threads. */
void splat_free_space_find(const splat_free_space *space, splat_free_witness witness, const float *positions, size_t n,
                           float tolerance, int threads, uint8_t *keep, size_t *n_found);
/* Removes such points, with the tolerance of a surface. *n_found: the number. Errors: MEMORY. */
splat_status splat_free_space_remove_points(const splat_free_space *space, splat_free_witness witness,
                                            splat_surface_points *points, int threads, size_t *n_found,
                                            splat_error *error);
/* Removes such Gaussians. *n_found: the number. Errors: MEMORY; NUMERIC with the text `all_found` if none would stay,
 * and then the model is as before. */
splat_status splat_free_space_remove_gaussians(const splat_free_space *space, splat_free_witness witness,
                                               float tolerance, const char *all_found, splat_model *model,
                                               size_t *n_found, splat_error *error);

/* ---------------------------------------------------------------- depths in 16 bits */

#define SPLAT_FREE_TOLERANCE 0.01f /* of a depth: what is so much nearer stands before the surface */
#define SPLAT_FREE_SKY UINT16_MAX
#define SPLAT_FREE_EXPONENT 95u /* of floats: 2^-32 is the least depth */

/* True if a view looks through what stands before the depth of a code. */
static inline bool splat_free_is_open(uint16_t code)
{
    return code & 1;
}

/* The depth of a code, right to 0.2 %; INFINITY for the sky, and 0 for 0. */
static inline float splat_free_depth(uint16_t code)
{
    union { uint32_t bits; float depth; } u = {((uint32_t)(code & ~1u) << 13) + (SPLAT_FREE_EXPONENT << 23)};
    return code == 0 ? 0 : code == SPLAT_FREE_SKY ? INFINITY : u.depth;
}

/* The code of a depth above 0, rounded down; that of the sky is open. */
static inline uint16_t splat_free_code(float depth, bool is_open)
{
    union { float depth; uint32_t bits; } u = {depth};
    if (!(depth < 0x1p31f)) return SPLAT_FREE_SKY;
    uint32_t code = depth < 0x1.01p-32f ? 2 : (u.bits - (SPLAT_FREE_EXPONENT << 23)) >> 13;
    return (uint16_t)((code & ~1u) | is_open);
}

/* The pixel of the codes that shows pixel i of a picture of the same view at another size. */
static inline size_t splat_free_pixel(const splat_free_view *view, const splat_camera *picture, size_t i)
{
    size_t width = (size_t)picture->width, height = (size_t)picture->height, own = (size_t)view->camera.width;
    size_t x = (2 * (i % width) + 1) * own / (2 * width);
    return (2 * (i / width) + 1) * (size_t)view->camera.height / (2 * height) * own + x;
}

/* Part of the depth z by which a view's depth may be wrong. */
static inline float splat_free_error(const splat_free_view *view, float z, float tolerance)
{
    return fmaxf(tolerance, view->error * z);
}

#endif
