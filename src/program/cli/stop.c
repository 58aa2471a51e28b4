/* Ctrl-C for commands that go on until it comes. */
#include "stop.h"

#include <signal.h>
#include <string.h>

static volatile sig_atomic_t stop_asked;

static void on_stop(int number)
{
    (void)number;
    stop_asked = 1;
}

void cli_stop_install(bool once)
{
    static const int numbers[] = {SIGINT, SIGTERM};
    struct sigaction action, old;
    memset(&action, 0, sizeof action);
    action.sa_handler = on_stop; /* without SA_RESTART: a sleep ends at once */
    action.sa_flags = once ? SA_RESETHAND : 0;
    sigemptyset(&action.sa_mask);
    stop_asked = 0;
    for (int i = 0; i < 2; i++) /* what is ignored (nohup) stays ignored */
        if (sigaction(numbers[i], NULL, &old) == 0 && old.sa_handler != SIG_IGN) sigaction(numbers[i], &action, NULL);
}

bool cli_stop_is_asked(void)
{
    return stop_asked;
}
