/* summary on CUDA: a block a part, a tree of fixed shape in each block and over the blocks, one copy to the host. */
#include "backend/cuda_backend.cuh"

extern "C" {
#include "ops/project/project.h"
#include "ops/summary/summary_common.h"
}

#include <stdlib.h>

#define SUMMARY_THREADS 128 /* their partial results fit into shared memory */

struct summary_parameters {
    splat_gaussians gaussians;
    const double *edges;
    uint32_t n_edges, n_samples, n_rest;
    bool spreads;
    summary_partial *parts;
    unsigned int *counts;
};

__device__ __forceinline__ void clear_partial(summary_partial *p)
{
    *p = summary_partial();
}

/* parts[0] becomes the sum of all. */
__device__ __forceinline__ void join_tree(summary_partial *parts)
{
    for (unsigned half = SUMMARY_THREADS / 2; half > 0; half /= 2) {
        __syncthreads();
        if (threadIdx.x < half) summary_join(&parts[threadIdx.x], &parts[threadIdx.x + half]);
    }
    __syncthreads();
}

__device__ __forceinline__ void add_samples(const summary_parameters &P, summary_partial *p)
{
    uint32_t n_buckets = P.n_edges - 1;
    uint32_t first = blockIdx.x * SUMMARY_THREADS + threadIdx.x;
    for (uint32_t k = first; k < P.n_samples; k += SUMMARY_PARTS * SUMMARY_THREADS) {
        double values[SPLAT_SUMMARY_N];
        if (P.spreads)
            summary_add_tensors(&P.gaussians, summary_index(&P.gaussians, k, P.n_samples), P.n_rest, p);
        summary_sample(&P.gaussians, k, P.n_samples, values);
#pragma unroll
        for (int what = 0; what < SPLAT_SUMMARY_N; what++) {
            uint32_t bucket = splat_bucket_of(P.edges, P.n_edges, values[what]);
            if (bucket >= n_buckets) continue;
            atomicAdd(&P.counts[(uint32_t)what * n_buckets + bucket], 1u);
            summary_add_sample(p, what, values[what]);
        }
    }
}

__global__ void __launch_bounds__(SUMMARY_THREADS) parts_kernel(const __grid_constant__ summary_parameters P)
{
    static_assert(sizeof(summary_partial) * SUMMARY_THREADS <= 48 << 10, "shared memory of a block");
    __shared__ summary_partial parts[SUMMARY_THREADS];
    const splat_gaussians *g = &P.gaussians;
    uint64_t n = g->n, begin = blockIdx.x * n / SUMMARY_PARTS, end = (blockIdx.x + 1) * n / SUMMARY_PARTS;
    summary_partial *own = &parts[threadIdx.x];
    clear_partial(own);
    for (uint64_t i = begin + threadIdx.x; i < end; i += SUMMARY_THREADS) {
        summary_add_value(own, 0, summary_opacity(g, i));
        for (int k = 0; k < 3; k++) summary_add_value(own, 1, expf(g->p.scales[3 * i + k]));
    }
    add_samples(P, own);
    join_tree(parts);
    if (threadIdx.x == 0) P.parts[blockIdx.x] = parts[0];
}

__global__ void __launch_bounds__(SUMMARY_THREADS) total_kernel(const summary_partial *parts, summary_partial *total)
{
    static_assert(SUMMARY_PARTS == 2 * SUMMARY_THREADS, "a thread joins two parts");
    __shared__ summary_partial sums[SUMMARY_THREADS];
    sums[threadIdx.x] = parts[2 * threadIdx.x];
    summary_join(&sums[threadIdx.x], &parts[2 * threadIdx.x + 1]);
    join_tree(sums);
    if (threadIdx.x == 0) *total = sums[0];
}

/* host: [total, then the counts], as on the device. */
static splat_status summarize(splat_cuda_backend *cuda, const struct splat_summary_args *args, char *host,
                              size_t host_bytes, splat_error *error)
{
    size_t edges_bytes = splat_cuda_round_up(args->n_edges * sizeof(double)),
           parts_bytes = splat_cuda_round_up(SUMMARY_PARTS * sizeof(summary_partial));
    SPLAT_TRY(splat_block_ensure(&cuda->base, args->scratch, "summary", SPLAT_OWNER_OTHER,
                                 edges_bytes + parts_bytes + host_bytes, error));
    char *edges = (char *)args->scratch->data, *parts = edges + edges_bytes, *total = parts + parts_bytes;
    CUDA_TRY("upload edges", cudaMemcpyAsync(edges, args->edges, args->n_edges * sizeof(double),
                                             cudaMemcpyHostToDevice, cuda->stream));
    CUDA_TRY("clear the summary", cudaMemsetAsync(total, 0, host_bytes, cuda->stream));
    summary_parameters P = {*args->gaussians, (const double *)edges, args->n_edges, summary_samples(args),
                            splat_sh_rest_floats(args->gaussians->sh_degree), args->spreads,
                            (summary_partial *)parts, (unsigned int *)(total + sizeof(summary_partial))};
    parts_kernel<<<SUMMARY_PARTS, SUMMARY_THREADS, 0, cuda->stream>>>(P);
    CUDA_LAUNCHED("summary parts");
    total_kernel<<<1, SUMMARY_THREADS, 0, cuda->stream>>>(P.parts, (summary_partial *)total);
    CUDA_LAUNCHED("summary total");
    CUDA_TRY("read the summary", cudaMemcpyAsync(host, total, host_bytes, cudaMemcpyDeviceToHost, cuda->stream));
    CUDA_TRY("read the summary", cudaStreamSynchronize(cuda->stream));
    return SPLAT_OK;
}

extern "C" splat_status splat_summary_cuda(splat_backend *backend, const struct splat_summary_args *args,
                                           splat_error *error)
{
    SPLAT_TRY(summary_check(args, error));
    size_t counts_bytes = SPLAT_SUMMARY_N * (size_t)(args->n_edges - 1) * sizeof *args->counts,
           host_bytes = sizeof(summary_partial) + counts_bytes;
    char *host = (char *)malloc(host_bytes);
    if (!host) return splat_fail(error, SPLAT_ERROR_MEMORY, "no memory for the summary of a model");
    splat_status status = summarize(splat_cuda_of(backend), args, host, host_bytes, error);
    if (status == SPLAT_OK) {
        summary_partial total;
        memcpy(&total, host, sizeof total);
        *args->result = summary_result(args->gaussians->n, &total, 1);
        memcpy(args->counts, host + sizeof total, counts_bytes);
    }
    free(host);
    return status;
}
