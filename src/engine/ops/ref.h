/* The plain references of the ops, in float (suffix _f32: the oracle of the fast versions) and in double (suffix _f64:
 * the oracle of the gradients, by central differences). Bodies: src/engine/ops/<op>/<op>_ref.inc, compiled twice by
 * ref_f32.c and ref_f64.c, where REAL is the type and REF(x) the suffixed name. They are written to be read, not to be
 * fast: no tiles lists, no SIMD, one Gaussian or one pixel at a time. */
#ifndef SPLAT_OPS_REF_H
#define SPLAT_OPS_REF_H

#include "ops/types.h"

#define REAL float
#define REF(name) ref_##name##_f32
#include "ops/ref_declarations.inc"
#undef REAL
#undef REF

#define REAL double
#define REF(name) ref_##name##_f64
#include "ops/ref_declarations.inc"
#undef REAL
#undef REF

#endif
