/* agree: what the neighbours of a view see at the places of its pixels (docs/method.md 16; the test of COLMAP's fusion
 * of depth maps: Schoenberger et al., Pixelwise View Selection for Unstructured Multi-View Stereo, ECCV 2016). */
#ifndef SPLAT_OPS_AGREE_H
#define SPLAT_OPS_AGREE_H

#include "math/inline.h"
#include "ops/types.h"

#include <stdbool.h>

#define SPLAT_AGREE_NEIGHBORS 8 /* views that a view is compared with */
#define SPLAT_AGREE_BATCH 64    /* pixels that the host asks about together */
#define SPLAT_AGREE_FLAT_COSINE 0.17f /* 80 degrees: at a flatter angle a splat has no depth */

/* A view's maps, [height][width]. */
typedef struct splat_agree_view {
    splat_camera camera; /* at the size of the maps */
    const float *depth;  /* along the camera's axis; 0: no surface */
    const int16_t *normal; /* [2]: splat_normal_decode */
    const uint8_t *rgb;    /* [3] */
    const uint8_t *alpha;  /* 255 times it: a pixel without depth is seen through where this is small */
} splat_agree_view;

/* A pixel of a view with what its neighbours say of it. The means are over the view and those that agree. */
typedef struct splat_agreement {
    float position[3]; /* world */
    float normal[3];   /* unit */
    float color[3];    /* 0 to 255 */
    float cosine;      /* between the view's normal and the direction to it */
    float baseline;    /* the largest distance of the centre of a view that agrees from the view's ray; 0: none does */
    uint32_t n_agree;  /* neighbours that see the surface there, by less than a pixel and 1 % of the distance */
    uint32_t n_against; /* neighbours that look through it, into the sky or at what is more than 2 % farther */
} splat_agreement;

/* True if a pixel is surface: at least two neighbours agree (one, if the view has only one), and no more contradict. */
SPLAT_MATH_INLINE bool splat_agree_is_surface(uint32_t n_agree, uint32_t n_against, uint32_t n_neighbors)
{
    return n_agree >= (n_neighbors < 2 ? 1u : 2u) && n_against <= n_agree;
}

static inline bool splat_agreement_holds(const splat_agreement *a, uint32_t n_neighbors)
{
    return splat_agree_is_surface(a->n_agree, a->n_against, n_neighbors);
}

/* SILENT: the view has no depth or normal, or sees the pixel at a flatter angle than a cosine of 0.05. FLAT: at a
 * flatter one than SPLAT_AGREE_FLAT_COSINE. */
enum { SPLAT_AGREE_SILENT, SPLAT_AGREE_FLAT, SPLAT_AGREE_DOUBTED, SPLAT_AGREE_HOLDS };

/* Pixels first .. first + n - 1 of the view. The agreements, exact to the bit on every backend, are those of pixels
 * first + phase, first + phase + every, ...; undefined where the verdict is SILENT. The op waits for nothing. Errors:
 * ARGUMENT (too many neighbours, pixels beyond the view, phase). */
struct splat_agree_args {
    splat_agree_view view; /* device pointers */
    splat_agree_view neighbors[SPLAT_AGREE_NEIGHBORS];
    uint32_t n_neighbors;
    size_t first, n, every, phase; /* phase < every */
    uint8_t *verdicts;             /* [n] */
    splat_agreement *agreements;   /* [splat_agree_count(args)] */
};

/* How many agreements there are. */
static inline size_t splat_agree_count(const struct splat_agree_args *args)
{
    return args->n > args->phase ? (args->n - args->phase + args->every - 1) / args->every : 0;
}

/* Arguments that every backend refuses. */
static inline splat_status splat_agree_check(const struct splat_agree_args *args, splat_error *error)
{
    const size_t n = (size_t)args->view.camera.width * (size_t)args->view.camera.height;
    if (args->n_neighbors > SPLAT_AGREE_NEIGHBORS || args->first > n || args->n > n - args->first ||
        args->phase >= args->every)
        return splat_fail(error, SPLAT_ERROR_ARGUMENT,
                          "views agree on pixels of a view with at most %d neighbours; not on %zu from %zu on of %zu, "
                          "every %zu from %zu on, with %u neighbours", SPLAT_AGREE_NEIGHBORS, args->n, args->first, n,
                          args->every, args->phase, args->n_neighbors);
    return SPLAT_OK;
}

/* The op in host memory, for callers whose backend has other memory. */
splat_status splat_agree_on_host(const struct splat_agree_args *args, int threads, splat_error *error);

/* The same of n <= SPLAT_AGREE_BATCH pixels first + i step (y width + x), all of whose agreements are written. Near
 * ones together: what neighbours say of them lies near in memory. */
void splat_agree_batch(const splat_agree_view *view, const splat_agree_view *neighbors, uint32_t n_neighbors,
                       size_t first, size_t step, size_t n, splat_agreement *agreements, uint8_t *verdicts);

#endif
