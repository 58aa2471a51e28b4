/* A bounded little-endian reader over bytes in memory. Once a read passes the end, the reader has failed: every later
 * read gives zero, and splat_reader_ok says so once at the end of a record. Input files are hostile. */
#ifndef SPLAT_BASE_READER_H
#define SPLAT_BASE_READER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

typedef struct splat_reader {
    const uint8_t *data;
    size_t size, position;
    bool failed;
} splat_reader;

static inline splat_reader splat_reader_make(const void *data, size_t size)
{
    splat_reader reader = {(const uint8_t *)data, size, 0, false};
    return reader;
}

static inline size_t splat_reader_left(const splat_reader *reader)
{
    return reader->size - reader->position;
}

/* Copies n bytes, or zeros when fewer are left. */
static inline void splat_read_bytes(splat_reader *reader, void *out, size_t n)
{
    if (reader->failed || splat_reader_left(reader) < n) {
        reader->failed = true;
        memset(out, 0, n);
        return;
    }
    memcpy(out, reader->data + reader->position, n);
    reader->position += n;
}

static inline void splat_read_skip(splat_reader *reader, size_t n)
{
    if (reader->failed || splat_reader_left(reader) < n)
        reader->failed = true;
    else
        reader->position += n;
}

#define SPLAT_READER_TYPE(name, type)                                                                                  \
    static inline type splat_read_##name(splat_reader *reader)                                                         \
    {                                                                                                                  \
        type value;                                                                                                    \
        splat_read_bytes(reader, &value, sizeof value);                                                                \
        return value;                                                                                                  \
    }
SPLAT_READER_TYPE(u8, uint8_t)
SPLAT_READER_TYPE(u16, uint16_t)
SPLAT_READER_TYPE(u32, uint32_t)
SPLAT_READER_TYPE(i32, int32_t)
SPLAT_READER_TYPE(u64, uint64_t)
SPLAT_READER_TYPE(f32, float)
SPLAT_READER_TYPE(f64, double)
#undef SPLAT_READER_TYPE

#if defined(__BYTE_ORDER__) && __BYTE_ORDER__ != __ORDER_LITTLE_ENDIAN__
#error "files are read and written as little-endian bytes; a big-endian host needs byte swaps here"
#endif

#endif
