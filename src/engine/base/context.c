/* Formatting of messages for the context's log function. */
#include "base/context.h"

#include <stdio.h>

void splat_log(const splat_context *context, splat_log_level level, const char *format, ...)
{
    char line[1024];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(line, sizeof line, format, arguments);
    va_end(arguments);
    context->log(context->log_user, level, line);
}
