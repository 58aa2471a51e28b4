#define SIMD(name) name##_avx2
#include "ops/filter3d/filter3d_simd.inc"
