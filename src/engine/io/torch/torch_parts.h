/* Declarations shared by the files torch_*.c. Internal. */
#ifndef SPLAT_IO_TORCH_PARTS_H
#define SPLAT_IO_TORCH_PARTS_H

#include "io/torch/torch_file.h"

/* Bounds that no real file comes near. They keep a hostile one from costing much more memory or time than its size. */
#define SPLAT_TORCH_MAX_NODES (1u << 20)
#define SPLAT_TORCH_MAX_STORAGES (1u << 16)
#define SPLAT_TORCH_BUCKETS 4096

struct splat_torch_storage {
    const char *key;
    size_t key_size;
    uint32_t hash;
    splat_torch_dtype dtype;
    uint64_t n;       /* elements */
    uint64_t offset;  /* offset of the bytes in the file */
    bool located;     /* offset is known; in a legacy file it is only after the last pickle */
    splat_torch_storage *next;
};

/* An entry of the zip's central directory. */
typedef struct splat_torch_entry {
    const char *name;
    size_t name_size;
    uint64_t size, header; /* header: offset of the local header */
    uint32_t crc;
    bool is_stored, is_encrypted;
} splat_torch_entry;

struct splat_torch_file {
    char *path;
    int descriptor;
    uint64_t size;
    const splat_torch_value *root;
    struct splat_torch_block *blocks;  /* the arena */
    splat_torch_storage *storages[SPLAT_TORCH_BUCKETS];
    size_t n_storages, n_nodes;
    /* zip only */
    splat_torch_entry *entries;        /* sorted by name; NULL in a legacy file */
    size_t n_entries;
    const char *folder;                /* "archive/", before data.pkl */
    size_t folder_size;
    uint64_t n_bytes_located;          /* bytes of all entries that were located */
};

/* A value under construction. The value is the first member, so that a splat_torch_value of this reader is a node. */
typedef struct splat_torch_node {
    splat_torch_value value;
    size_t capacity;          /* room for items or pairs */
    int height;               /* levels of containers below; 0: plain values only */
    bool is_part;             /* already in a container: may not change any more, so no circle can arise */
    int name;                 /* NAME: index into the list of names */
    uint64_t first;           /* STORAGE: where a view begins, in elements */
} splat_torch_node;

/* torch_parts.c: zeroed memory that lives as long as the file; NULL: the error is MEMORY. */
void *splat_torch_allocate(splat_torch_file *file, size_t size, splat_error *error);
/* Gives all of it back. */
void splat_torch_free_blocks(splat_torch_file *file);
/* `items` with room for item n: itself, or a copy of twice the capacity. NULL: the error is MEMORY. */
void *splat_torch_grow(splat_torch_file *file, void *items, size_t *capacity, size_t n, size_t item_size,
                       splat_error *error);
/* FORMAT when the range leaves the file. */
splat_status splat_torch_read_at(const splat_torch_file *file, uint64_t offset, void *out, size_t size,
                                 splat_error *error);
/* For messages: text[size] from a hostile file, without control bytes. Returns text. */
const char *splat_torch_printable(char *text, size_t size, const char *from, size_t from_size);

/* Buffered bytes of the file from position to end. */
typedef struct splat_torch_source {
    const splat_torch_file *file;
    uint64_t position, end;
    uint64_t window_begin;
    size_t window_size;
    uint8_t window[16384];
} splat_torch_source;

splat_status splat_torch_source_read(splat_torch_source *source, void *out, size_t size, splat_error *error);

#endif
