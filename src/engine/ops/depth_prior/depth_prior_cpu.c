/* The ops of known depth on the CPU: tiles or points in as many parts as there are sums, parts in parallel. */
#include "backend/backend.h"
#include "ops/depth_prior/depth_prior_math.h"

/* The loss of a tile's drawn patches, times N / n_parts. */
static double map_of_tile(const struct splat_depth_map_args *args, uint32_t tile, uint32_t tiles_x)
{
    const uint32_t drawn = splat_patches_drawn(&args->patches, tile), width = (uint32_t)args->width;
    const uint32_t left = tile % tiles_x * SPLAT_TILE, top = tile / tiles_x * SPLAT_TILE;
    const float scale = splat_depth_map_scale(args);
    double sum = 0;
    for (uint32_t y = top; y < top + SPLAT_TILE && y < (uint32_t)args->height; y++)
        for (uint32_t x = left; x < left + SPLAT_TILE && x < width; x++) {
            const size_t i = (size_t)y * width + x;
            float sign;
            if (!(drawn >> splat_patch_of(x, y) & 1)) continue;
            sum += (double)splat_depth_map_pixel(args, i, &sign);
            args->gradient[i] = scale * sign;
        }
    return sum;
}

splat_status splat_depth_map_cpu(splat_backend *backend, const struct splat_depth_map_args *args, splat_error *error)
{
    SPLAT_TRY(splat_depth_map_check(args, error));
    const uint32_t tiles_x = (uint32_t)splat_tiles_along((size_t)args->width);
    const uint64_t n_tiles = (uint64_t)tiles_x * splat_tiles_along((size_t)args->height);
    const double share = (double)args->patches.n_parts / ((double)args->width * (double)args->height);
#pragma omp parallel for num_threads(backend->threads) schedule(static)
    for (uint32_t part = 0; part < SPLAT_DEPTH_SUMS; part++) {
        double sum = 0;
        for (uint64_t tile = n_tiles * part / SPLAT_DEPTH_SUMS; tile < n_tiles * (part + 1) / SPLAT_DEPTH_SUMS; tile++)
            sum += map_of_tile(args, (uint32_t)tile, tiles_x);
        args->result[part] = share * sum;
    }
    return SPLAT_OK;
}

/* No two points share a pixel. */
splat_status splat_depth_points_cpu(splat_backend *backend, const struct splat_depth_points_args *args,
                                    splat_error *error)
{
    SPLAT_TRY(splat_depth_points_check(args, error));
#pragma omp parallel for num_threads(backend->threads) schedule(static)
    for (uint32_t part = 0; part < SPLAT_DEPTH_SUMS; part++) {
        const uint64_t begin = (uint64_t)args->n * part / SPLAT_DEPTH_SUMS;
        const uint64_t end = (uint64_t)args->n * (part + 1) / SPLAT_DEPTH_SUMS;
        double sum = 0, count = 0;
        for (uint64_t i = begin; i < end; i++) {
            int counts;
            sum += (double)splat_depth_points_one(args, (uint32_t)i, &counts);
            count += counts;
        }
        args->result[2 * part] = sum;
        args->result[2 * part + 1] = count;
    }
    return SPLAT_OK;
}
