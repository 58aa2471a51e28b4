/* Arrays in device memory with a row for each Gaussian: parameters, moments, statistics. They are described first (by a
 * table of tensors, or one by one), and grow and shrink together. */
#ifndef SPLAT_MODEL_ROW_BLOCKS_H
#define SPLAT_MODEL_ROW_BLOCKS_H

#include "backend/backend.h"
#include "ops/types.h"

/* One block an array. What is not 32-bit floats is counted in whole words of 32 bits. */
#define SPLAT_MAX_ROW_BLOCKS 8
typedef struct splat_row_blocks {
    splat_owner owner;
    int n_arrays;
    const char *names[SPLAT_MAX_ROW_BLOCKS];
    uint32_t words[SPLAT_MAX_ROW_BLOCKS]; /* 32-bit words of a row; 0: the array is empty */
    splat_block blocks[SPLAT_MAX_ROW_BLOCKS]; /* type and placement are set by the description */
} splat_row_blocks;

/* Adds an array to the description. name: a literal. */
void splat_row_blocks_add(splat_row_blocks *rows, const char *name, splat_element_type type, uint32_t words);
/* Describes the parameters, and filter_3d after them. harmonics: where those are placed. */
void splat_row_blocks_describe_parameters(splat_row_blocks *rows, const splat_tensor_table *tensors, int sh_degree,
                                          splat_sh_storage storage, splat_placement harmonics);
/* Describes Adam's moments: m and v, or both in the first when they are quantized. Tensors of the bits `without`
 * (1 << number) have none: their arrays stay empty. */
void splat_row_blocks_describe_moments(splat_row_blocks moments[2], const splat_tensor_table *tensors, unsigned without,
                                       int sh_degree, splat_optimizer_storage storage, splat_placement harmonics);

/* Makes every array n rows long (old_n before); content is kept, new rows are zero. On failure (MEMORY) all are as
 * before. */
splat_status splat_row_blocks_resize(splat_backend *backend, splat_row_blocks *rows, uint32_t old_n, uint32_t n,
                                     splat_error *error);
/* Bytes of a row, over all arrays. */
size_t splat_row_blocks_row_bytes(const splat_row_blocks *rows);
/* Additional device memory of the arrays when they become n rows long. */
size_t splat_row_blocks_growth(const splat_backend *backend, const splat_row_blocks *rows, uint32_t n);
/* Moves an array to another placement, with its content. On failure (MEMORY, UNSUPPORTED) nothing has changed. */
splat_status splat_row_blocks_place(splat_backend *backend, splat_row_blocks *rows, int array,
                                    splat_placement placement, splat_error *error);
void splat_row_blocks_free(splat_backend *backend, splat_row_blocks *rows);
/* The arrays' data as the tensors of gaussians.def; the first SPLAT_N_TENSORS arrays are these. */
splat_tensors splat_row_blocks_tensors(const splat_row_blocks *rows);

#endif
