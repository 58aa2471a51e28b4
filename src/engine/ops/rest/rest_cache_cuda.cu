/* Rows of sh_rest that lie in host memory, and of its moments, kept on the device (splat_rest_cache): before a step
 * the rows of its view are fetched, and rows that must make room go home: sh_rest first, because raster waits for
 * the colours; the moments during the picture and its gradients. docs/lab/sh-offload.md has the measurements. */
#include "ops/rest/rest_steps_cuda.cuh"

#define CACHE_THREADS 128
#define CACHE_WARPS (CACHE_THREADS / 32)
#define CACHE_BLOCKS 1 /* a multiprocessor: enough for the bus; more slow down bin and raster */

enum { EMPTY, LEFT, MISSED, N_COUNTS }; /* slots that may be had, rows that are wanted */
static_assert(N_COUNTS == SPLAT_REST_CACHE_COUNTS, "counts");

struct cache_parameters {
    splat_projector projector;
    splat_rest_cache cache;
    const float *means, *sh_dc, *depth;
    float *rgb;
    uint32_t *rest; /* of all Gaussians, in host memory */
    uint32_t n;
    int active_sh_degree;
    splat_cuda_view_state *state;
};

/* The place in a list of the thread's entry; *count is the list's. */
__device__ __forceinline__ uint32_t place_in_list(bool mine, uint32_t *count)
{
    const uint32_t mask = __ballot_sync(0xffffffffu, mine);
    uint32_t begin = 0;
    if (lane_index() == 0 && mask) begin = atomicAdd(count, (uint32_t)__popc(mask));
    return __shfl_sync(0xffffffffu, begin, 0) + (uint32_t)__popc(mask & ((1u << lane_index()) - 1u));
}

/* Lists the slots that are empty or have rows that the view does not see. */
__global__ void __launch_bounds__(CACHE_THREADS) choose_kernel(const __grid_constant__ cache_parameters P)
{
    const splat_rest_cache &c = P.cache;
    const uint32_t slot = blockIdx.x * CACHE_THREADS + threadIdx.x;
    const bool inside = slot < c.n_slots;
    const uint32_t owner = inside ? c.owner[slot] : 0;
    const bool is_empty = inside && !owner, may_leave = owner && !(P.depth[owner - 1] > 0.0f);
    const uint32_t first = place_in_list(is_empty, &c.counts[EMPTY]);
    const uint32_t last = place_in_list(may_leave, &c.counts[LEFT]);
    if (is_empty) c.chosen[first] = slot;
    if (may_leave) c.chosen[c.n_slots - 1 - last] = slot;
}

/* The slot of the k-th row that is wanted; n_slots: there are no more. */
__device__ __forceinline__ uint32_t slot_for(const splat_rest_cache &c, uint32_t k)
{
    const uint32_t n_empty = c.counts[EMPTY], n_left = c.counts[LEFT];
    if (k < n_empty) return c.chosen[k];
    return k - n_empty < n_left ? c.chosen[c.n_slots - 1 - (k - n_empty)] : c.n_slots;
}

/* Finds slots for what the view sees and the cache lacks. */
__global__ void __launch_bounds__(CACHE_THREADS) move_in_kernel(const __grid_constant__ cache_parameters P)
{
    const splat_rest_cache &c = P.cache;
    const uint32_t i = blockIdx.x * CACHE_THREADS + threadIdx.x;
    const bool is_missed = i < P.n && P.depth[i] > 0.0f && !c.slot[i];
    const uint32_t k = place_in_list(is_missed, &c.counts[MISSED]);
    const uint32_t slot = is_missed ? slot_for(c, k) : c.n_slots;
    if (slot == c.n_slots) return;
    const uint32_t leaving = c.owner[slot];
    c.leaving[slot] = leaving;
    c.owner[slot] = i + 1;
    c.slot[i] = slot + 1;
    if (leaving) c.slot[leaving - 1] = 0;
}

/* The lines of memory (LINE_WORDS) that up to 32 rows at home lie in. The bus carries whole lines at twice the speed
 * of rows that begin and end anywhere, so a warp reads a line at a time, and each line of neighbouring rows once. */
#define LINE_WORDS 32
template <uint32_t WORDS>
struct row_lines {
    static constexpr uint32_t MOST = 32 * ((WORDS + 2 * LINE_WORDS - 2) / LINE_WORDS);
    uint32_t rows[32]; /* + 1; 0: none */
    uint32_t lines[MOST];
    uint8_t first_row[MOST]; /* of rows that a line has words of */
};

/* The row (+ 1) of each lane; returns the number of lines. */
template <uint32_t WORDS>
__device__ __forceinline__ uint32_t list_lines(row_lines<WORDS> &list, uint32_t row)
{
    const uint32_t lane = lane_index(), all = 0xffffffffu;
    const uint32_t begin = row ? (uint32_t)((uint64_t)(row - 1) * WORDS / LINE_WORDS) : 0;
    const uint32_t last = row ? (uint32_t)(((uint64_t)row * WORDS - 1) / LINE_WORDS) : 0;
    const uint32_t row_before = __shfl_up_sync(all, row, 1), last_before = __shfl_up_sync(all, last, 1);
    const bool is_listed = lane > 0 && row_before && row_before + 1 == row && last_before == begin;
    const uint32_t first = begin + is_listed, n = row ? last + 1 - first : 0;
    uint32_t end = n;
#pragma unroll
    for (int reach = 1; reach < 32; reach *= 2) {
        const uint32_t before = __shfl_up_sync(all, end, reach);
        if (lane >= reach) end += before;
    }
    list.rows[lane] = row;
    for (uint32_t k = 0; k < n; k++) {
        list.lines[end - n + k] = first + k;
        list.first_row[end - n + k] = (uint8_t)lane;
    }
    __syncwarp();
    return __shfl_sync(all, end, 31);
}

/* The lane's word of a line: where it lies at home, and which word of which of the 32 rows it is. false: of none. */
template <uint32_t WORDS>
__device__ __forceinline__ bool word_of_line(const row_lines<WORDS> &list, uint32_t line, size_t *home, uint32_t *row,
                                             uint32_t *word)
{
    const uint32_t first = list.first_row[line], number = list.rows[first];
    *home = (size_t)list.lines[line] * LINE_WORDS + lane_index();
    const int from_first = (int)((int64_t)*home - (int64_t)(number - 1) * WORDS);
    if (from_first < 0) return false;
    const uint32_t further = (uint32_t)from_first / WORDS;
    *row = first + further;
    *word = (uint32_t)from_first % WORDS;
    return *row < 32 && list.rows[*row] == number + further;
}

/* Rows go home, or are fetched from there. */
template <uint32_t WORDS, bool GOES_HOME>
__device__ __forceinline__ void move_lines(row_lines<WORDS> &list, const uint32_t row_of_lane, const uint32_t *slots,
                                           uint32_t *home, uint32_t *cached)
{
    constexpr int AT_ONCE = 8;
    const uint32_t n = list_lines(list, row_of_lane);
    for (uint32_t line = 0; line < n; line += AT_ONCE) {
        uint32_t value[AT_ONCE], *to[AT_ONCE];
#pragma unroll
        for (int j = 0; j < AT_ONCE; j++) {
            uint32_t row, word;
            size_t at;
            to[j] = NULL;
            if (line + j >= n || !word_of_line(list, line + j, &at, &row, &word)) continue;
            uint32_t *place = cached + (size_t)slots[row] * WORDS + word;
            value[j] = GOES_HOME ? *place : home[at];
            to[j] = GOES_HOME ? home + at : place;
        }
#pragma unroll
        for (int j = 0; j < AT_ONCE; j++)
            if (to[j]) *to[j] = value[j];
    }
    __syncwarp();
}

/* Rows of a tensor: those of whom moved out go home, those of whom moved in are fetched. */
template <uint32_t WORDS>
__global__ void __launch_bounds__(CACHE_THREADS)
    exchange_kernel(const splat_rest_cache c, uint32_t *home, uint32_t *cached)
{
    __shared__ row_lines<WORDS> lists[CACHE_WARPS];
    __shared__ uint32_t all_slots[CACHE_WARPS][32];
    row_lines<WORDS> &list = lists[threadIdx.x / 32];
    uint32_t *slots = all_slots[threadIdx.x / 32];
    const uint32_t lane = lane_index(), step = 32 * CACHE_WARPS * gridDim.x;
    const uint32_t n = min(c.counts[MISSED], c.counts[EMPTY] + c.counts[LEFT]);
    for (uint32_t first = 32 * (CACHE_WARPS * blockIdx.x + threadIdx.x / 32); first < n; first += step) {
        const uint32_t slot = first + lane < n ? slot_for(c, first + lane) : c.n_slots;
        const bool is_one = slot < c.n_slots;
        slots[lane] = slot;
        move_lines<WORDS, true>(list, is_one ? c.leaving[slot] : 0, slots, home, cached);
        move_lines<WORDS, false>(list, is_one ? c.owner[slot] : 0, slots, home, cached);
    }
}

/* The colours of what the view sees. */
template <int DEGREE, bool HALF>
__global__ void __launch_bounds__(CACHE_THREADS) colour_kernel(const __grid_constant__ cache_parameters P)
{
    constexpr uint32_t WORDS = rest_words(DEGREE, HALF), STRIDE = odd_words(WORDS);
    __shared__ uint32_t rest[CACHE_WARPS][32 * STRIDE], slots[CACHE_WARPS][32];
    __shared__ uint8_t lists[CACHE_WARPS][32];
    const uint32_t warp = threadIdx.x / 32, i = blockIdx.x * CACHE_THREADS + threadIdx.x;
    const bool is_seen = i < P.n && P.depth[i] > 0.0f;
    slots[warp][lane_index()] = is_seen ? P.cache.slot[i] : 0;
    const uint32_t n_seen = list_rows(__ballot_sync(0xffffffffu, is_seen), lists[warp]);
    const warp_rows<true> rows = {P.rest, P.cache.rest, slots[warp], i - lane_index(), WORDS};
    read_rows<WORDS, STRIDE, false>(rest[warp], rows, lists[warp], n_seen);
    if (!is_seen) return;
    const float *mean = P.means + 3 * (size_t)i;
    float inverse_distance;
    write_colour<DEGREE, HALF>(direction_of(P.projector, mean[0], mean[1], mean[2], &inverse_distance),
                               P.sh_dc + 3 * (size_t)i, rest[warp] + lane_index() * STRIDE, P.active_sh_degree,
                               P.rgb + 3 * (size_t)i, P.state);
}

/* Every row of a tensor goes home: a warp a slot. */
__global__ void __launch_bounds__(CACHE_THREADS)
    return_kernel(const splat_rest_cache c, uint32_t *home, const uint32_t *cached, uint32_t words)
{
    const uint32_t first = CACHE_WARPS * blockIdx.x + threadIdx.x / 32;
    for (uint32_t slot = first; slot < c.n_slots; slot += CACHE_WARPS * gridDim.x) {
        const uint32_t owner = c.owner[slot];
        for (uint32_t k = lane_index(); owner && k < words; k += 32)
            home[(size_t)(owner - 1) * words + k] = cached[(size_t)slot * words + k];
    }
}

/* ---------------------------------------------------------------- launches */

template <bool HALF>
static void launch_colours(const cache_parameters &P, int sh_degree, cudaStream_t stream)
{
    const unsigned blocks = splat_cuda_blocks(P.n, CACHE_THREADS);
    switch (sh_degree) {
    case 1: colour_kernel<1, HALF><<<blocks, CACHE_THREADS, 0, stream>>>(P); break;
    case 2: colour_kernel<2, HALF><<<blocks, CACHE_THREADS, 0, stream>>>(P); break;
    default: colour_kernel<3, HALF><<<blocks, CACHE_THREADS, 0, stream>>>(P); break;
    }
}

/* Rows of a tensor in its storage (rest_words, moment_words): of 16-bit SH, of other SH and of float32 moments, or of
 * quantized moments. */
enum row_kind { ROWS_HALF, ROWS_FLOAT, ROWS_QUANTIZED };

constexpr uint32_t row_words(row_kind kind, int degree)
{
    return kind == ROWS_HALF ? rest_words(degree, true) : kind == ROWS_FLOAT ? rest_channels(degree)
                                                                             : moment_words(degree);
}

template <row_kind KIND>
static void launch_exchange(const splat_cuda_backend *cuda, const splat_rest_cache &cache, int sh_degree,
                            uint32_t *home, uint32_t *cached)
{
    const unsigned blocks = CACHE_BLOCKS * (unsigned)cuda->n_multiprocessors;
    cudaStream_t stream = cuda->side_stream;
    if (!cached) return;
    switch (sh_degree) {
    case 1: exchange_kernel<row_words(KIND, 1)><<<blocks, CACHE_THREADS, 0, stream>>>(cache, home, cached); break;
    case 2: exchange_kernel<row_words(KIND, 2)><<<blocks, CACHE_THREADS, 0, stream>>>(cache, home, cached); break;
    default: exchange_kernel<row_words(KIND, 3)><<<blocks, CACHE_THREADS, 0, stream>>>(cache, home, cached); break;
    }
}

static uint32_t *rest_of(const splat_gaussians *g)
{
    return g->sh_rest_half ? (uint32_t *)g->sh_rest_half : (uint32_t *)g->p.sh_rest;
}

splat_status splat_cuda_fetch_rest(splat_cuda_backend *cuda, const splat_gaussians *g, splat_rest_cache *cache,
                                   splat_frame *frame, splat_error *error)
{
    const bool half = g->sh_rest_half != NULL, quantized = !cache->moments[1];
    cudaStream_t stream = cuda->side_stream;
    cache_parameters P = {};
    P.projector = splat_frame_projector(frame);
    P.cache = *cache;
    P.means = g->p.means;
    P.sh_dc = g->p.sh_dc;
    P.depth = frame->depth;
    P.rgb = frame->rgb;
    P.rest = rest_of(g);
    P.n = g->n;
    P.active_sh_degree = g->active_sh_degree;
    P.state = splat_cuda_state_of(frame);
    SPLAT_TRY(splat_cuda_fork(cuda, error));
    cache->is_empty = false;
    CUDA_TRY("clear memory", cudaMemsetAsync(cache->counts, 0, N_COUNTS * sizeof *cache->counts, stream));
    choose_kernel<<<splat_cuda_blocks(cache->n_slots, CACHE_THREADS), CACHE_THREADS, 0, stream>>>(P);
    move_in_kernel<<<splat_cuda_blocks(P.n, CACHE_THREADS), CACHE_THREADS, 0, stream>>>(P);
    half ? launch_exchange<ROWS_HALF>(cuda, *cache, g->sh_degree, P.rest, cache->rest)
         : launch_exchange<ROWS_FLOAT>(cuda, *cache, g->sh_degree, P.rest, cache->rest);
    if (cache->rest)
        half ? launch_colours<true>(P, g->sh_degree, stream) : launch_colours<false>(P, g->sh_degree, stream);
    CUDA_LAUNCHED("rows of the visible");
    SPLAT_TRY(splat_cuda_mark_coloured(cuda, error));
    for (int i = 0; i < 2; i++)
        quantized ? launch_exchange<ROWS_QUANTIZED>(cuda, *cache, g->sh_degree, cache->home_moments[i],
                                                    cache->moments[i])
                  : launch_exchange<ROWS_FLOAT>(cuda, *cache, g->sh_degree, cache->home_moments[i],
                                                cache->moments[i]);
    CUDA_LAUNCHED("moments of the visible");
    return SPLAT_OK;
}

static splat_status return_tensor(splat_cuda_backend *cuda, const splat_rest_cache *cache, uint32_t *home,
                                  const uint32_t *cached, uint32_t words, splat_error *error)
{
    const unsigned blocks = 8 * (unsigned)cuda->n_multiprocessors;
    if (!cached) return SPLAT_OK;
    return_kernel<<<blocks, CACHE_THREADS, 0, cuda->stream>>>(*cache, home, cached, words);
    CUDA_LAUNCHED("return rows");
    return SPLAT_OK;
}

splat_status splat_cuda_return_rest(splat_cuda_backend *cuda, const splat_gaussians *g, splat_rest_cache *cache,
                                    splat_error *error)
{
    SPLAT_TRY(splat_cuda_join(cuda, error));
    SPLAT_TRY(return_tensor(cuda, cache, rest_of(g), cache->rest, cache->rest_words, error));
    for (int i = 0; i < 2; i++)
        SPLAT_TRY(return_tensor(cuda, cache, cache->home_moments[i], cache->moments[i], cache->moment_words, error));
    CUDA_TRY("clear memory", cudaMemsetAsync(cache->slot, 0, (size_t)g->n * sizeof *cache->slot, cuda->stream));
    CUDA_TRY("clear memory",
             cudaMemsetAsync(cache->owner, 0, (size_t)cache->n_slots * sizeof *cache->owner, cuda->stream));
    cache->is_empty = true;
    return SPLAT_OK;
}
