/* The lines of a command go to the log as they come; the last ones are kept for the error. */
#include "capture/colmap_run.h"

#include "base/file.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define N_LAST 20       /* lines that are shown of a failure */
#define LINE_SHOWN 200

typedef struct colmap_run {
    const splat_cameras_work *work;
    const char *stage;
    FILE *log;
    splat_lines lines[2];
    double fraction;
    splat_colmap_end *end;
} colmap_run;

static bool take_line(void *user, const char *line)
{
    colmap_run *r = user;
    double fraction = splat_colmap_line_progress(line, r->work->photos.n);
    splat_colmap_fault fault = splat_colmap_line_fault(line);
    fprintf(r->log, "%s\n", line);
    if (fraction >= 0) r->fraction = fraction;
    r->end->n_bad_photos += fault == SPLAT_COLMAP_FAULT_PHOTO;
    r->end->fault = splat_colmap_worse_fault(r->end->fault, fault);
    return true;
}

static bool take_bytes(void *user, int stream, const char *bytes, size_t n)
{
    colmap_run *r = user;
    return splat_lines_add(&r->lines[stream - 1], bytes, n, take_line, r);
}

static bool tick_run(void *user)
{
    const colmap_run *r = user;
    return splat_cameras_tick(r->work, r->stage, r->fraction);
}

static void log_command(FILE *log, const splat_words *words)
{
    fputs("$", log);
    for (size_t i = 0; i < words->n; i++) fprintf(log, " %s", words->items[i]);
    fputc('\n', log);
}

splat_status splat_colmap_run(const splat_cameras_work *work, const char *stage, const splat_words *words,
                              splat_colmap_end *end, splat_error *error)
{
    colmap_run r = {.work = work, .stage = stage, .end = end};
    splat_process process = {(const char *const *)words->items, splat_colmap_environment, take_bytes,
                             tick_run, &r};
    splat_process_end how;
    *end = (splat_colmap_end){0};
    if (words->no_memory) return splat_fail(error, SPLAT_ERROR_MEMORY, "no memory for a command");
    r.log = fopen(work->log, "ae");
    if (!r.log) return splat_fail_errno(error, work->log, "write the log of COLMAP");
    log_command(r.log, words);
    splat_status status = splat_process_run(&process, &how, error);
    for (int i = 0; i < 2; i++) {
        splat_lines_add(&r.lines[i], NULL, 0, take_line, &r);
        splat_lines_free(&r.lines[i]);
    }
    if (status == SPLAT_OK && how.signal) fprintf(r.log, "ended by signal %d\n", how.signal);
    fclose(r.log); /* a log that could not be written is no failure of the work */
    if (status == SPLAT_ERROR_STOPPED)
        return splat_fail(error, SPLAT_ERROR_STOPPED, "stopped; the same command goes on from here");
    if (status != SPLAT_OK) return status;
    end->exit_code = how.exit_code;
    end->signal = how.signal;
    end->is_good = how.exit_code == 0;
    if (how.signal == 9 || how.exit_code == 137) /* what Linux does to a program that takes all memory */
        end->fault = splat_colmap_worse_fault(end->fault, SPLAT_COLMAP_FAULT_MEMORY);
    return SPLAT_OK;
}

/* ---------------------------------------------------------------- failures */

/* The last lines of a text, cut; *text is advanced to them. */
static void to_last_lines(char **text)
{
    char *end = *text + strlen(*text), *at = end;
    int n = 0;
    while (at > *text) {
        if (at[-1] == '\n' && at < end && ++n == N_LAST) break;
        at--;
    }
    *text = at;
}

static void say_last_lines(const splat_cameras_work *work)
{
    uint8_t *data;
    size_t size;
    if (splat_file_read(work->log, &data, &size, NULL) != SPLAT_OK) return;
    char *last = (char *)data, shown[N_LAST * (LINE_SHOWN + 4) + 1];
    size_t n = 0;
    to_last_lines(&last);
    shown[0] = '\0';
    while (*last) {
        int length = (int)strcspn(last, "\n"), cut = length < LINE_SHOWN ? length : LINE_SHOWN;
        if (n + (size_t)cut + 4 >= sizeof shown) break;
        n += (size_t)snprintf(shown + n, sizeof shown - n, "\n  %.*s", cut, last);
        last += length + (last[length] == '\n');
    }
    splat_cameras_say(work, SPLAT_LOG_NOTICE, "the last lines of %s:%s", work->log, shown);
    free(data);
}

splat_status splat_cameras_fail(const splat_cameras_work *work, const char *command, const splat_colmap_end *end,
                               splat_error *error)
{
    const char *advice = splat_colmap_fault_advice(end->fault);
    char how[SPLAT_PROCESS_END_TEXT];
    bool is_of_photos = end->fault == SPLAT_COLMAP_FAULT_NO_MATCHES || end->fault == SPLAT_COLMAP_FAULT_NO_START;
    const splat_process_end how_it_ended = {end->exit_code, end->signal};
    if (!is_of_photos) say_last_lines(work);
    return splat_fail_at(error, is_of_photos ? SPLAT_ERROR_FORMAT : SPLAT_ERROR_IO, work->log, SPLAT_NO_OFFSET,
                         "colmap %s %s: %s", command,
                         end->is_good ? "found nothing" : splat_process_end_text(&how_it_ended, how),
                         advice ? advice : "its log says why");
}
