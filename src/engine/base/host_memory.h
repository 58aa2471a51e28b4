/* Large host memory by what it is for: counted, not allocated, here. Any thread may count. */
#ifndef SPLAT_BASE_HOST_MEMORY_H
#define SPLAT_BASE_HOST_MEMORY_H

#include <stddef.h>

#ifdef __cplusplus
typedef size_t splat_atomic_size; /* CUDA files only pass the struct on */
#else
#include <stdatomic.h>
typedef atomic_size_t splat_atomic_size;
#endif

typedef enum splat_host_use {
    SPLAT_HOST_PHOTOS = 0, /* decoded photos in the cache */
    SPLAT_HOST_STAGING,    /* pinned buffers that photos are uploaded from */
    SPLAT_HOST_FILES,      /* a splat on its way from or to a file */
    SPLAT_N_HOST_USES
} splat_host_use;

typedef struct splat_host_memory {
    splat_atomic_size bytes[SPLAT_N_HOST_USES], peak_bytes[SPLAT_N_HOST_USES];
} splat_host_memory;

#ifdef __cplusplus
extern "C" {
#endif
void splat_host_memory_add(splat_host_memory *memory, splat_host_use use, size_t bytes);
void splat_host_memory_remove(splat_host_memory *memory, splat_host_use use, size_t bytes);
const char *splat_host_use_name(splat_host_use use);
/* Gives freed memory back to the system: the C library keeps what many threads allocated and freed in small blocks. For
 * the end of a phase with gigabytes of them; takes milliseconds. */
void splat_host_memory_give_back(void);
#ifdef __cplusplus
}
#endif

#endif
