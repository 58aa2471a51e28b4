/* field_loss on CUDA, without asking the device for a count. A thread a sample; then the results of the samples are
 * gathered: the pairs (Gaussian, sample) are sorted by Gaussian, and eight lanes a Gaussian sum its run of pairs in
 * a fixed order. The pairs (pixel, sample) of SDF are gathered in the same way, a thread a pixel. The sort is
 * stable, so that nothing depends on the order in which threads run. */
#include "backend/cuda_backend.cuh"
#include "backend/cuda_select.cuh"
#include "backend/cuda_sort.cuh"
#include "ops/densify/order_cuda.cuh"
#include "ops/field_loss/field_loss_cuda.cuh"

#define FIELD_THREADS 128
#define FIELD_LANES 8 /* of a Gaussian: most have 10 to 20 pairs, those of a small pool up to one for each sample */

struct field_parameters {
    splat_field_job job;
    splat_tensors p;
    uint32_t n_entries; /* of the frame */
    const uint32_t *ids;
    const float *mean2d, *depth;
    uint32_t *z_key;    /* SDF: the largest z as a key, and as it is */
    float *z_max;
    uint8_t *flags;     /* [n] is in the pool */
    uint32_t *pool, *n_pool;
    splat_field_sample *samples;
    uint32_t *keys, *places; /* [16 n_samples] Gaussian (n: none), 16 sample + k */
    uint2 *runs;        /* [n] begin and end of a Gaussian's pairs */
    double3 *sums;      /* [blocks] field, normal, number */
    double *result;
    splat_tensors gradients;
    float *grad_maps, *grad_alpha;
    const splat_cuda_view_state *state;
};

__device__ __forceinline__ splat_density_kernel kernel_of(const field_parameters &P, size_t i)
{
    return splat_density_kernel_make(P.p.means + 3 * i, P.p.scales + 3 * i, P.p.rotations + 4 * i, P.p.opacities[i]);
}

/* ---------------------------------------------------------------- the pool */

__global__ void __launch_bounds__(FIELD_THREADS) z_kernel(const __grid_constant__ field_parameters P)
{
    uint32_t i = blockIdx.x * FIELD_THREADS + threadIdx.x;
    float z = i < P.job.n ? splat_field_z(&P.job, P.p.means + 3 * (size_t)i) : NAN;
    uint32_t key = splat_warp_max_u32(isnan(z) ? 0u : splat_order_key(z));
    if ((threadIdx.x & 31) == 0) atomicMax(P.z_key, key);
}

__global__ void __launch_bounds__(1) z_max_kernel(const __grid_constant__ field_parameters P)
{
    *P.z_max = splat_order_value(*P.z_key);
}

/* Entries that are not visible have depth 0 and are left out. */
__global__ void __launch_bounds__(FIELD_THREADS) pool_kernel(const __grid_constant__ field_parameters P)
{
    uint32_t v = blockIdx.x * FIELD_THREADS + threadIdx.x;
    if (v >= P.n_entries || P.state->overflow || P.state->not_finite || P.depth[v] == 0.0f) return;
    uint32_t i = P.ids[v];
    bool is_in = true;
    if (P.job.mode == SPLAT_FIELD_SDF) {
        splat_density_kernel g = kernel_of(P, i);
        is_in = splat_field_is_close(&P.job, &g, P.mean2d + 2 * (size_t)v);
    }
    P.flags[i] = is_in;
}

/* ---------------------------------------------------------------- samples */

__device__ __forceinline__ void make_sample(const field_parameters &P, uint32_t generator, splat_field_sample *s)
{
    const uint32_t *neighbors = P.job.neighbors + SPLAT_NEIGHBORS * (size_t)generator;
    splat_density_kernel g = kernel_of(P, generator);
    splat_field_sums sums;
    float normal[3];
    splat_field_column(&g, splat_density_short_axis(&g), normal);
    splat_field_begin(&P.job, &g, s, &sums);
    for (int k = 1; k < SPLAT_FIELD_KERNELS; k++) {
        splat_density_kernel other = kernel_of(P, neighbors[k - 1]);
        splat_field_add(&P.job, normal, &other, k, s, &sums);
    }
    splat_field_finish(&P.job, &g, normal, &sums, s);
}

/* Pair k of sample j lies at k n_samples + j: those of a Gaussian are then in a fixed order too, and neighbouring
 * threads write neighbouring words. */
__global__ void __launch_bounds__(FIELD_THREADS) samples_kernel(const __grid_constant__ field_parameters P)
{
    __shared__ double3 parts[FIELD_THREADS / 32];
    const uint32_t j = blockIdx.x * FIELD_THREADS + threadIdx.x, n_pool = *P.n_pool;
    double3 own = make_double3(0, 0, 0);
    if (j < P.job.n_samples) {
        splat_field_sample s = {};
        uint32_t generator = 0;
        if (n_pool) {
            generator = P.pool[splat_field_draw_place(&P.job, j, n_pool)];
            splat_field_draw_xi(&P.job, j, s.xi);
            make_sample(P, generator, &s);
        }
        for (uint32_t k = 0; k < SPLAT_FIELD_KERNELS; k++) {
            size_t at = (size_t)k * P.job.n_samples + j;
            uint32_t i = P.job.n;
            if (s.sides) i = k ? P.job.neighbors[SPLAT_NEIGHBORS * (size_t)generator + (k - 1)] : generator;
            P.keys[at] = i;
            P.places[at] = SPLAT_FIELD_KERNELS * j + k;
        }
        P.samples[j] = s;
        own = make_double3(s.field, s.normal, s.sides != 0);
    }
    double3 sum = splat_block_sum<FIELD_THREADS / 32>(own, parts);
    if (threadIdx.x == 0) P.sums[blockIdx.x] = sum;
}

/* One block. */
__global__ void __launch_bounds__(FIELD_THREADS)
    result_kernel(const __grid_constant__ field_parameters P, unsigned n_blocks)
{
    __shared__ double3 parts[FIELD_THREADS / 32];
    double3 own = make_double3(0, 0, 0);
    for (unsigned b = threadIdx.x; b < n_blocks; b += FIELD_THREADS) own = splat_add(own, P.sums[b]);
    double3 sum = splat_block_sum<FIELD_THREADS / 32>(own, parts);
    if (threadIdx.x != 0) return;
    P.result[0] = sum.z > 0 ? sum.x / sum.z : 0;
    P.result[1] = sum.z > 0 ? sum.y / sum.z : 0;
    P.result[2] = sum.z;
    P.result[3] = *P.n_pool;
}

/* ---------------------------------------------------------------- Gaussians */

/* keys, places: sorted. */
__global__ void __launch_bounds__(FIELD_THREADS)
    runs_kernel(const __grid_constant__ field_parameters P, const uint32_t *keys, uint32_t n_pairs)
{
    uint32_t at = blockIdx.x * FIELD_THREADS + threadIdx.x;
    if (at >= n_pairs) return;
    uint32_t i = keys[at];
    if (i >= P.job.n) return;
    if (at == 0 || keys[at - 1] != i) P.runs[i].x = at;
    if (at + 1 == n_pairs || keys[at + 1] != i) P.runs[i].y = at + 1;
}

__global__ void __launch_bounds__(FIELD_THREADS)
    gather_kernel(const __grid_constant__ field_parameters P, const uint32_t *places)
{
    const uint64_t thread = (uint64_t)blockIdx.x * FIELD_THREADS + threadIdx.x;
    const size_t i = (size_t)(thread / FIELD_LANES);
    const uint32_t lane = threadIdx.x % FIELD_LANES;
    uint2 run = i < P.job.n ? P.runs[i] : make_uint2(0, 0);
    if (!__any_sync(0xffffffffu, run.x < run.y)) return; /* the whole warp */
    splat_field_gradient sum = {};
    if (run.x < run.y) {
        const double n_counting = P.result[2];
        const float field_scale = (float)((double)P.job.field_weight / n_counting),
                    normal_scale = (float)((double)P.job.normal_weight / n_counting);
        splat_density_kernel g = kernel_of(P, i);
        for (uint32_t at = run.x + lane; at < run.y; at += FIELD_LANES) {
            uint32_t place = places[at];
            splat_field_gather(&P.job, &g, &P.samples[place / SPLAT_FIELD_KERNELS],
                               (int)(place % SPLAT_FIELD_KERNELS), field_scale, normal_scale, &sum);
        }
    }
#pragma unroll
    for (int k = 0; k < 3; k++) {
        sum.mean[k] = splat_lanes_sum<FIELD_LANES>(sum.mean[k]);
        sum.scale[k] = splat_lanes_sum<FIELD_LANES>(sum.scale[k]);
        sum.turn[k] = splat_lanes_sum<FIELD_LANES>(sum.turn[k]);
    }
    sum.logit = splat_lanes_sum<FIELD_LANES>(sum.logit);
    if (lane != 0 || run.x >= run.y) return;
    splat_density_kernel g = kernel_of(P, i); /* again: cheaper than to keep it */
    splat_field_apply(&g, P.p.rotations + 4 * i, &sum, P.gradients.means + 3 * i, P.gradients.scales + 3 * i,
                      P.gradients.rotations + 4 * i, P.gradients.opacities + i);
}

/* ---------------------------------------------------------------- pixels */

/* The four pixels of each sample; n_pixels stands for none. */
__global__ void __launch_bounds__(FIELD_THREADS)
    pixels_kernel(const __grid_constant__ field_parameters P, uint32_t n_pixels, uint32_t *keys, uint32_t *places)
{
    const uint32_t j = blockIdx.x * FIELD_THREADS + threadIdx.x;
    if (j >= P.job.n_samples) return;
    const splat_field_sample *s = &P.samples[j];
    bool has_any = s->grad_depth != 0.0f;
    splat_field_corners c = splat_field_corners_of(&P.job, s->u, s->v);
#pragma unroll
    for (uint32_t k = 0; k < 4; k++) {
        size_t at = (size_t)k * P.job.n_samples + j;
        keys[at] = has_any ? c.pixel[k] : n_pixels;
        places[at] = 4 * j + k;
    }
}

/* The thread of a run's first pair sums the run. */
__global__ void __launch_bounds__(FIELD_THREADS)
    depth_kernel(const __grid_constant__ field_parameters P, uint32_t n_pixels, const uint32_t *keys,
                 const uint32_t *places, uint32_t n_pairs)
{
    uint32_t at = blockIdx.x * FIELD_THREADS + threadIdx.x;
    if (at >= n_pairs) return;
    const uint32_t pixel = keys[at];
    if (pixel >= n_pixels || (at > 0 && keys[at - 1] == pixel)) return;
    const float scale = (float)((double)P.job.field_weight / P.result[2]);
    float sum = 0.0f;
    for (; at < n_pairs && keys[at] == pixel; at++) {
        const splat_field_sample *s = &P.samples[places[at] / 4];
        splat_field_corners c = splat_field_corners_of(&P.job, s->u, s->v);
        uint32_t k = places[at] % 4;
        float weight = k == 0 ? c.weight[0] : k == 1 ? c.weight[1] : k == 2 ? c.weight[2] : c.weight[3];
        sum += scale * s->grad_depth * weight;
    }
    P.grad_maps[pixel] += sum;
    P.grad_alpha[pixel] -= sum * *P.z_max;
}

/* ---------------------------------------------------------------- host */

struct field_arrays {
    splat_cuda_buffers32 keys, places;
    void *temporary; /* CUB's */
    size_t temporary_bytes;
    uint32_t n_pairs, n_pixel_pairs, n_pixels;
    int key_bits, pixel_bits;
};

/* Bits of the keys 0 .. n. */
static int bits_of(uint64_t n)
{
    int bits = 1;
    while (n >> bits) bits++;
    return bits;
}

static splat_status plan(splat_cuda_backend *cuda, const field_parameters &P, field_arrays *arrays, splat_error *error)
{
    size_t select = 0, sort = 0, pixel_sort = 0;
    CUDA_TRY("plan a selection",
             splat_cuda_select_bytes(NULL, &select, NULL, true, NULL, NULL, P.job.n, cuda->stream));
    CUDA_TRY("plan a sort", splat_cuda_sort_pairs32(NULL, &sort, &arrays->keys, &arrays->places, arrays->n_pairs,
                                                    arrays->key_bits, cuda->stream));
    if (P.job.mode == SPLAT_FIELD_SDF)
        CUDA_TRY("plan a sort",
                 splat_cuda_sort_pairs32(NULL, &pixel_sort, &arrays->keys, &arrays->places, arrays->n_pixel_pairs,
                                         arrays->pixel_bits, cuda->stream));
    arrays->temporary_bytes = select > sort ? select : sort;
    if (pixel_sort > arrays->temporary_bytes) arrays->temporary_bytes = pixel_sort;
    return SPLAT_OK;
}

#define TAKE(pointer, bytes) SPLAT_TRY(splat_scratch_take(backend, bytes, (void **)&(pointer), error))

/* Counters, flags and runs are cleared. */
static splat_status reserve(splat_cuda_backend *cuda, field_parameters *P, field_arrays *arrays, unsigned n_blocks,
                            splat_error *error)
{
    splat_backend *backend = &cuda->base;
    const size_t n = P->job.n, n_samples = P->job.n_samples, pairs_bytes = arrays->n_pairs * sizeof(uint32_t);
    uint32_t *buffers[4], *counters;
    SPLAT_TRY(splat_scratch_reset(backend, error));
    TAKE(counters, 3 * sizeof *counters);
    TAKE(P->flags, n);
    TAKE(P->pool, n * sizeof *P->pool);
    TAKE(P->runs, n * sizeof *P->runs);
    TAKE(P->samples, n_samples * sizeof *P->samples);
    TAKE(P->sums, n_blocks * sizeof *P->sums);
    for (int k = 0; k < 4; k++) TAKE(buffers[k], pairs_bytes);
    TAKE(arrays->temporary, arrays->temporary_bytes);
    P->n_pool = counters;
    P->z_key = counters + 1;
    P->z_max = (float *)(counters + 2);
    P->job.z_max = P->z_max;
    P->keys = buffers[0];
    P->places = buffers[2];
    arrays->keys = {buffers[0], buffers[1]};
    arrays->places = {buffers[2], buffers[3]};
    CUDA_TRY("clear counters", cudaMemsetAsync(counters, 0, 3 * sizeof *counters, cuda->stream));
    CUDA_TRY("clear flags", cudaMemsetAsync(P->flags, 0, n, cuda->stream));
    CUDA_TRY("clear runs", cudaMemsetAsync(P->runs, 0, n * sizeof *P->runs, cuda->stream));
    return SPLAT_OK;
}

static splat_status make_pool(splat_cuda_backend *cuda, const field_parameters &P, const field_arrays *arrays,
                              splat_error *error)
{
    size_t bytes = arrays->temporary_bytes;
    if (P.job.mode == SPLAT_FIELD_SDF) {
        z_kernel<<<splat_cuda_blocks(P.job.n, FIELD_THREADS), FIELD_THREADS, 0, cuda->stream>>>(P);
        CUDA_LAUNCHED("field_loss depths");
        z_max_kernel<<<1, 1, 0, cuda->stream>>>(P);
        CUDA_LAUNCHED("field_loss largest depth");
    }
    pool_kernel<<<splat_cuda_blocks(P.n_entries, FIELD_THREADS), FIELD_THREADS, 0, cuda->stream>>>(P);
    CUDA_LAUNCHED("field_loss pool");
    CUDA_TRY("list the pool", splat_cuda_select_bytes(arrays->temporary, &bytes, P.flags, true, P.pool, P.n_pool,
                                                      P.job.n, cuda->stream));
    return SPLAT_OK;
}

static splat_status gather(splat_cuda_backend *cuda, const field_parameters &P, field_arrays *arrays,
                           splat_error *error)
{
    size_t bytes = arrays->temporary_bytes;
    CUDA_TRY("sort samples by Gaussian",
             splat_cuda_sort_pairs32(arrays->temporary, &bytes, &arrays->keys, &arrays->places, arrays->n_pairs,
                                     arrays->key_bits, cuda->stream));
    runs_kernel<<<splat_cuda_blocks(arrays->n_pairs, FIELD_THREADS), FIELD_THREADS, 0, cuda->stream>>>(
        P, arrays->keys.current, arrays->n_pairs);
    CUDA_LAUNCHED("field_loss runs");
    gather_kernel<<<splat_cuda_blocks((uint64_t)P.job.n * FIELD_LANES, FIELD_THREADS), FIELD_THREADS, 0,
                    cuda->stream>>>(P, arrays->places.current);
    CUDA_LAUNCHED("field_loss gather");
    return SPLAT_OK;
}

/* The buffers of the Gaussians' pairs serve again. */
static splat_status scatter(splat_cuda_backend *cuda, const field_parameters &P, field_arrays *arrays,
                            splat_error *error)
{
    size_t bytes = arrays->temporary_bytes;
    pixels_kernel<<<splat_cuda_blocks(P.job.n_samples, FIELD_THREADS), FIELD_THREADS, 0, cuda->stream>>>(
        P, arrays->n_pixels, arrays->keys.current, arrays->places.current);
    CUDA_LAUNCHED("field_loss pixels");
    CUDA_TRY("sort samples by pixel",
             splat_cuda_sort_pairs32(arrays->temporary, &bytes, &arrays->keys, &arrays->places, arrays->n_pixel_pairs,
                                     arrays->pixel_bits, cuda->stream));
    depth_kernel<<<splat_cuda_blocks(arrays->n_pixel_pairs, FIELD_THREADS), FIELD_THREADS, 0, cuda->stream>>>(
        P, arrays->n_pixels, arrays->keys.current, arrays->places.current, arrays->n_pixel_pairs);
    CUDA_LAUNCHED("field_loss depth");
    return SPLAT_OK;
}

extern "C" splat_status splat_field_loss_cuda(splat_backend *backend, const struct splat_field_loss_args *args,
                                              splat_error *error)
{
    splat_cuda_backend *cuda = splat_cuda_of(backend);
    const splat_frame *frame = args->frame;
    SPLAT_TRY(splat_field_check(args, error));
    CUDA_TRY("clear the losses", cudaMemsetAsync(args->result, 0, 4 * sizeof(double), cuda->stream));
    if (frame->n_visible == 0 || args->gaussians->n == 0) return SPLAT_OK;
    const unsigned n_blocks = splat_cuda_blocks(args->n_samples, FIELD_THREADS);
    field_parameters P = {};
    P.job = splat_field_job_of(args, NULL);
    P.p = args->gaussians->p;
    P.n_entries = frame->n_visible;
    P.ids = frame->ids;
    P.mean2d = frame->mean2d;
    P.depth = frame->depth;
    P.result = args->result;
    P.gradients = *args->gradients;
    P.grad_maps = args->grad_maps;
    P.grad_alpha = args->grad_alpha;
    P.state = splat_cuda_state_of(args->frame);
    field_arrays arrays = {};
    arrays.n_pairs = SPLAT_FIELD_KERNELS * args->n_samples;
    arrays.key_bits = bits_of(P.job.n);
    arrays.n_pixel_pairs = 4 * args->n_samples;
    arrays.n_pixels = (uint32_t)P.job.width * (uint32_t)P.job.height;
    arrays.pixel_bits = bits_of(arrays.n_pixels);
    SPLAT_TRY(plan(cuda, P, &arrays, error));
    SPLAT_TRY(reserve(cuda, &P, &arrays, n_blocks, error));
    SPLAT_TRY(make_pool(cuda, P, &arrays, error));
    samples_kernel<<<n_blocks, FIELD_THREADS, 0, cuda->stream>>>(P);
    CUDA_LAUNCHED("field_loss samples");
    result_kernel<<<1, FIELD_THREADS, 0, cuda->stream>>>(P, n_blocks);
    CUDA_LAUNCHED("field_loss sum");
    SPLAT_TRY(gather(cuda, P, &arrays, error));
    return args->mode == SPLAT_FIELD_SDF ? scatter(cuda, P, &arrays, error) : SPLAT_OK;
}
