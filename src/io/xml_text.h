#ifndef SPLAT_IO_XML_TEXT_H
#define SPLAT_IO_XML_TEXT_H

#include <stdio.h>

/* Text inside XML, SVG or HTML: markup characters become entities; control characters, which XML cannot hold, are left
 * out. */
static inline void splat_xml_text(FILE *out, const char *text)
{
    for (; *text; text++) {
        switch (*text) {
        case '<': fputs("&lt;", out); break;
        case '>': fputs("&gt;", out); break;
        case '&': fputs("&amp;", out); break;
        case '"': fputs("&quot;", out); break;
        default:
            if ((unsigned char)*text >= 0x20) fputc(*text, out);
        }
    }
}

#endif
