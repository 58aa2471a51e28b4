/* Points where photos match: seeds for trainings whose photos have few points. */
#ifndef SPLAT_STEREO_MATCHED_POINTS_H
#define SPLAT_STEREO_MATCHED_POINTS_H

#include "backend/backend.h"
#include "scene/scene.h"

typedef struct splat_matched_points {
    splat_point *points; /* owned by the caller (free) */
    size_t n;
} splat_matched_points;

/* Places whose surroundings look the same in several training photos. Photos have up to 100,000 pixels here, and every
 * second to fourth pixel, both ways, is asked: the fewer, the fewer points are wanted, and at most most_sites of all
 * photos together. If that allows not even every fourth, nothing is found. The depth that a pixel begins with is
 * interpolated from the scene's points; the op match improves it, and a place counts if another photo, asked on its
 * own, finds it within 1 % of its depth. A second round begins with what the first one found. Photos that find the same
 * place make one point, with the colour that the first of them has. If more than `most` are found, as many are taken,
 * evenly spread over the list.
 *
 * What masks cover makes no points. The same bytes with any number of threads. Errors: MEMORY, of the host or the
 * device, those of reading photos; on failure there is nothing to free. */
splat_status splat_matched_points_find(splat_scene *scene, splat_backend *backend, size_t most, double most_sites,
                                       splat_matched_points *found, splat_error *error);

#endif
