/* Numbers with decimal points, whatever locale the program has set: for this thread, from begin to end. */
#ifndef SPLAT_BASE_C_LOCALE_H
#define SPLAT_BASE_C_LOCALE_H

#include <locale.h>
#include <stdbool.h>

typedef struct splat_c_locale {
    locale_t c, previous;
} splat_c_locale;

/* False: there is no memory for it, and end must not be called. */
static inline bool splat_c_locale_begin(splat_c_locale *l)
{
    l->c = newlocale(LC_ALL_MASK, "C", (locale_t)0); /* a constant in glibc: nothing is allocated */
    if (l->c) l->previous = uselocale(l->c);
    return l->c;
}

static inline void splat_c_locale_end(const splat_c_locale *l)
{
    uselocale(l->previous);
    freelocale(l->c);
}

#endif
