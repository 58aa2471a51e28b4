/* pipeline.json, written before and after every stage. */
#include "pipeline/overview.h"

const char *splat_pipeline_state_name(splat_pipeline_state state)
{
    static const char *const names[] = {"waiting",  "left out", "done before", "running",
                                        "complete", "stopped",  "failed"};
    const size_t i = (size_t)state;
    return i < sizeof names / sizeof names[0] ? names[i] : "";
}

static json_t *stage_row(const splat_pipeline_stage_work *s, const char *name)
{
    json_t *row = json_object();
    json_object_set_new(row, "stage", json_string(name));
    json_object_set_new(row, "state", json_string(splat_pipeline_state_name(s->state)));
    if (s->state == SPLAT_PIPELINE_FAILED || s->state == SPLAT_PIPELINE_STOPPED)
        json_object_set_new(row, "exit_code", json_integer(s->exit_code));
    if (s->state == SPLAT_PIPELINE_WAITING || s->state == SPLAT_PIPELINE_LEFT_OUT) return row;
    json_object_set_new(row, "seconds", json_real(s->file.seconds));
    json_object_set_new(row, "peak_bytes", json_integer((json_int_t)s->file.peak_bytes));
    json_object_set_new(row, "host_peak_bytes", json_integer((json_int_t)s->file.host_peak_bytes));
    if (s->file.results) json_object_set(row, "results", s->file.results);
    return row;
}

double splat_pipeline_cameras_seconds(const splat_pipeline_work *w)
{
    const char *stage;
    json_t *row, *root = splat_stage_json_load(w->job.at.cameras);
    double seconds = 0;
    json_object_foreach(json_object_get(root, "stages"), stage, row)
        seconds += json_number_value(json_object_get(row, "seconds"));
    json_decref(root);
    return seconds;
}

static json_t *cameras_row(const splat_pipeline_work *w)
{
    json_t *row = json_object(), *results = json_object();
    json_object_set_new(row, "stage", json_string("cameras"));
    json_object_set_new(row, "state", json_string(splat_pipeline_state_name(w->cameras)));
    json_object_set_new(results, "n_photos", json_integer((json_int_t)w->cameras_info.n_photos));
    json_object_set_new(results, "n_registered", json_integer((json_int_t)w->cameras_info.n_registered));
    if (w->cameras == SPLAT_PIPELINE_COMPLETE || w->cameras == SPLAT_PIPELINE_DONE_BEFORE) {
        json_object_set_new(row, "seconds", json_real(splat_pipeline_cameras_seconds(w)));
        json_object_set(row, "results", results);
    } else {
        json_object_set_new(row, "exit_code", json_integer(w->cameras_code));
    }
    json_decref(results);
    return row;
}

splat_status splat_pipeline_write_overview(const splat_pipeline_work *w, splat_error *error)
{
    json_t *root = json_object(), *rows = json_array();
    json_object_set_new(root, "format", json_string("splatsmith pipeline"));
    json_object_set_new(root, "version", json_string(splat_version()));
    if (w->line.command_text) splat_stage_json_set_text(root, "command", w->line.command_text);
    splat_stage_json_set_text(root, "scene", w->job.at.scene);
    if (w->cameras != SPLAT_PIPELINE_WAITING) json_array_append_new(rows, cameras_row(w));
    for (size_t i = 0; i < splat_pipeline_n_stages; i++)
        json_array_append_new(rows, stage_row(&w->stages[i], splat_pipeline_stages[i].product.name));
    json_object_set_new(root, "stages", rows);
    json_object_set(root, "files", w->files);
    return splat_stage_json_write(w->overview, root, error);
}
