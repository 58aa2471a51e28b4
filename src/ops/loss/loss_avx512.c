#define SIMD(name) name##_avx512
#include "ops/loss/loss_simd.inc"
