/* CUB's radix sorts. */
#include "backend/cuda_sort.cuh"

#include <cub/device/device_radix_sort.cuh>

typedef cub::DoubleBuffer<uint32_t> buffer32;
typedef cub::DoubleBuffer<uint64_t> buffer64;

cudaError_t splat_cuda_sort_keys32(void *work, size_t *bytes, splat_cuda_buffers32 *keys, uint32_t n, int bits,
                                   cudaStream_t stream)
{
    buffer32 k(keys->current, keys->other);
    const cudaError_t result = cub::DeviceRadixSort::SortKeys(work, *bytes, k, n, 0, bits, stream);
    *keys = {k.Current(), k.Alternate()};
    return result;
}

cudaError_t splat_cuda_sort_pairs32(void *work, size_t *bytes, splat_cuda_buffers32 *keys,
                                    splat_cuda_buffers32 *values, uint32_t n, int bits, cudaStream_t stream)
{
    buffer32 k(keys->current, keys->other), v(values->current, values->other);
    const cudaError_t result = cub::DeviceRadixSort::SortPairs(work, *bytes, k, v, n, 0, bits, stream);
    *keys = {k.Current(), k.Alternate()};
    *values = {v.Current(), v.Alternate()};
    return result;
}

cudaError_t splat_cuda_sort_pairs64(void *work, size_t *bytes, splat_cuda_buffers64 *keys,
                                    splat_cuda_buffers32 *values, uint32_t n, int bits, cudaStream_t stream)
{
    buffer64 k(keys->current, keys->other);
    buffer32 v(values->current, values->other);
    const cudaError_t result = cub::DeviceRadixSort::SortPairs(work, *bytes, k, v, n, 0, bits, stream);
    *keys = {k.Current(), k.Alternate()};
    *values = {v.Current(), v.Alternate()};
    return result;
}
