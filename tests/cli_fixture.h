/* Running the binary from a test: exit code, words, files. */
#ifndef SPLAT_TESTS_CLI_FIXTURE_H
#define SPLAT_TESTS_CLI_FIXTURE_H

#include <fcntl.h>
#include <glob.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#define MAX_WORDS 64
#define MAX_OUTPUT (1 << 18)
#ifndef LIMIT_S
#define LIMIT_S 240 /* a run that hangs is ended; under sanitizers a short training takes a while */
#endif

static char standard_output[MAX_OUTPUT], standard_error[MAX_OUTPUT];

/* ---------------------------------------------------------------- running the binary */

static inline void read_text(const char *path, char *text, size_t size)
{
    FILE *file = fopen(path, "rb");
    size_t n = file ? fread(text, 1, size - 1, file) : 0;
    text[n] = '\0';
    if (file) fclose(file);
}

static inline pid_t start(char *const words[])
{
    pid_t child = fork();
    assert_true(child >= 0);
    if (child > 0) return child;
    int out = open("stdout.txt", O_WRONLY | O_CREAT | O_TRUNC, 0644);
    int err = open("stderr.txt", O_WRONLY | O_CREAT | O_TRUNC, 0644);
    int in = open("/dev/null", O_RDONLY);
    if (dup2(in, 0) < 0 || dup2(out, 1) < 0 || dup2(err, 2) < 0) _exit(126);
    signal(SIGINT, SIG_DFL); /* a test started in the background inherits "ignore" */
    alarm(LIMIT_S);
    execv(words[0], words);
    _exit(127);
}

/* The exit code, 128 + signal when killed; the outputs are in standard_output and standard_error. */
static inline int finish(pid_t child)
{
    int status = 0;
    assert_int_equal(waitpid(child, &status, 0), child);
    read_text("stdout.txt", standard_output, sizeof standard_output);
    read_text("stderr.txt", standard_error, sizeof standard_error);
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

static inline void collect(char *words[MAX_WORDS], const char *first, va_list arguments)
{
    size_t n = 0;
    words[n++] = getenv("SPLATSMITH_BINARY");
    for (const char *word = first; word && n < MAX_WORDS - 1; word = va_arg(arguments, const char *))
        words[n++] = (char *)(uintptr_t)word;
    words[n] = NULL;
}

static inline int run(const char *first, ...)
{
    char *words[MAX_WORDS];
    va_list arguments;
    va_start(arguments, first);
    collect(words, first, arguments);
    va_end(arguments);
    return finish(start(words));
}

static inline pid_t begin(const char *first, ...)
{
    char *words[MAX_WORDS];
    va_list arguments;
    va_start(arguments, first);
    collect(words, first, arguments);
    va_end(arguments);
    return start(words);
}

static inline void expect(int line, int code, int wanted, const char *text, const char *part)
{
    if (code != wanted) {
        print_message("line %d: exit code %d, not %d\nstdout: %s\nstderr: %s\n", line, code, wanted, standard_output,
                      standard_error);
        fail();
    }
    if (part && !strstr(text, part)) {
        print_message("line %d: \"%s\" is not in: %s\n", line, part, text);
        fail();
    }
}

/* RUN_ERR(code, part of stderr, words...) and RUN_OUT(code, part of stdout, words...) */
#define RUN_ERR(wanted, part, ...) expect(__LINE__, run(__VA_ARGS__, (char *)NULL), wanted, standard_error, part)
#define RUN_OUT(wanted, part, ...) expect(__LINE__, run(__VA_ARGS__, (char *)NULL), wanted, standard_output, part)

static inline bool exists(const char *path)
{
    return access(path, F_OK) == 0;
}

static inline bool exists_like(const char *pattern)
{
    glob_t found;
    bool any = glob(pattern, 0, NULL, &found) == 0;
    globfree(&found);
    return any;
}

static inline void write_text(const char *path, const char *text)
{
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    assert_true(fputs(text, file) >= 0);
    assert_int_equal(fclose(file), 0);
}

static inline bool file_contains(const char *path, const char *part)
{
    static char text[MAX_OUTPUT];
    read_text(path, text, sizeof text);
    return strstr(text, part) != NULL;
}

#endif
