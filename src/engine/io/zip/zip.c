/* Zip files in memory. Suspicious of every byte. */
#include "io/zip/zip.h"

#include "base/file.h"
#include "base/reader.h"

#include <stdlib.h>
#include <zlib.h>

enum { END_SIZE = 22, ENTRY_SIZE = 46, LOCAL_SIZE = 30, STORED = 0, DEFLATED = 8, ENCRYPTED = 1, VERSION = 20 };
#define LOCAL_MAGIC 0x04034b50u
#define ENTRY_MAGIC 0x02014b50u
#define END_MAGIC 0x06054b50u
#define YEAR_1980 0x0021u /* the first of January: files do not say when they were made */

static const size_t deflate_gain = 1032; /* bytes that one of deflate can become */

static splat_status bad(const splat_zip *zip, const char *what, splat_error *error)
{
    return splat_fail_at(error, SPLAT_ERROR_FORMAT, zip->path, SPLAT_NO_OFFSET, "the zip file is damaged: %s", what);
}

/* ---------------------------------------------------------------- reading */

splat_status splat_zip_open(splat_zip *zip, const char *path, const uint8_t *data, size_t size, splat_error *error)
{
    *zip = (splat_zip){.path = path, .data = data, .size = size};
    size_t least = size > END_SIZE + 65535 ? size - END_SIZE - 65535 : 0;
    for (size_t at = size < END_SIZE ? 0 : size - END_SIZE + 1; at-- > least;) {
        splat_reader r = splat_reader_make(data + at, size - at);
        uint32_t magic = splat_read_u32(&r);
        splat_read_skip(&r, 6);
        uint32_t n = splat_read_u16(&r), bytes = splat_read_u32(&r), offset = splat_read_u32(&r);
        if (magic != END_MAGIC || splat_read_u16(&r) != splat_reader_left(&r) || r.failed) continue;
        if (n == UINT16_MAX || offset == UINT32_MAX)
            return splat_fail_at(error, SPLAT_ERROR_UNSUPPORTED, path, at, "zip files of more than 4 GiB are not read");
        if (offset > at || bytes > at - offset) return bad(zip, "its directory does not fit into it", error);
        zip->directory = offset;
        zip->n = n;
        return SPLAT_OK;
    }
    return bad(zip, "it is cut short, or is none", error);
}

static bool is_named(const uint8_t *at, size_t length, const char *name)
{
    size_t n = strlen(name);
    return length >= n && memcmp(at + length - n, name, n) == 0 && (length == n || at[length - n - 1] == '/');
}

typedef struct found {
    uint32_t flags, method, checksum;
    size_t packed, size, header;
} found;

static splat_status find(const splat_zip *zip, const char *name, found *f, splat_error *error)
{
    splat_reader r = splat_reader_make(zip->data, zip->size);
    splat_read_skip(&r, zip->directory);
    for (size_t i = 0; i < zip->n; i++) {
        uint32_t magic = splat_read_u32(&r);
        splat_read_skip(&r, 4);
        *f = (found){.flags = splat_read_u16(&r)};
        f->method = splat_read_u16(&r);
        splat_read_skip(&r, 4);
        f->checksum = splat_read_u32(&r);
        f->packed = splat_read_u32(&r);
        f->size = splat_read_u32(&r);
        size_t length = splat_read_u16(&r), extra = splat_read_u16(&r), comment = splat_read_u16(&r);
        splat_read_skip(&r, 8);
        f->header = splat_read_u32(&r);
        if (r.failed || magic != ENTRY_MAGIC || length > splat_reader_left(&r))
            return bad(zip, "its directory is cut short", error);
        if (is_named(r.data + r.position, length, name)) return SPLAT_OK;
        splat_read_skip(&r, length);
        splat_read_skip(&r, extra);
        splat_read_skip(&r, comment);
    }
    return splat_fail_at(error, SPLAT_ERROR_FORMAT, zip->path, SPLAT_NO_OFFSET, "the zip file has no %s in it", name);
}

static splat_status unpack(const splat_zip *zip, const found *f, const uint8_t *packed, uint8_t *out,
                           splat_error *error)
{
    if (f->method == STORED) {
        memcpy(out, packed, f->size);
    } else {
        z_stream z = {.next_in = (Bytef *)(uintptr_t)packed, .next_out = out};
        z.avail_in = (uInt)f->packed;
        z.avail_out = (uInt)f->size;
        if (inflateInit2(&z, -MAX_WBITS) != Z_OK)
            return splat_fail(error, SPLAT_ERROR_MEMORY, "no memory to unpack a zip file");
        int code = inflate(&z, Z_FINISH);
        inflateEnd(&z);
        if (code == Z_MEM_ERROR) return splat_fail(error, SPLAT_ERROR_MEMORY, "no memory to unpack a zip file");
        if (code != Z_STREAM_END || z.avail_out) return bad(zip, "an entry is corrupt", error);
    }
    uLong sum = crc32_z(0, out, f->size);
    return sum == f->checksum ? SPLAT_OK : bad(zip, "the checksum of an entry is wrong", error);
}

splat_status splat_zip_read(const splat_zip *zip, const char *name, size_t most, uint8_t **bytes, size_t *size,
                            splat_error *error)
{
    found f = {0};
    *bytes = NULL;
    SPLAT_TRY(find(zip, name, &f, error));
    if (f.size > most)
        return splat_fail_at(error, SPLAT_ERROR_FORMAT, zip->path, f.header,
                             "%s in the zip file has %zu bytes, far more than it needs (at most %zu)", name, f.size,
                             most);
    splat_reader r = splat_reader_make(zip->data, zip->size);
    splat_read_skip(&r, f.header);
    uint32_t magic = splat_read_u32(&r);
    splat_read_skip(&r, LOCAL_SIZE - 8);
    size_t length = splat_read_u16(&r), extra = splat_read_u16(&r);
    splat_read_skip(&r, length);
    splat_read_skip(&r, extra);
    if (r.failed || magic != LOCAL_MAGIC || f.packed > splat_reader_left(&r))
        return bad(zip, "an entry is cut short", error);
    if ((f.flags & ENCRYPTED) || (f.method != STORED && f.method != DEFLATED))
        return splat_fail_at(error, SPLAT_ERROR_UNSUPPORTED, zip->path, f.header,
                             "%s in the zip file is encrypted, or compressed in a way that is not read", name);
    if (f.method == STORED ? f.packed != f.size : f.size / deflate_gain > f.packed)
        return bad(zip, "the sizes of an entry contradict each other", error);
    uint8_t *out = malloc(f.size + 1);
    if (!out) return splat_fail(error, SPLAT_ERROR_MEMORY, "no memory to unpack a zip file");
    splat_status status = unpack(zip, &f, r.data + r.position, out, error);
    if (status != SPLAT_OK) {
        free(out);
        return status;
    }
    out[f.size] = 0;
    *bytes = out;
    *size = f.size;
    return SPLAT_OK;
}

/* ---------------------------------------------------------------- writing */

static void put(FILE *stream, uint32_t value, int n_bytes)
{
    for (int k = 0; k < n_bytes; k++) fputc((int)(value >> 8 * k & 255), stream);
}

/* Writes the fields that a local header and an entry of the directory share. */
static void put_facts(FILE *stream, const splat_zip_entry *e)
{
    put(stream, VERSION, 2);
    put(stream, 0, 2); /* flags */
    put(stream, STORED, 2);
    put(stream, YEAR_1980 << 16, 4);
    put(stream, (uint32_t)crc32_z(0, e->data, e->size), 4);
    put(stream, (uint32_t)e->size, 4);
    put(stream, (uint32_t)e->size, 4);
    put(stream, (uint32_t)strlen(e->name), 2);
    put(stream, 0, 2); /* extra */
}

bool splat_zip_write(FILE *stream, const splat_zip_entry *entries, size_t n)
{
    uint64_t total = END_SIZE, at = 0;
    for (size_t i = 0; i < n; i++) total += entries[i].size + LOCAL_SIZE + ENTRY_SIZE + 2 * strlen(entries[i].name);
    if (total >= UINT32_MAX || n >= UINT16_MAX) return false;
    for (size_t i = 0; i < n; i++) {
        put(stream, LOCAL_MAGIC, 4);
        put_facts(stream, &entries[i]);
        fputs(entries[i].name, stream);
        fwrite(entries[i].data, 1, entries[i].size, stream);
    }
    uint64_t directory = 0, directory_size = 0;
    for (size_t i = 0; i < n; i++) directory += LOCAL_SIZE + strlen(entries[i].name) + entries[i].size;
    for (size_t i = 0; i < n; i++) {
        put(stream, ENTRY_MAGIC, 4);
        put(stream, VERSION, 2);
        put_facts(stream, &entries[i]);
        put(stream, 0, 4); /* comment, disk */
        put(stream, 0, 2); /* attributes */
        put(stream, 0, 4);
        put(stream, (uint32_t)at, 4);
        fputs(entries[i].name, stream);
        at += LOCAL_SIZE + strlen(entries[i].name) + entries[i].size;
        directory_size += ENTRY_SIZE + strlen(entries[i].name);
    }
    put(stream, END_MAGIC, 4);
    put(stream, 0, 4);
    put(stream, (uint32_t)n, 2);
    put(stream, (uint32_t)n, 2);
    put(stream, (uint32_t)directory_size, 4);
    put(stream, (uint32_t)directory, 4);
    put(stream, 0, 2);
    return true;
}
