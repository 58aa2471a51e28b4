/* Which of many views are enough to see all places. */
#ifndef SPLAT_STEREO_VIEW_COVER_H
#define SPLAT_STEREO_VIEW_COVER_H

#include "base/error.h"
#include "stereo/view_places.h"

#include <stddef.h>
#include <stdint.h>

/* is_kept: [n], overwritten; 1: the view stays. Places are 8 x 8 pixels with depth of each view (splat_view_places).
 * A view sees a place if splat_view_sees says so and the angle between its ray and the ray of the place's own view is
 * at most 45 degrees. c(p) is the number of kept views that see place p. A view goes if the mean of 1 / c(p) over the
 * places that it sees is at most 1 / enough. So places that few views see weigh most. The first view stays. The others
 * are asked in turn: every second view first, then every second one of the rest, and so on, so that the views that stay
 * are spread over a sequence. A view without any place stays: a photo of the sky shows where no surface is. Does not
 * depend on threads. Errors: MEMORY. */
splat_status splat_view_cover_find(const splat_depth_view *views, size_t n, double enough, int threads,
                                   uint8_t *is_kept, splat_error *error);

#endif
