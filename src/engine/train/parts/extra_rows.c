/* The blocks of the extra rows, one group a life. */
#include "train/parts/extra_rows.h"

static const splat_owner owners[SPLAT_N_ROWS_LIVES] = {
    [SPLAT_ROWS_KEPT] = SPLAT_OWNER_STATISTICS,
    [SPLAT_ROWS_CACHED] = SPLAT_OWNER_STATISTICS,
    [SPLAT_ROWS_SCRATCH] = SPLAT_OWNER_LISTS,
};

void splat_extra_rows_init(splat_extra_rows *extra, const splat_extra_array *arrays, int n_arrays)
{
    *extra = (splat_extra_rows){.arrays = arrays, .n_arrays = n_arrays};
    for (int life = 0; life < SPLAT_N_ROWS_LIVES; life++) extra->rows[life].owner = owners[life];
    for (int i = 0; i < n_arrays; i++) {
        splat_row_blocks *rows = &extra->rows[arrays[i].life];
        splat_row_blocks_add(rows, arrays[i].name, arrays[i].is_index ? SPLAT_TYPE_UINT32 : SPLAT_TYPE_FLOAT32,
                             arrays[i].words);
    }
}

void splat_extra_rows_free(splat_extra_rows *extra, splat_backend *backend)
{
    for (int life = 0; life < SPLAT_N_ROWS_LIVES; life++) splat_row_blocks_free(backend, &extra->rows[life]);
}

void *splat_extra_rows_data(const splat_extra_rows *extra, int index)
{
    int place = 0; /* among those of its life */
    for (int i = 0; i < index; i++) place += extra->arrays[i].life == extra->arrays[index].life;
    return extra->rows[extra->arrays[index].life].blocks[place].data;
}

uint32_t splat_extra_rows_count(const splat_extra_rows *extra, int index, uint32_t n)
{
    return extra->arrays[index].life == SPLAT_ROWS_CACHED ? extra->n_cached : n;
}

splat_status splat_extra_rows_cache(splat_extra_rows *extra, splat_backend *backend, uint32_t n, splat_error *error)
{
    SPLAT_TRY(splat_row_blocks_resize(backend, &extra->rows[SPLAT_ROWS_CACHED], extra->n_cached, n, error));
    extra->n_cached = n;
    return SPLAT_OK;
}
