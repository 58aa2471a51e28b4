/* Numbers in the names of files and folders, as SuGaR writes them. */
#include "report/number_name.h"

#include "io/number.h"

#include <string.h>

const char *splat_number_name(char text[32], float value)
{
    splat_number_format(text, value);
    if (!strpbrk(text, ".en")) strcat(text, ".0"); /* as Python writes it; at most ten digits and a sign before */
    char *point = strchr(text, '.');
    if (point) memmove(point, point + 1, strlen(point + 1) + 1);
    return text;
}
