/* Which of many views are enough to see all places. */
#ifndef SPLAT_STEREO_VIEW_COVER_H
#define SPLAT_STEREO_VIEW_COVER_H

#include "base/error.h"
#include "stereo/view_places.h"

#include <stddef.h>
#include <stdint.h>

/* is_kept: [n]. A view is left out if, where it looks, it is one of many. Of each view 8 x 8 pixels with depth are
 * places; another view sees a place if the place falls into its picture, is not hidden there by more than a tenth of
 * the distance, and the angle between both rays is at most 45 degrees. With c(p) the number of kept views that see
 * place p, a view is left out if the mean of 1 / c(p) over the places that it sees is at most 1 / enough. All views are
 * asked in turn: every second one first, then every second one of the rest, and so on, so that neighbours in a sequence
 * stay. Places that few views see weigh most, and so keep them. Does not depend on threads. Errors: MEMORY. */
splat_status splat_view_cover_find(const splat_depth_view *views, size_t n, double enough, int threads,
                                   uint8_t *is_kept, splat_error *error);

#endif
