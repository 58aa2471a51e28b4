/* bind and bind_backward on the CPU: faces in fixed blocks, then vertices, which gather what their corners got. */
#include "backend/backend.h"
#include "ops/bind/bind_math.h"

#include <string.h>

/* ---------------------------------------------------------------- bind */

static void hide(const splat_bound_mesh *mesh, const float *corner, splat_gaussians *out, size_t i)
{
    const float rotation[4] = {1, 0, 0, 0};
    for (int k = 0; k < 3; k++) out->p.means[3 * i + (size_t)k] = isfinite(corner[k]) ? corner[k] : 0.0f;
    for (int k = 0; k < 3; k++) out->p.scales[3 * i + (size_t)k] = SPLAT_HIDDEN_SCALE;
    memcpy(out->p.rotations + 4 * i, rotation, sizeof rotation);
    out->filter_3d[i] = mesh->thickness;
}

static void bind_face(const struct splat_bind_args *args, uint32_t f, float log_thickness)
{
    const splat_bound_mesh *mesh = args->mesh;
    const float *vertices = args->bound->vertices;
    const uint32_t *corners = mesh->faces + 3 * (size_t)f;
    const splat_bind_face face = splat_bind_face_of(mesh, vertices, f);
    splat_gaussians *out = args->gaussians;
    splat_bind_frame frame;
    if (!face.is_degenerate) frame = splat_bind_frame_of(&face);
    for (int j = 0; j < mesh->per_face; j++) {
        const size_t i = (size_t)f * (size_t)mesh->per_face + (size_t)j;
        const float *scales = args->bound->plane_scales + 2 * i, *turn = args->bound->plane_rotations + 2 * i;
        float square = splat_bind_plane_square(scales, turn);
        if (face.is_degenerate || square == 0.0f) {
            hide(mesh, vertices + 3 * (size_t)corners[0], out, i);
            continue;
        }
        splat_bind_vector mean = {0, 0, 0};
        for (int k = 0; k < 3; k++)
            mean = splat_bind_add(mean, splat_bound_barycentric(mesh->per_face, j, k),
                                  splat_bind_load(vertices + 3 * (size_t)corners[k]));
        splat_bind_store(out->p.means + 3 * i, mean);
        splat_bind_gaussian(&frame, turn[0], turn[1], square, out->p.rotations + 4 * i);
        out->p.scales[3 * i] = log_thickness;
        out->p.scales[3 * i + 1] = scales[0];
        out->p.scales[3 * i + 2] = scales[1];
        out->filter_3d[i] = 0.0f;
    }
}

splat_status splat_bind_cpu(splat_backend *backend, const struct splat_bind_args *args, splat_error *error)
{
    (void)error;
    const float log_thickness = logf(args->mesh->thickness);
    const int64_t n_faces = args->mesh->n_faces;
#pragma omp parallel for num_threads(backend->threads) schedule(static)
    for (int64_t f = 0; f < n_faces; f++) bind_face(args, (uint32_t)f, log_thickness);
    return SPLAT_OK;
}

/* ---------------------------------------------------------------- bind_backward */

typedef struct backward_job {
    const struct splat_bind_backward_args *args;
    float pair_weight; /* of a pair's gradient */
    float *corner_gradients; /* [n_faces][3][3] */
    double *losses;          /* [blocks] */
} backward_job;

/* dL/d(normal) of face f from its pairs; *loss: the sum of its pairs with later faces. */
static splat_bind_vector consistency_of(const backward_job *job, uint32_t f, const splat_bind_face *face, double *loss)
{
    const splat_bound_mesh *mesh = job->args->mesh;
    splat_bind_vector sum = {0, 0, 0}, slope;
    for (uint32_t p = mesh->pair_begin[f]; p < mesh->pair_begin[f + 1]; p++) {
        const uint32_t g = mesh->pairs[p] / 2;
        const float sign = mesh->pairs[p] % 2 ? -1.0f : 1.0f;
        const splat_bind_face other = splat_bind_face_of(mesh, job->args->bound->vertices, g);
        if (other.is_degenerate) continue;
        float value = splat_bind_consistency(face, &other, sign, mesh->least_normal, &slope);
        sum = splat_bind_add(sum, -job->pair_weight, slope);
        if (f < g) *loss += (double)value;
    }
    return sum;
}

static void store_plane(const struct splat_bind_backward_args *args, size_t i, const float scales[2],
                        const float turn[2])
{
    const splat_bound_tensors *out = args->gradients, *p = args->bound;
    const splat_bound_adam *adam = args->adam;
    if (out && out->plane_scales) memcpy(out->plane_scales + 2 * i, scales, 2 * sizeof(float));
    if (out && out->plane_rotations) memcpy(out->plane_rotations + 2 * i, turn, 2 * sizeof(float));
    if (!adam) return;
    const splat_bind_step scale_step = splat_bind_step_of(adam, SPLAT_BOUND_plane_scales);
    const splat_bind_step turn_step = splat_bind_step_of(adam, SPLAT_BOUND_plane_rotations);
    for (size_t k = 2 * i; k < 2 * i + 2; k++) {
        splat_bind_adam(p->plane_scales + k, adam->m.plane_scales + k, adam->v.plane_scales + k, scales[k - 2 * i],
                        scale_step);
        splat_bind_adam(p->plane_rotations + k, adam->m.plane_rotations + k, adam->v.plane_rotations + k,
                        turn[k - 2 * i], turn_step);
    }
}

/* A Gaussian: adds to what its face's corners and frame get. Returns the number that was degenerate. */
static uint32_t gaussian_backward(const struct splat_bind_backward_args *args, size_t i, int j,
                                  const splat_bind_frame *frame, splat_bind_turns *turns, splat_bind_vector corners[3])
{
    const float *gm = args->grad->means + 3 * i, *gs = args->grad->scales + 3 * i, *gq = args->grad->rotations + 4 * i;
    const float *scales = args->bound->plane_scales + 2 * i, *turn = args->bound->plane_rotations + 2 * i;
    float square = splat_bind_plane_square(scales, turn), scale_gradient[2] = {0, 0}, turn_gradient[2] = {0, 0};
    float sum = gm[0] + gm[1] + gm[2] + gs[1] + gs[2] + gq[0] + gq[1] + gq[2] + gq[3];
    bool is_shown = frame && square > 0.0f, is_usable = isfinite(sum);
    if (is_shown && is_usable) {
        splat_bind_gaussian_backward(frame, args->gaussians->p.rotations + 4 * i, gq, turn, square, turns,
                                     turn_gradient);
        memcpy(scale_gradient, gs + 1, sizeof scale_gradient);
        for (int k = 0; k < 3; k++)
            corners[k] = splat_bind_add(corners[k], splat_bound_barycentric(args->mesh->per_face, j, k),
                                        splat_bind_load(gm));
    }
    store_plane(args, i, scale_gradient, turn_gradient);
    return is_shown && !is_usable;
}

static uint32_t face_backward(const backward_job *job, uint32_t f, double *loss)
{
    const struct splat_bind_backward_args *args = job->args;
    const splat_bind_face face = splat_bind_face_of(args->mesh, args->bound->vertices, f);
    splat_bind_vector corners[3] = {{0, 0, 0}, {0, 0, 0}, {0, 0, 0}}, normal = {0, 0, 0};
    splat_bind_turns turns = {0, 0, 0};
    splat_bind_frame frame;
    uint32_t n_bad = 0;
    if (!face.is_degenerate) {
        frame = splat_bind_frame_of(&face);
        normal = consistency_of(job, f, &face, loss);
    }
    for (int j = 0; j < args->mesh->per_face; j++)
        n_bad += gaussian_backward(args, (size_t)f * (size_t)args->mesh->per_face + (size_t)j, j,
                                   face.is_degenerate ? NULL : &frame, &turns, corners);
    if (!face.is_degenerate) splat_bind_face_backward(&face, &frame, &turns, normal, corners);
    float *out = job->corner_gradients + 9 * (size_t)f, sum = 0;
    for (int k = 0; k < 3; k++) splat_bind_store(out + 3 * k, corners[k]);
    for (int k = 0; k < 9; k++) sum += out[k];
    if (isfinite(sum)) return n_bad;
    memset(out, 0, 9 * sizeof *out);
    return n_bad + 1;
}

static void vertex_backward(const backward_job *job, uint32_t vertex)
{
    const struct splat_bind_backward_args *args = job->args;
    const splat_bound_mesh *mesh = args->mesh;
    const splat_bound_adam *adam = args->adam;
    float sum[3] = {0, 0, 0};
    for (uint32_t c = mesh->vertex_begin[vertex]; c < mesh->vertex_begin[vertex + 1]; c++)
        for (int k = 0; k < 3; k++) sum[k] += job->corner_gradients[3 * (size_t)mesh->vertex_corners[c] + (size_t)k];
    for (size_t k = 0; k < 3; k++) {
        const size_t at = 3 * (size_t)vertex + k;
        if (args->gradients && args->gradients->vertices) args->gradients->vertices[at] = sum[k];
        if (adam)
            splat_bind_adam(args->bound->vertices + at, adam->m.vertices + at, adam->v.vertices + at, sum[k],
                            splat_bind_step_of(adam, SPLAT_BOUND_vertices));
    }
}

splat_status splat_bind_backward_cpu(splat_backend *backend, const struct splat_bind_backward_args *args,
                                     splat_error *error)
{
    const splat_bound_mesh *mesh = args->mesh;
    const int64_t n_faces = mesh->n_faces, n_blocks = (n_faces + SPLAT_BIND_BLOCK - 1) / SPLAT_BIND_BLOCK;
    backward_job job = {.args = args, .pair_weight = 0};
    void *corners, *losses;
    *args->consistency = 0;
    SPLAT_TRY(splat_scratch_reset(backend, error));
    SPLAT_TRY(splat_scratch_take(backend, (size_t)n_faces * 9 * sizeof(float), &corners, error));
    SPLAT_TRY(splat_scratch_take(backend, (size_t)n_blocks * sizeof(double), &losses, error));
    job.corner_gradients = corners;
    job.losses = losses;
    if (mesh->n_pairs) job.pair_weight = (float)((double)args->consistency_weight / mesh->n_pairs);
    uint32_t n_bad = 0;
#pragma omp parallel for num_threads(backend->threads) schedule(static) reduction(+ : n_bad)
    for (int64_t b = 0; b < n_blocks; b++) {
        double loss = 0;
        for (int64_t f = b * SPLAT_BIND_BLOCK; f < n_faces && f < (b + 1) * SPLAT_BIND_BLOCK; f++)
            n_bad += face_backward(&job, (uint32_t)f, &loss);
        job.losses[b] = loss;
    }
    const int64_t n_vertices = mesh->n_vertices;
#pragma omp parallel for num_threads(backend->threads) schedule(static)
    for (int64_t v = 0; v < n_vertices; v++) vertex_backward(&job, (uint32_t)v);
    for (int64_t b = 0; b < n_blocks; b++) *args->consistency += job.losses[b];
    if (mesh->n_pairs) *args->consistency /= mesh->n_pairs;
    args->frame->n_degenerate += n_bad;
    return SPLAT_OK;
}
