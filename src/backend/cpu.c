/* The CPU backend: host memory by mmap (grown in place by mremap, so growth copies nothing), ops by OpenMP and SIMD. */
#include "backend/backend.h"

#include "base/clock.h"

#include <omp.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

static void cpu_destroy(splat_backend *backend)
{
    free(backend);
}

static size_t round_to_pages(size_t bytes)
{
    const size_t page = 4096;
    return (bytes + page - 1) / page * page;
}

static splat_status cpu_map(splat_backend *backend, splat_block *block, size_t bytes, splat_error *error)
{
    (void)backend;
    size_t reserved = round_to_pages(bytes);
    if (reserved < bytes)
        return splat_fail(error, SPLAT_ERROR_MEMORY, "block '%s': %zu bytes are more than memory can hold", block->name,
                          bytes);
    void *data = block->data;
    if (reserved == 0) {
        if (data) munmap(data, block->reserved);
        data = NULL;
    } else if (!data) {
        data = mmap(NULL, reserved, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    } else if (reserved != block->reserved) {
        data = mremap(data, block->reserved, reserved, MREMAP_MAYMOVE);
    }
    if (data == MAP_FAILED)
        return splat_fail(error, SPLAT_ERROR_MEMORY,
                          "no memory for block '%s' (%s): %zu bytes wanted, %zu held by all blocks", block->name,
                          splat_owner_name(block->owner), reserved, backend->memory.bytes);
    /* Pages beyond the old end are zero; bytes between the old content and its page's end may not be. */
    if (data && bytes > block->bytes && block->bytes) {
        size_t end = block->reserved < bytes ? block->reserved : bytes;
        if (end > block->bytes) memset((char *)data + block->bytes, 0, end - block->bytes);
    }
    block->data = data;
    block->bytes = bytes;
    block->reserved = reserved;
    return SPLAT_OK;
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
    .destroy = cpu_destroy,
    .map = cpu_map,
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

int splat_usable_cpus(void)
{
    cpu_set_t set;
    if (sched_getaffinity(0, sizeof set, &set) == 0 && CPU_COUNT(&set) > 0) return CPU_COUNT(&set);
    return omp_get_num_procs();
}

splat_status splat_backend_cpu_create(int threads, const char *simd, splat_backend **result, splat_error *error)
{
    static const char *const names[] = {"c", "avx2", "avx512"};
    *result = NULL;
    if (threads < 0 || threads > 1024)
        return splat_fail(error, SPLAT_ERROR_ARGUMENT, "threads must be between 0 (all) and 1024, not %d", threads);
    splat_simd level = widest_simd();
    if (simd && strcmp(simd, "auto") != 0) {
        int wanted = -1;
        for (int i = 0; i < 3; i++)
            if (strcmp(simd, names[i]) == 0) wanted = i;
        if (wanted < 0)
            return splat_fail(error, SPLAT_ERROR_ARGUMENT, "simd must be auto, avx512, avx2 or c, not '%s'", simd);
        if (wanted > (int)level)
            return splat_fail(error, SPLAT_ERROR_UNSUPPORTED, "this CPU has no %s; use --simd auto", simd);
        level = (splat_simd)wanted;
    }
    splat_backend *backend = calloc(1, sizeof *backend);
    if (!backend) return splat_fail(error, SPLAT_ERROR_MEMORY, "no memory for the backend");
    backend->functions = &cpu_functions;
    backend->threads = threads ? threads : splat_usable_cpus();
    backend->simd = level;
    snprintf(backend->description, sizeof backend->description, "cpu (%s, %d thread%s)", names[level], backend->threads,
             backend->threads == 1 ? "" : "s");
    *result = backend;
    return SPLAT_OK;
}
