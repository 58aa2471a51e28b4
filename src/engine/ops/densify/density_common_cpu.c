/* Code shared by the density ops of the CPU: statistics by rank, the list of a model's arrays, the largest scale. */
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

/* An array without words is left out: SH degree 0 has no sh_rest. */
static void list_array(splat_density_arrays *list, void *data, uint32_t words)
{
    if (words == 0) return;
    list->data[list->n] = data;
    list->words[list->n] = words;
    list->n++;
}

static void list_floats(splat_density_arrays *list, const splat_tensors *tensors, int sh_degree)
{
#define SPLAT_TENSOR(name, ...)                                                                                        \
    list_array(list, tensors->name, splat_tensor_channels(SPLAT_TENSOR_##name, sh_degree));
#include "math/gaussians.def"
#undef SPLAT_TENSOR
}

static void list_cached(splat_density_arrays *list, const splat_gaussians *g, const splat_rest_cache *c)
{
    const void *rest = g->sh_rest_half ? (const void *)g->sh_rest_half : g->p.sh_rest;
    if (!c || c->is_empty) return;
    list->slot = c->slot;
    for (int a = 0; a < list->n; a++) {
        if (list->data[a] == rest) list->cached[a] = c->rest;
        for (int i = 0; i < 2; i++)
            if (list->data[a] == c->home_moments[i]) list->cached[a] = c->moments[i];
    }
}

splat_density_arrays splat_density_arrays_list(const splat_gaussians *gaussians, const splat_moments *moments,
                                               const splat_rest_state *rest)
{
    const int degree = gaussians->sh_degree;
    splat_density_arrays list = {.halves = -1};
    list_array(&list, gaussians->filter_3d, 1);
    list_floats(&list, &gaussians->p, degree);
    if (gaussians->sh_rest_half && degree > 0) {
        list.halves = 1 + SPLAT_TENSOR_sh_rest;
        list.data[list.halves] = (uint32_t *)(void *)gaussians->sh_rest_half;
        list.words[list.halves] = splat_parameter_words(SPLAT_TENSOR_sh_rest, degree, SPLAT_SH_FLOAT16);
    }
    list.n_copied = list.n;
    if (moments && moments->storage == SPLAT_OPTIMIZER_QUANTIZED) {
        for (int t = 0; t < SPLAT_N_TENSORS; t++)
            list_array(&list, moments->quantized[t], splat_quantized_moment_words(t, degree));
    } else if (moments) {
        list_floats(&list, &moments->m, degree);
        list_floats(&list, &moments->v, degree);
    }
    list_cached(&list, gaussians, rest ? rest->cache : NULL);
    return list;
}

bool splat_density_row_is_finite(const splat_density_arrays *arrays, size_t i)
{
    bool finite = true;
    for (int a = 1; a < arrays->n_copied; a++) {
        const uint32_t *row = arrays->data[a] + i * arrays->words[a];
        for (uint32_t k = 0; k < arrays->words[a]; k++)
            finite &= splat_density_word_is_finite(row[k], a == arrays->halves);
    }
    return finite;
}

float splat_density_max_scale(const float log_scales[3])
{
    return expf(fmaxf(log_scales[0], fmaxf(log_scales[1], log_scales[2])));
}
