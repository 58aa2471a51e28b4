/* Arrays of a density strategy or a regularizer, with a row for each Gaussian of the model. They are described as data;
 * the trainer allocates, resizes and checkpoints them. */
#ifndef SPLAT_TRAIN_EXTRA_ROWS_H
#define SPLAT_TRAIN_EXTRA_ROWS_H

#include "model/model.h"
#include "splatsmith/train.h"

typedef enum splat_rows_life {
    SPLAT_ROWS_KEPT = 0,    /* a row for each Gaussian, in checkpoints; row i stays row i, and new rows are zero: who
                               moves Gaussians moves these too */
    SPLAT_ROWS_CACHED = 1,  /* in checkpoints; no rows once the number of Gaussians was set, until their owner fills
                               them again */
    SPLAT_ROWS_SCRATCH = 2, /* a row for each Gaussian, of use within a step only; not in checkpoints */
    SPLAT_N_ROWS_LIVES = 3
} splat_rows_life;

typedef struct splat_extra_array {
    const char *name;  /* in checkpoints and lists of memory */
    uint32_t words;    /* floats of a row; or, */
    bool is_index;     /* uint32_t: indices of Gaussians, which are checked when a checkpoint is read */
    splat_rows_life life;
} splat_extra_array;

#define SPLAT_MAX_EXTRA_ARRAYS SPLAT_MAX_ROW_BLOCKS

/* The arrays of one owner. */
typedef struct splat_extra_rows {
    const splat_extra_array *arrays; /* [n_arrays], borrowed */
    int n_arrays;
    splat_row_blocks rows[SPLAT_N_ROWS_LIVES];
    uint32_t n_cached; /* rows of the cached arrays: those of the model, or 0 */
} splat_extra_rows;

/* Describes the arrays, all empty. At most SPLAT_MAX_EXTRA_ARRAYS. */
void splat_extra_rows_init(splat_extra_rows *extra, const splat_extra_array *arrays, int n_arrays);
void splat_extra_rows_free(splat_extra_rows *extra, splat_backend *backend);
/* Array `index` of the description: device memory, [n][words]. */
void *splat_extra_rows_data(const splat_extra_rows *extra, int index);
/* Rows of array `index`, of a model with n Gaussians. */
uint32_t splat_extra_rows_count(const splat_extra_rows *extra, int index, uint32_t n);
/* Makes the cached arrays n rows long (n: the model's, or 0). On failure (MEMORY) they are as they were. */
splat_status splat_extra_rows_cache(splat_extra_rows *extra, splat_backend *backend, uint32_t n, splat_error *error);

#endif
