/* Spherical harmonics of a turned scene: coefficients that show, in the direction R d, what the old ones show in d. */
#ifndef SPLAT_MATH_SH_ROTATION_H
#define SPLAT_MATH_SH_ROTATION_H

/* Row k, column j: how much of the new coefficient k the old j is, for b_0 to b_15 (math/sh.h). Bands do not mix. */
typedef struct splat_sh_rotation {
    double m[16][16];
} splat_sh_rotation;

/* rotation: R, row-major, orthonormal with determinant 1 (-1, a mirror, serves as well). */
void splat_sh_rotation_make(splat_sh_rotation *turn, const double rotation[9]);
/* Turns the coefficients of one Gaussian in place: sh_rest[(sh_degree + 1)^2 - 1][3], b_1 first; sh_degree: 0 to 3. */
void splat_sh_rotate(const splat_sh_rotation *turn, int sh_degree, float *sh_rest);

#endif
