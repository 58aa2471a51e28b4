/* The references in float. */
#include "ops/ref.h"
#define REAL float
#define REF(name) ref_##name##_f32
#include "ops/ref_bodies.inc"
