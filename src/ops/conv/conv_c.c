#define SIMD(name) name##_c
#include "ops/conv/conv_simd.inc"
