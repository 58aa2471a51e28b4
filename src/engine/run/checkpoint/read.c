/* Going on from a checkpoint. All of the file is checked before the trainer changes; then it is read a second time, in
 * pieces, into the trainer's storage. */
#include "run/checkpoint/convert.h"
#include "run/checkpoint/header.h"
#include "run/checkpoint/options.h"
#include "run/checkpoint/torch.h"

#include "train/parts/bound_rows.h"
#include "train/parts/part.h"
#include "train/ranks/shards.h"
#include "train/schedule.h"
#include "train/start.h"

#include <stdlib.h>
#include <string.h>

/* State shared by the steps of a load. */
typedef struct load {
    splat_trainer *t;
    const splat_tensor_reader *file;
    const splat_checkpoint_state *state;
    float constant;       /* of the regularizer */
    uint32_t *buffers[3]; /* SPLAT_PIECE_ROWS rows each, one after the other */
} load;

#define BUFFER_WORDS ((size_t)SPLAT_PIECE_ROWS * SPLAT_MAX_ROW_WORDS)

/* ---------------------------------------------------------------- what must be in the file */

/* Arrays of a strategy or a regularizer; cached ones may be empty. */
static void add_extra(splat_state_array *list, int *n, const splat_extra_rows *extra, const splat_tensor_reader *r,
                      uint32_t n_rows)
{
    for (int i = 0; i < extra->n_arrays; i++) {
        const splat_extra_array *array = &extra->arrays[i];
        const splat_tensor_entry *found = splat_tensor_reader_find(r, array->name);
        bool is_empty = array->life == SPLAT_ROWS_CACHED && found && found->rows == 0;
        if (array->life != SPLAT_ROWS_SCRATCH)
            list[(*n)++] = (splat_state_array){.name = array->name,
                                               .type = array->is_index ? "U32" : "F32",
                                               .rows = is_empty ? 0 : n_rows,
                                               .words = array->words};
    }
}

/* Rows of the binding's arrays: those of the file, which must fit together. */
static void bound_rows(const splat_binding *binding, const splat_tensor_reader *r, uint32_t *rows)
{
    for (int i = 0; binding && i < binding->n_arrays; i++) {
        const splat_tensor_entry *found = splat_tensor_reader_find(r, binding->arrays[i].name);
        rows[i] = found && !binding->arrays[i].is_derived ? found->rows : 0;
    }
}

static splat_status add_bound(const splat_trainer *t, splat_state_array *list, int *n, const splat_tensor_reader *r,
                              uint32_t n_gaussians, splat_error *error)
{
    const splat_binding *binding = t->options.binding;
    uint32_t rows[SPLAT_MAX_BOUND_ARRAYS];
    splat_error reason;
    if (!binding) return SPLAT_OK;
    bound_rows(binding, r, rows);
    if (binding->check(&t->options, n_gaussians, rows, &reason) != SPLAT_OK)
        return splat_fail_at(error, SPLAT_ERROR_ARGUMENT, r->path, SPLAT_NO_OFFSET, "%s", reason.message);
    splat_state_arrays_add_bound(list, n, binding, rows, NULL);
    return SPLAT_OK;
}

/* n_statistics: their rows. */
static int expected_arrays(const splat_trainer *t, const splat_checkpoint_state *s, uint32_t n_statistics,
                           splat_state_array *list)
{
    const splat_tensor_table *tensors = t->model->tensors;
    int n = 0;
    splat_row_blocks parameters = {.n_arrays = 0}, moments[2] = {{.n_arrays = 0}}, statistics = {.n_arrays = 0};
    splat_row_blocks_describe_parameters(&parameters, tensors, s->sh_degree, s->sh_storage, SPLAT_ON_DEVICE);
    splat_row_blocks_describe_moments(moments, tensors, splat_bound_follows(&t->options), s->sh_degree,
                                      s->optimizer_storage, SPLAT_ON_DEVICE);
    splat_statistics_describe(&statistics);
    splat_state_arrays_add(list, &n, &parameters, s->n);
    for (int i = 0; i < 2; i++) splat_state_arrays_add(list, &n, &moments[i], s->n);
    splat_state_arrays_add(list, &n, &statistics, n_statistics);
    splat_parts_state_arrays(t, list, &n);
    return n;
}

static splat_status check_tensors(const splat_trainer *t, const splat_tensor_reader *r,
                                  const splat_checkpoint_state *state, splat_error *error)
{
    splat_state_array expected[SPLAT_MAX_STATE_ARRAYS];
    const splat_tensor_entry *grad = splat_tensor_reader_find(r, splat_statistics_names[0]);
    int n = expected_arrays(t, state, grad && grad->rows ? state->n : 0, expected);
    add_extra(expected, &n, &t->strategy_rows, r, state->n);
    add_extra(expected, &n, &t->regularizer_rows, r, state->n);
    SPLAT_TRY(add_bound(t, expected, &n, r, state->n, error));
    if (r->n != (size_t)n)
        return splat_tensor_reader_damaged(r, SPLAT_TENSOR_FILE_HEAD, "a tensor is missing, or one too many", error);
    for (int i = 0; i < n; i++) {
        const splat_tensor_entry *e = splat_tensor_reader_find(r, expected[i].name);
        char what[96];
        snprintf(what, sizeof what, "tensor %.31s is missing or has another shape", expected[i].name);
        if (!e || strcmp(e->type, expected[i].type) != 0 || e->rows != expected[i].rows ||
            e->words != expected[i].words)
            return splat_tensor_reader_damaged(r, SPLAT_TENSOR_FILE_HEAD, what, error);
    }
    for (size_t i = 0; i < r->n; i++) SPLAT_TRY(splat_tensor_reader_check(r, &r->entries[i], error));
    return SPLAT_OK;
}

/* ---------------------------------------------------------------- taking */

static const splat_tensor_entry *find_entry(const load *l, const char *name)
{
    return splat_tensor_reader_find(l->file, name);
}

/* A piece of rows from the file. */
static splat_status read_rows(const load *l, const char *name, uint32_t first, uint32_t n, void *rows,
                              splat_error *error)
{
    const splat_tensor_entry *e = find_entry(l, name);
    size_t row = 4 * (size_t)e->words;
    return splat_tensor_reader_read(l->file, e, first * row, rows, n * row, error);
}

/* The same storage on both sides. */
static splat_status take_as_it_is(const load *l, const char *name, uint32_t first, uint32_t n, splat_error *error)
{
    SPLAT_TRY(read_rows(l, name, first, n, l->buffers[0], error));
    return splat_checkpoint_put(l->t, name, first, n, l->buffers[0], error);
}

static splat_status take_rest(const load *l, const splat_tensor_row *row, uint32_t first, uint32_t n,
                              splat_error *error)
{
    const char *name = row->name;
    uint32_t from = splat_tensor_row_channels(row, l->state->sh_degree);
    float *values = (float *)l->buffers[1];
    if (l->state->sh_storage == l->t->options.sh_storage && l->state->sh_degree == l->t->options.sh_degree)
        return take_as_it_is(l, name, first, n, error);
    SPLAT_TRY(read_rows(l, name, first, n, l->buffers[0], error));
    splat_rest_decode(l->buffers[0], l->state->sh_storage, from, n, values);
    return splat_checkpoint_put_rest(l->t, from, first, n, values, l->buffers[2], error);
}

static splat_status take_moments(const load *l, int tensor, uint32_t first, uint32_t n, splat_error *error)
{
    const splat_tensor_row *row = &l->t->model->tensors->rows[tensor];
    const splat_train_options *o = &l->t->options;
    bool quantized = l->state->optimizer_storage == SPLAT_OPTIMIZER_QUANTIZED;
    uint32_t from = splat_tensor_row_channels(row, l->state->sh_degree);
    float *m = (float *)l->buffers[0], *v = (float *)l->buffers[1];
    if (splat_bound_follows(o) >> tensor & 1) return SPLAT_OK; /* there are none */
    if (l->state->optimizer_storage == o->optimizer_storage && from == splat_tensor_row_channels(row, o->sh_degree)) {
        if (quantized) return take_as_it_is(l, row->mv, first, n, error);
        SPLAT_TRY(take_as_it_is(l, row->m, first, n, error));
        return take_as_it_is(l, row->v, first, n, error);
    }
    if (quantized) {
        SPLAT_TRY(read_rows(l, row->mv, first, n, l->buffers[2], error));
        splat_moments_decode(l->buffers[2], row->storage, from, n, m, v);
    } else {
        SPLAT_TRY(read_rows(l, row->m, first, n, m, error));
        SPLAT_TRY(read_rows(l, row->v, first, n, v, error));
    }
    return splat_checkpoint_put_moments(l->t, tensor, from, first, n, m, v, l->buffers[2], error);
}

/* Rows of an array of a strategy or a regularizer. Indices: a file that was made by hand must not lead out of the
 * arrays. */
static splat_status take_extra(const load *l, const splat_extra_array *array, uint32_t first, uint32_t n,
                               splat_error *error)
{
    SPLAT_TRY(read_rows(l, array->name, first, n, l->buffers[0], error));
    for (size_t i = 0; array->is_index && i < (size_t)n * array->words; i++)
        if (l->buffers[0][i] >= l->state->n)
            return splat_tensor_reader_damaged(l->file, find_entry(l, array->name)->offset,
                                               "it names a Gaussian that does not exist", error);
    return splat_checkpoint_put(l->t, array->name, first, n, l->buffers[0], error);
}

static splat_status take_all_extra(const load *l, const splat_extra_rows *extra, uint32_t first, uint32_t n,
                                   splat_error *error)
{
    for (int i = 0; i < extra->n_arrays; i++)
        if (extra->arrays[i].life != SPLAT_ROWS_SCRATCH && splat_extra_rows_count(extra, i, l->state->n))
            SPLAT_TRY(take_extra(l, &extra->arrays[i], first, n, error));
    return SPLAT_OK;
}

/* Reads a piece of an array whose indices `check` found to be in range. */
static splat_status take_bound_piece(const load *l, const char *name, uint32_t first, uint32_t n, uint32_t words,
                                     const uint32_t *below, splat_error *error)
{
    SPLAT_TRY(read_rows(l, name, first, n, l->buffers[0], error));
    for (size_t i = 0; below && i < (size_t)n * words; i++)
        if (l->buffers[0][i] >= *below)
            return splat_tensor_reader_damaged(l->file, find_entry(l, name)->offset, "an index leads out of its array",
                                               error);
    return splat_checkpoint_put(l->t, name, first, n, l->buffers[0], error);
}

/* The binding's arrays, whose rows are their own. */
static splat_status take_bound(const load *l, splat_error *error)
{
    const splat_binding *binding = l->t->options.binding;
    uint32_t rows[SPLAT_MAX_BOUND_ARRAYS];
    if (!binding) return SPLAT_OK;
    bound_rows(binding, l->file, rows);
    SPLAT_TRY(splat_bound_resize(l->t, rows, error));
    for (int i = 0; i < binding->n_arrays; i++) {
        const splat_bound_array *array = &binding->arrays[i];
        const uint32_t *below = array->is_index ? &rows[array->index_of] : NULL;
        for (uint32_t at = 0; at < rows[i]; at += SPLAT_PIECE_ROWS) {
            uint32_t n = rows[i] - at < SPLAT_PIECE_ROWS ? rows[i] - at : SPLAT_PIECE_ROWS;
            SPLAT_TRY(take_bound_piece(l, array->name, at, n, array->words, below, error));
            if (!array->m) continue;
            SPLAT_TRY(take_bound_piece(l, array->m, at, n, array->words, NULL, error));
            SPLAT_TRY(take_bound_piece(l, array->v, at, n, array->words, NULL, error));
        }
    }
    return binding->restored ? binding->restored(l->t, error) : SPLAT_OK;
}

/* Arrays and steps of the parts of the step (train/parts/part.h). */
static splat_status take_parts(const load *l, splat_error *error)
{
    splat_state_array arrays[SPLAT_MAX_STATE_ARRAYS];
    int n = 0;
    splat_parts_state_arrays(l->t, arrays, &n);
    for (int i = 0; i < n; i++)
        for (uint32_t at = 0, count; at < arrays[i].rows; at += count) {
            count = arrays[i].rows - at < SPLAT_PIECE_ROWS ? arrays[i].rows - at : SPLAT_PIECE_ROWS;
            SPLAT_TRY(take_as_it_is(l, arrays[i].name, at, count, error));
        }
    for (int i = 0; i < splat_n_parts; i++)
        if (splat_parts[i]->steps && splat_parts[i]->is_on(l->t))
            *splat_parts[i]->steps(l->t) = l->state->part_steps[i];
    return splat_parts_restored(l->t, error);
}

/* True if the file has rows of the cached arrays. */
static bool has_cached(const splat_extra_rows *extra, const splat_tensor_reader *file)
{
    for (int i = 0; i < extra->n_arrays; i++)
        if (extra->arrays[i].life == SPLAT_ROWS_CACHED && splat_tensor_reader_find(file, extra->arrays[i].name)->rows)
            return true;
    return false;
}

/* Statistics count only where density control is still to come on both sides; elsewhere nothing will look at them, or
 * they begin at zero, as they do after each density control. */
static splat_status take_rows(const load *l, uint32_t first, uint32_t n, splat_error *error)
{
    bool statistics = l->t->n_statistics > 0 && find_entry(l, splat_statistics_names[0])->rows > 0;
    const splat_tensor_table *tensors = l->t->model->tensors;
    for (int i = 0; i < tensors->n; i++) {
        const splat_tensor_row *row = &tensors->rows[i];
        if (row->storage == SPLAT_STORED_HARMONICS)
            SPLAT_TRY(take_rest(l, row, first, n, error));
        else
            SPLAT_TRY(take_as_it_is(l, row->name, first, n, error));
        SPLAT_TRY(take_moments(l, i, first, n, error));
    }
    SPLAT_TRY(take_as_it_is(l, "filter_3d", first, n, error));
    SPLAT_TRY(take_all_extra(l, &l->t->strategy_rows, first, n, error));
    SPLAT_TRY(take_all_extra(l, &l->t->regularizer_rows, first, n, error));
    for (int i = 0; i < SPLAT_N_STATISTICS && statistics; i++)
        SPLAT_TRY(take_as_it_is(l, splat_statistics_names[i], first, n, error));
    return SPLAT_OK;
}

static splat_status take(load *l, splat_error *error)
{
    splat_trainer *t = l->t;
    uint32_t n = l->state->n;
    const splat_beginning beginning = {.n = n,
                                       .iteration = l->state->iteration,
                                       .strategy_cached = has_cached(&t->strategy_rows, l->file),
                                       .regularizer_cached = has_cached(&t->regularizer_rows, l->file),
                                       .given_up = l->state->given_up,
                                       .overhead = l->state->overhead};
    l->buffers[0] = malloc(3 * BUFFER_WORDS * sizeof(uint32_t));
    if (!l->buffers[0]) return splat_fail(error, SPLAT_ERROR_MEMORY, "no memory to read a checkpoint");
    for (int i = 1; i < 3; i++) l->buffers[i] = l->buffers[i - 1] + BUFFER_WORDS;
    splat_status status = splat_trainer_begin_rows(t, &beginning, error);
    t->is_broken |= status == SPLAT_OK; /* until all is read: memory or the disk may still fail */
    for (uint32_t at = 0; at < n && status == SPLAT_OK; at += SPLAT_PIECE_ROWS)
        status = take_rows(l, at, n - at < SPLAT_PIECE_ROWS ? n - at : SPLAT_PIECE_ROWS, error);
    if (status == SPLAT_OK) status = take_bound(l, error);
    if (status == SPLAT_OK) status = take_parts(l, error);
    /* A splat that is trained on is rendered as it asks for; the first stage renders as its options do. */
    if (status == SPLAT_OK && splat_schedule_continues_splat(&t->options))
        status = splat_model_set_render_mode(t->model, l->state->render_mode, l->state->kernel_size, error);
    if (status == SPLAT_OK) {
        t->regularizer_constant = l->constant; /* which all ranks hear with the beginning */
        status = splat_trainer_begin_at(t, l->state->iteration, l->state->density_control_done, l->state->adam_steps,
                                        error);
    }
    free(l->buffers[0]);
    return status;
}

static splat_status load_file(splat_trainer *t, const char *path, splat_error *error)
{
    splat_tensor_reader file;
    splat_checkpoint_state state;
    float constant = 0;
    SPLAT_TRY(splat_tensor_reader_open(&file, path, error));
    splat_status status = splat_checkpoint_read_state(&file, &state, error);
    if (status == SPLAT_OK) status = splat_checkpoint_check_run(t, &file, &state, error);
    if (status == SPLAT_OK) status = splat_checkpoint_read_constant(t, &file, &constant, error);
    if (status == SPLAT_OK) status = check_tensors(t, &file, &state, error);
    if (status == SPLAT_OK) {
        load l = {.t = t, .file = &file, .state = &state, .constant = constant};
        status = take(&l, error);
    }
    if (status == SPLAT_OK) splat_checkpoint_tell_changes(t, file.header); /* not earlier: it may change storages */
    splat_tensor_reader_close(&file);
    return status;
}

splat_status splat_trainer_load_checkpoint(splat_trainer *t, const char *path, splat_error *error)
{
    if (splat_checkpoint_is_torch(path)) return splat_checkpoint_load_torch(t, path, error);
    return load_file(t, path, error);
}
