/* Which Gaussians are to become opaque: the entropy parts their opacities at a pivot, and what is below it goes with
 * the prune. At 1/2, as SuGaR has it, a splat whose 3D filter was fused keeps as few as happen to be above. */
#include "surface/coarse/coarse_parts.h"

#include <math.h>
#include <stdlib.h>

/* The element that sorting would put at `place`; the array is left partly sorted (Hoare's selection). */
static float select_place(float *values, size_t n, size_t place)
{
    size_t low = 0, high = n - 1;
    while (low < high) {
        float parting = values[low + (high - low) / 2];
        size_t i = low, j = high;
        for (;;) {
            while (values[i] < parting) i++;
            while (values[j] > parting) j--;
            if (i >= j) break;
            float kept = values[i];
            values[i++] = values[j];
            values[j--] = kept;
        }
        if (place <= j)
            high = j;
        else
            low = j + 1;
    }
    return values[place];
}

splat_status splat_coarse_find_pivot(const float *logits, size_t n, float keep, float *pivot, splat_error *error)
{
    size_t n_finite = 0, n_kept = (size_t)ceil((double)keep * (double)n);
    *pivot = 0;
    if (!(keep > 0) || n == 0) return SPLAT_OK;
    float *values = malloc(n * sizeof *values);
    if (!values) return splat_fail(error, SPLAT_ERROR_MEMORY, "no memory to sort %zu opacities", n);
    for (size_t i = 0; i < n; i++)
        if (isfinite(logits[i])) values[n_finite++] = logits[i];
    if (n_kept > n_finite) n_kept = n_finite;
    if (n_kept > 0) *pivot = fminf(0, select_place(values, n_finite, n_finite - n_kept));
    free(values);
    return SPLAT_OK;
}
