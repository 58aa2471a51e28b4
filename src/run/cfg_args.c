/* cfg_args of a model folder: Namespace(key=literal, ...), as the published trainers write and read it. */
#include "run/cfg_args.h"

#include "base/file.h"
#include "io/number.h"
#include "io/python_literal.h"
#include "math/lens.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* SPLAT_WORDS_MASK_MODE, SPLAT_WORDS_UNDISTORT */
static const char *const mask_modes[] = {"ignore", "segment", "alpha"};
static const char *const undistorts[] = {"auto", "off", "crop", "all"};

static void write_string(FILE *stream, const char *key, const char *value, const char *fallback)
{
    fprintf(stream, ", %s=", key);
    splat_python_write_string(stream, value ? value : fallback);
}

static void write_bool(FILE *stream, const char *key, bool value)
{
    fprintf(stream, ", %s=%s", key, value ? "True" : "False");
}

splat_status splat_cfg_args_write(const char *model_path, const splat_model_config *config,
                                  const splat_train_options *train, splat_error *error)
{
    splat_save save;
    char number[32];
    char *path = splat_format("%s/cfg_args", model_path);
    if (!path) return splat_fail(error, SPLAT_ERROR_MEMORY, "no memory for a path");
    splat_status status = splat_save_open(&save, path, error);
    free(path);
    if (status != SPLAT_OK) return status;
    FILE *stream = save.stream;
    fprintf(stream, "Namespace(sh_degree=%d", config->sh_degree);
    write_string(stream, "source_path", config->source_path, "");
    write_string(stream, "model_path", config->model_path, model_path);
    write_string(stream, "images", config->images, "images");
    fprintf(stream, ", resolution=%d", config->resolution);
    write_bool(stream, "white_background", config->white_background);
    write_string(stream, "data_device", train->photos_on_host ? "cpu" : "cuda", "");
    write_bool(stream, "eval", config->eval);
    fprintf(stream, ", kernel_size=%s", splat_number_format(number, config->kernel_size));
    write_bool(stream, "ray_jitter", train->ray_jitter);
    write_bool(stream, "resample_gt_image", train->resample_gt_image);
    write_bool(stream, "load_allres", config->load_allres);
    write_bool(stream, "sample_more_highres", train->sample_more_highres);
    if (config->masks) write_string(stream, "masks", config->masks, "");
    if (config->invert_masks) write_bool(stream, "invert_masks", true);
    if (config->depths) write_string(stream, "depths", config->depths, "");
    if (config->mask_mode) write_string(stream, "mask_mode", mask_modes[config->mask_mode], "");
    if (config->undistort) write_string(stream, "undistort", undistorts[config->undistort], "");
    if (config->fisheye_degrees > 0 && config->fisheye_degrees != SPLAT_LENS_FISHEYE_DEGREES) /* the default */
        fprintf(stream, ", fisheye_degrees=%s", splat_number_format(number, config->fisheye_degrees));
    fprintf(stream, ")");
    return splat_save_commit(&save, error);
}

static splat_status wrong_type(const splat_python_reader *reader, const char *wanted, splat_error *error)
{
    return splat_fail_at(error, SPLAT_ERROR_FORMAT, reader->path, reader->item.offset, "%s of cfg_args is not %s",
                         reader->item.key, wanted);
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

/* One of n words; *number is its place. `all`: them, for the error. */
static splat_status take_word(splat_python_reader *reader, const char *const *words, int n, const char *all,
                              int *number, splat_error *error)
{
    char *word = NULL;
    SPLAT_TRY(take_string(reader, &word, error));
    if (!word) return SPLAT_OK;
    int i = 0;
    while (i < n && strcmp(word, words[i]) != 0) i++;
    free(word);
    if (i == n) return wrong_type(reader, all, error);
    *number = i;
    return SPLAT_OK;
}

static splat_status take_mask_mode(splat_python_reader *reader, splat_mask_mode *mode, splat_error *error)
{
    int number = (int)*mode;
    SPLAT_TRY(take_word(reader, mask_modes, 3, SPLAT_WORDS_MASK_MODE, &number, error));
    *mode = (splat_mask_mode)number;
    return SPLAT_OK;
}

static splat_status take_undistort(splat_python_reader *reader, splat_undistort *undistort, splat_error *error)
{
    int number = (int)*undistort;
    SPLAT_TRY(take_word(reader, undistorts, 4, SPLAT_WORDS_UNDISTORT, &number, error));
    *undistort = (splat_undistort)number;
    return SPLAT_OK;
}

static splat_status take_item(splat_python_reader *reader, splat_model_config *config, splat_error *error)
{
    const char *key = reader->item.key;
    if (strcmp(key, "source_path") == 0) return take_string(reader, &config->source_path, error);
    if (strcmp(key, "model_path") == 0) return take_string(reader, &config->model_path, error);
    if (strcmp(key, "images") == 0) return take_string(reader, &config->images, error);
    if (strcmp(key, "masks") == 0) return take_string(reader, &config->masks, error);
    if (strcmp(key, "depths") == 0) return take_string(reader, &config->depths, error);
    if (strcmp(key, "invert_masks") == 0) return take_bool(reader, &config->invert_masks, error);
    if (strcmp(key, "mask_mode") == 0) return take_mask_mode(reader, &config->mask_mode, error);
    if (strcmp(key, "undistort") == 0) return take_undistort(reader, &config->undistort, error);
    if (strcmp(key, "fisheye_degrees") == 0) return take_float(reader, &config->fisheye_degrees, error);
    if (strcmp(key, "sh_degree") == 0) return take_int(reader, &config->sh_degree, error);
    if (strcmp(key, "resolution") == 0) return take_int(reader, &config->resolution, error);
    if (strcmp(key, "white_background") == 0) return take_bool(reader, &config->white_background, error);
    if (strcmp(key, "eval") == 0) return take_bool(reader, &config->eval, error);
    if (strcmp(key, "load_allres") == 0) return take_bool(reader, &config->load_allres, error);
    if (strcmp(key, "kernel_size") == 0) return take_float(reader, &config->kernel_size, error);
    return SPLAT_OK;
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

static void free_strings(splat_model_config *config)
{
    free(config->source_path);
    free(config->model_path);
    free(config->images);
    free(config->masks);
    free(config->depths);
    memset(config, 0, sizeof *config);
}

splat_status splat_cfg_args_read(const char *model_path, splat_model_config *config, splat_error *error)
{
    uint8_t *data = NULL;
    splat_python_reader reader = {0};
    char *path = splat_format("%s/cfg_args", model_path);
    *config = (splat_model_config){.source_path = strdup(""), .model_path = strdup(model_path),
                                   .images = strdup("images"), .sh_degree = 3, .resolution = -1, .kernel_size = 0.1f};
    splat_status status = SPLAT_OK;
    if (!path || !config->source_path || !config->model_path || !config->images)
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
    if (status != SPLAT_OK) free_strings(config);
    return status;
}
