/* Runs of samples that lie in one cell, and sums over them. */
#include "mesh/poisson/poisson_parts.h"

#include <string.h>

/* Of a level with no more cells than this the cells are summed by all threads before units put the sums anywhere: the
 * levels at the top have as many samples as those below, in a few cells of a few units. */
enum { FEW_RUNS = 8192 };

static bool starts_run(const uint32_t *cell_of_sample, size_t i)
{
    return cell_of_sample[i] != POISSON_NONE && (i == 0 || cell_of_sample[i] != cell_of_sample[i - 1]);
}

/* Chunks of samples count the runs that start in them, then each writes its own. Cells are in Morton order as samples
 * are. */
splat_status poisson_runs_make(poisson_job *job, poisson_runs *runs, const uint32_t *cell_of_sample, size_t n)
{
    size_t n_chunks = (n + POISSON_CHUNK - 1) / POISSON_CHUNK;
    size_t *next = NULL; /* [n_chunks]: runs, then where they go */
    memset(runs, 0, sizeof *runs);
    SPLAT_TRY(poisson_alloc(job, &next, n_chunks, sizeof *next));
#pragma omp parallel for num_threads(job->options->threads) schedule(static)
    for (size_t k = 0; k < n_chunks; k++)
        for (size_t i = k * POISSON_CHUNK; i < n && i < (k + 1) * POISSON_CHUNK; i++)
            next[k] += starts_run(cell_of_sample, i);
    for (size_t k = 0; k < n_chunks; k++) {
        size_t count = next[k];
        next[k] = runs->n;
        runs->n += count;
    }
    splat_status status = poisson_alloc(job, &runs->run, runs->n, sizeof *runs->run);
    if (status == SPLAT_OK)
#pragma omp parallel for num_threads(job->options->threads) schedule(static)
        for (size_t k = 0; k < n_chunks; k++)
            for (size_t i = k * POISSON_CHUNK; i < n && i < (k + 1) * POISSON_CHUNK; i++) {
                if (!starts_run(cell_of_sample, i)) continue;
                uint32_t cell = cell_of_sample[i];
                size_t end = i + 1; /* may lie in a later chunk */
                while (end < n && cell_of_sample[end] == cell) end++;
                runs->run[next[k]++] = (poisson_run){cell, (uint32_t)i, (uint32_t)end};
            }
    poisson_free(job, next);
    return status;
}

/* The first run, of those of a level, of a cell from `cell` on. */
static size_t runs_from(const poisson_runs *runs, uint32_t cell)
{
    size_t low = 0, high = runs->n;
    while (low < high) {
        size_t middle = (low + high) / 2;
        if (runs->run[middle].cell < cell) low = middle + 1;
        else high = middle;
    }
    return low;
}

/* Runs cut into pieces of at most POISSON_CHUNK samples, whatever the number of threads. */
typedef struct pieces {
    poisson_run *piece; /* [first[n_runs]] */
    uint32_t *first;    /* [n_runs + 1]: the first one of each run */
    double *sums;       /* [pieces][summing->n] */
} pieces;

static void free_pieces(poisson_job *job, pieces *p)
{
    poisson_free(job, p->piece);
    poisson_free(job, p->first);
    poisson_free(job, p->sums);
}

static splat_status make_pieces(poisson_job *job, const poisson_runs *runs, const poisson_summing *summing, pieces *p)
{
    size_t n_pieces = 0;
    SPLAT_TRY(poisson_alloc(job, &p->first, runs->n + 1, sizeof *p->first));
    for (size_t r = 0; r < runs->n; r++) {
        p->first[r] = (uint32_t)n_pieces;
        n_pieces += (runs->run[r].end - runs->run[r].begin + (size_t)POISSON_CHUNK - 1) / POISSON_CHUNK;
    }
    p->first[runs->n] = (uint32_t)n_pieces;
    SPLAT_TRY(poisson_alloc(job, &p->piece, n_pieces, sizeof *p->piece));
    SPLAT_TRY(poisson_alloc(job, &p->sums, n_pieces, (size_t)summing->n * sizeof *p->sums));
    for (size_t r = 0; r < runs->n; r++) {
        poisson_run rest = runs->run[r];
        for (uint32_t k = p->first[r]; k < p->first[r + 1]; k++) {
            p->piece[k] = rest;
            if (rest.end - rest.begin > POISSON_CHUNK) p->piece[k].end = rest.begin + POISSON_CHUNK;
            rest.begin = p->piece[k].end;
        }
    }
#pragma omp parallel for num_threads(job->options->threads) schedule(dynamic, 1)
    for (size_t k = 0; k < n_pieces; k++)
        summing->add(summing->user, &p->piece[k], p->sums + k * (size_t)summing->n);
    return SPLAT_OK;
}

/* The run's sums go where they belong. p: NULL, or their pieces. */
static void put_run(const poisson_summing *summing, const poisson_runs *runs, size_t r, const pieces *p)
{
    double sums[POISSON_MOST_SUMS] = {0};
    if (p)
        for (uint32_t k = p->first[r]; k < p->first[r + 1]; k++)
            for (int i = 0; i < summing->n; i++) sums[i] += p->sums[(size_t)k * (size_t)summing->n + (size_t)i];
    else
        summing->add(summing->user, &runs->run[r], sums);
    summing->put(summing->user, &runs->run[r], r, sums);
}

static void put_unit(const poisson_summing *summing, const poisson_runs *runs, poisson_unit unit, const pieces *p)
{
    uint32_t end = 8 * unit.end;
    for (size_t r = runs_from(runs, 8 * unit.first); r < runs->n && runs->run[r].cell < end; r++)
        put_run(summing, runs, r, p);
}

splat_status poisson_sum_runs(poisson_job *job, const poisson_level *level, const poisson_runs *runs,
                              const poisson_summing *summing)
{
    pieces p = {0};
    bool are_few = runs->n <= FEW_RUNS;
    splat_status status = are_few ? make_pieces(job, runs, summing, &p) : SPLAT_OK;
    for (int colour = 0; colour < 8 && status == SPLAT_OK; colour++)
#pragma omp parallel for num_threads(job->options->threads) schedule(dynamic, 1)
        for (size_t u = level->unit_first[colour]; u < level->unit_first[colour + 1]; u++)
            put_unit(summing, runs, level->unit[u], are_few ? &p : NULL);
    free_pieces(job, &p);
    return status;
}

/* As many cells as there may be of such levels, with their pieces; of all levels together one is summed at a time. */
double poisson_sums_bytes(double n_points)
{
    double cells = n_points < FEW_RUNS ? n_points : FEW_RUNS;
    return (cells + n_points / POISSON_CHUNK) * (sizeof(poisson_run) + sizeof(uint32_t) + 8.0 * POISSON_MOST_SUMS);
}
