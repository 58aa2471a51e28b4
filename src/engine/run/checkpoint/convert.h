/* Rows of a checkpoint in another storage or SH degree, and into the arrays of the trainer. */
#ifndef SPLAT_RUN_CONVERT_H
#define SPLAT_RUN_CONVERT_H

#include "io/tensor/tensor_file.h"
#include "train/state.h"

#define SPLAT_PIECE_ROWS 4096u /* rows converted at a time */
#define SPLAT_MAX_ROW_WORDS 48u /* most words of a row in any storage */

/* n rows between float32 and their storage, rounded to nearest. Rows of sh_rest: */
void splat_rest_decode(const void *rows, splat_sh_storage storage, uint32_t channels, uint32_t n, float *values);
void splat_rest_encode(const float *values, splat_sh_storage storage, uint32_t channels, uint32_t n, void *rows);
/* Rows of quantized moments of a tensor. */
void splat_moments_decode(const uint32_t *rows, splat_tensor_storage storage, uint32_t channels, uint32_t n, float *m,
                          float *v);
void splat_moments_encode(const float *m, const float *v, splat_tensor_storage storage, uint32_t channels, uint32_t n,
                          uint32_t *rows);
/* Cuts rows of `from` floats to the first `to`, in place. */
void splat_rows_cut(float *values, uint32_t from, uint32_t to, uint32_t n);

/* Rows [first, first + n) of an array of the whole model, by its name in splat_state_array; `rows` may be written
 * again at once. An array that the trainer lacks, or without words, is passed over. */
splat_status splat_checkpoint_put(splat_trainer *trainer, const char *name, uint32_t first, uint32_t n,
                                  const void *rows, splat_error *error);
/* Rows of a tensor's moments in float32, `from` channels each, into the trainer's storage and SH degree. m and v are
 * overwritten; `words` has room for SPLAT_PIECE_ROWS rows. */
splat_status splat_checkpoint_put_moments(splat_trainer *trainer, int tensor, uint32_t from, uint32_t first,
                                          uint32_t n, float *m, float *v, uint32_t *words, splat_error *error);
/* The same for sh_rest. */
splat_status splat_checkpoint_put_rest(splat_trainer *trainer, uint32_t from, uint32_t first, uint32_t n,
                                       float *values, uint32_t *words, splat_error *error);

#endif
