/* Inside of checkpoints: what the files checkpoint_*.c share. The format is io/tensor_file.h; docs/files.md tells what
 * the header says. */
#ifndef SPLAT_RUN_CHECKPOINT_H
#define SPLAT_RUN_CHECKPOINT_H

#include "io/tensor/tensor_file.h"
#include "train/state.h"

#define SPLAT_CHECKPOINT_VERSION 2

/* Why a checkpoint was written: those of the interval are deleted when there are two newer ones. */
#define SPLAT_CHECKPOINT_REQUESTED "requested"
#define SPLAT_CHECKPOINT_INTERVAL "interval"
#define SPLAT_CHECKPOINT_STOP "stop"
#define SPLAT_CHECKPOINT_ERROR "error"

/* checkpoint_write.c: splat_trainer_save_checkpoint with a reason. */
splat_status splat_checkpoint_write(splat_trainer *trainer, const char *path, const char *reason, splat_error *error);
/* Whether a file is a checkpoint that was written for this reason (its tensors are not read). */
bool splat_checkpoint_has_reason(const char *path, const char *reason);

/* ---------------------------------------------------------------- checkpoint_header.c */

/* What the header says of the state, read and in range. */
typedef struct splat_checkpoint_state {
    int iteration, sh_degree;
    uint32_t n;
    bool density_control_done; /* that after `iteration`: the step after it was tried and failed */
    int adam_steps[SPLAT_N_TENSORS];
    splat_sh_storage sh_storage;
    splat_optimizer_storage optimizer_storage;
    unsigned given_up;          /* SPLAT_GIVE_UP_*, below a memory limit */
    size_t overhead;            /* of the driver, as that counted for it */
    int part_steps[SPLAT_N_PARTS]; /* that Adam made of a part's parameters; -1: the run was without them */
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

/* What the regularizer of the trainer keeps from its beginning; 0 where the file has none. Errors: FORMAT. */
splat_status splat_checkpoint_read_constant(const splat_trainer *trainer, const splat_tensor_reader *reader,
                                            float *constant, splat_error *error);

/* ---------------------------------------------------------------- checkpoint_torch.c */

/* Whether a file is a chkpntN.pth of the published trainers (a zip; it may still be anything else of torch.save). */
bool splat_checkpoint_is_torch(const char *path);
/* splat_trainer_load_checkpoint for such a file. */
splat_status splat_checkpoint_load_torch(splat_trainer *trainer, const char *path, splat_error *error);

/* ---------------------------------------------------------------- checkpoint_options.c */

/* {"iterations": 30000, ...}: every option of a training, the scene's background among them; NULL when memory is
 * exhausted. */
json_t *splat_train_options_json(const splat_trainer *trainer);
json_t *splat_scene_options_json(const splat_scene_options *options);
/* One notice for each option that is not what the header says. */
void splat_checkpoint_tell_changes(const splat_trainer *trainer, const json_t *header);

/* ---------------------------------------------------------------- put.c */

#define SPLAT_PIECE_ROWS 4096u /* rows converted at a time */
#define SPLAT_MAX_ROW_WORDS 48u /* of a row in any storage */

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

/* ---------------------------------------------------------------- checkpoint_convert.c */

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

#endif
