/* safetensors: named arrays after a JSON header (github.com/huggingface/safetensors, format description). Eight bytes
 * of header length, the header, the values. Files are hostile: everything in the header is checked against the file
 * before it is used; values are read only when asked for. */
#ifndef SPLAT_IO_SAFETENSORS_H
#define SPLAT_IO_SAFETENSORS_H

#include "base/error.h"

#include <stdio.h>

#define SPLAT_SAFETENSORS_MAX_DIMENSIONS 8

typedef struct splat_safetensor {
    const char *name;  /* the file owns it */
    char type[8];      /* "F32", "F16", "BF16", "F64", ... as the header has it */
    int n_dimensions;
    size_t shape[SPLAT_SAFETENSORS_MAX_DIMENSIONS];
    size_t n_values;   /* the product of the shape */
    uint64_t offset, bytes; /* place of the values in the file */
} splat_safetensor;

typedef struct splat_safetensors {
    splat_safetensor *tensors; /* sorted by the place of their values */
    size_t n;
    char *path;
    FILE *stream;
    void *header;              /* a json_t: the names live in it */
} splat_safetensors;

/* Reads and checks the header. The caller owns *file (splat_safetensors_close). Errors: IO, FORMAT, UNSUPPORTED (a type
 * or a number of dimensions not known here), MEMORY. */
splat_status splat_safetensors_open(const char *path, splat_safetensors *file, splat_error *error);
/* Harmless on a zeroed or closed one. */
void splat_safetensors_close(splat_safetensors *file);
/* NULL when the file has no tensor of this name. */
const splat_safetensor *splat_safetensors_find(const splat_safetensors *file, const char *name);
/* The values as float32, row-major: values[n_values], the caller's memory. F32, F16, BF16 and F64; others are
 * UNSUPPORTED. */
splat_status splat_safetensors_read_f32(const splat_safetensors *file, const splat_safetensor *tensor, float *values,
                                        splat_error *error);

/* A tensor to write: float32. */
typedef struct splat_safetensor_f32 {
    const char *name;
    int n_dimensions;
    size_t shape[SPLAT_SAFETENSORS_MAX_DIMENSIONS];
    const float *values;
} splat_safetensor_f32;

/* Writes n tensors, atomically; `source` (NULL: none) says in the metadata where they come from. Errors: ARGUMENT (a
 * name given twice), IO, MEMORY. */
splat_status splat_safetensors_write(const char *path, const splat_safetensor_f32 *tensors, size_t n,
                                     const char *source, splat_error *error);

#endif
