/* Options in words. */
#ifndef SPLAT_IO_OPTION_TEXT_H
#define SPLAT_IO_OPTION_TEXT_H

#include "base/option_table.h"

/* A value in words, as the command line takes it, with "?" for bytes of a text that are not printable ASCII. */
void splat_option_describe(const splat_option_row *row, const void *options, char *text, size_t size);

#endif
