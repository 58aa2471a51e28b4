/* The container of SPZ: headers, gzip, Zstandard frames. Suspicious of every byte. */
#include "io/splat/spz_container.h"

#include "base/checked.h"
#include "base/reader.h"

#include <limits.h>
#include <stdlib.h>
#include <zlib.h>
#if SPLATSMITH_HAS_ZSTD
#include <zstd.h>
#include <zstd_errors.h>
#endif

#define MAGIC 0x5053474eu /* "NGSP" */
#define HEAD4 32          /* bytes of a header of version 4 */
#define TOC_ENTRY 16

enum { FLAG_ANTIALIASED = 1, FLAG_EXTENSIONS = 2 };

/* The most bytes of extensions, which are passed over. The published ones have at most 20. */
static size_t most_extensions(const splat_spz_header *header)
{
    return header->has_extensions ? 1 << 20 : 0;
}

/* One byte of a file is at most so many of a stream: deflate's longest match takes two bits, a block of Zstandard has
 * at least four bytes and at most 128 KiB. No more memory is asked for than this. */
static const uint64_t gzip_gain = 1032, zstd_gain = 32768;

size_t splat_spz_row(const splat_spz_header *header, int stream)
{
    const size_t degree = (size_t)header->sh_degree, rows[SPLAT_SPZ_N_STREAMS] = {
        9, 1, 3, 3, header->version < 3 ? 3 : 4, 3 * ((degree + 1) * (degree + 1) - 1)};
    return rows[stream];
}

static splat_status bad(const char *path, const char *what, splat_error *error)
{
    return splat_fail_at(error, SPLAT_ERROR_FORMAT, path, SPLAT_NO_OFFSET, "the SPZ file is damaged: %s", what);
}

#if !SPLATSMITH_HAS_ZSTD
static splat_status no_zstd(const char *path, splat_error *error)
{
    return splat_fail_at(error, SPLAT_ERROR_UNSUPPORTED, path, SPLAT_NO_OFFSET,
                         "this Splatsmith was built without Zstandard, which SPZ of version 4 takes; use version 3, or "
                         "install libzstd-dev and build it again");
}
#endif

/* ---------------------------------------------------------------- gzip */

/* Fills out[size] from the beginning of the stream; *end is where the input ends that was read. `extra`: the most bytes
 * that may follow them in the stream, which are unpacked for the checksum; SIZE_MAX: the rest of the stream is not
 * read. */
static splat_status gunzip(const char *path, const uint8_t *data, size_t n, uint8_t *out, size_t size, size_t extra,
                           size_t *end, splat_error *error)
{
    z_stream z = {0};
    uint8_t rest[4096];
    size_t taken = 0, made = 0, n_extra = 0;
    bool whole = extra != SIZE_MAX;
    int code = inflateInit2(&z, 16 + MAX_WBITS);
    if (code != Z_OK) return splat_fail(error, SPLAT_ERROR_MEMORY, "no memory to unpack an SPZ file");
    while (code == Z_OK && (made < size || (whole && n_extra <= extra))) {
        size_t in = n - taken < INT_MAX ? n - taken : INT_MAX, room = size - made < INT_MAX ? size - made : INT_MAX;
        z.next_in = (Bytef *)(uintptr_t)(data + taken);
        z.avail_in = (uInt)in;
        z.next_out = room ? out + made : rest;
        z.avail_out = (uInt)(room ? room : sizeof rest);
        code = inflate(&z, Z_NO_FLUSH); /* Z_BUF_ERROR where the input ends */
        taken += in - z.avail_in;
        if (room) made += room - z.avail_out;
        else n_extra += sizeof rest - z.avail_out;
    }
    inflateEnd(&z);
    *end = taken;
    if (code == Z_MEM_ERROR) return splat_fail(error, SPLAT_ERROR_MEMORY, "no memory to unpack an SPZ file");
    if (whole && n_extra > extra) return bad(path, "bytes follow its last stream", error);
    bool good = made == size && (!whole || code == Z_STREAM_END);
    return good ? SPLAT_OK : bad(path, "its gzip is cut short or corrupt", error);
}

static splat_status gzip(const uint8_t *head, const uint8_t *streams, size_t n, uint8_t **data, size_t *size,
                         splat_error *error)
{
    z_stream z = {0};
    if (deflateInit2(&z, Z_DEFAULT_COMPRESSION, Z_DEFLATED, 16 + MAX_WBITS, 8, Z_DEFAULT_STRATEGY) != Z_OK)
        return splat_fail(error, SPLAT_ERROR_MEMORY, "no memory to pack an SPZ file");
    size_t room = deflateBound(&z, SPLAT_SPZ_HEAD + n), taken = 0;
    int code = Z_OK;
    *size = 0;
    *data = malloc(room);
    z.next_in = (Bytef *)(uintptr_t)head;
    z.avail_in = SPLAT_SPZ_HEAD;
    while (*data && code == Z_OK) { /* a call takes and gives at most INT_MAX bytes */
        size_t out = room - *size < INT_MAX ? room - *size : INT_MAX;
        if (z.avail_in == 0) {
            z.next_in = (Bytef *)(uintptr_t)(streams + taken);
            z.avail_in = (uInt)(n - taken < INT_MAX ? n - taken : INT_MAX);
            taken += z.avail_in;
        }
        z.next_out = *data + *size;
        z.avail_out = (uInt)out;
        code = deflate(&z, taken == n ? Z_FINISH : Z_NO_FLUSH);
        *size += out - z.avail_out;
    }
    deflateEnd(&z);
    if (code == Z_STREAM_END) return SPLAT_OK;
    free(*data);
    *data = NULL;
    return splat_fail(error, SPLAT_ERROR_MEMORY, "no memory to pack an SPZ file");
}

/* ---------------------------------------------------------------- headers */

static bool is_gzip(const uint8_t *data, size_t size)
{
    return size >= 2 && data[0] == 0x1f && data[1] == 0x8b;
}

splat_status splat_spz_read_header(const char *path, const uint8_t *data, size_t size, splat_spz_header *header,
                                   splat_error *error)
{
    uint8_t head[SPLAT_SPZ_HEAD];
    bool packed = is_gzip(data, size);
    size_t end;
    if (packed) SPLAT_TRY(gunzip(path, data, size, head, sizeof head, SIZE_MAX, &end, error));
    splat_reader r = packed ? splat_reader_make(head, sizeof head) : splat_reader_make(data, size);
    *header = (splat_spz_header){0};
    uint32_t magic = splat_read_u32(&r);
    header->version = splat_read_u32(&r);
    header->n = splat_read_u32(&r);
    header->sh_degree = splat_read_u8(&r);
    header->fractional_bits = splat_read_u8(&r);
    uint8_t flags = splat_read_u8(&r);
    header->is_antialiased = flags & FLAG_ANTIALIASED;
    header->has_extensions = flags & FLAG_EXTENSIONS;
    header->n_streams = splat_read_u8(&r);
    if (!packed) header->toc = splat_read_u32(&r);
    if (r.failed || magic != MAGIC) return bad(path, "it does not begin as one", error);
    if (packed ? header->version != 2 && header->version != 3 : header->version != 4)
        return splat_fail_at(error, SPLAT_ERROR_UNSUPPORTED, path, SPLAT_NO_OFFSET,
                             "the file is %s SPZ of version %u; versions 2 and 3, compressed, and 4 are read",
                             packed ? "compressed" : "plain", header->version);
    if (header->sh_degree > 4 || header->fractional_bits > 23)
        return bad(path, "its SH degree is above 4 or its positions have more than 23 fractional bits", error);
#if !SPLATSMITH_HAS_ZSTD
    if (header->version == 4) return no_zstd(path, error);
#endif
    return SPLAT_OK;
}

static bool total_bytes(const splat_spz_header *header, size_t *bytes)
{
    size_t row = 0;
    for (int i = 0; i < SPLAT_SPZ_N_STREAMS; i++) row += splat_spz_row(header, i);
    return splat_size_mul(header->n, row, bytes) && *bytes <= SIZE_MAX / 2;
}

/* ---------------------------------------------------------------- version 4 */

#if SPLATSMITH_HAS_ZSTD
static splat_status unpack_frames(const char *path, const uint8_t *data, size_t size, const splat_spz_header *header,
                                  uint8_t *streams, splat_error *error)
{
    splat_reader toc = splat_reader_make(data, size), frames = toc;
    size_t n_streams = (size_t)header->n_streams;
    if (header->toc < HEAD4) return bad(path, "its table of streams lies in its header", error);
    if (header->toc - HEAD4 > most_extensions(header))
        return bad(path, "bytes lie between its header and its table of streams", error);
    splat_read_skip(&toc, header->toc);
    splat_read_skip(&frames, header->toc);
    splat_read_skip(&frames, n_streams * TOC_ENTRY);
    for (int i = 0; i < SPLAT_SPZ_N_STREAMS; i++) {
        size_t bytes = header->n * splat_spz_row(header, i);
        if (bytes == 0) continue; /* empty streams are left out */
        uint64_t packed = splat_read_u64(&toc), plain = splat_read_u64(&toc);
        if (toc.failed || n_streams-- == 0) return bad(path, "it has too few streams", error);
        if (plain != bytes) return bad(path, "a stream has another size than its Gaussians", error);
        if (frames.failed || packed > splat_reader_left(&frames)) return bad(path, "it is cut short", error);
        size_t made = ZSTD_decompress(streams, bytes, data + frames.position, (size_t)packed);
        if (ZSTD_getErrorCode(made) == ZSTD_error_memory_allocation)
            return splat_fail(error, SPLAT_ERROR_MEMORY, "no memory to unpack an SPZ file");
        if (ZSTD_isError(made) || made != bytes) return bad(path, "a stream is corrupt", error);
        splat_read_skip(&frames, (size_t)packed);
        streams += bytes;
    }
    bool ends = n_streams == 0 && !frames.failed && splat_reader_left(&frames) == 0;
    return ends ? SPLAT_OK : bad(path, "bytes follow its last stream", error);
}

static void put_u32(uint8_t *at, uint32_t value)
{
    memcpy(at, &value, sizeof value);
}

static splat_status pack_frames(const splat_spz_header *header, const uint8_t *head, const uint8_t *streams,
                                uint8_t **data, size_t *size, splat_error *error)
{
    size_t n_streams = 0, room = HEAD4 + SPLAT_SPZ_N_STREAMS * TOC_ENTRY;
    const int level = 12;
    for (int i = 0; i < SPLAT_SPZ_N_STREAMS; i++) {
        size_t bytes = header->n * splat_spz_row(header, i);
        n_streams += bytes > 0;
        room += ZSTD_compressBound(bytes);
    }
    *data = calloc(room, 1);
    if (!*data) return splat_fail(error, SPLAT_ERROR_MEMORY, "no memory to pack an SPZ file");
    memcpy(*data, head, SPLAT_SPZ_HEAD);
    (*data)[15] = (uint8_t)n_streams;
    put_u32(*data + 16, HEAD4);
    uint8_t *entry = *data + HEAD4;
    *size = HEAD4 + n_streams * TOC_ENTRY;
    for (int i = 0; i < SPLAT_SPZ_N_STREAMS; i++) {
        size_t bytes = header->n * splat_spz_row(header, i);
        if (bytes == 0) continue;
        size_t made = ZSTD_compress(*data + *size, room - *size, streams, bytes, level);
        if (ZSTD_isError(made)) {
            free(*data);
            *data = NULL;
            return splat_fail(error, SPLAT_ERROR_MEMORY, "no memory to pack an SPZ file: %s", ZSTD_getErrorName(made));
        }
        memcpy(entry, (const uint64_t[2]){made, bytes}, TOC_ENTRY);
        entry += TOC_ENTRY;
        *size += made;
        streams += bytes;
    }
    return SPLAT_OK;
}
#endif

/* ---------------------------------------------------------------- both */

splat_status splat_spz_inflate(const char *path, const uint8_t *data, size_t size, const splat_spz_header *header,
                               uint8_t **streams, splat_error *error)
{
    size_t bytes;
    *streams = NULL;
    bool packed = is_gzip(data, size);
    if (!total_bytes(header, &bytes) || bytes / (packed ? gzip_gain : zstd_gain) > size)
        return bad(path, "it is too short for its Gaussians", error);
    uint8_t *all = malloc(SPLAT_SPZ_HEAD + bytes);
    if (!all) return splat_fail(error, SPLAT_ERROR_MEMORY, "no memory for the streams of an SPZ file");
    splat_status status = SPLAT_OK;
    if (packed) {
        size_t end;
        status = gunzip(path, data, size, all, SPLAT_SPZ_HEAD + bytes, most_extensions(header), &end, error);
        if (status == SPLAT_OK && end < size) status = bad(path, "bytes follow its gzip", error);
        memmove(all, all + SPLAT_SPZ_HEAD, bytes);
    } else {
#if SPLATSMITH_HAS_ZSTD
        status = unpack_frames(path, data, size, header, all, error);
#endif
    }
    if (status == SPLAT_OK)
        *streams = all;
    else
        free(all);
    return status;
}

splat_status splat_spz_deflate(const splat_spz_header *header, const uint8_t *streams, uint8_t **data, size_t *size,
                               splat_error *error)
{
    size_t bytes;
    uint8_t head[SPLAT_SPZ_HEAD] = {0};
    const uint32_t words[3] = {MAGIC, header->version, header->n};
    memcpy(head, words, sizeof words);
    head[12] = (uint8_t)header->sh_degree;
    head[13] = (uint8_t)header->fractional_bits;
    head[14] = header->is_antialiased ? FLAG_ANTIALIASED : 0;
    *data = NULL;
    if (!total_bytes(header, &bytes)) return splat_fail(error, SPLAT_ERROR_MEMORY, "no memory to pack an SPZ file");
    if (header->version < 4) return gzip(head, streams, bytes, data, size, error);
#if SPLATSMITH_HAS_ZSTD
    return pack_frames(header, head, streams, data, size, error);
#else
    return no_zstd(NULL, error);
#endif
}
