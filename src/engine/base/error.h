/* Errors as values. Every fallible function ends in `return splat_fail(error, STATUS, "sentence", ...)`. */
#ifndef SPLAT_BASE_ERROR_H
#define SPLAT_BASE_ERROR_H

#include "splatsmith/core.h"

#include <stdarg.h>

#if defined(__GNUC__)
#define SPLAT_PRINTF(format_index, first) __attribute__((format(printf, format_index, first)))
#else
#define SPLAT_PRINTF(format_index, first)
#endif

/* Fills *error (NULL allowed) and returns status. The message is one sentence: what, and what to do. */
splat_status splat_fail(splat_error *error, splat_status status, const char *format, ...) SPLAT_PRINTF(3, 4);
/* The same, naming a file and a byte offset (SPLAT_NO_OFFSET: none). */
splat_status splat_fail_at(splat_error *error, splat_status status, const char *file, uint64_t offset,
                           const char *format, ...) SPLAT_PRINTF(5, 6);
/* The same, naming a file and a 1-based line. */
splat_status splat_fail_line(splat_error *error, splat_status status, const char *file, uint64_t line,
                             const char *format, ...) SPLAT_PRINTF(5, 6);
/* SPLAT_ERROR_IO with the text of errno: "cannot <doing>: No such file or directory"; MEMORY when that is ENOMEM. */
splat_status splat_fail_errno(splat_error *error, const char *file, const char *doing);

/* Leaves the function when an expression of type splat_status is not SPLAT_OK. */
#define SPLAT_TRY(expression)                                                                                          \
    do {                                                                                                               \
        splat_status try_status_ = (expression);                                                                       \
        if (try_status_ != SPLAT_OK) return try_status_;                                                               \
    } while (0)

/* The same with a clean-up label: stores the status and jumps. */
#define SPLAT_TRY_GOTO(status, label, expression)                                                                      \
    do {                                                                                                               \
        (status) = (expression);                                                                                       \
        if ((status) != SPLAT_OK) goto label;                                                                          \
    } while (0)

#endif
