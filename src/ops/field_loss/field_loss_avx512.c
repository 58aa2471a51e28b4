#define SIMD(name) name##_avx512
#include "ops/field_loss/field_loss_simd.inc"
