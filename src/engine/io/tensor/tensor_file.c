/* Writing a tensor file in one pass, and reading it: suspicious of every byte, and in pieces. */
#include "io/tensor/tensor_file.h"

#include "base/file.h"
#include "base/reader.h" /* refuses big-endian hosts */
#include "io/json.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <zlib.h>

static const uint8_t zeros[64];

/* Fills in offsets and bytes, and lists the entries. Returns the bytes of all, padded, plus one; 0 when memory is
 * exhausted. */
static uint64_t place_entries(splat_tensor_writer *w, json_t *header)
{
    uint64_t offset = 0;
    json_t *list = json_array();
    bool good = list != NULL;
    for (size_t i = 0; i < w->n; i++) {
        splat_tensor_entry *e = &w->entries[i];
        e->offset = offset;
        e->bytes = 4 * (uint64_t)e->rows * e->words;
        e->crc32 = (uint32_t)crc32_z(0, NULL, 0);
        offset += splat_tensor_file_align(e->bytes);
        json_t *item = json_pack("{s:s, s:s, s:I, s:I, s:I, s:I}", "name", e->name, "type", e->type, "rows",
                                 (json_int_t)e->rows, "words", (json_int_t)e->words, "offset", (json_int_t)e->offset,
                                 "bytes", (json_int_t)e->bytes);
        good = json_array_append_new(list, item) == 0 && good;
    }
    good = json_object_set_new(header, "tensors", list) == 0 && good;
    return good ? offset + 1 : 0;
}

static splat_status fail_write(splat_tensor_writer *w, splat_error *error)
{
    splat_status status = splat_save_commit(&w->save, error); /* it knows the reason of the first failure */
    return status != SPLAT_OK ? status : splat_fail(error, SPLAT_ERROR_IO, "a write failed");
}

/* Passes over tensors that are done, and those without bytes. */
static void next_tensor(splat_tensor_writer *w)
{
    while (w->left == 0 && w->at < w->n) w->left = ++w->at < w->n ? w->entries[w->at].bytes : 0;
}

splat_status splat_tensor_writer_open(splat_tensor_writer *w, const char *path, json_t *header,
                                      const splat_tensor_entry *entries, size_t n, splat_error *error)
{
    memset(w, 0, sizeof *w);
    if (n > SPLAT_TENSOR_FILE_MAX) return splat_fail(error, SPLAT_ERROR_INTERNAL, "%zu tensors are too many", n);
    memcpy(w->entries, entries, n * sizeof *entries);
    w->n = n;
    uint64_t data_bytes = place_entries(w, header);
    char *text = data_bytes ? splat_json_print(header, JSON_COMPACT | JSON_REAL_PRECISION(9)) : NULL;
    if (!text) return splat_fail_at(error, SPLAT_ERROR_MEMORY, path, SPLAT_NO_OFFSET, "no memory for the header");
    uint64_t used = SPLAT_TENSOR_FILE_HEAD + strlen(text), begin = splat_tensor_file_align(used);
    uint64_t length = begin - SPLAT_TENSOR_FILE_HEAD;
    w->file_bytes = begin + (data_bytes - 1) + 4 * n + SPLAT_TENSOR_FILE_FOOT;
    splat_status status = splat_disk_check(path, w->file_bytes, error);
    if (status == SPLAT_OK) status = splat_save_open(&w->save, path, error);
    if (status == SPLAT_OK) {
        char head[SPLAT_TENSOR_FILE_HEAD], spaces[64];
        memcpy(head, SPLAT_TENSOR_FILE_MAGIC, 8);
        memcpy(head + 8, &length, sizeof length);
        memset(spaces, ' ', sizeof spaces);
        fwrite(head, 1, sizeof head, w->save.stream);
        fwrite(text, 1, strlen(text), w->save.stream);
        fwrite(spaces, 1, (size_t)(begin - used), w->save.stream);
        uLong crc = crc32_z(crc32_z(0, NULL, 0), (const Bytef *)head, sizeof head);
        crc = crc32_z(crc, (const Bytef *)text, strlen(text));
        w->header_crc32 = (uint32_t)crc32_z(crc, (const Bytef *)spaces, (size_t)(begin - used));
        w->left = n ? w->entries[0].bytes : 0;
        next_tensor(w);
    }
    free(text);
    return status;
}

splat_status splat_tensor_writer_write(splat_tensor_writer *w, const void *data, size_t size, splat_error *error)
{
    if (size == 0) return SPLAT_OK;
    if (w->at >= w->n || size > w->left)
        return splat_fail(error, SPLAT_ERROR_INTERNAL, "more bytes for a tensor than it has");
    splat_tensor_entry *e = &w->entries[w->at];
    e->crc32 = (uint32_t)crc32_z(e->crc32, data, size);
    fwrite(data, 1, size, w->save.stream);
    w->left -= size;
    if (w->left == 0) {
        size_t padding = (size_t)(splat_tensor_file_align(e->bytes) - e->bytes);
        e->crc32 = (uint32_t)crc32_z(e->crc32, zeros, padding);
        fwrite(zeros, 1, padding, w->save.stream);
        next_tensor(w);
    }
    return ferror(w->save.stream) ? fail_write(w, error) : SPLAT_OK;
}

splat_status splat_tensor_writer_commit(splat_tensor_writer *w, splat_error *error)
{
    uint32_t table[SPLAT_TENSOR_FILE_MAX], sums[2];
    if (w->at < w->n) {
        splat_tensor_writer_abort(w);
        return splat_fail(error, SPLAT_ERROR_INTERNAL, "fewer bytes than the tensors have");
    }
    for (size_t i = 0; i < w->n; i++) table[i] = w->entries[i].crc32;
    sums[0] = w->header_crc32;
    sums[1] = (uint32_t)crc32_z(crc32_z(0, NULL, 0), (const Bytef *)table, 4 * w->n);
    fwrite(table, 4, w->n, w->save.stream);
    fwrite(sums, 4, 2, w->save.stream);
    fwrite(&w->file_bytes, 8, 1, w->save.stream);
    fwrite(SPLAT_TENSOR_FILE_END, 1, 8, w->save.stream);
    return splat_save_commit(&w->save, error);
}

void splat_tensor_writer_abort(splat_tensor_writer *w)
{
    splat_save_abort(&w->save);
}

/* ---------------------------------------------------------------- reading */

#define MAX_HEADER ((uint64_t)256 << 20) /* a name and a camera for each of a million views */

splat_status splat_tensor_reader_damaged(const splat_tensor_reader *r, uint64_t offset, const char *what,
                                         splat_error *error)
{
    return splat_fail_at(error, SPLAT_ERROR_FORMAT, r->path, offset, "the checkpoint is damaged: %s; use an older one",
                         what);
}

static uint32_t crc_of(const void *data, size_t size)
{
    return (uint32_t)crc32_z(crc32_z(0, NULL, 0), data, size);
}

static splat_status read_at(const splat_tensor_reader *r, uint64_t offset, void *data, size_t size, splat_error *error)
{
    for (size_t done = 0; done < size;) {
        ssize_t n = pread(r->descriptor, (char *)data + done, size - done, (off_t)(offset + done));
        if (n < 0 && errno == EINTR) continue;
        if (n < 0) return splat_fail_errno(error, r->path, "read the checkpoint");
        if (n == 0) return splat_tensor_reader_damaged(r, offset + done, "it ends early", error);
        done += (size_t)n;
    }
    return SPLAT_OK;
}

/* ---------------------------------------------------------------- opening */

typedef struct layout {
    uint64_t file_bytes, header_bytes;
    uint32_t sums[2]; /* of the header, of the table */
} layout;

static splat_status read_ends(const splat_tensor_reader *r, layout *l, splat_error *error)
{
    char head[SPLAT_TENSOR_FILE_HEAD], foot[SPLAT_TENSOR_FILE_FOOT];
    uint64_t length;
    if (l->file_bytes < sizeof head + sizeof foot)
        return splat_fail_at(error, SPLAT_ERROR_FORMAT, r->path, 0, "this is not a checkpoint of splatsmith");
    SPLAT_TRY(read_at(r, 0, head, sizeof head, error));
    SPLAT_TRY(read_at(r, l->file_bytes - sizeof foot, foot, sizeof foot, error));
    if (memcmp(head, SPLAT_TENSOR_FILE_MAGIC, 7) != 0)
        return splat_fail_at(error, SPLAT_ERROR_FORMAT, r->path, 0, "this is not a checkpoint of splatsmith");
    if (memcmp(head, SPLAT_TENSOR_FILE_MAGIC, 8) != 0)
        return splat_fail_at(error, SPLAT_ERROR_UNSUPPORTED, r->path, 7,
                             "the checkpoint has format version '%c'; this program reads 2 only", head[7]);
    memcpy(&l->header_bytes, head + 8, 8);
    memcpy(l->sums, foot, 8);
    memcpy(&length, foot + 8, 8);
    if (memcmp(foot + 16, SPLAT_TENSOR_FILE_END, 8) != 0)
        return splat_tensor_reader_damaged(r, l->file_bytes - 8, "its end is missing", error);
    if (length != l->file_bytes)
        return splat_tensor_reader_damaged(r, l->file_bytes - 16, "its length is not what its end says", error);
    uint64_t most = l->file_bytes - sizeof head - sizeof foot;
    if (l->header_bytes > most || l->header_bytes > MAX_HEADER || (sizeof head + l->header_bytes) % 64 != 0)
        return splat_tensor_reader_damaged(r, 8, "the length of its header is impossible", error);
    return SPLAT_OK;
}

static splat_status read_header(splat_tensor_reader *r, const layout *l, splat_error *error)
{
    size_t size = SPLAT_TENSOR_FILE_HEAD + (size_t)l->header_bytes;
    char *text = malloc(size);
    if (!text) return splat_fail_at(error, SPLAT_ERROR_MEMORY, r->path, 0, "no memory for a header of %zu bytes", size);
    splat_status status = read_at(r, 0, text, size, error);
    if (status == SPLAT_OK && crc_of(text, size) != l->sums[0])
        status = splat_tensor_reader_damaged(r, 0, "its header does not match its checksum", error);
    if (status == SPLAT_OK) {
        json_error_t problem;
        if (splat_json_parse(text + SPLAT_TENSOR_FILE_HEAD, size - SPLAT_TENSOR_FILE_HEAD, JSON_REJECT_DUPLICATES,
                             &r->header, &problem) == SPLAT_ERROR_MEMORY)
            status = splat_fail_at(error, SPLAT_ERROR_MEMORY, r->path, 0, "no memory for a header of %zu bytes", size);
        else if (!json_is_object(r->header))
            status = splat_tensor_reader_damaged(r, SPLAT_TENSOR_FILE_HEAD, "its header is not JSON", error);
    }
    r->begin = size;
    free(text);
    return status;
}

/* A number from 0 to most. */
static bool get_number(const json_t *object, const char *key, uint64_t most, uint64_t *value)
{
    const json_t *item = json_object_get(object, key);
    if (!json_is_integer(item) || json_integer_value(item) < 0) return false;
    *value = (uint64_t)json_integer_value(item);
    return *value <= most;
}

static bool parse_entry(const json_t *item, uint64_t offset, splat_tensor_entry *e)
{
    const char *name = json_string_value(json_object_get(item, "name"));
    const char *type = json_string_value(json_object_get(item, "type"));
    uint64_t rows, words;
    if (!name || strlen(name) >= sizeof e->name || !type ||
        (strcmp(type, "F32") != 0 && strcmp(type, "F16") != 0 && strcmp(type, "U32") != 0) ||
        !get_number(item, "rows", UINT32_MAX, &rows) || !get_number(item, "words", UINT16_MAX, &words) ||
        !get_number(item, "offset", INT64_MAX, &e->offset) || !get_number(item, "bytes", INT64_MAX, &e->bytes))
        return false;
    strcpy(e->name, name);
    memcpy(e->type, type, 4);
    e->rows = (uint32_t)rows;
    e->words = (uint32_t)words;
    return e->offset == offset && e->bytes == 4 * rows * words;
}

static splat_status read_table(splat_tensor_reader *r, const layout *l, splat_error *error)
{
    const json_t *list = json_object_get(r->header, "tensors");
    uint32_t table[SPLAT_TENSOR_FILE_MAX];
    uint64_t offset = 0;
    r->n = json_array_size(list);
    if (r->n > SPLAT_TENSOR_FILE_MAX)
        return splat_tensor_reader_damaged(r, SPLAT_TENSOR_FILE_HEAD, "its header lists too many tensors", error);
    uint64_t after = 4 * r->n + SPLAT_TENSOR_FILE_FOOT;
    for (size_t i = 0; i < r->n; i++) {
        splat_tensor_entry *e = &r->entries[i];
        uint64_t left = l->file_bytes - r->begin - offset; /* never negative: checked below */
        if (!parse_entry(json_array_get(list, i), offset, e) || e->bytes > left)
            return splat_tensor_reader_damaged(r, SPLAT_TENSOR_FILE_HEAD, "a tensor is not where it should be", error);
        if (splat_tensor_file_align(e->bytes) > left)
            return splat_tensor_reader_damaged(r, SPLAT_TENSOR_FILE_HEAD, "a tensor is cut short", error);
        offset += splat_tensor_file_align(e->bytes);
    }
    if (r->begin + offset + after != l->file_bytes)
        return splat_tensor_reader_damaged(r, SPLAT_TENSOR_FILE_HEAD, "its tensors do not fill it", error);
    SPLAT_TRY(read_at(r, r->begin + offset, table, 4 * r->n, error));
    if (crc_of(table, 4 * r->n) != l->sums[1])
        return splat_tensor_reader_damaged(r, r->begin + offset, "its table of checksums is wrong", error);
    for (size_t i = 0; i < r->n; i++) r->entries[i].crc32 = table[i];
    return SPLAT_OK;
}

static splat_status open_file(splat_tensor_reader *r, const char *path, layout *l, splat_error *error)
{
    r->path = strdup(path);
    if (!r->path) return splat_fail(error, SPLAT_ERROR_MEMORY, "no memory for a path");
    return splat_file_open(path, &r->descriptor, &l->file_bytes, error);
}

splat_status splat_tensor_reader_open(splat_tensor_reader *r, const char *path, splat_error *error)
{
    layout l = {0};
    memset(r, 0, sizeof *r);
    r->descriptor = -1;
    splat_status status = open_file(r, path, &l, error);
    if (status == SPLAT_OK) status = read_ends(r, &l, error);
    if (status == SPLAT_OK) status = read_header(r, &l, error);
    if (status == SPLAT_OK) status = read_table(r, &l, error);
    if (status != SPLAT_OK) splat_tensor_reader_close(r);
    return status;
}

void splat_tensor_reader_close(splat_tensor_reader *r)
{
    if (!r->path) return;
    if (r->descriptor >= 0) close(r->descriptor);
    json_decref(r->header);
    free(r->path);
    memset(r, 0, sizeof *r);
}

bool splat_tensor_file_begins(const uint8_t *head, size_t n)
{
    return n >= 8 && memcmp(head, SPLAT_TENSOR_FILE_MAGIC, 7) == 0;
}

bool splat_tensor_file_is(const char *path)
{
    uint8_t head[8];
    uint64_t size;
    int descriptor;
    if (splat_file_open(path, &descriptor, &size, NULL) != SPLAT_OK) return false;
    ssize_t n = pread(descriptor, head, sizeof head, 0);
    close(descriptor);
    return n > 0 && splat_tensor_file_begins(head, (size_t)n);
}

/* ---------------------------------------------------------------- the tensors */

const splat_tensor_entry *splat_tensor_reader_find(const splat_tensor_reader *r, const char *name)
{
    for (size_t i = 0; i < r->n; i++)
        if (strcmp(r->entries[i].name, name) == 0) return &r->entries[i];
    return NULL;
}

splat_status splat_tensor_reader_check(const splat_tensor_reader *r, const splat_tensor_entry *e, splat_error *error)
{
    uint64_t total = splat_tensor_file_align(e->bytes);
    size_t room = total < SPLAT_TENSOR_FILE_PIECE ? (size_t)total : SPLAT_TENSOR_FILE_PIECE;
    void *piece = malloc(room + 1);
    uint32_t crc = crc_of(NULL, 0);
    if (!piece) return splat_fail_at(error, SPLAT_ERROR_MEMORY, r->path, SPLAT_NO_OFFSET, "no memory to read it");
    splat_status status = SPLAT_OK;
    for (uint64_t at = 0; at < total && status == SPLAT_OK; at += room) {
        size_t size = total - at < room ? (size_t)(total - at) : room;
        status = read_at(r, r->begin + e->offset + at, piece, size, error);
        if (status == SPLAT_OK) crc = (uint32_t)crc32_z(crc, piece, size);
    }
    free(piece);
    if (status != SPLAT_OK || crc == e->crc32) return status;
    char what[96];
    snprintf(what, sizeof what, "tensor %s does not match its checksum", e->name);
    return splat_tensor_reader_damaged(r, r->begin + e->offset, what, error);
}

splat_status splat_tensor_reader_read(const splat_tensor_reader *r, const splat_tensor_entry *e, uint64_t offset,
                                      void *data, size_t size, splat_error *error)
{
    if (offset > e->bytes || size > e->bytes - offset)
        return splat_fail(error, SPLAT_ERROR_INTERNAL, "a read past the end of tensor %s", e->name);
    return read_at(r, r->begin + e->offset + offset, data, size, error);
}
