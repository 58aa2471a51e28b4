/* Reads a memory profile and reports growth at a constant number of Gaussians, and the choices that would free most
 * memory. */
#include "report/profile/profile_report.h"

#include "train/memory/choices.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define LEAST_SAMPLES 8      /* two a quarter */
#define COUNTED_SLACK 65536  /* bytes: what is counted exactly may differ by a counter or two */
#define SYSTEM_SLACK 4194304 /* what the system and the driver count moves by pages, stacks and late kernels */

/* ---------------------------------------------------------------- trends */

typedef struct figure {
    const char *what;
    size_t offset; /* in splat_profile_sample */
    double slack;  /* bytes that are no growth */
    bool in_blocks;
} figure;

static const figure figures[SPLAT_PROFILE_TRENDS] = {
    {"allocated on the device", offsetof(splat_profile_sample, allocated_bytes), COUNTED_SLACK, true},
    {"counted on the host", offsetof(splat_profile_sample, host_bytes), COUNTED_SLACK, true},
    {"resident memory of the process", offsetof(splat_profile_sample, process_bytes), SYSTEM_SLACK, false},
    {"the driver's figure", offsetof(splat_profile_sample, driver_bytes), SYSTEM_SLACK, false},
};

static double value_of(const splat_profile_sample *sample, const figure *f)
{
    size_t value;
    memcpy(&value, (const char *)sample + f->offset, sizeof value);
    return (double)value;
}

/* The first sample after which the count never changes and density control is over, if the run came that far. The
 * first visit of each view is left out: until then the arrays of the view in work still find their size. */
static size_t first_settled(const splat_profile *profile, const splat_profile_run *run)
{
    size_t last = profile->n_samples - 1, first = last;
    const splat_profile_sample *s = profile->samples;
    int begin = run->densify_until < s[last].iteration ? run->densify_until : 0;
    if (begin < run->train_views) begin = run->train_views;
    while (first > 0 && s[first - 1].n_gaussians == s[last].n_gaussians && s[first - 1].iteration > begin) first--;
    return first;
}

/* Bytes an iteration: the least-squares line through n samples. */
static double slope_of(const splat_profile_sample *s, size_t n, const figure *f)
{
    double mean_x = 0, mean_y = 0, xy = 0, xx = 0;
    for (size_t i = 0; i < n; i++) {
        mean_x += (double)s[i].iteration / (double)n;
        mean_y += value_of(&s[i], f) / (double)n;
    }
    for (size_t i = 0; i < n; i++) {
        double x = (double)s[i].iteration - mean_x;
        xy += x * (value_of(&s[i], f) - mean_y);
        xx += x * x;
    }
    return xx > 0 ? xy / xx : 0;
}

/* A leak goes on: each quarter holds more than the one before, by a tenth of the whole growth at least. What grows once
 * (a larger view, a cache that fills) does not. */
static bool goes_on(const splat_profile_sample *s, size_t n, const figure *f)
{
    double mean[4] = {0};
    for (int q = 0; q < 4; q++) {
        size_t begin = n * (size_t)q / 4, end = n * (size_t)(q + 1) / 4;
        for (size_t i = begin; i < end; i++) mean[q] += value_of(&s[i], f) / (double)(end - begin);
    }
    double growth = mean[3] - mean[0];
    if (growth <= f->slack) return false;
    for (int q = 1; q < 4; q++)
        if (mean[q] - mean[q - 1] < growth / 10) return false;
    return true;
}

/* "1234 KiB": small growth is what matters here */
static const char *kilobytes(double bytes, char text[32])
{
    snprintf(text, 32, "%.0f KiB", bytes / 1024);
    return text;
}

static double range_of(const splat_profile_sample *s, size_t n, const figure *f)
{
    double low = value_of(&s[0], f), high = low;
    for (size_t i = 1; i < n; i++) {
        low = fmin(low, value_of(&s[i], f));
        high = fmax(high, value_of(&s[i], f));
    }
    return high - low;
}

/* ---------------------------------------------------------------- which block grew */

/* Bytes of all blocks of a name, and how many they are. */
static size_t bytes_of(const json_t *blocks, const char *name, size_t *n)
{
    size_t sum = 0, i;
    json_t *object;
    *n = 0;
    json_array_foreach(blocks, i, object) {
        const char *other = json_string_value(json_object_get(object, "name"));
        if (!other || strcmp(other, name) != 0) continue;
        sum += (size_t)json_integer_value(json_object_get(object, "bytes"));
        ++*n;
    }
    return sum;
}

typedef struct grower {
    char name[64];
    splat_profile_part part;
    splat_memory_category category;
    double bytes;
    size_t n_before, n_after;
} grower;

/* The name whose blocks grew most between two samples, on the device or on the host. */
static void find_grower(const json_t *before, const json_t *after, bool on_device, grower *most)
{
    size_t i;
    json_t *object;
    memset(most, 0, sizeof *most);
    json_array_foreach(after, i, object) {
        splat_profile_block row;
        size_t n_before, n_after;
        if (splat_profile_read_block(object, NULL, 0, &row, NULL) != SPLAT_OK) continue; /* read before: it is sound */
        if ((row.place == SPLAT_PLACE_DEVICE) != on_device) continue;
        double grown = (double)bytes_of(after, row.name, &n_after) - (double)bytes_of(before, row.name, &n_before);
        if (grown <= most->bytes) continue;
        snprintf(most->name, sizeof most->name, "%s", row.name);
        most->part = row.part;
        most->category = row.category;
        most->bytes = grown;
        most->n_before = n_before;
        most->n_after = n_after;
    }
}

static splat_status parse_sample(const splat_profile_lines *lines, size_t i, json_t **object, splat_error *error)
{
    return splat_profile_parse_line(lines->path, lines->data + lines->begin[i], lines->length[i], lines->number[i],
                                    object, error);
}

static void explain_growth(const grower *most, splat_profile_trend *trend)
{
    char size[32];
    if (most->bytes <= 0) {
        snprintf(trend->reason, sizeof trend->reason, "it grows in every quarter, but no single block does");
        return;
    }
    const char *category = splat_memory_category_name(most->category);
    const char *hint = most->category == SPLAT_MEMORY_ACTIVATIONS
                           ? ": working memory should stop once every view was seen"
                       : most->part == SPLAT_PART_PHOTO_CACHE ? ": the photo cache fills up to `image_cache_gb`"
                                                              : "";
    if (most->n_after > most->n_before)
        snprintf(trend->reason, sizeof trend->reason,
                 "it grows in every quarter; blocks '%s' (%s) went from %zu to %zu, %s more%s", most->name,
                 category, most->n_before, most->n_after, kilobytes(most->bytes, size), hint);
    else
        snprintf(trend->reason, sizeof trend->reason, "it grows in every quarter; most of it is '%s' (%s), %s more%s",
                 most->name, category, kilobytes(most->bytes, size), hint);
}

static splat_status explain(const figure *f, const splat_profile_lines *lines, size_t first, splat_profile_trend *trend,
                            splat_error *error)
{
    json_t *before = NULL, *after = NULL;
    grower most;
    if (!f->in_blocks) {
        snprintf(trend->reason, sizeof trend->reason,
                 "it grows in every quarter; see whether what is counted grows too: if not, it is none of the blocks");
        return SPLAT_OK;
    }
    splat_status status = parse_sample(lines, first, &before, error);
    if (status == SPLAT_OK) status = parse_sample(lines, lines->n - 1, &after, error);
    if (status == SPLAT_OK) {
        find_grower(json_object_get(before, "blocks"), json_object_get(after, "blocks"), f == &figures[0], &most);
        explain_growth(&most, trend);
    }
    json_decref(before);
    json_decref(after);
    return status;
}

splat_status splat_profile_judge(splat_profile *profile, const splat_profile_run *run,
                                 const splat_profile_lines *lines, splat_error *error)
{
    size_t first = first_settled(profile, run), n = profile->n_samples - first;
    const splat_profile_sample *s = &profile->samples[first];
    profile->settled_iteration = s->iteration;
    for (int i = 0; i < SPLAT_PROFILE_TRENDS; i++) {
        const figure *f = &figures[i];
        char size[32];
        if (value_of(&s[n - 1], f) == 0) continue; /* the driver's figure on the CPU; nothing on the host */
        splat_profile_trend *trend = &profile->trends[profile->n_trends++];
        trend->what = f->what;
        if (n < LEAST_SAMPLES) {
            trend->verdict = SPLAT_PROFILE_UNKNOWN;
            snprintf(trend->reason, sizeof trend->reason,
                     "only %zu of the samples are from after the last change of the number of Gaussians; %d are needed",
                     n, LEAST_SAMPLES);
            continue;
        }
        trend->bytes_per_1000_steps = 1000 * slope_of(s, n, f);
        if (goes_on(s, n, f)) {
            trend->verdict = SPLAT_PROFILE_GROWS;
            SPLAT_TRY(explain(f, lines, first, trend, error));
        } else {
            snprintf(trend->reason, sizeof trend->reason, "it stays within %s and does not go on growing",
                     kilobytes(range_of(s, n, f), size));
        }
    }
    return SPLAT_OK;
}

/* ---------------------------------------------------------------- the peak: what is large, what could be saved */

static void add_saving(splat_profile *profile, const char *option, const char *cost, double bytes)
{
    splat_profile_saving saving = {option, cost, (size_t)(bytes > 0 ? bytes : 0)};
    size_t at = profile->n_savings;
    if (bytes < 1) return;
    for (; at > 0 && profile->savings[at - 1].bytes < saving.bytes; at--)
        profile->savings[at] = profile->savings[at - 1];
    profile->savings[at] = saving;
    profile->n_savings++;
}

static void add_held(splat_memory_held *held, const splat_profile_block *row)
{
    double bytes = (double)row->bytes;
    bool is_float = row->type == SPLAT_TYPE_FLOAT32, is_moment = row->category == SPLAT_MEMORY_OPTIMIZER;
    bool is_harmonics = row->part == SPLAT_PART_HARMONICS;
    if (is_harmonics && is_float) held->harmonics_float32 += bytes;
    if (is_moment && is_float) held->moments_float32 += bytes;
    if (is_harmonics || row->part == SPLAT_PART_HARMONIC_MOMENTS) held->harmonics_all += bytes;
    if (row->part == SPLAT_PART_PHOTOS) held->photos += bytes;
    if (row->part == SPLAT_PART_FRAME) held->frame += bytes;
    if (is_moment || row->category == SPLAT_MEMORY_PARAMETERS) held->rows += bytes;
}

/* Into the list when it is one of the largest; equal ones in the file's order. */
static void add_large(splat_profile *profile, const splat_profile_block *row)
{
    splat_profile_large_block *list = profile->largest;
    size_t at = profile->n_largest;
    while (at > 0 && list[at - 1].bytes < row->reserved) at--;
    if (at == SPLAT_PROFILE_LARGEST) return;
    if (profile->n_largest < SPLAT_PROFILE_LARGEST) profile->n_largest++;
    memmove(&list[at + 1], &list[at], (profile->n_largest - at - 1) * sizeof *list);
    list[at].bytes = row->reserved;
    snprintf(list[at].name, sizeof list[at].name, "%s", row->name);
    snprintf(list[at].category, sizeof list[at].category, "%s",
             splat_memory_category_name(row->category));
    snprintf(list[at].type, sizeof list[at].type, "%s", splat_element_type_name(row->type));
}

/* Computes how much each choice would have freed, from the blocks' real sizes. */
static void find_savings(splat_profile *profile, bool gpu, const splat_memory_held *held)
{
    for (size_t i = 0; i < SPLAT_N_MEMORY_CHOICES; i++) {
        const splat_memory_choice *choice = &splat_memory_choices[i];
        if (choice->saving && (gpu || !choice->only_gpu))
            add_saving(profile, choice->option, choice->cost, choice->saving(held));
    }
}

splat_status splat_profile_look_at_peak(splat_profile *profile, const splat_profile_run *run,
                                        const splat_profile_lines *lines, splat_error *error)
{
    splat_memory_held held = {.n_gaussians = profile->samples[profile->peak].n_gaussians,
                              .sh_degree = run->sh_degree,
                              .largest_photo = run->largest_photo_bytes};
    size_t i;
    json_t *sample, *object;
    SPLAT_TRY(parse_sample(lines, profile->peak, &sample, error));
    json_array_foreach(json_object_get(sample, "blocks"), i, object) {
        splat_profile_block row;
        if (splat_profile_read_block(object, NULL, 0, &row, NULL) != SPLAT_OK || row.place != SPLAT_PLACE_DEVICE)
            continue;
        add_held(&held, &row);
        add_large(profile, &row);
    }
    json_decref(sample);
    find_savings(profile, run->gpu, &held);
    return SPLAT_OK;
}
