/* shrink on the CPU: a piece of rows into scratch, in parallel, then to where it belongs. Pieces are in order, and
 * their rows are no longer than those of floats, so what a piece covers has been read. */
#include "backend/backend.h"
#include "ops/shrink/shrink.h"
#include "ops/shrink/shrink_math.h"

static void encode_row(const struct splat_shrink_args *a, size_t i, uint32_t *row)
{
    const float *m = a->m + i * a->channels, *v = a->v ? a->v + i * a->channels : NULL;
    if (!v)
        splat_half_row_encode(m, a->channels, (uint16_t *)row);
    else if (a->storage == SPLAT_STORED_HARMONICS)
        splat_moment_row_encode(m, v, a->channels, row);
    else
        for (uint32_t c = 0; c < a->channels; c++) row[c] = splat_pair_encode(m[c], v[c], SPLAT_PAIR_NEAREST);
}

splat_status splat_shrink_cpu(splat_backend *backend, const struct splat_shrink_args *args, splat_error *error)
{
    size_t words = splat_shrink_row_words(args);
    void *scratch;
    if (args->n == 0 || args->channels == 0) return SPLAT_OK;
    SPLAT_TRY(splat_scratch_reset(backend, error));
    SPLAT_TRY(splat_scratch_take(backend, splat_shrink_scratch_bytes(args->n, (uint32_t)words), &scratch, error));
    uint32_t *piece = scratch;
    for (uint32_t first = 0; first < args->n; first += SPLAT_SHRINK_PIECE) {
        int64_t n = args->n - first < SPLAT_SHRINK_PIECE ? args->n - first : SPLAT_SHRINK_PIECE;
#pragma omp parallel for num_threads(backend->threads) schedule(static)
        for (int64_t i = 0; i < n; i++) encode_row(args, first + (size_t)i, piece + (size_t)i * words);
        memcpy((uint32_t *)args->m + first * words, piece, (size_t)n * words * sizeof *piece);
    }
    return SPLAT_OK;
}
