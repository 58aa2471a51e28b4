/* field_loss on the CPU. Samples in parallel; then what they say to each Gaussian is gathered: the pairs (Gaussian,
 * sample) are put into buckets of neighbouring Gaussians with a stable sort, so that each Gaussian sums its samples in
 * their order, whatever the number of threads. */
#include "backend/backend.h"
#include "ops/field_loss/field_loss_math.h"

#include <math.h>
#include <string.h>

#define BUCKET 64 /* Gaussians: their kernels and sums stay in the first cache */

typedef struct field_pair {
    uint32_t gaussian, place; /* 16 sample + k */
} field_pair;

typedef struct field_work {
    splat_field_job job;
    splat_density_kernel *kernels; /* [n] */
    uint32_t *pool, n_pool;
    splat_field_sample *samples;
    field_pair *pairs;
    uint32_t n_parts, n_buckets;   /* parts of the samples, one a thread */
    uint32_t *starts;              /* [n_parts][n_buckets]: counts, then places of the next pair */
    uint32_t *begin;               /* [n_buckets + 1] */
    float z_max;
} field_work;

/* An array of n elements of what `pointer` points to. */
#define TAKE(pointer, n)                                                                                               \
    SPLAT_TRY(splat_scratch_take(backend, (size_t)(n) * sizeof *(pointer), (void **)&(pointer), error))

static void make_kernels(splat_backend *backend, const struct splat_field_loss_args *args, field_work *work)
{
    const splat_tensors *p = &args->gaussians->p;
    float z_max = -INFINITY;
#pragma omp parallel for num_threads(backend->threads) schedule(static) reduction(max : z_max)
    for (size_t i = 0; i < work->job.n; i++) {
        work->kernels[i] = splat_density_kernel_make(p->means + 3 * i, p->scales + 3 * i, p->rotations + 4 * i,
                                                     p->opacities[i]);
        float z = splat_field_z(&work->job, p->means + 3 * i);
        if (z > z_max) z_max = z;
    }
    work->z_max = z_max;
}

static splat_status make_pool(splat_backend *backend, const struct splat_field_loss_args *args, field_work *work,
                              splat_error *error)
{
    const splat_frame *frame = args->frame;
    work->pool = frame->ids;
    work->n_pool = frame->n_visible;
    if (args->mode != SPLAT_FIELD_SDF) return SPLAT_OK;
    uint8_t *is_close;
    TAKE(is_close, frame->n_visible);
    TAKE(work->pool, frame->n_visible);
#pragma omp parallel for num_threads(backend->threads) schedule(static)
    for (uint32_t v = 0; v < frame->n_visible; v++)
        is_close[v] = (uint8_t)splat_field_is_close(&work->job, &work->kernels[frame->ids[v]],
                                                    frame->mean2d + 2 * (size_t)v);
    work->n_pool = 0;
    for (uint32_t v = 0; v < frame->n_visible; v++)
        if (is_close[v]) work->pool[work->n_pool++] = frame->ids[v];
    return SPLAT_OK;
}

static uint32_t part_begin(const field_work *work, uint32_t part)
{
    return (uint32_t)((uint64_t)work->job.n_samples * part / work->n_parts);
}

static uint32_t generator_of(const field_work *work, uint32_t index, float xi[3])
{
    return work->pool[splat_field_draw(&work->job, index, work->n_pool, xi)];
}

static void make_sample(const field_work *work, uint32_t g, splat_field_sample *s)
{
    const uint32_t *neighbors = work->job.neighbors + SPLAT_NEIGHBORS * (size_t)g;
    const splat_density_kernel *own = &work->kernels[g];
    splat_field_sums sums;
    float normal[3];
    splat_field_column(own, splat_field_short_axis(own), normal);
    splat_field_begin(&work->job, own, s, &sums);
    for (int k = 1; k < SPLAT_FIELD_KERNELS; k++)
        splat_field_add(&work->job, normal, &work->kernels[neighbors[k - 1]], k, s, &sums);
    splat_field_finish(&work->job, own, normal, &sums, s);
}

/* The samples of a part, who made each, and how many pairs each bucket gets from them. */
static void make_part(const field_work *work, uint32_t part, uint32_t *generators)
{
    uint32_t *counts = work->starts + (size_t)part * work->n_buckets;
    memset(counts, 0, work->n_buckets * sizeof *counts);
    for (uint32_t i = part_begin(work, part); i < part_begin(work, part + 1); i++) {
        splat_field_sample *s = &work->samples[i];
        uint32_t g = generators[i] = generator_of(work, i, s->xi);
        make_sample(work, g, s);
        if (!s->sides) continue;
        const uint32_t *neighbors = work->job.neighbors + SPLAT_NEIGHBORS * (size_t)g;
        counts[g / BUCKET]++;
        for (int k = 0; k < SPLAT_NEIGHBORS; k++) counts[neighbors[k] / BUCKET]++;
    }
}

/* Counts become places: by bucket, then by part. */
static void place_buckets(field_work *work)
{
    uint32_t at = 0;
    for (uint32_t b = 0; b < work->n_buckets; b++) {
        work->begin[b] = at;
        for (uint32_t part = 0; part < work->n_parts; part++) {
            uint32_t *start = &work->starts[(size_t)part * work->n_buckets + b], count = *start;
            *start = at;
            at += count;
        }
    }
    work->begin[work->n_buckets] = at;
}

static void place_part(const field_work *work, uint32_t part, const uint32_t *generators)
{
    uint32_t *starts = work->starts + (size_t)part * work->n_buckets;
    for (uint32_t i = part_begin(work, part); i < part_begin(work, part + 1); i++) {
        if (!work->samples[i].sides) continue;
        const uint32_t *neighbors = work->job.neighbors + SPLAT_NEIGHBORS * (size_t)generators[i];
        for (uint32_t k = 0; k < SPLAT_FIELD_KERNELS; k++) {
            uint32_t j = k ? neighbors[k - 1] : generators[i];
            work->pairs[starts[j / BUCKET]++] = (field_pair){j, SPLAT_FIELD_KERNELS * i + k};
        }
    }
}

static void gather_bucket(const field_work *work, const struct splat_field_loss_args *args, uint32_t bucket,
                          float field_scale, float normal_scale)
{
    splat_field_gradient sums[BUCKET];
    bool is_touched[BUCKET] = {false};
    memset(sums, 0, sizeof sums);
    for (uint32_t at = work->begin[bucket]; at < work->begin[bucket + 1]; at++) {
        field_pair pair = work->pairs[at];
        splat_field_gather(&work->job, &work->kernels[pair.gaussian], &work->samples[pair.place / SPLAT_FIELD_KERNELS],
                           (int)(pair.place % SPLAT_FIELD_KERNELS), field_scale, normal_scale,
                           &sums[pair.gaussian % BUCKET]);
        is_touched[pair.gaussian % BUCKET] = true;
    }
    const splat_tensors *out = args->gradients;
    for (size_t k = 0; k < BUCKET; k++) {
        size_t i = (size_t)bucket * BUCKET + k;
        if (is_touched[k])
            splat_field_apply(&work->kernels[i], args->gaussians->p.rotations + 4 * i, &sums[k], out->means + 3 * i,
                              out->scales + 3 * i, out->rotations + 4 * i, out->opacities + i);
    }
}

static void scatter_depth(const field_work *work, const struct splat_field_loss_args *args, float field_scale)
{
    for (uint32_t i = 0; i < work->job.n_samples; i++) {
        const splat_field_sample *s = &work->samples[i];
        if (s->grad_depth == 0.0f) continue;
        splat_field_corners c = splat_field_corners_of(&work->job, s->u, s->v);
        for (int k = 0; k < 4; k++) {
            float gradient = field_scale * s->grad_depth * c.weight[k];
            args->grad_maps[c.pixel[k]] += gradient;
            args->grad_alpha[c.pixel[k]] -= gradient * work->z_max;
        }
    }
}

static void sum_losses(const field_work *work, double result[4])
{
    for (uint32_t i = 0; i < work->job.n_samples; i++) {
        result[0] += (double)work->samples[i].field;
        result[1] += (double)work->samples[i].normal;
        result[2] += work->samples[i].sides != 0;
    }
    if (result[2] > 0) {
        result[0] /= result[2];
        result[1] /= result[2];
    }
}

static splat_status run(splat_backend *backend, const struct splat_field_loss_args *args, field_work *work,
                        splat_error *error)
{
    uint32_t *generators;
    TAKE(generators, args->n_samples);
    TAKE(work->samples, args->n_samples);
    TAKE(work->pairs, SPLAT_FIELD_KERNELS * (size_t)args->n_samples);
    TAKE(work->starts, (size_t)work->n_parts * work->n_buckets);
    TAKE(work->begin, work->n_buckets + 1);
#pragma omp parallel for num_threads(backend->threads) schedule(static, 1)
    for (uint32_t part = 0; part < work->n_parts; part++) make_part(work, part, generators);
    sum_losses(work, args->result);
    if (!(args->result[2] > 0)) return SPLAT_OK;
    place_buckets(work);
#pragma omp parallel for num_threads(backend->threads) schedule(static, 1)
    for (uint32_t part = 0; part < work->n_parts; part++) place_part(work, part, generators);
    float field_scale = (float)((double)args->field_weight / args->result[2]);
    float normal_scale = (float)((double)args->normal_weight / args->result[2]);
#pragma omp parallel for num_threads(backend->threads) schedule(dynamic, 4)
    for (uint32_t bucket = 0; bucket < work->n_buckets; bucket++)
        gather_bucket(work, args, bucket, field_scale, normal_scale);
    if (args->mode == SPLAT_FIELD_SDF) scatter_depth(work, args, field_scale);
    return SPLAT_OK;
}

splat_status splat_field_loss_cpu(splat_backend *backend, const struct splat_field_loss_args *args, splat_error *error)
{
    field_work work = {.n_parts = (uint32_t)backend->threads, .n_buckets = args->gaussians->n / BUCKET + 1};
    SPLAT_TRY(splat_field_check(args, error));
    memset(args->result, 0, 4 * sizeof *args->result);
    work.job = splat_field_job_of(args, &work.z_max);
    SPLAT_TRY(splat_scratch_reset(backend, error));
    splat_field_job *job = &work.job;
    if (args->frame->n_visible == 0) return SPLAT_OK;
    TAKE(work.kernels, job->n);
    make_kernels(backend, args, &work);
    SPLAT_TRY(make_pool(backend, args, &work, error));
    args->result[3] = work.n_pool;
    return work.n_pool ? run(backend, args, &work, error) : SPLAT_OK;
}
