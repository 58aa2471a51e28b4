#include "train/run_settings.h"

#include "train/checkpoint.h"

#include <jansson.h>
#include <stdlib.h>

#define MAX_ROWS 64
#define N_MACHINE 5

typedef struct text_table {
    splat_report_row rows[MAX_ROWS];
    char values[MAX_ROWS][128];
    size_t n;
} text_table;

struct splat_run_settings {
    json_t *scene, *options; /* own the names of the rows */
    text_table tables[2];
    splat_environment environment;
    char processor[192];
    splat_report_row machine[N_MACHINE];
    splat_report_config config;
};

/* Options by name, as a checkpoint's header lists them. Names live as long as `options`. */
static void fill_table(text_table *table, json_t *options)
{
    const char *key;
    json_t *value;
    json_object_foreach(options, key, value)
    {
        if (table->n == MAX_ROWS) return;
        char *text = table->values[table->n];
        size_t size = sizeof table->values[0];
        if (json_is_string(value))
            snprintf(text, size, "%s", json_string_value(value));
        else if (json_is_boolean(value))
            snprintf(text, size, "%s", json_is_true(value) ? "True" : "False");
        else if (json_is_integer(value))
            snprintf(text, size, "%lld", (long long)json_integer_value(value));
        else
            snprintf(text, size, "%.9g", json_number_value(value));
        table->rows[table->n++] = (splat_report_row){key, text};
    }
}

splat_run_settings *splat_run_settings_make(const splat_trainer *trainer, const char *command)
{
    splat_run_settings *s = calloc(1, sizeof *s);
    if (!s) return NULL;
    s->scene = splat_scene_options_json(&trainer->scene->options);
    s->options = splat_train_options_json(&trainer->options);
    fill_table(&s->tables[0], s->scene);
    fill_table(&s->tables[1], s->options);
    splat_environment_read(NULL, &s->environment);
    snprintf(s->processor, sizeof s->processor, "%s, %d CPUs", s->environment.processor, s->environment.n_cpus);
    const splat_report_row machine[N_MACHINE] = {{"device", splat_context_description(trainer->context)},
                                                 {"splatsmith", splat_version()},
                                                 {"processor", s->processor},
                                                 {"system", s->environment.system},
                                                 {"started", s->environment.date}};
    for (int i = 0; i < N_MACHINE; i++) s->machine[i] = machine[i];
    s->config = (splat_report_config){.command = command,
                                      .dataset = {s->tables[0].rows, s->tables[0].n},
                                      .optimization = {s->tables[1].rows, s->tables[1].n},
                                      .performance = {s->machine, N_MACHINE}};
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
