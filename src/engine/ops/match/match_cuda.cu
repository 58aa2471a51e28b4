/* match on CUDA: a warp a site, a lane a plane; the patch lies in shared memory. A launch does the sites of one colour
 * of the chessboard, which read only those of the other. */
#include "backend/cuda_backend.cuh"

extern "C" {
#include "math/camera.h"
#include "ops/match/match_math.h"
}

#define MATCH_WARPS 4
#define MATCH_THREADS (32 * MATCH_WARPS)
#define ALL 0xffffffffu

__global__ void __launch_bounds__(MATCH_THREADS)
    quads_kernel(const uint8_t *grey, int width, int height, uint32_t *quads)
{
    const size_t at = (size_t)blockIdx.x * MATCH_THREADS + threadIdx.x;
    if (at >= (size_t)width * (size_t)height) return;
    quads[at] = splat_match_quad(grey, width, height, (int)(at % (size_t)width), (int)(at / (size_t)width));
}

/* Fills the warp's patch; returns false, in all lanes, if the site has no texture. */
__device__ __forceinline__ bool look(const splat_match_job &job, int x, int y, bool at_step, int lane,
                                     splat_match_patch &patch)
{
    float weights[2] = {0.0f, 0.0f}, levels[2] = {0.0f, 0.0f};
    __syncwarp();
    if (lane == 0) splat_match_patch_kind(&patch, at_step);
    __syncwarp();
#pragma unroll
    for (int k = 0; k < 2; k++)
        if (lane + 32 * k < patch.n)
            weights[k] = splat_match_weight(&job, &patch, x, y, lane + 32 * k, &levels[k]);
    const float sum = splat_lanes_sum<32>(weights[0] + weights[1]);
    const float mean = splat_lanes_sum<32>(weights[0] * levels[0] + weights[1] * levels[1]) / sum;
    float variance = 0.0f;
#pragma unroll
    for (int k = 0; k < 2; k++) {
        const float weight = weights[k] / sum, deviation = levels[k] - mean;
        if (lane + 32 * k < patch.n) {
            patch.weights[lane + 32 * k] = weight;
            patch.deviations[lane + 32 * k] = weight * deviation;
        }
        variance += weight * deviation * deviation;
    }
    variance = splat_lanes_sum<32>(variance);
    if (lane == 0) {
        patch.mean = mean;
        patch.variance = variance;
    }
    __syncwarp();
    const float least = splat_match_least_texture(SPLAT_MATCH_FAINT, job.noise);
    return variance >= least * least;
}

/* The cost of a plane in a neighbour. */
__device__ __forceinline__ float cost_in(const splat_match_other &other, const splat_match_patch &patch, int x, int y,
                                         const float plane[3])
{
    splat_match_sums sums = {0.0f, 0.0f, 0.0f};
    float base[3], image[3];
    const int n = patch.n;
    const float mean = patch.mean;
    for (int o = 0; o < n; o++) {
        int dx, dy;
        splat_match_offset(&patch, o, &dx, &dy);
        splat_match_base(&other, x + dx, y + dy, base);
        splat_match_add(&other, base, plane[0] + plane[1] * (float)dx + plane[2] * (float)dy, patch.weights[o],
                        patch.deviations[o], mean, &sums);
    }
    splat_match_base(&other, x, y, base);
    return splat_match_score(&sums, patch.variance, splat_match_project(&other, base, plane[0], image));
}

__device__ __forceinline__ float cost_of(const splat_match_job &job, const splat_match_patch &patch, int x, int y,
                                         uint32_t sees, const float plane[3])
{
    float best[SPLAT_MATCH_BEST];
    int n = 0;
#pragma unroll
    for (int k = 0; k < SPLAT_MATCH_BEST; k++) best[k] = 2.0f;
    for (uint32_t k = 0; k < job.n; k++) {
        if (!(sees & 1u << k)) continue;
        splat_match_keep(best, cost_in(job.others[k], patch, x, y, plane));
        n++;
    }
    return splat_match_mean(best, n, job.most);
}

/* The site of a warp; false: none. */
__device__ __forceinline__ bool site_of(const splat_match_job &job, int *i, int *j)
{
    const int n = job.sites_x * job.sites_y, at = blockIdx.x * MATCH_WARPS + threadIdx.x / 32;
    if (at >= n) return false;
    *i = at % job.sites_x;
    *j = at / job.sites_x;
    return true;
}

__global__ void __launch_bounds__(MATCH_THREADS) begin_kernel(const __grid_constant__ splat_match_job job)
{
    __shared__ splat_match_patch patches[MATCH_WARPS];
    splat_match_patch &patch = patches[threadIdx.x / 32];
    const int lane = threadIdx.x % 32;
    int i, j;
    if (!site_of(job, &i, &j)) return;
    const size_t at = splat_match_index(&job, i, j);
    const int x = splat_match_pixel(&job, i), y = splat_match_pixel(&job, j);
    const float plane[3] = {job.planes[at][0], job.planes[at][1], job.planes[at][2]};
    splat_match_site site = {{plane[0], plane[1], plane[2]}, 0.0f, 0.0f, 0u, 0.0f};
    if (lane == 0) {
        job.costs[at] = SPLAT_MATCH_DUMB;
        job.sites[at] = site;
    }
    if (!(plane[0] > 0.0f) || !splat_match_allows(&job, &site, plane)) return;
    const bool at_step = splat_match_at_step(&job, x, y, plane);
    if (!look(job, x, y, at_step, lane, patch)) return;
    float own = 0.0f, cost = 2.0f;
    bool sees = false;
    if (lane < job.n) {
        sees = splat_match_sees(&job, &job.others[lane], x, y, plane[0], &own);
        if (sees) cost = cost_in(job.others[lane], patch, x, y, plane);
    }
    site.sees = __ballot_sync(ALL, sees);
    const int n = __popc(site.sees);
    const float pixels = splat_lanes_sum<32>(sees ? own : 0.0f);
    float best[SPLAT_MATCH_BEST];
#pragma unroll
    for (int k = 0; k < SPLAT_MATCH_BEST; k++) best[k] = 2.0f;
    for (int k = 0; k < SPLAT_MATCH_NEIGHBORS; k++) splat_match_keep(best, __shfl_sync(ALL, cost, k));
    if (n < 1 || !(pixels > 0.0f) || lane != 0) return;
    site.pixels = pixels / (float)n;
    site.texture = sqrtf(patch.variance);
    site.sees |= at_step ? SPLAT_MATCH_AT_STEP : 0u;
    job.costs[at] = site.cost = splat_match_mean(best, n, job.most);
    job.sites[at] = site;
}

__global__ void __launch_bounds__(MATCH_THREADS)
    improve_kernel(const __grid_constant__ splat_match_job job, uint32_t half)
{
    __shared__ splat_match_patch patches[MATCH_WARPS];
    splat_match_patch &patch = patches[threadIdx.x / 32];
    const int lane = threadIdx.x % 32;
    int i, j;
    if (!site_of(job, &i, &j) || (i + j + (int)half) % 2) return;
    const size_t at = splat_match_index(&job, i, j);
    const int x = splat_match_pixel(&job, i), y = splat_match_pixel(&job, j);
    const uint32_t sees = job.sites[at].sees;
    if (!sees) return;
    look(job, x, y, sees & SPLAT_MATCH_AT_STEP, lane, patch);
    float plane[3];
    splat_match_candidate(&job, i, j, x, y, lane, plane);
    const float cost = cost_of(job, patch, x, y, sees, plane);
    float least = cost;
#pragma unroll
    for (int offset = 16; offset; offset /= 2) least = fminf(least, __shfl_xor_sync(ALL, least, offset));
    const unsigned with = __ballot_sync(ALL, cost == least);
    if (lane != __ffs(with) - 1 || !(least < job.costs[at])) return;
    job.costs[at] = least;
    for (int k = 0; k < 3; k++) job.planes[at][k] = plane[k];
}

__global__ void __launch_bounds__(MATCH_THREADS) judge_kernel(const __grid_constant__ splat_match_job job)
{
    __shared__ splat_match_patch patches[MATCH_WARPS];
    splat_match_patch &patch = patches[threadIdx.x / 32];
    const int lane = threadIdx.x % 32;
    int i, j;
    if (!site_of(job, &i, &j)) return;
    const size_t at = splat_match_index(&job, i, j);
    const int x = splat_match_pixel(&job, i), y = splat_match_pixel(&job, j);
    const splat_match_site site = job.sites[at];
    if (!site.sees) {
        if (lane == 0) job.raw[at] = SPLAT_MATCH_SILENT;
        return;
    }
    if (lane == 0) splat_match_return(&job, at);
    __syncwarp();
    const float own[3] = {job.planes[at][0], job.planes[at][1], job.planes[at][2]};
    look(job, x, y, site.sees & SPLAT_MATCH_AT_STEP, lane, patch);
    float plane[3], cost = 2.0f, costs[MATCH_DEPTHS];
    bool wide = false;
    if (lane < MATCH_DEPTHS) {
        splat_match_other_depth(&site, own, lane, plane);
        cost = cost_of(job, patch, x, y, site.sees, plane);
        wide = lane < job.n && (site.sees & 1u << lane) && splat_match_is_wide(&job.others[lane], x, y, own[0]);
    }
#pragma unroll
    for (int k = 0; k < MATCH_DEPTHS; k++) costs[k] = __shfl_sync(ALL, cost, k);
    const int n_wide = __popc(__ballot_sync(ALL, wide));
    if (lane == 0) job.raw[at] = splat_match_judge(&job, &site, costs, n_wide);
}

__global__ void __launch_bounds__(MATCH_THREADS) settle_kernel(const __grid_constant__ splat_match_job job)
{
    const int at = blockIdx.x * MATCH_THREADS + threadIdx.x;
    if (at >= job.sites_x * job.sites_y) return;
    job.verdicts[at] = splat_match_settle(&job, at % job.sites_x, at / job.sites_x);
}

static splat_status take_scratch(splat_backend *backend, const struct splat_match_args *args, splat_match_job *job,
                                 splat_error *error)
{
    splat_cuda_backend *cuda = splat_cuda_of(backend);
    size_t n_pixels = 0, n_sites = (size_t)job->sites_x * (size_t)job->sites_y;
    void *memory;
    for (uint32_t k = 0; k < job->n; k++) n_pixels += splat_camera_pixels(args->neighbors[k].camera);
    SPLAT_TRY(splat_scratch_reset(backend, error));
    SPLAT_TRY(splat_scratch_take(backend, splat_match_scratch_bytes(n_pixels, n_sites), &memory, error));
    job->sites = (splat_match_site *)memory;
    uint32_t *quads = (uint32_t *)(job->sites + n_sites);
    job->raw = (uint8_t *)(quads + n_pixels);
    for (uint32_t k = 0; k < job->n; k++) {
        const splat_match_view *view = &args->neighbors[k];
        const size_t n = splat_camera_pixels(view->camera);
        job->others[k].quads = quads;
        quads_kernel<<<splat_cuda_blocks(n, MATCH_THREADS), MATCH_THREADS, 0, cuda->stream>>>(
            view->grey, view->camera->width, view->camera->height, quads);
        CUDA_LAUNCHED("match photos");
        quads += n;
    }
    return SPLAT_OK;
}

extern "C" splat_status splat_match_cuda(splat_backend *backend, const struct splat_match_args *args,
                                         splat_error *error)
{
    splat_cuda_backend *cuda = splat_cuda_of(backend);
    SPLAT_TRY(splat_match_check(args, error));
    splat_match_job job = splat_match_job_of(args);
    const size_t n = (size_t)job.sites_x * (size_t)job.sites_y;
    const unsigned blocks = splat_cuda_blocks(n, MATCH_WARPS);
    if (n == 0) return SPLAT_OK;
    SPLAT_TRY(take_scratch(backend, args, &job, error));
    begin_kernel<<<blocks, MATCH_THREADS, 0, cuda->stream>>>(job);
    CUDA_LAUNCHED("match");
    for (uint32_t half = 0; half < 2 * args->n_sweeps; half++) {
        improve_kernel<<<blocks, MATCH_THREADS, 0, cuda->stream>>>(job, half);
        CUDA_LAUNCHED("match sweep");
    }
    judge_kernel<<<blocks, MATCH_THREADS, 0, cuda->stream>>>(job);
    CUDA_LAUNCHED("match verdict");
    settle_kernel<<<splat_cuda_blocks(n, MATCH_THREADS), MATCH_THREADS, 0, cuda->stream>>>(job);
    CUDA_LAUNCHED("match verdicts");
    return SPLAT_OK;
}
