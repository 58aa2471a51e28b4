/* Ctrl-C for commands that go on until it comes. Training and the search for cameras, which have a state to leave,
 * take it by themselves. */
#ifndef SPLAT_CLI_STOP_H
#define SPLAT_CLI_STOP_H

#include <stdbool.h>

/* SIGINT and SIGTERM are noted from here on, unless they are ignored (nohup); system calls that wait return. once: the
 * second one ends the program. */
void cli_stop_install(bool once);
bool cli_stop_is_asked(void);

#endif
