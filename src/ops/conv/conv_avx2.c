#define SIMD(name) name##_avx2
#include "ops/conv/conv_simd.inc"
