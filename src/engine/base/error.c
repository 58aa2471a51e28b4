/* Making and formatting errors. */
#include "base/error.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

static splat_status fail(splat_error *error, splat_status status, const char *file, uint64_t offset, uint64_t line,
                         const char *format, va_list arguments)
{
    if (!error) return status;
    error->status = status;
    error->offset = offset;
    error->line = line;
    error->file[0] = '\0';
    if (file) {
        size_t length = strlen(file), room = sizeof error->file - 1;
        const char *tail = length > room ? file + (length - room) : file;
        memcpy(error->file, tail, strlen(tail) + 1);
    }
    vsnprintf(error->message, sizeof error->message, format, arguments);
    return status;
}

splat_status splat_fail(splat_error *error, splat_status status, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    fail(error, status, NULL, SPLAT_NO_OFFSET, 0, format, arguments);
    va_end(arguments);
    return status;
}

splat_status splat_fail_at(splat_error *error, splat_status status, const char *file, uint64_t offset,
                           const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    fail(error, status, file, offset, 0, format, arguments);
    va_end(arguments);
    return status;
}

splat_status splat_fail_line(splat_error *error, splat_status status, const char *file, uint64_t line,
                             const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    fail(error, status, file, SPLAT_NO_OFFSET, line, format, arguments);
    va_end(arguments);
    return status;
}

splat_status splat_fail_errno(splat_error *error, const char *file, const char *doing)
{
    splat_status status = errno == ENOMEM ? SPLAT_ERROR_MEMORY : SPLAT_ERROR_IO;
    return splat_fail_at(error, status, file, SPLAT_NO_OFFSET, "cannot %s: %s", doing, strerror(errno));
}

const char *splat_error_format(const splat_error *error, char *text, size_t size)
{
    if (error->file[0] && error->line)
        snprintf(text, size, "%s (%s, line %" PRIu64 ")", error->message, error->file, error->line);
    else if (error->file[0] && error->offset != SPLAT_NO_OFFSET)
        snprintf(text, size, "%s (%s, byte %" PRIu64 ")", error->message, error->file, error->offset);
    else if (error->file[0])
        snprintf(text, size, "%s (%s)", error->message, error->file);
    else
        snprintf(text, size, "%s", error->message);
    return text;
}

const char *splat_status_name(splat_status status)
{
    static const char *const names[] = {"ok",     "argument", "io",      "format",  "unsupported",
                                        "memory", "device",   "numeric", "stopped", "internal",
                                        "checkpoint", "rank"};
    return (unsigned)status < sizeof names / sizeof names[0] ? names[status] : "unknown";
}

const char *splat_version(void)
{
    return SPLATSMITH_VERSION;
}

const char *splat_bytes_format(uint64_t bytes, char *text, size_t size)
{
    double mib = (double)bytes / SPLAT_MIB;
    if (mib < 1)
        snprintf(text, size, "%.0f KiB", (double)bytes / 1024);
    else if (mib < 1024)
        snprintf(text, size, "%.*f MiB", mib < 10, mib);
    else
        snprintf(text, size, "%.2f GiB", mib / 1024);
    return text;
}
