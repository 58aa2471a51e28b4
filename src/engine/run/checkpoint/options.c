/* The options of a run by name, for a checkpoint's header and for the list of what changed since it was written. */
#include "run/checkpoint/options.h"

#include "io/json.h"
#include "io/number.h"
#include "io/option_text.h"
#include "scene/scene_options.h"
#include "train/train_options.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Files have the background in this place among the options of training. */
#define BACKGROUND_ROW 2

static const splat_option *background(void)
{
    return splat_option_find(&splat_scene_options_table, "white_background");
}

static bool is_saved(const splat_option *option)
{
    return option->saved != SPLAT_SAVED_NOWHERE && option != background();
}

/* Numbers and flags as such; what JSON's integers cannot hold, and words, as text. */
static json_t *value_of(const splat_option_row *o, const void *options)
{
    char text[512];
    const void *at = (const char *)options + o->offset;
    if (o->kind == SPLAT_OPTION_INT || o->kind == SPLAT_OPTION_SIZE) return json_integer(*(const int *)at);
    if (o->kind == SPLAT_OPTION_FLAG) return json_boolean(*(const bool *)at);
    splat_option_describe(o, options, text, sizeof text);
    if (o->kind == SPLAT_OPTION_REAL) return json_real(splat_number_parse(text, NULL)); /* 0.1, not 0.100000001 */
    bool is_count = o->kind == SPLAT_OPTION_U64 || o->kind == SPLAT_OPTION_COUNT;
    if (is_count && *(const uint64_t *)at <= INT64_MAX)
        return json_integer((json_int_t)*(const uint64_t *)at);
    return json_string(text);
}

static void set_row(json_t **object, const splat_option_row *row, const void *options)
{
    splat_json_set(object, row->name, value_of(row, options));
}

json_t *splat_train_options_json(const splat_trainer *t)
{
    json_t *object = json_object();
    for (size_t i = 0; i < splat_train_options_table.n; i++) {
        const splat_option_row *row = &splat_train_options_table.rows[i].row;
        if (i == BACKGROUND_ROW) set_row(&object, &background()->row, &t->scene->options);
        if (row->kind) set_row(&object, row, &t->options);
    }
    return object;
}

json_t *splat_scene_options_json(const splat_scene_options *options)
{
    json_t *object = json_object();
    for (size_t i = 0; i < splat_scene_options_table.n; i++)
        if (is_saved(&splat_scene_options_table.rows[i]))
            set_row(&object, &splat_scene_options_table.rows[i].row, options);
    return object;
}

/* ---------------------------------------------------------------- what changed */

static void describe_old(const splat_option_row *o, const json_t *value, char *text, size_t size)
{
    char number[32];
    if (json_is_boolean(value))
        snprintf(text, size, "%s", json_is_true(value) ? "True" : "False");
    else if (json_is_integer(value) && o->kind != SPLAT_OPTION_REAL)
        snprintf(text, size, "%" JSON_INTEGER_FORMAT, json_integer_value(value));
    else if (json_is_number(value))
        snprintf(text, size, "%s", splat_number_format(number, (float)json_number_value(value)));
    else
        snprintf(text, size, "%s", json_is_string(value) ? json_string_value(value) : "?");
}

/* Nothing is said of an option that the old version did not have. */
static void tell_change(const splat_context *context, const splat_option_row *row, const void *options,
                        const json_t *old)
{
    char before[512], now[512];
    const json_t *value = row->kind ? json_object_get(old, row->name) : NULL;
    if (!value) return;
    describe_old(row, value, before, sizeof before);
    splat_option_describe(row, options, now, sizeof now);
    if (strcmp(before, now) != 0)
        splat_log(context, SPLAT_LOG_NOTICE, "changed since the checkpoint: `%s` was %s, is %s", row->name, before,
                  now);
}

void splat_checkpoint_tell_changes(const splat_trainer *t, const json_t *header)
{
    const json_t *train = json_object_get(header, "train_options"), *scene = json_object_get(header, "scene_options");
    for (size_t i = 0; i < splat_train_options_table.n; i++)
        tell_change(t->context, &splat_train_options_table.rows[i].row, &t->options, train);
    tell_change(t->context, &background()->row, &t->scene->options, train);
    for (size_t i = 0; i < splat_scene_options_table.n; i++)
        if (is_saved(&splat_scene_options_table.rows[i]))
            tell_change(t->context, &splat_scene_options_table.rows[i].row, &t->scene->options, scene);
}
