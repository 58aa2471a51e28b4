/* Depth of training views judged by their photos (op match; docs/method.md 16). */
#ifndef SPLAT_SURFACE_EXTRACT_VIEW_MATCH_H
#define SPLAT_SURFACE_EXTRACT_VIEW_MATCH_H

#include "backend/backend.h"
#include "stereo/photo_matcher.h"
#include "surface/extract/view_maps.h"
#include "surface/planes/planes.h"

typedef struct splat_match_options {
    uint32_t stride; /* every so many pixels are asked, both ways; 0: on a device every one, of pictures above 1.1
                        Mpixel every second, on the CPU every third */
    splat_match_photos photos; /* of every map, at its size */
    const splat_plane *planes; /* [n_planes] of the scene, which pixels may lie on: view_planes.h */
    size_t n_planes;
    splat_status (*go_on)(void *user, double fraction, splat_error *error); /* before every view; NULL: none */
    void *go_on_user;
} splat_match_options;

typedef struct splat_match_info {
    uint64_t n_on_planes; /* pixels that took a plane */
    uint64_t n_asked, n_matched, n_against; /* pixels: SILENT with depth; those that changed */
    uint64_t n_refined; /* pixels that views agree on, whose depth the photos corrected */
    uint64_t n_found; /* pixels whose depth the photos found elsewhere */
    float noise;                            /* of the photos, levels */
} splat_match_info;

/* First pixels take planes (view_planes.h). Then every view is compared with its neighbours, one after the other:
 * SILENT pixels with depth become MATCHED, with the depth and normal that the photos show, or AGAINST, without depth,
 * or stay. A pixel that was not asked takes the verdict of the nearest one that was, if its depth lies within 1 % of
 * that one's plane. Then photos correct the depth that views agree on (view_refine.h), and search for what pixels
 * without support show (view_search.h). The bytes do not
 * depend on threads. Errors: MEMORY, of the host or the device, those of `photo` and `go_on`; the maps that were
 * compared keep it. */
splat_status splat_view_maps_match(splat_view_maps *maps, splat_backend *backend, const splat_match_options *options,
                                   splat_match_info *info, splat_error *error);

/* With the scene's photos and planes; a notice tells what was found. Photos stay unmatched, with a notice, if the
 * device has no memory for it. */
splat_status splat_surface_match_apply(splat_scene *scene, splat_backend *backend,
                                       const splat_mesh_extract_options *options, const splat_planes_info *planes,
                                       splat_view_maps *maps, splat_error *error);

#endif
