/* Signals that end work early. */
#include "signals.h"

#include "progress.h"

#include <errno.h>
#include <signal.h>
#include <string.h>
#include <unistd.h>

static splat_stop stop; /* one process, one terminal */

static const int numbers[] = {SIGINT, SIGTERM, SIGHUP};
#define N_NUMBERS (sizeof numbers / sizeof numbers[0])

/* The first signal ends the training after its step; after it Ctrl-C and SIGTERM have their usual effect again. SIGHUP
 * stays ignored: a lost connection sends it from the kernel and from the shell, and no user waits who could be
 * impatient. */
static void stop_training(int number)
{
    static const char text[] =
        "\nsplatsmith: notice: stopping after this step and saving; Ctrl-C again quits at once\n";
    int kept = errno;
    signal(SIGHUP, SIG_IGN);
    if (number != SIGHUP) {
        signal(SIGINT, SIG_DFL);
        signal(SIGTERM, SIG_DFL);
    }
    splat_stop_request(&stop, number);
    ssize_t ignored = cli_is_quiet() ? 0 : write(STDERR_FILENO, text, sizeof text - 1);
    (void)ignored;
    errno = kept;
}

static void on_signal(int number)
{
    switch (atomic_load(&stop.work)) {
    case SPLAT_STOP_TRAINING: stop_training(number); return;
    case SPLAT_STOP_CAMERAS: splat_stop_request(&stop, number); return;
    }
    signal(number, SIG_DFL);
    raise(number); /* takes effect when this function returns */
}

splat_stop *cli_stop(void)
{
    return &stop;
}

void cli_signals_begin(void)
{
    struct sigaction action, old;
    memset(&action, 0, sizeof action);
    action.sa_handler = on_signal;
    action.sa_flags = SA_RESTART;
    sigemptyset(&action.sa_mask);
    for (size_t i = 0; i < N_NUMBERS; i++)
        if (sigaction(numbers[i], NULL, &old) == 0 && old.sa_handler != SIG_IGN) sigaction(numbers[i], &action, NULL);
}

void cli_signals_end(void)
{
    struct sigaction old;
    for (size_t i = 0; i < N_NUMBERS; i++)
        if (sigaction(numbers[i], NULL, &old) == 0 && old.sa_handler == on_signal) signal(numbers[i], SIG_DFL);
}

/* ---------------------------------------------------------------- commands that go on until Ctrl-C */

static volatile sig_atomic_t stop_asked;

static void on_stop(int number)
{
    (void)number;
    stop_asked = 1;
}

void cli_stop_install(bool once)
{
    static const int asking[] = {SIGINT, SIGTERM};
    struct sigaction action, old;
    memset(&action, 0, sizeof action);
    action.sa_handler = on_stop; /* without SA_RESTART: a sleep ends at once */
    action.sa_flags = once ? SA_RESETHAND : 0;
    sigemptyset(&action.sa_mask);
    stop_asked = 0;
    for (int i = 0; i < 2; i++) /* what is ignored (nohup) stays ignored */
        if (sigaction(asking[i], NULL, &old) == 0 && old.sa_handler != SIG_IGN) sigaction(asking[i], &action, NULL);
}

bool cli_stop_is_asked(void)
{
    return stop_asked;
}
