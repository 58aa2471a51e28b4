/* bind, bind_backward: flat Gaussians that lie in the triangles of a mesh, and back, with Adam. bind comes before
 * project, bind_backward after project_backward. Mathematics: SuGaR (Guedon and Lepetit, CVPR 2024, section 4.3);
 * docs/method.md, "Gaussians bound to a mesh". */
#ifndef SPLAT_OPS_BIND_H
#define SPLAT_OPS_BIND_H

#include "math/bound.h"
#include "ops/frame.h"

/* The constant part of bound Gaussians in training. Pointers are device pointers of the backend. Gradients are gathered
 * by the lists, so that sums have one order. */
typedef struct splat_bound_mesh {
    uint32_t n_vertices, n_faces; /* 3 n_faces < 2^32 */
    int per_face;                 /* Gaussians a face: 1, 3, 4 or 6 */
    float thickness;              /* deviation along the normal, world units: E 1e-6, where E is the scene's extent */
    float least_area, least_edge; /* a face with a smaller area or edge is degenerate: 1e-12 E^2, 1e-8 E */
    float least_normal;           /* least norm (twice an area) in a pair's cosine: 1e-8 E^2 */
    const uint32_t *faces;          /* [n_faces][3], each below n_vertices */
    const uint32_t *vertex_begin;   /* [n_vertices + 1] corners at v: vertex_corners[vertex_begin[v]...] */
    const uint32_t *vertex_corners; /* [3 n_faces] 3 face + corner, ascending at each vertex */
    /* Pairs of faces that share an edge, all pairs where more than two do, never a face with itself. Each pair stands
     * with both its faces. */
    uint32_t n_pairs;               /* 2 n_pairs < 2^32 */
    const uint32_t *pair_begin;     /* [n_faces + 1] those of face f are pairs[pair_begin[f]...] */
    const uint32_t *pairs;          /* [2 n_pairs] 2 other + turned, where turned is 1 when both faces run along the
                                       edge in the same direction: one of them is seen from behind */
} splat_bound_mesh;

/* Gaussians of the mesh; fits uint32_t where splat_bound_mesh was made (src/engine/surface/bound). */
static inline uint32_t splat_bound_count(const splat_bound_mesh *mesh)
{
    return mesh->n_faces * (uint32_t)mesh->per_face;
}

/* bind: bound parameters -> means, scales, rotations and filter_3d of gaussians (n = n_faces per_face); nothing else of
 * them is read or written. Gaussian face * per_face + j:
 *     mean = sum_k b_k v_k;  R0 = unit((v1 - v0) x (v2 - v0)), e1 = unit(v0 - v1), e2 = unit(R0 x e1)
 *     (x, y) = unit(plane_rotation);  R1 = x e1 + y e2, R2 = -y e1 + x e2
 *     scales = (ln thickness, plane_scale_1, plane_scale_2), filter_3d = 0; rotation: the unit quaternion of [R0 R1 R2]
 * Those of a degenerate face, and those with a plane_scale that is not finite or a plane_rotation shorter than 1e-12 or
 * not finite, are hidden: mean at corner 0 (0 if that is not finite), rotation (1, 0, 0, 0), scales
 * SPLAT_HIDDEN_SCALE and filter_3d = thickness, whose share of opacity is then exactly 0: project gives them no tile,
 * they blend nowhere, and do not count as degenerate. */
#define SPLAT_HIDDEN_SCALE (-100.0f)

struct splat_bind_args {
    const splat_bound_mesh *mesh;
    const splat_bound_tensors *bound;
    splat_gaussians *gaussians;
};

/* Adam as in project.h, on float32 moments. */
typedef struct splat_bound_adam {
    splat_bound_tensors m, v;
    float lr[SPLAT_N_BOUND_TENSORS]; /* by tensor, SPLAT_BOUND_* */
    float correction1[SPLAT_N_BOUND_TENSORS], correction2[SPLAT_N_BOUND_TENSORS]; /* 1 - beta^t of this step */
} splat_bound_adam;

/* bind_backward: dL/d(means, scales, rotations) of every Gaussian -> dL/d(bound parameters), then Adam in place.
 *
 * grad: [n] rows of means, scales and rotations as project_backward's `gradients` has them (the other tensors are not
 * read; the first scale has no gradient). All of the frame is differentiated: R0, e1, e2, both normalisations.
 *
 * It also computes the normal consistency of the mesh: the mean over the pairs of 1 - cos(n_a, n_b), n_a = (v1 - v0) x
 * (a - v0), n_b = -(v1 - v0) x (b - v0) with the shared edge (v0, v1) and the corners a, b opposite to it, so that
 * winding does not matter; cos = n_a . n_b / (max(|n_a|, least_normal) max(|n_b|, least_normal)). A pair with a
 * degenerate face adds nothing to the sum. consistency_weight multiplies its gradient; *consistency is without it.
 *
 * gaussians: as bind left them (rotations are read). Hidden Gaussians and degenerate faces have zero gradients, and so
 * have vertices without a face: they are stepped with zero, as in project_backward. A Gaussian whose gradient is not
 * finite adds nothing and is added to n_degenerate; so does a face whose sum is not finite.
 *
 * gradients (NULL allowed): when given, dL/dparameter is written there; arrays that are NULL are left out.
 * adam (NULL allowed): when given, bound and the moments are updated in place.
 * After a view that overflowed or was not finite a device reports a consistency of 0 and changes nothing.
 * Scratch, which it resets: splat_bind_backward_scratch_bytes. Sums have one order on every backend. */
struct splat_bind_backward_args {
    const splat_bound_mesh *mesh;
    const splat_bound_tensors *bound;
    const splat_gaussians *gaussians;
    splat_frame *frame;          /* the view's frame; counts n_degenerate */
    const splat_tensors *grad;
    const float *depth;          /* [n] depths of the view, as project's frame has them: without one above 0 a Gaussian
                                    was not seen, its gradient is zero, and its rows of grad are not read. NULL: all
                                    rows are read */
    float consistency_weight;
    double *consistency;         /* device memory, 1: the loss */
    const splat_bound_adam *adam;
    const splat_bound_tensors *gradients;
};

#define SPLAT_BIND_BLOCK 128 /* faces whose loss is summed together */

static inline size_t splat_bind_backward_scratch_bytes(size_t n_faces)
{
    size_t n_blocks = (n_faces + SPLAT_BIND_BLOCK - 1) / SPLAT_BIND_BLOCK;
    return n_faces * 9 * sizeof(float) + n_blocks * sizeof(double);
}

#endif
