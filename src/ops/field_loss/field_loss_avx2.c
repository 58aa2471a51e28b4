#define SIMD(name) name##_avx2
#include "ops/field_loss/field_loss_simd.inc"
