/* Shading: a plain surface has nearly the same colour from all sides, so the low-passed photos of many views, compared
 * on a hypothesis of the surface, tell where it is (docs/method.md). */
#ifndef SPLAT_SURFACE_PLANE_SHADE_H
#define SPLAT_SURFACE_PLANE_SHADE_H

#include "surface/planes/plane_parts.h"

#define PLANE_SHADE_LEAST 4 /* views that one place is compared in, at least; at most PLANE_SHADE_VIEWS */

/* The photos of all views, and what may stand before a place in them. */
typedef struct plane_shade {
    const splat_view_maps *maps;
    const plane_view *views;
} plane_shade;

/* A hypothesis at a place of a view's picture: inverse depth q, and what it gains a pixel to the right and down. */
typedef struct plane_slant {
    float q, right, down;
} plane_slant;

/* A place of a picture with the views that it is compared in; the picture's own view is the first. */
typedef struct plane_site {
    uint32_t view, n_views, views[PLANE_SHADE_VIEWS];
    float x, y; /* pixels */
} plane_site;

/* Sorts a few values, from small to large, and returns their median. */
float plane_shade_median(float *values, uint32_t n);
/* The side of a pixel of the small photo, in pixels of the map. */
int plane_shade_side(const splat_camera *camera);
/* Makes view->shade from a photo. */
splat_status plane_shade_make(const splat_camera *camera, const uint8_t *rgb, plane_view *view, splat_error *error);
/* Makes view->hiding, after view->shade and labels. Errors: MEMORY. */
splat_status plane_shade_hide(const splat_view_map *map, plane_view *view, splat_error *error);
/* The mean of the channels, with their gains, becomes what the functions below compare. Before the first call that is
 * black. */
void plane_shade_even(plane_view *view, const float gains[3]);
/* The views that contain the place, face it and are not known to be hidden. */
void plane_shade_look(const plane_shade *shade, const plane_slant *slant, plane_site *site);
/* Mean deviation of the views from their median, in levels of 255, over the window of the site that lies in its
 * segment; INFINITY: too few views or samples say something. */
float plane_shade_residual(const plane_shade *shade, const plane_site *site, const plane_slant *slant);
/* How far the site's own view is from the median of the others at its place, in levels; 0: there are no others. */
float plane_shade_own_off(const plane_shade *shade, const plane_site *site, const plane_slant *slant);
/* plane_shade_residual of single places along the ray through (x, y), whatever way they face. q: n <=
 * PLANE_LEVELS_PLACES inverse depths. */
void plane_shade_residuals_along(const plane_shade *shade, uint32_t view, float x, float y, const float *q, uint32_t n,
                                 float *residuals);
/* Logarithms of the levels of the site's views at its place, as the photos have them, where no channel is black or
 * white; returns how many. */
uint32_t plane_shade_logs(const plane_shade *shade, const plane_site *site, const plane_slant *slant,
                          uint32_t views[PLANE_SHADE_VIEWS], float logs[3][PLANE_SHADE_VIEWS]);
/* The slant of the surface that the map has at a pixel. */
bool plane_shade_slant_of_map(const splat_view_map *map, size_t pixel, plane_slant *slant);
/* The slant of a plane at a place. False where the ray does not meet its front. */
bool plane_shade_slant(const splat_camera *camera, const plane_fit *fit, float x, float y, plane_slant *slant);
/* The normal of a hypothesis, in the world, towards the camera. */
void plane_shade_normal(const splat_camera *camera, const plane_slant *slant, float x, float y, float normal[3]);

#endif
