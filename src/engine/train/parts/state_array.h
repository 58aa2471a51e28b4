/* An array of the trainer's state, as a checkpoint holds it. */
#ifndef SPLAT_TRAIN_STATE_ARRAY_H
#define SPLAT_TRAIN_STATE_ARRAY_H

#include <stdbool.h>
#include <stdint.h>

typedef struct splat_state_array {
    const char *name;  /* "means", "adam_m.means", "adam.sh_rest" (quantized), "statistics.grad", ... */
    const char *type;  /* "F32", "F16" (rows padded to whole words), "U32" (quantized moments, indices: words) */
    bool is_index;     /* indices of Gaussians */
    bool is_of_all;    /* not of Gaussians: of several ranks each has all of it */
    uint32_t rows, words; /* words (32 bits) of a row */
    void *device;
} splat_state_array;

#endif
