/* Rotations out of matrices in files. */
#ifndef SPLAT_IO_ORTHONORMAL_H
#define SPLAT_IO_ORTHONORMAL_H

#include <stdbool.h>

/* The columns of a rotation must be orthogonal, right-handed and of one length; that length (a scale that some
 * exporters leave in) is taken out. Gram-Schmidt then removes what rounding to a few decimals has left. False: they
 * are not. */
bool splat_orthonormalize(double columns[3][3]);

#endif
