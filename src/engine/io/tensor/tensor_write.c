/* Writing a tensor file in one pass. */
#include "base/reader.h" /* refuses big-endian hosts */
#include "io/json.h"
#include "io/tensor/tensor_file.h"

#include <stdlib.h>
#include <string.h>
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
