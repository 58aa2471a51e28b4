/* A snapshot of memory: every named block and every host use as plain data, with sums. It reads the backend's own books
 * and never asks the device, so it costs microseconds and waits for nothing. */
#ifndef SPLAT_OBSERVE_MEMORY_PROFILE_H
#define SPLAT_OBSERVE_MEMORY_PROFILE_H

#include "backend/backend.h"
#include "splatsmith/train.h"

/* The purpose of memory. Gradients of the model's size do not exist (the backward pass ends in Adam); those of a view
 * on the screen are activations. */
typedef enum splat_memory_category {
    SPLAT_MEMORY_PARAMETERS = 0,
    SPLAT_MEMORY_GRADIENTS,
    SPLAT_MEMORY_OPTIMIZER,
    SPLAT_MEMORY_STATISTICS,  /* statistics of density control */
    SPLAT_MEMORY_ACTIVATIONS, /* the view in work, and the working memory of the ops */
    SPLAT_MEMORY_IMAGES,
    SPLAT_MEMORY_BUFFERS,
    SPLAT_MEMORY_OTHER,
    SPLAT_N_MEMORY_CATEGORIES
} splat_memory_category;

const char *splat_memory_category_name(splat_memory_category category); /* "parameters" ... */

typedef enum splat_memory_place {
    SPLAT_PLACE_DEVICE = 0, /* what a memory limit is about; the host's memory on the CPU backend */
    SPLAT_PLACE_PINNED,     /* blocks on the host that the device reads */
    SPLAT_PLACE_HOST,       /* photos, staging, files: counted, not in blocks */
    SPLAT_N_PLACES
} splat_memory_place;

const char *splat_memory_place_name(splat_memory_place place);

typedef struct splat_memory_row {
    const char *name, *owner; /* literals */
    splat_memory_category category;
    splat_memory_place place;
    splat_element_type type;
    size_t bytes, reserved;   /* bytes in use, and bytes mapped */
} splat_memory_row;

typedef struct splat_memory_sum {
    size_t n, bytes, reserved;
} splat_memory_sum;

#define SPLAT_LARGE_BLOCK ((size_t)100 << 20) /* blocks with more bytes are "large" in the profiles of the field */

typedef struct splat_memory_snapshot {
    splat_memory_row *rows;  /* largest first, equal ones by name; kept from snapshot to snapshot */
    size_t n_rows, capacity;
    splat_memory_count device, pinned; /* the backend's counters: the rows add up to them exactly */
    splat_memory_sum places[SPLAT_N_PLACES];
    splat_memory_sum categories[SPLAT_N_PLACES][SPLAT_N_MEMORY_CATEGORIES];
    splat_memory_sum types[SPLAT_N_ELEMENT_TYPES]; /* sums on the device by type */
    splat_memory_sum large;
} splat_memory_snapshot;

/* The snapshot is zeroed before the first call and given back by free. Errors: MEMORY. */
splat_status splat_memory_snapshot_take(splat_memory_snapshot *snapshot, const splat_backend *backend,
                                        splat_error *error);
void splat_memory_snapshot_free(splat_memory_snapshot *snapshot);

/* The unused share of the memory reserved on the device. */
double splat_memory_fragmentation_percent(const splat_memory_snapshot *snapshot);

/* Format and version in the first line of a profile. */
#define SPLAT_PROFILE_FORMAT "splatsmith memory profile"
#define SPLAT_PROFILE_VERSION 1

#endif
