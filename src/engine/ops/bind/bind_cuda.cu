/* bind on CUDA: a thread a Gaussian. bind_backward: a thread a face, which also steps its Gaussians; then a thread
 * a vertex, which gathers from the corners in the order of its list. No atomics but for counting. */
#include "backend/cuda_backend.cuh"

extern "C" {
#include "ops/bind/bind_elements.h"
}

#define BIND_THREADS 256
#define VERTEX_THREADS 256

template <int PER_FACE>
__global__ void __launch_bounds__(BIND_THREADS) bind_kernel(const __grid_constant__ splat_bind_job job)
{
    const uint32_t i = blockIdx.x * BIND_THREADS + threadIdx.x;
    if (i < job.mesh.n_faces * PER_FACE) splat_bind_one(&job, i / PER_FACE, (int)(i % PER_FACE), PER_FACE);
}

/* Losses: [blocks]. */
template <int PER_FACE>
__global__ void __launch_bounds__(SPLAT_BIND_BLOCK)
    bind_backward_face_kernel(const __grid_constant__ splat_bind_backward_job job, splat_cuda_view_state *state,
                              double *losses)
{
    __shared__ double parts[SPLAT_BIND_BLOCK / 32];
    if (state->overflow || state->not_finite) return;
    const uint32_t f = blockIdx.x * SPLAT_BIND_BLOCK + threadIdx.x;
    double own = 0;
    unsigned n_bad = 0;
    if (f < job.mesh.n_faces) n_bad = splat_bind_backward_face(&job, f, PER_FACE, &own);
    if (n_bad) atomicAdd(&state->n_degenerate, n_bad);
    double sum = splat_block_sum<SPLAT_BIND_BLOCK / 32>(own, parts);
    if (threadIdx.x == 0) losses[blockIdx.x] = sum;
}

__global__ void __launch_bounds__(VERTEX_THREADS)
    bind_backward_vertex_kernel(const __grid_constant__ splat_bind_backward_job job, const splat_cuda_view_state *state)
{
    const uint32_t v = blockIdx.x * VERTEX_THREADS + threadIdx.x;
    if (v < job.mesh.n_vertices && !state->overflow && !state->not_finite) splat_bind_backward_vertex(&job, v);
}

/* One block: its threads' sums go in steps of the block, then in the order of the threads. */
__global__ void __launch_bounds__(SPLAT_BIND_BLOCK)
    bind_backward_loss_kernel(const double *losses, unsigned n_blocks, uint32_t n_pairs,
                              const splat_cuda_view_state *state, double *result)
{
    __shared__ double parts[SPLAT_BIND_BLOCK / 32];
    const bool is_done = !state->overflow && !state->not_finite;
    double own = 0;
    for (unsigned b = threadIdx.x; is_done && b < n_blocks; b += SPLAT_BIND_BLOCK) own += losses[b];
    double sum = splat_block_sum<SPLAT_BIND_BLOCK / 32>(own, parts);
    if (threadIdx.x == 0) *result = n_pairs ? sum / n_pairs : 0;
}

template <int PER_FACE>
static void launch_bind(const splat_bind_job &job, cudaStream_t stream)
{
    const unsigned blocks = splat_cuda_blocks((uint64_t)job.mesh.n_faces * PER_FACE, BIND_THREADS);
    bind_kernel<PER_FACE><<<blocks, BIND_THREADS, 0, stream>>>(job);
}

extern "C" splat_status splat_bind_cuda(splat_backend *backend, const struct splat_bind_args *args, splat_error *error)
{
    const cudaStream_t stream = splat_cuda_of(backend)->stream;
    const splat_bind_job job = splat_bind_job_of(args);
    if (job.mesh.n_faces == 0) return SPLAT_OK;
    switch (job.mesh.per_face) {
    case 1: launch_bind<1>(job, stream); break;
    case 3: launch_bind<3>(job, stream); break;
    case 4: launch_bind<4>(job, stream); break;
    default: launch_bind<6>(job, stream); break;
    }
    CUDA_LAUNCHED("bind");
    return SPLAT_OK;
}

template <int PER_FACE>
static void launch_faces(const splat_bind_backward_job &job, splat_cuda_view_state *state, double *losses,
                         unsigned n_blocks, cudaStream_t stream)
{
    bind_backward_face_kernel<PER_FACE><<<n_blocks, SPLAT_BIND_BLOCK, 0, stream>>>(job, state, losses);
}

extern "C" splat_status splat_bind_backward_cuda(splat_backend *backend, const struct splat_bind_backward_args *args,
                                                 splat_error *error)
{
    const cudaStream_t stream = splat_cuda_of(backend)->stream;
    const size_t n_faces = args->mesh->n_faces;
    const unsigned n_blocks = splat_cuda_blocks(n_faces, SPLAT_BIND_BLOCK);
    splat_cuda_view_state *state = splat_cuda_state_of(args->frame);
    void *corners, *losses;
    SPLAT_TRY(splat_scratch_reset(backend, error));
    SPLAT_TRY(splat_scratch_take(backend, n_faces * 9 * sizeof(float), &corners, error));
    SPLAT_TRY(splat_scratch_take(backend, n_blocks * sizeof(double), &losses, error));
    const splat_bind_backward_job job = splat_bind_backward_job_of(args, (float *)corners);
    double *sums = (double *)losses;
    if (n_blocks > 0) {
        switch (job.mesh.per_face) {
        case 1: launch_faces<1>(job, state, sums, n_blocks, stream); break;
        case 3: launch_faces<3>(job, state, sums, n_blocks, stream); break;
        case 4: launch_faces<4>(job, state, sums, n_blocks, stream); break;
        default: launch_faces<6>(job, state, sums, n_blocks, stream); break;
        }
        CUDA_LAUNCHED("bind_backward faces");
    }
    bind_backward_loss_kernel<<<1, SPLAT_BIND_BLOCK, 0, stream>>>(sums, n_blocks, job.mesh.n_pairs, state,
                                                                  args->consistency);
    CUDA_LAUNCHED("bind_backward loss");
    const unsigned vertex_blocks = splat_cuda_blocks(job.mesh.n_vertices, VERTEX_THREADS);
    if (vertex_blocks == 0) return SPLAT_OK;
    bind_backward_vertex_kernel<<<vertex_blocks, VERTEX_THREADS, 0, stream>>>(job, state);
    CUDA_LAUNCHED("bind_backward vertices");
    return SPLAT_OK;
}
