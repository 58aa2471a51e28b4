/* A file of named arrays that can be written and read in pieces: what a checkpoint is made of.
 *
 *   "SPLATCK2" | u64: bytes of the header | header: JSON, and spaces up to a multiple of 64 |
 *   the tensors, each padded with zeros to a multiple of 64 | their CRC-32, u32 each, padding included |
 *   u32 CRC-32 of magic, length and header | u32 CRC-32 of the table before | u64 length of the file | "SPLATEND"
 *
 * All little-endian. The header's key "tensors" lists them in the order of the file: name, type, rows, words (of 32
 * bits, of a row), offset (from the first), bytes. Every byte is covered by a CRC-32 (zlib's): every single flipped bit
 * and every damage within 32 bits is found, other damage with probability 1 - 2^-32; a longer hash would ask for one
 * more library. The sums follow the data so that writing needs one pass. */
#ifndef SPLAT_IO_TENSOR_FILE_H
#define SPLAT_IO_TENSOR_FILE_H

#include "base/file.h"

#include <jansson.h>

#define SPLAT_TENSOR_FILE_PIECE ((size_t)4 << 20) /* bytes that callers should pass at a time */
#define SPLAT_TENSOR_FILE_MAX 64                  /* tensors */

typedef struct splat_tensor_entry {
    char name[32];
    char type[4];        /* "F32", "F16" (rows padded to whole words) or "U32" */
    uint32_t rows, words; /* rows * words may be 0 */
    uint64_t offset;     /* offset of the first byte from that of the first tensor */
    uint64_t bytes;      /* 4 rows words */
    uint32_t crc32;      /* CRC-32 of the bytes with their padding */
} splat_tensor_entry;

/* ---------------------------------------------------------------- writing */

typedef struct splat_tensor_writer {
    splat_save save;
    splat_tensor_entry entries[SPLAT_TENSOR_FILE_MAX];
    size_t n, at;        /* tensors; the one that is being written */
    uint64_t left;       /* bytes of it to come */
    uint64_t file_bytes; /* bytes of the whole file */
    uint32_t header_crc32;
} splat_tensor_writer;

/* Begins a file; name, type, rows and words of the entries are read. `header` gets the key "tensors" and stays the
 * caller's. Looks first whether the disk has room. Errors: IO, MEMORY; nothing is open then. */
splat_status splat_tensor_writer_open(splat_tensor_writer *writer, const char *path, json_t *header,
                                      const splat_tensor_entry *entries, size_t n, splat_error *error);
/* The bytes of all tensors, one after the other, in pieces that end where a tensor ends. Fails (IO) as soon as a write
 * did. */
splat_status splat_tensor_writer_write(splat_tensor_writer *writer, const void *data, size_t size, splat_error *error);
/* All bytes have been passed. Either way the writer is closed. */
splat_status splat_tensor_writer_commit(splat_tensor_writer *writer, splat_error *error);
void splat_tensor_writer_abort(splat_tensor_writer *writer);

/* ---------------------------------------------------------------- reading */

typedef struct splat_tensor_reader {
    char *path;
    int descriptor;
    json_t *header;
    uint64_t begin;      /* offset of the first tensor */
    splat_tensor_entry entries[SPLAT_TENSOR_FILE_MAX];
    size_t n;
} splat_tensor_reader;

/* True if these are the first bytes of a tensor file, of any version. */
bool splat_tensor_file_begins(const uint8_t *head, size_t n);
/* True if a file begins with them; false if it cannot be read. */
bool splat_tensor_file_is(const char *path);
/* Checks everything but the tensors' bytes: they lie one after the other and end where the file ends. Errors: IO,
 * FORMAT (damaged), UNSUPPORTED (another version), MEMORY; nothing is open then. */
splat_status splat_tensor_reader_open(splat_tensor_reader *reader, const char *path, splat_error *error);
void splat_tensor_reader_close(splat_tensor_reader *reader);
/* NULL: there is none of this name. */
const splat_tensor_entry *splat_tensor_reader_find(const splat_tensor_reader *reader, const char *name);
/* Reads a tensor and compares its CRC-32. Errors: FORMAT, IO, MEMORY. */
splat_status splat_tensor_reader_check(const splat_tensor_reader *reader, const splat_tensor_entry *entry,
                                       splat_error *error);
/* `size` bytes from byte `offset` of a tensor. */
splat_status splat_tensor_reader_read(const splat_tensor_reader *reader, const splat_tensor_entry *entry,
                                      uint64_t offset, void *data, size_t size, splat_error *error);
/* FORMAT: "the checkpoint is damaged: ...". */
splat_status splat_tensor_reader_damaged(const splat_tensor_reader *reader, uint64_t offset, const char *what,
                                         splat_error *error);

/* Constants of the reader and the writer. */
#define SPLAT_TENSOR_FILE_MAGIC "SPLATCK2"
#define SPLAT_TENSOR_FILE_END "SPLATEND"
#define SPLAT_TENSOR_FILE_HEAD 16u /* magic and length */
#define SPLAT_TENSOR_FILE_FOOT 24u
static inline uint64_t splat_tensor_file_align(uint64_t bytes)
{
    return (bytes + 63u) & ~(uint64_t)63u;
}

#endif
