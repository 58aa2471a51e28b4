/* Depth that views agree on, corrected by the photos. */
#ifndef SPLAT_SURFACE_EXTRACT_VIEW_REFINE_H
#define SPLAT_SURFACE_EXTRACT_VIEW_REFINE_H

#include "stereo/photo_matcher.h"
#include "surface/extract/view_maps.h"

/* Views agree on depth of the same splat, which may be off by a pixel of disparity in all of them. Op match begins with
 * the planes of sites (view_sites.h) that are AGREED. The pixels of a site take depth and normal of its best plane if
 * its cost is good (SPLAT_MATCH_GOOD), a neighbour confirms the place to 0.5 %, and they lay on its first plane; they
 * stay AGREED. *n_refined grows by them. The bytes do not depend on threads. Errors: MEMORY, DEVICE, those of go_on,
 * which is called before every view. */
splat_status splat_view_maps_refine(splat_view_maps *maps, splat_photo_matcher *photos, int threads,
                                    splat_status (*go_on)(void *user, double fraction, splat_error *error),
                                    void *user, uint64_t *n_refined, splat_error *error);

#endif
