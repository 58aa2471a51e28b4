/* Sizes on the command line: the one parser of "8G", "500M", "80%" and "max". */
#include "sizes.h"

#include <ctype.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

bool cli_parse_number(const char *text, double *value, const char **rest)
{
    char *end;
    size_t sign = text[0] == '-' || text[0] == '+';
    size_t first = sign + (text[sign] == '.');
    if (!isdigit((unsigned char)text[first]) || (text[sign] == '0' && tolower((unsigned char)text[sign + 1]) == 'x'))
        return false;
    *value = strtod(text, &end);
    *rest = end;
    return true;
}

int cli_parse_suffix(const char *text)
{
    static const char letters[] = "kmgt";
    if (text[0] == '\0') return 0;
    const char *letter = strchr(letters, tolower((unsigned char)text[0]));
    if (!letter || (text[1] && strcasecmp(text + 1, "b") != 0 && strcasecmp(text + 1, "ib") != 0)) return -1;
    return (int)(letter - letters) + 1;
}

bool cli_parse_bytes(const char *text, double *bytes)
{
    const char *rest;
    double number;
    if (!cli_parse_number(text, &number, &rest)) return false;
    int power = cli_parse_suffix(rest);
    if (power < 0) return false;
    *bytes = number * pow(1024.0, power ? power : 3);
    return true;
}

bool cli_parse_limit(const char *text, bool share, cli_limit *limit)
{
    const char *rest;
    *limit = (cli_limit){.text = text};
    if (share && strcmp(text, "max") == 0) {
        limit->kind = CLI_LIMIT_FREE;
        return true;
    }
    if (share && cli_parse_number(text, &limit->value, &rest) && strcmp(rest, "%") == 0) {
        limit->kind = CLI_LIMIT_SHARE;
        limit->value /= 100;
        return limit->value > 0 && limit->value <= 1;
    }
    limit->kind = CLI_LIMIT_BYTES;
    return cli_parse_bytes(text, &limit->value) && limit->value >= 1 && limit->value < 1e18;
}
