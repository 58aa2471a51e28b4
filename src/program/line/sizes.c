/* Sizes on the command line: "8G", "500M", "80%" and "max". */
#include "line/sizes.h"

#include "io/option_text.h"

#include <string.h>

bool splat_line_parse_limit(const char *text, bool share, splat_line_limit *limit)
{
    const char *rest;
    *limit = (splat_line_limit){.text = text};
    if (share && strcmp(text, "max") == 0) {
        limit->kind = SPLAT_LINE_LIMIT_FREE;
        return true;
    }
    if (share && splat_text_number(text, &limit->value, &rest) && strcmp(rest, "%") == 0) {
        limit->kind = SPLAT_LINE_LIMIT_SHARE;
        limit->value /= 100;
        return limit->value > 0 && limit->value <= 1;
    }
    limit->kind = SPLAT_LINE_LIMIT_BYTES;
    return splat_text_bytes(text, &limit->value) && limit->value >= 1 && limit->value < 1e18;
}
