/* Rows from the backend's blocks and the host's uses, sorted and summed. */
#include "report/profile/memory_profile.h"

#include <stdlib.h>
#include <string.h>

const char *splat_memory_category_name(splat_memory_category category)
{
    static const char *const names[SPLAT_N_MEMORY_CATEGORIES] = {"parameters",  "gradients", "optimizer", "statistics",
                                                                 "activations", "images",    "buffers",   "other"};
    return (unsigned)category < SPLAT_N_MEMORY_CATEGORIES ? names[category] : "other";
}

const char *splat_memory_place_name(splat_memory_place place)
{
    static const char *const names[SPLAT_N_PLACES] = {"device", "pinned", "host"};
    return (unsigned)place < SPLAT_N_PLACES ? names[place] : "device";
}

/* ---------------------------------------------------------------- what a block is */

/* The regions hold what a view leaves for its backward pass, gradients on the screen among it. An array of gradients as
 * large as the model does not exist: the backward pass ends in Adam. */
static const splat_memory_category category_of_owner[SPLAT_N_OWNERS] = {
    [SPLAT_OWNER_PARAMETERS] = SPLAT_MEMORY_PARAMETERS,  [SPLAT_OWNER_OPTIMIZER] = SPLAT_MEMORY_OPTIMIZER,
    [SPLAT_OWNER_STATISTICS] = SPLAT_MEMORY_STATISTICS,  [SPLAT_OWNER_TRANSIENTS] = SPLAT_MEMORY_ACTIVATIONS,
    [SPLAT_OWNER_LISTS] = SPLAT_MEMORY_BUFFERS,          [SPLAT_OWNER_IMAGES] = SPLAT_MEMORY_IMAGES,
    [SPLAT_OWNER_EVALUATION] = SPLAT_MEMORY_BUFFERS,     [SPLAT_OWNER_OTHER] = SPLAT_MEMORY_OTHER,
};

static splat_memory_row row_of_block(const splat_block *block)
{
    return (splat_memory_row){.name = block->name,
                              .owner = splat_owner_name(block->owner),
                              .category = category_of_owner[block->owner],
                              .place = block->placement == SPLAT_ON_HOST ? SPLAT_PLACE_PINNED : SPLAT_PLACE_DEVICE,
                              .type = block->type,
                              .bytes = block->bytes,
                              .reserved = block->reserved};
}

static splat_memory_row row_of_host_use(splat_host_use use, size_t bytes)
{
    bool photos = use == SPLAT_HOST_PHOTOS;
    return (splat_memory_row){.name = splat_host_use_name(use),
                              .owner = "host",
                              .category = photos ? SPLAT_MEMORY_IMAGES : SPLAT_MEMORY_BUFFERS,
                              .place = SPLAT_PLACE_HOST,
                              .type = photos ? SPLAT_TYPE_UINT8 : SPLAT_TYPE_MIXED,
                              .bytes = bytes,
                              .reserved = bytes};
}

/* ---------------------------------------------------------------- the snapshot */

static int compare_rows(const void *a, const void *b)
{
    const splat_memory_row *x = a, *y = b;
    return x->reserved != y->reserved ? (x->reserved < y->reserved ? 1 : -1) : strcmp(x->name, y->name);
}

static void count(splat_memory_sum *sum, const splat_memory_row *row)
{
    sum->n++;
    sum->bytes += row->bytes;
    sum->reserved += row->reserved;
}

static void sum_up(splat_memory_snapshot *s)
{
    memset(s->places, 0, sizeof s->places);
    memset(s->categories, 0, sizeof s->categories);
    memset(s->types, 0, sizeof s->types);
    memset(&s->large, 0, sizeof s->large);
    for (size_t i = 0; i < s->n_rows; i++) {
        const splat_memory_row *row = &s->rows[i];
        count(&s->places[row->place], row);
        count(&s->categories[row->place][row->category], row);
        if (row->place != SPLAT_PLACE_DEVICE) continue;
        count(&s->types[row->type], row);
        if (row->bytes > SPLAT_LARGE_BLOCK) count(&s->large, row);
    }
}

static splat_status make_room(splat_memory_snapshot *s, size_t n, splat_error *error)
{
    if (n <= s->capacity) return SPLAT_OK;
    splat_memory_row *rows = realloc(s->rows, 2 * n * sizeof *rows);
    if (!rows) return splat_fail(error, SPLAT_ERROR_MEMORY, "no memory for a profile of %zu blocks", n);
    s->rows = rows;
    s->capacity = 2 * n;
    return SPLAT_OK;
}

splat_status splat_memory_snapshot_take(splat_memory_snapshot *s, const splat_backend *backend,
                                        splat_error *error)
{
    const splat_memory *memory = &backend->memory;
    SPLAT_TRY(make_room(s, memory->n_blocks + SPLAT_N_HOST_USES, error));
    s->n_rows = 0;
    for (const splat_block *block = memory->blocks; block; block = block->next)
        s->rows[s->n_rows++] = row_of_block(block);
    for (int i = 0; backend->host_memory && i < SPLAT_N_HOST_USES; i++) {
        size_t bytes = atomic_load(&backend->host_memory->bytes[i]);
        if (bytes) s->rows[s->n_rows++] = row_of_host_use((splat_host_use)i, bytes);
    }
    qsort(s->rows, s->n_rows, sizeof *s->rows, compare_rows);
    s->device = memory->device;
    s->pinned = memory->host;
    sum_up(s);
    return SPLAT_OK;
}

void splat_memory_snapshot_free(splat_memory_snapshot *snapshot)
{
    free(snapshot->rows);
    memset(snapshot, 0, sizeof *snapshot);
}

double splat_memory_fragmentation_percent(const splat_memory_snapshot *snapshot)
{
    const splat_memory_count *device = &snapshot->device;
    return device->reserved ? 100.0 * (double)(device->reserved - device->bytes) / (double)device->reserved : 0;
}
