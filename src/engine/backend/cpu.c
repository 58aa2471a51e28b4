/* The CPU backend: host memory that grows in place in reserved address ranges, ops by OpenMP and SIMD. */
#include "backend/cpu.h"

#include "backend/threads.h"
#include "base/clock.h"
#include "base/large_pages.h"
#include "base/plural.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

static void cpu_destroy(splat_backend *backend)
{
    splat_region_free(backend, &backend->scratch);
    free(backend);
}

#define PAGE ((size_t)4096)
#ifdef __has_feature
#if __has_feature(thread_sanitizer)
#define RANGE_BYTES ((size_t)1 << 32) /* ThreadSanitizer leaves the program few addresses */
#endif
#endif
#ifndef RANGE_BYTES
#define RANGE_BYTES ((size_t)1 << 38) /* far more than any block grows to; addresses cost nothing */
#endif

/* Fewer addresses where they are limited (ulimit -v). Begins where a large page may: lists lead anywhere in what is
 * known of the Gaussians. A large page never reaches beyond what is mapped. */
static void *reserve_range(size_t wanted, size_t *bytes)
{
    for (size_t size = RANGE_BYTES; size >= wanted && size; size /= 2) {
        char *data = mmap(NULL, size, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
        if (data == MAP_FAILED) continue;
        size_t before = -(uintptr_t)data % SPLAT_LARGE_PAGE;
        if (before && size >= wanted + before) {
            munmap(data, before);
            data += before;
            size -= before;
        }
        splat_prefer_large_pages(data, size);
        *bytes = size;
        return data;
    }
    return NULL;
}

static splat_status no_memory(const splat_backend *backend, const splat_block *block, size_t wanted, splat_error *error)
{
    return splat_fail(error, SPLAT_ERROR_MEMORY,
                      "no memory for block '%s' (%s): %zu bytes wanted, %zu held by all blocks", block->name,
                      splat_owner_name(block->owner), wanted, backend->memory.device.reserved);
}

/* The range of block->mapping is where its data lies: the mapping's value is the length. */
static splat_status cpu_map(splat_backend *backend, splat_block *block, size_t bytes, size_t reserved,
                            splat_error *error)
{
    char *data = block->data;
    size_t range = (size_t)(uintptr_t)block->mapping;
    if (!data && reserved) {
        data = reserve_range(reserved, &range);
        if (!data) return no_memory(backend, block, reserved, error);
    }
    if (reserved > range) return no_memory(backend, block, reserved, error);
    if (reserved > block->reserved &&
        mprotect(data + block->reserved, reserved - block->reserved, PROT_READ | PROT_WRITE) != 0) {
        if (!block->data) munmap(data, range);
        return no_memory(backend, block, reserved, error);
    }
    if (reserved < block->reserved && reserved) { /* mapped afresh: the pages go back, and their commitment too */
        void *tail = mmap(data + reserved, block->reserved - reserved, PROT_NONE,
                          MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED, -1, 0);
        if (tail == MAP_FAILED) return no_memory(backend, block, reserved, error);
        splat_prefer_large_pages(tail, block->reserved - reserved);
    }
    if (!reserved && data) munmap(data, range);
    /* Fresh pages are zero; what was in use before and is again may not be. */
    size_t used = bytes < block->reserved ? bytes : block->reserved;
    if (reserved && used > block->bytes) memset(data + block->bytes, 0, used - block->bytes);
    block->data = reserved ? data : NULL;
    block->mapping = reserved ? (void *)(uintptr_t)range : NULL;
    return SPLAT_OK;
}

static size_t cpu_overhead(splat_backend *backend)
{
    (void)backend;
    return 0;
}

static splat_status cpu_upload(splat_backend *backend, void *device, const void *host, size_t bytes, splat_error *error)
{
    (void)backend;
    (void)error;
    if (bytes) memcpy(device, host, bytes);
    return SPLAT_OK;
}

static splat_status cpu_upload_ahead(splat_backend *backend, int slot, void *device, const void *host, size_t bytes,
                                     splat_error *error)
{
    (void)slot;
    return cpu_upload(backend, device, host, bytes, error);
}

static splat_status cpu_download(splat_backend *backend, void *host, const void *device, size_t bytes,
                                 splat_error *error)
{
    (void)backend;
    (void)error;
    if (bytes) memcpy(host, device, bytes);
    return SPLAT_OK;
}

static splat_status cpu_zero(splat_backend *backend, void *device, size_t bytes, splat_error *error)
{
    (void)backend;
    (void)error;
    if (bytes) memset(device, 0, bytes);
    return SPLAT_OK;
}

static splat_status cpu_stamp(splat_backend *backend, int mark, splat_error *error)
{
    (void)error;
    backend->stamps[mark] = splat_clock_seconds();
    return SPLAT_OK;
}

static splat_status cpu_stamp_ms(splat_backend *backend, int from, int to, double *ms, splat_error *error)
{
    (void)error;
    *ms = 1e3 * (backend->stamps[to] - backend->stamps[from]);
    return SPLAT_OK;
}

static splat_status cpu_synchronize(splat_backend *backend, splat_error *error)
{
    (void)backend;
    (void)error;
    return SPLAT_OK;
}

static const splat_backend_functions cpu_functions = {
    .name = "cpu",
    .result_latency = 0,
    .destroy = cpu_destroy,
    .map = cpu_map,
    .overhead = cpu_overhead,
    .upload = cpu_upload,
    .upload_ahead = cpu_upload_ahead,
    .download = cpu_download,
    .zero = cpu_zero,
    .copy = cpu_upload, /* all memory is the host's */
    .stamp = cpu_stamp,
    .stamp_ms = cpu_stamp_ms,
    .synchronize = cpu_synchronize,
    .ops =
        {
#define SPLAT_OP(name) .name = splat_##name##_cpu,
#include "ops/ops.def"
#undef SPLAT_OP
        },
};

static splat_simd widest_simd(void)
{
#if SPLATSMITH_X86
    __builtin_cpu_init();
    if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512bw") &&
        __builtin_cpu_supports("avx512vl"))
        return SPLAT_SIMD_AVX512;
    if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")) return SPLAT_SIMD_AVX2;
#endif
    return SPLAT_SIMD_C;
}

splat_status splat_backend_cpu_create(int threads, const char *simd, splat_backend **result, splat_error *error)
{
    static const char *const names[] = {"c", "avx2", "avx512"};
    *result = NULL;
    if (threads < 0 || threads > SPLAT_MAX_THREADS)
        return splat_fail(error, SPLAT_ERROR_ARGUMENT, "`threads` must be between 0 (all) and %d, not %d",
                          SPLAT_MAX_THREADS, threads);
    splat_simd level = widest_simd();
    if (simd && strcmp(simd, "auto") != 0) {
        int wanted = -1;
        for (int i = 0; i < 3; i++)
            if (strcmp(simd, names[i]) == 0) wanted = i;
        if (wanted < 0)
            return splat_fail(error, SPLAT_ERROR_ARGUMENT, "simd must be auto, avx512, avx2 or c, not '%s'", simd);
        if (wanted > (int)level)
            return splat_fail(error, SPLAT_ERROR_UNSUPPORTED, "this CPU has no %s; use `simd auto`", simd);
        level = (splat_simd)wanted;
    }
    splat_backend *backend = calloc(1, sizeof *backend);
    if (!backend) return splat_fail(error, SPLAT_ERROR_MEMORY, "no memory for the backend");
    backend->functions = &cpu_functions;
    backend->granularity = PAGE;
    backend->threads = threads ? threads : splat_usable_cpus();
    backend->simd = level;
    snprintf(backend->description, sizeof backend->description, "cpu (%s, %d thread%s)", names[level], backend->threads,
             splat_plural((size_t)backend->threads));
    *result = backend;
    return SPLAT_OK;
}
