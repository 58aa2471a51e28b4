/* One stage of a run: whether it has to work, its work, and its records. */
#include "pipeline/stage_run.h"

#include "base/error.h"
#include "base/file.h"
#include "base/host_memory.h"
#include "pipeline/overview.h"
#include "pipeline/publish.h"
#include "pipeline/results.h"
#include "stage/folder.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* ---------------------------------------------------------------- memory of the process */

/* Linux: the peak of the resident memory begins again. Where that is refused the peak is that of the whole process. */
static void reset_host_peak(void)
{
    int descriptor = open("/proc/self/clear_refs", O_WRONLY | O_CLOEXEC);
    if (descriptor < 0) return;
    ssize_t ignored = write(descriptor, "5", 1);
    (void)ignored;
    close(descriptor);
}

static uint64_t host_peak(void)
{
    char line[256];
    unsigned long long kilobytes = 0;
    FILE *in = fopen("/proc/self/status", "re");
    while (in && fgets(line, sizeof line, in))
        if (sscanf(line, "VmHWM: %llu kB", &kilobytes) == 1) break;
    if (in) fclose(in);
    return kilobytes * 1024;
}

/* ---------------------------------------------------------------- earlier results */

/* An earlier result lies aside until the new run has something to show; then it goes, else it comes back. */
static splat_status settle_aside(const splat_pipeline_stage_work *s, bool complete, splat_error *error)
{
    if (!splat_path_exists(s->aside)) return SPLAT_OK;
    if (complete || splat_pipeline_has_checkpoint(s->folder)) return splat_stage_delete_folder(s->aside, error);
    SPLAT_TRY(splat_stage_delete_folder(s->folder, error));
    if (rename(s->aside, s->folder) == 0) return SPLAT_OK;
    return splat_fail(error, SPLAT_ERROR_IO, "cannot rename %s to %s: %s", s->aside, s->folder, strerror(errno));
}

static splat_status put_aside(const splat_pipeline_stage_work *s, splat_error *error)
{
    if (rename(s->folder, s->aside) == 0 || errno == ENOENT) return SPLAT_OK;
    return splat_fail(error, SPLAT_ERROR_IO, "cannot rename %s to %s: %s", s->folder, s->aside, strerror(errno));
}

/* Checks that the inputs of a stage are not deleted with its old folder. */
static splat_status check_inputs_outside(const splat_pipeline_place *at, const splat_pipeline_stage_work *s,
                                         splat_error *error)
{
    const char *inside = NULL;
    if (splat_stage_lies_in(at->splat.file, s->folder)) inside = at->splat.file;
    if (splat_stage_lies_in(at->scene, s->folder)) inside = at->scene;
    if (!inside) return SPLAT_OK;
    return splat_fail(error, SPLAT_ERROR_ARGUMENT,
                      "%s lies in %s, which this stage has to write; name another folder with -o", inside, s->folder);
}

/* The checkpoints that only the pipeline wanted. */
static void remove_checkpoints(const splat_pipeline_work *w, const splat_pipeline_stage *stage,
                               const splat_pipeline_stage_work *s)
{
    static const char *const wanted[] = {"checkpoint_interval", "checkpoint_iterations"};
    const char *result = splat_pipeline_result_path(s->file.results), *dot = strrchr(result, '.');
    if (!(stage->product.makes & SPLAT_PIPELINE_SPLAT) || splat_line_first_given(&w->line, wanted, 2) || !dot ||
        strcmp(dot, ".ply") != 0)
        return;
    splat_pipeline_remove_checkpoints(s->folder, 0);
}

/* A run that is killed leaves unfinished files, and checkpoints that nobody asked for; a run deletes all but the two
 * last of its interval, and one that was killed in between leaves three. */
static void tidy_complete(const splat_pipeline_work *w, const splat_pipeline_stage *stage,
                          const splat_pipeline_stage_work *s, const splat_stage_file *wanted)
{
    static const char interval[] = "checkpoint_interval";
    const char *had = splat_stage_json_text(s->file.settings, interval);
    bool is_own = !splat_line_given(&w->line, interval) &&
                  strcmp(had, splat_stage_json_text(wanted->settings, interval)) == 0;
    splat_pipeline_delete_temporaries(s->folder);
    if (splat_stage_json_text(s->file.settings, "checkpoint_iterations")[0]) return;
    if (is_own)
        remove_checkpoints(w, stage, s);
    else if (stage->product.makes & SPLAT_PIPELINE_SPLAT)
        splat_pipeline_remove_checkpoints(s->folder, 2);
}

/* ---------------------------------------------------------------- the decision */

typedef enum decision { START, GO_ON, SKIP } decision;

/* Decides about a stage, with the reason if there is one. `s->file` is the content of stage.json. */
static decision decide(splat_pipeline_work *w, size_t i, splat_stage_file_state found, const splat_stage_file *wanted,
                       char reason[], size_t size)
{
    const splat_pipeline_stage *stage = &splat_pipeline_stages[i];
    const splat_pipeline_stage_work *s = &w->stages[i];
    char missing[SPLAT_PIPELINE_PATH] = "";
    reason[0] = '\0';
    if (w->line.output->delete_first)
        snprintf(reason, size, "`delete_first`");
    else if (found == SPLAT_STAGE_FILE_DAMAGED)
        snprintf(reason, size, "%s is damaged", s->path);
    else if (found == SPLAT_STAGE_FILE_ABSENT && splat_path_exists(s->folder))
        snprintf(reason, size, "%s is missing", s->path);
    if (reason[0] || found == SPLAT_STAGE_FILE_ABSENT) return START;
    splat_pipeline_difference(stage, &s->file, wanted, reason, size);
    if (reason[0]) return START;
    if (!s->file.complete) {
        const bool goes_on = (stage->product.makes & SPLAT_PIPELINE_SPLAT) && splat_pipeline_has_checkpoint(s->folder);
        return goes_on ? GO_ON : START;
    }
    if (splat_pipeline_take_results(&w->job.at, &stage->product, s->folder, s->file.results, missing)) return SKIP;
    snprintf(reason, size, "its result %s is missing", missing);
    return START;
}

/* ---------------------------------------------------------------- the work */

static splat_status write_file(const splat_pipeline_stage_work *s, const splat_pipeline_stage *stage,
                               splat_error *error)
{
    return splat_stage_file_write(s->path, stage->product.name, &s->file, error);
}

/* The result exists: a figure that cannot be had is no reason to make it again. */
static void measure(const splat_pipeline_work *w, const splat_pipeline_stage *stage, const splat_pipeline_stage_work *s,
                    const splat_line *line)
{
    splat_error error;
    if (!stage->measure || stage->measure(&w->job.at, s->file.results, line, &error) == SPLAT_OK) return;
    splat_tell_error(&w->talk, &error);
    splat_notice(&w->talk, "the result of the stage %s could not be measured on the test views", stage->product.name);
}

/* The results of the finished stage, with the figures of its run. */
static splat_status collect(const splat_pipeline_work *w, const splat_pipeline_stage *stage,
                            splat_pipeline_stage_work *s, const splat_pipeline_stage_line *v, splat_error *error)
{
    SPLAT_TRY(splat_pipeline_collect(&w->job.at, &stage->product, s->folder, &s->file.results, error));
    if (v->outcome.psnr_iteration) json_object_set_new(s->file.results, "test_psnr", json_real(v->outcome.psnr));
    measure(w, stage, s, &v->line);
    s->file.complete = true;
    return SPLAT_OK;
}

/* The work of the stage, and its file before and after. */
static splat_status execute(splat_pipeline_work *w, size_t i, splat_pipeline_stage_line *v, splat_error *error)
{
    const splat_pipeline_stage *stage = &splat_pipeline_stages[i];
    splat_pipeline_stage_work *s = &w->stages[i];
    splat_error own;
    SPLAT_TRY(write_file(s, stage, error));
    SPLAT_TRY(splat_pipeline_write_overview(w, error));
    splat_host_memory_give_back(); /* what the stage before freed */
    reset_host_peak();
    double begin = splat_seconds();
    if (w->job.viewer)
        splat_viewer_watch(w->job.viewer, NULL, stage->product.name, NULL); /* also of one without steps */
    splat_status status = stage->run(&v->line, error);
    uint64_t host = host_peak();
    s->file.seconds += splat_seconds() - begin;
    if (v->outcome.peak_bytes > s->file.peak_bytes) s->file.peak_bytes = v->outcome.peak_bytes;
    if (host > s->file.host_peak_bytes) s->file.host_peak_bytes = host;
    if (status == SPLAT_OK) status = collect(w, stage, s, v, error);
    if (!splat_path_exists(s->folder)) return status; /* the folder went; nothing to note in it */
    splat_status written = write_file(s, stage, &own);
    if (written == SPLAT_OK) return status;
    s->file.complete = false;
    if (status != SPLAT_OK) {
        splat_tell_error(&w->talk, &own);
        return status;
    }
    if (error) *error = own;
    return written;
}

static splat_status work(splat_pipeline_work *w, size_t i, decision what, splat_pipeline_stage_line *v,
                         splat_error *error)
{
    const splat_pipeline_stage *stage = &splat_pipeline_stages[i];
    splat_pipeline_stage_work *s = &w->stages[i];
    char missing[SPLAT_PIPELINE_PATH] = "";
    if (what == START) SPLAT_TRY(check_inputs_outside(&w->job.at, s, error));
    if (what == START) SPLAT_TRY(put_aside(s, error));
    SPLAT_TRY(splat_stage_create_folder(s->folder, error));
    s->state = SPLAT_PIPELINE_RUNNING;
    if (what == GO_ON) v->line.run->start_checkpoint = "latest";
    SPLAT_TRY(execute(w, i, v, error));
    if (splat_pipeline_take_results(&w->job.at, &stage->product, s->folder, s->file.results, missing)) return SPLAT_OK;
    return splat_fail(error, SPLAT_ERROR_IO, "the result of the stage %s, %s, is missing", stage->product.name,
                      missing);
}

static splat_status start_stage(splat_pipeline_work *w, size_t i, decision what, splat_pipeline_stage_line *v,
                                splat_error *error)
{
    splat_pipeline_stage_work *s = &w->stages[i];
    splat_error own;
    splat_status status = work(w, i, what, v, error);
    if (status == SPLAT_OK) remove_checkpoints(w, &splat_pipeline_stages[i], s);
    splat_status settled = settle_aside(s, status == SPLAT_OK, &own);
    if (settled == SPLAT_OK) return status;
    if (status != SPLAT_OK) {
        splat_tell_error(&w->talk, &own);
        return status;
    }
    if (error) *error = own;
    return settled;
}

/* Reads stage.json, after an earlier result that a killed run left aside has its place again. */
static splat_status read_file(splat_pipeline_stage_work *s, const splat_pipeline_stage *stage,
                              splat_stage_file_state *found, splat_error *error)
{
    (void)rmdir(s->folder); /* an empty one is of a run that was killed before its first file */
    *found = splat_stage_file_read(s->path, stage->product.name, &s->file);
    SPLAT_TRY(settle_aside(s, s->file.complete, error));
    if (s->file.complete) return SPLAT_OK;
    splat_stage_file_free(&s->file);
    *found = splat_stage_file_read(s->path, stage->product.name, &s->file);
    return SPLAT_OK;
}

static void say_done_before(const splat_pipeline_work *w, size_t i)
{
    char time_text[32];
    splat_say(&w->talk, "[%zu/%zu] %s: done before, in %s", i + 1, splat_pipeline_n_stages,
              splat_pipeline_stages[i].product.name, splat_duration(w->stages[i].file.seconds, time_text));
}

/* Decides, says so, and does it. */
static splat_status work_on_stage(splat_pipeline_work *w, size_t i, splat_pipeline_stage_line *v, splat_error *error)
{
    const splat_pipeline_stage *stage = &splat_pipeline_stages[i];
    splat_pipeline_stage_work *s = &w->stages[i];
    splat_stage_file wanted = {0};
    splat_stage_file_state found;
    char reason[2 * SPLAT_PIPELINE_PATH + 64]; /* at most two paths */
    SPLAT_TRY(read_file(s, stage, &found, error));
    SPLAT_TRY(splat_pipeline_stage_begin(&w->job, stage, s->folder, v, error));
    splat_status status = splat_pipeline_describe(&w->job, stage, &v->line, &wanted, error);
    decision what = status == SPLAT_OK ? decide(w, i, found, &wanted, reason, sizeof reason) : SKIP;
    if (what == SKIP) {
        if (status == SPLAT_OK) {
            s->state = SPLAT_PIPELINE_DONE_BEFORE;
            tidy_complete(w, stage, s, &wanted);
            say_done_before(w, i);
        }
        splat_stage_file_free(&wanted);
        return status;
    }
    if (reason[0]) splat_notice(&w->talk, "%s runs again: %s", stage->product.name, reason);
    splat_say(&w->talk, "[%zu/%zu] %s%s", i + 1, splat_pipeline_n_stages, stage->product.name,
              what == GO_ON ? ": goes on from its last checkpoint" : "");
    wanted.seconds = what == GO_ON ? s->file.seconds : 0;
    wanted.peak_bytes = what == GO_ON ? s->file.peak_bytes : 0;
    wanted.host_peak_bytes = what == GO_ON ? s->file.host_peak_bytes : 0;
    splat_stage_file_free(&s->file);
    s->file = wanted;
    return start_stage(w, i, what, v, error);
}

splat_status splat_pipeline_run_stage(splat_pipeline_work *w, size_t i, splat_error *error)
{
    char name[64];
    const splat_pipeline_stage *stage = &splat_pipeline_stages[i];
    splat_pipeline_stage_work *s = &w->stages[i];
    if (splat_pipeline_is_skipped(stage, &w->line, name)) {
        s->state = SPLAT_PIPELINE_LEFT_OUT;
        splat_say(&w->talk, "[%zu/%zu] %s: left out, as `%s` says", i + 1, splat_pipeline_n_stages, stage->product.name,
                  name);
        return SPLAT_OK;
    }
    splat_pipeline_stage_line *v = calloc(1, sizeof *v);
    if (!v) return splat_fail(error, SPLAT_ERROR_MEMORY, "memory is exhausted");
    w->stage = stage->product.name;
    splat_status status = work_on_stage(w, i, v, error);
    splat_line_free(&v->line);
    free(v);
    if (status == SPLAT_OK)
        status = splat_pipeline_publish(&w->job.at, &stage->product, s->file.results, w->files, error);
    s->exit_code = splat_stop_exit_code(w->talk.stop, status);
    if (status != SPLAT_OK)
        s->state = status == SPLAT_ERROR_STOPPED ? SPLAT_PIPELINE_STOPPED : SPLAT_PIPELINE_FAILED;
    else if (s->state == SPLAT_PIPELINE_RUNNING)
        s->state = SPLAT_PIPELINE_COMPLETE;
    return status;
}
