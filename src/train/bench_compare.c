/* Two benchmarks side by side: how much faster, how sure, how much worse the pictures, whether the race was fair. */
#include "train/bench_record.h"
#include "train/bench_times.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---------------------------------------------------------------- figures */

static double quality_loss(const splat_bench_figures *before, const splat_bench_figures *after)
{
    /* L1 is told, not judged: half a percent of it is less than two seeds differ by. */
    double loss = fmax((before->psnr - after->psnr) / before->psnr, (before->ssim - after->ssim) / before->ssim);
    if (isnan(before->psnr) || isnan(after->psnr) || isnan(before->ssim) || isnan(after->ssim)) return (double)NAN;
    return fmax(loss, (after->lpips - before->lpips) / before->lpips); /* fmax passes over NaN */
}

void splat_bench_compare(const splat_bench_record *baseline, const splat_bench_record *candidate,
                         splat_bench_comparison *c)
{
    const splat_bench_figures *before = &baseline->figures, *after = &candidate->figures;
    double log_ratio, half;
    splat_bench_times_ratio(&after->step, &before->step, &log_ratio, &half);
    c->change = expm1(log_ratio);
    c->change_low = expm1(log_ratio - half);
    c->change_high = expm1(log_ratio + half);
    c->speedup = exp(-log_ratio);
    c->speedup_low = exp(-log_ratio - half);
    c->speedup_high = exp(-log_ratio + half);
    c->seconds_saved = before->seconds_to_30k - after->seconds_to_30k;
    c->is_significant = fabs(log_ratio) > half; /* NaN: not known, so false */
    c->quality_loss = quality_loss(before, after);
}

/* ---------------------------------------------------------------- differences */

typedef struct differences {
    const json_t *a, *b;
    splat_bench_difference_function visit;
    void *user;
} differences;

/* "text", 3, true; "-" for what is not there. malloc'd, NULL when memory is exhausted. */
static char *show(const json_t *value)
{
    return value ? json_dumps(value, JSON_ENCODE_ANY | JSON_REAL_PRECISION(7)) : strdup("-");
}

static bool same(const json_t *a, const json_t *b)
{
    if (json_is_number(a) && json_is_number(b)) return json_number_value(a) == json_number_value(b);
    return (!a && !b) || json_equal(a, b);
}

/* "<what> differs: 1600 and 800" */
static void tell(const differences *d, const char *what, const json_t *a, const json_t *b)
{
    char sentence[512];
    char *first = show(a), *second = show(b);
    snprintf(sentence, sizeof sentence, "%s differs: %.180s and %.180s", what, first ? first : "?",
             second ? second : "?");
    d->visit(d->user, sentence);
    free(first);
    free(second);
}

static void compare_key(const differences *d, const char *group, const char *key, const char *what)
{
    const json_t *a = json_object_get(json_object_get(d->a, group), key);
    const json_t *b = json_object_get(json_object_get(d->b, group), key);
    if (!same(a, b)) tell(d, what, a, b);
}

/* Every option of either. */
static void compare_options(const differences *d)
{
    const json_t *a = json_object_get(d->a, "options"), *b = json_object_get(d->b, "options");
    json_t *value;
    const char *key;
    char what[128];
    json_object_foreach((json_t *)(uintptr_t)a, key, value)
    {
        snprintf(what, sizeof what, "the option %.80s", key);
        if (!same(value, json_object_get(b, key))) tell(d, what, value, json_object_get(b, key));
    }
    json_object_foreach((json_t *)(uintptr_t)b, key, value)
    {
        snprintf(what, sizeof what, "the option %.80s", key);
        if (!json_object_get(a, key)) tell(d, what, NULL, value);
    }
}

static void compare_counts(const differences *d)
{
    static const char *const keys[] = {"gaussians_first", "gaussians_last"};
    for (int i = 0; i < 2; i++) { /* one of them is enough to say it */
        const json_t *a = json_object_get(json_object_get(d->a, "measurement"), keys[i]);
        const json_t *b = json_object_get(json_object_get(d->b, "measurement"), keys[i]);
        double n = json_number_value(a), m = json_number_value(b);
        if (fabs(n - m) <= 0.05 * fmax(n, m)) continue;
        tell(d, "the number of Gaussians", a, b);
        return;
    }
}

static void check_throttling(const differences *d, const json_t *root, const char *whose)
{
    static const char *const keys[] = {"throttled_hw", "throttled_power", "throttled_thermal"};
    static const char *const why[] = {"the hardware", "the power limit", "heat"};
    for (int i = 0; i < 3; i++) {
        char sentence[128];
        double part = json_number_value(json_object_get(json_object_get(root, "gpu"), keys[i]));
        if (!(part > 0)) continue;
        snprintf(sentence, sizeof sentence, "the clocks of the %s were held down by %s for %.0f %% of the time", whose,
                 why[i], 100 * part);
        d->visit(d->user, sentence);
    }
}

void splat_bench_differences(const splat_bench_record *baseline, const splat_bench_record *candidate,
                             splat_bench_difference_function visit, void *user)
{
    static const struct {
        const char *group, *key, *what;
    } keys[] = {
        {"environment", "host", "the machine"},          {"environment", "processor", "the processor"},
        {"environment", "gpu", "the GPU"},               {"environment", "cuda_driver", "the driver"},
        {"environment", "backend", "the backend"},       {"environment", "threads", "the number of threads"},
        {"environment", "deterministic", "--deterministic"},
        {"scene", "name", "the scene"},                  {"scene", "train_views", "the number of training views"},
        {"scene", "test_views", "the number of test views"},
        {"scene", "width", "the width of the pictures"}, {"scene", "height", "the height of the pictures"},
        {"measurement", "first_iteration", "the first measured iteration"},
        {"measurement", "iterations", "the number of measured iterations"},
    };
    differences d = {baseline->root, candidate->root, visit, user};
    for (size_t i = 0; i < sizeof keys / sizeof keys[0]; i++) compare_key(&d, keys[i].group, keys[i].key, keys[i].what);
    compare_counts(&d);
    compare_options(&d);
    check_throttling(&d, d.a, "baseline");
    check_throttling(&d, d.b, "candidate");
}
