/* Options, scene and machine as rows of text. */
#include "run/run_settings.h"

#include "run/checkpoint/options.h"

#include "report/environment.h"
#include "train/density/strategy.h"
#include "train/schedule.h"
#include "train/train_options.h"

#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#define MAX_ROWS 96

typedef struct text_table {
    splat_report_row rows[MAX_ROWS];
    char values[MAX_ROWS][256];
    size_t n;
} text_table;

struct splat_run_settings {
    json_t *scene, *options; /* own the names of the rows */
    text_table dataset, optimization, machine;
    splat_report_config config;
};

/* The name is borrowed. */
static void add(text_table *table, const char *name, const char *format, ...) SPLAT_PRINTF(3, 4);
static void add(text_table *table, const char *name, const char *format, ...)
{
    if (table->n == MAX_ROWS) return;
    char *text = table->values[table->n];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, sizeof table->values[0], format, arguments);
    va_end(arguments);
    table->rows[table->n++] = (splat_report_row){name, text};
}

/* Options of a stage that this run is not of tell nothing. */
static bool is_of_run(const splat_trainer *run, const char *name)
{
    const splat_train_options *o = &run->options;
    for (size_t i = 0; i < splat_train_options_table.n; i++) {
        const splat_option_row *row = &splat_train_options_table.rows[i].row;
        const splat_option_trial *trial = &splat_train_option_trials[i];
        if (!row->kind || strcmp(row->name, name) != 0) continue;
        if (trial->effect == SPLAT_CHANGES_COARSE && o->coarse.regularization == SPLAT_REGULARIZE_NONE)
            return strcmp(name, "regularization") == 0;
        if (trial->effect == SPLAT_CHANGES_SDF) return o->coarse.regularization == SPLAT_REGULARIZE_SDF;
        if (trial->effect == SPLAT_CHANGES_MULTIVIEW)
            return o->coarse.regularization == SPLAT_REGULARIZE_MULTIVIEW;
        if (trial->effect == SPLAT_CHANGES_MCMC) return o->strategy && o->strategy->moves;
        if (trial->effect == SPLAT_CHANGES_DEPTH)
            return run->scene->dataset.n_depths > 0 || run->scene->dataset.n_depth_points > 0;
        return trial->effect != SPLAT_CHANGES_REFINE || o->binding;
    }
    return true;
}

/* Options by name, as a checkpoint's header lists them. Names live as long as `options`. */
static void add_options(text_table *table, const splat_trainer *run, json_t *options)
{
    const char *key;
    json_t *value;
    json_object_foreach(options, key, value)
    {
        if (!is_of_run(run, key)) continue;
        if (json_is_string(value))
            add(table, key, "%s", json_string_length(value) ? json_string_value(value) : "(default)");
        else if (json_is_boolean(value))
            add(table, key, "%s", json_is_true(value) ? "True" : "False");
        else if (json_is_integer(value))
            add(table, key, "%lld", (long long)json_integer_value(value));
        else
            add(table, key, "%.9g", json_number_value(value));
    }
}

static void add_scene(text_table *table, const splat_scene *scene)
{
    splat_scene_info info;
    splat_scene_get_info(scene, &info);
    add(table, "format", "%s", info.format);
    add(table, "train views", "%zu", info.n_train);
    add(table, "test views", "%zu", info.n_test);
    add(table, "largest view", "%d x %d", info.max_width, info.max_height);
    add(table, "points", "%zu%s", info.n_points, info.random_points ? " drawn at random" : "");
    add(table, "extent", "%.4g", (double)info.extent);
}

static void add_machine(text_table *table, const splat_trainer *trainer)
{
    splat_environment environment;
    char size[32];
    const splat_backend *backend = trainer->backend;
    splat_environment_read(NULL, &environment);
    add(table, "device", "%s", splat_context_get_description(trainer->context));
    if (backend->device_bytes)
        add(table, "device memory", "%s", splat_bytes_format(backend->device_bytes, size, sizeof size));
    if (backend->memory.limit)
        add(table, "memory limit", "%s", splat_bytes_format(backend->memory.limit, size, sizeof size));
    else
        add(table, "memory limit", "none");
    add(table, "threads", "%d", backend->threads);
    add(table, "splatsmith", "%s", splat_version());
    add(table, "processor", "%s, %d CPUs", environment.processor, environment.n_cpus);
    add(table, "system", "%s", environment.system);
    add(table, "started", "%s", environment.date);
}

splat_run_settings *splat_run_settings_make(const splat_trainer *trainer, const char *command)
{
    splat_run_settings *s = calloc(1, sizeof *s);
    if (!s) return NULL;
    s->scene = splat_scene_options_json(&trainer->scene->options);
    s->options = splat_train_options_json(trainer);
    add_options(&s->dataset, trainer, s->scene);
    add_scene(&s->dataset, trainer->scene);
    add_options(&s->optimization, trainer, s->options);
    add_machine(&s->machine, trainer);
    const splat_regularizer *regularizer = trainer->options.regularizer;
    s->config = (splat_report_config){.command = command,
                                      .dataset = {s->dataset.rows, s->dataset.n},
                                      .optimization = {s->optimization.rows, s->optimization.n},
                                      .performance = {s->machine.rows, s->machine.n},
                                      .more = regularizer ? regularizer->report : NULL,
                                      .last_iteration = trainer->options.iterations};
    return s;
}

const splat_report_config *splat_run_settings_config(const splat_run_settings *settings)
{
    return &settings->config;
}

void splat_run_settings_free(splat_run_settings *s)
{
    if (!s) return;
    json_decref(s->scene);
    json_decref(s->options);
    free(s);
}
