/* Photos that are compared with those of their neighbours, one view at a time (op match). */
#ifndef SPLAT_STEREO_PHOTO_MATCHER_H
#define SPLAT_STEREO_PHOTO_MATCHER_H

#include "backend/backend.h"
#include "backend/host_room.h"
#include "ops/match/match.h"
#include "stereo/view_neighbors.h"

/* Reads the photo of view `number` at the size of its camera: rgb [height][width][3]. Called from several threads. */
typedef struct splat_match_photos {
    splat_status (*read)(void *user, size_t number, uint8_t *rgb, splat_error *error);
    void *user;
} splat_match_photos;

typedef struct splat_matched_view {
    const splat_camera *camera;
    const float *depth; /* [height][width], borrowed; NULL: nothing is known of what hides what */
    uint8_t *grey;      /* [height][width] */
} splat_matched_view;

/* Slots of views on the device, those least used go first. Views in turn have neighbours in common: with 24 slots every
 * seventh view must be sent, with 9, which one comparison needs, two of five. */
#define SPLAT_MATCHER_SLOTS 24

/* The photo and the depth of a view on the device. */
typedef struct splat_matcher_slot {
    splat_block photo, depth;
    size_t view;      /* number + 1; 0: none */
    bool has_depth;   /* as it is on the host */
    uint64_t last_use;
} splat_matcher_slot;

typedef struct splat_photo_matcher {
    splat_backend *backend;
    size_t n;
    splat_matched_view *views; /* [n] */
    size_t largest;            /* pixels of the largest view, at least 1 */
    float noise;               /* deviation of the photos' noise, levels */
    bool guesses;              /* false: `first` of comparisons is what is known, not a guess (op match) */
    float (*first)[3], (*best)[3]; /* [sites] of the view that is compared: planes before and after (op match) */
    uint8_t *judged;               /* [sites] verdicts */
    splat_host_room rooms[3];      /* of these three */
    splat_matcher_slot slots[SPLAT_MATCHER_SLOTS];
    size_t n_slots; /* at least 1 + SPLAT_MATCH_NEIGHBORS */
    uint64_t n_uses;
    splat_block planes, costs, verdicts;
} splat_photo_matcher;

/* Reads all photos. Cameras and depth of the views are borrowed until the end; splat_photo_matcher_forget says that
 * depth has changed.
 * Errors: MEMORY, those of reading; on failure there is nothing to free. */
splat_status splat_photo_matcher_init(splat_photo_matcher *matcher, splat_backend *backend,
                                      const splat_depth_view *views, size_t n, const splat_match_photos *photos,
                                      splat_error *error);
void splat_photo_matcher_free(splat_photo_matcher *matcher);

/* The depth of a view has changed. */
void splat_photo_matcher_forget(splat_photo_matcher *matcher, size_t number);

/* Fills best and judged of a view from first, which the caller has set for all its sites at this stride. Errors:
 * MEMORY, DEVICE. */
splat_status splat_photo_matcher_compare(splat_photo_matcher *matcher, size_t number, const uint32_t *neighbors,
                                         uint32_t n_neighbors, uint32_t stride, uint32_t n_sweeps, splat_error *error);

/* Costs of the n_sites planes in `best` of the last comparison: SPLAT_MATCH_DUMB where a site says nothing. Errors:
 * DEVICE. */
splat_status splat_photo_matcher_costs(splat_photo_matcher *matcher, size_t n_sites, float *costs, splat_error *error);

/* Costs of the planes in `first` alone, whatever stands before them: costs [sites], SPLAT_MATCH_DUMB where a site says
 * nothing. Errors: MEMORY, DEVICE. */
splat_status splat_photo_matcher_ask(splat_photo_matcher *matcher, size_t number, const uint32_t *neighbors,
                                     uint32_t n_neighbors, uint32_t stride, float *costs, splat_error *error);

#endif
