/* Gaussians that a splat is better without: outside a box, faint, large, or far from the others. */
#include "model/clean.h"

#include "base/options.h"
#include "base/point_outliers.h"
#include "base/select.h"
#include "io/option_text.h"
#include "model/files.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Some Gaussians of a model stay, the others go. */

/* The rows that stay, moved to the front. */
static void compact(float *rows, size_t n, size_t channels, const uint8_t *keep)
{
    size_t to = 0;
    for (size_t i = 0; i < n && rows; i++)
        if (keep[i]) memmove(rows + channels * to++, rows + channels * i, channels * sizeof *rows);
}

splat_status splat_model_keep(splat_model *model, const uint8_t *keep, splat_error *error)
{
    size_t n = model->gaussians.n, n_kept = 0;
    int degree = model->gaussians.sh_degree;
    splat_cloud cloud;
    for (size_t i = 0; i < n; i++) n_kept += keep[i] != 0;
    if (n_kept == n) return SPLAT_OK;
    SPLAT_TRY(splat_model_download(model, &cloud, error));
#define SPLAT_TENSOR(name, ...)                                                                                        \
    compact(cloud.name, n, splat_tensor_channels(SPLAT_TENSOR_##name, degree), keep);
#include "math/gaussians.def"
#undef SPLAT_TENSOR
    compact(cloud.filter_3d, n, 1, keep);
    cloud.n = n_kept;
    splat_status status = splat_model_resize(model, (uint32_t)n_kept, error); /* smaller: cannot fail */
    if (status == SPLAT_OK) status = splat_model_upload(model, &cloud, error);
    splat_cloud_free(&cloud);
    return status;
}

enum { STAYS, NOT_FINITE, OUTSIDE, FAINT, LARGE, LONELY, N_FATES };

static const splat_option rows[] = {
#define SPLAT_OPTION(field, kind, start, range) SPLAT_OPTION_OF(splat_clean_options, field, kind, start, range)
#include "splatsmith/clean_options.def"
};
static const splat_option_table table = SPLAT_OPTION_TABLE(splat_clean_options, rows);

void splat_clean_options_init_sized(splat_clean_options *options, size_t size)
{
    splat_option_defaults(&table, options, size);
}

splat_status splat_clean_options_set(splat_clean_options *options, const char *name, const char *text,
                                     splat_error *error)
{
    return splat_option_set_text(&table, options, name, text, error);
}

splat_status splat_clean_options_check(const splat_clean_options *o, splat_error *error)
{
    for (int k = 0; k < 3 && o->has_bbox; k++)
        if (!(o->bbox_low[k] < o->bbox_high[k]))
            return splat_fail(error, SPLAT_ERROR_ARGUMENT, "the box is empty: bboxmin must be below bboxmax");
    return splat_option_check_all(&table, o, error);
}

static bool is_finite_row(const float *row, int n)
{
    for (int k = 0; k < n; k++)
        if (!isfinite(row[k])) return false;
    return true;
}

static bool is_finite(const splat_cloud *cloud, size_t i)
{
    size_t n_rest = splat_sh_rest_floats(cloud->sh_degree);
    if (cloud->filter_3d && !isfinite(cloud->filter_3d[i])) return false;
    return is_finite_row(cloud->sh_dc + 3 * i, 3) && is_finite_row(cloud->sh_rest + n_rest * i, (int)n_rest) &&
           is_finite_row(cloud->means + 3 * i, 3) && is_finite_row(cloud->scales + 3 * i, 3) &&
           is_finite_row(cloud->rotations + 4 * i, 4) && isfinite(cloud->opacities[i]);
}

static bool is_outside(const splat_clean_options *o, const float mean[3])
{
    for (int k = 0; k < 3; k++)
        if (o->has_bbox && ((double)mean[k] < o->bbox_low[k] || (double)mean[k] > o->bbox_high[k])) return true;
    return false;
}

/* The diagonal of the box, or of what holds the middle 98 % of the centres along each axis: single Gaussians far away
 * must not decide what is large. fates: those that are finite count. values: [n] of scratch. */
static double find_extent(const splat_cloud *cloud, const splat_clean_options *o, const uint8_t *fates, float *values)
{
    double sum = 0;
    for (size_t k = 0; k < 3; k++) {
        double side = o->bbox_high[k] - o->bbox_low[k];
        size_t n = 0;
        for (size_t i = 0; i < cloud->n && !o->has_bbox; i++)
            if (fates[i] != NOT_FINITE) values[n++] = cloud->means[3 * i + k];
        if (n) {
            double low = (double)splat_select_float(values, n, n / 100);
            side = (double)splat_select_float(values, n, n - 1 - n / 100) - low;
        }
        sum += side * side;
    }
    return sqrt(sum);
}

/* Judges one Gaussian as it is rendered, with its 3D filter. */
static int judge_shape(const splat_cloud *cloud, size_t i, double min_opacity, double max_deviation)
{
    float *p = cloud->scales + 3 * i, scales[3] = {p[0], p[1], p[2]}, logit = cloud->opacities[i];
    if (cloud->filter_3d) splat_gaussian_bake_filter(scales, &logit, (double)cloud->filter_3d[i]);
    float largest = fmaxf(scales[0], fmaxf(scales[1], scales[2]));
    if (1 / (1 + exp(-(double)logit)) < min_opacity) return FAINT;
    return exp((double)largest) > max_deviation ? LARGE : STAYS;
}

/* Among those that stay. positions: [n][3], keep: [n] of scratch. */
static splat_status find_lonely(const splat_cloud *cloud, const splat_clean_options *o, int threads, uint8_t *fates,
                                float *positions, uint8_t *keep, splat_error *error)
{
    splat_point_outlier_options options;
    size_t n = 0, at = 0;
    for (size_t i = 0; i < cloud->n; i++)
        for (size_t k = 0; k < 3 && fates[i] == STAYS; k++) positions[n++] = cloud->means[3 * i + k];
    n /= 3;
    if (!(o->outlier_std > 0) || n <= o->outlier_neighbors) return SPLAT_OK;
    splat_point_outlier_options_init(&options);
    options.n_neighbors = (uint32_t)o->outlier_neighbors;
    options.std_ratio = o->outlier_std;
    options.threads = threads;
    options.keep_duplicates = true; /* Gaussians in one place add up: they are no copies */
    SPLAT_TRY(splat_point_outliers(positions, n, &options, keep, NULL, error));
    for (size_t i = 0; i < cloud->n; i++)
        if (fates[i] == STAYS && !keep[at++]) fates[i] = LONELY;
    return SPLAT_OK;
}

/* scratch: [n][3] */
static splat_status judge(const splat_cloud *cloud, const splat_clean_options *o, int threads, uint8_t *fates,
                          float *scratch, uint8_t *keep, splat_error *error)
{
    double max_deviation = INFINITY;
    for (size_t i = 0; i < cloud->n; i++)
        fates[i] = !is_finite(cloud, i) ? NOT_FINITE : is_outside(o, cloud->means + 3 * i) ? OUTSIDE : STAYS;
    if (o->max_size > 0) max_deviation = o->max_size * find_extent(cloud, o, fates, scratch);
    for (size_t i = 0; i < cloud->n; i++)
        if (fates[i] == STAYS) fates[i] = (uint8_t)judge_shape(cloud, i, o->min_opacity, max_deviation);
    return find_lonely(cloud, o, threads, fates, scratch, keep, error);
}

static splat_status remove_judged(splat_model *model, const splat_clean_options *o, const splat_cloud *cloud,
                                  uint8_t *fates, float *scratch, uint8_t *keep, splat_clean_counts *counts,
                                  splat_error *error)
{
    size_t n[N_FATES] = {0};
    SPLAT_TRY(judge(cloud, o, model->context->threads, fates, scratch, keep, error));
    for (size_t i = 0; i < cloud->n; i++) {
        keep[i] = fates[i] == STAYS;
        n[fates[i]]++;
    }
    *counts = (splat_clean_counts){cloud->n,  cloud->n - n[STAYS], n[NOT_FINITE], n[OUTSIDE],
                                   n[FAINT], n[LARGE],            n[LONELY]};
    if (n[STAYS] == 0)
        return splat_fail(error, SPLAT_ERROR_NUMERIC, "none of %zu Gaussians would be left: %zu lie outside the box, "
                          "%zu are too faint, %zu too large, %zu too far from others, %zu not finite", cloud->n,
                          n[OUTSIDE], n[FAINT], n[LARGE], n[LONELY], n[NOT_FINITE]);
    return splat_model_keep(model, keep, error);
}

splat_status splat_model_clean(splat_model *model, const splat_clean_options *options, splat_clean_counts *counts,
                               splat_error *error)
{
    splat_clean_options own;
    splat_clean_counts found = {0};
    splat_cloud cloud;
    size_t n = model->gaussians.n;
    splat_clean_options_init(&own);
    if (options) SPLAT_TRY(splat_options_take(&own, options, "splat_clean_options", error));
    SPLAT_TRY(splat_clean_options_check(&own, error));
    SPLAT_TRY(splat_model_download(model, &cloud, error));
    uint8_t *fates = malloc(n + 1), *keep = malloc(n + 1);
    float *scratch = malloc(3 * n * sizeof *scratch + 1);
    splat_status status = fates && keep && scratch
                              ? remove_judged(model, &own, &cloud, fates, scratch, keep, &found, error)
                              : splat_fail(error, SPLAT_ERROR_MEMORY, "no memory to look at %zu Gaussians", n);
    free(scratch);
    free(keep);
    free(fates);
    splat_cloud_free(&cloud);
    if (counts) *counts = found;
    return status;
}
