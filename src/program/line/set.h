/* Options set from texts. */
#ifndef SPLAT_LINE_SET_H
#define SPLAT_LINE_SET_H

#include "line/line.h"

/* An option of a kind of the library's tables as a row of one, whose struct is the field alone. */
splat_option splat_line_option_row(const splat_line_option *option);
/* "all", or what a flag takes; false: it is neither. */
bool splat_line_read_help(const char *text, splat_line_help *value);
/* The value of a text into the option's field, which borrows the text; into a list one more number. Errors:
 * ARGUMENT. */
splat_status splat_line_read(const splat_line_option *option, const char *text, void *field, splat_error *error);
/* Sets the option from a text, which must live as long as the line; numbers of a list have commas or spaces
 * between. Errors:
 * ARGUMENT. */
splat_status splat_line_set(splat_line *line, const splat_line_option *option, const char *text, splat_error *error);

#endif
