/* Named blocks in one list and under one limit, and regions that are handed out piece by piece. */
#include "backend/backend.h"

#include <string.h>

static const struct {
    const char *name;
    splat_element_type type; /* of its blocks, where none is set */
} owners[SPLAT_N_OWNERS] = {
    [SPLAT_OWNER_PARAMETERS] = {"parameters", SPLAT_TYPE_FLOAT32},
    [SPLAT_OWNER_OPTIMIZER] = {"optimizer", SPLAT_TYPE_FLOAT32},
    [SPLAT_OWNER_STATISTICS] = {"statistics", SPLAT_TYPE_FLOAT32},
    [SPLAT_OWNER_TRANSIENTS] = {"transients", SPLAT_TYPE_MIXED},
    [SPLAT_OWNER_LISTS] = {"transients", SPLAT_TYPE_MIXED},
    [SPLAT_OWNER_IMAGES] = {"images", SPLAT_TYPE_UINT8},
    [SPLAT_OWNER_EVALUATION] = {"evaluation", SPLAT_TYPE_MIXED},
    [SPLAT_OWNER_OTHER] = {"other", SPLAT_TYPE_MIXED},
};

const char *splat_owner_name(splat_owner owner)
{
    return (unsigned)owner < SPLAT_N_OWNERS ? owners[owner].name : "other";
}

const char *splat_element_type_name(splat_element_type type)
{
    static const char *const names[SPLAT_N_ELEMENT_TYPES] = {
        [SPLAT_TYPE_FLOAT32] = "float32",         [SPLAT_TYPE_FLOAT16] = "float16",
        [SPLAT_TYPE_QUANTIZED16] = "quantized16", [SPLAT_TYPE_QUANTIZED8] = "quantized8",
        [SPLAT_TYPE_UINT8] = "uint8",             [SPLAT_TYPE_UINT32] = "uint32",
        [SPLAT_TYPE_MIXED] = "mixed"};
    return (unsigned)type < SPLAT_N_ELEMENT_TYPES && names[type] ? names[type] : "mixed";
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

static splat_memory_count *count_of(splat_memory *memory, const splat_block *block)
{
    return block->placement == SPLAT_ON_HOST ? &memory->host : &memory->device;
}

/* True if a block may grow by `more` bytes: only this function keeps the promise of --vram_limit. */
static splat_status allow(splat_memory *memory, const splat_block *block, size_t more, splat_error *error)
{
    if (memory->fail_growth && --memory->fail_growth == 0)
        return splat_fail(error, SPLAT_ERROR_MEMORY, "no memory for block '%s' (%s): a test made it fail", block->name,
                          splat_owner_name(block->owner));
    if (!memory->limit || block->placement == SPLAT_ON_HOST) return SPLAT_OK;
    size_t held = memory->device.reserved, left = memory->limit > held ? memory->limit - held : 0;
    if (more <= left) return SPLAT_OK;
    memory->n_refused++;
    char text[3][32];
    return splat_fail(error, SPLAT_ERROR_MEMORY,
                      "block '%s' (%s) needs %s more and the memory limit leaves %s (%s are held)", block->name,
                      splat_owner_name(block->owner), splat_bytes_format(more, text[0], sizeof text[0]),
                      splat_bytes_format(left, text[1], sizeof text[1]),
                      splat_bytes_format(held, text[2], sizeof text[2]));
}

/* Another block that is only for speed goes back. Whether there was one. */
static bool one_yields(splat_memory *memory, const splat_block *wanted)
{
    for (splat_block *block = memory->blocks; block; block = block->next) {
        if (!block->yield || block == wanted) continue;
        void (*yield)(void *) = block->yield;
        block->yield = NULL; /* asked once */
        yield(block->yield_user);
        return true;
    }
    return false;
}

static splat_status map_allowed(splat_backend *backend, splat_block *block, size_t bytes, size_t reserved,
                                splat_error *error)
{
    if (reserved > block->reserved)
        SPLAT_TRY(allow(&backend->memory, block, reserved - block->reserved, error));
    return backend->functions->map(backend, block, bytes, reserved, error);
}

/* Maps `reserved` bytes for `bytes` in use and keeps the books. */
static splat_status remap(splat_backend *backend, splat_block *block, size_t bytes, size_t reserved, splat_error *error)
{
    splat_memory *memory = &backend->memory;
    splat_memory_count *count = count_of(memory, block);
    size_t old_bytes = block->bytes, old_reserved = block->reserved;
    splat_status status = map_allowed(backend, block, bytes, reserved, error);
    while (status == SPLAT_ERROR_MEMORY && one_yields(memory, block))
        status = map_allowed(backend, block, bytes, reserved, error);
    if (status != SPLAT_OK) return status;
    block->bytes = bytes;
    block->reserved = reserved;
    count->bytes += bytes - old_bytes;
    count->reserved += reserved - old_reserved;
    if (count->reserved > count->peak_reserved) count->peak_reserved = count->reserved;
    if (count->reserved > count->phase_peak) count->phase_peak = count->reserved;
    if (reserved && !old_reserved) link_block(memory, block);
    if (!reserved && old_reserved) unlink_block(memory, block);
    return SPLAT_OK;
}

static size_t round_up(size_t bytes, size_t granularity)
{
    return (bytes + granularity - 1) / granularity * granularity;
}

#define SLACK 8 /* of a block that will grow again, less than this part is not given back where no limit asks for it */

static bool is_kept_mapped(const splat_memory *memory, const splat_block *block, size_t reserved)
{
    if (memory->policy == SPLAT_FRAGMENTATION_MINIMAL) return true;
    if (memory->policy == SPLAT_FRAGMENTATION_AGGRESSIVE || memory->limit || !memory->expects_growth) return false;
    return block->reserved - reserved <= block->reserved / SLACK;
}

splat_status splat_block_resize(splat_backend *backend, splat_block *block, const char *name, splat_owner owner,
                                size_t bytes, splat_error *error)
{
    block->name = name;
    block->owner = owner;
    if (block->type == SPLAT_TYPE_USUAL) block->type = owners[owner].type;
    if (bytes > SIZE_MAX / 4)
        return splat_fail(error, SPLAT_ERROR_MEMORY, "block '%s': %zu bytes are more than memory can hold", name,
                          bytes);
    size_t reserved = round_up(bytes, backend->granularity);
    bool keeps = bytes && reserved < block->reserved && is_kept_mapped(&backend->memory, block, reserved);
    if (keeps) reserved = block->reserved;
    return remap(backend, block, bytes, reserved, error);
}

splat_status splat_block_ensure(splat_backend *backend, splat_block *block, const char *name, splat_owner owner,
                                size_t bytes, splat_error *error)
{
    if (bytes <= block->bytes) return SPLAT_OK;
    return splat_block_resize(backend, block, name, owner, backend->memory.limit ? bytes : bytes + bytes / 8, error);
}

void splat_block_move(splat_backend *backend, splat_block *to, splat_block *from)
{
    bool is_live = from->reserved > 0;
    if (is_live) unlink_block(&backend->memory, from);
    *to = *from;
    memset(from, 0, sizeof *from);
    if (is_live) link_block(&backend->memory, to);
}

void splat_memory_update_limit(splat_backend *backend)
{
    splat_memory *memory = &backend->memory;
    memory->limit = 0;
    if (!memory->process_limit) return; /* the driver is not asked: it takes its time */
    size_t overhead = splat_backend_overhead(backend);
    if (overhead) overhead += SPLAT_LATE_BYTES;
    memory->limit = memory->process_limit > overhead ? memory->process_limit - overhead : 1;
}

void splat_block_free(splat_backend *backend, splat_block *block)
{
    if (block->reserved) remap(backend, block, 0, 0, NULL);
    memset(block, 0, sizeof *block);
}

/* ---------------------------------------------------------------- regions */

#define ALIGNMENT 256
#ifdef SPLATSMITH_RED_ZONES
#define RED_ZONE ((size_t)256)
#else
#define RED_ZONE ((size_t)0)
#endif

/* Every guard byte must be as it was written. */
static splat_status check_zones(splat_backend *backend, const splat_region *region, splat_error *error)
{
    uint8_t found[256], wanted[256];
    memset(wanted, 0xA5, sizeof wanted);
    for (int i = 0; RED_ZONE && i < region->n_cuts; i++) {
        const char *zone = (const char *)region->block.data + region->zones[i].begin;
        SPLAT_TRY(splat_backend_download(backend, found, zone, sizeof found, error));
        if (memcmp(found, wanted, sizeof found) != 0)
            return splat_fail(error, SPLAT_ERROR_INTERNAL, "something wrote past buffer %d of region '%s'", i + 1,
                              region->name);
    }
    return SPLAT_OK;
}

splat_status splat_region_reset(splat_backend *backend, splat_region *region, splat_error *error)
{
    splat_status status = check_zones(backend, region, error);
    region->used = 0;
    region->n_cuts = 0;
    return status;
}

splat_status splat_region_take(splat_backend *backend, splat_region *region, size_t bytes, void **data,
                               splat_error *error)
{
    size_t begin = region->used, end;
    *data = NULL;
    if (bytes > SIZE_MAX / 8)
        return splat_fail(error, SPLAT_ERROR_MEMORY, "region '%s': %zu bytes are more than memory can hold",
                          region->name, bytes);
    end = begin + round_up(bytes ? bytes : 1, ALIGNMENT) + RED_ZONE;
    SPLAT_TRY(splat_block_ensure(backend, &region->block, region->name, SPLAT_OWNER_TRANSIENTS, end, error));
    if (RED_ZONE && region->n_cuts < (int)(sizeof region->zones / sizeof region->zones[0])) {
        uint8_t guard[256];
        memset(guard, 0xA5, sizeof guard);
        region->zones[region->n_cuts++].begin = end - RED_ZONE;
        SPLAT_TRY(splat_backend_upload(backend, (char *)region->block.data + end - RED_ZONE, guard, RED_ZONE, error));
    }
    region->used = end;
    if (end > region->high_water) region->high_water = end;
    *data = (char *)region->block.data + begin;
    return SPLAT_OK;
}

void *splat_region_rest(const splat_region *region, size_t *bytes)
{
    *bytes = region->block.bytes > region->used ? region->block.bytes - region->used : 0;
    return *bytes ? (char *)region->block.data + region->used : NULL;
}

void splat_region_trim(splat_backend *backend, splat_region *region)
{
    static const size_t slack[] = {[SPLAT_FRAGMENTATION_NORMAL] = 3, [SPLAT_FRAGMENTATION_AGGRESSIVE] = SIZE_MAX};
    splat_fragmentation policy = backend->memory.policy;
    size_t wanted = region->high_water > region->used ? region->high_water : region->used;
    if (policy != SPLAT_FRAGMENTATION_MINIMAL && wanted && wanted + wanted / slack[policy] < region->block.bytes)
        splat_block_resize(backend, &region->block, region->name, SPLAT_OWNER_TRANSIENTS, wanted, NULL);
    region->high_water = region->used;
}

void splat_region_release(splat_backend *backend, splat_region *region)
{
    if (region->used < region->block.bytes)
        splat_block_resize(backend, &region->block, region->name, SPLAT_OWNER_TRANSIENTS, region->used, NULL);
    region->high_water = region->used;
}

size_t splat_region_give_back(splat_backend *backend, splat_region *region, size_t keep, size_t wanted)
{
    size_t before = region->block.reserved, granule = backend->granularity;
    size_t least = round_up(region->used > keep ? region->used : keep, granule);
    if (!wanted || before <= least) return 0;
    size_t given = round_up(wanted, granule), most = before - least;
    splat_block_resize(backend, &region->block, region->name, SPLAT_OWNER_TRANSIENTS,
                       before - (given < most ? given : most), NULL);
    return before - region->block.reserved;
}

void splat_region_free(splat_backend *backend, splat_region *region)
{
    splat_block_free(backend, &region->block);
    region->used = region->high_water = 0;
    region->n_cuts = 0;
}

splat_status splat_scratch_reset(splat_backend *backend, splat_error *error)
{
    backend->scratch.name = "scratch";
    return splat_region_reset(backend, &backend->scratch, error);
}

splat_status splat_scratch_take(splat_backend *backend, size_t bytes, void **data, splat_error *error)
{
    return splat_region_take(backend, &backend->scratch, bytes, data, error);
}

splat_status splat_frame_take(splat_backend *backend, splat_frame *frame, size_t bytes, void **data,
                              splat_error *error)
{
    return splat_region_take(backend, &frame->region, bytes, data, error);
}

void splat_frame_free(splat_backend *backend, splat_frame *frame)
{
    splat_region_free(backend, &frame->region);
    memset(frame, 0, sizeof *frame);
}
