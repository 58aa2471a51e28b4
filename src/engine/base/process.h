/* Other programs: started with words, not by a shell; their output comes in pieces; they end with all they started. */
#ifndef SPLAT_BASE_PROCESS_H
#define SPLAT_BASE_PROCESS_H

#include "base/error.h"

typedef struct splat_process {
    const char *const *words;       /* words[0]: the program, a path or a name that PATH finds; NULL at the end */
    const char *const *environment; /* "NAME=value" in addition to the variables of this process; NULL: none */
    /* Receives the program's output as it comes: stream 1 is its standard output, 2 its errors. NULL: dropped. */
    bool (*output)(void *user, int stream, const char *bytes, size_t n);
    /* Asked at least ten times a second while the program runs. May be NULL. */
    bool (*tick)(void *user);
    void *user;
} splat_process;

typedef struct splat_process_end {
    int exit_code; /* -1: a signal ended it */
    int signal;    /* 0: none */
} splat_process_end;

#define SPLAT_PROCESS_END_TEXT 64
/* "failed with exit code 3", "was ended by signal 9 (Killed)"; returns text. */
const char *splat_process_end_text(const splat_process_end *end, char text[SPLAT_PROCESS_END_TEXT]);

/* Runs a program to its end, in a process group of its own, with an empty standard input. How it ended is no error of
 * this function. What the program leaves of its group gets SIGTERM and, half a second later, SIGKILL. STOPPED: output
 * or tick returned false; the group gets SIGTERM and, five seconds later, SIGKILL, and is gone when this returns. IO:
 * the program could not be started, or SIGCHLD is ignored (or somebody else waited for it), so that how it ended is not
 * known. MEMORY. */
splat_status splat_process_run(const splat_process *process, splat_process_end *end, splat_error *error);

/* Seconds that a program may take for a short answer, such as its version. */
#define SPLAT_ANSWER_S 30.0

/* Runs a program for a short answer: *text is all that it writes, both streams as they come, at most a MiB; malloc'd,
 * "" when that is nothing. Errors: those of splat_process_run; IO: the program has not ended after limit_s seconds, and
 * was ended. */
splat_status splat_process_ask(const char *const *words, const char *const *environment, double limit_s,
                               bool (*tick)(void *user), void *user, char **text, splat_process_end *end,
                               splat_error *error);

/* The file that a program's name stands for: a path as it is, a name as PATH finds it. malloc'd; NULL: there is no file
 * that can be executed, or no memory. */
char *splat_program_find(const char *name);

/* Cuts the pieces of a stream into lines, without their ends; '\r' ends one too. Zeroed to begin; free it. */
typedef struct splat_lines {
    char *text;
    size_t n, capacity;
} splat_lines;

/* Calls `line` for every line that is complete with these bytes; n = 0: for what is left. Lines longer than 64 KiB are
 * cut. False when `line` returned false. What finds no memory is dropped. */
bool splat_lines_add(splat_lines *lines, const char *bytes, size_t n, bool (*line)(void *user, const char *text),
                     void *user);
void splat_lines_free(splat_lines *lines);

#endif
