/* Named device memory. Every block has a name, an owner and bytes, and is counted; nothing else allocates device
 * memory.
 *
 * A block lies in an address range of its own that is reserved when it is made: it grows and shrinks in place, content
 * is kept, new bytes are zero, and `data` never moves while the block lives.
 */
#ifndef SPLAT_BACKEND_MEMORY_H
#define SPLAT_BACKEND_MEMORY_H

#include "base/error.h"

typedef enum splat_owner {
    SPLAT_OWNER_PARAMETERS = 0,
    SPLAT_OWNER_OPTIMIZER,
    SPLAT_OWNER_STATISTICS,
    SPLAT_OWNER_TRANSIENTS, /* the regions: what a view leaves for its backward pass */
    SPLAT_OWNER_LISTS,      /* other working memory; named like the regions */
    SPLAT_OWNER_IMAGES,
    SPLAT_OWNER_EVALUATION,
    SPLAT_OWNER_OTHER,
    SPLAT_N_OWNERS
} splat_owner;

const char *splat_owner_name(splat_owner owner);

/* What a block holds. */
typedef enum splat_element_type {
    SPLAT_TYPE_USUAL = 0,   /* what its owner's blocks usually hold */
    SPLAT_TYPE_FLOAT32,
    SPLAT_TYPE_FLOAT16,
    SPLAT_TYPE_QUANTIZED16, /* Adam's moments, 16 bits each */
    SPLAT_TYPE_QUANTIZED8,  /* those of the harmonics: 8 bits each and a scale a row */
    SPLAT_TYPE_UINT8,
    SPLAT_TYPE_UINT32,      /* indices */
    SPLAT_TYPE_MIXED,       /* regions that are cut into buffers, and records */
    SPLAT_N_ELEMENT_TYPES
} splat_element_type;

#define SPLAT_BLOCK_FRAME "frame"   /* names by which a profile's reader knows blocks */
#define SPLAT_BLOCK_PHOTOS "photos"

const char *splat_element_type_name(splat_element_type type); /* "float32" ... */

typedef struct splat_backend splat_backend;

typedef enum splat_placement {
    SPLAT_ON_DEVICE = 0,
    SPLAT_ON_HOST        /* pinned host memory that the device reads and writes over its bus; not under the limit. A
                            backend that computes on the host has no such memory: there it is the same as ON_DEVICE */
} splat_placement;

typedef struct splat_block {
    void *data;       /* device pointer; NULL while bytes is 0 */
    size_t bytes;     /* in use */
    size_t reserved;  /* mapped, >= bytes: what counts */
    const char *name; /* a string literal */
    splat_owner owner;
    splat_element_type type;   /* set it before the first resize; default: the owner's */
    splat_placement placement; /* set it before the first resize; default: on the device */
    void *mapping;    /* the backend's own record of the address range, NULL when it needs none */
    void (*yield)(void *user); /* set after a resize: frees the block, which is only for speed, when memory is refused
                                  to another; NULL: it stays */
    void *yield_user;
    struct splat_block *previous, *next; /* the backend's list of live blocks */
} splat_block;

/* Counters of one kind of memory. */
typedef struct splat_memory_count {
    size_t reserved, peak_reserved; /* mapped */
    size_t phase_peak;              /* the most that was reserved since splat_memory_begin_phase */
    size_t bytes;                   /* in use; reserved - bytes is fragmentation */
} splat_memory_count;

/* The list and the counters, one for each backend. */
typedef struct splat_memory {
    splat_block *blocks; /* live ones */
    size_t n_blocks;
    splat_memory_count device, host; /* by placement */
    size_t process_limit; /* of the whole process, its overhead included; 0: no limit */
    size_t limit;        /* device.reserved never passes it; 0: no limit */
    size_t n_refused;    /* growths that the limit refused */
    /* Test hook: the growth with this number (1 is the next) fails as if memory were exhausted; 0: none. */
    uint64_t fail_growth;
    splat_fragmentation policy; /* when unused memory goes back */
    bool expects_growth;        /* arrays that shrink now will grow again soon */
} splat_memory;

/* Training and evaluation have peaks of their own: the counter of the peak begins anew. Returns the peak of the phase
 * that ends. */
static inline size_t splat_memory_begin_phase(splat_memory *memory)
{
    size_t ended = memory->device.phase_peak;
    memory->device.phase_peak = memory->device.reserved;
    return ended;
}

/* Names a zeroed block for the first time, or resizes it. bytes = 0 frees. On failure (MEMORY, naming the block and the
 * sizes) the block is unchanged: memory is exhausted, or the limit would be passed. */
splat_status splat_block_resize(splat_backend *backend, splat_block *block, const char *name, splat_owner owner,
                                size_t bytes, splat_error *error);
/* Makes the block at least `bytes` large; an eighth more when it must grow and there is no limit. Never shrinks. */
splat_status splat_block_ensure(splat_backend *backend, splat_block *block, const char *name, splat_owner owner,
                                size_t bytes, splat_error *error);
/* A block's place in the program: *to, zeroed, becomes the block that *from was, and *from is zeroed. */
void splat_block_move(splat_backend *backend, splat_block *to, splat_block *from);
/* Gives the block back; harmless on a zeroed one. */
void splat_block_free(splat_backend *backend, splat_block *block);

/* A driver loads kernels when they are first launched: so much may still come after a measurement. */
#define SPLAT_LATE_BYTES ((size_t)32 << 20)

/* Takes the overhead off the process's limit, with room for what the driver still loads. It is called when the limit is
 * set and when the model is about to grow. */
void splat_memory_update_limit(splat_backend *backend);

/* ---------------------------------------------------------------- regions
 *
 * A region is one block from which buffers of the same lifetime are cut, one after the other; a reset gives all of
 * them up at once. Buffers do not move while the region grows after them. There are two: the frame's (from the
 * beginning of a step to its end) and the backend's scratch (of the op in work, until the next op resets it).
 */
typedef struct splat_region {
    splat_block block;
    const char *name;    /* of the block */
    size_t used;         /* bytes cut since the reset */
    size_t high_water;   /* the most since the last trim */
    int n_cuts;
    struct { size_t begin; } zones[48]; /* red zones of this round, in builds that have them */
} splat_region;

/* Builds with SPLATSMITH_RED_ZONES put guard bytes after every buffer and check them at the reset: a kernel that
 * wrote past its buffer is found at the next one (INTERNAL, naming the region and the buffer's number). */
splat_status splat_region_reset(splat_backend *backend, splat_region *region, splat_error *error);
/* *data: `bytes` bytes at a multiple of 256, of undefined content. Errors: MEMORY. */
splat_status splat_region_take(splat_backend *backend, splat_region *region, size_t bytes, void **data,
                               splat_error *error);
/* What the region holds and has not cut: *bytes at a multiple of 256, of undefined content, until the next take. */
void *splat_region_rest(const splat_region *region, size_t *bytes);
/* Gives back what the region did not need since the last trim, as the policy says: always, when it is more than a third
 * of what was needed, or never. */
void splat_region_trim(splat_backend *backend, splat_region *region);
/* Gives back all that is not cut now, whatever the policy. */
void splat_region_release(splat_backend *backend, splat_region *region);
/* Gives back at least `wanted` bytes, where so many are not cut and lie beyond the first `keep`. Returns how many. */
size_t splat_region_give_back(splat_backend *backend, splat_region *region, size_t keep, size_t wanted);
void splat_region_free(splat_backend *backend, splat_region *region);

/* The working memory of one op, from the backend's scratch region: reset, then any number of takes. */
splat_status splat_scratch_reset(splat_backend *backend, splat_error *error);
splat_status splat_scratch_take(splat_backend *backend, size_t bytes, void **data, splat_error *error);

#endif
