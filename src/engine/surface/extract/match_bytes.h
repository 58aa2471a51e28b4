/* Host memory that matching photos takes, for plans. */
#ifndef SPLAT_SURFACE_EXTRACT_MATCH_BYTES_H
#define SPLAT_SURFACE_EXTRACT_MATCH_BYTES_H

#include <stdint.h>

#define SPLAT_VIEW_SITE_STRIDE 3u /* pixels from a site that is asked about to the next (view_sites.h) */

/* For maps with n_pixels in all and `largest` in one: grey photos, planes of a view and costs of others, photos
 * that threads read, and of every site a plane and whether it is confirmed. */
static inline uint64_t splat_view_match_bytes(uint64_t n_pixels, uint64_t largest, int threads)
{
    const uint64_t n_sites = n_pixels / (SPLAT_VIEW_SITE_STRIDE * SPLAT_VIEW_SITE_STRIDE);
    return n_pixels + 13 * n_sites + largest * (29 + 4 * (uint64_t)threads);
}

#endif
