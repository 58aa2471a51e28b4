/* Mappings that begin where a large page may. */
#include "base/large_pages.h"

#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>

void splat_prefer_large_pages(void *data, size_t bytes)
{
#ifdef MADV_HUGEPAGE
    (void)madvise(data, bytes, MADV_HUGEPAGE);
#else
    (void)data;
    (void)bytes;
#endif
}

static size_t whole_pages(size_t bytes)
{
    return (bytes + SPLAT_LARGE_PAGE - 1) & ~(SPLAT_LARGE_PAGE - 1);
}

void *splat_large_alloc(size_t bytes)
{
    if (bytes == 0 || bytes > SIZE_MAX - 2 * SPLAT_LARGE_PAGE) return NULL;
    const size_t whole = whole_pages(bytes), mapped = whole + SPLAT_LARGE_PAGE;
    char *data = mmap(NULL, mapped, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (data == MAP_FAILED) return NULL;
    const size_t before = -(uintptr_t)data % SPLAT_LARGE_PAGE, after = SPLAT_LARGE_PAGE - before;
    if (before) munmap(data, before);
    if (after) munmap(data + before + whole, after);
    splat_prefer_large_pages(data + before, whole);
    return data + before;
}

void splat_large_free(void *data, size_t bytes)
{
    if (data) munmap(data, whole_pages(bytes));
}

void *splat_zeroed_alloc(size_t bytes)
{
    return bytes > SPLAT_LARGE_BLOCK ? splat_large_alloc(bytes) : calloc(1, bytes ? bytes : 1);
}

void splat_zeroed_free(void *data, size_t bytes)
{
    if (bytes > SPLAT_LARGE_BLOCK)
        splat_large_free(data, bytes);
    else
        free(data);
}
