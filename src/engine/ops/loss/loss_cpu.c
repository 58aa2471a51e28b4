/* loss on the CPU: bands in parallel, their sums added in order. */
#include "ops/loss/loss_cpu.h"

#include "backend/backend.h"
#include "base/checked.h"

#include <omp.h>

/* Two bands a thread and channel, for balance; not below 32 rows, as a band repeats a halo of 10 rows on each side. */
static int rows_of_band(int height, int threads)
{
    int rows = (height - 1) / (2 * threads) + 1;
    return rows < 32 ? 32 : rows;
}

/* Sets job->rows. */
static splat_status run_bands(splat_backend *backend, splat_loss_job *job, splat_error *error)
{
    size_t workspace_floats = splat_loss_workspace_floats(job->width);
    size_t workspace_bytes, bytes;
    if (!splat_size_mul(workspace_floats, (size_t)backend->threads * sizeof(float), &workspace_bytes) ||
        !splat_size_add(workspace_bytes, splat_loss_rows_bytes(job->height), &bytes))
        return splat_fail(error, SPLAT_ERROR_MEMORY, "a picture of %dx%d pixels is too large for the loss", job->width,
                          job->height);
    void *scratch;
    SPLAT_TRY(splat_scratch_reset(backend, error));
    SPLAT_TRY(splat_scratch_take(backend, bytes, &scratch, error));
    float *workspaces = scratch; /* first: its rows stay aligned to cache lines */
    job->rows = (splat_loss_sums *)((char *)scratch + workspace_bytes);

    SPLAT_LOSS_BAND((*run_band)) = SPLAT_OF_LEVEL(backend->simd, splat_loss_band);
    int band_rows = rows_of_band(job->height, backend->threads);
    int n_bands = (job->height - 1) / band_rows + 1;
#pragma omp parallel for num_threads(backend->threads) schedule(dynamic, 1)
    for (int task = 0; task < 3 * n_bands; task++) {
        int channel = task / n_bands, begin = task % n_bands * band_rows;
        int stop = job->height - begin < band_rows ? job->height : begin + band_rows;
        run_band(job, channel, begin, stop, workspaces + (size_t)omp_get_thread_num() * workspace_floats);
    }
    return SPLAT_OK;
}

/* sums[3], by channel, of job->rows, in the order of the rows. */
static void sum_rows(const splat_loss_job *job, splat_loss_sums *sums)
{
    for (size_t c = 0; c < 3; c++) {
        sums[c] = (splat_loss_sums){0, 0, 0};
        for (size_t y = 0; y < (size_t)job->height; y++) {
            const splat_loss_sums *row = &job->rows[c * (size_t)job->height + y];
            sums[c].l1 += row->l1;
            sums[c].squared += row->squared;
            sums[c].ssim += row->ssim;
        }
    }
}

splat_status splat_loss_run(splat_backend *backend, splat_loss_job *job, splat_loss_sums *sums, splat_error *error)
{
    SPLAT_TRY(run_bands(backend, job, error));
    sum_rows(job, sums);
    return SPLAT_OK;
}

static splat_loss_job job_of(const struct splat_loss_args *args)
{
    double lambda = (double)args->lambda_dssim;
    double n = 3.0 * (double)args->width * (double)args->height;
    return (splat_loss_job){.width = args->width,
                            .height = args->height,
                            .image = args->image,
                            .photo_u8 = args->photo_u8,
                            .photo_f32 = args->photo_f32,
                            .mask = args->mask,
                            .grad_image = args->grad_image,
                            .l1_scale = (float)((1 - lambda) / n),
                            .ssim_scale = (float)(-lambda / n)};
}

splat_status splat_loss_cpu(splat_backend *backend, const struct splat_loss_args *args, splat_error *error)
{
    SPLAT_TRY(splat_loss_check(args, error));
    splat_loss_job job = job_of(args);
    splat_loss_sums sums[3];
    SPLAT_TRY(splat_loss_run(backend, &job, sums, error));
    *args->result = splat_loss_result_of(args, sums);
    return SPLAT_OK;
}
