#define SIMD(name) name##_c
#include "ops/filter3d/filter3d_simd.inc"
