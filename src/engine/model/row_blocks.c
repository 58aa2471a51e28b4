/* Arrays with a row for each Gaussian: their description and growth. */
#include "model/row_blocks.h"

void splat_row_blocks_add(splat_row_blocks *rows, const char *name, splat_element_type type, uint32_t words)
{
    int i = rows->n_arrays++;
    rows->names[i] = name;
    rows->words[i] = words;
    rows->blocks[i].type = type;
}

void splat_row_blocks_describe_parameters(splat_row_blocks *rows, const splat_tensor_table *tensors, int sh_degree,
                                          splat_sh_storage storage, splat_placement harmonics)
{
    rows->owner = SPLAT_OWNER_PARAMETERS;
    for (int i = 0; i < tensors->n; i++) {
        const splat_tensor_row *row = &tensors->rows[i];
        bool is_rest = row->storage == SPLAT_STORED_HARMONICS, is_half = is_rest && storage == SPLAT_SH_FLOAT16;
        splat_row_blocks_add(rows, row->name, is_half ? SPLAT_TYPE_FLOAT16 : SPLAT_TYPE_FLOAT32,
                             splat_tensor_row_words(row, sh_degree, storage));
        if (is_rest) rows->blocks[i].placement = harmonics;
    }
    splat_row_blocks_add(rows, "filter_3d", SPLAT_TYPE_FLOAT32, 1);
}

void splat_row_blocks_describe_moments(splat_row_blocks moments[2], const splat_tensor_table *tensors, unsigned without,
                                       int sh_degree, splat_optimizer_storage storage, splat_placement harmonics)
{
    moments[0].owner = moments[1].owner = SPLAT_OWNER_OPTIMIZER;
    for (int i = 0; i < tensors->n; i++) {
        const splat_tensor_row *row = &tensors->rows[i];
        bool is_rest = row->storage == SPLAT_STORED_HARMONICS, has_none = without >> i & 1;
        uint32_t channels = has_none ? 0 : splat_tensor_row_channels(row, sh_degree);
        if (storage == SPLAT_OPTIMIZER_QUANTIZED) {
            splat_row_blocks_add(&moments[0], row->mv, is_rest ? SPLAT_TYPE_QUANTIZED8 : SPLAT_TYPE_QUANTIZED16,
                                 has_none ? 0 : splat_tensor_row_moment_words(row, sh_degree));
        } else {
            splat_row_blocks_add(&moments[0], row->m, SPLAT_TYPE_FLOAT32, channels);
            splat_row_blocks_add(&moments[1], row->v, SPLAT_TYPE_FLOAT32, channels);
        }
        if (is_rest) moments[0].blocks[i].placement = moments[1].blocks[i].placement = harmonics;
    }
}

splat_status splat_row_blocks_resize(splat_backend *backend, splat_row_blocks *rows, uint32_t old_n, uint32_t n,
                                     splat_error *error)
{
    splat_status status = SPLAT_OK;
    int i = 0;
    for (; i < rows->n_arrays && status == SPLAT_OK; i++)
        status = splat_block_resize(backend, &rows->blocks[i], rows->names[i], rows->owner,
                                    (size_t)n * rows->words[i] * sizeof(uint32_t), error);
    if (status != SPLAT_OK) /* the one that failed is unchanged; the ones before it go back */
        for (i -= 2; i >= 0; i--)
            splat_block_resize(backend, &rows->blocks[i], rows->names[i], rows->owner,
                               (size_t)old_n * rows->words[i] * sizeof(uint32_t), NULL);
    return status;
}

size_t splat_row_blocks_row_bytes(const splat_row_blocks *rows)
{
    size_t words = 0;
    for (int i = 0; i < rows->n_arrays; i++) words += rows->words[i];
    return words * sizeof(uint32_t);
}

size_t splat_row_blocks_growth(const splat_backend *backend, const splat_row_blocks *rows, uint32_t n)
{
    size_t granule = backend->granularity, growth = 0;
    for (int i = 0; i < rows->n_arrays; i++) {
        const splat_block *block = &rows->blocks[i];
        size_t bytes = (size_t)n * rows->words[i] * sizeof(uint32_t);
        size_t mapped = (bytes + granule - 1) / granule * granule;
        if (block->placement == SPLAT_ON_DEVICE && mapped > block->reserved) growth += mapped - block->reserved;
    }
    return growth;
}

splat_status splat_row_blocks_place(splat_backend *backend, splat_row_blocks *rows, int array,
                                    splat_placement placement, splat_error *error)
{
    splat_block *block = &rows->blocks[array];
    splat_block moved = {.type = block->type, .placement = placement};
    if (block->placement == placement) return SPLAT_OK;
    if (!block->bytes) {
        block->placement = placement;
        return SPLAT_OK;
    }
    SPLAT_TRY(splat_block_resize(backend, &moved, rows->names[array], rows->owner, block->bytes, error));
    splat_status status = splat_backend_copy(backend, moved.data, block->data, block->bytes, error);
    if (status == SPLAT_OK) status = splat_backend_synchronize(backend, error);
    splat_block_free(backend, status == SPLAT_OK ? block : &moved);
    if (status == SPLAT_OK) splat_block_move(backend, block, &moved);
    return status;
}

void splat_row_blocks_free(splat_backend *backend, splat_row_blocks *rows)
{
    for (int i = 0; i < rows->n_arrays; i++) splat_block_free(backend, &rows->blocks[i]);
}

splat_tensors splat_row_blocks_tensors(const splat_row_blocks *rows)
{
    return (splat_tensors){
#define SPLAT_TENSOR(name, ...) .name = rows->blocks[SPLAT_TENSOR_##name].data,
#include "math/gaussians.def"
#undef SPLAT_TENSOR
    };
}
