/* bind and bind_backward on the CPU: faces in fixed blocks, then vertices, which gather what their corners got. */
#include "backend/backend.h"
#include "ops/bind/bind_elements.h"

splat_status splat_bind_cpu(splat_backend *backend, const struct splat_bind_args *args, splat_error *error)
{
    (void)error;
    const splat_bind_job job = splat_bind_job_of(args);
    const int64_t n_faces = job.mesh.n_faces;
#pragma omp parallel for num_threads(backend->threads) schedule(static)
    for (int64_t f = 0; f < n_faces; f++)
        for (int j = 0; j < job.mesh.per_face; j++) splat_bind_one(&job, (uint32_t)f, j, job.mesh.per_face);
    return SPLAT_OK;
}

splat_status splat_bind_backward_cpu(splat_backend *backend, const struct splat_bind_backward_args *args,
                                     splat_error *error)
{
    const int64_t n_faces = args->mesh->n_faces, n_vertices = args->mesh->n_vertices;
    const int64_t n_blocks = (n_faces + SPLAT_BIND_BLOCK - 1) / SPLAT_BIND_BLOCK;
    void *corners, *sums;
    *args->consistency = 0;
    SPLAT_TRY(splat_scratch_reset(backend, error));
    SPLAT_TRY(splat_scratch_take(backend, (size_t)n_faces * 9 * sizeof(float), &corners, error));
    SPLAT_TRY(splat_scratch_take(backend, (size_t)n_blocks * sizeof(double), &sums, error));
    const splat_bind_backward_job job = splat_bind_backward_job_of(args, corners);
    double *losses = sums;
    uint32_t n_bad = 0;
#pragma omp parallel for num_threads(backend->threads) schedule(static) reduction(+ : n_bad)
    for (int64_t b = 0; b < n_blocks; b++) {
        double loss = 0;
        for (int64_t f = b * SPLAT_BIND_BLOCK; f < n_faces && f < (b + 1) * SPLAT_BIND_BLOCK; f++)
            n_bad += splat_bind_backward_face(&job, (uint32_t)f, job.mesh.per_face, &loss);
        losses[b] = loss;
    }
#pragma omp parallel for num_threads(backend->threads) schedule(static)
    for (int64_t v = 0; v < n_vertices; v++) splat_bind_backward_vertex(&job, (uint32_t)v);
    for (int64_t b = 0; b < n_blocks; b++) *args->consistency += losses[b];
    if (job.mesh.n_pairs) *args->consistency /= job.mesh.n_pairs;
    args->frame->n_degenerate += n_bad;
    return SPLAT_OK;
}
