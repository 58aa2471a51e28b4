/* depth_params.json, read. */
#include "io/depth_params.h"

#include "base/compare.h"
#include "io/json.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define LEAST_PART 0.2 /* of the median scale; 3DGS's bounds */
#define MOST_TIMES 5

static int compare_params(const void *a, const void *b)
{
    return strcmp(((const splat_depth_param *)a)->name, ((const splat_depth_param *)b)->name);
}

static bool get_number(const json_t *object, const char *key, double *value)
{
    const json_t *item = json_object_get(object, key);
    *value = json_number_value(item);
    return json_is_number(item) && isfinite((float)*value);
}

static splat_status read_items(const char *path, json_t *root, splat_depth_params *params, splat_error *error)
{
    const char *key;
    json_t *value;
    json_object_foreach(root, key, value)
    {
        splat_depth_param *param = &params->items[params->n];
        if (!get_number(value, "scale", &param->scale) || !get_number(value, "offset", &param->offset))
            return splat_fail_at(error, SPLAT_ERROR_FORMAT, path, SPLAT_NO_OFFSET,
                                 "\"%.200s\" lacks a scale and an offset that are numbers; make the file again with "
                                 "make_depth_scale.py", key);
        param->name = strdup(key);
        if (!param->name) return splat_fail(error, SPLAT_ERROR_MEMORY, "no memory for %s", path);
        params->n++;
    }
    return SPLAT_OK;
}

/* As NumPy: of an even number the mean of the two in the middle. */
static splat_status find_median(const char *path, splat_depth_params *params, splat_error *error)
{
    double *scales = malloc((params->n + 1) * sizeof *scales);
    size_t n = 0;
    if (!scales) return splat_fail(error, SPLAT_ERROR_MEMORY, "no memory for %s", path);
    for (size_t i = 0; i < params->n; i++)
        if (params->items[i].scale > 0) scales[n++] = params->items[i].scale;
    qsort(scales, n, sizeof *scales, splat_compare_doubles);
    params->median_scale = n ? 0.5 * (scales[(n - 1) / 2] + scales[n / 2]) : 0;
    free(scales);
    return SPLAT_OK;
}

splat_status splat_depth_params_read(const char *path, splat_depth_params *params, splat_error *error)
{
    json_t *root;
    *params = (splat_depth_params){0};
    SPLAT_TRY(splat_json_read(path, &root, error));
    splat_status status = SPLAT_OK;
    if (!json_is_object(root) || json_object_size(root) == 0) {
        status = splat_fail_at(error, SPLAT_ERROR_FORMAT, path, SPLAT_NO_OFFSET,
                               "the file names no photo: {\"NAME\": {\"scale\": .., \"offset\": ..}} is what "
                               "make_depth_scale.py writes");
    } else {
        params->items = calloc(json_object_size(root), sizeof *params->items);
        status = params->items ? read_items(path, root, params, error)
                               : splat_fail(error, SPLAT_ERROR_MEMORY, "no memory for %s", path);
    }
    json_decref(root);
    if (status == SPLAT_OK) {
        qsort(params->items, params->n, sizeof *params->items, compare_params);
        status = find_median(path, params, error);
    }
    if (status != SPLAT_OK) splat_depth_params_free(params);
    return status;
}

const splat_depth_param *splat_depth_params_find(const splat_depth_params *params, const char *name, size_t length)
{
    size_t low = 0, high = params->n;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        const splat_depth_param *param = &params->items[middle];
        int order = strncmp(param->name, name, length);
        if (order == 0) order = param->name[length] != '\0';
        if (order == 0) return param;
        if (order < 0)
            low = middle + 1;
        else
            high = middle;
    }
    return NULL;
}

bool splat_depth_param_is_reliable(const splat_depth_params *params, const splat_depth_param *param)
{
    return param->scale > 0 && param->scale >= LEAST_PART * params->median_scale &&
           param->scale <= MOST_TIMES * params->median_scale;
}

void splat_depth_params_free(splat_depth_params *params)
{
    for (size_t i = 0; i < params->n; i++) free(params->items[i].name);
    free(params->items);
    *params = (splat_depth_params){0};
}
