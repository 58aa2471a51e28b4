/* The kernels of project for AVX-512. */
#define SIMD(name) splat_##name##_avx512
#include "ops/project/project_simd.inc"
