/* Rows of pixels beside the own ones, from their owners. */
#include "distributed/shared_view.h"

#include "distributed/device_exchange.h"

typedef struct rows {
    int32_t first, end;
} rows;

/* Rows that rank `to` needs of those of rank `from`. */
static rows rows_between(const splat_shared_view *shared, int from, int to, int32_t height, int32_t halo)
{
    rows own, theirs;
    splat_shared_pixel_rows(shared, from, height, &own.first, &own.end);
    splat_shared_pixel_rows(shared, to, height, &theirs.first, &theirs.end);
    if (from == to || theirs.first == theirs.end) return (rows){0, 0};
    theirs.first -= halo;
    theirs.end += halo;
    if (own.first < theirs.first) own.first = theirs.first;
    if (own.end > theirs.end) own.end = theirs.end;
    return own.first < own.end ? own : (rows){0, 0};
}

/* The planes of the rows, one after the other; *at is where they lie outside of the planes. */
static splat_status copy_rows(splat_backend *b, const splat_shared_planes *p, rows r, float **at, bool into_planes,
                              splat_error *error)
{
    const size_t width = (size_t)p->width, n = (size_t)(r.end - r.first) * width;
    for (size_t c = 0; c < p->n && n > 0; c++, *at += n) {
        float *pixels = p->planes[c] + (size_t)r.first * width;
        SPLAT_TRY(splat_backend_copy(b, into_planes ? pixels : *at, into_planes ? *at : pixels, n * sizeof *pixels,
                                     error));
    }
    return SPLAT_OK;
}

splat_status splat_shared_borders(splat_shared_view *shared, const splat_shared_planes *p, int32_t halo,
                                  splat_error *error)
{
    const int size = shared->comm->size, rank = shared->comm->rank;
    const size_t row_bytes = p->n * (size_t)p->width * sizeof(float);
    uint64_t n_out[SPLAT_MAX_RANKS], n_in[SPLAT_MAX_RANKS], out_rows = 0, in_rows = 0;
    rows going[SPLAT_MAX_RANKS], coming[SPLAT_MAX_RANKS];
    void *out, *in;
    for (int r = 0; r < size; r++) {
        going[r] = rows_between(shared, rank, r, p->height, halo);
        coming[r] = rows_between(shared, r, rank, p->height, halo);
        out_rows += n_out[r] = (uint64_t)(going[r].end - going[r].first);
        in_rows += n_in[r] = (uint64_t)(coming[r].end - coming[r].first);
    }
    SPLAT_TRY(splat_shared_room(shared, SPLAT_SHARED_OUT, out_rows * row_bytes, &out, error));
    SPLAT_TRY(splat_shared_room(shared, SPLAT_SHARED_IN, in_rows * row_bytes, &in, error));
    float *at = out;
    for (int r = 0; r < size; r++) SPLAT_TRY(copy_rows(shared->backend, p, going[r], &at, false, error));
    SPLAT_TRY(splat_device_exchange_rows(shared->comm, shared->backend, row_bytes, out, n_out, in, n_in, error));
    at = in;
    for (int r = 0; r < size; r++) SPLAT_TRY(copy_rows(shared->backend, p, coming[r], &at, true, error));
    return SPLAT_OK;
}
