/* Going on from a checkpoint. All of the file is checked before the trainer changes; then it is read a second time, in
 * pieces, into the trainer's storage. */
#include "train/checkpoint.h"

#include "math/density.h"
#include "train/schedule.h"

#include <stdlib.h>
#include <string.h>

/* What the steps of a load share. */
typedef struct load {
    splat_trainer *t;
    const splat_tensor_reader *file;
    const splat_checkpoint_state *state;
    uint32_t *buffers[3]; /* SPLAT_PIECE_ROWS rows each, one behind the other */
} load;

#define BUFFER_WORDS ((size_t)SPLAT_PIECE_ROWS * SPLAT_MAX_ROW_WORDS)

/* ---------------------------------------------------------------- what must be in the file */

static void add_expected(splat_tensor_entry *list, size_t *n, const char *prefix, const char *name, const char *type,
                         uint32_t rows, uint32_t words)
{
    splat_tensor_entry *e = &list[(*n)++];
    snprintf(e->name, sizeof e->name, "%s%s", prefix, name);
    memcpy(e->type, type, strlen(type) + 1);
    e->rows = rows;
    e->words = words;
}

/* n_statistics, n_neighbors: their rows; neighbours are those of coarse training. */
static size_t expected_entries(const splat_checkpoint_state *s, uint32_t n_statistics, bool has_neighbors,
                               uint32_t n_neighbors, splat_tensor_entry *list)
{
    size_t n = 0;
    bool half = s->sh_storage == SPLAT_SH_FLOAT16, quantized = s->optimizer_storage == SPLAT_OPTIMIZER_QUANTIZED;
    for (int i = 0; i < SPLAT_N_TENSORS; i++) {
        const char *name = splat_tensor_names[i];
        uint32_t channels = splat_tensor_channels(i, s->sh_degree);
        add_expected(list, &n, "", name, half && i == SPLAT_TENSOR_sh_rest ? "F16" : "F32", s->n,
                     splat_parameter_words(i, s->sh_degree, s->sh_storage));
        if (quantized) {
            add_expected(list, &n, "adam.", name, "U32", s->n, splat_quantized_moment_words(i, s->sh_degree));
        } else {
            add_expected(list, &n, "adam_m.", name, "F32", s->n, channels);
            add_expected(list, &n, "adam_v.", name, "F32", s->n, channels);
        }
    }
    add_expected(list, &n, "", "filter_3d", "F32", s->n, 1);
    add_expected(list, &n, "statistics.", "grad", "F32", n_statistics, 1);
    add_expected(list, &n, "statistics.", "grad_abs", "F32", n_statistics, 1);
    add_expected(list, &n, "statistics.", "count", "F32", n_statistics, 1);
    if (has_neighbors) add_expected(list, &n, "", "neighbors", "U32", n_neighbors, SPLAT_NEIGHBORS);
    return n;
}

static splat_status check_tensors(const splat_tensor_reader *r, const splat_checkpoint_state *state,
                                  splat_error *error)
{
    splat_tensor_entry expected[SPLAT_MAX_STATE_ARRAYS];
    const splat_tensor_entry *grad = splat_tensor_reader_find(r, "statistics.grad");
    const splat_tensor_entry *neighbors = splat_tensor_reader_find(r, "neighbors");
    size_t n = expected_entries(state, grad && grad->rows ? state->n : 0, neighbors != NULL,
                                neighbors && neighbors->rows ? state->n : 0, expected);
    if (r->n != n)
        return splat_tensor_reader_damaged(r, SPLAT_TENSOR_FILE_HEAD, "a tensor is missing, or one too many", error);
    for (size_t i = 0; i < n; i++) {
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

/* ---------------------------------------------------------------- into the trainer's arrays */

splat_status splat_checkpoint_put(const splat_trainer *t, const char *prefix, const char *name, uint32_t first,
                                  uint32_t n, const void *rows, splat_error *error)
{
    const splat_backend_functions *f = t->backend->functions;
    splat_state_array arrays[SPLAT_MAX_STATE_ARRAYS];
    int n_arrays = splat_trainer_state_arrays(t, arrays);
    char full[64];
    snprintf(full, sizeof full, "%s%s", prefix, name);
    for (int i = 0; i < n_arrays; i++) {
        size_t row = 4 * (size_t)arrays[i].words;
        if (strcmp(arrays[i].name, full) != 0 || arrays[i].rows == 0 || row == 0) continue;
        SPLAT_TRY(f->upload(t->backend, (char *)arrays[i].device + first * row, rows, n * row, error));
        return f->synchronize(t->backend, error);
    }
    return SPLAT_OK;
}

splat_status splat_checkpoint_put_rest(const splat_trainer *t, uint32_t from, uint32_t first, uint32_t n, float *values,
                                       uint32_t *words, splat_error *error)
{
    uint32_t to = splat_sh_rest_floats(t->options.sh_degree);
    splat_rows_cut(values, from, to, n);
    splat_rest_encode(values, t->options.sh_storage, to, n, words);
    return splat_checkpoint_put(t, "", splat_tensor_names[SPLAT_TENSOR_sh_rest], first, n, words, error);
}

splat_status splat_checkpoint_put_moments(const splat_trainer *t, int tensor, uint32_t from, uint32_t first, uint32_t n,
                                          float *m, float *v, uint32_t *words, splat_error *error)
{
    const char *name = splat_tensor_names[tensor];
    uint32_t to = splat_tensor_channels(tensor, t->options.sh_degree);
    splat_rows_cut(m, from, to, n);
    splat_rows_cut(v, from, to, n);
    if (t->options.optimizer_storage == SPLAT_OPTIMIZER_QUANTIZED) {
        splat_moments_encode(m, v, tensor, to, n, words);
        return splat_checkpoint_put(t, "adam.", name, first, n, words, error);
    }
    SPLAT_TRY(splat_checkpoint_put(t, "adam_m.", name, first, n, m, error));
    return splat_checkpoint_put(t, "adam_v.", name, first, n, v, error);
}

/* ---------------------------------------------------------------- taking */

static const splat_tensor_entry *find_entry(const load *l, const char *prefix, const char *name)
{
    char full[64];
    snprintf(full, sizeof full, "%s%s", prefix, name);
    return splat_tensor_reader_find(l->file, full);
}

/* A piece of rows from the file. */
static splat_status read_rows(const load *l, const char *prefix, const char *name, uint32_t first, uint32_t n,
                              void *rows, splat_error *error)
{
    const splat_tensor_entry *e = find_entry(l, prefix, name);
    size_t row = 4 * (size_t)e->words;
    return splat_tensor_reader_read(l->file, e, first * row, rows, n * row, error);
}

/* The same storage on both sides. */
static splat_status take_as_it_is(const load *l, const char *prefix, const char *name, uint32_t first, uint32_t n,
                                  splat_error *error)
{
    SPLAT_TRY(read_rows(l, prefix, name, first, n, l->buffers[0], error));
    return splat_checkpoint_put(l->t, prefix, name, first, n, l->buffers[0], error);
}

static splat_status take_rest(const load *l, uint32_t first, uint32_t n, splat_error *error)
{
    const char *name = splat_tensor_names[SPLAT_TENSOR_sh_rest];
    uint32_t from = splat_sh_rest_floats(l->state->sh_degree);
    float *values = (float *)l->buffers[1];
    if (l->state->sh_storage == l->t->options.sh_storage && l->state->sh_degree == l->t->options.sh_degree)
        return take_as_it_is(l, "", name, first, n, error);
    SPLAT_TRY(read_rows(l, "", name, first, n, l->buffers[0], error));
    splat_rest_decode(l->buffers[0], l->state->sh_storage, from, n, values);
    return splat_checkpoint_put_rest(l->t, from, first, n, values, l->buffers[2], error);
}

static splat_status take_moments(const load *l, int tensor, uint32_t first, uint32_t n, splat_error *error)
{
    const char *name = splat_tensor_names[tensor];
    const splat_train_options *o = &l->t->options;
    bool quantized = l->state->optimizer_storage == SPLAT_OPTIMIZER_QUANTIZED;
    uint32_t from = splat_tensor_channels(tensor, l->state->sh_degree);
    float *m = (float *)l->buffers[0], *v = (float *)l->buffers[1];
    if (l->state->optimizer_storage == o->optimizer_storage && from == splat_tensor_channels(tensor, o->sh_degree)) {
        if (quantized) return take_as_it_is(l, "adam.", name, first, n, error);
        SPLAT_TRY(take_as_it_is(l, "adam_m.", name, first, n, error));
        return take_as_it_is(l, "adam_v.", name, first, n, error);
    }
    if (quantized) {
        SPLAT_TRY(read_rows(l, "adam.", name, first, n, l->buffers[2], error));
        splat_moments_decode(l->buffers[2], tensor, from, n, m, v);
    } else {
        SPLAT_TRY(read_rows(l, "adam_m.", name, first, n, m, error));
        SPLAT_TRY(read_rows(l, "adam_v.", name, first, n, v, error));
    }
    return splat_checkpoint_put_moments(l->t, tensor, from, first, n, m, v, l->buffers[2], error);
}

/* Indices of others: a file that was made by hand must not lead out of the arrays. */
static splat_status take_neighbors(const load *l, uint32_t first, uint32_t n, splat_error *error)
{
    SPLAT_TRY(read_rows(l, "", "neighbors", first, n, l->buffers[0], error));
    for (size_t i = 0; i < (size_t)n * SPLAT_NEIGHBORS; i++)
        if (l->buffers[0][i] >= l->state->n)
            return splat_tensor_reader_damaged(l->file, find_entry(l, "", "neighbors")->offset,
                                               "it names a neighbour that there is not", error);
    return splat_checkpoint_put(l->t, "", "neighbors", first, n, l->buffers[0], error);
}

/* Statistics count only where density control is still to come on both sides; elsewhere nothing will look at them, or
 * they begin at zero, as they do after each density control. */
static splat_status take_rows(const load *l, uint32_t first, uint32_t n, splat_error *error)
{
    bool statistics = l->t->n_statistics > 0 && find_entry(l, "statistics.", "grad")->rows > 0;
    for (int i = 0; i < SPLAT_N_TENSORS; i++) {
        if (i == SPLAT_TENSOR_sh_rest)
            SPLAT_TRY(take_rest(l, first, n, error));
        else
            SPLAT_TRY(take_as_it_is(l, "", splat_tensor_names[i], first, n, error));
        SPLAT_TRY(take_moments(l, i, first, n, error));
    }
    SPLAT_TRY(take_as_it_is(l, "", "filter_3d", first, n, error));
    if (l->t->n_neighbors) SPLAT_TRY(take_neighbors(l, first, n, error));
    if (!statistics) return SPLAT_OK;
    SPLAT_TRY(take_as_it_is(l, "statistics.", "grad", first, n, error));
    SPLAT_TRY(take_as_it_is(l, "statistics.", "grad_abs", first, n, error));
    return take_as_it_is(l, "statistics.", "count", first, n, error);
}

void splat_trainer_begin_at(splat_trainer *t, int iteration, bool density_control_done,
                            const int adam_steps[SPLAT_N_TENSORS])
{
    t->iteration = iteration;
    t->controlled = density_control_done ? iteration : -1;
    memcpy(t->adam_steps, adam_steps, sizeof t->adam_steps);
    t->model->gaussians.active_sh_degree = splat_schedule_sh_degree(&t->options, iteration);
    t->n_added = t->n_removed = t->n_refused = 0;
    t->is_broken = false;
    splat_trainer_forget_results(t);
}

static splat_status take(load *l, splat_error *error)
{
    splat_trainer *t = l->t;
    int before = t->iteration;
    uint32_t n = l->state->n;
    l->buffers[0] = malloc(3 * BUFFER_WORDS * sizeof(uint32_t));
    if (!l->buffers[0]) return splat_fail(error, SPLAT_ERROR_MEMORY, "no memory to read a checkpoint");
    for (int i = 1; i < 3; i++) l->buffers[i] = l->buffers[i - 1] + BUFFER_WORDS;
    t->iteration = l->state->iteration; /* whether there are statistics depends on it */
    splat_status status = splat_trainer_resize(t, n, error);
    const splat_tensor_entry *neighbors = splat_tensor_reader_find(l->file, "neighbors");
    if (status == SPLAT_OK)
        t->is_broken = true; /* until all is there: memory or the disk may still fail */
    else
        t->iteration = before;
    if (status == SPLAT_OK && neighbors && neighbors->rows) status = splat_trainer_resize_neighbors(t, n, error);
    for (uint32_t at = 0; at < n && status == SPLAT_OK; at += SPLAT_PIECE_ROWS)
        status = take_rows(l, at, n - at < SPLAT_PIECE_ROWS ? n - at : SPLAT_PIECE_ROWS, error);
    /* Coarse training renders as its splat asks for; the first stage as its options do. */
    if (status == SPLAT_OK && splat_schedule_is_coarse(&t->options))
        status = splat_model_set_render_mode(t->model, l->state->render_mode, l->state->kernel_size, error);
    if (status == SPLAT_OK)
        splat_trainer_begin_at(t, l->state->iteration, l->state->density_control_done, l->state->adam_steps);
    free(l->buffers[0]);
    return status;
}

static splat_status load_file(splat_trainer *t, const char *path, splat_error *error)
{
    splat_tensor_reader file;
    splat_checkpoint_state state;
    SPLAT_TRY(splat_tensor_reader_open(&file, path, error));
    splat_status status = splat_checkpoint_read_state(&file, &state, error);
    if (status == SPLAT_OK) status = splat_checkpoint_check_run(t, &file, &state, error);
    if (status == SPLAT_OK) status = check_tensors(&file, &state, error);
    if (status == SPLAT_OK) {
        load l = {.t = t, .file = &file, .state = &state};
        splat_checkpoint_tell_changes(t, file.header);
        status = take(&l, error);
    }
    splat_tensor_reader_close(&file);
    return status;
}

splat_status splat_trainer_load_checkpoint(splat_trainer *t, const char *path, splat_error *error)
{
    if (splat_checkpoint_is_torch(path)) return splat_checkpoint_load_torch(t, path, error);
    return load_file(t, path, error);
}
