#include "ops/densify/densify_common.h"

#include <math.h>

splat_order_statistic splat_order_statistic_of(splat_backend *backend, const uint32_t *keys, uint32_t n, uint32_t rank)
{
    splat_order_statistic result = {.next = UINT32_MAX};
    uint32_t prefix = 0, mask = 0;
    for (int shift = 24; shift >= 0; shift -= 8) { /* the keys that share the prefix, by their next 8 bits */
        uint32_t histogram[256] = {0};
#pragma omp parallel for num_threads(backend->threads) reduction(+ : histogram[ : 256])
        for (int64_t i = 0; i < (int64_t)n; i++)
            if ((keys[i] & mask) == prefix) histogram[(keys[i] >> shift) & 255]++;
        uint32_t digit = 0;
        while (result.n_below + histogram[digit] <= rank) result.n_below += histogram[digit++];
        prefix |= digit << shift;
        mask |= 255u << shift;
        result.n_equal = histogram[digit];
    }
    result.key = prefix;
    uint32_t next = UINT32_MAX;
#pragma omp parallel for num_threads(backend->threads) reduction(min : next)
    for (int64_t i = 0; i < (int64_t)n; i++)
        if (keys[i] > prefix && keys[i] < next) next = keys[i];
    result.next = next;
    return result;
}

splat_density_arrays splat_density_arrays_list(const splat_gaussians *gaussians, const splat_tensors *m,
                                               const splat_tensors *v)
{
    splat_density_arrays list = {.data = {gaussians->filter_3d}, .floats = {1}, .n = 1};
    const splat_tensors *sets[3] = {&gaussians->p, m, v};
    for (int s = 0; s < 3; s++) {
        if (sets[s]) {
#define SPLAT_TENSOR(name, channels)                                                                                   \
    list.data[list.n] = sets[s]->name;                                                                                 \
    list.floats[list.n] = splat_tensor_channels(SPLAT_TENSOR_##name, gaussians->sh_degree);                            \
    list.n += list.floats[list.n] > 0; /* SH degree 0 has no sh_rest */
#include "ops/gaussians.def"
#undef SPLAT_TENSOR
        }
        if (s == 0) list.n_copied = list.n;
    }
    return list;
}

float splat_density_max_scale(const float log_scales[3])
{
    return expf(fmaxf(log_scales[0], fmaxf(log_scales[1], log_scales[2])));
}
