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

/* The type of a block's elements. */
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

typedef struct splat_backend splat_backend;

typedef enum splat_placement {
    SPLAT_ON_DEVICE = 0,
    SPLAT_ON_HOST        /* pinned host memory that the device reads and writes over its bus; not under the limit. A
                            backend that computes on the host has no such memory: there it is the same as ON_DEVICE */
} splat_placement;

typedef struct splat_block {
    void *data;       /* device pointer; NULL while bytes is 0 */
    size_t bytes;     /* bytes in use */
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
    size_t bytes;                   /* bytes in use; reserved - bytes is fragmentation */
} splat_memory_count;

/* The list and the counters, one for each backend. */
typedef struct splat_memory {
    splat_block *blocks; /* live ones */
    size_t n_blocks;
    splat_memory_count device, host; /* counts of device and host memory */
    size_t process_limit; /* limit of the whole process with its overhead; 0: none */
    size_t limit;        /* device.reserved never passes it; 0: no limit */
    size_t n_refused;    /* growths that the limit refused */
    /* Test hook: the growth with this number (1 is the next) fails as if memory were exhausted; 0: none. */
    uint64_t fail_growth;
    splat_fragmentation policy; /* when unused memory goes back */
    bool expects_growth;        /* arrays that shrink now will grow again soon */
} splat_memory;

/* Begins a phase: training and evaluation have peaks of their own. Resets the counter of the peak and returns that of
 * the phase that ends. */
static inline size_t splat_memory_begin_phase(splat_memory *memory)
{
    size_t ended = memory->device.phase_peak;
    memory->device.phase_peak = memory->device.reserved;
    return ended;
}

/* A driver loads kernels when they are first launched: so much may still come after a measurement. */
#define SPLAT_LATE_BYTES ((size_t)32 << 20)

/* ---------------------------------------------------------------- regions
 *
 * A region is one block from which buffers of the same lifetime are cut, one after the other; a reset gives all of
 * them up at once. Buffers do not move while the region grows after them. There are two: the frame's (from the
 * beginning of a step to its end) and the backend's scratch (of the op in work, until the next op resets it).
 */
typedef struct splat_region {
    splat_block block;
    const char *name;    /* name of the block */
    size_t used;         /* bytes cut since the reset */
    size_t high_water;   /* the most since the last trim */
    int n_cuts;
    struct { size_t begin; } zones[48]; /* red zones of this round, in builds that have them */
} splat_region;

#endif
