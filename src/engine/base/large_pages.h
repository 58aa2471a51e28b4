/* Memory in large pages (2 MiB on x86), where the system has them: many threads that first write to pages of 4 KiB wait
 * for the system longer than they work, and looking up where those pages lie is waited for. */
#ifndef SPLAT_BASE_LARGE_PAGES_H
#define SPLAT_BASE_LARGE_PAGES_H

#include <stddef.h>

#define SPLAT_LARGE_PAGE ((size_t)2 << 20)
#define SPLAT_LARGE_BLOCK ((size_t)32 << 20) /* where the C library always asks the system */

/* Asks for large pages. The system may refuse: nothing but time is lost. */
void splat_prefer_large_pages(void *data, size_t bytes);

/* Zeroed memory of its own mapping, aligned to a large page; NULL: there is none. The caller frees it with
 * splat_large_free and the same bytes. For blocks of many large pages. */
void *splat_large_alloc(size_t bytes);
void splat_large_free(void *data, size_t bytes);

/* Zeroed memory of any size: a large block as above, a small one from the C library; NULL: there is none. The caller
 * frees it with splat_zeroed_free and the same bytes. */
void *splat_zeroed_alloc(size_t bytes);
void splat_zeroed_free(void *data, size_t bytes);

#endif
