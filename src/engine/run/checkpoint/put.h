/* Rows into the trainer's arrays, converted to its storage. */
#ifndef SPLAT_RUN_PUT_H
#define SPLAT_RUN_PUT_H

#include "io/tensor/tensor_file.h"
#include "train/state.h"

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
