/* Eigenvalues and eigenvectors of symmetric matrices of three rows. */
#ifndef SPLAT_MATH_SYMMETRIC3_H
#define SPLAT_MATH_SYMMETRIC3_H

/* Cyclic Jacobi. values: the eigenvalues of m, descending; axes[i]: the eigenvector of values[i], of length 1, of any
 * sign. */
void splat_symmetric3_axes(const double m[3][3], double values[3], double axes[3][3]);

#endif
