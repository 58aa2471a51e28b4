/* Output to the user while a command works: messages, one progress line, the lines of an evaluation. */
#ifndef SPLAT_CLI_PROGRESS_H
#define SPLAT_CLI_PROGRESS_H

#include "splatsmith.h"
#include "base/plural.h"
#include "stage/progress.h"

#if defined(__GNUC__)
#define CLI_PRINTF(format_index, first) __attribute__((format(printf, format_index, first)))
#else
#define CLI_PRINTF(format_index, first)
#endif

/* Nothing but errors from now on. */
void cli_set_quiet(bool quiet);
bool cli_is_quiet(void);
/* Nothing at all from now on: a process that another one speaks for. */
void cli_set_silent(void);
/* The sentence of the last cli_error, said or not; "" before the first. */
const char *cli_last_error(void);

/* "splatsmith: error: <sentence>" and the like, on the standard error output. */
void cli_error(const char *format, ...) CLI_PRINTF(1, 2);
void cli_warning(const char *format, ...) CLI_PRINTF(1, 2);
void cli_notice(const char *format, ...) CLI_PRINTF(1, 2);
/* A result, on the standard output. Empty lines before it are those at the start of the format; a later newline is
 * shown as \x0a, since it may come from a name. */
void cli_say(const char *format, ...) CLI_PRINTF(1, 2);
/* A sentence of the library as a command line has it: options, which stand between backquotes there, get their dashes,
 * "name another with `images`" becomes "name another with --images". Returns text. */
const char *cli_library_text(const char *sentence, char *text, size_t size);
/* Prints the library's error; returns the exit code that fits it. */
int cli_report(const splat_error *error);
/* The splat_log_function of every context. */
void cli_log(void *user, splat_log_level level, const char *message);

/* How the work of commands speaks: every line has it. */
splat_talk *cli_talk(void);

/* Removes the line from the screen. */
void cli_progress_end(void);

#endif
