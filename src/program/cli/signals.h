/* Ctrl-C, SIGTERM and a lost terminal while work goes on that can end early: a training, the search for cameras. */
#ifndef SPLAT_CLI_SIGNALS_H
#define SPLAT_CLI_SIGNALS_H

#include "stage/stop.h"

/* The stop that signals ask of the work: splat_talk.stop of every command. */
splat_stop *cli_stop(void);
/* From here on the first signal ends a training after its step, and the search for cameras where it is; other work, and
 * a training at the second signal, ends at once. What is ignored (nohup) stays ignored. */
void cli_signals_begin(void);
void cli_signals_end(void);

/* ---------------------------------------------------------------- commands that go on until Ctrl-C */

/* SIGINT and SIGTERM are noted from here on, unless they are ignored (nohup); system calls that wait return. once: the
 * second one ends the program. */
void cli_stop_install(bool once);
bool cli_stop_is_asked(void);

#endif
