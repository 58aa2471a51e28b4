/* Text for XML and HTML. */
#ifndef SPLAT_IO_XML_TEXT_H
#define SPLAT_IO_XML_TEXT_H

#include "base/utf8.h"

#include <stdio.h>

/* Text inside XML, SVG or HTML: markup characters become entities; control characters, which XML cannot hold, are left
 * out; a byte that is no UTF-8 is taken for Latin-1. */
static inline void splat_xml_text(FILE *out, const char *text)
{
    for (size_t n; *text; text += n) {
        char latin[2];
        n = splat_utf8_length((const unsigned char *)text);
        if (n == 0) {
            fwrite(latin, 1, splat_utf8_put_latin((unsigned char)*text, latin), out);
            n = 1;
            continue;
        }
        switch (*text) {
        case '<': fputs("&lt;", out); break;
        case '>': fputs("&gt;", out); break;
        case '&': fputs("&amp;", out); break;
        case '"': fputs("&quot;", out); break;
        default:
            if ((unsigned char)*text >= 0x20) fwrite(text, 1, n, out);
        }
    }
}

#endif
