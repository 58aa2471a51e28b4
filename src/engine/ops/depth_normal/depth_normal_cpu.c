/* depth_normal on the CPU: rows in parallel, their sums added in order. */
#include "backend/backend.h"
#include "ops/depth_normal/depth_normal_math.h"

splat_status splat_depth_normal_cpu(splat_backend *backend, const struct splat_depth_normal_args *args,
                                    splat_error *error)
{
    const int width = args->camera->width, height = args->camera->height;
    const size_t plane = (size_t)width * (size_t)height;
    void *slopes, *rows;
    SPLAT_TRY(splat_scratch_reset(backend, error));
    SPLAT_TRY(splat_scratch_take(backend, splat_depth_normal_slopes_bytes(plane), &slopes, error));
    SPLAT_TRY(splat_scratch_take(backend, splat_depth_normal_sums_bytes((size_t)height), &rows, error));
    const splat_depth_normal_job job = splat_depth_normal_job_of(args, slopes);
    double *sums = rows;
#pragma omp parallel num_threads(backend->threads)
    {
#pragma omp for schedule(static)
        for (int y = 0; y < height; y++) {
            double sum = 0, count = 0;
            for (int x = 0; x < width; x++) {
                float loss;
                count += splat_depth_normal_first(&job, x, y, &loss);
                sum += (double)loss;
            }
            sums[2 * y] = sum;
            sums[2 * y + 1] = count;
        }
#pragma omp for schedule(static)
        for (int y = 0; y < height; y++)
            for (int x = 0; x < width; x++) splat_depth_normal_second(&job, x, y);
    }
    args->result[0] = args->result[1] = 0;
    for (int y = 0; y < height; y++) {
        args->result[0] += sums[2 * y];
        args->result[1] += sums[2 * y + 1];
    }
    args->result[0] /= (double)plane;
    return SPLAT_OK;
}
