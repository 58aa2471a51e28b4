/* Two benchmarks side by side: how much faster, how sure, how much worse the pictures, whether the race was fair. */
#include "bench/compare.h"

#include "bench/record.h"
#include "bench/times.h"
#include "io/json.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---------------------------------------------------------------- figures */

static double quality_loss(const splat_bench_figures *before, const splat_bench_figures *after)
{
    /* L1 is reported, not judged: half a percent of it is less than two seeds differ by. */
    double loss = fmax((before->psnr - after->psnr) / before->psnr, (before->ssim - after->ssim) / before->ssim);
    if (isnan(before->psnr) || isnan(after->psnr) || isnan(before->ssim) || isnan(after->ssim)) return (double)NAN;
    if (strcmp(before->lpips_net, after->lpips_net) != 0) return loss; /* distances of two networks have no ratio */
    return fmax(loss, (after->lpips - before->lpips) / before->lpips); /* fmax passes over NaN */
}

void splat_bench_compare_times(const splat_bench_times *baseline, const splat_bench_times *candidate,
                               splat_bench_comparison *c)
{
    double log_ratio, half;
    splat_bench_times_ratio(candidate, baseline, &log_ratio, &half);
    c->change = expm1(log_ratio);
    c->change_low = expm1(log_ratio - half);
    c->change_high = expm1(log_ratio + half);
    c->speedup = exp(-log_ratio);
    c->speedup_low = exp(-log_ratio - half);
    c->speedup_high = exp(-log_ratio + half);
    c->seconds_saved = 30 * (baseline->mean - candidate->mean);
    c->is_significant = fabs(log_ratio) > half; /* NaN: not known, so false */
    c->quality_loss = (double)NAN;
}

void splat_bench_compare(const splat_bench_record *baseline, const splat_bench_record *candidate,
                         splat_bench_comparison *c)
{
    splat_bench_compare_times(&baseline->figures.step, &candidate->figures.step, c);
    c->quality_loss = quality_loss(&baseline->figures, &candidate->figures);
}

/* ---------------------------------------------------------------- differences */

typedef struct differences {
    const json_t *a, *b;
    splat_bench_difference_function visit;
    void *user;
} differences;

/* "text", 3, true; "-" for what is absent. malloc'd, NULL when memory is exhausted. */
static char *show(const json_t *value)
{
    return value ? splat_json_print(value, JSON_ENCODE_ANY | JSON_REAL_PRECISION(7)) : strdup("-");
}

static const json_t *value_at(const json_t *root, const char *group, const char *key)
{
    return json_object_get(group ? json_object_get(root, group) : root, key);
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
        const json_t *a = value_at(d->a, "measurement", keys[i]), *b = value_at(d->b, "measurement", keys[i]);
        double n = json_number_value(a), m = json_number_value(b);
        if (fabs(n - m) <= 0.05 * fmax(n, m)) continue;
        tell(d, "the number of Gaussians", a, b);
        return;
    }
}

void splat_bench_throttling(const splat_bench_record *record, const char *whose, splat_bench_difference_function visit,
                            void *user)
{
    static const char *const keys[] = {"throttled_hw", "throttled_power", "throttled_thermal"};
    static const char *const why[] = {"the hardware", "the power limit", "heat"};
    for (int i = 0; i < 3; i++) {
        char sentence[128];
        double part = json_number_value(json_object_get(json_object_get(record->root, "gpu"), keys[i]));
        if (!(part > 0)) continue;
        snprintf(sentence, sizeof sentence, "the clocks of %s were held down by %s for %.0f %% of the time", whose,
                 why[i], 100 * part);
        visit(user, sentence);
    }
}

static const struct {
    const char *group, *key, *what;
    bool decides; /* figures of two values of this cannot be compared at all */
} settings[] = {
    {"environment", "host", "the machine", true},
    {"environment", "processor", "the processor", true},
    {"environment", "gpu", "the GPU", true},
    {"environment", "cuda_driver", "the driver", false},
    {"environment", "backend", "the backend", true},
    {"environment", "threads", "the number of threads", false},
    {"environment", "deterministic", "deterministic mode", false},
    {"scene", "name", "the scene", true},
    {"scene", "train_views", "the number of training views", true},
    {"scene", "test_views", "the number of test views", true},
    {"scene", "width", "the width of the pictures", true},
    {"scene", "height", "the height of the pictures", true},
    {NULL, "width", "the width of the views", true}, /* of photos and views */
    {NULL, "height", "the height of the views", true},
    {NULL, "gaussians", "the number of Gaussians", false},
    {"measurement", "first_iteration", "the first measured iteration", false},
    {"measurement", "iterations", "the number of measured iterations", false},
    {"quality", "lpips_net", "the network of LPIPS", false},
};
enum { N_SETTINGS = sizeof settings / sizeof settings[0] };

bool splat_bench_is_comparable(const splat_bench_record *a, const splat_bench_record *b)
{
    for (size_t i = 0; i < N_SETTINGS; i++)
        if (settings[i].decides && !same(value_at(a->root, settings[i].group, settings[i].key),
                                         value_at(b->root, settings[i].group, settings[i].key)))
            return false;
    return true;
}

void splat_bench_setting_differences(const splat_bench_record *baseline, const splat_bench_record *candidate,
                                     splat_bench_difference_function visit, void *user)
{
    differences d = {baseline->root, candidate->root, visit, user};
    for (size_t i = 0; i < N_SETTINGS; i++) {
        const json_t *a = value_at(d.a, settings[i].group, settings[i].key);
        const json_t *b = value_at(d.b, settings[i].group, settings[i].key);
        if (!same(a, b)) tell(&d, settings[i].what, a, b);
    }
    compare_counts(&d);
    compare_options(&d);
}

void splat_bench_list_differences(const splat_bench_record *baseline, const splat_bench_record *candidate,
                                  splat_bench_difference_function visit, void *user)
{
    splat_bench_setting_differences(baseline, candidate, visit, user);
    splat_bench_throttling(baseline, "the baseline", visit, user);
    splat_bench_throttling(candidate, "the candidate", visit, user);
}
