/* Orders for qsort, from small to large; without NaN. */
#ifndef SPLAT_BASE_COMPARE_H
#define SPLAT_BASE_COMPARE_H

static inline int splat_compare_floats(const void *a, const void *b)
{
    float x = *(const float *)a, y = *(const float *)b;
    return (x > y) - (x < y);
}

static inline int splat_compare_doubles(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

#endif
