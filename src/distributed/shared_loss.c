/* The loss of a picture whose rows several ranks own: rows around the own ones come from their owners, and the sums of
 * the rows are added in the picture's order. */
#include "distributed/shared_view.h"

#include "distributed/device_exchange.h"
#include "ops/loss/loss_cpu.h"

/* The gradient at a pixel needs the SSIM of the pixels around it, each of which needs those around it. */
#define HALO (2 * SPLAT_SSIM_RADIUS)

/* Every rank has the sums of all, and finds the value, so that all do the same where it is not finite. */
static splat_status loss_by_ops(splat_shared_view *shared, const struct splat_loss_args *picture, splat_error *error)
{
    splat_comm_part out[SPLAT_MAX_RANKS], in[SPLAT_MAX_RANKS];
    const size_t size = (size_t)shared->comm->size, bytes = 3 * sizeof(splat_loss_sums);
    struct splat_loss_rows_args own = {.picture = *picture};
    void *sums;
    SPLAT_TRY(splat_shared_room(shared, SPLAT_SHARED_SUMS, (size + 1) * bytes, &sums, error));
    splat_shared_pixel_rows(shared, shared->comm->rank, picture->height, &own.first, &own.end);
    own.sums = (splat_loss_sums *)sums + 3 * size;
    SPLAT_TRY(splat_op_loss_rows(shared->backend, &own, error));
    for (size_t r = 0; r < size; r++) {
        out[r] = (splat_comm_part){own.sums, bytes};
        in[r] = (splat_comm_part){(splat_loss_sums *)sums + 3 * r, bytes};
    }
    SPLAT_TRY(splat_device_exchange(shared->comm, shared->backend, out, in, error));
    const struct splat_loss_total_args all = {*picture, sums, (uint32_t)size};
    return splat_op_loss_total(shared->backend, &all, error);
}

splat_status splat_shared_loss(splat_shared_view *shared, float *image, const struct splat_loss_args *args,
                               splat_error *error)
{
    const size_t plane = (size_t)args->width * (size_t)args->height;
    const splat_shared_planes planes = {{image, image + plane, image + 2 * plane}, 3, args->width, args->height};
    splat_loss_sums sums[3];
    int32_t first, end;
    SPLAT_TRY(splat_loss_check(args, error));
    SPLAT_TRY(splat_shared_borders(shared, &planes, HALO, error));
    if (shared->by_ops) return loss_by_ops(shared, args, error);
    splat_shared_pixel_rows(shared, shared->comm->rank, args->height, &first, &end);
    splat_loss_job job = splat_loss_job_of(args);
    SPLAT_TRY(splat_loss_run_rows(shared->backend, &job, first, end, error));
    /* of rows of others this rank has zeros, which change no sum */
    const size_t n_values = splat_loss_rows_bytes(args->height) / sizeof(double);
    SPLAT_TRY(splat_comm_reduce_f64(shared->comm, SPLAT_COMM_SUM, (double *)job.rows, n_values, error));
    splat_loss_sum_rows(&job, sums);
    *args->result = splat_loss_result_of(args, sums);
    return SPLAT_OK;
}
