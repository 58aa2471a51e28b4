/* Rows of sh_rest, most of a Gaussian's bytes, whose steps are put off, or which lie in host memory and are kept on the
 * device for a while; settle_rest ends both. Shared by C and CUDA. */
#ifndef SPLAT_OPS_REST_H
#define SPLAT_OPS_REST_H

#include "ops/types.h"

/* Steps of Adam that a backend has put off (splat_backend.defers_rest) for sh_rest in float32 on the device:
 * most Gaussians are not seen by a view, and steps without gradient can be made later, one after the other, with the
 * same bits. A row's are made up when a step sees its Gaussian again, those of all rows by op settle_rest. */
#define SPLAT_MAX_DEFERRED 128
typedef struct splat_deferred_rest {
    float *gradient;  /* [n][4] dL/dcolour, before the clamp, of the last step that saw the Gaussian; then, as bits,
                         2 made + waits: the steps that its row has made, and whether the next is that of this
                         gradient (without one its gradient is zero). All zero bits when nothing is put off */
    float *direction; /* [n][3] unit vector from the camera of that step to the mean */
    float *steps;     /* [SPLAT_MAX_DEFERRED][2] lr / correction1 and 1 / sqrt(correction2) of the steps put off; NaN:
                         the step was left out */
    float *m, *v;     /* the moments of sh_rest, [n][channels]; set by project_backward */
    uint32_t n_steps; /* steps deferred so far */
    int active_sh_degree; /* active degree in the deferred steps */
    /* Steps of several views (op batch_step), where n_slots is above 1: gradient is [n][n_slots][4] and direction
     * [n][n_slots][3], a slot for each view of a step; the last word of a gradient is the number of its step, counted
     * from 1, which waits where it is above the row's made. */
    uint32_t n_slots;
    uint32_t n_views; /* views of each deferred step */
    uint32_t *made;   /* [n] steps that the row has made */
    bool at_once;     /* of several views, and nothing is put off: batch_step makes the step that waits in the slots.
                         For small storages, whose rounding goes by the iteration */
} splat_deferred_rest;

/* Rows of sh_rest and of its moments that lie in host memory (SPLAT_ON_HOST), kept on the device from view to view
 * (splat_backend.caches_rest). A step fetches the rows of its view that the cache lacks, into slots that are empty
 * or hold rows outside the view, which go home: each row crosses the bus once each way, in both directions at once,
 * during the step's computation. A row without a slot is read and written at home. Only the place of a row changes,
 * never its bits. density_grow and density_prune move rows here and at home; op settle_rest sends all rows home. */
typedef struct splat_rest_cache {
    uint32_t *slot;     /* [n_rows] 1 + the slot that has the Gaussian's rows, or 0: they are at home, or it does not
                           exist yet */
    uint32_t *owner;    /* [n_slots] 1 + the Gaussian whose rows are there, or 0 */
    uint32_t *counts;   /* [SPLAT_REST_CACHE_COUNTS] of the step in work */
    uint32_t *leaving;  /* [n_slots] like owner: whose rows go home in the step in work, as others move in */
    uint32_t *chosen;   /* [n_slots] of the step in work: empty slots from the front, those that may be left from the
                           end */
    uint32_t *rest;     /* [n_slots][rest_words], or NULL: sh_rest itself lies on the device */
    uint32_t *moments[2];      /* [n_slots][moment_words] m and v; quantized: both in the first, then NULL */
    uint32_t *home_moments[2]; /* [n][moment_words] the same, of all Gaussians */
    uint32_t n_slots, rest_words, moment_words;
    uint32_t n_rows;    /* Gaussians at most */
    bool is_empty;
} splat_rest_cache;

#define SPLAT_REST_CACHE_COUNTS 3

/* Cuts the arrays from memory of the backend (NULL: none is cut), of which the first *zeroed bytes have to be zero.
 * Returns the bytes they take. n_slots, n_rows, the words of rows (0: no sh_rest) and home_moments are set before. */
size_t splat_rest_cache_cut(splat_rest_cache *cache, void *data, size_t *zeroed);

/* The state of a model's sh_rest and of its moments. Ops of a step and of density control take it as `rest`; NULL, and
 * to all other ops: the rows are settled, and lie where the Gaussians' pointers say (model/rest.h). */
typedef struct splat_rest_state {
    splat_deferred_rest *deferred; /* deferred steps of sh_rest; NULL: none */
    splat_rest_cache *cache;       /* rows of sh_rest on the device; NULL: none */
} splat_rest_state;

static inline splat_rest_state splat_rest_state_of(const splat_rest_state *rest)
{
    const splat_rest_state settled = {NULL, NULL};
    return rest ? *rest : settled;
}

/* settle_rest: makes the steps that are put off, in all rows (splat_deferred_rest), and sends rows home that a cache
 * has (splat_rest_cache); the pointers are the device's. Without any it does nothing. */
struct splat_settle_rest_args {
    const splat_gaussians *gaussians;
    const splat_rest_state *rest;
};

#endif
