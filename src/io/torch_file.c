/* The file itself: memory, bounded reads, the two containers, and looking values up. */
#include "io/torch_parts.h"

#include "base/checked.h"
#include "base/file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* ---------------------------------------------------------------- the arena */

typedef struct splat_torch_block {
    struct splat_torch_block *next;
    size_t used, capacity;
    _Alignas(16) uint8_t bytes[];
} splat_torch_block;

void *splat_torch_allocate(splat_torch_file *file, size_t size, splat_error *error)
{
    size_t rounded = 0, total = 0;
    if (splat_size_add(size, 15, &rounded)) rounded &= ~(size_t)15;
    splat_torch_block *block = file->blocks;
    if (!block || block->capacity - block->used < rounded || rounded < size) {
        size_t capacity = rounded > 16384 ? rounded : 16384;
        block = rounded >= size && splat_size_add(capacity, sizeof *block, &total) ? calloc(1, total) : NULL;
        if (!block) {
            splat_fail_at(error, SPLAT_ERROR_MEMORY, file->path, SPLAT_NO_OFFSET, "no memory for %zu bytes", size);
            return NULL;
        }
        block->capacity = capacity;
        block->next = file->blocks;
        file->blocks = block;
    }
    void *memory = block->bytes + block->used;
    block->used += rounded;
    return memory;
}

void *splat_torch_grow(splat_torch_file *file, void *items, size_t *capacity, size_t n, size_t item_size,
                       splat_error *error)
{
    if (n < *capacity) return items;
    size_t wanted = 0, bytes = 0;
    if (!splat_size_mul(n < 4 ? 4 : n, 2, &wanted) || !splat_size_mul(wanted, item_size, &bytes)) bytes = SIZE_MAX;
    void *larger = splat_torch_allocate(file, bytes, error);
    if (!larger) return NULL;
    if (*capacity) memcpy(larger, items, *capacity * item_size);
    *capacity = wanted;
    return larger;
}

splat_status splat_torch_node_make(splat_torch_file *file, splat_torch_kind kind, splat_torch_node **node,
                                   splat_error *error)
{
    if (++file->n_nodes > SPLAT_TORCH_MAX_NODES)
        return splat_fail_at(error, SPLAT_ERROR_UNSUPPORTED, file->path, SPLAT_NO_OFFSET,
                             "the file holds more than %u values; save the tensors alone", SPLAT_TORCH_MAX_NODES);
    *node = splat_torch_allocate(file, sizeof **node, error);
    if (!*node) return SPLAT_ERROR_MEMORY;
    (*node)->value.kind = kind;
    return SPLAT_OK;
}

/* ---------------------------------------------------------------- bytes */

splat_status splat_torch_read_at(const splat_torch_file *file, uint64_t offset, void *out, size_t size,
                                 splat_error *error)
{
    if (offset > file->size || size > file->size - offset)
        return splat_fail_at(error, SPLAT_ERROR_FORMAT, file->path, file->size, "the file ends early: it is truncated");
    for (size_t done = 0; done < size;) {
        ssize_t n = pread(file->descriptor, (uint8_t *)out + done, size - done, (off_t)(offset + done));
        if (n < 0 && errno == EINTR) continue;
        if (n < 0) return splat_fail_errno(error, file->path, "read the file");
        if (n == 0)
            return splat_fail_at(error, SPLAT_ERROR_IO, file->path, offset + done,
                                 "the file became shorter while it was read");
        done += (size_t)n;
    }
    return SPLAT_OK;
}

splat_status splat_torch_source_read(splat_torch_source *source, void *out, size_t size, splat_error *error)
{
    if (size > source->end - source->position)
        return splat_fail_at(error, SPLAT_ERROR_FORMAT, source->file->path, source->end,
                             "the pickle ends early: the file is truncated or damaged");
    if (size > sizeof source->window) {
        SPLAT_TRY(splat_torch_read_at(source->file, source->position, out, size, error));
    } else {
        uint64_t begin = source->window_begin;
        if (source->position < begin || source->position - begin + size > source->window_size) {
            uint64_t left = source->end - source->position;
            source->window_size = left < sizeof source->window ? (size_t)left : sizeof source->window;
            source->window_begin = source->position;
            SPLAT_TRY(splat_torch_read_at(source->file, source->position, source->window, source->window_size, error));
        }
        memcpy(out, source->window + (source->position - source->window_begin), size);
    }
    source->position += size;
    return SPLAT_OK;
}

const char *splat_torch_printable(char *text, size_t size, const char *from, size_t from_size)
{
    size_t n = from_size < size ? from_size : size - 1;
    for (size_t i = 0; i < n; i++) text[i] = from[i] >= ' ' && from[i] <= '~' ? from[i] : '?';
    text[n] = '\0';
    return text;
}

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

static splat_status open_descriptor(splat_torch_file *file, splat_error *error)
{
    struct stat status;
    file->descriptor = open(file->path, O_RDONLY | O_CLOEXEC);
    if (file->descriptor < 0) return splat_fail_errno(error, file->path, "open the file");
    if (fstat(file->descriptor, &status) != 0 || !S_ISREG(status.st_mode))
        return splat_fail_at(error, SPLAT_ERROR_IO, file->path, SPLAT_NO_OFFSET, "this is not a regular file");
    file->size = (uint64_t)status.st_size;
    return SPLAT_OK;
}

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
    splat_status status = file && file->path ? open_descriptor(file, error)
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
    while (file->blocks) {
        splat_torch_block *next = file->blocks->next;
        free(file->blocks);
        file->blocks = next;
    }
    if (file->descriptor >= 0) close(file->descriptor);
    free(file->path);
    free(file);
}

/* ---------------------------------------------------------------- looking up */

const splat_torch_value *splat_torch_file_root(const splat_torch_file *file)
{
    return file->root;
}

const char *splat_torch_file_path(const splat_torch_file *file)
{
    return file->path;
}

bool splat_torch_text_is(const splat_torch_value *value, const char *text)
{
    return value && value->kind == SPLAT_TORCH_STRING && value->n == strlen(text) &&
           memcmp(value->text, text, value->n) == 0;
}

/* From the end: when a key was set twice, the later one counts. */
const splat_torch_value *splat_torch_get(const splat_torch_value *dict, const char *key)
{
    if (!dict || dict->kind != SPLAT_TORCH_DICT) return NULL;
    for (size_t i = dict->n; i-- > 0;)
        if (splat_torch_text_is(dict->pairs[i].key, key)) return dict->pairs[i].value;
    return NULL;
}

const splat_torch_value *splat_torch_get_integer(const splat_torch_value *dict, int64_t key)
{
    if (!dict || dict->kind != SPLAT_TORCH_DICT) return NULL;
    for (size_t i = dict->n; i-- > 0;) {
        const splat_torch_value *candidate = dict->pairs[i].key;
        if (candidate->kind == SPLAT_TORCH_INT && candidate->integer == key) return dict->pairs[i].value;
    }
    return NULL;
}

const splat_torch_value *splat_torch_item(const splat_torch_value *list, size_t index)
{
    bool has_items = list && (list->kind == SPLAT_TORCH_LIST || list->kind == SPLAT_TORCH_TUPLE);
    return has_items && index < list->n ? list->items[index] : NULL;
}

const splat_torch_tensor *splat_torch_tensor_of(const splat_torch_value *value)
{
    return value && value->kind == SPLAT_TORCH_TENSOR ? value->tensor : NULL;
}
