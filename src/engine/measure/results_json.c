/* results.json and per_view.json, merged with what the files say of other methods. */
#include "measure/results_json.h"

#include "base/file.h"
#include "base/plural.h"
#include "io/json.h"
#include "splatsmith/mesh.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The columns of both files. */
static const char *const keys[] = {"SSIM", "PSNR", "PSNR_per_channel", "L1", "LPIPS", "cc_psnr", "cc_ssim",
                                   "cc_lpips", "exposed_psnr", "exposed_ssim", "exif_psnr", "exif_ssim"};
enum { N_KEYS = sizeof keys / sizeof keys[0], LPIPS = 4, CC_PSNR = 5, CC_LPIPS = 7, EXPOSED_PSNR = 8, EXIF_PSNR = 10 };

/* Some only where they were measured. */
static bool has_key(const splat_metrics *metrics, int key)
{
    if ((key == LPIPS || key == CC_LPIPS) && !metrics->lpips_net) return false;
    if (key >= EXIF_PSNR) return metrics->is_exif_exposed;
    if (key >= EXPOSED_PSNR) return metrics->is_exposed;
    return key < CC_PSNR || metrics->is_corrected;
}

/* JSON has no infinity (PSNR of equal pictures): null. */
static json_t *metric_json(const splat_metrics *metrics, int key)
{
    const double values[N_KEYS] = {metrics->ssim, metrics->psnr, metrics->psnr_per_channel, metrics->l1,
                                   metrics->lpips, metrics->cc_psnr, metrics->cc_ssim, metrics->cc_lpips,
                                   metrics->exposed_psnr, metrics->exposed_ssim, metrics->exif_psnr,
                                   metrics->exif_ssim};
    return isfinite(values[key]) ? json_real(values[key]) : json_null();
}

/* Sets object[key] and takes the value over, also when this fails; NULL fails. */
static bool set(json_t *object, const char *key, json_t *value)
{
    return json_object_set_new(object, key, value) == 0;
}

/* The key of a column, "" or "_covered" at its end. */
static bool set_metric(json_t *object, int key, const char *end, json_t *value)
{
    char name[40];
    snprintf(name, sizeof name, "%s%s", keys[key], end);
    return set(object, name, value);
}

/* Adds the figures of masks and whole pictures. */
static bool set_masked(json_t *object, const splat_metrics *mean)
{
    const splat_metrics whole = {.l1 = mean->l1_whole, .psnr = mean->psnr_whole, .ssim = mean->ssim_whole,
                                 .psnr_per_channel = mean->psnr_per_channel_whole};
    bool good = set(object, "masked", json_true()) && set(object, "kept", json_real(mean->kept));
    for (int k = 0; k < LPIPS && good; k++) good = set_metric(object, k, "_whole", metric_json(&whole, k));
    return good;
}

static json_t *mean_json(const splat_metrics *mean)
{
    json_t *object = json_object();
    bool good = object != NULL;
    for (int k = 0; k < N_KEYS && good; k++)
        if (has_key(mean, k)) good = set_metric(object, k, "", metric_json(mean, k));
    good = good && set(object, "n_views", json_integer((json_int_t)mean->n_views));
    if (mean->lpips_net) good = good && set(object, "LPIPS_net", json_string(mean->lpips_net));
    if (mean->n_masked) good = good && set_masked(object, mean);
    if (mean->n_near_views)
        good = good && set(object, "near_light",
                           json_real(mean->all_light > 0 ? mean->near_light / mean->all_light : 0));
    if (good) return object;
    json_decref(object);
    return NULL;
}

/* Adds a column an entry of the metrics to a method of per_view.json. Row i stands `stride` bytes after the one before;
 * one without views is null. `like`: which columns there are. */
static bool set_columns(json_t *object, const splat_metrics *first, size_t stride, const char *const *names, size_t n,
                        const splat_metrics *like, const char *end)
{
    bool good = true;
    for (int k = 0; k < N_KEYS && good; k++) {
        if (!has_key(like, k)) continue;
        json_t *column = json_object();
        for (size_t i = 0; i < n && good; i++) {
            const splat_metrics *one = (const void *)((const char *)first + i * stride);
            good = set(column, names[i], one->n_views ? metric_json(one, k) : json_null());
        }
        good = set_metric(object, k, end, column) && good;
    }
    return good;
}

static json_t *views_json(const splat_metrics *views, const char *const *names, size_t n)
{
    json_t *object = json_object();
    const splat_metrics none = {0};
    if (object && set_columns(object, views, sizeof *views, names, n, n ? &views[0] : &none, "")) return object;
    json_decref(object);
    return NULL;
}

/* The columns of covered pixels: their colours are not corrected. */
static splat_metrics like_covered(const splat_metrics *all)
{
    splat_metrics like = *all;
    like.is_corrected = false;
    return like;
}

static json_t *mesh_mean_json(const splat_mesh_metrics *mean)
{
    json_t *object = mean_json(&mean->all);
    const splat_metrics covered = like_covered(&mean->all);
    bool good = object != NULL;
    for (int k = 0; k < N_KEYS && good; k++)
        if (has_key(&covered, k))
            good = set_metric(object, k, "_covered",
                              mean->covered.n_views ? metric_json(&mean->covered, k) : json_null());
    if (good && set(object, "coverage", json_real(mean->coverage))) return object;
    json_decref(object);
    return NULL;
}

static json_t *mesh_views_json(const splat_mesh_metrics *views, const char *const *names, size_t n,
                               const splat_metrics *like)
{
    json_t *object = json_object(), *coverage = json_object();
    const splat_metrics covered = like_covered(like);
    bool good = object && coverage && set_columns(object, &views[0].all, sizeof *views, names, n, like, "") &&
                set_columns(object, &views[0].covered, sizeof *views, names, n, &covered, "_covered");
    for (size_t i = 0; i < n && good; i++) good = set(coverage, names[i], json_real(views[i].coverage));
    good = good && set(object, "coverage", json_incref(coverage));
    json_decref(coverage);
    if (good) return object;
    json_decref(object);
    return NULL;
}

/* The views that per_view.json has of a method. A file that cannot be read has none: merge() reports it. */
static size_t count_views(const char *model_path, const char *method)
{
    json_t *root = NULL;
    char *path = splat_format("%s/per_view.json", model_path);
    size_t n = 0;
    if (path && splat_path_exists(path) && splat_json_read(path, &root, NULL) == SPLAT_OK)
        n = json_object_size(json_object_get(json_object_get(root, method), "PSNR"));
    json_decref(root);
    free(path);
    return n;
}

char *splat_results_json_name(const splat_context *context, const char *model_path, const char *method, size_t n)
{
    const size_t n_before = count_views(model_path, method);
    if (n_before <= n) return strdup(method);
    char *name = splat_format("%s_%zu_of_%zu_views", method, n, n_before);
    if (name)
        splat_log(context, SPLAT_LOG_NOTICE, "%s/results.json has %s of %zu views, which stays; the results of %zu "
                  "view%s are %s", model_path, method, n_before, n, splat_plural(n), name);
    return name;
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

splat_status splat_mesh_results_json_write(const char *model_path, const char *method, const splat_mesh_metrics *mean,
                                           const splat_mesh_metrics *views, const char *const *names, size_t n,
                                           splat_error *error)
{
    SPLAT_TRY(merge(model_path, "results.json", method, mesh_mean_json(mean), error));
    return merge(model_path, "per_view.json", method, mesh_views_json(views, names, n, &mean->all), error);
}

static json_t *share(uint64_t n, uint64_t all)
{
    return all ? json_real((double)n / (double)all) : json_null();
}

static bool set_checks(json_t *object, const splat_mesh_extract_info *info)
{
    return set(object, "back", share(info->n_back, info->n_covered)) &&
           set(object, "violation", share(info->n_violated, info->n_trusted)) &&
           set(object, "missing", share(info->n_missing, info->n_trusted)) &&
           set(object, "n_trusted", json_integer((json_int_t)info->n_trusted));
}

static bool set_sky(json_t *object, const splat_mesh_extract_info *info)
{
    return !info->n_sky_pixels || (set(object, "sky_covered", share(info->n_sky_covered, info->n_sky_pixels)) &&
                                   set(object, "n_sky_pixels", json_integer((json_int_t)info->n_sky_pixels)));
}

splat_status splat_mesh_extract_info_write(const char *model_path, const splat_mesh_extract_info *info,
                                           splat_error *error)
{
    json_t *object = json_object();
    if (object && !(set_checks(object, info) && set_sky(object, info))) {
        json_decref(object);
        object = NULL;
    }
    return merge(model_path, "results.json", "mesh", object, error);
}
