/* Memory and bytes of a file that is read: its arena, reads within its bounds, names for messages. */
#include "io/torch/torch_parts.h"

#include "base/checked.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
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

void splat_torch_free_blocks(splat_torch_file *file)
{
    while (file->blocks) {
        splat_torch_block *next = file->blocks->next;
        free(file->blocks);
        file->blocks = next;
    }
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
