/* The arrays of a binding. */
#include "train/parts/bound_rows.h"

#include "train/state.h"

unsigned splat_bound_follows(const splat_train_options *options)
{
    return options->binding ? options->binding->follows : 0;
}

void splat_bound_init(splat_trainer *t)
{
    splat_bound_state *s = &t->bound;
    s->gradients.owner = SPLAT_OWNER_LISTS;
    for (int i = 0; i < SPLAT_N_TENSORS; i++) {
        static const char *const names[SPLAT_N_TENSORS] = {
#define SPLAT_TENSOR(name, ...) "gradients." #name,
#include "math/gaussians.def"
#undef SPLAT_TENSOR
        };
        if (splat_bound_follows(&t->options) >> i & 1)
            splat_row_blocks_add(&s->gradients, names[i], SPLAT_TYPE_FLOAT32,
                                 splat_tensor_channels(i, t->options.sh_degree));
    }
    for (int i = 0; t->options.binding && i < t->options.binding->n_arrays; i++)
        if (t->options.binding->arrays[i].is_index) s->arrays[i].type = SPLAT_TYPE_UINT32;
}

void splat_bound_free(splat_trainer *t)
{
    splat_row_blocks_free(t->backend, &t->bound.gradients);
    for (int i = 0; i < SPLAT_MAX_BOUND_ARRAYS; i++) {
        splat_block_free(t->backend, &t->bound.arrays[i]);
        splat_block_free(t->backend, &t->bound.m[i]);
        splat_block_free(t->backend, &t->bound.v[i]);
    }
}

static splat_status resize_array(splat_trainer *t, int i, uint32_t rows, splat_error *error)
{
    const splat_bound_array *array = &t->options.binding->arrays[i];
    size_t bytes = (size_t)rows * array->words * sizeof(uint32_t);
    splat_owner owner = array->m ? SPLAT_OWNER_PARAMETERS : SPLAT_OWNER_LISTS;
    SPLAT_TRY(splat_block_resize(t->backend, &t->bound.arrays[i], array->name, owner, bytes, error));
    if (!array->m) return SPLAT_OK;
    SPLAT_TRY(splat_block_resize(t->backend, &t->bound.m[i], array->m, SPLAT_OWNER_OPTIMIZER, bytes, error));
    return splat_block_resize(t->backend, &t->bound.v[i], array->v, SPLAT_OWNER_OPTIMIZER, bytes, error);
}

splat_status splat_bound_resize(splat_trainer *t, const uint32_t *rows, splat_error *error)
{
    int n = t->options.binding->n_arrays, done = 0;
    splat_status status = SPLAT_OK;
    for (; done < n && status == SPLAT_OK; done++) status = resize_array(t, done, rows[done], error);
    while (status != SPLAT_OK && done-- > 0) resize_array(t, done, t->bound.rows[done], NULL);
    for (int i = 0; i < n && status == SPLAT_OK; i++) t->bound.rows[i] = rows[i];
    return status;
}

const splat_tensors *splat_bound_gradients(const splat_trainer *t, splat_tensors *gradients)
{
    unsigned follows = splat_bound_follows(&t->options);
    const splat_block *block = t->bound.gradients.blocks;
    *gradients = (splat_tensors){0};
#define SPLAT_TENSOR(name, ...)                                                                                        \
    if (follows >> SPLAT_TENSOR_##name & 1) gradients->name = (block++)->data;
#include "math/gaussians.def"
#undef SPLAT_TENSOR
    return follows ? gradients : NULL;
}

splat_status splat_bound_reserve(splat_trainer *t, splat_error *error)
{
    const splat_binding *binding = t->options.binding;
    void *unused;
    if (!binding || !binding->scratch_bytes) return SPLAT_OK;
    SPLAT_TRY(splat_scratch_reset(t->backend, error));
    return splat_scratch_take(t->backend, binding->scratch_bytes(&t->options, t->model->gaussians.n), &unused, error);
}

size_t splat_bound_blocks(const splat_train_options *o)
{
    const splat_binding *binding = o->binding;
    size_t n = 0;
    for (int i = 0; binding && i < binding->n_arrays; i++) n += binding->arrays[i].m ? 3 : 1;
    for (int i = 0; binding && i < SPLAT_N_TENSORS; i++) n += binding->follows >> i & 1;
    return n;
}

size_t splat_bound_bytes(const splat_train_options *o, size_t n, size_t n_vertices)
{
    const splat_binding *binding = o->binding;
    size_t rows[SPLAT_MAX_BOUND_ARRAYS], words = 0;
    if (!binding) return 0;
    binding->expect(o, n, n_vertices, rows);
    for (int i = 0; i < binding->n_arrays; i++)
        words += rows[i] * binding->arrays[i].words * (binding->arrays[i].m ? 3 : 1);
    for (int i = 0; i < SPLAT_N_TENSORS; i++)
        if (binding->follows >> i & 1) words += n * splat_tensor_channels(i, o->sh_degree);
    return words * sizeof(uint32_t);
}
