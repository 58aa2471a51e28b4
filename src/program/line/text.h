/* The values of options as texts: in help, in the records of stages, and in messages. */
#ifndef SPLAT_LINE_TEXT_H
#define SPLAT_LINE_TEXT_H

#include "line/line.h"

#define SPLAT_LINE_TEXT_MAX 1024

/* The value of an option as a command line would say it, "" when it has none; a list that is too long is cut. */
void splat_line_value_text(const splat_line_option *option, const splat_line *line, char *text, size_t size);
/* The same of the default. */
void splat_line_default_text(const splat_line_option *option, char *text, size_t size);
/* The next name in a comma-separated list of names: copies it and returns what follows, NULL at the end. */
const char *splat_line_next_name(const char *names, char name[64]);

#endif
