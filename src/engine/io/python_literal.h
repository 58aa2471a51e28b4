/* The small part of Python's syntax that cfg_args needs: Namespace(key=literal, ...). Internal to src/engine/io. */
#ifndef SPLAT_IO_PYTHON_LITERAL_H
#define SPLAT_IO_PYTHON_LITERAL_H

#include "base/error.h"

#include <stdio.h>

typedef enum splat_python_kind {
    SPLAT_PYTHON_NONE,
    SPLAT_PYTHON_BOOL,
    SPLAT_PYTHON_NUMBER,
    SPLAT_PYTHON_STRING,
    SPLAT_PYTHON_OTHER /* a list, a tuple, a call, ...: skipped */
} splat_python_kind;

/* One key=value. */
typedef struct splat_python_item {
    char key[64];        /* longer keys are cut */
    splat_python_kind kind;
    double number;       /* BOOL: 0 or 1 */
    char *string;        /* STRING: decoded to UTF-8; owned by the reader, valid until the next item */
    size_t offset;       /* byte offset of the value */
} splat_python_item;

typedef struct splat_python_reader {
    const char *path;    /* file name for errors */
    const char *text;    /* NUL-terminated */
    size_t size, position;
    bool started;
    splat_python_item item;
} splat_python_reader;

/* The next key=value of Namespace(...), or *found = false after its closing parenthesis. */
splat_status splat_python_next(splat_python_reader *reader, bool *found, splat_error *error);
/* Frees what the reader holds; harmless when repeated. */
void splat_python_stop(splat_python_reader *reader);

/* Writes repr(text): Python's quotes and escapes. Bytes that are not UTF-8 become the surrogates of os.fsdecode. */
void splat_python_write_string(FILE *stream, const char *text);

#endif
