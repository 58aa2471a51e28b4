/* The trainer's arrays with a row for each Gaussian: their growth and list; and making and ending a trainer. */
#include "base/options.h"
#include "model/init_points.h"
#include "train/parts/part.h"
#include "train/ranks/way.h"
#include "train/state.h"

#include "ops/filter3d/filter3d.h"
#include "train/schedule.h"
#include "train/density/strategies.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define N_WAITING_EPOCHS 2 /* at the start: in the first nothing is known, in the second all views have grown */

/* ---------------------------------------------------------------- results */

splat_status splat_trainer_regularizer_results(splat_trainer *t, double **results, splat_error *error)
{
    const splat_regularizer *regularizer = t->options.regularizer;
    SPLAT_TRY(splat_block_ensure(t->backend, &t->regularizer_results, regularizer->results_name, SPLAT_OWNER_OTHER,
                                 regularizer->n_results * sizeof(double), error));
    *results = t->regularizer_results.data;
    return SPLAT_OK;
}

splat_status splat_trainer_get_losses(const splat_trainer *t, splat_loss losses[SPLAT_MAX_LOSSES], size_t *n,
                                      splat_error *error)
{
    const splat_regularizer *regularizer = t->options.regularizer;
    double results[SPLAT_MAX_REGULARIZER_RESULTS];
    const void *source = t->regularizer_results.data;
    SPLAT_TRY(splat_parts_get_losses(t, losses, n, error));
    if (!regularizer) return SPLAT_OK;
    if (source)
        SPLAT_TRY(splat_backend_download(t->backend, results, source, regularizer->n_results * sizeof(double), error));
    *n += regularizer->losses(t, source ? results : NULL, losses + *n);
    return SPLAT_OK;
}

/* ---------------------------------------------------------------- growth */

typedef struct resized {
    splat_row_blocks *rows;
    uint32_t old_n, n;
} resized;

/* The model last: when anything is refused, what grew goes back and the model never changed. */
static splat_status resize_all(splat_trainer *t, uint32_t old_n, uint32_t n, uint32_t n_statistics, splat_error *error)
{
    splat_backend *b = t->backend;
    const uint32_t n_deferred = splat_deferral_rows(t, n);
    const resized all[] = {{&t->moment_blocks[0], old_n, n},
                           {&t->moment_blocks[1], old_n, n},
                           {&t->deferral.rows, t->deferral.n_rows, n_deferred},
                           {&t->statistics, t->n_statistics, n_statistics},
                           {&t->bound.gradients, old_n, n},
                           {&t->strategy_rows.rows[SPLAT_ROWS_KEPT], old_n, n},
                           {&t->strategy_rows.rows[SPLAT_ROWS_SCRATCH], old_n, n},
                           {&t->regularizer_rows.rows[SPLAT_ROWS_KEPT], old_n, n},
                           {&t->regularizer_rows.rows[SPLAT_ROWS_SCRATCH], old_n, n}};
    const int n_all = sizeof all / sizeof all[0];
    splat_status status = SPLAT_OK;
    int done = 0;
    for (; done < n_all && status == SPLAT_OK; done++)
        status = splat_row_blocks_resize(b, all[done].rows, all[done].old_n, all[done].n, error);
    if (status == SPLAT_OK)
        status = splat_model_resize(t->model, n, error);
    else
        done--; /* the one that failed is as it was */
    while (status != SPLAT_OK && done-- > 0)
        splat_row_blocks_resize(b, all[done].rows, all[done].n, all[done].old_n, NULL);
    return status == SPLAT_OK ? splat_deferral_refresh(t, n_deferred, error) : status;
}

size_t splat_trainer_growth_bytes(const splat_trainer *t, uint32_t n)
{
    const splat_row_blocks *const all[] = {&t->model->parameters,
                                           &t->moment_blocks[0],
                                           &t->moment_blocks[1],
                                           &t->bound.gradients,
                                           &t->strategy_rows.rows[SPLAT_ROWS_KEPT],
                                           &t->strategy_rows.rows[SPLAT_ROWS_SCRATCH],
                                           &t->regularizer_rows.rows[SPLAT_ROWS_KEPT],
                                           &t->regularizer_rows.rows[SPLAT_ROWS_SCRATCH],
                                           &t->shards.gradients};
    bool counts = t->strategy->wants_statistics(&t->options, t->iteration);
    size_t growth = splat_row_blocks_growth(t->backend, &t->statistics, counts ? n : 0) +
                    splat_row_blocks_growth(t->backend, &t->deferral.rows, splat_deferral_rows(t, n));
    for (size_t i = 0; i < sizeof all / sizeof all[0]; i++) growth += splat_row_blocks_growth(t->backend, all[i], n);
    return growth;
}

/* Working memory, which the next view takes again. */
static void release_work(splat_trainer *t)
{
    splat_region_free(t->backend, &t->model->frame.region);
    splat_region_release(t->backend, &t->backend->scratch);
    splat_batch_release(&t->shards.batch);
}

/* While memory is refused, what is left is given up; where ranks are apart, what one can do by itself. */
static splat_status resize_within(splat_trainer *t, uint32_t n, uint32_t n_statistics, splat_error *error)
{
    bool gave = n > t->model->gaussians.n;
    splat_status status = resize_all(t, t->model->gaussians.n, n, n_statistics, error);
    if (splat_shards_are_apart(t) && t->backend->memory.limit && status == SPLAT_ERROR_MEMORY) {
        release_work(t);
        return resize_all(t, t->model->gaussians.n, n, n_statistics, error);
    }
    gave = gave && !splat_shards_are_apart(t);
    while (status == SPLAT_ERROR_MEMORY && gave) {
        splat_error refused;
        if (splat_give_up_next(t, &gave, &refused) != SPLAT_OK) break;
        if (gave) status = resize_all(t, t->model->gaussians.n, n, n_statistics, error);
    }
    return status;
}

splat_status splat_trainer_resize_state(splat_trainer *t, uint32_t n, bool has_statistics, splat_error *error)
{
    uint32_t n_statistics = has_statistics ? n : 0;
    SPLAT_TRY(splat_rest_cache_resize(t, n, error));
    SPLAT_TRY(resize_within(t, n, n_statistics, error));
    splat_rest_cache_follow(t);
    t->n_statistics = n_statistics;
    SPLAT_TRY(splat_extra_rows_cache(&t->strategy_rows, t->backend, 0, error)); /* unknown now */
    SPLAT_TRY(splat_extra_rows_cache(&t->regularizer_rows, t->backend, 0, error));
    splat_trainer_refresh_moments(t);
    splat_give_up_set_lists(t);
    return SPLAT_OK;
}

splat_status splat_trainer_resize(splat_trainer *t, uint32_t n, splat_error *error)
{
    if (n > t->model->gaussians.n && !splat_shards_are_apart(t)) SPLAT_TRY(splat_give_up_for(t, n, error));
    return splat_trainer_resize_rows(t, n, error);
}

splat_status splat_trainer_zero_statistics(splat_trainer *t, splat_error *error)
{
    for (int i = 0; i < SPLAT_N_STATISTICS && t->n_statistics; i++)
        SPLAT_TRY(splat_backend_zero(t->backend, t->statistics.blocks[i].data, t->n_statistics * sizeof(float),
                                     error));
    return SPLAT_OK;
}

splat_status splat_trainer_resize_rows(splat_trainer *t, uint32_t n, splat_error *error)
{
    SPLAT_TRY(splat_trainer_resize_state(t, n, t->strategy->wants_statistics(&t->options, t->iteration), error));
    return splat_trainer_zero_statistics(t, error);
}

void splat_trainer_drop_statistics(splat_trainer *t, int iteration)
{
    if (t->n_statistics == 0 || t->strategy->wants_statistics(&t->options, iteration)) return;
    splat_row_blocks_resize(t->backend, &t->statistics, t->n_statistics, 0, NULL);
    t->n_statistics = 0;
}

/* ---------------------------------------------------------------- the list */

/* As checkpoints call them; quantized numbers are words. */
static const char *const file_types[SPLAT_N_ELEMENT_TYPES] = {
    [SPLAT_TYPE_FLOAT32] = "F32",    [SPLAT_TYPE_FLOAT16] = "F16", [SPLAT_TYPE_QUANTIZED16] = "U32",
    [SPLAT_TYPE_QUANTIZED8] = "U32", [SPLAT_TYPE_UINT32] = "U32",
};

void splat_state_arrays_add(splat_state_array *arrays, int *n, const splat_row_blocks *rows, uint32_t n_rows)
{
    for (int i = 0; i < rows->n_arrays; i++)
        arrays[(*n)++] = (splat_state_array){.name = rows->names[i],
                                             .type = file_types[rows->blocks[i].type],
                                             .rows = n_rows,
                                             .words = rows->words[i],
                                             .device = rows->blocks[i].data};
}

static void add_extra(splat_state_array *arrays, int *n, const splat_extra_rows *extra, uint32_t n_rows)
{
    for (int i = 0; i < extra->n_arrays; i++) {
        const splat_extra_array *source = &extra->arrays[i];
        if (source->life == SPLAT_ROWS_SCRATCH) continue;
        arrays[(*n)++] =
            (splat_state_array){.name = source->name,
                                .type = source->is_index ? "U32" : "F32",
                                .is_index = source->is_index,
                                .rows = splat_extra_rows_count(extra, i, n_rows),
                                .words = source->words,
                                .device = splat_extra_rows_data(extra, i)};
    }
}

void splat_state_arrays_add_bound(splat_state_array *arrays, int *n, const splat_binding *binding,
                                  const uint32_t *rows, const splat_bound_state *bound)
{
    for (int i = 0; binding && i < binding->n_arrays; i++) {
        const splat_bound_array *source = &binding->arrays[i];
        splat_state_array array = {.name = source->name,
                                   .type = source->is_index ? "U32" : "F32",
                                   .is_index = source->is_index,
                                   .rows = rows[i],
                                   .words = source->words,
                                   .device = bound ? bound->arrays[i].data : NULL};
        if (source->is_derived) continue;
        arrays[(*n)++] = array;
        if (!source->m) continue;
        array.name = source->m;
        array.device = bound ? bound->m[i].data : NULL;
        arrays[(*n)++] = array;
        array.name = source->v;
        array.device = bound ? bound->v[i].data : NULL;
        arrays[(*n)++] = array;
    }
}

int splat_trainer_row_arrays(const splat_trainer *t, splat_state_array arrays[SPLAT_MAX_STATE_ARRAYS])
{
    int n = 0;
    uint32_t rows = t->model->gaussians.n;
    splat_state_arrays_add(arrays, &n, &t->model->parameters, rows);
    for (int i = 0; i < 2; i++) splat_state_arrays_add(arrays, &n, &t->moment_blocks[i], rows);
    splat_state_arrays_add(arrays, &n, &t->statistics, t->n_statistics);
    add_extra(arrays, &n, &t->strategy_rows, rows);
    add_extra(arrays, &n, &t->regularizer_rows, rows);
    return n;
}

int splat_trainer_state_arrays(const splat_trainer *t, splat_state_array arrays[SPLAT_MAX_STATE_ARRAYS])
{
    int n = splat_trainer_row_arrays(t, arrays);
    splat_state_arrays_add_bound(arrays, &n, t->options.binding, t->bound.rows, &t->bound);
    splat_parts_state_arrays(t, arrays, &n);
    return n;
}

/* ---------------------------------------------------------------- making and ending a trainer */

static splat_status trainer_init(splat_trainer *t, splat_error *error)
{
    const splat_dataset *dataset = &t->scene->dataset;
    SPLAT_TRY(splat_train_options_check(&t->options, error));
    SPLAT_TRY(splat_shards_init(t, error));
    if (dataset->n_train == 0)
        return splat_fail(error, SPLAT_ERROR_FORMAT,
                          "the scene has no training views; hold fewer views out for testing");
    t->view_order = malloc(dataset->n_train * sizeof *t->view_order);
    t->hints = calloc(dataset->n_views, sizeof *t->hints);
    t->n_waits = N_WAITING_EPOCHS * dataset->n_train;
    if (!t->view_order || !t->hints)
        return splat_fail(error, SPLAT_ERROR_MEMORY, "no memory for %zu views", dataset->n_views);
    bool sees_neighbors = splat_regularizer_neighbor_bytes(&t->options, 1 << 10) > 0;
    SPLAT_TRY(splat_photo_store_init(&t->photos, t->backend, dataset, t->options.photos_on_host, sees_neighbors,
                                     error));
    SPLAT_TRY(splat_model_create(t->context, t->options.sh_degree, t->options.sh_storage,
                                 splat_place_of_harmonics(&t->options), &t->model, error));
    splat_row_blocks_describe_moments(t->moment_blocks, t->model->tensors, splat_bound_follows(&t->options),
                                      t->options.sh_degree, t->options.optimizer_storage,
                                      splat_place_of_moments(&t->options));
    splat_bound_init(t);
    SPLAT_TRY(splat_parts_init(t, error));
    splat_give_up_init(t);
    splat_statistics_describe(&t->statistics);
    splat_deferral_describe(&t->deferral.rows, splat_deferral_slots(&t->options));
    splat_extra_rows_init(&t->strategy_rows, t->strategy->arrays, t->strategy->n_arrays);
    const splat_regularizer *regularizer = t->options.regularizer;
    if (regularizer) splat_extra_rows_init(&t->regularizer_rows, regularizer->arrays, regularizer->n_arrays);
    splat_shard_shapes_init(t);
    SPLAT_TRY(splat_model_set_render_mode(t->model, SPLAT_RENDER_MIP, t->options.kernel_size, error));
    t->model->has_filter_3d = !splat_schedule_continues_splat(&t->options); /* that of the splat is fused */
    t->model->max_instances = t->options.max_instances;
    t->model->gaussians.active_sh_degree = 0;
    /* What trains a splat on begins with that or with a checkpoint, which may have fewer Gaussians than the scene has
     * points: only what a model cannot be without stands here until then. */
    bool waits = splat_schedule_continues_splat(&t->options);
    splat_first_gaussians first = {.most = waits ? regularizer->least_gaussians : t->options.target_gaussian_count,
                                   .opacity = t->options.init_opacity,
                                   .scale = t->options.init_scale};
    size_t n = first.most && first.most < dataset->n_points ? first.most : dataset->n_points;
    SPLAT_TRY(splat_shards_check_count(t, n, error));
    if (t->shards.comm) { /* each rank makes its rows */
        t->shards.is_whole = false;
        t->shards.n_all = (uint32_t)n;
        splat_shards_rows(t, &first.first_row, &first.row_stride);
    }
    SPLAT_TRY(splat_give_up_for(t, splat_shards_part(t, n), error));
    SPLAT_TRY(splat_model_init_from_points(t->model, dataset->points, dataset->n_points, &first, error));
    SPLAT_TRY(splat_trainer_resize(t, t->model->gaussians.n, error));
    return splat_trainer_update_filter(t, error);
}

splat_status splat_trainer_create(splat_context *context, splat_scene *scene, const splat_train_options *options,
                                  splat_trainer **result, splat_error *error)
{
    *result = NULL;
    splat_train_options own;
    splat_train_options_init(&own);
    SPLAT_TRY(splat_options_take(&own, options, "splat_train_options", error));
    options = &own;
    splat_trainer *t = calloc(1, sizeof *t);
    if (!t) return splat_fail(error, SPLAT_ERROR_MEMORY, "no memory for a trainer");
    t->context = context;
    t->backend = context->backend;
    t->scene = scene;
    t->options = *options;
    t->strategy = splat_strategy_of(options);
    t->way = &splat_way_alone;
    t->last_density_control = -1;
    splat_error refused;
    splat_status status = trainer_init(t, &refused);
    if (status != SPLAT_OK) {
        if (options->ranks) splat_comm_fail(options->ranks, &refused); /* the others wait for this one */
        if (error) *error = refused;
        splat_trainer_destroy(t);
        return status;
    }
    *result = t;
    return SPLAT_OK;
}

void splat_trainer_destroy(splat_trainer *t)
{
    if (!t) return;
    splat_backend *b = t->backend;
    splat_shards_free(t);
    splat_shard_shapes_free(t);
    splat_model_destroy(t->model);
    for (int i = 0; i < 2; i++) splat_row_blocks_free(b, &t->moment_blocks[i]);
    splat_row_blocks_free(b, &t->statistics);
    splat_deferral_free(&t->deferral, b);
    splat_rest_cache_free(t);
    splat_bound_free(t);
    splat_parts_free(t);
    splat_extra_rows_free(&t->strategy_rows, b);
    splat_extra_rows_free(&t->regularizer_rows, b);
    splat_block_free(b, &t->regularizer_results);
    splat_block_free(b, &t->regularizer_maps);
    splat_photo_store_free(&t->photos, b);
    free(t->view_order);
    free(t->hints);
    free(t);
}

splat_status splat_trainer_update_filter(splat_trainer *t, splat_error *error)
{
    const splat_gaussians *g = &t->model->gaussians;
    struct splat_filter3d_args args = {.n = g->n,
                                       .means = g->p.means,
                                       .cameras = t->scene->train_cameras,
                                       .n_cameras = (uint32_t)t->scene->dataset.n_train,
                                       .filter_3d = g->filter_3d};
    float here = 0;
    if (!splat_shards_are_apart(t)) return splat_op_filter3d(t->backend, &args, error);
    args.largest = &here;
    SPLAT_TRY(splat_op_filter3d(t->backend, &args, error));
    args.largest = NULL;
    args.least = here;
    SPLAT_TRY(splat_shards_largest(t, &args.least, error));
    return args.least > here ? splat_op_filter3d(t->backend, &args, error) : SPLAT_OK;
}

void splat_trainer_forget_results(splat_trainer *t)
{
    t->has_posted = false;
    t->n_waits = N_WAITING_EPOCHS * t->scene->dataset.n_train;
    memset(t->hints, 0, t->scene->dataset.n_views * sizeof *t->hints);
}

splat_model *splat_trainer_get_model(splat_trainer *t)
{
    return t->model;
}

int splat_trainer_get_iteration(const splat_trainer *t)
{
    return t->iteration;
}

void splat_trainer_request_stop(splat_trainer *t)
{
    t->stop_requested = 1;
    if (t->shards.comm) splat_comm_interrupt(t->shards.comm);
}

void splat_trainer_request_save(splat_trainer *t)
{
    t->save_requested = 1;
}
