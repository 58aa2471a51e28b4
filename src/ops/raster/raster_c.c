#define SIMD(name) name##_c
#include "ops/raster/raster_simd.inc"
#include "ops/raster/raster_backward_simd.inc"
#include "ops/geometry/geometry_simd.inc"
