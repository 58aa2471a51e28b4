/* Depth that the photos find where the splat's has no support. */
#ifndef SPLAT_SURFACE_EXTRACT_VIEW_SEARCH_H
#define SPLAT_SURFACE_EXTRACT_VIEW_SEARCH_H

#include "stereo/photo_matcher.h"
#include "surface/extract/view_maps.h"

/* Pixels that are SILENT with depth, or AGAINST, are asked for another depth: op match begins with what trusted pixels
 * of the view and of its neighbours say around them (splat_depth_guess). A site that matches becomes MATCHED, with
 * depth and normal, if a neighbour has found the same place or trusts it; else its pixels stay as they are. A second
 * round begins with what the first has found. *n_found grows by the pixels that changed. The matcher's depths are left
 * out meanwhile. The bytes do not depend on threads. Errors: MEMORY, DEVICE, those of go_on, which is called before
 * every view. */
splat_status splat_view_maps_search(splat_view_maps *maps, splat_photo_matcher *photos, int threads,
                                    splat_status (*go_on)(void *user, double fraction, splat_error *error),
                                    void *user, uint64_t *n_found, splat_error *error);

#endif
