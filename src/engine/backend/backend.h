/* The backend: one table of functions (memory, copies, ops) that the trainer and the evaluator call, and nothing else.
 * cpu.c fills it for the host, cuda.cu for a device. A new backend is a new table; see docs/architecture.md. */
#ifndef SPLAT_BACKEND_BACKEND_H
#define SPLAT_BACKEND_BACKEND_H

#include "backend/memory.h"
#include "backend/peers.h"
#include "base/host_memory.h"
#include "ops/frame.h"
#include "ops/ops.h"

typedef enum splat_simd { SPLAT_SIMD_C = 0, SPLAT_SIMD_AVX2 = 1, SPLAT_SIMD_AVX512 = 2 } splat_simd;

/* Chooses name_c, name_avx2 or name_avx512 by the level (ops/simd.h). */
#if SPLATSMITH_X86
#define SPLAT_OF_LEVEL(simd, name)                                                                                     \
    ((simd) == SPLAT_SIMD_AVX512 ? name##_avx512 : (simd) == SPLAT_SIMD_AVX2 ? name##_avx2 : name##_c)
#else
#define SPLAT_OF_LEVEL(simd, name) ((void)(simd), name##_c)
#endif

/* The results of a training step on the host. */
typedef struct splat_step_result {
    double loss_l1, loss_ssim;   /* means over 3HW */
    uint32_t n_visible, n_degenerate;
    uint64_t n_instances;
    bool overflow;               /* the instance arrays were too small: the step changed nothing */
} splat_step_result;

#define SPLAT_RESULT_SLOTS 4
#define SPLAT_MARKS 32

typedef struct splat_backend_functions {
    const char *name; /* "cpu", "cuda" */
    /* Steps after which a step's result can be taken: 0 where ops return when they are done, and with them their
     * results; 1 on an asynchronous backend, where a view's is posted into a slot and taken one step later. */
    int result_latency;
    /* NULL without latency. */
    splat_status (*post_result)(splat_backend *backend, const splat_frame *frame, int slot, splat_error *error);
    splat_status (*take_result)(splat_backend *backend, int slot, splat_step_result *result, splat_error *error);
    void (*destroy)(splat_backend *backend);
    /* Raw memory below splat_block_resize: `bytes` in use, `reserved` (a multiple of the granularity, >= bytes) mapped;
     * both 0 free the block. Grows and shrinks in place, keeps content, zeroes what is new in use. */
    splat_status (*map)(splat_backend *backend, splat_block *block, size_t bytes, size_t reserved, splat_error *error);
    /* Bytes of the device that this process holds outside the blocks (the driver's context); 0 on the host. */
    size_t (*overhead)(splat_backend *backend);
    splat_status (*upload)(splat_backend *backend, void *device, const void *host, size_t bytes, splat_error *error);
    /* An upload that work submitted before does not wait for, and that does not wait for it; work submitted later sees
     * the new content. Each of the slots 0 and 1 has device memory of its own, which is read by the work submitted
     * between its call and the next; calls that do not alternate wait for that work. `host` may be reused at once. */
    splat_status (*upload_ahead)(splat_backend *backend, int slot, void *device, const void *host, size_t bytes,
                                 splat_error *error);
    splat_status (*download)(splat_backend *backend, void *host, const void *device, size_t bytes, splat_error *error);
    splat_status (*zero)(splat_backend *backend, void *device, size_t bytes, splat_error *error);
    /* on the device */
    splat_status (*copy)(splat_backend *backend, void *to, const void *from, size_t bytes, splat_error *error);
    splat_status (*synchronize)(splat_backend *backend, splat_error *error);
    /* Stopwatch: marks the moment when all work so far is done, and the milliseconds between two marks (waits). */
    splat_status (*stamp)(splat_backend *backend, int mark, splat_error *error);
    splat_status (*stamp_ms)(splat_backend *backend, int from, int to, double *ms, splat_error *error);
    const splat_peer_functions *peers; /* NULL: memory is the host's */
    splat_ops ops;
} splat_backend_functions;

struct splat_backend {
    const splat_backend_functions *functions;
    splat_memory memory;
    splat_host_memory *host_memory; /* the context's */
    splat_region scratch;  /* working memory of the op in work */
    size_t granularity;    /* bytes that memory is mapped by */
    size_t view_state_bytes; /* bytes of frame->state; 0: none */
    int gpu;         /* index of the device, where device_bytes is not 0 */
    int threads;     /* host threads for parallel loops */
    size_t device_bytes; /* memory of the device; 0 when it is the host's */
    bool defers_rest;    /* puts steps of sh_rest off (ops/rest/rest.h) when the Gaussians have room for it */
    bool caches_rest;    /* keeps rows of sh_rest that lie in host memory (the same) */
    bool deterministic;  /* no float atomics: sums in a fixed order or of integers; the host is always so */
    splat_simd simd; /* the widest the CPU ops may use */
    double stamps[SPLAT_MARKS]; /* seconds, of a synchronous backend */
    char description[160];
    char pci_bus_id[32]; /* "0000:3b:00.0"; "" without a GPU */
};

/* ---------------------------------------------------------------- calls
 *
 * What the rest of the program calls: the table's functions (see there), and splat_op_<name>(backend, args, error) for
 * every op of ops.def. */

static inline const char *splat_backend_name(const splat_backend *backend)
{
    return backend->functions->name;
}

static inline int splat_backend_result_latency(const splat_backend *backend)
{
    return backend->functions->result_latency;
}

static inline splat_status splat_backend_post_result(splat_backend *backend, const splat_frame *frame, int slot,
                                                     splat_error *error)
{
    return backend->functions->post_result(backend, frame, slot, error);
}

static inline splat_status splat_backend_take_result(splat_backend *backend, int slot, splat_step_result *result,
                                                     splat_error *error)
{
    return backend->functions->take_result(backend, slot, result, error);
}

/* NULL is allowed. */
static inline void splat_backend_destroy(splat_backend *backend)
{
    if (backend) backend->functions->destroy(backend);
}

static inline size_t splat_backend_overhead(splat_backend *backend)
{
    return backend->functions->overhead(backend);
}

static inline splat_status splat_backend_upload(splat_backend *backend, void *device, const void *host, size_t bytes,
                                                splat_error *error)
{
    return backend->functions->upload(backend, device, host, bytes, error);
}

static inline splat_status splat_backend_upload_ahead(splat_backend *backend, int slot, void *device, const void *host,
                                                      size_t bytes, splat_error *error)
{
    return backend->functions->upload_ahead(backend, slot, device, host, bytes, error);
}

static inline splat_status splat_backend_download(splat_backend *backend, void *host, const void *device, size_t bytes,
                                                  splat_error *error)
{
    return backend->functions->download(backend, host, device, bytes, error);
}

static inline splat_status splat_backend_zero(splat_backend *backend, void *device, size_t bytes, splat_error *error)
{
    return backend->functions->zero(backend, device, bytes, error);
}

static inline splat_status splat_backend_copy(splat_backend *backend, void *to, const void *from, size_t bytes,
                                              splat_error *error)
{
    return backend->functions->copy(backend, to, from, bytes, error);
}

static inline splat_status splat_backend_synchronize(splat_backend *backend, splat_error *error)
{
    return backend->functions->synchronize(backend, error);
}

/* An upload after which `host` may change. */
static inline splat_status splat_backend_upload_and_wait(splat_backend *backend, void *device, const void *host,
                                                         size_t bytes, splat_error *error)
{
    SPLAT_TRY(splat_backend_upload(backend, device, host, bytes, error));
    return splat_backend_synchronize(backend, error);
}

static inline splat_status splat_backend_stamp(splat_backend *backend, int mark, splat_error *error)
{
    return backend->functions->stamp(backend, mark, error);
}

static inline splat_status splat_backend_stamp_ms(splat_backend *backend, int from, int to, double *ms,
                                                  splat_error *error)
{
    return backend->functions->stamp_ms(backend, from, to, ms, error);
}

#define SPLAT_OP(name)                                                                                                 \
    static inline splat_status splat_op_##name(splat_backend *backend, const struct splat_##name##_args *args,         \
                                               splat_error *error)                                                     \
    {                                                                                                                  \
        return backend->functions->ops.name(backend, args, error);                                                     \
    }
#include "ops/ops.def"
#undef SPLAT_OP

/* ---------------------------------------------------------------- blocks and regions (backend.c) */

const char *splat_owner_name(splat_owner owner);
const char *splat_element_type_name(splat_element_type type); /* "float32" ... */

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
/* Takes the overhead off the process's limit, with room for what the driver still loads. It is called when the limit is
 * set and when the model is about to grow. */
void splat_memory_update_limit(splat_backend *backend);

/* Builds with SPLATSMITH_RED_ZONES put guard bytes after every buffer and check them at the reset: a kernel that
 * wrote past its buffer is found at the next one (INTERNAL, naming the region and the buffer's number). */
splat_status splat_region_reset(splat_backend *backend, splat_region *region, splat_error *error);
/* *data: `bytes` bytes at a multiple of 256, of undefined content. Errors: MEMORY. */
splat_status splat_region_take(splat_backend *backend, splat_region *region, size_t bytes, void **data,
                               splat_error *error);
/* Returns the uncut rest of the region: *bytes, a multiple of 256, of undefined content, until the next take. */
void *splat_region_rest(const splat_region *region, size_t *bytes);
/* Gives back what the region did not need since the last trim, as the policy says: always, when it is more than a third
 * of what was needed, or never. */
void splat_region_trim(splat_backend *backend, splat_region *region);
/* Gives back all that is not cut now, whatever the policy. */
void splat_region_release(splat_backend *backend, splat_region *region);
/* Gives back at least `wanted` bytes, where so many are not cut and lie beyond the first `keep`. Returns how many. */
size_t splat_region_give_back(splat_backend *backend, splat_region *region, size_t keep, size_t wanted);
void splat_region_free(splat_backend *backend, splat_region *region);

/* A buffer that lives until the frame's next view begins. */
splat_status splat_frame_take(splat_backend *backend, splat_frame *frame, size_t bytes, void **data,
                              splat_error *error);
void splat_frame_free(splat_backend *backend, splat_frame *frame);

/* The working memory of one op, from the backend's scratch region: reset, then any number of takes. */
splat_status splat_scratch_reset(splat_backend *backend, splat_error *error);
splat_status splat_scratch_take(splat_backend *backend, size_t bytes, void **data, splat_error *error);

#endif
