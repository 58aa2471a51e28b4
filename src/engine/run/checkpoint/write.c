/* Saving a checkpoint: the tensors go to the file in pieces, from wherever their rows are, so that a model of any size
 * needs a few MB of host memory. */
#include "run/checkpoint/write.h"

#include "run/checkpoint/checkpoint.h"
#include "run/checkpoint/header.h"
#include "train/density/strategies.h"

#include "train/ranks/host_rows.h"

#include <stdlib.h>
#include <string.h>

/* Array i of the state, of n rows on all ranks. */
static splat_status write_array(splat_trainer *t, splat_tensor_writer *writer, int i, const splat_tensor_entry *entry,
                                void *piece, splat_error *error)
{
    const size_t row = (size_t)entry->words * 4, fit = row ? SPLAT_TENSOR_FILE_PIECE / row : 0;
    for (uint32_t at = 0; at < entry->rows && row; at += (uint32_t)fit) {
        const uint32_t n = entry->rows - at < fit ? entry->rows - at : (uint32_t)fit;
        SPLAT_TRY(splat_shards_read(t, i, at, n, piece, error));
        SPLAT_TRY(splat_tensor_writer_write(writer, piece, n * row, error));
    }
    return SPLAT_OK;
}

static splat_status write_file(splat_trainer *t, const char *path, json_t *header, void *piece, splat_error *error)
{
    splat_state_array arrays[SPLAT_MAX_STATE_ARRAYS];
    splat_tensor_entry entries[SPLAT_MAX_STATE_ARRAYS];
    splat_tensor_writer writer;
    const bool is_apart = splat_shards_are_apart(t);
    int n = splat_trainer_state_arrays(t, arrays);
    memset(entries, 0, sizeof entries);
    for (int i = 0; i < n; i++) {
        snprintf(entries[i].name, sizeof entries[i].name, "%s", arrays[i].name);
        memcpy(entries[i].type, arrays[i].type, strlen(arrays[i].type) + 1);
        entries[i].rows = arrays[i].rows && is_apart && !arrays[i].is_of_all ? t->shards.n_all : arrays[i].rows;
        entries[i].words = arrays[i].words;
    }
    SPLAT_TRY(splat_tensor_writer_open(&writer, path, header, entries, (size_t)n, error));
    splat_status status = SPLAT_OK;
    for (int i = 0; i < n && status == SPLAT_OK; i++) status = write_array(t, &writer, i, &entries[i], piece, error);
    if (status == SPLAT_OK) return splat_tensor_writer_commit(&writer, error);
    splat_tensor_writer_abort(&writer);
    return status;
}

splat_status splat_checkpoint_write(splat_trainer *t, const char *path, const char *reason, splat_error *error)
{
    if (t->is_broken)
        return splat_fail_at(error, SPLAT_ERROR_UNSUPPORTED, path, SPLAT_NO_OFFSET,
                             "an operation failed halfway, and the state is not one that a run could go on from; use "
                             "an older checkpoint");
    json_t *header = splat_checkpoint_header(t, reason);
    void *piece = malloc(SPLAT_TENSOR_FILE_PIECE);
    splat_status status = header && piece ? write_file(t, path, header, piece, error)
                                          : splat_fail_at(error, SPLAT_ERROR_MEMORY, path, SPLAT_NO_OFFSET,
                                                          "no memory to write a checkpoint");
    free(piece);
    json_decref(header);
    return status;
}

splat_status splat_trainer_save_checkpoint(splat_trainer *t, const char *path, splat_error *error)
{
    return splat_checkpoint_write(t, path, SPLAT_CHECKPOINT_REQUESTED, error);
}

splat_run_begun splat_checkpoint_begun(const char *path)
{
    splat_tensor_reader reader;
    splat_run_begun begun = {0};
    if (splat_tensor_reader_open(&reader, path, NULL) != SPLAT_OK) return begun;
    const char *name = json_string_value(json_object_get(reader.header, "strategy"));
    begun.strategy = splat_strategy_of_checkpoint(name ? name : "default");
    begun.dense_start = json_is_true(json_object_get(json_object_get(reader.header, "train_options"), "dense_start"));
    for (size_t i = 0; i < reader.n; i++) {
        begun.exposure |= strcmp(reader.entries[i].name, "exposures") == 0;
        begun.dome |= strcmp(reader.entries[i].name, "sky") == 0;
    }
    splat_tensor_reader_close(&reader);
    return begun;
}

bool splat_checkpoint_has_reason(const char *path, const char *reason)
{
    splat_tensor_reader reader;
    if (splat_tensor_reader_open(&reader, path, NULL) != SPLAT_OK) return false;
    const char *text = json_string_value(json_object_get(reader.header, "reason"));
    bool same = text && strcmp(text, reason) == 0;
    splat_tensor_reader_close(&reader);
    return same;
}
