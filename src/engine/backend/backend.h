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

/* Of name_c, name_avx2 and name_avx512 the one of a level (ops/simd.h). */
#if SPLATSMITH_X86
#define SPLAT_OF_LEVEL(simd, name)                                                                                     \
    ((simd) == SPLAT_SIMD_AVX512 ? name##_avx512 : (simd) == SPLAT_SIMD_AVX2 ? name##_avx2 : name##_c)
#else
#define SPLAT_OF_LEVEL(simd, name) ((void)(simd), name##_c)
#endif

/* What a training step tells the host. */
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
    /* Bytes of the device that this process holds beside the blocks (the driver's context); 0 on the host. */
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
    size_t view_state_bytes; /* of frame->state; 0: the backend needs none */
    int gpu;         /* index of the device, where device_bytes is not 0 */
    int threads;     /* host threads for parallel loops */
    size_t device_bytes; /* memory of the device; 0 when it is the host's */
    bool defers_rest;    /* puts steps of sh_rest off (ops/rest/rest.h) when the Gaussians have room for it */
    bool caches_rest;    /* keeps rows of sh_rest that lie in host memory (likewise) */
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

/* ---------------------------------------------------------------- making one */

/* The device `gpu`, by the module libsplatsmith-cuda; the ops of the CPU are not used. Errors: UNSUPPORTED (the module
 * is not installed), DEVICE, ARGUMENT, MEMORY. */
splat_status splat_backend_cuda_create(int gpu, int threads, bool deterministic, bool sole_user,
                                       splat_backend **backend, splat_error *error);
#define SPLAT_MAX_THREADS 1024
/* CPUs that this process may run on. */
int splat_usable_cpus(void);
/* `wanted` threads, or as many, at least one, as the system lets the process start beside those for photos. */
int splat_startable_threads(int wanted);

splat_status splat_backend_cpu_create(int threads, const char *simd, splat_backend **backend, splat_error *error);

#endif
