#define SIMD(name) name##_avx2
#include "ops/raster/raster_simd.inc"
#include "ops/raster/raster_backward_simd.inc"
#include "ops/geometry/geometry_simd.inc"
