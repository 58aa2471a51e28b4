/* results.json and per_view.json, merged with what the files say of other methods. */
#include "measure/results_json.h"

#include "base/file.h"
#include "io/json.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* The columns of both files; the last only where it was measured. */
static const char *const keys[] = {"SSIM", "PSNR", "PSNR_per_channel", "L1", "LPIPS"};
enum { N_KEYS = sizeof keys / sizeof keys[0] };

static int n_keys_of(const splat_metrics *metrics)
{
    return metrics->lpips_net ? N_KEYS : N_KEYS - 1;
}

/* JSON has no infinity (PSNR of equal pictures): null. */
static json_t *metric_json(const splat_metrics *metrics, int key)
{
    const double values[N_KEYS] = {metrics->ssim, metrics->psnr, metrics->psnr_per_channel, metrics->l1,
                                   metrics->lpips};
    return isfinite(values[key]) ? json_real(values[key]) : json_null();
}

/* Sets object[key] and takes the value over, also when this fails; NULL fails. */
static bool set(json_t *object, const char *key, json_t *value)
{
    return json_object_set_new(object, key, value) == 0;
}

static json_t *mean_json(const splat_metrics *mean)
{
    json_t *object = json_object();
    bool good = object != NULL;
    for (int k = 0; k < n_keys_of(mean) && good; k++) good = set(object, keys[k], metric_json(mean, k));
    if (mean->lpips_net) good = good && set(object, "LPIPS_net", json_string(mean->lpips_net));
    if (good) return object;
    json_decref(object);
    return NULL;
}

static json_t *views_json(const splat_metrics *views, const char *const *names, size_t n)
{
    json_t *object = json_object();
    bool good = object != NULL;
    int n_keys = n ? n_keys_of(&views[0]) : N_KEYS - 1;
    for (int k = 0; k < n_keys && good; k++) {
        json_t *column = json_object();
        for (size_t i = 0; i < n && good; i++) good = set(column, names[i], metric_json(&views[i], k));
        good = set(object, keys[k], column) && good;
    }
    if (good) return object;
    json_decref(object);
    return NULL;
}

/* Sets method in a file of methods and keeps the others. Takes `value` over. */
static splat_status merge(const char *model_path, const char *name, const char *method, json_t *value,
                          splat_error *error)
{
    json_t *root = NULL;
    char *text = NULL, *path = splat_format("%s/%s", model_path, name);
    splat_status status = SPLAT_OK;
    if (!path || !value) status = splat_fail(error, SPLAT_ERROR_MEMORY, "no memory for %s", name);
    if (status == SPLAT_OK && splat_path_exists(path)) {
        status = splat_json_read(path, &root, error);
        if (status == SPLAT_OK && !json_is_object(root))
            status = splat_fail_at(error, SPLAT_ERROR_FORMAT, path, SPLAT_NO_OFFSET,
                                   "the results of other methods cannot be kept: this is not a JSON object");
    } else if (status == SPLAT_OK) {
        root = json_object();
    }
    if (status == SPLAT_OK) {
        if (json_object_set(root, method, value) == 0)
            text = splat_json_print(root, JSON_INDENT(1) | JSON_REAL_PRECISION(17));
        status = text ? splat_file_write(path, text, strlen(text), error)
                      : splat_fail(error, SPLAT_ERROR_MEMORY, "no memory for %s", name);
    }
    json_decref(value);
    json_decref(root);
    free(text);
    free(path);
    return status;
}

splat_status splat_results_json_write(const char *model_path, const char *method, const splat_metrics *mean,
                                      const splat_metrics *views, const char *const *names, size_t n,
                                      splat_error *error)
{
    SPLAT_TRY(merge(model_path, "results.json", method, mean_json(mean), error));
    return merge(model_path, "per_view.json", method, views_json(views, names, n), error);
}
