/* Other programs: fork and exec, pipes read with poll, a process group that ends as one. */
#include "base/process.h"

#include "base/array.h"
#include "base/clock.h"
#include "base/file.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>
#ifdef __linux__
#include <sys/prctl.h>
#endif

#define TICK_MS 100
#define PATIENCE_S 5.0     /* from SIGTERM to SIGKILL, for a program that is stopped */
#define LEFT_PATIENCE_S 0.5 /* the same for what a program that has ended left behind */
#define LAST_WORDS_S 1.0   /* after the end, for what the pipes still hold; a child that was left may go on writing */
#define LINE_MAX_BYTES 65536
#define ANSWER_MAX (1 << 20)
#define UNKNOWN (-1)       /* instead of a status: somebody else has waited for the child */
#define N_PIPES 3          /* standard output, standard errors, the errno of a failed start */

extern char **environ;

/* ---------------------------------------------------------------- finding the program */

static bool is_executable(const char *path)
{
    return path && !splat_path_is_folder(path) && access(path, X_OK) == 0;
}

char *splat_program_find(const char *name)
{
    if (strchr(name, '/')) return is_executable(name) ? strdup(name) : NULL;
    const char *path = getenv("PATH");
    if (!path) path = "/usr/local/bin:/usr/bin:/bin";
    for (const char *at = path; *name; at++) {
        size_t length = strcspn(at, ":");
        char *file = length ? splat_format("%.*s/%s", (int)length, at, name) : splat_format("./%s", name);
        if (is_executable(file)) return file;
        free(file);
        at += length;
        if (!*at) break;
    }
    return NULL;
}

/* ---------------------------------------------------------------- the child */

static bool same_variable(const char *a, const char *b)
{
    size_t n = strcspn(a, "=");
    return n == strcspn(b, "=") && memcmp(a, b, n) == 0;
}

/* The environment with the additions, which take the place of variables of their names. The caller frees the array
 * alone. */
static char **make_environment(const char *const *additions)
{
    size_t n = 0, n_all = 0, n_additions = 0;
    while (environ && environ[n]) n++;
    while (additions && additions[n_additions]) n_additions++;
    char **all = malloc((n + n_additions + 1) * sizeof *all);
    if (!all) return NULL;
    for (size_t i = 0; i < n; i++) {
        bool replaced = false;
        for (size_t k = 0; k < n_additions; k++) replaced |= same_variable(environ[i], additions[k]);
        if (!replaced) all[n_all++] = environ[i];
    }
    for (size_t k = 0; k < n_additions; k++) all[n_all++] = (char *)(uintptr_t)additions[k];
    all[n_all] = NULL;
    return all;
}

/* Between fork and exec only calls that are safe in a child of a program with threads. */
static void become(const char *file, char *const *words, char *const *environment, int pipes[N_PIPES][2])
{
    sigset_t none;
    static const int usual[] = {SIGPIPE, SIGINT, SIGTERM, SIGHUP, SIGXFSZ, SIGCHLD};
    int input = open("/dev/null", O_RDONLY);
    setpgid(0, 0);
#ifdef __linux__
    prctl(PR_SET_PDEATHSIG, SIGKILL); /* nobody else ends it when this program is killed; SIGTERM may be ignored */
#endif
    for (size_t i = 0; i < sizeof usual / sizeof usual[0]; i++) signal(usual[i], SIG_DFL);
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, NULL);
    if (input >= 0 && dup2(input, STDIN_FILENO) >= 0 && dup2(pipes[0][1], STDOUT_FILENO) >= 0 &&
        dup2(pipes[1][1], STDERR_FILENO) >= 0) {
        if (input > 2) close(input);
        execve(file, words, environment);
    }
    int reason = errno;
    ssize_t ignored = write(pipes[2][1], &reason, sizeof reason);
    (void)ignored;
    _exit(127);
}

static void close_end(int *descriptor)
{
    if (*descriptor > 2) close(*descriptor);
    *descriptor = -1;
}

/* Above the standard streams, so that dup2 onto those is never a no-op that keeps FD_CLOEXEC. */
static bool open_pipe(int ends[2])
{
    int made[2];
    ends[0] = ends[1] = -1;
    if (pipe(made) != 0) return false;
    for (int i = 0; i < 2; i++) ends[i] = fcntl(made[i], F_DUPFD_CLOEXEC, 3);
    close(made[0]);
    close(made[1]);
    return ends[0] >= 0 && ends[1] >= 0;
}

static void close_pipes(int pipes[N_PIPES][2])
{
    for (int i = 0; i < N_PIPES; i++)
        for (int k = 0; k < 2; k++) close_end(&pipes[i][k]);
}

/* The errno that the child's exec failed with, 0: it runs. */
static int exec_failure(int descriptor)
{
    int reason = 0;
    ssize_t n;
    do n = read(descriptor, &reason, sizeof reason);
    while (n < 0 && errno == EINTR);
    return n == (ssize_t)sizeof reason ? reason : 0;
}

static splat_status fail_start(splat_error *error, const char *file, int reason)
{
    errno = reason;
    return splat_fail_errno(error, file, "start the program");
}

/* *child runs; the reading ends of pipes[0] and [1] are open. On failure all ends are closed. */
static splat_status start(const splat_process *p, const char *file, int pipes[N_PIPES][2], pid_t *child,
                          splat_error *error)
{
    char **environment = make_environment(p->environment);
    bool good = environment != NULL;
    for (int i = 0; i < N_PIPES; i++) pipes[i][0] = pipes[i][1] = -1;
    for (int i = 0; i < N_PIPES && good; i++) good = open_pipe(pipes[i]);
    *child = good ? fork() : -1;
    if (*child == 0) become(file, (char *const *)(uintptr_t)p->words, environment, pipes);
    int reason = errno;
    free(environment);
    for (int i = 0; i < N_PIPES; i++) close_end(&pipes[i][1]);
    if (*child > 0) {
        setpgid(*child, *child); /* parent and child both do it: a signal to the group must find it */
        reason = exec_failure(pipes[2][0]);
        if (!reason) return SPLAT_OK;
        while (waitpid(*child, NULL, 0) < 0 && errno == EINTR) continue;
    }
    close_pipes(pipes);
    return environment ? fail_start(error, file, reason)
                       : splat_fail(error, SPLAT_ERROR_MEMORY, "no memory to start %s", file);
}

/* ---------------------------------------------------------------- while it runs */

/* Reads what a pipe has; closes it at its end. False: the callback wants no more. */
static bool drain(const splat_process *p, int stream, int *descriptor)
{
    char bytes[16384];
    if (*descriptor < 0) return true;
    ssize_t n = read(*descriptor, bytes, sizeof bytes);
    if (n > 0) return !p->output || p->output(p->user, stream, bytes, (size_t)n);
    if (n == 0 || (errno != EAGAIN && errno != EINTR)) close_end(descriptor);
    return true;
}

static bool has_ended(pid_t child, int *status)
{
    pid_t found;
    do found = waitpid(child, status, WNOHANG);
    while (found < 0 && errno == EINTR);
    if (found < 0) *status = UNKNOWN;
    return found != 0;
}

static void wait_ms(int ms)
{
    (void)poll(NULL, 0, ms);
}

/* Its children may outlive it, so the group is asked until it is empty. */
static void end_group(pid_t child, bool ended, double patience, int *status)
{
    double begin = splat_clock_seconds();
    bool killed = false;
    kill(-child, SIGTERM);
    while (!ended || kill(-child, 0) == 0) {
        ended = ended || has_ended(child, status);
        double waited = splat_clock_seconds() - begin;
        if (waited > patience && !killed) {
            kill(-child, SIGKILL);
            killed = true;
        }
        if (ended && waited > 2 * patience) return; /* what is left is another user's, dead, or cannot be killed */
        wait_ms(10);
    }
}

/* Reads both streams until the program ends (*ended), then what they still hold. False: a callback wants it stopped. */
static bool follow(const splat_process *p, pid_t child, int pipes[N_PIPES][2], bool *ended, int *status)
{
    double end = 0;
    *ended = false;
    for (;;) {
        struct pollfd ends[2] = {{pipes[0][0], POLLIN, 0}, {pipes[1][0], POLLIN, 0}};
        bool open = pipes[0][0] >= 0 || pipes[1][0] >= 0;
        if (!*ended && has_ended(child, status)) {
            *ended = true;
            end = splat_clock_seconds();
        }
        if (*ended && (!open || splat_clock_seconds() - end > LAST_WORDS_S)) return true;
        int n = poll(ends, 2, open ? TICK_MS : 2);
        if (*ended && n == 0) return true;
        for (int i = 0; i < 2 && n > 0; i++)
            if (ends[i].revents && !drain(p, i + 1, &pipes[i][0])) return false;
        if (p->tick && !p->tick(p->user)) return *ended;
    }
}

splat_status splat_process_run(const splat_process *p, splat_process_end *end, splat_error *error)
{
    int pipes[N_PIPES][2], status = 0;
    bool ended;
    pid_t child;
    *end = (splat_process_end){-1, 0};
    char *file = splat_program_find(p->words[0]);
    if (!file)
        return splat_fail(error, SPLAT_ERROR_IO, "there is no program %s that can be started", p->words[0]);
    splat_status result = start(p, file, pipes, &child, error);
    free(file);
    if (result != SPLAT_OK) return result;
    for (int i = 0; i < 2; i++) fcntl(pipes[i][0], F_SETFL, O_NONBLOCK);
    if (!follow(p, child, pipes, &ended, &status))
        result = splat_fail(error, SPLAT_ERROR_STOPPED, "%s was stopped", p->words[0]);
    close_pipes(pipes); /* first: a program that waits for us to read its output would not hear SIGTERM */
    end_group(child, ended, ended ? LEFT_PATIENCE_S : PATIENCE_S, &status);
    if (status == UNKNOWN && result == SPLAT_OK)
        return splat_fail(error, SPLAT_ERROR_IO, "the end of %s was not reported: this program ignores SIGCHLD, or "
                          "waits for all its children", p->words[0]);
    if (WIFEXITED(status)) end->exit_code = WEXITSTATUS(status);
    else end->signal = WTERMSIG(status);
    return result;
}

const char *splat_process_end_text(const splat_process_end *end, char text[SPLAT_PROCESS_END_TEXT])
{
    if (end->signal)
        snprintf(text, SPLAT_PROCESS_END_TEXT, "was ended by signal %d (%s)", end->signal, strsignal(end->signal));
    else
        snprintf(text, SPLAT_PROCESS_END_TEXT, "failed with exit code %d", end->exit_code);
    return text;
}

/* ---------------------------------------------------------------- all that it writes */

typedef struct listener {
    char *text;
    size_t n, capacity;
    bool (*tick)(void *user);
    void *user;
    double limit, limit_s; /* by the clock; seconds */
    bool is_late;
} listener;

static bool listen_to(void *user, int stream, const char *bytes, size_t n)
{
    listener *l = user;
    (void)stream;
    for (size_t i = 0; i < n && l->n < ANSWER_MAX; i++) {
        char *text = splat_array_grow(l->text, &l->capacity, l->n + 1, 1); /* with the NUL at its end */
        if (!text) return true;
        l->text = text;
        l->text[l->n++] = bytes[i];
    }
    return true;
}

static bool tick_listener(void *user)
{
    listener *l = user;
    l->is_late = splat_clock_seconds() > l->limit;
    return !l->is_late && (!l->tick || l->tick(l->user));
}

static splat_status fail_late(const listener *l, const char *const *words, splat_error *error)
{
    return splat_fail(error, SPLAT_ERROR_IO,
                      "%s has not answered '%s %s' for %g s and was ended; try that in a terminal", words[0], words[0],
                      words[1] ? words[1] : "", l->limit_s);
}

splat_status splat_process_ask(const char *const *words, const char *const *environment, double limit_s,
                               bool (*tick)(void *user), void *user, char **text, splat_process_end *end,
                               splat_error *error)
{
    listener l = {.tick = tick, .user = user, .limit = splat_clock_seconds() + limit_s, .limit_s = limit_s};
    const splat_process process = {words, environment, listen_to, tick_listener, &l};
    *text = NULL;
    splat_status status = splat_process_run(&process, end, error);
    if (status == SPLAT_ERROR_STOPPED && l.is_late) status = fail_late(&l, words, error);
    if (l.text) l.text[l.n] = '\0';
    if (status == SPLAT_OK && !l.text) l.text = calloc(1, 1);
    if (status == SPLAT_OK && !l.text)
        status = splat_fail(error, SPLAT_ERROR_MEMORY, "no memory for what %s says", words[0]);
    if (status == SPLAT_OK)
        *text = l.text;
    else
        free(l.text);
    return status;
}

/* ---------------------------------------------------------------- lines */

static bool end_line(splat_lines *lines, bool (*line)(void *user, const char *text), void *user)
{
    if (lines->n == 0) return true;
    lines->text[lines->n] = '\0';
    lines->n = 0;
    return line(user, lines->text);
}

bool splat_lines_add(splat_lines *lines, const char *bytes, size_t n, bool (*line)(void *user, const char *text),
                     void *user)
{
    if (n == 0) return end_line(lines, line, user);
    for (size_t i = 0; i < n; i++) {
        bool is_end = bytes[i] == '\n' || bytes[i] == '\r';
        if (is_end && !end_line(lines, line, user)) return false;
        if (is_end || bytes[i] == '\0' || lines->n + 1 >= LINE_MAX_BYTES) continue;
        char *text = splat_array_grow(lines->text, &lines->capacity, lines->n + 1, 1); /* with the NUL at its end */
        if (!text) continue;
        lines->text = text;
        lines->text[lines->n++] = bytes[i];
    }
    return true;
}

void splat_lines_free(splat_lines *lines)
{
    free(lines->text);
    *lines = (splat_lines){0};
}
