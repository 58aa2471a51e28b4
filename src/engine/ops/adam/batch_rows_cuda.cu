/* batch_step of sh_rest in small storages (16-bit parameters, quantized moments, or both): every step is made at once,
 * as its rounding goes by the iteration. The gradients wait in the slots of splat_deferred_rest, or are sums over the
 * views. */
#include "ops/adam/adam_rows_cuda.cuh"
#include "ops/rest/rest_steps_cuda.cuh"

#define ROWS_THREADS 64 /* a warp holds its gradients and their squares in 12 KB */
#define ROWS_WARPS (ROWS_THREADS / 32)

struct rows_parameters {
    uint32_t *rest;     /* in its storage */
    adam_tensor tensor; /* p is not read */
    float *sums, *squares; /* [n][channels], or NULL: the slots have them */
    rest_slots slots;
    several_views decay;
    uint32_t n, n_active; /* Gaussians; channels of the bands in use */
    bool clears;
};

template <int DEGREE, bool QUANTIZED>
struct rows_block {
    float gradients[ROWS_WARPS][32 * odd_words(rest_channels(DEGREE))]; /* a row a lane */
    float squares[ROWS_WARPS][32 * odd_words(rest_channels(DEGREE))];   /* the same */
    uint32_t moments[QUANTIZED ? ROWS_WARPS : 1][QUANTIZED ? MOMENT_ROWS * odd_words(moment_words(DEGREE)) : 1];
    uint8_t list[ROWS_WARPS][32];
};

/* The means of a warp's n_rows rows from Gaussian `first` on, out of their sums. */
template <int DEGREE>
__device__ __forceinline__ void load_sums(const rows_parameters &P, float *of_all, uint32_t first, uint32_t n_rows,
                                          float *means)
{
    constexpr uint32_t channels = rest_channels(DEGREE), STRIDE = odd_words(channels);
    float *sums = of_all + (size_t)first * channels;
    for (uint32_t k = lane_index(); k < n_rows * channels; k += 32) {
        means[k / channels * STRIDE + k % channels] = P.slots.share * sums[k];
        if (P.clears && P.tensor.update) sums[k] = 0.0f;
    }
    __syncwarp();
}

template <int DEGREE, bool HALF, bool QUANTIZED>
__global__ void __launch_bounds__(ROWS_THREADS, 8) batch_rows_kernel(const __grid_constant__ rows_parameters P)
{
    __shared__ rows_block<DEGREE, QUANTIZED> s;
    constexpr uint32_t channels = rest_channels(DEGREE), STRIDE = odd_words(channels), WORDS = rest_words(DEGREE, HALF);
    const uint32_t warp = threadIdx.x / 32, i = blockIdx.x * ROWS_THREADS + threadIdx.x, first = i - lane_index();
    const bool inside = i < P.n;
    float *const gradients = s.gradients[warp], *const squares = s.squares[warp];
    const uint32_t all = __ballot_sync(0xffffffffu, inside);
    bool has = inside;
    if (P.sums) {
        load_sums<DEGREE>(P, P.sums, first, (uint32_t)__popc(all), gradients);
        load_sums<DEGREE>(P, P.squares, first, (uint32_t)__popc(all), squares);
    } else {
        has = inside && sum_slots<DEGREE>(P.slots, i, 0, gradients + lane_index() * STRIDE,
                                          squares + lane_index() * STRIDE);
        if (has) empty_slots(P.slots, i);
    }
    const uint32_t with = __ballot_sync(0xffffffffu, has);
    if (!P.tensor.update) return; /* the slots are empty now */
    const auto gradient = [&](uint32_t row, uint32_t column) {
        const bool any = with >> row & 1u && column < P.n_active;
        const uint32_t at = row * STRIDE + column;
        return any ? views_gradient{gradients[at], squares[at]} : views_gradient{0.0f, 0.0f};
    };
    const auto rest = [&](uint32_t row) { return P.rest + (size_t)(first + row) * WORDS; };
    uint8_t *const list = s.list[warp];
    if constexpr (!QUANTIZED) {
        const warp_rows<false> m = {(uint32_t *)P.tensor.m, NULL, NULL, first, channels};
        const warp_rows<false> v = {(uint32_t *)P.tensor.v, NULL, NULL, first, channels};
        step_float_rows<DEGREE, HALF>(P.tensor.rate, m, v, gradient, rest, first, list, list_rows(all, list), P.decay);
    } else {
        constexpr uint32_t MOMENTS = moment_words(DEGREE), ODD = odd_words(MOMENTS);
        const warp_rows<false> stored = {P.tensor.quantized, NULL, NULL, first, MOMENTS};
        uint32_t *const moments = s.moments[warp];
        for (uint32_t part = 0; part < 32; part += MOMENT_ROWS) {
            const uint32_t n = list_rows(all & ((1u << MOMENT_ROWS) - 1u) << part, list);
            read_rows<MOMENTS, ODD, true>(moments, stored, list, n);
            /* Without momentum and gradient nothing changes, and nothing is written. */
            const uint32_t *words = moments + lane_index() * ODD;
            const bool moves = lane_index() < n && (words[0] || words[1] || with >> list[lane_index()] & 1u);
            if (!__any_sync(0xffffffffu, moves)) continue;
            step_quantized_rows<DEGREE, HALF>(
                P.tensor.rate, moments,
                [&](uint32_t row, uint32_t k) {
                    const views_gradient r = gradient(row, 3 * k), g = gradient(row, 3 * k + 1);
                    const views_gradient b = gradient(row, 3 * k + 2);
                    return views_gradient3{make_float3(r.mean, g.mean, b.mean),
                                           make_float3(r.square, g.square, b.square)};
                },
                rest, first, list, n, P.decay);
            write_rows<MOMENTS, ODD, true>(moments, stored, list, n);
        }
    }
}

template <bool HALF, bool QUANTIZED>
static void launch(const rows_parameters &P, int sh_degree, cudaStream_t stream)
{
    const unsigned blocks = splat_cuda_blocks(P.n, ROWS_THREADS);
    switch (sh_degree) {
    case 1: batch_rows_kernel<1, HALF, QUANTIZED><<<blocks, ROWS_THREADS, 0, stream>>>(P); break;
    case 2: batch_rows_kernel<2, HALF, QUANTIZED><<<blocks, ROWS_THREADS, 0, stream>>>(P); break;
    default: batch_rows_kernel<3, HALF, QUANTIZED><<<blocks, ROWS_THREADS, 0, stream>>>(P); break;
    }
}

splat_status splat_cuda_batch_rows(splat_cuda_backend *cuda, const struct splat_batch_step_args *args,
                                   splat_error *error)
{
    const splat_gaussians *g = args->gaussians;
    const splat_adam *adam = args->adam;
    const int t = SPLAT_TENSOR_sh_rest;
    const splat_deferred_rest *deferred = splat_rest_state_of(args->rest).deferred;
    const bool has_slots = deferred && deferred->at_once, half = g->sh_rest_half != NULL;
    const bool quantized = adam->moments->storage == SPLAT_OPTIMIZER_QUANTIZED;
    if (g->sh_degree == 0 || (!has_slots && !adam->update[t])) return SPLAT_OK;
    adam_tensor tensors[SPLAT_N_TENSORS];
    rows_parameters P = {};
    adam_tensors_of(g, adam, tensors);
    P.tensor = tensors[t];
    P.rest = half ? (uint32_t *)g->sh_rest_half : (uint32_t *)g->p.sh_rest;
    if (has_slots)
        P.slots = slots_of(deferred, args->n_views);
    else {
        P.sums = args->gradients->sh_rest;
        P.squares = args->squares->sh_rest;
    }
    P.slots.share = 1.0f / (float)args->n_views;
    P.decay = decay_of(args->n_views);
    P.n = g->n;
    P.n_active = rest_channels(g->active_sh_degree);
    P.clears = args->clears;
    if (quantized)
        half ? launch<true, true>(P, g->sh_degree, cuda->stream) : launch<false, true>(P, g->sh_degree, cuda->stream);
    else
        launch<true, false>(P, g->sh_degree, cuda->stream);
    CUDA_LAUNCHED("batch_step of rows");
    return SPLAT_OK;
}
