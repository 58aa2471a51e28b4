/* Options in words. */
#ifndef SPLAT_IO_OPTION_TEXT_H
#define SPLAT_IO_OPTION_TEXT_H

#include "base/option_table.h"

/* A value in words, as the command line takes it, with "?" for bytes of a text that are not printable ASCII. */
void splat_option_describe(const splat_option_row *row, const void *options, char *text, size_t size);

/* A value from a text, as people write it: numbers are decimal, COUNT takes K, M and G for thousands, millions and
 * billions, GIB a size such as 512M (a plain number is GiB), FLAG true, yes, on, 1 and their opposites, CHOICE one of
 * its words. A TEXT is borrowed, and must live as long as the options. ARGUMENT, with one sentence that names the
 * option and what it takes; nothing has changed then. */
splat_status splat_option_read(const splat_option *option, const char *text, void *options, splat_error *error);
/* For a splat_..._options_set: the option `name` of a caller's struct, whatever header it was compiled with. ARGUMENT:
 * as above, or there is no such option; the nearest name is said. */
splat_status splat_option_set_text(const splat_option_table *table, void *options, const char *name, const char *text,
                                   splat_error *error);

/* The pieces. A decimal number: no "nan", "inf" or hexadecimal. *rest: what follows it. */
bool splat_text_number(const char *text, double *value, const char **rest);
/* "8G", "8GiB", "500M", binary; a plain number is GiB. *bytes may be any number. */
bool splat_text_bytes(const char *text, double *bytes);
bool splat_text_flag(const char *text, bool *value);

#endif
