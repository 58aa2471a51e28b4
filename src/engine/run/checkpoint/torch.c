/* Going on from a chkpntN.pth of the published trainers. Host memory: one tensor and its moments at a time. */
#include "run/checkpoint/torch.h"

#include "base/file.h"
#include "io/torch/torch_checkpoint.h"
#include "io/torch/torch_tensor.h"
#include "run/checkpoint/convert.h"
#include "train/parts/regularizer.h"
#include "train/ranks/shards.h"
#include "train/schedule.h"
#include "train/start.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* One tensor: its parameters, moments and optimizer steps; by SPLAT_TENSOR_*. */
typedef struct source {
    const splat_torch_tensor *p, *m, *v;
    int steps;
} source;

static void list_sources(const splat_torch_checkpoint *c, source sources[SPLAT_N_TENSORS])
{
#define SPLAT_TENSOR(name, ...)                                                                                        \
    sources[SPLAT_TENSOR_##name] = (source){c->p.name, c->m.name, c->v.name, c->steps.name};
#include "math/gaussians.def"
#undef SPLAT_TENSOR
}

bool splat_checkpoint_is_torch(const char *path)
{
    unsigned char head[4] = {0};
    FILE *stream;
    uint64_t size;
    if (splat_file_open_stream(path, &stream, &size, NULL) != SPLAT_OK) return false;
    size_t n = fread(head, 1, sizeof head, stream);
    fclose(stream);
    return n == sizeof head && (memcmp(head, "PK\3\4", 4) == 0 || head[0] == 0x80); /* a zip; a pickle of long ago */
}

static splat_status check(const splat_trainer *t, const char *path, const splat_torch_checkpoint *c,
                          splat_error *error)
{
    if (t->options.regularizer)
        return splat_fail_at(error, SPLAT_ERROR_ARGUMENT, path, SPLAT_NO_OFFSET,
                             "a checkpoint of the published trainer is one of the stage train, and this is the stage "
                             "%s; give one of this stage, or begin from the splat", t->options.regularizer->stage);
    if (c->n > UINT32_MAX / 2)
        return splat_fail_at(error, SPLAT_ERROR_UNSUPPORTED, path, SPLAT_NO_OFFSET,
                             "%zu Gaussians are more than 2^31", c->n);
    if (c->sh_degree < t->options.sh_degree)
        return splat_fail_at(error, SPLAT_ERROR_ARGUMENT, path, SPLAT_NO_OFFSET,
                             "the checkpoint has SH degree %d and no moments for the bands of degree %d; resume with "
                             "`sh_degree %d` or less",
                             c->sh_degree, t->options.sh_degree, c->sh_degree);
    splat_log(t->context, SPLAT_LOG_NOTICE,
              "a checkpoint of the published trainer does not say which scene and options it was made with; here it "
              "goes on at iteration %d with those of this run",
              c->iteration);
    double extent = (double)t->scene->dataset.extent;
    if (c->spatial_lr_scale > 0 && fabs(c->spatial_lr_scale - extent) > 1e-3 * extent)
        splat_log(t->context, SPLAT_LOG_WARNING,
                  "the checkpoint's scene had the extent %g and this one has %g: another scene, or another split",
                  c->spatial_lr_scale, extent);
    return SPLAT_OK;
}

/* A tensor as floats, malloc'd; zeros for NULL. */
static splat_status read_tensor(const splat_torch_checkpoint *c, const splat_torch_tensor *tensor, size_t channels,
                                float **values, splat_error *error)
{
    *values = calloc(c->n * channels + 1, sizeof **values);
    if (!*values) return splat_fail(error, SPLAT_ERROR_MEMORY, "no memory for a tensor of %zu Gaussians", c->n);
    if (!tensor || channels == 0) return SPLAT_OK;
    return splat_torch_tensor_read_f32(c->file, tensor, *values, c->n * channels, error);
}

static splat_status put_tensor(splat_trainer *t, int i, uint32_t channels, uint32_t n, float *p, float *m,
                               float *v, splat_error *error)
{
    uint32_t *words = malloc((size_t)SPLAT_PIECE_ROWS * SPLAT_MAX_ROW_WORDS * sizeof *words);
    if (!words) return splat_fail(error, SPLAT_ERROR_MEMORY, "no memory to convert a tensor");
    splat_status status = SPLAT_OK;
    for (uint32_t at = 0; at < n && status == SPLAT_OK; at += SPLAT_PIECE_ROWS) {
        uint32_t rows = n - at < SPLAT_PIECE_ROWS ? n - at : SPLAT_PIECE_ROWS;
        size_t first = (size_t)at * channels;
        status = i == SPLAT_TENSOR_sh_rest
                     ? splat_checkpoint_put_rest(t, channels, at, rows, p + first, words, error)
                     : splat_checkpoint_put(t, t->model->tensors->rows[i].name, at, rows, p + first, error);
        if (status == SPLAT_OK)
            status = splat_checkpoint_put_moments(t, i, channels, at, rows, m + first, v + first, words, error);
    }
    free(words);
    return status;
}

static splat_status take_tensor(splat_trainer *t, const splat_torch_checkpoint *c, int i, const source *s,
                                splat_error *error)
{
    uint32_t channels = splat_tensor_channels(i, c->sh_degree);
    float *p = NULL, *m = NULL, *v = NULL;
    splat_status status = read_tensor(c, s->p, channels, &p, error);
    if (status == SPLAT_OK) status = read_tensor(c, s->m, channels, &m, error);
    if (status == SPLAT_OK) status = read_tensor(c, s->v, channels, &v, error);
    if (status == SPLAT_OK) status = put_tensor(t, i, channels, (uint32_t)c->n, p, m, v, error);
    free(p);
    free(m);
    free(v);
    return status;
}

static splat_status take_statistics(splat_trainer *t, const splat_torch_checkpoint *c, splat_error *error)
{
    const splat_torch_tensor *tensors[] = {c->grad, c->grad_abs, c->count};
    splat_status status = SPLAT_OK;
    for (int i = 0; i < 3 && status == SPLAT_OK && t->n_statistics; i++) {
        float *values;
        status = read_tensor(c, tensors[i], 1, &values, error);
        if (status == SPLAT_OK)
            status = splat_checkpoint_put(t, splat_statistics_names[i], 0, (uint32_t)c->n, values, error);
        free(values);
    }
    return status;
}

static splat_status take(splat_trainer *t, const splat_torch_checkpoint *c, splat_error *error)
{
    source sources[SPLAT_N_TENSORS];
    int steps[SPLAT_N_TENSORS];
    const splat_beginning beginning = {.n = (uint32_t)c->n, .iteration = c->iteration};
    list_sources(c, sources);
    SPLAT_TRY(splat_trainer_begin_rows(t, &beginning, error));
    t->is_broken = true;
    for (int i = 0; i < SPLAT_N_TENSORS; i++) {
        SPLAT_TRY(take_tensor(t, c, i, &sources[i], error));
        steps[i] = sources[i].steps;
    }
    SPLAT_TRY(take_statistics(t, c, error));
    SPLAT_TRY(splat_trainer_begin_filter(t, error));
    return splat_trainer_begin_at(t, c->iteration, true, steps, error); /* that trainer densifies before it saves */
}

splat_status splat_checkpoint_load_torch(splat_trainer *t, const char *path, splat_error *error)
{
    splat_torch_checkpoint checkpoint;
    SPLAT_TRY(splat_torch_checkpoint_open(path, &checkpoint, error));
    splat_status status = check(t, path, &checkpoint, error);
    if (status == SPLAT_OK) status = take(t, &checkpoint, error);
    splat_torch_checkpoint_close(&checkpoint);
    return status;
}
