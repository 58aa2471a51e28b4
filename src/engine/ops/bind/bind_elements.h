/* bind for a Gaussian, bind_backward for a face and for a vertex: what the CPU does in loops and a device in threads.
 * per_face is the mesh's, as a constant where the caller has one. */
#ifndef SPLAT_OPS_BIND_ELEMENTS_H
#define SPLAT_OPS_BIND_ELEMENTS_H

#include "ops/bind/bind_math.h"

SPLAT_MATH_INLINE int splat_bind_is_finite(float x)
{
    return fabsf(x) <= 3.4028234e38f;
}

/* ---------------------------------------------------------------- bind */

typedef struct splat_bind_job {
    splat_bound_mesh mesh;
    splat_bound_tensors bound;
    float log_thickness;
    float *means, *scales, *rotations, *filter_3d;
} splat_bind_job;

static inline splat_bind_job splat_bind_job_of(const struct splat_bind_args *args)
{
    const splat_tensors *p = &args->gaussians->p;
    splat_bind_job job = {*args->mesh, *args->bound, logf(args->mesh->thickness), p->means, p->scales, p->rotations,
                          args->gaussians->filter_3d};
    return job;
}

SPLAT_MATH_INLINE void splat_bind_hide(const splat_bind_job *job, splat_bind_vector corner, size_t i)
{
    splat_bind_vector mean = {splat_bind_is_finite(corner.x) ? corner.x : 0.0f,
                              splat_bind_is_finite(corner.y) ? corner.y : 0.0f,
                              splat_bind_is_finite(corner.z) ? corner.z : 0.0f};
    splat_bind_store(job->means + 3 * i, mean);
    for (int k = 0; k < 3; k++) job->scales[3 * i + (size_t)k] = SPLAT_HIDDEN_SCALE;
    for (int k = 0; k < 4; k++) job->rotations[4 * i + (size_t)k] = k == 0 ? 1.0f : 0.0f;
    job->filter_3d[i] = job->mesh.thickness;
}

SPLAT_MATH_INLINE void splat_bind_one(const splat_bind_job *job, uint32_t f, int j, int per_face)
{
    const size_t i = (size_t)f * (size_t)per_face + (size_t)j;
    const uint32_t *corners = job->mesh.faces + 3 * (size_t)f;
    splat_bind_vector v0 = splat_bind_load(job->bound.vertices + 3 * (size_t)corners[0]);
    splat_bind_vector v1 = splat_bind_load(job->bound.vertices + 3 * (size_t)corners[1]);
    splat_bind_vector v2 = splat_bind_load(job->bound.vertices + 3 * (size_t)corners[2]);
    splat_bind_face face = splat_bind_face_make(&job->mesh, v0, v1, v2);
    const float *scales = job->bound.plane_scales + 2 * i, *turn = job->bound.plane_rotations + 2 * i;
    float square = splat_bind_plane_square(scales, turn), q[4];
    if (face.is_degenerate || square == 0.0f) {
        splat_bind_hide(job, v0, i);
        return;
    }
    splat_bind_frame frame = splat_bind_frame_of(&face);
    splat_bind_vector mean = splat_bind_times(splat_bound_barycentric(per_face, j, 0), v0);
    mean = splat_bind_add(mean, splat_bound_barycentric(per_face, j, 1), v1);
    mean = splat_bind_add(mean, splat_bound_barycentric(per_face, j, 2), v2);
    splat_bind_gaussian(&frame, turn[0], turn[1], square, q);
    splat_bind_store(job->means + 3 * i, mean);
    for (int k = 0; k < 4; k++) job->rotations[4 * i + (size_t)k] = q[k];
    job->scales[3 * i] = job->log_thickness;
    job->scales[3 * i + 1] = scales[0];
    job->scales[3 * i + 2] = scales[1];
    job->filter_3d[i] = 0.0f;
}

/* ---------------------------------------------------------------- bind_backward */

typedef struct splat_bind_backward_job {
    splat_bound_mesh mesh;
    splat_bound_tensors bound, gradients, m, v; /* gradients: NULL where not asked for */
    const float *rotations;                     /* quaternions of the Gaussians */
    const float *grad_means, *grad_scales, *grad_rotations;
    const float *depth;                         /* NULL: all rows of the gradients are read */
    float pair_weight;                          /* weight of the gradient of a pair's cosine */
    int has_adam;
    splat_bind_step steps[SPLAT_N_BOUND_TENSORS];
    float *corners;                             /* [n_faces][3][3] what the faces give to their corners */
} splat_bind_backward_job;

static inline splat_bind_backward_job splat_bind_backward_job_of(const struct splat_bind_backward_args *args,
                                                                 float *corners)
{
    splat_bind_backward_job job;
    memset(&job, 0, sizeof job);
    job.mesh = *args->mesh;
    job.bound = *args->bound;
    if (args->gradients) job.gradients = *args->gradients;
    job.rotations = args->gaussians->p.rotations;
    job.grad_means = args->grad->means;
    job.grad_scales = args->grad->scales;
    job.grad_rotations = args->grad->rotations;
    job.depth = args->depth;
    if (job.mesh.n_pairs) job.pair_weight = (float)((double)args->consistency_weight / job.mesh.n_pairs);
    job.has_adam = args->adam != NULL;
    for (int t = 0; args->adam && t < SPLAT_N_BOUND_TENSORS; t++) {
        job.steps[t].step = args->adam->lr[t] / args->adam->correction1[t];
        job.steps[t].inverse_correction2 = 1.0f / args->adam->correction2[t];
        job.m = args->adam->m;
        job.v = args->adam->v;
    }
    job.corners = corners;
    return job;
}

/* Gives out and steps a pair of values of the tensors of Gaussians. */
SPLAT_MATH_INLINE void splat_bind_finish_pair(const splat_bind_backward_job *job, size_t i, const float gradient[2],
                                              float *out, float *parameters, float *m, float *v, splat_bind_step step)
{
    for (size_t k = 0; k < 2; k++) {
        if (out) out[2 * i + k] = gradient[k];
        if (job->has_adam)
            splat_bind_adam(parameters + 2 * i + k, m + 2 * i + k, v + 2 * i + k, gradient[k], step);
    }
}

/* Gaussian i = f per_face + j; frame: NULL when its face is degenerate. Adds to what the face's frame and corners get.
 * Returns 1 when its gradient is not finite. */
SPLAT_MATH_INLINE int splat_bind_backward_one(const splat_bind_backward_job *job, size_t i, int j, int per_face,
                                              int is_degenerate, const splat_bind_frame *frame,
                                              splat_bind_turns *turns, splat_bind_vector corners[3])
{
    const float *turn = job->bound.plane_rotations + 2 * i;
    float scale_gradient[2] = {0, 0}, turn_gradient[2] = {0, 0};
    float square = splat_bind_plane_square(job->bound.plane_scales + 2 * i, turn);
    int is_shown = !is_degenerate && square > 0.0f && (!job->depth || job->depth[i] > 0.0f), is_usable = 1;
    if (is_shown) {
        splat_bind_vector gm = splat_bind_load(job->grad_means + 3 * i);
        const float *gs = job->grad_scales + 3 * i;
        float gq[4], q[4], sum = gm.x + gm.y + gm.z + gs[1] + gs[2];
        for (int k = 0; k < 4; k++) {
            gq[k] = job->grad_rotations[4 * i + (size_t)k];
            q[k] = job->rotations[4 * i + (size_t)k];
            sum += gq[k];
        }
        is_usable = splat_bind_is_finite(sum);
        if (is_usable) {
            splat_bind_gaussian_backward(frame, q, gq, turn, square, turns, turn_gradient);
            scale_gradient[0] = gs[1];
            scale_gradient[1] = gs[2];
            for (int k = 0; k < 3; k++)
                corners[k] = splat_bind_add(corners[k], splat_bound_barycentric(per_face, j, k), gm);
        }
    }
    splat_bind_finish_pair(job, i, scale_gradient, job->gradients.plane_scales, job->bound.plane_scales,
                           job->m.plane_scales, job->v.plane_scales, job->steps[SPLAT_BOUND_plane_scales]);
    splat_bind_finish_pair(job, i, turn_gradient, job->gradients.plane_rotations, job->bound.plane_rotations,
                           job->m.plane_rotations, job->v.plane_rotations, job->steps[SPLAT_BOUND_plane_rotations]);
    return !is_usable;
}

/* dL/d(normal) of face f from its pairs; *loss: the sum of those with later faces, so that each pair is summed once. */
SPLAT_MATH_INLINE splat_bind_vector splat_bind_consistency_of(const splat_bind_backward_job *job, uint32_t f,
                                                              const splat_bind_face *face, double *loss)
{
    splat_bind_vector sum = {0, 0, 0}, slope;
    const uint32_t end = job->mesh.pair_begin[f + 1];
    for (uint32_t p = job->mesh.pair_begin[f]; p < end; p++) {
        const uint32_t pair = job->mesh.pairs[p], other_face = pair / 2;
        const splat_bind_face other = splat_bind_face_of(&job->mesh, job->bound.vertices, other_face);
        if (other.is_degenerate) continue;
        float value = splat_bind_consistency(face, &other, pair % 2 ? -1.0f : 1.0f, job->mesh.least_normal, &slope);
        sum = splat_bind_add(sum, -job->pair_weight, slope);
        if (f < other_face) *loss += (double)value;
    }
    return sum;
}

/* A face, its Gaussians, and the steps of their tensors. Adds to *loss; returns the number that was not finite. */
SPLAT_MATH_INLINE unsigned splat_bind_backward_face(const splat_bind_backward_job *job, uint32_t f, int per_face,
                                                    double *loss)
{
    const splat_bind_face face = splat_bind_face_of(&job->mesh, job->bound.vertices, f);
    splat_bind_vector zero = {0, 0, 0}, corners[3] = {zero, zero, zero}, normal = zero;
    splat_bind_turns turns = {0, 0, 0};
    splat_bind_frame frame = {zero, zero, zero};
    unsigned n_bad = 0;
    if (!face.is_degenerate) {
        frame = splat_bind_frame_of(&face);
        normal = splat_bind_consistency_of(job, f, &face, loss);
    }
    for (int j = 0; j < per_face; j++)
        n_bad += (unsigned)splat_bind_backward_one(job, (size_t)f * (size_t)per_face + (size_t)j, j, per_face,
                                                   face.is_degenerate, &frame, &turns, corners);
    if (!face.is_degenerate) splat_bind_face_backward(&face, &frame, &turns, normal, corners);
    float sum = 0;
    for (int k = 0; k < 3; k++) sum += corners[k].x + corners[k].y + corners[k].z;
    int is_usable = splat_bind_is_finite(sum);
    for (int k = 0; k < 3; k++)
        splat_bind_store(job->corners + 9 * (size_t)f + 3 * (size_t)k, is_usable ? corners[k] : zero);
    return n_bad + (unsigned)!is_usable;
}

/* A vertex gathers from its corners. */
SPLAT_MATH_INLINE void splat_bind_backward_vertex(const splat_bind_backward_job *job, uint32_t vertex)
{
    const splat_bind_step step = job->steps[SPLAT_BOUND_vertices];
    const uint32_t end = job->mesh.vertex_begin[vertex + 1];
    splat_bind_vector sum = {0, 0, 0};
    for (uint32_t c = job->mesh.vertex_begin[vertex]; c < end; c++)
        sum = splat_bind_add(sum, 1.0f, splat_bind_load(job->corners + 3 * (size_t)job->mesh.vertex_corners[c]));
    const size_t at = 3 * (size_t)vertex;
    if (job->gradients.vertices) splat_bind_store(job->gradients.vertices + at, sum);
    if (!job->has_adam) return;
    splat_bind_adam(job->bound.vertices + at, job->m.vertices + at, job->v.vertices + at, sum.x, step);
    splat_bind_adam(job->bound.vertices + at + 1, job->m.vertices + at + 1, job->v.vertices + at + 1, sum.y, step);
    splat_bind_adam(job->bound.vertices + at + 2, job->m.vertices + at + 2, job->v.vertices + at + 2, sum.z, step);
}

#endif
