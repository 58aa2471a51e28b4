/* Text that begins more arrays than a parser should follow. */
#ifndef SPLAT_TESTS_DEEP_JSON_H
#define SPLAT_TESTS_DEEP_JSON_H

#include <stdlib.h>
#include <string.h>

/* n opening brackets, in malloc'd memory. */
static inline char *deep_json(size_t n)
{
    char *text = malloc(n + 1);
    memset(text, '[', n);
    text[n] = 0;
    return text;
}

#endif
