/* The photos choose what each place of a plain segment shows: one of its planes, a smooth surface, or what the splat
 * has there. */
#ifndef SPLAT_SURFACE_PLANE_CHOOSE_H
#define SPLAT_SURFACE_PLANE_CHOOSE_H

#include "surface/planes/plane_follow.h"
#include "surface/planes/plane_round.h"

/* The choice of a cell of a segment: the plane with this number; KEEP: as it is labelled; SMOOTH: the smooth surface,
 * where the photos tell it; GUESS: the same, where only what is around tells it; SPLAT: the
 * splat's depth instead of the plane; from ROUND on: the nearer and the farther sheet of each round surface;
 * from PLANE on: each plane of the scene. */
enum {
    PLANE_CHOICE_KEEP = PLANE_CANDIDATES,
    PLANE_CHOICE_SMOOTH,
    PLANE_CHOICE_GUESS,
    PLANE_CHOICE_SPLAT,
    PLANE_CHOICE_ROUND,
    PLANE_CHOICE_PLANE = PLANE_CHOICE_ROUND + 2 * PLANE_MAX_ROUNDS
};

#define PLANE_KNOWN 9 /* known surfaces that a segment may take, at most */

/* The choices about a segment; cells are those between the nodes of `smooth`. */
struct plane_surface {
    plane_smooth smooth;
    uint16_t *choices; /* [smooth.height - 1][smooth.width - 1]; NULL: nothing was asked */
    uint16_t *first;   /* the same, before known surfaces take cells */
    uint16_t planes[PLANE_CANDIDATES];
    /* plane_known.c keeps these for its next call: */
    float *residuals;                     /* [1 + n_known][cells] by `first`, and on known surfaces; NAN: not asked */
    uint16_t known[PLANE_KNOWN], n_known; /* choices */
};

/* Makes view->surfaces of one view; noise: plane_gains_noise. */
splat_status plane_choose(const plane_shade *shade, const plane_global *planes, size_t n_planes, float noise,
                          uint32_t number, splat_error *error);
void plane_surfaces_free(plane_view *view);
/* Drops residuals that plane_known.c keeps: a plane has moved. */
void plane_surfaces_forget(plane_view *view);
/* Returns what a pixel of a segment shows: PLANE_CHOICE_KEEP, a smooth surface, which is *slant, or else the plane
 * *plane. A round surface is returned as PLANE_CHOICE_SMOOTH. */
int plane_choice_at(const splat_camera *camera, const plane_view *view, size_t pixel, plane_slant *slant,
                    uint16_t *plane);
/* The round surface that a pixel shows, and whether it is the farther sheet; NULL: none. */
const plane_round *plane_round_at(const splat_camera *camera, const plane_view *view, size_t pixel, bool *is_far);

#endif
