#define SIMD(name) name##_avx2
#include "ops/loss/loss_simd.inc"
