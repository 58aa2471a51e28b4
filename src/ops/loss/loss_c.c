#define SIMD(name) name##_c
#include "ops/loss/loss_simd.inc"
