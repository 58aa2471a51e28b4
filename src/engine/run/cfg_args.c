/* cfg_args of a model folder: Namespace(key=literal, ...), as the published trainers write and read it. */
#include "run/cfg_args.h"

#include "base/file.h"
#include "io/number.h"
#include "io/python_literal.h"
#include "scene/scene_options.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static void write_string(FILE *stream, const char *key, const char *value, const char *fallback)
{
    fprintf(stream, ", %s=", key);
    splat_python_write_string(stream, value ? value : fallback);
}

static void write_bool(FILE *stream, const char *key, bool value)
{
    fprintf(stream, ", %s=%s", key, value ? "True" : "False");
}

static void write_option(FILE *stream, const splat_option *option, const splat_scene_options *scene)
{
    const splat_option_row *row = &option->row;
    const double value = splat_option_get(row, scene);
    char text[64];
    if (row->kind == SPLAT_OPTION_TEXT) {
        write_string(stream, row->name, *splat_option_text(row, scene), "");
    } else if (row->kind == SPLAT_OPTION_CHOICE) {
        splat_option_copy_word(row->words, (int)value, text, sizeof text);
        write_string(stream, row->name, text, "");
    } else if (row->kind == SPLAT_OPTION_FLAG) {
        write_bool(stream, row->name, value != 0);
    } else if (row->kind == SPLAT_OPTION_INT || row->kind == SPLAT_OPTION_SIZE) {
        fprintf(stream, ", %s=%d", row->name, (int)value);
    } else {
        fprintf(stream, ", %s=%s", row->name, splat_number_format(text, (float)value));
    }
}

/* The options of a scene that the published trainers do not have, where they are not the defaults. */
static void write_own_options(FILE *stream, const splat_scene_options *scene)
{
    for (size_t i = 0; i < splat_scene_options_table.n; i++) {
        const splat_option *option = &splat_scene_options_table.rows[i];
        bool is_own = option->saved == SPLAT_SAVED_CFG_ARGS || option->saved == SPLAT_SAVED_NOTE;
        if (is_own && !splat_option_is_default(option, scene)) write_option(stream, option, scene);
    }
}

splat_status splat_cfg_args_write(const char *model_path, const splat_model_config *config,
                                  const splat_train_options *train, splat_error *error)
{
    const splat_scene_options *scene = &config->scene;
    splat_save save;
    char number[32];
    char *path = splat_format("%s/cfg_args", model_path);
    if (!path) return splat_fail(error, SPLAT_ERROR_MEMORY, "no memory for a path");
    splat_status status = splat_save_open(&save, path, error);
    free(path);
    if (status != SPLAT_OK) return status;
    FILE *stream = save.stream;
    fprintf(stream, "Namespace(sh_degree=%d", config->sh_degree);
    write_string(stream, "source_path", scene->source_path, "");
    write_string(stream, "model_path", config->model_path, model_path);
    write_string(stream, "images", splat_scene_options_images(scene), "");
    fprintf(stream, ", resolution=%d", scene->resolution);
    write_bool(stream, "white_background", scene->white_background);
    write_string(stream, "data_device", train->photos_on_host ? "cpu" : "cuda", "");
    write_bool(stream, "eval", scene->eval);
    fprintf(stream, ", kernel_size=%s", splat_number_format(number, config->kernel_size));
    write_bool(stream, "ray_jitter", train->ray_jitter);
    write_bool(stream, "resample_gt_image", train->resample_gt_image);
    write_bool(stream, "load_allres", scene->load_allres);
    write_bool(stream, "sample_more_highres", train->sample_more_highres);
    write_own_options(stream, scene);
    fprintf(stream, ")");
    return splat_save_commit(&save, error);
}

static splat_status wrong_type(const splat_python_reader *reader, const char *expected, splat_error *error)
{
    return splat_fail_at(error, SPLAT_ERROR_FORMAT, reader->path, reader->item.offset, "%s of cfg_args is not %s",
                         reader->item.key, expected);
}

/* Takes the string out of the reader. None leaves the default. */
static splat_status take_string(splat_python_reader *reader, char **value, splat_error *error)
{
    if (reader->item.kind == SPLAT_PYTHON_NONE) return SPLAT_OK;
    if (reader->item.kind != SPLAT_PYTHON_STRING) return wrong_type(reader, "a string", error);
    free(*value);
    *value = reader->item.string;
    reader->item.string = NULL;
    return SPLAT_OK;
}

static splat_status take_bool(const splat_python_reader *reader, bool *value, splat_error *error)
{
    if (reader->item.kind == SPLAT_PYTHON_NONE) return SPLAT_OK;
    if (reader->item.kind != SPLAT_PYTHON_BOOL && reader->item.kind != SPLAT_PYTHON_NUMBER)
        return wrong_type(reader, "True or False", error);
    *value = reader->item.number != 0.0;
    return SPLAT_OK;
}

static splat_status take_int(const splat_python_reader *reader, int *value, splat_error *error)
{
    double number = reader->item.number;
    if (reader->item.kind == SPLAT_PYTHON_NONE) return SPLAT_OK;
    if (reader->item.kind != SPLAT_PYTHON_NUMBER || !(fabs(number) <= 1e9) || number != floor(number))
        return wrong_type(reader, "a whole number", error);
    *value = (int)number;
    return SPLAT_OK;
}

static splat_status take_float(const splat_python_reader *reader, float *value, splat_error *error)
{
    if (reader->item.kind == SPLAT_PYTHON_NONE) return SPLAT_OK;
    if (reader->item.kind != SPLAT_PYTHON_NUMBER || !(fabs(reader->item.number) <= 1e9))
        return wrong_type(reader, "a number", error);
    *value = (float)reader->item.number;
    return SPLAT_OK;
}

static splat_status take_choice(splat_python_reader *reader, const splat_option_row *row, int *number,
                                splat_error *error)
{
    char *word = NULL;
    SPLAT_TRY(take_string(reader, &word, error));
    if (!word) return SPLAT_OK;
    int found = splat_option_find_word(row->words, word);
    free(word);
    if (found < 0) return wrong_type(reader, row->words, error);
    *number = found;
    return SPLAT_OK;
}

static splat_status take_option(splat_python_reader *reader, const splat_option_row *row, splat_scene_options *scene,
                                splat_error *error)
{
    void *field = (char *)scene + row->offset;
    float number = (float)splat_option_get(row, scene);
    switch (row->kind) {
    case SPLAT_OPTION_TEXT: return take_string(reader, field, error);
    case SPLAT_OPTION_CHOICE: return take_choice(reader, row, field, error);
    case SPLAT_OPTION_FLAG: return take_bool(reader, field, error);
    case SPLAT_OPTION_INT:
    case SPLAT_OPTION_SIZE: return take_int(reader, field, error);
    default:
        SPLAT_TRY(take_float(reader, &number, error));
        splat_option_set(row, scene, (double)number);
        return SPLAT_OK;
    }
}

static splat_status take_item(splat_python_reader *reader, splat_model_config *config, splat_error *error)
{
    const char *key = reader->item.key;
    if (strcmp(key, "model_path") == 0) return take_string(reader, &config->model_path, error);
    if (strcmp(key, "sh_degree") == 0) return take_int(reader, &config->sh_degree, error);
    if (strcmp(key, "kernel_size") == 0) return take_float(reader, &config->kernel_size, error);
    const splat_option *option = splat_option_find(&splat_scene_options_table, key);
    if (!option || option->saved < SPLAT_SAVED_CFG_ARGS) return SPLAT_OK;
    return take_option(reader, &option->row, &config->scene, error);
}

static splat_status read_items(splat_python_reader *reader, splat_model_config *config, splat_error *error)
{
    for (bool found = true; found;) {
        SPLAT_TRY(splat_python_next(reader, &found, error));
        if (found) SPLAT_TRY(take_item(reader, config, error));
    }
    if (config->sh_degree < 0 || config->sh_degree > 3)
        return splat_fail_at(error, SPLAT_ERROR_FORMAT, reader->path, SPLAT_NO_OFFSET,
                             "sh_degree=%d of cfg_args is not in 0 to 3", config->sh_degree);
    return SPLAT_OK;
}

void splat_model_config_free(splat_model_config *config)
{
    free(config->model_path);
    splat_scene_options_free(&config->scene);
    memset(config, 0, sizeof *config);
}

splat_status splat_cfg_args_read(const char *model_path, splat_model_config *config, splat_error *error)
{
    uint8_t *data = NULL;
    splat_python_reader reader = {0};
    char *path = splat_format("%s/cfg_args", model_path);
    *config = (splat_model_config){.model_path = strdup(model_path), .sh_degree = 3, .kernel_size = 0.1f};
    splat_scene_options_init(&config->scene);
    config->scene.source_path = strdup("");
    config->scene.images = strdup("images");
    splat_status status = SPLAT_OK;
    if (!path || !config->scene.source_path || !config->model_path || !config->scene.images)
        status = splat_fail(error, SPLAT_ERROR_MEMORY, "no memory for the configuration");
    if (status == SPLAT_OK) status = splat_file_read(path, &data, &reader.size, error);
    if (status == SPLAT_OK) {
        reader.path = path;
        reader.text = (const char *)data;
        status = read_items(&reader, config, error);
    }
    splat_python_stop(&reader);
    free(data);
    free(path);
    if (status != SPLAT_OK) splat_model_config_free(config);
    return status;
}

splat_status splat_model_config_read(const char *model_path, splat_model_config *config, splat_error *error)
{
    return splat_cfg_args_read(model_path, config, error);
}
