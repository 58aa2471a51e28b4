/* CUB's selections and sums with the predicates of ops, compiled once for all ops: each file that includes CUB's
 * headers costs 10 s of compile time. The predicates are part of CUB's kernels: none costs a pass over memory. */
#ifndef SPLAT_BACKEND_CUDA_SELECT_CUH
#define SPLAT_BACKEND_CUDA_SELECT_CUH

#include <cuda_runtime.h>
#include <stddef.h>
#include <stdint.h>

/* All functions: work is device memory of *bytes. Without work, only *bytes is written: what the function needs. All
 * selections list indices of 0 .. n - 1 in ascending order, and write their number to *count, on the device. */

/* density_prune, field_loss: the places of `value` in bytes. */
cudaError_t splat_cuda_select_bytes(void *work, size_t *work_bytes, const uint8_t *bytes, uint8_t value,
                                    uint32_t *indices, uint32_t *count, uint32_t n, cudaStream_t stream);
/* density_relocate: the weights whose share is 0. */
cudaError_t splat_cuda_select_dead(void *work, size_t *bytes, const uint32_t *weights, uint32_t *indices,
                                   uint32_t *count, uint32_t n, cudaStream_t stream);
/* share_find: the entries of a view that touch a tile. rect: four numbers an entry. */
cudaError_t splat_cuda_select_touching(void *work, size_t *bytes, const uint16_t *rect, const float *depth,
                                       uint32_t *entries, uint32_t *count, uint32_t n, cudaStream_t stream);
/* density_prune: first the j with slot[order[j]] == 0, counted, then the others from the end of `rows`, the first of
 * them last. */
cudaError_t splat_cuda_partition_at_home(void *work, size_t *bytes, const uint32_t *order, const uint32_t *slot,
                                         uint32_t *rows, uint32_t *count, uint32_t n, cudaStream_t stream);

/* Inclusive sums. density_relocate: of the weights' shares. */
cudaError_t splat_cuda_sum_shares(void *work, size_t *bytes, const uint32_t *weights, uint64_t *sums, uint32_t n,
                                  cudaStream_t stream);
/* density_grow: of the actions, clones in the low half and splits in the high half. */
cudaError_t splat_cuda_sum_actions(void *work, size_t *bytes, const uint8_t *actions, uint64_t *sums, uint32_t n,
                                   cudaStream_t stream);

#endif
