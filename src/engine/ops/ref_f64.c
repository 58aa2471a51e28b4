/* The references in double. */
#include "ops/ref.h"
#define REAL double
#define REF(name) ref_##name##_f64
#include "ops/ref_bodies.inc"
