/* catch_up on the CPU: steps of sh_rest that were put off, with the kernel that would have made them. */
#include "ops/project/project.h"

#include "ops/project/project_kernels.h"

void splat_project_catch_up_rows(const splat_project_kernels *kernels, const splat_gaussians *gaussians,
                                 uint32_t begin, uint32_t end, const uint16_t *masks)
{
    static const float no_gradient[3 * ((SPLAT_MAX_SH_DEGREE + 1) * (SPLAT_MAX_SH_DEGREE + 1) - 1)];
    const splat_put_off *put_off = gaussians->put_off;
    const splat_put_off_steps *steps = put_off->steps;
    const size_t channels = splat_sh_rest_floats(gaussians->sh_degree);
    for (uint32_t i = begin; i < end; i++) {
        const uint32_t n = put_off->rows[i], k = i - begin;
        const bool seen = !masks || masks[k / SPLAT_LANES] >> k % SPLAT_LANES & 1;
        if (n == 0 || !(seen || n == SPLAT_PUT_OFF_ROOM - 1)) continue;
        const size_t row = i * channels;
        for (uint32_t s = steps->n - n; s != steps->n; s++) {
            const splat_adam_step step = {steps->step[s % SPLAT_PUT_OFF_ROOM], steps->root[s % SPLAT_PUT_OFF_ROOM]};
            kernels->adam(gaussians->p.sh_rest + row, put_off->m + row, put_off->v + row, no_gradient, channels, step);
        }
        put_off->rows[i] = 0;
    }
}

splat_status splat_catch_up_cpu(splat_backend *backend, const struct splat_catch_up_args *args, splat_error *error)
{
    (void)error;
    const splat_project_kernels *kernels = splat_project_kernels_of(backend);
    const uint32_t n = args->gaussians->n;
    if (!args->gaussians->put_off) return SPLAT_OK;
#pragma omp parallel for schedule(dynamic, 8) num_threads(backend->threads)
    for (uint32_t begin = 0; begin < n; begin += SPLAT_PROJECT_BLOCK)
        splat_project_catch_up_rows(kernels, args->gaussians, begin,
                                    n - begin < SPLAT_PROJECT_BLOCK ? n : begin + SPLAT_PROJECT_BLOCK, NULL);
    return SPLAT_OK;
}
