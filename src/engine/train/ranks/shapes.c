/* Shapes to all ranks, and what is asked of them back to those who have them. Rows of a rank go as four arrays, one
 * after the other: its means, scales, rotations and opacities. */
#include "train/ranks/shapes.h"

#include "distributed/device_exchange.h"
#include "ops/share/share.h"
#include "train/parts/regularizer.h"
#include "train/ranks/shards.h"

/* In the order of SPLAT_SHAPES_*. */
static const uint32_t shape_words[SPLAT_N_SHAPES] = {3, 3, 4, 1};

typedef struct shape_arrays {
    float *arrays[SPLAT_N_SHAPES];
} shape_arrays;

static shape_arrays arrays_of(const splat_tensors *tensors)
{
    return (shape_arrays){{tensors->means, tensors->scales, tensors->rotations, tensors->opacities}};
}

static splat_tensors tensors_of(const shape_arrays *shapes)
{
    return (splat_tensors){.means = shapes->arrays[SPLAT_SHAPES_MEANS],
                           .scales = shapes->arrays[SPLAT_SHAPES_SCALES],
                           .rotations = shapes->arrays[SPLAT_SHAPES_ROTATIONS],
                           .opacities = shapes->arrays[SPLAT_SHAPES_OPACITIES]};
}

/* The places of the n-row arrays in one packed block. */
static shape_arrays packed_at(float *at, uint32_t n)
{
    shape_arrays packed;
    for (int i = 0; i < SPLAT_N_SHAPES; at += (size_t)n * shape_words[i++]) packed.arrays[i] = at;
    return packed;
}

static size_t shapes_bytes(uint32_t n)
{
    return (size_t)n * SPLAT_SHAPE_FLOATS * sizeof(float);
}

static bool is_copied(const splat_trainer *t)
{
    return splat_shards_are_apart(t) && t->options.regularizer;
}

/* ---------------------------------------------------------------- memory */

void splat_shard_shapes_init(splat_trainer *t)
{
    static const char *const names[SPLAT_N_SHAPES_ARRAYS] = {"ranks.means", "ranks.scales", "ranks.rotations",
                                                             "ranks.opacities", "ranks.filter_3d"};
    splat_shard_shapes *s = &t->shards.shapes;
    const splat_regularizer *regularizer = t->options.regularizer;
    if (!regularizer || !t->shards.comm) return;
    s->rows.owner = SPLAT_OWNER_LISTS;
    for (int i = 0; i < SPLAT_N_SHAPES_ARRAYS; i++)
        splat_row_blocks_add(&s->rows, names[i], SPLAT_TYPE_FLOAT32, i < SPLAT_N_SHAPES ? shape_words[i] : 1);
    splat_extra_rows_init(&s->extra_rows, regularizer->arrays, regularizer->n_arrays);
}

void splat_shard_shapes_free(splat_trainer *t)
{
    splat_shard_shapes *s = &t->shards.shapes;
    splat_row_blocks_free(t->backend, &s->rows);
    splat_extra_rows_free(&s->extra_rows, t->backend);
    splat_block_free(t->backend, &s->out);
    splat_block_free(t->backend, &s->in);
}

/* For n Gaussians, and for their rows on the way: those of each view may be as many as rank 0 has. */
static splat_status make_room(splat_trainer *t, uint32_t n, splat_error *error)
{
    splat_shard_shapes *s = &t->shards.shapes;
    splat_row_blocks *scratch = &s->extra_rows.rows[SPLAT_ROWS_SCRATCH];
    const size_t bytes = shapes_bytes(n + (uint32_t)t->shards.comm->size);
    SPLAT_TRY(splat_block_ensure(t->backend, &s->out, "ranks.shapes_out", SPLAT_OWNER_LISTS, bytes, error));
    SPLAT_TRY(splat_block_ensure(t->backend, &s->in, "ranks.shapes_in", SPLAT_OWNER_LISTS, bytes, error));
    if (n == s->n) return SPLAT_OK;
    SPLAT_TRY(splat_extra_rows_cache(&s->extra_rows, t->backend, 0, error));
    SPLAT_TRY(splat_row_blocks_resize(t->backend, &s->rows, s->n, n, error));
    splat_status status = splat_row_blocks_resize(t->backend, scratch, s->n, n, error);
    if (status == SPLAT_OK)
        s->n = n;
    else
        splat_row_blocks_resize(t->backend, &s->rows, n, s->n, NULL);
    return status;
}

/* ---------------------------------------------------------------- rows between ranks */

/* n rows between an array of all Gaussians, where they are those of a rank, and one where they lie side by side. */
static splat_status spread(splat_trainer *t, void *all, int rank, void *side_by_side, uint32_t n, uint32_t words,
                           bool to_all, splat_error *error)
{
    const size_t first = (size_t)rank, stride = (size_t)t->shards.comm->size;
    const struct splat_share_rows_args args = {.to = to_all ? all : side_by_side,
                                               .from = to_all ? side_by_side : all,
                                               .to_first = to_all ? first : 0,
                                               .to_stride = to_all ? stride : 1,
                                               .from_first = to_all ? 0 : first,
                                               .from_stride = to_all ? 1 : stride,
                                               .n = n,
                                               .words = words};
    return splat_op_share_rows(t->backend, &args, error);
}

static uint32_t rows_of(const splat_trainer *t, int rank)
{
    return splat_shard_count(t->shards.n_all, rank, t->shards.comm->size);
}

/* Gathers one array: the own rows, which are contiguous, go to all ranks, and all rows to their places in `all`. in: as
 * large as `all`. */
static splat_status gather_array(splat_trainer *t, void *local, void *all, void *in, uint32_t words, splat_error *error)
{
    splat_comm *comm = t->shards.comm;
    splat_comm_part out[SPLAT_MAX_RANKS], from[SPLAT_MAX_RANKS];
    const size_t row = words * sizeof(uint32_t);
    char *at = in;
    for (int r = 0; r < comm->size; at += rows_of(t, r++) * row) {
        out[r] = (splat_comm_part){local, rows_of(t, comm->rank) * row};
        from[r] = (splat_comm_part){at, rows_of(t, r) * row};
    }
    SPLAT_TRY(splat_device_exchange(comm, t->backend, out, from, error));
    for (int r = 0; r < comm->size; r++)
        SPLAT_TRY(spread(t, all, r, from[r].data, rows_of(t, r), words, true, error));
    return SPLAT_OK;
}

/* The shapes of all Gaussians. */
static splat_status gather_shapes(splat_trainer *t, splat_error *error)
{
    splat_shard_shapes *s = &t->shards.shapes;
    splat_comm *comm = t->shards.comm;
    const uint32_t n_own = t->model->gaussians.n;
    const shape_arrays local = arrays_of(&t->model->gaussians.p), packed = packed_at(s->out.data, n_own);
    splat_comm_part out[SPLAT_MAX_RANKS], in[SPLAT_MAX_RANKS];
    char *at = s->in.data;
    for (int i = 0; i < SPLAT_N_SHAPES; i++)
        SPLAT_TRY(splat_backend_copy(t->backend, packed.arrays[i], local.arrays[i],
                                     n_own * shape_words[i] * sizeof(float), error));
    for (int r = 0; r < comm->size; at += shapes_bytes(rows_of(t, r++))) {
        out[r] = (splat_comm_part){s->out.data, shapes_bytes(n_own)};
        in[r] = (splat_comm_part){at, shapes_bytes(rows_of(t, r))};
    }
    SPLAT_TRY(splat_device_exchange(comm, t->backend, out, in, error));
    for (int r = 0; r < comm->size; r++) {
        const shape_arrays come = packed_at(in[r].data, rows_of(t, r));
        for (int i = 0; i < SPLAT_N_SHAPES; i++)
            SPLAT_TRY(spread(t, s->rows.blocks[i].data, r, come.arrays[i], rows_of(t, r), shape_words[i], true,
                             error));
    }
    return SPLAT_OK;
}

/* Gathers the cached arrays of all Gaussians if each rank has only its rows: after a checkpoint was loaded. */
static splat_status gather_cached(splat_trainer *t, splat_error *error)
{
    splat_extra_rows *local = &t->regularizer_rows, *all = &t->shards.shapes.extra_rows;
    splat_row_blocks *rows = &all->rows[SPLAT_ROWS_CACHED], *own_rows = &local->rows[SPLAT_ROWS_CACHED];
    if (local->n_cached == 0) return splat_extra_rows_cache(all, t->backend, 0, error);
    if (all->n_cached > 0) return SPLAT_OK;
    SPLAT_TRY(splat_extra_rows_cache(all, t->backend, t->shards.n_all, error));
    for (int i = 0; i < rows->n_arrays; i++) {
        const size_t bytes = rows->words[i] * sizeof(uint32_t) * (size_t)t->shards.n_all;
        SPLAT_TRY(splat_block_ensure(t->backend, &t->shards.shapes.in, "ranks.shapes_in", SPLAT_OWNER_LISTS, bytes,
                                     error));
        SPLAT_TRY(gather_array(t, own_rows->blocks[i].data, rows->blocks[i].data, t->shards.shapes.in.data,
                               rows->words[i], error));
    }
    return SPLAT_OK;
}

static splat_status gather(splat_trainer *t, splat_error *error)
{
    SPLAT_TRY(make_room(t, t->shards.n_all, error));
    SPLAT_TRY(gather_cached(t, error));
    return gather_shapes(t, error);
}

/* ---------------------------------------------------------------- what a regularizer works on */

splat_gaussians splat_shapes_gaussians(const splat_trainer *t)
{
    splat_gaussians gaussians = t->model->gaussians; /* without sh_rest */
    gaussians.sh_degree = gaussians.active_sh_degree = 0;
    gaussians.rest_on_host = false;
    if (!is_copied(t)) return gaussians;
    const splat_block *blocks = t->shards.shapes.rows.blocks;
    gaussians = (splat_gaussians){.n = t->shards.shapes.n, .filter_3d = blocks[SPLAT_SHAPES_FILTER].data};
    gaussians.p = (splat_tensors){.means = blocks[SPLAT_SHAPES_MEANS].data,
                                  .sh_dc = blocks[SPLAT_SHAPES_MEANS].data, /* finite numbers that nobody looks at */
                                  .scales = blocks[SPLAT_SHAPES_SCALES].data,
                                  .rotations = blocks[SPLAT_SHAPES_ROTATIONS].data,
                                  .opacities = blocks[SPLAT_SHAPES_OPACITIES].data};
    return gaussians;
}

splat_extra_rows *splat_shapes_extra_rows(splat_trainer *t)
{
    return is_copied(t) ? &t->shards.shapes.extra_rows : &t->regularizer_rows;
}

splat_status splat_shapes_keep_cached(splat_trainer *t, splat_error *error)
{
    splat_extra_rows *local = &t->regularizer_rows;
    const splat_row_blocks *rows = &t->shards.shapes.extra_rows.rows[SPLAT_ROWS_CACHED];
    const uint32_t n = t->model->gaussians.n;
    if (!is_copied(t)) return SPLAT_OK;
    SPLAT_TRY(splat_extra_rows_cache(local, t->backend, n, error));
    for (int i = 0; i < rows->n_arrays; i++)
        SPLAT_TRY(spread(t, rows->blocks[i].data, t->shards.comm->rank, local->rows[SPLAT_ROWS_CACHED].blocks[i].data,
                         n, rows->words[i], false, error));
    return SPLAT_OK;
}

/* ---------------------------------------------------------------- gradients */

/* True if a rank's view is one of a batch, and has such losses. */
static bool sends(const splat_trainer *t, int first, int last, int rank)
{
    return first + rank <= last && t->options.regularizer->has_losses(&t->options, first + rank);
}

/* Each rank's rows of what was found for the own view go to it, and what was found for other views comes. found: NULL:
 * nothing was. */
static splat_status send_gradients(splat_trainer *t, int first, int last, const splat_tensors *found,
                                   splat_error *error)
{
    splat_shard_shapes *s = &t->shards.shapes;
    splat_comm *comm = t->shards.comm;
    splat_comm_part out[SPLAT_MAX_RANKS] = {{0}}, in[SPLAT_MAX_RANKS] = {{0}};
    const shape_arrays all = found ? arrays_of(found) : (shape_arrays){{0}};
    char *from = s->out.data, *to = s->in.data;
    for (int r = 0; r < comm->size; to += in[r++].bytes)
        if (sends(t, first, last, r)) in[r] = (splat_comm_part){to, shapes_bytes(t->model->gaussians.n)};
    for (int r = 0; r < comm->size && found; from += out[r++].bytes) {
        const shape_arrays packed = packed_at((float *)from, rows_of(t, r));
        for (int i = 0; i < SPLAT_N_SHAPES; i++)
            SPLAT_TRY(spread(t, all.arrays[i], r, packed.arrays[i], rows_of(t, r), shape_words[i], false, error));
        out[r] = (splat_comm_part){from, shapes_bytes(rows_of(t, r))};
    }
    return splat_device_exchange(comm, t->backend, out, in, error);
}

splat_status splat_regularize_batch(splat_trainer *t, int first, int last, uint32_t view, splat_error *error)
{
    splat_shard_shapes *s = &t->shards.shapes;
    const splat_regularizer *regularizer = t->options.regularizer;
    const int rank = t->shards.comm->rank;
    splat_tensors found;
    bool any = false, has;
    for (int i = first; regularizer && i <= last; i++) any = any || regularizer->has_losses(&t->options, i);
    s->first = s->last = 0;
    if (!any) return SPLAT_OK;
    SPLAT_TRY(gather(t, error));
    if (regularizer->prepare) SPLAT_TRY(regularizer->prepare(t, first, last, error));
    has = sends(t, first, last, rank);
    if (has) SPLAT_TRY(regularizer->step(t, first + rank, view, &found, &has, error));
    SPLAT_TRY(send_gradients(t, first, last, has ? &found : NULL, error));
    s->first = first;
    s->last = last;
    return SPLAT_OK;
}

bool splat_regularized(const splat_trainer *t, int rank, splat_tensors *gradients)
{
    const splat_shard_shapes *s = &t->shards.shapes;
    const uint32_t n = t->model->gaussians.n;
    float *at = s->in.data;
    if (!s->first || !sends(t, s->first, s->last, rank)) return false;
    for (int r = 0; r < rank; r++) at += sends(t, s->first, s->last, r) ? (size_t)n * SPLAT_SHAPE_FLOATS : 0;
    const shape_arrays come = packed_at(at, n);
    *gradients = tensors_of(&come);
    return true;
}
