/* Host memory that matching photos takes, for plans. */
#ifndef SPLAT_SURFACE_EXTRACT_MATCH_BYTES_H
#define SPLAT_SURFACE_EXTRACT_MATCH_BYTES_H

#include <stdint.h>

/* For maps with n_pixels in all and `largest` in one: grey photos, planes of a view and costs of others, photos
 * that threads read. */
static inline uint64_t splat_view_match_bytes(uint64_t n_pixels, uint64_t largest, int threads)
{
    return n_pixels + largest * (28 + 4 * (uint64_t)threads);
}

#endif
