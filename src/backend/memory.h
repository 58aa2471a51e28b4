/* Named device memory. Every block has a name, an owner and bytes, and is counted; nothing else allocates device
 * memory.
 *
 * A block is resized in place where the backend can (mremap on the host): content is kept, new bytes are zero. `data`
 * may move when a block grows, so take it from the block when it is used and do not keep it across a resize.
 */
#ifndef SPLAT_BACKEND_MEMORY_H
#define SPLAT_BACKEND_MEMORY_H

#include "base/error.h"

typedef enum splat_owner {
    SPLAT_OWNER_PARAMETERS = 0,
    SPLAT_OWNER_OPTIMIZER,
    SPLAT_OWNER_STATISTICS,
    SPLAT_OWNER_TRANSIENTS,
    SPLAT_OWNER_IMAGES,
    SPLAT_OWNER_EVALUATION,
    SPLAT_OWNER_OTHER,
    SPLAT_N_OWNERS
} splat_owner;

const char *splat_owner_name(splat_owner owner);

typedef struct splat_backend splat_backend;

typedef struct splat_block {
    void *data;       /* device pointer; NULL while bytes is 0 */
    size_t bytes;     /* in use */
    size_t reserved;  /* mapped, >= bytes */
    const char *name; /* a string literal */
    splat_owner owner;
    void *mapping;    /* the backend's own record of the address range, NULL when it needs none */
    struct splat_block *previous, *next; /* the backend's list of live blocks */
} splat_block;

/* The list and the counters, one for each backend. */
typedef struct splat_memory {
    splat_block *blocks; /* live ones */
    size_t bytes, peak_bytes, n_blocks;
} splat_memory;

/* Names a zeroed block for the first time, or resizes it. bytes = 0 frees. On failure (MEMORY, naming the block and the
 * sizes) the block is unchanged. */
splat_status splat_block_resize(splat_backend *backend, splat_block *block, const char *name, splat_owner owner,
                                size_t bytes, splat_error *error);
/* Makes the block at least `bytes` large, a little more when it must grow; never shrinks. Content is not kept. */
splat_status splat_block_ensure(splat_backend *backend, splat_block *block, const char *name, splat_owner owner,
                                size_t bytes, splat_error *error);
/* Gives the block back; harmless on a zeroed one. */
void splat_block_free(splat_backend *backend, splat_block *block);

#endif
