/* Measuring the training loop as it runs: the same steps, nothing left out. */
#include "train/trainer.h"

#include "base/clock.h"

#include <stdlib.h>
#include <string.h>

#define COPY_BYTES ((size_t)1 << 30) /* far beyond any cache */
#define COPY_BYTES_HOST ((size_t)1 << 28)
#define COPY_REPEATS 5

static int compare_doubles(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* Best of a few copies; the bandwidth that bounds every memory-bound stage. */
static splat_status measure_copy(splat_backend *b, double *gb_per_s, splat_error *error)
{
    splat_block from = {0}, to = {0};
    size_t bytes = b->device_bytes ? COPY_BYTES : COPY_BYTES_HOST;
    splat_status status = splat_block_resize(b, &from, "copy source", SPLAT_OWNER_OTHER, bytes, error);
    if (status == SPLAT_OK) status = splat_block_resize(b, &to, "copy target", SPLAT_OWNER_OTHER, bytes, error);
    *gb_per_s = 0;
    for (int i = 0; i < COPY_REPEATS && status == SPLAT_OK; i++) {
        double ms = 0;
        status = b->functions->stamp(b, 0, error);
        if (status == SPLAT_OK) status = b->functions->copy(b, to.data, from.data, bytes, error);
        if (status == SPLAT_OK) status = b->functions->stamp(b, 1, error);
        if (status == SPLAT_OK) status = b->functions->stamp_ms(b, 0, 1, &ms, error);
        double rate = ms > 0 ? 2e-6 * (double)bytes / ms : 0;
        if (rate > *gb_per_s) *gb_per_s = rate;
    }
    splat_block_free(b, &from);
    splat_block_free(b, &to);
    return status;
}

static splat_status run(splat_trainer *t, int n, double *step_ms, splat_bench_result *result, splat_error *error)
{
    splat_step_info info;
    for (int i = 0; i < n; i++) {
        double begin = splat_clock_seconds();
        SPLAT_TRY(splat_trainer_step(t, &info, error));
        if (!step_ms) continue;
        step_ms[i] = 1e3 * (splat_clock_seconds() - begin);
        result->n_visible += (double)info.n_visible / n;
        result->n_instances += (double)info.n_instances / n;
    }
    return t->backend->functions->synchronize(t->backend, error);
}

splat_status splat_trainer_bench(splat_trainer *t, const splat_bench_options *options, splat_bench_result *result,
                                 splat_error *error)
{
    memset(result, 0, sizeof *result);
    int n = options->iterations;
    if (n < 1 || options->warmup < 0)
        return splat_fail(error, SPLAT_ERROR_ARGUMENT,
                          "a benchmark needs at least one iteration and no negative warm-up");
    double *step_ms = malloc((size_t)n * sizeof *step_ms);
    if (!step_ms) return splat_fail(error, SPLAT_ERROR_MEMORY, "no memory for %d times", n);
    splat_status status = run(t, options->warmup, NULL, result, error);
    result->n_gaussians_first = t->model->gaussians.n;
    double begin = splat_clock_seconds();
    if (status == SPLAT_OK) status = run(t, n, step_ms, result, error);
    double seconds = splat_clock_seconds() - begin;
    result->n_gaussians_last = t->model->gaussians.n;
    result->peak_bytes = t->backend->memory.device.peak_reserved;
    if (status == SPLAT_OK) {
        qsort(step_ms, (size_t)n, sizeof *step_ms, compare_doubles);
        result->ms_mean = 1e3 * seconds / n;
        result->ms_median = step_ms[n / 2];
        result->ms_p95 = step_ms[(size_t)(0.95 * (n - 1))];
        result->iterations_per_second = n / seconds;
    }
    free(step_ms);
    if (status == SPLAT_OK && options->stages) {
        splat_trainer_measure_stages(t, true);
        status = run(t, n, NULL, result, error);
        splat_trainer_stage_times(t, &result->stages);
        splat_trainer_measure_stages(t, false);
    }
    if (status == SPLAT_OK) status = measure_copy(t->backend, &result->copy_gb_per_s, error);
    return status;
}
