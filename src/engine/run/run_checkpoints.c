/* Saving, keeping and finding the checkpoints of a run. */
#include "run/run_checkpoints.h"

#include "run/checkpoint/write.h"

#include "base/clock.h"
#include "io/model_folder.h"
#include "run/reached_iteration.h"
#include "run/run_report.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>

static char *path_of(const splat_run_checkpoints *c, int iteration)
{
    return splat_format("%s/chkpnt%d.splatsmith", c->run->model_path, iteration);
}

static int descending(const void *a, const void *b)
{
    int x = *(const int *)a, y = *(const int *)b;
    return (x < y) - (x > y);
}

/* The N of the chkpntN.splatsmith in a folder, highest first, malloc'd; temporaries are no such files. */
static splat_status list_checkpoints(const char *folder, int **iterations, size_t *n, splat_error *error)
{
    char **names;
    size_t n_names;
    *n = 0;
    SPLAT_TRY(splat_folder_list(folder, &names, &n_names, error));
    *iterations = calloc(n_names + 1, sizeof **iterations);
    for (size_t i = 0; i < n_names && *iterations; i++) {
        char *end, expected[64];
        if (strncmp(names[i], "chkpnt", 6) != 0) continue;
        long number = strtol(names[i] + 6, &end, 10);
        snprintf(expected, sizeof expected, "chkpnt%ld.splatsmith", number);
        if (number >= 0 && number < INT_MAX && strcmp(names[i], expected) == 0) (*iterations)[(*n)++] = (int)number;
    }
    splat_names_free(names, n_names);
    if (!*iterations) return splat_fail(error, SPLAT_ERROR_MEMORY, "no memory to list checkpoints");
    qsort(*iterations, *n, sizeof **iterations, descending);
    return SPLAT_OK;
}

/* ---------------------------------------------------------------- starting */

static splat_status load_iteration(const splat_run_checkpoints *c, int iteration, splat_error *error)
{
    char *path = path_of(c, iteration);
    splat_status status = path ? splat_trainer_load_checkpoint(c->trainer, path, error)
                               : splat_fail(error, SPLAT_ERROR_MEMORY, "no memory for a path");
    free(path);
    return status;
}

/* There is no checkpoint: the run has finished, or never wrote one. */
static splat_status fail_absent(const splat_run_checkpoints *c, splat_error *error)
{
    const char *folder = c->run->model_path;
    char path[4096];
    int iteration = 0, last = c->trainer->options.iterations;
    if (splat_find_iteration(folder, -1, path, sizeof path, &iteration, NULL) == SPLAT_OK && iteration >= last)
        return splat_fail_at(error, SPLAT_ERROR_IO, folder, SPLAT_NO_OFFSET,
                             "the run in this folder has finished: its splat of step %d is saved. It left no "
                             "checkpoint to start from; to train longer, train again with more `iterations`",
                             iteration);
    return splat_fail_at(error, SPLAT_ERROR_IO, folder, SPLAT_NO_OFFSET,
                         "the model folder has no chkpntN.splatsmith to start from; Ctrl-C, "
                         "`checkpoint_interval` and `checkpoint_iterations` write them");
}

/* The newest that can be read. What another scene or option forbids, an older file forbids too. */
static splat_status load_latest(const splat_run_checkpoints *c, splat_error *error)
{
    int *iterations;
    size_t n;
    if (!splat_path_exists(c->run->model_path))
        return splat_fail_at(error, SPLAT_ERROR_IO, c->run->model_path, SPLAT_NO_OFFSET,
                             "there is no such model folder, so there is no checkpoint to start from");
    SPLAT_TRY(list_checkpoints(c->run->model_path, &iterations, &n, error));
    splat_status status = n ? SPLAT_OK : fail_absent(c, error);
    for (size_t i = 0; i < n; i++) {
        splat_error reason;
        status = load_iteration(c, iterations[i], &reason);
        bool unreadable = status == SPLAT_ERROR_FORMAT || status == SPLAT_ERROR_IO;
        if (status != SPLAT_OK && error) *error = reason;
        if (!unreadable) break;
        if (i + 1 == n) break;
        char text[1536];
        splat_log(c->trainer->context, SPLAT_LOG_NOTICE, "trying the checkpoint before: %s",
                  splat_error_format(&reason, text, sizeof text));
    }
    free(iterations);
    return status;
}

splat_run_begun splat_run_find_begun(const splat_run_options *run)
{
    const splat_run_checkpoints c = {.run = run};
    splat_run_begun found = {0};
    int *iterations;
    size_t n;
    if (!run->start_checkpoint) return found;
    if (strcmp(run->start_checkpoint, "latest") != 0) return splat_checkpoint_begun(run->start_checkpoint);
    if (!run->model_path || list_checkpoints(run->model_path, &iterations, &n, NULL) != SPLAT_OK) return found;
    for (size_t i = 0; i < n && !found.strategy; i++) {
        char *path = path_of(&c, iterations[i]);
        if (path) found = splat_checkpoint_begun(path);
        free(path);
    }
    free(iterations);
    return found;
}

/* The interval's files of the run that is continued: two of them stay, as a run that is killed between a save and the
 * deletion leaves three. */
static void find_rolling(splat_run_checkpoints *c)
{
    const splat_trainer *t = c->trainer;
    int *iterations, n_found = 0;
    size_t n;
    if (list_checkpoints(c->run->model_path, &iterations, &n, NULL) != SPLAT_OK) return;
    for (size_t i = 0; i < n && t->iteration > 0; i++) {
        char *path = iterations[i] <= t->iteration ? path_of(c, iterations[i]) : NULL;
        if (path && splat_checkpoint_has_reason(path, SPLAT_CHECKPOINT_INTERVAL)) {
            if (n_found < 2)
                c->rolling[1 - n_found++] = iterations[i];
            else
                remove(path);
        }
        free(path);
    }
    free(iterations);
}

/* Deletes the temporary files that killed saves left in the run's folders. */
static void delete_temporaries(const splat_run_checkpoints *c)
{
    size_t n_deleted = splat_temporaries_delete(c->run->model_path), n = 0;
    char *splats = splat_format("%s/point_cloud", c->run->model_path), **names = NULL;
    if (splats && splat_folder_list(splats, &names, &n, NULL) == SPLAT_OK)
        for (size_t i = 0; i < n; i++) {
            char *folder = splat_format("%s/%s", splats, names[i]);
            if (folder) n_deleted += splat_temporaries_delete(folder);
            free(folder);
        }
    splat_names_free(names, n);
    free(splats);
    if (n_deleted)
        splat_log(c->trainer->context, SPLAT_LOG_NOTICE, "deleted %zu unfinished files of a run that was killed",
                  n_deleted);
}

splat_status splat_run_checkpoints_start(splat_run_checkpoints *c, splat_trainer *t, const splat_run_options *run,
                                         splat_error *error)
{
    *c = (splat_run_checkpoints){.trainer = t, .run = run, .rolling = {-1, -1}, .last = -1,
                                 .last_seconds = splat_clock_seconds()};
    if (run->start_checkpoint && strcmp(run->start_checkpoint, "latest") == 0)
        SPLAT_TRY(load_latest(c, error));
    else if (run->start_checkpoint)
        SPLAT_TRY(splat_trainer_load_checkpoint(t, run->start_checkpoint, error));
    if (run->start_checkpoint) c->last = t->iteration;
    return SPLAT_OK;
}

void splat_run_checkpoints_tidy(splat_run_checkpoints *c)
{
    delete_temporaries(c);
    find_rolling(c);
}

/* ---------------------------------------------------------------- during the run */

splat_status splat_run_checkpoints_save(splat_run_checkpoints *c, const char *reason, const splat_step_info *step,
                                        splat_error *error)
{
    char *path = path_of(c, c->trainer->iteration);
    if (c->report) splat_run_report_before_checkpoint(c->report);
    splat_status status = path ? splat_checkpoint_write(c->trainer, path, reason, error)
                               : splat_fail(error, SPLAT_ERROR_MEMORY, "no memory for a path");
    if (status == SPLAT_OK) {
        splat_event event = {.kind = SPLAT_EVENT_CHECKPOINT, .step = step, .path = path};
        c->last = c->trainer->iteration;
        c->last_seconds = splat_clock_seconds();
        if (c->run->event) c->run->event(c->run->event_user, &event);
    }
    free(path);
    return status;
}

/* The newest two of the interval stay; one that was asked for by number, or that a stop left, is none of them. */
static void roll(splat_run_checkpoints *c)
{
    int iteration = c->trainer->iteration;
    if (iteration == c->rolling[1]) return; /* overwritten */
    char *path = c->rolling[0] >= 0 ? path_of(c, c->rolling[0]) : NULL;
    if (path) remove(path); /* a file that stays is no error: there is one more to go back to */
    free(path);
    c->rolling[0] = c->rolling[1];
    c->rolling[1] = iteration;
}

static bool is_due(const splat_run_checkpoints *c, const splat_step_info *step)
{
    if (!splat_reached_multiple(step, c->run->checkpoint_interval)) return false;
    return !(c->run->checkpoint_seconds > 0) ||
           splat_clock_seconds() - c->last_seconds >= c->run->checkpoint_seconds;
}

splat_status splat_run_checkpoints_after_step(splat_run_checkpoints *c, const splat_step_info *step, bool *enough,
                                              splat_error *error)
{
    int iteration = c->trainer->iteration;
    bool requested = splat_reached_iteration(step, c->run->checkpoint_iterations, c->run->n_checkpoint_iterations);
    char text[1536];
    *enough = false;
    if (!requested && !is_due(c, step)) return SPLAT_OK;
    splat_status status = splat_run_checkpoints_save(
        c, requested ? SPLAT_CHECKPOINT_REQUESTED : SPLAT_CHECKPOINT_INTERVAL, step, &c->failure);
    if (status == SPLAT_OK) {
        c->n_failures = 0;
        if (!requested) roll(c);
        return SPLAT_OK;
    }
    if (status == SPLAT_ERROR_DEVICE) {
        if (error) *error = c->failure;
        return status;
    }
    *enough = ++c->n_failures >= 2;
    splat_log(c->trainer->context, SPLAT_LOG_WARNING, "iteration %d: no checkpoint was written, %s: %s", iteration,
              *enough ? "for the second time in a row" : "the one before stays and training goes on",
              splat_error_format(&c->failure, text, sizeof text));
    return SPLAT_OK;
}

bool splat_run_checkpoints_rescue(splat_run_checkpoints *c, splat_status status, const splat_step_info *step)
{
    const splat_trainer *t = c->trainer;
    bool host_failed = status == SPLAT_ERROR_MEMORY || status == SPLAT_ERROR_NUMERIC || status == SPLAT_ERROR_IO ||
                       status == SPLAT_ERROR_FORMAT || status == SPLAT_ERROR_UNSUPPORTED;
    splat_error failure;
    char text[1536];
    if (!host_failed || t->is_broken || t->iteration == 0 || c->last == t->iteration) return false;
    bool saved = splat_run_checkpoints_save(c, SPLAT_CHECKPOINT_ERROR, step, &failure) == SPLAT_OK;
    if (saved)
        splat_log(t->context, SPLAT_LOG_NOTICE, "an error ends the run; the state after iteration %d is saved",
                  t->iteration);
    else
        splat_log(t->context, SPLAT_LOG_WARNING, "an error ends the run, and its state could not be saved: %s",
                  splat_error_format(&failure, text, sizeof text));
    return saved;
}
