#define SIMD(name) name##_avx512
#include "ops/conv/conv_simd.inc"
