/* The trainer's arrays with a row for each Gaussian: their storage, growth and list; and making and ending a trainer.
 */
#include "train/trainer.h"

#include "math/density.h"
#include "ops/filter3d/filter3d.h"
#include "train/schedule.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *const moment_names[3][SPLAT_N_TENSORS] = {
#define SPLAT_TENSOR(name, channels) "adam_m." #name,
    {
#include "ops/gaussians.def"
    },
#undef SPLAT_TENSOR
#define SPLAT_TENSOR(name, channels) "adam_v." #name,
    {
#include "ops/gaussians.def"
    },
#undef SPLAT_TENSOR
#define SPLAT_TENSOR(name, channels) "adam." #name,
    {
#include "ops/gaussians.def"
    },
#undef SPLAT_TENSOR
};
static const char *const statistics_names[3] = {"statistics.grad", "statistics.grad_abs", "statistics.count"};

/* ---------------------------------------------------------------- storage */

static void describe_moments(splat_row_blocks *rows, const splat_train_options *options, int which)
{
    bool quantized = options->optimizer_storage == SPLAT_OPTIMIZER_QUANTIZED;
    if (quantized && which == 1) return; /* both lie in the first */
    rows->owner = SPLAT_OWNER_OPTIMIZER;
    rows->n_arrays = SPLAT_N_TENSORS;
    for (int i = 0; i < SPLAT_N_TENSORS; i++) {
        rows->names[i] = moment_names[quantized ? 2 : which][i];
        rows->words[i] = quantized ? splat_quantized_moment_words(i, options->sh_degree)
                                   : splat_tensor_channels(i, options->sh_degree);
    }
    rows->blocks[SPLAT_TENSOR_sh_rest].placement = options->sh_offload ? SPLAT_ON_HOST : SPLAT_ON_DEVICE;
}

static void describe_statistics(splat_row_blocks *rows)
{
    rows->owner = SPLAT_OWNER_STATISTICS;
    rows->n_arrays = 3;
    for (int i = 0; i < 3; i++) {
        rows->names[i] = statistics_names[i];
        rows->words[i] = 1;
    }
}

/* What coarse training has besides; nothing without it. */
static void describe_coarse(splat_row_blocks *regular, splat_row_blocks *neighbors, const splat_train_options *options)
{
    static const char *const names[] = {"regular.means", "regular.scales", "regular.rotations", "regular.opacities"};
    static const uint32_t words[] = {3, 3, 4, 1};
    if (!splat_schedule_is_coarse(options)) return;
    regular->owner = SPLAT_OWNER_TRANSIENTS;
    regular->n_arrays = 4;
    for (int i = 0; i < 4; i++) {
        regular->names[i] = names[i];
        regular->words[i] = words[i];
    }
    neighbors->owner = SPLAT_OWNER_STATISTICS;
    neighbors->n_arrays = 1;
    neighbors->names[0] = "neighbors";
    neighbors->words[0] = SPLAT_NEIGHBORS;
}

static void refresh_moments(splat_trainer *t)
{
    splat_moments *moments = &t->moments;
    memset(moments, 0, sizeof *moments);
    moments->storage = t->options.optimizer_storage;
    if (moments->storage == SPLAT_OPTIMIZER_FLOAT32) {
        moments->m = splat_row_blocks_tensors(&t->moment_blocks[0]);
        moments->v = splat_row_blocks_tensors(&t->moment_blocks[1]);
        return;
    }
    for (int i = 0; i < SPLAT_N_TENSORS; i++) moments->quantized[i] = t->moment_blocks[0].blocks[i].data;
}

splat_statistics splat_trainer_statistics(const splat_trainer *t)
{
    const splat_block *blocks = t->statistics.blocks;
    return (splat_statistics){blocks[0].data, blocks[1].data, blocks[2].data};
}

/* ---------------------------------------------------------------- growth */

/* Statistics are needed as long as they are collected and looked at. */
static bool wants_statistics(const splat_trainer *t, int iteration)
{
    return iteration < t->options.densify_until_iter;
}

typedef struct resized {
    splat_row_blocks *rows;
    uint32_t old_n, n;
} resized;

/* The model last: when anything is refused, what grew goes back and the model never changed. */
static splat_status resize_all(splat_trainer *t, uint32_t old_n, uint32_t n, uint32_t n_statistics, splat_error *error)
{
    splat_backend *b = t->backend;
    const resized all[] = {{&t->moment_blocks[0], old_n, n},
                           {&t->moment_blocks[1], old_n, n},
                           {&t->statistics, t->n_statistics, n_statistics},
                           {&t->regular, old_n, n}};
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
    return status;
}

splat_status splat_trainer_resize_neighbors(splat_trainer *t, uint32_t n, splat_error *error)
{
    SPLAT_TRY(splat_row_blocks_resize(t->backend, &t->neighbors, t->n_neighbors, n, error));
    t->n_neighbors = n;
    return SPLAT_OK;
}

splat_status splat_trainer_resize(splat_trainer *t, uint32_t n, splat_error *error)
{
    uint32_t n_statistics = wants_statistics(t, t->iteration) ? n : 0;
    SPLAT_TRY(resize_all(t, t->model->gaussians.n, n, n_statistics, error));
    t->n_statistics = n_statistics;
    SPLAT_TRY(splat_trainer_resize_neighbors(t, 0, error)); /* unknown now */
    refresh_moments(t);
    for (int i = 0; i < 3 && n_statistics; i++)
        SPLAT_TRY(t->backend->functions->zero(t->backend, t->statistics.blocks[i].data,
                                              (size_t)n_statistics * sizeof(float), error));
    return SPLAT_OK;
}

void splat_trainer_drop_statistics(splat_trainer *t, int iteration)
{
    if (t->n_statistics == 0 || wants_statistics(t, iteration)) return;
    splat_row_blocks_resize(t->backend, &t->statistics, t->n_statistics, 0, NULL);
    t->n_statistics = 0;
}

/* ---------------------------------------------------------------- the list */

static void add_rows(splat_state_array *arrays, int *n, const splat_row_blocks *rows, uint32_t n_rows, const char *type,
                     bool rest_is_half)
{
    for (int i = 0; i < rows->n_arrays; i++) {
        splat_state_array *array = &arrays[(*n)++];
        snprintf(array->name, sizeof array->name, "%s", rows->names[i]);
        array->type = rest_is_half && i == SPLAT_TENSOR_sh_rest ? "F16" : type;
        array->rows = n_rows;
        array->words = rows->words[i];
        array->device = rows->blocks[i].data;
    }
}

int splat_trainer_state_arrays(const splat_trainer *t, splat_state_array arrays[SPLAT_MAX_STATE_ARRAYS])
{
    int n = 0;
    uint32_t rows = t->model->gaussians.n;
    bool quantized = t->options.optimizer_storage == SPLAT_OPTIMIZER_QUANTIZED;
    add_rows(arrays, &n, &t->model->parameters, rows, "F32", t->model->sh_storage == SPLAT_SH_FLOAT16);
    add_rows(arrays, &n, &t->moment_blocks[0], rows, quantized ? "U32" : "F32", false);
    add_rows(arrays, &n, &t->moment_blocks[1], rows, "F32", false);
    add_rows(arrays, &n, &t->statistics, t->n_statistics, "F32", false);
    add_rows(arrays, &n, &t->neighbors, t->n_neighbors, "U32", false);
    return n;
}

/* ---------------------------------------------------------------- making and ending a trainer */

static splat_status trainer_init(splat_trainer *t, splat_error *error)
{
    const splat_dataset *dataset = &t->scene->dataset;
    SPLAT_TRY(splat_train_options_check(&t->options, error));
    if (dataset->n_train == 0)
        return splat_fail(error, SPLAT_ERROR_FORMAT,
                          "the scene has no training views; hold fewer views out for testing");
    t->view_order = malloc(dataset->n_train * sizeof *t->view_order);
    t->hints = calloc(dataset->n_views, sizeof *t->hints);
    if (!t->view_order || !t->hints)
        return splat_fail(error, SPLAT_ERROR_MEMORY, "no memory for %zu views", dataset->n_views);
    SPLAT_TRY(splat_photo_store_init(&t->photos, t->backend, dataset, t->options.photos_on_host, error));
    SPLAT_TRY(splat_model_create(t->context, t->options.sh_degree, t->options.sh_storage,
                                 t->options.sh_offload ? SPLAT_ON_HOST : SPLAT_ON_DEVICE, &t->model, error));
    for (int i = 0; i < 2; i++) describe_moments(&t->moment_blocks[i], &t->options, i);
    describe_statistics(&t->statistics);
    describe_coarse(&t->regular, &t->neighbors, &t->options);
    SPLAT_TRY(splat_model_set_render_mode(t->model, SPLAT_RENDER_MIP, t->options.kernel_size, error));
    t->model->has_filter_3d = !splat_schedule_is_coarse(&t->options); /* that of the splat is fused */
    t->model->frame.max_instances = t->options.max_instances;
    t->model->gaussians.active_sh_degree = 0;
    /* Coarse training begins with a splat or a checkpoint, which may have fewer Gaussians than the scene has points:
     * only what a model cannot be without stands here until then. */
    size_t most = splat_schedule_is_coarse(&t->options) ? SPLAT_NEIGHBORS + 1 : t->options.target_gaussian_count;
    SPLAT_TRY(splat_model_init_from_points(t->model, dataset->points, dataset->n_points, most, error));
    SPLAT_TRY(splat_trainer_resize(t, t->model->gaussians.n, error));
    return splat_trainer_update_filter(t, error);
}

splat_status splat_trainer_create(splat_context *context, splat_scene *scene, const splat_train_options *options,
                                  splat_trainer **result, splat_error *error)
{
    *result = NULL;
    splat_trainer *t = calloc(1, sizeof *t);
    if (!t) return splat_fail(error, SPLAT_ERROR_MEMORY, "no memory for a trainer");
    t->context = context;
    t->backend = context->backend;
    t->scene = scene;
    t->options = *options;
    t->controlled = -1;
    splat_status status = trainer_init(t, error);
    if (status != SPLAT_OK) {
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
    splat_model_destroy(t->model);
    for (int i = 0; i < 2; i++) splat_row_blocks_free(b, &t->moment_blocks[i]);
    splat_row_blocks_free(b, &t->statistics);
    splat_row_blocks_free(b, &t->regular);
    splat_row_blocks_free(b, &t->neighbors);
    splat_block_free(b, &t->coarse_results);
    splat_photo_store_free(&t->photos, b);
    free(t->view_order);
    free(t->hints);
    free(t);
}

splat_status splat_trainer_update_filter(splat_trainer *t, splat_error *error)
{
    const splat_gaussians *g = &t->model->gaussians;
    struct splat_filter3d_args args = {g->n, g->p.means, t->scene->train_cameras, (uint32_t)t->scene->dataset.n_train,
                                       g->filter_3d};
    return t->backend->functions->ops.filter3d(t->backend, &args, error);
}

void splat_trainer_forget_results(splat_trainer *t)
{
    t->has_posted = false;
    memset(t->hints, 0, t->scene->dataset.n_views * sizeof *t->hints);
}

splat_model *splat_trainer_model(splat_trainer *t)
{
    return t->model;
}

int splat_trainer_iteration(const splat_trainer *t)
{
    return t->iteration;
}

void splat_trainer_request_stop(splat_trainer *t)
{
    t->stop_requested = 1;
}
