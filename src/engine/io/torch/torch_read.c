/* Opening a file of torch.save: its two containers, the zip and the legacy one. */
#include "io/torch/torch_read.h"

#include "io/torch/torch_names.h"
#include "io/torch/torch_parts.h"
#include "io/torch/torch_pickle.h"
#include "io/torch/torch_values.h"
#include "io/torch/torch_zip.h"

#include "base/file.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* ---------------------------------------------------------------- legacy files
 * pickle(magic), pickle(protocol), pickle(system), pickle(object), pickle(keys of the storages), and for each key in
 * this order: i64 number of elements, the elements. */

#define MAGIC_SIZE 15
static const uint8_t magic[MAGIC_SIZE] = {0x80, 2,    0x8a, 10,   0x6c, 0xfc, 0x9c, 0x46,
                                          0xf9, 0x20, 0x6a, 0xa8, 0x50, 0x19, '.'};

static splat_status locate_storages(splat_torch_file *file, splat_torch_source *source, const splat_torch_value *keys,
                                    splat_error *error)
{
    if (keys->kind != SPLAT_TORCH_LIST)
        return splat_fail_at(error, SPLAT_ERROR_FORMAT, file->path, source->position,
                             "the list of storages is missing");
    size_t n_located = 0;
    for (size_t i = 0; i < keys->n; i++) {
        const splat_torch_value *key = keys->items[i];
        uint64_t at = source->position, n;
        splat_torch_storage *storage =
            key->kind == SPLAT_TORCH_STRING ? splat_torch_storage_find(file, key->text, key->n) : NULL;
        SPLAT_TRY(splat_torch_source_read(source, &n, sizeof n, error));
        if (!storage || storage->located || n != storage->n)
            return splat_fail_at(error, SPLAT_ERROR_FORMAT, file->path, at,
                                 "storage %zu is not the one that the tensors name: the file is damaged", i);
        /* n came with a bound on its bytes when the storage was named */
        uint64_t bytes = n * splat_torch_dtype_size(storage->dtype);
        if (bytes > source->end - source->position)
            return splat_fail_at(error, SPLAT_ERROR_FORMAT, file->path, at,
                                 "storage %zu ends early: the file is truncated", i);
        storage->offset = source->position;
        storage->located = true;
        source->position += bytes;
        n_located++;
    }
    if (n_located != file->n_storages)
        return splat_fail_at(error, SPLAT_ERROR_FORMAT, file->path, source->position,
                             "%zu storages that tensors need are missing", file->n_storages - n_located);
    return SPLAT_OK;
}

static splat_status read_legacy(splat_torch_file *file, splat_error *error)
{
    splat_torch_source source = {.file = file, .position = MAGIC_SIZE, .end = file->size};
    const splat_torch_value *protocol, *system, *keys;
    SPLAT_TRY(splat_torch_pickle_read(file, &source, &protocol, error));
    SPLAT_TRY(splat_torch_pickle_read(file, &source, &system, error));
    if (protocol->kind != SPLAT_TORCH_INT || protocol->integer != 1001)
        return splat_fail_at(error, SPLAT_ERROR_UNSUPPORTED, file->path, MAGIC_SIZE,
                             "the protocol of this file is not 1001; save it again with PyTorch 1.6 or later");
    const splat_torch_value *little = splat_torch_get(system, "little_endian");
    if (!little || little->kind != SPLAT_TORCH_BOOL || !little->boolean)
        return splat_fail_at(error, SPLAT_ERROR_UNSUPPORTED, file->path, MAGIC_SIZE,
                             "the file does not say that it is little-endian; save it again on such a machine");
    SPLAT_TRY(splat_torch_pickle_read(file, &source, &file->root, error));
    SPLAT_TRY(splat_torch_pickle_read(file, &source, &keys, error));
    return locate_storages(file, &source, keys, error);
}

/* ---------------------------------------------------------------- zip files */

static splat_status read_zip(splat_torch_file *file, splat_error *error)
{
    SPLAT_TRY(splat_torch_zip_open(file, error));
    const splat_torch_entry *order = splat_torch_zip_find(file, "byteorder", 9);
    const splat_torch_entry *pickle = splat_torch_zip_find(file, "data.pkl", 8);
    uint64_t offset;
    if (order) {
        char text[8] = {0};
        SPLAT_TRY(splat_torch_zip_locate(file, order, &offset, error));
        SPLAT_TRY(splat_torch_read_at(file, offset, text, order->size < 7 ? (size_t)order->size : 7, error));
        if (strcmp(text, "little") != 0)
            return splat_fail_at(error, SPLAT_ERROR_UNSUPPORTED, file->path, offset,
                                 "the file is not little-endian; save it again on such a machine");
    }
    SPLAT_TRY(splat_torch_zip_locate(file, pickle, &offset, error));
    splat_torch_source source = {.file = file, .position = offset, .end = offset + pickle->size};
    return splat_torch_pickle_read(file, &source, &file->root, error);
}

/* ---------------------------------------------------------------- open and close */

static splat_status read_container(splat_torch_file *file, splat_error *error)
{
    uint8_t head[262] = {0};
    size_t n = file->size < sizeof head ? (size_t)file->size : sizeof head;
    SPLAT_TRY(splat_torch_read_at(file, 0, head, n, error));
    if (memcmp(head, "PK\3\4", 4) == 0) return read_zip(file, error);
    if (memcmp(head, magic, MAGIC_SIZE) == 0) return read_legacy(file, error);
    bool is_tar = memcmp(head + 257, "ustar", 5) == 0;
    if (is_tar || head[0] == 0x80)
        return splat_fail_at(error, SPLAT_ERROR_UNSUPPORTED, file->path, 0,
                             "this is a %s; load it in Python and write it with torch.save of PyTorch 1.6 or later",
                             is_tar ? "tar file of the first PyTorch" : "pickle, but not of torch.save");
    return splat_fail_at(error, SPLAT_ERROR_FORMAT, file->path, 0, "this is not a file of torch.save");
}

splat_status splat_torch_file_open(const char *path, splat_torch_file **out, splat_error *error)
{
    *out = NULL;
    splat_torch_file *file = calloc(1, sizeof *file);
    if (file) {
        file->descriptor = -1;
        file->path = splat_format("%s", path);
    }
    splat_status status = file && file->path ? splat_file_open(path, &file->descriptor, &file->size, error)
                                             : splat_fail(error, SPLAT_ERROR_MEMORY, "no memory to open %s", path);
    if (status == SPLAT_OK) status = read_container(file, error);
    if (status == SPLAT_OK)
        *out = file;
    else
        splat_torch_file_close(file);
    return status;
}

void splat_torch_file_close(splat_torch_file *file)
{
    if (!file) return;
    splat_torch_free_blocks(file);
    if (file->descriptor >= 0) close(file->descriptor);
    free(file->path);
    free(file);
}

const splat_torch_value *splat_torch_file_root(const splat_torch_file *file)
{
    return file->root;
}

const char *splat_torch_file_path(const splat_torch_file *file)
{
    return file->path;
}
