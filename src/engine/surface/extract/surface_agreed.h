/* Points of the surface that several training views see at the same place. */
#ifndef SPLAT_SURFACE_EXTRACT_SURFACE_AGREED_H
#define SPLAT_SURFACE_EXTRACT_SURFACE_AGREED_H

#include "mesh/mesh.h"
#include "model/model.h"
#include "scene/scene.h"
#include "splatsmith/mesh.h"
#include "surface/extract/extraction.h"
#include "surface/extract/free_space.h"
#include "surface/extract/surface_points.h"
#include "surface/extract/view_maps.h"
#include "surface/planes/planes.h"

/* Counts of the pixels by result. */
typedef struct splat_surface_agreed {
    size_t n_seen;    /* with depth */
    size_t n_kept;    /* that make points */
    size_t n_against; /* that more views contradict than agree with */
    size_t n_vague;   /* that views agree on, from too near to each other for a depth */
    uint64_t n_spread; /* that took a plane of known pixels around (plane_spread) */
    double cell;      /* side of the smallest cells */
} splat_surface_agreed;

/* Adds to points, which have weights, at most as many as there is room for. A point is the weighted mean of the pixels
 * that fell into its cell, each the mean of what the views that agree see there; weights are sums over the pixels of
 *     (views that agree) x (cosine of the angle at which the surface is seen).
 * A cell is as wide as 1.25 pixels of its view on the surface, to the nearest power of 2 (splat_point_cells). The
 * smallest size is that of a hundredth of the pixels. Where points would not suffice all cells are larger. A pixel
 * whose depth the views do not determine to 3 %, and what lies outside of the options' box, makes no point. A pixel on
 * a plane, or on a smooth or round surface, or that photos match, makes one unless a view looks through it, with half
 * the weight of one view where none agrees. With options->match the scene's photos are asked about what views do not
 * agree on, and whether pixels lie on one of the planes (splat_surface_match_apply); without a scene (NULL) they are
 * not, and planes may be NULL. Of more than 16 pixels for each point that there is room for, every second, third ... is
 * asked. Marks the pixels of all views as splat_view_maps_mark_agreed does, without the depth of spots that agree by
 * chance (splat_view_maps_drop_spots), which the maps lose. With options->planes unknown pixels take planes of known
 * ones around (plane_spread). The backend compares the views, where it has room for them, with the bits of the host;
 * NULL: the host does. Does not depend on threads. Errors: MEMORY, STOPPED, those of the backend. */
splat_status splat_surface_agree(splat_view_maps *maps, splat_scene *scene, splat_backend *backend,
                                 const splat_mesh_extract_options *options, const splat_planes_info *planes,
                                 int threads, splat_surface_points *points, splat_surface_agreed *agreed,
                                 splat_error *error);

/* From SPLAT_MESH_POINTS_VIEWS (surface_agreed.c): renders all views, compares them, thins the surface that they agree
 * on to at most points->capacity points, with weights; and finds what they look through, *space, which the caller
 * frees. Errors also: NUMERIC (they agree on none). */
splat_status splat_surface_views_agreed(splat_scene *scene, splat_model *model,
                                        const splat_mesh_extract_options *options, splat_surface_points *points,
                                        splat_free_space *space, splat_error *error);

#endif
