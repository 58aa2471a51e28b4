/* CUB's selections and sums, with what ops select and sum. */
#include "backend/cuda_select.cuh"

extern "C" {
#include "ops/densify/densify.h"
#include "ops/relocate/relocate_math.h"
}
#include "ops/share/share_row.h"

#include <cub/device/device_partition.cuh>
#include <cub/device/device_scan.cuh>
#include <cub/device/device_select.cuh>
#include <thrust/iterator/counting_iterator.h>
#include <thrust/iterator/transform_iterator.h>

typedef thrust::counting_iterator<uint32_t> index_iterator;

struct is_value {
    uint8_t value;
    __host__ __device__ uint8_t operator()(uint8_t byte) const { return byte == value; }
};
typedef thrust::transform_iterator<is_value, const uint8_t *> value_iterator;

cudaError_t splat_cuda_select_bytes(void *work, size_t *work_bytes, const uint8_t *bytes, uint8_t value,
                                    uint32_t *indices, uint32_t *count, uint32_t n, cudaStream_t stream)
{
    return cub::DeviceSelect::Flagged(work, *work_bytes, index_iterator(0), value_iterator(bytes, is_value{value}),
                                      indices, count, (int64_t)n, stream);
}

struct is_dead {
    __host__ __device__ uint8_t operator()(uint32_t weight) const { return splat_relocate_share(weight) == 0; }
};
typedef thrust::transform_iterator<is_dead, const uint32_t *> dead_iterator;

cudaError_t splat_cuda_select_dead(void *work, size_t *bytes, const uint32_t *weights, uint32_t *indices,
                                   uint32_t *count, uint32_t n, cudaStream_t stream)
{
    return cub::DeviceSelect::Flagged(work, *bytes, index_iterator(0), dead_iterator(weights, is_dead()), indices,
                                      count, (int64_t)n, stream);
}

/* A Gaussian that project did not see has an empty rectangle. */
struct touches {
    const uint16_t *rect;
    const float *depth;
    __device__ __forceinline__ bool operator()(uint32_t v) const
    {
        return depth[v] > 0.0f && splat_share_has_tiles(rect + 4 * (size_t)v);
    }
};

cudaError_t splat_cuda_select_touching(void *work, size_t *bytes, const uint16_t *rect, const float *depth,
                                       uint32_t *entries, uint32_t *count, uint32_t n, cudaStream_t stream)
{
    return cub::DeviceSelect::If(work, *bytes, index_iterator(0), entries, count, (int64_t)n, touches{rect, depth},
                                 stream);
}

/* True for a survivor whose rows the cache lacks. */
struct is_at_home {
    const uint32_t *order, *slot;
    __device__ uint8_t operator()(uint32_t j) const { return !slot[order[j]]; }
};
typedef thrust::transform_iterator<is_at_home, index_iterator> at_home_iterator;

cudaError_t splat_cuda_partition_at_home(void *work, size_t *bytes, const uint32_t *order, const uint32_t *slot,
                                         uint32_t *rows, uint32_t *count, uint32_t n, cudaStream_t stream)
{
    return cub::DevicePartition::Flagged(work, *bytes, index_iterator(0),
                                         at_home_iterator(index_iterator(0), is_at_home{order, slot}), rows, count,
                                         (int64_t)n, stream);
}

struct share_of {
    __host__ __device__ uint64_t operator()(uint32_t weight) const { return splat_relocate_share(weight); }
};
typedef thrust::transform_iterator<share_of, const uint32_t *> share_iterator;

cudaError_t splat_cuda_sum_shares(void *work, size_t *bytes, const uint32_t *weights, uint64_t *sums, uint32_t n,
                                  cudaStream_t stream)
{
    return cub::DeviceScan::InclusiveSum(work, *bytes, share_iterator(weights, share_of()), sums, n, stream);
}

struct action_counts {
    __host__ __device__ uint64_t operator()(uint8_t action) const
    {
        const bool copies = action == SPLAT_DENSITY_CLONE || action == SPLAT_DENSITY_LONG;
        return copies ? 1ull : action == SPLAT_DENSITY_SPLIT ? 1ull << 32 : 0ull;
    }
};
typedef thrust::transform_iterator<action_counts, const uint8_t *> counts_iterator;

cudaError_t splat_cuda_sum_actions(void *work, size_t *bytes, const uint8_t *actions, uint64_t *sums, uint32_t n,
                                   cudaStream_t stream)
{
    return cub::DeviceScan::InclusiveSum(work, *bytes, counts_iterator(actions, action_counts()), sums, n, stream);
}
