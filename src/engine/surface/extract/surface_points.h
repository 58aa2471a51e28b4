/* Points on a surface, whatever they come from. */
#ifndef SPLAT_SURFACE_SURFACE_POINTS_H
#define SPLAT_SURFACE_SURFACE_POINTS_H

#include "splatsmith/mesh.h"

/* Points on the surface with normals and colours. */
typedef struct splat_surface_points {
    size_t n, capacity;
    float *positions, *normals; /* [n][3] */
    uint8_t *colors;            /* [n][4] */
    float *weights;             /* [n], above 0, how much each counts; NULL: all the same */
    float *sizes;               /* [n], above 0, scene units: how far apart points lie there; NULL: not known */
} splat_surface_points;

#define SPLAT_SURFACE_POINT_BYTES 28u /* of host memory, without weights and sizes */
#define SPLAT_SURFACE_VIEWS_BYTES 8u /* of weight and size, which VIEWS has */
#define SPLAT_SURFACE_PIECE 65536u   /* pixels that LEVEL looks at together: bounds what they need */

splat_status splat_surface_points_make(splat_surface_points *points, size_t capacity, splat_error *error);
void splat_surface_points_free(splat_surface_points *points);
/* Opaque black so far; there must be room. */
void splat_surface_points_add(splat_surface_points *points, const float position[3], const float normal[3],
                              const uint8_t color[3]);

/* Room for weights and sizes of points that are still to come. Errors: MEMORY. */
splat_status splat_surface_points_weigh(splat_surface_points *points, splat_error *error);

/* Keeps the points with keep[i] != 0, in their order. */
void splat_surface_points_keep(splat_surface_points *points, const uint8_t *keep, int threads);

/* Points that training view `number` should give, so that all give n_points together. */
size_t splat_surface_share(const splat_scene *scene, const splat_mesh_extract_options *options, size_t number);

/* Choosing n_wanted of n_left at random, one after the other: whether this one is taken, by a random word; counts
 * both down. Every choice is as likely, and exactly n_wanted are taken where there are so many. */
static inline bool splat_surface_pick(uint32_t word, size_t *n_wanted, size_t *n_left)
{
    bool takes = (double)word * 0x1p-32 * (double)(*n_left)-- < (double)*n_wanted;
    *n_wanted -= takes;
    return takes;
}

#endif
