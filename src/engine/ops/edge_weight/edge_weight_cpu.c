/* edge_weight on the CPU: rows in parallel, in two passes. */
#include "backend/backend.h"
#include "ops/edge_weight/edge_weight_math.h"

splat_status splat_edge_weight_cpu(splat_backend *backend, const struct splat_edge_weight_args *args,
                                   splat_error *error)
{
    const int width = args->width, height = args->height;
    float least = INFINITY, largest = -INFINITY, *ranges;
    void *data;
    SPLAT_TRY(splat_edge_weight_check(args, error));
    SPLAT_TRY(splat_scratch_reset(backend, error));
    SPLAT_TRY(splat_scratch_take(backend, splat_edge_weight_scratch_bytes(false, (size_t)height), &data, error));
    ranges = data;
#pragma omp parallel for num_threads(backend->threads) schedule(static)
    for (int y = 0; y < height; y++) {
        float low = INFINITY, high = -INFINITY, *row = args->weights + (size_t)y * (size_t)width;
        for (int x = 0; x < width; x++) {
            if (splat_edge_is_border(args, x, y)) continue;
            row[x] = splat_edge_strength(args, x, y);
            low = row[x] < low ? row[x] : low;
            high = row[x] > high ? row[x] : high;
        }
        ranges[2 * y] = low;
        ranges[2 * y + 1] = high;
    }
    for (int y = 0; y < height; y++) {
        least = ranges[2 * y] < least ? ranges[2 * y] : least;
        largest = ranges[2 * y + 1] > largest ? ranges[2 * y + 1] : largest;
    }
#pragma omp parallel for num_threads(backend->threads) schedule(static)
    for (int y = 0; y < height; y++) {
        float *row = args->weights + (size_t)y * (size_t)width;
        for (int x = 0; x < width; x++)
            row[x] = splat_edge_is_border(args, x, y) ? 0.0f : splat_edge_weight_of(row[x], least, largest);
    }
    return SPLAT_OK;
}
