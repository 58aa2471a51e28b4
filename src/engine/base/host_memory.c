/* Atomic counters, one a use. */
#include "base/host_memory.h"

#include <stdlib.h> /* defines __GLIBC__ */
#ifdef __GLIBC__
#include <malloc.h>
#endif

void splat_host_memory_add(splat_host_memory *memory, splat_host_use use, size_t bytes)
{
    size_t now = atomic_fetch_add(&memory->bytes[use], bytes) + bytes;
    size_t peak = atomic_load(&memory->peak_bytes[use]);
    while (now > peak && !atomic_compare_exchange_weak(&memory->peak_bytes[use], &peak, now)) {}
}

void splat_host_memory_remove(splat_host_memory *memory, splat_host_use use, size_t bytes)
{
    atomic_fetch_sub(&memory->bytes[use], bytes);
}

const char *splat_host_use_name(splat_host_use use)
{
    static const char *const names[SPLAT_N_HOST_USES] = {"decoded photos", "photos being uploaded",
                                                         "a splat being read or written"};
    return names[use];
}

void splat_host_memory_give_back(void)
{
#ifdef __GLIBC__
    malloc_trim(0);
#endif
}
