/* Files of PyTorch's torch.save, read as plain data: nothing in them is executed.
 *
 * Both containers are read: the zip of PyTorch 1.6 and later (stored entries, zip64; checksums are verified), and the
 * stream of pickles before it ("legacy"), which torchvision's older weights still use. The pickle inside is interpreted
 * by a machine that knows only values, containers and a short list of names (tensors, storages, OrderedDict, numpy
 * scalars); any other name is an error that says which. */
#ifndef SPLAT_IO_TORCH_FILE_H
#define SPLAT_IO_TORCH_FILE_H

#include "base/error.h"

#define SPLAT_TORCH_MAX_DIMS 8
#define SPLAT_TORCH_MAX_DEPTH 64 /* most levels of containers in containers */

typedef enum splat_torch_kind {
    SPLAT_TORCH_NONE,
    SPLAT_TORCH_BOOL,
    SPLAT_TORCH_INT,
    SPLAT_TORCH_FLOAT,
    SPLAT_TORCH_STRING, /* UTF-8, or the bytes of a Python 2 str */
    SPLAT_TORCH_BYTES,
    SPLAT_TORCH_LIST,
    SPLAT_TORCH_TUPLE,  /* torch.Size too */
    SPLAT_TORCH_DICT,   /* OrderedDict too; an attribute such as _metadata is dropped */
    SPLAT_TORCH_TENSOR, /* a Parameter too */
    SPLAT_TORCH_STORAGE,
    SPLAT_TORCH_NAME    /* a type that is mentioned, not used: "torch.float32" */
} splat_torch_kind;

typedef enum splat_torch_dtype {
    SPLAT_TORCH_UNTYPED,
    SPLAT_TORCH_F64,
    SPLAT_TORCH_F32,
    SPLAT_TORCH_F16,
    SPLAT_TORCH_BF16,
    SPLAT_TORCH_I64,
    SPLAT_TORCH_I32,
    SPLAT_TORCH_I16,
    SPLAT_TORCH_I8,
    SPLAT_TORCH_U8,
    SPLAT_TORCH_BOOL8
} splat_torch_dtype;

typedef struct splat_torch_storage splat_torch_storage;
typedef struct splat_torch_value splat_torch_value;

/* Element (i, j, ...) is element first + i stride[0] + j stride[1] + ... of its storage; that this stays inside the
 * storage, and that n is not more than the storage has, was checked. */
typedef struct splat_torch_tensor {
    splat_torch_dtype dtype;
    int n_dims;                             /* 0: a scalar */
    uint64_t shape[SPLAT_TORCH_MAX_DIMS];
    uint64_t stride[SPLAT_TORCH_MAX_DIMS];  /* strides, elements */
    uint64_t n;                             /* product of shape */
    uint64_t first;
    const splat_torch_storage *storage;
} splat_torch_tensor;

typedef struct splat_torch_pair {
    const splat_torch_value *key, *value;
} splat_torch_pair;

/* Values may be shared (a value can be an item of two lists), never circular. */
struct splat_torch_value {
    splat_torch_kind kind;
    size_t n;                               /* bytes of text, or items, or pairs */
    union {
        bool boolean;
        int64_t integer;
        double number;
        const char *text;                   /* STRING, BYTES, NAME; a NUL follows */
        const splat_torch_value **items;    /* LIST, TUPLE */
        splat_torch_pair *pairs;            /* DICT */
        const splat_torch_tensor *tensor;
        const splat_torch_storage *storage;
    };
};

typedef struct splat_torch_file splat_torch_file;

#endif
