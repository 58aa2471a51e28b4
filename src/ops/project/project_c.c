/* The kernels of project for plain C (whatever the compiler's baseline has). */
#define SIMD(name) splat_##name##_c
#include "ops/project/project_simd.inc"
