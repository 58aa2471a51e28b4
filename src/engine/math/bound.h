/* Gaussians bound to the triangles of a mesh: their tensors (bound.def) as numbers and pointers, and where on a
 * triangle they sit (SuGaR, Guedon and Lepetit, CVPR 2024, section 4.3). Shared by C and CUDA. */
#ifndef SPLAT_MATH_BOUND_H
#define SPLAT_MATH_BOUND_H

#include "math/gaussians.h"
#include "math/inline.h"

enum {
#define SPLAT_BOUND_TENSOR(name, ...) SPLAT_BOUND_##name,
#include "math/bound.def"
#undef SPLAT_BOUND_TENSOR
    SPLAT_N_BOUND_TENSORS
};

/* One array for each: parameters, a moment, or gradients. */
typedef struct splat_bound_tensors {
#define SPLAT_BOUND_TENSOR(name, ...) float *name;
#include "math/bound.def"
#undef SPLAT_BOUND_TENSOR
} splat_bound_tensors;

/* SPLAT_TENSOR_* that follows from tensor SPLAT_BOUND_*. */
static inline int splat_bound_follower(int tensor)
{
    static const int followers[SPLAT_N_BOUND_TENSORS] = {
#define SPLAT_BOUND_TENSOR(name, channels, follower) SPLAT_TENSOR_##follower,
#include "math/bound.def"
#undef SPLAT_BOUND_TENSOR
    };
    return followers[tensor];
}

/* ---------------------------------------------------------------- on a triangle
 *
 * Gaussian `face * per_face + j` sits at sum_k b_k v_k of its face's corners. */

#define SPLAT_MAX_PER_FACE 6

SPLAT_MATH_INLINE int splat_bound_is_per_face(int per_face)
{
    return per_face == 1 || per_face == 3 || per_face == 4 || per_face == 6;
}

#define SPLAT_MOST_FREE ((size_t)1 << 18)

/* The most free Gaussians behind so many bound ones: fewer than would make another number a face. */
static inline size_t splat_bound_most_free(size_t n_bound)
{
    return n_bound / 4 < SPLAT_MOST_FREE ? n_bound / 4 : SPLAT_MOST_FREE;
}

/* Gaussians bound to each of n_faces faces, of n in all; 0: n fits no number. */
static inline int splat_bound_per_face_of(size_t n, size_t n_faces)
{
    for (int per_face = SPLAT_MAX_PER_FACE; per_face > 0 && n_faces; per_face--) {
        const size_t n_bound = (size_t)per_face * n_faces;
        if (splat_bound_is_per_face(per_face) && n >= n_bound && n - n_bound <= splat_bound_most_free(n_bound))
            return per_face;
    }
    return 0;
}

/* b_k of Gaussian j, in twelfths: exact, so that three of them sum to 12. */
SPLAT_MATH_INLINE int splat_bound_twelfths(int per_face, int j, int k)
{
    if (per_face == 3) return k == j ? 6 : 3;
    if (per_face == 4 && j > 0) return k == j - 1 ? 8 : 2;
    if (per_face == 6) return j < 3 ? (k == j ? 8 : 2) : (k == j - 3 ? 2 : 5);
    return 4;
}

SPLAT_MATH_INLINE float splat_bound_barycentric(int per_face, int j, int k)
{
    return (float)splat_bound_twelfths(per_face, j, k) * (1.0f / 12.0f);
}

/* rho: the deviation at the start is rho times the shortest edge. It is the radius of circles around these points that
 * fill an equilateral triangle without overlap. */
SPLAT_MATH_INLINE float splat_bound_radius(int per_face)
{
    const float root = 1.7320508f;
    return per_face == 1 ? 1.0f / (2.0f * root) : per_face == 3 ? 1.0f / (2.0f * (root + 1.0f))
         : per_face == 4 ? 1.0f / (4.0f * root) : 1.0f / (4.0f + 2.0f * root);
}

#endif
