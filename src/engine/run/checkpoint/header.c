/* The header of a checkpoint: everything of a run that is not a tensor, and whether a trainer may go on from it. */
#include "run/checkpoint/header.h"

#include "run/checkpoint/checkpoint.h"
#include "run/checkpoint/options.h"

#include "io/json.h"
#include "train/density/strategy.h"
#include "train/memory/give_up.h"
#include "train/parts/part.h"
#include "train/parts/regularizer.h"
#include "train/ranks/shards.h"
#include "train/schedule.h"
#include "train/train_options.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

static const char random_note[] =
    "Philox 4x32-10: every random number is a function of seed, stream, iteration and index, so streams have no state";

/* ---------------------------------------------------------------- writing */

/* [name, width, height, fx, fy, x, y, z]: enough to tell another scene, resolution or reconstruction. */
static json_t *view_json(const splat_dataset_view *view)
{
    const splat_camera *c = &view->camera;
    return json_pack("[o, i, i, f, f, f, f, f]", splat_json_text(view->name), (int)c->width, (int)c->height,
                     (double)c->fx, (double)c->fy, (double)c->center[0], (double)c->center[1], (double)c->center[2]);
}

/* The CRC-32 of a value's text; NULL when memory is exhausted. */
static json_t *crc_json(const json_t *value)
{
    char *text = splat_json_print(value, JSON_COMPACT | JSON_REAL_PRECISION(9));
    uLong crc = text ? crc32_z(crc32_z(0, NULL, 0), (const Bytef *)text, strlen(text)) : 0;
    json_t *number = text ? json_integer((json_int_t)crc) : NULL;
    free(text);
    return number;
}

static json_t *split_json(const splat_dataset *dataset)
{
    json_t *train = json_array(), *test = json_array();
    for (size_t i = 0; i < dataset->n_train; i++)
        splat_json_append(&train, view_json(&dataset->views[dataset->train[i]]));
    for (size_t i = 0; i < dataset->n_test; i++)
        splat_json_append(&test, splat_json_text(dataset->views[dataset->test[i]].name));
    return json_pack("{s:I, s:I, s:o, s:f, s:o, s:o}", "n_train", (json_int_t)dataset->n_train, "n_test",
                     (json_int_t)dataset->n_test, "train_crc32", crc_json(train), "extent",
                     (double)dataset->extent, "train", train, "test", test);
}

static json_t *steps_json(const splat_trainer *t)
{
    json_t *steps = json_object();
    for (int i = 0; i < t->model->tensors->n; i++)
        splat_json_set(&steps, t->model->tensors->rows[i].name, json_integer(t->adam_steps[i]));
    return steps;
}

static const char *stage_of(const splat_train_options *options)
{
    return options->regularizer ? options->regularizer->stage : "train";
}

static const char *constant_of(const splat_trainer *t)
{
    return t->options.regularizer ? t->options.regularizer->constant : NULL;
}

json_t *splat_checkpoint_header(const splat_trainer *t, const char *reason)
{
    const splat_gaussians *g = &t->model->gaussians;
    const splat_train_options *o = &t->options;
    json_int_t n_train = (json_int_t)t->scene->dataset.n_train;
    json_t *header = json_pack(
        "{s:s, s:i, s:s, s:s, s:s, s:s, s:s, s:i, s:b, s:I, s:i, s:i, s:o, s:{s:s, s:s}, s:{s:s, s:f}, s:{s:s, s:o},"
        " s:{s:I, s:I, s:I}, s:o, s:o, s:o}",
        "format", "splatsmith checkpoint", "version", SPLAT_CHECKPOINT_VERSION, "library", splat_version(), "backend",
        splat_context_get_description(t->context), "stage", stage_of(o), "strategy", t->strategy->name,
        "reason", reason, "iteration", t->iteration,
        "density_control_done", (int)(t->iteration > 0 && t->last_density_control == t->iteration),
        "n_gaussians", (json_int_t)splat_shards_count(t), "sh_degree", g->sh_degree, "active_sh_degree",
        g->active_sh_degree,
        "adam_steps", steps_json(t),
        "storage", "sh_rest", t->model->sh_storage == SPLAT_SH_FLOAT16 ? "float16" : "float32", "moments",
        o->optimizer_storage == SPLAT_OPTIMIZER_QUANTIZED ? "quantized" : "float32",
        "render", "mode", t->model->render_mode == SPLAT_RENDER_MIP ? "mip" : "classic", "kernel_size",
        (double)t->model->kernel_size,
        "random", "streams", random_note, "seed", json_integer((json_int_t)o->seed),
        "view_order", "epoch", t->iteration / n_train, "position", t->iteration % n_train, "views", n_train,
        "split", split_json(&t->scene->dataset), "train_options", splat_train_options_json(t), "scene_options",
        splat_scene_options_json(&t->scene->options));
    if (header && splat_gives_up(t))
        splat_json_set(&header, "memory", json_pack("{s:i, s:I}", "given_up", (int)splat_given_up(t), "overhead_bytes",
                                                    (json_int_t)t->memory.setup.overhead));
    for (int i = 0; header && i < splat_n_parts; i++)
        if (splat_parts[i]->steps && splat_parts[i]->is_on(t))
            splat_json_set(&header, splat_parts[i]->steps_name, json_integer(*splat_parts[i]->steps(t)));
    if (header && constant_of(t)) splat_json_set(&header, constant_of(t), json_real((double)t->regularizer_constant));
    return header;
}

/* ---------------------------------------------------------------- reading */

static bool get_integer(const json_t *object, const char *key, json_int_t low, json_int_t high, json_int_t *value)
{
    const json_t *item = json_object_get(object, key);
    if (!json_is_integer(item)) return false;
    *value = json_integer_value(item);
    return *value >= low && *value <= high;
}

/* Which of two words a key has: 0 or 1; -1: neither. */
static int get_choice(const json_t *object, const char *key, const char *first, const char *second)
{
    const char *word = json_string_value(json_object_get(object, key));
    if (!word) return -1;
    return strcmp(word, first) == 0 ? 0 : strcmp(word, second) == 0 ? 1 : -1;
}

/* Reads the measures that the run took below a memory limit; without a limit the file has none. */
static splat_status read_memory(const splat_tensor_reader *r, splat_checkpoint_state *state, splat_error *error)
{
    const json_t *memory = json_object_get(r->header, "memory");
    json_int_t given_up = 0, overhead = 0;
    if (memory && (!get_integer(memory, "given_up", 0, SPLAT_GIVE_UP_ALL, &given_up) ||
                   !get_integer(memory, "overhead_bytes", 0, (json_int_t)1 << 40, &overhead)))
        return splat_tensor_reader_damaged(r, SPLAT_TENSOR_FILE_HEAD, "what it gave up is missing or out of range",
                                           error);
    state->given_up = (unsigned)given_up;
    state->overhead = (size_t)overhead;
    if (state->sh_storage == SPLAT_SH_FLOAT16) state->given_up |= SPLAT_GIVE_UP_SH;
    if (state->optimizer_storage == SPLAT_OPTIMIZER_QUANTIZED) state->given_up |= SPLAT_GIVE_UP_MOMENTS;
    return SPLAT_OK;
}

splat_status splat_checkpoint_read_state(const splat_tensor_reader *r, splat_checkpoint_state *state,
                                         splat_error *error)
{
    const json_t *h = r->header, *steps = json_object_get(h, "adam_steps"), *storage = json_object_get(h, "storage");
    const json_t *done = json_object_get(h, "density_control_done"), *render = json_object_get(h, "render");
    const json_t *kernel_size = json_object_get(render, "kernel_size");
    json_int_t version, iteration, n, degree, step;
    if (!get_integer(h, "version", 1, INT32_MAX, &version))
        return splat_tensor_reader_damaged(r, SPLAT_TENSOR_FILE_HEAD, "it has no version", error);
    if (version != SPLAT_CHECKPOINT_VERSION)
        return splat_fail_at(error, SPLAT_ERROR_UNSUPPORTED, r->path, SPLAT_TENSOR_FILE_HEAD,
                             "the checkpoint has version %d; this program reads %d only", (int)version,
                             SPLAT_CHECKPOINT_VERSION);
    int rest = get_choice(storage, "sh_rest", "float32", "float16");
    int moments = get_choice(storage, "moments", "float32", "quantized");
    int mode = get_choice(render, "mode", "mip", "classic");
    if (!get_integer(h, "iteration", 0, INT32_MAX, &iteration) ||
        !get_integer(h, "n_gaussians", 1, UINT32_MAX / 2, &n) ||
        !get_integer(h, "sh_degree", 0, SPLAT_MAX_SH_DEGREE, &degree) || !json_is_boolean(done) || rest < 0 ||
        moments < 0 || mode < 0 || !json_is_number(kernel_size))
        return splat_tensor_reader_damaged(r, SPLAT_TENSOR_FILE_HEAD,
                                           "a value of its header is missing or out of range", error);
    for (int i = 0; i < SPLAT_N_TENSORS; i++) {
        if (!get_integer(steps, splat_gaussian_tensors.rows[i].name, 0, iteration, &step))
            return splat_tensor_reader_damaged(r, SPLAT_TENSOR_FILE_HEAD,
                                               "its optimizer steps are missing or out of range", error);
        state->adam_steps[i] = (int)step;
    }
    for (int i = 0; i < splat_n_parts; i++) {
        const char *name = splat_parts[i]->steps_name;
        state->part_steps[i] = -1;
        if (!name || !json_object_get(h, name)) continue;
        if (!get_integer(h, name, 0, iteration, &step))
            return splat_tensor_reader_damaged(r, SPLAT_TENSOR_FILE_HEAD,
                                               "the optimizer steps of a part are out of range", error);
        state->part_steps[i] = (int)step;
    }
    state->iteration = (int)iteration;
    state->n = (uint32_t)n;
    state->sh_degree = (int)degree;
    state->density_control_done = json_is_true(done);
    state->render_mode = mode ? SPLAT_RENDER_CLASSIC : SPLAT_RENDER_MIP;
    state->kernel_size = (float)json_number_value(kernel_size);
    state->sh_storage = rest ? SPLAT_SH_FLOAT16 : SPLAT_SH_FLOAT32;
    state->optimizer_storage = moments ? SPLAT_OPTIMIZER_QUANTIZED : SPLAT_OPTIMIZER_FLOAT32;
    return read_memory(r, state, error);
}

/* ---------------------------------------------------------------- what cannot change */

/* Equal but for the last digits that another machine's C library may give. */
static bool is_near(const json_t *value, float now, float scale)
{
    return json_is_number(value) && fabs(json_number_value(value) - (double)now) <= 1e-4 * fabs((double)scale);
}

static splat_status refuse_view(const splat_tensor_reader *r, const char *name, const char *what, splat_error *error)
{
    return splat_fail_at(error, SPLAT_ERROR_ARGUMENT, r->path, SPLAT_NO_OFFSET,
                         "the checkpoint was made with other training views: %s %s; use the same scene, resolution and "
                         "split",
                         name, what);
}

static splat_status check_view(const splat_tensor_reader *r, const splat_dataset_view *view, const json_t *old,
                               float extent, splat_error *error)
{
    const splat_camera *c = &view->camera;
    char what[160];
    json_t *name = splat_json_text(view->name);
    if (!name) return splat_fail(error, SPLAT_ERROR_MEMORY, "no memory to compare the training views");
    bool same = json_equal(name, json_array_get(old, 0));
    json_decref(name);
    if (!same) {
        const char *then = json_string_value(json_array_get(old, 0));
        snprintf(what, sizeof what, "stands where %.100s was", then ? then : "another");
        return refuse_view(r, view->name, what, error);
    }
    json_int_t width = json_integer_value(json_array_get(old, 1)), height = json_integer_value(json_array_get(old, 2));
    if (width != c->width || height != c->height) {
        snprintf(what, sizeof what, "has %dx%d pixels and had %" JSON_INTEGER_FORMAT "x%" JSON_INTEGER_FORMAT,
                 (int)c->width, (int)c->height, width, height);
        return refuse_view(r, view->name, what, error);
    }
    if (!is_near(json_array_get(old, 3), c->fx, c->fx) || !is_near(json_array_get(old, 4), c->fy, c->fy))
        return refuse_view(r, view->name, "has another focal length", error);
    for (size_t i = 0; i < 3; i++)
        if (!is_near(json_array_get(old, 5 + i), c->center[i], extent))
            return refuse_view(r, view->name, "stands at another place", error);
    return SPLAT_OK;
}

static splat_status check_split(const splat_trainer *t, const splat_tensor_reader *r, splat_error *error)
{
    const splat_dataset *dataset = &t->scene->dataset;
    const json_t *old = json_object_get(json_object_get(r->header, "split"), "train");
    char what[96];
    if (!json_is_array(old))
        return splat_tensor_reader_damaged(r, SPLAT_TENSOR_FILE_HEAD, "it has no list of training views", error);
    if (json_array_size(old) != dataset->n_train) {
        snprintf(what, sizeof what, "of them now, and %zu then", json_array_size(old));
        char count[24];
        snprintf(count, sizeof count, "%zu", dataset->n_train);
        return refuse_view(r, count, what, error);
    }
    for (size_t i = 0; i < dataset->n_train; i++)
        SPLAT_TRY(check_view(r, &dataset->views[dataset->train[i]], json_array_get(old, i), dataset->extent, error));
    return SPLAT_OK;
}

static int option_now(const splat_trainer *t, const char *name)
{
    for (size_t i = 0; i < splat_train_options_table.n; i++) {
        const splat_option_row *row = &splat_train_options_table.rows[i].row;
        if (row->kind == SPLAT_OPTION_INT && strcmp(row->name, name) == 0)
            return (int)splat_option_get(row, &t->options);
    }
    return 0;
}

/* Checks that a regularizer's one-time change of the model is done, or still to come, on both sides. */
static splat_status check_once(const splat_trainer *t, const splat_tensor_reader *r, int iteration, splat_error *error)
{
    const char *option = t->options.regularizer ? t->options.regularizer->acts_after : NULL;
    json_int_t then, now = option ? option_now(t, option) : 0;
    if (!option || !get_integer(json_object_get(r->header, "train_options"), option, 0, INT32_MAX, &then) ||
        (iteration > then) == (iteration > now))
        return SPLAT_OK;
    return splat_fail_at(error, SPLAT_ERROR_ARGUMENT, r->path, SPLAT_NO_OFFSET,
                         "the checkpoint of iteration %d was made with `%s %d`; with %d its prune would be %s: resume "
                         "with the same",
                         iteration, option, (int)then, (int)now, iteration > now ? "left out" : "made twice");
}

splat_status splat_checkpoint_read_constant(const splat_trainer *t, const splat_tensor_reader *r, float *constant,
                                            splat_error *error)
{
    const json_t *value = constant_of(t) ? json_object_get(r->header, constant_of(t)) : NULL;
    *constant = (float)json_number_value(value);
    if (!value || (json_is_number(value) && isfinite(*constant))) return SPLAT_OK;
    return splat_tensor_reader_damaged(r, SPLAT_TENSOR_FILE_HEAD, "a value of its header is missing or out of range",
                                       error);
}

splat_status splat_checkpoint_check_run(const splat_trainer *t, const splat_tensor_reader *r,
                                        const splat_checkpoint_state *state, splat_error *error)
{
    json_int_t seed;
    const char *stage = json_string_value(json_object_get(r->header, "stage"));
    if (strcmp(stage ? stage : "train", stage_of(&t->options)) != 0)
        return splat_fail_at(error, SPLAT_ERROR_ARGUMENT, r->path, SPLAT_NO_OFFSET,
                             "the checkpoint is one of the stage %.40s, and this is the stage %s; give one of this "
                             "stage, or begin from the splat",
                             stage ? stage : "train", stage_of(&t->options));
    const char *strategy = json_string_value(json_object_get(r->header, "strategy"));
    if (strcmp(strategy ? strategy : "default", t->strategy->name) != 0)
        return splat_fail_at(error, SPLAT_ERROR_ARGUMENT, r->path, SPLAT_NO_OFFSET,
                             "the checkpoint was made with the density strategy '%.40s', and this run has '%s'; resume "
                             "with the same, or begin from the splat",
                             strategy ? strategy : "default", t->strategy->name);
    for (int i = 0; i < splat_n_parts; i++) {
        const splat_part *part = splat_parts[i];
        if (!part->steps || (state->part_steps[i] >= 0) == part->is_on(t)) continue;
        return splat_fail_at(error, SPLAT_ERROR_ARGUMENT, r->path, SPLAT_NO_OFFSET,
                             "the checkpoint was made %s `%s`, which its splat fits; resume with the same",
                             part->is_on(t) ? "without" : "with", part->name);
    }
    SPLAT_TRY(check_once(t, r, state->iteration, error));
    if (!get_integer(json_object_get(r->header, "random"), "seed", INT64_MIN, INT64_MAX, &seed))
        return splat_tensor_reader_damaged(r, SPLAT_TENSOR_FILE_HEAD, "it has no seed", error);
    if ((uint64_t)seed != t->options.seed)
        return splat_fail_at(error, SPLAT_ERROR_ARGUMENT, r->path, SPLAT_NO_OFFSET,
                             "the checkpoint was made with `seed %llu`, from which all its random numbers follow; "
                             "resume with the same",
                             (unsigned long long)seed);
    if (state->sh_degree < t->options.sh_degree)
        return splat_fail_at(error, SPLAT_ERROR_ARGUMENT, r->path, SPLAT_NO_OFFSET,
                             "the checkpoint has SH degree %d and no moments for the bands of degree %d; resume with "
                             "`sh_degree %d` or less",
                             state->sh_degree, t->options.sh_degree, state->sh_degree);
    return check_split(t, r, error);
}
