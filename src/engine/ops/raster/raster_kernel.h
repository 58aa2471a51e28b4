/* Declarations shared by the SIMD levels of raster, raster_backward, geometry and geometry_backward. */
#ifndef SPLAT_OPS_RASTER_KERNEL_H
#define SPLAT_OPS_RASTER_KERNEL_H

#include "ops/geometry/geometry.h"
#include "ops/raster/raster.h"
#include "ops/raster/raster_moments.h"

/* Instances are copied to the stack in batches: the gathers of a batch overlap, and the rows read one cache line. */
#define SPLAT_RASTER_BATCH 64

/* The values that a walk along a tile's list blends: colours; planes (geometry); colours and depths. */
typedef enum splat_walk { SPLAT_WALK_COLOURS, SPLAT_WALK_PLANES, SPLAT_WALK_DEPTHS } splat_walk;

/* A row of frame->raster_rows at a tile. */
typedef struct splat_raster_entry {
    float u, v, a, b, c, alpha0;
    float red, green, blue;     /* the first channels: the colour, or a plane's distance and normal's x and y */
    float fourth;               /* planes: the normal's z; colours with depths: z */
    float power_min;            /* as in splat_raster_row */
    float step, step8;
    int32_t row_begin, row_end; /* rows of the tile that the ellipse reaches; row_end <= row_begin when none */
} splat_raster_entry;

/* A tile's pixels inside the picture. */
typedef struct splat_raster_tile {
    int32_t x, y, columns, rows;
    uint32_t begin, end; /* first instance and end */
} splat_raster_tile;

splat_raster_tile splat_raster_tile_of(const splat_frame *frame, uint32_t tile);

/* Entries of instances first .. first + n - 1, n <= SPLAT_RASTER_BATCH. features: of planes, else NULL. */
void splat_raster_load(const splat_frame *frame, const float *features, const splat_raster_tile *tile, uint32_t first,
                       uint32_t n, splat_raster_entry *entries);

/* Scratch of raster_backward and geometry_backward: the moments of a band's instances; and with depths, after them,
 * dL/dz of each. */
static inline size_t splat_raster_slots_bytes(size_t n_instances)
{
    return n_instances * sizeof(splat_raster_moments);
}

static inline size_t splat_raster_depth_slots_bytes(size_t n_instances)
{
    return n_instances * sizeof(float);
}

/* The first half of raster_backward: the moments of every instance of the band in their slots (scratch, taken without a
 * reset). depth_slots: the same with depths. */
splat_status splat_raster_backward_slots(splat_backend *backend, const struct splat_raster_backward_args *args,
                                         splat_raster_moments **slots, float **depth_slots, splat_error *error);

/* Blends one tile: image, transmittance, last and blended of its pixels, and depths at all of them. */
#define SPLAT_RASTER_TILE(name) void name(const splat_frame *frame, const splat_raster_depth *depth, uint32_t tile)
/* Writes the moments of every instance of one tile to its slot; `fourth` is 0 without_mean_abs. depth_slots: the
 * same with depths. */
#define SPLAT_RASTER_BACKWARD_TILE(name)                                                                               \
    void name(const struct splat_raster_backward_args *args, const splat_raster_depth *depth, uint32_t tile,           \
              splat_raster_moments *slots, float *depth_slots)
/* The same two of geometry. */
#define SPLAT_GEOMETRY_TILE(name) void name(const struct splat_geometry_args *args, uint32_t tile)
#define SPLAT_GEOMETRY_BACKWARD_TILE(name)                                                                             \
    void name(const struct splat_geometry_backward_args *args, uint32_t tile, splat_raster_moments *slots)

SPLAT_RASTER_TILE(splat_raster_tile_c);
SPLAT_RASTER_TILE(splat_raster_tile_avx2);
SPLAT_RASTER_TILE(splat_raster_tile_avx512);
SPLAT_RASTER_BACKWARD_TILE(splat_raster_backward_tile_c);
SPLAT_RASTER_BACKWARD_TILE(splat_raster_backward_tile_avx2);
SPLAT_RASTER_BACKWARD_TILE(splat_raster_backward_tile_avx512);
SPLAT_GEOMETRY_TILE(splat_geometry_tile_c);
SPLAT_GEOMETRY_TILE(splat_geometry_tile_avx2);
SPLAT_GEOMETRY_TILE(splat_geometry_tile_avx512);
SPLAT_GEOMETRY_BACKWARD_TILE(splat_geometry_backward_tile_c);
SPLAT_GEOMETRY_BACKWARD_TILE(splat_geometry_backward_tile_avx2);
SPLAT_GEOMETRY_BACKWARD_TILE(splat_geometry_backward_tile_avx512);

#endif
