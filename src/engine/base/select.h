/* The value of a rank without sorting. */
#ifndef SPLAT_BASE_SELECT_H
#define SPLAT_BASE_SELECT_H

#include <stddef.h>
#include <stdint.h>

/* The value that would stand at `rank` (below n) if values[n], without NaN, were sorted from small to large; afterwards
 * it stands there, nothing larger before it and nothing smaller after it (Hoare's quickselect: about 3 n comparisons;
 * the pivot is the median of three at pseudo-random places, so that no order of the input is slow). */
static inline float splat_select_float(float *values, size_t n, size_t rank)
{
    size_t low = 0, high = n - 1;
    uint64_t state = 0x9E3779B97F4A7C15u;
    while (low < high) {
        float pick[3];
        for (int i = 0; i < 3; i++) {
            state = state * 6364136223846793005u + 1442695040888963407u;
            pick[i] = values[low + (size_t)((state >> 33) % (high - low + 1))];
        }
        float least = pick[0] < pick[1] ? pick[0] : pick[1], most = pick[0] < pick[1] ? pick[1] : pick[0];
        float pivot = pick[2] < least ? least : pick[2] > most ? most : pick[2];
        size_t i = low, j = high;
        while (i <= j) { /* values equal to the pivot stop both scans and are shared out */
            while (values[i] < pivot) i++;
            while (pivot < values[j]) j--;
            if (i > j) break;
            float swap = values[i];
            values[i++] = values[j];
            values[j] = swap;
            if (j == 0) break;
            j--;
        }
        if (rank <= j && j < i)
            high = j;
        else if (rank >= i)
            low = i;
        else
            break; /* between the two: equal to the pivot */
    }
    return values[rank];
}

#endif
