#include "backend/backend.h"

#include <string.h>

const char *splat_owner_name(splat_owner owner)
{
    static const char *const names[SPLAT_N_OWNERS] = {"parameters", "optimizer",  "statistics", "transients",
                                                      "images",     "evaluation", "other"};
    return (unsigned)owner < SPLAT_N_OWNERS ? names[owner] : "other";
}

static void link_block(splat_memory *memory, splat_block *block)
{
    block->previous = NULL;
    block->next = memory->blocks;
    if (memory->blocks) memory->blocks->previous = block;
    memory->blocks = block;
    memory->n_blocks++;
}

static void unlink_block(splat_memory *memory, splat_block *block)
{
    if (block->previous)
        block->previous->next = block->next;
    else
        memory->blocks = block->next;
    if (block->next) block->next->previous = block->previous;
    block->previous = block->next = NULL;
    memory->n_blocks--;
}

splat_status splat_block_resize(splat_backend *backend, splat_block *block, const char *name, splat_owner owner,
                                size_t bytes, splat_error *error)
{
    splat_memory *memory = &backend->memory;
    bool was_live = block->reserved != 0;
    size_t old_reserved = block->reserved;
    block->name = name;
    block->owner = owner;
    SPLAT_TRY(backend->functions->map(backend, block, bytes, error));
    bool is_live = block->reserved != 0;
    memory->bytes += block->reserved - old_reserved;
    if (memory->bytes > memory->peak_bytes) memory->peak_bytes = memory->bytes;
    if (is_live && !was_live) link_block(memory, block);
    if (!is_live && was_live) unlink_block(memory, block);
    return SPLAT_OK;
}

splat_status splat_block_ensure(splat_backend *backend, splat_block *block, const char *name, splat_owner owner,
                                size_t bytes, splat_error *error)
{
    if (bytes <= block->bytes) return SPLAT_OK;
    return splat_block_resize(backend, block, name, owner, bytes + bytes / 4, error);
}

void splat_block_free(splat_backend *backend, splat_block *block)
{
    if (block->reserved) splat_block_resize(backend, block, block->name, block->owner, 0, NULL);
    memset(block, 0, sizeof *block);
}
