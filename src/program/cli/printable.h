/* Text from outside, such as a file's name, as a terminal may show it. */
#ifndef SPLAT_CLI_PRINTABLE_H
#define SPLAT_CLI_PRINTABLE_H

#include <stddef.h>

/* Copies text. Control characters (below 0x20, 0x7f, and U+0080 to U+009F) and bytes that are no UTF-8 become \x1b and
 * the like: a terminal would obey them. Cuts what does not fit. Returns out. */
const char *cli_printable(const char *text, char *out, size_t size);

#endif
