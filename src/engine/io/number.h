/* Numbers in text files, the same in every locale: the decimal separator is always a point. */
#ifndef SPLAT_IO_NUMBER_H
#define SPLAT_IO_NUMBER_H

#include <stddef.h>

/* strtod of the C locale. *end is `text` when there is no number. */
double splat_number_parse(const char *text, char **end);
/* The shortest decimal that reads back as the same float: "0.1", "1e-05", "nan". Returns text. */
const char *splat_number_format(char text[32], float value);

#endif
