/* The header of a checkpoint: everything of a run that is not a tensor. */
#ifndef SPLAT_RUN_HEADER_H
#define SPLAT_RUN_HEADER_H

#include "io/tensor/tensor_file.h"
#include "train/state.h"

/* The state in the header, read and in range. */
typedef struct splat_checkpoint_state {
    int iteration, sh_degree;
    uint32_t n;
    bool density_control_done; /* the density control after `iteration` is done */
    int adam_steps[SPLAT_N_TENSORS];
    splat_sh_storage sh_storage;
    splat_optimizer_storage optimizer_storage;
    unsigned given_up;          /* SPLAT_GIVE_UP_*, below a memory limit */
    size_t overhead;            /* the driver's share, by the driver's count */
    int part_steps[SPLAT_N_PARTS]; /* Adam's steps of each part's parameters; -1: the run lacks the part */
    splat_render_mode render_mode;
    float kernel_size;
} splat_checkpoint_state;

/* The header for the state a trainer is in, without "tensors"; the caller's. NULL when memory is exhausted. */
json_t *splat_checkpoint_header(const splat_trainer *trainer, const char *reason);
/* Errors: FORMAT (the header contradicts itself), UNSUPPORTED (another version). */
splat_status splat_checkpoint_read_state(const splat_tensor_reader *reader, splat_checkpoint_state *state,
                                         splat_error *error);
/* Refuses (ARGUMENT, with the reason) what cannot change between two parts of a run: training views, seed, SH degree
 * upwards. */
splat_status splat_checkpoint_check_run(const splat_trainer *trainer, const splat_tensor_reader *reader,
                                        const splat_checkpoint_state *state, splat_error *error);

/* Reads the constant that the trainer's regularizer keeps from its beginning; 0 if the file has none. Errors:
 * FORMAT. */
splat_status splat_checkpoint_read_constant(const splat_trainer *trainer, const splat_tensor_reader *reader,
                                            float *constant, splat_error *error);

#endif
