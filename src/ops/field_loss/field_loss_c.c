#define SIMD(name) name##_c
#include "ops/field_loss/field_loss_simd.inc"
