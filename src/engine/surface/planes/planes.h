/* Planes of plain regions of the photos. The pixels of a painted wall have no information about its depth: a splat
 * has there any shape that renders the same. The rim of the wall, and things that hang on it, do have it. Planes are
 * fitted to those places over all views, and the depth of plain pixels that a plane bounds becomes the plane's
 * (docs/method.md). Where no plane explains the photos, a smooth surface takes its place. */
#ifndef SPLAT_SURFACE_PLANES_H
#define SPLAT_SURFACE_PLANES_H

#include "scene/sky_masks.h"
#include "surface/extract/view_maps.h"

/* The photo of map `number`, at the size of its depth: rgb [height][width][3]. Called from several threads. */
typedef splat_status (*splat_planes_photo)(void *user, size_t number, uint8_t *rgb, splat_error *error);

typedef struct splat_planes_options {
    int threads;
    uint64_t seed;
    splat_planes_photo photo;
    void *photo_user;
    const splat_sky *sky; /* its pixels are no part of a plain region; masks of all training views; NULL: none */
} splat_planes_options;

/* normal . x = offset in the world, the normal of length 1. */
typedef struct splat_plane {
    double normal[3], offset;
    double residual;   /* median distance of the places that the plane was fitted to */
    uint32_t n_views;  /* views with such places */
    uint64_t n_pixels; /* pixels of all views that took their depth from it */
} splat_plane;

typedef struct splat_planes_info {
    splat_plane *planes; /* [n] */
    size_t n;
    uint64_t n_plain, n_pixels; /* plain pixels of all views, and those that have a plane now */
    uint64_t n_smooth;          /* of the plain pixels those that lie on a smooth or round surface now */
    size_t n_rounds;            /* cylinders and balls */
} splat_planes_info;

/* Replaces depth and normals of the plain pixels of `maps` for which a plane or a smooth surface is found. The bytes do
 * not depend on threads. *info is the caller's to free. Errors: MEMORY and those of `photo`; then the maps are of no
 * use and there is nothing to free. */
splat_status splat_planes_find(splat_view_maps *maps, const splat_planes_options *options, splat_planes_info *info,
                               splat_error *error);
void splat_planes_info_free(splat_planes_info *info);

/* splat_planes_find with the scene's photos and the options' seed; a notice tells what was found. */
splat_status splat_surface_planes_apply(splat_scene *scene, const splat_mesh_extract_options *options,
                                        splat_view_maps *maps, splat_planes_info *info, splat_error *error);

#endif
