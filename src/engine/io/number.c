/* strtod and printf in the C locale, and the number in a file's name. */
#include "io/number.h"

#include <locale.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

double splat_number_parse(const char *text, char **end)
{
    locale_t c_locale = newlocale(LC_ALL_MASK, "C", (locale_t)0); /* a constant in glibc: nothing is allocated */
    if (!c_locale) return strtod(text, end);
    double value = strtod_l(text, end, c_locale);
    freelocale(c_locale);
    return value;
}

const char *splat_number_format(char text[32], float value)
{
    if (isnan(value)) return strcpy(text, "nan");
    for (int digits = 1; digits <= 9; digits++) { /* nine digits identify every float */
        snprintf(text, 32, "%.*g", digits, (double)value);
        if (strtof(text, NULL) == value) break; /* the locale of printf and strtof is the same one */
    }
    const char *separator = localeconv()->decimal_point;
    char *found = *separator ? strstr(text, separator) : NULL;
    if (found) {
        size_t length = strlen(separator);
        memmove(found + 1, found + length, strlen(found + length) + 1);
        *found = '.';
    }
    return text;
}
