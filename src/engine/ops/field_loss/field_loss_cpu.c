/* field_loss on the CPU. Samples are sorted by their generators, and what the groups of samples say to the Gaussians
 * (field_loss_simd.c) is added up in the order of the groups: in rounds, whose records stay in the cache, and by
 * threads of which each has a range of the Gaussians and looks at all records. So the bytes depend on no thread. */
#include "backend/backend.h"
#include "ops/field_loss/field_loss_kernel.h"

#include <math.h>
#include <string.h>

#define CHUNK 32   /* groups that a thread takes at a time */
#define ROUND 4096 /* groups: 3.3 MiB of records */
#define SUM_ROW 12 /* SPLAT_FIELD_GRADIENT, padded so that a row lies in two cache lines at most */

typedef struct field_work {
    splat_field_groups groups;
    uint32_t n_pool, n_groups, threads;
    SPLAT_FIELD_RUN((*run));
    splat_field_record *records; /* of a round */
    float *sums;                 /* [n][SUM_ROW] */
    float z_max;
} field_work;

/* An array of n elements of what `pointer` points to. */
#define TAKE(pointer, n)                                                                                               \
    SPLAT_TRY(splat_scratch_take(backend, (size_t)(n) * sizeof *(pointer), (void **)&(pointer), error))

/* ---------------------------------------------------------------- the pool */

static void find_z_max(splat_backend *backend, const struct splat_field_loss_args *args, field_work *work)
{
    float z_max = -INFINITY;
#pragma omp parallel for num_threads(backend->threads) schedule(static) reduction(max : z_max)
    for (size_t i = 0; i < args->gaussians->n; i++) {
        float z = splat_field_z(&work->groups.job, args->gaussians->p.means + 3 * i);
        if (z > z_max) z_max = z;
    }
    work->z_max = z_max;
}

static splat_status make_pool(splat_backend *backend, const struct splat_field_loss_args *args, field_work *work,
                              splat_error *error)
{
    const splat_frame *frame = args->frame;
    const splat_tensors *p = &args->gaussians->p;
    uint8_t *is_close;
    uint32_t *pool;
    work->groups.pool = frame->ids;
    work->n_pool = frame->n_visible;
    if (args->mode != SPLAT_FIELD_SDF) return SPLAT_OK;
    find_z_max(backend, args, work);
    TAKE(is_close, frame->n_visible);
    TAKE(pool, frame->n_visible);
#pragma omp parallel for num_threads(backend->threads) schedule(static)
    for (uint32_t v = 0; v < frame->n_visible; v++) {
        size_t i = frame->ids[v];
        splat_density_kernel g = splat_density_kernel_make(p->means + 3 * i, p->scales + 3 * i, p->rotations + 4 * i,
                                                           p->opacities[i]);
        is_close[v] = (uint8_t)splat_field_is_close(&work->groups.job, &g, frame->mean2d + 2 * (size_t)v);
    }
    work->n_pool = 0;
    for (uint32_t v = 0; v < frame->n_visible; v++)
        if (is_close[v]) pool[work->n_pool++] = frame->ids[v];
    work->groups.pool = pool;
    return SPLAT_OK;
}

/* ---------------------------------------------------------------- the order of the samples */

/* Sorts the samples by place, and finds the groups. counts: [n_pool]. */
static void sort_samples(field_work *work, uint32_t *counts)
{
    splat_field_groups *g = &work->groups;
    uint32_t at = 0;
    memset(counts, 0, work->n_pool * sizeof *counts);
    for (uint32_t i = 0; i < g->job.n_samples; i++) counts[g->places[i]]++;
    for (uint32_t place = 0; place < work->n_pool; place++) { /* counts become starts */
        uint32_t count = counts[place];
        if (count) g->begin[work->n_groups++] = at;
        counts[place] = at;
        at += count;
    }
    g->begin[work->n_groups] = at;
    for (uint32_t i = 0; i < g->job.n_samples; i++) g->order[counts[g->places[i]]++] = i;
}

static splat_status make_groups(splat_backend *backend, field_work *work, splat_error *error)
{
    splat_field_groups *g = &work->groups;
    uint32_t n = g->job.n_samples, *counts;
    TAKE(g->places, n);
    TAKE(g->order, n);
    TAKE(g->begin, n + 1);
    TAKE(counts, work->n_pool);
    if (g->job.mode == SPLAT_FIELD_SDF) TAKE(g->spots, n);
#pragma omp parallel for num_threads(backend->threads) schedule(static)
    for (uint32_t i = 0; i < n; i++) g->places[i] = splat_field_draw_place(&g->job, i, work->n_pool);
    sort_samples(work, counts);
    return SPLAT_OK;
}

/* ---------------------------------------------------------------- the sums */

static uint32_t share_begin(const field_work *work, uint32_t thread)
{
    return (uint32_t)((uint64_t)work->groups.job.n * thread / work->threads);
}

/* Adds what n records say to the Gaussians of a thread. */
static void add_records(field_work *work, uint32_t n, uint32_t thread)
{
    uint32_t first = share_begin(work, thread), count = share_begin(work, thread + 1) - first;
    for (const splat_field_record *r = work->records; r < work->records + n; r++) {
        if (!r->n_counting) continue;
        for (int k = 0; k < SPLAT_FIELD_KERNELS; k++) {
            if (r->ids[k] - first >= count) continue;
            float *sum = work->sums + SUM_ROW * (size_t)r->ids[k];
            for (int c = 0; c < SPLAT_FIELD_GRADIENT; c++) sum[c] += r->gradient[c][k];
        }
    }
}

static void run_round(splat_backend *backend, field_work *work, uint32_t begin, uint32_t end, double result[4])
{
#pragma omp parallel num_threads(backend->threads)
    {
#pragma omp for schedule(dynamic, 1)
        for (uint32_t at = begin; at < end; at += CHUNK)
            work->run(&work->groups, at, at + CHUNK < end ? at + CHUNK : end, work->records + (at - begin));
#pragma omp for schedule(static, 1)
        for (uint32_t thread = 0; thread < work->threads; thread++) add_records(work, end - begin, thread);
    }
    for (uint32_t i = 0; i < end - begin; i++) {
        result[0] += work->records[i].field;
        result[1] += work->records[i].normal;
        result[2] += work->records[i].n_counting;
    }
}

/* Adds the sums, which are those of n_samples, to the gradients. */
static void add_sums(splat_backend *backend, const struct splat_field_loss_args *args, const field_work *work)
{
    const splat_tensors *out = args->gradients;
    float scale = (float)((double)args->n_samples / args->result[2]);
#pragma omp parallel for num_threads(backend->threads) schedule(static)
    for (size_t i = 0; i < args->gaussians->n; i++) {
        const float *sum = work->sums + SUM_ROW * i;
        for (size_t a = 0; a < 3; a++) out->means[3 * i + a] += scale * sum[a];
        for (size_t a = 0; a < 3; a++) out->scales[3 * i + a] += scale * sum[3 + a];
        for (size_t c = 0; c < 4; c++) out->rotations[4 * i + c] += scale * sum[6 + c];
        out->opacities[i] += scale * sum[10];
    }
}

static void scatter_depth(const field_work *work, const struct splat_field_loss_args *args)
{
    float field_scale = (float)((double)args->field_weight / args->result[2]);
    for (uint32_t i = 0; i < args->n_samples; i++) {
        const splat_field_spot *s = &work->groups.spots[i];
        if (s->grad_depth == 0.0f) continue;
        splat_field_corners c = splat_field_corners_of(&work->groups.job, s->u, s->v);
        for (int k = 0; k < 4; k++) {
            float gradient = field_scale * s->grad_depth * c.weight[k];
            args->grad_maps[c.pixel[k]] += gradient;
            args->grad_alpha[c.pixel[k]] -= gradient * work->z_max;
        }
    }
}

static splat_status run(splat_backend *backend, const struct splat_field_loss_args *args, field_work *work,
                        splat_error *error)
{
    const size_t n_sums = SUM_ROW * (size_t)args->gaussians->n;
    SPLAT_TRY(make_groups(backend, work, error));
    TAKE(work->records, ROUND < work->n_groups ? ROUND : work->n_groups);
    TAKE(work->sums, n_sums);
    SPLAT_TRY(splat_backend_zero(backend, work->sums, n_sums * sizeof *work->sums, error));
    for (uint32_t at = 0; at < work->n_groups; at += ROUND)
        run_round(backend, work, at, at + ROUND < work->n_groups ? at + ROUND : work->n_groups, args->result);
    if (!(args->result[2] > 0)) return SPLAT_OK;
    args->result[0] /= args->result[2];
    args->result[1] /= args->result[2];
    add_sums(backend, args, work);
    if (args->mode == SPLAT_FIELD_SDF) scatter_depth(work, args);
    return SPLAT_OK;
}

size_t splat_field_loss_cpu_bytes(size_t n, size_t n_samples, int mode)
{
    size_t n_groups = n_samples < n ? n_samples : n, n_records = n_groups < ROUND ? n_groups : ROUND;
    size_t of_sample = 3 * sizeof(uint32_t), of_gaussian = sizeof(uint32_t) + SUM_ROW * sizeof(float);
    if (mode == SPLAT_FIELD_SDF) {
        of_sample += sizeof(splat_field_spot);
        of_gaussian += sizeof(uint8_t) + sizeof(uint32_t); /* is_close and the pool */
    }
    return of_sample * n_samples + sizeof(uint32_t) + of_gaussian * n + n_records * sizeof(splat_field_record);
}

splat_status splat_field_loss_cpu(splat_backend *backend, const struct splat_field_loss_args *args, splat_error *error)
{
    field_work work = {.threads = (uint32_t)backend->threads, .run = SPLAT_OF_LEVEL(backend->simd, splat_field_run)};
    SPLAT_TRY(splat_field_check(args, error));
    memset(args->result, 0, 4 * sizeof *args->result);
    work.groups.job = splat_field_job_of(args, &work.z_max);
    work.groups.parameters = &args->gaussians->p;
    SPLAT_TRY(splat_scratch_reset(backend, error));
    if (args->frame->n_visible == 0) return SPLAT_OK;
    SPLAT_TRY(make_pool(backend, args, &work, error));
    args->result[3] = work.n_pool;
    return work.n_pool ? run(backend, args, &work, error) : SPLAT_OK;
}
