/* The loss of a picture whose rows several ranks own: rows around the own ones come from their owners, and the sums of
 * the rows are added in the picture's order. */
#include "distributed/shared_view.h"

#include "distributed/device_exchange.h"
#include "ops/loss/loss_cpu.h"

#include <string.h>

/* The gradient at a pixel needs the SSIM of the pixels around it, each of which needs those around it. */
#define HALO (2 * SPLAT_SSIM_RADIUS)

typedef struct rows {
    int32_t first, end;
} rows;

typedef struct compared {
    float *image; /* [3][height][width] */
    int32_t width, height;
} compared;

/* Rows that rank `to` needs of those of rank `from`. */
static rows rows_between(const splat_shared_view *shared, int from, int to, int32_t height)
{
    rows own, theirs;
    splat_shared_pixel_rows(shared, from, height, &own.first, &own.end);
    splat_shared_pixel_rows(shared, to, height, &theirs.first, &theirs.end);
    if (from == to || theirs.first == theirs.end) return (rows){0, 0};
    theirs.first -= HALO;
    theirs.end += HALO;
    if (own.first < theirs.first) own.first = theirs.first;
    if (own.end > theirs.end) own.end = theirs.end;
    return own.first < own.end ? own : (rows){0, 0};
}

/* Three planes of the rows, one after the other; *at is where they lie outside of the picture. */
static splat_status copy_rows(splat_backend *b, const compared *p, rows r, float **at, bool into_picture,
                              splat_error *error)
{
    const size_t width = (size_t)p->width, plane = width * (size_t)p->height;
    const size_t n = (size_t)(r.end - r.first) * width;
    for (size_t c = 0; c < 3 && n > 0; c++, *at += n) {
        float *pixels = p->image + c * plane + (size_t)r.first * width;
        SPLAT_TRY(splat_backend_copy(b, into_picture ? pixels : *at, into_picture ? *at : pixels, n * sizeof *pixels,
                                     error));
    }
    return SPLAT_OK;
}

/* The rows around the own ones come into the picture. */
static splat_status exchange_halos(splat_shared_view *shared, const compared *p, splat_error *error)
{
    const int size = shared->comm->size, rank = shared->comm->rank;
    const int32_t height = p->height;
    const size_t row_bytes = 3 * (size_t)p->width * sizeof(float);
    uint64_t n_out[SPLAT_MAX_RANKS], n_in[SPLAT_MAX_RANKS], out_rows = 0, in_rows = 0;
    void *out, *in;
    for (int r = 0; r < size; r++) {
        const rows going = rows_between(shared, rank, r, height), coming = rows_between(shared, r, rank, height);
        out_rows += n_out[r] = (uint64_t)(going.end - going.first);
        in_rows += n_in[r] = (uint64_t)(coming.end - coming.first);
    }
    SPLAT_TRY(splat_shared_room(shared, SPLAT_SHARED_OUT, out_rows * row_bytes, &out, error));
    SPLAT_TRY(splat_shared_room(shared, SPLAT_SHARED_IN, in_rows * row_bytes, &in, error));
    float *at = out;
    for (int r = 0; r < size; r++)
        SPLAT_TRY(copy_rows(shared->backend, p, rows_between(shared, rank, r, height), &at, false, error));
    SPLAT_TRY(splat_device_exchange_rows(shared->comm, shared->backend, row_bytes, out, n_out, in, n_in, error));
    at = in;
    for (int r = 0; r < size; r++)
        SPLAT_TRY(copy_rows(shared->backend, p, rows_between(shared, r, rank, height), &at, true, error));
    return SPLAT_OK;
}

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
    const compared p = {image, args->width, args->height};
    splat_loss_sums sums[3];
    int32_t first, end;
    SPLAT_TRY(splat_loss_check(args, error));
    SPLAT_TRY(exchange_halos(shared, &p, error));
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
