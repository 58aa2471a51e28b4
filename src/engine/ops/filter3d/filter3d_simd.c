/* The loop over cameras for 16 means at a time. Compiled once a SIMD level. */
#include "ops/filter3d/filter3d_simd.h"
#include "ops/simd.h"

#include <math.h>

SPLAT_FILTER3D_KERNEL(SIMD(splat_filter3d))
{
    for (uint32_t first = 0; first < n; first += SPLAT_LANES) {
        uint32_t n_lanes = n - first < SPLAT_LANES ? n - first : SPLAT_LANES;
        float x[SPLAT_LANES] = {0}, y[SPLAT_LANES] = {0}, z[SPLAT_LANES] = {0}, best[SPLAT_LANES];
        for (uint32_t i = 0; i < n_lanes; i++) {
            const float *mean = means + 3 * (size_t)(first + i);
            x[i] = mean[0], y[i] = mean[1], z[i] = mean[2];
        }
        for (int i = 0; i < SPLAT_LANES; i++) best[i] = INFINITY;
        for (uint32_t c = 0; c < n_cameras; c++) {
            const splat_filter3d_camera *k = &cameras[c];
            /* A mean that is not finite gives NaN or infinite coordinates, which never beat `best`. */
            for (int i = 0; i < SPLAT_LANES; i++) {
                float cx = k->rows[0][0] * x[i] + k->rows[0][1] * y[i] + k->rows[0][2] * z[i] + k->shift[0];
                float cy = k->rows[1][0] * x[i] + k->rows[1][1] * y[i] + k->rows[1][2] * z[i] + k->shift[1];
                float cz = k->rows[2][0] * x[i] + k->rows[2][1] * y[i] + k->rows[2][2] * z[i] + k->shift[2];
                int sees = (cz > 0.2f) & (cx >= k->low[0] * cz) & (cx <= k->high[0] * cz) & (cy >= k->low[1] * cz) &
                           (cy <= k->high[1] * cz);
                float distance = cz * k->inverse_fx;
                best[i] = (sees & (distance < best[i])) ? distance : best[i];
            }
        }
        for (uint32_t i = 0; i < n_lanes; i++) distances[first + i] = best[i];
    }
}
