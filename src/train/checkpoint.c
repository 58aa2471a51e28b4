/* Checkpoints: everything a run needs to go on bit for bit, in one self-describing file.
 *
 *   "SPLATCK1" | u64 length of the header | header (JSON) | tensors, contiguous, little-endian |
 *   u32 CRC-32 of the header | "SPLATEND"
 *
 * The header lists each tensor with name, rows, channels, offset and CRC-32. Random numbers are functions of (seed,
 * step), and the order of the views of the iteration, so neither needs to be stored. */
#include "train/trainer.h"

#include "base/checked.h"
#include "base/file.h"
#include "base/reader.h"
#include "train/schedule.h"

#include <jansson.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

#define MAGIC "SPLATCK1"
#define FOOTER "SPLATEND"
#define VERSION 1
#define N_ENTRIES (3 * SPLAT_N_TENSORS + 4)

/* A tensor of the trainer: where it lives and how wide it is. */
typedef struct entry {
    char name[32];
    void *device;
    uint32_t channels;
} entry;

static void list_entries(const splat_trainer *t, entry entries[N_ENTRIES])
{
    const splat_gaussians *g = &t->model->gaussians;
    int n = 0;
    const splat_tensors *groups[3] = {&g->p, &t->m.tensors, &t->v.tensors};
    static const char *const prefixes[3] = {"", "adam_m.", "adam_v."};
    for (int group = 0; group < 3; group++) {
#define SPLAT_TENSOR(tensor, width)                                                                                    \
    snprintf(entries[n].name, sizeof entries[n].name, "%s" #tensor, prefixes[group]);                                  \
    entries[n].device = groups[group]->tensor;                                                                         \
    entries[n++].channels = splat_tensor_channels(SPLAT_TENSOR_##tensor, g->sh_degree);
#include "ops/gaussians.def"
#undef SPLAT_TENSOR
    }
    static const char *const scalars[4] = {"filter_3d", "statistics.grad", "statistics.grad_abs", "statistics.count"};
    void *const devices[4] = {g->filter_3d, t->statistics[0].data, t->statistics[1].data, t->statistics[2].data};
    for (int i = 0; i < 4; i++) {
        snprintf(entries[n].name, sizeof entries[n].name, "%s", scalars[i]);
        entries[n].device = devices[i];
        entries[n++].channels = 1;
    }
}

static uint32_t crc_of(const void *data, size_t size)
{
    return (uint32_t)crc32_z(crc32_z(0, NULL, 0), data, size);
}

/* Which training views there are: a checkpoint belongs to its scene and split. */
static uint32_t views_crc(const splat_trainer *t)
{
    const splat_dataset *dataset = &t->scene->dataset;
    uLong crc = crc32_z(0, NULL, 0);
    for (size_t i = 0; i < dataset->n_train; i++) {
        const splat_dataset_view *view = &dataset->views[dataset->train[i]];
        int32_t size[2] = {view->camera.width, view->camera.height};
        crc = crc32_z(crc, (const Bytef *)view->name, strlen(view->name) + 1);
        crc = crc32_z(crc, (const Bytef *)size, sizeof size);
    }
    return (uint32_t)crc;
}

/* ---------------------------------------------------------------- writing */

static json_t *header_of(const splat_trainer *t)
{
    const splat_gaussians *g = &t->model->gaussians;
    json_t *steps = json_array();
    for (int i = 0; i < SPLAT_N_TENSORS; i++) json_array_append_new(steps, json_integer(t->adam_steps[i]));
    return json_pack("{s:i, s:s, s:i, s:I, s:i, s:I, s:I, s:o, s:[]}", "version", VERSION, "library",
                     SPLATSMITH_VERSION, "iteration", t->iteration, "n_gaussians", (json_int_t)g->n, "sh_degree",
                     g->sh_degree, "seed", (json_int_t)t->options.seed, "views_crc32", (json_int_t)views_crc(t),
                     "adam_steps", steps, "tensors");
}

splat_status splat_trainer_save_checkpoint(splat_trainer *t, const char *path, splat_error *error)
{
    splat_backend *b = t->backend;
    entry entries[N_ENTRIES];
    list_entries(t, entries);
    uint32_t n = t->model->gaussians.n;
    json_t *header = header_of(t), *list = json_object_get(header, "tensors");
    size_t total = 0;
    for (int i = 0; i < N_ENTRIES; i++) total += (size_t)n * entries[i].channels * sizeof(float);
    uint8_t *data = malloc(total + 1);
    splat_status status = data && list
                              ? SPLAT_OK
                              : splat_fail(error, SPLAT_ERROR_MEMORY, "no memory for a checkpoint of %zu bytes", total);
    size_t offset = 0;
    for (int i = 0; i < N_ENTRIES && status == SPLAT_OK; i++) {
        size_t bytes = (size_t)n * entries[i].channels * sizeof(float);
        status = b->functions->download(b, data + offset, entries[i].device, bytes, error);
        if (status != SPLAT_OK) break;
        json_array_append_new(list, json_pack("{s:s, s:s, s:I, s:i, s:I, s:I}", "name", entries[i].name, "type", "F32",
                                              "rows", (json_int_t)n, "channels", (int)entries[i].channels, "offset",
                                              (json_int_t)offset, "crc32", (json_int_t)crc_of(data + offset, bytes)));
        offset += bytes;
    }
    char *text = status == SPLAT_OK ? json_dumps(header, JSON_COMPACT) : NULL;
    if (status == SPLAT_OK && !text) status = splat_fail(error, SPLAT_ERROR_MEMORY, "no memory for a checkpoint");
    splat_save save;
    if (status == SPLAT_OK) status = splat_save_open(&save, path, error);
    if (status == SPLAT_OK) {
        uint64_t length = strlen(text);
        uint32_t crc = crc_of(text, length);
        fwrite(MAGIC, 1, 8, save.stream);
        fwrite(&length, sizeof length, 1, save.stream);
        fwrite(text, 1, length, save.stream);
        fwrite(data, 1, total, save.stream);
        fwrite(&crc, sizeof crc, 1, save.stream);
        fwrite(FOOTER, 1, 8, save.stream);
        status = splat_save_commit(&save, error);
    }
    free(text);
    free(data);
    json_decref(header);
    return status;
}

/* ---------------------------------------------------------------- reading: all is checked before anything changes */

typedef struct loaded {
    json_t *header;
    const uint8_t *tensors; /* start of the tensor bytes */
    int iteration, adam_steps[SPLAT_N_TENSORS];
    uint32_t n;
} loaded;

static splat_status corrupt(splat_error *error, const char *path, uint64_t offset, const char *what)
{
    return splat_fail_at(error, SPLAT_ERROR_FORMAT, path, offset, "the checkpoint is damaged: %s; use an older one",
                         what);
}

static bool get_integer(const json_t *object, const char *key, json_int_t low, json_int_t high, json_int_t *value)
{
    const json_t *item = json_object_get(object, key);
    if (!json_is_integer(item)) return false;
    *value = json_integer_value(item);
    return *value >= low && *value <= high;
}

static splat_status parse_header(const char *path, const uint8_t *data, size_t size, loaded *in, size_t *tensor_bytes,
                                 splat_error *error)
{
    splat_reader r = splat_reader_make(data, size);
    char magic[8];
    splat_read_bytes(&r, magic, 8);
    uint64_t length = splat_read_u64(&r);
    if (r.failed || memcmp(magic, MAGIC, 8) != 0)
        return splat_fail_at(error, SPLAT_ERROR_FORMAT, path, 0, "this is not a checkpoint of splatsmith");
    if (splat_reader_left(&r) < 12 || length > splat_reader_left(&r) - 12)
        return corrupt(error, path, 8, "it is shorter than its header says");
    const uint8_t *text = data + r.position;
    in->tensors = text + length;
    *tensor_bytes = splat_reader_left(&r) - (size_t)length - 12;
    uint32_t crc;
    memcpy(&crc, data + size - 12, sizeof crc);
    if (memcmp(data + size - 8, FOOTER, 8) != 0) return corrupt(error, path, size - 8, "its end is missing");
    if (crc != crc_of(text, (size_t)length)) return corrupt(error, path, 16, "its header does not match its checksum");
    in->header = json_loadb((const char *)text, (size_t)length, JSON_REJECT_DUPLICATES, NULL);
    return in->header ? SPLAT_OK : corrupt(error, path, 16, "its header is not JSON");
}

static splat_status check_header(const splat_trainer *t, const char *path, loaded *in, splat_error *error)
{
    json_int_t version, iteration, n, degree, crc, seed, step;
    if (!get_integer(in->header, "version", 1, 1 << 30, &version)) return corrupt(error, path, 16, "it has no version");
    if (version != VERSION)
        return splat_fail_at(error, SPLAT_ERROR_UNSUPPORTED, path, 16,
                             "checkpoint version %d is newer than this program", (int)version);
    if (!get_integer(in->header, "iteration", 0, INT32_MAX, &iteration) ||
        !get_integer(in->header, "n_gaussians", 1, UINT32_MAX / 2, &n) ||
        !get_integer(in->header, "sh_degree", 0, SPLAT_MAX_SH_DEGREE, &degree) ||
        !get_integer(in->header, "views_crc32", 0, UINT32_MAX, &crc) ||
        !get_integer(in->header, "seed", INT64_MIN, INT64_MAX, &seed))
        return corrupt(error, path, 16, "a number of its header is missing or out of range");
    const json_t *steps = json_object_get(in->header, "adam_steps");
    for (int i = 0; i < SPLAT_N_TENSORS; i++) {
        const json_t *item = json_array_get(steps, (size_t)i);
        step = json_is_integer(item) ? json_integer_value(item) : -1;
        if (step < 0 || step > iteration)
            return corrupt(error, path, 16, "its optimizer steps are missing or out of range");
        in->adam_steps[i] = (int)step;
    }
    if (degree != t->options.sh_degree)
        return splat_fail_at(error, SPLAT_ERROR_ARGUMENT, path, SPLAT_NO_OFFSET,
                             "the checkpoint has SH degree %d, not %d; resume with --sh_degree %d", (int)degree,
                             t->options.sh_degree, (int)degree);
    if ((uint32_t)crc != views_crc(t))
        return splat_fail_at(error, SPLAT_ERROR_ARGUMENT, path, SPLAT_NO_OFFSET,
                             "the checkpoint was made with other training views; use the same scene, resolution and "
                             "split");
    if ((uint64_t)seed != t->options.seed)
        return splat_fail_at(error, SPLAT_ERROR_ARGUMENT, path, SPLAT_NO_OFFSET,
                             "the checkpoint was made with --seed %lld; resume with the same", (long long)seed);
    in->iteration = (int)iteration;
    in->n = (uint32_t)n;
    return SPLAT_OK;
}

static splat_status check_tensors(const splat_trainer *t, const char *path, const loaded *in, size_t tensor_bytes,
                                  splat_error *error)
{
    entry entries[N_ENTRIES];
    list_entries(t, entries);
    const json_t *list = json_object_get(in->header, "tensors");
    if (json_array_size(list) != N_ENTRIES) return corrupt(error, path, 16, "a tensor is missing");
    size_t offset = 0;
    for (int i = 0; i < N_ENTRIES; i++) {
        const json_t *item = json_array_get(list, (size_t)i);
        const char *name = json_string_value(json_object_get(item, "name"));
        size_t bytes = (size_t)in->n * entries[i].channels * sizeof(float);
        json_int_t value;
        if (!name || strcmp(name, entries[i].name) != 0 || !get_integer(item, "rows", in->n, in->n, &value) ||
            !get_integer(item, "channels", entries[i].channels, entries[i].channels, &value) ||
            !get_integer(item, "offset", (json_int_t)offset, (json_int_t)offset, &value) ||
            bytes > tensor_bytes - offset)
            return corrupt(error, path, 16, "a tensor is not where the header should put it");
        if (!get_integer(item, "crc32", 0, UINT32_MAX, &value) ||
            (uint32_t)value != crc_of(in->tensors + offset, bytes))
            return corrupt(error, path, (uint64_t)offset, "a tensor does not match its checksum");
        offset += bytes;
    }
    return offset == tensor_bytes ? SPLAT_OK
                                  : corrupt(error, path, SPLAT_NO_OFFSET, "there are bytes after the last tensor");
}

static splat_status take(splat_trainer *t, const loaded *in, splat_error *error)
{
    splat_backend *b = t->backend;
    entry entries[N_ENTRIES];
    SPLAT_TRY(splat_trainer_resize(t, in->n, error));
    list_entries(t, entries);
    size_t offset = 0;
    for (int i = 0; i < N_ENTRIES; i++) {
        size_t bytes = (size_t)in->n * entries[i].channels * sizeof(float);
        SPLAT_TRY(b->functions->upload(b, entries[i].device, in->tensors + offset, bytes, error));
        offset += bytes;
    }
    t->iteration = in->iteration;
    memcpy(t->adam_steps, in->adam_steps, sizeof t->adam_steps);
    splat_trainer_forget_results(t);
    t->model->gaussians.active_sh_degree = splat_schedule_sh_degree(&t->options, t->iteration);
    return SPLAT_OK;
}

splat_status splat_trainer_load_checkpoint(splat_trainer *t, const char *path, splat_error *error)
{
    uint8_t *data;
    size_t size, tensor_bytes = 0;
    loaded in = {0};
    SPLAT_TRY(splat_file_read(path, &data, &size, error));
    splat_status status = parse_header(path, data, size, &in, &tensor_bytes, error);
    if (status == SPLAT_OK) status = check_header(t, path, &in, error);
    if (status == SPLAT_OK) status = check_tensors(t, path, &in, tensor_bytes, error);
    if (status == SPLAT_OK) status = take(t, &in, error);
    json_decref(in.header);
    free(data);
    return status;
}

/* ---------------------------------------------------------------- from a PLY */

splat_status splat_trainer_load_model(splat_trainer *t, const char *ply_path, int iteration, splat_error *error)
{
    splat_model *model;
    splat_backend *b = t->backend;
    splat_gaussians *to = &t->model->gaussians;
    SPLAT_TRY(splat_model_load(t->context, ply_path, &model, error));
    const splat_gaussians *from = &model->gaussians;
    splat_status status = SPLAT_OK;
    if (from->sh_degree != t->options.sh_degree)
        status = splat_fail_at(error, SPLAT_ERROR_ARGUMENT, ply_path, SPLAT_NO_OFFSET,
                               "the splat has SH degree %d, not %d; use --sh_degree %d", from->sh_degree,
                               t->options.sh_degree, from->sh_degree);
    if (status == SPLAT_OK && from->n == 0)
        status = splat_fail_at(error, SPLAT_ERROR_FORMAT, ply_path, SPLAT_NO_OFFSET, "the splat has no Gaussians");
    if (status == SPLAT_OK && iteration < 0)
        status = splat_fail(error, SPLAT_ERROR_ARGUMENT, "a splat cannot stand for iteration %d", iteration);
    if (status == SPLAT_OK) status = splat_trainer_resize(t, from->n, error);
#define SPLAT_TENSOR(name, channels)                                                                                   \
    if (status == SPLAT_OK) {                                                                                          \
        size_t bytes = (size_t)from->n * splat_tensor_channels(SPLAT_TENSOR_##name, from->sh_degree) * sizeof(float);  \
        status = b->functions->copy(b, to->p.name, from->p.name, bytes, error);                                        \
        if (status == SPLAT_OK) status = b->functions->zero(b, t->m.tensors.name, bytes, error);                       \
        if (status == SPLAT_OK) status = b->functions->zero(b, t->v.tensors.name, bytes, error);                       \
    }
#include "ops/gaussians.def"
#undef SPLAT_TENSOR
    if (status == SPLAT_OK) {
        memset(t->adam_steps, 0, sizeof t->adam_steps);
        splat_trainer_forget_results(t);
        t->iteration = iteration;
        status = splat_trainer_update_filter(t, error);
    }
    if (status == SPLAT_OK) status = b->functions->synchronize(b, error); /* before the copy's source is gone */
    splat_model_destroy(model);
    return status;
}
