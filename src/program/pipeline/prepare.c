/* The checks before the first stage, and the folder of the run. */
#include "pipeline/prepare.h"

#include "base/error.h"
#include "pipeline/results.h"
#include "stage/cameras.h"
#include "stage/folder.h"
#include "stage/ranks.h"
#include "stage/session.h"
#include "stage/viewer.h"

#include <dirent.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* ---------------------------------------------------------------- options */

static void tell_unused_presets(const splat_line *line)
{
    const char *why = line->pipeline->low_poly ? ": `low_poly` sets it" : ": `high_poly` sets it";
    if (!line->pipeline->low_poly && !line->pipeline->high_poly) return;
    splat_stage_tell_unused(line, "target_vertices", why);
    splat_stage_tell_unused(line, "gaussians_per_triangle", why);
}

static void tell_unused(const splat_line *line)
{
    if (line->model->gs_output_dir && line->pipeline->coarse_checkpoint)
        splat_notice(line->talk, "`gs_output_dir` has no effect: `coarse_checkpoint` is the later result");
    else if (!line->model->gs_output_dir)
        splat_stage_tell_unused(line, "iteration", " without -c");
    tell_unused_presets(line);
    splat_pipeline_tell_unused(line);
    splat_stage_tell_unused_viewer(line);
}

/* Checks beyond the table of options. */
static splat_status check_options(const splat_line *line, splat_error *error)
{
    const bool given = line->model->gs_output_dir || line->pipeline->coarse_checkpoint;
    if (line->pipeline->skip_training && !given)
        return splat_fail(error, SPLAT_ERROR_ARGUMENT,
                          "`skip_training` needs a splat: give it with -c, or the result of a coarse training with "
                          "`coarse_checkpoint`");
    if (given && splat_stage_needs_cameras(line))
        return splat_fail(error, SPLAT_ERROR_ARGUMENT,
                          "%s has photos without cameras, and new ones would not fit the splat that is given; name the "
                          "scene that it was trained on with -s",
                          line->scene->source_path);
    if (line->pipeline->low_poly && line->pipeline->high_poly)
        return splat_fail(error, SPLAT_ERROR_ARGUMENT, "`low_poly` and `high_poly` exclude each other");
    return SPLAT_OK;
}

/* One process works. Its stages count GPUs again, each for its own line. */
static splat_status check_ranks(const splat_line *line, splat_error *error)
{
    splat_line copy = *line;
    splat_line_machine machine = *line->machine; /* counting gives it fewer threads */
    int rank, size;
    splat_launch_get(&rank, &size);
    if (size > 1)
        return splat_fail(error, SPLAT_ERROR_ARGUMENT,
                          "pipeline is one process: give it `gpus`, or start its stages train and coarse by "
                          "themselves");
    copy.machine = &machine;
    return splat_ranks_count_gpus(&copy, error);
}

/* ---------------------------------------------------------------- the folder */

static splat_status choose_folder(splat_pipeline_work *w, splat_error *error)
{
    char *path = w->job.at.folder;
    SPLAT_TRY(splat_stage_choose_folder(path, w->line.output->path, NULL, NULL, NULL, error));
    if (strlen(path) >= SPLAT_PIPELINE_PATH - 64) /* room for the names in it */
        return splat_fail(error, SPLAT_ERROR_ARGUMENT, "the path %.200s... is too long", path);
    if (strchr(path, ','))
        return splat_fail(error, SPLAT_ERROR_ARGUMENT,
                          "%s has a comma in its name, which separates the files of a mesh; choose another folder with "
                          "-o",
                          path);
    return splat_stage_join(w->overview, path, "pipeline.json", error);
}

/* Ours, or empty: stages are deleted in it. */
static splat_status check_folder(const char *folder, splat_error *error)
{
    DIR *stream = opendir(folder);
    bool ours = false, other = false;
    if (!stream) return splat_fail(error, SPLAT_ERROR_IO, "cannot use the folder %s: %s", folder, strerror(errno));
    for (struct dirent *entry; (entry = readdir(stream));) {
        const char *name = entry->d_name;
        ours = ours || strcmp(name, "pipeline.json") == 0;
        other = other || (strcmp(name, ".") != 0 && strcmp(name, "..") != 0 && strcmp(name, "pipeline.json.tmp") != 0);
    }
    closedir(stream);
    if (ours || !other) return SPLAT_OK;
    return splat_fail(error, SPLAT_ERROR_ARGUMENT,
                      "%s holds something else: it is not empty and has no pipeline.json; name another folder with -o",
                      folder);
}

/* Two runs in one folder would take each other's files away. */
static splat_status lock_folder(splat_pipeline_work *w, splat_error *error)
{
    SPLAT_TRY(splat_folder_lock(w->job.at.folder, &w->lock, error));
    json_t *before = splat_stage_json_load(w->overview); /* of no run, or damaged: NULL */
    w->files_before = json_incref(json_object_get(before, "files"));
    w->files = json_array();
    json_decref(before);
    return SPLAT_OK;
}

/* ---------------------------------------------------------------- the stages */

static splat_status stage_paths(splat_pipeline_work *w, size_t i, splat_error *error)
{
    char name[64];
    splat_pipeline_stage_work *s = &w->stages[i];
    const char *folder = w->job.at.folder, *stage = splat_pipeline_stages[i].product.name;
    snprintf(name, sizeof name, "%s.previous", stage);
    SPLAT_TRY(splat_stage_join(s->folder, folder, stage, error));
    SPLAT_TRY(splat_stage_join(s->aside, folder, name, error));
    return splat_stage_join(s->path, s->folder, "stage.json", error);
}

/* The splat that the options name instead of stages. */
static splat_status find_given_splat(splat_pipeline_work *w, splat_error *error)
{
    const char *later = w->line.pipeline->coarse_checkpoint, *splat = w->line.model->gs_output_dir;
    const int iteration = later ? -1 : w->line.model->iteration;
    if (!later && !splat) return SPLAT_OK;
    return splat_pipeline_find_splat(later ? later : splat, iteration, &w->job.at.splat, error);
}

static splat_status check_stages(const splat_pipeline_work *w, splat_error *error)
{
    char name[64];
    splat_status status = SPLAT_OK;
    splat_pipeline_stage_line *v = calloc(1, sizeof *v);
    if (!v) return splat_fail(error, SPLAT_ERROR_MEMORY, "memory is exhausted");
    for (size_t i = 0; i < splat_pipeline_n_stages && status == SPLAT_OK; i++) {
        const splat_pipeline_stage *stage = &splat_pipeline_stages[i];
        if (splat_pipeline_is_skipped(stage, &w->line, name)) continue;
        status = splat_pipeline_stage_begin(&w->job, stage, w->stages[i].folder, v, error);
        if (status == SPLAT_OK) status = stage->check(&w->job, &v->line, error);
        splat_line_free(&v->line);
    }
    free(v);
    return status;
}

splat_status splat_pipeline_prepare(splat_pipeline_work *w, splat_error *error)
{
    const char *source = w->line.scene->source_path;
    SPLAT_TRY(check_options(&w->line, error));
    tell_unused(&w->line);
    SPLAT_TRY(check_ranks(&w->line, error));
    SPLAT_TRY(choose_folder(w, error));
    if (!realpath(source, w->job.at.scene))
        return splat_fail(error, SPLAT_ERROR_IO, "cannot open the scene %s: %s", source, strerror(errno));
    for (size_t i = 0; i < splat_pipeline_n_stages; i++) SPLAT_TRY(stage_paths(w, i, error));
    SPLAT_TRY(find_given_splat(w, error));
    SPLAT_TRY(check_stages(w, error));
    SPLAT_TRY(splat_stage_create_folder(w->job.at.folder, error));
    SPLAT_TRY(check_folder(w->job.at.folder, error));
    return lock_folder(w, error);
}
