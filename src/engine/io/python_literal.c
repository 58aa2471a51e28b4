/* A reader of Python's strings, numbers, None and booleans; what else a value may be is skipped. */
#include "io/python_literal.h"

#include "base/utf8.h"
#include "io/number.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

static splat_status bad(const splat_python_reader *reader, size_t offset, const char *what, splat_error *error)
{
    return splat_fail_at(error, SPLAT_ERROR_FORMAT, reader->path, offset,
                         "this is not a Python Namespace(...) as 3DGS writes it: %s", what);
}

static char peek(const splat_python_reader *reader)
{
    return reader->text[reader->position]; /* NUL at the end */
}

static void skip_blanks(splat_python_reader *reader)
{
    while (peek(reader) && strchr(" \t\r\n", peek(reader))) reader->position++;
}

static bool is_name_byte(char c)
{
    return isalnum((unsigned char)c) || c == '_' || (unsigned char)c >= 0x80;
}

static bool take(splat_python_reader *reader, const char *word)
{
    size_t length = strlen(word);
    if (strncmp(reader->text + reader->position, word, length) != 0) return false;
    if (is_name_byte(word[0]) && is_name_byte(reader->text[reader->position + length])) return false;
    reader->position += length;
    return true;
}

/* ---------------------------------------------------------------- strings */

static size_t encode_utf8(uint32_t code, char *out)
{
    if (code >= 0xdc80 && code <= 0xdcff) { /* surrogateescape: a byte that was not UTF-8 */
        out[0] = (char)(code - 0xdc00);
        return 1;
    }
    if (code < 0x80) {
        out[0] = (char)code;
        return 1;
    }
    size_t n = code < 0x800 ? 2 : code < 0x10000 ? 3 : 4;
    static const uint8_t lead[5] = {0, 0, 0xc0, 0xe0, 0xf0};
    for (size_t i = n - 1; i > 0; i--, code >>= 6) out[i] = (char)(0x80 | (code & 0x3f));
    out[0] = (char)(lead[n] | code);
    return n;
}

/* Digits of a \x, \u, \U (base 16, exactly n) or octal escape (base 8, 1 to n). */
static bool read_code(splat_python_reader *reader, int base, int n, uint32_t *code)
{
    int i;
    *code = 0;
    for (i = 0; i < n; i++) {
        int c = tolower((unsigned char)peek(reader));
        int digit = c >= '0' && c <= '9' ? c - '0' : c >= 'a' && c <= 'f' ? c - 'a' + 10 : 99;
        if (digit >= base) break;
        *code = *code * (uint32_t)base + (uint32_t)digit;
        reader->position++;
    }
    return base == 8 ? i > 0 : i == n;
}

/* After a backslash. Writes at most 4 bytes. An unknown escape stands for itself, as in Python. */
static bool read_escape(splat_python_reader *reader, char *out, size_t *length)
{
    static const char plain[] = "\\'\"abfnrtv", meaning[] = "\\'\"\a\b\f\n\r\t\v";
    char c = peek(reader);
    const char *known = c ? strchr(plain, c) : NULL;
    uint32_t code = 0;
    *length = 0;
    if (!c) return false;
    if (c >= '0' && c <= '7') {
        if (!read_code(reader, 8, 3, &code)) return false;
    } else if (c == 'x' || c == 'u' || c == 'U') {
        reader->position++;
        if (!read_code(reader, 16, c == 'x' ? 2 : c == 'u' ? 4 : 8, &code)) return false;
    } else {
        reader->position++;
        if (c == '\n') return true; /* a joined line */
        if (!known) out[(*length)++] = '\\';
        out[(*length)++] = known ? meaning[known - plain] : c;
        return true;
    }
    if (code == 0 || code > 0x10ffff) return false; /* a path cannot hold NUL */
    *length = encode_utf8(code, out);
    return true;
}

/* At an opening quote. */
static splat_status read_string(splat_python_reader *reader, bool raw, splat_error *error)
{
    size_t begin = reader->position, length = 0, added;
    char quote = reader->text[reader->position++];
    free(reader->item.string);
    /* every escape is at least as long as what it stands for */
    reader->item.string = malloc(reader->size - begin + 8);
    if (!reader->item.string) return splat_fail(error, SPLAT_ERROR_MEMORY, "no memory for a string of cfg_args");
    while (peek(reader) != quote) {
        char c = peek(reader);
        if (!c || c == '\n') return bad(reader, begin, "a string has no closing quote", error);
        reader->position++;
        if (c != '\\' || raw) {
            reader->item.string[length++] = c;
            continue;
        }
        if (!read_escape(reader, reader->item.string + length, &added))
            return bad(reader, reader->position, "a string holds a bad escape", error);
        length += added;
    }
    reader->position++;
    reader->item.string[length] = '\0';
    reader->item.kind = SPLAT_PYTHON_STRING;
    return SPLAT_OK;
}

void splat_python_write_string(FILE *stream, const char *text)
{
    char quote = strchr(text, '\'') && !strchr(text, '"') ? '"' : '\'';
    fputc(quote, stream);
    for (const unsigned char *p = (const unsigned char *)text; *p;) {
        size_t n = splat_utf8_length(p);
        if (*p == '\\' || *p == (unsigned char)quote)
            fprintf(stream, "\\%c", *p);
        else if (*p == '\n' || *p == '\r' || *p == '\t')
            fprintf(stream, "\\%c", *p == '\n' ? 'n' : *p == '\r' ? 'r' : 't');
        else if (*p < 0x20 || *p == 0x7f)
            fprintf(stream, "\\x%02x", *p);
        else if (n == 2 && *p == 0xc2 && (p[1] <= 0xa0 || p[1] == 0xad)) /* control characters of Latin-1 */
            fprintf(stream, "\\x%02x", p[1]);
        else if (n)
            fwrite(p, 1, n, stream);
        else
            fprintf(stream, "\\udc%02x", *p);
        p += n ? n : 1;
    }
    fputc(quote, stream);
}

/* ---------------------------------------------------------------- values */

/* Anything else: up to the comma or parenthesis that ends it, over nested brackets and strings. */
static splat_status skip_value(splat_python_reader *reader, splat_error *error)
{
    size_t begin = reader->position, depth = 0;
    for (;;) {
        char c = peek(reader);
        if (!c) return bad(reader, begin, "a value has no end", error);
        if (depth == 0 && (c == ',' || c == ')')) break;
        if (c == '\'' || c == '"') {
            SPLAT_TRY(read_string(reader, false, error));
            continue;
        }
        if (strchr("([{", c)) depth++;
        if (strchr(")]}", c)) {
            if (depth == 0) return bad(reader, reader->position, "a bracket was never opened", error);
            depth--;
        }
        reader->position++;
    }
    if (reader->position == begin) return bad(reader, begin, "a value is missing", error);
    reader->item.kind = SPLAT_PYTHON_OTHER;
    return SPLAT_OK;
}

static bool at_value_end(splat_python_reader *reader)
{
    skip_blanks(reader);
    return peek(reader) == ',' || peek(reader) == ')';
}

static splat_status read_value(splat_python_reader *reader, splat_error *error)
{
    splat_python_item *item = &reader->item;
    size_t begin = reader->position;
    item->offset = begin;
    item->number = 0.0;
    char c = peek(reader), next = c ? reader->text[begin + 1] : '\0';
    bool prefixed = c && strchr("rRuU", c) && (next == '\'' || next == '"');
    if (c == '\'' || c == '"' || prefixed) {
        reader->position += prefixed;
        SPLAT_TRY(read_string(reader, prefixed && (c == 'r' || c == 'R'), error));
        if (at_value_end(reader)) return SPLAT_OK;
    } else if (take(reader, "None")) {
        item->kind = SPLAT_PYTHON_NONE;
        if (at_value_end(reader)) return SPLAT_OK;
    } else if (take(reader, "True") || take(reader, "False")) {
        item->kind = SPLAT_PYTHON_BOOL;
        item->number = c == 'T';
        if (at_value_end(reader)) return SPLAT_OK;
    } else if (isdigit((unsigned char)c) || (c && strchr("+-.", c))) {
        char *end;
        item->number = splat_number_parse(reader->text + begin, &end);
        item->kind = SPLAT_PYTHON_NUMBER;
        reader->position = (size_t)(end - reader->text);
        if (reader->position > begin && at_value_end(reader)) return SPLAT_OK;
    }
    reader->position = begin; /* the beginning of a longer expression */
    return skip_value(reader, error);
}

static splat_status read_key(splat_python_reader *reader, splat_error *error)
{
    size_t begin = reader->position;
    while (is_name_byte(peek(reader))) reader->position++;
    size_t length = reader->position - begin, room = sizeof reader->item.key - 1;
    skip_blanks(reader);
    if (length == 0 || peek(reader) != '=') return bad(reader, begin, "key=value was expected", error);
    reader->position++;
    skip_blanks(reader);
    if (length > room) length = room;
    memcpy(reader->item.key, reader->text + begin, length);
    reader->item.key[length] = '\0';
    return SPLAT_OK;
}

splat_status splat_python_next(splat_python_reader *reader, bool *found, splat_error *error)
{
    *found = false;
    skip_blanks(reader);
    bool first = !reader->started;
    if (first) {
        reader->started = true;
        if (take(reader, "argparse")) take(reader, ".");
        if (!take(reader, "Namespace")) return bad(reader, reader->position, "it begins with something else", error);
        skip_blanks(reader);
        if (!take(reader, "(")) return bad(reader, reader->position, "the opening parenthesis is missing", error);
    } else if (peek(reader) == ',') {
        reader->position++;
        first = true; /* after a comma an item may begin */
    }
    skip_blanks(reader);
    if (peek(reader) == ')') {
        reader->position++;
        skip_blanks(reader);
        if (reader->position != reader->size) return bad(reader, reader->position, "something follows its end", error);
        return SPLAT_OK;
    }
    if (!first) return bad(reader, reader->position, "a comma was expected", error);
    SPLAT_TRY(read_key(reader, error));
    SPLAT_TRY(read_value(reader, error));
    *found = true;
    return SPLAT_OK;
}

void splat_python_stop(splat_python_reader *reader)
{
    free(reader->item.string);
    reader->item.string = NULL;
}
