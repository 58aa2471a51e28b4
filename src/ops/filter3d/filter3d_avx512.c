#define SIMD(name) name##_avx512
#include "ops/filter3d/filter3d_simd.inc"
