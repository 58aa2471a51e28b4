/* thickness on the CPU: fixed blocks of the visible, their sums added in order. */
#include "backend/backend.h"
#include "ops/thickness/thickness_math.h"

/* One block: the sum and the number of the active. scale: weight / n_visible. */
static void do_block(const struct splat_thickness_args *args, uint32_t begin, uint32_t end, float scale, double sums[2])
{
    double sum = 0, n_active = 0;
    for (uint32_t v = begin; v < end; v++) {
        size_t row = 3 * (size_t)args->frame->ids[v];
        splat_thickness t = splat_thickness_of(args->gaussians->p.scales + row, args->ratio, args->least);
        sum += (double)t.length_shortest - (double)args->ratio * (double)t.length_middle;
        n_active += t.length_shortest > 0;
        args->grad_scales[row + (size_t)t.shortest] += scale * t.length_shortest;
    }
    sums[0] = sum;
    sums[1] = n_active;
}

splat_status splat_thickness_cpu(splat_backend *backend, const struct splat_thickness_args *args, splat_error *error)
{
    const uint32_t n = args->frame->n_visible, block = SPLAT_THICKNESS_BLOCK, n_blocks = (n + block - 1) / block;
    float scale = n ? (float)((double)args->weight / n) : 0.0f;
    void *data;
    args->result[0] = args->result[1] = 0;
    SPLAT_TRY(splat_scratch_reset(backend, error));
    if (n == 0) return SPLAT_OK;
    SPLAT_TRY(splat_scratch_take(backend, splat_thickness_sums_bytes(n_blocks), &data, error));
    double *sums = data;
#pragma omp parallel for num_threads(backend->threads) schedule(static)
    for (uint32_t b = 0; b < n_blocks; b++)
        do_block(args, b * block, n - b * block < block ? n : (b + 1) * block, scale, sums + 3 * (size_t)b);
    for (uint32_t b = 0; b < n_blocks; b++)
        for (int k = 0; k < 2; k++) args->result[k] += sums[3 * (size_t)b + (size_t)k];
    for (int k = 0; k < 2; k++) args->result[k] /= n;
    return SPLAT_OK;
}
