/* The kernels of project for AVX2. */
#define SIMD(name) splat_##name##_avx2
#include "ops/project/project_simd.inc"
