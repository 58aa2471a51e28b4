/* Memory and progress of a Poisson reconstruction, for all of its steps. */
#include "mesh/poisson/poisson_parts.h"

#include "base/checked.h"
#include "base/large_pages.h"

#include <stdlib.h>
#include <string.h>

/* In front of every block; as long as a cache line, so that blocks keep the alignment of what is allocated. */
typedef union header {
    size_t bytes;
    uint8_t line[64];
} header;

static splat_status check_limit(poisson_job *job, uint64_t more)
{
    uint64_t limit = job->options->memory_limit_bytes;
    if (limit && (more > limit || job->used_bytes > limit - more))
        return splat_fail(job->error, SPLAT_ERROR_MEMORY, "the Poisson reconstruction at depth %d needs more than its "
                          "limit of %.0f MB; use a smaller depth, fewer points or a larger limit", job->options->depth,
                          (double)limit / 1e6);
    return SPLAT_OK;
}

splat_status poisson_count(poisson_job *job, uint64_t bytes)
{
    SPLAT_TRY(check_limit(job, bytes));
    job->used_bytes += bytes;
    if (job->used_bytes > job->peak_bytes) job->peak_bytes = job->used_bytes;
    return SPLAT_OK;
}

/* The system clears the pages of large blocks when a thread of the work first writes to them; smaller ones may be what
 * was freed before, and all threads clear them. */
static void *clear_block(size_t bytes, int threads)
{
    enum { SMALL = 1 << 18, PIECE = 1 << 16 };
    if (bytes > SPLAT_LARGE_BLOCK) return splat_large_alloc(bytes);
    if (bytes < SMALL) return calloc(1, bytes);
    uint8_t *block = malloc(bytes);
    if (!block) return NULL;
#pragma omp parallel for num_threads(threads) schedule(static)
    for (size_t begin = 0; begin < bytes; begin += PIECE)
        memset(block + begin, 0, bytes - begin < PIECE ? bytes - begin : PIECE);
    return block;
}

splat_status poisson_alloc(poisson_job *job, void *pointer, size_t n, size_t size)
{
    size_t bytes;
    header *block = NULL;
    if (splat_size_mul(n, size, &bytes) && splat_size_add(bytes, 2 * sizeof(header), &bytes)) {
        bytes &= ~(sizeof(header) - 1);
        SPLAT_TRY(check_limit(job, bytes));
        block = clear_block(bytes, job->options->threads);
    }
    if (!block)
        return splat_fail(job->error, SPLAT_ERROR_MEMORY, "no memory for %zu rows of %zu bytes of a Poisson "
                          "reconstruction at depth %d; use a smaller depth or fewer points", n, size,
                          job->options->depth);
    block->bytes = bytes;
    void *data = block + 1;
    memcpy(pointer, &data, sizeof data); /* the caller's pointer has a type of its own */
    return poisson_count(job, bytes);
}

void poisson_free(poisson_job *job, void *pointer)
{
    if (!pointer) return;
    header *block = (header *)pointer - 1;
    job->used_bytes -= block->bytes;
    if (block->bytes > SPLAT_LARGE_BLOCK)
        splat_large_free(block, block->bytes);
    else
        free(block);
}

splat_status poisson_progress(poisson_job *job, const char *stage, double fraction)
{
    const splat_poisson_options *options = job->options;
    if (options->progress && !options->progress(options->progress_user, stage, fraction))
        return splat_fail(job->error, SPLAT_ERROR_STOPPED, "the Poisson reconstruction was stopped");
    return SPLAT_OK;
}
