/* Want of memory in libpng and libjpeg-turbo, which report it as they report a damaged picture, or not at all where
 * they can do without a chunk. */
#ifndef SPLAT_IO_CODEC_MEMORY_H
#define SPLAT_IO_CODEC_MEMORY_H

#include <png.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

/* For png_create_*_struct_2; its memory pointer is a bool, which becomes true when an allocation fails. */
static inline png_voidp splat_png_malloc(png_structp png, png_alloc_size_t size)
{
    void *memory = malloc(size);
    if (!memory) *(bool *)png_get_mem_ptr(png) = true;
    return memory;
}

static inline void splat_png_free(png_structp png, png_voidp memory)
{
    (void)png;
    free(memory);
}

/* True if an error of the TurboJPEG API means missing memory. */
static inline bool splat_jpeg_is_memory(const char *text)
{
    return strstr(text, "Insufficient memory") || strstr(text, "Memory allocation failure");
}

#endif
